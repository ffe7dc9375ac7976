"""Counting by the compiled kernel: supports, items, pairs and candidates.

Beside the transactions there are the baskets in rank order and the rows of each scanned rank: at
most 4 bytes an entry each. Candidates have a table for each thread. The result is the same for any
number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fim_private.counting import kernel
from fim_private.counting import sums as loops
from fim_private.counting.counter import (
    CandidateCounter,
    Candidates,
    ShardCounter,
    Top,
    at_least,
    candidate_trie,
    clipped_weights,
    highest_support,
    ranks_of,
)
from fim_private.counting.portable import batches, repeated_items, unit_of_basket
from fim_private.counting.work import Effort, Int32, Int64, itemset_occurrences
from fim_private.reading.transactions import Transactions
from fim_private.reading.values import offsets_of
from fim_private.spectrum import Level

# Below this many entries a second thread costs more than it saves.
SMALL = 3 << 18
# Blocks are short enough to stop between them, and to share them out evenly.
_BLOCKS_PER_THREAD = 3
# Entries that a block writes to one place, on average, so that blocks are worth while: some cache
# lines.
_STRETCH = 64
# Entries for each item, on average, so that a further thread that counts items is worth tables of
# its own.
_COUNTED_ENTRIES = 8 * _BLOCKS_PER_THREAD


@dataclass(frozen=True)
class _RankedRows:
    """Baskets in rank order: row r holds ``ranks[starts[r]:starts[r + 1]]``.

    starts: (rows + 1,) int64. ranks: (entries,) int32, ascending in a row.
    units: (rows,) int32, ascending; None where each row is a unit. unit_starts: (units + 1,) int64,
    the first row of each, and the end; None with units. repeats: (entries,) where a row is all
    baskets of a unit together, in how many of them each item is.
    """

    starts: Int64
    ranks: Int32
    units: Int32 | None = None
    unit_starts: Int64 | None = None
    repeats: Int32 | None = None

    @property
    def count(self) -> int:
        """How many units there are, each of which has a row."""
        starts = self.starts if self.unit_starts is None else self.unit_starts
        return len(starts) - 1

    def columns(
        self, low: int, high: int, size: int, effort: Effort, *, copied: bool = False
    ) -> Iterator[_Columns]:
        """Yield columns of the ranks low..high: of rows, or copies of prefixes, where these have
        size - 1 others.

        Prefixes come in ranges of ranks, of no more entries together than the rows have. A rank's
        rows lie all over memory, so with data far larger than the caches one copy is several times
        faster.
        """
        high = max(low, high)
        blocks = self._blocks_of_columns(high - low, effort)
        rows = self.ranks, self.starts
        # How many rows, or prefixes, each rank has in each block; and how many entries they take.
        counts = np.zeros((len(blocks), high - low), dtype=np.int64)
        lengths = np.zeros_like(counts) if copied else counts
        measured: Iterable[Int64 | None] = lengths if copied else [None] * len(blocks)
        effort.share(
            partial(loops.measure_columns, *rows, *block, low, high, size - 1, count, length)
            for block, count, length in zip(blocks, counts, measured, strict=True)
        )
        if copied and self.units is not None:  # the unit of each prefix takes an entry, too
            lengths += counts
        for begin, end in batches(lengths.sum(axis=0), len(self.ranks)):
            run = lengths[:, begin:end]
            starts = offsets_of(run.sum(axis=0))
            out = np.empty(int(starts[-1]), dtype=np.int32)
            # Each block writes into a stretch of its own, so that a column ascends whoever was
            # first.
            cursors = starts[:-1] + np.cumsum(run, axis=0) - run
            batch = low + begin, low + end, size - 1
            effort.share(
                partial(loops.fill_columns, *rows, self.units, *block, *batch, copied, cursor, out)
                for block, cursor in zip(blocks, cursors, strict=True)
            )
            yield _Columns(low + begin, starts, counts[:, begin:end].sum(axis=0), out, copied)
            del out  # before the next is made

    def _blocks_of_columns(self, ranks: int, effort: Effort) -> list[tuple[int, int]]:
        """Return ranges of rows, each of which writes to the columns of so many ranks.

        There is only one if little would be written to each place: two threads would then fight for
        the same cache lines.
        """
        entries = len(self.ranks)
        if entries < _STRETCH * effort.workers * _BLOCKS_PER_THREAD * ranks:
            entries = 0
        return _blocks(len(self.starts) - 1, entries, effort.workers, self.unit_starts)

    def prefixes(self, codes: Int32, bound: int) -> _RankedRows:
        """Return what stands before the rank `bound` in the rows that have it: own, int32,
        ascending.
        """
        starts = np.zeros(len(codes) + 1, dtype=np.int64)
        loops.prefixes(self.ranks, self.starts, codes, bound, starts, None)
        ranks = np.empty(int(starts[-1]), dtype=np.int32)
        loops.prefixes(self.ranks, self.starts, codes, bound, starts, ranks)
        if self.units is None:
            return _RankedRows(starts, ranks)
        units = self.units[codes]
        unit_starts = np.flatnonzero(np.diff(units, prepend=-1, append=-1))
        return _RankedRows(starts, ranks, units, unit_starts)


@dataclass(frozen=True)
class _Columns:
    """What stands in the columns of the ranks low..high: that of rank low + k is
    ``entries[starts[k]:starts[k + 1]]``.

    counts: (ranks,), how many rows or prefixes each rank has. entries: rows, ascending; or copied
    prefixes, each of which ends in its rank, and has its row's unit before it if rows have units.
    """

    low: int
    starts: Int64
    counts: Int64
    entries: Int32
    copied: bool = False

    @property
    def high(self) -> int:
        return self.low + len(self.counts)

    def halves(self) -> tuple[_Columns, _Columns]:
        """Cut two or more columns in two of about as many entries, as views of the same ones."""
        middle = int(np.searchsorted(self.starts, (self.starts[0] + self.starts[-1]) // 2))
        middle = min(max(middle, 1), len(self.counts) - 1)
        first = replace(self, starts=self.starts[: middle + 1], counts=self.counts[:middle])
        starts, counts = self.starts[middle:], self.counts[middle:]
        return first, replace(self, low=self.low + middle, starts=starts, counts=counts)


def _blocks(
    rows: int, entries: int, threads: int, unit_starts: Int64 | None = None
) -> list[tuple[int, int]]:
    """Cut rows 0..rows into ranges; with unit_starts only where a unit starts."""
    count = threads * _BLOCKS_PER_THREAD if entries >= SMALL else 1
    bounds = np.linspace(0, rows, count + 1).astype(np.int64)
    if unit_starts is not None:
        bounds = np.unique(unit_starts[np.searchsorted(unit_starts, bounds)])
    return [(int(first), int(last)) for first, last in pairwise(bounds) if first < last]


def _item_tables(
    transactions: Transactions, add: Callable[..., object], effort: Effort, *arguments: object
) -> Int64:
    """Return the sum of what a function of the kernel adds for all units to tables of the items:
    (vocabulary,).
    """
    # blank ones hold nothing
    units = transactions.units if transactions.by_user else transactions.stored
    items, entries = len(transactions.vocabulary), len(transactions.items)
    # A table for each block, all together no larger than the entries are, beside the one that
    # there must be.
    threads = min(effort.workers, 1 + entries // (_COUNTED_ENTRIES * max(items, 1)))
    blocks = _blocks(units, entries, threads)
    tables = np.zeros((len(blocks), items), dtype=np.int64)
    rows = transactions.items, transactions.offsets, transactions.unit_offsets
    effort.share(
        partial(add, *rows, *block, *arguments, table)
        for block, table in zip(blocks, tables, strict=True)
    )
    return np.asarray(tables.sum(axis=0))


def item_sums(transactions: Transactions, weights: Int64 | None, effort: Effort) -> Int64:
    """Return for each item the sum of weights[distinct items of the unit] over the units that have
    it: (vocabulary,).

    weights: (most + 1,) int64, >= 0, where no unit has more than most distinct items; None for
    supports.
    """
    return _item_tables(transactions, loops.add_items, effort, weights)


def item_level_sums(transactions: Transactions, scale: int, most: int, effort: Effort) -> Int64:
    """Return the level sum of each item; see `ItemSource.level_sums`: (vocabulary,)."""
    return _item_tables(transactions, loops.add_purchases, effort, scale, most)


def _ranked_rows(transactions: Transactions, rank_of: Int32, effort: Effort) -> _RankedRows:
    """Return the baskets in rank order. rank_of: (vocabulary,), -1 for a code to leave out."""
    blocks = _blocks(transactions.stored, len(transactions.items), effort.workers)
    starts = transactions.offsets
    arguments = transactions.items, transactions.offsets, rank_of
    if (rank_of < 0).any():
        starts = np.zeros(transactions.stored + 1, dtype=np.int64)
        effort.share(
            partial(loops.ranked_lengths, *arguments, *block, starts[1:]) for block in blocks
        )
        np.cumsum(starts, out=starts)
    ranks = np.empty(int(starts[-1]), dtype=np.int32)
    effort.share(partial(loops.rank_rows, *arguments, *block, starts, ranks) for block in blocks)
    unit_starts = transactions.unit_offsets
    if unit_starts is None or _has_one_basket_each(transactions):
        return _RankedRows(starts, ranks)
    units = unit_of_basket(transactions).astype(np.int32)
    return _RankedRows(starts, ranks, units, unit_starts)


def _has_one_basket_each(transactions: Transactions) -> bool:
    """Return whether no unit has a second basket, so that a basket may stand for its unit."""
    units = transactions.unit_offsets
    return units is None or bool((np.diff(units) <= 1).all())


# -------------------- the counter

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


def _run_pass(scan: loops.Pass, size: int, effort: Effort, fraction: Callable[[], float]) -> None:
    """Do a pass for itemsets of that size; raise where it ended early."""
    effort.together(scan, fraction)
    if scan.state == loops.OVER_LIMIT:
        raise effort.over_limit(size)
    if scan.state == loops.NO_MEMORY:
        raise MemoryError("not enough memory to count itemsets")


class CompiledCounter(ShardCounter):
    """Counts itemsets of one size, 2 to LARGEST_SIZE, by the kernel; see `ShardCounter`."""

    def _sum_items(self) -> Int64:
        return item_sums(self._transactions, None, self._effort)

    @cached_property
    def _rows(self) -> _RankedRows:
        return _ranked_rows(
            self._transactions, ranks_of(self._order, len(self.item_supports)), self._effort
        )

    @cached_property
    def most_work(self) -> int:
        """How many steps a pass over all itemsets takes, about: of items in rare itemsets few are
        met one by one.
        """
        rows = self._rows
        lengths = np.diff(rows.starts)
        if self._size > 2:
            enumerated = np.arange(len(self._supports), dtype=np.int32)
            enumerated[at_least(kernel.FEW_ROWS + 1, self._supports) :] = -1
            loops.ranked_lengths(rows.ranks, rows.starts, enumerated, 0, len(lengths), lengths)
        return itemset_occurrences(lengths, self._size)

    def descend(self, ceiling: int, floor: int, limit: int | None) -> Top:
        """Count the itemsets of some supports; see `ShardCounter`."""
        low, high = self._last_ranks(floor)
        if low >= high:
            return Top([], floor)
        # No itemset has more support than the most frequent last item: no longer a histogram than
        # that.
        scan = self._scan(self._size, min(ceiling, int(self._supports[low]) + 1), floor, limit or 0)
        done = low if self._shard is not None else self._count_head(scan)
        steps = [high]
        if limit is not None:
            steps = [*_RANK_STEPS, high]
        for step in steps:
            last = min(step, high, at_least(scan.floor, self._supports))
            if last > done:
                self._count_ranks(scan, done, last)
                done = last
        scan.settle()
        return Top(_levels_of_scan(scan), scan.floor, scan.work)

    def locate(self, support: int, index: int) -> list[int]:
        """Return the codes of the index-th itemset of that support in scan order: size of them; see
        `Counter`.
        """
        rows, (low, high), ranks = self._rows, self._last_ranks(support), []
        for size in range(self._size, 1, -1):
            (columns,) = rows.columns(low, high, size, self._effort)
            # Bisection by the work of each half: all counts together cost about as much as one.
            while len(columns.counts) > 1:
                first, last = columns.halves()
                scan = self._scan(size, support + 1, support)
                self._count_columns(scan, rows, first)
                inside = dict(_levels_of_scan(scan)).get(support, 0)
                if index < inside:
                    columns = first
                else:
                    columns, index = last, index - inside
            high = columns.low
            rows = rows.prefixes(columns.entries[slice(*columns.starts)], high)
            ranks.append(high)
            low = size - 2
        supports = np.zeros(high, dtype=np.int64)
        loops.add_items(rows.ranks, rows.starts, rows.unit_starts, 0, rows.count, None, supports)
        matches = np.flatnonzero(supports == support)
        return [int(self._order[rank]) for rank in (*ranks, matches[index])]

    def itemsets(self, lowest: int, highest: int) -> tuple[Int64, Int64]:
        """Return the itemsets of supports lowest..highest: (m, size) codes in scan order, and (m,)
        supports.
        """
        low, high = self._last_ranks(lowest)
        # No itemset has more support than the most frequent item: no longer a histogram than that.
        highest = min(highest, highest_support(self._supports, 1))
        scan = self._scan(self._size, highest + 1, lowest, list_items=True)
        for columns in self._rows.columns(low, high, self._size, self._effort):
            # one thread, so that they come in order
            self._count_columns(scan, self._rows, columns, alone=True)
        listed = np.frombuffer(b"".join(scan.itemsets), dtype=np.int32).reshape(-1, self._size + 1)
        return self._order[listed[:, :-1]], listed[:, -1].astype(np.int64)

    def _last_ranks(self, floor: int) -> tuple[int, int]:
        """Return the ranks that the least frequent item may have: it has at least as much support
        as the itemset.
        """
        low, high = self._size - 1, at_least(floor, self._supports)
        if self._shard is None:
            return low, high
        low = max(low, self._shard.low)
        return low, max(low, min(high, self._shard.high))

    def _count_head(self, scan: kernel.Scan) -> int:
        """Count what does not need columns: the densest ranks, or pairs of frequent ones. Return
        the next rank.
        """
        dense = self._dense_ranks
        if dense >= self._size and (self._size > 2 or dense == len(self._supports)):
            bits = self._bitmaps(dense)
            scan.set_bitmaps(bits.reshape(-1), bits.shape[1], dense)
            self._finish(scan, dense)
            return dense
        if self._size > 2:
            return self._size - 1
        rows = self._rows
        most = min(_PAIR_CELLS, max(len(rows.ranks), 1 << 12))
        high = min(len(self._supports), (1 + math.isqrt(8 * most + 1)) // 2)
        cells = np.zeros(high * (high - 1) // 2, dtype=np.uint32)
        scan.set_pairs(rows.ranks, rows.starts, rows.unit_starts, high, cells)
        self._finish(scan, rows.count)
        scan.add_pairs(cells)
        return high

    def _bitmaps(self, ranks: int) -> NDArray[np.uint64]:
        """Return the baskets of each of the first ranks as a bitmap: (ranks, words), basket b in
        bit b.
        """
        data, words = self._transactions, -(-self._transactions.stored // 64)
        bits = np.zeros((ranks, words), dtype=np.uint64)
        arguments = (
            data.items,
            data.offsets,
            ranks_of(self._order[:ranks], len(self.item_supports)),
        )
        # Blocks of whole words: no two threads write to the same one.
        self._effort.share(
            partial(
                loops.fill_bitmaps,
                *arguments,
                64 * first,
                min(64 * last, data.stored),
                words,
                bits.reshape(-1),
            )
            for first, last in _blocks(words, len(data.items), self._effort.workers)
        )
        return bits

    def _count_ranks(self, scan: kernel.Scan, low: int, high: int) -> None:
        """Count the itemsets whose least frequent item has a rank in low..high."""
        copied = self._size > 2 and len(self._transactions.items) >= LARGE
        for columns in self._rows.columns(low, high, self._size, self._effort, copied=copied):
            self._count_columns(scan, self._rows, columns)
            if copied and self._supports[columns.low] < scan.floor:
                return

    @property
    def _dense_ranks(self) -> int:
        """How many of the most frequent ranks are, on average, in an eighth of all baskets; 0 where
        units have several.

        Two bitmaps take baskets / 64 steps; two ranks meet in baskets * density^2 rows: equal at
        1/8. Larger itemsets are in fewer: there the kernel goes on with rows.
        """
        if not _has_one_basket_each(self._transactions):
            return 0
        cells = self._transactions.baskets * np.arange(1, len(self._supports) + 1)
        return int(np.count_nonzero(8 * np.cumsum(self._supports) >= cells))

    def _scan(
        self, size: int, ceiling: int, floor: int, limit: int = 0, *, list_items: bool = False
    ) -> kernel.Scan:
        """Return a scan for itemsets of supports floor..ceiling - 1: about `limit`; 0 for all."""
        return kernel.Scan(
            size,
            np.zeros(ceiling, dtype=np.int64),
            self._longest,
            floor=floor,
            wanted=limit,
            max_work=min(self._effort.max_work, _MOST_WORK),
            list_items=list_items,
        )

    def _count_columns(
        self, scan: kernel.Scan, rows: _RankedRows, columns: _Columns, *, alone: bool = False
    ) -> None:
        if columns.copied:
            scan.set_streams(
                columns.entries,
                columns.starts,
                columns.counts,
                rows.units is not None,
                columns.low,
                columns.high,
            )
        else:
            scan.set_rows(
                rows.ranks,
                rows.starts,
                rows.units,
                columns.starts,
                columns.entries,
                columns.low,
                columns.high,
            )
        self._finish(scan, len(self._supports), alone=alone)

    def _finish(self, scan: kernel.Scan, total: int, *, alone: bool = False) -> None:
        """Do a scan of so many ranks, or units for pairs. alone: by one thread."""
        effort = replace(self._effort, threads=1) if alone else self._effort
        _run_pass(scan, self._size, effort, lambda: min(scan.next_rank / max(total, 1), 1.0))


def _levels_of_scan(scan: kernel.Scan) -> list[Level]:
    """Return the levels that a scan has counted wholly, descending."""
    counts = {
        support: int(scan.histogram[support]) for support in np.flatnonzero(scan.histogram).tolist()
    }
    for (support, more, length), coefficient in scan.closed_forms.items():
        counts[support] = counts.get(support, 0) + coefficient * math.comb(length, more)
    return sorted(
        ((s, count) for s, count in counts.items() if s >= scan.floor and count), reverse=True
    )


# -------------------- candidates

_UnitScan = TypeVar("_UnitScan", bound=loops.UnitScan)
# Entries that tell the order of the items: it matters to speed alone.
_SAMPLED_ENTRIES = 1 << 20
# Cells hit for each cell of a table, on average, so that a further thread is worth a table of its
# own.
_HITS = 4


class CandidateCounts(CandidateCounter):
    """Candidates counted by the kernel; see `CandidateCounter`."""

    @cached_property
    def _rank(self) -> Int32:
        """The rank of each item number: 0 for the most frequent, about: (m,)."""
        items = self._transactions.items
        sampled = items[:: max(len(items) // _SAMPLED_ENTRIES, 1)]
        frequency = np.bincount(sampled, minlength=len(self._transactions.vocabulary))[self._codes]
        return ranks_of(np.argsort(-frequency, kind="stable"), len(self._codes))

    @cached_property
    def _rows(self) -> _RankedRows:
        """The baskets with these items only; where they count together, one of each unit."""
        rank_of = np.full(len(self._transactions.vocabulary), -1, dtype=np.int32)
        rank_of[self._codes] = self._rank
        if self._transactions.together:
            starts, ranks, repeats = repeated_items(self._transactions, rank_of)
            return _RankedRows(starts, ranks, repeats=repeats)
        return _ranked_rows(self._transactions, rank_of, self._effort)

    def pair_level_sums(self, scale: int) -> Int64:
        """Return the level sum of each pair; see `CandidateSource.pair_level_sums`."""
        high, low = np.tril_indices(len(self._rank), -1)
        cells, entries = len(high), len(self._rows.ranks)
        # At least about so many pairs are in the rows: as many as if all were equally long.
        pairs = entries * entries // (2 * len(self._rows.starts))
        scan, sums = self._scan(loops.PairScan, cells, clipped_weights(1, cells, scale), scale)
        self._run(scan, 2, pairs // max(cells, 1))
        # From pairs of ranks to pairs of item numbers.
        ranks = np.stack([self._rank[low], self._rank[high]]).astype(np.int64)
        first, last = ranks.min(axis=0), ranks.max(axis=0)
        return np.asarray(sums[last * (last - 1) // 2 + first])

    def _look_for(self, candidates: Candidates, weights: Int64 | None, scale: int = 0) -> Int64:
        # Numbers of the ranks that candidates have, 0 for the rarest, -1 for others: (ranks,).
        used = np.zeros(len(self._rank), dtype=bool)
        for sets in candidates:
            used[self._rank[sets]] = True
        width = int(np.count_nonzero(used))
        number_of = np.where(used, width - np.cumsum(used), -1).astype(np.int32)
        trie = candidate_trie(
            [np.sort(number_of[self._rank[sets]], axis=1) for sets in candidates], max(width, 1)
        )
        cells = sum(map(len, candidates))
        scan, sums = self._scan(loops.CandidateScan, cells, weights, scale)
        members = np.ascontiguousarray(self._rank[candidates[0]]) if scale else None
        scan.set_trie(number_of, width, trie.items, trie.children, trie.accepts, members)
        largest = max((sets.shape[1] for sets in candidates), default=1)
        self._run(scan, largest, len(self._rows.ranks) // len(trie.accepts))
        return sums

    def _scan(
        self, kind: type[_UnitScan], cells: int, weights: Int64 | None, scale: int
    ) -> tuple[_UnitScan, Int64]:
        """Return a scan of the rows, and the sums, or without weights the histogram, that it fills.

        scale: of level sums; 0 for other weights.
        """
        rows, most_work = self._rows, min(self._effort.max_work, _MOST_WORK)
        filled = np.zeros(cells + (weights is None), dtype=np.int64)
        sums, having = (None, filled) if weights is None else (filled, None)
        baskets = rows.ranks, rows.starts, rows.unit_starts
        repeats = rows.repeats if scale else None
        return kind(*baskets, cells, weights, sums, having, most_work, scale, repeats), filled

    def _run(self, scan: loops.UnitScan, size: int, hits: int) -> None:
        """Count. hits: how often each cell of the tables is hit, on average."""
        threads = min(self._effort.workers, 1 + hits // _HITS)
        _run_pass(scan, size, replace(self._effort, threads=threads), lambda: scan.fraction)
