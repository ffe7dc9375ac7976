"""What stands for no value, and which rows a condition lets pass, as expressions of a database.

A column is compared with a literal of its own kind. Where one machine goes by what a text says (a number, a date), a
database is not asked to: its rules for texts differ. Such a condition is refused: a view can have the right type.
"""

from __future__ import annotations

import math
import operator
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

from fim_private.errors import DataError, parameter
from fim_private.reading.values import MISSING_TEXTS
from fim_private.reading.where import ColumnTest, Condition, Literal, moment_of

# White space as Arrow trims it: of Unicode, not only of ASCII.
_WIDE = "".join(map(chr, range(0x2000, 0x200B)))
WHITE = f"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680{_WIDE}\u2028\u2029\u202f\u205f\u3000"
_ENDS = f"^[{WHITE}]+|[{WHITE}]+$"
_SIGNS: dict[str, Any] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def present(column: Any) -> Any:
    """Return a column with null for what stands for none, and texts without white space around them."""
    kind = column.type()
    if kind.is_string():
        bare = column.re_replace(_ENDS, "")
        return bare.isin(sorted(MISSING_TEXTS)).ifelse(None, bare)
    return column.isnan().ifelse(None, column) if kind.is_floating() else column


def passing(condition: Condition, table: Any, source: str) -> Any:
    """Return where a condition is true; null where it is neither true nor false.

    Raises DataError for what cannot be compared.
    """
    if isinstance(condition, ColumnTest):
        return _tested(condition, present(table[condition.column]), source)
    parts = [passing(part, table, source) for part in condition.parts]
    if condition.word == "not":
        return ~parts[0]
    return reduce(operator.and_ if condition.word == "and" else operator.or_, parts)


def _tested(test: ColumnTest, column: Any, source: str) -> Any:
    signs = {"in": ["="] * len(test.values), "between": [">=", "<="]}.get(test.sign, [test.sign])
    if test.sign == "null":
        found = column.isnull()
    else:
        each = [_compared(column, *one, test.column, source) for one in zip(signs, test.values, strict=True)]
        found = reduce(operator.or_ if test.sign == "in" else operator.and_, each)
    return ~found if test.negated else found


def _compared(column: Any, sign: str, literal: Literal, name: str, source: str) -> Any:
    kind = column.type()
    if isinstance(literal, bool):
        if kind.is_boolean() and sign in ("=", "<>"):
            return _SIGNS[sign](column, literal)
    elif isinstance(literal, str):
        plain, moment = literal.strip(), moment_of(literal.strip())
        if kind.is_string() and moment is None and sign in ("=", "<>"):
            return _SIGNS[sign](column, plain)
        if moment is not None and (kind.is_date() or kind.is_timestamp()):
            import ibis

            time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment)
            zone = kind.timezone if kind.is_timestamp() else None
            bound = ibis.literal(time if zone else time.replace(tzinfo=None))
            return _SIGNS[sign](column.cast("timestamp") if kind.is_date() else column, bound)
    elif kind.is_integer():
        low, high = math.floor(literal), math.ceil(literal)
        if low == high and abs(low) < 2**63:
            return _SIGNS[sign](column, low)
        if abs(low) < 2**62:
            if sign in ("=", "<>"):  # no whole number is a fraction; of nothing that is not known
                return column.isnull().ifelse(None, sign == "<>")
            return column <= low if sign in ("<", "<=") else column >= high
    elif kind.is_decimal() or kind.is_float64():
        return _SIGNS[sign](column, float(literal) if kind.is_float64() else literal)
    kinds = {bool: "true or false", str: "a text"}
    given = kinds.get(type(literal), "a number")
    raise DataError(
        f"{parameter('where')} compares column {name!r} of {source} with {given} by {sign}, and its type is {kind}. "
        "Make a view with the right type; texts go with =, <> and in only"
    )


_DAY_TEXT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-2][0-9]:[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?Z?)?$"


def day(column: Any, name: str, source: str) -> tuple[Any, Any]:
    """Return the day of a time, as a date, null for none; and whether a text is no time. Raises DataError for a type.

    Times without a zone are taken as they stand, others in UTC.
    """
    kind = column.type()
    if kind.is_string():
        bare = present(column)
        is_time = bare.re_search(_DAY_TEXT)
        return is_time.ifelse(bare, None).substr(0, 10).cast("date"), bare.notnull() & ~is_time
    if kind.is_date():
        return column, column.isnull() & column.notnull()
    if kind.is_timestamp():
        zoned = column.cast("timestamp") if kind.timezone else column  # sessions are in UTC
        return zoned.date(), column.isnull() & column.notnull()
    raise DataError(f"column {name!r} of {source} has type {kind}, which holds no times; make it dates")
