"""Dialect: how a source is to be read, as far as a caller says so: its form, and what separates a text's fields."""

from __future__ import annotations

import codecs
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum

from fim_private.errors import DataError, ParameterError, parameter, shown


class InputForm(StrEnum):
    """What a row, or a line, is: one item of a basket, or a basket; and where its items are.

    Lines, fimi and spmf are forms of text; jsonl is text with an object a line, which may be any of an item or of a
    basket; the others are forms of tables, and of text with a line of column names.
    """

    LONG = "long"
    WIDE = "wide"
    ONE_HOT = "one-hot"
    LINES = "lines"
    FIMI = "fimi"
    SPMF = "spmf"
    JSONL = "jsonl"

    @property
    def is_table(self) -> bool:
        """Whether it has columns with names."""
        return self in (InputForm.LONG, InputForm.WIDE, InputForm.ONE_HOT)


# What separates fields, in the order in which they are tried; and names for what is hard to type.
DELIMITERS = (",", ";", "\t", "|")
# All that may be said, and what of it says nothing of a table.
DIALECT = ("delimiter", "header", "encoding", "input_format", "skip_rows")
OF_TEXT = ("delimiter", "header", "encoding", "skip_rows")
_MOST_ROWS = 10_000
_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}


@dataclass(frozen=True)
class Dialect:
    """How a source is to be read; None where nothing was said.

    delimiter: one ASCII character, or its name. header: whether the first line of a text has the names of columns.
    encoding: a name that Python knows. input_format: an `InputForm`. skip_rows: how many lines, or rows of a sheet,
    stand above the table; 0 to 10,000.
    Raises ParameterError for what is none of these.
    """

    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    input_format: str | None = None
    skip_rows: int | None = None

    def __post_init__(self) -> None:
        """Check each, and replace a name by what it stands for."""
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", one_character("delimiter", self.delimiter))
        if self.header is not None and not isinstance(self.header, bool):
            raise ParameterError(f"{parameter('header')} must be True or False, not {shown(self.header)}")
        if self.encoding is not None:
            object.__setattr__(self, "encoding", _codec(self.encoding))
        form = self.input_format
        if form is not None and (not isinstance(form, str) or form not in [*InputForm]):
            raise ParameterError(
                f"{parameter('input_format')} must be one of {', '.join(InputForm)}, not {shown(form)}"
            )

        rows = self.skip_rows
        if rows is not None and (not isinstance(rows, int) or isinstance(rows, bool) or not 0 <= rows <= _MOST_ROWS):
            raise ParameterError(
                f"{parameter('skip_rows')} must be a whole number from 0 to {_MOST_ROWS}, not {shown(rows)}"
            )

    @property
    def skipped(self) -> int:
        """How many lines, or rows, stand above the table."""
        return self.skip_rows or 0

    @property
    def form(self) -> InputForm | None:
        """The form that was asked for."""
        return None if self.input_format is None else InputForm(self.input_format)

    def without(self, names: Collection[str]) -> Dialect:
        """Return it without what a reader has used already."""
        return replace(self, **dict.fromkeys(names))

    def refuse_for(self, source: str, names: tuple[str, ...] = OF_TEXT) -> None:
        """Raise ParameterError if any of these was said of a source without use for it. source: what errors call it."""
        if given := [name for name in names if getattr(self, name) is not None]:
            raise ParameterError(f"leave out {' and '.join(map(parameter, given))}: {source} has no use for it")


def not_utf8(what: str) -> DataError:
    """Return the error for text of an unknown encoding. what: what it calls the text."""
    return DataError(f"{what} is not UTF-8 text; name its encoding with {parameter('encoding')}, such as cp1252")


def one_character(name: str, delimiter: object) -> str:
    """Return a delimiter, the value of a parameter of that name.

    Raises ParameterError for anything but one ASCII character that can be one, or its name.
    """
    found = _NAMES.get(delimiter.lower(), delimiter) if isinstance(delimiter, str) else None
    if found is None or len(found) != 1 or not found.isascii() or found in '"\r\n\0' or found.isalnum():
        raise ParameterError(f"{parameter(name)} must be one character, such as ';', or tab, not {shown(delimiter)}")
    return found


def _codec(encoding: object) -> str:
    """Return the name of an encoding as Python spells it. Raises ParameterError for what is none, or none of text."""
    try:
        if not isinstance(encoding, str):
            raise LookupError
        found = codecs.lookup(encoding)
        if not found._is_text_encoding:
            raise LookupError
        "é".encode(found.name, "replace").decode(found.name)
    except (LookupError, TypeError, ValueError):
        raise ParameterError(
            f"{parameter('encoding')} must be the name of a text encoding, such as utf-8 or cp1252, "
            f"not {shown(encoding)}"
        ) from None
    return found.name
