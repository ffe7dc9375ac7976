"""Whether texts are written as a condition or a format expects, by the first 200 values of a
column.

Numbers with a comma and days with slashes say nothing to a comparison, which then selects nothing,
or the wrong rows. So such a column is refused before anything is charged. This never changes how a
row is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from fim_private.errors import DataError, parameter
from fim_private.reading.columns import Roles
from fim_private.reading.options import Times
from fim_private.reading.other_readings import SAMPLE, first_texts
from fim_private.reading.times import (
    TimeFormat,
    is_written_as_iso,
    iso_moment,
    moment_of,
    seems_a_time,
)
from fim_private.reading.where import ColumnTest, Condition, Literal, meaning, named_kind, tests_of

_ORDERED = frozenset(("<", "<=", ">", ">=", "between"))
# A number with a comma, with marks between thousands, or with a sign of a currency.
_MARKED_NUMBER = re.compile(
    r"[^\w\s]?\s?[+-]?[0-9]{1,3}(?:[.,'’  "
    r"][0-9]{3})*,[0-9]+\s?[^\w\s]?|[$€£¥]\s?[0-9.,]+"
)
_LEAST_KNOWN = 2  # one in so many values must be of the kind that they are compared with


@dataclass(frozen=True)
class Notation:
    """How the values of a column are written.

    Attributes:
        looked_at: How many values were looked at.
        fit: How many of them fit.
        other: How many of the rest seem to mean the same kind of value in another notation.
    """

    looked_at: int
    fit: int
    other: int

    @classmethod
    def of(cls, texts: Sequence[str], literal: Literal, time_format: TimeFormat | None) -> Notation:
        """Return that of texts that are compared with a number, a time or a truth value."""
        unfit = [text for text in texts if not _fits(text, literal, time_format)]
        in_other_notation = sum(_is_other_notation(text, literal) for text in unfit)
        return cls(len(texts), len(texts) - len(unfit), in_other_notation)

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
    # The numbers 0 and 1 are truth values. Other numbers are none, in no notation.
    is_number = isinstance(literal, bool) and meaning(text, 0) is not None
    return is_number or meaning(text, literal, time_format) is not None


def _is_other_notation(text: str, literal: Literal) -> bool:
    """Tell whether a text that does not fit seems to be such a value all the same."""
    if isinstance(literal, bool):
        return True
    has_digit = any(map(str.isdigit, text))
    if isinstance(literal, str):
        return has_digit and not is_written_as_iso(text)  # 2026-02-30 is no day in any notation
    return has_digit and not any(map(str.isalpha, text))


def refuse_other_notations(
    condition: Condition | None, first: Mapping[str, Sequence[str]], source: str
) -> None:
    """Raise DataError if texts are compared with a literal that is written in another way.

    first: the first texts of columns, without those that stand for no value.
    """
    for test in tests_of(condition):
        texts = first.get(test.column, ())
        for literal in test.literals:
            problem = None
            if isinstance(literal, str) and iso_moment(literal.strip()) is None:
                if test.sign in _ORDERED:
                    problem = _problem_of_text(literal.strip(), texts, test.time_format)
            elif Notation.of(texts, literal, test.time_format).is_refused(test.sign):
                problem = what_to_do(literal, test.time_format)
            if problem is not None:
                raise other_notation(test, literal, source, problem)


def other_notation(test: ColumnTest, literal: Literal, source: str, problem: str) -> DataError:
    """Return the error for a column that is written in another notation.

    problem: a clause that says what is wrong, and what to do.
    """
    kind = named_kind(literal)
    if isinstance(literal, str) and iso_moment(literal.strip()) is not None:
        kind = "a date"
    return DataError(
        f"{parameter('where')} compares column {test.column!r} of {source} with {kind}, {problem}"
    )


def what_to_do(literal: Literal, time_format: TimeFormat | None) -> str:
    """Return how an error describes texts in another notation than a literal, and what to do."""
    if isinstance(literal, bool):
        return "and its values are no truth values: compare it with one of its texts, such as 'yes'"
    if not isinstance(literal, str):
        return (
            "and not all of its values are numbers such as 1.50: write them so in the data, "
            "without commas or signs"
        )
    if time_format is None:
        return (
            f"and not all of its values are dates as 2026-01-31: say with "
            f"{parameter('time_format')} how they are written"
        )
    return (
        f"and not all of its values fit {parameter('time_format')} {time_format.text!r}: say how "
        f"they are written"
    )


def _problem_of_text(
    literal: str, texts: Sequence[str], time_format: TimeFormat | None
) -> str | None:
    """Return what is wrong with an order of texts, which seem to be numbers or times; else None."""
    if meaning(literal, 0) is None and seems_a_time(literal):
        return "which is written in another way than 2026-01-31: write it so"
    if _MARKED_NUMBER.fullmatch(literal):
        return "which seems to be a number: write it without quotes, as 1.50"

    least = max(1, len(texts) / _LEAST_KNOWN)
    numbers = sum(
        meaning(text, 0) is not None or _MARKED_NUMBER.fullmatch(text) is not None for text in texts
    )
    if numbers >= least:
        return "and its values are numbers: write the number without quotes"
    times = sum(moment_of(text, time_format) is not None or seems_a_time(text) for text in texts)
    if times >= least:
        return "and its values are dates: write a whole date, as 2026-01-31"
    return None


class FirstTexts:
    """Looks at the first texts of the columns that conditions and times are read by.

    Attributes:
        texts: Those that were seen, by column.
        is_done: Whether enough was seen, and checked.
    """

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        named = [test.column for test in tests_of(roles.where) if test.literals]
        if roles.times is not None and roles.times.format is not None:
            named.append(roles.times.column)
        self.texts: dict[str, list[str]] = {name: [] for name in named}
        self.is_done = False

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches, and look at them. Raises DataError for a column in another notation."""
        for batch in batches:
            self.see(batch)
            yield batch
        self.done()

    def see(self, batch: pa.RecordBatch) -> None:
        """Look at more rows, whose columns may have any type. Raises DataError."""
        if self.is_done:
            return
        for name, texts in self.texts.items():
            texts += first_texts(batch.column(name), SAMPLE - len(texts))
        if all(len(texts) >= SAMPLE for texts in self.texts.values()):
            self.done()

    def done(self) -> None:
        """Check the texts that were seen. Raises DataError."""
        self.is_done = True
        refuse_other_notations(self._roles.where, self.texts, self._roles.source)
        times = self._roles.times
        if times is not None and times.format is not None:
            notation = Notation.of(self.texts[times.column], "", times.format)
            if notation.is_mostly_other:
                raise other_format(times, self._roles.source)


def other_format(times: Times, source: str) -> DataError:
    """Return the error for a column in which most texts, which are no missing times, do not fit."""
    assert times.format is not None
    return DataError(
        f"column {times.column!r} of {source} is not written as {parameter('time_format')} "
        f"{times.format.text!r} says: "
        "name the format that it has"
    )
