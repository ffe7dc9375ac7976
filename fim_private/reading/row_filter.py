"""Which rows a condition lets pass, and which files and row groups cannot have any."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fim_private.errors import DataError, parameter
from fim_private.reading.columns import shown_type
from fim_private.reading.values import arrow_of, arrow_strings, present
from fim_private.reading.where import And, Between, Comparison, Condition, In, IsNull, Literal, Not, Or, Test, moment_of

# -------------------- row filter
# Which rows a condition lets pass: of each row by itself, whatever else is there, and in every source alike.
#
# As in SQL a comparison with nothing is neither true nor false, and a row passes where the condition is true. A text is
# compared with a number or a date by what it says, if it says one, each text by itself; where it says none, it is as if
# there were nothing. White space around it means nothing, and what stands for no value is none (`missing_values`).

_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARROW = {
    name: getattr(pc, word)
    for name, word in zip(_SIGNS, ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), strict=True)
}
# Infinities are what columns of floats hold, as Python and databases write them.
_NUMBER = re.compile(r"-?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[Ii]nf(?:inity)?)")
_BOOLEANS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
# The columns of times: how many of their units are the last that is not behind a number of microseconds.
_LAST_OF_UNIT: Mapping[str, Callable[[int], int]] = {
    "s": lambda micros: micros // 1_000_000,
    "ms": lambda micros: micros // 1_000,
    "us": lambda micros: micros,
    "ns": lambda micros: micros * 1_000 + 999,
    "day": lambda micros: micros // 86_400_000_000,
}


def passing(condition: Condition, columns: Mapping[str, Any], source: str) -> pa.Array:
    """Return which rows a condition is true of: (rows,) Arrow bool, null where it is neither true nor false.

    columns: those that it looks at, (rows,) Arrow arrays of any type, but no views or extensions. source: what errors
    call it. Raises DataError for a column of a type that cannot be compared with its literal.
    """
    held = {name: present(column) for name, column in columns.items()}

    def result(part: Condition) -> pa.Array:
        match part:
            case And(parts):
                return _folded(pc.and_kleene, [*map(result, parts)])
            case Or(parts):
                return _folded(pc.or_kleene, [*map(result, parts)])
            case Not(inner):
                return pc.invert(result(inner))
            case _:
                return tested(part, held[part.column], source)

    return result(condition)


def tested(test: Test, values: Any, source: str) -> pa.Array:
    """Return what one test of a column says, as `passing` does. values: with null for each that stands for none."""
    match test:
        case IsNull(_, negated):
            plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
            return plain.is_valid() if negated else plain.is_null()
        case In(column, literals, negated):
            found = _folded(pc.or_kleene, [_compared(values, "=", one, column, source) for one in literals])
            return pc.invert(found) if negated else found
        case Between(column, low, high, negated):
            bounds = [_compared(values, ">=", low, column, source), _compared(values, "<=", high, column, source)]
            found = pc.and_kleene(*bounds)
            return pc.invert(found) if negated else found
        case Comparison(column, sign, value):
            return _compared(values, sign, value, column, source)


def _folded(function: Any, parts: list[pa.Array]) -> pa.Array:
    """Return all parts under a function of two."""
    found = parts[0]
    for part in parts[1:]:
        found = function(found, part)
    return found


def _compared(values: Any, sign: str, literal: Literal, column: str, source: str) -> pa.Array:
    """Return what a comparison says of each value: (n,) bool, null for a null. Raises DataError for a wrong type."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _compared(values.dictionary, sign, literal, column, source).take(values.indices)
    if pa.types.is_null(kind):
        return pa.nulls(len(values), pa.bool_())
    if _is_text(kind):
        return _row_filter_of_texts(values, sign, literal)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if isinstance(literal, bool):
        if is_number:
            values = _truths(values, column, source)
        if is_number or pa.types.is_boolean(kind):
            return _of_integers(values.cast(pa.int8()), sign, int(literal))
    elif not isinstance(literal, str):
        if pa.types.is_integer(kind):
            return _of_integers(values, sign, literal)
        if pa.types.is_floating(kind):
            return _of_floats(values, sign, literal)
        if is_number:
            return _row_filter_of_texts(values.cast(pa.string()), sign, literal)
    elif (moment := moment_of(literal.strip())) is not None and (unit := _unit(kind)) is not None:
        raw = values.view(pa.int32() if pa.types.is_date32(kind) else pa.int64())
        return _ordered(lambda micros: _at_most(raw, _LAST_OF_UNIT[unit](micros)), sign, moment)
    wanted = "a date, such as '2011-01-31'" if _unit(kind) else "true or false" if pa.types.is_boolean(kind) else None
    raise DataError(
        f"{parameter('where')} compares column {column!r} of {source} with {_kind_of(literal)}, and its type is "
        f"{shown_type(kind)}" + (f": compare it with {wanted}" if wanted else "")
    )


def _truths(values: Any, column: str, source: str) -> pa.Array:
    """Return numbers as truth values: 1 is true, 0 is false, and others are neither."""
    true, false = (_compared(values, "=", number, column, source) for number in (1, 0))
    return pc.if_else(pc.or_(true, false), true, pa.nulls(1, pa.bool_())[0])


def _kind_of(literal: Literal) -> str:
    """Return what a literal is, in words."""
    if isinstance(literal, bool):
        return "true or false"
    return "a text" if isinstance(literal, str) else "a number"


def _is_text(kind: Any) -> bool:
    """Tell whether a type is of texts, or of bytes, which are taken for texts."""
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(test(kind) for test in tests)


def _unit(kind: Any) -> str | None:
    """Return the unit of a type of dates or times; None for another type."""
    if pa.types.is_date32(kind):
        return "day"
    if pa.types.is_date64(kind):
        return "ms"
    return str(kind.unit) if pa.types.is_timestamp(kind) else None


def _constant(values: Any, truth: bool) -> pa.Array:
    """Return the same for each value, null for a null."""
    nothing = pa.nulls(1, pa.bool_())[0]
    return pc.if_else(values.is_valid(), arrow_of(np.array([truth]))[0], nothing)


def _at_most(values: Any, bound: int) -> pa.Array:
    """Return which integers are at most a bound of any size."""
    limits = np.iinfo(values.type.to_pandas_dtype())
    if not limits.min <= bound < limits.max:
        return _constant(values, bound >= limits.max)
    return pc.less_equal(values, arrow_of(np.array([bound], dtype=limits.dtype))[0])


def _ordered(at_most: Callable[[int], pa.Array], sign: str, value: int | Fraction) -> pa.Array:
    """Return a comparison of whole numbers, of which it is known how to tell those that are at most another."""
    low, high = math.floor(value), math.ceil(value)
    match sign:
        case "<=" | ">":
            found = at_most(low)
        case "<" | ">=":
            found = at_most(high - 1)
        case _:
            found = pc.and_(at_most(low), pc.invert(at_most(high - 1 if low == high else low)))
    return pc.invert(found) if sign in (">", ">=", "<>") else found


def _of_integers(values: Any, sign: str, number: int | Decimal) -> pa.Array:
    """Compare integers, exactly."""
    return _ordered(lambda bound: _at_most(values, bound), sign, Fraction(number))


def _of_floats(values: Any, sign: str, number: int | Decimal) -> pa.Array:
    """Compare floats, with the one of their own width that is nearest to a number: what prints like it equals it."""
    with np.errstate(over="ignore"):
        nearest = np.array([float(Decimal(number))]).astype(values.type.to_pandas_dtype())
    if pa.types.is_float16(values.type):
        values, nearest = values.cast(pa.float32()), nearest.astype(np.float32)
    return _ARROW[sign](values, arrow_of(nearest)[0])


def _row_filter_of_texts(values: Any, sign: str, literal: Literal) -> pa.Array:
    """Compare texts: as numbers, dates or truth values where the literal is one, each by itself; else as texts."""
    if isinstance(literal, str):
        text = literal.strip()
        moment = moment_of(text)
        if moment is None:
            texts = values.cast(pa.large_string())
            return _ARROW[sign](texts, arrow_strings([text]).cast(pa.large_string())[0])
        return _of_distinct(values, moment_of, sign, moment)
    if isinstance(literal, bool):
        return _of_distinct(values, lambda text: _BOOLEANS.get(text.lower()), sign, literal)
    return _of_distinct(values, _number_of, sign, Decimal(literal))


def _number_of(text: str) -> Decimal | None:
    """Return the number that a text is; None for what is none."""
    if _NUMBER.fullmatch(text) is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # its exponent has twenty digits
        return None


def _of_distinct(values: Any, meaning: Callable[[str], Any], sign: str, literal: Any) -> pa.Array:
    """Compare what texts mean, each different one once; null for what means nothing."""
    encoded = values.cast(pa.large_string()).dictionary_encode()
    meanings = [meaning(text) for text in encoded.dictionary.to_pylist()]
    holds = [one is not None and _SIGNS[sign](one, literal) for one in meanings]
    means = arrow_of(np.array([one is not None for one in meanings], dtype=bool))
    told = pc.if_else(means, arrow_of(np.array(holds, dtype=bool)), pa.nulls(1, pa.bool_())[0])
    return told.take(encoded.indices)


# -------------------- skipping
# What need not be read, since no row in it can pass: files by the names of their folders, row groups by their bounds.
#
# Skipping changes nothing of what is read: where it is in doubt, it is read, and each row is looked at by itself.

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
            return _skipping_of_texts(test, statistics.min, statistics.max), True
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


def _skipping_of_texts(test: Test, low: str, high: str) -> bool:
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
