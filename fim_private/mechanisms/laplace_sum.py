"""Sums of independent discrete Laplace variables of different scales, in closed form.

The generating function of a sum is a product of simple fractions. Split into a sum of them it gives the
probabilities P(k) = Σ_i A_i e^{-r_i |k|}, with r_i = 1 / scale_i and

    A_i = tanh(r_i / 2) Π_{j≠i} (1 - a_j)² / ((1 - a_j a_i)(1 - a_j / a_i)),   a_i = e^{-r_i}

(docs/privacy.md, equation (6)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class LaplaceSum:
    """The sum of m independent discrete Laplace variables.

    rates: (m,) float64, 1/scale for each, all different. weights: (m,) float64, A_i. Build it with `of`.
    """

    rates: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, scales: Sequence[Fraction]) -> LaplaceSum:
        """Return the sum of one variable for each scale > 0, in units; no two scales may be equal."""
        rates = np.array([float(1 / scale) for scale in scales])
        this, other = rates[:, None], rates[None, :]
        with np.errstate(over="ignore", divide="ignore"):  # an infinite divisor: the factor is 0
            factors = np.expm1(-other) ** 2 / (np.expm1(-this - other) * np.expm1(this - other))
        np.fill_diagonal(factors, 1)
        return cls(rates, np.tanh(rates / 2) * factors.prod(axis=1))

    def pmf(self, k: ArrayLike) -> NDArray[np.float64]:
        """Return P(sum = k) for each integer k: float64, in the shape of k."""
        distance = np.abs(np.asarray(k, dtype=np.float64))[..., None]
        return np.asarray((self.weights * np.exp(-self.rates * distance)).sum(axis=-1))

    def tail(self, k: int) -> float:
        """Return P(sum >= k), for any integer k."""
        if k < 1:
            return 1 - self.tail(1 - k)
        return float((self.weights * np.exp(-self.rates * k) / -np.expm1(-self.rates)).sum())
