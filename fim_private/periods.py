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
    """A stretch of whole days. name: such as 2026-W46, or two of these with .. between. first,
    last: its days since 1970-01-01, last >= first. kind: one of KINDS, of a stretch with two ends
    that of the first."""

    name: str
    first: int
    last: int
    kind: str

    @classmethod
    def of(cls, text: Any, option: str = "period") -> Period:
        """Return the period of a name. Raises ParameterError, which names the option, for what is
        none.
        """
        ends = text.split("..") if isinstance(text, str) else []
        if len(ends) == 1 and (found := _named(text.strip())) is not None:
            return found
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
        """Yield the periods of a kind that this is made of. Raises ParameterError where it cuts one
        of them.
        """
        day = self.first
        while day <= self.last:
            one = period_at(kind, day)
            if one.first < self.first or one.last > self.last:
                raise ParameterError(
                    f"{parameter('periods')} {self.name} is no number of whole {kind}s: "
                    f"{one.name} is cut; name "
                    f"its ends as {kind}s"
                )
            yield one
            day = one.last + 1

    def stretches(self, kind: str) -> range:
        """Return the numbers of the periods of a kind that this touches, as `numbers` counts
        them.
        """
        return range(_number(kind, self.first), _number(kind, self.last) + 1)


def _named(text: str) -> Period | None:
    if (match := _NAME.fullmatch(text)) is None:
        return None
    year = int(match[1])
    try:
        if match["week"]:
            first = date.fromisocalendar(year, int(match["week"]), 1)
            return period_at("week", first.toordinal() - _EPOCH)
        kind = next((kind for kind in ("day", "month", "quarter") if match[kind]), "year")
        month = 3 * int(match["quarter"]) - 2 if match["quarter"] else int(match["month"] or 1)
        return period_at(kind, date(year, month, int(match["day"] or 1)).toordinal() - _EPOCH)
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
    """Return the number of the period of a kind that each day is in, 0 for that of 1970-01-01:
    (n,).
    """
    days = days.astype("int64")
    if kind == "day":
        return days
    if kind == "week":
        return (days + 3) // 7  # it was a Thursday
    months: NDArray[np.int64] = days.astype("datetime64[D]").astype("datetime64[M]").astype("int64")
    return months // _MONTHS[kind]


def _number(kind: str, day: int) -> int:
    """As `numbers`, of one day."""
    if kind in ("day", "week"):
        return day if kind == "day" else (day + 3) // 7
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
    """Return the periods that a caller names, which do not overlap; none for none. Raises
    ParameterError.

    period: a name, or one of KINDS, into which periods, or the time from start to end, are then
    cut. periods: names, as a list or as text with commas.
    """
    kind = period if period in KINDS else None
    if (start is None) != (end is None):
        raise ParameterError(
            f"{parameter('start')} and {parameter('end')} go together: the first and the last day"
        )
    if sum(each is not None for each in (None if kind else period, periods, start)) > 1:
        raise ParameterError(
            f"give one of {parameter('period')} with a name, {parameter('periods')}, and "
            f"{parameter('start')} with "
            f"{parameter('end')}"
        )
    if start is not None:
        first, last = Period.of(start, "start"), Period.of(end, "end")
        found = [Period.of(f"{first.name}..{last.name}", "start")]
    elif periods is not None:
        listed = periods.split(",") if isinstance(periods, str) else periods
        if not isinstance(listed, list | tuple) or not listed:
            raise ParameterError(
                f"{parameter('periods')} must be names such as 2026-W40..2026-W46, not "
                f"{shown(periods)}"
            )
        found = [Period.of(one, "periods") for one in listed]
    elif kind is not None:
        raise ParameterError(
            f"{parameter('period')} {kind} needs {parameter('periods')} too: which of them, such "
            f"as "
            f"{period_at(kind, 20_000).name}..{period_at(kind, 20_200).name} (taken from the "
            f"data it would tell of it)"
        )
    else:
        found = [] if period is None else [Period.of(period)]
    if kind is not None or periods is not None:
        days = sum(one.last + 1 - one.first for one in found)
        if days > 366 * _MOST:
            raise ParameterError(f"{parameter('periods')} must be at most {_MOST:,} periods")
        found = [part for one in found for part in one.within(kind or one.kind)]
    if len(found) > _MOST:
        raise ParameterError(f"{parameter('periods')} must be at most {_MOST:,} periods")
    ordered = sorted(found, key=lambda one: one.first)
    for one, after in pairwise(ordered):
        if after.first <= one.last:
            raise ParameterError(
                f"{one.name} and {after.name} overlap: name {parameter('periods')} that do not"
            )
    return tuple(found)
