"""What would be read of a source, and how: for whoever has the data. None of it is private.

Where no options say how to read a source, names of columns suggest it, and it says what it guessed.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import chain, filterfalse, islice, pairwise
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fim_private.display import in_braces
from fim_private.errors import (
    DataError,
    FimPrivateError,
    Marked,
    MemoryLimitError,
    ParameterError,
    parameter,
    shown,
)
from fim_private.options.declaration import OptionValues, filled, takes
from fim_private.options.purchases import InspectOptions
from fim_private.periods import period_at
from fim_private.reading import columns, frames
from fim_private.reading.columns import ReadAs
from fim_private.reading.databases import check_query
from fim_private.reading.files import File, file_errors
from fim_private.reading.labels import Item, as_texts
from fim_private.reading.locations import InMemory, Source, source_of
from fim_private.reading.memory import LONG_ROWS, MemoryLimit, limit_memory
from fim_private.reading.misreadings import (
    FIRST_BATCHES,
    named_together,
    notes_of_items,
    notes_of_rows,
    while_readable,
)
from fim_private.reading.options import SAMPLE, USUAL_ENCODING, InputForm, Reading, reading_of
from fim_private.reading.purchases import read_parts
from fim_private.reading.record_batches import ArrowSource
from fim_private.reading.sources import named_source
from fim_private.reading.text import damage_of, text_table
from fim_private.reading.times import TimeFormat, moment_of, usual_formats_of
from fim_private.reading.transactions import Transactions
from fim_private.reading.values import Int64, is_missing
from fim_private.reading.where import columns_of, compares_times, where_of

EXAMPLE_ITEMS = 10  # so many are shown of a basket
_EXAMPLES, _WIDEST_EXAMPLE, _LISTED_COLUMNS = 3, 40, 50
_FEW_ROWS = 3  # of fewer nobody can tell row numbers from quantities
_LAST, _LAST_COLUMNS = 2, 10  # so many of the last rows are shown, of so many columns
_NO_TABLE = ("lines", "fimi", "spmf")
_EMPTY = ArrowSource("", pa.schema([]), lambda _: [])


@dataclass(frozen=True)
class InspectedColumn:
    """A column of a table.

    role: basket, user, item, items, time or where; None where it is not read.
    """

    name: str
    type: str
    role: str | None
    examples: Sequence[str]


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
        options: The options of mine with which it was read.
        guessed: Those of the options that nobody named.
        marked_notes: What to know before mining, with parameters marked as in errors.
        in_memory: Whether the source is an object, not a path or an address.
        items_per_user: The mean number of different items of a user; None if units are baskets.
    """

    source: str
    read_as: ReadAs
    columns: Sequence[InspectedColumn]
    rows: int
    baskets: int
    users: int | None
    items: int
    empty_baskets: int
    basket_lengths: Mapping[str, float]
    example_baskets: Sequence[Sequence[Item]]
    example_items: Sequence[Item]
    last_rows: Sequence[Sequence[str]]
    options: OptionValues
    guessed: Sequence[str]
    marked_notes: Sequence[str]
    in_memory: bool
    items_per_user: float | None

    @property
    def notes(self) -> Sequence[str]:
        """What to know before mining, with parameters as Python names them."""
        return tuple(str(Marked(note)) for note in self.marked_notes)

    @property
    def has_single_items_only(self) -> bool:
        """Whether no two items are in one basket; the first note then says so."""
        return self.basket_lengths["max"] == 1 and self.baskets > 1

    @property
    def call(self) -> str:
        """The call that mines the source so."""
        source = "data" if self.in_memory else repr(self.source)
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
            "columns": [*map(asdict, self.columns)],
            "rows": self.rows,
            "baskets": self.baskets,
            "users": self.users,
            "items": self.items,
            "empty_baskets": self.empty_baskets,
            "items_per_user": self.items_per_user,
            "basket_lengths": self.basket_lengths,
            "examples": {
                "baskets": self.example_baskets,
                "items": self.example_items,
                "last_rows": self.last_rows,
            },
            "options": self.options,
            "guessed": self.guessed,
            "notes": self.notes,
            "call": self.call,
        }


@takes(InspectOptions)
def inspect(source: Any, **options: Unpack[InspectOptions]) -> Inspection:
    """Return what would be read of a source, and how: columns, their roles, and many counts.

    It is for whoever has the data: nothing protects what it returns. It spends no budget. source,
    and all options: as read_transactions takes them, which says what is raised where nothing fits,
    and times as mine does.
    """
    all_options = filled("inspect", InspectOptions, options)
    location = source_of(source)
    check_query(location, all_options["query"])
    named = _named(all_options)
    with limit_memory(MemoryLimit.of(all_options["max_memory"])):
        attempt = _Attempt(location, named, {})
        attempt = replace(attempt, named=named | attempt.time_format())
        seen = attempt.read()
        if _COLUMNS.isdisjoint(attempt.named):
            seen = seen.with_customers()
        notes: list[str] = []
        with while_readable:
            notes += seen.notes_of_first_rows()
        if notes and "user" not in attempt.named:
            # To leave out the rows without a customer would leave out most of each order.
            guessed = {**seen.attempt.guessed, "user": None, "missing_user": None}
            seen = replace(attempt, guessed=guessed).read()
        chosen = attempt.named | seen.attempt.guessed
        chosen.pop("max_memory", None)  # of this machine
        ordered = {name: chosen[name] for name in all_options if chosen.get(name) is not None}
        unnamed = tuple(name for name in ordered if name not in named)
        return seen.inspection(ordered, unnamed, notes)


_COLUMNS = {"user", "basket", "item", "items"}


def _named(options: OptionValues) -> OptionValues:
    """Return the options that a caller named, as the command line has them."""
    named = {name: value for name, value in options.items() if value is not None}
    for name in ("basket", "item"):
        value = named.get(name)
        if isinstance(value, list | tuple):
            named[name] = value[0] if len(value) == 1 else [*value]
    if "where" in named:
        named["where"] = str(where_of(named["where"]))
    if not options["fold_case"]:
        del named["fold_case"]
    return named


@dataclass(frozen=True)
class _Attempt:
    """A way to read a source: with the options that were named, and with guesses.

    A refusal names the options that would read the source. These are the only guesses, so a
    refusal that names none stays one.
    """

    source: Source
    named: OptionValues
    guessed: OptionValues

    def read(self) -> _Seen:
        """Read the source with the options that its refusals name. Raises FimPrivateError."""
        attempt = self
        refusals: list[FimPrivateError] = []
        while True:
            try:
                [data] = read_parts(attempt.source, attempt.reading)
            except MemoryLimitError:
                raise
            except FimPrivateError as error:
                refusals.append(error)
            else:
                seen = _Seen(attempt, data)
                if not refusals or not seen.has_every_item:
                    return seen
                raise refusals[-1]
            more = attempt.options_of(refusals[-1])
            if not more:
                raise attempt.explained(refusals[0], refusals[-1])
            attempt = replace(attempt, guessed=attempt.guessed | more)

    @cached_property
    def reading(self) -> Reading:
        """How to read the source. Raises ParameterError."""
        return reading_of(filled("inspect", InspectOptions, self.named | self.guessed))

    @cached_property
    def table(self) -> ArrowSource:
        """The source as a table, whose rows may be short."""
        return self.table_of(InputForm.WIDE)

    def table_of(self, rows: InputForm) -> ArrowSource:
        """Return the source as a table, a text as if its first line named columns.

        The table is empty if the source is none, or can be read only once.

        Args:
            rows: The form of the rows of a text. Those of one item are read faster.
        """
        source, options = self.source, replace(self.reading, head=True)
        if not source.can_be_read_again:
            return _EMPTY
        with suppress(FimPrivateError):
            if not isinstance(source, InMemory):
                with file_errors(source.name):
                    stored = named_source(source, options)
                    if isinstance(stored, ArrowSource):
                        return stored
                    form = options.dialect.form
                    if form is None or form.is_table:
                        return text_table(stored, options, rows)
            # A stream may be there once, and a lazy frame is computed each time.
            elif source.kind not in ("stream", "polars.LazyFrame"):
                return frames.table_of(source) or _EMPTY
        return _EMPTY

    def times(self) -> Iterator[DateColumn]:
        """Yield the columns of times of the table, by their types or by their first values."""
        with while_readable:
            table = self.table
            names = list(dict.fromkeys(table.schema.names))
            first_values = dict(zip(names, next(table.values(names, SAMPLE), []), strict=False))
            for column in table.columns():
                name = column.name
                is_unlikely = columns.suggests_another_date(name)
                is_unlikely |= column.is_number and not columns.suggests_date(name)
                if is_unlikely or column.is_list or column.is_nested or name not in first_values:
                    continue
                texts = _bare_texts(first_values[name][:SAMPLE].to_pylist())
                if texts:
                    yield from _of_texts(table, name, texts)

    def time_format(self) -> dict[str, str]:
        """Return the option that says how the times are written that are read, if one is needed.

        Raises DataError if two formats fit.
        """
        where, names = where_of(self.named.get("where")), []
        if compares_times(where):
            names = columns_of(where)
        if self.named.get("time") is not None:
            names.append(str(self.named["time"]))
        if not names or self.named.get("time_format") is not None:
            return {}
        for column in self.times():
            if column.name not in names or not column.formats:
                continue
            if len(column.formats) > 1:
                raise DataError(
                    f"column {column.name!r} fits both {column.listed(' and ')}: say with "
                    f"{parameter('time_format')} which is right"
                )
            return {"time_format": column.formats[0].text}
        return {}

    def options_of(self, refusal: FimPrivateError) -> OptionValues:
        """Return the options that a refusal names and nobody has given; none if it names none."""
        options = None
        if isinstance(refusal, DataError):
            options = refusal.options
        if isinstance(refusal, ParameterError):  # perhaps only some columns are named
            options = {}
        if options is None or not self.source.can_be_read_again:
            return {}
        if not options and not self.guessed:
            options = columns.likely_options(self.table.schema.names)
        known = self.named | self.guessed
        return {name: value for name, value in options.items() if name not in known}

    def explained(self, first: FimPrivateError, refusal: FimPrivateError) -> FimPrivateError:
        """Return the last refusal with what only the data's owner may see: a line, or columns.

        It is the first refusal if the guesses did not help.
        """
        if not isinstance(refusal, DataError) or self.is_beside(refusal, first):
            return first
        more = ""
        if refusal.is_of_a_line:
            more = self.damage()
        elif refusal.options == {}:
            more = self.first_line()
        return DataError(refusal.marked + more)

    def is_beside(self, refusal: DataError, first: FimPrivateError) -> bool:
        """Return whether the last refusal only says that the guesses were wrong."""
        if "encoding" in self.guessed and "encoding" in (refusal.options or {}):
            return True  # the encoding that was guessed does not fit either
        if refusal.is_of_a_line:
            return False
        if isinstance(first, ParameterError):
            return True  # options that were named do not fit
        # Whoever named columns that are not there, in a text of another encoding, hears of that
        # first.
        return self.guessed.keys() == {"encoding"} and not _COLUMNS.isdisjoint(self.named)

    def damage(self) -> str:
        """Return what an error says of the damaged line of a text with columns."""
        damage = None
        with while_readable:
            if self.source.can_be_read_again and not isinstance(self.source, InMemory):
                file = named_source(self.source, self.reading)
                if isinstance(file, File):
                    damage = damage_of(file, self.reading)
        if damage is None:
            return ""
        if not self.guessed:
            return f": {damage}"
        options_said = [f"{parameter(name)} {value!r}" for name, value in self.guessed.items()]
        return f": {damage}. It was read with {' and '.join(options_said)}"

    def first_line(self) -> str:
        """Return what an error says of the first line of a text, or of a sheet."""
        table = self.table
        if not table.is_text and table.kind != "Excel":
            return ""
        cut = ""
        if table.is_text:
            cut = f", cut at {table.delimiter!r},"
        names = ", ".join(map(shown, table.schema.names[:_LISTED_COLUMNS]))
        return f". Its first line{cut} is {names}"


# -------------------- what is shown


@dataclass(frozen=True)
class _Seen:
    """A source that was read."""

    attempt: _Attempt
    data: Transactions

    @property
    def read_as(self) -> ReadAs:
        """What it was read as."""
        return self.data.read_as or ReadAs(self.attempt.source.shown, "lists")

    @cached_property
    def table(self) -> ArrowSource:
        """The source as a table."""
        if self.attempt.table.is_text and self.read_as.form == "long":
            return self.attempt.table_of(InputForm.LONG)
        return self.attempt.table

    @cached_property
    def supports(self) -> Int64:
        """The number of baskets that have each item: (items,)."""
        return np.bincount(self.data.items, minlength=len(self.data.vocabulary))

    @property
    def has_every_item(self) -> bool:
        """Whether a table that was guessed to be one-hot has no 0: these are no quantities."""
        data, is_one_hot = self.data, self.attempt.guessed.get("input_format") == "one-hot"
        return is_one_hot and len(data.items) == data.baskets * len(data.vocabulary)

    def with_customers(self) -> _Seen:
        """Return the same purchases by customer, if a column looks like customers and can be read.

        The command is there to be copied, so it should protect customers.
        """
        user = self.read_as.user_like
        if user is None or not self.attempt.source.can_be_read_again:
            return self
        try:
            return replace(self.attempt, guessed=self.attempt.guessed | {"user": user}).read()
        except MemoryLimitError:
            raise
        except FimPrivateError:
            return self

    def inspection(
        self, options: OptionValues, guessed: Sequence[str], of_rows: Sequence[str]
    ) -> Inspection:
        """Return what is shown of it.

        options: those with which it was read. guessed: which of them nobody named. of_rows: notes
        on its first rows.
        """
        data, table, source = self.data, self.table, self.attempt.source
        lengths = np.diff(data.offsets)
        lengths = lengths[lengths > 0]
        first_baskets = filter(None, self.baskets(data.offsets[: 20 * _EXAMPLES]))
        most_frequent = np.argsort(-self.supports, kind="stable")[:_EXAMPLES].tolist()
        items_per_user = None
        if data.by_user and data.units:
            all_baskets = replace(data, together=True).united()
            items_per_user = round(len(all_baskets.items) / data.units, 2)
        time = self.attempt.named.get("time")
        dates = (str(column) for column in self.attempt.times() if column.name != time)
        notes = [*self.notes(guessed), *self.numbered_rows(table)]
        notes += [*islice(dates, _EXAMPLES), *of_rows]
        notes += notes_of_rows(data, self.read_as, table)
        return Inspection(
            source=source.shown,
            read_as=self.read_as,
            columns=self.columns(),
            rows=data.baskets if data.rows is None else data.rows,
            baskets=data.baskets,
            users=data.units if data.by_user else None,
            items=len(data.vocabulary),
            empty_baskets=data.baskets - len(lengths),
            basket_lengths=_summary(lengths),
            example_baskets=tuple(islice(first_baskets, _EXAMPLES)),
            example_items=tuple(map(data.vocabulary.label, most_frequent)),
            last_rows=self.last_rows(),
            options=options,
            guessed=guessed,
            marked_notes=tuple(notes),
            in_memory=isinstance(source, InMemory),
            items_per_user=items_per_user,
        )

    def baskets(self, ends: Int64) -> Iterator[Sequence[Item]]:
        """Yield the first items of the baskets between offsets."""
        for start, end in pairwise(ends.tolist()):
            codes = self.data.items[start:end][:EXAMPLE_ITEMS]
            yield tuple(map(self.data.vocabulary.label, codes.tolist()))

    def last_rows(self) -> Sequence[Sequence[str]]:
        """Return the last rows of a text or a sheet, in a few columns: a total may stand there.

        Where there are no columns, return the last baskets.
        """
        if self.read_as.form in _NO_TABLE:
            last_baskets = self.baskets(self.data.offsets[-1 - _LAST :])
            return tuple(tuple(map(str, basket)) for basket in last_baskets)
        table = self.table
        rows: deque[Sequence[str]] = deque(maxlen=_LAST)
        if table.holds_texts:
            with while_readable:
                for arrays in table.values(list(dict.fromkeys(table.schema.names[:_LAST_COLUMNS]))):
                    ends = [map(_as_text, array[-_LAST:].to_pylist()) for array in arrays]
                    rows.extend(zip(*ends, strict=True))
        return tuple(rows)

    def columns(self) -> Sequence[InspectedColumn]:
        """Return the first columns of a table, with their roles and a few of their values."""
        table = self.attempt.table
        if self.read_as.form in _NO_TABLE:
            return ()
        roles = self.roles(table)
        listed = table.columns()[:_LISTED_COLUMNS]
        examples: defaultdict[str, Sequence[str]] = defaultdict(tuple)
        with while_readable:
            names = [column.name for column in listed]
            for name, array in zip(names, next(table.values(names, 100), []), strict=False):
                cells = filterfalse(is_missing, array[:100].to_pylist())
                examples[name] = tuple(dict.fromkeys(map(_as_text, cells)))[:_EXAMPLES]
        return tuple(
            InspectedColumn(column.name, column.kind, roles.get(column.name), examples[column.name])
            for column in listed
        )

    def roles(self, table: ArrowSource) -> dict[str | None, str]:
        """Return the roles of columns by name; of several roles of one column the last."""
        read_as = self.read_as
        # Such as the index of pandas, and the folders of a column.
        may_be_items = [column.name for column in table.columns() if not column.is_apart]
        items = may_be_items if read_as.form == "one-hot" else ()
        role_of_items = "item" if read_as.form in ("long", "wide") else "items"
        return (
            dict.fromkeys(items, "item")
            | dict.fromkeys(columns_of(where_of(read_as.where)), "where")
            | {self.attempt.named.get("time"): "time"}
            | dict.fromkeys(read_as.baskets, "basket")
            | {read_as.user: "user"}
            | dict.fromkeys(read_as.items, role_of_items)
        )

    def numbered_rows(self, table: ArrowSource) -> Iterator[str]:
        """Yield a note on each column of a 0/1 table that is never 0, and not the same for all."""
        data = self.data
        if self.read_as.form != "one-hot" or data.baskets < _FEW_ROWS:
            return
        codes = np.flatnonzero(self.supports == data.baskets).tolist()
        everywhere = {str(data.vocabulary.label(code)) for code in codes}
        for name in table.schema.names:
            if name.strip() not in everywhere:
                continue
            cells = [cell for [array] in table.values([name]) for cell in array.to_pylist()]
            number = len({*cells})
            if 1 < number < len(cells):
                yield (
                    f"Column {name!r} is never 0, so every basket has it as an item. If it is a "
                    f"total or another number of the basket, leave the column out."
                )
            if number == len(cells):
                yield (
                    f"Column {name!r} is never 0 and always different: it looks like row "
                    f"numbers, which every basket would have as an item. Leave the column out, or "
                    f"name it with {parameter('basket')}."
                )

    def notes_of_first_rows(self) -> Iterator[str]:
        """Yield a note if most rows without a user have the basket of a row that names one.

        The first rows are enough.
        """
        user, basket, table = self.read_as.user, self.read_as.basket, self.attempt.table
        if self.data.reading.missing_user is None or user is None or basket is None:
            return
        of_users: set[str] = set()
        of_nobody: list[str] = []
        for users, baskets in islice(table.values([user, basket]), FIRST_BATCHES):
            names_user, ids = as_texts(users).is_valid(), as_texts(baskets)
            of_users.update(ids.filter(names_user).to_pylist())
            of_nobody += ids.filter(pc.invert(names_user)).drop_null().to_pylist()
        if 2 * sum(basket in of_users for basket in of_nobody) <= len(of_nobody):
            return
        until_then = "each order is protected by itself"
        if "user" in self.attempt.named:
            until_then = "the other rows of an order are rows without a customer"
        yield (
            f"Column {user!r} names the customer only in some rows of an order, such as the first. "
            f"To protect customers, fill it in first (in pandas: t[{user!r}] = "
            f"t.groupby({basket!r})[{user!r}].transform('first')) and name it as "
            f"{parameter('user')}. Until then {until_then}."
        )

    def notes(self, guessed: Sequence[str]) -> Iterator[str]:
        """Yield what the owner of the data should know before mining them."""
        data, read_as = self.data, self.read_as
        basket = read_as.basket
        if data.baskets > 1 and np.diff(data.offsets).max(initial=0) == 1:
            advice = _larger_baskets(read_as)
            yield f"Every basket has one item, so no two items are ever together. {advice}"
        if guessed:
            names = ", ".join(map(parameter, guessed))
            yield f"Guessed: {names}. If that is right, give the same options to `mine`."
        if read_as.user_like is not None:
            yield (
                f"Column {read_as.user_like!r} looks like customers: name it as "
                f"{parameter('user')} to protect all baskets of each."
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
        days = [*filter(columns.suggests_date, read_as.unread)]
        if basket is not None and columns.suggests_user(basket) and days:
            named = named_together(basket, days[0])
            yield (
                f"All that a customer ever bought is one basket: {named} would make one of each "
                f"day."
            )
        if read_as.form == "one-hot":
            yield "Where a cell is a quantity, each above 0 counts as 1."
        items = data.vocabulary.strings.to_pylist()
        yield from notes_of_items(items, fold_case=data.reading.fold_case)


def _as_text(value: object) -> str:
    text = str(value)
    if value is None:
        text = ""
    elif isinstance(value, list):
        text = in_braces(value)
    if len(text) > _WIDEST_EXAMPLE:
        return text[: _WIDEST_EXAMPLE - 1] + "…"
    return text


def _summary(lengths: Int64) -> dict[str, float]:
    """Return the least, median, mean and largest of the lengths of baskets; all 0 for none."""
    if not len(lengths):
        lengths = np.zeros(1, dtype=np.int64)
    return {
        "min": int(lengths.min()),
        "median": float(np.median(lengths)),
        "mean": round(float(lengths.mean()), 2),
        "max": int(lengths.max()),
    }


def _larger_baskets(read_as: ReadAs) -> str:
    if read_as.form != "long":
        name = f"one item of a basket, name {parameter('basket')} and {parameter('item')}."
        if read_as.form not in _NO_TABLE:
            return f"Where a row is {name}"
        between = f"say what is between them with {parameter('delimiter')}"
        return f"Where lines hold several items, {between}; where a line is {name}"
    _, baskets, users, days = columns.suggested(read_as.unread)
    if read_as.user is not None:
        users = [read_as.user]
    if baskets:
        return (
            f"Name a column that is the same in all rows of a purchase: "
            f"{named_together(baskets[0])}, it seems."
        )
    if users and days:
        return f"Name a basket by its customer and its day: {named_together(users[0], days[0])}."
    if users:
        return f"Name the customer, for all that each ever bought: {named_together(users[0])}."
    return f"Name with {parameter('basket')} a column that is the same in all rows of a purchase."


# -------------------- which columns hold times, and how these are written

_MOST_MISSING = 10  # one in so many values of a column of times may be no time
_DAY = 86_400 * 10**6
_LISTED = 3


@dataclass(frozen=True)
class DateColumn:
    """A column of times.

    Attributes:
        name: Its name.
        formats: How its texts may be written, if `mine` must know it; several if all fit equally.
        fits_all: Whether every value is a time.
        example: A month that it has, such as 2026-11.
    """

    name: str
    formats: Sequence[TimeFormat]
    fits_all: bool
    example: str

    def __str__(self) -> str:
        time, time_format = f"{parameter('time')} {self.name!r}", parameter("time_format")
        if len(self.formats) > 1:
            return (
                f"Column {self.name!r} holds times, and all of them fit {self.listed(' or ')}: "
                f"look which is right, and say it with {time_format}, beside {time}."
            )
        if self.formats:
            time = f"{time} {time_format} {self.formats[0].text!r}"
        text = (
            f"Column {self.name!r} holds times: {time} and {parameter('period')} {self.example} "
            f"read one period."
        )
        if not self.fits_all:
            text += f" Some rows have none: {parameter('missing_time')} 'drop' leaves them out."
        return text

    def listed(self, conjunction: str) -> str:
        """Return its formats for a message."""
        return conjunction.join(repr(time_format.text) for time_format in self.formats)


def _of_texts(table: ArrowSource, name: str, texts: Sequence[str]) -> Iterator[DateColumn]:
    """Yield a column of texts, or of whole numbers, if it holds times.

    All rows are read only if its first values, texts, fit several formats.
    """
    likely: Sequence[TimeFormat | None] = [None]  # in ISO 8601, or a day with dots
    enough = len(texts) - len(texts) // _MOST_MISSING
    # 20260131 may be an id
    may_be_dates = columns.suggests_date(name) or not all(map(str.isdigit, texts))
    if may_be_dates and len(_moments(texts, None)) < enough:
        with_digits = [text for text in texts if any(map(str.isdigit, text))]
        likely = _best(chain.from_iterable(map(usual_formats_of, with_digits[:_LISTED])), texts)
    if not likely or len(_moments(texts, likely[0])) < enough:
        return
    values = texts
    if len(likely) > 1:
        arrays = (array.unique().to_pylist() for [array] in table.values([name], LONG_ROWS))
        values = list(dict.fromkeys(chain.from_iterable(map(_bare_texts, arrays))))
        likely = _best(likely, values)
        if len({tuple(_moments(values, time_format)) for time_format in likely}) == 1:
            likely = likely[:1]
    fits_all = len(_moments(values, likely[0])) == len(values)
    month = period_at("month", max(_moments(texts, likely[0])) // _DAY).name
    yield DateColumn(name, [*filter(None, likely)], fits_all, month)


def _best(formats: Iterable[TimeFormat | None], texts: Sequence[str]) -> list[TimeFormat | None]:
    """Return the formats that fit the most of some texts."""
    fits = {time_format: len(_moments(texts, time_format)) for time_format in formats}
    most = max(fits.values(), default=0)
    return [time_format for time_format, fit in fits.items() if fit == most]


def _moments(texts: Iterable[str], time_format: TimeFormat | None) -> list[int]:
    """Return the times that texts say, in microseconds since 1970."""
    moments = (moment_of(text, time_format) for text in texts)
    return [moment for moment in moments if moment is not None]


def _bare_texts(values: Iterable[object]) -> list[str]:
    return [
        str(value).strip()
        for value in values
        if not isinstance(value, list) and not is_missing(value)
    ]
