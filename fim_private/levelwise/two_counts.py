"""The candidates counted twice, the second time fewer of them, with the weights that suit them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from fim_private.counting.candidate_counts import CandidateSource
from fim_private.dp.randomness import Randomness
from fim_private.levelwise.candidate_pool import CandidatePool
from fim_private.levelwise.discovery import Level
from fim_private.levelwise.gaussian_budget import GaussianBudget
from fim_private.levelwise.recipe import Recipe
from fim_private.levelwise.scaled_count import best_bound, held_by_units, weighed


@dataclass(frozen=True)
class Counted:
    """A pool after a count. deviation: σ of the noise in it, in units, > 0."""

    pool: CandidatePool
    deviation: float


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
    first = weighed(counts, pool, budget, recipe.first, recipe.first_bound, randomness)
    ranked = pool.shrunken(*first, levels)
    pool = ranked.at(ranked.best(recipe.second_pool, union=union))
    held = held_by_units(counts, pool, budget, recipe.histogram, randomness)
    sought = count if union else count * len(pool.sets)
    estimates = np.sort(pool.estimates)[::-1]
    least = max(float(estimates[min(sought, len(pool)) - 1]), 0.0)
    bound = best_bound(held, len(pool), budget, recipe.second, least)
    weights, variance = weighed(counts, pool, budget, recipe.second, bound, randomness)
    # What was counted before is one more hint; at least the noise of that count, for its logarithm is taken.
    before = np.maximum(pool.estimates, sqrt(first[1]))
    return Counted(pool.shrunken(weights, variance, levels, before), sqrt(variance))
