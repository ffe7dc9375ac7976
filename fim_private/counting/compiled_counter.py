"""Support counting by the compiled kernel: which ranks it goes through in which way, and how far.

Arrays beside the transactions: the baskets in rank order (4 bytes an entry) and, of the ranks that are being
scanned, the rows of each (at most 4 bytes an entry), so some three times the transactions at the peak.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fim_private.counting import kernel
from fim_private.counting.counter import Top, one_basket_each, only_level
from fim_private.counting.item_ranks import at_least, rank_order
from fim_private.counting.kernel_arrays import (
    RankColumns,
    RankedRows,
    bitmaps,
    columns,
    item_supports,
    prefixes,
    rank_supports,
    ranked_bitmaps,
    ranked_rows,
    streams,
)
from fim_private.counting.work_limit import Effort, itemset_occurrences
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import Level

# The kernel recurses once an item, on a thread's stack.
LARGEST_SIZE = 256
# More than this the kernel cannot count.
_MOST_WORK = (1 << 63) - 1
# Pairs of the most frequent ranks have a table, filled in one pass over the rows: 2 MB a thread.
_PAIR_CELLS = 1 << 19
# While only the top is asked for, ranks get their columns in these steps: most are never needed.
_RANK_STEPS = (4096, 65536)
# Entries from which the rows are far larger than the caches.
LARGE = 1 << 22
# Of a basket of more items than this a scan takes minutes before it has met its first itemset.
_VAST = 1 << 17


class CompiledCounter:
    """Counts itemsets of one size in one set of transactions; see `counter.Counter`.

    size: items, 2 to LARGEST_SIZE; for 1 the supports of items alone. min_support: units, >= 1; nothing below counts.
    effort: threads, limit of work and progress.
    """

    def __init__(self, transactions: Transactions, size: int, min_support: int, effort: Effort) -> None:
        self._transactions = transactions
        self._size = size
        self._min_support = min_support
        self._effort = effort

    @cached_property
    def item_supports(self) -> NDArray[np.int64]:
        """How many units have each item: (vocabulary,) int64."""
        return item_supports(self._transactions, self._effort)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """The code of each rank: of the items that have the minimum support, and so may count."""
        return rank_order(self.item_supports, self._min_support)

    @cached_property
    def _supports(self) -> NDArray[np.int64]:
        """The support of each rank, descending."""
        return self.item_supports[self._order]

    @cached_property
    def _rank_of(self) -> NDArray[np.int32]:
        """The rank of each code, -1 for none: (vocabulary,)."""
        rank_of = np.full(len(self.item_supports), -1, dtype=np.int32)
        rank_of[self._order] = np.arange(len(self._order), dtype=np.int32)
        return rank_of

    @cached_property
    def _rows(self) -> RankedRows:
        return ranked_rows(self._transactions, self._rank_of, self._effort)

    @cached_property
    def most_work(self) -> int:
        """How many steps a pass over all itemsets takes, about."""
        return itemset_occurrences(self._enumerated_lengths(), self._size)

    def top(self, ceiling: int | None, wanted: int | None) -> Top:
        """Count itemsets of support below ceiling (None: all), from the top down to the wanted-th (None: all).

        Raises WorkLimitError where that takes more steps than allowed, MemoryError where there is too little memory.
        """
        if ceiling is None:
            # No itemset has more support than its least frequent item.
            ceiling = int(self._supports[self._size - 1]) + 1 if len(self._supports) >= self._size else 1
            only = self._only_level(ceiling)
            if only is not None:
                return only
        if ceiling <= self._min_support:
            return Top([], self._min_support)
        if wanted is None and self._transactions.baskets * math.comb(self._longest, self._size) > self._effort.max_work:
            self._effort.refuse_infeasible(self._size, self.most_work)
        scan = self._scan(self._size, ceiling, self._min_support, wanted or 0)
        ranks, done = len(self._supports), self._count_head(scan)
        large = len(self._transactions.items) >= LARGE
        for step in (*_RANK_STEPS, ranks) if wanted is not None else (ranks,):
            high = min(step, at_least(scan.floor, self._supports))
            if high > done:
                self._count_ranks(scan, done, high, copied=large and self._size > 2)
                done = high
        scan.settle()
        return Top(levels_of_scan(scan), scan.floor, scan.work)

    def _only_level(self, ceiling: int) -> Top | None:
        """Return all levels, where no itemset can have a support of 2; see `only_level`."""
        if not self._min_support < ceiling == 2:
            return None
        vast = self._dense_ranks == len(self._supports) > _VAST
        one_by_one = self._size == 2 or vast
        return only_level(self._transactions, self._size, self._effort, one_by_one=one_by_one)

    def _count_ranks(self, scan: kernel.Scan, low: int, high: int, *, copied: bool) -> None:
        """Count the itemsets whose least frequent item has a rank in low..high."""
        if not copied:
            self._run(scan, self._rows, columns(self._rows, low, high, self._size, self._effort))
            return
        for part in streams(self._rows, low, high, self._size, self._effort):
            scan.set_streams(part.entries, part.starts, part.counts, part.of_units, part.low, part.high)
            self._finish(scan)
            if self._supports[part.low] < scan.floor:
                return

    def locate(self, support: int, index: int) -> list[int]:
        """Return the codes of the index-th itemset of that support in scan order: size of them.

        support: of at least one itemset. index: 0 to the number of these itemsets less one. Raises WorkLimitError and
        MemoryError as `top` does.
        """
        rows, (low, high), ranks = self._rows, self._last_ranks(support), []
        for size in range(self._size, 1, -1):
            candidates = columns(rows, low, high, size, self._effort)
            high, index = self._locate_rank(rows, candidates, size, support, index)
            rows = prefixes(rows, candidates.between(high, high + 1).rows, high)
            ranks.append(high)
            low = size - 2
        matches = np.flatnonzero(rank_supports(rows, high) == support)
        return [int(self._order[rank]) for rank in (*ranks, matches[index])]

    def itemsets(self, lowest: int, highest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the itemsets of supports lowest..highest: (m, size) codes in scan order, and (m,) supports.

        Raises WorkLimitError and MemoryError as `top` does.
        """
        low, high = self._last_ranks(lowest)
        # No itemset has more support than the most frequent item: no longer a histogram than that.
        highest = min(highest, int(self._supports[0]) if len(self._supports) else 0)
        scan = self._scan(self._size, highest + 1, lowest, 0, list_items=True)
        # One thread, so that they come in order.
        self._run(scan, self._rows, columns(self._rows, low, high, self._size, self._effort), alone=True)
        found = np.frombuffer(scan.itemsets, dtype=np.int32).reshape(-1, self._size + 1)
        return self._order[found[:, :-1]], found[:, -1].astype(np.int64)

    def _last_ranks(self, floor: int) -> tuple[int, int]:
        """Return which ranks, from the first up to before the second, the least frequent item may have: those of floor.

        floor: units, >= 1. An itemset's least frequent item has at least as much support as the itemset.
        """
        return self._size - 1, at_least(floor, self._supports)

    def _count_head(self, scan: kernel.Scan) -> int:
        """Count among the most frequent ranks, where that is cheaper by bitmaps or by a table of pairs."""
        dense, ranks = self._dense_ranks, len(self._supports)
        if dense >= self._size and (self._size > 2 or dense == ranks):
            if dense == ranks:
                bits = bitmaps(self._transactions, self._rank_of, dense, self._effort)
            else:
                bits = ranked_bitmaps(self._rows, dense, self._effort)
            scan.set_bitmaps(bits.reshape(-1), bits.shape[1], dense)
            self._finish(scan)
            return dense
        if self._size > 2:
            return self._size - 1
        cells = min(_PAIR_CELLS, max(len(self._rows.ranks), 1 << 12))
        high = min(ranks, (1 + math.isqrt(8 * cells + 1)) // 2)
        self._count_pairs(scan, high)
        return high

    def _count_pairs(self, scan: kernel.Scan, ranks: int) -> None:
        """Count the pairs of the most frequent ranks, in one pass over the rows."""
        rows, cells = self._rows, np.zeros(ranks * (ranks - 1) // 2, dtype=np.uint32)
        scan.set_pairs(rows.ranks, rows.starts, rows.unit_starts, ranks, cells)
        units = max(rows.count if rows.unit_starts is None else len(rows.unit_starts) - 1, 1)
        self._finish(scan, fraction=lambda: scan.next_rank / units)
        scan.add_pairs(cells)

    @property
    def _dense_ranks(self) -> int:
        """How many of the most frequent ranks together are in at least an eighth of all baskets.

        Two bitmaps take baskets / 64 steps; two ranks meet in baskets * density^2 rows: equal at 1/8. Larger itemsets
        are in fewer: there the kernel goes on with rows. With users of several baskets a bitmap cannot count: none.
        """
        if not one_basket_each(self._transactions):
            return 0
        cells = self._transactions.baskets * np.arange(1, len(self._supports) + 1)
        return int(np.count_nonzero(8 * np.cumsum(self._supports) >= cells))

    def _enumerated_lengths(self) -> NDArray[np.int64]:
        """How many entries of each row are in itemsets that the kernel meets one by one: not those of rare items."""
        if self._size == 2:
            return np.diff(self._rows.starts)
        enumerated = np.arange(len(self._supports), dtype=np.int32)
        enumerated[at_least(kernel.FEW_ROWS + 1, self._supports) :] = -1
        lengths = np.zeros(self._rows.count, dtype=np.int64)
        kernel.kept_lengths(self._rows.ranks, self._rows.starts, enumerated, 0, self._rows.count, lengths)
        return lengths

    @cached_property
    def _longest(self) -> int:
        return int(np.diff(self._transactions.offsets).max(initial=0))

    def _scan(self, size: int, ceiling: int, floor: int, wanted: int, *, list_items: bool = False) -> kernel.Scan:
        return kernel.Scan(
            size,
            np.zeros(ceiling, dtype=np.int64),
            self._longest,
            floor=floor,
            wanted=wanted,
            max_work=min(self._effort.max_work, _MOST_WORK),
            list_items=list_items,
        )

    def _run(self, scan: kernel.Scan, rows: RankedRows, part: RankColumns, *, alone: bool = False) -> None:
        scan.set_rows(rows.ranks, rows.starts, rows.units, part.starts, part.rows, part.low, part.high)
        self._finish(scan, alone=alone)

    def _finish(self, scan: kernel.Scan, *, alone: bool = False, fraction: Callable[[], float] | None = None) -> None:
        entries = np.cumsum(self._supports)

        def fraction_of_entries() -> float:
            return float(entries[min(scan.next_rank, len(entries) - 1)] / entries[-1])

        effort = replace(self._effort, threads=1) if alone else self._effort
        effort.together(scan.run, stop=scan.stop, fraction=fraction or fraction_of_entries)
        if scan.state == kernel.OVER_LIMIT:
            raise self._effort.over_limit(self._size)
        if scan.state == kernel.NO_MEMORY:
            raise MemoryError("not enough memory to count itemsets")

    def _locate_rank(
        self, rows: RankedRows, among: RankColumns, size: int, support: int, index: int
    ) -> tuple[int, int]:
        """Return the last rank of the index-th itemset of that support, and its index among those that end in it.

        Bisection by the work of each half: all counts together cost about as much as one.
        """
        low, high = among.low, among.high
        while high - low > 1:
            work = among.starts[low - among.low] + among.starts[high - among.low]
            middle = among.low + int(np.searchsorted(among.starts, work // 2))
            middle = min(max(middle, low + 1), high - 1)
            scan = self._scan(size, support + 1, support, 0)
            self._run(scan, rows, among.between(low, middle))
            inside = dict(levels_of_scan(scan)).get(support, 0)
            if index < inside:
                high = middle
            else:
                low, index = middle, index - inside
        return low, index


def levels_of_scan(scan: kernel.Scan) -> list[Level]:
    """Return the levels that a scan has counted wholly, descending."""
    histogram = np.asarray(scan.histogram)
    counts = {support: int(histogram[support]) for support in np.flatnonzero(histogram).tolist()}
    for (support, more, length), coefficient in scan.closed_forms.items():
        counts[support] = counts.get(support, 0) + coefficient * math.comb(length, more)
    return sorted(((s, count) for s, count in counts.items() if s >= scan.floor and count), reverse=True)
