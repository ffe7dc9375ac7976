"""The readable form of a plan: a table, and the recommendation below it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from fim_private.output.console import Screen
from fim_private.planning.results import Plan, PlannedMechanism, or_dash, percent

_LEGEND = (
    "A unit is a basket, or a user where users are protected. Support needed: by an itemset without rivals.",
    "Margin needed: over many others that are tied. Margin if 10 tie: by ten together, one of which is found.",
    "Mean regret: the support that is lost on average at the support needed.",
)


def render_plan(plan: Plan, screen: Screen) -> str:
    """Return a plan as text: what was asked, a row for each mechanism, the recommendation, and a legend."""
    return screen.render(_parts(plan))


def _parts(plan: Plan) -> Iterator[Table | Text]:
    """Yield the title, the table, the recommendation and the legend."""
    yield Text(plan.title, style="bold")
    table = Table()
    table.add_column("mechanism", no_wrap=True)
    titles = ["support\nneeded", "% of\nunits", "margin\nneeded", "margin if\n10 tie", "mean\nregret"]
    for title in titles if plan.units is not None else [titles[0], *titles[2:]]:
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("needs", overflow="fold")
    for mechanism in plan.mechanisms:
        best = mechanism.name == plan.recommended
        style = "bold" if best else "dim" if mechanism.missing or mechanism.feasible is False else ""
        table.add_row(*(Text(cell) for cell in _cells(mechanism, plan, best)), style=style)
    yield table
    yield Text(f"* {plan.reason}")
    yield from (Text(line, style="dim") for line in _LEGEND)


def _cells(mechanism: PlannedMechanism, plan: Plan, best: bool) -> list[str]:
    """Return one mechanism's row as text."""
    cells = [f"{'*' if best else ' '} {mechanism.name}", or_dash(mechanism.required_support)]
    if plan.units is not None:
        cells.append("–" if mechanism.required_share is None else percent(mechanism.required_share))
    cells += [or_dash(mechanism.required_margin), or_dash(mechanism.required_margin_tied)]
    cells.append("–" if mechanism.expected_regret is None else f"{mechanism.expected_regret:,.1f}")
    given = [need for need in mechanism.needs if need not in mechanism.missing]
    missing = [f"{need} (not given)" for need in mechanism.missing]
    return [*cells, ", ".join([*given, *missing]) or "nothing"]
