"""Up to k itemsets: the picks of one mechanism, composed (docs/privacy.md, Theorem 8).

A mechanism that declares its picks bounded-range makes all of them in one pass of Gumbel noise; they compose by
addition, or in zero-concentrated privacy. Any other mechanism is run k times with (ε/k, δ/k), each time without the
itemsets picked before.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, TypeGuard

from fim_private.dp.accounting import root_below
from fim_private.dp.intervals import exp_bounds
from fim_private.dp.parameters import positive_integer
from fim_private.dp.randomness import Randomness
from fim_private.mechanisms.base import Mechanism, Selection
from fim_private.spectrum import SupportSpectrum

Build = Callable[[Fraction, Fraction], Mechanism]

# Beyond this e^ε is no constant anybody wants to divide δ by.
_LARGEST_EPSILON = 50
# ln of a number of candidates, for comparing two ways to compose only.
_LOG_CANDIDATES = 7


class OnePass(Mechanism, Protocol):
    """A mechanism whose picks are bounded-range: the odds of any two outcomes change by a factor of e^ε at most.

    bounded_range: the theorem of docs/privacy.md that says so. It is declared, for it cannot be told from a class's
    methods: permute-and-flip could pick many too, but the odds change by more, and its picks would cost three times as
    much as was charged. The audit holds every mechanism that declares it to it.
    """

    bounded_range: ClassVar[str]

    def select_many(self, spectrum: SupportSpectrum, count: int, randomness: Randomness) -> list[Selection]:
        """Choose up to count different itemsets."""
        ...


def is_one_pass(mechanism: Mechanism) -> TypeGuard[OnePass]:
    """Tell whether the mechanism's class declares its picks bounded-range."""
    return bounded_range_of(mechanism) is not None


def bounded_range_of(mechanism: Mechanism) -> str | None:
    """Return the theorem by which the mechanism's class declares its picks bounded-range; no class inherits it."""
    theorem = vars(type(mechanism)).get("bounded_range")
    return theorem if isinstance(theorem, str) else None


@dataclass(frozen=True)
class TopK:
    """Up to count itemsets. mechanism: that of each pick, with its part of the budget."""

    mechanism: Mechanism
    count: int

    @classmethod
    def by_addition(cls, build: Build, count: int, epsilon: Fraction, delta: Fraction) -> TopK:
        """Split (epsilon, delta) evenly among count picks of the mechanism that build(epsilon, delta) returns.

        In one pass no pick needs a δ of its own: all of them share one abstention (Theorem 8).
        count: >= 1. Raises ParameterError for a parameter out of range.
        """
        whole = build(epsilon, delta)
        if positive_integer("top", count) == 1:
            return cls(whole, 1)
        return cls(build(epsilon / count, delta if is_one_pass(whole) else delta / count), count)

    @classmethod
    def concentrated(cls, build: Build, count: int, rho: Fraction, bottom_delta: Fraction) -> TopK:
        """Split rho of zero-concentrated privacy evenly among count picks of a one-pass mechanism.

        bottom_delta: the δ of its abstention; (1 + e^ε) times as much is part of the δ of the whole (Theorem 8).
        """
        return cls(build(root_below(8 * rho / count), bottom_delta), count)

    @property
    def lead(self) -> float:
        """About how far above the candidates' edge an itemset must be, to compare splits of a budget; units."""
        cost = self.mechanism.cost
        return (_LOG_CANDIDATES - math.log(cost.delta or 1)) / cost.epsilon

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> list[Selection]:
        """Return the itemsets' levels in the order picked; fewer than count where the mechanism abstained."""
        if self.count > 1 and is_one_pass(self.mechanism):
            picks = self.mechanism.select_many(spectrum, self.count, randomness)
            return [pick for pick in picks if not pick.abstained]
        picked: Counter[int] = Counter()
        chosen: list[Selection] = []
        for _ in range(self.count):
            left = spectrum.without(picked) if picked else spectrum
            if left.universe_size == 0:
                break
            pick = self.mechanism.select(left, randomness)
            if pick.level is not None:
                picked[pick.level] += 1
                chosen.append(pick)
        return chosen


def growth_bound(epsilon: Fraction) -> Fraction | None:
    """Return a rational at least e^ε, or None where that is astronomic."""
    if epsilon > _LARGEST_EPSILON:
        return None
    bits = 256
    return Fraction(1 << bits, exp_bounds(epsilon.numerator, epsilon.denominator, bits)[0])
