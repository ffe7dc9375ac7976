"""Whether texts are written as a condition or a format expects, by the first 200 values of a
column.

Numbers with a comma and days with slashes say nothing to a comparison, which then selects nothing,
or the wrong rows. So such a column is refused before anything is charged. This never changes how a
row is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from fim_private.errors import DataError, parameter
from fim_private.reading.columns import Roles
from fim_private.reading.options import Times
from fim_private.reading.other_readings import SAMPLE
from fim_private.reading.times import (
    TimeFormat,
    is_written_as_iso,
    iso_moment,
    moment_of,
    seems_a_time,
)
from fim_private.reading.values import present
from fim_private.reading.where import (
    ColumnTest,
    Condition,
    Literal,
    is_text,
    meaning,
    named_kind,
    tests_of,
)

_ORDERED = frozenset(("<", "<=", ">", ">=", "between"))
# A number with a comma, with marks between thousands, or with a sign of a currency.
_MARKED_NUMBER = re.compile(
    r"[^\w\s]?\s?[+-]?[0-9]{1,3}(?:[.,'’  "
    r"][0-9]{3})*,[0-9]+\s?[^\w\s]?|[$€£¥]\s?[0-9.,]+"
)
_LEAST_KNOWN = 2  # one in so many values must be of the kind that they are compared with


@dataclass(frozen=True)
class Notation:
    """How many values were looked at; how many fit, and how many others seem to mean the same in
    another notation.
    """

    looked_at: int
    fit: int
    other: int

    @classmethod
    def of(cls, texts: Sequence[str], literal: Literal, time_format: TimeFormat | None) -> Notation:
        """Return that of some texts, which are compared with a literal: a number, a time or a truth
        value.
        """
        others = [text for text in texts if not _fits(text, literal, time_format)]
        other = sum(_is_other_notation(text, literal) for text in others)
        return cls(len(texts), len(texts) - len(others), other)

    @property
    def is_mostly_other(self) -> bool:
        """Whether fewer than half of the values fit."""
        return _LEAST_KNOWN * self.fit < self.looked_at

    def is_refused(self, sign: str) -> bool:
        """Tell whether a comparison would select by too few of the values."""
        if not self.looked_at:
            return False
        if sign in _ORDERED:
            return self.other > 0 or self.is_mostly_other
        return self.fit == 0 and _LEAST_KNOWN * self.other >= self.looked_at


def _fits(text: str, literal: Literal, time_format: TimeFormat | None) -> bool:
    if meaning(text, literal, time_format) is not None:
        return True
    # Of numbers 0 and 1 are truth values, and others are neither.
    return isinstance(literal, bool) and meaning(text, 0) is not None


def _is_other_notation(text: str, literal: Literal) -> bool:
    """Tell whether a text that does not fit seems to be a number, a time or a truth value all the
    same.
    """
    if isinstance(literal, bool):
        return True
    has_digit = any(character.isdigit() for character in text)
    if isinstance(literal, str):
        return has_digit and not is_written_as_iso(text)  # 2026-02-30 is no day in any notation
    return has_digit and not any(character.isalpha() for character in text)


def refuse_other_notations(
    condition: Condition | None, first: Mapping[str, Sequence[str]], source: str
) -> None:
    """Raise DataError where texts are compared with what they are not written as.

    first: the first texts of columns, without those that stand for no value.
    """
    for test in tests_of(condition):
        for literal in test.literals:
            todo = _problem(test, literal, first.get(test.column, ()))
            if todo is not None:
                raise other_notation(test, literal, source, todo)


def other_notation(test: ColumnTest, literal: Literal, source: str, todo: str) -> DataError:
    """Return the error for a column that is written in another notation. todo: what is so, and what
    to do.
    """
    is_time = isinstance(literal, str) and iso_moment(literal.strip()) is not None
    given = "a date" if is_time else named_kind(literal)
    return DataError(
        f"{parameter('where')} compares column {test.column!r} of {source} with {given}, {todo}"
    )


def _problem(test: ColumnTest, literal: Literal, texts: Sequence[str]) -> str | None:
    """Return what is wrong with a comparison, and what to do; None where nothing is."""
    if isinstance(literal, str) and iso_moment(literal.strip()) is None:
        return (
            _problem_of_text(literal.strip(), texts, test.time_format)
            if test.sign in _ORDERED
            else None
        )
    notation = Notation.of(texts, literal, test.time_format)
    return what_to_do(literal, test.time_format) if notation.is_refused(test.sign) else None


def what_to_do(literal: Literal, time_format: TimeFormat | None) -> str:
    """Return what an error says of texts that are not written as a literal is, and what to do."""
    if isinstance(literal, bool):
        return "and its values are no truth values: compare it with one of its texts, such as 'yes'"
    if not isinstance(literal, str):
        return (
            "and not all of its values are numbers such as 1.50: write them so in the data, "
            "without commas or signs"
        )
    name = parameter("time_format")
    if time_format is None:
        return (
            f"and not all of its values are dates as 2026-01-31: say with {name} how they are "
            f"written"
        )
    return f"and not all of its values fit {name} {time_format.text!r}: say how they are written"


def _problem_of_text(
    literal: str, texts: Sequence[str], time_format: TimeFormat | None
) -> str | None:
    """Return what is wrong with an order of texts that are numbers or times, or with a literal that
    is one.
    """
    if meaning(literal, 0) is None and seems_a_time(literal):
        return "which is written in another way than 2026-01-31: write it so"
    if _MARKED_NUMBER.fullmatch(literal):
        return "which seems to be a number: write it without quotes, as 1.50"
    numbers = sum(
        meaning(text, 0) is not None or _MARKED_NUMBER.fullmatch(text) is not None for text in texts
    )
    if numbers and _LEAST_KNOWN * numbers >= len(texts):
        return "and its values are numbers: write the number without quotes"
    times = sum(moment_of(text, time_format) is not None or seems_a_time(text) for text in texts)
    if times and _LEAST_KNOWN * times >= len(texts):
        return "and its values are dates: write a whole date, as 2026-01-31"
    return None


@dataclass
class FirstTexts:
    """Looks at the first values of columns of texts, as they come, which conditions and times are
    read by.

    source: what errors call the table.
    """

    condition: Condition | None
    times: Times | None
    source: str
    _texts: dict[str, list[str]] = field(default_factory=dict)
    is_done: bool = False

    @classmethod
    def of(cls, roles: Roles, source: str) -> FirstTexts:
        """Return what looks at the columns of a table."""
        return cls(roles.where, roles.times, source)

    @property
    def columns(self) -> list[str]:
        """The columns that are looked at."""
        named = [test.column for test in tests_of(self.condition) if test.literals]
        if self.times is not None and self.times.format is not None:
            named.append(self.times.column)
        return list(dict.fromkeys(named))

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches, and look at them. Raises DataError for what is written in another
        notation.
        """
        for batch in batches:
            self.see({name: batch.column(name) for name in ([] if self.is_done else self.columns)})
            yield batch
        self.done()

    def see(self, columns: Mapping[str, Any]) -> None:
        """Look at more rows: (rows,) Arrow arrays of any type. Raises DataError."""
        if self.is_done:
            return
        for name, column in columns.items():
            found = self._texts.setdefault(name, [])
            found += _texts_of(column, SAMPLE - len(found))
        if all(len(found) >= SAMPLE for found in self._texts.values()):
            self.done()

    def done(self) -> None:
        """Look at what has come. Raises DataError."""
        if self.is_done:
            return
        self.is_done = True
        refuse_other_notations(self.condition, self._texts, self.source)
        if self.times is not None and self.times.format is not None:
            texts = self._texts.get(self.times.column, ())
            fitting = sum(self.times.format.moment(text) is not None for text in texts)
            if Notation(len(texts), fitting, 0).is_mostly_other:
                raise other_format(self.times, self.source)


def _texts_of(column: Any, most: int) -> list[str]:
    """Return the first texts of a column, without those that stand for no value; none of another
    type.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if isinstance(column, pa.ExtensionArray):
        return _texts_of(column.storage, most)
    is_view = pa.types.is_string_view(kind)
    found: list[str] = []
    for start in range(0, len(column), SAMPLE):
        if len(found) >= most or not (is_text(kind) or is_view):
            break
        part = column.slice(start, SAMPLE)
        part = part.dictionary_decode() if pa.types.is_dictionary(part.type) else part
        found += present(part.cast(pa.large_string())).drop_null().to_pylist()
    return found[:most]


def other_format(times: Times, source: str) -> DataError:
    """Return the error for a column in which most texts do not fit the format: these are no missing
    times.
    """
    assert times.format is not None
    return DataError(
        f"column {times.column!r} of {source} is not written as {parameter('time_format')} "
        f"{times.format.text!r} says: "
        "name the format that it has"
    )
