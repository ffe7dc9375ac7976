"""What every selection mechanism takes and gives: the contract that its consumers and its tests are written against."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.cost import PrivacyCost
from fim_private.dp.randomness import Randomness
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.spectrum import Level, SupportSpectrum

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


class Mechanism(Protocol):
    """A frozen dataclass of parameters; numbers in, a level out. It never sees an itemset."""

    @property
    def epsilon(self) -> float | Fraction:
        """The privacy loss, as it was given: a float by its digits."""
        ...

    @property
    def delta(self) -> float | Fraction:
        """The probability allowed to the guarantee's exception, as it was given; 0 for a purely private mechanism."""
        ...

    @property
    def neighbors(self) -> str:
        """The neighbour relation that the guarantee is about."""
        ...

    @property
    def cost(self) -> PrivacyCost:
        """The (epsilon, delta) that one select spends, known without data."""
        ...

    def __hash__(self) -> int:
        """Mechanisms of equal parameters are one: what is computed of one serves for all."""
        ...

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Choose a level, or abstain."""
        ...

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the exact distribution that select draws from."""
        ...


class Buildable(Mechanism, Protocol):
    """A mechanism of the registry: it can be built of its part of a budget and of what is public."""

    @classmethod
    def from_public(cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters) -> Self:
        """Return the mechanism for one selection. Raises ParameterError for what is missing or out of range."""
        ...


@runtime_checkable
class BoundedContribution(Protocol):
    """A mechanism whose guarantee may rest on how many itemsets one unit supports; None where it does not."""

    @property
    def max_itemsets(self) -> int | None:
        """Δ, the most itemsets that one unit supports."""
        ...


@runtime_checkable
class RankCapped(Protocol):
    """A mechanism that looks no further down than a public rank."""

    @property
    def max_rank(self) -> int:
        """The cap, >= 1."""
        ...


class PurelyPrivate:
    """The delta and the cost of an (epsilon, 0)-private mechanism."""

    epsilon: float | Fraction

    @property
    def delta(self) -> int:
        """0: there is no exception."""
        return 0

    @property
    def cost(self) -> PrivacyCost:
        """(epsilon, 0)."""
        return PrivacyCost(self.epsilon, 0)


def universe_levels(spectrum: SupportSpectrum, mechanism: str) -> list[Level]:
    """Return every level of a public universe, 0 included; raise ParameterError when it is not public."""
    if spectrum.universe_size is None:
        raise ParameterError(
            f"the {mechanism} mechanism needs a public universe: give {parameter('universe_size')} or a catalogue "
            "(candidates taken from the data would reveal which items somebody bought)"
        )
    return [*spectrum.all_levels(), (0, spectrum.zero_multiplicity())]


def check_countable(spectrum: SupportSpectrum, mechanism: str) -> None:
    """Raise ParameterError for more candidates than a distribution can be computed over."""
    if (spectrum.universe_size or 0) > MOST_CANDIDATES:
        raise ParameterError(
            f"{parameter('universe_size')} must be at most 1e300 for the exact distribution of {mechanism} "
            "(it can draw from more)"
        )
