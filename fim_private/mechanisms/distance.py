"""The distance mechanism (Smith and Thakurta, "Differentially private feature selection via stability arguments",
2013, A_dist): the itemset of highest support if its margin is large enough, or abstaining.

(ε, δ)-DP (docs/privacy.md, Theorem 7). Of the mechanisms that know nothing of the universe it asks for the smallest
margin, but only one itemset can lead: with two at the top it abstains, however far above all others they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

import numpy as np

from fim_private.dp.bisection import least_integer
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.intervals import laplace_tail_bounds
from fim_private.dp.parameters import Neighbors, exact_delta, exact_epsilon, exact_neighbors
from fim_private.dp.randomness import Randomness, discrete_laplace_integer
from fim_private.mechanisms.base import ABSTAIN, OutcomeDistribution, Selection
from fim_private.mechanisms.laplace_sum import LaplaceSum
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.spectrum import SupportSpectrum

# Bits with which the tail is held against δ: δ may be 10^-300. A tail too close to δ to tell counts as above it.
_BITS = 1152


@dataclass(frozen=True)
class Distance:
    """The leader, if its margin over the second plus noise clears a threshold.

    epsilon: > 0. delta: in (0, 1). neighbors: "replace-one" or "add-remove".
    Raises ParameterError for a parameter outside its range.
    """

    epsilon: float | Fraction = 1.0
    delta: float | Fraction = 1e-6
    neighbors: str = Neighbors.REPLACE_ONE

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        exact_delta(self.delta)
        exact_neighbors(self.neighbors)

    @classmethod
    def from_public(cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters) -> Self:
        """Return the mechanism for one selection."""
        return cls(epsilon, delta, public.neighbors)

    @property
    def cost(self) -> PrivacyCost:
        """(epsilon, delta)."""
        return PrivacyCost(self.epsilon, self.delta)

    @property
    def sensitivity(self) -> int:
        """How much one unit can change the margin c(1) - c(2): 1 where all supports move the same way, else 2."""
        return 1 if exact_neighbors(self.neighbors) is Neighbors.ADD_REMOVE else 2

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on the margin."""
        return self.sensitivity / exact_epsilon(self.epsilon)

    @property
    def threshold(self) -> int:
        """The least integer A >= 0 with P(Z > A) <= δ: what margin - sensitivity + Z must exceed."""
        return _threshold(self.scale, exact_delta(self.delta))

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Release the highest level or abstain; reads two levels at most."""
        level, margin = leader(spectrum)
        noise = discrete_laplace_integer(self.scale, randomness=randomness)
        if level is not None and (spectrum.universe_size == 1 or margin - self.sensitivity + noise > self.threshold):
            return Selection(level)
        return ABSTAIN

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the exact probability of the highest level and of abstaining."""
        level, margin = leader(spectrum)
        if level is None:
            return OutcomeDistribution(np.empty(0, dtype=np.int64), np.empty(0), 1.0)
        if spectrum.universe_size == 1:  # nothing to choose from, nothing to tell
            return OutcomeDistribution(np.array([level]), np.ones(1), 0.0)
        noise = LaplaceSum.of([self.scale])
        clears = self.threshold + self.sensitivity - margin + 1
        return OutcomeDistribution(np.array([level]), np.array([noise.tail(clears)]), noise.tail(1 - clears))


@lru_cache(maxsize=64)
def _threshold(scale: Fraction, delta: Fraction) -> int:
    def is_enough(noise: int) -> bool:
        return Fraction(laplace_tail_bounds(scale, noise + 1, _BITS)[1], 1 << _BITS) <= delta

    return least_integer(is_enough, 0)


def leader(spectrum: SupportSpectrum) -> tuple[int | None, int]:
    """Return the highest level, None if nothing has a name, and its margin over the second itemset."""
    levels = spectrum.levels()
    first, multiplicity = next(levels, (0, 0))
    if not first:
        return (None if spectrum.universe_size is None else 0), 0
    if multiplicity > 1:
        return first, 0
    return first, first - next(levels, (0, 0))[0]
