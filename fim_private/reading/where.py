"""Which rows are read: the parser of conditions, which rows they let pass, and what need not be
read for them.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import Array, DataType, types

from fim_private.errors import DataError, ParameterError, parameter, shown
from fim_private.reading.times import TimeFormat, iso_moment, moment_of
from fim_private.reading.values import (
    arrow_of,
    arrow_strings,
    decoded,
    is_string_type,
    null_where,
    numpy_of,
    numpy_type,
    present,
    shown_type,
)

if TYPE_CHECKING:
    import pyarrow.parquet

# A condition on one row's own columns is a little of SQL (docs/reading.md, "Which rows"), here as a
# tree. It is any = all { or all }, all = one { and one }, one = not one | ( any ) | the test of a
# column.

Literal = str | bool | int | Decimal

_EXAMPLE = "\"country = 'France' and date >= '2011-01-01'\""
_WORDS = ("and", "or", "not", "in", "between", "like", "is", "null", "true", "false")
_NAME = re.compile(r"[^\W\d]\w*")
_DEEPEST = 100  # nobody types more, and the parser calls itself


def column_text(name: str) -> str:
    """Return the name of a column as a condition has it: in double quotes, unless it is a plain
    word.
    """
    if _NAME.fullmatch(name) and name.lower() not in _WORDS:
        return name
    return quoted(name)


def quoted(name: str) -> str:
    """Return the name of a column in double quotes, as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class ColumnTest:
    """A test of one column.

    sign: = <> < <= > >=, in, between, like or null. values: the literals. negated: not so.
    escape: the character of a pattern behind which % and _ stand for themselves; "" for none.
    time_format: how the texts of the column say times, where one is compared with a time.
    """

    column: str
    sign: str
    values: tuple[Literal, ...] = ()
    negated: bool = False
    escape: str = ""
    time_format: TimeFormat | None = field(default=None, compare=False)

    @property
    def literals(self) -> tuple[Literal, ...]:
        """The literals that values are compared with; none where they match a pattern."""
        if self.sign == "like":
            return ()
        return self.values

    def __str__(self) -> str:
        column, negated = column_text(self.column), "not " * self.negated
        literals = [*map(_literal, self.values)]
        values = " and ".join(literals)  # of between, and for the others the only one
        if self.sign == "null":
            return f"{column} is {negated}null"
        if self.sign == "in":
            values = f"({', '.join(literals)})"
        if self.escape:
            values += f" escape {_literal(self.escape)}"
        return f"{column} {negated}{self.sign} {values}"


@dataclass(frozen=True)
class Joined:
    """Two or more conditions joined by "and" or "or", or one behind "not"."""

    word: str
    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        if self.word == "not":
            return f"not {_in_parentheses(self.conditions[0])}"
        return f" {self.word} ".join(map(_in_parentheses, self.conditions))


def _in_parentheses(condition: Condition) -> str:
    if isinstance(condition, Joined) and condition.word != "not":
        return f"({condition})"
    return str(condition)


Condition = ColumnTest | Joined


def columns_of(condition: Condition | None) -> list[str]:
    """Return the columns that a condition looks at, once each; none where there is no condition."""
    return list(dict.fromkeys(test.column for test in tests_of(condition)))


def tests_of(condition: Condition | None) -> list[ColumnTest]:
    """Return the tests that a condition is made of; none where there is no condition."""
    if isinstance(condition, ColumnTest):
        return [condition]
    if condition is None:
        return []
    return [test for inner in condition.conditions for test in tests_of(inner)]


def compares_times(condition: Condition | None) -> bool:
    """Tell whether a condition compares any column with a date or a time."""
    return any(
        moment_in(literal) is not None for test in tests_of(condition) for literal in test.literals
    )


def moment_in(literal: Literal) -> int | None:
    """Return the time that a literal says, in microseconds since 1970, in UTC; None for no time."""
    if isinstance(literal, str):
        return iso_moment(literal.strip())
    return None


def with_times_in(condition: Condition, time_format: TimeFormat | None) -> Condition:
    """Return a condition that reads times in texts by a format."""
    if isinstance(condition, ColumnTest):
        return replace(condition, time_format=time_format)
    inner = [with_times_in(inner, time_format) for inner in condition.conditions]
    return replace(condition, conditions=tuple(inner))


def where_of(where: object) -> Condition | None:
    """Return the condition that a text states; a condition, or None, as it is.

    Raises ParameterError.
    """
    if where is None or isinstance(where, Condition):
        return where
    if not isinstance(where, str):
        raise ParameterError(
            f"{parameter('where')} must be text, such as {_EXAMPLE}, not {shown(where)}"
        )
    return _Parser(where).condition


# What is taken from the text of a condition, behind white space, in capital or small letters.
_COLUMN = rf'"(?:[^"]|"")+"|(?!(?:{"|".join(_WORDS)})(?!\w))[^\W\d]\w*'
_SIGN = r"<=|>=|<>|!=|[=<>]"
_TEXT = r"'(?:[^']|'')*'"
_LITERAL = (
    rf"{_TEXT}|(?:true|false)(?!\w)|"
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]{1,3})?(?![\w.])"
)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._end = self._depth = 0
        self.condition = self._any()
        self._expect(r"\Z", "'and' or 'or'")

    def _take(self, pattern: str) -> str | None:
        """Take what a pattern matches next; None if it matches nothing there."""
        match = re.compile(rf"\s*({pattern})", re.IGNORECASE).match(self._text, self._end)
        if match is None:
            return None
        self._end = match.end()
        return match[1]

    def _takes(self, word: str) -> bool:
        return self._take(rf"{word}(?!\w)") is not None

    def _expect(self, pattern: str, name: str) -> str:
        """Take what a pattern matches next. Raises ParameterError, which calls it by a name."""
        taken = self._take(pattern)
        if taken is not None:
            return taken
        remainder = self._text[self._end :].lstrip()
        place = "at its end"
        if remainder:
            place = f"before {shown(remainder)}"
        raise ParameterError(f"{parameter('where')} lacks {name} {place}; write it like {_EXAMPLE}")

    def _any(self) -> Condition:
        return self._several("or", partial(self._several, "and", self._one))

    def _several(self, word: str, parse: Callable[[], Condition]) -> Condition:
        conditions = [parse()]
        while self._takes(word):
            conditions.append(parse())
        if len(conditions) == 1:
            return conditions[0]
        return Joined(word, tuple(conditions))

    def _one(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ParameterError(
                f"{parameter('where')} must have at most {_DEEPEST} conditions inside each other"
            )
        if self._takes("not"):
            condition: Condition = Joined("not", (self._one(),))
        elif self._take(r"\("):
            condition = self._any()
            self._expect(r"\)", "')'")
        else:
            condition = self._test()
        self._depth -= 1
        return condition

    def _test(self) -> ColumnTest:
        column = self._expect(_COLUMN, "a column (in double quotes if its name is not one word)")
        if column.startswith('"'):
            column = _unquoted(column)
        sign = self._take(_SIGN)
        if sign is not None:
            return ColumnTest(column, sign.replace("!=", "<>"), (self._value(),))
        is_null = self._takes("is")
        negated = self._takes("not")
        if is_null:
            self._expect(r"null(?!\w)", "'null'")
            return ColumnTest(column, "null", (), negated)
        if self._takes("between"):
            low = self._value()
            self._expect(r"and(?!\w)", "'and'")
            return ColumnTest(column, "between", (low, self._value()), negated)
        if self._takes("like"):
            return self._like(column, negated)
        self._expect(r"in(?!\w)", "a sign, 'in', 'between', 'like' or 'is'")
        self._expect(r"\(", "'('")
        values = [self._value()]
        while self._take(","):
            values.append(self._value())
        self._expect(r"\)", "')'")
        return ColumnTest(column, "in", tuple(values), negated)

    def _like(self, column: str, negated: bool) -> ColumnTest:
        pattern = _unquoted(self._expect(_TEXT, "a pattern ('text' with % or _ in it)"))
        escape = ""
        if self._takes("escape"):
            escape = _unquoted(self._expect(_TEXT, "one character, such as '!'"))
            if len(escape) != 1:
                raise ParameterError(
                    f"{parameter('where')} must have one character behind escape, such as '!'"
                )
        itself = re.escape(escape)
        if escape and escape in re.sub(f"{itself}[%_{itself}]", "", pattern):
            raise ParameterError(
                f"{parameter('where')} must have %, _ or itself behind the character of escape "
                f"in a pattern"
            )
        return ColumnTest(column, "like", (pattern,), negated, escape)

    def _value(self) -> Literal:
        literal = self._expect(_LITERAL, "a value ('text', a number, true or false)")
        if literal.startswith("'"):
            return _unquoted(literal)
        if literal[0].isalpha():
            return literal.lower() == "true"
        return Decimal(literal)


def _unquoted(text: str) -> str:
    """Return what stands between quotes, where two of them stand for one."""
    quote = text[0]
    return text[1:-1].replace(2 * quote, quote)


def _literal(value: Literal) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


# -------------------- patterns: % is any text, _ is any character


_WILDCARDS = {"%": "(.|\n)*", "_": "(.|\n)"}


def regex_of(pattern: str, escape: str) -> str:
    """Return a pattern of `like` as a regular expression for all of a text.

    RE2 and databases understand it.
    """
    regex = ""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            regex += _itself(next(characters, escape))
        else:
            regex += _WILDCARDS.get(character) or _itself(character)
    return f"^{regex}$"


def _itself(character: str) -> str:
    """Return the regular expression of one character.

    In brackets most stand for themselves; on the others databases agree.
    """
    if character.isalnum() or character in "_ \n":
        return character
    if character in "\\^[]":
        return f"\\{character}"
    return f"[{character}]"


# Which rows a condition lets pass: of each row by itself, whatever else is there, and in every
# source alike. A text is compared with a number or a date by what it says, each by itself; where it
# says none, it is as if there were nothing, and a comparison with nothing is neither true nor
# false.

COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# Infinities are what columns of floats hold, as Python and databases write them. Decimal has no
# longer exponents.
_NUMBER = re.compile(
    r"-?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,17})?|[Ii]nf(?:inity)?)"
)
_BOOLEANS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


@dataclass(frozen=True)
class Logic:
    """How conditions are computed, on arrays or in a database.

    It has three values: null where a condition is neither true nor false.

    Attributes:
        compared: Compares the column of a test with a literal, by a sign.
        is_null: Tells where a column has no value.
        operators: Not, and, or; by default those of arrays.
    """

    compared: Callable[[ColumnTest, str, Literal], Any]
    is_null: Callable[[str], Any]
    operators: tuple[Callable[..., Any], ...] = (pc.invert, pc.and_kleene, pc.or_kleene)


def truth(condition: Condition, logic: Logic) -> Any:
    """Return where a condition is true, as an array or an expression of the logic."""
    negate, both, either = logic.operators
    if isinstance(condition, Joined):
        truths = [truth(inner, logic) for inner in condition.conditions]
        if condition.word == "not":
            return negate(truths[0])
        joined = both if condition.word == "and" else either
        return reduce(joined, truths)
    compared = partial(logic.compared, condition)
    match condition.sign:
        case "null":
            is_true = logic.is_null(condition.column)
        case "in":
            is_true = reduce(either, [compared("=", value) for value in condition.values])
        case "between":
            low, high = condition.values
            is_true = both(compared(">=", low), compared("<=", high))
        case sign:
            is_true = compared(sign, condition.values[0])
    if condition.negated:
        return negate(is_true)
    return is_true


def passing(condition: Condition, columns: Mapping[str, Array], source: str) -> Array:
    """Return where a condition is true: (rows,) Arrow bool, null where it is not false either.

    columns: (rows,) Arrow arrays, no views or extensions. Raises DataError, which names the source,
    for a column of a type that cannot be compared with its literal.
    """
    values = {name: present(columns[name]) for name in columns_of(condition)}

    def compared(test: ColumnTest, sign: str, literal: Literal) -> Array:
        return _compared(values[test.column], sign, literal, test, source)

    return truth(condition, Logic(compared, lambda name: decoded(values[name]).is_null()))


def _compared(values: Array, sign: str, literal: Literal, test: ColumnTest, source: str) -> Array:
    """Compare the values of a column with a literal. Raises DataError if their types do not fit."""
    kind = values.type
    if types.is_dictionary(kind):
        return _compared(values.dictionary, sign, literal, test, source).take(values.indices)
    if sign == "like":
        if is_text(kind) or types.is_integer(kind):
            regex = regex_of(str(literal).strip(), test.escape)
            return pc.match_substring_regex(values.cast(pa.large_string()), regex)
    else:
        order = _order(values, literal, test.time_format)
        if order is not None:
            return null_where(order.is_null(), arrow_of(COMPARE[sign](numpy_of(order), 0)))
    advice = ""
    if types.is_boolean(kind):
        advice = ": compare it with true or false"
    elif is_time_type(kind):
        advice = ": compare it with a date, such as '2011-01-31'"
    raise DataError(
        f"{parameter('where')} compares column {test.column!r} of {source} with "
        f"{named_kind(sign, literal)}, and its type is {shown_type(kind)}{advice}"
    )


def _order(values: Array, literal: Literal, time_format: TimeFormat | None) -> Array | None:
    """Return where values stand: -1 below a literal, 0 where they are equal, 1 above; null where
    they say nothing. None if the types do not go together.
    """
    kind = values.type
    moment = moment_in(literal)
    if moment is not None:
        micros = moments(values, time_format)
        if micros is None:
            return None
        return _order_around(micros, moment, moment)
    if is_text(kind):
        return _order_of_texts(values, literal)
    if isinstance(literal, bool):
        return _order_of_truth_values(values, literal)
    if isinstance(literal, str):
        return None
    if types.is_integer(kind):
        return _order_around(values, math.ceil(literal), math.floor(literal))
    if types.is_floating(kind):
        # So a float equals the number that it prints like.
        with np.errstate(over="ignore"):
            nearest = np.float64(Decimal(literal)).astype(numpy_type(kind))
        return _order_around(values, nearest, nearest)
    if types.is_decimal(kind):
        return _order_of_texts(values, literal)
    return None


def _order_around(values: Array, least: Any, most: Any) -> Array:
    """Return where numbers stand: those from least to most, if there are any, are equal."""
    numbers = numpy_of(values)
    order = np.subtract(numbers > most, numbers < least, dtype=np.int8)
    return null_where(values.is_null(), arrow_of(order))


def _order_of_truth_values(values: Array, literal: bool) -> Array | None:
    """Return where numbers or truth values stand; None for values of other types."""
    if types.is_boolean(values.type):
        values = values.cast(pa.int8())
    order, opposite = _order(values, int(literal), None), _order(values, int(not literal), None)
    if order is None or opposite is None:
        return None
    # 1 is true, 0 is false, and other numbers are neither.
    is_neither = (numpy_of(order) != 0) & (numpy_of(opposite) != 0)
    return null_where(arrow_of(is_neither), order)


def _order_of_texts(values: Array, literal: Literal) -> Array:
    """Return where texts stand, by what each says, beside a number or a truth value; beside another
    text by their letters.
    """
    said_by: Callable[[str], Any] = partial(meaning, like=literal)
    if isinstance(literal, str):
        said_by = str
    bound = said_by(str(literal).strip())

    def order(text: str) -> int | None:
        said = said_by(text)
        return None if said is None else int(said > bound) - int(said < bound)

    return _numbers_of_texts(values, order)


def _numbers_of_texts(values: Array, number_of: Callable[[str], int | None]) -> Array:
    """Return the number of each text, (n,) int64, null for none; equal texts are read once."""
    encoded = values.cast(pa.large_string()).dictionary_encode()
    numbers = [number_of(text) for text in encoded.dictionary.to_pylist()]
    is_nothing = np.array([number is None for number in numbers], dtype=bool)
    filled = np.array([number or 0 for number in numbers], dtype=np.int64)
    return null_where(arrow_of(is_nothing), arrow_of(filled)).take(encoded.indices)


def moments(values: Array, time_format: TimeFormat | None) -> Array | None:
    """Return the times that values say, (n,), in microseconds since 1970, in UTC; null for none.

    What is finer is cut off. Texts, and with a format whole numbers, are read each by itself. None
    for values of other types.
    """
    kind = values.type
    if is_time_type(kind):
        if types.is_timestamp(kind):
            in_utc = values.view(pa.timestamp(kind.unit))
            values = pc.floor_temporal(in_utc, unit="microsecond")
        return values.cast(pa.timestamp("us")).view(pa.int64())
    is_digits = types.is_integer(kind) and time_format is not None
    if not (is_text(kind) or is_digits):
        return None
    return _numbers_of_texts(values, partial(moment_of, time_format=time_format))


def is_time_type(kind: DataType) -> bool:
    """Tell whether a type is of dates or times."""
    return bool(types.is_date(kind) or types.is_timestamp(kind))


def named_kind(sign: str, literal: Literal) -> str:
    """Return what errors call a literal that is compared by a sign."""
    if sign == "like":
        return "a pattern"
    if moment_in(literal) is not None:
        return "a date"
    return {bool: "true or false", str: "a text"}.get(type(literal), "a number")


def is_text(kind: DataType) -> bool:
    """Tell whether values of a type are compared as texts are; those of a column of nulls are."""
    return is_string_type(kind) or kind in (pa.binary(), pa.large_binary(), pa.null())


def meaning(
    text: str, like: Literal, time_format: TimeFormat | None = None
) -> bool | int | Decimal | None:
    """Return what a text says if it is compared with such a literal; None if it says nothing so."""
    if isinstance(like, bool):
        return _BOOLEANS.get(text.lower())
    if isinstance(like, str):
        return moment_of(text, time_format)
    if _NUMBER.fullmatch(text):
        return Decimal(text)
    return None


# What need not be read, since no row in it can pass: files by the names of their folders, row
# groups by their bounds. Skipping changes nothing of what is read: where it is in doubt, it is
# read, and each row is looked at by itself.


# What is known of a comparison of no row.
_UNKNOWN = pa.nulls(1, pa.bool_())


def may_pass(condition: Condition | None, bounds: Mapping[str, Array], source: str) -> bool:
    """Tell whether a condition, if there is one, may be true of any row.

    bounds: of some columns the only value, (1,) Arrow, or the least and the greatest, (2,).
    """
    if condition is None:
        return True

    def compared(test: ColumnTest, sign: str, literal: Literal) -> Array:
        values = bounds.get(test.column)
        if values is None:
            return _UNKNOWN
        if len(values) == 1:
            return _known(_compared(values, sign, literal, test, source)[0].as_py() is True)
        # The order of digits, such as 31012026, is not that of the times that they say.
        if sign == "like" or test.time_format is not None:
            return _UNKNOWN
        if is_text(values.type):
            return _compared_between(values, sign, literal)
        order = _order(values, literal, None)
        # Of numbers only 0 and 1 are truth values, and others may lie between.
        if order is None or order.null_count:
            return _UNKNOWN
        least, most = order.to_pylist()
        outcomes = {COMPARE[sign](place, 0) for place in range(least, most + 1)}
        if len(outcomes) != 1:
            return _UNKNOWN
        return _known(outcomes.pop())

    # False means that no row is true, true that none is false.
    return truth(condition, Logic(compared, lambda name: _UNKNOWN))[0].as_py() is not False


def _known(is_true: bool) -> Array:
    return arrow_of(np.array([is_true]))


def _compared_between(bounds: Array, sign: str, literal: Literal) -> Array:
    """Return what a comparison is of texts from one to another, perhaps between white space."""
    low, high = bounds.to_pylist()
    # White space comes before all other letters, or is no ASCII.
    is_by_letters = isinstance(literal, str) and moment_in(literal) is None
    if not is_by_letters or sign != "=" or low < "!" or high >= "\x7f":
        return _UNKNOWN
    text = str(literal).strip()
    if low <= text + "\U0010ffff" and text <= high:
        return _UNKNOWN
    return _known(False)


def bounds_of(column: pyarrow.parquet.ColumnChunkMetaData, kind: DataType) -> Array | None:
    """Return the least and the greatest value of a column in a row group, (2,); None if unknown.

    Days become times.
    """
    # There may be no bounds, or they may be no values in Python, or of a type that numpy has not.
    with suppress(Exception):
        bounds = [column.statistics.min, column.statistics.max]
        if is_time_type(kind):
            moments = [iso_moment(bound.isoformat()) for bound in bounds]
            return arrow_of(np.array(moments, dtype=np.int64)).view(pa.timestamp("us"))
        if is_string_type(kind):
            return arrow_strings(bounds)
        return present(arrow_of(np.array(bounds, dtype=numpy_type(kind))))  # NaN is no bound
    return None
