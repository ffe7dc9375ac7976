"""Shards: of all itemsets those whose least frequent item has one of some neighbouring ranks.

Every itemset is in one shard, and all that is needed to count a shard are the baskets that have one of its ranks, up to
the last of these. (Li et al., "PFP: Parallel FP-Growth for Query Recommendation", RecSys 2008, groups items likewise.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import Top
from fim_private.counting.work_limit import Effort
from fim_private.reading.transactions import Transactions


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
