"""What would be read of a source, and how: for whoever has the data. None of it is private.

Where no options say how to read a source, names of columns suggest it, and it says what it guessed.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fim_private.display import in_braces
from fim_private.errors import (
    DataError,
    FimPrivateError,
    Marked,
    MemoryLimitError,
    ParameterError,
    parameter,
)
from fim_private.options.declaration import OptionValues, filled, takes
from fim_private.options.purchases import InspectOptions
from fim_private.periods import period_at
from fim_private.reading import columns, frames
from fim_private.reading.columns import Column, ReadAs, Wanted, suggested
from fim_private.reading.databases import check_query
from fim_private.reading.date_columns import (
    DateColumn,
    columns_to_read,
    date_columns,
    formats_to_say,
    notes_of,
)
from fim_private.reading.files import File, file_errors
from fim_private.reading.labels import Item, as_texts, folded
from fim_private.reading.locations import InMemory, Kind, Source, source_of
from fim_private.reading.memory import LIST_ROWS, MemoryLimit, limit_memory
from fim_private.reading.options import USUAL_ENCODING, InputForm, Reading, reading_of
from fim_private.reading.purchases import read_parts
from fim_private.reading.record_batches import ArrowSource, plain
from fim_private.reading.sources import named_source
from fim_private.reading.text import damage_of, form_of, text_table
from fim_private.reading.transactions import Transactions
from fim_private.reading.values import is_missing
from fim_private.reading.where import column_text, columns_of, where_of

EXAMPLE_ITEMS = 10  # so many are shown of a basket
_EXAMPLES, _WIDEST_EXAMPLE, _LISTED_COLUMNS = 3, 40, 50
_FEW_ROWS = 3  # of fewer nobody can tell row numbers from quantities
_LAST, _LAST_COLUMNS = 2, 10  # so many of the last rows are shown, of so many columns
_ENOUGH_ROWS = 100_000  # to see which rows of an order name its customer
# What a second look at a source, for examples, may raise.
_UNREADABLE = (FimPrivateError, pa.ArrowException, OSError, UnicodeDecodeError, csv.Error)
_NO_TABLE = ("lines", "fimi", "spmf")


@dataclass(frozen=True)
class InspectedColumn:
    """A column of a table.

    role: basket, user, item, items, time or where; None where it is not read.
    """

    name: str
    type: str
    role: str | None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inspection:
    """What would be read of a source: for whoever has the data, and not for publication.

    Attributes:
        source: Its path, its address without passwords, or its type.
        read_as: Its form, its dialect and the roles of its columns.
        columns: The first 50 columns of a table.
        rows: The number of rows of a table, or of lines.
        baskets: The number of baskets.
        users: The number of users; None if units are baskets.
        items: The number of different items.
        empty_baskets: The number of baskets without items.
        basket_lengths: The least, median, mean and largest number of items in a basket.
        example_baskets: The first few baskets, long ones cut.
        example_items: The items that the most baskets have.
        last_rows: The last rows of a text or a sheet, its first columns: a total may stand there.
        options: The options of read_transactions with which it was read.
        guessed: Those of the options that nobody named.
        marked_notes: What to know before mining, with parameters marked as in errors.
        in_memory: Whether the source is an object, not a path or an address.
        items_per_user: The mean number of different items of a user; None if units are baskets.
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
    options: OptionValues = field(default_factory=dict)
    guessed: tuple[str, ...] = ()
    marked_notes: tuple[str, ...] = ()
    in_memory: bool = False
    items_per_user: float | None = None

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
        source = repr(self.source)
        if self.in_memory:
            source = "data"
        options = [f"{name}={value!r}" for name, value in self.options.items()]
        return f"fim.mine({', '.join([source, *options])})"

    def to_dict(self) -> OptionValues:
        """Return plain values."""
        return {
            "private": False,
            "source": self.source,
            "form": self.read_as.form,
            "delimiter": self.read_as.delimiter,
            "encoding": self.read_as.encoding,
            "columns": [vars(column) | {"examples": [*column.examples]} for column in self.columns],
            "rows": self.rows,
            "baskets": self.baskets,
            "users": self.users,
            "items": self.items,
            "empty_baskets": self.empty_baskets,
            "items_per_user": self.items_per_user,
            "basket_lengths": dict(self.basket_lengths),
            "examples": {
                "baskets": [*map(list, self.example_baskets)],
                "items": list(self.example_items),
                "last_rows": [*map(list, self.last_rows)],
            },
            "options": dict(self.options),
            "guessed": list(self.guessed),
            "notes": list(self.notes),
            "call": self.call,
        }


@takes(InspectOptions)
def inspect(source: Any, **options: Unpack[InspectOptions]) -> Inspection:
    """Return what would be read of a source, and how: columns, their roles, and many counts.

    It is for whoever has the data: nothing of it is private, and it spends no budget. source, and
    all options: as read_transactions takes them, which says what is raised where nothing fits, and
    times as mine does.
    """
    all_options = filled("inspect", InspectOptions, options)
    location = source_of(source)
    check_query(location, all_options["query"])
    limit = MemoryLimit.of(all_options["max_memory"])
    search = _Search(location, _named(all_options), limit)
    formats = search.time_formats()
    search = replace(search, named={**search.named, **formats})
    reading = search.read({})
    if _COLUMNS.isdisjoint(search.named):
        reading = search.with_customers(reading)
    reading, notes = search.with_whole_orders(reading)
    guessed = {**formats, **reading.guessed}
    chosen = {**search.named, **guessed}
    ordered = {name: chosen[name] for name in all_options if name in chosen}
    look = _Look(
        location,
        reading.data,
        search.table(reading.guessed),
        ordered,
        tuple(name for name in ordered if name in guessed),
    )
    with limit_memory(limit):
        return look.inspection([*notes, *_cancellations(look.data, look.table)])


_COLUMNS = {"user", "basket", "item", "items"}
_NAMING = {*_COLUMNS, "where", "time"}


def _named(options: OptionValues) -> OptionValues:
    """Return the options that a caller named, as the command line has them."""
    named = {name: value for name, value in options.items() if value is not None}
    named.pop("max_memory", None)
    for name in ("basket", "item"):
        if isinstance(named.get(name), list | tuple):
            columns_named = [*named[name]]
            named[name] = columns_named
            if len(columns_named) == 1:
                named[name] = columns_named[0]
    if "where" in named:
        named["where"] = str(where_of(named["where"]))
    if not options["fold_case"]:
        named.pop("fold_case", None)
    return named


@dataclass(frozen=True)
class _Reading:
    """Purchases, and the options with which they were read beside those that were named."""

    data: Transactions
    guessed: Mapping[str, object]


@dataclass(frozen=True)
class _Search:
    """Looks for the options with which a source can be read.

    A refusal names the options that would read the source. These are the only guesses, so a
    refusal that names none stays one.
    """

    source: Source
    named: Mapping[str, object]
    limit: MemoryLimit

    def read(self, guessed: Mapping[str, object]) -> _Reading:
        """Read the source with the options that its refusals name. Raises FimPrivateError."""
        refusals: list[FimPrivateError] = []
        while True:
            try:
                data = self._read(guessed)
            except MemoryLimitError:
                raise
            except FimPrivateError as error:
                refusals.append(error)
            else:
                if not refusals or not _has_every_item(data, guessed):
                    return _Reading(data, guessed)
                raise refusals[-1]
            more = self._options_of(refusals[-1], guessed)
            if not more:
                raise self._explained(refusals, guessed)
            guessed = {**guessed, **more}

    def _read(self, guessed: Mapping[str, object]) -> Transactions:
        [data] = read_parts(self.source, self._options(guessed))
        return data

    def _options(self, guessed: Mapping[str, object]) -> Reading:
        options = filled("inspect", InspectOptions, {**self.named, **guessed})
        return replace(reading_of(options), memory=self.limit)

    def table(self, guessed: Mapping[str, object]) -> _TableHead | None:
        """Return the source as a table, where it is one that can be read again."""
        if not self.source.can_be_read_again:
            return None
        return _table_head(self.source, {**self.named, **guessed}, self.limit)

    def time_formats(self) -> dict[str, str]:
        """Return the format of times as an option, if columns of times were named and one fits."""
        times = columns_to_read(self.named)
        if not times:
            return {}
        return formats_to_say(times, _times_in(self.table({})))

    def _options_of(self, refusal: FimPrivateError, guessed: Mapping[str, object]) -> OptionValues:
        """Return the options that a refusal names and nobody has given; none if it names none."""
        options = None
        if isinstance(refusal, DataError):
            options = refusal.options
        if isinstance(refusal, ParameterError) and self._names_some_columns():
            options = {}
        if options is None or not self.source.can_be_read_again:
            return {}
        if not options and not guessed:
            head = self.table({})
            if head is not None:
                options = columns.likely_options([str(column.name) for column in head.columns])
        known = {*self.named, *guessed}
        return {name: value for name, value in options.items() if name not in known}

    def _names_some_columns(self) -> bool:
        """Tell whether columns were named, but not those of one row per item."""
        named = {*self.named}
        return bool(_NAMING & named) and "items" not in named and not {"basket", "item"} <= named

    def _explained(
        self, refusals: Sequence[FimPrivateError], guessed: Mapping[str, object]
    ) -> FimPrivateError:
        """Return the last refusal with what only the data's owner may see: a line, or columns.

        It is the first refusal if the guesses did not help.
        """
        refusal = refusals[-1]
        if not isinstance(refusal, DataError) or self._is_beside(refusal, refusals[0], guessed):
            return refusals[0]
        head = self.table(guessed)
        if head is None:
            return refusal
        more = ""
        if refusal.is_of_a_line and head.file is not None:
            more = self._of_line(head.file, guessed)
        elif refusal.options == {}:
            more = head.first_line()
        if not more:
            return refusal
        return DataError(f"{refusal.marked}{more}")

    def _is_beside(
        self, refusal: DataError, first: FimPrivateError, guessed: Mapping[str, object]
    ) -> bool:
        """Tell whether the last refusal only says that the guesses were wrong."""
        if "encoding" in guessed and "encoding" in (refusal.options or {}):
            # The encoding that was guessed does not fit either, so nothing better is known.
            return True
        if refusal.is_of_a_line:
            return False
        if isinstance(first, ParameterError):  # options that were named do not fit
            return True
        # Whoever named columns that are not there, in a text of another encoding, hears of that
        # first.
        return {*guessed} == {"encoding"} and bool(_COLUMNS & {*self.named})

    def _of_line(self, file: File, guessed: Mapping[str, object]) -> str:
        options = self._options(guessed)
        form = form_of(file, options)
        damage: str | None = None
        with limit_memory(self.limit), suppress(*_UNREADABLE):
            if form.is_table:
                damage = damage_of(file, options, form)
        if damage is None:
            return ""
        if not guessed:
            return f": {damage}"
        options_said = [f"{parameter(name)} {value!r}" for name, value in guessed.items()]
        return f": {damage}. It was read with {' and '.join(options_said)}"

    def with_customers(self, reading: _Reading) -> _Reading:
        """Return the same purchases by customer, if a column looks like customers and can be read.

        The command is there to be copied, so it should protect customers.
        """
        read_as = reading.data.read_as
        if read_as is None or read_as.user_like is None or not self.source.can_be_read_again:
            return reading
        try:
            return self.read({**reading.guessed, "user": read_as.user_like})
        except MemoryLimitError:
            raise
        except FimPrivateError:
            return reading

    def with_whole_orders(self, reading: _Reading) -> tuple[_Reading, list[str]]:
        """Return the purchases by order, with a note, if only first rows of orders name a customer.

        To leave out the rows without a customer would then leave out most of each order.
        """
        read_as, head = reading.data.read_as, self.table(reading.guessed)
        if reading.data.missing_user is None or read_as is None or head is None:
            return reading, []
        user, basket = read_as.user, read_as.basket
        if user is None or basket is None or user == basket:
            return reading, []
        is_first_only = False
        with limit_memory(self.limit), suppress(*_UNREADABLE):
            is_first_only = _names_first_rows_only(head.arrays([user, basket]))
        if not is_first_only:
            return reading, []
        note = (
            f"Column {user!r} names the customer only in the first row of an order. To protect "
            f"customers, fill it in first (in pandas: t[{user!r}] = t.groupby({basket!r})"
            f"[{user!r}].transform('first')) and name it as {parameter('user')}. Until then "
        )
        if "user" in self.named:
            return reading, [note + "the other rows of an order are rows without a customer."]
        guessed = dict(reading.guessed)
        guessed.pop("user", None)
        guessed.pop("missing_user", None)
        return self.read(guessed), [note + "each order is protected by itself."]


def _has_every_item(data: Transactions, guessed: Mapping[str, object]) -> bool:
    """Tell whether a table that was guessed to be one-hot has no 0: these are no quantities."""
    is_one_hot = guessed.get("input_format") == InputForm.ONE_HOT
    return is_one_hot and len(data.items) == data.baskets * len(data.vocabulary)


def _names_first_rows_only(batches: Iterator[Sequence[pa.Array]]) -> bool:
    """Tell whether most rows without a user have the basket of an earlier row that names one.

    batches: of users and baskets. The first rows are enough.
    """
    named: set[object] = set()
    without = of_named = rows = 0
    for users, baskets in batches:
        for user, basket in zip(_texts(users), _texts(baskets), strict=True):
            if is_missing(basket):
                continue
            if is_missing(user):
                without += 1
                of_named += basket in named
            else:
                named.add(basket)
        rows += len(users)
        if rows > _ENOUGH_ROWS:
            break
    return 2 * of_named > without


def _texts(array: pa.Array) -> Sequence[str | None]:
    texts: Sequence[str | None] = as_texts(plain(array)).to_pylist()
    return texts


# -------------------- cancellations

_CANCELLED = r"^\s*[Cc]-?[0-9]+\s*$"
_NUMBERED = r"^\s*[0-9]+\s*$"
_BELOW_ZERO = r"^\s*-\s*[0-9]*[.,]?[0-9]"
_DECIMAL_COMMA = r"^\s*-?[0-9.]*,[0-9]"


def _cancellations(data: Transactions, table: _TableHead | None) -> Iterator[str]:
    """Yield notes on cancelled goods: negative quantities, invoices such as C536379."""
    read_as = data.read_as
    if table is None or read_as is None:
        return
    if read_as.form != InputForm.LONG or read_as.where is not None:
        return
    quantity = next(filter(columns.suggests_quantity, read_as.others), None)
    patterns = {}
    if quantity is not None:
        patterns[quantity] = (_BELOW_ZERO, _DECIMAL_COMMA)
    if read_as.basket is not None:
        patterns[read_as.basket] = (_CANCELLED, _NUMBERED)
    counts = table.counts(patterns)
    if quantity is not None and counts[quantity][0]:
        rows, with_commas = counts[quantity]
        where = f"{column_text(quantity)} > 0"
        if with_commas:  # a text with a decimal comma is no number to a condition
            where = f"{column_text(quantity)} not like '-%'"
        yield _note_of_cancellations(rows, f"a negative {quantity!r}", where)
    if read_as.basket is not None:
        rows, numbered = counts[read_as.basket]
        if 0 < rows < numbered:
            where = f"{column_text(read_as.basket)} not like 'C%'"
            yield _note_of_cancellations(rows, f"a {read_as.basket!r} that begins with C", where)


def _note_of_cancellations(rows: int, have: str, where: str) -> str:
    number = f"{rows:,} rows have"
    if rows == 1:
        number = "1 row has"
    return (
        f"{number} {have}, as returns and cancellations have. They count as purchases: "
        # Quoted so, it is a word for a shell and a text for Python.
        f"{parameter('where')} {json.dumps(where, ensure_ascii=False)} leaves them out."
    )


@dataclass(frozen=True)
class _TableHead:
    """A table before its roles are known: its columns, and where their values are.

    file: of a text.
    """

    columns: Sequence[Column]
    source: ArrowSource
    file: File | None = None

    def examples(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the first different values of columns, as texts."""
        if not names:
            return {}
        arrays = next(self.arrays(names, 100), [])
        examples = {}
        for name, array in zip(names, arrays, strict=False):
            cells = array.slice(0, 100).to_pylist()
            texts = [_as_text(value) for value in cells if _is_value(value)]
            examples[name] = tuple(dict.fromkeys(texts))[:_EXAMPLES]
        return examples

    def arrays(
        self, names: Sequence[str], rows_at_a_time: int = LIST_ROWS
    ) -> Iterator[Sequence[pa.Array]]:
        """Yield the values of columns, batch by batch: for each column an Arrow array."""
        for batch in self.source.batches(Wanted([*names], rows_at_a_time)):
            yield [batch.column(batch.schema.names.index(name)) for name in names]

    def counts(self, patterns: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
        """Return how many values of each column fit each of its patterns, as texts."""
        counts = {name: [0] * len(of_column) for name, of_column in patterns.items()}
        if not patterns:
            return counts
        with suppress(*_UNREADABLE):
            for arrays in self.arrays([*patterns]):
                for (name, of_column), values in zip(patterns.items(), arrays, strict=True):
                    texts = as_texts(plain(values)).dictionary_encode()
                    for place, pattern in enumerate(of_column):
                        fits = pc.match_substring_regex(texts.dictionary, pattern)
                        counts[name][place] += fits.take(texts.indices).true_count
        return counts

    def first_line(self) -> str:
        """Return what an error says of the first line of a text, or of a sheet."""
        names = ", ".join(repr(str(column.name)) for column in self.columns[:_LISTED_COLUMNS])
        if self.source.is_text:
            return f". Its first line, cut at {self.source.delimiter!r}, is {names}"
        if self.source.kind == "Excel":
            return f". Its first line is {names}"
        return ""

    def is_distinct(self, name: str) -> bool:
        """Return whether no two cells of a column are equal."""
        cells: set[object] = set()
        rows = 0
        for [array] in self.arrays([name]):
            cells.update(array.to_pylist())
            rows += len(array)
            if len(cells) < rows:
                return False
        return rows > 0

    def last(self) -> tuple[tuple[str, ...], ...]:
        """Return the last rows of a text or a sheet, in a few columns: a total may stand there."""
        names = list(dict.fromkeys(str(column.name) for column in self.columns[:_LAST_COLUMNS]))
        if not names or not self.source.holds_texts:
            return ()
        rows: list[tuple[str, ...]] = []
        for arrays in self.arrays(names):
            ends = [array[max(0, len(array) - _LAST) :].to_pylist() for array in arrays]
            rows += zip(*(map(_as_text, values) for values in ends), strict=True)
            rows = rows[-_LAST:]
        return tuple(rows)


def _is_value(value: object) -> bool:
    return isinstance(value, list) or not is_missing(value)


def _as_text(value: object) -> str:
    if value is None:
        return ""
    text = str(value)
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        text = in_braces(value)
    if len(text) > _WIDEST_EXAMPLE:
        return text[: _WIDEST_EXAMPLE - 1] + "…"
    return text


def _table_head(
    source: Source, named: Mapping[str, object], limit: MemoryLimit
) -> _TableHead | None:
    """Return a source as a table; a text as if its first line named columns; None for others."""
    options = replace(reading_of(filled("inspect", InspectOptions, named)), head=True)
    with limit_memory(limit), suppress(FimPrivateError):
        if isinstance(source, InMemory):
            # A stream may be there once, and a lazy frame is computed each time.
            if source.kind in (Kind.STREAM, Kind.POLARS_LAZY):
                return None
            table = frames.table_of(source)
            if table is None:
                return None
            return _TableHead(table.columns(), table)
        with file_errors(source.place):
            return _stored_head(named_source(source, options), options)
    return None


def _stored_head(stored: File | ArrowSource, options: Reading) -> _TableHead | None:
    """Return a table, or a text that may be one, as a table; None for others."""
    if isinstance(stored, ArrowSource):
        return _TableHead(stored.columns(), stored)
    if options.dialect.form is not None and not form_of(stored, options).is_table:
        return None
    table = text_table(stored, options, InputForm.WIDE, head=True)
    return _TableHead(table.columns(), table, file=stored)


@dataclass(frozen=True)
class _Look:
    """A source that was read, and how.

    Attributes:
        source: Where the purchases are.
        data: The purchases.
        table: The source as a table; None if it is none.
        options: All options with which it was read.
        guessed: Those of the options that nobody named.
    """

    source: Source
    data: Transactions
    table: _TableHead | None
    options: OptionValues
    guessed: tuple[str, ...]

    def inspection(self, notes: Sequence[str]) -> Inspection:
        """Return what is shown of the source. notes: more of them."""
        data = self.data
        read_as = data.read_as or ReadAs(self.source.shown, "lists")
        lengths = np.diff(data.offsets)
        filled_lengths = lengths[lengths > 0]
        users = None
        if data.by_user:
            users = data.units
        rows = data.rows
        if rows is None:
            rows = data.baskets
        first_baskets = filter(None, self._baskets(data.offsets[: 20 * _EXAMPLES]))
        counts = np.bincount(data.items, minlength=len(data.vocabulary))
        most_frequent = np.argsort(-counts, kind="stable")[:_EXAMPLES].tolist()
        time = self.options.get("time")
        return Inspection(
            source=self.source.shown,
            read_as=read_as,
            columns=_columns(self.table, read_as, time),
            rows=rows,
            baskets=data.baskets,
            users=users,
            items=len(data.vocabulary),
            empty_baskets=data.baskets - len(filled_lengths),
            basket_lengths=_summary(filled_lengths),
            example_baskets=tuple(islice(first_baskets, _EXAMPLES)),
            example_items=tuple(map(data.vocabulary.label, most_frequent)),
            last_rows=self._last_rows(read_as),
            options=self.options,
            guessed=self.guessed,
            marked_notes=(
                *_notes(data, read_as, self.guessed),
                *_numbered_rows(self.table, data),
                *notes_of(_times_in(self.table), time),
                *notes,
            ),
            in_memory=isinstance(self.source, InMemory),
            items_per_user=_items_per_user(data),
        )

    def _baskets(self, ends: NDArray[np.int64]) -> Iterator[tuple[Item, ...]]:
        """Yield the first items of the baskets between offsets."""
        label = self.data.vocabulary.label
        for start, end in pairwise(ends.tolist()):
            yield tuple(map(label, self.data.items[start:end][:EXAMPLE_ITEMS].tolist()))

    def _last_rows(self, read_as: ReadAs) -> tuple[tuple[str, ...], ...]:
        """Return the last rows, or the last baskets where there are no columns."""
        if read_as.form in _NO_TABLE:
            baskets = self._baskets(self.data.offsets[-1 - _LAST :])
            return tuple(tuple(map(str, basket)) for basket in baskets)
        with suppress(*_UNREADABLE):
            if self.table is not None:
                return self.table.last()
        return ()


def _summary(lengths: NDArray[np.int64]) -> dict[str, float]:
    """Return the least, median, mean and largest of the lengths of baskets; all 0 for none."""
    if not len(lengths):
        lengths = np.zeros(1, dtype=np.int64)
    return {
        "min": int(lengths.min()),
        "median": float(np.median(lengths)),
        "mean": round(float(lengths.mean()), 2),
        "max": int(lengths.max()),
    }


def _items_per_user(data: Transactions) -> float | None:
    """Return how many different items a user has, on average; None where units are baskets."""
    if not data.by_user or not data.units:
        return None
    all_baskets = replace(data, together=True).united()
    return round(len(all_baskets.items) / data.units, 2)


def _columns(
    table: _TableHead | None, read_as: ReadAs, time: str | None
) -> tuple[InspectedColumn, ...]:
    """Return the first columns of a table, with their roles and a few of their values."""
    if table is None or read_as.form in _NO_TABLE:
        return ()
    roles = _roles(table, read_as, time)
    listed = list(table.columns)[:_LISTED_COLUMNS]
    examples: dict[str, tuple[str, ...]] = {}
    with suppress(*_UNREADABLE):
        examples = table.examples([column.name for column in listed])
    return tuple(
        InspectedColumn(
            str(column.name),
            str(column.kind),
            roles.get(column.name),
            examples.get(column.name, ()),
        )
        for column in listed
    )


def _roles(table: _TableHead, read_as: ReadAs, time: str | None) -> dict[str, str]:
    """Return the roles of a table's columns by name; of several roles of one column the last."""
    roles: dict[str, str] = {}
    if read_as.form == "one-hot":
        items = [column.name for column in table.columns if column.name not in read_as.others]
        roles |= dict.fromkeys(items, "item")
    roles |= dict.fromkeys(columns_of(where_of(read_as.where)), "where")
    if time is not None:
        roles[time] = "time"
    roles |= dict.fromkeys(read_as.baskets, "basket")
    if read_as.user is not None:
        roles[read_as.user] = "user"
    role = "items"
    if read_as.form in ("long", "wide"):
        role = "item"
    return roles | dict.fromkeys(read_as.items, role)


def _numbered_rows(table: _TableHead | None, data: Transactions) -> Iterator[str]:
    """Yield a note on each column of a 0/1 table that is never 0, and whose cells all differ."""
    if table is None or data.read_as is None or data.read_as.form != InputForm.ONE_HOT:
        return
    if data.baskets < _FEW_ROWS:
        return
    counts = np.bincount(data.items, minlength=len(data.vocabulary))
    everywhere = {
        str(data.vocabulary.label(int(code))) for code in np.flatnonzero(counts == data.baskets)
    }
    for column in table.columns:
        name = str(column.name)
        if name.strip() in everywhere and table.is_distinct(name):
            yield (
                f"Column {column.name!r} is never 0 and always different: it looks like row "
                f"numbers, which every basket would have as an item. Leave the column out, or name "
                f"it with {parameter('basket')}."
            )


def _times_in(table: _TableHead | None) -> list[DateColumn]:
    with suppress(*_UNREADABLE):
        if table is not None:
            return date_columns(table.source)
    return []


def _notes(data: Transactions, read_as: ReadAs, guessed: Sequence[str]) -> Iterator[str]:
    """Yield what the owner of the data should know before mining them."""
    if data.baskets > 1 and np.diff(data.offsets).max(initial=0) == 1:
        advice = _larger_baskets(read_as)
        yield f"Every basket has one item, so no two items are ever together. {advice}"
    yield from _notes_of_guesses(read_as, guessed)
    if data.days is not None:
        first, last = (period_at("day", day).name for day in data.days)
        yield f"The first basket is of {first}, the last of {last}."
    if not len(data.items):
        yield "There are no items in it."
    yield from _notes_of_whole_lives(read_as)
    if read_as.form == InputForm.ONE_HOT:
        yield "Where a cell is a quantity, each above 0 counts as 1."
    if not data.fold_case:
        yield from _notes_of_capitals(data.vocabulary.strings.to_pylist())


def _notes_of_guesses(read_as: ReadAs, guessed: Sequence[str]) -> Iterator[str]:
    """Yield notes on the options that nobody named, and on a column that looks like users."""
    if guessed:
        yield f"Guessed: {', '.join(map(parameter, guessed))}. Check it, and name it for `mine`."
    if read_as.user_like is not None:
        yield (
            f"Column {read_as.user_like!r} looks like customers: name it as {parameter('user')} to "
            f"protect all baskets of each."
        )
    if "missing_user" in guessed:
        yield (
            f"Some rows have no user: {parameter('missing_user')} 'drop' leaves them out, "
            f"'own-unit' makes units of their baskets."
        )
    if "encoding" in guessed:
        yield f"It is not UTF-8; {USUAL_ENCODING} is a guess: look whether accents are right."


def _notes_of_whole_lives(read_as: ReadAs) -> Iterator[str]:
    """Yield a note if baskets seem to be customers, and a column seems to have days."""
    days = [name for name in read_as.others if columns.suggests_date(name)]
    basket = read_as.basket
    if basket is not None and columns.suggests_user(basket) and days:
        named = _named_together(basket, days[0])
        yield f"All that a customer ever bought is one basket: {named} would make one of each day."


def _notes_of_capitals(items: Sequence[str]) -> Iterator[str]:
    """Yield a note if items differ by capital letters alone."""
    spellings: dict[str | None, list[str]] = {}
    for item in items:
        spellings.setdefault(folded(item), []).append(item)
    twins = [texts for texts in spellings.values() if len(texts) > 1]
    if not twins:
        return
    first, second = sorted(twins[0])[:2]
    number = f"{len(twins):,} items are"
    if len(twins) == 1:
        number = "1 item is"
    yield (
        f"{number} written in several ways that differ by capital letters alone, such as "
        f"{first!r} and {second!r}: {parameter('fold_case')} takes them as one."
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
    unnamed = [name for name in read_as.others if name not in read_as.baskets]
    _, baskets, users, days = suggested(unnamed)
    if read_as.user is not None and (columns.suggests_user(read_as.user) or not users):
        users = [read_as.user]
    if baskets:
        return (
            f"Name a column that is the same in all rows of a purchase: "
            f"{_named_together(baskets[0])}, it seems."
        )
    if users and days:
        return f"Name a basket by its customer and its day: {_named_together(users[0], days[0])}."
    if users:
        return f"Name the customer, for all that each ever bought: {_named_together(users[0])}."
    remaining = ""
    if unnamed:
        remaining = f"; those left are {', '.join(map(repr, unnamed[:_EXAMPLES]))}"
    return (
        f"Name with {parameter('basket')} a column that is the same in all rows of a "
        f"purchase{remaining}."
    )
