"""How times are written in texts: ISO 8601, days with dots (31.1.2026), or a caller's format.

Each text is read by itself, by the same patterns in every engine. The language that a machine is
set to makes no difference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """Tell whether a text has the form of a date or time of ISO 8601: 2026-02-30 has it, too."""
    return _ISO.fullmatch(text) is not None


def iso_moment(text: str) -> int | None:
    """Return whole microseconds from 1970 to a date or a time of ISO 8601, else None.

    A time without an offset is in UTC.
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
    """Return whole microseconds from 1970 to the time that a text says, else None.

    Without a format the text is in ISO 8601, or a day with dots: 31.1.2026, with a time or without.
    """
    if time_format is not None:
        return time_format.moment(text)
    if "." not in text or is_written_as_iso(text):
        return iso_moment(text)
    for days in _days_with_dots():
        moment = days.moment(text)
        if moment is not None:
            return moment
    return None


# -------------------- formats, a few directives of strptime

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_SHORT_MONTHS = [name[:3] for name in MONTHS]
_SPACE = "[ \t\u00a0\u202f]+"
# The part of a time that each directive says, and how it is written.
_PARTS = {
    "Y": ("year", "([0-9]{4})"),
    "y": ("short year", "([0-9]{2})"),
    "m": ("month", "([0-9]{1,2})"),
    "b": ("name", f"({'|'.join(_SHORT_MONTHS)})"),
    "B": ("name", f"({'|'.join(MONTHS)})"),
    "d": ("day", "([0-9]{1,2})"),
    "H": ("hour", "([0-9]{1,2})"),
    "I": ("half-day hour", "([0-9]{1,2})"),
    "M": ("minute", "([0-9]{1,2})"),
    "S": ("second", "([0-9]{1,2})"),
    "f": ("fraction", "([0-9]{1,9})"),
    "p": ("half", "(am|pm)"),
}
_DIRECTIVES = " ".join(f"%{letter}" for letter in _PARTS)
# The parts that a format has, in the order of those above: a day, and perhaps a time of it.
_ORDER = [part for part, _ in _PARTS.values()]
_FINER = "( minute( second( fraction)?)?)?"
_COMPLETE = f"(short )?year (month|name) day( hour{_FINER}| half-day hour{_FINER} half)?"
_TOKEN = re.compile(r"%(.?)|(\s+)|(.)", re.DOTALL)
_SPECIAL = frozenset("\\^[]")  # databases do not agree on these in patterns
CENTURY_ENDS = 69  # 68 is 2068 and 69 is 1969, as for POSIX and Python


@dataclass(frozen=True)
class TimeFormat:
    """How the texts of a column say times, such as %d/%m/%Y.

    Raises ParameterError for a format that no time can be read by. or_iso: whether texts in ISO
    8601 are times, too, because a source has dates of its own, which are written so.
    """

    text: str
    or_iso: bool = False

    def __post_init__(self) -> None:
        in_order = " ".join(sorted(self.parts, key=_ORDER.index))
        # What is in the text beside the parts is said first.
        if self.pattern and re.fullmatch(_COMPLETE, in_order) is None:
            raise self._error(
                "it needs a year, a month and a day, and may have hours, minutes, seconds and "
                "their fractions, all before the last and none twice; %I and %p go together"
            )

    def __str__(self) -> str:
        return self.text

    def _error(self, why: str) -> ParameterError:
        return ParameterError(
            f"{parameter('time_format')} must be such as '%d/%m/%Y' or '%m/%d/%Y %H:%M', of "
            f"{_DIRECTIVES}, not {shown(self.text)}: {why}"
        )

    @cached_property
    def parts(self) -> Sequence[str]:
        """The parts of a time that it has, in order: those of the groups of the pattern."""
        return [_PARTS[letter][0] for letter, _, _ in _TOKEN.findall(self.text) if letter in _PARTS]

    @cached_property
    def pattern(self) -> str:
        """The pattern of a whole text in small letters, with a group for each part."""
        pattern = _TOKEN.sub(self._piece, self.text)
        # Beside other digits, as in %Y%m%d, a number has two.
        pattern = pattern.replace("{1,2})([0-9]", "{2})([0-9]")
        return "^" + pattern.replace("})([0-9]{1,2})", "})([0-9]{2})") + "$"

    def _piece(self, token: re.Match[str]) -> str:
        """Return the pattern of a part of a time, or of the text between."""
        letter, space, character = token.groups()
        if letter in _PARTS:
            return _PARTS[letter][1]
        if space:
            return _SPACE
        literal = "%" if letter == "%" else character
        if not literal or literal in _SPECIAL or literal.isdigit():
            raise self._error("it has something else in it")
        return f"[{literal.lower()}]"

    def moment(self, text: str) -> int | None:
        """Return whole microseconds from 1970 to the time that a text says, else None."""
        moment = None
        match = re.fullmatch(self.pattern, text.lower())
        if match is not None:
            moment = _moment(dict(zip(self.parts, match.groups(), strict=True)))
        if moment is None and self.or_iso:
            return iso_moment(text)
        return moment


def _moment(texts: Mapping[str, str]) -> int | None:
    """Return whole microseconds from 1970 to a time, of the texts of its parts, else None."""
    numbers = Counter({name: int(text) for name, text in texts.items() if text.isdigit()})
    year, month, hour = numbers["year"], numbers["month"], numbers["hour"]
    if "short year" in texts:
        year = 1900 + numbers["short year"]
        if year < 1900 + CENTURY_ENDS:
            year += 100
    if "name" in texts:
        month = 1 + _SHORT_MONTHS.index(texts["name"][:3])
    if "half" in texts:
        half_day = numbers["half-day hour"]
        if not 1 <= half_day <= 12:
            return None
        hour = half_day % 12
        if texts["half"] == "pm":
            hour += 12
    micros = int(texts.get("fraction", "")[:6].ljust(6, "0"))
    try:
        moment = datetime(
            year, month, numbers["day"], hour, numbers["minute"], numbers["second"], micros
        )
    except ValueError:
        return None
    return (moment - _EPOCH) // _MICROSECOND


def time_format_of(text: object) -> TimeFormat | None:
    """Return a caller's format; None for None. Raises ParameterError."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise ParameterError(
            f"{parameter('time_format')} must be text, such as '%d/%m/%Y', not {shown(text)}"
        )
    return TimeFormat(text.strip())


# -------------------- which formats fit

_SPACED = (" %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p", " %I:%M%p")
_JOINED = ("T%H:%M", "T%H:%M:%S", "T%H:%M:%S.%f")
_BEHIND_DAYS = ("", *_SPACED, *_JOINED, ", %H:%M", ", %H:%M:%S", ", %I:%M %p", ", %I:%M:%S %p")
_NUMBERS = ("%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%Y/%m/%d")
_YEAR_LAST = ("%d %b %Y", "%d-%b-%Y", "%d/%b/%Y", "%d. %b %Y", "%b %d, %Y", "%b %d %Y", "%d%b%Y")
_YEAR_FIRST = ("%Y %b %d", "%Y-%b-%d")


@cache
def _days_with_dots() -> list[TimeFormat]:
    return [TimeFormat(f"%d.%m.%Y{clock}") for clock in _BEHIND_DAYS if "%p" not in clock]


@cache
def _usual_with(marks: frozenset[str]) -> list[TimeFormat]:
    """Return the usual formats, besides ISO 8601, that have these marks."""
    named = [*_YEAR_LAST, *_YEAR_FIRST, *(day.replace("%Y", "%y") for day in _YEAR_LAST)]
    days = [
        "%Y%m%d",
        *(day.replace("/", mark) for mark in "/-. " for day in _NUMBERS),
        *named,
        *(day.replace("%b", "%B") for day in named),
    ]
    texts = [day + clock for day in days for clock in _BEHIND_DAYS]
    return [TimeFormat(text) for text in texts if _marks(text.replace("%", "")) == marks]


def _marks(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\w\s]|_", text))


def usual_formats_of(text: str) -> list[TimeFormat]:
    """Return the usual formats of dates and times, besides ISO 8601, that fit a text."""
    # Only those with its marks are tried, not hundreds: each has a pattern to make first.
    return [usual for usual in _usual_with(_marks(text)) if usual.moment(text) is not None]


def seems_a_time(text: str) -> bool:
    """Tell whether a text says a time in any usual form."""
    return moment_of(text) is not None or bool(usual_formats_of(text))
