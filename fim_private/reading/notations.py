"""Whether texts are written as a condition or a format expects, by the first 200 values of a
column.

Numbers with a comma and days with slashes say nothing to a comparison, which then selects nothing,
or the wrong rows. So such a column is refused before anything is charged. This never changes how a
row is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fim_private.errors import DataError, parameter
from fim_private.reading.columns import Roles
from fim_private.reading.lists_in_cells import FirstTexts, Texts
from fim_private.reading.options import Times
from fim_private.reading.times import TimeFormat, is_written_as_iso, moment_of, seems_a_time
from fim_private.reading.where import (
    ColumnTest,
    Condition,
    Literal,
    meaning,
    moment_in,
    named_kind,
    tests_of,
)

_ORDERED = ("<", "<=", ">", ">=", "between")
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
        in_other_notation: How many of the rest seem to mean such a value all the same.
    """

    looked_at: int
    fit: int
    in_other_notation: int

    @classmethod
    def of(cls, texts: Sequence[str], literal: Literal, time_format: TimeFormat | None) -> Notation:
        """Return that of texts that are compared with a number, a time or a truth value."""
        unfit = [text for text in texts if meaning(text, literal, time_format) is None]
        if isinstance(literal, bool):
            # The numbers 0 and 1 are truth values. Other numbers are none, in no notation.
            unfit = [text for text in unfit if meaning(text, 0) is None]
        in_other_notation = sum(_is_other_notation(text, literal) for text in unfit)
        return cls(len(texts), len(texts) - len(unfit), in_other_notation)

    @property
    def is_mostly_other(self) -> bool:
        """Whether fewer than half of the values fit."""
        return _LEAST_KNOWN * self.fit < self.looked_at

    def is_refused(self, sign: str) -> bool:
        """Tell whether a comparison would select by too few of the values."""
        if sign in _ORDERED:
            return self.in_other_notation > 0 or self.is_mostly_other
        return self.fit == 0 and 0 < self.looked_at <= _LEAST_KNOWN * self.in_other_notation


def _is_other_notation(text: str, literal: Literal) -> bool:
    """Tell whether a text that does not fit seems to be such a value all the same."""
    if isinstance(literal, bool):
        return True
    has_digit = any(map(str.isdigit, text))
    if isinstance(literal, str):
        return has_digit and not is_written_as_iso(text)  # 2026-02-30 is no day in any notation
    return has_digit and not any(map(str.isalpha, text))


def refuse_other_notations(condition: Condition | None, first: Texts, source: str) -> None:
    """Raise DataError if texts are compared with a literal that is written in another way.

    first: the first texts of columns, without those that stand for no value.
    """
    for test in tests_of(condition):
        texts = first.get(test.column, ())
        for literal in test.literals:
            if isinstance(literal, str) and moment_in(literal) is None:
                problem = _problem_of_text(test, literal.strip(), texts)
                if problem is not None:
                    raise other_notation(test, literal, source, problem)
            elif Notation.of(texts, literal, test.time_format).is_refused(test.sign):
                raise other_notation(test, literal, source)


def other_notation(
    test: ColumnTest, literal: Literal, source: str, problem: str | None = None
) -> DataError:
    """Return the error for a column that is written in another notation.

    problem: a clause that says what is wrong, and what to do.
    """
    kind = named_kind(test.sign, literal)
    problem = problem or _what_to_do(literal, test.time_format)
    return DataError(
        f"{parameter('where')} compares column {test.column!r} of {source} with {kind}, {problem}"
    )


def _what_to_do(literal: Literal, time_format: TimeFormat | None) -> str:
    """Return how an error describes texts in another notation than a literal, and what to do."""
    if isinstance(literal, bool):
        return (
            "and its values are not truth values: compare it with one of its texts, such as 'yes'"
        )
    if not isinstance(literal, str):
        return (
            "and not all of its values are numbers such as 1.50: write them so in the data, "
            "without commas or currency signs"
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


def _problem_of_text(test: ColumnTest, literal: str, texts: Sequence[str]) -> str | None:
    """Return what is wrong with an order of texts, which seem to be numbers or times; else None."""
    if test.sign not in _ORDERED:
        return None
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
    times = sum(
        moment_of(text, test.time_format) is not None or seems_a_time(text) for text in texts
    )
    if times >= least:
        return "and its values are dates: write a whole date, as 2026-01-31"
    return None


def texts_to_check(roles: Roles) -> FirstTexts:
    """Return what looks at the columns that conditions and times are read by.

    It raises DataError for a column in another notation.
    """
    times = roles.times
    names = [test.column for test in tests_of(roles.where) if test.literals]
    if times is not None and times.format is not None:
        names.append(times.column)

    def check(texts: Texts) -> None:
        refuse_other_notations(roles.where, texts, roles.source)
        if times is not None and times.format is not None:
            notation = Notation.of(texts[times.column], "", times.format)
            if notation.is_mostly_other:
                raise other_format(times, roles.source)

    return FirstTexts({name: [] for name in names}, check)


def other_format(times: Times, source: str) -> DataError:
    """Return the error for a column in which most texts, which are no missing times, do not fit."""
    return DataError(
        f"column {times.column!r} of {source} is not written as {parameter('time_format')} "
        f"{str(times.format)!r} says: name the format that it has"
    )
