"""The options that say how a file is read, which commands that read one share; and the line that says how it was."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from fim_private.cli.completion import forms, rules_of_missing_users
from fim_private.cli.notes import on_terminal
from fim_private.cli.process_memory import hold_process

_PANEL = "How to read FILE"

Purchases = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Purchases: Parquet, Arrow/Feather, CSV, JSON Lines or .dat (text also as .gz or .bz2), Excel (.xlsx), or "
        "a folder or a pattern of such "
        "('sales/*.parquet'), also in an object store (s3://...); - reads text from standard input; a database is "
        "postgresql://... or sqlite:///shop.db, with --query. `fim-private inspect FILE` tells how it would be read.",
        show_default=False,
    ),
]

UserColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the customer: protects all baskets of each user together, not each basket by itself.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
MissingUserRule = Annotated[
    str | None,
    typer.Option(
        metavar="drop|own-unit",
        autocompletion=rules_of_missing_users,
        help="Rows without a user: leave them out, or take each of their baskets as a unit of its own.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
BasketColumn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the basket id (one row per item). Several name a basket together: --basket customer --basket "
        "date.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
ItemColumn = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the item (one row per item), at the level that you want: product, or department. Several name "
        "it together: --item department --item brand.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
ItemsColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="List column of the items; guessed when there is exactly one.", rich_help_panel=_PANEL
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="Each cell of the item column is a list of items, such as 'a, b' or ['a', 'b']: where to cut it, such as "
        "',' or tab.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
FoldCase = Annotated[
    bool,
    typer.Option(
        "--fold-case",
        help="Items that differ by capital letters alone, or by white space around them, are one, in small letters; so "
        "in every list of items that is named.",
        rich_help_panel=_PANEL,
    ),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        metavar="FORM",
        autocompletion=forms,
        help="long (one row per item), wide (a basket in several columns), one-hot (a column of 0 and 1, of "
        "words such as yes and no, or of quantities for each item); in text also lines (one basket per line, between "
        "delimiters), fimi (between white space), spmf or jsonl. Needed only where the file could be read in several "
        "ways.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="What separates the fields of a text, such as ';' or tab. Where columns are named it is found in the "
        "first line; else it is the comma in .csv, the tab in .tsv.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
HasHeader = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a text names the columns. Without one they are called 1, 2, ...",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Encoding of a text, such as cp1252; UTF-8 unless it has another's byte order mark.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
SkipRows = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Leave out the first N lines of a text, or rows of a sheet: what stands above the table, such as a title.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        metavar="SELECT",
        help="Of a database: what to read, such as 'select customer_id, order_id, product from sales'. The password "
        "is taken from PGPASSWORD, or from a service file.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITION",
        help="Read only rows where it is true, such as \"country = 'France' and date >= '2011-01-01'\": signs, in "
        "(...), between, is null, and, or, not. A public choice, which the release states.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]

MaxMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Refuse data that take more memory, to be read and counted: 4GB, 500MB, or bytes; four fifths of what "
        "this machine has unless given.",
        callback=hold_process,
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]


@contextmanager
def reading_is_told() -> Iterator[None]:
    """Say on standard error, on a terminal, as what a file was read: its form and columns, nothing of its rows."""
    if not on_terminal():
        yield
        return
    logger = logging.getLogger("fim_private.reading")
    handler = logging.StreamHandler(sys.stderr)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
