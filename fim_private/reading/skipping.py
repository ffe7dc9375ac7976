"""What need not be read, since no row in it can pass: files by the names of their folders, row groups by their bounds.

Skipping changes nothing of what is read: where it is in doubt, it is read, and each row is looked at by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from fim_private.reading.arrow_numpy import arrow_of, arrow_strings
from fim_private.reading.missing_values import present
from fim_private.reading.moments import moment_of
from fim_private.reading.row_filter import tested
from fim_private.reading.where import And, Between, Comparison, Condition, In, Not, Or, Test

# Whether a test may be true of a row, and whether it may be false.
Outcomes = tuple[bool, bool]
_DOUBT: Outcomes = (True, True)
_EPOCH_DAY = 719_163


def may_pass(condition: Condition, outcomes: Callable[[Test], Outcomes]) -> bool:
    """Tell whether any row may pass. outcomes: what each test may say of the rows."""

    def of(part: Condition) -> Outcomes:
        match part:
            case And(parts):
                each = [of(inner) for inner in parts]
                return all(true for true, _ in each), any(false for _, false in each)
            case Or(parts):
                each = [of(inner) for inner in parts]
                return any(true for true, _ in each), all(false for _, false in each)
            case Not(inner):
                true, false = of(inner)
                return false, true
            case _:
                return outcomes(part)

    return of(condition)[0]


def of_folders(said: Mapping[str, str], source: str) -> Callable[[Test], Outcomes]:
    """Return what tests say of rows in folders whose names say columns."""

    def outcomes(test: Test) -> Outcomes:
        if test.column not in said:
            return _DOUBT
        found = tested(test, present(arrow_strings([said[test.column]])), source)[0].as_py()
        return found is True, found is False

    return outcomes


def of_row_group(group: Any, places: Mapping[str, int], schema: pa.Schema, source: str) -> Callable[[Test], Outcomes]:
    """Return what tests may say of the rows of a row group of Parquet.

    group: its metadata. places: of columns in it, by name; of others nothing is said. schema: of the file.
    """

    def outcomes(test: Test) -> Outcomes:
        place = places.get(test.column)
        statistics = None if place is None else group.column(place).statistics
        if statistics is None or not statistics.has_min_max:
            return _DOUBT
        kind = schema.field(test.column).type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return _of_texts(test, statistics.min, statistics.max), True
        bounds = _bounds(kind, statistics)
        return _DOUBT if bounds is None else _of_bounds(test, bounds, source)

    return outcomes


def _bounds(kind: Any, statistics: Any) -> Any:
    """Return the least and the greatest value of a row group as an array of their type; None for other types."""
    try:
        low, high = statistics.min, statistics.max
        if low != low or high != high:  # NaN: a bound of nothing
            return None
        if pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind):
            return arrow_of(np.array([low, high], dtype=kind.to_pandas_dtype()))
        if pa.types.is_date32(kind):
            days = [value.toordinal() - _EPOCH_DAY for value in (low, high)]
            return arrow_of(np.array(days, dtype=np.int32)).view(kind)
        if pa.types.is_timestamp(kind):
            moments = [moment_of(value.isoformat()) for value in (low, high)]
            return arrow_of(np.array(moments, dtype=np.int64)).view(pa.timestamp("us", kind.tz))
    except (AttributeError, ImportError, OverflowError, TypeError, ValueError):  # bounds that Python has no value for
        pass
    return None


def _of_bounds(test: Test, bounds: Any, source: str) -> Outcomes:
    """Return what a test may say of values from one bound to the other."""

    def at(sign: str, value: Any) -> list[bool]:
        return [*map(bool, tested(Comparison(test.column, sign, value), bounds, source).to_pylist())]

    # Of numbers only 0 and 1 are truth values: whether others lie between tells nothing of these.
    if any(isinstance(value, bool) for value in _literals(test)):
        return _DOUBT
    match test:
        case Comparison(_, "=", value):
            return at("<=", value)[0] and at(">=", value)[1], True
        case Comparison(_, "<" | "<=" | ">" | ">=" as sign, value):
            truths = at(sign, value)
            return any(truths), not all(truths)
        case In(_, values, False):
            return any(at("<=", value)[0] and at(">=", value)[1] for value in values), True
        case Between(_, low, high, False):
            return at("<=", high)[0] and at(">=", low)[1], True
    return _DOUBT


def _literals(test: Test) -> tuple[Any, ...]:
    """Return what a test compares with."""
    match test:
        case Comparison(_, _, value):
            return (value,)
        case In(_, values, _):
            return tuple(values)
        case Between(_, low, high, _):
            return low, high
    return ()


def _of_texts(test: Test, low: str, high: str) -> bool:
    """Tell whether a test of texts from low to high may be true: white space may stand around each of them."""
    match test:
        case Comparison(_, "=", value):
            wanted = [value]
        case In(_, values, False):
            wanted = [*values]
        case _:
            return True
    if not all(isinstance(value, str) and moment_of(value.strip()) is None for value in wanted):
        return True
    # White space comes before all other letters, or is no ASCII.
    if low < "!" or high >= "\x7f":
        return True
    texts = [str(value).strip() for value in wanted]
    return any(low <= text + "\U0010ffff" and text <= high for text in texts)
