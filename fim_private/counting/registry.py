"""Which counter counts: compiled where it was built, in numpy where it was not; and weighted sums of items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.counting import portable
from fim_private.counting.candidates import CandidateSource, MakeCandidates
from fim_private.counting.counter import Counter, ItemCounter, MakeCounter, MakeShardCounter, Shard, ShardCounter
from fim_private.counting.portable import PortableCounter, PortableShard
from fim_private.counting.work import Effort
from fim_private.dp.parameters import positive_integer
from fim_private.errors import ParameterError, parameter, shown
from fim_private.reading.labels import Item
from fim_private.reading.transactions import Transactions

# -------------------- counter registry
# The counters there are, and which of them counts: compiled where it was built, in numpy where it was not.

# Weighted sums of items, of transactions in which no unit has more distinct items than there are weights for.
SumItems = Callable[[Transactions, NDArray[np.int64], Effort], NDArray[np.int64]]
# Sums of items weighted by repetition: with their scale, and how many items of a unit count.
SumLevel = Callable[[Transactions, int, int, Effort], NDArray[np.int64]]

COUNTERS: dict[str, MakeCounter] = {"numpy": PortableCounter}
_CANDIDATES: dict[str, MakeCandidates] = {"numpy": portable.PortableCandidates}
_SHARDS: dict[str, MakeShardCounter] = {"numpy": PortableShard}
_ITEM_SUMS: dict[str, SumItems] = {"numpy": portable.item_sums}
_ITEM_LEVEL_SUMS: dict[str, SumLevel] = {"numpy": portable.item_level_sums}
try:
    from fim_private.counting import compiled
    from fim_private.counting.compiled import LARGEST_SIZE, CompiledCounter, CompiledShard
except ImportError:  # built without a compiler
    LARGEST_SIZE = 0
else:
    COUNTERS = {"compiled": CompiledCounter, **COUNTERS}
    _CANDIDATES["compiled"] = compiled.CompiledCandidates
    _SHARDS["compiled"] = CompiledShard
    _ITEM_SUMS["compiled"] = compiled.item_sums
    _ITEM_LEVEL_SUMS["compiled"] = compiled.item_level_sums


def active_counter() -> str:
    """Return the name of the counter in use: the first of COUNTERS."""
    return next(iter(COUNTERS))


def counter_for(
    transactions: Transactions, size: int, min_support: int, effort: Effort | None = None, name: str | None = None
) -> Counter:
    """Return a counter of the itemsets of that size and at least that support.

    size: items, >= 1. min_support: units, >= 1. name: one of COUNTERS; the fastest that can do it unless given.
    Raises ParameterError for a number out of range, or another name.
    """
    size, min_support = positive_integer("size", size), positive_integer("min_support", min_support)
    min_support = min(min_support, transactions.baskets + 1)  # no support is larger, and some fit in no array
    make = COUNTERS[_able(transactions, name, size)]
    counter = make(transactions, size, min_support, effort or Effort())
    return ItemCounter(counter, min_support) if size == 1 else counter


def shard_counter(shard: Shard, size: int, effort: Effort, name: str | None = None) -> ShardCounter:
    """Return a counter of the itemsets of that size, >= 2, in a shard.

    name: as in counter_for. Raises ParameterError for another name.
    """
    return _SHARDS[_able(shard.transactions, name, size)](shard, size, effort)


def item_sums(
    transactions: Transactions, weights: NDArray[np.int64], effort: Effort, name: str | None = None
) -> NDArray[np.int64]:
    """Return for each item the sum of weights[distinct items of the unit] over the units that have it: (vocabulary,).

    weights: (most + 1,) int64, >= 0; no unit may have more than most distinct items. name: as in counter_for.
    Raises ParameterError for another name.
    """
    return _ITEM_SUMS[_able(transactions, name)](transactions, weights, effort)


def item_level_sums(
    transactions: Transactions, scale: int, most: int, effort: Effort, name: str | None = None
) -> NDArray[np.int64]:
    """Return the level sum of each item, see `ItemSource.level_sums`: (vocabulary,).

    name: as in counter_for. Raises ParameterError for another name.
    """
    return _ITEM_LEVEL_SUMS[_able(transactions, name)](transactions, scale, most, effort)


def candidates_among(
    transactions: Transactions, codes: NDArray[np.integer], effort: Effort, name: str | None = None
) -> CandidateSource:
    """Return the candidates among the items of these codes, (m,), all different: codes[k] becomes number k.

    name: as in counter_for. Raises ParameterError for another name.
    """
    return _CANDIDATES[_able(transactions, name)](transactions, codes, effort)


def _able(transactions: Transactions, name: str | None, size: int = 1) -> str:
    """Return which counter counts itemsets of that size: the one of that name, or the fastest that can."""
    if name is not None and name not in COUNTERS:
        raise ParameterError(f"{parameter('counter')} must be one of {', '.join(COUNTERS)}, not {shown(name)}")
    if name is None and (size > LARGEST_SIZE or transactions.baskets >= 1 << 31):
        name = "numpy"
    return name or active_counter()


# -------------------- weighted items
# Items and their weighted sums: the door for whoever looks for items, and for candidates among those found.


class ItemSource(Protocol):
    """Purchases whose items have codes, 0 to the number of items less one, in label order.

    A unit is a basket, or a user with the distinct items of all their baskets.
    """

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each item the sum of weights[distinct items of the unit] over the units that have it: (items,).

        weights: (most + 1,) int64, >= 0, most >= 1: every unit is first cut to its most first distinct items, in label
        order. An item that no unit has, or has any more, has the sum 0. What a unit adds depends on that unit alone.
        The int64 sums are exact as long as the number of units times the largest weight is below 2^63.
        """

    def level_sums(self, scale: int, most: int) -> NDArray[np.int64]:
        """Return for each item the sum of floor(scale · √(c / C)) over the units, exactly: (items,) int64.

        c: how many of its baskets have the item. C: the sum of c over the unit's items, which are first cut to the most
        that it has in most baskets, of as many the first in label order. So in multiples of 1/scale the L2 norm of what
        a unit adds is at most 1. scale: 1 to 2^16. most: >= 1.
        """

    def label(self, code: int) -> Item:
        """Return the label of an item."""

    def named(self, itemsets: Sequence[Sequence[int]]) -> list[tuple[Item, ...]]:
        """Return the labels of itemsets given by codes, each in label order. Of many at once, where labels are far."""

    def among(self, codes: NDArray[np.integer]) -> CandidateSource:
        """Return the same purchases, uncut, restricted to these items: codes[k] becomes number k.

        codes: (m,), all different.
        """


@dataclass(frozen=True)
class LocalItems:
    """The items of transactions in memory, counted with some effort.

    counter: one of COUNTERS; the fastest there is unless given.
    """

    transactions: Transactions
    effort: Effort = field(default_factory=Effort)
    counter: str | None = None

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weighted sum of each item; see `ItemSource.sums`."""
        return item_sums(self.transactions.cut_to(len(weights) - 1), weights, self.effort, self.counter)

    def level_sums(self, scale: int, most: int) -> NDArray[np.int64]:
        """Return the level sum of each item; see `ItemSource.level_sums`."""
        return item_level_sums(self.transactions, scale, most, self.effort, self.counter)

    def label(self, code: int) -> Item:
        """Return the label of an item."""
        return self.transactions.vocabulary.label(code)

    def named(self, itemsets: Sequence[Sequence[int]]) -> list[tuple[Item, ...]]:
        """Return the labels of itemsets; see `ItemSource.named`."""
        return [tuple(map(self.label, sorted(codes))) for codes in itemsets]

    def among(self, codes: NDArray[np.integer]) -> CandidateSource:
        """Return the same purchases restricted to these items; see `ItemSource.among`."""
        return candidates_among(self.transactions, codes, self.effort, self.counter)
