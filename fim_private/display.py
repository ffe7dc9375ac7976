"""Tables as text, HTML and Markdown, and text from outside made harmless."""

import json
import os
import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
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
# Stands behind what is doubtful.
MARK = "?"
# Rows that are shown: in a session, and in a notebook.
FEW, SOME = 5, 20
# Cells in a session are cut to so many characters.
_WIDEST = 70


@dataclass(frozen=True)
class Table:
    """A table with a title.

    Attributes:
        title: What it is a table of.
        columns: The headings.
        rows: The cells of each row.
        notes: Lines below it.
        rest: What has the rows that a session leaves out.
        text_columns: The columns, by place, that stand to the left; numbers stand to the right.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    rest: str = ""
    text_columns: Collection[int] = (0,)

    def text(self, most: int = FEW) -> str:
        """Return the title, the first `most` rows, under headings where there are several columns,
        and the notes.
        """
        rows = [*self.rows[:most]]
        if rows and len(self.columns) > 1:
            rows.insert(0, self.columns)
        columns = []
        for place, cells in enumerate(zip(*rows, strict=True)):
            texts = [_cut(printable(cell)) for cell in cells]
            width = max(map(len, texts))
            adjust = str.ljust if place in self.text_columns else str.rjust
            columns.append([adjust(text, width) for text in texts])
        lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
        indented = [f"  {line}" for line in (*lines, *self._more(most))]
        return "\n".join([self.title, *indented, *self.notes])

    def html(self) -> str:
        """Return the title, the first SOME rows and the notes as HTML, in the colours of the
        notebook around it.
        """
        html = [f"<div><b>{escape(printable(self.title))}</b></div>"]
        if self.rows:
            head = self._html_row("th", self.columns)
            rows = "".join(self._html_row("td", row) for row in self.rows[:SOME])
            html.append(f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>")
        for note in (*self._more(SOME), *self.notes):
            html.append(f"<div>{escape(printable(note))}</div>")
        return f"<div>{''.join(html)}</div>"

    def markdown(self) -> str:
        """Return all of it as Markdown: the first column is text, the others are numbers; a
        paragraph for each note.
        """
        paragraphs = [f"**{markdown(self.title)}**"]
        if self.rows:
            ruler = ["---", *["---:"] * (len(self.columns) - 1)]
            head, *rows = [[*map(markdown, row)] for row in (self.columns, *self.rows)]
            paragraphs.append("\n".join(f"| {' | '.join(row)} |" for row in (head, ruler, *rows)))
        return "\n\n".join([*paragraphs, *map(markdown, self.notes)]) + "\n"

    def _more(self, most: int) -> list[str]:
        """Return a line on the rows that are left out, if there are any."""
        left = len(self.rows) - most
        if left <= 0:
            return []
        more = f"and {left:,} more"
        if self.rest:
            more += f": {self.rest}"
        return [more]

    def _html_row(self, tag: str, cells: Sequence[str]) -> str:
        html = []
        for place, cell in enumerate(cells):
            style = "text-align: right; white-space: nowrap"
            if place in self.text_columns:
                style = "text-align: left"
            html.append(f'<{tag} style="{style}">{escape(printable(cell))}</{tag}>')
        return f"<tr>{''.join(html)}</tr>"


class Tabular(ABC):
    """What a session and a notebook show as a table."""

    @abstractmethod
    def table(self) -> Table:
        """Return what a session and a notebook show."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.table().text()}"

    def _repr_html_(self) -> str:
        return self.table().html()


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


def as_json(values: object) -> str:
    """Return plain values as JSON on one line, with escapes for what would act on a terminal."""
    text = json.dumps(values, ensure_ascii=False)
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _cut(text: str) -> str:
    """Return the text of a cell, cut if it is long. The mark of doubt behind it stays."""
    if len(text) <= _WIDEST:
        return text
    mark = ""
    if text.endswith(f" {MARK}"):
        mark = f" {MARK}"
    return f"{text[: _WIDEST - 1 - len(mark)]}…{mark}"
