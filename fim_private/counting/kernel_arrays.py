"""The arrays that the kernel goes through: baskets in rank order, their columns, their bitmaps.

Everything is made in a few passes over blocks of rows, several at a time, and comes out the same for any number
of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fim_private.counting import kernel
from fim_private.counting.counter import one_basket_each
from fim_private.counting.work_limit import Effort
from fim_private.reading.transactions import Transactions

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
