"""Levelwise: the whole run, for the most frequent or for a least support; and what it needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import CandidateSource
from fim_private.counting.source import Found, ItemSource, SupportSource, Universe
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.noise import Randomness
from fim_private.levelwise.counts import best_bound, choose, counted_twice, doubtful, unit_histogram, weighed
from fim_private.levelwise.discovery import CandidatePool, Level, Levels, found_items, found_levels
from fim_private.levelwise.recipe import (
    GRID,
    LARGEST_DELTA,
    OWN_ITEMS,
    AnyRecipe,
    Floats,
    GaussianBudget,
    Recipe,
    ThresholdRecipe,
    item_threshold,
)

# The share of δ for items that nobody listed: to them the threshold grows slowly, to the noise of all else fast.
ITEMS_DELTA = Fraction(1, 10)
# An estimate below so many deviations does not stand out from 0: one of 0 does once in 20 to 44 times.
STANDS_OUT = 2.0
# Of the items that stand out the best fifty go on in any case: they are few pairs.
_ALWAYS = 50

# What a step is for, the sizes of the itemsets it is about, and its share of the run's μ².
Step = tuple[str, tuple[int, ...], Fraction]


def _named(
    items: ItemSource,
    counts: CandidateSource,
    codes: NDArray[np.int64],
    pool: CandidatePool,
    in_doubt: NDArray[np.bool_] | None = None,
) -> list[Found]:
    """Return the itemsets of a pool with their true supports, the highest estimates first."""
    supports = counts.sums(pool.sets, np.append(0, np.ones(len(pool), dtype=np.int64)))
    names = items.named([codes[row].tolist() for own in pool.sets for row in own.tolist()])
    order = np.argsort(-pool.estimates, kind="stable").tolist()
    return [Found(names[i], int(supports[i]), None if in_doubt is None else bool(in_doubt[i])) for i in order]


def _level_steps(recipe: AnyRecipe) -> list[Step]:
    return [("candidates", (size,), share) for size, share in enumerate(recipe.levels, start=2)]


@dataclass(frozen=True)
class Levelwise:
    """Up to `count` itemsets, of each of the sizes or with union of all together (docs/privacy.md, Theorem 13).

    sizes: consecutive, >= 1. budget: of all steps. items_delta: of naming items; None where they are public.
    keep_all: whether itemsets are named whose count does not stand out from the noise.
    """

    sizes: tuple[int, ...]
    count: int
    union: bool
    budget: GaussianBudget
    recipe: Recipe
    items_delta: Fraction | None
    keep_all: bool = False

    @property
    def steps(self) -> list[Step]:
        """All that it spends, as fractions of the run's share."""
        recipe = self.recipe
        return [
            ("items", (1,), recipe.items),
            *_level_steps(recipe),
            ("first count", self.sizes, recipe.first),
            ("histogram", self.sizes, recipe.histogram),
            ("second count", self.sizes, recipe.second),
        ]

    def find(self, source: SupportSource, universe: Universe, randomness: Randomness) -> list[Found]:
        """Return itemsets, the highest estimates first, fewer than `count` where too few were found, or stand out.

        universe: a catalogue where the items are public, otherwise unknown.
        """
        items = source.items(universe)
        codes, found = found_items(items, self.budget, self.recipe, self.items_delta, randomness)
        stand_out = self.recipe.listed_stand_out
        # Unlisted, all were named that stand out, and no others; where nothing but items is sought, all go on.
        if self.items_delta is None and self.sizes[-1] > 1 and stand_out is not None:
            plain = max(int((found.weights >= stand_out * found.deviation).sum()), _ALWAYS)
            codes, found = codes[:plain], found.first(plain)
        counts = items.among(codes)
        levels = found_levels(counts, found, self.budget, self.recipe, randomness)
        first_pool = CandidatePool.of_levels(levels, self.sizes, self.recipe.pool)
        if not len(first_pool):
            return []
        counted = counted_twice(
            counts, first_pool, levels, self.budget, self.recipe, self.count, union=self.union, randomness=randomness
        )
        places = counted.best(self.count, union=self.union)
        if not self.keep_all:
            places = places[counted.pool.estimates[places] >= STANDS_OUT * counted.deviations[places]]
        in_doubt = doubtful(counted, places, levels, first_pool, union=self.union)
        return _named(items, counts, codes, counted.pool.at(places), in_doubt)


def _gaussian(
    budget: PrivacyBudget, neighbors: str, part: Fraction, *, listed: bool
) -> tuple[GaussianBudget, Fraction | None]:
    """Return what is left as μ² beside the share of δ that names items, and that, None where they are public."""
    items_delta = None if listed else min(budget.naming(ITEMS_DELTA), LARGEST_DELTA)
    return GaussianBudget(budget.normal(items_delta or Fraction(0)), neighbors, part), items_delta


def levelwise(
    sizes: Sequence[int],
    count: int,
    *,
    union: bool,
    budget: PrivacyBudget,
    neighbors: str,
    listed: bool,
    by_user: bool,
    part: Fraction = Fraction(1),
    keep_all: bool = False,
) -> Levelwise:
    """Return the run that spends `part`, a share of a budget (Theorem 13).

    by_user: whether units are users, not baskets. listed: whether the items are public. Otherwise a share of delta goes
    to naming them. The rest of the budget makes μ: the run has that share of μ², and supports the rest.
    Raises ParameterError for a budget out of range.
    """
    gaussian, items_delta = _gaussian(budget, neighbors, part, listed=listed)
    of_units = Recipe.of_users if by_user else Recipe.of
    recipe = of_units(sizes, count, union=union, epsilon=budget.loss, neighbors=neighbors, listed=listed)
    return Levelwise(tuple(sizes), count, union, gaussian, recipe, items_delta, keep_all)


# Where a threshold says how good is good enough, after each count goes on what may have it, be that many or few. So the
# fewer itemsets do, the fewer are counted, and the less they are scaled, and the noise of their supports grows with
# their number, not with the most there could be.

# What goes on is estimated at no less than so many σ below the threshold: items to the sets, and sets and items to the
# supports. And at so many σ at least, whatever the threshold: what does not stand out from 0 is only more to count.
_ITEMS_REACH, _REACH, _STANDS_OUT = 2.0, 0.5, 1.5


@dataclass(frozen=True)
class LevelwiseThreshold:
    """Up to `most` candidates for itemsets of some sizes whose support reaches a threshold.

    sizes: consecutive, >= 1. budget: of all steps. items_delta: of naming items; None where they are public.
    """

    sizes: tuple[int, ...]
    most: int
    budget: GaussianBudget
    items_delta: Fraction | None
    recipe: ThresholdRecipe

    @property
    def steps(self) -> list[Step]:
        """All that it spends, as fractions of the run's share."""
        recipe, sets = self.recipe, tuple(size for size in self.sizes if size > 1)
        counts = [("histogram", sets, recipe.histogram), ("set count", sets, recipe.set_count)] if sets else []
        return [
            ("items", (1,), recipe.items),
            ("histogram", (1,), recipe.histogram),
            ("item count", (1,), recipe.item_count),
            *_level_steps(recipe),
            *counts,
        ]

    def find(self, source: SupportSource, universe: Universe, threshold: int, randomness: Randomness) -> list[Found]:
        """Return itemsets that may reach the threshold, in units, >= 1; the highest estimates first.

        universe: a catalogue where the items are public, otherwise unknown.
        """
        items = source.items(universe)
        codes, found = found_items(items, self.budget, self.recipe, self.items_delta, randomness)
        if not len(codes):
            return []
        run = _Run(self, threshold, randomness)
        places, level = run.likely_items(items.among(codes), found)
        counts = items.among(codes[places])
        pool = run.candidates(counts, level)
        return _named(items, counts, codes[places], pool) if len(pool) else []


@dataclass(frozen=True)
class _Run:
    """One run of LevelwiseThreshold: what it may spend, and what it looks for."""

    given: LevelwiseThreshold
    threshold: int
    randomness: Randomness

    def likely_items(self, counts: CandidateSource, found: Level) -> tuple[NDArray[np.intp], Level]:
        """Count the items found: return the places of those that may have the threshold, and these as a level."""
        pool = CandidatePool((found.sets,), found.weights)
        pool, deviation = self._counted(counts, pool, {1: found}, self.given.recipe.item_count)
        places = self._likely(pool.estimates, deviation, _ITEMS_REACH)
        places = places[np.argsort(-pool.estimates[places], kind="stable")]
        numbers = np.arange(len(places), dtype=np.int32)[:, None]
        return places, Level(numbers, pool.estimates[places], deviation)

    def candidates(self, counts: CandidateSource, items: Level) -> CandidatePool:
        """Return what may have the threshold, of the sizes asked for, with estimates in units."""
        given, recipe = self.given, self.given.recipe
        pool = CandidatePool((), np.empty(0))
        if given.sizes[0] == 1:
            singles = CandidatePool((items.sets,), items.weights)
            pool = singles.at(self._likely(items.weights, items.deviation, _REACH))
        if sizes := [size for size in given.sizes if size > 1]:
            levels = found_levels(counts, items, given.budget, recipe, self.randomness)
            sets = CandidatePool.of_levels(levels, sizes, [recipe.survivors] * len(sizes))
            if len(sets):
                sets, deviation = self._counted(counts, sets, levels, recipe.set_count)
                sets = sets.at(self._likely(sets.estimates, deviation, _REACH))
                pool = CandidatePool((*pool.sets, *sets.sets), np.concatenate([pool.estimates, sets.estimates]))
        return pool.at(pool.best(given.most, union=True)) if len(pool) else pool

    def _likely(self, estimates: Floats, deviation: float, reach: float) -> NDArray[np.intp]:
        """Return the places of those that may have the threshold, ascending."""
        return np.flatnonzero(estimates >= max(self.threshold - reach * deviation, _STANDS_OUT * deviation))

    def _counted(
        self, counts: CandidateSource, pool: CandidatePool, levels: Levels, share: Fraction
    ) -> tuple[CandidatePool, float]:
        """Count a pool with the weights that suit it, and make up for what these take: in units, with σ of noise."""
        budget, randomness = self.given.budget, self.randomness
        histogram = unit_histogram(counts, pool, budget, self.given.recipe.histogram, randomness)
        bound = best_bound(histogram, len(pool), budget, share, self.threshold)
        weights, variance = weighed(counts, pool, budget, share, bound, randomness)
        left = histogram.left_weight(bound)
        estimates, _ = pool.shrunken(weights / left, variance / left**2, levels)
        return estimates, sqrt(variance) / left


def levelwise_threshold(
    sizes: Sequence[int],
    most: int,
    *,
    budget: PrivacyBudget,
    neighbors: str,
    listed: bool,
    by_user: bool,
    part: Fraction,
) -> LevelwiseThreshold:
    """Return the run for a threshold that spends `part`, a share of a budget; as `levelwise`."""
    recipe = ThresholdRecipe.of(sizes, by_user=by_user, epsilon=budget.loss, neighbors=neighbors, listed=listed)
    return LevelwiseThreshold(tuple(sizes), most, *_gaussian(budget, neighbors, part, listed=listed), recipe)


# What levelwise takes to find an itemset is an estimate from its noise and the items of a typical unit, all of whose
# weights are taken to be equal: what they are scaled to depends on how many candidates the unit has. The constants were
# chosen on four data sets and checked on three others (sizes 1 to 3, 10 to 100 itemsets, ε of 0.1 to 1): the support
# from which on 95 % were found lay within a factor of 1.5 of the estimate in 93 % of 74 cases, and in 87 % of 61.

# About so much of a typical unit's items goes on to the sets: the frequent ones. Of users fewer items go on in all. (On
# three shops, 95 % of the pairs that 200 to 300 users had were found under add-remove; this says 181.)
_FREQUENT, _FREQUENT_OF_USER = 0.5, 0.25
# An item of a frequent itemset is in so many times the units of the itemset, or more.
_ITEM_PER_SET = 1.5
# The pairs are taken to be those of so many items.
_FOUND_ITEMS = 500


@dataclass(frozen=True)
class LevelNeeds:
    """What a run of levelwise takes to find an itemset of its largest size, in units.

    item_support: in how many units each of its items must be. margin: how far apart two itemsets must be for the second
    count to tell them apart. steps: the support that each step takes: so far above the noise that would displace it.
    """

    item_support: float
    margin: int
    steps: dict[str, float]

    @classmethod
    def of(cls, run: Levelwise, typical_basket: float, confidence: float) -> LevelNeeds:
        """Return the needs of a run as it is carried out, of items that nobody listed.

        typical_basket: the items of a typical unit, >= 1. confidence: of each step by itself, in (0, 1).
        """
        assert run.items_delta is not None
        budget, recipe, sizes = run.budget, run.recipe, run.sizes
        sigmas = max(_quantile(1 - confidence), 0.0)
        # How many items of a typical unit go on, and how many candidates it has then.
        own_items = min(typical_basket, recipe.own_items)
        share = _FREQUENT_OF_USER if recipe.own_items < OWN_ITEMS else _FREQUENT
        frequent = max(share * own_items, sizes[-1])
        own_candidates = sum(choose(frequent, size) for size in sizes)
        # (T + zσ) times the root of a unit's items, which scale it.
        variance = budget.variance(recipe.items, 1)
        threshold = item_threshold(variance, run.items_delta, recipe.own_items) / GRID
        item_support = (threshold + sigmas * sqrt(variance)) * sqrt(own_items)
        steps = {"items": item_support / (1 if sizes[-1] == 1 else _ITEM_PER_SET)}
        for size, spent in enumerate(recipe.levels, start=2):
            candidates = math.comb(min(_FOUND_ITEMS, recipe.most_items), 2) if size == 2 else recipe.most_closed
            go_on = recipe.pool[sizes.index(size)] if size in sizes else recipe.survivors
            noise = sqrt(budget.variance(spent, 1) * choose(frequent, size))
            steps[f"candidates of size {size}"] = (_quantile(go_on / candidates) + sigmas) * noise
        pool, again = sum(recipe.pool), recipe.second_pool * (1 if run.union else len(sizes))
        bound = max(recipe.first_bound, min(own_candidates, pool))  # scaled by more, noise counts for more
        noise = sqrt(budget.variance(recipe.first, recipe.first_bound, pool) * bound / recipe.first_bound)
        steps["first count"] = (_quantile(again / pool) + sigmas) * noise
        # Where weights are not scaled, the norm is what a typical unit has.
        noise = sqrt(budget.variance(recipe.second, 1) * max(min(own_candidates, again), 2.0))
        steps["second count"] = (sigmas + (0 if run.keep_all else STANDS_OUT)) * noise
        return cls(item_support, math.ceil(sqrt(2) * sigmas * noise), steps)

    @property
    def limit(self) -> str:
        """The step that takes most."""
        return max(self.steps, key=self.steps.__getitem__)

    @property
    def support(self) -> int:
        """The support of an itemset that is found, whatever the step, in units."""
        return math.ceil(max(self.steps.values()))


def _quantile(above: float) -> float:
    """Return the z >= 0 above which a standard normal variable is with this probability; 0 from one half on."""
    return NormalDist().inv_cdf(1 - max(min(above, 0.5), 1e-16))
