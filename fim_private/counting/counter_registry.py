"""The counters there are, and which of them counts: compiled where it was built, in numpy where it was not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fim_private.counting import portable_candidates
from fim_private.counting.candidate_counts import CandidateSource, MakeCandidates
from fim_private.counting.counter import Counter, MakeCounter
from fim_private.counting.item_counter import ItemCounter
from fim_private.counting.portable_counter import PortableCounter, PortableShard
from fim_private.counting.shards import MakeShardCounter, Shard, ShardCounter
from fim_private.counting.work_limit import Effort
from fim_private.dp.parameters import positive_integer
from fim_private.errors import ParameterError, parameter, shown
from fim_private.reading.transactions import Transactions

# Weighted sums of items, of transactions in which no unit has more distinct items than there are weights for.
SumItems = Callable[[Transactions, NDArray[np.int64], Effort], NDArray[np.int64]]
# Sums of items weighted by repetition: with their scale, and how many items of a unit count.
SumLevel = Callable[[Transactions, int, int, Effort], NDArray[np.int64]]

COUNTERS: dict[str, MakeCounter] = {"numpy": PortableCounter}
_CANDIDATES: dict[str, MakeCandidates] = {"numpy": portable_candidates.PortableCandidates}
_SHARDS: dict[str, MakeShardCounter] = {"numpy": PortableShard}
_ITEM_SUMS: dict[str, SumItems] = {"numpy": portable_candidates.item_sums}
_ITEM_LEVEL_SUMS: dict[str, SumLevel] = {"numpy": portable_candidates.item_level_sums}
try:
    from fim_private.counting import compiled_candidates
    from fim_private.counting.compiled_counter import LARGEST_SIZE, CompiledCounter
    from fim_private.counting.compiled_shard import CompiledShard
except ImportError:  # built without a compiler
    LARGEST_SIZE = 0
else:
    COUNTERS = {"compiled": CompiledCounter, **COUNTERS}
    _CANDIDATES["compiled"] = compiled_candidates.CompiledCandidates
    _SHARDS["compiled"] = CompiledShard
    _ITEM_SUMS["compiled"] = compiled_candidates.item_sums
    _ITEM_LEVEL_SUMS["compiled"] = compiled_candidates.item_level_sums


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
