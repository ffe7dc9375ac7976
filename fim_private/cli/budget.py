"""`fim-private budget`: a ledger, which keeps what the releases of a data set have spent."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from fim_private.cli.completion import compositions, relations, units
from fim_private.cli.destination import Format, OutputFile, TableOrJson, destination, screen_for, table_or_json
from fim_private.cli.release_options import BUDGET

HELP = "Keep the budget of a data set in a ledger: create one, and show what is spent and left."
CREATE_EPILOG = "Example: fim-private budget create sales.ledger --epsilon 3 --delta 1e-5"
SHOW_EPILOG = "Example: fim-private budget show sales.ledger --format json"

_OF, _SHOWN = "What it is a budget of", "What is looked at"
_LedgerFile = Annotated[str, typer.Argument(metavar="LEDGER", help="File of the ledger.", show_default=False)]


def create(
    path: _LedgerFile,
    epsilon: Annotated[
        float,
        typer.Option(
            help="Privacy loss of all releases together, at most.", show_default=False, rich_help_panel=BUDGET
        ),
    ],
    delta: Annotated[
        float,
        typer.Option(
            help="Probability allowed to the exceptions of all releases together.",
            show_default=False,
            rich_help_panel=BUDGET,
        ),
    ],
    composition: Annotated[
        str,
        typer.Option(
            metavar="basic|zcdp",
            autocompletion=compositions,
            help="How releases add up: their epsilons and deltas, or what they spend in zero-concentrated privacy, "
            "which allows more of those that have Gaussian noise (mine with --top, count with many itemsets).",
            rich_help_panel=BUDGET,
        ),
    ] = "basic",
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Your name for the data; unless given, the first release's.",
            show_default=False,
            rich_help_panel=_OF,
        ),
    ] = None,
    neighbors: Annotated[
        str | None,
        typer.Option(
            metavar="replace-one|add-remove",
            autocompletion=relations,
            help="The neighbour relation of its releases; unless given, the first release's.",
            show_default=False,
            rich_help_panel=_OF,
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="basket|user",
            autocompletion=units,
            help="Whom its releases protect; unless given, whom the first release does.",
            show_default=False,
            rich_help_panel=_OF,
        ),
    ] = None,
) -> None:
    """Create a ledger: the budget of all releases of one data set together, in a file.

    `fim-private mine` and `fim-private count` charge it with --ledger, before they look at the data, and refuse what
    would overspend it.
    """
    from fim_private.ledger import Ledger
    from fim_private.output.budget_table import render_created

    with destination(None) as write:
        ledger = Ledger.create(
            path,
            epsilon=epsilon,
            delta=delta,
            composition=composition,
            dataset=dataset,
            neighbors=neighbors,
            unit=unit,
        )
        write(render_created(ledger.statement(), screen_for(None)))


def show(
    path: _LedgerFile,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Verify every entry from the first on. Without it, those that are new since the ledger was used here.",
            rich_help_panel=_SHOWN,
        ),
    ] = False,
    output_format: TableOrJson = None,
    output: OutputFile = None,
) -> None:
    """Show what a ledger allows, what its releases have spent, and what is left. It tells nothing of the data."""
    from fim_private.ledger import Ledger

    form = table_or_json(output_format, output)
    with destination(output, inputs=[path]) as write:
        statement = Ledger(path).statement(verify=verify)
        if form is Format.JSON:
            write.json(json.dumps(statement.to_dict() | ({"verified": True} if verify else {})))
        else:
            from fim_private.output.budget_table import render_statement

            write(render_statement(statement, screen_for(output), verified=verify))
