"""`fim-private plan`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import typer

from fim_private import options
from fim_private.cli.command import number, whole
from fim_private.cli.writing import table_or_json
from fim_private.errors import ParameterError, parameter
from fim_private.options import TextFormat

EPILOG = (
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
    asked["epsilon"] = options.EPSILON if epsilon is None else epsilon
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
