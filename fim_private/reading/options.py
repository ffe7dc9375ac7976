"""What a caller says of a source: form, delimiter, columns, segments, periods, missing users."""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import chain
from numbers import Integral
from typing import TypeGuard

import numpy as np

from fim_private.errors import DataError, ParameterError, parameter, shown
from fim_private.options.declaration import OptionValues
from fim_private.periods import KINDS, KINDS_OF_PROMISE, Period, several
from fim_private.reading.memory import MemoryLimit
from fim_private.reading.times import TimeFormat, time_format_of
from fim_private.reading.values import Int32, Integers, integer_or_text, is_missing
from fim_private.reading.where import Condition, columns_of, compares_times, where_of, with_times_in


class InputForm(StrEnum):
    """What a row, or a line, is: one item of a basket, or a basket; and where its items are.

    Lines, fimi and spmf are forms of text; jsonl is text with an object a line, of an item or of a
    basket.
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


class MissingUser(StrEnum):
    """The rule for rows without a user, row by row: they are left out, or each of their baskets is
    a unit of its own.

    To give such a row the user of other rows, by its basket's id, would let one user's rows change
    another's baskets.
    """

    DROP = "drop"
    OWN_UNIT = "own-unit"


SAMPLE = 200  # so many lines, or cells, are looked at before reading
# What separates fields, in the order in which they are tried; and names for what is hard to type.
DELIMITERS = (",", ";", "\t", "|")
_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}
# an ASCII character that is neither a letter nor a digit, nor ends a line, nor quotes
_DELIMITER = r'[^"\r\n\0A-Za-z0-9\x80-\U0010ffff]'
# All that a dialect has, and what of it says nothing of a table.
DIALECT = ("delimiter", "header", "encoding", "input_format", "skip_rows")
_OF_TEXT = ("delimiter", "header", "encoding", "skip_rows")
_MOST_ROWS = 10_000
USUAL_ENCODING = "cp1252"  # that of spreadsheets in Western Europe, where it is not UTF-8
_MOST_SEGMENTS = 1_000


@dataclass(frozen=True)
class Dialect:
    """How a source is to be read; None where a caller leaves it open. Raises ParameterError."""

    delimiter: str | None = None  # one ASCII character, or its name
    header: bool | None = None  # whether the first line of a text has the names of columns
    encoding: str | None = None  # a name that Python knows
    input_format: str | None = None  # an `InputForm`
    # how many lines, or rows of a sheet, stand above the table; 0 to 10,000
    skip_rows: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "delimiter", _one_character("delimiter", self.delimiter))
        if not isinstance(self.header, bool | None):
            raise _wrong("header", "True or False", self.header)
        if self.encoding is not None:
            object.__setattr__(self, "encoding", _codec(self.encoding))
        _check_member("input_format", self.input_format, InputForm)
        if not _is_between(self.skipped, 0, _MOST_ROWS):
            raise _wrong("skip_rows", f"a whole number from 0 to {_MOST_ROWS}", self.skip_rows)

    @property
    def skipped(self) -> int:
        """How many lines, or rows, stand above the table."""
        return self.skip_rows or 0

    @property
    def form(self) -> InputForm | None:
        """The form that was asked for."""
        if self.input_format is None:
            return None
        return InputForm(self.input_format)

    def given(self) -> list[str]:
        """Return which parameters were given, in the order of `DIALECT`."""
        return [name for name, value in vars(self).items() if value is not None]

    def refuse_for(self, source: str, names: tuple[str, ...] = _OF_TEXT) -> None:
        """Raise ParameterError if any of these was given for a source that has no use for it."""
        useless = [parameter(name) for name in self.given() if name in names]
        if useless:
            raise ParameterError(f"leave out {' and '.join(useless)}: {source} has no use for it")


def not_utf8(text_name: str) -> DataError:
    """Return the error for text of an unknown encoding. text_name: what it calls the text."""
    return DataError(
        f"{text_name} is not UTF-8 text; name its encoding with {parameter('encoding')}, such as "
        f"{USUAL_ENCODING}",
        options={"encoding": USUAL_ENCODING},
        is_of_a_line=True,
    )


def _is_between(value: object, least: int, most: int) -> TypeGuard[int]:
    """Tell whether a value is a whole number from one number to another."""
    return type(value) is int and least <= value <= most


def _wrong(name: str, expected: str, value: object) -> ParameterError:
    return ParameterError(f"{parameter(name)} must be {expected}, not {shown(value)}")


def _one_character(name: str, delimiter: object) -> str | None:
    """Return the character that a parameter gives, perhaps by its name, such as tab."""
    if delimiter is None:
        return None
    character = ""
    if isinstance(delimiter, str):
        character = _NAMES.get(delimiter.lower(), delimiter)
    if not re.fullmatch(_DELIMITER, character):
        raise _wrong(name, "one character, such as ';', or tab", delimiter)
    return character


def _check_member(name: str, value: object, members: Iterable[str]) -> None:
    if value is not None and (not isinstance(value, str) or value not in [*members]):
        raise _wrong(name, f"one of {', '.join(members)}", value)


def _one_column(name: str, column: object) -> str:
    if isinstance(column, str):
        return column
    raise _wrong(name, "the name of a column, as text", column)


def _codec(encoding: object) -> str:
    """Return the name by which Python knows a text encoding."""
    try:
        codec = codecs.lookup(encoding)  # type: ignore[arg-type]
        "é".encode(codec.name, "replace").decode(codec.name)
    except (LookupError, TypeError, ValueError):
        raise _wrong(
            "encoding", "the name of a text encoding, such as utf-8 or cp1252", encoding
        ) from None
    return codec.name


@dataclass(frozen=True)
class Segments:
    """A public list of segments, such as stores: a row is in the one that its column names."""

    column: str
    names: tuple[str, ...]  # all different
    most: int = 1  # in how many of them a unit counts at most, 1 to their number


def segments_of(by: object, segments: object, max_segments: object) -> Segments | None:
    """Return the segments that a caller names, and the column that says a row's; None for none.

    Args:
        by: The name of the column.
        segments: A list of texts or whole numbers, or one text with commas.
        max_segments: In how many of them a unit counts at most; None for 1.

    Raises ParameterError for what is missing or out of range.
    """
    if by is None:
        if segments is not None or max_segments is not None:
            raise ParameterError(
                f"{parameter('segments')} and {parameter('max_segments')} go with "
                f"{parameter('by')}: the column that names segments"
            )
        return None
    column = _one_column("by", by)
    if segments is None:
        raise ParameterError(
            f"{parameter('by')} needs {parameter('segments')} too: a public list of their names, "
            f"such as A,B,C (a list taken from the data would not be private)"
        )
    names = _segment_names(segments)
    most = 1 if max_segments is None else max_segments
    if not _is_between(most, 1, len(names)):
        limits = f"a whole number from 1 to that of the segments, {len(names)}"
        raise _wrong("max_segments", limits, most)
    return Segments(column, names, most)


def _segment_names(segments: object) -> tuple[str, ...]:
    """Return the names of segments that a caller lists, all different, as texts."""
    # A set has no order, which decides where a unit counts that has as many baskets in several.
    if isinstance(segments, Mapping | Set | bytes) or not isinstance(segments, Iterable):
        raise _wrong("segments", "a list of names, or text such as A,B,C", segments)
    listed = [*segments]
    try:
        if isinstance(segments, str):
            fields = chain.from_iterable(csv.reader(segments.splitlines(), skipinitialspace=True))
            listed = [name for name in fields if name.strip()]
        names = tuple(str(integer_or_text(name)) for name in listed)
        "".join(names).encode()
    except (csv.Error, ValueError):
        raise ParameterError(
            f"{parameter('segments')} must be names of valid text, none very long"
        ) from None
    for name in listed:
        is_name = isinstance(name, str | Integral) and not isinstance(name, bool)
        if not is_name or is_missing(name):
            raise _wrong("segments", "names, texts or whole numbers", name)
    if not 1 <= len(names) <= _MOST_SEGMENTS:
        raise ParameterError(
            f"{parameter('segments')} must name one segment or more, and at most {_MOST_SEGMENTS:,}"
        )
    if len({*names}) < len(names):
        raise ParameterError(f"{parameter('segments')} names a segment twice; name each once")
    return names


@dataclass(frozen=True)
class Times:
    """Which baskets are read, by time.

    A basket has the day of the earliest of all its rows, whatever else they say.
    """

    column: str
    # those of which there is a release each; none for one of all times
    periods: tuple[Period, ...] = ()
    # of the kinds in KINDS_OF_PROMISE: a unit is what a user bought in one of these
    per: str | None = None
    missing: str | None = None  # "drop" leaves out rows without a time; None refuses them
    released_apart: bool = False  # whether there is a release of each period
    by_user: bool = False
    format: TimeFormat | None = None  # how texts say times; None for ISO 8601 and days with dots

    @property
    def how(self) -> str:
        """What a ledger calls the way in which a basket gets its time.

        In another way it may get another time, and so be of another period.
        """
        if self.format is None:
            return self.column
        return f"{self.column} read as {self.format}"

    @property
    def parts(self) -> Segments | None:
        """The periods as segments, where each has a release.

        A basket is in one of them, a unit in as many as `most` says.
        """
        if not self.released_apart:
            return None
        names = tuple(period.name for period in self.periods)
        most = 1
        if self.per is not None:
            periods_of_stretch = Counter(
                number for period in self.periods for number in period.stretches(self.per)
            )
            most = max(periods_of_stretch.values())
        elif self.by_user:
            most = len(names)
        return Segments(self.column, names, most)

    def places(self, days: Integers) -> Int32:
        """Return the place of the period that has each day since 1970-01-01, -1 for none: (n,)."""
        if not self.periods:
            return np.zeros(len(days), dtype=np.int32)
        distinct_days, day_number = np.unique(days, return_inverse=True)
        is_inside = [
            (period.first <= distinct_days) & (distinct_days <= period.last)
            for period in self.periods
        ]
        return np.select(is_inside, range(len(is_inside)), -1).astype(np.int32)[day_number]


_OF_TIMES = ("period", "periods", "start", "end", "per", "missing_time")


def promised_kind(per: object) -> str | None:
    """Return the kind of period that a promise is about; ParameterError for no value of per."""
    _check_member("per", per, KINDS_OF_PROMISE)
    return None if per is None else KINDS_OF_PROMISE[str(per)]


def times_of(
    options: OptionValues, by: Segments | None, time_format: TimeFormat | None = None
) -> Times | None:
    """Return which times a caller's options ask for; None for all.

    Raises ParameterError for what does not go together.
    """
    time = options.get("time")
    if time is None:
        for name in _OF_TIMES:
            if options.get(name) is not None:
                raise ParameterError(
                    f"{parameter(name)} needs {parameter('time')} too: the column of the time of "
                    f"a row"
                )
        return None
    by_user = options.get("user") is not None
    per = promised_kind(options.get("per"))
    if per is not None and not by_user:
        raise ParameterError(
            f"{parameter('per')} needs {parameter('user')} too: the column that names the customer"
        )
    missing = options.get("missing_time")
    if missing not in (None, "drop"):
        raise _wrong("missing_time", "drop, which leaves out rows without a time", missing)
    period, list_of_periods = options.get("period"), options.get("periods")
    periods = several(period, list_of_periods, options.get("start"), options.get("end"), per)
    released_apart = list_of_periods is not None or period in KINDS
    if released_apart and by is not None:
        raise ParameterError(f"give {parameter('by')} or {parameter('periods')}, not both")
    column = _one_column("time", time)
    return Times(column, periods, per, missing, released_apart, by_user, time_format)


@dataclass(frozen=True)
class Reading:
    """What a caller says of a source: the names of columns, and how it is to be read.

    Raises ParameterError for what contradicts itself or is out of range.
    """

    user: str | None = None
    # no column, one, or several that name it together; so is item
    basket: tuple[str, ...] = ()
    item: tuple[str, ...] = ()
    items: str | None = None
    missing_user: str | None = None  # the rule for rows without a user; None to refuse them
    dialect: Dialect = field(default_factory=Dialect)
    query: str | None = None  # of a database
    from_query: bool = False  # whether a query, or what may be one, chose the rows
    where: Condition | None = None  # which rows are read
    by: Segments | None = None
    times: Times | None = None
    time_format: TimeFormat | None = None  # how texts say times, of periods and of conditions
    memory: MemoryLimit = field(default_factory=partial(MemoryLimit.of, None))
    split: str | None = None  # at which character cells of the item column are lists of items
    fold_case: bool = False  # whether items that differ by capital letters alone are one
    # whether a source is only looked at, as a table: a text then has any suffix, and its first line
    # names columns
    head: bool = False
    # whether only the names of items are wanted, of all rows, whoever's, without condition
    every_item: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.fold_case, bool):
            raise _wrong("fold_case", "True or False", self.fold_case)
        if self.items is not None:
            _one_column("items", self.items)
        _check_member("missing_user", self.missing_user, MissingUser)
        self._check_together()
        self._check_key("basket", self.basket)
        if self.user is not None:
            self._check_key("user", (_one_column("user", self.user),))
            if self.times is not None and self.times.column == self.user:
                raise _same_column("time", "user")

    def _check_together(self) -> None:
        """Raise ParameterError if an option lacks one that it needs, or excludes another."""
        if self.missing_user is not None and self.user is None:
            raise ParameterError(
                f"{parameter('missing_user')} needs {parameter('user')} too: the column that "
                f"names the user of each row"
            )
        if self.item and self.items is not None:
            raise ParameterError(
                f"{parameter('item')} and {parameter('items')} exclude each other: "
                f"{parameter('item')} for one row per item, {parameter('items')} for a list column"
            )
        if self.item and not self.basket:
            raise ParameterError(
                f"{parameter('item')} needs {parameter('basket')} too: one row per item takes "
                f"both column names"
            )
        if self.split is not None and len(self.item) > 1:
            raise ParameterError(
                f"{parameter('split')} is for one column whose cells are lists of items, "
                f"and {parameter('item')} names several"
            )

    def _check_key(self, key: str, columns: tuple[str, ...]) -> None:
        """Raise ParameterError if the columns of a key, a basket or a user, have another role."""
        if not {*self.item}.isdisjoint(columns):
            raise _same_column(key, "item")
        if self.items in columns:
            raise _same_column(key, "items")
        # How many units each segment has would tell of one of them.
        if self.by is not None and columns == (self.by.column,):
            raise ParameterError(
                f"{parameter('by')} and {parameter(key)} name the same column: a segment would be "
                f"one {key} alone"
            )

    @property
    def parts(self) -> Segments | None:
        """The segments, or periods, that have a release each; None for one release."""
        if self.by is not None or self.times is None:
            return self.by
        return self.times.parts

    def given(self) -> list[str]:
        """Return which of user, basket, item and items were named, in this order."""
        return [name for name in dict(self.named()) if name in ("user", "basket", "item", "items")]

    def named(self) -> list[tuple[str, str]]:
        """Return each parameter that names columns, with a column that it names."""
        columns: dict[str, Sequence[str | None]] = {
            "user": [self.user],
            "basket": self.basket,
            "item": self.item,
            "items": [self.items],
            "where": columns_of(self.where),
        }
        for name, choice in (("by", self.by), ("time", self.times)):
            if choice is not None:
                columns[name] = [choice.column]
        return [
            (name, column)
            for name, named in columns.items()
            for column in named
            if column is not None
        ]

    def choices(self) -> list[str]:
        """Return which parameters were given that need a source with columns."""
        names = [*dict(self.named())]
        if self.split is not None:
            names.append("split")
        return names

    def refuse(self, source: str, advice: str = "") -> None:
        """Raise ParameterError if a column or a dialect was named to a source without columns.

        advice: what to do if a column was, behind a colon.
        """
        self.dialect.refuse_for(source, DIALECT)
        self.refuse_columns(source, advice)

    def refuse_columns(self, source: str, advice: str = "") -> None:
        """Raise ParameterError if a column was named to a source without named columns.

        advice: what to do instead, behind a colon.
        """
        names = [*map(parameter, self.choices())]
        if names:
            *others, last = names
            named = f"{', '.join(others)} and {last}" if others else last
            raise ParameterError(
                f"{named} cannot be used with {source}, where there are no such columns{advice}"
            )


def _same_column(first: str, second: str) -> ParameterError:
    return ParameterError(f"{parameter(first)} and {parameter(second)} name the same column")


def _several_columns(name: str, columns: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns that a parameter names, by one text or a list of texts."""
    if columns is None:
        return ()
    if isinstance(columns, str):
        return (columns,)
    is_list = isinstance(columns, list | tuple)
    if not is_list or not columns or not all(isinstance(column, str) for column in columns):
        raise _wrong(name, "the name of a column, as text, or a list of such names", columns)
    if len({*columns}) < len(columns):
        raise ParameterError(f"{parameter(name)} names a column twice; name each once")
    return tuple(columns)


def reading_of(options: OptionValues) -> Reading:
    """Return how to read purchases, of all options of a function of the library.

    Raises ParameterError.
    """
    by = segments_of(options.get("by"), options.get("segments"), options.get("max_segments"))
    time_format = time_format_of(options["time_format"])
    where = where_of(options["where"])
    if time_format is not None:
        if options.get("time") is None and not compares_times(where):
            raise ParameterError(
                f"{parameter('time_format')} needs {parameter('time')} too, or a date in "
                f"{parameter('where')}, such as \"date >= '2026-01-31'\""
            )
        if where is not None:
            where = with_times_in(where, time_format)
    return Reading(
        user=options["user"],
        item=_several_columns("item", options["item"]),
        basket=_several_columns("basket", options["basket"]),
        items=options["items"],
        missing_user=options["missing_user"],
        query=options["query"],
        split=_one_character("split", options["split"]),
        fold_case=options["fold_case"],
        dialect=Dialect(
            delimiter=options["delimiter"],
            header=options["header"],
            encoding=options["encoding"],
            input_format=options["input_format"],
            skip_rows=options["skip_rows"],
        ),
        where=where,
        by=by,
        times=times_of(options, by, time_format),
        time_format=time_format,
        memory=MemoryLimit.of(options["max_memory"]),
    )
