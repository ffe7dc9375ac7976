"""Counts of candidates with bounded weights, twice; and which of the itemsets found are doubtful."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import CandidateSource, clipped_weights
from fim_private.dp.noise import Randomness
from fim_private.levelwise.discovery import CandidatePool, Levels
from fim_private.levelwise.recipe import GRID, Floats, GaussianBudget, Recipe, noisy_weights

# Squared norms that a count chooses from.
BOUNDS = (2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1_200, 2_000)
# Bins of the histogram grow by so much, and one below so many σ of its noise is taken for empty.
_BIN_GROWTH, EMPTY = 1.15, 2.0
# The error that scaling causes is about so much of what it takes from the least itemset sought: the part that differs
# from one itemset to another.
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
    """About how many units have how many candidates. candidates: (bins,). units: (bins,) noisy, >= 0."""

    candidates: Floats
    units: Floats

    def left_weight(self, bound: int) -> float:
        """Return which share of all weight is left when units are scaled to this squared norm: above 0, at most 1."""
        total = float((self.units * self.candidates).sum())
        left = float((self.units * self.candidates * np.minimum(1, np.sqrt(bound / self.candidates))).sum())
        return left / total if total > 0 else 1.0


def unit_histogram(
    counts: CandidateSource, pool: CandidatePool, budget: GaussianBudget, share: Fraction, randomness: Randomness
) -> UnitHistogram:
    """Measure how many candidates units hold, in public bins that grow: a unit is in one of them."""
    edges = [1]
    while (following := max(edges[-1] + 1, int(edges[-1] * _BIN_GROWTH))) <= len(pool):
        edges.append(following)
    first = np.array(edges)
    units = np.add.reduceat(counts.units_with(pool.sets)[1:], first - 1)
    variance = budget.variance(share, 1)
    noisy = noisy_weights(units * GRID, variance, randomness)
    noisy[noisy < EMPTY * sqrt(variance)] = 0
    return UnitHistogram((first + np.append(first[1:] - 1, len(pool))) / 2, noisy)


def best_bound(histogram: UnitHistogram, candidates: int, budget: GaussianBudget, share: Fraction, least: float) -> int:
    """Return the squared norm for which noise and what scaling takes from the least one sought are least together.

    candidates: how many there are, >= 1. least: the support of the least itemset that is sought, in units, >= 0.
    """

    def error(bound: int) -> float:
        left = histogram.left_weight(bound)
        noise = float(budget.variance(share, bound, candidates)) / left**2
        return noise + (_UNEVEN * (1 - left) * least) ** 2

    return min((min(bound, candidates) for bound in BOUNDS), key=error)


# What lies so many σ of the first count above the last one sought is taken for found, if it is `ahead` times as
# frequent as well. Units hold fewer of the others then, which are counted with less noise.
_CLEAR = 1.0


@dataclass(frozen=True)
class Counted:
    """A pool after both counts: K candidates, all estimates in what the second count gave a unit.

    noise: (K,) σ of the noise in each. deviations: (K,) what each estimate leaves open, at most that.
    clear: (K,) those that were found by the first count.
    """

    pool: CandidatePool
    noise: Floats
    deviations: Floats
    clear: NDArray[np.bool_]

    def best(self, count: int, *, union: bool) -> NDArray[np.intp]:
        """Return the places of those found by the first count and, up to `count`, the highest estimates; ascending."""
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
    """Return the best candidates with their estimates after the second count. pool: at least one candidate."""
    weights, variance = weighed(counts, pool, budget, recipe.first, recipe.first_bound, randomness)
    ranked, deviations = pool.shrunken(weights, variance, levels)
    places = ranked.best(recipe.second_pool, union=union)
    pool, deviations, noise = ranked.at(places), deviations[places], np.full(len(places), sqrt(variance))
    clear = np.zeros(len(pool), dtype=np.bool_)  # those clearly above the last of the `count` that are sought
    for rivals in pool.rivals(union=union):
        own = pool.estimates[rivals]
        if len(own) > count:
            order = np.argsort(-own, kind="stable")
            first, last = order[: count - 1], own[order[count - 1]]
            clear[rivals.start + first] = own[first] >= max(last + _CLEAR * sqrt(variance), float(recipe.ahead) * last)
    again = np.flatnonzero(~clear)
    contested = pool.at(again)
    histogram = unit_histogram(counts, contested, budget, recipe.histogram, randomness)
    sought = count if union else count * len(pool.sets)
    least = max(float(np.sort(pool.estimates)[::-1][min(sought, len(pool)) - 1]), 0.0)
    bound = best_bound(histogram, len(contested), budget, recipe.second, least)
    weights, variance = weighed(counts, contested, budget, recipe.second, bound, randomness)
    # What was counted before is one more hint; at least the noise of that count, for its logarithm is taken.
    before = np.maximum(contested.estimates, noise[again])
    counted, left_open = contested.shrunken(weights, variance, levels, before)
    # One scale for all: the second count took less from the weights of a unit.
    scale = max(float(np.maximum(counted.estimates, 0).sum()) / float(before.sum()), 1.0)
    estimates, deviations, noise = pool.estimates * scale, deviations * scale, noise * scale
    estimates[again], deviations[again], noise[again] = counted.estimates, left_open, sqrt(variance)
    return Counted(CandidatePool(pool.sets, estimates), noise, deviations, clear)


# Three things can put an itemset wrongly among those that are sought:
#
# - of two that were counted, the noise put the less frequent one first;
# - one that is more frequent was lost before its support was counted: its noisy weight, or that of one of its subsets,
#   was too small to go on;
# - one of its items was not found at all.
#
# So an itemset is beyond doubt where its estimate lies above what was left out of the second count by more than the
# noise of two counts explains, and above the support that a lost one can have: at any step the weight up to which some
# did not go on, and what the noise there can hide, times what a weight stands for in units. Weights are scaled, by the
# root of how many candidates a unit has; what they stand for is estimated.
# Measured (docs/privacy.md, "How certain a release is"): of those beyond doubt 99.5 % or more were among the most
# frequent in each of 72 requests, and of the doubtful 29 to 100 %.

# Normal noise is within so many σ with 95 % probability.
_WITHIN = 1.96


def doubtful(
    counted: Counted, chosen: NDArray[np.intp], levels: Levels, pool: CandidatePool, *, union: bool
) -> NDArray[np.bool_]:
    """Return for each of the itemsets chosen whether it may not be among the most frequent: (n,) bool.

    counted: all that were counted twice. chosen: the places of those that are released, ascending. levels: what was
    found of each size. pool: what was counted first. union: whether all sizes were ranked together, not each by itself.
    """
    # By size the support that an itemset of it can have, about, that did not go on from its level.
    went_on = {sets.shape[1]: len(sets) for sets in pool.sets}
    lost: dict[int, float] = {}
    for size, level in levels.items():
        if (weight := level.best(went_on.get(size, len(level.sets))).lost) > -math.inf:
            lost[size] = (weight + _WITHIN * level.deviation) * _units_of_weight(size, counted.pool, levels)
    estimates = counted.pool.estimates
    left_out = estimates.copy()
    left_out[chosen] = -math.inf
    in_doubt = np.zeros(len(estimates), dtype=np.bool_)
    for sets, own in counted.pool.parts:
        rivals = slice(None) if union else own
        its_noise = counted.noise[rivals][left_out[rivals].argmax()] if len(left_out[rivals]) else 0.0
        between = _WITHIN * np.hypot(counted.noise[own], its_noise)
        # A set was lost with any of its subsets, but no larger one makes it less frequent.
        hidden = max((most for size, most in lost.items() if union or size <= sets.shape[1]), default=-math.inf)
        in_doubt[own] = estimates[own] <= np.maximum(left_out[rivals].max(initial=-math.inf) + between, hidden)
    return in_doubt[chosen]


def _units_of_weight(size: int, pool: CandidatePool, levels: Levels) -> float:
    """Return about how many units a weight of 1 stands for, at the level of a size: at least 1."""
    for sets, part in pool.parts:
        if sets.shape[1] == size and len(sets):
            weights = sum(math.exp(levels[size].logs[tuple(row)]) for row in sets.tolist())
            return max(float(pool.estimates[part].sum()) / weights, 1.0)
    # Not counted: a unit of n items holds C(n, size) sets, n being the squared root that scales its items. With f of
    # these items found, their weights add up to f/√n, and those of their pairs to about f/√2.
    found = max(float(levels[1].weights.sum()), levels[1].deviation)
    items = max(math.sqrt(2) * levels[2].weighed / found, 1.0) ** 2
    return math.sqrt(choose(max(items, size), size))


def choose(n: float, size: int) -> float:
    """Return C(n, size) for a real n >= size."""
    return math.prod((n - i) / (i + 1) for i in range(size))
