"""What would be read of a source, and how: for whoever has the data. None of it is private.

Where no options say how to read a source, names of columns suggest it, and it says what it guessed.
"""

from __future__ import annotations

import csv
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import filterfalse, islice, pairwise
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
from fim_private.reading.columns import ReadAs, suggested
from fim_private.reading.databases import check_query
from fim_private.reading.date_columns import (
    DateColumn,
    columns_to_read,
    date_columns,
    formats_to_say,
)
from fim_private.reading.files import File, file_errors
from fim_private.reading.labels import Item, as_texts, folded
from fim_private.reading.locations import InMemory, Source, source_of
from fim_private.reading.memory import MemoryLimit, limit_memory
from fim_private.reading.options import USUAL_ENCODING, InputForm, Reading, reading_of
from fim_private.reading.purchases import read_parts
from fim_private.reading.record_batches import ArrowSource
from fim_private.reading.sources import named_source
from fim_private.reading.text import damage_of, form_of, text_table
from fim_private.reading.transactions import Transactions
from fim_private.reading.values import is_missing, present
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
    data, guessed = search.read({})
    if _COLUMNS.isdisjoint(search.named):
        data, guessed = search.with_customers(data, guessed)
    table = search.table(guessed)
    notes: list[str] = []
    with limit_memory(limit), suppress(*_UNREADABLE):
        notes += _notes_of_first_rows(data, table, is_named="user" in search.named)
    if notes and "user" not in search.named:
        # To leave out the rows without a customer would leave out most of each order.
        by_order = dict(guessed)
        by_order.pop("user", None)
        by_order.pop("missing_user", None)
        data, guessed = search.read(by_order)
        table = search.table(guessed)
    guessed = {**formats, **guessed}
    chosen = {**search.named, **guessed}
    ordered = {name: chosen[name] for name in all_options if name in chosen}
    with limit_memory(limit):
        return _inspection(location, data, table, ordered, guessed, notes)


_COLUMNS = {"user", "basket", "item", "items"}


def _named(options: OptionValues) -> OptionValues:
    """Return the options that a caller named, as the command line has them."""
    named = {name: value for name, value in options.items() if value is not None}
    named.pop("max_memory", None)
    for name in ("basket", "item"):
        value = named.get(name)
        if isinstance(value, list | tuple):
            named[name] = value[0] if len(value) == 1 else [*value]
    if "where" in named:
        named["where"] = str(where_of(named["where"]))
    if not options["fold_case"]:
        named.pop("fold_case", None)
    return named


# Options that nobody named.
Guessed = Mapping[str, object]


@dataclass(frozen=True)
class _Search:
    """Looks for the options with which a source can be read.

    A refusal names the options that would read the source. These are the only guesses, so a
    refusal that names none stays one.
    """

    source: Source
    named: Mapping[str, object]
    limit: MemoryLimit

    def read(self, guessed: Guessed) -> tuple[Transactions, Guessed]:
        """Read the source with the options that its refusals name. Raises FimPrivateError."""
        refusals: list[FimPrivateError] = []
        while True:
            try:
                [data] = read_parts(self.source, self._options(guessed))
            except MemoryLimitError:
                raise
            except FimPrivateError as error:
                refusals.append(error)
            else:
                if not refusals or not _has_every_item(data, guessed):
                    return data, guessed
                raise refusals[-1]
            more = self._options_of(refusals[-1], guessed)
            if not more:
                raise self._explained(refusals, guessed)
            guessed = {**guessed, **more}

    def _options(self, guessed: Guessed) -> Reading:
        options = filled("inspect", InspectOptions, {**self.named, **guessed})
        return replace(reading_of(options), memory=self.limit)

    def table(self, guessed: Guessed) -> ArrowSource | None:
        """Return the source as a table, a text as if its first line named columns.

        It is None if the source is none, or can be read only once.
        """
        source, options = self.source, replace(self._options(guessed), head=True)
        if not source.can_be_read_again:
            return None
        with limit_memory(self.limit), suppress(FimPrivateError):
            if isinstance(source, InMemory):
                # A stream may be there once, and a lazy frame is computed each time.
                if source.kind in ("stream", "polars.LazyFrame"):
                    return None
                return frames.table_of(source)
            with file_errors(source.name):
                stored = named_source(source, options)
                if isinstance(stored, ArrowSource):
                    return stored
                if options.dialect.form is None or form_of(stored, options).is_table:
                    return text_table(stored, options, InputForm.WIDE, head=True)
        return None

    def time_formats(self) -> dict[str, str]:
        """Return the format of times as an option, if columns of times were named and one fits."""
        times = columns_to_read(self.named)
        if not times:
            return {}
        return formats_to_say(times, _times_in(self.table({})))

    def _options_of(self, refusal: FimPrivateError, guessed: Guessed) -> OptionValues:
        """Return the options that a refusal names and nobody has given; none if it names none."""
        options = None
        if isinstance(refusal, DataError):
            options = refusal.options
        if isinstance(refusal, ParameterError):  # perhaps only some columns are named
            options = {}
        if options is None or not self.source.can_be_read_again:
            return {}
        if not options and not guessed:
            table = self.table({})
            if table is not None:
                options = columns.likely_options(table.schema.names)
        known = {*self.named, *guessed}
        return {name: value for name, value in options.items() if name not in known}

    def _explained(self, refusals: Sequence[FimPrivateError], guessed: Guessed) -> FimPrivateError:
        """Return the last refusal with what only the data's owner may see: a line, or columns.

        It is the first refusal if the guesses did not help.
        """
        first, refusal = refusals[0], refusals[-1]
        if not isinstance(refusal, DataError) or self._is_beside(refusal, first, guessed):
            return first
        more = ""
        if refusal.is_of_a_line:
            more = self._of_line(guessed)
        elif refusal.options == {}:
            more = _first_line(self.table(guessed))
        if not more:
            return refusal
        return DataError(f"{refusal.marked}{more}")

    def _is_beside(self, refusal: DataError, first: FimPrivateError, guessed: Guessed) -> bool:
        """Return whether the last refusal only says that the guesses were wrong."""
        if "encoding" in guessed and "encoding" in (refusal.options or {}):
            return True  # the encoding that was guessed does not fit either
        if refusal.is_of_a_line:
            return False
        if isinstance(first, ParameterError):
            return True  # options that were named do not fit
        # Whoever named columns that are not there, in a text of another encoding, hears of that
        # first.
        names_columns = not _COLUMNS.isdisjoint(self.named)
        return guessed.keys() == {"encoding"} and names_columns

    def _of_line(self, guessed: Guessed) -> str:
        """Return what an error says of the damaged line of a text with columns."""
        source, options = self.source, self._options(guessed)
        if isinstance(source, InMemory) or not source.can_be_read_again:
            return ""
        damage: str | None = None
        with limit_memory(self.limit), suppress(*_UNREADABLE):
            file = named_source(source, options)
            if isinstance(file, File):
                form = form_of(file, options)
                if form.is_table:
                    damage = damage_of(file, options, form)
        if damage is None:
            return ""
        if not guessed:
            return f": {damage}"
        options_said = [f"{parameter(name)} {value!r}" for name, value in guessed.items()]
        return f": {damage}. It was read with {' and '.join(options_said)}"

    def with_customers(self, data: Transactions, guessed: Guessed) -> tuple[Transactions, Guessed]:
        """Return the same purchases by customer, if a column looks like customers and can be read.

        The command is there to be copied, so it should protect customers.
        """
        read_as = data.read_as
        if read_as is None or read_as.user_like is None or not self.source.can_be_read_again:
            return data, guessed
        try:
            return self.read({**guessed, "user": read_as.user_like})
        except MemoryLimitError:
            raise
        except FimPrivateError:
            return data, guessed


def _has_every_item(data: Transactions, guessed: Guessed) -> bool:
    """Tell whether a table that was guessed to be one-hot has no 0: these are no quantities."""
    is_one_hot = guessed.get("input_format") == InputForm.ONE_HOT
    return is_one_hot and len(data.items) == data.baskets * len(data.vocabulary)


def _notes_of_first_rows(
    data: Transactions, table: ArrowSource | None, *, is_named: bool
) -> Iterator[str]:
    """Yield a note if most rows without a user have the basket of a row that names one.

    The first rows are enough. is_named: whether somebody named the column of users.
    """
    read_as = data.read_as
    if data.reading.missing_user is None or read_as is None or table is None:
        return
    user, basket = read_as.user, read_as.basket
    if user is None or basket is None or user == basket:
        return
    of_users: set[str] = set()
    of_nobody: list[str] = []
    rows = 0
    for users, baskets in table.values([user, basket]):
        names_user = present(as_texts(users)).is_valid()
        ids = present(as_texts(baskets))
        of_users.update(ids.filter(names_user).to_pylist())
        of_nobody += ids.filter(pc.invert(names_user)).drop_null().to_pylist()
        rows += len(users)
        if rows > _ENOUGH_ROWS:
            break
    if 2 * sum(basket in of_users for basket in of_nobody) <= len(of_nobody):
        return
    until_then = "each order is protected by itself"
    if is_named:
        until_then = "the other rows of an order are rows without a customer"
    yield (
        f"Column {user!r} names the customer only in the first row of an order. To protect "
        f"customers, fill it in first (in pandas: t[{user!r}] = t.groupby({basket!r})"
        f"[{user!r}].transform('first')) and name it as {parameter('user')}. Until then "
        f"{until_then}."
    )


def _first_line(table: ArrowSource | None) -> str:
    """Return what an error says of the first line of a text, or of a sheet."""
    if table is None or not (table.is_text or table.kind == "Excel"):
        return ""
    cut = ""
    if table.is_text:
        cut = f", cut at {table.delimiter!r},"
    return f". Its first line{cut} is {', '.join(map(repr, table.schema.names[:_LISTED_COLUMNS]))}"


# -------------------- cancellations

_CANCELLED = r"^\s*[Cc]-?[0-9]+\s*$"
_NUMBERED = r"^\s*[0-9]+\s*$"
_BELOW_ZERO = r"^\s*-\s*[0-9]*[.,]?[0-9]"


def _cancellations(table: ArrowSource, read_as: ReadAs) -> Iterator[str]:
    """Yield notes on cancelled goods: negative quantities, invoices such as C536379."""
    if read_as.form != InputForm.LONG or read_as.where is not None:
        return
    names = list(filter(columns.suggests_quantity, read_as.others))[:1]
    patterns = [_BELOW_ZERO] * len(names)
    if read_as.basket is not None:
        names += [read_as.basket, read_as.basket]
        patterns += [_CANCELLED, _NUMBERED]
    counts = dict.fromkeys(patterns, 0)
    with suppress(*_UNREADABLE):
        for arrays in table.values(names):
            for pattern, values in zip(patterns, arrays, strict=True):
                counts[pattern] += pc.match_substring_regex(as_texts(values), pattern).true_count
    below_zero = counts.get(_BELOW_ZERO, 0)
    if below_zero:
        where = f"{column_text(names[0])} > 0"
        yield _note_of_cancellations(below_zero, f"a negative {names[0]!r}", where)
    cancelled = counts.get(_CANCELLED, 0)
    if 0 < cancelled < counts.get(_NUMBERED, 0):
        where = f"{column_text(names[-1])} not like 'C%'"
        yield _note_of_cancellations(cancelled, f"a {names[-1]!r} that begins with C", where)


def _note_of_cancellations(rows: int, have: str, where: str) -> str:
    number = f"{rows:,} rows have"
    if rows == 1:
        number = "1 row has"
    return (
        f"{number} {have}, as returns and cancellations have. They count as purchases: "
        # Quoted so, it is a word for a shell and a text for Python.
        f"{parameter('where')} {json.dumps(where, ensure_ascii=False)} leaves them out."
    )


# -------------------- what is shown


def _inspection(
    source: Source,
    data: Transactions,
    table: ArrowSource | None,
    options: OptionValues,
    guessed: Guessed,
    notes: Sequence[str],
) -> Inspection:
    """Return what is shown of a source that was read with some options, of which nobody named those
    that are guessed. table: the source as a table, if it is one. notes: more of them.
    """
    read_as = data.read_as or ReadAs(source.shown, "lists")
    lengths = np.diff(data.offsets)
    filled_lengths = lengths[lengths > 0]
    users = data.units if data.by_user else None
    rows = data.baskets if data.rows is None else data.rows
    names_guessed = tuple(name for name in options if name in guessed)
    first_baskets = filter(None, _baskets(data, data.offsets[: 20 * _EXAMPLES]))
    counts = np.bincount(data.items, minlength=len(data.vocabulary))
    most_frequent = np.argsort(-counts, kind="stable")[:_EXAMPLES].tolist()
    time = options.get("time")
    inspected: tuple[InspectedColumn, ...] = ()
    of_table: list[str] = []
    if table is not None:
        inspected = _columns(table, read_as, time)
        of_table += _numbered_rows(table, data, read_as)
        dates = [str(column) for column in _times_in(table) if column.name != time]
        of_table += [*dates[:_EXAMPLES], *notes, *_cancellations(table, read_as)]
    return Inspection(
        source=source.shown,
        read_as=read_as,
        columns=inspected,
        rows=rows,
        baskets=data.baskets,
        users=users,
        items=len(data.vocabulary),
        empty_baskets=data.baskets - len(filled_lengths),
        basket_lengths=_summary(filled_lengths),
        example_baskets=tuple(islice(first_baskets, _EXAMPLES)),
        example_items=tuple(map(data.vocabulary.label, most_frequent)),
        last_rows=_last_rows(data, table, read_as),
        options=options,
        guessed=names_guessed,
        marked_notes=(*_notes(data, read_as, names_guessed), *of_table),
        in_memory=isinstance(source, InMemory),
        items_per_user=_items_per_user(data),
    )


def _baskets(data: Transactions, ends: NDArray[np.int64]) -> Iterator[tuple[Item, ...]]:
    """Yield the first items of the baskets between offsets."""
    for start, end in pairwise(ends.tolist()):
        codes = data.items[start:end][:EXAMPLE_ITEMS]
        yield tuple(map(data.vocabulary.label, codes.tolist()))


def _last_rows(
    data: Transactions, table: ArrowSource | None, read_as: ReadAs
) -> tuple[tuple[str, ...], ...]:
    """Return the last rows of a text or a sheet, in a few columns: a total may stand there.

    Where there are no columns, return the last baskets.
    """
    rows: deque[tuple[str, ...]] = deque(maxlen=_LAST)
    if read_as.form in _NO_TABLE:
        for basket in _baskets(data, data.offsets[-1 - _LAST :]):
            rows.append(tuple(map(str, basket)))
    elif table is not None and table.holds_texts:
        with suppress(*_UNREADABLE):
            for arrays in table.values(list(dict.fromkeys(table.schema.names[:_LAST_COLUMNS]))):
                ends = [map(_as_text, array[-_LAST:].to_pylist()) for array in arrays]
                rows.extend(zip(*ends, strict=True))
    return tuple(rows)


def _as_text(value: object) -> str:
    if value is None:
        return ""
    text = str(value)
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        text = in_braces(value)
    if len(text) > _WIDEST_EXAMPLE:
        return text[: _WIDEST_EXAMPLE - 1] + "…"
    return text


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


def _columns(table: ArrowSource, read_as: ReadAs, time: str | None) -> tuple[InspectedColumn, ...]:
    """Return the first columns of a table, with their roles and a few of their values."""
    if read_as.form in _NO_TABLE:
        return ()
    roles = _roles(table, read_as, time)
    listed = table.columns()[:_LISTED_COLUMNS]
    names = [column.name for column in listed]
    examples: dict[str, tuple[str, ...]] = {}
    with suppress(*_UNREADABLE):
        arrays = next(table.values(names, 100), [])
        for name, array in zip(names, arrays, strict=False):
            cells = filterfalse(is_missing, array[:100].to_pylist())
            examples[name] = tuple(dict.fromkeys(map(_as_text, cells)))[:_EXAMPLES]
    return tuple(
        InspectedColumn(
            column.name, column.kind, roles.get(column.name), examples.get(column.name, ())
        )
        for column in listed
    )


def _roles(table: ArrowSource, read_as: ReadAs, time: str | None) -> dict[str, str]:
    """Return the roles of a table's columns by name; of several roles of one column the last."""
    roles: dict[str, str] = {}
    if read_as.form == "one-hot":
        items = [name for name in table.schema.names if name not in read_as.others]
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


def _numbered_rows(table: ArrowSource, data: Transactions, read_as: ReadAs) -> Iterator[str]:
    """Yield a note on each column of a 0/1 table that is never 0, and whose cells all differ."""
    if read_as.form != InputForm.ONE_HOT or data.baskets < _FEW_ROWS:
        return
    counts = np.bincount(data.items, minlength=len(data.vocabulary))
    codes = np.flatnonzero(counts == data.baskets).tolist()
    everywhere = {str(data.vocabulary.label(code)) for code in codes}
    for name in table.schema.names:
        if name.strip() not in everywhere:
            continue
        cells = [cell for [array] in table.values([name]) for cell in array.to_pylist()]
        if len({*cells}) == len(cells):
            yield (
                f"Column {name!r} is never 0 and always different: it looks like row "
                f"numbers, which every basket would have as an item. Leave the column out, or name "
                f"it with {parameter('basket')}."
            )


def _times_in(table: ArrowSource | None) -> list[DateColumn]:
    with suppress(*_UNREADABLE):
        if table is not None:
            return date_columns(table)
    return []


def _notes(data: Transactions, read_as: ReadAs, guessed: Sequence[str]) -> Iterator[str]:
    """Yield what the owner of the data should know before mining them."""
    if data.baskets > 1 and np.diff(data.offsets).max(initial=0) == 1:
        advice = _larger_baskets(read_as)
        yield f"Every basket has one item, so no two items are ever together. {advice}"
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
    if data.days is not None:
        first, last = (period_at("day", day).name for day in data.days)
        yield f"The first basket is of {first}, the last of {last}."
    if not len(data.items):
        yield "There are no items in it."
    basket, days = read_as.basket, [*filter(columns.suggests_date, read_as.others)]
    if basket is not None and columns.suggests_user(basket) and days:
        named = _named_together(basket, days[0])
        yield f"All that a customer ever bought is one basket: {named} would make one of each day."
    if read_as.form == InputForm.ONE_HOT:
        yield "Where a cell is a quantity, each above 0 counts as 1."
    if not data.reading.fold_case:
        yield from _notes_of_capitals(data.vocabulary.strings.to_pylist())


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
    return f"Name with {parameter('basket')} a column that is the same in all rows of a purchase."
