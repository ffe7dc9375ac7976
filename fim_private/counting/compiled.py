"""Counting by the compiled kernel: supports, items, pairs and candidates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fim_private.counting import candidate_kernel, kernel
from fim_private.counting.candidates import Candidates, candidate_trie, clipped_weights
from fim_private.counting.counter import Shard, Top, at_least, one_basket_each, only_level, rank_order
from fim_private.counting.portable import repeated_items
from fim_private.counting.work import Effort, itemset_occurrences
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import Level

# -------------------- kernel arrays
# The arrays that the kernel goes through: baskets in rank order, their columns, their bitmaps.
#
# Everything is made in a few passes over blocks of rows, several at a time, and comes out the same for any number
# of threads.

# Below this many entries a second thread costs more than it saves.
SMALL = 1 << 18
# Blocks are short enough to stop between them, and to share them out evenly.
_BLOCKS_PER_THREAD = 3
# Entries that a block writes to one place, on average, so that blocks are worth while: some cache lines.
_STRETCH = 64
# Entries for each item, on average, so that a further thread that counts items is worth a table of its own.
_COUNTED_ENTRIES = 8


@dataclass(frozen=True)
class RankedRows:
    """Baskets in rank order: row r holds ``ranks[starts[r]:starts[r + 1]]``.

    starts: (rows + 1,) int64. ranks: (entries,) int32, ascending in a row.
    units: (rows,) int32, ascending; None where each row is a unit. unit_starts: (units + 1,) int64, the first row of
    each, and the end; None with units.
    """

    starts: NDArray[np.int64]
    ranks: NDArray[np.int32]
    units: NDArray[np.int32] | None = None
    unit_starts: NDArray[np.int64] | None = None

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.starts) - 1

    def blocks(self, threads: int, width: int = 1) -> list[tuple[int, int]]:
        """Cut the rows into ranges of whole units: (first, last), last excluded.

        threads: >= 1. width: how many places each range writes to. There is one range only where little would be
        written to each: else two threads would fight for the same cache lines.
        """
        entries = len(self.ranks)
        enough = entries >= _STRETCH * threads * _BLOCKS_PER_THREAD * width
        return _blocks(self.count, entries if enough else 0, threads, self.unit_starts)


@dataclass(frozen=True)
class RankColumns:
    """The rows of the ranks low..high: those of rank low + k are ``rows[starts[k]:starts[k + 1]]``, ascending.

    starts: (ranks + 1,) int64. rows: (entries,) int32.
    """

    low: int
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]

    @property
    def high(self) -> int:
        """The rank after the last."""
        return self.low + len(self.starts) - 1

    def between(self, low: int, high: int) -> RankColumns:
        """Return the columns of the ranks low..high, some of these, as a view."""
        starts = self.starts[low - self.low : high - self.low + 1]
        return RankColumns(low, starts - starts[0], self.rows[starts[0] : starts[-1]])


@dataclass(frozen=True)
class Streams:
    """Copies of the prefixes of the ranks low..high, one after the other: to be read without a jump.

    A prefix ends in its rank, and has its row's unit before it if of_units.
    starts: (ranks + 1,) int64. counts: (ranks,) int64, how many prefixes each rank has, from ``entries[starts[k]]`` on.
    entries: int32.
    """

    low: int
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]
    entries: NDArray[np.int32]
    of_units: bool

    @property
    def high(self) -> int:
        """The rank after the last."""
        return self.low + len(self.counts)


def item_supports(transactions: Transactions, effort: Effort) -> NDArray[np.int64]:
    """Return how many units have each item: (vocabulary,) int64."""

    def count(first: int, last: int, table: NDArray[np.int64]) -> None:
        kernel.count_items(transactions.items, transactions.offsets, transactions.unit_offsets, first, last, table)

    return item_tables(transactions, count, effort)


def item_tables(
    transactions: Transactions, add: Callable[[int, int, NDArray[np.int64]], object], effort: Effort
) -> NDArray[np.int64]:
    """Return the sum of what is added for all units to tables of the items: (vocabulary,) int64.

    add: called with a range of units, first and last, and the table to add to; by several threads, with a table each.
    """
    units = transactions.units if transactions.by_user else transactions.kept  # blank ones hold nothing
    items, entries = len(transactions.vocabulary), len(transactions.items)
    # A table for each thread, all together no larger than the entries are, beside the one that there must be.
    threads = min(effort.workers, 1 + entries // (_COUNTED_ENTRIES * max(items, 1)))
    parts = _blocks(units, entries, threads)
    tables = np.zeros((min(threads, max(len(parts), 1)), items), dtype=np.int64)
    free = list(tables)

    def work(first: int, last: int) -> None:
        table = free.pop()  # there are as many tables as threads
        add(first, last, table)
        free.append(table)

    replace(effort, threads=threads).share(partial(work, *part) for part in parts)
    return np.asarray(tables.sum(axis=0))


def ranked_rows(transactions: Transactions, rank_of: NDArray[np.int32], effort: Effort) -> RankedRows:
    """Return the baskets in rank order.

    rank_of: (vocabulary,) int32, the rank of each code, -1 to leave it out.
    """
    parts = _blocks(transactions.kept, len(transactions.items), effort.workers)
    starts = transactions.offsets
    if (rank_of < 0).any():
        starts = np.zeros(transactions.kept + 1, dtype=np.int64)
        effort.share(
            (
                partial(kernel.kept_lengths, transactions.items, transactions.offsets, rank_of, first, last, starts[1:])
                for first, last in parts
            ),
        )
        np.cumsum(starts, out=starts)
    ranks = np.empty(int(starts[-1]), dtype=np.int32)
    effort.share(
        (
            partial(kernel.rank_rows, transactions.items, transactions.offsets, rank_of, first, last, starts, ranks)
            for first, last in parts
        ),
    )
    if one_basket_each(transactions) or transactions.unit_offsets is None:
        return RankedRows(starts, ranks)
    units = np.repeat(np.arange(len(transactions.unit_offsets) - 1, dtype=np.int32), np.diff(transactions.unit_offsets))
    return RankedRows(starts, ranks, units, transactions.unit_offsets)


def columns(rows: RankedRows, low: int, high: int, size: int, effort: Effort) -> RankColumns:
    """List the rows in which each rank low..high has at least size - 1 others before it: size >= 1."""
    high = max(low, high)
    parts = rows.blocks(effort.workers, high - low)
    counts = np.zeros((len(parts), high - low), dtype=np.int64)
    effort.share(
        (
            partial(kernel.count_columns, rows.ranks, rows.starts, first, last, low, high, size - 1, count)
            for (first, last), count in zip(parts, counts, strict=True)
        ),
    )
    starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    out = np.empty(int(starts[-1]), dtype=np.int32)
    # Each block writes into a stretch of its own, so that a column ascends whoever was first.
    cursors = starts[:-1] + np.cumsum(counts, axis=0) - counts
    effort.share(
        (
            partial(kernel.fill_columns, rows.ranks, rows.starts, first, last, low, high, size - 1, cursor, out)
            for (first, last), cursor in zip(parts, cursors, strict=True)
        ),
    )
    return RankColumns(low, starts, out)


def streams(rows: RankedRows, low: int, high: int, size: int, effort: Effort) -> Iterator[Streams]:
    """Copy out what stands before each rank low..high, where that is at least size - 1 others: size >= 1.

    Yields ranges of ranks, of no more entries together than the rows hold (or a single rank). A rank's rows lie all
    over memory, and a scan of itemsets of three goes through them twice: with data far larger than the caches one copy
    of them all is several times faster.
    """
    parts = rows.blocks(effort.workers, high - low)
    counts = np.zeros((len(parts), high - low), dtype=np.int64)
    lengths = np.zeros_like(counts)
    effort.share(
        (
            partial(kernel.measure_streams, rows.ranks, rows.starts, first, last, low, high, size - 1, count, length)
            for (first, last), count, length in zip(parts, counts, lengths, strict=True)
        ),
    )
    of_units = rows.units is not None
    if of_units:
        lengths += counts
    ends = np.cumsum(lengths.sum(axis=0))
    begin = 0
    while begin < high - low:
        done = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, done + len(rows.ranks), side="right")), begin + 1)
        own = lengths[:, begin:end]
        starts = np.concatenate([[0], np.cumsum(own.sum(axis=0))])
        entries = np.empty(int(starts[-1]), dtype=np.int32)
        cursors = starts[:-1] + np.cumsum(own, axis=0) - own
        batch = (low + begin, low + end, size - 1)
        effort.share(
            (
                partial(kernel.fill_streams, rows.ranks, rows.starts, rows.units, *part, *batch, cursor, entries)
                for part, cursor in zip(parts, cursors, strict=True)
            ),
        )
        yield Streams(low + begin, starts, counts[:, begin:end].sum(axis=0), entries, of_units)
        del entries  # before the next is made
        begin = end


def prefixes(rows: RankedRows, own: NDArray[np.int32], bound: int) -> RankedRows:
    """Return what stands before the rank `bound` in the rows that have it.

    own: (rows that have it,) int32, ascending.
    """
    starts = np.zeros(len(own) + 1, dtype=np.int64)
    kernel.prefixes(rows.ranks, rows.starts, own, bound, starts, None)
    ranks = np.empty(int(starts[-1]), dtype=np.int32)
    kernel.prefixes(rows.ranks, rows.starts, own, bound, starts, ranks)
    if rows.units is None:
        return RankedRows(starts, ranks)
    units = rows.units[own]
    return RankedRows(starts, ranks, units, np.flatnonzero(np.diff(units, prepend=-1, append=-1)))


def rank_supports(rows: RankedRows, ranks: int) -> NDArray[np.int64]:
    """Return how many units have each rank: (ranks,) int64. ranks: all of them are below this number."""
    supports = np.zeros(ranks, dtype=np.int64)
    units = rows.count if rows.unit_starts is None else len(rows.unit_starts) - 1
    kernel.count_items(rows.ranks, rows.starts, rows.unit_starts, 0, units, supports)
    return supports


def bitmaps(transactions: Transactions, rank_of: NDArray[np.int32], ranks: int, effort: Effort) -> NDArray[np.uint64]:
    """Return the baskets of each of the first ranks as a bitmap: (ranks, ceil(baskets / 64)) uint64, basket b in bit b.

    rank_of: (vocabulary,) int32, the rank of each code, -1 for none.
    """
    return _bitmaps(transactions.items, transactions.offsets, rank_of, ranks, effort)


def ranked_bitmaps(rows: RankedRows, ranks: int, effort: Effort) -> NDArray[np.uint64]:
    """Return what `bitmaps` does from baskets in rank order, of which only the beginning is read."""
    return _bitmaps(rows.ranks, rows.starts, None, ranks, effort)


def _bitmaps(
    items: NDArray[np.int32],
    offsets: NDArray[np.int64],
    rank_of: NDArray[np.int32] | None,
    ranks: int,
    effort: Effort,
) -> NDArray[np.uint64]:
    baskets = len(offsets) - 1
    words = -(-baskets // 64)
    bits = np.zeros((ranks, words), dtype=np.uint64)
    # Blocks of whole words: no two threads write to the same one.
    effort.share(
        partial(
            kernel.fill_bitmaps,
            *(items, offsets, rank_of, ranks, 64 * first, min(64 * last, baskets), words, bits.reshape(-1)),
        )
        for first, last in _blocks(words, len(items), effort.workers)
    )
    return bits


def _blocks(
    rows: int, entries: int, threads: int, unit_starts: NDArray[np.int64] | None = None
) -> list[tuple[int, int]]:
    """Cut rows 0..rows into ranges; with unit_starts only where a unit starts."""
    count = threads * _BLOCKS_PER_THREAD if entries >= SMALL else 1
    bounds = np.linspace(0, rows, count + 1).astype(np.int64)
    if unit_starts is not None:
        bounds = np.unique(unit_starts[np.searchsorted(unit_starts, bounds)])
    return [(int(first), int(last)) for first, last in pairwise(bounds) if first < last]


# -------------------- compiled counter
# Support counting by the compiled kernel: which ranks it goes through in which way, and how far.
#
# Arrays beside the transactions: the baskets in rank order (4 bytes an entry) and, of the ranks that are being
# scanned, the rows of each (at most 4 bytes an entry), so some three times the transactions at the peak.

# The kernel recurses once an item, on a thread's stack.
LARGEST_SIZE = 256
# More than this the kernel cannot count.
_COMPILED_COUNTER_MOST_WORK = (1 << 63) - 1
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
            max_work=min(self._effort.max_work, _COMPILED_COUNTER_MOST_WORK),
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


# -------------------- compiled shard
# Support counting in a shard by the compiled kernel.


class CompiledShard(CompiledCounter):
    """Counts the itemsets whose least frequent item is among some ranks; see `shards.ShardCounter`."""

    def __init__(self, shard: Shard, size: int, effort: Effort) -> None:
        super().__init__(shard.transactions, size, 1, effort)
        self._shard = shard
        # The codes are ranks, so ranking them by these leaves them as they are.
        self.item_supports = shard.supports

    def descend(self, ceiling: int, floor: int, wanted: int | None) -> Top:
        """Count itemsets of supports floor..ceiling - 1, from the top down to the wanted-th; see `ShardCounter`."""
        low, high = self._last_ranks(floor)
        if low == high:
            return Top([], floor)
        # No itemset of the shard has more support than its most frequent last item: no longer a histogram than that.
        ceiling = min(ceiling, int(self._supports[low]) + 1)
        scan = self._scan(self._size, ceiling, floor, wanted or 0)
        self._count_ranks(scan, low, high, copied=len(self._transactions.items) >= LARGE and self._size > 2)
        scan.settle()
        return Top(levels_of_scan(scan), scan.floor, scan.work)

    def _last_ranks(self, floor: int) -> tuple[int, int]:
        """Return which ranks of the shard the least frequent item may have, from the first up to before the second."""
        low, high = super()._last_ranks(floor)
        low = max(low, self._shard.low)
        return low, max(low, min(high, self._shard.high))


# -------------------- compiled candidates
# Weighted counting by the compiled kernel: of items, pairs and candidates.
#
# Arrays beside the transactions: the baskets in rank order (4 bytes an entry), and a table of the result for each
# thread.

# More than this the kernel cannot count.
_COMPILED_CANDIDATES_MOST_WORK = (1 << 63) - 1
# Entries that tell the order of the items: it matters to speed alone.
_SAMPLED_ENTRIES = 1 << 20
# Cells hit for each cell of a table, on average, so that a further thread is worth a table of its own.
_HITS = 4


class CompiledCandidates:
    """Candidates among some items in one set of transactions; see `candidate_counts.CandidateSource`.

    codes: (m,) the code of each item number, all different. effort: threads, limit of work and progress.
    """

    def __init__(self, transactions: Transactions, codes: NDArray[np.integer], effort: Effort) -> None:
        self._transactions = transactions
        self._codes = codes
        self._effort = effort
        # Where baskets count together: how many of a unit's have each entry of its row.
        self._repeats: NDArray[np.int32] | None = None

    @cached_property
    def _rank(self) -> NDArray[np.int64]:
        """The rank of each item number: 0 for the most frequent, about: (m,)."""
        items = self._transactions.items
        sampled = items[:: max(len(items) // _SAMPLED_ENTRIES, 1)]
        frequency = np.bincount(sampled, minlength=len(self._transactions.vocabulary))[self._codes]
        rank = np.empty(len(self._codes), dtype=np.int64)
        rank[np.argsort(-frequency, kind="stable")] = np.arange(len(self._codes))
        return rank

    @cached_property
    def _rows(self) -> RankedRows:
        """The baskets with these items only; where they count together, one of each unit."""
        rank_of = np.full(len(self._transactions.vocabulary), -1, dtype=np.int32)
        rank_of[self._codes] = self._rank
        if self._transactions.together:
            starts, ranks, repeats = repeated_items(self._transactions, rank_of)
            self._repeats = np.asarray(repeats, dtype=np.int32)
            return RankedRows(starts, ranks)
        return ranked_rows(self._transactions, rank_of, self._effort)

    def pair_level_sums(self, scale: int) -> NDArray[np.int64]:
        """Return the level sum of each pair; see `CandidateSource.pair_level_sums`."""
        cells = len(self._rank) * (len(self._rank) - 1) // 2
        sums = np.zeros(cells, dtype=np.int64)
        rows, weights = self._rows, clipped_weights(1, cells, scale)
        lengths = np.diff(rows.starts)
        scan = candidate_kernel.PairScan(
            rows.ranks, rows.starts, rows.unit_starts, cells, weights, sums, None, self._max_work
        )
        scan.weigh_purchases(scale, self._repeats)
        self._run(scan, 2, int((lengths * (lengths - 1) // 2).sum()) // (_HITS * max(cells, 1)))
        return self._by_number(sums)

    def _by_number(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a table of pairs of ranks as one of pairs of item numbers."""
        out = np.empty_like(sums)
        for number, rank in enumerate(self._rank.tolist()):
            others = self._rank[:number]
            low, high = np.minimum(others, rank), np.maximum(others, rank)
            cells = high * (high - 1) // 2 + low
            out[number * (number - 1) // 2 : number * (number + 1) // 2] = sums[cells]
        return out

    def sums(self, candidates: Candidates, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weighted sum of each candidate; see `CandidateSource.sums`."""
        sums = np.zeros(sum(map(len, candidates)), dtype=np.int64)
        self._look_for(candidates, weights, sums, None)
        return sums

    def level_sums(self, sets: NDArray[np.int32], scale: int) -> NDArray[np.int64]:
        """Return the level sum of each candidate; see `CandidateSource.level_sums`."""
        sums = np.zeros(len(sets), dtype=np.int64)
        self._look_for([sets], clipped_weights(1, len(sets), scale), sums, None, scale)
        return sums

    def held(self, candidates: Candidates) -> NDArray[np.int64]:
        """Return how many units hold so many candidates; see `CandidateSource.held`."""
        held = np.zeros(sum(map(len, candidates)) + 1, dtype=np.int64)
        self._look_for(candidates, None, None, held)
        # Rows may not tell of a user without any basket.
        held[0] = self._transactions.units - held[1:].sum()
        return held

    def _look_for(
        self,
        candidates: Candidates,
        weights: NDArray[np.int64] | None,
        sums: NDArray[np.int64] | None,
        held: NDArray[np.int64] | None,
        scale: int | None = None,
    ) -> None:
        """Go through all baskets, and add what their units hold to sums and held, where they are given.

        scale: of level sums, of candidates of one size; weights are those of units with one basket then.
        """
        rows = self._rows
        number_of, width = self._numbering(candidates)
        by_rarity = [np.sort(number_of[self._rank[some]], axis=1) for some in candidates]
        trie = candidate_trie(by_rarity, max(width, 1))
        cells = sum(map(len, candidates))
        scan = candidate_kernel.CandidateScan(
            rows.ranks, rows.starts, rows.unit_starts, cells, weights, sums, held, self._max_work
        )
        scan.set_trie(number_of, width, trie.items, trie.children, trie.accepts)
        if scale is not None:
            scan.weigh_purchases(scale, self._repeats)
            scan.set_members(np.ascontiguousarray(self._rank[candidates[0]], dtype=np.int32))
        largest = max((some.shape[1] for some in candidates), default=1)
        self._run(scan, largest, len(rows.ranks) // (_HITS * len(trie.accepts)))

    def _numbering(self, candidates: Candidates) -> tuple[NDArray[np.int32], int]:
        """Number the ranks that candidates have, 0 for the rarest: (ranks,) int32, -1 for others, and how many."""
        used = np.zeros(len(self._rank), dtype=bool)
        for some in candidates:
            used[self._rank[some]] = True
        width = int(np.count_nonzero(used))
        return np.where(used, width - np.cumsum(used), -1).astype(np.int32), width

    @property
    def _max_work(self) -> int:
        return min(self._effort.max_work, _COMPILED_CANDIDATES_MOST_WORK)

    def _run(self, scan: candidate_kernel.UnitScan, size: int, more_threads: int) -> None:
        """Count with up to so many threads more than one. Raises WorkLimitError and MemoryError."""
        effort = replace(self._effort, threads=min(self._effort.workers, 1 + more_threads))
        effort.together(scan.run, stop=scan.stop, fraction=lambda: scan.fraction)
        if scan.state == candidate_kernel.OVER_LIMIT:
            raise self._effort.over_limit(size)
        if scan.state == candidate_kernel.NO_MEMORY:
            raise MemoryError("not enough memory to count itemsets")


def item_level_sums(transactions: Transactions, scale: int, most: int, effort: Effort) -> NDArray[np.int64]:
    """Return the level sum of each item; see `ItemSource.level_sums`: (vocabulary,)."""

    def add(first: int, last: int, sums: NDArray[np.int64]) -> None:
        items, offsets, units = transactions.items, transactions.offsets, transactions.unit_offsets
        candidate_kernel.add_purchases(items, offsets, units, first, last, scale, most, sums)

    return item_tables(transactions, add, effort)


def item_sums(transactions: Transactions, weights: NDArray[np.int64], effort: Effort) -> NDArray[np.int64]:
    """Return for each item the sum of weights[distinct items of the unit] over the units that have it: (vocabulary,).

    weights: (most + 1,) int64, >= 0, where no unit has more than most distinct items.
    """

    def add(first: int, last: int, sums: NDArray[np.int64]) -> None:
        items, offsets, units = transactions.items, transactions.offsets, transactions.unit_offsets
        candidate_kernel.add_items(items, offsets, units, first, last, weights, sums)

    return item_tables(transactions, add, effort)
