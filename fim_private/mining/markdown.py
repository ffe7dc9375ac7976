"""A release as Markdown: the table, how certain it is, and the guarantee."""

from __future__ import annotations

import re
from collections.abc import Sequence

# What Markdown, or the HTML within it, would take for its own.
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is, on one line.

    >>> escaped("*tea* | <b>")
    '\\\\*tea\\\\* \\\\| \\\\<b\\\\>'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def markdown(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """Return a title, a table (whose first column is text, and the others numbers) and notes, a paragraph each."""
    parts = [f"**{escaped(title)}**"]
    if rows:
        ruler = ["---", *["---:"] * (len(columns) - 1)]
        cells = [list(map(escaped, row)) for row in (columns, *rows)]
        cells.insert(1, ruler)
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in cells))
    parts += map(escaped, notes)
    return "\n\n".join(parts) + "\n"
