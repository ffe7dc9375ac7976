"""What stands for no value, the day of a time, and which rows a condition lets pass, as expressions of a database.

A column is compared with a literal of its own kind, and is refused where one machine would go by what a text says.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import ibis

from fim_private.errors import DataError, parameter
from fim_private.reading.values import MISSING_TEXTS
from fim_private.reading.where import Condition, Literal, moment_of, truth

# White space as Arrow trims it, of Unicode and not only of ASCII, inside the brackets of a pattern.
WHITE = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
# Backslashes and dots are put in brackets: what else they need differs between databases.
_MISSING = "|".join(text.replace("\\", r"[\\]").replace(".", "[.]") for text in sorted(MISSING_TEXTS) if text)
_NOTHING = f"^[{WHITE}]*({_MISSING})?[{WHITE}]*$|^[{WHITE}]+|[{WHITE}]+$"
_EQUAL = {"=": operator.eq, "<>": operator.ne}
_SIGNS = _EQUAL | {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def present(column: Any) -> Any:
    """Return a column with null for what stands for none, and texts without white space around them."""
    kind = column.type()
    if kind.is_string():
        return column.re_replace(_NOTHING, "").nullif("")
    return column.isnan().ifelse(None, column) if kind.is_floating() else column


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


def day(column: Any, name: str, source: str, dialect: str) -> Any:
    """Return the day of a time, as a date: as it stands, in UTC where it has a zone. Raises DataError for a type."""
    kind = column.type()
    if kind.is_date():
        return column
    if not kind.is_timestamp():
        raise DataError(f"column {name!r} of {source} has type {kind}: make a view where it is a date, or a timestamp")
    if kind.timezone is None:
        return column.date()
    _check_zone(name, source, dialect)
    return _IN_UTC[dialect](column).date()


def _check_zone(name: str, source: str, dialect: str) -> None:
    if dialect not in _IN_UTC:
        raise DataError(
            f"column {name!r} of {source} has times with a zone, which {dialect} cannot be asked for in UTC: "
            "make a view where it is a date"
        )


def passing(condition: Condition, table: Any, source: str, dialect: str) -> Any:
    """Return where a condition is true; null where it is neither true nor false. Raises DataError for a wrong type."""

    def compared(name: str, sign: str, literal: Literal) -> Any:
        kind = table[name].type()
        if kind.is_timestamp() and kind.timezone is not None:
            _check_zone(name, source, dialect)
        found = _compared(present(table[name]), sign, literal)
        if found is None:
            kind = {bool: "true or false", str: "a text"}.get(type(literal), "a number")
            raise DataError(
                f"{parameter('where')} compares column {name!r} of {source} with {kind} by {sign}, and its type is "
                f"{table[name].type()}. Make a view with the right type; texts go with =, <> and in only"
            )
        return found

    logic: Any = {"negate": operator.invert, "both": operator.and_, "either": operator.or_}
    return truth(condition, compared, lambda name: present(table[name]).isnull(), **logic)


def _compared(column: Any, sign: str, literal: Literal) -> Any:
    kind = column.type()
    if isinstance(literal, bool):
        return _EQUAL[sign](column, literal) if kind.is_boolean() and sign in _EQUAL else None
    if isinstance(literal, str):
        plain, moment = literal.strip(), moment_of(literal.strip())
        if moment is None:
            return _EQUAL[sign](column, plain) if kind.is_string() and sign in _EQUAL else None
        if not (kind.is_date() or kind.is_timestamp()):
            return None
        time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment)
        is_zoned = kind.is_timestamp() and kind.timezone
        bound = ibis.literal(time if is_zoned else time.replace(tzinfo=None))
        return _SIGNS[sign](column.cast("timestamp") if kind.is_date() else column, bound)
    if not kind.is_integer():
        exact = Decimal(literal)
        room = 38 - max(getattr(kind, "scale", None) or 0, -int(exact.as_tuple().exponent))
        if kind.is_decimal() and room >= 0 and abs(exact) < 10**room and (kind.precision or 0) <= 38:  # else it rounds
            return _SIGNS[sign](column, ibis.literal(exact, f"decimal(38, {38 - room})"))
        return _SIGNS[sign](column, float(exact)) if kind.is_float64() else None
    low, high = math.floor(literal), math.ceil(literal)
    if abs(low) >= 2**62:
        return None
    if low == high or sign not in _EQUAL:
        return _SIGNS[sign](column, low if sign in ("<=", ">") else high)
    return column.isnull().ifelse(None, sign == "<>")  # no whole number is a fraction
