"""The readable form of a plan for many itemsets: a table by how many, and which mechanism to take below it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from fim_private.errors import Marked
from fim_private.output.console import Screen, option
from fim_private.planning.results import or_dash, percent
from fim_private.planning.top_results import PlannedTop, TopPlan

_LEGEND = (
    "A unit is a basket, or a user where users are protected.",
    "Support needed: by an itemset that leads by the margin those that are not to be found.",
    "Items needed: the units that each of its items must be in to be found.",
    "The figures of levelwise are estimates: where tried, mostly (87 %) within a factor of 1.5.",
)


def render_top_plan(plan: TopPlan, screen: Screen) -> str:
    """Return a plan as text: what was asked, rows for each number of itemsets, what to take, and a legend."""
    return screen.render(_parts(plan))


def _parts(plan: TopPlan) -> Iterator[Table | Text]:
    """Yield the title, the table, what to take and the legend."""
    yield Text(plan.title, style="bold")
    table = Table()
    table.add_column("top", justify="right", no_wrap=True)
    table.add_column("mechanism", no_wrap=True)
    titles = ["support\nneeded", "% of\nunits", "margin\nneeded", "items\nneeded", "noise of\nsupports"]
    shown = [True, plan.units is not None, True, True, plan.supports]
    for title in [title for title, is_shown in zip(titles, shown, strict=True) if is_shown]:
        table.add_column(title, justify="right", no_wrap=True)
    for top in plan.top:
        able = [one for one in plan.mechanisms if one.top == top and not one.missing]
        for mechanism in able:
            best = mechanism is plan.best(top)
            cells = [cell for cell, is_shown in zip(_cells(mechanism), shown, strict=True) if is_shown]
            first = [f"{top:,}" if mechanism is able[0] else "", f"{'*' if best else ' '} {mechanism.name}"]
            style = "bold" if best else "dim" if mechanism.feasible is False else ""
            table.add_row(*map(Text, [*first, *cells]), style=style)
        table.add_section()
    yield table
    yield Text(f"* {plan.reason}")
    if plan.list_gain is not None:
        yield Text(Marked(plan.list_gain.marked).spelled(option))
    if missing := [f"{one.name} ({', '.join(one.missing)})" for one in plan.mechanisms[: _each(plan)] if one.missing]:
        yield Text(f"Not planned, for want of what they must know: {'; '.join(missing)}.")
    yield from (Text(line, style="dim") for line in _LEGEND)


def _each(plan: TopPlan) -> int:
    """Return how many mechanisms there are."""
    return len(plan.mechanisms) // len(plan.top)


def _cells(mechanism: PlannedTop) -> list[str]:
    """Return one mechanism's figures as text."""
    share = "–" if mechanism.required_share is None else percent(mechanism.required_share)
    noise = "–" if mechanism.half_width is None else f"±{mechanism.half_width:,}"
    support, margin, items = map(
        or_dash, (mechanism.required_support, mechanism.required_margin, mechanism.item_support)
    )
    return [support, share, margin, items, noise]
