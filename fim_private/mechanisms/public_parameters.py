"""What is public about one selection: all that a mechanism may be built of, besides its part of the budget."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class PublicParameters:
    """What is public about one selection.

    sizes: of the itemsets it is among. top: how many it may select, >= 1. neighbors: a relation's name.
    candidates: how many itemsets of those sizes a public universe has; None where the universe is unknown.
    named: whether the items of that universe are listed, so that every candidate has a name.
    max_rank: as asked for, None for the mechanism's own.
    max_basket, max_baskets: caps on the items of a basket and on the baskets of a unit that count, or None.
    """

    sizes: tuple[int, ...]
    top: int
    neighbors: str
    candidates: int | None = None
    named: bool = False
    max_rank: int | None = None
    max_basket: int | None = None
    max_baskets: int | None = None

    @property
    def max_itemsets(self) -> int | None:
        """Δ, the most itemsets one unit can support; None without a cap on its baskets."""
        if self.max_basket is None:
            return None
        return (self.max_baskets or 1) * sum(math.comb(self.max_basket, size) for size in self.sizes)

    def rank(self, default: int) -> int:
        """Return max_rank as asked for, or the default."""
        return default if self.max_rank is None else self.max_rank
