"""What stands for no value, the day of a time, and which rows a condition lets pass, as expressions
of a database.

A column is compared with a literal of its own kind, and is refused where one machine would go by
what a text says.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import ibis

from fim_private.errors import DataError, parameter
from fim_private.reading.options import Times
from fim_private.reading.times import CENTURY_ENDS, MONTHS, TimeFormat, iso_moment
from fim_private.reading.values import MISSING_TEXTS
from fim_private.reading.where import ColumnTest, Condition, Literal, Logic, regex_of, truth

# White space as Arrow trims it, of Unicode and not only of ASCII, inside the brackets of a pattern.
WHITE = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
# Backslashes and dots are put in brackets: what else they need differs between databases.
_MISSING = "|".join(
    text.replace("\\", r"[\\]").replace(".", "[.]") for text in sorted(MISSING_TEXTS) if text
)
_NOTHING = f"^[{WHITE}]*({_MISSING})?[{WHITE}]*$|^[{WHITE}]+|[{WHITE}]+$"
_FROM_MARCH_OF_0 = 719_468  # days from the first of March of the year 0 to 1970
_EPOCH, _DAY = datetime(1970, 1, 1, tzinfo=UTC), 86_400 * 10**6
# As values.WITH_ZEROS, between white space.
_WITH_ZEROS = f"^[{WHITE}]*(0|-?[1-9][0-9]{{0,17}})[.]0+[{WHITE}]*$"
_EQUAL = {"=": operator.eq, "<>": operator.ne}
_SIGNS = _EQUAL | {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def present(column: Any) -> Any:
    """Return a column with null for what stands for none, and texts without white space around
    them.
    """
    kind = column.type()
    if kind.is_string():
        return column.re_replace(_NOTHING, "").nullif("")
    return column.isnan().ifelse(None, column) if kind.is_floating() else column


def as_printed(column: Any) -> Any:
    """Return a column with null for what stands for none, and texts that are integers in print as
    these: 7 for 7.0.
    """
    if not column.type().is_string():
        return present(column)
    # Not by a replacement with groups: how these are written differs between databases.
    whole = column.re_extract(_WITH_ZEROS, 1).nullif("")
    return ibis.coalesce(whole, present(column))


def _asking_for_utc(name: str, *, zone_first: bool) -> Callable[[Any], Any]:
    """Return what asks a database by a function of its own for a time as it is in UTC."""
    zoned, text = ibis.dtype("timestamp('UTC')"), ibis.dtype("string")
    kinds = (text, zoned) if zone_first else (zoned, text)
    plain = ibis.dtype("timestamp")

    def asked(first: Any, second: Any) -> Any: ...

    asked = ibis.udf.scalar.builtin(name=name, signature=(kinds, plain))(asked)
    if zone_first:
        return lambda time: asked("UTC", time)
    return lambda time: asked(time, "UTC")


# A cast of a time with a zone follows the zone of the session, so UTC is asked for by name.
# SQLite has no such zone: it reads a zone in a text, and knows UTC alone.
_IN_UTC: dict[str, Callable[[Any], Any]] = {
    "bigquery": _asking_for_utc("datetime", zone_first=False),
    "clickhouse": _asking_for_utc("toTimeZone", zone_first=False),
    "databricks": _asking_for_utc("convert_timezone", zone_first=True),
    "duckdb": _asking_for_utc("timezone", zone_first=True),
    "postgres": _asking_for_utc("timezone", zone_first=True),
    "snowflake": _asking_for_utc("convert_timezone", zone_first=True),
    "sqlite": lambda time: time.cast("timestamp"),
    "trino": _asking_for_utc("at_timezone", zone_first=False),
}


def day(column: Any, times: Times, source: str, dialect: str) -> Any:
    """Return the day of a time, as a date: as it stands, in UTC where it has a zone. Raises
    DataError for a type.
    """
    kind = column.type()
    if times.format is not None and (kind.is_string() or kind.is_integer()):
        number, _ = _day_and_micros(column, times.format)
        return ibis.literal(_EPOCH.date()) + number.cast("int32").as_interval("D")
    if kind.is_date():
        return column
    if not kind.is_timestamp():
        raise DataError(
            f"column {times.column!r} of {source} has type {kind}: make a view where it is a "
            f"date, or a timestamp. "
            f"If it holds texts, say with {parameter('time_format')} how they are written"
        )
    if kind.timezone is None:
        return column.date()
    _check_zone(times.column, source, dialect)
    return _IN_UTC[dialect](column).date()


def _check_zone(name: str, source: str, dialect: str) -> None:
    if dialect not in _IN_UTC:
        raise DataError(
            f"column {name!r} of {source} has times with a zone, which {dialect} cannot be asked "
            f"for in UTC: "
            "make a view where it is a date"
        )


# Times in texts are read by the patterns of one machine, and reckoned in whole numbers: what
# databases themselves make of a text or a day that there is not differs.


def moment(column: Any, time_format: TimeFormat) -> Any:
    """Return whole microseconds from 1970 to the times that texts, or whole numbers, say; null
    where they do not.
    """
    number, micros = _day_and_micros(column, time_format)
    return number * _DAY + micros


def _day_and_micros(column: Any, time_format: TimeFormat) -> tuple[Any, Any]:
    """Return the day from 1970 on that each text says, null where it says none; and microseconds of
    that day.
    """
    texts = present(column.cast("string")).lower()
    texts = texts.re_search(time_format.pattern).ifelse(texts, None)
    said = {
        part: texts.re_extract(time_format.pattern, place).nullif("")
        for place, part in enumerate(time_format.parts, 1)
    }
    year, month, number = _year(said), _month(said), said["day"].cast("int64")
    hour, is_hour = _hour(said)
    minute, second = (_number(said, part) for part in ("minute", "second"))
    is_time = (
        (year >= 1)
        & month.between(1, 12)
        & (number >= 1)
        & (number <= _length_of_month(year, month))
        & is_hour
    )
    is_time &= (minute <= 59) & (second <= 59)
    micros = ibis.literal(0, type="int64")
    if "fraction" in said:
        micros = said["fraction"].concat("000000").substr(0, 6).cast("int64")
    micros += (hour * 3_600 + minute * 60 + second) * 1_000_000
    return is_time.ifelse(_days(year, month, number), None), micros


def _number(said: Mapping[str, Any], part: str) -> Any:
    return said[part].cast("int64") if part in said else ibis.literal(0, type="int64")


def _year(said: Mapping[str, Any]) -> Any:
    if "year" in said:
        return said["year"].cast("int64")
    short = said["short year"].cast("int64")
    return (short >= CENTURY_ENDS).ifelse(short + 1900, short + 2000)


def _month(said: Mapping[str, Any]) -> Any:
    for part, length in (("name", None), ("short name", 3)):
        if part in said:
            names = ((said[part] == name[:length], place) for place, name in enumerate(MONTHS, 1))
            return ibis.cases(*names).cast("int64")
    return said["month"].cast("int64")


def _hour(said: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the hour, and whether there is such an hour."""
    if "half" not in said:
        hour = _number(said, "hour")
        return hour, hour <= 23
    half_day = said["half-day hour"].cast("int64")
    return half_day % 12 + (said["half"] == "pm").ifelse(12, 0), half_day.between(1, 12)


def _is_leap(year: Any) -> Any:
    return ((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0)


def _length_of_month(year: Any, month: Any) -> Any:
    of_february = _is_leap(year).ifelse(29, 28)
    return ibis.cases((month == 2, of_february), (month.isin([4, 6, 9, 11]), 30), else_=31)


def _days(year: Any, month: Any, number: Any) -> Any:
    """Return the days from 1970 to a day of the calendar."""
    # A year begins in March here, so that the day that some have more is its last.
    is_early = month <= 2
    years, months = is_early.ifelse(year - 1, year), is_early.ifelse(month + 9, month - 3)
    leaps = _whole(years, 4) - _whole(years, 100) + _whole(years, 400)
    return years * 365 + leaps + _whole(months * 153 + 2, 5) + number - 1 - _FROM_MARCH_OF_0


def _whole(number: Any, divisor: int) -> Any:
    return (number // divisor).cast("int64")


def passing(condition: Condition, table: Any, source: str, dialect: str) -> Any:
    """Return where a condition is true; null where it is neither true nor false. Raises DataError
    for a wrong type.
    """

    def compared(test: ColumnTest, sign: str, literal: Literal) -> Any:
        name = test.column
        kind = table[name].type()
        if kind.is_timestamp() and kind.timezone is not None:
            _check_zone(name, source, dialect)
        found = _compared(present(table[name]), sign, literal, test)
        if found is None:
            kind = {bool: "true or false", str: "a text"}.get(type(literal), "a number")
            raise DataError(
                f"{parameter('where')} compares column {name!r} of {source} with {kind} by "
                f"{sign}, and its type is "
                f"{table[name].type()}. Make a view with the right type; texts go with =, <> and "
                f"in only"
            )
        return found

    def is_null(name: str) -> Any:
        return present(table[name]).isnull()

    return truth(condition, Logic(compared, is_null, operator.invert, operator.and_, operator.or_))


def _compared(column: Any, sign: str, literal: Literal, test: ColumnTest) -> Any:
    """Return a comparison of a column with a literal; None if its type cannot be compared so."""
    if sign == "like":
        return _matched(column, str(literal), test.escape)
    if isinstance(literal, bool):
        can_compare = column.type().is_boolean() and sign in _EQUAL
        return _EQUAL[sign](column, literal) if can_compare else None
    if not isinstance(literal, str):
        return _with_number(column, sign, literal)
    text = literal.strip()
    micros = iso_moment(text)
    if micros is not None:
        return _with_time(column, sign, micros, test.time_format)
    can_compare = column.type().is_string() and sign in _EQUAL
    return _EQUAL[sign](column, text) if can_compare else None


def _matched(column: Any, pattern: str, escape: str) -> Any:
    """Return whether a pattern matches texts, or the digits of whole numbers; None for others."""
    regex = regex_of(pattern.strip(), escape)
    kind = column.type()
    if not (kind.is_string() or kind.is_integer()):
        return None
    return column.cast("string").re_search(regex)


def _with_time(column: Any, sign: str, micros: int, time_format: TimeFormat | None) -> Any:
    """Return a comparison of dates or times with microseconds from 1970; None for other types."""
    kind = column.type()
    if time_format is not None and (kind.is_string() or kind.is_integer()):
        return _SIGNS[sign](moment(column, time_format), micros)
    if not (kind.is_date() or kind.is_timestamp()):
        return None
    time = _EPOCH + timedelta(microseconds=micros)
    if kind.is_date():
        column = column.cast("timestamp")
    if kind.is_date() or not kind.timezone:
        time = time.replace(tzinfo=None)
    return _SIGNS[sign](column, ibis.literal(time))


def _with_number(column: Any, sign: str, number: int | Decimal) -> Any:
    """Return a comparison of numbers with a number; None where a database could round it."""
    kind = column.type()
    if kind.is_integer():
        return _with_whole_bound(column, sign, number)
    exact = Decimal(number)
    if kind.is_float64():
        return _SIGNS[sign](column, float(exact))
    if not kind.is_decimal() or (kind.precision or 0) > 38:
        return None
    decimals = max(kind.scale or 0, -int(exact.as_tuple().exponent))
    if decimals > 38 or abs(exact) >= 10 ** (38 - decimals):
        return None
    return _SIGNS[sign](column, ibis.literal(exact, f"decimal(38, {decimals})"))


def _with_whole_bound(column: Any, sign: str, number: int | Decimal) -> Any:
    """Return a comparison of whole numbers with the whole number next to a number."""
    low, high = math.floor(number), math.ceil(number)
    if abs(low) >= 2**62:
        return None
    if low != high and sign in _EQUAL:  # no whole number is a fraction
        return column.isnull().ifelse(None, sign == "<>")
    bound = low if sign in ("<=", ">") else high
    return _SIGNS[sign](column, bound)
