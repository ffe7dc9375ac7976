"""Purchases as rows of Spark, and back: some thousand units a row, as arrays of whole numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.reading.known_labels import numbers
from fim_private.reading.transactions import Transactions
from fim_private.spark.check_cells import CHECK, Cells

# So many entries and baskets are worked on at once, about, which bounds what a task needs of memory.
AT_ONCE = 1 << 23
# So many entries are in a row, at most, unless a single unit has more.
_ENTRIES = 1 << 20

# units: how many. blank: how many of them are only counted. baskets: (units,) int32, how many each has; null where a
# basket is a unit. lengths: (baskets,) int32, how many items each has. items: int32 codes, as in Transactions.
# check: what `mark` was given; null in all other rows.
FIELDS = (
    pa.field("units", pa.int64()),
    pa.field("blank", pa.int64()),
    pa.field("baskets", pa.binary()),
    pa.field("lengths", pa.binary()),
    pa.field("items", pa.binary()),
    pa.field(CHECK, pa.binary()),
)


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
        yield _row(keys, (last - first + blank, blank, baskets, lengths.tobytes(), items, None))


def mark(cells: Cells, keys: Sequence[tuple[str, int]]) -> pa.RecordBatch:
    """Return a row without purchases that carries check cells."""
    return _row(keys, (0, 0, b"", b"", b"", cells.tobytes()))


def _row(keys: Sequence[tuple[str, int]], values: Sequence[int | bytes | None]) -> pa.RecordBatch:
    columns = [pa.array([value], field.type) for value, field in zip(values, FIELDS, strict=True)]
    names = [name for name, _ in keys] + [field.name for field in FIELDS]
    return pa.RecordBatch.from_arrays([*(pa.array([key], pa.int64()) for _, key in keys), *columns], names=names)


def grouped(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Yield rows together until they have as many entries as are worked on at once; at least one, empty group."""
    group: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        lengths, items = (batch.column(batch.schema.get_field_index(name)) for name in ("lengths", "items"))
        for row in range(len(batch)):
            group.append(batch.slice(row, 1))
            held += len(items[row].as_buffer()) + len(lengths[row].as_buffer())
            if held >= 4 * AT_ONCE:
                yield group
                group, held = [], 0
    yield group


def joined(batches: Iterable[pa.RecordBatch], count: int, *, by_user: bool) -> Transactions:
    """Return the purchases of some rows together, with codes below count. by_user: whether units have baskets."""
    lengths: list[NDArray[np.int32]] = []
    items: list[NDArray[np.int32]] = []
    baskets: list[NDArray[np.int32]] = []
    blank = 0
    for batch in batches:
        columns = {name: batch.column(batch.schema.get_field_index(name)) for name in batch.schema.names}
        for row in range(len(batch)):
            lengths.append(np.frombuffer(columns["lengths"][row].as_buffer(), dtype=np.int32))
            items.append(np.frombuffer(columns["items"][row].as_buffer(), dtype=np.int32))
            blank += columns["blank"][row].as_py()
            if by_user:
                baskets.append(np.frombuffer(columns["baskets"][row].as_buffer(), dtype=np.int32))
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
