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
from fractions import Fraction
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fim_private.errors import DataError, ParameterError, parameter, shown
from fim_private.reading.times import TimeFormat, iso_moment, moment_of
from fim_private.reading.values import (
    arrow_of,
    arrow_strings,
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

_EXAMPLE = "such as \"country = 'France' and date >= '2011-01-01'\""
_WORDS = frozenset(("and", "or", "not", "in", "between", "like", "is", "null", "true", "false"))
_SIGNS = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_NAME = re.compile(r"[^\W\d]\w*")
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?(?![\w.]))|(?P<text>'(?:[^']|'')*')"""
    r"""|(?P<quoted>"(?:[^"]|"")+")|(?P<name>[^\W\d]\w*)|(?P<sign><=|>=|<>|!=|[=<>(),])|(?P<end>\Z))"""
)
_LONGEST, _DEEPEST = 100_000, 100  # nobody types more, and the parser calls itself


def column_text(name: str) -> str:
    """Return the name of a column as a condition has it: in double quotes, unless it is a plain
    word.
    """
    if _NAME.fullmatch(name) and name.lower() not in _WORDS:
        return name
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
        column, literals = column_text(self.column), [*map(_literal, self.values)]
        negated = "not " * self.negated
        match self.sign:
            case "null":
                return f"{column} is {negated}null"
            case "in":
                return f"{column} {negated}in ({', '.join(literals)})"
            case "between":
                return f"{column} {negated}between {' and '.join(literals)}"
            case "like" if self.escape:
                escape = _literal(self.escape)
                return f"{column} {negated}like {literals[0]} escape {escape}"
            case "like":
                return f"{column} {negated}like {literals[0]}"
        return f"{column} {self.sign} {literals[0]}"


@dataclass(frozen=True)
class Joined:
    """Two or more conditions joined by "and" or "or", or one behind "not"."""

    word: str
    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        texts = list(map(_in_parentheses, self.conditions))
        if self.word == "not":
            return f"not {texts[0]}"
        return f" {self.word} ".join(texts)


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
    return any(_is_time(literal) for test in tests_of(condition) for literal in test.literals)


def _is_time(literal: Literal) -> bool:
    return isinstance(literal, str) and iso_moment(literal.strip()) is not None


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
        raise ParameterError(f"{parameter('where')} must be text, {_EXAMPLE}, not {shown(where)}")
    if len(where) > _LONGEST:
        raise ParameterError(f"{parameter('where')} must have at most {_LONGEST:,} characters")
    return _Parser(where).condition


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._end = self._depth = 0
        self._token = ""
        self._next()
        self.condition = self._any()
        if self._kind != "end":
            raise self._error("'and' or 'or'")

    def _next(self) -> str:
        """Take a token; return it, and look at the one behind it."""
        taken, self._start = self._token, self._end
        match = _TOKEN.match(self._text, self._start)
        if match is None:
            raise self._error("a column, a sign or a literal")
        self._kind, self._end = str(match.lastgroup), match.end()
        self._token = match[self._kind]
        if self._kind == "name" and self._token.lower() in _WORDS:
            self._kind, self._token = "word", self._token.lower()
        return taken

    def _take(self, token: str) -> bool:
        is_next = self._kind in ("word", "sign") and self._token == token
        if is_next:
            self._next()
        return is_next

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise self._error(token)

    def _error(self, expected: str) -> ParameterError:
        remainder = self._text[self._start :].lstrip()
        place = "its end"
        if remainder:
            place = shown(remainder)
        return ParameterError(
            f"{parameter('where')} is not understood at {place}: {expected} should be there, "
            f"{_EXAMPLE}"
        )

    def _any(self) -> Condition:
        return self._several("or", partial(self._several, "and", self._one))

    def _several(self, word: str, parse: Callable[[], Condition]) -> Condition:
        conditions = [parse()]
        while self._take(word):
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
        if self._take("not"):
            condition: Condition = Joined("not", (self._one(),))
        elif self._take("("):
            condition = self._any()
            self._expect(")")
        else:
            condition = self._test()
        self._depth -= 1
        return condition

    def _test(self) -> ColumnTest:
        if self._kind not in ("name", "quoted"):
            raise self._error("a column (one of another name is put in double quotes)")
        is_quoted = self._kind == "quoted"
        column = self._next()
        if is_quoted:
            column = column[1:-1].replace('""', '"')
        if self._kind == "sign" and self._token in _SIGNS:
            return ColumnTest(column, _SIGNS[self._next()], (self._value(),))
        if self._take("is"):
            negated = self._take("not")
            self._expect("null")
            return ColumnTest(column, "null", (), negated)
        negated = self._take("not")
        if self._take("between"):
            low = self._value()
            self._expect("and")
            return ColumnTest(column, "between", (low, self._value()), negated)
        if self._take("like"):
            return self._like(column, negated)
        if not self._take("in"):
            raise self._error("a sign, in, between, like or is")
        self._expect("(")
        values = [self._value()]
        while self._take(","):
            values.append(self._value())
        self._expect(")")
        return ColumnTest(column, "in", tuple(values), negated)

    def _like(self, column: str, negated: bool) -> ColumnTest:
        pattern = self._text_literal("a pattern: 'text' with % or _ in it")
        escape = ""
        if self._kind == "name" and self._token.lower() == "escape":  # elsewhere it is a column
            self._next()
            escape = self._text_literal("one character, such as '!'")
            if len(escape) != 1:
                raise ParameterError(
                    f"{parameter('where')} must have one character behind escape, such as '!'"
                )
        if not _is_pattern(pattern, escape):
            raise ParameterError(
                f"{parameter('where')} must have %, _ or itself behind the character of escape "
                f"in a pattern"
            )
        return ColumnTest(column, "like", (pattern,), negated, escape)

    def _text_literal(self, expected: str) -> str:
        if self._kind != "text":
            raise self._error(expected)
        return self._next()[1:-1].replace("''", "'")

    def _value(self) -> Literal:
        if self._kind == "text":
            return self._text_literal("a text")
        if self._kind == "number":
            token = self._next()
            if re.fullmatch(r"[+-]?[0-9]{1,4000}", token):
                return int(token)
            return Decimal(token)
        if self._kind == "word" and self._token in ("true", "false"):
            return self._next() == "true"
        raise self._error("a literal: 'text', a number, true or false")


def _literal(value: Literal) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


# -------------------- patterns: % is any text, _ is any character


def _is_pattern(pattern: str, escape: str) -> bool:
    """Tell whether the character of escape stands before nothing but %, _ and itself."""
    if not escape:
        return True
    remainder = re.sub(f"{re.escape(escape)}[%_{re.escape(escape)}]", "", pattern)
    return escape not in remainder


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

_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPARE_ARRAYS = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
# Infinities are what columns of floats hold, as Python and databases write them. Decimal has no
# longer exponents.
_NUMBER = re.compile(
    r"-?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,17})?|[Ii]nf(?:inity)?)"
)
_BOOLEANS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
# How many nanoseconds there are in each unit of columns of times.
_NANOSECONDS = {"day": 86_400 * 10**9, "s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}


@dataclass(frozen=True)
class Logic:
    """How conditions are computed, on arrays or in a database.

    It has three values: null where a condition is neither true nor false.

    Attributes:
        compared: Compares the column of a test with a literal, by a sign.
        is_null: Tells where a column has no value.
        negate: Not.
        both: And.
        either: Or.
    """

    compared: Callable[[ColumnTest, str, Literal], Any]
    is_null: Callable[[str], Any]
    negate: Callable[[Any], Any]
    both: Callable[[Any, Any], Any]
    either: Callable[[Any, Any], Any]


def truth(condition: Condition, logic: Logic) -> Any:
    """Return where a condition is true, as an array or an expression of the logic."""
    if isinstance(condition, Joined):
        truths = [truth(inner, logic) for inner in condition.conditions]
        if condition.word == "not":
            return logic.negate(truths[0])
        if condition.word == "and":
            return reduce(logic.both, truths)
        return reduce(logic.either, truths)
    compared = partial(logic.compared, condition)
    match condition.sign:
        case "null":
            is_true = logic.is_null(condition.column)
        case "in":
            is_true = reduce(logic.either, [compared("=", value) for value in condition.values])
        case "between":
            low, high = condition.values
            is_true = logic.both(compared(">=", low), compared("<=", high))
        case sign:
            is_true = compared(sign, condition.values[0])
    if condition.negated:
        return logic.negate(is_true)
    return is_true


def passing(condition: Condition, columns: Mapping[str, pa.Array], source: str) -> pa.Array:
    """Return where a condition is true: (rows,) Arrow bool, null where it is not false either.

    columns: (rows,) Arrow arrays, no views or extensions. Raises DataError, which names the source,
    for a column of a type that cannot be compared with its literal.
    """
    values = {name: present(column) for name, column in columns.items()}

    def compared(test: ColumnTest, sign: str, literal: Literal) -> pa.Array:
        return _compared(values[test.column], sign, literal, test, source)

    def is_null(name: str) -> pa.Array:
        column = values[name]
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        return column.is_null()

    return truth(condition, Logic(compared, is_null, pc.invert, pc.and_kleene, pc.or_kleene))


def _compared(
    values: pa.Array, sign: str, literal: Literal, test: ColumnTest, source: str
) -> pa.Array:
    """Compare the values of a column with a literal. Raises DataError if their types do not fit."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _compared(values.dictionary, sign, literal, test, source).take(values.indices)
    if pa.types.is_null(kind):
        return pa.nulls(len(values), pa.bool_())
    is_integer = pa.types.is_integer(kind)
    compared = None
    if sign == "like":
        if is_text(kind) or is_integer:
            compared = _like(values, str(literal), test.escape)
    elif is_text(kind) or (is_integer and _reads_digits(test, literal)):
        compared = _of_texts(values, sign, literal, test.time_format)
    elif isinstance(literal, bool):
        compared = _with_truth_value(values, sign, literal)
    elif isinstance(literal, str):
        compared = _with_time(values, sign, literal)
    else:
        compared = _with_number(values, sign, literal)
    if compared is None:
        raise _wrong_type(kind, test, literal, source)
    return compared


def _with_truth_value(values: pa.Array, sign: str, literal: bool) -> pa.Array | None:
    """Compare numbers or truth values with a truth value; None for values of other types."""
    if not pa.types.is_boolean(values.type):
        is_one = _with_number(values, "=", 1)
        if is_one is None:
            return None
        # 1 is true, 0 is false, and other numbers are neither.
        is_zero = _with_number(values, "=", 0)
        values = null_where(pc.invert(pc.or_(is_one, is_zero)), is_one)
    return _ordered(partial(_at_most, values.cast(pa.int8())), sign, int(literal))


def _with_number(values: pa.Array, sign: str, number: int | Decimal) -> pa.Array | None:
    """Compare numbers with a number; None for values of other types."""
    kind = values.type
    if pa.types.is_integer(kind):
        return _ordered(partial(_at_most, values), sign, Fraction(number))
    if pa.types.is_floating(kind):
        return _of_floats(values, sign, number)
    if pa.types.is_decimal(kind):
        return _of_texts(values.cast(pa.string()), sign, number)
    return None


def _with_time(values: pa.Array, sign: str, literal: str) -> pa.Array | None:
    """Compare dates or times with a time; None for values of other types, or if it is no time."""
    unit = _unit_of(values.type)
    moment = iso_moment(literal.strip())
    if unit is None or moment is None:
        return None
    integers = pa.int64()
    if unit == "day":
        integers = pa.int32()
    counts, length = values.view(integers), _NANOSECONDS[unit]
    # What is finer than a microsecond is cut off.
    return _ordered(lambda micros: _at_most(counts, (micros * 1000 + 999) // length), sign, moment)


def _unit_of(kind: pa.DataType) -> str | None:
    """Return the unit in which a type counts dates or times; None for other types."""
    if pa.types.is_date32(kind):
        return "day"
    if pa.types.is_date64(kind):
        return "ms"
    if pa.types.is_timestamp(kind):
        return str(kind.unit)
    return None


def _wrong_type(kind: pa.DataType, test: ColumnTest, literal: Literal, source: str) -> DataError:
    """Return the error for a column whose type cannot be compared with a literal."""
    advice = ""
    if pa.types.is_boolean(kind):
        advice = ": compare it with true or false"
    elif _unit_of(kind) is not None:
        advice = ": compare it with a date, such as '2011-01-31'"
    compared_with = named_kind(literal)
    if test.sign == "like":
        compared_with = "a pattern"
    return DataError(
        f"{parameter('where')} compares column {test.column!r} of {source} with {compared_with}, "
        f"and its type is {shown_type(kind)}{advice}"
    )


def _at_most(values: pa.Array, bound: int) -> pa.Array:
    """Return which integers are at most a bound of any size."""
    limits = np.iinfo(numpy_type(values.type))
    if not limits.min <= bound < limits.max:
        return null_where(values.is_null(), arrow_of(np.full(len(values), bound >= limits.max)))
    return pc.less_equal(values, arrow_of(np.array([bound], dtype=limits.dtype))[0])


def _ordered(at_most: Callable[[int], pa.Array], sign: str, value: int | Fraction) -> pa.Array:
    """Compare whole numbers with a value. at_most: tells which of them are at most a bound."""
    below = math.ceil(value) - 1
    bound = math.floor(value)
    if sign in ("<", ">="):
        bound = below
    is_true = at_most(bound)
    if sign in ("=", "<>"):
        is_true = pc.and_(is_true, pc.invert(at_most(below)))
    if sign in (">", ">=", "<>"):
        return pc.invert(is_true)
    return is_true


def _of_floats(values: pa.Array, sign: str, number: int | Decimal) -> pa.Array:
    """Compare floats with the one of their own width that is nearest to a number.

    So a float equals the number that it prints like.
    """
    floats = numpy_of(values)
    with np.errstate(over="ignore"):
        nearest = np.float64(Decimal(number)).astype(floats.dtype)
    return null_where(values.is_null(), arrow_of(_COMPARE[sign](floats, nearest)))


def named_kind(literal: Literal) -> str:
    """Return what errors call a literal of such a kind."""
    if isinstance(literal, bool):
        return "true or false"
    if isinstance(literal, str):
        return "a text"
    return "a number"


def is_text(kind: pa.DataType) -> bool:
    """Tell whether values of a type are compared as texts are."""
    types = pa.types
    is_string = types.is_string(kind) or types.is_large_string(kind)
    return bool(is_string or types.is_binary(kind) or types.is_large_binary(kind))


def _reads_digits(test: ColumnTest, literal: Literal) -> bool:
    """Tell whether whole numbers, such as 20260131, are compared as times."""
    return test.time_format is not None and _is_time(literal)


def _like(values: pa.Array, pattern: str, escape: str) -> pa.Array:
    """Match texts, or the digits of whole numbers, with a pattern."""
    regex = regex_of(pattern.strip(), escape)
    return pc.match_substring_regex(values.cast(pa.large_string()), regex)


def _of_texts(
    values: pa.Array, sign: str, literal: Literal, time_format: TimeFormat | None = None
) -> pa.Array:
    """Compare texts, by what each says, with a number, a date or a truth value; else as texts."""
    texts = values.cast(pa.large_string())
    plain = str(literal).strip()
    # A literal is written in ISO 8601, whatever the format of the texts.
    bound = meaning(plain, literal)
    if isinstance(literal, str):
        bound = iso_moment(plain)
    if bound is None:
        return _COMPARE_ARRAYS[sign](texts, arrow_strings([plain]).cast(pa.large_string())[0])
    encoded = texts.dictionary_encode()  # each different text once
    meanings = [meaning(text, literal, time_format) for text in encoded.dictionary.to_pylist()]
    is_nothing = np.array([value is None for value in meanings], dtype=bool)
    is_true = np.zeros(len(meanings), dtype=bool)
    for place in np.flatnonzero(~is_nothing):
        is_true[place] = _COMPARE[sign](meanings[place], bound)
    return null_where(arrow_of(is_nothing), arrow_of(is_true)).take(encoded.indices)


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

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def may_pass(condition: Condition | None, may_be_true: Callable[[ColumnTest], bool]) -> bool:
    """Tell whether a condition, if there is one, may be true of any row.

    may_be_true: whether a test may be true of any row.
    """
    match condition:
        case None:
            return True
        case ColumnTest():
            return may_be_true(condition)
        case Joined("not", (inner,)):
            return may_pass(_opposite(inner), may_be_true)
        case Joined("and"):
            return all(may_pass(inner, may_be_true) for inner in condition.conditions)
    return any(may_pass(inner, may_be_true) for inner in condition.conditions)


def _opposite(condition: Condition) -> Condition:
    """Return the condition that is true where another is false."""
    if isinstance(condition, ColumnTest):
        if condition.sign in _OPPOSITE:
            return replace(condition, sign=_OPPOSITE[condition.sign])
        return replace(condition, negated=not condition.negated)
    if condition.word == "not":
        return condition.conditions[0]
    word = "and"
    if condition.word == "and":
        word = "or"
    return Joined(word, tuple(map(_opposite, condition.conditions)))


def of_folders(test: ColumnTest, named: Mapping[str, str], source: str) -> bool:
    """Tell whether a test may be true of rows in folders that name columns, with these values."""
    if test.column not in named:
        return True
    value = arrow_strings([named[test.column]])
    return passing(test, {test.column: value}, source)[0].as_py() is True


def of_row_group(
    test: ColumnTest,
    group: pyarrow.parquet.RowGroupMetaData,
    places: Mapping[str, int],
    schema: pa.Schema,
    source: str,
) -> bool:
    """Tell whether a test may be true of rows of a row group of Parquet.

    places: the places of some of its columns by name.
    """
    # Of numbers only 0 and 1 are truth values: whether others lie between tells nothing of these.
    has_truth_value = any(isinstance(value, bool) for value in test.values)
    if test.column not in places or test.negated or test.sign == "like" or has_truth_value:
        return True
    statistics = group.column(places[test.column]).statistics
    if statistics is None or not statistics.has_min_max:
        return True
    kind = schema.field(test.column).type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _may_be_texts(test, statistics.min, statistics.max)
    if pa.types.is_integer(kind) and any(_reads_digits(test, literal) for literal in test.values):
        return True
    bounds = _bounds(kind, statistics)
    return bounds is None or _may_be_between(test, bounds, source)


def _bounds(kind: pa.DataType, statistics: pyarrow.parquet.Statistics) -> pa.Array | None:
    """Return the least and the greatest value of a row group, (2,); None for other types.

    Days become times.
    """
    # A bound may be no value in Python.
    with suppress(AttributeError, ImportError, OverflowError, TypeError, ValueError):
        bounds = [statistics.min, statistics.max]
        if any(bound != bound for bound in bounds):  # NaN: a bound of nothing
            return None
        if pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind):
            return arrow_of(np.array(bounds, dtype=numpy_type(kind)))
        if pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
            moments = [iso_moment(bound.isoformat()) for bound in bounds]
            return arrow_of(np.array(moments, dtype=np.int64)).view(pa.timestamp("us"))
    return None


def _may_be_between(test: ColumnTest, bounds: pa.Array, source: str) -> bool:
    """Tell whether a test may be true of values between bounds, which are among the values."""

    def of_bounds(sign: str, value: Literal) -> list[bool]:
        compared: list[bool] = _compared(bounds, sign, value, test, source).to_pylist()
        return compared

    match test.sign:
        case "<>" | "null":
            return True
        case "=" | "in":
            spans = [(value, value) for value in test.values]
        case "between":
            low, high = test.values
            spans = [(low, high)]
        case sign:
            return any(of_bounds(sign, test.values[0]))
    return any(of_bounds("<=", high)[0] and of_bounds(">=", low)[1] for low, high in spans)


def _may_be_texts(test: ColumnTest, low: str, high: str) -> bool:
    """Tell whether a test may be true of texts from low to high, perhaps between white space."""
    texts = [value.strip() for value in test.values if isinstance(value, str)]
    if test.sign not in ("=", "in") or len(texts) < len(test.values) or any(map(_is_time, texts)):
        return True
    # White space comes before all other letters, or is no ASCII.
    if low < "!" or high >= "\x7f":
        return True
    return any(low <= text + "\U0010ffff" and text <= high for text in texts)
