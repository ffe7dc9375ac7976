"""Counting candidates with weights that bound what a unit adds, and what that scaling takes from the counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.candidate_counts import CandidateSource
from fim_private.counting.clipped_weights import clipped_weights
from fim_private.dp.randomness import Randomness
from fim_private.levelwise.candidate_pool import CandidatePool
from fim_private.levelwise.gaussian_budget import GRID, GaussianBudget, noisy_weights

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
) -> tuple[NDArray[np.float64], float]:
    """Return the noisy weight of each candidate, (K,), and the variance of the noise."""
    variance = budget.variance(share, bound, len(pool))
    sums = counts.sums(pool.sets, clipped_weights(bound, len(pool), GRID))
    return noisy_weights(sums, variance, randomness), float(variance)


@dataclass(frozen=True)
class Held:
    """About how many units hold how many candidates. held: (bins,) candidates. units: (bins,) noisy, >= 0."""

    held: NDArray[np.float64]
    units: NDArray[np.float64]

    def kept_weight(self, bound: int) -> float:
        """Return which share of all weight is left when units are scaled to this squared norm: above 0, at most 1."""
        total = float((self.units * self.held).sum())
        left = float((self.units * self.held * np.minimum(1, np.sqrt(bound / self.held))).sum())
        return left / total if total > 0 else 1.0


def held_by_units(
    counts: CandidateSource, pool: CandidatePool, budget: GaussianBudget, share: Fraction, randomness: Randomness
) -> Held:
    """Measure how many candidates units hold, in public bins that grow: a unit is in one of them."""
    edges = [1]
    while edges[-1] < len(pool):
        edges.append(max(edges[-1] + 1, int(edges[-1] * _BIN_GROWTH)))
    units = np.add.reduceat(counts.held(pool.sets)[1:], np.array(edges[: np.searchsorted(edges, len(pool) + 1)]) - 1)
    edges = edges[: len(units)]
    variance = budget.variance(share, 1)
    noisy = noisy_weights(units * GRID, variance, randomness)
    noisy[noisy < EMPTY * sqrt(variance)] = 0
    last = np.append(np.array(edges[1:]) - 1, len(pool))
    return Held((np.array(edges) + last) / 2, noisy)


def best_bound(held: Held, candidates: int, budget: GaussianBudget, share: Fraction, least: float) -> int:
    """Return the squared norm for which noise and what scaling takes from the least one sought are least together.

    candidates: how many there are, >= 1. least: the support of the least itemset that is sought, in units, >= 0.
    """

    def error(bound: int) -> float:
        kept = held.kept_weight(bound)
        noise = float(budget.variance(share, bound, candidates)) / kept**2
        return noise + (_UNEVEN * (1 - kept) * least) ** 2

    return min((min(bound, candidates) for bound in BOUNDS), key=error)
