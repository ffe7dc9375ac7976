"""What every selection mechanism takes and gives: the contract its tests are written against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.parameters import PrivacyCost
from fim_private.dp.randomness import Randomness
from fim_private.errors import ParameterError, parameter
from fim_private.spectrum import SupportSpectrum

# Doubles end at 1.8e308: no distribution is computed over more candidates.
MOST_CANDIDATES = 10**300


@dataclass(frozen=True)
class Selection:
    """The outcome of a mechanism: the support level it chose, or None for abstaining.

    It carries nothing else that depends on the data. The level itself must not be published: it only says
    which itemsets one is to be drawn from.
    """

    level: int | None

    @property
    def abstained(self) -> bool:
        """Whether the mechanism gave no itemset, which is a valid private answer."""
        return self.level is None


ABSTAIN = Selection(None)


@dataclass(frozen=True)
class OutcomeDistribution:
    """The exact output distribution of a mechanism on one spectrum.

    levels: (m,) int64 supports, strictly descending; 0 is included where the universe is known.
    probabilities: (m,) float64, of releasing an itemset of that support, summed over its ties.
    abstain: the probability of abstaining. All of them sum to 1.
    """

    levels: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    abstain: float


def check_countable(spectrum: SupportSpectrum, mechanism: str) -> None:
    """Raise ParameterError for more candidates than a distribution can be computed over."""
    if (spectrum.universe_size or 0) > MOST_CANDIDATES:
        raise ParameterError(
            f"{parameter('universe_size')} must be at most 1e300 for the exact distribution of {mechanism} "
            "(it can draw from more)"
        )


class Mechanism(Protocol):
    """A frozen dataclass of parameters; numbers in, a level out. It never sees an itemset."""

    @property
    def cost(self) -> PrivacyCost:
        """The (epsilon, delta) that one select spends, known without data."""
        ...

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Choose a level, or abstain."""
        ...

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the exact distribution that select draws from."""
        ...
