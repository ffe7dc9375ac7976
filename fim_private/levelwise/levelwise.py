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

from fim_private.counting.source import SelectedItemset
from fim_private.counting.work import Int64
from fim_private.dp.accountant import Step
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.noise import Floats
from fim_private.levelwise.discovery import (
    EMPTY,
    CandidatePool,
    ItemSearch,
    NoisyCounts,
    WeightedBySize,
    WeightedItemsets,
    bins,
)
from fim_private.levelwise.recipe import (
    GRID,
    LARGEST_ITEMS_DELTA,
    OWN_ITEMS,
    AnyRecipe,
    GaussianBudget,
    Itemsets,
    Marks,
    Places,
    Recipe,
    Sought,
    ThresholdRecipe,
    item_threshold,
)

# An itemset may be wrongly among those that are released for two reasons: the noise of two
# itemsets that were counted; or one that is more frequent, or one of its subsets, was dropped
# before its support was counted. So an itemset is beyond doubt if its estimate is above that of
# each candidate that is not released, by more than the noise of two counts explains, and also above
# the support that a dropped one can have. That is the weight up to which itemsets were dropped at
# any step, plus what the noise there can hide, times the units for which a weight stands, which are
# estimated. Scaling takes more from some itemsets than from others. So it is a noise of its own for
# an itemset that only the first count saw. What was measured is in docs/privacy.md, "How certain a
# release is".

# Normal noise is below this many σ with 95 % probability; and between this many with either sign.
_BELOW, _WITHIN = 1.645, 1.96
# How uneven scaling is follows from the candidates that were counted twice. Few of them say little
# of it, so it is taken to be this many standard errors more. It is at most about this share of what
# scaling takes.
_CAUTION, _MOST_UNEVEN = 5.0, 0.6
# Weights are of all purchases, so an item that was not found may go with a required one more often
# than most. For how many units its weight stands is taken from the partners at this quantile.
# Source: measured, 200 to 230 marks of one shop: with the mean 92 % were right, so 97 %.
_LIFTED = 0.75


@dataclass(frozen=True)
class Counted:
    """K candidates after both counts. All estimates are on the scale of the second count.

    Attributes:
        pool: The candidates.
        noise: (K,) σ of the noise in each, in units. To an itemset that only the first count saw
            is added what scaling may have taken more from it than from others.
        deviations: (K,) the standard deviation of each estimate, in units.
        clear: (K,) whether the first count was enough to find it.
        first_pool: The candidates of the first count.
        levels: The levels that were found.
        are_partners: Whether they go with required items, which rare items may do often.
    """

    pool: CandidatePool
    noise: Floats
    deviations: Floats
    clear: Marks
    first_pool: CandidatePool
    levels: WeightedBySize
    are_partners: bool

    def best(self, count: int) -> Places:
        """Return the places of the `count` best among each group of rivals, ascending.

        The best are those that the first count found, then those of the highest estimates.
        """
        clear_first = np.where(self.clear, np.inf, self.pool.estimates)
        return replace(self.pool, estimates=clear_first).best(count)

    def doubtful(self, chosen: Places) -> Marks:
        """Return for each chosen itemset whether it may not be among the most frequent: (n,).

        chosen: the places of those that are released, ascending.
        """
        dropped, hidden = self._dropped_supports, np.zeros(len(self.pool))
        for sets, places in self.pool.by_size:
            # A set is lost if any of its subsets was dropped; larger sets do not matter to it.
            hidden[places] = max(
                support
                for size, support in dropped.items()
                if self.pool.union or size <= sets.shape[1]
            )
        is_above = self.pool.estimates[chosen] > hidden[chosen]
        return ~(self.leading(chosen) & is_above)

    def leading(self, chosen: Places) -> Marks:
        """Return for each chosen itemset whether it leads all that are not chosen by more than the
        noise of both explains: (n,).

        chosen: as of `doubtful`.
        """
        estimates = self.pool.estimates
        not_released = estimates.copy()
        not_released[chosen] = -math.inf
        leads = np.zeros(len(estimates), dtype=np.bool_)
        for sets, places in self.pool.by_size:
            if not len(sets):
                continue
            rivals = slice(None) if self.pool.union else places
            runner_up = not_released[rivals].argmax()
            between = _BELOW * np.hypot(self.noise[places], self.noise[rivals][runner_up])
            leads[places] = estimates[places] > not_released[rivals][runner_up] + between
        return leads[chosen]

    @property
    def _dropped_supports(self) -> dict[int, float]:
        """By size about the largest support of an itemset that was dropped; -inf if none was."""
        went_on = {sets.shape[1]: len(sets) for sets in self.first_pool.sets}
        supports = {}
        for size, level in self.levels.items():
            cutoff = level.best(went_on.get(size, len(level.sets))).cutoff
            supports[size] = (cutoff + _WITHIN * level.deviation) * self._units_of_weight(size)
        return supports

    def _units_of_weight(self, size: int) -> float:
        """Return for about how many units, >= 1, a weight of 1 stands at the level of a size."""
        levels = self.levels
        for sets, places in self.pool.by_size:
            if sets.shape[1] == size and len(sets):
                weights = np.exp(levels[size].logs_of(sets))
                estimates = self.pool.estimates[places]
                units = float(estimates.sum() / weights.sum())
                if self.are_partners:
                    stands_out = estimates >= STANDS_OUT * self.deviations[places]
                    ratios = (estimates / weights)[stands_out]
                    units = max(float(np.quantile([units, *ratios], _LIFTED)), units)
                return max(units, 1.0)
        # Not counted. A unit of n items holds C(n, size) sets, and each of its items weighs 1/√n.
        # If f of these items were found, their weights add up to f/√n, and those of their pairs to
        # about f/√2. That gives n.
        item_weight = max(float(levels[1].weights.sum()), levels[1].deviation)
        items = max(math.sqrt(2) * levels[2].total_weight / item_weight, 1.0) ** 2
        return math.sqrt(choose(max(items, size), size))


def counted_twice(
    noisy: NoisyCounts,
    first_pool: CandidatePool,
    levels: WeightedBySize,
    recipe: Recipe,
    count: int,
) -> Counted:
    """Return the best candidates of a pool, which is not empty, with their estimates."""
    bound = _first_bound(noisy, first_pool, recipe, count)
    weights, variance = noisy.weights(first_pool, recipe.first, bound)
    first_noise = sqrt(variance)
    ranked, deviations = first_pool.shrunken(weights, variance, levels)
    scales, histogram_share = _scales_by_size(noisy, ranked, recipe.histogram)
    ranked = replace(ranked, estimates=ranked.estimates * scales)
    places = ranked.best(recipe.second_pool)
    scales = scales[places]
    pool, deviations = ranked.at(places), deviations[places] * scales
    clear = _clear(pool, first_noise, float(recipe.clear_ratio), count)
    again = np.flatnonzero(~clear)
    contested = pool.at(again)
    sought = min(count * len(pool.rivals), len(pool))
    least = max(float(np.sort(pool.estimates)[-sought]), 0.0)
    weights, variance, _ = noisy.weights_by_histogram(
        contested, histogram_share, recipe.second, least
    )
    # The first estimates are a feature of the second ones. Their logarithm is taken, so that each
    # is at least the noise of the first count.
    earlier = np.maximum(contested.estimates, first_noise)
    second, second_deviations = contested.shrunken(weights, variance, levels, earlier)
    # The second count took less from the weights of a unit: one scale brings the first to it.
    scale = max(float(np.maximum(second.estimates, 0).sum()) / float(earlier.sum()), 1.0)
    estimates, deviations, scales = pool.estimates * scale, deviations * scale, scales * scale
    uneven = np.minimum(
        _unevenness(earlier * scale, weights, variance + deviations[again] ** 2),
        _MOST_UNEVEN * (1 - 1 / scales),
    )
    noise = np.hypot(first_noise * scales, uneven * estimates)
    estimates[again], deviations[again] = second.estimates, second_deviations
    noise[again] = sqrt(variance)
    pool = replace(pool, estimates=estimates)
    return Counted(pool, noise, deviations, clear, first_pool, levels, bool(noisy.required))


def _first_bound(noisy: NoisyCounts, pool: CandidatePool, recipe: Recipe, count: int) -> int:
    """Return the squared norm of the first count: the usual one, or more where supports are large.

    A histogram tells what the supports of all candidates add up to at least, and the weights of the
    levels which part of that the last of the `count` itemsets sought has.
    """
    usual = min(recipe.first_bound, len(pool))
    if not recipe.first_histogram:
        return usual
    histogram = noisy.histogram(pool, recipe.first_histogram)
    sought = min(count * len(pool.rivals), len(pool))
    positive = np.maximum(pool.estimates, 0)
    part_of_last = float(np.sort(positive)[-sought] / max(positive.sum(), 1.0))
    least = max(histogram.least_supports, 0.0) * part_of_last
    return max(noisy.best_bound(histogram, len(pool), recipe.first, least), usual)


def _unevenness(first: Floats, second: Floats, variances: Floats) -> float:
    """Return how far the supports of one count are from those of the other, beside noise.

    It is the standard deviation of the difference, as a share of the support, estimated with
    caution.

    Args:
        first: (n,) the estimates of the first count, on the scale of the second.
        second: (n,) the noisy weights of the second.
        variances: (n,) of the noise in their differences.
    """
    differences = np.mean((second - first) ** 2) * (1 + _CAUTION * sqrt(2 / len(first)))
    excess = max(float(differences - np.mean(variances)), 0.0)
    return sqrt(excess / np.mean(first**2))


def _scales_by_size(
    noisy: NoisyCounts, pool: CandidatePool, share: Fraction
) -> tuple[Floats, Fraction]:
    """Return what each estimate of the first count is to be multiplied by, (K,), >= 1.

    Where all sizes are ranked together, they must be on one scale. Large itemsets are in units that
    have many candidates, whose weights are scaled most, so they lose more than small ones. How many
    supports of a size there are in all follows from a histogram of that size. The scale is what
    they are at least, given the noise. No histogram is made if noise would leave nothing of one.

    share: of the budget, for histograms. What is left of it is returned, too.
    """
    scales, half = np.ones(len(pool)), share / 2
    share_of_size = half / len(pool.sets)
    noise = EMPTY * sqrt(noisy.budget.variance(share_of_size, 1))
    counted = [float(np.maximum(pool.estimates[places], 0).sum()) for _, places in pool.by_size]
    lost = [noise * float(np.linalg.norm(bins(len(sets))[1])) for sets in pool.sets]
    if not pool.union or len(pool.sets) == 1 or np.greater(lost, counted).any():
        return scales, share
    for (sets, places), weight in zip(pool.by_size, counted, strict=True):
        if not weight:
            continue
        histogram = noisy.histogram(CandidatePool((sets,), pool.estimates[places]), share_of_size)
        scales[places] = max(histogram.least_supports / weight, 1.0)
    return scales, half


def _clear(pool: CandidatePool, noise: float, ratio: float, count: int) -> Marks:
    """Return whether each candidate is clearly above the last of the `count` that are sought.

    It is σ of the first count above it, and `ratio` times as frequent. It is taken for found. Units
    then hold fewer of the others, so these are counted with less noise.
    """
    clear = np.zeros(len(pool), dtype=np.bool_)
    for rivals in pool.rivals:
        estimates = pool.estimates[rivals]
        if len(estimates) > count:
            last = np.sort(estimates)[-count]
            clear[rivals] = estimates >= max(last + noise, ratio * last)
    return clear


def choose(n: float, size: int) -> float:
    """Return C(n, size) for a real n >= size."""
    return math.prod((n - i) / (i + 1) for i in range(size))


# The share of δ for naming items that nobody listed. A smaller share raises their threshold only
# slowly, but a larger one makes all other noise grow fast.
ITEMS_DELTA = Fraction(1, 10)
# An estimate below this many deviations does not stand out from 0. An itemset of support 0 does
# once in 20 to 44 times.
STANDS_OUT = 2.0
# An item is paired if it makes pairs by chance that weigh this many σ of their noise or more.
_LEAST_BY_CHANCE = 0.2
# Of listed items the best fifty go on in any case: they make few pairs.
_ALWAYS = 50


def _with_subsets(known: Sequence[Sequence[int]], codes: Int64) -> dict[int, Itemsets]:
    """Return by size the known itemsets and all of their subsets.

    known: itemsets of codes. codes: (m,), whose places are the numbers of the items.
    """
    numbers = {code: number for number, code in enumerate(codes.tolist())}
    subsets = {
        subset
        for itemset in known
        for size in range(1, len(itemset) + 1)
        for subset in combinations(sorted(numbers[code] for code in itemset), size)
    }
    ordered = sorted(subsets, key=lambda subset: (len(subset), subset))
    return {size: np.array([*rows], dtype=np.int32) for size, rows in groupby(ordered, key=len)}


def _level_steps(recipe: AnyRecipe, sought: Sought) -> list[Step]:
    return [
        Step("candidates", sought.whole((size,)), share)
        for size, share in enumerate(recipe.levels, start=2)
    ]


@dataclass(frozen=True)
class Levelwise(ItemSearch):
    """A run that finds the most frequent itemsets."""

    recipe: Recipe

    @property
    def steps(self) -> list[Step]:
        """All uses of the private data, in their order."""
        recipe, sizes = self.recipe, self.sought.whole(self.sought.sizes)
        return [
            Step("items", (1,), recipe.items),
            *_level_steps(recipe, self.sought),
            *[Step("histogram", sizes, share) for share in [recipe.first_histogram] if share],
            Step("first count", sizes, recipe.first),
            Step("histogram", sizes, recipe.histogram),
            Step("second count", sizes, recipe.second),
        ]

    def find(self, found: NoisyCounts) -> list[SelectedItemset]:
        """Return itemsets, the highest estimates first: fewer than `count` if too few stand out.

        found: the items found by this run, or by another one of the same questions.
        """
        recipe, sought = self.recipe, self.sought
        noisy = found.beside(sought.known.required, sought.questions)
        noisy = noisy.first(self._items_that_go_on(noisy.level))
        known_sets = _with_subsets(sought.known.itemsets, noisy.codes)
        known_items = len(known_sets.get(1, ()))
        paired = noisy.first(self._items_to_pair(noisy.level, noisy.budget, known_items))
        levels = paired.levels(recipe, known_sets)
        # All items are candidates by themselves, but those that are in no pair hide some sets.
        levels[1] = replace(noisy.level, cutoff=paired.level.cutoff)
        pool_sizes = {
            size: most + len(known_sets.get(size, ()))
            for size, most in zip(sought.sizes, recipe.pool, strict=True)
        }
        first_pool = CandidatePool.of_levels(levels, pool_sizes, union=sought.union)
        if not len(first_pool):
            return []
        counted = counted_twice(noisy, first_pool, levels, recipe, sought.count)
        places = counted.best(sought.count)
        if not sought.keep_all:
            least = STANDS_OUT * counted.deviations[places]
            places = places[counted.pool.estimates[places] >= least]
        doubts, leads = counted.doubtful(places).tolist(), counted.leading(places).tolist()
        return noisy.named(counted.pool.at(places), doubts, leads)

    def _items_to_pair(self, found: WeightedItemsets, budget: GaussianBudget, known: int) -> int:
        """Return how many of the items that go on also go on to the pairs.

        An item does if the pair that it would make by chance with the most frequent item is not
        lost in the noise of the pairs. More items would make all pairs of a user weigh less.

        Args:
            found: The items that go on.
            budget: The budget of the steps that follow.
            known: How many of the items, which come first, are public and go on in any case.
        """
        recipe, weights = self.recipe, np.maximum(found.weights, 0)
        fewest, most = recipe.fewest_paired + known, recipe.most_paired + known
        if len(weights) <= fewest or not recipe.levels:
            return min(len(weights), most)
        noise = sqrt(budget.variance(recipe.levels[0], 1))
        # Known items come first, however little they weigh.
        total = np.maximum(np.cumsum(weights), found.deviation)
        by_chance = weights.max() * weights / total
        number = int((by_chance >= _LEAST_BY_CHANCE * noise).sum())
        return min(max(number, fewest), most)

    def _items_that_go_on(self, found: WeightedItemsets) -> int:
        """Return how many of the items found go on: of listed ones those that stand out.

        Items without a list are named only if they stand out. If only items are sought, all go on.
        """
        if self.items_delta is not None or not self.recipe.levels:
            return len(found.sets)
        least = self.recipe.listed_stand_out * found.deviation
        return max(int((found.scores >= least).sum()), _ALWAYS)


# With a threshold, all candidates that may reach it go on after each count, be they many or few.
# The fewer they are, the less their weights are scaled, and the less noise their supports get. A
# candidate goes on if its estimate is no further than this many σ below the threshold: an item to
# the sets, and a set or an item to the supports. Its estimate must also be at least this many σ,
# whatever the threshold: a candidate that does not stand out from 0 is only more to count.
_ITEMS_REACH, _REACH, _STANDS_OUT = 2.0, 0.5, 1.5


@dataclass(frozen=True)
class LevelwiseThreshold(ItemSearch):
    """A run that finds itemsets whose support may reach a threshold.

    No more come out than are sought.
    """

    recipe: ThresholdRecipe

    @property
    def steps(self) -> list[Step]:
        """All uses of the private data, in their order."""
        recipe = self.recipe
        items = self.sought.whole((1,))
        steps = [
            Step("items", (1,), recipe.items),
            Step("histogram", items, recipe.histogram),
            Step("item count", items, recipe.item_count),
            *_level_steps(recipe, self.sought),
        ]
        sizes = self.sought.whole(self._sizes_of_sets)
        if sizes:
            steps.append(Step("histogram", sizes, recipe.histogram))
            steps.append(Step("set count", sizes, recipe.set_count))
        return steps

    @property
    def _sizes_of_sets(self) -> tuple[int, ...]:
        return tuple(size for size in self.sought.sizes if size > 1)

    def find(self, found: NoisyCounts, threshold: int) -> list[SelectedItemset]:
        """Return itemsets that may reach the threshold, in units, >= 1; as Levelwise.find."""
        sought = self.sought
        noisy = found.beside(sought.known.required, sought.questions)
        if not len(noisy.codes):
            return []
        noisy = self._with_counted_items(noisy, threshold)
        pools = []
        if 1 in sought.sizes:
            items = CandidatePool((noisy.level.sets,), noisy.level.weights)
            pools.append(items.at(_likely(items, threshold, noisy.level.deviation, _REACH)))
        if self._sizes_of_sets:
            pools += self._counted_sets(noisy, threshold)
        sets = tuple(of_size for pool in pools for of_size in pool.sets)
        estimates = [pool.estimates for pool in pools]
        pool = CandidatePool(sets, np.concatenate([np.empty(0), *estimates]))
        if not len(pool):
            return []
        pool = pool.at(pool.best(sought.count))
        return noisy.named(pool, [None] * len(pool), [False] * len(pool))

    def _with_counted_items(self, noisy: NoisyCounts, threshold: int) -> NoisyCounts:
        """Return the items that may reach the threshold, with their noisy supports as weights."""
        items = CandidatePool((noisy.level.sets,), noisy.level.weights)
        items, deviation = self._counted(
            noisy, items, {1: noisy.level}, self.recipe.item_count, threshold
        )
        places = _likely(items, threshold, deviation, _ITEMS_REACH)
        places = places[np.argsort(-items.estimates[places], kind="stable")]
        supports = items.estimates[places]
        level = WeightedItemsets.of_items(supports, deviation, supports)
        return replace(noisy, codes=noisy.codes[places], level=level)

    def _counted_sets(self, noisy: NoisyCounts, threshold: int) -> list[CandidatePool]:
        """Return the sets of items that may reach the threshold: one pool, or none."""
        levels = noisy.levels(self.recipe, {})
        most = dict.fromkeys(self._sizes_of_sets, self.recipe.survivors)
        sets = CandidatePool.of_levels(levels, most, union=True)
        if not len(sets):
            return []
        sets, deviation = self._counted(noisy, sets, levels, self.recipe.set_count, threshold)
        return [sets.at(_likely(sets, threshold, deviation, _REACH))]

    def _counted(
        self,
        noisy: NoisyCounts,
        pool: CandidatePool,
        levels: WeightedBySize,
        share: Fraction,
        threshold: int,
    ) -> tuple[CandidatePool, float]:
        """Return a pool with estimates, in units, and σ of the noise in each.

        The estimates make up for the weight that scaling takes from units.
        """
        weights, variance, remaining = noisy.weights_by_histogram(
            pool, self.recipe.histogram, share, threshold
        )
        estimated, _ = pool.shrunken(weights / remaining, variance / remaining**2, levels)
        return estimated, sqrt(variance) / remaining


def _likely(pool: CandidatePool, threshold: int, deviation: float, reach: float) -> Places:
    """Return the places of the candidates at most `reach` deviations below the threshold."""
    least = max(threshold - reach * deviation, _STANDS_OUT * deviation)
    return np.flatnonzero(pool.estimates >= least)


def names_delta_of(budget: PrivacyBudget) -> Fraction:
    """Return δ₀, the share of δ for naming items that only one unit has."""
    return min(budget.delta_for_names(ITEMS_DELTA), LARGEST_ITEMS_DELTA)


def levelwise(
    sought: Sought,
    budget: PrivacyBudget,
    names_delta: Fraction,
    *,
    part: Fraction,
    threshold: bool = False,
) -> Levelwise | LevelwiseThreshold:
    """Return the run that spends a share of a budget (docs/privacy.md, Theorem 13).

    Raises ParameterError for a budget out of range.

    Args:
        sought: The itemsets that are sought. With a threshold, no more than its count come out.
        budget: The budget of the release.
        names_delta: δ₀, which is spent on naming items unless all of them are listed. What remains
            of δ makes μ.
        part: The share of μ² that the run spends, the others being for supports.
        threshold: Whether the itemsets are sought that reach a threshold.
    """
    items_delta = None if sought.listed else names_delta
    mu_squared = budget.mu_squared_for_steps(names_delta)
    gaussian = GaussianBudget(mu_squared, sought.neighbors, part)
    if threshold:
        return LevelwiseThreshold(sought, gaussian, items_delta, ThresholdRecipe.of(sought))
    return Levelwise(sought, gaussian, items_delta, Recipe.of(sought))


# The needs of a run are estimated from its noise and the items of a typical unit, all of whose
# weights are taken to be equal: how much they are scaled depends on how many candidates the unit
# has. The constants were chosen on four data sets and checked on three others (sizes 1 to 3, 10 to
# 100 itemsets, ε of 0.1 to 1): the support from which on 95 % were found lay within a factor of 1.5
# of the estimate in 93 % of 74 cases, and in 87 % of 61.

# The share of a typical unit's items that go on to the sets, as they are frequent. Of users fewer
# items go on in all. (On three shops, 95 % of the pairs that 200 to 300 users had were found under
# add-remove; this says 181.)
_FREQUENT, _FREQUENT_OF_USER = 0.5, 0.25
# An item of a frequent itemset is in this many times the units of the itemset, or more.
_ITEM_PER_SET = 1.5
# The pairs are taken to be those of this many items.
_FOUND_ITEMS = 500


@dataclass(frozen=True)
class LevelNeeds:
    """The support that a run of levelwise needs to find an itemset of its largest size, in units.

    Attributes:
        item_support: The support that each of its items needs.
        margin: How far apart the supports of two itemsets must be for the second count to tell
            which is higher.
        steps: The support that each step needs, to stand out from the noise that would displace it.
    """

    item_support: float
    margin: int
    steps: dict[str, float]

    @classmethod
    def of(cls, run: Levelwise, typical_basket: float, confidence: float) -> LevelNeeds:
        """Return the needs of a run whose items nobody listed.

        typical_basket: the number of items of a typical unit, >= 1. confidence: with which each
        step by itself succeeds, in (0, 1).
        """
        assert run.items_delta is not None
        budget, recipe, sizes = run.budget, run.recipe, run.sought.sizes
        sigmas = max(_quantile(1 - confidence), 0.0)
        # How many items of a typical unit go on, and how many candidates it has then.
        own_items = min(typical_basket, recipe.own_items)
        frequent_share = _FREQUENT_OF_USER if recipe.own_items < OWN_ITEMS else _FREQUENT
        frequent = max(frequent_share * own_items, sizes[-1])
        own_candidates = sum(choose(frequent, size) for size in sizes)
        # (T + zσ) times the root of a unit's items, which scale it.
        variance = budget.variance(recipe.items, 1)
        threshold = item_threshold(variance, run.items_delta, recipe.own_items) / GRID
        item_support = (threshold + sigmas * sqrt(variance)) * sqrt(own_items)
        steps = {"items": item_support}
        if recipe.levels:
            steps["items"] = item_support / _ITEM_PER_SET
        if run.sought.known.required:  # how often an item is bought says little of these with it
            del steps["items"]
        pool_sizes = dict(zip(sizes, recipe.pool, strict=True))
        for size, share in enumerate(recipe.levels, start=2):
            candidates = recipe.most_closed
            if size == 2:
                candidates = math.comb(min(_FOUND_ITEMS, recipe.most_paired), 2)
            go_on = pool_sizes.get(size, recipe.survivors)
            noise = sqrt(budget.variance(share, 1) * choose(frequent, size))
            steps[f"candidates of size {size}"] = (_quantile(go_on / candidates) + sigmas) * noise
        pool = sum(recipe.pool)
        second_pool = recipe.second_pool if run.sought.union else recipe.second_pool * len(sizes)
        # Where weights are scaled by more than the norm, noise counts for more.
        bound = max(recipe.first_bound, min(own_candidates, pool))
        noise = sqrt(
            budget.variance(recipe.first, recipe.first_bound, pool) * bound / recipe.first_bound
        )
        steps["first count"] = (_quantile(second_pool / pool) + sigmas) * noise
        # Where weights are not scaled, the norm is what a typical unit has.
        noise = sqrt(budget.variance(recipe.second, 1) * max(min(own_candidates, second_pool), 2.0))
        standing_out = 0 if run.sought.keep_all else STANDS_OUT
        steps["second count"] = (sigmas + standing_out) * noise
        return cls(item_support, math.ceil(sqrt(2) * sigmas * noise), steps)

    @property
    def limit(self) -> str:
        """The step that needs the highest support."""
        return max(self.steps, key=self.steps.__getitem__)

    @property
    def support(self) -> int:
        """The support with which an itemset passes every step, in units."""
        return math.ceil(max(self.steps.values()))


def _quantile(above: float) -> float:
    """Return the z >= 0 that a standard normal variable exceeds with this probability."""
    return NormalDist().inv_cdf(1 - max(min(above, 0.5), 1e-16))
