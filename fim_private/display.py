"""What an object shows of itself in a session and in a notebook."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

# What JSON leaves as it is, and a terminal acts on: DEL, C1 controls, and marks that turn the direction of text.
_UNSEEN = re.compile("[\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")
# Behind what is doubtful.
MARK = "?"
# Rows that are shown: in a session, and in a notebook.
FEW, SOME = 5, 20
# Cells in a session are cut to so many characters.
_WIDEST = 70


@dataclass(frozen=True)
class Glance:
    """A title, the first rows of a table, and notes below it.

    columns: their headings. rows: all of them, each as many cells as there are columns. numbers: which columns, by
    place, hold numbers, which stand to the right. notes: a line each. rest: what to look at for more rows than are
    shown.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[int] = frozenset()
    notes: Sequence[str] = ()
    rest: str = ""

    def text(self, most: int = FEW) -> str:
        """Return the title, the first `most` rows, under headings where there are several columns, and the notes."""
        heads = [self.columns] if self.rows and len(self.columns) > 1 else []
        cells = [[_cut(printable(cell)) for cell in row] for row in (*heads, *self.rows[:most])]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(
                cell.rjust(width) if place in self.numbers else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in cells
        ]
        return "\n".join([self.title, *(f"  {line.rstrip()}" for line in lines), *self._more(most, "  "), *self.notes])

    def html(self, most: int = SOME) -> str:
        """Return the title, the first `most` rows under their headings, and the notes, as a piece of HTML.

        It has no colours of its own: a notebook's, light or dark, are taken.
        """
        head = "".join(self._cell("th", place, name) for place, name in enumerate(self.columns))
        rows = "".join(
            f"<tr>{''.join(self._cell('td', place, cell) for place, cell in enumerate(row))}</tr>"
            for row in self.rows[:most]
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if self.rows else ""
        notes = "".join(f"<div>{_markup(note)}</div>" for note in (*self._more(most, ""), *self.notes))
        return f"<div><div><b>{_markup(self.title)}</b></div>{table}{notes}</div>"

    def _more(self, most: int, indent: str) -> list[str]:
        """Return the line that tells of rows that are not shown, if there are any."""
        left = len(self.rows) - most
        if left <= 0:
            return []
        return [f"{indent}and {left:,} more" + (f": {self.rest}" if self.rest else "")]

    def _cell(self, kind: str, place: int, text: str) -> str:
        """Return a cell of the table as HTML."""
        style = "text-align: right; white-space: nowrap" if place in self.numbers else "text-align: left"
        return f'<{kind} style="{style}">{_markup(text)}</{kind}>'


def printable(text: str) -> str:
    """Return text with escapes for what would move the cursor or break the line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def as_json(values: Any) -> str:
    """Return plain values as JSON on one line, with escapes for what would act on a terminal.

    >>> as_json(["t\u00e9a", "\x9b2J", "\u202eaet"])
    '["t\u00e9a", "\\\\u009b2J", "\\\\u202eaet"]'
    """
    return escaped_json(json.dumps(values, ensure_ascii=False))


def escaped_json(text: str) -> str:
    """Return JSON that is the same, with escapes for what would act on a terminal."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _cut(text: str) -> str:
    """Return text that is no wider than a cell may be."""
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _markup(text: str) -> str:
    """Return text as HTML that shows it as it is."""
    return escape(printable(text))
