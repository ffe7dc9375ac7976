"""Counting in numpy: it runs everywhere, and is the oracle for the compiled kernel.

Partial itemsets are extended item by item, depth first, by what stands before their last item in
rows in rank order. An extension below the floor ends its branch. Candidates are looked for in
batches of units, whose hits of each cell of the result are counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import (
    CandidateCounter,
    Candidates,
    CandidateTrie,
    ShardCounter,
    Top,
    candidate_trie,
    floor_roots,
    levels_of,
    rank_order,
    ranks_of,
)
from fim_private.counting.work import Effort, Int32, Int64, Meter, itemset_occurrences
from fim_private.errors import WorkLimitError, parameter
from fim_private.reading.transactions import Transactions
from fim_private.reading.values import offsets_of

# Entries, hits or occurrences at a time: some 100 MB of working memory. One partial itemset or
# unit is never split.
_BATCH = 1 << 21


class _FrequentRows(NamedTuple):
    """The baskets, cut to their frequent items and in rank order.

    rank: (e,) ranks of the entries, ascending inside a row. start: (e,) the first entry of each
    entry's row.
    unit: (e,) the unit of each entry; None where each row is a unit.
    """

    rank: Int32
    start: Int64
    unit: Int64 | None


class _Frontier(NamedTuple):
    """Partial itemsets and where they occur.

    chosen: (g, k) ranks, descending along a row. group: (o,) index into chosen, ascending. entry:
    (o,) that of the last chosen item, ascending inside a group.
    """

    chosen: Int32
    group: Int64
    entry: Int64


# Itemsets at or above the floor, in scan order: (m, size) ranks, and (m,) supports.
_Found = tuple[Int32, Int64]


def _frequent_rows(
    transactions: Transactions, supports: Int64, size: int, floor: int
) -> _FrequentRows:
    """Cut the baskets to items of support >= floor, and to baskets that still have size of them."""
    row, rank = ranked_entries(transactions, ranks_of(rank_order(supports, floor), len(supports)))
    _, lengths = _runs(row)
    enough = np.repeat(lengths >= size, lengths)
    row, rank = row[enough], rank[enough]
    first, lengths = _runs(row)
    start = np.repeat(first, lengths)
    unit = None if transactions.unit_offsets is None else unit_of_basket(transactions)[row]
    return _FrequentRows(rank, start, unit)


def _runs(numbers: Int64) -> tuple[Int64, Int64]:
    """Return where each run of one number begins, of numbers >= 0, and how long it is."""
    first = np.flatnonzero(np.diff(numbers, prepend=-1))
    return first, np.diff(first, append=len(numbers))


def ranked_entries(transactions: Transactions, rank_of: Int32) -> tuple[Int64, Int32]:
    """Return the entries by row and, in each, by rank: (entries,) rows, and (entries,) ranks.

    rank_of: (vocabulary,), -1 for a code to leave out.
    """
    rank = rank_of[transactions.items]
    row = np.repeat(np.arange(transactions.stored), np.diff(transactions.offsets))
    key = ((row << 32) | rank)[rank >= 0]
    key.sort()
    return key >> 32, (key & 0xFFFFFFFF).astype(np.int32)


def _stable_order(values: NDArray[np.integer]) -> Int64:
    """Return the stable order of fewer than 2^32 integers from 0 to 2^31: faster than argsort."""
    keys = (values.astype(np.int64) << 32) | np.arange(len(values))
    keys.sort()
    return keys & 0xFFFFFFFF


def _batched(rows: _FrequentRows, frontier: _Frontier, size: int) -> list[_Frontier]:
    """Cut a frontier into batches, without what has no room for the items that remain."""
    chosen, group, entry = frontier
    room = entry - rows.start[entry]
    able = room >= size - chosen.shape[1]
    group, entry, room = group[able], entry[able], room[able]
    first, _ = _runs(group)
    bounds = np.append(first, len(group))
    costs = np.diff(offsets_of(room)[bounds])
    return [
        _Frontier(chosen, group[bounds[begin] : bounds[end]], entry[bounds[begin] : bounds[end]])
        for begin, end in batches(costs)
    ]


def _extended(
    rows: _FrequentRows, frontier: _Frontier, size: int, floor: int, meter: Meter
) -> _Frontier | _Found:
    """Extend some partial itemsets by one more frequent item: to itemsets of that size at last."""
    chosen, group, entry = frontier
    room = entry - rows.start[entry]
    meter(int(room.sum()))
    candidate = spread(rows.start[entry], room)
    # An extension is a pair (partial itemset, item): the item's rank is below that of the last one
    # chosen.
    base, width = int(group[0]), int(chosen[group[0] : group[-1] + 1, -1].max())
    key = np.repeat((group - base) * width, room) + rows.rank[candidate]
    units = None if rows.unit is None else np.repeat(rows.unit[entry], room)
    extension, support = _count(key, units, (int(group[-1]) - base + 1) * width)
    frequent = support >= floor
    extension, support = extension[frequent], support[frequent]
    last = (extension % width).astype(np.int32)
    longer = np.column_stack([chosen[base + extension // width], last])
    if longer.shape[1] == size:
        return longer, support
    place = np.searchsorted(extension, key)
    matches = np.flatnonzero(np.append(extension, -1)[place] == key)
    place, candidate = place[matches], candidate[matches]
    order = _stable_order(place)
    return _Frontier(longer, place[order], candidate[order])


def _count(key: Int64, units: Int64 | None, bound: int) -> tuple[Int64, Int64]:
    """Return the distinct keys, ascending, and how many units have each; keys are below bound."""
    if units is not None:
        # Units ascend inside a partial itemset, so a stable sort by key leaves a unit's repeats
        # adjacent.
        order = np.argsort(key, kind="stable")
        key, units = key[order], units[order]
        repeats = (np.diff(key, prepend=-1) == 0) & (np.diff(units, prepend=-1) == 0)
        key = key[~repeats]
    if bound <= 4 * len(key) + (1 << 16):
        counts = np.bincount(key)
        distinct = np.flatnonzero(counts)
        return distinct, counts[distinct]
    return np.unique(key, return_counts=True)


# Scans have a falling floor, so that the top of the spectrum costs only the frequent items. Each
# further one lowers it by this factor: deep reads cost at most about a third more than one scan.
_FLOOR_FACTOR = 4
# Itemsets of more items are long. Of these so many items of prefixes may be written out, some GB at
# most.
_LONG, _MOST_PREFIX_ITEMS = 256, 1 << 29


class PortableCounter(ShardCounter):
    """Counts itemsets of one size in numpy, by one thread; see `ShardCounter`."""

    @cached_property
    def most_work(self) -> int:
        """How many steps a pass over all itemsets takes at most. Raises WorkLimitError where they
        are too long.
        """
        occurrences = itemset_occurrences(np.diff(self._transactions.offsets), self._size)
        if self._size > _LONG and self._size**2 * occurrences > _MOST_PREFIX_ITEMS:
            raise WorkLimitError(
                f"counting itemsets of more than {_LONG} items takes too much memory in these "
                f"baskets: ask for a smaller {parameter('size')}"
            )
        return occurrences

    def _sum_items(self) -> Int64:
        return item_sums(self._transactions, None, self._effort)

    def descend(self, ceiling: int, floor: int, limit: int | None) -> Top:
        """Count the itemsets of some supports; see `ShardCounter`."""
        if self._shard is not None:
            ceiling = min(ceiling, int(self._shard.supports[self._shard.low]) + 1)
        if limit is not None:
            # As much as a reader of the top may want: each further scan lowers the floor.
            floor = max(ceiling // _FLOOR_FACTOR, floor)
        if ceiling <= floor:
            return Top([], floor)
        histogram = np.zeros(ceiling, dtype=np.int64)
        meter = Meter(self._effort, self._size, self.most_work)
        for _, support in self._found(floor, meter):
            counts = np.bincount(support[support < ceiling])
            histogram[: len(counts)] += counts
        return Top(levels_of(histogram, floor), floor, meter.done)

    def _found(self, floor: int, meter: Meter) -> Iterator[_Found]:
        """Yield every itemset with support >= floor >= 1, in scan order, depth first."""
        rows = _frequent_rows(self._transactions, self.item_supports, self._size, floor)
        by_rank = _stable_order(rows.rank)
        if self._shard is not None:
            bounds = self._shard.low, self._shard.high
            first, last = np.searchsorted(rows.rank[by_rank], bounds)
            by_rank = by_rank[first:last]
        single = np.arange(len(self.item_supports), dtype=np.int32)[:, None]
        frontier = _Frontier(single, rows.rank[by_rank].astype(np.int64), by_rank)
        waiting = _batched(rows, frontier, self._size)[::-1]
        while waiting:
            extended = _extended(rows, waiting.pop(), self._size, floor, meter)
            if isinstance(extended, _Frontier):
                waiting += _batched(rows, extended, self._size)[::-1]
            else:
                yield extended

    def locate(self, support: int, index: int) -> list[int]:
        """Return the codes of the index-th itemset of that support; LookupError without one; see
        `Counter`.
        """
        for codes, _ in self._between(support, support):
            if index < len(codes):
                return [int(code) for code in codes[index]]
            index -= len(codes)
        raise LookupError("no such itemset")

    def itemsets(self, lowest: int, highest: int) -> tuple[Int64, Int64]:
        """Return the itemsets of supports lowest..highest: (m, size) codes in scan order, and (m,)
        supports.
        """
        empty = np.empty((0, self._size), dtype=np.int64), np.empty(0, dtype=np.int64)
        codes, supports = zip(empty, *self._between(lowest, highest), strict=True)
        return np.concatenate(codes), np.concatenate(supports)

    def _between(self, lowest: int, highest: int) -> Iterator[tuple[Int64, Int64]]:
        order = rank_order(self.item_supports)
        meter = Meter(self._effort, self._size, self.most_work)
        for ranks, support in self._found(lowest, meter):
            places = np.flatnonzero(support <= highest)
            yield order[ranks[places]], support[places]


# -------------------- candidates

# In more of its baskets than this no unit has an item.
_MOST_TIMES = (1 << 31) - 1


@dataclass(frozen=True)
class _Rows:
    """Baskets as rows: row r has the numbers ``items[starts[r]:starts[r + 1]]``, ascending.

    unit_starts: (units + 1,) the first row of each unit, and the end. repeats: (entries,) where a
    row is all baskets of a unit together, in how many of them each item is; else None.
    """

    starts: Int64
    items: Int64
    unit_starts: Int64
    repeats: Int32 | None = None


class CandidateCounts(CandidateCounter):
    """Candidates counted in numpy by one thread; see `CandidateCounter`."""

    @cached_property
    def _rows(self) -> _Rows:
        """The baskets with these items only, by their numbers."""
        data = self._transactions
        number_of = ranks_of(self._codes, len(data.vocabulary))
        if data.together:
            starts, items, repeats = repeated_items(data, number_of)
            return _Rows(starts, items.astype(np.int64), np.arange(len(starts)), repeats)
        row, items = ranked_entries(data, number_of)
        starts = np.searchsorted(row, np.arange(data.stored + 1))
        return _Rows(starts, items.astype(np.int64), _first_baskets(data))

    def pair_level_sums(self, scale: int) -> Int64:
        """Return the level sum of each pair; see `CandidateSource.pair_level_sums`."""
        # in the order of their cells
        high, low = np.tril_indices(len(self._codes), -1)
        return self.level_sums(np.column_stack([low, high]).astype(np.int32), scale)

    def _look_for(self, candidates: Candidates, weights: Int64 | None, scale: int = 0) -> Int64:
        sums = np.zeros(sum(map(len, candidates)) + (weights is None), dtype=np.int64)
        repeats = self._rows.repeats
        for unit, cell, times in self._held(candidates):
            _, counts = _runs(unit)
            if weights is None:
                sums += np.bincount(counts, minlength=len(sums))
            elif scale:
                if repeats is not None:
                    times = self._least_repeated(unit, candidates[0][cell], repeats)
                np.add.at(sums, cell, _roots(unit, times, scale))
            else:
                np.add.at(sums, cell, np.repeat(weights[counts], counts))
        return sums

    @cached_property
    def _entry_keys(self) -> Int64:
        """The row and the number of each entry as one number, ascending: (entries,)."""
        rows = self._rows
        row = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts))
        return np.asarray(row * len(self._codes) + rows.items)

    def _least_repeated(self, unit: Int64, sets: Int32, repeats: Int32) -> Int64:
        """Return in how many baskets of a unit, which is one row, the rarest item of a set is."""
        keys = unit[:, None] * len(self._codes) + sets
        members = np.searchsorted(self._entry_keys, keys)
        return np.asarray(repeats[members].min(axis=1).astype(np.int64))

    def _held(self, candidates: Candidates) -> Iterator[tuple[Int64, Int64, Int64]]:
        """Yield the candidates of whole units: the unit, ascending, the candidate, how often."""
        rows, cells = self._rows, sum(map(len, candidates))
        largest = max((sets.shape[1] for sets in candidates), default=1)
        lengths = np.diff(rows.starts)
        trie = candidate_trie(candidates, max(len(self._codes), 1))
        # No more nodes are in a row than the trie has, nor than the row has subsets.
        nodes = np.minimum(2.0 ** np.minimum(lengths, 60), len(trie.accepts)).astype(np.int64)
        # Each is extended by what stands behind it.
        meter = Meter(self._effort, largest, int((nodes * lengths).sum()))
        costs = np.diff(offsets_of(np.maximum(nodes, lengths))[rows.unit_starts])
        for begin, end in batches(costs):
            first, last = int(rows.unit_starts[begin]), int(rows.unit_starts[end])
            row, cell = _candidates_of_rows(rows, first, last, trie, meter)
            unit = np.searchsorted(rows.unit_starts, row, side="right") - 1
            keys, times = np.unique(unit * cells + cell, return_counts=True)
            yield keys // cells, keys % cells, times


def item_sums(transactions: Transactions, weights: Int64 | None, effort: Effort) -> Int64:
    """Return the sum of weights[distinct items of the unit] of each item, as compiled.item_sums;
    effort is not used.
    """
    cells = len(transactions.vocabulary)
    if weights is None and transactions.unit_offsets is None:
        return np.bincount(transactions.items, minlength=cells)
    starts, items, _ = repeated_items(transactions, np.arange(cells, dtype=np.int32))
    if weights is None:
        return np.bincount(items, minlength=cells)
    sums, counts = np.zeros(cells, dtype=np.int64), np.diff(starts)
    np.add.at(sums, items, np.repeat(weights[counts], counts))
    return sums


def item_level_sums(transactions: Transactions, scale: int, most: int, effort: Effort) -> Int64:
    """Return the level sum of each item; see `ItemSource.level_sums`: (vocabulary,). effort is not
    used.
    """
    cells = len(transactions.vocabulary)
    sums = np.zeros(cells, dtype=np.int64)
    starts, items, times = repeated_items(transactions, np.arange(cells, dtype=np.int32))
    unit = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((items, -times, unit))
    counted = np.sort(order[np.arange(len(unit)) - starts[unit] < most])
    roots = _roots(unit[counted], times[counted].astype(np.int64), scale)
    np.add.at(sums, items[counted], roots)
    return sums


def repeated_items(transactions: Transactions, number_of: Int32) -> tuple[Int64, Int32, Int32]:
    """Return all baskets of each unit as one row, and in how many of them each item is: starts,
    items, repeats.

    number_of: (vocabulary,), by which a row ascends, -1 to leave it out. starts: (units + 1,).
    items: (entries,).
    repeats: (entries,) int32.
    """
    ends = transactions.offsets[_first_baskets(transactions)]
    keys, repeats = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int32)]
    for first, last in batches(np.diff(ends)):
        number = number_of[transactions.items[ends[first] : ends[last]]]
        unit = np.repeat(np.arange(first, last), np.diff(ends[first : last + 1]))
        held, times = np.unique((unit << 32 | number)[number >= 0], return_counts=True)
        keys.append(held)
        repeats.append(np.minimum(times, _MOST_TIMES).astype(np.int32))
    rows = np.concatenate(keys)
    starts = np.searchsorted(rows, np.arange(len(ends)) << 32)
    return starts, (rows & 0xFFFFFFFF).astype(np.int32), np.concatenate(repeats)


def _roots(units: Int64, times: Int64, scale: int) -> Int64:
    """Return floor(scale · √(times / all times of the unit)), exactly, for each cell of a unit:
    (n,).

    units: (n,) ascending. times: (n,), below 2^31, and below 2^63 all together. scale: at most
    2^16.
    """
    first, lengths = _runs(units)
    totals = np.repeat(np.add.reduceat(times, first), lengths)
    return floor_roots(scale * scale * times // totals)


def _first_baskets(transactions: Transactions) -> Int64:
    """Return the first stored basket of each unit, and the end: (units + 1,)."""
    if transactions.unit_offsets is None:
        return np.arange(transactions.stored + 1)
    return transactions.unit_offsets


def unit_of_basket(transactions: Transactions) -> Int64:
    """Return the number of the unit of each stored basket: (stored,)."""
    first_baskets = _first_baskets(transactions)
    return np.repeat(np.arange(len(first_baskets) - 1), np.diff(first_baskets))


def _candidates_of_rows(
    rows: _Rows, first: int, last: int, trie: CandidateTrie, meter: Meter
) -> tuple[Int64, Int64]:
    """Return the rows first..last with the candidates in them: the occurrences of the trie's
    nodes, level by level.
    """
    # An occurrence is a node, a row, and the entry behind that of the node's last item.
    row = np.arange(first, last)
    node, entry = np.zeros(len(row), dtype=np.int64), rows.starts[row]
    hits = [(row[:0], trie.accepts[:0])]  # units without a basket have no row
    while len(node):
        room = rows.starts[row + 1] - entry
        longer = []
        for begin, end in batches(room):
            some, numbers = slice(begin, end), room[begin:end]
            meter(int(numbers.sum()))
            extended = spread(entry[some], numbers)
            key = np.repeat(node[some] * trie.width, numbers) + rows.items[extended]
            place = np.searchsorted(trie.keys, key)
            matches = np.flatnonzero(np.append(trie.keys, -1)[place] == key)
            longer.append(
                (place[matches] + 1, np.repeat(row[some], numbers)[matches], extended[matches] + 1)
            )
        node, row, entry = (np.concatenate(arrays) for arrays in zip(*longer, strict=True))
        accepted = np.flatnonzero(trie.accepts[node] >= 0)
        hits.append((row[accepted], trie.accepts[node[accepted]]))
    rows_hit, cells = (np.concatenate(arrays) for arrays in zip(*hits, strict=True))
    return rows_hit, cells


def spread(starts: Int64, lengths: Int64) -> Int64:
    """Return the numbers starts[k], starts[k] + 1, ..., lengths[k] of them, for each k: (sum of
    lengths,).
    """
    offsets = offsets_of(lengths)
    return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)


def batches(costs: Int64, most: int | None = None) -> Iterator[tuple[int, int]]:
    """Cut costs, (n,) >= 0, into ranges first..last of at most that much (_BATCH) together, or of
    one.
    """
    most = _BATCH if most is None else most
    offsets, first = offsets_of(costs), 0
    while first < len(costs):
        last = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last
