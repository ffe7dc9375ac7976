"""The options that all commands have which release something of purchases."""

from __future__ import annotations

from typing import Annotated

import typer

Purchases = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Purchases: Parquet, Arrow/Feather, CSV or .dat (text also as .gz); - reads .dat from standard input.",
        show_default=False,
    ),
]
Epsilon = Annotated[float, typer.Option(help="Privacy loss; smaller is more private.")]
Delta = Annotated[
    float,
    typer.Option(
        help="Probability allowed to the guarantee's exception; far below 1 / baskets (or users). 0 allows none, and "
        "takes mechanisms that need a public list."
    ),
]
Neighbors = Annotated[str, typer.Option(help="replace-one or add-remove: what changing one basket (or user) means.")]
User = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the customer: protects all baskets of each user together, not each basket by itself.",
        show_default=False,
    ),
]
MissingUser = Annotated[
    str | None,
    typer.Option(
        metavar="drop|own-unit",
        help="Rows without a user: leave them out, or take each of their baskets as a unit of its own.",
        show_default=False,
    ),
]
Basket = Annotated[str | None, typer.Option(help="Column of the basket id (one row per item).", show_default=False)]
Item = Annotated[str | None, typer.Option(help="Column of the item (one row per item).", show_default=False)]
Items = Annotated[str | None, typer.Option(help="List column of the items; guessed when there is exactly one.")]
MaxWork = Annotated[
    int,
    typer.Option(
        metavar="STEPS", help="Give up on counts that take more steps (half a minute or so for each 10 billion)."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(help="Tests and benchmarks only: the output is then predictable, not private."),
]
