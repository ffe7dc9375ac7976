"""Noisy max with Laplace noise (Bhaskar, Laxman, Smith and Thakurta, "Discovering frequent patterns in sensitive data",
2010): the candidate of highest noisy support.

ε-DP over a public universe (docs/privacy.md, Theorem 10). The noise is integer; equal noisy supports are put in a
uniformly random order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.intervals import Bounds, laplace_tail_bounds
from fim_private.dp.parameters import Neighbors, exact_epsilon, exact_neighbors
from fim_private.dp.randomness import Randomness
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.base import OutcomeDistribution, PurelyPrivate, Selection, check_countable
from fim_private.mechanisms.exponential_weights import exponential_rate
from fim_private.mechanisms.noisy_max import distances_below_first, noisy_argmax
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.spectrum import SupportSpectrum

# Gauss-Legendre nodes for each value of the highest noisy support; the integrand is a polynomial there.
_NODES = 16
# Array elements worked on at a time, and the most values of the highest noisy support that are summed over.
_CHUNK = 1 << 20
_LARGEST_VALUES = 1 << 20


@dataclass(frozen=True)
class MaxOfLaplaces(PurelyPrivate):
    """Noisy max with discrete Laplace noise, over every candidate of a public universe, of any size.

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
    def scale(self) -> Fraction:
        """The scale of the noise, in units: 1/ε under add-remove, else 2/ε (Theorem 10)."""
        return 1 / exponential_rate(self.epsilon, self.neighbors)

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Choose a level, 0 included, exactly. Raises ParameterError where the universe is not public."""
        levels, distances, multiplicities = distances_below_first(spectrum, "max-of-laplaces")
        return Selection(
            levels[noisy_argmax(_NoisySupports(self.scale), distances, multiplicities, randomness=randomness)]
        )

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the probability of every level, by quadrature good to 1e-12; that of abstaining is 0.

        Raises ParameterError where the universe is not public or has more than 1e300 candidates, and for an epsilon so
        small that the values of the noise do not fit in memory.
        """
        check_countable(spectrum, "max-of-laplaces")
        levels, distances, multiplicities = distances_below_first(spectrum, "max-of-laplaces")
        logarithms = np.array([math.log(m) for m in multiplicities])
        shares = _highest(np.array(distances, dtype=np.float64), logarithms, float(self.scale))
        return OutcomeDistribution(np.array(levels, dtype=np.int64), shares / shares.sum(), 0.0)


@dataclass(frozen=True)
class _NoisySupports:
    """Keys Z - distance + U: integer noise, and a uniform U in [0, 1) that orders equal noisy supports.

    scale: of Z, in units. P(Z + U > k + x) = (1 - x) P(Z >= k) + x P(Z >= k + 1).
    """

    scale: Fraction

    def quantile(self, distance: int, above: Bounds, bits: int) -> Bounds:
        """As Keys.quantile; minus or plus 2**(3 bits) where nothing better is known."""
        one = 1 << bits
        unbounded = 1 << 4 * bits
        lower = self._at_least(above[1], bits) if above[1] < one else -unbounded
        upper = self._at_most(above[0], bits) if above[0] else unbounded
        return lower - (distance << bits), upper - (distance << bits)

    def _at_least(self, probability: int, bits: int) -> int:
        """Return a k + x, times 2**bits, with P(Z + U > k + x) certainly at least the probability, hardly more."""
        k = self._guess(probability, bits)
        while self._tail(k, bits)[0] < probability:
            k -= 1
        while self._tail(k + 1, bits)[0] >= probability:
            k += 1
        here, following = self._tail(k, bits), self._tail(k + 1, bits)
        return (k << bits) + min((here[0] - probability << bits) // (here[1] - following[0] + 1), 1 << bits)

    def _at_most(self, probability: int, bits: int) -> int:
        """Return a k + x, times 2**bits, with P(Z + U > k + x) certainly at most the probability, hardly less."""
        k = self._guess(probability, bits)
        while self._tail(k + 1, bits)[1] > probability:
            k += 1
        while self._tail(k, bits)[1] <= probability:
            k -= 1
        here, following = self._tail(k, bits), self._tail(k + 1, bits)
        gap = max(here[0] - following[1], 1)
        return (k << bits) + min((here[1] - probability << bits) // gap + 1, 1 << bits)

    def _guess(self, probability: int, bits: int) -> int:
        """Return a k with P(Z >= k) next to the probability: it is e^{-k/b} / (1 + e^{-1/b}) for k > 0, and symmetric.

        The guess has to be close: the callers walk from it in steps of 1, and b is in the thousands for many itemsets.
        """
        mirrored = min(probability, (1 << bits) - probability)
        scale = float(self.scale)
        normaliser = math.log1p(math.exp(-1 / scale))
        distance = math.floor(scale * (bits * math.log(2) - math.log(max(mirrored, 1)) - normaliser))
        return distance if mirrored == probability else 1 - distance

    def _tail(self, k: int, bits: int) -> Bounds:
        return laplace_tail_bounds(self.scale, k, bits)

    def log_exceeds(self, distances: NDArray[np.float64], key: float) -> NDArray[np.float64]:
        """As Keys.log_exceeds."""
        # One below the floor, so that rounding never makes it too low.
        return -_minus_log_tail(np.floor(key + distances) - 1, float(self.scale))


def _minus_log_tail(k: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return -ln P(Z >= k), which is k/b + ln(1 + e^{-1/b}) for k >= 1."""
    normaliser = math.log1p(math.exp(-1 / scale))
    below = -np.log1p(-np.exp(-np.maximum(1 - k, 1) / scale - normaliser))
    return np.where(k >= 1, k / scale + normaliser, below)


def _highest(distances: NDArray[np.float64], logarithms: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return the probability that the highest key is of each level: (m,) float64.

    It is the integral over keys y of m g(y + d) / G(y + d) Π_j G(y + d_j)^{m_j}, where G and g are the distribution
    function and the density of Z + U. distances: (m,) float64 d, the first 0. logarithms: (m,) float64 ln m.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    x, weights = (nodes + 1) / 2, weights / 2
    # Outside, some itemset is certainly above, or certainly none is.
    first = math.floor(-42 * scale)
    last = math.ceil((42 + np.logaddexp.reduce(logarithms - distances / scale)) * scale) + 1
    if last - first > _LARGEST_VALUES:
        raise ParameterError(
            f"{parameter('epsilon')} is too small for the exact distribution to be held in memory; select still works"
        )
    shares = np.zeros(len(distances))
    step = max(_CHUNK // (len(distances) * _NODES), 1)
    for start in range(first, last, step):
        values = np.arange(start, min(start + step, last), dtype=np.float64)[:, None] + distances
        tails = np.exp(-_minus_log_tail(values, scale))
        nexts = np.exp(-_minus_log_tail(values + 1, scale))
        density = tails - nexts  # of the key, constant inside a value
        # (values, nodes, levels): P(key > value + x), and its share of each level.
        above = tails[:, None, :] + x[:, None] * (nexts - tails)[:, None, :]
        with np.errstate(divide="ignore"):
            log_below = np.maximum(np.log1p(-above), -700)  # below that all is 0, and must not become 0/0
        multiplicities = np.exp(logarithms)
        below_all = np.exp((multiplicities * log_below).sum(axis=2))
        shares += np.einsum("vn,vnl,vl->l", below_all * weights, np.exp(-log_below), density) * multiplicities
    return shares
