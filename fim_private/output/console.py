"""Readable output: lines and tables as text, as far as the reader's screen can show them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rich.box import ASCII, ROUNDED
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

# What is written for Greek letters where there are none.
GREEK = {"ε": "epsilon", "δ": "delta"}


@dataclass(frozen=True)
class Screen:
    """What the reader's screen can show; by default that of a file: every letter, but no colours.

    colour: whether it is a terminal, which has bold and dim letters, and a width of its own.
    ascii_only: whether it has neither Greek letters nor box lines.
    """

    colour: bool = False
    ascii_only: bool = False

    def render(
        self, parts: Iterable[RenderableType], *, plain_width: int = 120, words: Mapping[str, str] = GREEK
    ) -> str:
        """Return the parts as text, each on lines of its own.

        parts: what rich can print. A table fits the width, in characters: the terminal's, or plain_width where
        there is none. A Text is left to the terminal to wrap, so that it can be copied whole.
        words: what to write for characters that ASCII has not.
        """
        stream = io.StringIO()
        width = None if self.colour else plain_width
        console = Console(file=stream, force_terminal=self.colour, no_color=not self.colour, width=width)
        for part in parts:
            if isinstance(part, Table):
                part.box = ASCII if self.ascii_only else ROUNDED
            console.print(part, soft_wrap=isinstance(part, Text))
        text = stream.getvalue()
        for character, word in words.items() if self.ascii_only else ():
            text = text.replace(character, word)
        return text
