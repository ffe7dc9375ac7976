"""The exponential mechanism (McSherry and Talwar 2007) on support levels: the baseline.

P(i) ∝ exp(εc(i)) under add/remove, where supports are monotone, and exp(εc(i)/2) under replace-one.
``Exponential`` runs over a public universe whose items can all be named: ε-DP (docs/privacy.md,
Theorem 4). ``NamedExponential`` serves when only the universe's size is public: (ε, δ)-DP (Theorem 5).
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
    """The exponential mechanism over every candidate of a public universe, of any size (10**60 too).

    epsilon: > 0. neighbors: "replace-one" or "add-remove".
    Raises ParameterError for a parameter outside its range, and when the spectrum's universe is not public.
    """

    bounded_range: ClassVar[str] = "Theorem 8"

    epsilon: float | Fraction
    neighbors: str = Neighbors.REPLACE_ONE

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        exact_neighbors(self.neighbors)

    @classmethod
    def from_public(cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters) -> Self:
        """Return the mechanism for one selection; it spends no delta."""
        return cls(epsilon, public.neighbors)

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return every level of the universe, 0 included."""
        return named(universe_levels(spectrum, "exponential"))


@dataclass(frozen=True)
class NamedExponential(ExponentialWeights):
    """The exponential mechanism when the universe's size M is public but not its items.

    An itemset that no unit has cannot be named, so its name alone would tell neighbours apart. All that
    stays unnamed is one outcome, level 0, with the weight of some M/δ itemsets: heavy enough
    that an itemset known from a single unit is named with probability at most δ (Theorem 5).
    No unit may support more than universe_size itemsets; the caller cuts units to make that so.

    epsilon: > 0. delta: in (0, 1). universe_size: number of candidate itemsets, >= 1.
    Raises ParameterError for a parameter outside its range.
    """

    bounded_range: ClassVar[str] = "Theorem 8"

    epsilon: float | Fraction
    delta: float | Fraction
    universe_size: int
    neighbors: str = Neighbors.REPLACE_ONE

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        exact_delta(self.delta)
        exact_neighbors(self.neighbors)
        positive_integer("universe_size", self.universe_size)

    @classmethod
    def from_public(cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters) -> Self:
        """Return the mechanism for one selection over a universe of public size."""
        return cls(epsilon, delta, public.candidates or 0, public.neighbors)

    @property
    def cost(self) -> PrivacyCost:
        """(epsilon, delta)."""
        return PrivacyCost(self.epsilon, self.delta)

    @property
    def unnamed_weight(self) -> tuple[int, int]:
        """The weight of the unnamed outcome, as (support, multiplicity) of the itemsets it stands for."""
        unnamed = AbstentionWeight(self.epsilon, self.delta, self.neighbors).candidate(self.universe_size, 0)
        return unnamed.support, unnamed.multiplicity

    def select_many(self, spectrum: SupportSpectrum, count: int, randomness: Randomness) -> list[Selection]:
        """Choose up to count different itemsets; ends when the unnamed outcome is chosen (Theorem 8)."""
        return choose_many(self.candidates(spectrum), self.rate, count, randomness, last=0)

    def candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        """Return all that occur, and level 0 for the unnamed outcome."""
        return [*named(spectrum.all_levels()), Candidate(0, *self.unnamed_weight)]
