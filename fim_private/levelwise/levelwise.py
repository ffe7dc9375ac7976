"""Levelwise: the whole run, for the most frequent or for a least support; and what it needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import CandidateSource
from fim_private.counting.source import Found, ItemSource, SupportSource, Universe
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.noise import Randomness
from fim_private.levelwise.counts import best_bound, choose, counted_twice, doubtful, unit_histogram, weighed
from fim_private.levelwise.discovery import CandidatePool, Level, found_items, found_levels
from fim_private.levelwise.recipe import (
    GRID,
    LARGEST_DELTA,
    OWN_ITEMS,
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
    def steps(self) -> list[tuple[str, tuple[int, ...], Fraction]]:
        """What each step is for, the sizes of the itemsets it is about, and its share of the run's μ²."""
        recipe = self.recipe
        levels = [("candidates", (size,), share) for size, share in enumerate(recipe.levels, start=2)]
        return [
            ("items", (1,), recipe.items),
            *levels,
            ("first count", self.sizes, recipe.first),
            ("histogram", self.sizes, recipe.histogram),
            ("second count", self.sizes, recipe.second),
        ]

    def find(self, source: SupportSource, universe: Universe, randomness: Randomness) -> list[Found]:
        """Return itemsets, the highest estimates first, and which of them are doubtful (`doubt`).

        There are fewer than `count` where too few were found, or stand out. universe: a catalogue where the items are
        public, otherwise unknown.
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
        pool = counted.pool
        places = counted.best(self.count, union=self.union)
        if not self.keep_all:
            places = places[pool.estimates[places] >= STANDS_OUT * counted.deviations[places]]
        in_doubt = doubtful(counted, places, levels, first_pool, union=self.union)
        chosen = pool.at(places)
        return _named(items, counts, codes, chosen, in_doubt)


def _gaussian(
    budget: PrivacyBudget, neighbors: str, part: Fraction, *, listed: bool
) -> tuple[Fraction | None, GaussianBudget]:
    """Return the share of δ that names items, None where they are public, and what is left as μ²."""
    items_delta = None if listed else min(budget.naming(ITEMS_DELTA), LARGEST_DELTA)
    return items_delta, GaussianBudget(budget.normal(items_delta or Fraction(0)), neighbors, part)


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
    items_delta, gaussian = _gaussian(budget, neighbors, part, listed=listed)
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
    recipe: ThresholdRecipe
    items_delta: Fraction | None

    @property
    def steps(self) -> list[tuple[str, tuple[int, ...], Fraction]]:
        """What each step is for, the sizes of the itemsets it is about, and its share of the run's μ²."""
        recipe, sets = self.recipe, tuple(size for size in self.sizes if size > 1)
        levels = [("candidates", (size,), share) for size, share in enumerate(recipe.levels, start=2)]
        counts = [("histogram", sets, recipe.histogram), ("set count", sets, recipe.set_count)] if sets else []
        return [
            ("items", (1,), recipe.items),
            ("histogram", (1,), recipe.histogram),
            ("item count", (1,), recipe.item_count),
            *levels,
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
        codes, counts = codes[places], items.among(codes[places])
        pool = run.candidates(counts, level)
        if not len(pool):
            return []
        return _named(items, counts, codes, pool)


@dataclass(frozen=True)
class _Run:
    """One run: what it may spend, and what it looks for."""

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
        pools = []
        if given.sizes[0] == 1:
            singles = CandidatePool((items.sets,), items.weights)
            pools.append(singles.at(self._likely(items.weights, items.deviation, _REACH)))
        if sizes := [size for size in given.sizes if size > 1]:
            levels = found_levels(counts, items, given.budget, recipe, self.randomness)
            sets = CandidatePool.of_levels(levels, sizes, [recipe.survivors] * len(sizes))
            if len(sets):
                counted, deviation = self._counted(counts, sets, levels, recipe.set_count)
                pools.append(counted.at(self._likely(counted.estimates, deviation, _REACH)))
        if not pools:
            return CandidatePool((), np.empty(0))
        sets_of_all = tuple(sets for pool in pools for sets in pool.sets)
        pool = CandidatePool(sets_of_all, np.concatenate([pool.estimates for pool in pools]))
        return pool.at(pool.best(given.most, union=True)) if len(pool) else pool

    def _likely(self, estimates: Floats, deviation: float, reach: float) -> NDArray[np.intp]:
        """Return the places of those that may have the threshold, ascending."""
        return np.flatnonzero(estimates >= max(self.threshold - reach * deviation, _STANDS_OUT * deviation))

    def _counted(
        self, counts: CandidateSource, pool: CandidatePool, levels: Mapping[int, Level], share: Fraction
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
    items_delta, gaussian = _gaussian(budget, neighbors, part, listed=listed)
    recipe = ThresholdRecipe.of(sizes)
    if by_user and sizes[-1] > 1:
        recipe = ThresholdRecipe.of_users(sizes, epsilon=budget.loss, neighbors=neighbors, listed=listed)
    return LevelwiseThreshold(tuple(sizes), most, gaussian, recipe, items_delta)


# What levelwise takes to find an itemset: an estimate from its noise and the items of a typical unit. No formula is
# exact here: what a unit's weights are scaled to depends on how many candidates it has. The constants below were chosen
# on three public data sets and the corner shop, and checked on three others (sizes 1 to 3, 10 to 100 itemsets, ε of 0.1
# to 1, both neighbour relations, the mean items per basket for the typical basket). The support from which on 95 % of
# itemsets were found lay within a factor of 1.5 of the estimate (or of the margin above the k-th itemset, if that is
# more) in 93 % of 74 cases and, of the others, in 87 % of 61; the median of estimate to measurement was 0.99 and 0.98,
# and four fifths lay between 0.83 and 1.42, and between 0.67 and 1.10. Where the estimate decides and no close race, it
# was within 1.5 in 84 % of 31 and in 85 % of 26. (For the picks of limited-domain: in 95 % or more.)
#
# All weights of a unit are taken to be equal. Those of a user grow with what is bought again and again, so such items
# need less than is estimated here. What share of the true top is found of users: `planning.plan`.

# About so much of a typical unit's items goes on to the sets: the frequent ones. Of users fewer items go on in all. (On
# three shops, 95 % of the pairs that 200 to 300 users had were found under add-remove; this says 181.)
_FREQUENT, _FREQUENT_OF_USER = 0.5, 0.25
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
        own_items = self.run.recipe.own_items
        variance = self.run.budget.variance(self.run.recipe.items, 1)
        threshold = item_threshold(variance, self.run.items_delta, own_items) / GRID
        return (threshold + self._sigmas * math.sqrt(variance)) * math.sqrt(min(self.typical_basket, own_items))

    @property
    def steps(self) -> dict[str, float]:
        """The support that each step takes, by its name: so far above the noise that would displace the itemset."""
        budget, recipe, sizes = self.run.budget, self.run.recipe, self.run.sizes
        needs = {"items": self.item_support / (1 if sizes[-1] == 1 else _ITEM_PER_SET)}
        for own, share in enumerate(recipe.levels, start=2):
            candidates = math.comb(min(_FOUND_ITEMS, recipe.most_items), 2) if own == 2 else recipe.most_closed
            kept = recipe.pool[sizes.index(own)] if own in sizes else recipe.survivors
            noise = math.sqrt(budget.variance(share, 1) * choose(self._frequent_items, own))
            needs[f"candidates of size {own}"] = (_quantile(kept / candidates) + self._sigmas) * noise
        pool = sum(recipe.pool)
        bound = max(recipe.first_bound, min(self._own_candidates, pool))  # scaled by more, noise counts for more
        first = math.sqrt(budget.variance(recipe.first, recipe.first_bound, pool) * bound / recipe.first_bound)
        needs["first count"] = (_quantile(self._second_pool / pool) + self._sigmas) * first
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
        """σ of the second count where weights are not scaled: the norm is then what a typical unit has."""
        own = max(min(self._own_candidates, self._second_pool), 2.0)
        return math.sqrt(self.run.budget.variance(self.run.recipe.second, 1) * own)

    @property
    def _second_pool(self) -> int:
        return self.run.recipe.second_pool * (1 if self.run.union else len(self.run.sizes))

    @cached_property
    def _frequent_items(self) -> float:
        """How many items of a typical unit go on."""
        own_items = self.run.recipe.own_items
        share = _FREQUENT_OF_USER if own_items < OWN_ITEMS else _FREQUENT
        return max(share * min(self.typical_basket, own_items), self.run.sizes[-1])

    @property
    def _own_candidates(self) -> float:
        """How many candidates a typical unit has, at most."""
        return sum(choose(self._frequent_items, size) for size in self.run.sizes)

    @property
    def _sigmas(self) -> float:
        """How many σ lie below the confidence."""
        return max(_quantile(1 - self.confidence), 0.0)


def _quantile(above: float) -> float:
    """Return the z >= 0 above which a standard normal variable is with this probability; 0 from one half on."""
    return NormalDist().inv_cdf(1 - max(min(above, 0.5), 1e-16))
