"""Readable output: lines and tables as text, as far as the reader's screen can show them.

No word is broken: a table that is too wide is laid out once more, without lines, and then row by row.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass

from rich.box import ASCII, ROUNDED
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from fim_private.output.layout import fitted

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
