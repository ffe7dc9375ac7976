"""Which rows are read: the parser of conditions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from fim_private.errors import ParameterError, parameter, shown

# -------------------- where
# Which rows are read: a condition on one row's own columns, in a small part of SQL, as a tree.
#
#     condition  = all { or all }
#     all        = one { and one }
#     one        = not one | ( condition ) | column test
#     test       = sign literal                         signs: = <> != < <= > >=
#                | [not] in ( literal { , literal } )
#                | [not] between literal and literal
#                | is [not] null
#     column     = letters, digits and _, or anything "in double quotes", with "" for one
#     literal    = 'text', with '' for a quote | a number | true | false
#
# A date or a time is a text such as '2011-01-31' or '2011-01-31 12:00'. Words are known in capitals, too.

Literal = str | bool | int | Decimal

_EXAMPLE = "such as \"country = 'France' and date >= '2011-01-01'\""
_WORDS = frozenset(("and", "or", "not", "in", "between", "is", "null", "true", "false"))
_SIGNS = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_NAME = re.compile(r"[^\W\d]\w*")
_TOKEN = re.compile(
    r"""(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?(?![\w.]))|(?P<text>'(?:[^']|'')*')"""
    r"""|(?P<quoted>"(?:[^"]|"")+")|(?P<name>[^\W\d]\w*)|(?P<sign><=|>=|<>|!=|[=<>(),])"""
)
# Nobody types more, and a parser that calls itself has an end of its own.
_LONGEST = 100_000
_DEEPEST = 100


@dataclass(frozen=True)
class Comparison:
    """A column against a literal. sign: one of = <> < <= > >=."""

    column: str
    sign: str
    value: Literal

    def __str__(self) -> str:
        return f"{_name(self.column)} {self.sign} {_literal(self.value)}"


@dataclass(frozen=True)
class In:
    """A column that is one of several literals; negated, none of them."""

    column: str
    values: tuple[Literal, ...]
    negated: bool = False

    def __str__(self) -> str:
        return f"{_name(self.column)} {_not(self.negated)}in ({', '.join(map(_literal, self.values))})"


@dataclass(frozen=True)
class Between:
    """A column from one literal to another, both included; negated, outside of them."""

    column: str
    low: Literal
    high: Literal
    negated: bool = False

    def __str__(self) -> str:
        bounds = f"{_literal(self.low)} and {_literal(self.high)}"
        return f"{_name(self.column)} {_not(self.negated)}between {bounds}"


@dataclass(frozen=True)
class IsNull:
    """A column without a value; negated, with one."""

    column: str
    negated: bool = False

    def __str__(self) -> str:
        return f"{_name(self.column)} is {_not(self.negated)}null"


@dataclass(frozen=True)
class Not:
    """What is not so."""

    part: Condition

    def __str__(self) -> str:
        return f"not {_inside(self.part)}"


@dataclass(frozen=True)
class And:
    """Two or more, all of which are so."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " and ".join(map(_inside, self.parts))


@dataclass(frozen=True)
class Or:
    """Two or more, of which one at least is so."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " or ".join(map(_inside, self.parts))


Condition = Comparison | In | Between | IsNull | Not | And | Or
Test = Comparison | In | Between | IsNull


def tests(condition: Condition) -> Iterator[Test]:
    """Yield the tests of single columns in a condition."""
    match condition:
        case And(parts) | Or(parts):
            for part in parts:
                yield from tests(part)
        case Not(part):
            yield from tests(part)
        case _:
            yield condition


def columns_of(condition: Condition | None) -> list[str]:
    """Return the columns that a condition looks at, once each; none where there is no condition."""
    return [] if condition is None else list(dict.fromkeys(test.column for test in tests(condition)))


def where_of(given: object) -> Condition | None:
    """Return what a caller gave as a condition: text, or a condition already; None for None. Raises ParameterError.

    >>> str(where_of("country='France' AND NOT (price<1 or price between 5 and 1e1)"))
    "country = 'France' and not (price < 1 or price between 5 and 1E+1)"
    """
    if given is None or isinstance(given, Condition):
        return given
    if not isinstance(given, str):
        raise ParameterError(f"{parameter('where')} must be text, {_EXAMPLE}, not {shown(given)}")
    if len(given) > _LONGEST:
        raise ParameterError(f"{parameter('where')} must have at most {_LONGEST:,} characters")
    return _Parser(given).whole()


class _Parser:
    """Reads a condition, token by token."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._depth = 0
        self._kind = ""
        self._token = ""
        self._next()

    def whole(self) -> Condition:
        """Return all of it as one condition."""
        found = self._several(Or, "or", lambda: self._several(And, "and", self._one))
        if self._kind:
            raise self._error("and or or")
        return found

    def _next(self) -> str:
        """Take a token; return it, and look at the one behind it."""
        taken = self._token
        start = re.compile(r"\s*").match(self._text, self._place)
        self._start = self._place if start is None else start.end()
        if self._start == len(self._text):
            self._kind = self._token = ""
            return taken
        match = _TOKEN.match(self._text, self._start)
        if match is None:
            raise self._error("a column, a sign or a literal")
        self._kind, self._token, self._place = str(match.lastgroup), match[0], match.end()
        if self._kind == "name" and self._token.lower() in _WORDS:
            self._kind, self._token = "word", self._token.lower()
        return taken

    def _take(self, token: str) -> bool:
        """Take a word or a sign if it is next; tell whether it was."""
        if self._kind in ("word", "sign") and self._token == token:
            self._next()
            return True
        return False

    def _expect(self, token: str) -> None:
        """Take a word or a sign that has to be next."""
        if not self._take(token):
            raise self._error(token)

    def _error(self, wanted: str) -> ParameterError:
        """Return the error for what is not understood."""
        rest = self._text[self._start :]
        where = f"at {shown(rest)}" if rest else "at its end"
        return ParameterError(f"{parameter('where')} is not understood {where}: {wanted} should be there, {_EXAMPLE}")

    def _several(self, kind: type[And] | type[Or], word: str, part: Callable[[], Condition]) -> Condition:
        """Return parts between a word as one condition."""
        parts = [part()]
        while self._take(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else kind(tuple(parts))

    def _one(self) -> Condition:
        """Return a test, or what is in parentheses, or the opposite of one of them."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ParameterError(f"{parameter('where')} must have at most {_DEEPEST} conditions inside each other")
        try:
            if self._take("not"):
                return Not(self._one())
            if self._take("("):
                found = self._several(Or, "or", lambda: self._several(And, "and", self._one))
                self._expect(")")
                return found
            return self._test()
        finally:
            self._depth -= 1

    def _test(self) -> Test:
        """Return a test of one column."""
        if self._kind == "name":
            column = self._next()
        elif self._kind == "quoted":
            column = self._next()[1:-1].replace('""', '"')
        else:
            raise self._error("a column (one of another name is put in double quotes)")
        if self._kind == "sign" and self._token in _SIGNS:
            return Comparison(column, _SIGNS[self._next()], self._value())
        if self._take("is"):
            negated = self._take("not")
            self._expect("null")
            return IsNull(column, negated)
        negated = self._take("not")
        if self._take("between"):
            low = self._value()
            self._expect("and")
            return Between(column, low, self._value(), negated)
        if not self._take("in"):
            raise self._error("a sign, in, between or is")
        self._expect("(")
        values = [self._value()]
        while self._take(","):
            values.append(self._value())
        self._expect(")")
        return In(column, tuple(values), negated)

    def _value(self) -> Literal:
        """Return a literal."""
        if self._kind == "text":
            return self._next()[1:-1].replace("''", "'")
        if self._kind == "number":
            token = self._next()
            return int(token) if re.fullmatch(r"[+-]?[0-9]{1,4000}", token) else Decimal(token)
        if self._kind == "word" and self._token in ("true", "false"):
            return self._next() == "true"
        raise self._error("a literal: 'text', a number, true or false")


def _name(column: str) -> str:
    """Return the name of a column as it is written."""
    if _NAME.fullmatch(column) and column.lower() not in _WORDS:
        return column
    return '"' + column.replace('"', '""') + '"'


def _literal(value: Literal) -> str:
    """Return a literal as it is written."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _not(negated: bool) -> str:
    """Return the word of what is negated."""
    return "not " if negated else ""


def _inside(part: Condition) -> str:
    """Return a part of a condition, in parentheses where they are needed."""
    return f"({part})" if isinstance(part, And | Or) else str(part)


# -------------------- moments
# Dates and times, of a text by itself: ISO 8601 as databases write it, to the microsecond.

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
