"""Rows to purchases: items numbered in the order of their labels, then the baskets of each unit
brought together.

The source is read twice: for its items, as digests only on the driver, and for its baskets. Spark
keeps these until they are counted: as pieces, rows of some thousand units.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import blake2b
from itertools import count, islice, pairwise, takewhile
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import RecordBatch

from fim_private.counting.source import LocalItems, counter_for
from fim_private.counting.work import Effort, Int32, Int64
from fim_private.dp.noise import Randomness
from fim_private.errors import DataError
from fim_private.reading.contribution_bounds import text_digest
from fim_private.reading.labels import Item, Labels, Vocabulary, numbers
from fim_private.reading.memory import LIST_ROWS
from fim_private.reading.notations import texts_to_check
from fim_private.reading.record_batches import looked_at
from fim_private.reading.transactions import KeyedRows, Transactions, assemble, members
from fim_private.reading.values import arrow_of, numpy_of, offsets_of
from fim_private.spark.dataframes import RowReader, Table
from fim_private.spark.tasks import (
    CELLS,
    CHECK,
    FAILURE,
    Batches,
    Cells,
    Checksum,
    SparkFrame,
    Vectors,
    changed,
    collected,
    persisted,
    row_of,
    run,
    single_rows,
    spark_call,
    summed,
    total,
)

# so many entries and baskets are worked on at once, about, which bounds what a task needs of memory
AT_ONCE = 1 << 23
_ENTRIES = 1 << 20  # about so many are in a row, unless a single unit has more

PART = "part"  # which segment, or which shard, a piece is of
# Purchases as rows. All but the number of the part are null in a row of check cells.
PIECES = pa.schema(
    {
        PART: pa.int64(),
        "baskets": pa.binary(),  # (units,) int32, how many each user has; null without users
        "lengths": pa.binary(),  # (baskets,) int32, how many items each has
        "items": pa.binary(),  # int32 codes, as in Transactions
        CHECK: pa.binary(),  # what `mark` was given; null in other rows
    }
)


def pieces(data: Transactions, place: int) -> Batches:
    """Yield the purchases of the part at a place as rows; nothing of none."""
    # Here blank baskets have a place, too.
    offsets = np.append(data.offsets, np.full(data.blank, data.offsets[-1]))
    bounds = data.unit_offsets
    if bounds is None:
        bounds = np.arange(len(offsets))
    # An entry for each basket and unit, too: these take as much.
    sizes = offsets[bounds] + bounds + np.arange(len(bounds))
    _, firsts = np.unique(sizes[:-1] // _ENTRIES, return_index=True)
    for first, last in pairwise([*firsts.tolist(), len(bounds) - 1]):
        ends = offsets[bounds[first] : bounds[last] + 1]
        piece = {
            PART: place,
            "lengths": np.diff(ends).astype(np.int32).tobytes(),
            "items": data.items[ends[0] : ends[-1]].tobytes(),
        }
        if data.by_user:
            piece["baskets"] = np.diff(bounds[first : last + 1]).astype(np.int32).tobytes()
        yield row_of(PIECES, piece)


def mark(cells: Cells, place: int) -> RecordBatch:
    """Return a row that carries nothing but check cells, for a part, given by its number."""
    return row_of(PIECES, {PART: place, CHECK: cells.tobytes()})


Chunk = TypeVar("Chunk")


def grouped(chunks: Iterable[Chunk], entries: Callable[[Chunk], int]) -> Iterator[list[Chunk]]:
    """Yield chunks in groups of about as many entries as are worked on at once; without chunks, one
    empty group.
    """
    group: list[Chunk] = []
    size = 0
    for chunk in chunks:
        group.append(chunk)
        size += entries(chunk)
        if size >= AT_ONCE:
            yield group
            group, size = [], 0
    yield group


def joined(batches: Sequence[RecordBatch], count: int, *, by_user: bool) -> Transactions:
    """Return the purchases of some rows together, with codes below count. by_user: whether units
    have baskets.
    """

    def numbers_in(column: str) -> Int32:
        buffers = (value.as_buffer() for batch in batches for value in batch[column].drop_null())
        return np.frombuffer(bytearray().join(buffers), dtype=np.int32)

    offsets, items = offsets_of(numbers_in("lengths")), numbers_in("items")
    unit_offsets = offsets_of(numbers_in("baskets")) if by_user else None
    return Transactions(offsets, items, numbers(count), unit_offsets)


# Items as numbers of 64 bits, by which tasks agree on codes without a list of all names: an item's
# code is the place of its digest among all on the driver, in label order. The salt is drawn for
# each run, so that nobody can make two items of one digest.


def digest(item: Item, salt: int) -> int:
    """Return an item as a whole number of 64 bits with a sign. salt: 0 to 2^64 - 1."""
    kind = b"i" if isinstance(item, int) else b"s"
    content = kind + str(item).encode()
    made = blake2b(content, digest_size=8, salt=salt.to_bytes(8)).digest()
    return int.from_bytes(made, "little", signed=True)


@dataclass(frozen=True)
class ItemDigests:
    """The digests of all items, (count,) int64, all different, in label order."""

    digests: Int64
    salt: int

    def __len__(self) -> int:
        return len(self.digests)

    def codes_in(self, listed: Vocabulary) -> Int32:
        """Return for each code that of the same label in a public list, by `Vocabulary.codes_in`,
        or -1: (count,).
        """
        digests = [digest(listed.label(number), self.salt) for number in range(len(listed))]
        places = pc.index_in(pa.array(self.digests), pa.array(digests, pa.int64()))
        return np.asarray(places.fill_null(-1))


class ItemCodes(dict[Item, int]):
    """The code of each item; DataError for one that was not there before."""

    def __init__(self, items: ItemDigests) -> None:
        super().__init__()
        self._items = items
        self._order = np.argsort(items.digests)

    def __missing__(self, item: Item) -> int:
        item_digest, digests = digest(item, self._items.salt), self._items.digests
        place = np.searchsorted(digests, item_digest, sorter=self._order)
        if place == len(digests) or digests[self._order[place]] != item_digest:
            raise changed()
        self[item] = int(self._order[place])
        return self[item]


_LABEL = ("number", "text")  # one of which an item has; their order is that of a vocabulary
# The last row of a task has no item, and the check cells of the rows.
_NAMES = pa.schema(
    {
        "digest": pa.int64(),
        "digest_of_text": pa.binary(),  # by which baskets of users are drawn
        "number": pa.int64(),
        "text": pa.string(),
        CHECK: pa.binary(),
    }
)
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
        labels, digests = dict[int, Item](), sorted(code_of)
        # Spark plans a list in a condition value by value
        for start in range(0, len(digests), 1000):
            some = self.frame.where(self.frame["digest"].isin(digests[start : start + 1000]))
            for name in collected(some.select("digest", *_LABEL)).to_pylist():
                label = name["text"] if name["number"] is None else name["number"]
                labels[code_of[name["digest"]]] = label
        if len(labels) != len(code_of):
            raise changed()
        return labels

    def digests_of_texts(self) -> list[bytes]:
        """Return the digest of each code's text."""
        table = collected(in_label_order(self.frame).select("digest", "digest_of_text"))
        if not np.array_equal(table["digest"].to_numpy(), self.digests.digests):
            raise changed()
        digests: list[bytes] = table["digest_of_text"].to_pylist()
        return digests


def in_label_order(frame: SparkFrame) -> SparkFrame:
    """Return names in the order of their codes; rows without a name come last."""
    return frame.orderBy(*(frame[column].asc_nulls_last() for column in _LABEL))


def _names(reader: RowReader, checksum: Checksum, batches: Batches) -> Batches:
    """List the items of a partition, each once."""
    # Numbers items as they are first asked for.
    seen = defaultdict[Item, int](count().__next__)
    cells = np.zeros(CELLS, dtype=np.int64)
    hashes = checksum.of_items(np.empty(0, dtype=np.int64))
    for rows in reader.rows(batches, seen, 0):
        names = [_name(item, checksum.key) for item in islice(seen, len(hashes) - 1, None)]
        digests = np.array([name["digest"] for name in names], dtype=np.int64)
        hashes = np.append(hashes[:-1], checksum.of_items(digests))
        cells += checksum.of_rows(rows, hashes, whole=reader.whole)
        yield RecordBatch.from_pylist(names, schema=_NAMES)
    yield row_of(_NAMES, {CHECK: cells.tobytes()})


def _name(item: Item, salt: int) -> dict[str, Item | bytes]:
    column = "number" if isinstance(item, int) else "text"
    return {
        "digest": digest(item, salt),
        "digest_of_text": text_digest(str(item)),
        column: item,
    }


@contextmanager
def numbered(frame: SparkFrame, reader: RowReader, checksum: Checksum) -> Iterator[ItemNames]:
    """Yield the items of a DataFrame. Raises DataError if two of them have one digest by chance."""
    names = run(frame, partial(_names, reader, checksum), _NAMES)
    with spark_call():
        # Tasks with the same rows are counted together.
        names = names.groupBy(names.columns).count().coalesce(_NAME_PARTITIONS)
    with persisted(names) as stored:
        checked = collected(in_label_order(stored).select("digest", CHECK, "count", FAILURE))
        ends = checked.filter(checked[CHECK].is_valid()).to_pylist()
        read = total(row[CHECK] for row in ends for _ in range(row["count"]))
        digests = checked["digest"].drop_null().to_numpy()
        if len(np.unique(digests)) < len(digests):  # of ten million items once in 300,000 runs
            raise DataError("two items of these purchases could not be told apart: run it again")
        items = stored.where(stored["digest"].isNotNull())
        yield ItemNames(ItemDigests(digests, checksum.key), items, read)


# A task gets so many entries, unless Spark is asked for fewer tasks, or for more.
FEWEST_ENTRIES, MOST_ENTRIES = 1 << 18, 1 << 23
_LOOKED = pa.schema([("rows", pa.int64())])  # how many were looked at
Step = Callable[[Transactions], Transactions]  # changes each unit by itself
# Yields a task's purchases, some units at a time, with their check cells.
Opening = Callable[[Batches], Iterator[tuple[Transactions, Cells]]]


@dataclass(frozen=True)
class StoredPurchases:
    """Purchases of one segment that Spark keeps, and how they are cut, capped or recoded before
    they are counted.

    Attributes:
        frame: The purchases as pieces.
        items: Their items. The codes in the pieces are those of these.
        by_user: Whether a unit is a user.
        checksum: Makes the check cells.
        cells: The check cells of the pieces when they were stored.
        count: The codes of items after all steps are below it.
        steps: What is done to the purchases of each task, in order.
        effort: What each task may use.
    """

    frame: SparkFrame
    items: ItemNames
    by_user: bool
    checksum: Checksum
    cells: Cells
    count: int
    steps: tuple[Step, ...] = ()
    effort: Effort = field(default_factory=partial(Effort, threads=1))

    def then(self, step: Step) -> StoredPurchases:
        """Return the purchases with one more step."""
        return replace(self, steps=(*self.steps, step))

    @property
    def opened(self) -> Opening:
        """A function that yields a task's purchases, some units at a time, with check cells."""
        count, by_user, steps = len(self.items.digests), self.by_user, self.steps
        checksum = self.checksum

        def opened(batches: Batches) -> Iterator[tuple[Transactions, Cells]]:
            for group in grouped(single_rows(batches), lambda row: row.nbytes // 4):
                purchases = joined(group, count, by_user=by_user)
                cells = checksum.of_purchases(purchases)
                for step in steps:
                    purchases = step(purchases)
                yield purchases, cells

        return opened

    def summed(self, vector: Callable[[LocalItems], Int64], cells: int) -> Int64:
        """Return the sum of a function's vectors for some units at a time: (cells,) int64.

        Raises DataError if the purchases have changed.
        """
        opened, effort = self.opened, self.effort

        def vectors(batches: Batches) -> Vectors:
            for purchases, check in opened(batches):
                yield vector(LocalItems(purchases, effort)), check

        return summed(self.frame, vectors, cells, self.cells)

    @cached_property
    def supports(self) -> Int64:
        """How many units have each item: (count,)."""
        return self.summed(
            lambda items: counter_for(items.transactions, 1, 1, items.effort).item_supports,
            self.count,
        )


@contextmanager
def stored_purchases(
    table: Table, applied: Step, excluded: Vocabulary | None
) -> Iterator[list[StoredPurchases]]:
    """Yield the purchases of each segment of a table, or all in one; Spark keeps what `applied`
    says counts, without excluded items. Raises DataError.
    """
    reader, roles = table.reader, table.reader.roles
    keys = reader.keys
    if roles.may_hold_lists or texts_to_check(roles).texts:
        # A task looks at the first cells, where there are some: no cell comes to the driver.
        collected(run(table.frame, partial(_look, reader), _LOOKED).limit(1))
    checksum = Checksum(Randomness().bits(64))
    by_user = roles.user is not None
    segments = 1 if roles.parts is None else len(roles.parts.names)

    def check_cells(batches: Batches) -> Vectors:
        """Yield the check cells of each segment, (3 * segments,), and of the rows that they were
        made of.
        """
        for row in single_rows(batches):
            cells = np.zeros((segments, CELLS), dtype=np.int64)
            purchases = joined([row], 0, by_user=by_user)
            cells[row[PART][0].as_py()] = checksum.of_purchases(purchases)
            yield cells.ravel(), total(row[CHECK].to_pylist())

    with numbered(table.frame, reader, checksum) as items:
        left_out = numbers(0)
        if excluded is not None:
            left_out = numbers(len(items.digests)).only(items.digests.codes_in(excluded) >= 0)
        assembly = _Assembly(reader, items.digests, left_out, applied, checksum)
        entries = int(items.read[1])
        with persisted(_gathered(table.frame, keys, entries, assembly)) as frame:
            cells = summed(frame, check_cells, segments * CELLS, items.read)
            yield [
                StoredPurchases(
                    frame.where(frame[PART] == segment),
                    items,
                    by_user,
                    checksum,
                    segment_cells,
                    len(items.digests),
                )
                for segment, segment_cells in enumerate(cells.reshape(segments, CELLS))
            ]


_CODES = pa.field("codes", pa.list_(pa.int32()))  # of the items of a row


def _gathered(
    frame: SparkFrame, keys: list[pa.Field], entries: int, assembly: _Assembly
) -> SparkFrame:
    """Return the purchases, with the baskets of each unit together, as a DataFrame."""
    from pyspark.sql import functions

    roles = assembly.reader.roles
    if not roles.basket and roles.user is None:
        return run(frame, assembly.of_rows, PIECES)
    rows = run(frame, assembly.to_shuffle, pa.schema([*keys, _CODES]))
    # A row that is nobody's and of no basket is a unit of its own; what it holds spreads them.
    alone = rows["baskets"] if roles.basket else rows[_CODES.name]
    unit = [alone]
    if roles.user is not None:
        unit = [rows["users"], functions.when(rows["users"].isNull(), alone)]
    shuffled = rows.repartition(tasks_for(rows, entries), *unit)
    return run(shuffled, lambda batches: assembly.of_units(map(_keyed, batches)), PIECES)


def tasks_for(frame: SparkFrame, entries: int) -> int:
    """Return how many tasks work on these entries: as set in Spark, each on no fewer than are worth
    one.
    """
    setting = frame.sparkSession.conf.get("spark.sql.shuffle.partitions")
    fewest, tasks = -(-entries // MOST_ENTRIES), -(-entries // FEWEST_ENTRIES)
    if setting.isdecimal():  # some clusters say "auto"
        tasks = min(tasks, int(setting))
    return max(tasks, fewest, 1)


def _look(reader: RowReader, batches: Batches) -> Batches:
    """Look at some rows of a partition. Raises DataError as `looked_at` does."""
    rows = 0
    first = takewhile(lambda batch: rows < LIST_ROWS, reader.typed(batches))
    for chosen in looked_at(first, reader.roles):
        rows += len(chosen)
    if rows:
        yield row_of(_LOOKED, {"rows": rows})


@dataclass(frozen=True)
class _Assembly:
    """Makes purchases of the rows of some units, all of theirs, and pieces of them.

    Attributes:
        reader: Reads the rows.
        digests: The digests of all items.
        excluded: The codes of items that do not count.
        applied: Returns what counts of the other items.
        checksum: Makes the check cells.
    """

    reader: RowReader
    digests: ItemDigests
    excluded: Vocabulary
    applied: Step
    checksum: Checksum

    def rows(self, batches: Batches) -> Iterator[KeyedRows]:
        """Yield the rows of the source with the codes of items."""
        return self.reader.rows(batches, ItemCodes(self.digests), len(self.digests))

    def of_rows(self, batches: Batches) -> Batches:
        """Yield pieces of rows of the source that are a unit each, which need no shuffle."""
        for group in grouped(
            self.rows(batches), lambda chunk: len(chunk.codes) + len(chunk.lengths)
        ):
            yield from self.of_units(group)

    def to_shuffle(self, batches: Batches) -> Batches:
        """Yield the keys of rows of the source, and the codes of their items."""
        for rows in self.rows(batches):
            offsets = offsets_of(rows.lengths).astype(np.int32)
            codes = pa.ListArray.from_arrays(arrow_of(offsets), arrow_of(rows.codes))
            yield RecordBatch.from_pydict({**rows.keys, _CODES.name: codes})

    def of_units(self, rows: Iterable[KeyedRows]) -> Batches:
        """Yield pieces of the rows of some units."""
        cells, roles = np.zeros(CELLS, dtype=np.int64), self.reader.roles
        labels = Labels("", known={}, count=len(self.digests))
        segmented = roles.parts is not None
        purchases = assemble(self._checked(rows, cells), labels, roles.times, segmented=segmented)
        yield mark(cells, 0)
        if not purchases.units:
            return
        segments = members(purchases, roles.parts, by_user=roles.user is not None)
        for place, segment in enumerate(segments):
            counting = self.applied(segment.without(self.excluded))
            # With the codes of before: the labels are codes, which they were.
            codes = counting.vocabulary.integers[counting.items].astype(np.int32)
            yield from pieces(replace(counting, items=codes), place)

    def _checked(self, rows: Iterable[KeyedRows], cells: Cells) -> Iterator[KeyedRows]:
        """Yield rows, and add up their check cells."""
        hashes = self.checksum.of_items(self.digests.digests)
        for chunk in rows:
            cells += self.checksum.of_rows(chunk, hashes, whole=self.reader.whole)
            yield chunk


def _keyed(batch: RecordBatch) -> KeyedRows:
    """Return the rows that `_Assembly.to_shuffle` gave."""
    keys = dict(zip(batch.schema.names, batch.columns, strict=True))
    codes = keys.pop(_CODES.name)
    return KeyedRows(numpy_of(codes.value_lengths()), numpy_of(codes.flatten()), keys)
