"""The exponential mechanism (McSherry and Talwar 2007) on support levels: the baseline.

P(i) ∝ exp(εc(i)) under add/remove, where supports are monotone, and exp(εc(i)/2) under replace-one.
``Exponential`` runs over a public universe whose items can all be named: ε-DP (docs/privacy.md,
Theorem 4). ``NamedExponential`` serves when only the universe's size is public: (ε, δ)-DP (Theorem 5).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from fim_private.errors import ParameterError
from fim_private.intervals import exp_bounds
from fim_private.mechanisms.selection import OutcomeDistribution, Selection
from fim_private.privacy import (
    Neighbors,
    PrivacyCost,
    exact_delta,
    exact_epsilon,
    exact_neighbors,
    positive_integer,
)
from fim_private.randomness import Randomness, choose_level
from fim_private.spectrum import SupportSpectrum

# A level of outcomes: the level reported, the support that weighs it, and how many such outcomes there are.
Candidate = tuple[int, int, int]


@dataclass(frozen=True)
class Exponential:
    """The exponential mechanism over every candidate of a public universe, of any size (10**60 too).

    epsilon: > 0. neighbors: "replace-one" or "add-remove".
    Raises ParameterError for a parameter outside its range, and when the spectrum's universe is not public.
    """

    epsilon: float
    neighbors: str = Neighbors.REPLACE_ONE

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        exact_neighbors(self.neighbors)

    @property
    def cost(self) -> PrivacyCost:
        """(epsilon, 0)."""
        return PrivacyCost(float(self.epsilon), 0.0)

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Choose a level, 0 included, with probability ∝ multiplicity * exp(rate * support), exactly."""
        return _choose(self._candidates(spectrum), _rate(self.epsilon, self.neighbors), randomness)

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the exact probability of every level; abstain is 0."""
        return _softmax(self._candidates(spectrum), _rate(self.epsilon, self.neighbors))

    def _candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        if spectrum.universe_size is None:
            raise ParameterError(
                "the exponential mechanism needs a public universe: give universe_size or a catalogue "
                "(candidates taken from the data would reveal which items somebody bought)"
            )
        return [*_named(spectrum), (0, 0, spectrum.zero_multiplicity())]


@dataclass(frozen=True)
class NamedExponential:
    """The exponential mechanism when the universe's size M is public but not its items.

    An itemset that no unit has cannot be named, so its name alone would tell neighbours apart. All that
    stays unnamed is one outcome, level 0, with the weight of some M/δ itemsets: heavy enough
    that an itemset known from a single unit is named with probability at most δ (Theorem 5).
    No unit may support more than universe_size itemsets; the caller cuts units to make that so.

    epsilon: > 0. delta: in (0, 1). universe_size: number of candidate itemsets, >= 1.
    Raises ParameterError for a parameter outside its range.
    """

    epsilon: float
    delta: float
    universe_size: int
    neighbors: str = Neighbors.REPLACE_ONE

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        exact_delta(self.delta)
        exact_neighbors(self.neighbors)
        positive_integer("universe_size", self.universe_size)

    @property
    def cost(self) -> PrivacyCost:
        """(epsilon, delta)."""
        return PrivacyCost(float(self.epsilon), float(self.delta))

    @cached_property
    def unnamed_weight(self) -> tuple[int, int]:
        """The weight of the unnamed outcome, as (support, multiplicity) of the itemsets it stands for.

        Add/remove: M/δ' itemsets of support 1, with δ' <= min(δ, e^ε - 1). Replace-one is a removal and an
        addition: the same with x = ε/2 for ε and δ/(1 + e^x) for δ. There M (1 + e^x)/δ itemsets of support 1
        weigh as much as M (1 + e^{-x})/δ of support 2. All rounding makes the outcome heavier.
        """
        epsilon, delta = exact_epsilon(self.epsilon), exact_delta(self.delta)
        if exact_neighbors(self.neighbors) is Neighbors.ADD_REMOVE:
            return 1, math.ceil(self.universe_size / min(delta, epsilon))  # e^ε - 1 >= ε
        x = epsilon / 2
        decay = Fraction(exp_bounds(x.numerator, x.denominator, 256)[1], 1 << 256)  # >= e^{-x}
        return 2, math.ceil(self.universe_size * max((1 + decay) / delta, decay / x))

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Choose a level to name an itemset from, or level 0: unnamed."""
        return _choose(self._candidates(spectrum), _rate(self.epsilon, self.neighbors), randomness)

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the exact probability of every level, 0 standing for the unnamed outcome; abstain is 0."""
        return _softmax(self._candidates(spectrum), _rate(self.epsilon, self.neighbors))

    def _candidates(self, spectrum: SupportSpectrum) -> list[Candidate]:
        return [*_named(spectrum), (0, *self.unnamed_weight)]


def _rate(epsilon: float, neighbors: str) -> Fraction:
    """Return the weight's exponent per unit of support: supports are monotone only under add/remove."""
    exact = exact_epsilon(epsilon)
    return exact if exact_neighbors(neighbors) is Neighbors.ADD_REMOVE else exact / 2


def _named(spectrum: SupportSpectrum) -> Iterator[Candidate]:
    return ((support, support, multiplicity) for support, multiplicity in spectrum.all_levels())


def _choose(candidates: list[Candidate], rate: Fraction, randomness: Randomness) -> Selection:
    levels, supports, multiplicities = zip(*candidates, strict=True)
    highest = max(supports)  # weights are taken relative to it, so nothing overflows
    distances = [highest - support for support in supports]
    return Selection(levels[choose_level(distances, multiplicities, rate, randomness=randomness)])


def _softmax(candidates: list[Candidate], rate: Fraction) -> OutcomeDistribution:
    levels, supports, multiplicities = zip(*candidates, strict=True)
    # The logarithm of a multiplicity, not the multiplicity, is a double: it may be 10**60 or 10**600.
    logarithm = [math.log(m) if m else -math.inf for m in multiplicities]
    exponents = np.array(logarithm) - float(rate) * (max(supports) - np.array(supports, dtype=np.float64))
    weights = np.exp(exponents - exponents.max())
    return OutcomeDistribution(np.array(levels, dtype=np.int64), weights / weights.sum(), 0.0)
