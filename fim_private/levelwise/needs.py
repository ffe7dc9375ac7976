"""What levelwise takes to find an itemset: an estimate from its noise and the items of a typical unit.

No formula is exact here, since what a unit's weights are scaled to depends on how many candidates it holds. The
constants below were chosen on three public data sets and the corner shop, and checked on three others (sizes 1 to 3, 10
to 100 itemsets, ε of 0.1 to 1, both neighbour relations, the mean items per basket for the typical basket). The support
from which on 95 % of itemsets were found lay within a factor of 1.5 of the estimate (or of the margin above the k-th
itemset, if that is more) in 93 % of 74 cases and, of the others, in 87 % of 61; the median of estimate to measurement
was 0.99 and 0.98, and four fifths lay between 0.83 and 1.42, and between 0.67 and 1.10. Where the estimate decides and
no close race, it was within 1.5 in 84 % of 31 and in 85 % of 26. (For the picks of limited-domain: in 95 % or more.)

All weights of a unit are taken to be equal. Those of a user grow with what is bought again and again, so such items
need less than is estimated here. What share of the true top is found of users is forecast in `planning.forecast`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

from fim_private.levelwise.gaussian_budget import GRID
from fim_private.levelwise.item_threshold import item_threshold
from fim_private.levelwise.levelwise import STANDS_OUT, Levelwise
from fim_private.levelwise.recipe import OWN_ITEMS

# About so much of a typical unit's items goes on to the sets: the frequent ones. Of users fewer items go on in all. (On
# three shops, 95 % of the pairs that 200 to 300 users had were found under add-remove; this says 181.)
_KEPT_ITEMS, _KEPT_ITEMS_OF_USER = 0.5, 0.25
# An item of a frequent itemset is in so many times the units of the itemset, or more.
_ITEM_PER_SET = 1.5
# The pairs are taken to be those of so many items.
_FOUND_ITEMS = 500


@dataclass(frozen=True)
class LevelNeeds:
    """What a run of levelwise takes to find an itemset of its largest size, and each of its items, in units.

    run: as it is carried out, items that nobody listed. typical_basket: the items of a typical unit, >= 1.
    confidence: of each step by itself, in (0, 1).
    """

    run: Levelwise
    typical_basket: float
    confidence: float

    @property
    def item_support(self) -> float:
        """In how many units an item must be to be found: (T + zσ) times the root of a unit's items, which scale it."""
        assert self.run.items_delta is not None
        variance = self.run.budget.variance(self.run.recipe.items, 1)
        threshold = item_threshold(variance, self.run.items_delta, self.run.recipe.own_items) / GRID
        return (threshold + self._sigmas * math.sqrt(variance)) * math.sqrt(self._own_items)

    @property
    def steps(self) -> dict[str, float]:
        """The support that each step takes, by its name: so far above the noise that would displace the itemset."""
        budget, recipe = self.run.budget, self.run.recipe
        size = self.run.sizes[-1]
        items = self.item_support if size == 1 else self.item_support / _ITEM_PER_SET
        needs = {"items": items}
        for own, share in enumerate(recipe.levels, start=2):
            candidates = math.comb(min(_FOUND_ITEMS, recipe.most_items), 2) if own == 2 else recipe.most_closed
            kept = recipe.pool[self.run.sizes.index(own)] if own in self.run.sizes else recipe.kept
            noise = math.sqrt(budget.variance(share, 1) * _choose(self._kept_items, own))
            needs[f"candidates of size {own}"] = (_quantile(kept / candidates) + self._sigmas) * noise
        pool = sum(recipe.pool)
        kept_share = self._second_pool / pool
        bound = max(recipe.first_bound, min(self._held, pool))  # scaled by more than the bound, noise counts for more
        first = math.sqrt(budget.variance(recipe.first, recipe.first_bound, pool) * bound / recipe.first_bound)
        needs["first count"] = (_quantile(kept_share) + self._sigmas) * first
        needs["second count"] = (self._sigmas + (0 if self.run.keep_all else STANDS_OUT)) * self._second_noise
        return needs

    @property
    def limit(self) -> str:
        """The step that takes most."""
        return max(self.steps, key=self.steps.__getitem__)

    @property
    def support(self) -> int:
        """The support of an itemset that is found, whatever the step, in units."""
        return math.ceil(max(self.steps.values()))

    @property
    def margin(self) -> int:
        """How many units apart two itemsets must be for the second count to tell them apart."""
        return math.ceil(math.sqrt(2) * self._sigmas * self._second_noise)

    @property
    def _second_noise(self) -> float:
        """σ of the second count where weights are not scaled: the norm is then what a typical unit holds."""
        held = max(min(self._held, self._second_pool), 2.0)
        return math.sqrt(self.run.budget.variance(self.run.recipe.second, 1) * held)

    @property
    def _second_pool(self) -> int:
        """How many candidates are counted again."""
        return self.run.recipe.second_pool * (1 if self.run.union else len(self.run.sizes))

    @cached_property
    def _kept_items(self) -> float:
        """How many items of a typical unit go on."""
        by_user = self.run.recipe.own_items < OWN_ITEMS
        return max((_KEPT_ITEMS_OF_USER if by_user else _KEPT_ITEMS) * self._own_items, self.run.sizes[-1])

    @property
    def _own_items(self) -> float:
        """How many items of a typical unit count where items are found."""
        return min(self.typical_basket, self.run.recipe.own_items)

    @property
    def _held(self) -> float:
        """How many candidates a typical unit holds, at most."""
        return sum(_choose(self._kept_items, size) for size in self.run.sizes)

    @property
    def _sigmas(self) -> float:
        """How many σ lie below the confidence."""
        return max(_quantile(1 - self.confidence), 0.0)


def _quantile(above: float) -> float:
    """Return the z >= 0 above which a standard normal variable is with this probability; 0 from one half on."""
    return NormalDist().inv_cdf(1 - max(min(above, 0.5), 1e-16))


def _choose(n: float, size: int) -> float:
    """Return C(n, size) for a real n >= size."""
    return math.prod((n - i) / (i + 1) for i in range(size))
