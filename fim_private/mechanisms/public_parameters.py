"""The public parameters of one selection: all that a mechanism may be built from, besides its part of the budget."""

from __future__ import annotations

from dataclasses import dataclass

from fim_private.spectrum import candidate_itemsets


@dataclass(frozen=True)
class PublicParameters:
    """What is public about one selection.

    sizes: of the itemsets it is among. top: how many itemsets it may select, >= 1. neighbors: the relation's name.
    candidates: how many itemsets of those sizes a public universe has; None where the universe is unknown.
    named: whether the items of that universe are listed, so that every candidate has a name.
    max_rank: the public rank cap asked for, >= 1; None for the mechanism's own.
    max_basket, max_baskets: how many items of a basket, and baskets of a unit, count at most, >= 1; None for no cap.
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
        """Δ = max_baskets Σ C(max_basket, size), the most itemsets one unit can support; None without max_basket.

        Raises ParameterError for more than can be reckoned with.
        """
        if self.max_basket is None:
            return None
        able = [size for size in self.sizes if size <= self.max_basket]
        return (self.max_baskets or 1) * sum(candidate_itemsets(self.max_basket, size, "max_basket") for size in able)

    def rank(self, default: int) -> int:
        """Return max_rank as it was asked for, or the default."""
        return default if self.max_rank is None else self.max_rank
