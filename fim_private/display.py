"""Tables as text, HTML and Markdown, and text from outside made harmless."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

# Plain values by name, as JSON has them.
JsonObject = dict[str, Any]

# What JSON leaves as it is, and a terminal acts on: DEL, C1 controls, and marks that turn the
# direction of text.
_UNSEEN = re.compile("[\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]")
# What Markdown, or the HTML within it, would take for its own.
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")
# What separates items where a set is printed, or begins and ends a set or a name in quotes.
_LOOKS_LIKE_SEVERAL = re.compile(r'[,{}"]')
# Behind what is doubtful.
MARK = "?"
# Rows that are shown: in a session, and in a notebook.
FEW, SOME = 5, 20
# Cells in a session are cut to so many characters.
_WIDEST = 70


@dataclass(frozen=True)
class Table:
    """A title, a table, and notes below it, a line each.

    numbers: which columns, by place, stand to the right. rest: what has the rows that a session
    leaves out.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[int] = frozenset()
    notes: Sequence[str] = ()
    rest: str = ""

    def text(self, most: int = FEW) -> str:
        """Return the title, the first `most` rows, under headings where there are several columns,
        and the notes.
        """
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
        return "\n".join(
            [
                self.title,
                *(f"  {line.rstrip()}" for line in (*lines, *self._more(most))),
                *self.notes,
            ]
        )

    def html(self, most: int = SOME) -> str:
        """Return the title, the first `most` rows and the notes as HTML, in the colours of the
        notebook around it.
        """
        head = "".join(self._cell("th", place, name) for place, name in enumerate(self.columns))
        rows = "".join(
            f"<tr>{''.join(self._cell('td', place, cell) for place, cell in enumerate(row))}</tr>"
            for row in self.rows[:most]
        )
        table = (
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            if self.rows
            else ""
        )
        notes = "".join(
            f"<div>{escape(printable(note))}</div>" for note in (*self._more(most), *self.notes)
        )
        return f"<div><div><b>{escape(printable(self.title))}</b></div>{table}{notes}</div>"

    def markdown(self) -> str:
        """Return all of it as Markdown: the first column is text, the others are numbers; a
        paragraph for each note.
        """
        paragraphs = [f"**{markdown(self.title)}**"]
        if self.rows:
            head, *rows = [" | ".join(map(markdown, row)) for row in (self.columns, *self.rows)]
            ruler = " | ".join(["---", *["---:"] * (len(self.columns) - 1)])
            paragraphs.append("\n".join(f"| {row} |" for row in (head, ruler, *rows)))
        return "\n\n".join([*paragraphs, *map(markdown, self.notes)]) + "\n"

    def _more(self, most: int) -> list[str]:
        left = len(self.rows) - most
        return [f"and {left:,} more" + (f": {self.rest}" if self.rest else "")] if left > 0 else []

    def _cell(self, kind: str, place: int, text: str) -> str:
        style = (
            "text-align: right; white-space: nowrap"
            if place in self.numbers
            else "text-align: left"
        )
        return f'<{kind} style="{style}">{escape(printable(text))}</{kind}>'


def command_line(words: Sequence[str]) -> str:
    """Return a command that a reader can copy, its words quoted for the shells of this system."""
    if os.name == "nt":
        from subprocess import list2cmdline

        return list2cmdline(words)
    return shlex.join(words)


def printable(text: str) -> str:
    """Return text with escapes for what would move the cursor or break the line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def item_name(item: object) -> str:
    """Return the name of an item as it stands beside others: in quotes if it would look like
    several, or like none.
    """
    name = str(item)
    if not _LOOKS_LIKE_SEVERAL.search(name) and name.strip():
        return printable(name)
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return printable(f'"{escaped}"')


def in_braces(items: Iterable[object]) -> str:
    """Return items as a set on one line, such as {"bread, sliced", milk}."""
    return "{" + ", ".join(map(item_name, items)) + "}"


def markdown(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def as_json(values: Any) -> str:
    """Return plain values as JSON on one line, with escapes for what would act on a terminal."""
    return escaped_json(json.dumps(values, ensure_ascii=False))


def escaped_json(text: str) -> str:
    """Return JSON that is the same, with escapes for what would act on a terminal."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _cut(text: str) -> str:
    """Return the text of a cell, cut if it is long. The mark of doubt behind it stays."""
    if len(text) <= _WIDEST:
        return text
    mark = f" {MARK}" if text.endswith(f" {MARK}") else ""
    return f"{text[: _WIDEST - 1 - len(mark)]}…{mark}"
