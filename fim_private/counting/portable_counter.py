"""Support counting in numpy: the counter that runs everywhere, and the oracle for faster ones.

Itemsets are found by prefix joins. Levels are produced by scans with a falling floor, so that the top of the spectrum
costs only the frequent items; a scan keeps a histogram of supports, no itemsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import Top, levels_of, only_level
from fim_private.counting.item_ranks import rank_order
from fim_private.counting.prefix_join import Found, scan
from fim_private.counting.shards import Shard
from fim_private.counting.work_limit import Effort, Meter, itemset_occurrences, refuse_long
from fim_private.reading.transactions import Transactions

# Each further scan lowers the floor by this factor: deep reads cost at most about a third more than one scan.
_FLOOR_FACTOR = 4


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
            if self._min_support < ceiling == 2:
                refuse_long(self._size, self.most_work)
                only = only_level(self._transactions, self._size, self._effort)
                if only is not None:
                    return only
        if ceiling <= self._min_support:
            return Top([], self._min_support)
        refuse_long(self._size, self.most_work)
        if wanted is None:
            self._effort.refuse_infeasible(self._size, self.most_work)
        # As much as a reader of the top may want: each further scan lowers the floor.
        floor = self._min_support if wanted is None else max(ceiling // _FLOOR_FACTOR, self._min_support)
        return self._counted(ceiling, floor)

    def _counted(self, ceiling: int, floor: int) -> Top:
        """Count the itemsets of supports floor..ceiling - 1."""
        histogram, meter = np.zeros(ceiling, dtype=np.int64), self._meter()
        for found in self._found(floor, meter):
            counts = np.bincount(found.support[found.support < ceiling])
            histogram[: len(counts)] += counts
        return Top(levels_of(histogram, floor), floor, meter.done)

    def _found(self, floor: int, meter: Meter) -> Iterator[Found]:
        """Yield the itemsets of at least that support."""
        return scan(self._transactions, self.item_supports, self._size, floor, meter)

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
        for found in self._found(lowest, self._meter()):
            asked = np.flatnonzero(found.support <= highest)
            ranks = np.column_stack([found.chosen[found.group[asked]], found.last[asked]])
            yield order[ranks], found.support[asked]

    def _meter(self) -> Meter:
        return Meter(self._effort, self._size, self.most_work)


class PortableShard(PortableCounter):
    """Counts the itemsets whose least frequent item is among some ranks; see `shards.ShardCounter`."""

    def __init__(self, shard: Shard, size: int, effort: Effort) -> None:
        super().__init__(shard.transactions, size, 1, effort)
        self._shard = shard
        # The codes are ranks, so ranking them by these leaves them as they are.
        self.item_supports = shard.supports

    def descend(self, ceiling: int, floor: int, wanted: int | None) -> Top:
        """Count itemsets of supports floor..ceiling - 1, however many are wanted; see `ShardCounter`."""
        refuse_long(self._size, self.most_work)
        most = int(self._shard.supports[self._shard.low]) + 1
        return self._counted(min(ceiling, most), floor) if floor < most else Top([], floor)

    def _found(self, floor: int, meter: Meter) -> Iterator[Found]:
        """Yield the shard's itemsets of at least that support."""
        last = self._shard.low, self._shard.high
        return scan(self._transactions, self.item_supports, self._size, floor, meter, last)


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
