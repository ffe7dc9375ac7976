"""Items and their weighted sums: the door for whoever looks for items, and for candidates among those found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.candidate_counts import CandidateSource
from fim_private.counting.counter_registry import candidates_among, item_level_sums, item_sums
from fim_private.counting.work_limit import Effort
from fim_private.reading.transactions import Transactions
from fim_private.reading.vocabulary import Item


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
