"""What a caller says of a source: form, delimiter, columns, segments, missing users."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any

import pyarrow as pa

from fim_private.errors import DataError, ParameterError, parameter, shown
from fim_private.reading.memory import MemoryLimit
from fim_private.reading.values import is_missing, present
from fim_private.reading.where import Condition, columns_of, where_of

# -------------------- dialect
# Dialect: how a source is to be read, as far as a caller says so: its form, and what separates a text's fields.


class InputForm(StrEnum):
    """What a row, or a line, is: one item of a basket, or a basket; and where its items are.

    Lines, fimi and spmf are forms of text; jsonl is text with an object a line, which may be any of an item or of a
    basket; the others are forms of tables, and of text with a line of column names.
    """

    LONG = "long"
    WIDE = "wide"
    ONE_HOT = "one-hot"
    LINES = "lines"
    FIMI = "fimi"
    SPMF = "spmf"
    JSONL = "jsonl"

    @property
    def is_table(self) -> bool:
        """Whether it has columns with names."""
        return self in (InputForm.LONG, InputForm.WIDE, InputForm.ONE_HOT)


# What separates fields, in the order in which they are tried; and names for what is hard to type.
DELIMITERS = (",", ";", "\t", "|")
# All that may be said, and what of it says nothing of a table.
DIALECT = ("delimiter", "header", "encoding", "input_format", "skip_rows")
OF_TEXT = ("delimiter", "header", "encoding", "skip_rows")
_MOST_ROWS = 10_000
_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}


@dataclass(frozen=True)
class Dialect:
    """How a source is to be read; None where nothing was said.

    delimiter: one ASCII character, or its name. header: whether the first line of a text has the names of columns.
    encoding: a name that Python knows. input_format: an `InputForm`. skip_rows: how many lines, or rows of a sheet,
    stand above the table; 0 to 10,000.
    Raises ParameterError for what is none of these.
    """

    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    input_format: str | None = None
    skip_rows: int | None = None

    def __post_init__(self) -> None:
        """Check each, and replace a name by what it stands for."""
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", one_character("delimiter", self.delimiter))
        if self.header is not None and not isinstance(self.header, bool):
            raise ParameterError(f"{parameter('header')} must be True or False, not {shown(self.header)}")
        if self.encoding is not None:
            object.__setattr__(self, "encoding", _codec(self.encoding))
        form = self.input_format
        if form is not None and (not isinstance(form, str) or form not in [*InputForm]):
            raise ParameterError(
                f"{parameter('input_format')} must be one of {', '.join(InputForm)}, not {shown(form)}"
            )

        rows = self.skip_rows
        if rows is not None and (not isinstance(rows, int) or isinstance(rows, bool) or not 0 <= rows <= _MOST_ROWS):
            raise ParameterError(
                f"{parameter('skip_rows')} must be a whole number from 0 to {_MOST_ROWS}, not {shown(rows)}"
            )

    @property
    def skipped(self) -> int:
        """How many lines, or rows, stand above the table."""
        return self.skip_rows or 0

    @property
    def form(self) -> InputForm | None:
        """The form that was asked for."""
        return None if self.input_format is None else InputForm(self.input_format)

    def without(self, names: Collection[str]) -> Dialect:
        """Return it without what a reader has used already."""
        return replace(self, **dict.fromkeys(names))

    def refuse_for(self, source: str, names: tuple[str, ...] = OF_TEXT) -> None:
        """Raise ParameterError if any of these was said of a source without use for it. source: what errors call it."""
        if given := [name for name in names if getattr(self, name) is not None]:
            raise ParameterError(f"leave out {' and '.join(map(parameter, given))}: {source} has no use for it")


def not_utf8(what: str) -> DataError:
    """Return the error for text of an unknown encoding. what: what it calls the text."""
    return DataError(f"{what} is not UTF-8 text; name its encoding with {parameter('encoding')}, such as cp1252")


def one_character(name: str, delimiter: object) -> str:
    """Return a delimiter, the value of a parameter of that name.

    Raises ParameterError for anything but one ASCII character that can be one, or its name.
    """
    found = _NAMES.get(delimiter.lower(), delimiter) if isinstance(delimiter, str) else None
    if found is None or len(found) != 1 or not found.isascii() or found in '"\r\n\0' or found.isalnum():
        raise ParameterError(f"{parameter(name)} must be one character, such as ';', or tab, not {shown(delimiter)}")
    return found


def _codec(encoding: object) -> str:
    """Return the name of an encoding as Python spells it. Raises ParameterError for what is none, or none of text."""
    try:
        if not isinstance(encoding, str):
            raise LookupError
        found = codecs.lookup(encoding)
        if not found._is_text_encoding:
            raise LookupError
        "é".encode(found.name, "replace").decode(found.name)
    except (LookupError, TypeError, ValueError):
        raise ParameterError(
            f"{parameter('encoding')} must be the name of a text encoding, such as utf-8 or cp1252, "
            f"not {shown(encoding)}"
        ) from None
    return found.name


# -------------------- missing users
# Rows without a user: which those are, and what becomes of them.
#
# Both are decided row by row. To give such a row the user of other rows, by its basket's id for instance, would
# let one user's rows change what another user is counted with.


class MissingUser(StrEnum):
    """The rule for rows without a user: they are left out, or each of their baskets is a unit of its own."""

    DROP = "drop"
    OWN_UNIT = "own-unit"


def apply_rule(users: pa.Array, rule: MissingUser | None, column: str, source: str) -> tuple[pa.Array, pa.Array | None]:
    """Apply the rule for rows without a user.

    users: (rows,) Arrow array of any type that can be an identifier. rule: None where such rows are refused.
    column, source: what errors call them.
    Returns the users of the rows that stay, null where the row's basket becomes a unit of its own, and which
    rows stay, (rows,) Arrow bool, None for all.
    Raises DataError when there are such rows and no rule for them.
    """
    users = present(users)
    if not users.null_count:
        return users, None
    match rule:
        case MissingUser.OWN_UNIT:
            return users, None
        case MissingUser.DROP:
            stays = users.is_valid()
            return users.filter(stays), stays
        case None:
            raise DataError(
                f"column {column!r} of {source} has rows without a user; "
                f"{parameter('missing_user')} {MissingUser.DROP.value!r} leaves them out, "
                f"{parameter('missing_user')} {MissingUser.OWN_UNIT.value!r} makes each of their baskets "
                "a unit of its own"
            )


# -------------------- segments
# Segments: a public list of parts, such as stores, that rows name in a column.

_MOST_SEGMENTS = 1_000


@dataclass(frozen=True)
class Segments:
    """In which part of a public list a row is: the one that its column names.

    names: of the parts, as texts, all different. most: in how many of them a unit counts at most, 1 to their number.
    """

    column: str
    names: tuple[str, ...]
    most: int = 1


def segments_of(by: object, segments: Any, max_segments: Any) -> Segments | None:
    """Return what a caller said of segments; None where nothing was said.

    by: the column. segments: names, texts or integers, or one text with commas between them. max_segments: None for 1.
    Raises ParameterError for what is missing or out of range.
    """
    if by is None:
        for name, value in (("segments", segments), ("max_segments", max_segments)):
            if value is not None:
                raise ParameterError(f"{parameter(name)} goes with {parameter('by')}: the column that names segments")
        return None
    if not isinstance(by, str):
        raise ParameterError(f"{parameter('by')} must be the name of a column, as text, not {shown(by)}")
    if segments is None:
        raise ParameterError(
            f"{parameter('by')} needs {parameter('segments')} too: the names of the segments, a public list, such as "
            "A,B,C (taken from the data it would tell who is in it)"
        )
    try:
        names = tuple(_name(each) for each in _listed(segments))
        "".join(names).encode()
    except ParameterError:
        raise
    except (csv.Error, ValueError):
        raise ParameterError(f"{parameter('segments')} must be names of valid text, none very long") from None
    if not names:
        raise ParameterError(f"{parameter('segments')} must name one segment or more")
    if len(names) > _MOST_SEGMENTS:
        raise ParameterError(f"{parameter('segments')} must name at most {_MOST_SEGMENTS:,} segments")
    if len({*names}) < len(names):
        raise ParameterError(f"{parameter('segments')} names a segment twice; name each once")
    most = 1 if max_segments is None else max_segments
    if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= len(names):
        raise ParameterError(
            f"{parameter('max_segments')} must be a whole number from 1 to that of the segments, {len(names)}, "
            f"not {shown(most)}"
        )
    return Segments(by, names, most)


def _listed(segments: Any) -> Sequence[Any]:
    """Return the names of segments, one by one. Raises ParameterError for what is no list."""
    if isinstance(segments, str):
        rows = csv.reader(segments.splitlines(), skipinitialspace=True)
        return [name for row in rows for name in row if name.strip()]
    # A set has no order, which decides where a unit counts that has as many baskets in several.
    if isinstance(segments, Mapping | Set | bytes) or not hasattr(segments, "__iter__"):
        raise ParameterError(
            f"{parameter('segments')} must be a list of names, or text such as A,B,C, not {shown(segments)}"
        )
    return [*segments]


def _name(segment: object) -> str:
    """Return the name of a segment as text. Raises ParameterError for what can be none."""
    whole = hasattr(segment, "__index__") and not isinstance(segment, bool)
    if not (isinstance(segment, str) or whole) or is_missing(segment):
        raise ParameterError(f"{parameter('segments')} must be names, texts or whole numbers, not {shown(segment)}")
    return str(segment).strip()


def check_keys(segments: Segments | None, user: str | None, basket: str | None) -> None:
    """Raise ParameterError for segments that are single users or baskets: how many units each has would tell of one."""
    for name, column in (("user", user), ("basket", basket)):
        if segments is not None and column == segments.column:
            raise ParameterError(
                f"{parameter('by')} and {parameter(name)} name the same column: a segment would be one {name} alone"
            )


# -------------------- options
# What a caller says of a source: which column is what, and how it is to be read.


@dataclass(frozen=True)
class Options:
    """The names a caller gave to the columns, and the rule for rows without a user; None where none was given.

    basket, item: one column, or several, as they are given; kept as a tuple. dialect: how the source is to be read, as
    far as that was said. query: of a database. where: which rows are read. by: the segments that rows are in. memory:
    how much it may take. split: at which character cells of the item column are lists of items; None where each is one.
    fold_case: whether items that differ by capital letters alone are one. every_item: whether only the names of items
    are wanted, of all rows, whoever's they are and whatever the condition. Raises ParameterError for names that
    contradict each other, for an unknown rule or one without a user column, and for no character.
    """

    user: str | None = None
    basket: Any = None
    item: Any = None
    items: str | None = None
    missing_user: str | None = None
    dialect: Dialect = field(default_factory=Dialect)
    query: str | None = None
    where: Condition | None = None
    by: Segments | None = None
    memory: MemoryLimit = field(default_factory=partial(MemoryLimit.of, None))
    split: str | None = None
    fold_case: bool = False
    every_item: bool = False

    def __post_init__(self) -> None:
        for name in ("item", "basket"):
            object.__setattr__(self, name, _several_columns(name, getattr(self, name)))
        if self.split is not None:
            object.__setattr__(self, "split", one_character("split", self.split))
        if not isinstance(self.fold_case, bool):
            raise ParameterError(f"{parameter('fold_case')} must be True or False, not {shown(self.fold_case)}")
        for name in ("user", "items"):
            if not isinstance(getattr(self, name), str | None):
                raise ParameterError(
                    f"{parameter(name)} must be the name of a column, as text, not {shown(getattr(self, name))}"
                )
        if self.missing_user is not None:
            if not isinstance(self.missing_user, str) or self.missing_user not in [*MissingUser]:
                raise ParameterError(
                    f"{parameter('missing_user')} must be one of {', '.join(MissingUser)}, "
                    f"not {shown(self.missing_user)}"
                )
            if self.user is None:
                raise ParameterError(
                    f"{parameter('missing_user')} needs {parameter('user')} too: "
                    "the column that names the user of each row"
                )
        if self.item is not None and self.items is not None:
            raise ParameterError(
                f"{parameter('item')} and {parameter('items')} exclude each other: "
                f"{parameter('item')} for one row per item, {parameter('items')} for a list column"
            )
        if self.item is not None and self.basket is None:
            raise ParameterError(
                f"{parameter('item')} needs {parameter('basket')} too: one row per item takes both column names"
            )
        if self.split is not None and len(self.item or (self.items,)) > 1:
            raise ParameterError(
                f"{parameter('split')} is for one column whose cells are lists of items, and {parameter('item')} names "
                "several"
            )
        for name, columns in (("basket", self.basket or ()), ("user", (self.user,))):
            if not {*columns, None}.isdisjoint({*(self.item or ()), self.items} - {None}):
                raise ParameterError(
                    f"{parameter(name)} and {parameter('item' if self.item else 'items')} name the same column"
                )

        alone = self.basket[0] if self.basket is not None and len(self.basket) == 1 else None
        check_keys(self.by, self.user, alone)

    @property
    def as_text(self) -> bool:
        """Whether what is said of the source says that it is text, if it is no Parquet or Arrow."""
        said = self.dialect
        return self.item is not None or any(
            given is not None for given in (said.delimiter, said.header, said.encoding, said.form, said.skip_rows)
        )

    def given(self) -> list[str]:
        """Return which of user, basket, item and items were named, in this order."""
        return [name for name in ("user", "basket", "item", "items") if getattr(self, name) is not None]

    def named(self) -> list[tuple[str, str]]:
        """Return each parameter that names columns, with a column that it names."""
        given = [(name, getattr(self, name)) for name in self.given()]
        several = [(name, columns if isinstance(columns, tuple) else (columns,)) for name, columns in given]
        several.append(("where", tuple(columns_of(self.where))))
        several.append(("by", () if self.by is None else (self.by.column,)))
        return [(name, column) for name, columns in several for column in columns]

    def refuse(self, source: str) -> None:
        """Raise ParameterError if any column, or a dialect, was named to a source in memory without named columns."""
        self.dialect.refuse_for(source, DIALECT)
        self.refuse_columns(source)

    def refuse_columns(self, source: str) -> None:
        """Raise ParameterError if any column was named to a source without named columns: what errors call it."""
        others = (name for name in ("where", "by", "split") if getattr(self, name) is not None)
        if given := [*self.given(), *others]:
            raise ParameterError(
                f"{' and '.join(map(parameter, given))} cannot be used with {source}, which has no such columns"
            )


def _several_columns(name: str, given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the columns that a parameter names; None for none. Raises ParameterError for no names, or one twice."""
    if given is None:
        return None
    columns = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else ()
    if not columns or not all(isinstance(column, str) for column in columns):
        raise ParameterError(
            f"{parameter(name)} must be the name of a column, as text, or a list of such names, not {shown(given)}"
        )
    if len({*columns}) < len(columns):
        raise ParameterError(f"{parameter(name)} names a column twice; name each once")
    return columns


def reading_of(asked: Mapping[str, Any], by: Segments | None = None) -> Options:
    """Return how to read purchases, of all options of a function of the library. Raises ParameterError."""
    names = ("user", "basket", "item", "items", "missing_user", "query", "split", "fold_case")
    return Options(
        **{name: asked[name] for name in names},
        dialect=Dialect(*(asked[name] for name in DIALECT)),
        where=where_of(asked["where"]),
        by=by,
        memory=MemoryLimit.of(asked["max_memory"]),
    )
