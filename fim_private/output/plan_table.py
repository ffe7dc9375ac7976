"""The readable form of a plan: a table, and the recommendation below it."""

from __future__ import annotations

import io

from fim_private.dp.cost import at_least
from fim_private.planning.results import Plan, PlannedMechanism, of_units, percent

_PLAIN_WIDTH = 120

_LEGEND = (
    "A unit is a basket, or a user where users are protected. Support needed: by an itemset without rivals.\n"
    "Lead needed: over many others that are tied. Lead if 10 tie: by ten together, one of which is found.\n"
    "Mean regret: the support that is lost on average at the support needed."
)


def render_plan(plan: Plan, *, colour: bool, ascii_only: bool) -> str:
    """Return the plan as text. colour: for a terminal. ascii_only: for an output that has no Greek letters."""
    from rich.box import ASCII, ROUNDED
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=colour, no_color=not colour, width=None if colour else _PLAIN_WIDTH)
    console.print(Text(_title(plan), style="bold"), soft_wrap=True)
    table = Table(box=ASCII if ascii_only else ROUNDED)
    table.add_column("mechanism", no_wrap=True)
    titles = ["support\nneeded", "% of\nunits", "lead\nneeded", "lead if\n10 tie", "mean\nregret"]
    for title in titles if plan.units is not None else [titles[0], *titles[2:]]:
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("needs", overflow="fold")
    for mechanism in plan.mechanisms:
        best = mechanism.name == plan.recommended
        style = "bold" if best else "dim" if mechanism.missing or mechanism.feasible is False else ""
        table.add_row(*(Text(cell) for cell in _cells(mechanism, plan, best)), style=style)
    console.print(table)
    console.print(Text(f"* {plan.reason}"), soft_wrap=True)
    console.print(Text(_LEGEND, style="dim"), soft_wrap=True)
    text = stream.getvalue()
    return text.replace("ε", "epsilon").replace("δ", "delta").replace("–", "-") if ascii_only else text


def _title(plan: Plan) -> str:
    among = "" if plan.units is None else f" among {of_units(plan.units)}"
    return (
        f"What it takes to find an itemset of {plan.size}{among} with {percent(100 * plan.confidence)} probability "
        f"(ε = {at_least(plan.epsilon)}, δ = {at_least(plan.delta)}, {plan.neighbors})"
    )


def _cells(mechanism: PlannedMechanism, plan: Plan, best: bool) -> list[str]:
    cells = [f"{'*' if best else ' '} {mechanism.name}", _whole(mechanism.required_support)]
    if plan.units is not None:
        cells.append("–" if mechanism.required_share is None else percent(mechanism.required_share))
    cells += [_whole(mechanism.required_margin), _whole(mechanism.required_margin_tied)]
    cells.append("–" if mechanism.expected_regret is None else f"{mechanism.expected_regret:,.1f}")
    given = [need for need in mechanism.needs if need not in mechanism.missing]
    missing = [f"{need} (not given)" for need in mechanism.missing]
    return [*cells, ", ".join([*given, *missing]) or "nothing"]


def _whole(figure: int | None) -> str:
    return "–" if figure is None else f"{figure:,}"
