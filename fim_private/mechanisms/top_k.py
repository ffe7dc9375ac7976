"""Several choices by one mechanism, composed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fim_private.dp.accountant import Choices
from fim_private.dp.composition import choice_epsilon, root_below
from fim_private.dp.noise import Randomness
from fim_private.mechanisms.base import Mechanism
from fim_private.mechanisms.exponential import ExponentialWeights
from fim_private.spectrum import SupportSpectrum

# ln of a typical number of candidates: only to compare two forms of composition.
_LOG_CANDIDATES = 7

Build = Callable[[Fraction, Fraction], Mechanism]


def is_bounded_range(mechanism: Mechanism) -> bool:
    """Tell whether the mechanism's own class declares that the odds of any two outcomes change by
    e^ε at most.

    The audit tests it. Those of permute-and-flip change by more: many selections would cost more
    than was charged.
    """
    return vars(type(mechanism)).get("bounded_range") is not None  # none is inherited


@dataclass(frozen=True)
class TopK:
    """A selection of up to `count` >= 1 itemsets: as many choices by one mechanism.

    Attributes:
        mechanism: What makes each choice, with its share of the budget. If it declares its choices
            bounded-range, it makes all of them without replacement until it abstains. Any other is
            run `count` times, each time without the itemsets chosen before (docs/privacy.md,
            Theorem 8).
        count: How many choices there are.
    """

    mechanism: Mechanism
    count: int

    @classmethod
    def by_basic_composition(
        cls, build: Build, count: int, epsilon: Fraction, delta: Fraction
    ) -> TopK:
        """Split (epsilon, delta) evenly among `count` >= 1 choices.

        Bounded-range choices share one abstention, so that each has the whole δ (Theorem 8).

        build: returns the mechanism of a choice with some (epsilon, delta).
        """
        mechanism = build(epsilon / count, delta)
        if not is_bounded_range(mechanism):
            mechanism = build(epsilon / count, delta / count)
        return cls(mechanism, count)

    @classmethod
    def by_zcdp_composition(
        cls, build: Build, count: int, rho: Fraction, names_delta: Fraction
    ) -> TopK:
        """Split a zCDP budget of rho > 0 evenly among `count` >= 1 choices.

        Together they are names_delta-approximately rho-zCDP. Bounded-range choices have
        ε₀ = √(8 rho/count) each, rounded down, and share one abstention of δ = names_delta (Theorem
        8). Any others have √(2 rho/count) each, and δ = names_delta/count (Theorem 16).
        """
        mechanism = build(root_below(8 * rho / count), names_delta)
        if not is_bounded_range(mechanism):
            mechanism = build(root_below(2 * rho / count), names_delta / count)
        return cls(mechanism, count)

    @classmethod
    def by_gaussian_composition(
        cls, build: Build, count: int, mu_squared: Fraction, after: Fraction, names_delta: Fraction
    ) -> TopK:
        """Split a share of Gaussian privacy evenly among `count` >= 1 bounded-range choices.

        They share one abstention of δ = names_delta (docs/privacy.md, Theorem 33).

        Args:
            build: Returns the mechanism of a choice with some (epsilon, delta).
            count: How many choices there are.
            mu_squared: The μ² that the choices may add, > 0.
            after: The μ² of the steps that follow the last choice, >= 0.
            names_delta: The δ that they share.
        """
        mechanism = build(choice_epsilon(mu_squared, count, after), names_delta)
        assert is_bounded_range(mechanism)
        return cls(mechanism, count)

    @property
    def choices(self) -> Choices:
        """The choices that it is made of, for the accountant."""
        mechanism = self.mechanism
        return Choices(self.count, mechanism.cost.epsilon, is_bounded_range(mechanism))

    @property
    def margin(self) -> float:
        """About how many units above the next support an itemset must lie to be selected: for
        comparing two splits.
        """
        cost = self.mechanism.cost
        return (_LOG_CANDIDATES - math.log(cost.delta or 1)) / cost.epsilon

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> list[int]:
        """Return the itemsets' levels in the order selected; fewer than `count` where the mechanism
        abstained.
        """
        if is_bounded_range(self.mechanism):
            assert isinstance(self.mechanism, ExponentialWeights)
            return self.mechanism.select_many(spectrum, self.count, randomness)
        taken: Counter[int] = Counter()
        chosen: list[int] = []
        for _ in range(self.count):
            left = spectrum.without(taken) if taken else spectrum
            if left.universe_size == 0:
                break
            level = self.mechanism.select(left, randomness).level
            if level is not None:
                taken[level] += 1
                chosen.append(level)
        return chosen
