"""The exponential mechanism (McSherry and Talwar, "Mechanism design via differential privacy", 2007) on support levels.

P(i) ∝ exp(εc(i)) under add-remove, where supports are monotone, and exp(εc(i)/2) under replace-one.
``Exponential`` is for a public universe whose items are listed: ε-DP (docs/privacy.md, Theorem 4).
``NamedExponential`` is for a universe of which only the size is public: (ε, δ)-DP (Theorem 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from fim_private.dp.cost import PrivacyCost
from fim_private.dp.parameters import Neighbors, exact_delta, exact_epsilon, exact_neighbors, positive_integer
from fim_private.dp.randomness import Randomness
from fim_private.mechanisms.abstention import AbstentionWeight
from fim_private.mechanisms.base import PurelyPrivate, Selection, universe_levels
from fim_private.mechanisms.exponential_weights import Candidate, ExponentialWeights, choose_many, named
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.spectrum import SupportSpectrum


@dataclass(frozen=True)
class Exponential(PurelyPrivate, ExponentialWeights):
    """The exponential mechanism over every candidate of a public universe, of any size, 10**60 too (Theorem 4).

    epsilon: 1e-9 to 1e9. neighbors: "replace-one" or "add-remove".
    Raises ParameterError for a parameter outside its range, and when the spectrum's universe is not public.
    """

    bounded_range: ClassVar[str] = "Theorem 8"

    epsilon: float | Fraction
    neighbors: str = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        exact_neighbors(self.neighbors)

    @classmethod
    def from_public(cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters) -> Self:
        """Return the mechanism for one selection; it spends no delta."""
        return cls(epsilon, public.neighbors)

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return every level of the universe, 0 included. Raises ParameterError where the universe is not public."""
        return named(universe_levels(spectrum, "exponential"))


@dataclass(frozen=True)
class NamedExponential(ExponentialWeights):
    """The exponential mechanism where the number M of candidates is public, but not their names (Theorem 5).

    An itemset that no unit has cannot be named, so that it is named at all could tell neighbours apart. All that have
    no name are one outcome, level 0, which weighs as much as M/δ itemsets or more: so much that an itemset which only
    one unit has is named with probability δ at most.

    epsilon: 1e-9 to 1e9. delta: 1e-300 up to below 1. universe_size: M >= 1; no unit may support more itemsets than
    that, and the caller must cut units to make it so. neighbors: "replace-one" or "add-remove".
    Raises ParameterError for a parameter outside its range.
    """

    bounded_range: ClassVar[str] = "Theorem 8"

    epsilon: float | Fraction
    delta: float | Fraction
    universe_size: int
    neighbors: str = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        exact_delta(self.delta)
        exact_neighbors(self.neighbors)
        object.__setattr__(self, "universe_size", positive_integer("universe_size", self.universe_size))

    @classmethod
    def from_public(cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters) -> Self:
        """Return the mechanism for one selection. Raises ParameterError where the universe has no public size."""
        return cls(epsilon, delta, public.candidates or 0, public.neighbors)

    @property
    def cost(self) -> PrivacyCost:
        """(epsilon, delta)."""
        return PrivacyCost(self.epsilon, self.delta)

    @property
    def unnamed_weight(self) -> tuple[int, int]:
        """The weight of the unnamed outcome, as (support, multiplicity) of the itemsets that weigh as much."""
        unnamed = AbstentionWeight(self.epsilon, self.delta, self.neighbors).candidate(self.universe_size, 0)
        return unnamed.support, unnamed.multiplicity

    def select_many(self, spectrum: SupportSpectrum, count: int, randomness: Randomness) -> list[Selection]:
        """Choose up to `count` different itemsets, one after the other, until the unnamed outcome is.

        That outcome, level 0, then comes last in the list (Theorem 8).
        """
        return choose_many(self.candidates(spectrum), self.rate, count, randomness, last=0)

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return every itemset that occurs, and level 0 for the unnamed outcome."""
        return [*named(spectrum.all_levels()), Candidate(0, *self.unnamed_weight)]
