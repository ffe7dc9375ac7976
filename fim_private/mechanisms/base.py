"""What every mechanism takes and gives; its public parameters; its entry in the registry."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.cost import PrivacyCost
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError, parameter
from fim_private.spectrum import Level, SupportSpectrum, candidate_itemsets

if TYPE_CHECKING:
    from fractions import Fraction


# -------------------- public parameters
# The public parameters of one selection: all that a mechanism may be built from, besides its part of the budget.


@dataclass(frozen=True)
class PublicParameters:
    """What is public about one selection.

    sizes: of the itemsets it is among. top: how many itemsets it may select, >= 1. neighbors: the relation's name.
    candidates: how many itemsets of those sizes a public universe has; None where the universe is unknown.
    named: whether the items of that universe are listed, so that every candidate has a name.
    max_rank: the public rank cap asked for, >= 1; None for the mechanism's own.
    max_basket, max_baskets: how many items of a basket, and baskets of a unit, count at most, >= 1; None for no cap.
    """

    sizes: tuple[int, ...]
    top: int
    neighbors: str
    candidates: int | None = None
    named: bool = False
    max_rank: int | None = None
    max_basket: int | None = None
    max_baskets: int | None = None

    @property
    def max_itemsets(self) -> int | None:
        """Δ = max_baskets Σ C(max_basket, size), the most itemsets one unit can support; None without max_basket.

        Raises ParameterError for more than can be reckoned with.
        """
        if self.max_basket is None:
            return None
        able = [size for size in self.sizes if size <= self.max_basket]
        return (self.max_baskets or 1) * sum(candidate_itemsets(self.max_basket, size, "max_basket") for size in able)

    def rank(self, default: int) -> int:
        """Return max_rank as it was asked for, or the default."""
        return default if self.max_rank is None else self.max_rank


# -------------------- base
# What every selection mechanism takes and gives: the contract that its callers and its tests are written against.

# No distribution is computed over more candidates: doubles end at 1.8e308.
MOST_CANDIDATES = 10**300


@dataclass(frozen=True)
class Selection:
    """The outcome of one selection: the support level that was chosen, or None for abstaining.

    level: in units. It carries nothing else that depends on the data, and must not be published itself: it only says
    from which itemsets one is to be drawn.
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

    levels: (m,) int64 supports in units, strictly descending; 0 is among them where the universe is known.
    probabilities: (m,) float64; of releasing an itemset of that support, summed over those tied at it.
    abstain: the probability of abstaining. All of them sum to 1.
    """

    levels: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    abstain: float


@runtime_checkable
class Mechanism(Protocol):
    """A selection mechanism: a frozen dataclass of parameters. Numbers in, a level out; it never sees an itemset."""

    @property
    def epsilon(self) -> float | Fraction:
        """The privacy loss ε, as it was given: a float stands for what its digits say."""
        ...

    @property
    def delta(self) -> float | Fraction:
        """The probability δ allowed to the guarantee's exception, as it was given; 0 for a purely private mechanism."""
        ...

    @property
    def neighbors(self) -> str:
        """The neighbour relation that the guarantee is about: "replace-one" or "add-remove"."""
        ...

    @property
    def cost(self) -> PrivacyCost:
        """The (epsilon, delta) that one call of select spends, known without data."""
        ...

    def __hash__(self) -> int:
        """The hash of its parameters: mechanisms are keys of caches."""
        ...

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Choose a level, or abstain, exactly with the probabilities that distribution returns.

        Raises ParameterError where the mechanism cannot run on such a spectrum.
        """
        ...

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the distribution that select draws from, exact up to floating point.

        Raises ParameterError where the mechanism cannot run on such a spectrum, or the distribution is out of reach.
        """
        ...


class Buildable(Mechanism, Protocol):
    """A mechanism of the registry, which can be built from its part of a budget and from public parameters."""

    @classmethod
    def from_public(cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters) -> Self:
        """Return the mechanism for one selection with this budget, of which a purely private one ignores delta.

        Raises ParameterError for what is missing or out of range.
        """
        ...


@runtime_checkable
class BoundedContribution(Protocol):
    """A mechanism whose guarantee may rest on how many itemsets one unit supports."""

    @property
    def max_itemsets(self) -> int | None:
        """Δ >= 1, the most itemsets that one unit supports; None where the guarantee does not rest on it."""
        ...


@runtime_checkable
class RankCapped(Protocol):
    """A mechanism that looks no further down the ranking than a public rank."""

    @property
    def max_rank(self) -> int:
        """That rank, >= 1."""
        ...


class PurelyPrivate:
    """Gives the delta and the cost of an (epsilon, 0)-private mechanism."""

    epsilon: float | Fraction

    @property
    def delta(self) -> int:
        """0: the guarantee has no exception."""
        return 0

    @property
    def cost(self) -> PrivacyCost:
        """(epsilon, 0)."""
        return PrivacyCost(self.epsilon, 0)


def universe_levels(spectrum: SupportSpectrum, mechanism: str) -> list[Level]:
    """Return every (support, multiplicity) of a public universe, descending, 0 included.

    mechanism: its name, for the ParameterError that is raised where the universe is not public.
    """
    if spectrum.universe_size is None:
        raise ParameterError(
            f"the {mechanism} mechanism needs a public universe: give {parameter('universe_size')} or a catalogue "
            "(candidates taken from the data would reveal which items somebody bought)"
        )
    return [*spectrum.all_levels(), (0, spectrum.zero_multiplicity())]


def check_countable(spectrum: SupportSpectrum, mechanism: str) -> None:
    """Raise ParameterError where there are more candidates than a distribution can be computed over, 1e300.

    mechanism: its name, for the message.
    """
    if (spectrum.universe_size or 0) > MOST_CANDIDATES:
        raise ParameterError(
            f"{parameter('universe_size')} must be at most 1e300 for the exact distribution of {mechanism} "
            "(it can draw from more)"
        )
