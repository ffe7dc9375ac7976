"""Expressions of a database for missing values, the day of a time, and the rows that a condition
selects.

A column is compared only with a literal of its own kind. It is refused if one machine would compare
what its texts say.
"""

import math
import operator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import ibis
from ibis.expr.types import Table, Value

from fim_private.errors import DataError, parameter
from fim_private.reading.options import Times
from fim_private.reading.times import CENTURY_ENDS, MONTHS, TimeFormat
from fim_private.reading.values import MISSING_TEXTS
from fim_private.reading.where import (
    COMPARE,
    ColumnTest,
    Condition,
    Literal,
    Logic,
    moment_in,
    named_kind,
    regex_of,
    truth,
)
from fim_private.warehouse.session import Session

# White space as Arrow trims it, of Unicode and not only of ASCII, inside the brackets of a pattern.
WHITE = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
# Backslashes and dots are put in brackets, since databases differ in how they are escaped.
_MISSING = "|".join(
    text.replace("\\", r"[\\]").replace(".", "[.]") for text in sorted(MISSING_TEXTS) if text
)
_NOTHING = f"^[{WHITE}]*({_MISSING})?[{WHITE}]*$|^[{WHITE}]+|[{WHITE}]+$"
_FROM_MARCH_OF_0 = 719_468  # days from the first of March of the year 0 to 1970
_EPOCH, _DAY = datetime(1970, 1, 1, tzinfo=UTC), 86_400 * 10**6
# As values.WITH_ZEROS, between white space.
_WITH_ZEROS = f"^[{WHITE}]*(0|-?[1-9][0-9]{{0,17}})[.]0+[{WHITE}]*$"
_EQUALITIES = ("=", "<>")


def present(column: Value) -> Value:
    """Return a column with null for missing values, and texts without white space around them."""
    kind = column.type()
    if kind.is_string():
        return column.re_replace(_NOTHING, "").nullif("")
    if kind.is_floating():
        return column.isnan().ifelse(None, column)
    return column


def as_printed(column: Value) -> Value:
    """Return a column with null for missing values, and texts such as 7.0 as integers: 7."""
    if not column.type().is_string():
        return present(column)
    # Not by a replacement with groups, which databases write differently.
    return ibis.coalesce(column.re_extract(_WITH_ZEROS, 1).nullif(""), present(column))


# What databases call the function that gives a time in a zone, whose name is the first argument of
# some, and the last of others. A cast of a time with a zone uses the zone of the session, so UTC is
# asked for by name. SQLite has no zone of a session: it reads zones in texts, and gives UTC.
_ZONE_FIRST = {
    "databricks": "convert_timezone",
    "duckdb": "timezone",
    "postgres": "timezone",
    "snowflake": "convert_timezone",
}
_ZONE_LAST = {"bigquery": "datetime", "clickhouse": "toTimeZone", "trino": "at_timezone"}
_ZONES = {"sqlite": "", **_ZONE_FIRST, **_ZONE_LAST}


def _in_utc(time: Value, dialect: str) -> Value:
    if dialect == "sqlite":
        return time.cast("timestamp")
    arguments = [time, ibis.literal("UTC")]
    if dialect in _ZONE_FIRST:
        arguments.reverse()
    kinds = tuple(argument.type() for argument in arguments)
    in_zone = ibis.udf.scalar.builtin(name=_ZONES[dialect], signature=(kinds, "timestamp"))
    return in_zone(lambda first, second: None)(*arguments)


def day(column: Value, times: Times, session: Session) -> Value:
    """Return the day of a time as a date, in UTC if it has a zone.

    Raises DataError for a column of another type.
    """
    kind = column.type()
    if times.format is not None and (kind.is_string() or kind.is_integer()):
        number, _ = _day_and_micros(column, times.format)
        return ibis.literal(_EPOCH.date()) + number.cast("int32").as_interval("D")
    if kind.is_date():
        return column
    if not kind.is_timestamp():
        raise DataError(
            f"column {times.column!r} of {session.name} has type {kind}: make a view where it is a "
            f"date, or a timestamp. "
            f"If it holds texts, say with {parameter('time_format')} how they are written"
        )
    if kind.timezone is None:
        return column.date()
    _check_zone(times.column, session)
    return _in_utc(column, session.dialect).date()


def _check_zone(name: str, session: Session) -> None:
    if session.dialect not in _ZONES:
        raise DataError(
            f"column {name!r} of {session.name} has times with a zone, which {session.dialect} "
            f"cannot be asked for in UTC: make a view where it is a date"
        )


# Times in texts are read by the patterns of one machine, and computed in whole numbers: databases
# differ in how they read a text, or a day that does not exist.


def moment(column: Value, time_format: TimeFormat) -> Value:
    """Return the times in texts or whole numbers, in microseconds since 1970; null for others."""
    number, micros = _day_and_micros(column, time_format)
    return number * _DAY + micros


def _day_and_micros(column: Value, time_format: TimeFormat) -> tuple[Value, Value]:
    """Return the day of each text, counted since 1970, null for none, and microseconds of it."""
    texts = present(column.cast("string")).lower()
    texts = texts.re_search(time_format.pattern).ifelse(texts, None)
    said = {
        directive: texts.re_extract(time_format.pattern, place).nullif("")
        for place, directive in enumerate(time_format.parts, 1)
    }

    def number_of(directive: str) -> Value:
        """Return the number in a part of the text; 0 for one that the format has not."""
        if directive not in said:
            return ibis.literal(0, type="int64")
        return said[directive].cast("int64")

    year, month, number = map(number_of, ("year", "month", "day"))
    if "short year" in said:
        short = number_of("short year")
        year = (short >= CENTURY_ENDS).ifelse(short + 1900, short + 2000)
    if "name" in said:
        letters = said["name"].substr(0, 3)
        months = ((letters == name[:3], place) for place, name in enumerate(MONTHS, 1))
        month = ibis.cases(*months).cast("int64")
    hour, minute, second = map(number_of, ("hour", "minute", "second"))
    is_time = (year >= 1) & month.between(1, 12) & (number >= 1) & (hour <= 23)
    if "half" in said:
        half_day = number_of("half-day hour")
        hour = half_day % 12 + (said["half"] == "pm").ifelse(12, 0)
        is_time &= half_day.between(1, 12)
    is_time &= (number <= _length_of_month(year, month)) & (minute <= 59) & (second <= 59)
    micros = (hour * 3_600 + minute * 60 + second) * 1_000_000
    if "fraction" in said:
        micros += said["fraction"].concat("000000").substr(0, 6).cast("int64")
    return is_time.ifelse(_days(year, month, number), None), micros


def _length_of_month(year: Value, month: Value) -> Value:
    is_leap = ((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0)
    of_february = is_leap.ifelse(29, 28)
    return ibis.cases((month == 2, of_february), (month.isin([4, 6, 9, 11]), 30), else_=31)


def _days(year: Value, month: Value, number: Value) -> Value:
    """Return the days from 1970 to a day of the calendar."""
    # A year begins in March here, so that a leap day is its last.
    is_early = month <= 2
    years = is_early.ifelse(year - 1, year)
    months = is_early.ifelse(month + 9, month - 3)
    leaps = _whole(years, 4) - _whole(years, 100) + _whole(years, 400)
    return years * 365 + leaps + _whole(months * 153 + 2, 5) + number - 1 - _FROM_MARCH_OF_0


def _whole(number: Value, divisor: int) -> Value:
    return (number // divisor).cast("int64")


def passing(condition: Condition, table: Table, session: Session) -> Value:
    """Return where a condition is true; null where it is neither true nor false.

    Raises DataError for a column that cannot be compared with its literal.
    """

    def compared(test: ColumnTest, sign: str, literal: Literal) -> Value:
        column = table[test.column]
        kind = column.type()
        if kind.is_timestamp() and kind.timezone is not None:
            _check_zone(test.column, session)
        comparison = _compared(present(column), sign, literal, test)
        if comparison is None:
            raise DataError(
                f"{parameter('where')} compares column {test.column!r} of {session.name} with "
                f"{named_kind(sign, literal)} by {sign}, and its type is {kind}. "
                f"{_advice(sign, literal)}"
            )
        return comparison

    operators = operator.invert, operator.and_, operator.or_
    return truth(condition, Logic(compared, lambda name: present(table[name]).isnull(), operators))


def _advice(sign: str, literal: Literal) -> str:
    """Return what an error advises for a column that cannot be compared so."""
    if sign != "like" and moment_in(literal) is not None:
        return (
            f"Make a view where it is a date or a timestamp; if it holds texts, say with "
            f"{parameter('time_format')} how they are written"
        )
    return "Make a view with the right type; texts go with =, <> and in only"


def _compared(column: Value, sign: str, literal: Literal, test: ColumnTest) -> Value | None:
    """Return a comparison of a column with a literal; None if their types do not go together."""
    kind = column.type()
    if sign == "like":
        if not (kind.is_string() or kind.is_integer()):
            return None
        # The digits of whole numbers are matched, too.
        return column.cast("string").re_search(regex_of(str(literal).strip(), test.escape))
    if isinstance(literal, Decimal):
        return _with_number(column, sign, literal)
    micros = moment_in(literal)
    if micros is not None:
        return _with_time(column, sign, micros, test.time_format)
    if isinstance(literal, str):
        literal = literal.strip()
    is_same_kind = kind.is_boolean() if isinstance(literal, bool) else kind.is_string()
    if not is_same_kind or sign not in _EQUALITIES:
        return None
    return COMPARE[sign](column, literal)


def _with_time(
    column: Value, sign: str, micros: int, time_format: TimeFormat | None
) -> Value | None:
    """Return a comparison of dates or times with microseconds since 1970; None for others."""
    kind = column.type()
    if time_format is not None and (kind.is_string() or kind.is_integer()):
        return COMPARE[sign](moment(column, time_format), micros)
    if not (kind.is_date() or kind.is_timestamp()):
        return None
    time = _EPOCH + timedelta(microseconds=micros)
    if kind.is_date():
        column = column.cast("timestamp")
    if not column.type().timezone:
        time = time.replace(tzinfo=None)
    return COMPARE[sign](column, ibis.literal(time))


def _with_number(column: Value, sign: str, number: Decimal) -> Value | None:
    """Return a comparison of numbers with a number; None where a database could round it."""
    kind = column.type()
    if kind.is_float64():
        return COMPARE[sign](column, float(number))
    if kind.is_integer():  # compared with the whole number next to it
        low, high = math.floor(number), math.ceil(number)
        if abs(low) >= 2**62:
            return None
        if low != high and sign in _EQUALITIES:  # no whole number is a fraction
            return column.isnull().ifelse(None, sign == "<>")
        bound = low if sign in ("<=", ">") else high
        return COMPARE[sign](column, bound)
    if not kind.is_decimal() or (kind.precision or 0) > 38:
        return None
    decimals = max(kind.scale or 0, -int(number.as_tuple().exponent))
    if decimals > 38 or abs(number) >= 10 ** (38 - decimals):
        return None
    return COMPARE[sign](column, ibis.literal(number, f"decimal(38, {decimals})"))
