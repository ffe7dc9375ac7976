"""The distance mechanism (Smith and Thakurta, "Differentially private feature selection via stability arguments, and
the robustness of the Lasso", 2013, A_dist): the itemset of highest support if its margin is large enough, or none.

(ε, δ)-DP (docs/privacy.md, Theorem 7). Of the mechanisms that need neither a universe nor a cap on baskets it asks for
the smallest margin, but one itemset must be alone in front: with two at the top it abstains.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from fim_private.dp.bounds import laplace_threshold
from fim_private.dp.noise import Randomness, discrete_laplace_integer
from fim_private.dp.parameters import Neighbors, exact_delta, exact_epsilon, exact_neighbors
from fim_private.mechanisms.base import ABSTAIN, Checked, OutcomeDistribution, PublicParameters, Selection
from fim_private.mechanisms.noisy_max import LaplaceSum
from fim_private.spectrum import SupportSpectrum


@dataclass(frozen=True)
class Distance(Checked):
    """The itemset of highest support, if its margin over the second plus noise exceeds a threshold.

    epsilon: 1e-9 to 1e9. delta: 1e-300 up to below 1. neighbors: "replace-one" or "add-remove".
    Raises ParameterError for a parameter outside its range.
    """

    epsilon: float | Fraction = 1.0
    delta: float | Fraction = 1e-6
    neighbors: str = Neighbors.ADD_REMOVE

    @classmethod
    def from_public(cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters) -> Self:
        """Return the mechanism for one selection."""
        return cls(epsilon, delta, public.neighbors)

    @property
    def sensitivity(self) -> int:
        """By how many units one unit can change the margin c(1) - c(2): 1 under add-remove, 2 under replace-one."""
        return 1 if exact_neighbors(self.neighbors) is Neighbors.ADD_REMOVE else 2

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on the margin, in units: sensitivity/ε."""
        return self.sensitivity / exact_epsilon(self.epsilon)

    @property
    def threshold(self) -> int:
        """The least integer A >= 0, in units, with P(Z > A) <= δ: margin - sensitivity + Z must exceed it."""
        return laplace_threshold(self.scale, exact_delta(self.delta))

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Release the highest level, or abstain; reads two levels at most."""
        level, margin = leader(spectrum)
        noise = discrete_laplace_integer(self.scale, randomness=randomness)
        if level is not None and (spectrum.universe_size == 1 or margin - self.sensitivity + noise > self.threshold):
            return Selection(level)
        return ABSTAIN

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the probability of the highest level and of abstaining, exact up to floating point."""
        level, margin = leader(spectrum)
        if level is None:
            return OutcomeDistribution(np.empty(0, dtype=np.int64), np.empty(0), 1.0)
        if spectrum.universe_size == 1:  # a single candidate is no secret
            return OutcomeDistribution(np.array([level]), np.ones(1), 0.0)
        noise = LaplaceSum.of([self.scale])
        clears = self.threshold + self.sensitivity - margin + 1
        return OutcomeDistribution(np.array([level]), np.array([noise.tail(clears)]), noise.tail(1 - clears))


def leader(spectrum: SupportSpectrum) -> tuple[int | None, int]:
    """Return the highest level, and its margin in units over the second itemset, 0 if several are tied.

    The level is None if nothing occurs in an unknown universe, and 0 if nothing occurs in a known one.
    """
    levels = spectrum.levels()
    first, multiplicity = next(levels, (0, 0))
    if not first:
        return (None if spectrum.universe_size is None else 0), 0
    return first, first - next(levels, (0, 0))[0] if multiplicity == 1 else 0
