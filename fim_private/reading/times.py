"""How times are written in texts: ISO 8601, days with dots (31.1.2026), or a format that a caller
gives.

Each text is read by itself, by the same patterns in every engine. No language of a machine changes
one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, cached_property

from fim_private.errors import ParameterError, parameter, shown

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)

# -------------------- ISO 8601, and days with dots

_HOUR, _SIXTIETH = "(?:[01][0-9]|2[0-3])", "[0-5][0-9]"
_ISO = re.compile(
    rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[ "
    rf"T]{_HOUR}:{_SIXTIETH}(?::{_SIXTIETH}(?:\.[0-9]{{1,9}})?)?"
    rf"(?:Z|[+-]{_HOUR}(?::?{_SIXTIETH})?)?)?"
)


def is_written_as_iso(text: str) -> bool:
    """Tell whether a text has the form of a date or a time of ISO 8601, also of a day that there is
    not.
    """
    return _ISO.fullmatch(text) is not None


def iso_moment(text: str) -> int | None:
    """Return whole microseconds from 1970 to a date or a time of ISO 8601, UTC without an offset,
    or None.
    """
    if not is_written_as_iso(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    offset = moment.utcoffset() or timedelta()
    return (moment.replace(tzinfo=None) - _EPOCH - offset) // _MICROSECOND


def moment_of(text: str, time_format: TimeFormat | None = None) -> int | None:
    """Return whole microseconds from 1970 to the time that a text says, UTC without an offset, or
    None.

    Without a format the text is in ISO 8601, or a day with dots: 31.1.2026, with a time or without.
    """
    if time_format is not None:
        return time_format.moment(text)
    found = iso_moment(text)
    if found is None and "." in text:
        forms = (one.moment(text) for one in _days_with_dots())
        found = next((moment for moment in forms if moment is not None), None)
    return found


# -------------------- formats, a few directives of strptime

MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_SHORT_MONTHS = [name[:3] for name in MONTHS]
_SPACE = "[ \t\u00a0\u202f]+"
# Which part of a time each directive says, and how it is written.
_PARTS: Mapping[str, tuple[str, str]] = {
    "Y": ("year", "[0-9]{4}"),
    "y": ("short year", "[0-9]{2}"),
    "m": ("month", "[0-9]{1,2}"),
    "b": ("short name", "|".join(_SHORT_MONTHS)),
    "B": ("name", "|".join(MONTHS)),
    "d": ("day", "[0-9]{1,2}"),
    "H": ("hour", "[0-9]{1,2}"),
    "I": ("half-day hour", "[0-9]{1,2}"),
    "M": ("minute", "[0-9]{1,2}"),
    "S": ("second", "[0-9]{1,2}"),
    "f": ("fraction", "[0-9]{1,9}"),
    "p": ("half", "am|pm"),
}
_DIRECTIVES = " ".join(f"%{letter}" for letter in _PARTS)
# Of each line one; the parts of the second are needed where a part of the first is there.
_ONE_OF = (("year", "short year"), ("month", "short name", "name"), ("day",))
_NEEDS = (
    (("half-day hour",), ("half",)),
    (("half",), ("half-day hour",)),
    (("minute",), ("hour", "half-day hour")),
    (("second",), ("minute",)),
    (("fraction",), ("second",)),
)
_TOKEN = re.compile(r"%(.?)|(\s+)|(.)", re.DOTALL)
_SPECIAL = frozenset("\\^[]")  # databases do not agree on these in patterns
CENTURY_ENDS = 69  # 68 is 2068 and 69 is 1969, as for POSIX and Python


@dataclass(frozen=True)
class TimeFormat:
    """How the texts of a column say times, such as %d/%m/%Y. Raises ParameterError for what no time
    is read by.

    or_iso: whether texts in ISO 8601 are times, too: where a source has dates of its own, which are
    written so.
    """

    text: str
    or_iso: bool = False

    def __post_init__(self) -> None:
        parts = self.parts
        for alternatives in _ONE_OF:
            if len({*alternatives} & {*parts}) != 1:
                raise self._error("it needs a year, a month and a day, each once")
        if len({*parts}) < len(parts) or {"hour", "half-day hour"} <= {*parts}:
            raise self._error("it has a part twice")
        for those, needed in _NEEDS:
            if not {*those}.isdisjoint(parts) and {*needed}.isdisjoint(parts):
                raise self._error("it has a part without the one before it: %I and %p go together")

    def __reduce__(self) -> tuple[type[TimeFormat], tuple[str, bool]]:
        return type(self), (self.text, self.or_iso)

    def __str__(self) -> str:
        return self.text

    def _error(self, why: str) -> ParameterError:
        name = parameter("time_format")
        return ParameterError(
            f"{name} must be such as '%d/%m/%Y' or '%m/%d/%Y %H:%M', of {_DIRECTIVES}, not "
            f"{shown(self.text)}: {why}"
        )

    @cached_property
    def _pieces(self) -> list[tuple[str, str]]:
        """The parts of a time in order, each with its pattern; what stands between them has no
        name.
        """
        found: list[tuple[str, str]] = []
        for letter, space, other in _TOKEN.findall(self.text):
            if letter in _PARTS:
                found.append(_PARTS[letter])
            elif space:
                found.append(("", _SPACE))
            else:
                character = letter or other
                is_known = bool(other) or letter == "%"
                if not is_known or character in _SPECIAL or character.isdigit():
                    raise self._error("it has something else in it")
                found.append(("", f"[{character.lower()}]"))
        return found

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The parts of a time that it has, in order: those of the groups of the pattern."""
        return tuple(part for part, _ in self._pieces if part)

    @cached_property
    def pattern(self) -> str:
        """The pattern of all of a text in small letters, with a group for each part."""
        pieces = self._pieces
        written = []
        for place, (part, pattern) in enumerate(pieces):
            beside = [*pieces[max(0, place - 1) : place], *pieces[place + 1 : place + 2]]
            # Beside other digits, as in %Y%m%d, a number has two.
            if pattern == "[0-9]{1,2}" and any(other.startswith("[0-9]") for _, other in beside):
                pattern = "[0-9]{2}"
            written.append(f"({pattern})" if part else pattern)
        return f"^{''.join(written)}$"

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def moment(self, text: str) -> int | None:
        """Return whole microseconds from 1970 to the time that a text says, or None where it does
        not fit.
        """
        match = self._compiled.fullmatch(text.lower())
        found = (
            None if match is None else _moment(dict(zip(self.parts, match.groups(), strict=True)))
        )
        return iso_moment(text) if found is None and self.or_iso else found

    def with_iso(self) -> TimeFormat:
        """Return the format of a source that has dates of its own: texts in ISO 8601 are times,
        too.
        """
        return replace(self, or_iso=True)


def _moment(said: Mapping[str, str]) -> int | None:
    year = int(said.get("year", 0))
    if "short year" in said:
        short = int(said["short year"])
        year = short + (1900 if short >= CENTURY_ENDS else 2000)
    hour = int(said.get("hour", 0))
    if "half" in said:
        half_day = int(said["half-day hour"])
        if not 1 <= half_day <= 12:
            return None
        hour = half_day % 12 + (12 if said["half"] == "pm" else 0)
    micros = int(said.get("fraction", "")[:6].ljust(6, "0"))
    minute, second = int(said.get("minute", 0)), int(said.get("second", 0))
    try:
        moment = datetime(year, _month(said), int(said["day"]), hour, minute, second, micros)
    except ValueError:
        return None
    return (moment - _EPOCH) // _MICROSECOND


def _month(said: Mapping[str, str]) -> int:
    if "name" in said:
        return MONTHS.index(said["name"]) + 1
    if "short name" in said:
        return _SHORT_MONTHS.index(said["short name"]) + 1
    return int(said["month"])


def time_format_of(given: object) -> TimeFormat | None:
    """Return what a caller gave as a format; None for None. Raises ParameterError."""
    if given is None:
        return None
    if not isinstance(given, str):
        name = parameter("time_format")
        raise ParameterError(f"{name} must be text, such as '%d/%m/%Y', not {shown(given)}")
    return TimeFormat(given.strip())


# -------------------- which formats fit

_CLOCKS = (
    "",
    *(" %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p", " %I:%M%p"),
    *(
        "T%H:%M",
        "T%H:%M:%S",
        "T%H:%M:%S.%f",
        ", %H:%M",
        ", %H:%M:%S",
        ", %I:%M %p",
        ", %I:%M:%S %p",
    ),
)
_MARKS = ("/", "-", ".", " ")
_NAMED_DAYS = (
    *("%d %b %Y", "%d-%b-%Y", "%d/%b/%Y", "%d. %b %Y", "%b %d, %Y", "%b %d %Y", "%Y %b %d"),
    *("%Y-%b-%d", "%d%b%Y"),
)


@cache
def _days_with_dots() -> list[TimeFormat]:
    return [TimeFormat(f"%d.%m.%Y{clock}") for clock in _CLOCKS if "%p" not in clock]


@cache
def _usual_formats() -> list[TimeFormat]:
    days = ["%Y%m%d"]
    for mark in _MARKS:
        for year in ("%Y", "%y"):
            days += [mark.join(order) for order in (("%d", "%m", year), ("%m", "%d", year))]
        days.append(mark.join(("%Y", "%m", "%d")))
    for day in _NAMED_DAYS:
        longer = day.replace("%b", "%B")
        days += [day, longer]
        if not day.startswith("%Y"):  # with two digits a year comes last
            days += [day.replace("%Y", "%y"), longer.replace("%Y", "%y")]
    return [TimeFormat(day + clock) for day in days for clock in _CLOCKS]


def _marks(text: str) -> frozenset[str]:
    return frozenset(
        character for character in text if not character.isalnum() and not character.isspace()
    )


@cache
def _usual_by_marks() -> dict[frozenset[str], list[TimeFormat]]:
    found: dict[frozenset[str], list[TimeFormat]] = {}
    for one in _usual_formats():
        found.setdefault(_marks(one.text.replace("%", "")), []).append(one)
    return found


def usual_formats_of(text: str) -> list[TimeFormat]:
    """Return the formats in which dates and times are usually written, besides ISO 8601, that fit a
    text.
    """
    # Of hundreds only those with its marks are tried: each has a pattern to make first.
    return [one for one in _usual_by_marks().get(_marks(text), []) if one.moment(text) is not None]


def seems_a_time(text: str) -> bool:
    """Tell whether a text says a time in any usual form."""
    return moment_of(text) is not None or bool(usual_formats_of(text))
