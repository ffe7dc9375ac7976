"""Support counting in numpy: the counter that runs everywhere, and the oracle for faster ones.

Items are ranked by descending support and every row is written in rank order, so that an itemset's
least frequent item comes last and the items it can be extended with stand before it in the same row. A
frontier of partial itemsets with their occurrences is extended one item at a time (prefix join), and an
extension below the floor ends its branch. Levels are produced by scans with a falling floor, so that
the top of the spectrum costs only the frequent items; a scan keeps a histogram of supports, no itemsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import Top, levels_of
from fim_private.counting.item_ranks import rank_order
from fim_private.counting.work_limit import Effort, Meter, itemset_occurrences, refuse_long
from fim_private.reading.transactions import Transactions

# Entries expanded at a time: some 100 MB of working memory. One partial itemset is never split, so a
# single one may need as many entries as its baskets hold.
_BATCH_ENTRIES = 1 << 21
# Each further scan lowers the floor by this factor: deep reads cost at most about a third more than one scan.
_FLOOR_FACTOR = 4


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
class _Found:
    """Itemsets at or above the floor: (m, size) ranks and (m,) supports, in scan order."""

    chosen: NDArray[np.int32]
    group: NDArray[np.int64]
    last: NDArray[np.int64]
    support: NDArray[np.int64]


class PortableCounter:
    """Counts itemsets of one size in one set of transactions; see `counter.Counter`.

    size: items, >= 2; for 1 the supports of items alone. min_support: units, >= 1; nothing below counts.
    effort: limit of work and progress; there is one thread.
    """

    def __init__(self, transactions: Transactions, size: int, min_support: int, effort: Effort) -> None:
        self._transactions = transactions
        self._size = size
        self._min_support = min_support
        self._effort = effort

    @cached_property
    def item_supports(self) -> NDArray[np.int64]:
        """How many units have each item: (vocabulary,) int64."""
        return item_supports(self._transactions)

    @cached_property
    def most_work(self) -> int:
        """How many steps a pass over all itemsets takes at most."""
        return itemset_occurrences(np.diff(self._transactions.offsets), self._size)

    def top(self, ceiling: int | None, wanted: int | None) -> Top:
        """Count itemsets of support below ceiling (None: all), down to a part of the ceiling; with wanted None, all.

        How many are wanted does not matter: each further scan lowers the floor.
        Raises WorkLimitError where that takes more steps than allowed.
        """
        if ceiling is None:
            # No itemset has more support than its least frequent item: c(1) is at most the size-th support.
            ranked = np.sort(self.item_supports)[::-1]
            ceiling = int(ranked[self._size - 1]) + 1 if len(ranked) >= self._size else 1
        if ceiling <= self._min_support:
            return Top([], self._min_support)
        refuse_long(self._size, self.most_work)
        if wanted is None:
            self._effort.refuse_infeasible(self._size, self.most_work)
        # As much as a reader of the top may want: each further scan lowers the floor.
        floor = self._min_support if wanted is None else max(ceiling // _FLOOR_FACTOR, self._min_support)
        histogram, meter = np.zeros(ceiling, dtype=np.int64), self._meter()
        for found in _scan(self._transactions, self.item_supports, self._size, floor, meter):
            counts = np.bincount(found.support[found.support < ceiling])
            histogram[: len(counts)] += counts
        return Top(levels_of(histogram, floor), floor, meter.done)

    def locate(self, support: int, index: int) -> list[int]:
        """Return the codes of the index-th itemset of exactly that support, in scan order: size of them.

        Scan order depends on the baskets as sets of labels alone, not on where they were read from.
        Raises LookupError where there are not so many, WorkLimitError as `top` does.
        """
        for codes, _ in self._between(support, support):
            if index < len(codes):
                return [int(code) for code in codes[index]]
            index -= len(codes)
        raise LookupError("no such itemset")

    def itemsets(self, lowest: int, highest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the itemsets of supports lowest..highest: (m, size) codes in scan order, and (m,) supports.

        Raises WorkLimitError as `top` does.
        """
        empty = np.empty((0, self._size), dtype=np.int64), np.empty(0, dtype=np.int64)
        codes, supports = zip(empty, *self._between(lowest, highest), strict=True)
        return np.concatenate(codes), np.concatenate(supports)

    def _between(self, lowest: int, highest: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        order = rank_order(self.item_supports)
        for found in _scan(self._transactions, self.item_supports, self._size, lowest, self._meter()):
            asked = np.flatnonzero(found.support <= highest)
            ranks = np.column_stack([found.chosen[found.group[asked]], found.last[asked]])
            yield order[ranks], found.support[asked]

    def _meter(self) -> Meter:
        return Meter(self._effort, self._size, self.most_work)


def item_supports(transactions: Transactions) -> NDArray[np.int64]:
    """Return how many units have each item: (vocabulary,) int64."""
    items = transactions.items
    if transactions.unit_offsets is not None and len(items):
        key = _unit_of_entries(transactions) * len(transactions.vocabulary) + items
        items = np.unique(key) % len(transactions.vocabulary)
    return np.bincount(items, minlength=len(transactions.vocabulary))


def _unit_of_entries(transactions: Transactions) -> NDArray[np.int64]:
    baskets = np.diff(transactions.offsets)
    if transactions.unit_offsets is None:
        return np.repeat(np.arange(transactions.kept), baskets)
    units = np.diff(transactions.unit_offsets)
    return np.repeat(np.repeat(np.arange(len(units)), units), baskets)


def _scan(
    transactions: Transactions, supports: NDArray[np.int64], size: int, floor: int, meter: Meter
) -> Iterator[_Found]:
    """Yield every itemset of that size >= 2 with support >= floor >= 1, in a fixed order, depth first."""
    rows = _frequent_rows(transactions, supports, size, floor)
    by_rank = _stable_order(rows.rank)
    frontier = _Frontier(
        np.arange(len(rows.code), dtype=np.int32)[:, None], rows.rank[by_rank].astype(np.int64), by_rank
    )
    waiting = [_extend(rows, frontier, size, floor, meter)]
    while waiting:
        extended = next(waiting[-1], None)
        if isinstance(extended, _Found):
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
) -> Iterator[_Frontier | _Found]:
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
) -> _Frontier | _Found | None:
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
        return _Found(chosen, owner, last, support)
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
