"""Weighted counting in numpy: of items, pairs and candidates; it runs everywhere, and is the oracle for faster ones.

Baskets are taken in batches. A batch gives *hits*, of a unit and a cell of the result; what a unit hits twice counts
once, and when all baskets of a unit are through, the number of its cells tells their weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.candidate_counts import Candidates
from fim_private.counting.candidate_trie import CandidateTrie, candidate_trie
from fim_private.counting.work_limit import Effort, Meter
from fim_private.reading.transactions import Transactions

# Hits, or occurrences that are extended, at a time: some 100 MB of working memory. One basket is never split.
_BATCH = 1 << 21

# The unit of each hit, ascending from batch to batch, and its cell: (n,) int64 each.
_Hits = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class _Rows:
    """Baskets as rows of item numbers: row r holds ``items[starts[r]:starts[r + 1]]``.

    starts: (rows + 1,) int64. items: (entries,) int64, ascending in a row. units: (rows,) int64, ascending.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int64]
    units: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many items each row has: (rows,)."""
        return np.diff(self.starts)


class PortableCandidates:
    """Candidates among some items in one set of transactions; see `candidate_counts.CandidateSource`.

    codes: (m,) the code of each item number, all different. effort: limit of work and progress; there is one thread.
    """

    def __init__(self, transactions: Transactions, codes: NDArray[np.integer], effort: Effort) -> None:
        self._transactions = transactions
        self._codes = codes
        self._effort = effort

    @cached_property
    def _rows(self) -> _Rows:
        """The baskets with these items only, by their numbers."""
        number_of = np.full(len(self._transactions.vocabulary), -1, dtype=np.int32)
        number_of[self._codes] = np.arange(len(self._codes), dtype=np.int32)
        number = number_of[self._transactions.items]
        kept = np.flatnonzero(number >= 0)
        starts = np.searchsorted(kept, self._transactions.offsets)
        row = np.repeat(np.arange(self._transactions.kept), np.diff(starts))
        key = (row << 32) | number[kept]
        key.sort()
        return _Rows(starts, key & 0xFFFFFFFF, _unit_of_basket(self._transactions))

    def pair_sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weighted sum of each pair; see `CandidateSource.pair_sums`."""
        most = int((self._rows.lengths * (self._rows.lengths - 1) // 2).sum())
        sums = np.zeros(len(self._codes) * (len(self._codes) - 1) // 2, dtype=np.int64)
        _add_weights(_pairs(self._rows, Meter(self._effort, 2, most)), weights, sums)
        return sums

    def sums(self, candidates: Candidates, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weighted sum of each candidate; see `CandidateSource.sums`."""
        sums = np.zeros(sum(map(len, candidates)), dtype=np.int64)
        _add_weights(self._hits(candidates), weights, sums)
        return sums

    def held(self, candidates: Candidates) -> NDArray[np.int64]:
        """Return how many units hold so many candidates; see `CandidateSource.held`."""
        width = sum(map(len, candidates))
        held = np.zeros(width + 1, dtype=np.int64)
        for keys in _distinct(self._hits(candidates), width):
            held += np.bincount(_hits_of_each_unit(keys, width), minlength=width + 1)
        held[0] = self._transactions.units - held.sum()
        return held

    def _hits(self, candidates: Candidates) -> Iterator[_Hits]:
        """Return a hit for each basket and each candidate in it."""
        largest = max((rows.shape[1] for rows in candidates), default=1)
        lengths = self._rows.lengths
        trie = candidate_trie(candidates, max(len(self._codes), 1))
        # No more nodes are in a row than the trie has, nor than the row has subsets.
        nodes = np.minimum(2.0 ** np.minimum(lengths, 60), len(trie.accepts)).astype(np.int64)
        # Each is extended by what stands behind it.
        meter = Meter(self._effort, largest, int((nodes * lengths).sum()))
        for first, last in _batches(np.maximum(nodes, lengths)):
            yield _candidates_of_rows(self._rows, first, last, trie, meter)


def item_sums(transactions: Transactions, weights: NDArray[np.int64], effort: Effort) -> NDArray[np.int64]:
    """Return for each item the sum of weights[distinct items of the unit] over the units that have it: (vocabulary,).

    weights: (most + 1,) int64, >= 0, where no unit has more than most distinct items. effort: not used, nothing is
    counted but items.
    """
    rows = _Rows(transactions.offsets, transactions.items.astype(np.int64), _unit_of_basket(transactions))
    sums = np.zeros(len(transactions.vocabulary), dtype=np.int64)
    hits = (
        (
            np.repeat(rows.units[first:last], rows.lengths[first:last]),
            rows.items[rows.starts[first] : rows.starts[last]],
        )
        for first, last in _batches(rows.lengths)
    )
    _add_weights(hits, weights, sums)
    return sums


def _unit_of_basket(transactions: Transactions) -> NDArray[np.int64]:
    if transactions.unit_offsets is None:
        return np.arange(transactions.kept)
    return np.repeat(np.arange(len(transactions.unit_offsets) - 1), np.diff(transactions.unit_offsets))


def _add_weights(hits: Iterable[_Hits], weights: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
    """Add to each cell of sums the weight of each unit that hits it."""
    for keys in _distinct(hits, len(sums)):
        counts = _hits_of_each_unit(keys, len(sums))
        np.add.at(sums, keys % len(sums), np.repeat(weights[counts], counts))


def _distinct(hits: Iterable[_Hits], width: int) -> Iterator[NDArray[np.int64]]:
    """Yield unit * width + cell for all hits, each once, ascending and all of a unit in one array, which is not empty.

    width: how many cells there are. Beside a batch no more than one unit's cells are kept.
    """
    waiting = np.empty(0, dtype=np.int64)
    for units, cells in hits:
        keys = np.unique(np.concatenate([waiting, units * width + cells]))
        if len(keys):
            # The last unit may have more baskets in the next batch.
            last = int(np.searchsorted(keys, keys[-1] // width * width))
            if last:
                yield keys[:last]
            waiting = keys[last:]
    if len(waiting):
        yield waiting


def _hits_of_each_unit(keys: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Return how many of the keys of `_distinct` each unit has that has any: (units,)."""
    first = np.flatnonzero(np.diff(keys // width, prepend=-1))
    return np.diff(first, append=len(keys))


def _pairs(rows: _Rows, meter: Meter) -> Iterator[_Hits]:
    """Yield a hit for each basket and each pair a < b in it, in the cell b(b - 1)/2 + a."""
    for first, last in _batches(np.maximum(rows.lengths * (rows.lengths - 1) // 2, rows.lengths)):
        entries = np.arange(rows.starts[first], rows.starts[last])
        row = np.repeat(np.arange(first, last), rows.lengths[first:last])
        before = entries - rows.starts[row]
        a, b = _spread(rows.starts[row], before), np.repeat(entries, before)
        meter(len(a))
        cell = rows.items[b] * (rows.items[b] - 1) // 2 + rows.items[a]
        yield np.repeat(rows.units[row], before), cell


def _candidates_of_rows(rows: _Rows, first: int, last: int, trie: CandidateTrie, meter: Meter) -> _Hits:
    """Return the hits of the rows first..last: the occurrences of the trie's nodes, level by level."""
    # An occurrence is a node, a row, and the entry behind that of the node's last item.
    row = np.arange(first, last)
    node, entry = np.zeros(len(row), dtype=np.int64), rows.starts[row]
    hits = []
    while len(node):
        room = rows.starts[row + 1] - entry
        longer = []
        for begin, end in _batches(room):
            some, own = slice(begin, end), room[begin:end]
            meter(int(own.sum()))
            extended = _spread(entry[some], own)
            key = np.repeat(node[some] * trie.width, own) + rows.items[extended]
            place = np.searchsorted(trie.keys, key)
            found = np.flatnonzero(np.append(trie.keys, -1)[place] == key)
            longer.append((place[found] + 1, np.repeat(row[some], own)[found], extended[found] + 1))
        node, row, entry = (np.concatenate(parts) for parts in zip(*longer, strict=True))
        accepted = np.flatnonzero(trie.accepts[node] >= 0)
        hits.append((rows.units[row[accepted]], trie.accepts[node[accepted]].astype(np.int64)))
    units, cells = (np.concatenate(parts) for parts in zip(*hits, strict=True))
    return units, cells


def _spread(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers starts[k], starts[k] + 1, ..., lengths[k] of them, for each k: (sum of lengths,)."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)


def _batches(costs: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Cut costs, (n,) >= 0, into ranges first..last of at most _BATCH together, or of one."""
    ends, first = np.cumsum(costs), 0
    while first < len(costs):
        done = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, done + _BATCH, side="right")), first + 1)
        yield first, last
        first = last
