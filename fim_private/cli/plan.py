"""`fim-private plan`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from fim_private import options
from fim_private.cli.given import relations, typed_number, typed_whole
from fim_private.cli.options import BUDGET, PUBLIC, WRITTEN
from fim_private.cli.writing import (
    OutputFile,
    TableOrJson,
    TextFormat,
    destination,
    output_path,
    screen_for,
    table_or_json,
)
from fim_private.errors import ParameterError, parameter

EPILOG = (
    "Example: fim-private plan --units 100000 --size 2 --epsilon 1 --delta 1e-6\n\n"
    "With a public catalogue of 16,470 items: fim-private plan --units 100000 --universe-size 16470\n\n"
    "For many itemsets: fim-private plan --units 100000 --typical-basket 10 --top 10,50,100 --supports\n\n"
    "For customers, who bought 30 different items each: fim-private plan --units 10000 --user-items 30 --top 50\n\n"
    "As a figure over many budgets: fim-private plan --units 100000 --epsilons 0.1,0.2,0.5,1,2 --figure plan.png"
)

_PLANNED = "What to plan for"


def plan(
    units: Annotated[
        int | None,
        typer.Option(help="Baskets (or users), if that may be known.", show_default=False, rich_help_panel=_PLANNED),
    ] = None,
    size: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="Items per itemset; for many itemsets also a range, such as 2-4.",
            rich_help_panel=_PLANNED,
        ),
    ] = str(options.SIZE),
    top: Annotated[
        str | None,
        typer.Option(
            metavar="K1,K2,…",
            help="Plan for so many itemsets; with --typical-basket alone, for "
            f"{', '.join(map(str, options.PLANNED_TOPS))}.",
            show_default=False,
            rich_help_panel=_PLANNED,
        ),
    ] = None,
    typical_basket: Annotated[
        float | None,
        typer.Option(
            help="For many itemsets: a public guess of the items in a basket.",
            show_default=False,
            rich_help_panel=_PLANNED,
        ),
    ] = None,
    user_items: Annotated[
        float | None,
        typer.Option(
            help="For customers: how many different items one has bought in all, on average. Shows the share that is "
            f"found, of the top {options.PLANNED_TOPS[1]} or --top.",
            show_default=False,
            rich_help_panel=_PLANNED,
        ),
    ] = None,
    union: Annotated[
        bool, typer.Option("--union", help="For many itemsets of several sizes: one ranking.", rich_help_panel=_PLANNED)
    ] = False,
    supports: Annotated[
        bool,
        typer.Option(
            "--supports",
            help="For many itemsets: with noisy supports, and how far off they are.",
            rich_help_panel=_PLANNED,
        ),
    ] = False,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Privacy loss; smaller is more private.", show_default=str(options.EPSILON), rich_help_panel=BUDGET
        ),
    ] = None,
    delta: Annotated[
        float, typer.Option(help="Probability allowed to the guarantee's exception.", rich_help_panel=BUDGET)
    ] = options.DELTA,
    neighbors: Annotated[
        str,
        typer.Option(
            help="Whether one basket (or user) is there (add-remove), or what it holds (replace-one).",
            autocompletion=relations,
            rich_help_panel=BUDGET,
        ),
    ] = options.NEIGHBORS,
    universe_size: Annotated[
        int | None,
        typer.Option(
            help="Public number of items in the catalogue, if there is one.", show_default=False, rich_help_panel=PUBLIC
        ),
    ] = None,
    max_basket: Annotated[
        int | None,
        typer.Option(help="Public cap on a basket's items, for choosing.", show_default=False, rich_help_panel=PUBLIC),
    ] = None,
    max_baskets: Annotated[
        int | None,
        typer.Option(
            help="With --max-basket: public cap on the baskets of a user.", show_default=False, rich_help_panel=PUBLIC
        ),
    ] = None,
    max_rank: Annotated[
        int | None,
        typer.Option(
            help="Public cap on ranks, for the mechanisms that have one.", show_default=False, rich_help_panel=PUBLIC
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="Probability with which an itemset is to be found.", rich_help_panel=_PLANNED)
    ] = options.CONFIDENCE,
    epsilons: Annotated[
        str | None,
        typer.Option(
            metavar="E1,E2,…",
            help="With --figure: the privacy losses to compare.",
            show_default=False,
            rich_help_panel=WRITTEN,
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw what each mechanism needs, against ε or against --top (.png, .svg, .pdf).",
            show_default=False,
            parser=output_path,
            rich_help_panel=WRITTEN,
        ),
    ] = None,
    output_format: TableOrJson = None,
    output: OutputFile = None,
) -> None:
    """Tell what each mechanism needs to find an itemset, or many, and which to take. No data is read."""
    from fim_private.planning.plan import plan as planned
    from fim_private.planning.plan import plan_grid

    several = top not in (None, "1") or typical_basket is not None or union or supports or "-" in size.lstrip("-")
    many = user_items is None and several
    if user_items is not None and figure is not None:
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
    if figure is not None and (output is not None or output_format not in (None, TextFormat.TABLE)):
        raise ParameterError(
            f"{parameter('figure')} is written instead of a table or JSON: leave out {parameter('output')} and "
            f"{parameter('output_format')}"
        )
    if epsilons is not None and epsilon is not None:
        raise ParameterError(f"{parameter('epsilons')} are what the figure compares: leave out {parameter('epsilon')}")
    tops = None if top is None else [typed_whole(one, "top") for one in top.split(",")]
    public: dict[str, Any] = {
        "units": units,
        "user_items": user_items,
        "top": tops[0] if tops is not None and len(tops) == 1 else tops,
        "typical_basket": typical_basket,
        "size": size,
        "union": union,
        "supports": supports,
        "delta": delta,
        "neighbors": neighbors,
        "universe_size": universe_size,
        "max_basket": max_basket,
        "max_baskets": max_baskets,
        "max_rank": max_rank,
        "confidence": confidence,
    }
    if epsilons is not None and figure is not None:
        from fim_private.output import draw_plan_figure

        draw_plan_figure(plan_grid([typed_number(one, "epsilons") for one in epsilons.split(",")], **public), figure)
        return
    public["epsilon"] = options.EPSILON if epsilon is None else epsilon
    if figure is not None:
        from fim_private.output import draw_top_plan_figure

        draw_top_plan_figure(planned(**public), figure)
        return
    form = table_or_json(output_format, output)
    with destination(output) as write:
        found = planned(**public)
        if form is TextFormat.JSON:
            write.json(json.dumps(found.to_dict()))
        else:
            from fim_private.output import render_plan

            write(render_plan(found, screen_for(output)))
