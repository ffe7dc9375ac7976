"""Commands that spend no budget: `fim-private inspect`, `show`, `report`, `budget`, `plan` and `audit`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fim_private.cli.command import number, whole
from fim_private.cli.mine import Purchases, rule_limits
from fim_private.cli.writing import (
    destination,
    form_of,
    hold_process,
    parts_of,
    progress_bar,
    screen_for,
    table_or_json,
    write_release,
)
from fim_private.display import printable
from fim_private.errors import ParameterError, parameter
from fim_private.options import EPSILON, TextFormat

INSPECT_EPILOG = (
    "Example: fim-private inspect sales.csv\n\n"
    "With what you know of it: fim-private inspect sales.csv --user customer_id --delimiter ';'"
)


def inspect(data: Purchases, **asked: Any) -> None:
    """Show how a file would be read, what is in it, and the mine command that fits. For whoever holds the data only.

    It shows some of the data and counts exactly: nothing of it is private, and it spends no budget.
    """
    from fim_private.output import command_for, render_inspection
    from fim_private.reading.inspection import inspect as inspect_source

    hold_process(asked["max_memory"])
    with table_or_json(asked, inputs=[data]) as show_it:
        seen = inspect_source(data, **{name: value for name, value in asked.items() if value not in (None, [])})
        show_it(seen.to_dict() | {"command": command_for(seen)}, partial(render_inspection, seen))


SHOW_EPILOG = (
    "Example: fim-private mine sales.parquet --top 20 --rules --output release.parquet\n\n"
    "then: fim-private show release.parquet --rules --min-lift 1.5"
)
_ReleaseFile = Annotated[
    str, typer.Argument(metavar="FILE", show_default=False, help="A release that was written as .json or .parquet.")
]


def show(release_file: _ReleaseFile, **asked: Any) -> None:
    """Show a release again, in any form. It spends nothing: no data is read.

    With --rules, the association rules of a release that was mined with --rules.
    """
    from fim_private.release.release import load
    from fim_private.release.rules import rules_by_segment

    limits, output = rule_limits(asked), asked["output"]
    form = form_of(asked["format"], output)
    release = load(release_file)
    made = None if limits is None else rules_by_segment(release, *limits)
    with destination(output, inputs=[release_file]) as write:
        write_release(write, release, form, output, rules=made)


REPORT_EPILOG = (
    "Example: fim-private report release.parquet --output page.html\n\n"
    "At once: fim-private mine sales.parquet --top 20 --rules --report page.html"
)


def report(release_file: _ReleaseFile, **asked: Any) -> None:
    """Make a page of a release, to look at in a browser or to send: one file, which loads nothing from anywhere.

    It shows what is released and nothing else, and spends nothing.
    """
    from fim_private.release.page import page
    from fim_private.release.release import load
    from fim_private.release.rules import least, rules_by_segment

    limits = [least(name, asked[name] or 0.0) for name in ("min_confidence", "min_lift")]
    release = load(release_file)
    rules = rules_by_segment(release, *limits) if release.with_parts else None
    where = asked["output"] or Path(release_file).expanduser().with_suffix(".html")
    with destination(where, inputs=[release_file]) as write:
        write.send(page(release, rules).encode(errors="backslashreplace"))


HELP = "Keep the budget of a data set in a ledger: create one, and show what is spent and left."
CREATE_EPILOG = "Example: fim-private budget create sales.ledger --epsilon 3 --delta 1e-5"
STATEMENT_EPILOG = "Example: fim-private budget show sales.ledger --format json"

_LedgerFile = Annotated[str, typer.Argument(metavar="LEDGER", help="File of the ledger.", show_default=False)]


def create(path: _LedgerFile, **asked: Any) -> None:
    """Create a ledger: the budget of all releases of one data set together, in a file.

    `fim-private mine` and `fim-private count` charge it with --ledger, before they look at the data, and refuse what
    would overspend it.
    """
    from rich.text import Text

    from fim_private.ledger.ledger import Ledger

    with destination(None) as write:
        made = Ledger.create(path, **asked).statement()
        lines = f"Created {printable(made.name)}. {made.title}", made.protected
        write.send(screen_for(None).render(map(Text, lines)))


def budget_show(path: _LedgerFile, **asked: Any) -> None:
    """Show what a ledger allows, what its releases have spent, and what is left. It tells nothing of the data."""
    from fim_private.ledger.ledger import Ledger
    from fim_private.output import render_statement

    verify = asked["verify"]
    with table_or_json(asked, inputs=[path]) as show_it:
        statement = Ledger(path).statement(verify=verify)
        values = statement.to_dict() | ({"verified": True} if verify else {})
        show_it(values, lambda screen: render_statement(statement, screen, verified=verify))


PLAN_EPILOG = (
    "Example: fim-private plan --units 100000 --size 2 --epsilon 1 --delta 1e-6\n\n"
    "With a public catalogue of 16,470 items: fim-private plan --units 100000 --universe-size 16470\n\n"
    "For many itemsets: fim-private plan --units 100000 --typical-basket 10 --top 10,50,100 --supports\n\n"
    "For customers, who bought 30 different items each: fim-private plan --units 10000 --user-items 30 --top 50\n\n"
    "As a figure over many budgets: fim-private plan --units 100000 --epsilons 0.1,0.2,0.5,1,2 --figure plan.png"
)


def plan(**asked: Any) -> None:
    """Tell what each mechanism needs to find an itemset, or many, and which to take. No data is read."""
    from fim_private.planning import plan as planning

    outputs = {name: asked.pop(name) for name in ("output", "format")}
    epsilons, figure, epsilon = asked.pop("epsilons"), asked.pop("figure"), asked.pop("epsilon")
    several = asked["top"] not in (None, "1") or "-" in asked["size"].lstrip("-")
    several = several or asked["typical_basket"] is not None or asked["union"] or asked["supports"]
    many = several and asked["user_items"] is None
    if asked["user_items"] is not None and figure is not None:
        raise ParameterError(f"{parameter('figure')} has no use with {parameter('user_items')}: leave it out")
    if many and epsilons is not None:
        raise ParameterError(
            f"{parameter('epsilons')} are for one itemset: a figure for many is drawn against {parameter('top')}"
        )
    if not many and (epsilons is None) != (figure is None):
        raise ParameterError(
            f"{parameter('epsilons')} and {parameter('figure')} go together: the privacy losses to compare, and where "
            "to draw them"
        )
    if figure is not None and (outputs["output"] is not None or outputs["format"] is TextFormat.JSON):
        raise ParameterError(
            f"{parameter('figure')} is written instead of a table or JSON: leave out {parameter('output')} and "
            f"{parameter('format')}"
        )
    if epsilons is not None and epsilon is not None:
        raise ParameterError(f"{parameter('epsilons')} are what the figure compares: leave out {parameter('epsilon')}")
    if asked["top"] is not None:
        tops = [_number("top", whole, each) for each in asked["top"].split(",")]
        asked["top"] = tops[0] if len(tops) == 1 else tops
    if epsilons is not None and figure is not None:
        from fim_private.output import draw_plan_figure

        losses = [_number("epsilons", number, each) for each in epsilons.split(",")]
        draw_plan_figure(planning.plan_grid(losses, **asked), figure)
        return
    asked["epsilon"] = EPSILON if epsilon is None else epsilon
    if figure is not None:
        from fim_private.output import draw_top_plan_figure

        draw_top_plan_figure(planning.plan(**asked), figure)
        return
    with table_or_json(outputs) as show:
        from fim_private.output import render_plan

        found = planning.plan(**asked)
        show(found.to_dict(), partial(render_plan, found))


def _number(name: str, read: Callable[[str], Any], text: str) -> Any:
    """Return one number of a text that was typed. Raises ParameterError for other text."""
    try:
        return read(text)
    except typer.BadParameter as error:
        raise ParameterError(f"{parameter(name)} {error.message}") from None


AUDIT_EPILOG = "Example: fim-private audit --mechanism large-margin --epsilon 1 --delta 1e-6"

# The exit code where a guarantee is broken.
FAILED = 1


def audit(**asked: Any) -> None:
    """Compute, exactly, how much of its guarantee a mechanism uses on neighbouring data that is hard for it.

    No data is read: the audit makes up pairs of neighbours. Exit code 1 if a guarantee is broken.
    """
    from fim_private.auditing.audit import audit as audited
    from fim_private.auditing.audit import auditable
    from fim_private.output import render_audit

    with table_or_json(asked) as show_it:
        epsilon = EPSILON if asked["epsilon"] is None else asked["epsilon"]
        subjects = auditable(asked["mechanism"], epsilon, asked["delta"], asked["neighbors"])
        with progress_bar("Auditing") as progress:
            reports = [
                audited(subject, trials=asked["trials"], seed=asked["seed"], progress=part)
                for subject, part in zip(subjects, parts_of(progress, len(subjects)), strict=True)
            ]
        found = [report.to_dict() for report in reports]
        show_it(found if asked["mechanism"] == "all" else found[0], partial(render_audit, reports))
    if not all(report.holds for report in reports):
        raise typer.Exit(FAILED)
