"""The noise of a step that has a part of the budget, and noisy weights."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.parameters import Neighbors
from fim_private.dp.randomness import Integers, Randomness
from fim_private.dp.rounded_normal import rounded_normal

# Weights are whole multiples of 1/GRID of a unit.
GRID = 1 << 16


@dataclass(frozen=True)
class GaussianBudget:
    """A budget of Gaussian differential privacy, of which each step has a part fixed beforehand (Theorem 13).

    mu_squared: μ² > 0, of the whole release. neighbors: the neighbour relation.
    part: of μ², > 0, <= 1, for these steps together.
    """

    mu_squared: Fraction
    neighbors: str
    part: Fraction = Fraction(1)

    def spent(self, share: Fraction) -> Fraction:
        """Return what a step with this share of the part adds to μ²."""
        return share * self.part * self.mu_squared

    def variance(self, share: Fraction, bound: int, candidates: int | None = None) -> Fraction:
        """Return σ², in units squared, of the noise on each weight of a step: Δ² divided by what it adds to μ².

        share: the step's, > 0, <= 1. bound: of the squared L2 norm of a unit's weights.
        candidates: how many there are, >= 1, where that is public: no weight exceeds 1, so neither does their number.
        """
        squared = bound if self.neighbors == Neighbors.ADD_REMOVE else 2 * bound
        return (squared if candidates is None else min(squared, candidates)) / self.spent(share)


def noisy_sums(sums: NDArray[np.int64], variance: Fraction, randomness: Randomness) -> Integers:
    """Return each sum with noise of its own, in multiples of 1/GRID of a unit: (n,) whole numbers.

    sums: (n,) int64, in multiples of 1/GRID. variance: of the noise, > 0, in units squared. The noise is normal and
    rounded to the grid, so this is the sum with normal noise, rounded.
    """
    return np.asarray(sums + rounded_normal(variance * GRID**2, len(sums), randomness=randomness))


def noisy_weights(sums: NDArray[np.int64], variance: Fraction, randomness: Randomness) -> NDArray[np.float64]:
    """Return the noisy sums in units, as floats, for whatever needs no exact comparison: (n,). See `noisy_sums`."""
    return np.asarray(noisy_sums(sums, variance, randomness) / GRID, dtype=np.float64)
