"""What would be read of a source, and how: for whoever holds the data, before anything private is asked of them.

All of it is the data, or is counted in them exactly: none of it is private.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from fim_private.errors import FimPrivateError, Marked, MemoryLimitError, parameter
from fim_private.options import ReadingOptions, filled, takes
from fim_private.reading.columns import ReadAs, suggests_basket, suggests_date, suggests_user
from fim_private.reading.databases import check_query
from fim_private.reading.files import shown_source
from fim_private.reading.labels import Item, folded
from fim_private.reading.memory import MemoryLimit, held_to
from fim_private.reading.options import DIALECT, Dialect, InputForm, Options
from fim_private.reading.other_readings import OTHER_ENCODING, ListsInCellsError, possible_readings
from fim_private.reading.purchases import LAST_COLUMNS, TableHead, can_be_read_again, read_transactions, table_head
from fim_private.reading.transactions import Transactions
from fim_private.reading.where import columns_of, where_of

_EXAMPLES = 3
_LAST_BASKETS = 2
# Of a basket so many items are shown.
EXAMPLE_ITEMS = 10
_LISTED_COLUMNS = 50


@dataclass(frozen=True)
class InspectedColumn:
    """A column of a table.

    role: basket, user, item, items or where; None where it is not read. examples: its first values.
    """

    name: str
    type: str
    role: str | None
    examples: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"name": self.name, "type": self.type, "role": self.role, "examples": list(self.examples)}


@dataclass(frozen=True)
class Inspection:
    """What would be read of a source. It shows data: it is for whoever holds them, not for publication.

    source: its path, its address without passwords, or its type. read_as: its form, dialect and columns. columns: of a
    table, the first 50. rows: of a table, or lines. baskets, items: how many, the latter different ones. users: how
    many units, where units are users.
    empty_baskets: those without items. basket_lengths: least, median, mean and largest number of items in a basket.
    example_baskets, example_items: a few. last_rows: the last two of a text or a sheet, of a table its first columns,
    for a total may stand there. options: with which it was read, those of read_transactions; guessed: which of them
    nobody named. marked_notes: what to know before mining, parameters marked as in errors.
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
        """Whether no two items are in one basket, of which the first note tells."""
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
            "form": self.read_as.form,
            "delimiter": self.read_as.delimiter,
            "encoding": self.read_as.encoding,
            "columns": [column.to_dict() for column in self.columns],
            "rows": self.rows,
            "baskets": self.baskets,
            "users": self.users,
            "items": self.items,
            "empty_baskets": self.empty_baskets,
            "basket_lengths": dict(self.basket_lengths),
            "examples": {
                "baskets": [list(basket) for basket in self.example_baskets],
                "items": list(self.example_items),
                "last_rows": [list(row) for row in self.last_rows],
            },
            "options": dict(self.options),
            "guessed": list(self.guessed),
            "notes": list(self.notes),
            "call": self.call,
        }


@takes(ReadingOptions)
def inspect(source: Any, **options: Unpack[ReadingOptions]) -> Inspection:
    """Return what would be read of a source, and how: columns and their roles, how many rows, baskets, users and items.

    It is for whoever holds the data: it shows some of them, and counts exactly. Nothing of it is private, and it spends
    no budget.
    source, and all options: as read_transactions takes them. Where they do not tell how to read it, the names of
    columns are guessed from, and what was guessed is said. Raises what read_transactions does where nothing fits.

    >>> seen = inspect([["bread", "butter"], ["bread"], []])
    >>> seen.baskets, seen.items, seen.empty_baskets, seen.basket_lengths["max"]
    (3, 2, 1, 2)
    """
    asked = filled("inspect", ReadingOptions, options)
    check_query(source, asked["query"])
    max_memory = asked.pop("max_memory")
    condition = where_of(asked["where"])
    asked |= {name: _one_or_more(asked[name]) for name in ("basket", "item")}
    asked |= {"fold_case": asked["fold_case"] or None, "where": None if condition is None else str(condition)}
    named: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    limit = MemoryLimit.of(max_memory)
    table = None
    readings: Iterator[dict[str, Any]] = iter([{}])
    if can_be_read_again(source):
        table = _head(source, named, limit)
        names = [] if table is None else [str(column.name) for column in table.columns]
        readings = possible_readings(names, () if table is None else table.lines, named)
    failure: FimPrivateError | None = None
    while (more := next(readings, None)) is not None:
        try:
            data = read_transactions(source, **named, **more, max_memory=max_memory)
        except MemoryLimitError:
            raise
        except FimPrivateError as error:
            failure = failure or error
            if isinstance(error, ListsInCellsError):
                readings = chain([{**more, "split": error.split}], readings)
            continue
        if more.get("input_format") == InputForm.ONE_HOT and len(data.items) == data.baskets * len(data.vocabulary):
            continue  # numbers that are never 0 are no quantities: it was a guess
        if table is not None:
            table = _head(source, named | more, limit)
        taken = {name: value for name in asked if (value := more.get(name, named.get(name))) is not None}
        with held_to(limit):
            return _inspection(source, data, table, taken, tuple(name for name in asked if name in more))
    assert failure is not None
    raise failure


def _one_or_more(columns: Any) -> Any:
    """Return the columns that an option names: the name of one, a list of several; what is no such as it is."""
    if not isinstance(columns, list | tuple):
        return columns
    return columns[0] if len(columns) == 1 else [*columns]


def _head(source: Any, named: Mapping[str, Any], limit: MemoryLimit) -> TableHead | None:
    """Return what is known of a source before it is read, as `table_head` does, held to a limit of memory."""
    with held_to(limit):
        return table_head(source, _options(named))


def _options(named: Mapping[str, Any]) -> Options:
    """Return what was named as options of reading."""
    dialect = {name: named.get(name) for name in DIALECT}
    columns: dict[str, Any] = {
        name: named.get(name) for name in ("user", "basket", "item", "items", "missing_user", "split")
    }
    columns["fold_case"] = named.get("fold_case", False)
    where = where_of(named.get("where"))
    return Options(**columns, dialect=Dialect(**dialect), query=named.get("query"), where=where)


def _inspection(
    source: Any, data: Transactions, table: TableHead | None, options: dict[str, Any], guessed: tuple[str, ...]
) -> Inspection:
    """Return what was read."""
    read_as = data.read_as or ReadAs(type(source).__name__, "lists")
    lengths = np.diff(data.offsets)
    held = lengths[lengths > 0]
    label = data.vocabulary.label
    bounds = [pair for pair in pairwise(data.offsets[: 20 * _EXAMPLES].tolist()) if pair[0] < pair[1]][:_EXAMPLES]
    counts = np.bincount(data.items, minlength=len(data.vocabulary))
    return Inspection(
        shown_source(source),
        read_as,
        _columns(table, read_as),
        data.rows if data.rows is not None else data.baskets,
        data.baskets,
        data.units if data.by_user else None,
        len(data.vocabulary),
        data.baskets - len(held),
        {
            "min": int(held.min(initial=held[0])) if len(held) else 0,
            "median": float(np.median(held)) if len(held) else 0.0,
            "mean": round(float(held.mean()), 2) if len(held) else 0.0,
            "max": int(held.max(initial=0)),
        },
        tuple(tuple(label(code) for code in data.items[a:b][:EXAMPLE_ITEMS].tolist()) for a, b in bounds),
        tuple(label(code) for code in np.argsort(-counts, kind="stable")[:_EXAMPLES].tolist()),
        _last_rows(data, table, read_as),
        options,
        guessed,
        tuple(_notes(data, read_as, guessed)),
        not isinstance(source, str | os.PathLike),
    )


def _last_rows(data: Transactions, table: TableHead | None, read_as: ReadAs) -> tuple[tuple[str, ...], ...]:
    """Return the last rows of a text or a sheet: the baskets of its last lines, or of its first columns the values."""
    if read_as.form in ("lines", "fimi", "spmf"):
        bounds = pairwise(data.offsets[-1 - _LAST_BASKETS :].tolist())
        label = data.vocabulary.label
        return tuple(tuple(str(label(code)) for code in data.items[a:b][:EXAMPLE_ITEMS].tolist()) for a, b in bounds)
    if table is None:
        return ()
    with suppress(FimPrivateError, pa.ArrowException, OSError, UnicodeDecodeError, csv.Error):
        return table.last([str(column.name) for column in table.columns[:LAST_COLUMNS]])
    return ()


def _columns(table: TableHead | None, read_as: ReadAs) -> tuple[InspectedColumn, ...]:
    """Return the columns of what was read as a table, the first 50."""
    if table is None or read_as.form in ("lines", "fimi", "spmf"):
        return ()
    roles: dict[str | None, str] = dict.fromkeys(columns_of(where_of(read_as.where)), "where")
    roles |= {**dict.fromkeys(read_as.baskets, "basket"), **({} if read_as.user is None else {read_as.user: "user"})}
    roles |= dict.fromkeys(read_as.items, "item" if read_as.form in ("long", "wide") else "items")
    if read_as.form == "one-hot":
        kept = {*read_as.others}
        roles = {**{c.name: "item" for c in table.columns if c.name not in kept}, **roles}
    shown = list(table.columns)[:_LISTED_COLUMNS]
    examples: dict[str, tuple[str, ...]] = {}
    with suppress(FimPrivateError, pa.ArrowException, OSError, UnicodeDecodeError, csv.Error):
        examples = table.examples([column.name for column in shown])
    return tuple(InspectedColumn(str(c.name), str(c.kind), roles.get(c.name), examples.get(c.name, ())) for c in shown)


def _notes(data: Transactions, read_as: ReadAs, guessed: Sequence[str]) -> Iterator[str]:
    """Yield what to know before mining, with parameters marked as in errors."""
    if data.baskets > 1 and np.diff(data.offsets).max(initial=0) == 1:
        yield f"Every basket has one item, so no two items are ever together. {_larger_baskets(read_as)}"
    if guessed:
        yield f"Guessed, since it was not said: {', '.join(map(parameter, guessed))}. Check it, and name it for `mine`."
    if read_as.user_like is not None:
        user = parameter("user")
        yield f"Column {read_as.user_like!r} looks like customers: name it as {user} to protect all baskets of each."
    if "missing_user" in guessed:
        name = parameter("missing_user")
        yield f"Some rows have no user: {name} 'drop' leaves them out, 'own-unit' makes units of their baskets."
    if "encoding" in guessed:
        yield f"It is not UTF-8; {OTHER_ENCODING} is a guess: look whether accents are right."
    if not len(data.items):
        yield "There are no items in it."
    days = [name for name in read_as.others if suggests_date(name)]
    if len(read_as.baskets) == 1 and suggests_user(read_as.baskets[0]) and days:
        named = _named_together(read_as.baskets[0], days[0])
        yield f"All that a customer ever bought is one basket: {named} would make one of each day."
    if read_as.form == InputForm.ONE_HOT:
        yield "Where a cell is a quantity, each above 0 counts as 1."
    if not data.fold_case and (twins := _twins(data)):
        first, second = sorted(twins[0])[:2]
        number = "1 item is" if len(twins) == 1 else f"{len(twins):,} items are"
        yield (
            f"{number} written in several ways that differ by capital letters alone, such as {first!r} and {second!r}: "
            f"{parameter('fold_case')} takes them as one."
        )


def _named_together(*columns: str) -> str:
    """Return how to say that columns name a basket together."""
    return " and ".join(f"{parameter('basket')} {name!r}" for name in columns)


def _larger_baskets(read_as: ReadAs) -> str:
    """Return which columns to name for baskets of more than one item, in a sentence."""
    if read_as.form in ("lines", "fimi", "spmf"):
        return (
            f"Where lines hold several items, say what is between them with {parameter('delimiter')}; where a line is "
            f"one item of a basket, name {parameter('basket')} and {parameter('item')}."
        )
    if read_as.form != InputForm.LONG:
        return f"Where a row is one item of a basket, name {parameter('basket')} and {parameter('item')}."
    others = [name for name in read_as.others if name not in read_as.baskets]
    customers = [name for name in (read_as.user, *others) if name is not None and suggests_user(name)]
    customers = customers or ([] if read_as.user is None else [read_as.user])
    days = [name for name in others if suggests_date(name)]
    if found := [name for name in others if suggests_basket(name)]:
        return f"Name a column that is the same in all rows of a purchase: {_named_together(found[0])}, it seems."
    if customers and days:
        return f"Name a basket by its customer and its day: {_named_together(customers[0], days[0])}."
    if customers:
        return f"Name the customer, for all that each ever bought: {_named_together(customers[0])}."
    left = f"; those left are {', '.join(map(repr, others[:_EXAMPLES]))}" if others else ""
    return f"Name with {parameter('basket')} a column that is the same in all rows of a purchase{left}."


def _twins(data: Transactions) -> list[list[str]]:
    """Return the texts of items that are the same but for capital letters, together, where there are several."""
    alike: dict[str | None, list[str]] = {}
    for text in data.vocabulary.strings.to_pylist():
        alike.setdefault(folded(text), []).append(text)
    return [texts for texts in alike.values() if len(texts) > 1]
