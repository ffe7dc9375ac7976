"""Weighted counting in numpy: of items, pairs and candidates; it runs everywhere, and is the oracle for faster ones.

Baskets are taken in batches. A batch gives *hits*, of a unit and a cell of the result; what a unit hits twice counts
once, and when all baskets of a unit are through, its cells, and how often it hits each, tell their weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isqrt

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
    repeats: (entries,) where a row is all baskets of a unit together, in how many of them each item is; else None.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int64]
    units: NDArray[np.int64]
    repeats: NDArray[np.signedinteger] | None = None

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
        if self._transactions.together:
            starts, items, repeats = repeated_items(self._transactions, number_of)
            return _Rows(starts, items.astype(np.int64), np.arange(len(starts) - 1), repeats)
        number = number_of[self._transactions.items]
        kept = np.flatnonzero(number >= 0)
        starts = np.searchsorted(kept, self._transactions.offsets)
        row = np.repeat(np.arange(self._transactions.kept), np.diff(starts))
        key = (row << 32) | number[kept]
        key.sort()
        return _Rows(starts, key & 0xFFFFFFFF, _unit_of_basket(self._transactions))

    def pair_level_sums(self, scale: int) -> NDArray[np.int64]:
        """Return the level sum of each pair; see `CandidateSource.pair_level_sums`."""
        most = int((self._rows.lengths * (self._rows.lengths - 1) // 2).sum())
        cells = len(self._codes) * (len(self._codes) - 1) // 2
        hits = _pairs(self._rows, Meter(self._effort, 2, most))
        upper = np.repeat(np.arange(len(self._codes)), np.arange(len(self._codes)))
        members = np.column_stack([np.arange(cells) - upper * (upper - 1) // 2, upper])
        return self._level_sums(hits, cells, members, scale)

    def level_sums(self, sets: NDArray[np.int32], scale: int) -> NDArray[np.int64]:
        """Return the level sum of each candidate; see `CandidateSource.level_sums`."""
        return self._level_sums(self._hits([sets]), len(sets), sets, scale)

    def _level_sums(
        self, hits: Iterable[_Hits], cells: int, members: NDArray[np.integer], scale: int
    ) -> NDArray[np.int64]:
        """Return the level sum of each cell. members: (cells, r) the item numbers of each."""
        rows, sums, width = self._rows, np.zeros(cells, dtype=np.int64), max(len(self._codes), 1)
        repeats, held = rows.repeats, rows.items
        if repeats is not None:
            held = np.repeat(rows.units, rows.lengths) * width + rows.items
        for keys, times in _distinct(hits, cells):
            if repeats is not None:
                looked = (keys // cells)[:, None] * width + members[keys % cells]
                times = repeats[np.searchsorted(held, looked)].min(axis=1).astype(np.int64)
            np.add.at(sums, keys % cells, _roots(keys // cells, times, scale))
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
        for keys, _ in _distinct(self._hits(candidates), width):
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
    _add_weights(_item_hits(rows), weights, sums)
    return sums


def item_level_sums(transactions: Transactions, scale: int, most: int, effort: Effort) -> NDArray[np.int64]:
    """Return the level sum of each item; see `ItemSource.level_sums`: (vocabulary,). effort: not used, as above."""
    rows = _Rows(transactions.offsets, transactions.items.astype(np.int64), _unit_of_basket(transactions))
    cells = len(transactions.vocabulary)
    sums = np.zeros(cells, dtype=np.int64)
    for keys, times in _distinct(_item_hits(rows), cells):
        unit, item = keys // cells, keys % cells
        order = np.lexsort((item, -times, unit))
        first = np.flatnonzero(np.diff(unit, prepend=-1))
        place = np.arange(len(unit)) - np.repeat(first, np.diff(first, append=len(unit)))
        kept = np.sort(order[place < most])
        np.add.at(sums, item[kept], _roots(unit[kept], times[kept], scale))
    return sums


def repeated_items(
    transactions: Transactions, number_of: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.signedinteger]]:
    """Return all baskets of each unit as one row, and in how many of them each item is: starts, items, repeats.

    number_of: (vocabulary,) the number of each item, by which a row ascends, -1 to leave it out.
    starts: (units + 1,). items: (entries,). repeats: (entries,) int32, or int64 where there are 2^31 baskets.
    """
    assert transactions.unit_offsets is not None
    ends = transactions.offsets[transactions.unit_offsets]
    starts = np.zeros(len(ends), dtype=np.int64)
    items, repeats = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
    for first, last in _batches(np.diff(ends)):
        number = number_of[transactions.items[ends[first] : ends[last]]]
        unit = np.repeat(np.arange(last - first), np.diff(ends[first : last + 1]))
        keys, times = np.unique((unit << 32 | number)[number >= 0], return_counts=True)
        starts[first + 1 : last + 1] = np.bincount(keys >> 32, minlength=last - first)
        items.append((keys & 0xFFFFFFFF).astype(np.int32))
        repeats.append(times.astype(np.int32) if transactions.kept < 1 << 31 else times)
    return np.cumsum(starts), np.concatenate(items), np.concatenate(repeats)


def _item_hits(rows: _Rows) -> Iterator[_Hits]:
    """Yield a hit for each basket and each item in it."""
    for first, last in _batches(rows.lengths):
        units = np.repeat(rows.units[first:last], rows.lengths[first:last])
        yield units, rows.items[rows.starts[first] : rows.starts[last]]


def _roots(units: NDArray[np.int64], times: NDArray[np.int64], scale: int) -> NDArray[np.int64]:
    """Return floor(scale · √(times / all times of the unit)), exactly, for each cell of a unit: (n,).

    units: (n,) ascending. times: (n,), and below 2^63 all together. scale: at most 2^16.
    """
    first = np.flatnonzero(np.diff(units, prepend=-1))
    total = np.repeat(np.add.reduceat(times, first), np.diff(first, append=len(units))) if len(units) else times
    if times.max(initial=0) >= 1 << 31:  # the square has no more room in 64 bits
        pairs = zip(times.tolist(), total.tolist(), strict=True)
        return np.array([isqrt(scale**2 * own // whole) for own, whole in pairs], dtype=np.int64)
    quotient = scale * scale * times // np.maximum(total, 1)
    root = np.sqrt(quotient).astype(np.int64)
    root -= root * root > quotient
    root += (root + 1) ** 2 <= quotient
    return np.asarray(root)


def _unit_of_basket(transactions: Transactions) -> NDArray[np.int64]:
    if transactions.unit_offsets is None:
        return np.arange(transactions.kept)
    return np.repeat(np.arange(len(transactions.unit_offsets) - 1), np.diff(transactions.unit_offsets))


def _add_weights(hits: Iterable[_Hits], weights: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
    """Add to each cell of sums the weight of each unit that hits it."""
    for keys, _ in _distinct(hits, len(sums)):
        counts = _hits_of_each_unit(keys, len(sums))
        np.add.at(sums, keys % len(sums), np.repeat(weights[counts], counts))


def _distinct(hits: Iterable[_Hits], width: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield unit * width + cell for all hits, each once and how often it is hit; ascending, and no array is empty.

    width: how many cells there are. All of a unit are in one array: beside a batch only one unit's cells are kept.
    """
    waiting, before = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for units, cells in hits:
        new, more = np.unique(units * width + cells, return_counts=True)
        keys, place = np.unique(np.concatenate([waiting, new]), return_inverse=True)
        times = np.bincount(place, np.concatenate([before, more]), minlength=len(keys)).astype(np.int64)
        if len(keys):
            # The last unit may have more baskets in the next batch.
            last = int(np.searchsorted(keys, keys[-1] // width * width))
            if last:
                yield keys[:last], times[:last]
            waiting, before = keys[last:], times[last:]
    if len(waiting):
        yield waiting, before


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
