"""Rows to purchases: items numbered in the order of their labels, then the baskets of each unit brought together.

The source is read twice, after a look at the first cells of the item column: for its items, of which the driver gets
digests only, and for its baskets, which stay where Spark keeps them until they are counted: as pieces, rows of some
thousand units, arrays of whole numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import blake2b
from itertools import islice, pairwise
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.dp.noise import Randomness
from fim_private.errors import DataError
from fim_private.reading.labels import INTEGER_TOKEN, Item, Labels, Vocabulary, numbers
from fim_private.reading.options import Segments
from fim_private.reading.other_readings import SAMPLE, FirstCells, is_text
from fim_private.reading.record_batches import items_name
from fim_private.reading.transactions import KeyedRows, Transactions, assemble, members
from fim_private.spark.dataframes import RowReader, Table
from fim_private.spark.retries import CELLS, CHECK, Cells, Checksum, changed, summed, total
from fim_private.spark.tasks import FAILURE, Batches, collected, run, spark_call

# So many entries and baskets are worked on at once, about, which bounds what a task needs of memory.
AT_ONCE = 1 << 23
# So many entries are in a row, at most, unless a single unit has more.
_ENTRIES = 1 << 20

# units: how many. blank: how many of them are only counted. baskets: (units,) int32, how many each has; null where a
# basket is a unit. lengths: (baskets,) int32, how many items each has. items: int32 codes, as in Transactions.
# check: what `mark` was given; null in all other rows.
_TYPES = {
    "units": pa.int64(),
    "blank": pa.int64(),
    "baskets": pa.binary(),
    "lengths": pa.binary(),
    "items": pa.binary(),
}
FIELDS = (*(pa.field(name, kind) for name, kind in _TYPES.items()), pa.field(CHECK, pa.binary()))


def pieces(data: Transactions, keys: Sequence[tuple[str, int]] = ()) -> Iterator[pa.RecordBatch]:
    """Yield purchases as rows, with columns of these numbers before the others; nothing of none."""
    bounds = _bounds(data)
    for place, (first, last) in enumerate(pairwise(bounds)):
        low, high = (first, last) if data.unit_offsets is None else data.unit_offsets[[first, last]].tolist()
        blank = data.blank if place == 0 else 0
        start, end = data.offsets[[low, high]].tolist()
        lengths = np.diff(data.offsets[low : high + 1]).astype(np.int32)
        baskets = None
        if data.unit_offsets is not None:
            baskets = np.diff(data.unit_offsets[first : last + 1]).astype(np.int32).tobytes()
        items = data.items[start:end].tobytes()
        yield _pieces_row(keys, (last - first + blank, blank, baskets, lengths.tobytes(), items, None))


def mark(cells: Cells, keys: Sequence[tuple[str, int]]) -> pa.RecordBatch:
    """Return a row without purchases that carries check cells."""
    return _pieces_row(keys, (0, 0, b"", b"", b"", cells.tobytes()))


def _pieces_row(keys: Sequence[tuple[str, int]], values: Sequence[int | bytes | None]) -> pa.RecordBatch:
    row = dict(keys) | {field.name: value for field, value in zip(FIELDS, values, strict=True)}
    return pa.RecordBatch.from_pylist(
        [row], schema=pa.schema([*(pa.field(name, pa.int64()) for name, _ in keys), *FIELDS])
    )


One = TypeVar("One")


def grouped(some: Iterable[One], entries: Callable[[One], int]) -> Iterator[list[One]]:
    """Yield these together until they have as many entries as are worked on at once; at least one, empty group."""
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
    rows = (batch.slice(row, 1) for batch in batches for row in range(len(batch)))
    return grouped(rows, lambda row: sum(len(row.column(name)[0].as_buffer()) for name in ("lengths", "items")) // 4)


def joined(batches: Iterable[pa.RecordBatch], count: int, *, by_user: bool) -> Transactions:
    """Return the purchases of some rows together, with codes below count. by_user: whether units have baskets."""
    lengths, items, baskets = found = tuple[list[NDArray[np.int32]], ...](([], [], []))
    blank = 0
    for batch in batches:
        blank += sum(batch.column("blank").to_pylist())
        for own, name in zip(found, ("lengths", "items", "baskets") if by_user else ("lengths", "items"), strict=False):
            own += [np.frombuffer(value.as_buffer(), dtype=np.int32) for value in batch.column(name)]
    return Transactions(
        _offsets(lengths),
        np.concatenate([np.empty(0, dtype=np.int32), *items]),
        numbers(count),
        _offsets(baskets) if by_user else None,
        blank=blank,
    )


def _offsets(parts: list[NDArray[np.int32]]) -> NDArray[np.int64]:
    """Return where each begins, and the end, of things with these sizes."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.concatenate([np.empty(0, np.int32), *parts]))])


def _bounds(data: Transactions) -> list[int]:
    """Return at which units rows begin, and the end of the last."""
    units = data.units - data.blank
    starts = data.offsets if data.unit_offsets is None else data.offsets[data.unit_offsets]
    # An entry for each basket and unit, too: these take as much.
    sizes = np.asarray(starts) + np.arange(units + 1)
    if data.unit_offsets is not None:
        sizes = sizes + data.unit_offsets
    bounds = [0]
    while bounds[-1] < units:
        upto = int(np.searchsorted(sizes, sizes[bounds[-1]] + _ENTRIES, side="right")) - 1
        bounds.append(max(upto, bounds[-1] + 1))
    return bounds if units or not data.blank else [0, 0]


# Items as numbers of 64 bits, by which tasks agree on codes without a list of all names: the driver has the digests of
# all items in the order of their labels, and an item's code is the place of its digest. Two items of one digest are
# noticed when the list is made, and it is made anew with another salt.


def digest(item: Item, salt: int) -> int:
    """Return an item as a whole number of 64 bits with a sign. salt: 0 to 255."""
    kind = b"i" if isinstance(item, int) else b"s"
    made = blake2b(kind + str(item).encode(), digest_size=8, salt=bytes([salt])).digest()
    return int.from_bytes(made, "little", signed=True)


@dataclass(frozen=True)
class ItemDigests:
    """The digests of all items, (count,) int64, all different, in the order of the items' labels.

    salt: that they were made with. left_out: the codes of items that do not count.
    """

    digests: NDArray[np.int64]
    salt: int
    left_out: frozenset[int] = frozenset()

    def __len__(self) -> int:
        """How many items there are."""
        return len(self.digests)

    def __reduce__(self) -> tuple[type[ItemDigests], tuple[object, ...]]:
        """Leave out what was sorted: it is sent to every task, and takes three times as much."""
        return ItemDigests, (self.digests, self.salt, self.left_out)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.digests, kind="stable")

    @cached_property
    def _sorted(self) -> NDArray[np.int64]:
        return self.digests[self._order]

    def code(self, item: Item) -> int | None:
        """Return the code of an item; None for one that is not among them."""
        wanted = digest(item, self.salt)
        place = int(np.searchsorted(self._sorted, wanted))
        if place == len(self) or int(self._sorted[place]) != wanted:
            return None
        return int(self._order[place])

    def codes_in(self, listed: Vocabulary) -> NDArray[np.int32]:
        """Return for each code the code of the same label in a public list, or -1: (count,) int32.

        By the rule of `Vocabulary.codes_in`: what the list lacks is looked for in its other form, 39 for "39".
        """
        labels = [*enumerate(map(listed.label, range(len(listed))))]
        found = np.full(len(self), -1, dtype=np.int32)
        for forms in (_other_forms, lambda label: [label]):  # the label itself comes before its other form
            for number, label in labels:
                for form in forms(label):
                    if (code := self.code(form)) is not None:
                        found[code] = number
        return found


class ItemCodes(dict[Item, int]):
    """The code of each item, -2 - code for one that is left out; found when it is first asked for.

    Raises DataError for an item that was not there when the items were numbered.
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


class NewItems(dict[Item, int]):
    """Numbers items as they are first asked for."""

    def __missing__(self, item: Item) -> int:
        self[item] = number = len(self)
        return number


def _other_forms(label: Item) -> Iterable[Item]:
    """Yield the label of the other kind that means the same item where the list has not that itself."""
    if isinstance(label, int):
        # Of texts only those that are no longer than a token are numbers.
        if re.fullmatch(INTEGER_TOKEN, str(label)):
            yield str(label)
    elif re.fullmatch(r"0|-?[1-9][0-9]{0,18}", label) and -(2**63) <= int(label) < 2**63:
        yield int(label)


# The last row of a task has no item, and the check cells of the rows.
# alike: what a text prints like, where that is a number: by that it is ordered.
_NAMES = pa.schema(
    {"digest": pa.int64(), "number": pa.int64(), "text": pa.string(), "alike": pa.int64(), CHECK: pa.binary()}
)
# In the order of a vocabulary's labels.
_ORDER = ("number", "alike", "text")
# Names are stored in so many partitions: there are few of them, beside the purchases.
_NAME_PARTS = 8
_SALTS = 256


@dataclass(frozen=True)
class ItemNames:
    """The items of a source: their digests, on the driver, and their names, where Spark keeps them.

    stored: what Spark was asked to keep. read: the check cells of the rows of the source.
    """

    digests: ItemDigests
    frame: Any
    stored: Any
    read: Cells

    @property
    def entries(self) -> int:
        """How many items all rows have together."""
        return int(self.read[1])

    def labels(self, codes: Sequence[int]) -> dict[int, Item]:
        """Return the labels of some codes."""
        code_of = {int(self.digests.digests[code]): code for code in codes}
        found: dict[int, Item] = {}
        wanted = sorted(code_of)
        for start in range(0, len(wanted), 1000):  # Spark plans a list in a condition value by value
            some = self.frame.where(self.frame["digest"].isin(wanted[start : start + 1000]))
            for one in collected(some).to_pylist():
                found[code_of[one["digest"]]] = one["text"] if one["number"] is None else one["number"]
        if len(found) != len(code_of):
            raise changed()
        return found


def _names(reader: RowReader, salt: int, checksum: Checksum, batches: Batches) -> Batches:
    """List the items of a partition, each once."""
    seen, cells = NewItems(), np.zeros(CELLS, dtype=np.int64)
    items = checksum.of_items(np.empty(0, dtype=np.int64))
    for rows in reader.rows(batches, reader.labels(seen, 0)):
        fresh = [*islice(reversed(seen), len(seen) - len(items) + 1)][::-1]
        digests = np.array([digest(item, salt) for item in fresh], dtype=np.int64)
        items = np.concatenate([items[:-1], checksum.of_items(digests)])
        cells += checksum.of_rows(rows, items, whole=reader.whole)
        columns = [
            pa.array(digests),
            pa.array([item if isinstance(item, int) else None for item in fresh], pa.int64()),
            pa.array([item if isinstance(item, str) else None for item in fresh], pa.string()),
            pa.array([_alike(item) for item in fresh], pa.int64()),
            pa.nulls(len(fresh), pa.binary()),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=_NAMES)
    yield pa.RecordBatch.from_pylist([{CHECK: cells.tobytes()}], schema=_NAMES)


def _alike(item: Item) -> int | None:
    return int(item) if isinstance(item, str) and re.fullmatch(INTEGER_TOKEN, item) else None


def numbered(frame: Any, reader: RowReader, checksum: Checksum) -> ItemNames:
    """Return the items of a DataFrame. Items of one digest get others, by another salt."""
    for salt in range(_SALTS):
        names = run(frame, partial(_names, reader, salt, checksum), _NAMES, ours=False)
        with spark_call():
            names = names.groupBy("digest", *_ORDER, CHECK, FAILURE).count().coalesce(_NAME_PARTS).persist()
            order = [names[column].asc_nulls_last() for column in _ORDER]
        try:
            found = collected(names.orderBy(*order).select("digest", CHECK, "count", FAILURE))
        except BaseException:
            names.unpersist()
            raise
        # Tasks with the same rows are counted together.
        ends = found.filter(found.column(CHECK).is_valid()).select([CHECK, "count"]).to_pylist()
        read = total(one[CHECK] for one in ends for _ in range(one["count"]))
        digests = found.column("digest").drop_null().to_numpy()
        if len(np.unique(digests)) == len(digests):
            stored = names.where(names["digest"].isNotNull()).select("digest", "number", "text")
            return ItemNames(ItemDigests(digests, salt), stored, names, read)
        names.unpersist()
    raise DataError("the items of these purchases cannot be told apart")  # one in 2^5000 or so


# ------------------------------------------------------------------------------------------------- the purchases

# Which segment of a public list a piece is of; 0 without one.
SEGMENT = "segment"
# A task gets so many entries, unless Spark is asked for fewer tasks, or for more.
FEWEST_ENTRIES, MOST_ENTRIES = 1 << 18, 1 << 23
# How many cells were looked at.
_LOOKED = pa.schema([("length", pa.int64())])


@dataclass(frozen=True)
class Stored:
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
            self.items.stored.unpersist()


def stored_purchases(
    table: Table, applied: Callable[[Transactions], Transactions], excluded: Vocabulary | None
) -> Stored:
    """Read a table. applied: what of the purchases of some units counts. excluded: items that do not.

    Raises DataError for what cannot be read.
    """
    reader = RowReader(table.name, table.roles, table.tokens)
    reader.check(table.schema)
    if table.roles.may_hold_lists and is_text(table.schema.field(table.roles.values[0]).type):
        # A task looks at the first cells, where there are some: no cell comes to the driver.
        collected(run(table.frame, partial(_look_at_cells, reader), _LOOKED, ours=False).limit(1))
    checksum = Checksum(Randomness().bits(64))
    items = numbered(table.frame, reader, checksum)
    try:
        return _gathered(table, reader, items, applied, excluded, checksum)
    except BaseException:
        items.stored.unpersist()
        raise


def _gathered(
    table: Table,
    reader: RowReader,
    items: ItemNames,
    applied: Callable[[Transactions], Transactions],
    excluded: Vocabulary | None,
    checksum: Checksum,
) -> Stored:
    """Return the purchases, with the baskets of each unit together."""
    if excluded is not None:
        codes = np.flatnonzero(items.digests.codes_in(excluded) >= 0)
        items = replace(items, digests=replace(items.digests, left_out=frozenset(codes.tolist())))
    roles, digests = table.roles, items.digests
    assembly = _Assembly(digests, roles.user is not None, roles.by, applied, checksum, reader.whole)
    schema = pa.schema([pa.field(SEGMENT, pa.int64()), *FIELDS])
    if roles.basket or roles.user is not None:
        named = [(roles.user, "user"), (roles.basket[0] if len(roles.basket) == 1 else None, "basket")]
        keys = [pa.field(name, table.schema.field(column).type) for column, name in named if column is not None]
        # Several columns name a basket by a text.
        keys += [pa.field("basket", pa.string())] if len(roles.basket) > 1 else []
        keys += [pa.field(SEGMENT, pa.int32())] if roles.by is not None else []
        rows = pa.schema([*keys, ("codes", pa.binary())])
        frame = run(table.frame, partial(_rows, reader, digests), rows, ours=False)
        frame = _by_unit(frame, roles.user is not None, bool(roles.basket), tasks_for(frame, items.entries))
        frame = run(frame, assembly, schema)
    else:
        frame = run(table.frame, partial(_rows_assembled, reader, digests, assembly), schema, ours=False)
    with spark_call():
        frame = frame.persist()
    segments = 1 if roles.by is None else len(roles.by.names)
    try:
        made = summed(frame, partial(_check_cells, checksum, segments), segments * CELLS, items.read)
    except BaseException:
        frame.unpersist()
        raise
    return Stored(frame, items, roles.user is not None, checksum, made.reshape(segments, CELLS))


def _check_cells(checksum: Checksum, segments: int, batches: Batches) -> tuple[NDArray[np.int64], Cells]:
    """Return the check cells of each segment, (3 * segments,), and those of the rows that these were made of."""
    found = np.zeros((segments, CELLS), dtype=np.int64)
    read: list[bytes | None] = []
    for batch in batches:
        read += batch.column(CHECK).to_pylist()
        for row, segment in enumerate(batch.column(SEGMENT).to_pylist()):
            found[segment] += checksum.of_pieces([batch.slice(row, 1)])
    return found.ravel(), total(read)


def tasks_for(frame: Any, entries: int) -> int:
    """Return by how many tasks so many entries are worked on, which are shuffled.

    As many as Spark's own setting says, but of no fewer entries than are worth a task, nor more than one can have. (Its
    adaptive planner does not look into what it keeps, and knows bytes only.)
    """
    setting = frame.sparkSession.conf.get("spark.sql.shuffle.partitions")
    asked = int(setting) if setting.isdecimal() else entries  # some clusters say "auto"
    return max(-(-entries // MOST_ENTRIES), min(asked, -(-entries // FEWEST_ENTRIES)), 1)


def _by_unit(frame: Any, by_user: bool, has_basket: bool, tasks: int) -> Any:
    """Bring the rows of each unit together: of a user, or of a basket where nobody is named."""
    from pyspark.sql import functions

    if not by_user:
        return frame.repartition(tasks, frame["basket"])
    nobody = frame["user"].isNull()
    # A row that is nobody's and of no basket is a unit of its own; what it holds spreads them.
    alone = frame["basket"] if has_basket else frame["codes"]
    return frame.repartition(tasks, frame["user"], functions.when(nobody, alone))


def _look_at_cells(reader: RowReader, batches: Batches) -> Batches:
    """Look whether the first cells of the item column seem to be lists; fail where they do."""
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
        yield pa.RecordBatch.from_arrays([pa.array([SAMPLE - left])], schema=_LOOKED)


def _rows(reader: RowReader, digests: ItemDigests, batches: Batches) -> Batches:
    """Make rows of a partition: a run of items, and the user and the basket that have it."""
    for rows in reader.rows(batches, reader.labels(ItemCodes(digests), len(digests))):
        keys = {"user": rows.users, "basket": rows.baskets, SEGMENT: rows.segments}
        columns = {name: values for name, values in keys.items() if values is not None}
        codes = rows.codes.astype(np.int32)
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(rows.lengths, dtype=np.int64)])
        columns["codes"] = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(rows.lengths), [None, pa.py_buffer(4 * ends), pa.py_buffer(codes)]
        ).cast(pa.binary())
        yield pa.RecordBatch.from_arrays([*columns.values()], names=[*columns])


def _rows_assembled(reader: RowReader, digests: ItemDigests, assembly: _Assembly, batches: Batches) -> Batches:
    """Make purchases of rows that are a unit each: nothing has to be brought together."""
    rows = reader.rows(batches, reader.labels(ItemCodes(digests), len(digests)))
    for group in grouped(rows, lambda some: len(some.codes) + len(some.lengths)):
        yield from assembly.pieces_of(iter(group))


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
        found = assemble(self._checked(rows, cells), Labels("", known={}, count=len(self.digests)))
        yield mark(cells, [(SEGMENT, 0)])
        if self.by_user and not found.by_user:  # of a partition without rows nobody knows
            found = replace(found, unit_offsets=np.zeros(1, dtype=np.int64))
        segments = [found]
        if self.by is not None:
            # A basket was a unit of its own, with what it has in each segment; in a segment it is a basket.
            segments = [] if found.segments is None else members(found, self.by)
            segments = [one if self.by_user else replace(one, unit_offsets=None) for one in segments]
        for place, own in enumerate(segments):
            counting = self.applied(own)
            # With the codes of before: the labels are codes, which they were.
            codes = counting.vocabulary.integers[counting.items].astype(np.int32)
            coded = replace(counting, items=codes, vocabulary=numbers(len(self.digests)))
            yield from pieces(coded, [(SEGMENT, place)])

    def _checked(self, rows: Iterator[KeyedRows], cells: Cells) -> Iterator[KeyedRows]:
        """Yield rows, and add up their check cells."""
        items = self.checksum.of_items(self.digests.digests)
        for some in rows:
            codes = np.where(some.codes < -1, -2 - some.codes, some.codes)  # those left out were read, too
            cells += self.checksum.of_rows(replace(some, codes=codes), items, whole=self.whole)
            yield some


def _keyed(batch: pa.RecordBatch) -> KeyedRows:
    """Return the rows of a batch that _Rows made."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    codes = columns["codes"].cast(pa.large_binary())
    ends = np.frombuffer(codes.buffers()[1], dtype=np.int64)[codes.offset : codes.offset + len(codes) + 1] // 4
    data = codes.buffers()[2]
    own = np.frombuffer(data, dtype=np.int32)[ends[0] : ends[-1]] if data else np.empty(0, dtype=np.int32)
    return KeyedRows(
        np.diff(ends).astype(np.int32), own, columns.get("basket"), columns.get("user"), columns.get(SEGMENT)
    )
