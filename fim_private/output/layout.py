"""The layout of a table on a screen of some width: words are never broken, if the longest fits a line at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.box import ASCII, Box
from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

# A table without lines, but for one below its head.
_RULE = "    \n    \n ── \n    \n    \n    \n    \n    \n"
_BARE = Box(_RULE)
_BARE_ASCII = Box(_RULE.replace("─", "-"), ascii=True)
# What stands for no figure.
_NONE = ("", "–", "-")


@dataclass(frozen=True)
class _Width:
    """How many columns a table's column takes: at least, with its longest word whole, and at most."""

    least: int
    most: int


def fitted(table: Table, width: int, *, wrapped: bool) -> Iterator[RenderableType]:
    """Yield what shows a table within a width, in columns: the table, with or without lines, or its rows one by one.

    wrapped: whether these rows are wrapped as well; otherwise each cell is on a line of its own, however long.
    """
    widths = [_width(column) for column in table.columns]
    least = sum(each.least for each in widths)
    lined = width - 3 * len(widths) - 1  # a space on each side, and lines
    unlined = width - 2 * (len(widths) - 1)  # two spaces between
    if least <= lined:
        _allot(table, widths, lined)
        yield table
    elif least <= unlined:
        table.box, table.show_edge = _BARE_ASCII if table.box is ASCII else _BARE, False
        table.padding, table.pad_edge = (0, 1, 0, 0), False
        _allot(table, widths, unlined)
        yield table
    else:
        yield from _row_by_row(table, wrapped)


def _width(column: Column) -> _Width:
    """Return the widths that a column can have."""
    lines = [line for cell in (column.header, *column.cells) for line in _plain(cell).splitlines()]
    most = max(map(cell_len, lines), default=0)
    if column.no_wrap:
        return _Width(most, most)
    return _Width(max((cell_len(word) for line in lines for word in line.split()), default=0), most)


def _plain(cell: RenderableType) -> str:
    """Return the text of a cell."""
    return cell.plain if isinstance(cell, Text) else str(cell)


def _allot(table: Table, widths: Sequence[_Width], room: int) -> None:
    """Give the columns what they take at least, and share what is left of the room among those that want more."""
    if sum(each.most for each in widths) <= room:
        return
    given = [each.least for each in widths]
    for _ in range(room - sum(given)):
        # To the one whose longest line takes the most lines.
        given[max(range(len(given)), key=lambda place: widths[place].most / max(given[place], 1))] += 1
    for column, columns in zip(table.columns, given, strict=True):
        column.width = columns


def _row_by_row(table: Table, wrapped: bool) -> Iterator[RenderableType]:
    """Yield each row as lines "title: cell"; what has no figure is left out.

    The first column of a row is what it was where it is empty.
    """
    titles = [" ".join(_plain(column.header).split()) for column in table.columns]
    rows = zip(*(column.cells for column in table.columns), strict=True)
    first = ""
    for row, cells in zip(table.rows, rows, strict=True):
        texts = [_plain(cell).strip() for cell in cells]
        first = texts[0] = texts[0] or first
        style = row.style or ""
        yield Text(f"{titles[0]}: {texts[0]}", style)
        for title, text in zip(titles[1:], texts[1:], strict=True):
            if text not in _NONE:
                line = f"{title}: {text}"
                yield Padding(Text(line, style), (0, 0, 0, 2)) if wrapped else Text(f"  {line}", style)
