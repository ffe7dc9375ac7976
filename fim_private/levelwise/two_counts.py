"""The candidates counted twice, the second time fewer of them, with the weights that suit them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.candidate_counts import CandidateSource
from fim_private.dp.randomness import Randomness
from fim_private.levelwise.candidate_pool import CandidatePool
from fim_private.levelwise.discovery import Level
from fim_private.levelwise.gaussian_budget import GaussianBudget
from fim_private.levelwise.recipe import Recipe
from fim_private.levelwise.scaled_count import best_bound, held_by_units, weighed

# What lies so many σ of the first count above the last one sought is taken for found, if it is `ahead` times as
# frequent as well. Units hold fewer of the others then, which are counted with less noise.
_CLEAR = 1.0


@dataclass(frozen=True)
class Counted:
    """A pool after both counts: K candidates, all estimates in what the second count gave a unit.

    noise: (K,) σ of the noise in each. deviations: (K,) what each estimate leaves open, at most that: predictions
    took a part of the noise away. clear: (K,) those that were found by the first count.
    """

    pool: CandidatePool
    noise: NDArray[np.float64]
    deviations: NDArray[np.float64]
    clear: NDArray[np.bool_]

    def best(self, count: int, *, union: bool) -> NDArray[np.intp]:
        """Return the places of those found by the first count and, up to `count`, the highest estimates; ascending."""
        first = replace(self.pool, estimates=np.where(self.clear, np.inf, self.pool.estimates))
        return first.best(count, union=union)


def counted_twice(
    counts: CandidateSource,
    pool: CandidatePool,
    levels: Mapping[int, Level],
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
    clear = _clear(pool, count, sqrt(variance), float(recipe.ahead), union=union)
    again = np.flatnonzero(~clear)
    contested = pool.at(again)
    held = held_by_units(counts, contested, budget, recipe.histogram, randomness)
    sought = count if union else count * len(pool.sets)
    least = max(float(np.sort(pool.estimates)[::-1][min(sought, len(pool)) - 1]), 0.0)
    bound = best_bound(held, len(contested), budget, recipe.second, least)
    weights, variance = weighed(counts, contested, budget, recipe.second, bound, randomness)
    # What was counted before is one more hint; at least the noise of that count, for its logarithm is taken.
    before = np.maximum(contested.estimates, noise[again])
    counted, left_open = contested.shrunken(weights, variance, levels, before)
    # One scale for all: the second count took less from the weights of a unit.
    scale = max(float(np.maximum(counted.estimates, 0).sum()) / float(before.sum()), 1.0)
    estimates, deviations, noise = pool.estimates * scale, deviations * scale, noise * scale
    estimates[again], deviations[again], noise[again] = counted.estimates, left_open, sqrt(variance)
    return Counted(CandidatePool(pool.sets, estimates), noise, deviations, clear)


def _clear(pool: CandidatePool, count: int, deviation: float, ahead: float, *, union: bool) -> NDArray[np.bool_]:
    """Return which candidates lie clearly above the last of the `count` that are sought: count - 1 at most, (K,)."""
    clear = np.zeros(len(pool), dtype=np.bool_)
    for part in pool.rivals(union=union):
        own = pool.estimates[part]
        if len(own) > count:
            order = np.argsort(-own, kind="stable")
            first = order[: count - 1]
            last = own[order[count - 1]]
            clear[part.start + first] = own[first] >= max(last + _CLEAR * deviation, ahead * last)
    return clear
