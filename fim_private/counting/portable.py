"""Counting in numpy: it runs everywhere, and is the oracle for the compiled kernel.

Partial itemsets are extended item by item, depth first, by what stands before their last item in
rows in rank order. An extension below the floor ends its branch. Candidates are looked for in
batches of baskets. Each batch gives hits of a unit and a cell of the result: all of a unit together
give the weights of its cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import (
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
# basket is never split.
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


class _Found(NamedTuple):
    """Itemsets at or above the floor, in scan order: (m, size) ranks, chosen[group] and last, and
    (m,) supports.
    """

    chosen: Int32
    group: Int64
    last: Int64
    support: Int64


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
    """Stable argsort of nonnegative integers below 2^32: numpy's is a radix sort for 16 bits, so by
    halves.
    """
    order = np.argsort((values & 0xFFFF).astype(np.uint16), kind="stable")
    if len(values) and int(values.max()) > 0xFFFF:
        order = order[np.argsort((values[order] >> 16).astype(np.uint16), kind="stable")]
    return order


def _extend(
    rows: _FrequentRows, frontier: _Frontier, size: int, floor: int, meter: Meter
) -> Iterator[_Frontier | _Found]:
    """Extend every partial itemset by one more frequent item, a batch at a time: to itemsets of
    that size at last.
    """
    remaining = size - frontier.chosen.shape[1]
    room = frontier.entry - rows.start[frontier.entry]
    able = room >= remaining
    group, entry, room = frontier.group[able], frontier.entry[able], room[able]
    # A partial itemset is not split: by the entries of each, in the order of groups.
    first, _ = _runs(group)
    for begin, end in batches(np.add.reduceat(room, first) if len(first) else room):
        batch = slice(first[begin], first[end] if end < len(first) else len(group))
        some = _Frontier(frontier.chosen, group[batch], entry[batch])
        extended = _extend_batch(rows, some, room[batch], remaining == 1, floor, meter)
        if extended is not None:
            yield extended


def _extend_batch(
    rows: _FrequentRows,
    frontier: _Frontier,
    room: Int64,
    last_item: bool,
    floor: int,
    meter: Meter,
) -> _Frontier | _Found | None:
    """Extend some partial itemsets by one item; None where nothing reaches the floor."""
    chosen, group, entry = frontier
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
    if not len(extension):
        return None
    owner, last = base + extension // width, extension % width
    if last_item:
        return _Found(chosen, owner, last, support)
    index = np.minimum(np.searchsorted(extension, key), len(extension) - 1)
    is_frequent = extension[index] == key
    index, candidate = index[is_frequent], candidate[is_frequent]
    order = _stable_order(index)
    longer = np.concatenate([chosen[owner], last[:, None].astype(np.int32)], axis=1)
    return _Frontier(longer, index[order], candidate[order])


def _count(key: Int64, units: Int64 | None, bound: int) -> tuple[Int64, Int64]:
    """Return the distinct keys, ascending, and how many units have each; keys are below bound."""
    if units is None and bound <= 4 * len(key) + (1 << 16):
        counts = np.bincount(key)
        distinct = np.flatnonzero(counts)
        return distinct, counts[distinct]
    if units is not None:
        # Units ascend inside a partial itemset, so a stable sort by key leaves a unit's repeats
        # adjacent.
        order = np.argsort(key, kind="stable")
        key, units = key[order], units[order]
        fresh = np.ones(len(key), dtype=bool)
        fresh[1:] = (key[1:] != key[:-1]) | (units[1:] != units[:-1])
        key = key[fresh]
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
                f"baskets: "
                f"ask for a smaller {parameter('size')}"
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
        for batch in self._found(floor, meter):
            counts = np.bincount(batch.support[batch.support < ceiling])
            histogram[: len(counts)] += counts
        return Top(levels_of(histogram, floor), floor, meter.done)

    def _found(self, floor: int, meter: Meter) -> Iterator[_Found]:
        """Yield every itemset with support >= floor >= 1, in a fixed order, depth first."""
        rows = _frequent_rows(self._transactions, self.item_supports, self._size, floor)
        by_rank = _stable_order(rows.rank)
        if self._shard is not None:
            bounds = self._shard.low, self._shard.high
            first, last = np.searchsorted(rows.rank[by_rank], bounds)
            by_rank = by_rank[first:last]
        single = np.arange(len(self.item_supports), dtype=np.int32)[:, None]
        frontier = _Frontier(single, rows.rank[by_rank].astype(np.int64), by_rank)
        waiting = [_extend(rows, frontier, self._size, floor, meter)]
        while waiting:
            extended = next(waiting[-1], None)
            if isinstance(extended, _Found):
                yield extended
            elif extended is None:
                waiting.pop()
            else:
                waiting.append(_extend(rows, extended, self._size, floor, meter))

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
        for batch in self._found(lowest, Meter(self._effort, self._size, self.most_work)):
            places = np.flatnonzero(batch.support <= highest)
            ranks = np.column_stack([batch.chosen[batch.group[places]], batch.last[places]])
            yield order[ranks], batch.support[places]


# -------------------- candidates

# In more of its baskets than this no unit has a cell.
_MOST_TIMES = (1 << 31) - 1
# The unit of each hit, ascending from batch to batch, and its cell: (n,) int64 each.
_Hits = tuple[Int64, Int64]


@dataclass(frozen=True)
class _Rows:
    """Baskets as rows: row r has the numbers ``items[starts[r]:starts[r + 1]]``, ascending, and the
    unit ``units[r]``.

    repeats: (entries,) where a row is all baskets of a unit together, in how many of them each item
    is; else None.
    """

    starts: Int64
    items: Int64
    units: Int64
    repeats: Int32 | None = None

    @property
    def lengths(self) -> Int64:
        """How many items each row has: (rows,)."""
        return np.diff(self.starts)


@dataclass(frozen=True)
class CandidateCounts:
    """Candidates among the items of some codes, (m,), counted in numpy by one thread; see
    `CandidateSource`.
    """

    _transactions: Transactions
    _codes: NDArray[np.integer]
    _effort: Effort

    @cached_property
    def _rows(self) -> _Rows:
        """The baskets with these items only, by their numbers."""
        number_of = ranks_of(self._codes, len(self._transactions.vocabulary))
        if self._transactions.together:
            starts, items, repeats = repeated_items(self._transactions, number_of)
            return _Rows(starts, items.astype(np.int64), np.arange(len(starts) - 1), repeats)
        row, items = ranked_entries(self._transactions, number_of)
        starts = np.searchsorted(row, np.arange(self._transactions.stored + 1))
        return _Rows(starts, items.astype(np.int64), unit_of_basket(self._transactions))

    def pair_level_sums(self, scale: int) -> Int64:
        """Return the level sum of each pair; see `CandidateSource.pair_level_sums`."""
        # in the order of their cells
        high, low = np.tril_indices(len(self._codes), -1)
        return self.level_sums(np.column_stack([low, high]).astype(np.int32), scale)

    def level_sums(self, sets: Int32, scale: int) -> Int64:
        """Return the level sum of each candidate; see `CandidateSource.level_sums`."""
        rows, cells, width = self._rows, len(sets), max(len(self._codes), 1)
        sums = np.zeros(cells, dtype=np.int64)
        entries = np.repeat(rows.units, rows.lengths) * width + rows.items
        for keys, times in _distinct(self._hits([sets]), cells):
            unit, cell = keys // cells, keys % cells
            if rows.repeats is not None:
                members = np.searchsorted(entries, unit[:, None] * width + sets[cell])
                times = rows.repeats[members].min(axis=1).astype(np.int64)
            np.add.at(sums, cell, _roots(unit, times, scale))
        return sums

    def sums(self, candidates: Candidates, weights: Int64) -> Int64:
        """Return the weighted sum of each candidate; see `CandidateSource.sums`."""
        return _weighted(self._hits(candidates), weights, sum(map(len, candidates)))

    def units_with(self, candidates: Candidates) -> Int64:
        """Return how many units have 0, 1, … candidates; see `CandidateSource.units_with`."""
        width = sum(map(len, candidates))
        histogram = np.zeros(width + 1, dtype=np.int64)
        for keys, _ in _distinct(self._hits(candidates), width):
            _, counts = _runs(keys // width)
            histogram += np.bincount(counts, minlength=width + 1)
        histogram[0] = self._transactions.units - histogram.sum()
        return histogram

    def _hits(self, candidates: Candidates) -> Iterator[_Hits]:
        """Return a hit for each basket and each candidate in it."""
        largest = max((rows.shape[1] for rows in candidates), default=1)
        lengths = self._rows.lengths
        trie = candidate_trie(candidates, max(len(self._codes), 1))
        # No more nodes are in a row than the trie has, nor than the row has subsets.
        nodes = np.minimum(2.0 ** np.minimum(lengths, 60), len(trie.accepts)).astype(np.int64)
        # Each is extended by what stands behind it.
        meter = Meter(self._effort, largest, int((nodes * lengths).sum()))
        for first, last in batches(np.maximum(nodes, lengths)):
            yield _candidates_of_rows(self._rows, first, last, trie, meter)


def item_sums(transactions: Transactions, weights: Int64 | None, effort: Effort) -> Int64:
    """Return the sum of weights[distinct items of the unit] of each item, as compiled.item_sums;
    effort is not used.
    """
    items = len(transactions.vocabulary)
    if weights is None:
        if transactions.unit_offsets is None:
            return np.bincount(transactions.items, minlength=items)
        weights = np.ones(items + 1, dtype=np.int64)
    return _weighted(_item_hits(transactions), weights, items)


def item_level_sums(transactions: Transactions, scale: int, most: int, effort: Effort) -> Int64:
    """Return the level sum of each item; see `ItemSource.level_sums`: (vocabulary,). effort is not
    used.
    """
    cells = len(transactions.vocabulary)
    sums = np.zeros(cells, dtype=np.int64)
    for keys, times in _distinct(_item_hits(transactions), cells):
        unit, item = keys // cells, keys % cells
        order = np.lexsort((item, -times, unit))
        first, lengths = _runs(unit)
        place = np.arange(len(unit)) - np.repeat(first, lengths)
        counted = np.sort(order[place < most])
        np.add.at(sums, item[counted], _roots(unit[counted], times[counted], scale))
    return sums


def repeated_items(transactions: Transactions, number_of: Int32) -> tuple[Int64, Int32, Int32]:
    """Return all baskets of each unit as one row, and in how many of them each item is: starts,
    items, repeats.

    number_of: (vocabulary,), by which a row ascends, -1 to leave it out. starts: (units + 1,).
    items: (entries,).
    repeats: (entries,) int32.
    """
    assert transactions.unit_offsets is not None
    ends = transactions.offsets[transactions.unit_offsets]
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


def _item_hits(transactions: Transactions) -> Iterator[_Hits]:
    """Yield a hit for each basket and each item in it."""
    lengths, units = np.diff(transactions.offsets), unit_of_basket(transactions)
    for first, last in batches(lengths):
        items = transactions.items[transactions.offsets[first] : transactions.offsets[last]]
        yield np.repeat(units[first:last], lengths[first:last]), items.astype(np.int64)


def _roots(units: Int64, times: Int64, scale: int) -> Int64:
    """Return floor(scale · √(times / all times of the unit)), exactly, for each cell of a unit:
    (n,).

    units: (n,) ascending, n >= 1. times: (n,), and below 2^63 all together. scale: at most 2^16.
    """
    # No unit has as many baskets; with more the square would have no room in 64 bits.
    times = np.minimum(times, _MOST_TIMES)
    first, lengths = _runs(units)
    totals = np.repeat(np.add.reduceat(times, first), lengths)
    return floor_roots(scale * scale * times // totals)


def unit_of_basket(transactions: Transactions) -> Int64:
    """Return the number of the unit of each stored basket: (stored,)."""
    if transactions.unit_offsets is None:
        return np.arange(transactions.stored)
    return np.repeat(
        np.arange(len(transactions.unit_offsets) - 1), np.diff(transactions.unit_offsets)
    )


def _weighted(hits: Iterable[_Hits], weights: Int64, cells: int) -> Int64:
    """Return for each cell the sum of the weights of the units that hit it."""
    sums = np.zeros(cells, dtype=np.int64)
    for keys, _ in _distinct(hits, cells):
        _, counts = _runs(keys // cells)
        np.add.at(sums, keys % cells, np.repeat(weights[counts], counts))
    return sums


def _distinct(hits: Iterable[_Hits], width: int) -> Iterator[tuple[Int64, Int64]]:
    """Yield unit * width + cell for all hits, each once and how often it is hit; ascending, and no
    array is empty.

    width: how many cells there are. All of a unit are in one array: beside a batch only one unit's
    cells are stored.
    """
    waiting, before = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for units, cells in hits:
        new, more = np.unique(units * width + cells, return_counts=True)
        keys, place = np.unique(np.concatenate([waiting, new]), return_inverse=True)
        times = np.bincount(place, np.concatenate([before, more]), minlength=len(keys)).astype(
            np.int64
        )
        if len(keys):
            # The last unit may have more baskets in the next batch.
            last = int(np.searchsorted(keys, keys[-1] // width * width))
            if last:
                yield keys[:last], times[:last]
            waiting, before = keys[last:], times[last:]
    if len(waiting):
        yield waiting, before


def _candidates_of_rows(
    rows: _Rows, first: int, last: int, trie: CandidateTrie, meter: Meter
) -> _Hits:
    """Return the hits of the rows first..last: the occurrences of the trie's nodes, level by
    level.
    """
    # An occurrence is a node, a row, and the entry behind that of the node's last item.
    row = np.arange(first, last)
    node, entry = np.zeros(len(row), dtype=np.int64), rows.starts[row]
    hits = []
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
        hits.append((rows.units[row[accepted]], trie.accepts[node[accepted]].astype(np.int64)))
    units, cells = (np.concatenate(arrays) for arrays in zip(*hits, strict=True))
    return units, cells


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
