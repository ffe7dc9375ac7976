"""What a screen can show: tables that fit it, and words for letters that it lacks."""

import io
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Union

from rich.box import ASCII, ROUNDED
from rich.console import Console, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

# What a screen shows: a paragraph, plain or styled, a table, or whatever else rich prints.
Block = Union[RenderableType, "Grid"]
# What stands for no figure.
_NONE = ("", "–", "-")
# What stands for letters and signs on a screen without them.
_WORDS = str.maketrans(
    {
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
)


@dataclass(frozen=True)
class Grid:
    """A table that a screen will lay out. Columns, and rows, are named by their places.

    Attributes:
        columns: The headings.
        rows: The cells of each row.
        text: The columns that stand to the left; numbers stand to the right.
        whole: The columns that are never wrapped.
        styles: The style of each row; none by default.
        ends: The rows below which there is a line.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: Collection[int] = (0,)
    whole: Collection[int] = ()
    styles: Sequence[str] = ()
    ends: Collection[int] = ()


def bold(text: str) -> Text:
    """Return a paragraph that stands out."""
    return Text(text, style="bold")


def dim(text: str) -> Text:
    """Return a paragraph that stands back."""
    return Text(text, style="dim")


@dataclass(frozen=True)
class Screen:
    """What the reader's screen can show; by default that of a file: every letter, but no colours.

    Attributes:
        colour: Whether it is a terminal, which has a width of its own.
        ascii_only: Whether it has neither Greek letters nor box lines.
        encoding: Which other letters it has then.
        bare: Whether nothing may be coloured, bold or dim on a terminal.
    """

    colour: bool = False
    ascii_only: bool = False
    encoding: str = "ascii"
    bare: bool = False

    def render(self, blocks: Iterable[Block], *, plain_width: int = 120) -> str:
        """Return blocks as text. A table fits the terminal's width, or elsewhere plain_width.

        A paragraph is wrapped between words on a terminal; elsewhere it is one line, as is a Text
        with no_wrap everywhere.
        """
        stream = io.StringIO()
        styled = self.colour and not self.bare
        console = Console(file=stream, force_terminal=styled, no_color=not styled)
        if not self.colour:
            console.width = plain_width
        for block in blocks:
            for renderable in self._laid_out(block, console):
                one_line = isinstance(renderable, Text) and (
                    not self.colour or bool(renderable.no_wrap)
                )
                console.print(renderable, soft_wrap=one_line)
        return self.text(stream.getvalue())

    def text(self, text: str) -> str:
        """Return text with words, or else escapes, for what the screen cannot show."""
        if not self.ascii_only:
            return text
        text = text.translate(_WORDS)
        return text.encode(self.encoding, "backslashreplace").decode(self.encoding)

    def _laid_out(self, block: Block, console: Console) -> Iterator[RenderableType]:
        """Yield a block as rich can print it; a table as its rows if it is too narrow for one."""
        if isinstance(block, str):
            block = Text(block)
        if isinstance(block, Text):
            block = block.copy()
            block.plain = self.text(block.plain)
        if not isinstance(block, Grid):
            yield block
            return
        columns, *rows = [[*map(self.text, cells)] for cells in (block.columns, *block.rows)]
        styles = block.styles or [""] * len(rows)
        grid = replace(block, columns=columns, rows=rows, styles=styles)
        widths = []
        for place, column in enumerate(zip(columns, *rows, strict=True)):
            # At least its longest word, at most its longest line.
            least, most = Text("\n".join(column)).__rich_measure__(console, console.options)
            if place in grid.whole:
                least = most
            widths.append((least, most))
        room = console.width - 3 * len(columns) - 1  # a space on each side, and lines
        if sum(least for least, _ in widths) > room:
            yield from _row_by_row(grid)
            return
        box = ASCII if self.ascii_only else ROUNDED
        table = Table(box=box)
        for place, fitted in enumerate(_fitted(widths, room)):
            justify: JustifyMethod = "right"
            if place in grid.text:
                justify = "left"
            table.add_column(columns[place], justify=justify, overflow="fold", width=fitted)
        for row, cells in enumerate(rows):
            table.add_row(*map(Text, cells), style=styles[row], end_section=row in grid.ends)
        yield table


def _row_by_row(grid: Grid) -> Iterator[RenderableType]:
    """Yield each row as lines "title: cell". Cells without a figure are left out, and an empty
    first cell is that of the row before.
    """
    titles = [" ".join(column.split()) for column in grid.columns]
    first = ""
    for cells, style in zip(grid.rows, grid.styles, strict=True):
        first = cells[0].strip() or first
        yield Text(f"{titles[0]}: {first}", style)
        for title, cell in zip(titles[1:], cells[1:], strict=True):
            if cell.strip() not in _NONE:
                line = Text(f"{title}: {cell.strip()}", style)
                yield Padding(line, (0, 0, 0, 2), expand=False)


def _fitted(ranges: Sequence[tuple[int, int]], room: int) -> list[int] | list[None]:
    """Return the width of each column. None of them has one if all are as wide as they can be."""
    if sum(widest for _, widest in ranges) <= room:
        return [None] * len(ranges)
    widths = [least for least, _ in ranges]
    for _ in range(room - sum(widths)):
        lines = [widest / max(width, 1) for width, (_, widest) in zip(widths, ranges, strict=True)]
        widths[lines.index(max(lines))] += 1  # to the column whose longest line takes most lines
    return widths
