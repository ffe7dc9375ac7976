"""`fim-private inspect`, `show`, `report`, `budget` and `audit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fim_private import options
from fim_private.cli.given import audited_names, compositions, relations, units
from fim_private.cli.options import (
    BUDGET,
    WRITTEN,
    BasketColumn,
    Delimiter,
    Encoding,
    FoldCase,
    HasHeader,
    InputFormat,
    ItemColumn,
    ItemsColumn,
    MaxMemory,
    MinConfidence,
    MinLift,
    MissingUserRule,
    Purchases,
    Query,
    SkipRows,
    Split,
    UserColumn,
    Where,
    WithRules,
    rule_limits,
    some_mechanisms,
)
from fim_private.cli.writing import (
    OutputFile,
    ReleaseFile,
    ReleaseFormat,
    ReleaseFormatOption,
    TableOrJson,
    TextFormat,
    destination,
    form_of,
    output_path,
    screen_for,
    table_or_json,
    write_release,
)

# -------------------- inspect
# `fim-private inspect`.

INSPECT_EPILOG = (
    "Example: fim-private inspect sales.csv\n\n"
    "With what you know of it: fim-private inspect sales.csv --user customer_id --delimiter ';'"
)


def inspect(
    data: Purchases,
    user: UserColumn = None,
    missing_user: MissingUserRule = None,
    basket: BasketColumn = None,
    item: ItemColumn = None,
    items: ItemsColumn = None,
    split: Split = None,
    fold_case: FoldCase = False,
    input_format: InputFormat = None,
    delimiter: Delimiter = None,
    header: HasHeader = None,
    encoding: Encoding = None,
    skip_rows: SkipRows = None,
    query: Query = None,
    where: Where = None,
    max_memory: MaxMemory = None,
    output_format: TableOrJson = None,
    output: OutputFile = None,
) -> None:
    """Show how a file would be read, what is in it, and the mine command that fits. For whoever holds the data only.

    It shows some of the data and counts exactly: nothing of it is private, and it spends no budget.
    """
    from fim_private.output import command_for, render_inspection
    from fim_private.reading.inspection import inspect as inspect_source

    form = table_or_json(output_format, output)
    with destination(output, inputs=[data]) as write:
        seen = inspect_source(
            data,
            user=user,
            missing_user=missing_user,
            basket=basket,
            item=item,
            items=items,
            split=split,
            fold_case=fold_case,
            input_format=input_format,
            skip_rows=skip_rows,
            delimiter=delimiter,
            header=header,
            encoding=encoding,
            query=query,
            where=where,
            max_memory=max_memory,
        )
        if form is TextFormat.JSON:
            write.json(json.dumps(seen.to_dict() | {"command": command_for(seen)}))
        else:
            write(render_inspection(seen, screen_for(output)))


# -------------------- show
# `fim-private show`.

SHOW_EPILOG = (
    "Example: fim-private mine sales.parquet --top 20 --rules --output release.parquet\n\n"
    "then: fim-private show release.parquet --rules --min-lift 1.5"
)


def show_show(
    context: typer.Context,
    release_file: Annotated[
        str,
        typer.Argument(metavar="FILE", show_default=False, help="A release that was written as .json or .parquet."),
    ],
    rules: WithRules = False,
    min_confidence: MinConfidence = None,
    min_lift: MinLift = None,
    output_format: ReleaseFormatOption = ReleaseFormat.TABLE,
    output: ReleaseFile = None,
) -> None:
    """Show a release again, in any form. It spends nothing: no data is read.

    With --rules, the association rules of a release that was mined with --rules.
    """
    from fim_private.release.release import load
    from fim_private.release.rules import rules_by_segment

    limits = rule_limits(rules, min_confidence, min_lift)
    form = form_of(context, output_format, output)
    release = load(release_file)
    made = None if limits is None else rules_by_segment(release, *limits)
    with destination(output, inputs=[release_file]) as write:
        write_release(write, release, form, output, rules=made)


# -------------------- report
# `fim-private report`.

REPORT_EPILOG = (
    "Example: fim-private report release.parquet --output page.html\n\n"
    "At once: fim-private mine sales.parquet --top 20 --rules --report page.html"
)


def report(
    release_file: Annotated[
        str,
        typer.Argument(metavar="FILE", show_default=False, help="A release that was written as .json or .parquet."),
    ],
    min_confidence: MinConfidence = None,
    min_lift: MinLift = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the page here; unless given beside the release, under its name with .html.",
            show_default=False,
            parser=output_path,
            rich_help_panel=WRITTEN,
        ),
    ] = None,
) -> None:
    """Make a page of a release, to look at in a browser or to send: one file, which loads nothing from anywhere.

    It shows what is released and nothing else, and spends nothing.
    """
    from fim_private.release.page import page
    from fim_private.release.release import load
    from fim_private.release.rules import least, rules_by_segment

    limits = least("min_confidence", min_confidence or 0.0), least("min_lift", min_lift or 0.0)
    release = load(release_file)
    rules = rules_by_segment(release, *limits) if release.with_parts else None
    where = Path(release_file).expanduser().with_suffix(".html") if output is None else output
    with destination(where, inputs=[release_file]) as write:
        write.send(page(release, rules).encode(errors="backslashreplace"))


# -------------------- budget
# `fim-private budget`: a ledger, which keeps what the releases of a data set have spent.

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
            metavar="add-remove|replace-one",
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
    from fim_private.ledger.ledger import Ledger
    from fim_private.output import render_created

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


def budget_show(
    path: _LedgerFile,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Verify every entry. Without it: those that are new since this machine last used the ledger.",
            rich_help_panel=_SHOWN,
        ),
    ] = False,
    output_format: TableOrJson = None,
    output: OutputFile = None,
) -> None:
    """Show what a ledger allows, what its releases have spent, and what is left. It tells nothing of the data."""
    from fim_private.ledger.ledger import Ledger

    form = table_or_json(output_format, output)
    with destination(output, inputs=[path]) as write:
        statement = Ledger(path).statement(verify=verify)
        if form is TextFormat.JSON:
            write.json(json.dumps(statement.to_dict() | ({"verified": True} if verify else {})))
        else:
            from fim_private.output import render_statement

            write(render_statement(statement, screen_for(output), verified=verify))


# -------------------- audit
# `fim-private audit`.

AUDIT_EPILOG = "Example: fim-private audit --mechanism large-margin --epsilon 1 --delta 1e-6"

_AUDITED = "What to audit"
# The exit code where a guarantee is broken.
FAILED = 1


def audit(
    mechanism: Annotated[
        str,
        typer.Option(
            help=f"{some_mechanisms()}, …; all for every one of them.",
            autocompletion=audited_names,
            rich_help_panel=_AUDITED,
        ),
    ] = options.AUDIT_MECHANISM,
    epsilon: Annotated[
        float, typer.Option(help="Privacy loss that is guaranteed.", rich_help_panel=BUDGET)
    ] = options.EPSILON,
    delta: Annotated[
        float, typer.Option(help="Probability allowed to the guarantee's exception.", rich_help_panel=BUDGET)
    ] = options.DELTA,
    neighbors: Annotated[
        str, typer.Option(help="add-remove or replace-one.", autocompletion=relations, rich_help_panel=BUDGET)
    ] = options.NEIGHBORS,
    trials: Annotated[
        int, typer.Option(help="Neighbouring pairs that a random search tries besides.", rich_help_panel=_AUDITED)
    ] = options.AUDIT_TRIALS,
    seed: Annotated[
        int, typer.Option(help="Seed of that search; the audit itself has no noise.", rich_help_panel=_AUDITED)
    ] = options.AUDIT_SEED,
    output_format: TableOrJson = None,
    output: OutputFile = None,
) -> None:
    """Compute, exactly, how much of its guarantee a mechanism uses on neighbouring data that is hard for it.

    No data is read: the audit makes up pairs of neighbours. Exit code 1 if a guarantee is broken.
    """
    from fim_private.auditing.audit import audit as audited
    from fim_private.auditing.audit import auditable
    from fim_private.cli.options import parts_of, progress_bar

    form = table_or_json(output_format, output)
    with destination(output) as write:
        subjects = auditable(mechanism, epsilon, delta, neighbors)
        with progress_bar("Auditing") as progress:
            reports = [
                audited(subject, trials=trials, seed=seed, progress=part)
                for subject, part in zip(subjects, parts_of(progress, len(subjects)), strict=True)
            ]
        if form is TextFormat.JSON:
            found = [report.to_dict() for report in reports]
            write.json(json.dumps(found if mechanism == "all" else found[0]))
        else:
            from fim_private.output import render_audit

            write(render_audit(reports, screen_for(output)))
    if not all(report.holds for report in reports):
        raise typer.Exit(FAILED)
