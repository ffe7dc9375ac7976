"""Days, weeks (ISO 8601), months, quarters and years, and the stretches of time between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, date
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from fim_private.errors import ParameterError, parameter, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PERIODS_A_YEAR = {"day": 365, "week": 52, "month": 12, "quarter": 4, "year": 1}
_MOST_A_YEAR = PERIODS_A_YEAR | {"day": 366, "week": 53}
KINDS = tuple(PERIODS_A_YEAR)
# The longer kinds are of whole weeks, too: each week belongs to the month, quarter or year of its
# Thursday, as ISO 8601 has it for years.
_OF_WEEKS = " of weeks"
_LONGER = ("month", "quarter", "year")
# The kinds of period that a promise can be about, by what a caller says: weeks are never cut unless
# the periods of the calendar are asked for.
KINDS_OF_PROMISE = {
    "day": "day",
    "week": "week",
    **{kind: f"{kind}{_OF_WEEKS}" for kind in _LONGER},
    **{f"calendar-{kind}": kind for kind in _LONGER},
}
_MOST = 1_000
_FORMS = "2026, 2026-Q4, 2026-11, 2026-W46 or 2026-11-16"
_NAME = re.compile(
    r"([0-9]{4})(?:-(?:(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?|W(?P<week>[0-9]{2})|Q(?P<quarter>[1-4])))?"
)
_EPOCH = date(1970, 1, 1).toordinal()
# What stands behind the name of a period in that of its first day.
_FIRST_DAY = {"day": "", "week": "-1", "month": "-01", "year": "-01-01"}
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
    def of(cls, text: object, option: str = "period", per: str | None = None) -> Period:
        """Return the period of a name; raise ParameterError, with the option, if there is none.

        per: the kind of period that a promise is about. If that is of whole weeks, so is this.
        """
        names = text.split("..") if isinstance(text, str) else []
        match [_named(name.strip(), is_of_weeks(per)) for name in names]:
            case [Period() as period]:
                return period
            case [Period() as first, Period() as last]:
                if first.first > last.last:
                    raise ParameterError(
                        f"{parameter(option)} {shown(text)} ends before it begins; exchange its "
                        f"ends"
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
                    f"{parameter('periods')} {self.name} is not a number of whole {period.kind}s: "
                    f"{period.name} is cut; name its ends as {period.kind}s"
                )
            yield period
            day = period.last + 1

    @property
    def repeated(self) -> tuple[int, str]:
        """How many such periods a year has, and what they are called."""
        if ".." in self.name:
            return max(365 // (self.last - self.first + 1), 1), "such periods"
        return PERIODS_A_YEAR[self.kind], f"{self.kind}s"

    def stretches(self, kind: str) -> range:
        """Return the numbers, as in `numbers`, of the periods of a kind that this touches."""
        return range(_number(kind, self.first), _number(kind, self.last) + 1)


def is_of_weeks(kind: str | None) -> bool:
    """Tell whether a kind of period is made of whole weeks, each in the period of its Thursday."""
    return kind is not None and kind.endswith(_OF_WEEKS)


def in_words(kind: str) -> str:
    """Return how a promise calls its kind of period: "month" of weeks, or "calendar month"."""
    if kind in _LONGER:
        return f"calendar {kind}"
    return kind.removesuffix(_OF_WEEKS)


def most_a_year(kind: str) -> int:
    """Return how many periods of a kind a year has at most, by the calendar or of whole weeks."""
    return _MOST_A_YEAR[kind.removesuffix(_OF_WEEKS)]


def kind_of_promise(per: str, *, whole_weeks: bool) -> str:
    """Return the kind of period that a saved release names by both."""
    return KINDS_OF_PROMISE[per] if whole_weeks else per


def plain_promise(kind: str | None) -> dict[str, object]:
    """Return a kind of period as `kind_of_promise` takes it; nothing for None."""
    if kind is None:
        return {}
    if is_of_weeks(kind):
        return {"per": in_words(kind), "whole_weeks": True}
    return {"per": kind}


def _named(text: str, of_weeks: bool) -> Period | None:
    """Return the period that has a name, of one kind; None if there is none.

    of_weeks: whether months, quarters and years are made of whole weeks.
    """
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    kind = match.lastgroup or "year"
    try:
        if kind == "quarter":
            first = date(int(match[1]), 3 * int(match["quarter"]) - 2, 1)
        else:
            first = date.fromisoformat(text + _FIRST_DAY[kind])
        day = first.toordinal() - _EPOCH
        if not of_weeks or kind not in _LONGER:
            return period_at(kind, day)
        # The week of the seventh day has its Thursday in the same month.
        whole = period_at(f"{kind}{_OF_WEEKS}", day + 6)
        return Period(text, whole.first, whole.last, kind)
    except ValueError:
        return None


def period_at(kind: str, day: int) -> Period:
    """Return the period of a kind that has a day."""
    number = _number(kind, day)
    first = first_day(kind, number)
    last = first_day(kind, number + 1) - 1
    begins = date.fromordinal(first + _EPOCH)
    if is_of_weeks(kind):
        begins = date.fromordinal(first + _EPOCH + 3)  # its first Thursday
    iso = begins.isoformat()
    year, week, _ = begins.isocalendar()
    names = {
        "day": iso,
        "week": f"{year:04}-W{week:02}",
        "month": iso[:7],
        "quarter": f"{iso[:4]}-Q{(begins.month + 2) // 3}",
        "year": iso[:4],
    }
    kind = kind.removesuffix(_OF_WEEKS)
    return Period(names[kind], first, last, kind)


def numbers(kind: str, days: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return the number of each day's period of a kind, 0 for that of 1970-01-01: (n,)."""
    counted: NDArray[np.int64] = days.astype("int64")
    if kind == "day":
        return counted
    weeks = (counted + 3) // 7  # that of 1970-01-01, a Thursday, is 0
    if kind == "week":
        return weeks
    if is_of_weeks(kind):
        return numbers(kind.removesuffix(_OF_WEEKS), 7 * weeks)
    months = counted.astype("datetime64[D]").astype("datetime64[M]").astype("int64")
    return months // _MONTHS[kind]


def _number(kind: str, day: int) -> int:
    """Return the number of the period of a kind that has a day, as `numbers` counts them."""
    import numpy as np

    return int(numbers(kind, np.array([day]))[0])


def first_day(kind: str, number: int) -> int:
    """Return the first day of the period of a kind with a number, as `numbers` counts them."""
    if kind == "day":
        return number
    if kind == "week":
        return 7 * number - 3
    if is_of_weeks(kind):
        first = first_day(kind.removesuffix(_OF_WEEKS), number)
        return -(-first // 7) * 7 - 3  # the Monday before the first Thursday
    year, month = divmod(number * _MONTHS[kind], 12)
    if 1970 + year > MAXYEAR:  # the day after the last that Python knows
        return date.max.toordinal() + 1 - _EPOCH
    return date(1970 + year, month + 1, 1).toordinal() - _EPOCH


def several(
    period: object, periods: object, start: object, end: object, per: str | None = None
) -> tuple[Period, ...]:
    """Return the periods that a caller names, which do not overlap; none for none.

    Raises ParameterError.

    Args:
        period: A name, or one of KINDS, into which periods, or the time from start to end, are cut.
        periods: Names, as a list or as text with commas.
        start: A name, whose first day is the first.
        end: A name, whose last day is the last.
        per: The kind of period that a promise is about. If that is of whole weeks, so are months,
            quarters and years.
    """
    kind, name = None, period
    if isinstance(period, str) and period in KINDS:
        kind, name = period, None
    if (start is None) != (end is None):
        raise ParameterError(
            f"{parameter('start')} and {parameter('end')} go together: the first and the last day"
        )
    if sum(choice is not None for choice in (name, periods, start)) > 1:
        raise ParameterError(
            f"give one of {parameter('period')} with a name, {parameter('periods')}, and "
            f"{parameter('start')} with {parameter('end')}"
        )
    named = _uncut(name, periods, start, end, kind, per)
    if kind is not None or periods is not None:
        cut = (
            period
            for stretch in named
            for period in stretch.within(_whole(kind or stretch.kind, per))
        )
        named = [*islice(cut, _MOST + 1)]
    if len(named) > _MOST:
        raise ParameterError(f"{parameter('periods')} must be at most {_MOST:,} periods")
    for earlier, later in pairwise(sorted(named, key=lambda stretch: stretch.first)):
        if later.first <= earlier.last:
            raise ParameterError(
                f"{earlier.name} and {later.name} overlap: name {parameter('periods')} that do not"
            )
    return tuple(named)


def _whole(kind: str, per: str | None) -> str:
    """Return the kind of period into which a stretch of time is cut, under a promise."""
    return KINDS_OF_PROMISE[kind] if is_of_weeks(per) else kind


def _uncut(
    name: object, periods: object, start: object, end: object, kind: str | None, per: str | None
) -> list[Period]:
    """Return the stretches of time that are named, before they are cut into periods of a kind."""
    if start is not None:
        first = Period.of(str(start), "start", per)
        last = Period.of(str(end), "end", per)
        if first.first > last.last:
            raise ParameterError(
                f"{parameter('start')} {first.name} is after {parameter('end')} {last.name}; "
                f"exchange them"
            )
        return [Period.of(f"{start}..{end}", "start", per)]
    if periods is not None:
        names = periods.split(",") if isinstance(periods, str) else periods
        if not isinstance(names, list | tuple) or not names:
            raise ParameterError(
                f"{parameter('periods')} must be names such as 2026-W40..2026-W46, not "
                f"{shown(periods)}"
            )
        return [Period.of(text, "periods", per) for text in names]
    if name is not None:
        return [Period.of(name, per=per)]
    if kind is None:
        return []
    example = f"{period_at(kind, 20_000).name}..{period_at(kind, 20_200).name}"
    raise ParameterError(
        f"{parameter('period')} {kind} needs {parameter('periods')} too: which of them, such "
        f"as {example} (taken from the data it would tell of it)"
    )
