"""Itemsets in two steps, for k of them over an unknown universe: first the frequent items, then sets of these.

The items are found by the limited-domain mechanism. What it released is public, so the itemsets over them are a public
universe, which may be small: the exponential mechanism goes through it and never abstains. An itemset of high support
has items of high support, each at least as high (docs/privacy.md, Theorem 13).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fim_private.counting.source import SupportSource
from fim_private.counting.universe import Catalogue, Universe
from fim_private.dp.accounting import root_below
from fim_private.dp.randomness import Randomness
from fim_private.mechanisms import Exponential, LimitedDomain
from fim_private.mechanisms.top_k import TopK
from fim_private.reading.vocabulary import Item, mixed_vocabulary

# The share of the budget for the items, and how many are sought for k itemsets: 6 √k, so that even pairs of them are
# 18 k. On retail at k = 100 (ε = 1, δ = 1e-6, add/remove) recall was .71, .86, .93, .94 with 3, 4, 5, 6 √k.
ITEMS_SHARE = Fraction(1, 3)
_SPREAD = 6
_FEWEST = 8


def items_sought(count: int, size: int) -> int:
    """Return how many items are sought for that many itemsets of that size: public numbers in, a public one out."""
    return max(_FEWEST + size, math.ceil(_SPREAD * math.sqrt(count)))


@dataclass(frozen=True)
class Levelwise:
    """Up to count itemsets of the sizes given.

    items: the mechanism that selects each item. sought: how many. itemsets: the mechanism that selects each itemset.
    """

    sizes: tuple[int, ...]
    items: LimitedDomain
    sought: int
    itemsets: Exponential
    count: int

    @classmethod
    def by_basic_composition(
        cls, sizes: Sequence[int], count: int, epsilon: Fraction, delta: Fraction, neighbors: str, max_rank: int
    ) -> Levelwise:
        """Split (epsilon, delta) by basic composition. max_rank: how many items are candidates, or those sought."""
        sought = items_sought(count, max(sizes))
        first, second = epsilon * ITEMS_SHARE / sought, epsilon * (1 - ITEMS_SHARE) / count
        return cls._of(sizes, count, first, second, delta, neighbors, max_rank)

    @classmethod
    def by_zcdp_composition(
        cls, sizes: Sequence[int], count: int, rho: Fraction, bottom_delta: Fraction, neighbors: str, max_rank: int
    ) -> Levelwise:
        """Split rho of zero-concentrated privacy; bottom_delta as for TopK.by_zcdp_composition."""
        sought = items_sought(count, max(sizes))
        first = root_below(8 * rho * ITEMS_SHARE / sought)
        second = root_below(8 * rho * (1 - ITEMS_SHARE) / count)
        return cls._of(sizes, count, first, second, bottom_delta, neighbors, max_rank)

    @classmethod
    def _of(
        cls,
        sizes: Sequence[int],
        count: int,
        first: Fraction,
        second: Fraction,
        delta: Fraction,
        neighbors: str,
        max_rank: int,
    ) -> Levelwise:
        sought = items_sought(count, max(sizes))
        items = LimitedDomain(first, delta, neighbors, max(max_rank, sought))
        return cls(tuple(sizes), items, sought, Exponential(second, neighbors), count)

    @property
    def margin(self) -> float:
        """As TopK.margin, of the items; in units."""
        return TopK(self.items, self.sought).margin

    def find(
        self, source: SupportSource, universe: Universe, randomness: Randomness
    ) -> list[tuple[tuple[Item, ...], int]]:
        """Return itemsets and their supports, in the order chosen; fewer than count where too few items were released.

        universe: of the items that are sought.
        """
        items = source.spectrum(1, universe)
        levels = [
            each.level for each in self.items.select_many(items, self.sought, randomness) if each.level is not None
        ]
        labels = [label for (label,) in items.sample_itemsets(levels, randomness)]
        sizes = [size for size in self.sizes if size <= len(labels)]
        if not sizes:
            return []
        vocabulary, _ = mixed_vocabulary(labels)
        candidates = source.spectrum(sizes, Catalogue(vocabulary))
        chosen = self.itemsets.select_many(candidates, self.count, randomness)
        supports = [each.level for each in chosen if each.level is not None]
        return list(zip(candidates.sample_itemsets(supports, randomness), supports, strict=True))
