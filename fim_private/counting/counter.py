"""What every counter does: itemsets by rank, shards of them, and candidates that are counted with
weights.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.work import Effort, Int32, Int64
from fim_private.dp.arguments import positive_integer
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import Level, SupportSpectrum


def rank_order(supports: Int64, min_support: int = 0) -> Int64:
    """Return the codes of at least that support, (ranks,) int64, by descending support, ties by
    code.

    supports: (vocabulary,) units that have each item.
    """
    codes = np.flatnonzero(supports >= min_support)
    return codes[np.argsort(-supports[codes], kind="stable")]


def ranks_of(order: NDArray[np.integer], vocabulary: int) -> Int32:
    """Return the place of each code in an order of some codes, -1 for others: (vocabulary,)
    int32.
    """
    ranks = np.full(vocabulary, -1, dtype=np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return ranks


def at_least(support: int, ranked: Int64) -> int:
    """Return how many of the supports, (ranks,) descending, are at least support."""
    return int(np.searchsorted(-ranked, -support, side="right"))


def highest_support(ranked: Int64, size: int) -> int:
    """Return the most that an itemset can have, as its least frequent item: supports are (ranks,)
    descending.
    """
    return int(ranked[size - 1]) if len(ranked) >= size else 0


# The support of a level, and different places of its itemsets in scan order.
Places = tuple[int, Sequence[int]]


@dataclass(frozen=True)
class Top:
    """The top of a spectrum, or what follows it.

    Attributes:
        levels: Descending: all from floor on that were not known before.
        floor: The least support that was counted.
        work: How many steps that took, roughly.
    """

    levels: list[Level]
    floor: int
    work: int = 0


class Counter(Protocol):
    """What counts the itemsets of one size in one set of transactions: levels lazily, descending;
    none is stored.

    Each method raises WorkLimitError where it takes more steps than allowed, MemoryError where
    there is too little.
    """

    @property
    def item_supports(self) -> Int64:
        """How many units have each item: (vocabulary,)."""

    @property
    def most_work(self) -> int:
        """How many steps a pass over all itemsets takes, before it is begun: at most, or about."""

    def top(self, ceiling: int | None, limit: int | None) -> Top:
        """Count itemsets from the top down. Levels are complete down to the floor returned.

        Args:
            ceiling: All have less support than this, >= 1; None for no such bound.
            limit: About how many are wanted, >= 1; None for all.
        """

    def locate(self, support: int, index: int) -> list[int]:
        """Return the codes of the index-th itemset of that support in scan order: size of them.

        support: of at least one itemset. index: 0 to the number of these itemsets less one. Scan
        order: items ranked by descending support, ties by code; itemsets ascending by their ranks,
        from the least frequent item on. It does not depend on the counter, nor on where the baskets
        were read from.
        """

    def itemsets(self, lowest: int, highest: int) -> tuple[Int64, Int64]:
        """Return the itemsets of supports lowest..highest: (m, size) codes in scan order, and (m,)
        supports.
        """

    def located(self, places: Sequence[Places], lowest: int | None) -> list[list[list[int]]]:
        """Return the codes of the itemsets at some places of levels, which descend.

        They are in a list for each level.

        lowest: Itemsets of this support or more are listed in one scan; None to locate one by one.
        """
        listed: dict[int, list[list[int]]] = {}
        highest, least = places[0][0], places[-1][0]
        if lowest is not None and lowest <= highest:
            codes, supports = self.itemsets(max(lowest, least), highest)
            levels = {support for support, _ in places if support >= lowest}
            listed = {support: codes[supports == support].tolist() for support in levels}

        def itemset(support: int, index: int) -> list[int]:
            if support in listed:
                return listed[support][index]
            return self.locate(support, index)

        return [[itemset(support, index) for index in indices] for support, indices in places]


# From so many itemsets to locate it is faster to list all down to their levels, if these are no
# more than so many.
_WORTH_LISTING, _MOST_LISTED = 3, 1 << 16


def lowest_listed(places: Sequence[Places], spectrum: SupportSpectrum) -> int | None:
    """Return the lowest level down to which all itemsets should be listed to locate some.

    None if it is faster to locate them one by one.
    """
    if sum(len(indices) for _, indices in places) < _WORTH_LISTING:
        return None
    lowest, total = None, 0
    for support, multiplicity in spectrum.levels():
        total += multiplicity
        if support < places[-1][0] or total > _MOST_LISTED:
            break
        lowest = support
    return lowest


def levels_of(histogram: Int64, floor: int) -> list[Level]:
    """Return the levels of a histogram, (supports,) from 0 on, from the top down to floor >= 1."""
    supports = np.flatnonzero(histogram[floor:])[::-1] + floor
    return list(zip(supports.tolist(), histogram[supports].tolist(), strict=True))


@dataclass(frozen=True)
class ItemCounter(Counter):
    """Counts itemsets of size 1: a counter's supports of items are all there is to know."""

    _counter: Counter
    _min_support: int
    most_work = 0

    @property
    def item_supports(self) -> Int64:
        """How many units have each item: (vocabulary,)."""
        return self._counter.item_supports

    def top(self, ceiling: int | None, limit: int | None) -> Top:
        """Return all levels from the minimum support on: there are not many."""
        return Top(levels_of(np.bincount(self.item_supports), self._min_support), self._min_support)

    def locate(self, support: int, index: int) -> list[int]:
        """Return the code of the index-th item of that support, by code."""
        codes, _ = self.itemsets(support, support)
        return [int(codes[index, 0])]

    def itemsets(self, lowest: int, highest: int) -> tuple[Int64, Int64]:
        """Return the items of supports lowest..highest: (m, 1) codes, ascending, and (m,)
        supports.
        """
        codes = np.flatnonzero((self.item_supports >= lowest) & (self.item_supports <= highest))
        return codes[:, None], self.item_supports[codes]


@dataclass(frozen=True)
class Shard:
    """The baskets that are needed to count the itemsets whose least frequent item has one of some
    neighbouring ranks.

    Every itemset is in one shard (as in Li et al., "PFP: Parallel FP-Growth for Query
    Recommendation", RecSys 2008).
    transactions: whose codes are ranks, 0 for the most frequent item, ties by code. By unit, they
    have all entries below high of each basket that has a rank in low..high - 1. low, high: the
    ranks of the shard. supports: (ranks,) int64, how many units have each of the ranks below high
    or more, descending, wherever these units are.
    """

    transactions: Transactions
    low: int
    high: int
    supports: Int64


@dataclass(eq=False)
class ShardCounter(Counter, ABC):
    """Counts the itemsets of one size in one set of transactions, or those of one shard, by ranks.

    size: items, >= 2; for 1 the supports of items alone. min_support: units, >= 1; nothing below
    counts.
    effort: threads, limit of work and progress.
    """

    _transactions: Transactions
    _size: int
    _min_support: int
    _effort: Effort
    _shard: Shard | None = None

    @cached_property
    def item_supports(self) -> Int64:
        """How many units have each item: (vocabulary,) int64."""
        # The codes of a shard are ranks, so ranking them by these leaves them as they are.
        return self._sum_items() if self._shard is None else self._shard.supports

    @cached_property
    def _order(self) -> Int64:
        """The code of each rank: of the items that have the minimum support, and so may count."""
        return rank_order(self.item_supports, self._min_support)

    @cached_property
    def _supports(self) -> Int64:
        """The support of each rank, descending."""
        return self.item_supports[self._order]

    @cached_property
    def _longest(self) -> int:
        return int(np.diff(self._transactions.offsets).max(initial=0))

    def top(self, ceiling: int | None, limit: int | None) -> Top:
        """Count itemsets of support below ceiling (None: all), from the top down; see `Counter`."""
        if ceiling is None:
            # No itemset has more support than its least frequent item.
            ceiling = highest_support(self._supports, self._size) + 1
        if ceiling <= self._min_support:
            return Top([], self._min_support)
        if limit is None:
            # Quicker to see than the exact number of steps, which is seldom too large.
            steps = self._transactions.baskets * math.comb(self._longest, self._size)
            if steps > self._effort.max_work:
                self._effort.refuse_infeasible(self._size, self.most_work)
        return self.descend(ceiling, self._min_support, limit)

    @abstractmethod
    def descend(self, ceiling: int, floor: int, limit: int | None) -> Top:
        """Count itemsets, of a shard if there is one, of supports floor..ceiling - 1, as `top`.

        The floor that is returned is at least the given one. Both are >= 1, as is the ceiling.
        """

    @abstractmethod
    def _sum_items(self) -> Int64: ...


# -------------------- candidates

# Candidates of one size each: (n, r) int32 item numbers, r >= 1, ascending in a row; any number of
# such arrays.
Candidates = Sequence[Int32]


def clipped_weights(bound: int, largest: int, scale: int) -> Int64:
    """Return the weight of each of a unit's candidates where it holds m of them, m = 0..largest:
    (largest + 1,) int64.

    The weight is floor(scale · min(1, sqrt(bound / m))), exactly, 0 for m = 0. In multiples of 1 /
    scale the vector of such a unit has an L2 norm <= sqrt(bound), as m · weight² <= scale² · bound.
    It falls as m grows.
    bound: the square of that norm; bound · scale² is at most 2^62. largest: >= 0. Raises
    ParameterError unless bound and scale are whole numbers >= 1. Weights of this form: Gopi,
    Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, "Differentially private set union", 2020.
    """
    bound, scale = positive_integer("bound", bound), positive_integer("scale", scale)
    weights = np.full(largest + 1, scale, dtype=np.int64)
    weights[0] = 0
    if largest > bound:
        square = scale * scale * bound
        assert square <= 1 << 62
        counts = np.arange(bound + 1, largest + 1, dtype=np.int64)
        weights[bound + 1 :] = floor_roots(square // counts)
    return weights


def floor_roots(quotients: Int64) -> Int64:
    """Return floor(sqrt(q)) of each q, (n,), 0 to 2^62, exactly: the guess is off by 1 at most."""
    roots = np.sqrt(quotients).astype(np.int64)
    roots -= roots * roots > quotients
    roots += (roots + 1) ** 2 <= quotients
    return np.asarray(roots)


class CandidateSource(Protocol):
    """Purchases restricted to m items, numbered 0..m - 1.

    A unit holds a candidate if any one of its baskets contains it; where baskets count together, if
    all of them do. It counts once, in however many baskets. A unit's part depends on that unit
    alone. Sums are exact as long as the number of units times the largest weight is below 2^63.
    WorkLimitError: it takes more steps than allowed.
    """

    def pair_level_sums(self, scale: int) -> Int64:
        """Return the level sum of each pair, see `level_sums`: (m(m - 1)/2,) int64.

        The pair a < b is at b(b - 1)/2 + a. scale: 1 to 2^16.
        """

    def level_sums(self, sets: Int32, scale: int) -> Int64:
        """Return for each candidate the sum of floor(scale · √(c / C)) over the units, exactly:
        (K,) int64.

        c: in how many of its baskets a unit has the candidate. Where baskets count together, it is
        the least number of baskets that have one of its items. C: the sum of c over all candidates.
        So in multiples of 1/scale the L2 norm of what a unit adds is at most 1. sets: (K, r)
        different candidates of one size r >= 1. scale: 1 to 2^16.
        """

    def sums(self, candidates: Candidates, weights: Int64) -> Int64:
        """Return for each candidate the sum of weights[candidates of the unit] over the units that
        hold it: (K,) int64.

        candidates: K different ones in all; the sums stand in their order. weights: (K + 1,) int64,
        >= 0; all 1 for plain supports.
        """

    def units_with(self, candidates: Candidates) -> Int64:
        """Return how many units hold exactly 0, 1, ... K of K different candidates: (K + 1,)
        int64.
        """


@dataclass(frozen=True)
class CandidateCounter(CandidateSource, ABC):
    """Candidates among the items of some codes, (m,), of transactions; see `CandidateSource`."""

    _transactions: Transactions
    _codes: NDArray[np.integer]
    _effort: Effort

    def level_sums(self, sets: Int32, scale: int) -> Int64:
        """Return the level sum of each candidate; see `CandidateSource.level_sums`."""
        # Of a unit with one basket each candidate has c = 1.
        return self._look_for([sets], clipped_weights(1, len(sets), scale), scale)

    def sums(self, candidates: Candidates, weights: Int64) -> Int64:
        """Return the weighted sum of each candidate; see `CandidateSource.sums`."""
        return self._look_for(candidates, weights)

    def units_with(self, candidates: Candidates) -> Int64:
        """Return how many units have 0, 1, … candidates; see `CandidateSource.units_with`."""
        histogram = self._look_for(candidates, None)
        # Of a user without any basket there may be no row.
        histogram[0] = self._transactions.units - histogram[1:].sum()
        return histogram

    @abstractmethod
    def _look_for(self, candidates: Candidates, weights: Int64 | None, scale: int = 0) -> Int64:
        """Return the weighted sum of each candidate; without weights how many units have how many.

        scale: of level sums, which have their weights only where units repeat no candidate.
        """


@dataclass(frozen=True)
class CandidateTrie:
    """A node for each beginning of a candidate, level by level; node 0 is the root, where nothing
    is chosen.

    keys: (nodes - 1,) int64, strictly ascending: node v is the child of node ``keys[v - 1] //
    width`` by the item ``keys[v - 1] % width``. accepts: (nodes,) int32, the candidate that ends in
    each node, -1 for none.
    """

    width: int
    keys: Int64
    accepts: Int32

    @property
    def items(self) -> Int32:
        """The item of each node, -1 for the root: (nodes,)."""
        return np.concatenate([[-1], self.keys % self.width]).astype(np.int32)

    @property
    def children(self) -> Int64:
        """Node v has the children ``children[v]`` up to ``children[v + 1]``: (nodes + 1,)."""
        return np.searchsorted(self.keys, np.arange(len(self.accepts) + 1) * self.width) + 1


def candidate_trie(candidates: Candidates, width: int) -> CandidateTrie:
    """Return the trie of different candidates, in the order of their items in a row; numbers are
    below width >= 1.
    """
    longest = max((rows.shape[1] for rows in candidates), default=0)
    items = np.full((sum(map(len, candidates)), longest), -1, dtype=np.int64)
    first = 0
    for rows in candidates:
        items[first : first + len(rows), : rows.shape[1]] = rows
        first += len(rows)
    # the node of the beginning of each candidate
    node = np.zeros(len(items), dtype=np.int64)
    levels, nodes = [np.empty(0, dtype=np.int64)], 1
    for column in items.T:
        longer = np.flatnonzero(column >= 0)
        level, place = np.unique(node[longer] * width + column[longer], return_inverse=True)
        node[longer] = nodes + place
        levels.append(level)
        nodes += len(level)
    accepts = np.full(nodes, -1, dtype=np.int32)
    accepts[node] = np.arange(len(node))
    return CandidateTrie(width, np.concatenate(levels), accepts)
