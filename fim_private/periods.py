"""Days, weeks (ISO 8601), months, quarters and years, and the stretches of time between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fim_private.errors import ParameterError, parameter, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KINDS = ("day", "week", "month", "quarter", "year")
PERIODS_A_YEAR = {"day": 365, "week": 52, "month": 12, "quarter": 4, "year": 1}
_MOST = 1_000
_FORMS = "2026, 2026-Q4, 2026-11, 2026-W46 or 2026-11-16"
_NAME = re.compile(
    r"([0-9]{4})(?:-(?:(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?|W(?P<week>[0-9]{2})|Q(?P<quarter>[1-4])))?"
)
_EPOCH = date(1970, 1, 1).toordinal()
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True)
class Period:
    """A stretch of whole days.

    Attributes:
        name: Such as 2026-W46, or two of these with .. between.
        first: Its first day, counted since 1970-01-01.
        last: Its last day, >= first.
        kind: One of KINDS; of a stretch with two ends that of the first.
    """

    name: str
    first: int
    last: int
    kind: str

    @classmethod
    def of(cls, text: Any, option: str = "period") -> Period:
        """Return the period of a name; raise ParameterError, with the option, if there is none."""
        ends = text.split("..") if isinstance(text, str) else []
        if len(ends) == 1:
            period = _named(text.strip())
            if period is not None:
                return period
        if len(ends) == 2:
            first, last = (cls.of(end, option) for end in ends)
            if first.first > last.last:
                raise ParameterError(
                    f"{parameter(option)} {shown(text)} ends before it begins; exchange its ends"
                )
            return cls(f"{first.name}..{last.name}", first.first, last.last, first.kind)
        raise ParameterError(
            f"{parameter(option)} must be a period such as {_FORMS}, not {shown(text)}"
        )

    def within(self, kind: str) -> Iterator[Period]:
        """Yield the periods of a kind in this one. Raises ParameterError if one of them is cut."""
        day = self.first
        while day <= self.last:
            period = period_at(kind, day)
            if period.first < self.first or period.last > self.last:
                raise ParameterError(
                    f"{parameter('periods')} {self.name} is no number of whole {kind}s: "
                    f"{period.name} is cut; name its ends as {kind}s"
                )
            yield period
            day = period.last + 1

    def stretches(self, kind: str) -> range:
        """Return the numbers, as in `numbers`, of the periods of a kind that this touches."""
        return range(_number(kind, self.first), _number(kind, self.last) + 1)


def _named(text: str) -> Period | None:
    """Return the period that has a name, of one kind; None if there is none."""
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    year = int(match[1])
    try:
        if match["week"]:
            kind, first = "week", date.fromisocalendar(year, int(match["week"]), 1)
        elif match["quarter"]:
            kind, first = "quarter", date(year, 3 * int(match["quarter"]) - 2, 1)
        elif match["day"]:
            kind, first = "day", date(year, int(match["month"]), int(match["day"]))
        elif match["month"]:
            kind, first = "month", date(year, int(match["month"]), 1)
        else:
            kind, first = "year", date(year, 1, 1)
        return period_at(kind, first.toordinal() - _EPOCH)
    except ValueError:
        return None


def period_at(kind: str, day: int) -> Period:
    """Return the period of a kind that has a day."""
    when = date.fromordinal(day + _EPOCH)
    if kind == "day":
        return Period(when.isoformat(), day, day, kind)
    if kind == "week":
        year, week, weekday = when.isocalendar()
        return Period(f"{year:04}-W{week:02}", day + 1 - weekday, day + 7 - weekday, kind)
    months = _MONTHS[kind]
    begin = (when.month - 1) // months
    first = date(when.year, begin * months + 1, 1)
    later = begin * months + months
    following = date(when.year + later // 12, later % 12 + 1, 1)
    name = {
        "month": f"{first:%Y-%m}",
        "quarter": f"{first:%Y}-Q{begin + 1}",
        "year": f"{first:%Y}",
    }[kind]
    return Period(name, first.toordinal() - _EPOCH, following.toordinal() - 1 - _EPOCH, kind)


def numbers(kind: str, days: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of each day's period of a kind, 0 for that of 1970-01-01: (n,)."""
    days = days.astype("int64")
    if kind == "day":
        return days
    if kind == "week":
        return (days + 3) // 7  # it was a Thursday
    months: NDArray[np.int64] = days.astype("datetime64[D]").astype("datetime64[M]").astype("int64")
    return months // _MONTHS[kind]


def _number(kind: str, day: int) -> int:
    """As `numbers`, of one day."""
    if kind == "day":
        return day
    if kind == "week":
        return (day + 3) // 7
    when = date.fromordinal(day + _EPOCH)
    return (12 * (when.year - 1970) + when.month - 1) // _MONTHS[kind]


def first_day(kind: str, number: int) -> int:
    """Return the first day of the period of a kind with a number, as `numbers` counts them."""
    if kind == "day":
        return number
    if kind == "week":
        return 7 * number - 3
    year, month = divmod(number * _MONTHS[kind], 12)
    return date(1970 + year, month + 1, 1).toordinal() - _EPOCH


def several(period: Any, periods: Any, start: Any, end: Any) -> tuple[Period, ...]:
    """Return the periods that a caller names, which do not overlap; none for none.

    Raises ParameterError.

    Args:
        period: A name, or one of KINDS, into which periods, or the time from start to end, are cut.
        periods: Names, as a list or as text with commas.
        start: A name, whose first day is the first.
        end: A name, whose last day is the last.
    """
    kind = period if period in KINDS else None
    name = None if kind else period
    if (start is None) != (end is None):
        raise ParameterError(
            f"{parameter('start')} and {parameter('end')} go together: the first and the last day"
        )
    if sum(choice is not None for choice in (name, periods, start)) > 1:
        raise ParameterError(
            f"give one of {parameter('period')} with a name, {parameter('periods')}, and "
            f"{parameter('start')} with {parameter('end')}"
        )
    named = _uncut(name, periods, start, end, kind)
    if kind is not None or periods is not None:
        named = _cut(named, kind)
    if len(named) > _MOST:
        raise ParameterError(f"{parameter('periods')} must be at most {_MOST:,} periods")
    for earlier, later in pairwise(sorted(named, key=lambda stretch: stretch.first)):
        if later.first <= earlier.last:
            raise ParameterError(
                f"{earlier.name} and {later.name} overlap: name {parameter('periods')} that do not"
            )
    return tuple(named)


def _uncut(name: Any, periods: Any, start: Any, end: Any, kind: str | None) -> list[Period]:
    """Return the stretches of time that are named, before they are cut into periods of a kind."""
    if start is not None:
        first, last = Period.of(start, "start"), Period.of(end, "end")
        return [Period.of(f"{first.name}..{last.name}", "start")]
    if periods is not None:
        names = periods.split(",") if isinstance(periods, str) else periods
        if not isinstance(names, list | tuple) or not names:
            raise ParameterError(
                f"{parameter('periods')} must be names such as 2026-W40..2026-W46, not "
                f"{shown(periods)}"
            )
        return [Period.of(text, "periods") for text in names]
    if kind is not None:
        example = f"{period_at(kind, 20_000).name}..{period_at(kind, 20_200).name}"
        raise ParameterError(
            f"{parameter('period')} {kind} needs {parameter('periods')} too: which of them, such "
            f"as {example} (taken from the data it would tell of it)"
        )
    return [] if name is None else [Period.of(name)]


def _cut(stretches: list[Period], kind: str | None) -> list[Period]:
    """Return the periods in each stretch: of a kind, or else of its own."""
    days = sum(stretch.last + 1 - stretch.first for stretch in stretches)
    if days > 366 * _MOST:
        raise ParameterError(f"{parameter('periods')} must be at most {_MOST:,} periods")
    return [period for stretch in stretches for period in stretch.within(kind or stretch.kind)]
