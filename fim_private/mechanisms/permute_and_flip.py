"""Permute-and-flip: candidates come in random order, and the first that is accepted is released.

Each is accepted with probability exp(-rate (c(1) - c(i))) (McKenna and Sheldon, "Permute-and-flip: a new mechanism for
differentially private selection", 2020). ε-DP over a public universe (docs/privacy.md, Theorem 9), and never worse than
the exponential mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.intervals import Bounds, exp_bounds
from fim_private.dp.parameters import Neighbors, exact_epsilon, exact_neighbors
from fim_private.dp.randomness import Randomness
from fim_private.mechanisms.base import OutcomeDistribution, PurelyPrivate, Selection, check_countable
from fim_private.mechanisms.exponential_weights import exponential_rate
from fim_private.mechanisms.noisy_max import distances_below_first, noisy_argmax
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.spectrum import SupportSpectrum

# Gauss-Legendre nodes on each of so many intervals, each about as long as the first accepted takes on average.
_NODES, _INTERVALS = 24, 48
# Array elements worked on at a time.
_CHUNK = 1 << 20


@dataclass(frozen=True)
class PermuteAndFlip(PurelyPrivate):
    """Permute-and-flip over every candidate of a public universe, of any size.

    epsilon: 1e-9 to 1e9. neighbors: "replace-one" or "add-remove".
    Raises ParameterError for a parameter outside its range, and when the spectrum's universe is not public.
    """

    epsilon: float | Fraction
    neighbors: str = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        exact_neighbors(self.neighbors)

    @classmethod
    def from_public(cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters) -> Self:
        """Return the mechanism for one selection; it spends no delta."""
        return cls(epsilon, public.neighbors)

    @property
    def rate(self) -> Fraction:
        """The exponent per unit of support: ε under add-remove, else ε/2 (Theorem 9)."""
        return exponential_rate(self.epsilon, self.neighbors)

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Choose a level, 0 included, exactly. Raises ParameterError where the universe is not public.

        The random order is a uniform arrival time in [0, 1] for each candidate: of m candidates that are each accepted
        with probability p, none that is accepted arrives before t with probability (1 - pt)^m.
        """
        levels, distances, multiplicities = distances_below_first(spectrum, "permute-and-flip")
        keys = _Arrivals(self.rate)
        return Selection(levels[noisy_argmax(keys, distances, multiplicities, randomness=randomness)])

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the probability of every level, by quadrature good to 1e-13; that of abstaining is 0.

        Raises ParameterError where the universe is not public, or has more than 1e300 candidates.
        """
        check_countable(spectrum, "permute-and-flip")
        levels, distances, multiplicities = distances_below_first(spectrum, "permute-and-flip")
        accepted = np.exp(-float(self.rate) * np.array(distances, dtype=np.float64))
        counts = np.array([float(m) for m in multiplicities])
        shares = _first_accepted(accepted, counts)
        return OutcomeDistribution(np.array(levels, dtype=np.int64), shares / shares.sum(), 0.0)


@dataclass(frozen=True)
class _Arrivals:
    """Keys: minus the arrival times. One itemset is accepted and arrives before t with probability pt, p = e^{-rate d}.

    rate: > 0, per unit of support.
    """

    rate: Fraction

    def quantile(self, distance: int, above: Bounds, bits: int) -> Bounds:
        """As Keys.quantile: minus the time at which pt is the probability."""
        lower, upper = exp_bounds(self.rate.numerator * distance, self.rate.denominator, bits)
        # The time is above / p, or later than any where p may be 0.
        latest = (above[1] << bits) // lower + 1 if lower else 1 << 2 * bits
        return -latest, -((above[0] << bits) // upper)

    def log_exceeds(self, distances: NDArray[np.float64], key: float) -> NDArray[np.float64]:
        """As Keys.log_exceeds."""
        return math.log(-key) - float(self.rate) * distances


def _first_accepted(accepted: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability that the first accepted candidate is of each level: (m,) float64.

    It is the integral over t in [0, 1] of m p/(1 - pt) S(t), with S(t) = Π (1 - p_j t)^{m_j} <= exp(-t Σ m_j p_j).
    accepted: (m,) float64 p, the first 1. counts: (m,) float64 m.
    """
    pace = float((counts * accepted).sum())
    end = min(1.0, _INTERVALS / pace)  # S(end) <= e^-48 beyond
    intervals = max(math.ceil(end * pace), 4)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    width = end / intervals
    times = (width * (np.arange(intervals)[:, None] + (nodes + 1) / 2)).ravel()
    weights = np.tile(weights, intervals) * width / 2
    shares = np.zeros(len(accepted))
    step = max(_CHUNK // len(accepted), 1)
    for start in range(0, len(times), step):
        t = times[start : start + step, None]
        survival = np.exp((counts * np.log1p(-accepted * t)).sum(axis=1))
        shares += ((weights[start : start + step] * survival)[:, None] * (counts * accepted / (1 - accepted * t))).sum(
            0
        )
    return shares
