"""Cells of CSV: quoted where they must be, and safe to open in a spreadsheet."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Text that spreadsheets run as a formula (OWASP, "CSV Injection"); full-width and small signs run in some of them.
# What is not seen before the sign does not stop them.
_UNSEEN = "\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
_FORMULA = re.compile(rf"[{_UNSEEN}]*[=+\-@\t\r\n＝＋－＠﹦﹢﹣﹫]")
# But for text that is a number, which has a sign and nothing to run.
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
# What separates cells or lines somewhere in the world: unquoted, the rest would be a cell of its own.
_SEPARATOR = re.compile(r'[",;|\t\r\n]')


def csv_line(cells: Iterable[float | str], *, spreadsheet_safe: bool) -> str:
    """Return a line of CSV with commas, as the csv module reads it.

    spreadsheet_safe: whether text that a spreadsheet would run gets an apostrophe in front.

    >>> csv_line([-1, "-1", "=1+1", "tea; milk"], spreadsheet_safe=True)
    '-1,-1,\\'=1+1,"tea; milk"\\n'
    """
    return ",".join(_cell(cell, spreadsheet_safe) for cell in cells) + "\n"


def as_it_was(text: str) -> str:
    """Return the text of a cell of `csv_line`, once the csv module has read it, without the apostrophe put before it.

    >>> as_it_was("'=1+1"), as_it_was("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if text[:1] == "'" and _would_run(text[1:]) else text


def _would_run(text: str) -> bool:
    """Tell whether a spreadsheet would run a text as a formula, but for apostrophes before it.

    (Such text gets one more, so that `as_it_was` can tell which one is not of the text.)
    """
    formula = text.lstrip("'")
    return _FORMULA.match(formula) is not None and not _NUMBER.fullmatch(formula)


def _cell(cell: float | str, spreadsheet_safe: bool) -> str:
    """Return one cell."""
    text = str(cell)
    if spreadsheet_safe and isinstance(cell, str) and _would_run(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if _SEPARATOR.search(text) else text
