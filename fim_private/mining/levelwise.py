"""Levelwise: k itemsets over an unknown universe in two steps, first the frequent items, then sets of these.

The items are found by the limited-domain mechanism. What it released is public, so the itemsets made of these items
are a public universe, and a small one: over it the exponential mechanism never abstains. An itemset of high support
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

# The share of the budget for the items, and how many are sought for k itemsets: 6 √k, which make 18 k pairs. On retail
# at k = 100 (ε = 1, δ = 1e-6, add-remove) recall was .71, .86, .93, .94 with 3, 4, 5, 6 √k.
ITEMS_SHARE = Fraction(1, 3)
_SPREAD = 6
_FEWEST = 8


def items_sought(count: int, size: int) -> int:
    """Return how many items are sought for `count` itemsets of up to `size` items, from public numbers only."""
    return max(_FEWEST + size, math.ceil(_SPREAD * math.sqrt(count)))


@dataclass(frozen=True)
class Levelwise:
    """Up to `count` itemsets of the sizes given, >= 1.

    items: the mechanism that selects each item. sought: how many items. itemsets: the mechanism that selects each
    itemset.
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
        """Split (epsilon, delta) by basic composition: a third of epsilon and all of delta for the items.

        max_rank: how many items are candidates, raised to the number sought. See docs/privacy.md,
        Theorem 13. Raises ParameterError for a part of the budget out of range.
        """
        sought = items_sought(count, max(sizes))
        first, second = epsilon * ITEMS_SHARE / sought, epsilon * (1 - ITEMS_SHARE) / count
        return cls._of(sizes, count, first, second, delta, neighbors, max_rank)

    @classmethod
    def by_zcdp_composition(
        cls, sizes: Sequence[int], count: int, rho: Fraction, bottom_delta: Fraction, neighbors: str, max_rank: int
    ) -> Levelwise:
        """Split a zCDP budget of rho > 0: a third of it for the items (Theorem 13).

        bottom_delta: as for TopK.by_zcdp_composition. max_rank: as in by_basic_composition.
        """
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
        """Build both mechanisms: the items with (first, delta) each, the itemsets with (second, 0) each."""
        sought = items_sought(count, max(sizes))
        items = LimitedDomain(first, delta, neighbors, max(max_rank, sought))
        return cls(tuple(sizes), items, sought, Exponential(second, neighbors), count)

    @property
    def margin(self) -> float:
        """An estimate of the margin in units, as TopK.margin, for the items."""
        return TopK(self.items, self.sought).margin

    def find(
        self, source: SupportSource, universe: Universe, randomness: Randomness
    ) -> list[tuple[tuple[Item, ...], int]]:
        """Return itemsets, each with its true support in units, in the order selected.

        There are fewer than `count` where too few items were released. universe: the one that the items are sought in.
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
