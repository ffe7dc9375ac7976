"""Rows to purchases: items are numbered in the order of their labels, then the baskets of each unit brought together.

The source is read twice, after a look at the first cells of the item column: for its items, of which the driver gets
digests only, and for its baskets, which are kept where Spark keeps them until they are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.dp.randomness import Randomness
from fim_private.reading.assembly import KeyedRows, assemble
from fim_private.reading.cell_lists import FirstCells, is_text
from fim_private.reading.known_labels import KnownLabels, numbers
from fim_private.reading.other_readings import SAMPLE
from fim_private.reading.record_batches import items_name
from fim_private.reading.segment_members import members
from fim_private.reading.segments import Segments
from fim_private.reading.transactions import Transactions
from fim_private.reading.vocabulary import Vocabulary
from fim_private.spark.block_sums import summed
from fim_private.spark.check_cells import CELLS, CHECK, Cells, Checksum, total
from fim_private.spark.dataframes import Table
from fim_private.spark.item_digests import ItemCodes, ItemDigests
from fim_private.spark.item_names import ItemNames, numbered
from fim_private.spark.pieces import AT_ONCE, FIELDS, mark, pieces
from fim_private.spark.row_reader import RowReader
from fim_private.spark.tasks import Batches, collected, run, spark_call

# Which part of a public list a piece is of; 0 without one.
SEGMENT = "segment"
# A task gets so many entries, unless Spark is asked for fewer tasks, or for more.
FEWEST_ENTRIES, MOST_ENTRIES = 1 << 18, 1 << 23
# How many cells were looked at.
_LOOKED = pa.schema([("length", pa.int64())])


@dataclass(frozen=True)
class Kept:
    """Purchases as Spark keeps them: pieces, with the segment that each is of.

    cells: (segments, 3) int64, the check cells of each segment, by this checksum; of all without segments.
    """

    frame: Any
    items: ItemNames
    by_user: bool
    checksum: Checksum
    cells: NDArray[np.int64]

    @property
    def units(self) -> tuple[int, ...]:
        """How many units each segment has; all of them without segments."""
        return tuple(self.cells[:, 0].tolist())

    def close(self) -> None:
        """Let Spark forget them."""
        with spark_call():
            self.frame.unpersist()
            self.items.kept.unpersist()


def kept_purchases(table: Table, applied: Callable[[Transactions], Transactions], excluded: Vocabulary | None) -> Kept:
    """Read a table. applied: what of the purchases of some units counts. excluded: items that do not.

    Raises DataError for what cannot be read.
    """
    reader = RowReader(table.name, table.roles, table.tokens)
    reader.check(table.schema)
    _refuse_lists(table, reader)
    checksum = Checksum(Randomness().bits(64))
    items = numbered(table.frame, reader, checksum)
    try:
        return _gathered(table, reader, items, applied, excluded, checksum)
    except BaseException:
        items.kept.unpersist()
        raise


def _refuse_lists(table: Table, reader: RowReader) -> None:
    """Raise DataError where the first cells of the item column look like lists of items, and nobody said otherwise."""
    if table.roles.may_hold_lists and is_text(table.schema.field(table.roles.values[0]).type):
        # A task looks at them, of the first part that has some: no cell comes to the driver.
        collected(run(table.frame, _LooksAtCells(reader), _LOOKED, ours=False).limit(1))


def _gathered(
    table: Table,
    reader: RowReader,
    items: ItemNames,
    applied: Callable[[Transactions], Transactions],
    excluded: Vocabulary | None,
    checksum: Checksum,
) -> Kept:
    """Return the purchases, with the baskets of each unit together."""
    if excluded is not None:
        codes = np.flatnonzero(items.digests.codes_in(excluded) >= 0)
        items = replace(items, digests=replace(items.digests, left_out=frozenset(codes.tolist())))
    roles = table.roles
    frame = table.frame
    task = _Assembly(items.digests, roles.user is not None, roles.by, applied, checksum, reader.whole)
    if roles.keys:
        keys = [] if roles.user is None else [_key(table, roles.user, "user")]
        # Several columns name a basket by a text.
        keys += [_key(table, roles.basket[0], "basket")] if len(roles.basket) == 1 else []
        keys += [pa.field("basket", pa.string())] if len(roles.basket) > 1 else []
        by = [pa.field(SEGMENT, pa.int32())] if roles.by is not None else []
        frame = run(frame, _Rows(reader, items.digests), pa.schema([*keys, *by, ("codes", pa.binary())]), ours=False)
        frame = _by_unit(frame, roles.user is not None, bool(roles.basket), tasks_for(frame, items.entries))
        frame = run(frame, task, _pieces_schema())
    else:
        frame = run(frame, _RowsAssembled(reader, items.digests, task), _pieces_schema(), ours=False)
    with spark_call():
        frame = frame.persist()
    segments = 1 if roles.by is None else len(roles.by.names)
    try:
        made = summed(frame, _CheckCells(checksum, segments), segments * CELLS, items.read)
    except BaseException:
        frame.unpersist()
        raise
    return Kept(frame, items, roles.user is not None, checksum, made.reshape(segments, CELLS))


@dataclass(frozen=True)
class _CheckCells:
    """Makes the check cells of each segment, one after the other: (3 * segments,) int64.

    Beside them are the check cells of the rows of which these purchases were made.
    """

    checksum: Checksum
    segments: int

    def __call__(self, batches: Batches) -> tuple[NDArray[np.int64], Cells]:
        found = np.zeros((self.segments, CELLS), dtype=np.int64)
        read: list[bytes | None] = []
        for batch in batches:
            read += batch.column(CHECK).to_pylist()
            for row, segment in enumerate(batch.column(SEGMENT).to_pylist()):
                found[segment] += self.checksum.of_pieces([batch.slice(row, 1)])
        return found.ravel(), total(read)


def tasks_for(frame: Any, entries: int) -> int:
    """Return by how many tasks so many entries are worked on, which are shuffled.

    As many as Spark's own setting says, but of no fewer entries than are worth a task, nor more than one can have. (Its
    adaptive planner does not look into what it keeps, and knows bytes only.)
    """
    said = frame.sparkSession.conf.get("spark.sql.shuffle.partitions")
    asked = int(said) if said.isdecimal() else entries  # some clusters say "auto"
    return max(-(-entries // MOST_ENTRIES), min(asked, -(-entries // FEWEST_ENTRIES)), 1)


def _pieces_schema() -> pa.Schema:
    return pa.schema([pa.field(SEGMENT, pa.int64()), *FIELDS])


def _key(table: Table, column: str, name: str) -> pa.Field:
    """Return what a column of keys is called, and its type."""
    return pa.field(name, table.schema.field(column).type)


def _by_unit(frame: Any, by_user: bool, has_basket: bool, tasks: int) -> Any:
    """Bring the rows of each unit together: of a user, or of a basket where nobody is named."""
    from pyspark.sql import functions

    if not by_user:
        return frame.repartition(tasks, frame["basket"])
    nobody = frame["user"].isNull()
    # A row that is nobody's and of no basket is a unit of its own; what it holds spreads them.
    alone = frame["basket"] if has_basket else frame["codes"]
    return frame.repartition(tasks, frame["user"], functions.when(nobody, alone))


@dataclass(frozen=True)
class _LooksAtCells:
    """The task that looks whether the first cells of the item column seem to be lists; it fails where they do."""

    reader: RowReader

    def __call__(self, batches: Batches) -> Batches:
        first = FirstCells(items_name(self.reader.name, self.reader.roles), is_asked=True)
        left = SAMPLE
        for batch in self.reader.parts(batches):
            cells = batch.column(batch.schema.get_field_index(self.reader.roles.values[0]))[:left]
            first.see(cells)
            left -= len(cells)
            if not left:
                break
        first.done()
        if left < SAMPLE:
            yield pa.RecordBatch.from_arrays([pa.array([SAMPLE - left])], schema=_LOOKED)


@dataclass(frozen=True)
class _Rows:
    """The task that makes rows of a partition: a run of items, and the user and the basket that have it."""

    reader: RowReader
    digests: ItemDigests

    def __call__(self, batches: Batches) -> Batches:
        labels = self.reader.labels(ItemCodes(self.digests), len(self.digests))
        for rows in self.reader.rows(batches, labels):
            keys = {"user": rows.users, "basket": rows.baskets, SEGMENT: rows.segments}
            columns = {name: values for name, values in keys.items() if values is not None}
            codes = rows.codes.astype(np.int32)
            ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(rows.lengths, dtype=np.int64)])
            columns["codes"] = pa.LargeBinaryArray.from_buffers(
                pa.large_binary(), len(rows.lengths), [None, pa.py_buffer(4 * ends), pa.py_buffer(codes)]
            ).cast(pa.binary())
            yield pa.RecordBatch.from_arrays([*columns.values()], names=[*columns])


@dataclass(frozen=True)
class _Assembly:
    """The task that makes purchases of the rows of some units, all of theirs, and pieces of them."""

    digests: ItemDigests
    by_user: bool
    by: Segments | None
    applied: Callable[[Transactions], Transactions]
    checksum: Checksum
    whole: bool

    def __call__(self, batches: Batches) -> Batches:
        yield from self.pieces_of(map(_keyed, batches))

    def pieces_of(self, rows: Iterator[KeyedRows]) -> Batches:
        cells = np.zeros(CELLS, dtype=np.int64)
        found = assemble(self._checked(rows, cells), KnownLabels({}, len(self.digests), "", text=False))
        yield mark(cells, [(SEGMENT, 0)])
        if self.by_user and not found.by_user:  # of a partition without rows nobody knows
            found = replace(found, unit_offsets=np.zeros(1, dtype=np.int64))
        parts = [found] if self.by is None else self._members(found, self.by)
        for place, part in enumerate(parts):
            yield from pieces(self._counting(part), [(SEGMENT, place)])

    def _checked(self, rows: Iterator[KeyedRows], cells: Cells) -> Iterator[KeyedRows]:
        """Yield rows, and add up their check cells."""
        items = self.checksum.of_items(self.digests.digests)
        for some in rows:
            codes = np.where(some.codes < -1, -2 - some.codes, some.codes)  # those left out were read, too
            cells += self.checksum.of_rows(replace(some, codes=codes), items, whole=self.whole)
            yield some

    def _members(self, found: Transactions, by: Segments) -> list[Transactions]:
        if found.segments is None:
            return []
        # A basket was a unit of its own, with a part in each segment; in a segment it is a basket.
        return [one if self.by_user else replace(one, unit_offsets=None) for one in members(found, by)]

    def _counting(self, data: Transactions) -> Transactions:
        """Return what counts, with the codes of before: the labels are codes, and say which they were."""
        counting = self.applied(data)
        codes = counting.vocabulary.integers[counting.items].astype(np.int32)
        return replace(counting, items=codes, vocabulary=numbers(len(self.digests)))


@dataclass(frozen=True)
class _RowsAssembled:
    """The task where each row is a unit: nothing has to be brought together."""

    reader: RowReader
    digests: ItemDigests
    assembly: _Assembly

    def __call__(self, batches: Batches) -> Batches:
        labels = self.reader.labels(ItemCodes(self.digests), len(self.digests))
        for group in _grouped(self.reader.rows(batches, labels)):
            yield from self.assembly.pieces_of(iter(group))


def _grouped(parts: Iterator[KeyedRows]) -> Iterator[list[KeyedRows]]:
    """Yield rows together until they have as many entries as are worked on at once; at least one, empty group."""
    group: list[KeyedRows] = []
    held = 0
    for part in parts:
        group.append(part)
        held += len(part.codes) + len(part.lengths)
        if held >= AT_ONCE:
            yield group
            group, held = [], 0
    yield group


def _keyed(batch: pa.RecordBatch) -> KeyedRows:
    """Return the rows of a batch that _Rows made."""
    columns = {name: batch.column(batch.schema.get_field_index(name)) for name in batch.schema.names}
    codes = columns["codes"].cast(pa.large_binary())
    ends = np.frombuffer(codes.buffers()[1], dtype=np.int64)[codes.offset : codes.offset + len(codes) + 1]
    data = codes.buffers()[2]
    held = np.frombuffer(data, dtype=np.int32)[ends[0] // 4 : ends[-1] // 4] if data else np.empty(0, dtype=np.int32)
    lengths = (np.diff(ends) // 4).astype(np.int32)
    segments = columns.get(SEGMENT)
    return KeyedRows(lengths, held, columns.get("basket"), columns.get("user"), segments)
