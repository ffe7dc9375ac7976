"""Prefix joins in numpy: all itemsets of a size with at least some support, item by item, depth first.

Every row is written in rank order, so that an itemset's least frequent item comes last and the items it can be extended
with stand before it in the same row. A frontier of partial itemsets with their occurrences is extended one item at a
time, and an extension below the floor ends its branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.item_ranks import rank_order
from fim_private.counting.work_limit import Meter
from fim_private.reading.transactions import Transactions

# Entries expanded at a time: some 100 MB of working memory. One partial itemset is never split, so a
# single one may need as many entries as its baskets hold.
_BATCH_ENTRIES = 1 << 21


@dataclass(frozen=True)
class _FrequentRows:
    """The baskets, cut to their frequent items and in rank order.

    code: (f,) item code of each rank. rank: (e,) int32 ranks of the entries, ascending inside a row.
    start: (e,) index of the first entry of each entry's row. unit: (e,) privacy unit of each entry, or
    None when each row is a unit.
    """

    code: NDArray[np.int64]
    rank: NDArray[np.int32]
    start: NDArray[np.int64]
    unit: NDArray[np.int64] | None


@dataclass(frozen=True)
class _Frontier:
    """Partial itemsets and where they occur.

    chosen: (g, k) ranks, descending along a row. group: (o,) index into chosen, ascending.
    entry: (o,) the entry of the last chosen item, ascending inside a group.
    """

    chosen: NDArray[np.int32]
    group: NDArray[np.int64]
    entry: NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """Itemsets at or above the floor: (m, size) ranks and (m,) supports, in scan order."""

    chosen: NDArray[np.int32]
    group: NDArray[np.int64]
    last: NDArray[np.int64]
    support: NDArray[np.int64]


def scan(
    transactions: Transactions,
    supports: NDArray[np.int64],
    size: int,
    floor: int,
    meter: Meter,
    last: tuple[int, int] | None = None,
) -> Iterator[Found]:
    """Yield every itemset of that size >= 2 with support >= floor >= 1, in a fixed order, depth first.

    last: only those whose least frequent item has a rank from the first number up to before the second.
    """
    rows = _frequent_rows(transactions, supports, size, floor)
    by_rank = _stable_order(rows.rank)
    if last is not None:
        by_rank = by_rank[slice(*np.searchsorted(rows.rank[by_rank], last))]
    frontier = _Frontier(
        np.arange(len(rows.code), dtype=np.int32)[:, None], rows.rank[by_rank].astype(np.int64), by_rank
    )
    waiting = [_extend(rows, frontier, size, floor, meter)]
    while waiting:
        extended = next(waiting[-1], None)
        if isinstance(extended, Found):
            yield extended
        elif extended is None:
            waiting.pop()
        else:
            waiting.append(_extend(rows, extended, size, floor, meter))


def _frequent_rows(transactions: Transactions, supports: NDArray[np.int64], size: int, floor: int) -> _FrequentRows:
    """Cut the baskets to items of support >= floor, and to baskets that still hold size of them."""
    code = rank_order(supports, floor)
    rank_of = np.full(len(supports), -1, dtype=np.int32)
    rank_of[code] = np.arange(len(code), dtype=np.int32)
    rank = rank_of[transactions.items]
    kept = np.flatnonzero(rank >= 0)
    row = np.searchsorted(transactions.offsets, kept, side="right") - 1
    row, rank = _rows_of_at_least(size, row, rank[kept])
    key = (row << 32) | rank
    key.sort()
    row, rank = key >> 32, (key & 0xFFFFFFFF).astype(np.int32)
    first = np.flatnonzero(np.diff(row, prepend=-1))
    start = np.repeat(first, np.diff(first, append=len(row)))
    unit = None
    if transactions.unit_offsets is not None:
        unit = np.searchsorted(transactions.unit_offsets, row, side="right") - 1
    return _FrequentRows(code, rank, start, unit)


def _rows_of_at_least(
    size: int, row: NDArray[np.int64], rank: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    first = np.flatnonzero(np.diff(row, prepend=-1))
    length = np.diff(first, append=len(row))
    long_enough = np.repeat(length >= size, length)
    return row[long_enough], rank[long_enough]


def _stable_order(values: NDArray[np.integer]) -> NDArray[np.int64]:
    """Stable argsort of nonnegative integers below 2^32: numpy's is a radix sort for 16 bits, so by halves."""
    order = np.argsort((values & 0xFFFF).astype(np.uint16), kind="stable")
    if len(values) and int(values.max()) > 0xFFFF:
        order = order[np.argsort((values[order] >> 16).astype(np.uint16), kind="stable")]
    return order


def _extend(
    rows: _FrequentRows, frontier: _Frontier, size: int, floor: int, meter: Meter
) -> Iterator[_Frontier | Found]:
    """Extend every partial itemset by one more frequent item, a batch at a time: to itemsets of that size at last."""
    remaining = size - frontier.chosen.shape[1]
    room = frontier.entry - rows.start[frontier.entry]
    able = room >= remaining
    group, entry, room = frontier.group[able], frontier.entry[able], room[able]
    work = np.cumsum(room)
    begin = 0
    while begin < len(group):
        done = work[begin - 1] if begin else 0
        end = int(np.searchsorted(work, done + _BATCH_ENTRIES, side="right"))
        end = max(end, begin + 1)
        if end < len(group):  # do not split a partial itemset: fall back to its start, or take it whole
            whole = int(np.searchsorted(group, group[end], side="left"))
            end = whole if whole > begin else int(np.searchsorted(group, group[end], side="right"))
        batch = slice(begin, end)
        extended = _extend_batch(
            rows, frontier.chosen, group[batch], entry[batch], room[batch], remaining == 1, floor, meter
        )
        if extended is not None:
            yield extended
        begin = end


def _extend_batch(
    rows: _FrequentRows,
    chosen: NDArray[np.int32],
    group: NDArray[np.int64],
    entry: NDArray[np.int64],
    room: NDArray[np.int64],
    last_item: bool,
    floor: int,
    meter: Meter,
) -> _Frontier | Found | None:
    """Extend some partial itemsets by one item; None where nothing reaches the floor."""
    total = int(room.sum())
    meter(total)
    before = np.cumsum(room) - room
    candidate = np.arange(total) + np.repeat(rows.start[entry] - before, room)
    # An extension is a pair (partial itemset, item): the item's rank is below that of the last one chosen.
    base, width = int(group[0]), int(chosen[group[0] : group[-1] + 1, -1].max())
    key = np.repeat((group - base) * width, room) + rows.rank[candidate]
    units = None if rows.unit is None else np.repeat(rows.unit[entry], room)
    extension, support = _count(key, units, (int(group[-1]) - base + 1) * width)
    frequent = support >= floor
    extension, support = extension[frequent], support[frequent]
    if not len(extension):
        return None
    owner, last = base + extension // width, extension % width
    if last_item:
        return Found(chosen, owner, last, support)
    index = np.minimum(np.searchsorted(extension, key), len(extension) - 1)
    kept = extension[index] == key
    index, candidate = index[kept], candidate[kept]
    order = _stable_order(index)
    longer = np.concatenate([chosen[owner], last[:, None].astype(np.int32)], axis=1)
    return _Frontier(longer, index[order], candidate[order])


def _count(
    key: NDArray[np.int64], units: NDArray[np.int64] | None, bound: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys, ascending, and how many units have each; keys are below bound."""
    if units is None and bound <= 4 * len(key) + (1 << 16):
        counts = np.bincount(key)
        distinct = np.flatnonzero(counts)
        return distinct, counts[distinct]
    if units is None:
        key = np.sort(key)
    else:
        # Units ascend inside a partial itemset, so a stable sort by key leaves a unit's repeats adjacent.
        order = np.argsort(key, kind="stable")
        key, units = key[order], units[order]
        fresh = np.ones(len(key), dtype=bool)
        fresh[1:] = (key[1:] != key[:-1]) | (units[1:] != units[:-1])
        key = key[fresh]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    return key[first], np.diff(first, append=len(key))
