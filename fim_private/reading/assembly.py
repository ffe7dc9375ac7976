"""Assembly: chunks of rows to transactions. Rows of one basket are merged, baskets of one user made neighbours.

A row is a run of items with the keys (basket, user) it belongs to. Long formats give runs of equal keys,
list columns one run a row. All sources meet here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fim_private.reading import memory
from fim_private.reading import memory as chunk_sizes
from fim_private.reading.labels import Codes, Labels
from fim_private.reading.transactions import Chunk, Transactions, canonical_baskets
from fim_private.reading.values import arrow_of, null_mask, numpy_of

# So many rows without items are kept in their place; a file of a few megabytes may hold thousands of times as many.
_BLANK_ROWS = 1 << 20


@dataclass(frozen=True)
class KeyedRows:
    """One chunk of rows, with the keys they belong to.

    lengths: (rows,) integer, how many items each row has. codes: (sum of lengths,) int32 provisional, -1 for a null.
    baskets, users: (rows,) Arrow arrays; None when each row is a basket, or there are no users. A user may be
        null: the row is nobody's, and its basket a unit of its own.
    segments: (rows,) Arrow int32, no nulls, >= 0; None where there are none.
    """

    lengths: NDArray[np.integer]
    codes: Codes
    baskets: pa.Array | None = None
    users: pa.Array | None = None
    segments: pa.Array | None = None

    def without_nulls(self) -> KeyedRows:
        """Return the rows without the nulls among their items: what they need in memory is what they hold."""
        held = self.codes >= 0
        if held.all():
            return self
        before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(held)])
        ends = np.cumsum(self.lengths, dtype=np.int64)
        return replace(self, codes=self.codes[held], lengths=before[ends] - before[ends - self.lengths])


def runs(codes: Codes, baskets: pa.Array | None, users: pa.Array | None, segments: pa.Array | None = None) -> KeyedRows:
    """Return entries, one key each, as rows: neighbours with equal keys make one row; without keys each is one.

    codes: (entries,) int32 provisional, -1 for a null. baskets, users, segments: (entries,) Arrow arrays, as in
    KeyedRows.
    """
    keys = [baskets, users, segments]
    if baskets is None and users is None and segments is None:
        return KeyedRows(np.ones(len(codes), dtype=np.int32), codes)
    starts = np.flatnonzero(_changes([key for key in keys if key is not None]))
    lengths = np.diff(starts, append=len(codes)).astype(np.int32)
    at = arrow_of(starts)
    return KeyedRows(lengths, codes, *(None if key is None else key.take(at) for key in keys))


def assemble(chunks: Iterable[KeyedRows], labels: Labels) -> Transactions:
    """Read all chunks, then build the transactions in the memory that holds the codes.

    chunks: all with the same kinds of keys. labels: what encodes the items of the chunks, while they are read.
    Without basket ids every row is a basket; without users every basket is a unit, with users all baskets of a user.
    Where every row is a unit, those without items, beyond the first million, are only counted: `Transactions.blank`.
    """
    limit = memory.current()
    buffer = _Growing()
    lengths = _Growing()
    baskets: list[pa.Array] = []
    users: list[pa.Array] = []
    segments: list[pa.Array] = []
    pool = pa.default_memory_pool()
    kept = blank = keys = 0
    for chunk in chunks:
        rows = chunk.without_nulls()
        buffer.append(rows.codes)
        kept += len(rows.lengths) - int(np.count_nonzero(rows.lengths))
        if kept > _BLANK_ROWS and rows.baskets is None and rows.users is None and rows.segments is None:
            held = rows.lengths[rows.lengths > 0]
            blank += len(rows.lengths) - len(held)
            lengths.append(held)
        else:
            lengths.append(rows.lengths)
        if rows.baskets is not None:
            baskets.append(rows.baskets)
        if rows.users is not None:
            users.append(rows.users)
        if rows.segments is not None:
            segments.append(rows.segments)
        given = [part for part in (rows.baskets, rows.users, rows.segments) if part is not None]
        keys += sum(memory.KEYED_ROW * len(part) + memory.COPIES * _own_bytes(part) for part in given)
        limit.check(memory.ENTRY * len(buffer) + memory.ROW * len(lengths) + keys + memory.COPIES * labels.held)
        # Otherwise what a batch needed to be decoded stays, scattered, in Arrow's memory pool.
        pool.release_unused()
    codes = buffer.array()
    sizes: NDArray[np.integer] = lengths.array()
    vocabulary, final = labels.finish(_pieces(codes))
    unit_offsets = None
    segment: NDArray[np.int32] | None = np.concatenate([*map(numpy_of, segments)]) if segments else None
    if baskets or users:
        group, unit_offsets = _groups(baskets, users, segment, len(sizes))
        segment = None if segment is None else _of_groups(segment, group)
        sizes, final = _merge(codes, sizes, group, final)
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return Transactions(
        *canonical_baskets(_whole_baskets(codes, offsets), final, out=codes),
        vocabulary,
        unit_offsets,
        blank=blank,
        segments=segment,
    )


class _Growing:
    """An int32 array that grows at its end; large ones grow where they are, without a copy."""

    def __init__(self) -> None:
        # Not yet memory, only addresses; and so large an allocation of its own grows by remapping.
        self._data = np.empty(1 << 24, dtype=np.int32)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, values: NDArray[np.integer]) -> None:
        """Append integers that fit into 32 bits."""
        size = self._size + len(values)
        if size > len(self._data):
            self._data.resize(max(size, len(self._data) * 5 // 4), refcheck=False)
        self._data[self._size : size] = values
        self._size = size

    def array(self) -> NDArray[np.int32]:
        """Return what was appended. Nothing may be appended after this."""
        self._data.resize(self._size, refcheck=False)
        return self._data


def _own_bytes(keys: pa.Array) -> int:
    """Return how many bytes of keys are kept, without a dictionary, which neighbours share."""
    return int((keys.indices if pa.types.is_dictionary(keys.type) else keys).nbytes)


def _changes(keys: list[pa.Array]) -> NDArray[np.bool_]:
    """Return which entries differ from the one before in any key; the first does: (entries,) bool. Nulls are equal."""
    changed = np.zeros(len(keys[0]), dtype=bool)
    changed[:1] = True
    for key in keys:
        if pa.types.is_null(key.type):
            continue
        values = key.indices if pa.types.is_dictionary(key.type) else key
        differs = numpy_of(pc.not_equal(values[1:], values[:-1]))
        if values.null_count:
            # Whether a null differs from anything is null.
            null = null_mask(values)
            differs = np.where(null[1:] | null[:-1], null[1:] != null[:-1], differs)
        changed[1:] |= differs
    return changed


def _groups(
    baskets: list[pa.Array], users: list[pa.Array], segment: NDArray[np.int32] | None, rows: int
) -> tuple[NDArray[np.integer], NDArray[np.int64] | None]:
    """Return the basket number of each row, and the first basket of each unit: of each user, then of nobody.

    Numbers ascend where the rows of each basket are together already, so that most files need no sort. segment: of each
    row; where there are segments a basket has one part in each of them, and is a unit, unless users are.
    """
    basket: NDArray[np.integer] = _numbers(baskets) if baskets else np.arange(rows, dtype=np.int32)
    if not users and segment is None:
        return basket, None
    user = _units(users, basket) if users else basket
    if segment is not None:
        basket = _numbers_by_appearance(pa.chunked_array([arrow_of((basket.astype(np.int64) << 32) | segment)]))
    # A basket id is only good inside its user: one of another user's rows must not change this one's baskets. Numbered
    # by appearance, a user's baskets are in the order of that user's own rows, whoever else is in the file.
    number = _numbers_by_appearance(pa.chunked_array([arrow_of((user.astype(np.int64) << 32) | basket)]))
    owner = np.empty(number.max(initial=-1) + 1, dtype=np.int32)
    owner[number] = user
    order = np.argsort(owner, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    sizes = np.bincount(owner)
    return rank[number], np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])


def _of_groups(values: NDArray[np.int32], group: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return the value of each group, of whose rows all have the same: (groups,)."""
    found = np.empty(int(group.max(initial=-1)) + 1, dtype=np.int32)
    found[group] = values
    return found


def _units(users: list[pa.Array], basket: NDArray[np.integer]) -> NDArray[np.int32]:
    """Number the unit of each row 0, 1, 2, ...: users first, then the baskets of rows without one."""
    nobody = np.concatenate([null_mask(part) for part in users])
    if not nobody.any():
        return _numbers(users)
    unit = np.empty(len(nobody), dtype=np.int32)
    named = _numbers([part.drop_null() for part in users])
    users.clear()
    unit[~nobody] = named
    unit[nobody] = named.max(initial=-1) + 1 + _numbers([arrow_of(basket[nobody])])
    return unit


def _numbers(parts: list[pa.Array]) -> NDArray[np.int32]:
    """Number distinct keys, no nulls, 0, 1, 2, ... so that keys that come in ascending order get ascending numbers.

    Others are numbered by value or by appearance, whichever is cheaper: which numbers are equal follows from the keys'
    values alone, their order does not, and nothing may depend on it. Empties the list.
    """
    keys = pa.chunked_array([part.dictionary_decode() if pa.types.is_dictionary(part.type) else part for part in parts])
    parts.clear()
    if pa.types.is_integer(keys.type) and len(keys) and not _ascend(keys):
        low, high = pc.min_max(keys).as_py().values()
        if high - low < 4 * len(keys):
            return _numbers_by_value([numpy_of(chunk) for chunk in keys.chunks], low, high)
    return _numbers_by_appearance(keys)


def _ascend(keys: pa.ChunkedArray) -> bool:
    """Tell whether keys come in ascending order."""
    return pc.all(pc.greater_equal(keys[1:], keys[:-1])).as_py() is not False


def _numbers_by_appearance(keys: pa.ChunkedArray) -> NDArray[np.int32]:
    """Number distinct keys, no nulls, 0, 1, 2, ... in the order in which they first appear."""
    if not len(keys):
        return np.empty(0, dtype=np.int32)
    if _ascend(keys):
        # Not combine_chunks: of no chunks it makes an array in a way that imports pandas.
        changed = [numpy_of(chunk) for chunk in pc.not_equal(keys[1:], keys[:-1]).chunks]
        return np.cumsum(np.concatenate([np.zeros(1, dtype=bool), *changed]), dtype=np.int32)
    return np.concatenate([numpy_of(chunk.indices) for chunk in keys.dictionary_encode().chunks])


def _numbers_by_value(keys: list[NDArray[np.integer]], low: int, high: int) -> NDArray[np.int32]:
    """Number distinct keys in ascending order. low, high: the least and the greatest of them."""
    # As unsigned numbers of the same width: int8 holds no 200, the distance from -100 to 100, and would wrap.
    unsigned = np.dtype(f"u{keys[0].dtype.itemsize}")
    base = unsigned.type(low % (1 << 8 * unsigned.itemsize))
    occurs = np.zeros(high - low + 1, dtype=bool)
    for part in keys:
        occurs[part.view(unsigned) - base] = True
    number = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
    return np.concatenate([number[part.view(unsigned) - base] for part in keys])


def _merge(
    codes: Codes, sizes: NDArray[np.integer], group: NDArray[np.integer], final: Codes
) -> tuple[NDArray[np.int64], Codes]:
    """Bring the rows of each basket together, in place.

    Returns the size of each basket, and what turns the codes, as they are then, into final ones.
    """
    if (group[1:] >= group[:-1]).all():
        first = np.flatnonzero(np.diff(group, prepend=-1))
        return np.add.reduceat(sizes, first, dtype=np.int64) if len(first) else sizes.astype(np.int64), final
    # Final codes before the sort: then one sort is enough for the order of baskets and inside them.
    final_or_null = np.append(final, np.int32(-1))
    key = np.empty(len(codes), dtype=np.int64)
    end = 0
    for start in range(0, len(sizes), chunk_sizes.ENTRIES):
        rows = slice(start, start + chunk_sizes.ENTRIES)
        entries = slice(end, end + int(sizes[rows].sum()))
        key[entries] = np.repeat(group[rows], sizes[rows])
        key[entries] <<= 32
        # As unsigned, so that the sign of a null does not reach the basket number.
        key[entries] |= final_or_null[codes[entries]].view(np.uint32)
        end = entries.stop
    key.sort()
    # Narrowing keeps the low half, which is the code.
    np.copyto(codes.view(np.uint32), key, casting="unsafe")
    bounds = np.arange(int(group.max()) + 2, dtype=np.int64) << 32
    return np.diff(np.searchsorted(key, bounds)), np.arange(len(final), dtype=np.int32)


def _whole_baskets(codes: Codes, offsets: NDArray[np.int64]) -> Iterator[Chunk]:
    """Cut codes into chunks where baskets end; a chunk has at least one basket, and empty ones come along."""
    done = 0
    while done < len(offsets) - 1:
        upto = int(np.searchsorted(offsets, offsets[done] + chunk_sizes.ENTRIES, side="right")) - 1
        upto = max(upto, done + 1)
        yield np.diff(offsets[done : upto + 1]), codes[offsets[done] : offsets[upto]]
        done = upto


def _pieces(codes: Codes) -> Iterator[Codes]:
    """Yield the codes a chunk at a time."""
    return (codes[start : start + chunk_sizes.ENTRIES] for start in range(0, len(codes), chunk_sizes.ENTRIES))
