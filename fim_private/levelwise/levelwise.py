"""Levelwise: a whole run, for the most frequent or for a least support; its doubts and needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, groupby
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import CandidateSource, clipped_weights
from fim_private.counting.source import Found, ItemSource, KnownItemsets, SupportSource, Universe
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.noise import Randomness
from fim_private.levelwise.discovery import CandidatePool, Level, Levels, found_items, found_levels
from fim_private.levelwise.recipe import (
    GRID,
    LARGEST_DELTA,
    OWN_ITEMS,
    AnyRecipe,
    Floats,
    GaussianBudget,
    Itemsets,
    Recipe,
    Sought,
    ThresholdRecipe,
    item_threshold,
    noisy_weights,
)

# Squared norms that a count chooses from.
BOUNDS = (2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1_200, 2_000)
# Bins of the histogram grow by so much, and one below so many σ of its noise is taken for empty.
_BIN_GROWTH, EMPTY = 1.15, 2.0
# The error that scaling causes is about so much of what it takes from the least itemset sought: the
# part that differs from one itemset to another.
_UNEVEN = 0.8


def weighed(
    counts: CandidateSource,
    pool: CandidatePool,
    budget: GaussianBudget,
    share: Fraction,
    bound: int,
    randomness: Randomness,
) -> tuple[Floats, float]:
    """Return the noisy weight of each candidate, (K,), and the variance of the noise."""
    variance = budget.variance(share, bound, len(pool))
    sums = counts.sums(pool.sets, clipped_weights(bound, len(pool), GRID))
    return noisy_weights(sums, variance, randomness), float(variance)


@dataclass(frozen=True)
class UnitHistogram:
    """About how many units have how many candidates.

    candidates: (bins,). units: (bins,) noisy, >= 0.
    """

    candidates: Floats
    units: Floats

    def left_weight(self, bound: int) -> float:
        """Return the share of all weight that is left, above 0, if units are scaled to a norm.

        bound: their squared norm.
        """
        weights = self.units * self.candidates
        total = float(weights.sum())
        if total <= 0:
            return 1.0
        scaled = weights * np.minimum(1, np.sqrt(bound / self.candidates))
        return float(scaled.sum()) / total


def unit_histogram(
    counts: CandidateSource,
    pool: CandidatePool,
    budget: GaussianBudget,
    share: Fraction,
    randomness: Randomness,
) -> UnitHistogram:
    """Measure how many candidates units hold, in public bins that grow: a unit is in one."""
    edges, edge = [1], 2
    while edge <= len(pool):
        edges.append(edge)
        edge = max(edge + 1, int(edge * _BIN_GROWTH))
    first = np.array(edges)
    units = np.add.reduceat(counts.units_with(pool.sets)[1:], first - 1)
    variance = budget.variance(share, 1)
    noisy = noisy_weights(units * GRID, variance, randomness)
    noisy[noisy < EMPTY * sqrt(variance)] = 0
    last = np.append(first[1:] - 1, len(pool))
    return UnitHistogram((first + last) / 2, noisy)


def best_bound(
    histogram: UnitHistogram, candidates: int, budget: GaussianBudget, share: Fraction, least: float
) -> int:
    """Return the squared norm for which noise and what scaling takes from the least one sought are
    least together.

    candidates: how many, >= 1. least: the support of the least itemset that is sought, in units, >=
    0.
    """

    def error(bound: int) -> float:
        left = histogram.left_weight(bound)
        noise = float(budget.variance(share, bound, candidates)) / left**2
        return noise + (_UNEVEN * (1 - left) * least) ** 2

    return min((min(bound, candidates) for bound in BOUNDS), key=error)


# A candidate this many σ of the first count above the last one sought is taken for found, if it is
# `clear_ratio` times as frequent as well. Units then hold fewer of the others, so these are counted
# with less noise.
_CLEAR = 1.0


@dataclass(frozen=True)
class Counted:
    """A pool after both counts: K candidates, all estimates in what the second count gave a unit.

    noise: (K,) σ of the noise in each. deviations: (K,) what each estimate leaves open, at most
    that.
    clear: (K,) those that were found by the first count.
    """

    pool: CandidatePool
    noise: Floats
    deviations: Floats
    clear: NDArray[np.bool_]

    def best(self, count: int, *, union: bool) -> NDArray[np.intp]:
        """Return the places of those found by the first count and, up to `count`, the highest
        estimates; ascending.
        """
        first = replace(self.pool, estimates=np.where(self.clear, np.inf, self.pool.estimates))
        return first.best(count, union=union)


def counted_twice(
    counts: CandidateSource,
    pool: CandidatePool,
    levels: Levels,
    budget: GaussianBudget,
    recipe: Recipe,
    count: int,
    *,
    union: bool,
    randomness: Randomness,
) -> Counted:
    """Return the best candidates with their estimates after the second count. pool: at least one
    candidate.
    """
    weights, variance = weighed(counts, pool, budget, recipe.first, recipe.first_bound, randomness)
    ranked, deviations = pool.shrunken(weights, variance, levels)
    places = ranked.best(recipe.second_pool, union=union)
    pool, deviations, noise = (
        ranked.at(places),
        deviations[places],
        np.full(len(places), sqrt(variance)),
    )
    # those clearly above the last of the `count` that are sought
    clear = np.zeros(len(pool), dtype=np.bool_)
    for rivals in pool.rivals(union=union):
        own = pool.estimates[rivals]
        if len(own) > count:
            order = np.argsort(-own, kind="stable")
            first, last = order[: count - 1], own[order[count - 1]]
            clear[rivals.start + first] = own[first] >= max(
                last + _CLEAR * sqrt(variance), float(recipe.clear_ratio) * last
            )
    again = np.flatnonzero(~clear)
    contested = pool.at(again)
    histogram = unit_histogram(counts, contested, budget, recipe.histogram, randomness)
    sought = count if union else count * len(pool.sets)
    least = max(float(np.sort(pool.estimates)[::-1][min(sought, len(pool)) - 1]), 0.0)
    bound = best_bound(histogram, len(contested), budget, recipe.second, least)
    weights, variance = weighed(counts, contested, budget, recipe.second, bound, randomness)
    # What was counted before is one more hint; at least the noise of that count, for its logarithm
    # is taken.
    before = np.maximum(contested.estimates, noise[again])
    counted, left_open = contested.shrunken(weights, variance, levels, before)
    # One scale for all: the second count took less from the weights of a unit.
    scale = max(float(np.maximum(counted.estimates, 0).sum()) / float(before.sum()), 1.0)
    estimates, deviations, noise = pool.estimates * scale, deviations * scale, noise * scale
    estimates[again], deviations[again], noise[again] = counted.estimates, left_open, sqrt(variance)
    return Counted(CandidatePool(pool.sets, estimates), noise, deviations, clear)


# An itemset may be wrongly among those sought because of the noise of two that were counted, or
# because one that is more frequent, one of its subsets or one of its items was lost before its
# support was counted. So it is beyond doubt where its estimate lies above what was left out of the
# second count by more than the noise of two counts explains, and above the support that a lost one
# can have: at any step the weight up to which some did not go on, and what the noise there can
# hide, times what a weight stands for in units, which is estimated. Measured (docs/privacy.md, "How
# certain a release is"): of those beyond doubt 99.5 % or more were among the most frequent in each
# of 72 requests, and of the doubtful 29 to 100 %.

# Normal noise is within so many σ with 95 % probability.
_WITHIN = 1.96


def doubtful(
    counted: Counted, chosen: NDArray[np.intp], levels: Levels, pool: CandidatePool, *, union: bool
) -> NDArray[np.bool_]:
    """Return for each of the itemsets chosen whether it may not be among the most frequent: (n,)
    bool.

    counted: all that were counted twice. chosen: the places of those that are released, ascending.
    levels: what was found of each size. pool: what was counted first. union: whether all sizes were
    ranked together, not each by itself.
    """
    # By size the support that an itemset of it can have, about, that did not go on from its level.
    went_on = {sets.shape[1]: len(sets) for sets in pool.sets}
    lost: dict[int, float] = {}
    for size, level in levels.items():
        if (weight := level.best(went_on.get(size, len(level.sets))).lost) > -math.inf:
            lost[size] = (weight + _WITHIN * level.deviation) * _units_of_weight(
                size, counted.pool, levels
            )
    estimates = counted.pool.estimates
    left_out = estimates.copy()
    left_out[chosen] = -math.inf
    in_doubt = np.zeros(len(estimates), dtype=np.bool_)
    for sets, own in counted.pool.parts:
        rivals = slice(None) if union else own
        its_noise = (
            counted.noise[rivals][left_out[rivals].argmax()] if len(left_out[rivals]) else 0.0
        )
        between = _WITHIN * np.hypot(counted.noise[own], its_noise)
        # A set was lost with any of its subsets, but no larger one makes it less frequent.
        hidden = max(
            (most for size, most in lost.items() if union or size <= sets.shape[1]),
            default=-math.inf,
        )
        in_doubt[own] = estimates[own] <= np.maximum(
            left_out[rivals].max(initial=-math.inf) + between, hidden
        )
    return in_doubt[chosen]


def _units_of_weight(size: int, pool: CandidatePool, levels: Levels) -> float:
    """Return about how many units a weight of 1 stands for, at the level of a size: at least 1."""
    for sets, part in pool.parts:
        if sets.shape[1] == size and len(sets):
            weights = sum(math.exp(levels[size].logs[tuple(row)]) for row in sets.tolist())
            return max(float(pool.estimates[part].sum()) / weights, 1.0)
    # Not counted: a unit of n items holds C(n, size) sets, n being the squared root that scales its
    # items. With f of these items found, their weights add up to f/√n, and those of their pairs to
    # about f/√2.
    found = max(float(levels[1].weights.sum()), levels[1].deviation)
    items = max(math.sqrt(2) * levels[2].weighed / found, 1.0) ** 2
    return math.sqrt(choose(max(items, size), size))


def choose(n: float, size: int) -> float:
    """Return C(n, size) for a real n >= size."""
    return math.prod((n - i) / (i + 1) for i in range(size))


# The share of δ for items that nobody listed: to them the threshold grows slowly, to the noise of
# all else fast.
ITEMS_DELTA = Fraction(1, 10)
# An estimate below so many deviations does not stand out from 0: one of 0 does once in 20 to 44
# times.
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
    return [
        Found(names[i], int(supports[i]), None if in_doubt is None else bool(in_doubt[i]))
        for i in order
    ]


def _with_subsets(known: Sequence[Sequence[int]], codes: NDArray[np.int64]) -> dict[int, Itemsets]:
    """Return by size known itemsets of codes, and all their subsets, by the places of their items
    in the codes.
    """
    place = {code: number for number, code in enumerate(codes.tolist())}
    sets = {tuple(sorted(place[code] for code in itemset)) for itemset in known}
    every = {
        part for own in sets for size in range(1, len(own) + 1) for part in combinations(own, size)
    }
    ordered = sorted(every, key=lambda own: (len(own), own))
    return {size: np.array([*rows], dtype=np.int32) for size, rows in groupby(ordered, key=len)}


def _level_steps(recipe: AnyRecipe) -> list[Step]:
    return [("candidates", (size,), share) for size, share in enumerate(recipe.levels, start=2)]


@dataclass(frozen=True)
class Levelwise:
    """Up to `count` itemsets, of each of the sizes or with union of all together (docs/privacy.md,
    Theorem 13).

    sizes: consecutive, >= 1. items_delta: of naming items; None where they are public. keep_all:
    whether itemsets are named whose count does not stand out from the noise. known: public
    itemsets, which are counted whatever their items weigh; of a catalogue with its items.
    """

    sizes: tuple[int, ...]
    count: int
    union: bool
    budget: GaussianBudget
    recipe: Recipe
    items_delta: Fraction | None
    keep_all: bool = False
    known: KnownItemsets | None = None

    @property
    def steps(self) -> list[Step]:
        """All that it spends, as fractions of the run's share."""
        recipe = self.recipe
        counts = (
            ("first count", recipe.first),
            ("histogram", recipe.histogram),
            ("second count", recipe.second),
        )
        own = [(purpose, self.sizes, share) for purpose, share in counts]
        return [("items", (1,), recipe.items), *_level_steps(recipe), *own]

    def find(
        self, source: SupportSource, universe: Universe, randomness: Randomness
    ) -> list[Found]:
        """Return itemsets, the highest estimates first, fewer than `count` where too few were
        found, or stand out.

        universe: a catalogue where the items are public, otherwise unknown.
        """
        known = () if self.known is None else self.known.itemsets
        listed = 0 if self.known is None or self.items_delta is None else len(self.known.items)
        items = source.items(self.known if listed and self.known is not None else universe)
        of_known = {code for itemset in known for code in itemset}
        codes, found = found_items(
            items,
            self.budget,
            self.recipe,
            self.items_delta,
            randomness,
            listed=listed,
            known=of_known,
        )
        stand_out = self.recipe.listed_stand_out
        # Unlisted, all were named that stand out, and no others; where nothing but items is sought,
        # all go on.
        if self.items_delta is None and self.sizes[-1] > 1 and stand_out is not None:
            plain = max(int((found.ranked >= stand_out * found.deviation).sum()), _ALWAYS)
            codes, found = codes[:plain], found.first(plain)
        counts, by_size = items.among(codes), _with_subsets(known, codes)
        levels = found_levels(counts, found, self.budget, self.recipe, randomness, by_size)
        pools = [
            most + len(by_size.get(size, ()))
            for size, most in zip(self.sizes, self.recipe.pool, strict=True)
        ]
        first_pool = CandidatePool.of_levels(levels, self.sizes, pools)
        if not len(first_pool):
            return []
        counted = counted_twice(
            counts,
            first_pool,
            levels,
            self.budget,
            self.recipe,
            self.count,
            union=self.union,
            randomness=randomness,
        )
        places = counted.best(self.count, union=self.union)
        if not self.keep_all:
            places = places[
                counted.pool.estimates[places] >= STANDS_OUT * counted.deviations[places]
            ]
        in_doubt = doubtful(counted, places, levels, first_pool, union=self.union)
        return _named(items, counts, codes, counted.pool.at(places), in_doubt)


# With a threshold, after each count goes on what may have it, be that many or few. So the fewer
# itemsets do, the fewer are counted, and the less they are scaled; and the noise of their supports
# grows with their number. What goes on is estimated at no less than so many σ below the threshold:
# items to the sets, and sets and items to the supports. And at so many σ at least, whatever the
# threshold: what does not stand out from 0 is only more to count.
_ITEMS_REACH, _REACH, _STANDS_OUT = 2.0, 0.5, 1.5


@dataclass(frozen=True)
class LevelwiseThreshold:
    """Up to `most` candidates for itemsets whose support reaches a threshold.

    sizes, items_delta: as in Levelwise.
    """

    sizes: tuple[int, ...]
    most: int
    budget: GaussianBudget
    items_delta: Fraction | None
    recipe: ThresholdRecipe

    @property
    def steps(self) -> list[Step]:
        """All that it spends, as fractions of the run's share."""
        recipe = self.recipe
        steps: list[Step] = [
            ("items", (1,), recipe.items),
            ("histogram", (1,), recipe.histogram),
            ("item count", (1,), recipe.item_count),
            *_level_steps(recipe),
        ]
        sizes = self._sizes_of_sets
        if sizes:
            steps.append(("histogram", sizes, recipe.histogram))
            steps.append(("set count", sizes, recipe.set_count))
        return steps

    @property
    def _sizes_of_sets(self) -> tuple[int, ...]:
        return tuple(size for size in self.sizes if size > 1)

    def find(
        self, source: SupportSource, universe: Universe, threshold: int, randomness: Randomness
    ) -> list[Found]:
        """Return itemsets that may reach the threshold, in units, >= 1; as Levelwise.find."""
        items, recipe = source.items(universe), self.recipe
        codes, named = found_items(items, self.budget, recipe, self.items_delta, randomness)
        if not len(codes):
            return []
        counted, deviation = self._counted(
            items.among(codes),
            CandidatePool((named.sets,), named.weights),
            {1: named},
            recipe.item_count,
            threshold,
            randomness,
        )
        places = _likely(counted, threshold, deviation, _ITEMS_REACH)
        places = places[np.argsort(-counted.estimates[places], kind="stable")]
        numbers = np.arange(len(places), dtype=np.int32)[:, None]
        level = Level(numbers, counted.estimates[places], deviation)
        counts, pool = items.among(codes[places]), CandidatePool((), np.empty(0))
        if self.sizes[0] == 1:
            pool = CandidatePool((level.sets,), level.weights)
            pool = pool.at(_likely(pool, threshold, deviation, _REACH))
        if self._sizes_of_sets:
            sets = self._sets(counts, level, threshold, randomness)
            pool = CandidatePool(
                (*pool.sets, *sets.sets), np.concatenate([pool.estimates, sets.estimates])
            )
        if not len(pool):
            return []
        best = pool.at(pool.best(self.most, union=True))
        return _named(items, counts, codes[places], best)

    def _sets(
        self, counts: CandidateSource, items: Level, threshold: int, randomness: Randomness
    ) -> CandidatePool:
        """Return the sets of two items or more that may reach the threshold."""
        recipe, sizes = self.recipe, self._sizes_of_sets
        levels = found_levels(counts, items, self.budget, recipe, randomness)
        pool = CandidatePool.of_levels(levels, sizes, [recipe.survivors] * len(sizes))
        if not len(pool):
            return CandidatePool((), np.empty(0))
        pool, deviation = self._counted(
            counts, pool, levels, recipe.set_count, threshold, randomness
        )
        return pool.at(_likely(pool, threshold, deviation, _REACH))

    def _counted(
        self,
        counts: CandidateSource,
        pool: CandidatePool,
        levels: Levels,
        share: Fraction,
        threshold: int,
        randomness: Randomness,
    ) -> tuple[CandidatePool, float]:
        """Return a pool with estimates, in units, and σ of the noise.

        The weights suit the pool; what scaling takes from them is made up for.
        """
        histogram = unit_histogram(counts, pool, self.budget, self.recipe.histogram, randomness)
        bound = best_bound(histogram, len(pool), self.budget, share, threshold)
        weights, variance = weighed(counts, pool, self.budget, share, bound, randomness)
        left = histogram.left_weight(bound)
        estimated, _ = pool.shrunken(weights / left, variance / left**2, levels)
        return estimated, sqrt(variance) / left


def levelwise(
    sizes: Sequence[int],
    count: int,
    *,
    budget: PrivacyBudget,
    neighbors: str,
    listed: bool,
    by_user: bool,
    part: Fraction = Fraction(1),
    union: bool = True,
    keep_all: bool = False,
    threshold: bool = False,
    known: KnownItemsets | None = None,
) -> Levelwise | LevelwiseThreshold:
    """Return the run that spends `part`, a share of a budget (Theorem 13); of a threshold if asked.

    by_user: whether units are users, not baskets. listed: whether all items are public. Otherwise a
    share of delta goes to naming them. The rest of the budget makes μ: the run has that share of
    μ², and supports the rest. Raises ParameterError for a budget out of range.
    """
    items_delta = None if listed else min(budget.naming(ITEMS_DELTA), LARGEST_DELTA)
    gaussian = GaussianBudget(budget.normal(items_delta or Fraction(0)), neighbors, part)
    sought = Sought(
        sizes=tuple(sizes),
        count=count,
        union=union,
        by_user=by_user,
        listed=listed,
        epsilon=budget.loss,
        neighbors=neighbors,
    )
    if threshold:
        recipe = ThresholdRecipe.of(sought)
        return LevelwiseThreshold(sought.sizes, count, gaussian, items_delta, recipe)
    return Levelwise(
        sought.sizes, count, union, gaussian, Recipe.of(sought), items_delta, keep_all, known
    )


# What levelwise takes to find an itemset is an estimate from its noise and the items of a typical
# unit, all of whose weights are taken to be equal: what they are scaled to depends on how many
# candidates the unit has. The constants were chosen on four data sets and checked on three others
# (sizes 1 to 3, 10 to 100 itemsets, ε of 0.1 to 1): the support from which on 95 % were found lay
# within a factor of 1.5 of the estimate in 93 % of 74 cases, and in 87 % of 61.

# About so much of a typical unit's items goes on to the sets: the frequent ones. Of users fewer
# items go on in all. (On three shops, 95 % of the pairs that 200 to 300 users had were found under
# add-remove; this says 181.)
_FREQUENT, _FREQUENT_OF_USER = 0.5, 0.25
# An item of a frequent itemset is in so many times the units of the itemset, or more.
_ITEM_PER_SET = 1.5
# The pairs are taken to be those of so many items.
_FOUND_ITEMS = 500


@dataclass(frozen=True)
class LevelNeeds:
    """What a run of levelwise takes to find an itemset of its largest size, in units.

    item_support: of each of its items. margin: how far apart two itemsets must be for the second
    count to tell them apart. steps: the support that each step takes: so far above the noise that
    would displace it.
    """

    item_support: float
    margin: int
    steps: dict[str, float]

    @classmethod
    def of(cls, run: Levelwise, typical_basket: float, confidence: float) -> LevelNeeds:
        """Return the needs of a run as it is carried out, of items that nobody listed.

        typical_basket: the items of a typical unit, >= 1. confidence: of each step by itself, in
        (0, 1).
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
            candidates = (
                math.comb(min(_FOUND_ITEMS, recipe.most_items), 2)
                if size == 2
                else recipe.most_closed
            )
            go_on = recipe.pool[sizes.index(size)] if size in sizes else recipe.survivors
            noise = sqrt(budget.variance(spent, 1) * choose(frequent, size))
            steps[f"candidates of size {size}"] = (_quantile(go_on / candidates) + sigmas) * noise
        pool, again = sum(recipe.pool), recipe.second_pool * (1 if run.union else len(sizes))
        # scaled by more, noise counts for more
        bound = max(recipe.first_bound, min(own_candidates, pool))
        noise = sqrt(
            budget.variance(recipe.first, recipe.first_bound, pool) * bound / recipe.first_bound
        )
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


def _likely(
    pool: CandidatePool, threshold: int, deviation: float, reach: float
) -> NDArray[np.intp]:
    """Return the places of the candidates at most `reach` deviations below the threshold."""
    least = max(threshold - reach * deviation, _STANDS_OUT * deviation)
    return np.flatnonzero(pool.estimates >= least)


def _quantile(above: float) -> float:
    """Return the z >= 0 that a standard normal variable exceeds with this probability."""
    return NormalDist().inv_cdf(1 - max(min(above, 0.5), 1e-16))
