"""Weighted counting by the compiled kernel: of items, pairs and candidates.

Arrays beside the transactions: the baskets in rank order (4 bytes an entry), and a table of the result for each thread.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fim_private.counting import candidate_kernel
from fim_private.counting.candidate_counts import Candidates
from fim_private.counting.candidate_trie import candidate_trie
from fim_private.counting.clipped_weights import clipped_weights
from fim_private.counting.kernel_arrays import RankedRows, item_tables, ranked_rows
from fim_private.counting.portable_candidates import repeated_items
from fim_private.counting.work_limit import Effort
from fim_private.reading.transactions import Transactions

# More than this the kernel cannot count.
_MOST_WORK = (1 << 63) - 1
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
        return min(self._effort.max_work, _MOST_WORK)

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
