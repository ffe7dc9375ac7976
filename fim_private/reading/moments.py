"""Dates and times, of a text by itself: ISO 8601 as databases write it, to the microsecond."""

from __future__ import annotations

import re
from datetime import date

_MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(?:Z|([+-])([0-9]{2})(?::?([0-9]{2}))?)?)?"
)
_EPOCH = date(1970, 1, 1).toordinal()


def moment_of(text: str) -> int | None:
    """Return the microseconds from 1970 to a date (its midnight) or a time; None for what is neither.

    Without an offset it is taken as UTC; of a second what is finer than a microsecond is cut off.

    >>> moment_of("1970-01-02"), moment_of("1970-01-01 01:00:00.5+01:00"), moment_of("2011-02-30")
    (86400000000, 500000, None)
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    fraction, sign, hours, minutes = match.groups()[6:]
    try:
        days = date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None
    if hour > 23 or minute > 59 or second > 59 or int(minutes or 0) > 59 or int(hours or 0) > 23:
        return None
    offset = (1 if sign == "+" else -1) * (60 * int(hours or 0) + int(minutes or 0))
    seconds = ((days * 24 + hour) * 60 + minute - offset) * 60 + second
    return seconds * 1_000_000 + int(((fraction or "") + "000000")[:6])
