"""The options of `fim-private mine` that say which items there are: a public list, or that those of the data are."""

from __future__ import annotations

from typing import Annotated

import typer

from fim_private.cli.release_options import PUBLIC

CatalogueFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Public list of all items: one a line, a folder of such files, an earlier release (last-week.parquet), or "
        "with --catalogue-item any table, sheet or database that FILE may be. It finds more, above all of customers.",
        show_default=False,
        rich_help_panel=PUBLIC,
    ),
]
CatalogueItem = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="With --catalogue: the column of the items, as they are in FILE, such as --catalogue products.csv "
        "--catalogue-item sku.",
        show_default=False,
        rich_help_panel=PUBLIC,
    ),
]
CatalogueLabel = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="With --catalogue-item: the column of their labels, such as name, which the release shows in their place. "
        "A label that several items have is shown with the item in brackets.",
        show_default=False,
        rich_help_panel=PUBLIC,
    ),
]
CatalogueQuery = Annotated[
    str | None,
    typer.Option(
        metavar="SELECT",
        help="Where --catalogue is a database: what to read, such as 'select sku, name from products'.",
        show_default=False,
        rich_help_panel=PUBLIC,
    ),
]
ItemsArePublic = Annotated[
    bool,
    typer.Option(
        "--items-are-public",
        help="Take the names of all items in FILE for public, in place of --catalogue. The release states it, and does "
        "not protect them: only where it tells nothing of anybody which items there are. Must be typed.",
        allow_from_autoenv=False,
        rich_help_panel=PUBLIC,
    ),
]
