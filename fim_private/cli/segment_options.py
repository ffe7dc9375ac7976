"""The options of `fim-private mine` that say what is left out, and of which segments there is a release each."""

from __future__ import annotations

from typing import Annotated

import typer

from fim_private.cli.release_options import COUNTS

ExcludeFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Public list of items to leave out, such as postage and bags: one a line, or a column.",
        show_default=False,
        rich_help_panel=COUNTS,
    ),
]
SegmentColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of segments, such as stores: one release for each, under one budget.",
        show_default=False,
        rich_help_panel=COUNTS,
    ),
]
SegmentNames = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,...",
        help="With --by: which segments, a public list. Rows of others are not read.",
        show_default=False,
        rich_help_panel=COUNTS,
    ),
]
MaxSegments = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="In how many segments a basket (or user) counts at most: where it has the most baskets. Each release "
        "has 1/N of the budget; unless given N is 1.",
        show_default=False,
        rich_help_panel=COUNTS,
    ),
]
