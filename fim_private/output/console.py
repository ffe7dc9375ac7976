"""Lines and tables as text, as far as the reader's screen can show them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.box import ASCII, ROUNDED, Box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

# -------------------- layout
# The layout of a table on a screen of some width: words are never broken, if the longest fits a line at all.

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


# -------------------- console
# Readable output: lines and tables as text, as far as the reader's screen can show them.
#
# No word is broken: a table that is too wide is laid out once more, without lines, and then row by row.

# What is written for letters and signs where there are none.
_WORDS = {
    "ε": "epsilon",
    "δ": "delta",
    "μ": "mu",
    "ρ": "rho",
    "²": "^2",
    "–": "-",
    "−": "-",
    "±": "+-",
    "→": "->",
    "…": "...",
    "×": "x",
    "≤": "<=",
    "≥": ">=",
}


def option(name: str) -> str:
    """Return a parameter as the command line spells it."""
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class Screen:
    """What the reader's screen can show; by default that of a file: every letter, but no colours.

    colour: whether it is a terminal, which has bold and dim letters, and a width of its own.
    ascii_only: whether it has neither Greek letters nor box lines. encoding: what other letters it has then.
    """

    colour: bool = False
    ascii_only: bool = False
    encoding: str = "ascii"

    def render(self, parts: Iterable[RenderableType], *, plain_width: int = 120) -> str:
        """Return the parts as text, each on lines of its own.

        parts: what rich can print. A table fits the width, in characters: the terminal's, or plain_width where
        there is none. A Text is wrapped between words on a terminal; elsewhere it is one line, as is a Text with
        no_wrap everywhere, so that it can be copied whole.
        """
        stream = io.StringIO()
        width = None if self.colour else plain_width
        console = Console(file=stream, force_terminal=self.colour, no_color=not self.colour, width=width)
        for part in parts:
            for shown in self._shown_parts(part, console.width):
                as_one = isinstance(shown, Text) and (not self.colour or bool(shown.no_wrap))
                console.print(shown, soft_wrap=as_one)
        return self._text(stream.getvalue())

    def _shown_parts(self, part: RenderableType, width: int) -> Iterable[RenderableType]:
        """Return what shows a part within a width: a table is laid out once it has what the screen can show."""
        if not isinstance(part, Table):
            return [self._shown(part)]
        part.box = ASCII if self.ascii_only else ROUNDED
        for column in part.columns:
            column.header = self._shown(column.header)
            column._cells = [self._shown(cell) for cell in column._cells]
        return fitted(part, width, wrapped=self.colour)

    def _shown(self, part: RenderableType) -> RenderableType:
        """Return text without what the screen cannot show; anything else as it is."""
        if isinstance(part, str):
            return self._text(part)
        if self.ascii_only and isinstance(part, Text):
            text = self._text(part.plain)
            return Text(text, part.style, justify=part.justify, overflow=part.overflow, no_wrap=part.no_wrap)
        return part

    def _text(self, text: str) -> str:
        """Return text with words, and then escapes, for what the screen cannot show."""
        if not self.ascii_only:
            return text
        for character, word in _WORDS.items():
            text = text.replace(character, word)
        return text.encode(self.encoding, "backslashreplace").decode(self.encoding)
