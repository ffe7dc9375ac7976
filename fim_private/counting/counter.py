"""What every counter of itemsets does, and shards of itemsets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.work import Effort, itemset_occurrences
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import Level

# -------------------- item ranks
# Items by rank: 0 is the most frequent. All counters go through them in this order.


def rank_order(supports: NDArray[np.int64], min_support: int = 0) -> NDArray[np.int64]:
    """Return the codes of at least that support by descending support, ties by ascending code: (ranks,) int64.

    supports: (vocabulary,) units that have each item.
    """
    codes = np.flatnonzero(supports >= min_support)
    return codes[np.argsort(-supports[codes], kind="stable")]


def at_least(support: int, ranked: NDArray[np.int64]) -> int:
    """Return how many of the supports, (ranks,) descending, are at least support."""
    return int(np.searchsorted(-ranked, -support, side="right"))


# -------------------- counter
# What every counter of itemsets does, whatever it is made of.
#
# Levels are produced lazily and in descending order, no itemset is kept, and the one itemset to be named is found by a
# second scan down to its level only.


@dataclass(frozen=True)
class Top:
    """levels: descending, all that there are at or above floor (and below what was known before).

    work: steps that it took, roughly.
    """

    levels: list[Level]
    floor: int
    work: int = 0


class Counter(Protocol):
    """What counts the itemsets of one size in one set of transactions.

    Each method raises WorkLimitError where it takes more steps than allowed.
    """

    @property
    def item_supports(self) -> NDArray[np.int64]:
        """How many units have each item: (vocabulary,)."""

    @property
    def most_work(self) -> int:
        """How many steps a pass over all itemsets takes, before it is begun: at most, or about."""

    def top(self, ceiling: int | None, wanted: int | None) -> Top:
        """Count itemsets of support below ceiling (None: all), from the top down to the wanted-th (None: all), or so.

        ceiling: units, >= 1. wanted: itemsets, >= 1. The levels are complete down to the floor that is returned.
        """

    def locate(self, support: int, index: int) -> list[int]:
        """Return the codes of the index-th itemset of that support in scan order: size of them.

        support: of at least one itemset. index: 0 to the number of these itemsets less one.
        Scan order: items ranked by descending support, ties by code; itemsets ascending by their ranks, from the least
        frequent item on. It does not depend on the counter, nor on where the baskets were read from.
        """

    def itemsets(self, lowest: int, highest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the itemsets of supports lowest..highest: (m, size) codes in scan order, and (m,) supports.

        lowest, highest: units, >= 1, both included.
        """


# A counter from transactions, size >= 1, minimum support >= 1 and effort.
MakeCounter = Callable[[Transactions, int, int, Effort], Counter]


def one_basket_each(transactions: Transactions) -> bool:
    """Tell whether no unit has a second basket, so that a basket may stand for its unit."""
    return transactions.unit_offsets is None or bool((np.diff(transactions.unit_offsets) <= 1).all())


def only_level(transactions: Transactions, size: int, effort: Effort, *, one_by_one: bool = True) -> Top | None:
    """Return all levels where no itemset is in two baskets: all have support 1, and nothing is scanned.

    one_by_one: whether a scan, which finds one of them, meets all of them. Raises WorkLimitError where that is more
    than allowed. None where units have several baskets: there an itemset may be met twice.
    """
    if not one_basket_each(transactions):
        return None
    number = itemset_occurrences(np.diff(transactions.offsets), size)
    if one_by_one:
        effort.refuse_infeasible(size, number)
    return Top([(1, number)] if number else [], 1)


def levels_of(histogram: NDArray[np.int64], floor: int) -> list[Level]:
    """Return the levels of a histogram of supports, from the top down to floor >= 1.

    histogram: (supports,) how many itemsets have each support, 0 included.
    """
    supports = np.flatnonzero(histogram[floor:])[::-1] + floor
    return list(zip(supports.tolist(), histogram[supports].tolist(), strict=True))


# -------------------- item counter
# The counter of single items: their supports are all there is to know, nothing is scanned.


class ItemCounter:
    """Counts itemsets of size 1; see `counter.Counter`.

    counter: of the same transactions, for the supports of items. min_support: units, >= 1.
    """

    def __init__(self, counter: Counter, min_support: int) -> None:
        self._counter = counter
        self._min_support = min_support

    @property
    def item_supports(self) -> NDArray[np.int64]:
        """How many units have each item: (vocabulary,)."""
        return self._counter.item_supports

    @property
    def most_work(self) -> int:
        """No step: the supports are counted anyway."""
        return 0

    def top(self, ceiling: int | None, wanted: int | None) -> Top:
        """Return all levels from the minimum support on: there are not many."""
        return Top(levels_of(np.bincount(self.item_supports), self._min_support), self._min_support)

    def locate(self, support: int, index: int) -> list[int]:
        """Return the code of the index-th item of that support, by code."""
        return [int(np.flatnonzero(self.item_supports == support)[index])]

    def itemsets(self, lowest: int, highest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the items of supports lowest..highest: (m, 1) codes, ascending, and (m,) supports."""
        codes = np.flatnonzero((self.item_supports >= lowest) & (self.item_supports <= highest))
        return codes[:, None], self.item_supports[codes]


# -------------------- shards
# Shards: of all itemsets those whose least frequent item has one of some neighbouring ranks.
#
# Every itemset is in one shard, and all that is needed to count a shard are the baskets that have one of its ranks,
# up to
# the last of these. (Li et al., "PFP: Parallel FP-Growth for Query Recommendation", RecSys 2008, groups items
# likewise.)


@dataclass(frozen=True)
class Shard:
    """The baskets that a shard needs.

    transactions: whose codes are ranks, 0 for the most frequent item, ties by code; with all entries below high of each
    basket that has a rank in low..high - 1, by unit. low, high: the ranks of the shard. supports: (ranks,) int64, how
    many units have each of the ranks below high or more, descending, wherever these units are.
    """

    transactions: Transactions
    low: int
    high: int
    supports: NDArray[np.int64]


class ShardCounter(Protocol):
    """What counts the itemsets of one size, >= 2, in one shard. Each method raises WorkLimitError as a counter does."""

    def descend(self, ceiling: int, floor: int, wanted: int | None) -> Top:
        """Count itemsets of supports floor..ceiling - 1, from the top down to the wanted-th (None: all), or so.

        ceiling, floor: units, >= 1. wanted: itemsets, >= 1. The levels are complete down to the floor that is returned,
        which is at least the given one.
        """

    def locate(self, support: int, index: int) -> list[int]:
        """Return the ranks of the shard's index-th itemset of that support in scan order; see `counter.Counter`."""

    def itemsets(self, lowest: int, highest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the shard's itemsets of supports lowest..highest: (m, size) ranks in scan order, and (m,) supports."""


# A counter of a shard, of itemsets of a size >= 2, with some effort.
MakeShardCounter = Callable[[Shard, int, Effort], ShardCounter]
