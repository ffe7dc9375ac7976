"""What would be read of a source, and how: for whoever has the data. It shows and counts them: none of it is private.

Where no options say how to read a source, names of columns suggest it, and it says what it guessed.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from fim_private.display import in_braces
from fim_private.errors import DataError, FimPrivateError, Marked, MemoryLimitError, parameter
from fim_private.options import InspectOptions, filled, takes
from fim_private.periods import period_at
from fim_private.reading import columns, frames
from fim_private.reading.columns import Column, ReadAs, Wanted, likely_roles, numbered, suggested
from fim_private.reading.databases import check_query
from fim_private.reading.files import file_errors, shown_source
from fim_private.reading.labels import Item, folded
from fim_private.reading.memory import LIST_ROWS, MemoryLimit, held_to
from fim_private.reading.options import DELIMITERS, InputForm, MissingUser, reading_of
from fim_private.reading.other_readings import seems_spmf
from fim_private.reading.purchases import can_be_read_again, read_parts
from fim_private.reading.record_batches import ArrowSource, table_source
from fim_private.reading.sources import named_source, path_or_name
from fim_private.reading.text import blocks, first_lines, form_of, text_table, without_lines
from fim_private.reading.transactions import Transactions
from fim_private.reading.values import is_missing
from fim_private.reading.where import columns_of, where_of

EXAMPLE_ITEMS = 10  # so many are shown of a basket
_EXAMPLES, _WIDEST_EXAMPLE, _LISTED_COLUMNS = 3, 40, 50
_LAST, _LAST_COLUMNS = 2, 10  # so many of the last rows are shown, of so many columns
_OTHER_ENCODING = "cp1252"  # that of spreadsheets in Western Europe
# What a second look at a source, for examples, may raise.
_UNREADABLE = (FimPrivateError, pa.ArrowException, OSError, UnicodeDecodeError, csv.Error)
_NO_TABLE = ("lines", "fimi", "spmf")


@dataclass(frozen=True)
class InspectedColumn:
    """A column of a table. role: basket, user, item, items, time or where; None where it is not read."""

    name: str
    type: str
    role: str | None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inspection:
    """What would be read of a source. It shows data: it is for whoever has them, not for publication.

    source: its path, its address without passwords, or its type. columns: of a table, the first 50. rows: of a table,
    or lines. users: how many units, if they are users. items: different ones. empty_baskets: those without items.
    basket_lengths: least, median, mean and largest number of items in a basket. last_rows: of a text or a sheet, its
    first columns, for a total may stand there. options: those of read_transactions with which it was read; guessed:
    which of them nobody named. marked_notes: what to know before mining, parameters marked as in errors.
    """

    source: str
    read_as: ReadAs
    columns: tuple[InspectedColumn, ...]
    rows: int
    baskets: int
    users: int | None
    items: int
    empty_baskets: int
    basket_lengths: Mapping[str, float]
    example_baskets: tuple[tuple[Item, ...], ...]
    example_items: tuple[Item, ...]
    last_rows: tuple[tuple[str, ...], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    guessed: tuple[str, ...] = ()
    marked_notes: tuple[str, ...] = ()
    in_memory: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before mining, with parameters as Python names them."""
        return tuple(str(Marked(note)) for note in self.marked_notes)

    @property
    def has_single_items_only(self) -> bool:
        """Whether no two items are in one basket; the first note then says so."""
        return self.basket_lengths["max"] == 1 and self.baskets > 1

    @property
    def call(self) -> str:
        """The call that mines the source so."""
        data = "data" if self.in_memory else repr(self.source)
        return f"fim.mine({data}{''.join(f', {name}={value!r}' for name, value in self.options.items())})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "private": False,
            "source": self.source,
            **{name: getattr(self.read_as, name) for name in ("form", "delimiter", "encoding")},
            "columns": [vars(column) | {"examples": [*column.examples]} for column in self.columns],
            **{name: getattr(self, name) for name in ("rows", "baskets", "users", "items", "empty_baskets")},
            "basket_lengths": dict(self.basket_lengths),
            "examples": {
                "baskets": [*map(list, self.example_baskets)],
                "items": list(self.example_items),
                "last_rows": [*map(list, self.last_rows)],
            },
            "options": dict(self.options),
            **{name: list(getattr(self, name)) for name in ("guessed", "notes")},
            "call": self.call,
        }


@takes(InspectOptions)
def inspect(source: Any, **options: Unpack[InspectOptions]) -> Inspection:
    """Return what would be read of a source, and how: columns and their roles, how many rows, baskets, users and items.

    It is for whoever has the data: nothing of it is private, and it spends no budget. source, and all options: as
    read_transactions takes them, which says what is raised where nothing fits, and times as mine does.
    """
    asked = filled("inspect", InspectOptions, options)
    check_query(source, asked["query"])
    max_memory = asked.pop("max_memory")
    condition = where_of(asked["where"])
    for name in ("basket", "item"):
        if isinstance(asked[name], list | tuple):
            asked[name] = asked[name][0] if len(asked[name]) == 1 else [*asked[name]]
    asked |= {"fold_case": asked["fold_case"] or None, "where": None if condition is None else str(condition)}
    named: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    limit = MemoryLimit.of(max_memory)
    table = None
    readings: Iterator[dict[str, Any]] = iter([{}])
    if can_be_read_again(source):
        table = _table_head(source, named, limit)
        names = [] if table is None else [str(column.name) for column in table.columns]
        readings = _possible_readings(names, () if table is None else table.lines, named)
    failure: FimPrivateError | None = None
    without_user: dict[str, Any] | None = {} if {"user", "basket", "item", "items"} & {*named} else None
    while (more := next(readings, None)) is not None:
        try:
            tried = filled("inspect", InspectOptions, {**named, **more, "max_memory": max_memory})
            [data] = read_parts(source, reading_of(tried))
        except MemoryLimitError:
            raise
        except FimPrivateError as error:
            failure = failure or error
            if isinstance(error, DataError) and error.split is not None:
                readings = chain([{**more, "split": error.split}], readings)
            continue
        if more.get("input_format") == InputForm.ONE_HOT and len(data.items) == data.baskets * len(data.vocabulary):
            continue  # numbers that are never 0 are no quantities: it was a guess
        like = None if data.read_as is None else data.read_as.user_like
        if like is not None and without_user is None and can_be_read_again(source):
            # Whoever copies the command should protect customers; if they cannot be read so, baskets.
            without_user, with_user = more, {**more, "user": like}
            dropped = [] if "missing_user" in named else [{**with_user, "missing_user": str(MissingUser.DROP)}]
            readings = chain([with_user, *dropped, more], readings)
            continue
        if table is not None:
            table = _table_head(source, {**named, **more}, limit)
        taken = {name: value for name in asked if (value := more.get(name, named.get(name))) is not None}
        with held_to(limit):
            return _inspection(source, data, table, taken, tuple(name for name in asked if name in more))
    assert failure is not None
    raise failure


def _possible_readings(
    names: Sequence[str], lines: Sequence[str], named: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield options, beside those that were named, with which a source may be read: none first, then guesses."""
    for encoding in ({}, {"encoding": _OTHER_ENCODING}) if "encoding" not in named else ({},):
        yield encoding
        for guess in _guesses(names, lines):
            more = {name: value for name, value in guess.items() if name not in named} | encoding
            yield more
            if "user" in {*more, *named} and "missing_user" not in named:
                yield {**more, "missing_user": str(MissingUser.DROP)}


def _guesses(names: Sequence[str], lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield options that the names of columns suggest, and forms that show when they are read."""
    places, (_, baskets, users, _) = numbered(names), suggested(names)
    baskets = [name for name in baskets if name not in users[:1]]
    keys: dict[str, Any] = dict([*zip(["user"], users, strict=False), *zip(["basket"], baskets, strict=False)])
    if places:
        if lines:  # of a text: items that are numbered, or places; only cells of 0 and 1 are read as a one-hot table
            yield {"input_format": "one-hot", **keys}
        yield {"input_format": "wide", **keys}
    if roles := likely_roles(names):
        yield roles
    if keys:
        yield keys
    if seems_spmf(lines):
        yield {"input_format": "spmf"}
    yield {"input_format": "one-hot", **keys}
    for delimiter in DELIMITERS:
        if 2 * sum(delimiter in line for line in lines) >= len(lines) > 0:
            yield {"delimiter": delimiter}


@dataclass(frozen=True)
class _TableHead:
    """A table before its roles are known: its columns, where their values are, and of a text the first lines."""

    columns: Sequence[Column]
    source: ArrowSource | None = None
    frame: Any = None
    lines: Sequence[str] = ()

    def examples(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the first different values of columns, as texts."""
        values: dict[str, list[Any]] = {}
        if self.frame is not None:
            head = self.frame.head(100)
            values = {name: head.iloc[:, place].tolist() for place, name in enumerate(head.columns)}
        elif self.source is not None and names:
            for batch in islice(self.source.batches(Wanted([*names], 100)), 1):
                values = {
                    name: batch.column(batch.schema.names.index(name)).slice(0, 100).to_pylist() for name in names
                }
        filled = {name: [v for v in all_ if isinstance(v, list) or not is_missing(v)] for name, all_ in values.items()}
        return {name: tuple(dict.fromkeys(map(_as_text, column)))[:_EXAMPLES] for name, column in filled.items()}

    def last(self) -> tuple[tuple[str, ...], ...]:
        """Return the last rows of a text or a sheet, where a total may stand: a few columns as texts, cut if long."""
        names = list(dict.fromkeys(str(column.name) for column in self.columns[:_LAST_COLUMNS]))
        if self.source is None or not (names and self.source.tokens):
            return ()
        rows: list[tuple[str, ...]] = []
        for batch in self.source.batches(Wanted(names, LIST_ROWS)):
            values = batch.slice(max(0, len(batch) - _LAST)).to_pydict()
            rows = [*rows, *zip(*(map(_as_text, values[name]) for name in names), strict=True)][-_LAST:]
        return tuple(rows)


def _as_text(value: object) -> str:
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        value = in_braces(value)
    text = "" if value is None else str(value)
    return text if len(text) <= _WIDEST_EXAMPLE else text[: _WIDEST_EXAMPLE - 1] + "…"


def _table_head(source: Any, named: Mapping[str, Any], limit: MemoryLimit) -> _TableHead | None:
    """Return a source as a table, where it is one, or a text as if its first line named columns; None for others."""
    options, is_path = reading_of(filled("inspect", InspectOptions, named)), isinstance(source, str | os.PathLike)
    found: Any = None
    with held_to(limit), suppress(FimPrivateError), file_errors(path_or_name(source)) if is_path else nullcontext():
        if is_path:
            found = named_source(source, options, head=True)
        elif frames.is_instance(source, "pandas", "DataFrame"):
            return _TableHead(frames.describe_pandas(source), frame=source)
        elif frames.is_instance(source, "polars", "DataFrame"):
            found = table_source(frames.polars_to_arrow(source))
        elif can_be_read_again(source):
            found = frames.arrow_object(source)
        if found is None or isinstance(found, ArrowSource):
            return None if found is None else _TableHead(found.columns(), found)
        if options.dialect.form is None or form_of(found, options).is_table:
            table = text_table(found, options, InputForm.WIDE, head=True)
            with closing(blocks(found, options.dialect.encoding)) as parts:
                block = next(without_lines(parts, options.dialect.skipped), b"")
            return _TableHead(table.columns(), table, lines=[line for line in first_lines(block) if line.strip()])
    return None


def _inspection(
    source: Any, data: Transactions, table: _TableHead | None, options: dict[str, Any], guessed: tuple[str, ...]
) -> Inspection:
    read_as = data.read_as or ReadAs(type(source).__name__, "lists")
    lengths = np.diff(data.offsets)
    filled = lengths[lengths > 0]
    some = filled if len(filled) else np.zeros(1)
    sizes = {"min": int(some.min()), "median": float(np.median(some)), "mean": round(float(some.mean()), 2)}
    label = data.vocabulary.label

    def baskets(ends: Sequence[int]) -> Iterator[tuple[Item, ...]]:
        return (tuple(map(label, data.items[a:b][:EXAMPLE_ITEMS].tolist())) for a, b in pairwise(ends))

    last_rows: tuple[tuple[str, ...], ...] = ()
    if read_as.form in _NO_TABLE:
        last_rows = tuple(tuple(map(str, basket)) for basket in baskets(data.offsets[-1 - _LAST :].tolist()))
    elif table is not None:
        with suppress(*_UNREADABLE):
            last_rows = table.last()
    counts = np.bincount(data.items, minlength=len(data.vocabulary))
    return Inspection(
        shown_source(source),
        read_as,
        _columns(table, read_as, options.get("time")),
        data.rows if data.rows is not None else data.baskets,
        data.baskets,
        data.units if data.by_user else None,
        len(data.vocabulary),
        data.baskets - len(filled),
        {**sizes, "max": int(some.max())},
        tuple(islice(filter(None, baskets(data.offsets[: 20 * _EXAMPLES].tolist())), _EXAMPLES)),
        tuple(map(label, np.argsort(-counts, kind="stable")[:_EXAMPLES].tolist())),
        last_rows,
        options,
        guessed,
        tuple(_notes(data, read_as, guessed)),
        not isinstance(source, str | os.PathLike),
    )


def _columns(table: _TableHead | None, read_as: ReadAs, time: str | None) -> tuple[InspectedColumn, ...]:
    if table is None or read_as.form in _NO_TABLE:
        return ()
    roles: dict[str | None, str] = dict.fromkeys(columns_of(where_of(read_as.where)), "where")
    roles |= {} if time is None else {time: "time"}
    roles |= {**dict.fromkeys(read_as.baskets, "basket"), **({} if read_as.user is None else {read_as.user: "user"})}
    roles |= dict.fromkeys(read_as.items, "item" if read_as.form in ("long", "wide") else "items")
    if read_as.form == "one-hot":
        roles = {**{c.name: "item" for c in table.columns if c.name not in read_as.others}, **roles}
    shown = list(table.columns)[:_LISTED_COLUMNS]
    examples: dict[str, tuple[str, ...]] = {}
    with suppress(*_UNREADABLE):
        examples = table.examples([column.name for column in shown])
    return tuple(InspectedColumn(str(c.name), str(c.kind), roles.get(c.name), examples.get(c.name, ())) for c in shown)


def _notes(data: Transactions, read_as: ReadAs, guessed: Sequence[str]) -> Iterator[str]:
    if data.baskets > 1 and np.diff(data.offsets).max(initial=0) == 1:
        yield f"Every basket has one item, so no two items are ever together. {_larger_baskets(read_as)}"
    if guessed:
        yield f"Guessed: {', '.join(map(parameter, guessed))}. Check it, and name it for `mine`."
    if read_as.user_like is not None:
        user = parameter("user")
        yield f"Column {read_as.user_like!r} looks like customers: name it as {user} to protect all baskets of each."
    if "missing_user" in guessed:
        name = parameter("missing_user")
        yield f"Some rows have no user: {name} 'drop' leaves them out, 'own-unit' makes units of their baskets."
    if "encoding" in guessed:
        yield f"It is not UTF-8; {_OTHER_ENCODING} is a guess: look whether accents are right."
    if data.days is not None:
        first, last = (period_at("day", day).name for day in data.days)
        yield f"The first basket is of {first}, the last of {last}."
    if not len(data.items):
        yield "There are no items in it."
    days = [name for name in read_as.others if columns.suggests_date(name)]
    if len(read_as.baskets) == 1 and columns.suggests_user(read_as.baskets[0]) and days:
        named = _named_together(read_as.baskets[0], days[0])
        yield f"All that a customer ever bought is one basket: {named} would make one of each day."
    if read_as.form == InputForm.ONE_HOT:
        yield "Where a cell is a quantity, each above 0 counts as 1."
    alike: dict[str | None, list[str]] = {}
    for text in [] if data.fold_case else data.vocabulary.strings.to_pylist():
        alike.setdefault(folded(text), []).append(text)
    if twins := [texts for texts in alike.values() if len(texts) > 1]:
        first, second = sorted(twins[0])[:2]
        number = "1 item is" if len(twins) == 1 else f"{len(twins):,} items are"
        yield (
            f"{number} written in several ways that differ by capital letters alone, such as {first!r} and {second!r}: "
            f"{parameter('fold_case')} takes them as one."
        )


def _named_together(*keys: str) -> str:
    return " and ".join(f"{parameter('basket')} {name!r}" for name in keys)


def _larger_baskets(read_as: ReadAs) -> str:
    if read_as.form != InputForm.LONG:
        name = f"one item of a basket, name {parameter('basket')} and {parameter('item')}."
        if read_as.form not in _NO_TABLE:
            return f"Where a row is {name}"
        between = f"say what is between them with {parameter('delimiter')}"
        return f"Where lines hold several items, {between}; where a line is {name}"
    others = [name for name in read_as.others if name not in read_as.baskets]
    named = [] if read_as.user is None else [read_as.user]
    _, baskets, users, days = suggested(others)
    users = [*suggested(named)[2], *users] or named
    if baskets:
        return f"Name a column that is the same in all rows of a purchase: {_named_together(baskets[0])}, it seems."
    if users and days:
        return f"Name a basket by its customer and its day: {_named_together(users[0], days[0])}."
    if users:
        return f"Name the customer, for all that each ever bought: {_named_together(users[0])}."
    left = f"; those left are {', '.join(map(repr, others[:_EXAMPLES]))}" if others else ""
    return f"Name with {parameter('basket')} a column that is the same in all rows of a purchase{left}."
