"""Rows to purchases: items numbered in the order of their labels, then the baskets of each unit
brought together.

The source is read twice: for its items, as digests only on the driver, and for its baskets. Spark
keeps these until they are counted: as pieces, rows of some thousand units.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import blake2b
from itertools import islice
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.dp.noise import Randomness
from fim_private.errors import DataError
from fim_private.reading.labels import Item, Labels, Vocabulary, numbers
from fim_private.reading.notations import FirstTexts
from fim_private.reading.other_readings import SAMPLE, FirstCells
from fim_private.reading.record_batches import items_name
from fim_private.reading.transactions import KeyedRows, Transactions, assemble, members
from fim_private.reading.values import is_string_type, offsets_of, value_type
from fim_private.spark.dataframes import RowReader, Table
from fim_private.spark.retries import (
    CELLS,
    CHECK,
    Cells,
    Checksum,
    bytes_of,
    changed,
    summed,
    total,
)
from fim_private.spark.tasks import (
    FAILURE,
    Batches,
    SparkFrame,
    collected,
    persisted,
    row_of,
    run,
    single_rows,
    spark_call,
)

# so many entries and baskets are worked on at once, about, which bounds what a task needs of memory
AT_ONCE = 1 << 23
_ENTRIES = 1 << 20  # so many are in a row, at most, unless a single unit has more

FIELDS = (
    pa.field("units", pa.int64()),  # how many
    pa.field("blank", pa.int64()),  # how many of them are only counted
    # (units,) int32, how many each has; null where a basket is a unit
    pa.field("baskets", pa.binary()),
    pa.field("lengths", pa.binary()),  # (baskets,) int32, how many items each has
    pa.field("items", pa.binary()),  # int32 codes, as in Transactions
    pa.field(CHECK, pa.binary()),  # what `mark` was given; null in all other rows
)


def pieces(data: Transactions, key: str, number: int) -> Batches:
    """Yield purchases as rows, with a column of a number before the others; nothing of none."""
    units = data.units - data.blank
    starts = data.offsets if data.unit_offsets is None else data.offsets[data.unit_offsets]
    # An entry for each basket and unit, too: these take as much.
    sizes = np.asarray(starts) + np.arange(units + 1)
    if data.unit_offsets is not None:
        sizes = sizes + data.unit_offsets
    last, blank = 0, data.blank
    while last < units or blank:
        first, upto = last, int(np.searchsorted(sizes, sizes[last] + _ENTRIES, side="right")) - 1
        last = min(max(upto, first + 1), units)
        low, high = (
            (first, last)
            if data.unit_offsets is None
            else data.unit_offsets[[first, last]].tolist()
        )
        start, end = data.offsets[[low, high]].tolist()
        lengths = np.diff(data.offsets[low : high + 1]).astype(np.int32)
        baskets = None
        if data.unit_offsets is not None:
            baskets = np.diff(data.unit_offsets[first : last + 1]).astype(np.int32).tobytes()
        items = data.items[start:end].tobytes()
        units_here = last - first + blank
        yield _row(key, number, units_here, blank, baskets, lengths.tobytes(), items, None)
        blank = 0


def mark(cells: Cells, key: str, number: int) -> pa.RecordBatch:
    """Return a row that carries nothing but check cells, and a number."""
    return _row(key, number, 0, 0, b"", b"", b"", cells.tobytes())


def _row(key: str, number: int, *values: int | bytes | None) -> pa.RecordBatch:
    schema = pa.schema([pa.field(key, pa.int64()), *FIELDS])
    return row_of(schema, number, *values)


One = TypeVar("One")


def grouped(some: Iterable[One], entries: Callable[[One], int]) -> Iterator[list[One]]:
    """Yield these together until they have as many entries as are worked on at once; at least one,
    empty group.
    """
    group: list[One] = []
    size = 0
    for one in some:
        group.append(one)
        size += entries(one)
        if size >= AT_ONCE:
            yield group
            group, size = [], 0
    yield group


def grouped_pieces(batches: Batches) -> Iterator[list[pa.RecordBatch]]:
    """Yield pieces together, each as a batch of one row."""
    return grouped(
        single_rows(batches),
        lambda row: sum(len(row.column(name)[0].as_buffer()) for name in ("lengths", "items")) // 4,
    )


def joined(batches: Iterable[pa.RecordBatch], count: int, *, by_user: bool) -> Transactions:
    """Return the purchases of some rows together, with codes below count. by_user: whether units
    have baskets.
    """
    names = ("items", "lengths", "baskets") if by_user else ("items", "lengths")
    found = {name: [np.empty(0, dtype=np.int32)] for name in names}
    blank = 0
    for batch in batches:
        blank += sum(batch.column("blank").to_pylist())
        for name, own in found.items():
            own += [
                np.frombuffer(value.as_buffer(), dtype=np.int32) for value in batch.column(name)
            ]
    items, *sizes = map(np.concatenate, found.values())
    ends = [offsets_of(lengths) for lengths in sizes]
    unit_offsets = ends[1] if by_user else None
    return Transactions(ends[0], items, numbers(count), unit_offsets, blank=blank)


# Items as numbers of 64 bits, by which tasks agree on codes without a list of all names: an item's
# code is the place of its digest among all on the driver, in label order. For two items of one
# digest all is made anew with another salt.


def digest(item: Item, salt: int) -> int:
    """Return an item as a whole number of 64 bits with a sign. salt: 0 to 255."""
    kind = b"i" if isinstance(item, int) else b"s"
    made = blake2b(kind + str(item).encode(), digest_size=8, salt=bytes([salt])).digest()
    return int.from_bytes(made, "little", signed=True)


@dataclass(frozen=True)
class ItemDigests:
    """The digests of all items, (count,) int64, all different, in label order. left_out: codes that
    do not count.
    """

    digests: NDArray[np.int64]
    salt: int
    left_out: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.digests)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = np.argsort(self.digests, kind="stable")
        return order, self.digests[order]

    def code(self, item: Item) -> int | None:
        """Return the code of an item; None for one that is not among them."""
        wanted, (order, ascending) = digest(item, self.salt), self._sorted
        place = int(np.searchsorted(ascending, wanted))
        return int(order[place]) if place < len(order) and int(ascending[place]) == wanted else None

    def codes_in(self, listed: Vocabulary) -> NDArray[np.int32]:
        """Return for each code that of the same label in a public list, by `Vocabulary.codes_in`,
        or -1: (count,).
        """
        found = np.full(len(self), -1, dtype=np.int32)
        for number in range(len(listed)):
            code = self.code(listed.label(number))
            if code is not None:
                found[code] = number
        return found


class ItemCodes(dict[Item, int]):
    """The code of each item, -2 - code for one that is left out; DataError for one that was not
    there before.
    """

    def __init__(self, digests: ItemDigests) -> None:
        super().__init__()
        self._digests = digests

    def __missing__(self, item: Item) -> int:
        code = self._digests.code(item)
        if code is None:
            raise changed()
        self[item] = -2 - code if code in self._digests.left_out else code
        return self[item]


def new_items() -> defaultdict[Item, int]:
    """Return what numbers items as they are first asked for."""
    seen: defaultdict[Item, int] = defaultdict()
    seen.default_factory = seen.__len__
    return seen


# The last row of a task has no item, and the check cells of the rows.
_NAMES = pa.schema(
    {"digest": pa.int64(), "number": pa.int64(), "text": pa.string(), CHECK: pa.binary()}
)
_ORDER = ("number", "text")  # that of a vocabulary's labels
_NAME_PARTITIONS = 8  # there are few names, beside the purchases


@dataclass(frozen=True)
class ItemNames:
    """The items of a source: digests, on the driver, and names, where Spark keeps them. read: cells
    of its rows.
    """

    digests: ItemDigests
    frame: SparkFrame
    read: Cells

    def labels(self, codes: Sequence[int]) -> dict[int, Item]:
        """Return the labels of some codes."""
        code_of = {int(self.digests.digests[code]): code for code in codes}
        found, wanted = dict[int, Item](), sorted(code_of)
        # Spark plans a list in a condition value by value
        for start in range(0, len(wanted), 1000):
            some = self.frame.where(self.frame["digest"].isin(wanted[start : start + 1000]))
            for one in collected(some).to_pylist():
                found[code_of[one["digest"]]] = (
                    one["text"] if one["number"] is None else one["number"]
                )
        if len(found) != len(code_of):
            raise changed()
        return found


def _only(kind: type, items: Sequence[Item]) -> list[Item | None]:
    """Return items of a kind, and None in the places of others."""
    return [item if isinstance(item, kind) else None for item in items]


def _names(reader: RowReader, salt: int, checksum: Checksum, batches: Batches) -> Batches:
    """List the items of a partition, each once."""
    seen, cells = new_items(), np.zeros(CELLS, dtype=np.int64)
    items = checksum.of_items(np.empty(0, dtype=np.int64))
    for rows in reader.rows(batches, seen, 0):
        fresh = [*islice(reversed(seen), len(seen) - len(items) + 1)][::-1]
        digests = np.array([digest(item, salt) for item in fresh], dtype=np.int64)
        items = np.concatenate([items[:-1], checksum.of_items(digests)])
        cells += checksum.of_rows(rows, items, whole=reader.whole)
        columns = {
            "digest": digests,
            "number": _only(int, fresh),
            "text": _only(str, fresh),
            CHECK: [None] * len(fresh),
        }
        yield pa.RecordBatch.from_pydict(columns, schema=_NAMES)
    yield pa.RecordBatch.from_pylist([{CHECK: cells.tobytes()}], schema=_NAMES)


@contextmanager
def numbered(frame: SparkFrame, reader: RowReader, checksum: Checksum) -> Iterator[ItemNames]:
    """Yield the items of a DataFrame. Items of one digest get others, by another salt."""
    for salt in range(256):
        names = run(frame, partial(_names, reader, salt, checksum), _NAMES, ours=False)
        with spark_call():
            names = (
                names.groupBy("digest", *_ORDER, CHECK, FAILURE).count().coalesce(_NAME_PARTITIONS)
            )
        with persisted(names) as stored:
            order = [stored[column].asc_nulls_last() for column in _ORDER]
            checked = collected(stored.orderBy(*order).select("digest", CHECK, "count", FAILURE))
            # Tasks with the same rows are counted together.
            ends = (
                checked.filter(checked.column(CHECK).is_valid())
                .select([CHECK, "count"])
                .to_pylist()
            )
            read = total(row[CHECK] for row in ends for _ in range(row["count"]))
            digests = checked.column("digest").drop_null().to_numpy()
            if len(np.unique(digests)) == len(digests):
                named = stored.where(stored["digest"].isNotNull()).select(
                    "digest", "number", "text"
                )
                yield ItemNames(ItemDigests(digests, salt), named, read)
                return
    raise DataError("the items of these purchases cannot be distinguished")  # one in 2^5000 or so


_DAY = "day"  # of a row, where times count
SEGMENT = "segment"  # which one of a public list a piece is of; 0 without one
# A task gets so many entries, unless Spark is asked for fewer tasks, or for more.
FEWEST_ENTRIES, MOST_ENTRIES = 1 << 18, 1 << 23
_LOOKED = pa.schema([("length", pa.int64())])  # how many cells, or rows, were looked at


@dataclass(frozen=True)
class StoredPurchases:
    """Purchases as Spark keeps them: pieces, with the segment that each is of, and check cells,
    (segments, 3) int64.
    """

    frame: SparkFrame
    items: ItemNames
    by_user: bool
    checksum: Checksum
    cells: NDArray[np.int64]


@contextmanager
def stored_purchases(
    table: Table, applied: Callable[[Transactions], Transactions], excluded: Vocabulary | None
) -> Iterator[StoredPurchases]:
    """Yield a table's purchases; Spark keeps what `applied` says counts, without excluded items.
    Raises DataError.
    """
    reader = table.reader
    reader.check(table.schema)
    kind = value_type(table.schema.field(reader.roles.values[0]).type)
    looks = []
    if reader.roles.may_hold_lists and is_string_type(kind):
        looks.append(_look_at_cells)
    if FirstTexts(reader.roles, reader.name).columns:
        looks.append(_look_at_texts)
    for look in looks:
        # A task looks at the first cells, where there are some: no cell comes to the driver.
        collected(run(table.frame, partial(look, reader), _LOOKED, ours=False).limit(1))
    checksum = Checksum(Randomness().bits(64))
    with numbered(table.frame, reader, checksum) as items:
        if excluded is not None:
            codes = np.flatnonzero(items.digests.codes_in(excluded) >= 0)
            items = replace(
                items, digests=replace(items.digests, left_out=frozenset(codes.tolist()))
            )
        with persisted(
            _gathered(table, items, _Assembly(reader, items.digests, applied, checksum))
        ) as frame:
            segments = 1 if reader.roles.parts is None else len(reader.roles.parts.names)

            def check_cells(batches: Batches) -> tuple[NDArray[np.int64], Cells]:
                """Return the check cells of each segment, (3 * segments,), and of the rows that
                they were made of.
                """
                found = np.zeros((segments, CELLS), dtype=np.int64)
                read: list[bytes | None] = []
                for row in single_rows(batches):
                    read += row[CHECK].to_pylist()
                    found[row[SEGMENT][0].as_py()] += checksum.of_pieces([row])
                return found.ravel(), total(read)

            cells = summed(frame, check_cells, segments * CELLS, items.read)
            yield StoredPurchases(
                frame,
                items,
                reader.roles.user is not None,
                checksum,
                cells.reshape(segments, CELLS),
            )


def _gathered(table: Table, items: ItemNames, assembly: _Assembly) -> SparkFrame:
    """Return the purchases, with the baskets of each unit together, as a DataFrame."""
    from pyspark.sql import functions

    reader, roles = table.reader, table.reader.roles
    schema = pa.schema([pa.field(SEGMENT, pa.int64()), *FIELDS])
    if not roles.basket and roles.user is None:
        return run(table.frame, assembly.of_units, schema, ours=False)
    keys = []
    if roles.user is not None:
        keys.append(pa.field("user", table.schema.field(roles.user).type))
    if len(roles.basket) == 1:
        keys.append(pa.field("basket", table.schema.field(roles.basket[0]).type))
    if len(roles.basket) > 1:  # a text, of several columns
        keys.append(pa.field("basket", pa.string()))
    if roles.by is not None or roles.times is not None:
        keys.append(pa.field(SEGMENT, pa.int32()))
    if roles.times is not None:
        keys.append(pa.field(_DAY, pa.int32()))
    rows = pa.schema([*keys, ("codes", pa.binary())])
    frame = run(table.frame, partial(_rows, reader, items.digests), rows, ours=False)
    if roles.user is None:
        unit = [frame["basket"]]
    else:
        # A row that is nobody's and of no basket is a unit of its own; what it holds spreads them.
        alone = frame["basket"] if roles.basket else frame["codes"]
        unit = [frame["user"], functions.when(frame["user"].isNull(), alone)]
    return run(frame.repartition(tasks_for(frame, int(items.read[1])), *unit), assembly, schema)


def tasks_for(frame: SparkFrame, entries: int) -> int:
    """Return how many tasks work on these entries: as set in Spark, each on no fewer than are worth
    one.
    """
    setting = frame.sparkSession.conf.get("spark.sql.shuffle.partitions")
    asked = int(setting) if setting.isdecimal() else entries  # some clusters say "auto"
    return max(-(-entries // MOST_ENTRIES), min(asked, -(-entries // FEWEST_ENTRIES)), 1)


def _look_at_cells(reader: RowReader, batches: Batches) -> Batches:
    """Fail where the first cells of the item column seem to be lists."""
    first = FirstCells(items_name(reader.name, reader.roles), is_asked=True)
    left = SAMPLE
    for batch in reader.needed(batches):
        cells = batch.column(reader.roles.values[0])[:left]
        first.see(cells)
        left -= len(cells)
        if not left:
            break
    first.done()
    if left < SAMPLE:
        yield row_of(_LOOKED, SAMPLE - left)


def _look_at_texts(reader: RowReader, batches: Batches) -> Batches:
    """Fail where the first texts that rows are chosen by are written in another notation."""
    first = FirstTexts(reader.roles, reader.name)
    rows = 0
    for batch in batches:
        named = batch.rename_columns(reader.roles.names)
        first.see({name: named.column(name) for name in first.columns})
        rows += len(batch)
        if first.is_done:
            break
    first.done()
    if rows:
        yield row_of(_LOOKED, rows)


def _rows(reader: RowReader, digests: ItemDigests, batches: Batches) -> Batches:
    for rows in reader.rows(batches, ItemCodes(digests), len(digests)):
        keys = {"user": rows.users, "basket": rows.baskets, SEGMENT: rows.segments, _DAY: rows.days}
        columns = {name: values for name, values in keys.items() if values is not None}
        codes = rows.codes.astype(np.int32)
        ends = offsets_of(rows.lengths)
        columns["codes"] = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(),
            len(rows.lengths),
            [None, pa.py_buffer(4 * ends), pa.py_buffer(codes)],
        ).cast(pa.binary())
        yield pa.RecordBatch.from_arrays([*columns.values()], names=[*columns])


@dataclass(frozen=True)
class _Assembly:
    """The task that makes purchases of the rows of some units, all of theirs, and pieces of
    them.
    """

    reader: RowReader
    digests: ItemDigests
    applied: Callable[[Transactions], Transactions]
    checksum: Checksum

    def __call__(self, batches: Batches) -> Batches:
        yield from self._pieces_of(map(_keyed, batches))

    def of_units(self, batches: Batches) -> Batches:
        """The same of rows of the source that are a unit each: nothing needs to be brought
        together.
        """
        rows = self.reader.rows(batches, ItemCodes(self.digests), len(self.digests))
        for group in grouped(rows, lambda some: len(some.codes) + len(some.lengths)):
            yield from self._pieces_of(iter(group))

    def _pieces_of(self, rows: Iterator[KeyedRows]) -> Batches:
        cells = np.zeros(CELLS, dtype=np.int64)
        roles = self.reader.roles
        found = assemble(
            self._checked(rows, cells),
            Labels("", known={}, count=len(self.digests)),
            roles.times,
            segmented=roles.parts is not None,
        )
        yield mark(cells, SEGMENT, 0)
        by_user, by = roles.user is not None, roles.parts
        if by_user and not found.by_user:  # of a partition without rows nobody knows
            found = replace(found, unit_offsets=np.zeros(1, dtype=np.int64))
        segments = [found]
        if by is not None:
            # A basket was a unit of its own, with what it has in each segment; in a segment it is a
            # basket.
            segments = [] if found.segments is None else members(found, by)
            if not by_user:
                segments = [replace(segment, unit_offsets=None) for segment in segments]
        for place, own in enumerate(segments):
            counting = self.applied(own)
            # With the codes of before: the labels are codes, which they were.
            codes = counting.vocabulary.integers[counting.items].astype(np.int32)
            coded = replace(counting, items=codes, vocabulary=numbers(len(self.digests)))
            yield from pieces(coded, SEGMENT, place)

    def _checked(self, rows: Iterator[KeyedRows], cells: Cells) -> Iterator[KeyedRows]:
        items = self.checksum.of_items(self.digests.digests)
        for some in rows:
            # those left out were read, too
            codes = np.where(some.codes < -1, -2 - some.codes, some.codes)
            cells += self.checksum.of_rows(
                replace(some, codes=codes), items, whole=self.reader.whole
            )
            yield some


def _keyed(batch: pa.RecordBatch) -> KeyedRows:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    ends, data = bytes_of(columns["codes"].cast(pa.large_binary()))
    lengths = (np.diff(ends) // 4).astype(np.int32)
    return KeyedRows(
        lengths,
        data.view(np.int32),
        columns.get("basket"),
        columns.get("user"),
        columns.get(SEGMENT),
        columns.get(_DAY),
    )
