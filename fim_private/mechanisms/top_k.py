"""Up to k itemsets within one (ε, δ): the picks of one mechanism, composed (docs/privacy.md, Theorem 8).

A mechanism that weighs its candidates makes all picks in one pass of Gumbel noise: each pick is bounded-range, so k of
them compose by zero-concentrated privacy where that is better than by addition. Any other is run k times with
(ε/k, δ/k), each time without the itemsets picked before.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

from fim_private.accounting import PickRate
from fim_private.intervals import exp_bounds
from fim_private.mechanisms.selection import Mechanism, Selection
from fim_private.privacy import PrivacyCost, positive_integer
from fim_private.randomness import Randomness
from fim_private.spectrum import SupportSpectrum

Build = Callable[[Fraction, Fraction], Mechanism]

# Beyond this e^ε is no constant anybody wants to divide δ by.
_LARGEST_EPSILON = 50
# ln of a number of candidates, for comparing two ways to compose only.
_LOG_CANDIDATES = 7


@runtime_checkable
class OnePass(Protocol):
    """A mechanism whose weights change by a factor of e^ε at most from one neighbour to the other."""

    def select_many(self, spectrum: SupportSpectrum, count: int, randomness: Randomness) -> list[Selection]:
        """Choose up to count different itemsets."""
        ...


@dataclass(frozen=True)
class TopK:
    """Up to count itemsets. mechanism: that of each pick. cost: of all picks together."""

    mechanism: Mechanism
    count: int
    cost: PrivacyCost

    @classmethod
    def of(cls, build: Build, count: int, epsilon: Fraction, delta: Fraction) -> TopK:
        """Split (epsilon, delta) among count picks of the mechanism that build(epsilon, delta) returns.

        count: >= 1. The split depends on these numbers only. Raises ParameterError for a parameter out of range.
        """
        whole = build(epsilon, delta)
        if positive_integer("top", count) == 1:
            return cls(whole, 1, whole.cost)
        if not isinstance(whole, OnePass):
            return cls(build(epsilon / count, delta / count), count, whole.cost)
        if not whole.cost.delta:
            pick = PickRate.of(epsilon, delta, count)
            return cls(build(pick.rate, delta), count, pick.cost)
        rate, bottom_delta = one_pass_split(epsilon, delta, count)
        return cls(build(rate, bottom_delta), count, PrivacyCost(float(epsilon), float(delta)))

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> list[Selection]:
        """Return the itemsets' levels in the order picked; fewer than count where the mechanism abstained."""
        if self.count > 1 and isinstance(self.mechanism, OnePass):
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


def one_pass_split(epsilon: Fraction, delta: Fraction, count: int) -> tuple[Fraction, Fraction]:
    """Return (ε₀, δ_b) for count picks of a mechanism that may abstain: each pick's ε₀ and its weight's δ.

    By addition: ε/k, and all of δ. By zero-concentrated privacy: half of δ composes the picks, and the other half
    is (1 + e^ε) δ_b (Theorem 8). The better of the two is what asks for the smaller lead over the candidates' edge.
    """
    by_addition = epsilon / count, delta
    if (growth := growth_bound(epsilon)) is None:
        return by_addition
    concentrated = PickRate.of(epsilon, delta / 2, count).rate, delta / 2 / (1 + growth)

    def lead(split: tuple[Fraction, Fraction]) -> float:
        return (_LOG_CANDIDATES - math.log(split[1].numerator) + math.log(split[1].denominator)) / float(split[0])

    return min(by_addition, concentrated, key=lead)


def growth_bound(epsilon: Fraction) -> Fraction | None:
    """Return a rational at least e^ε, or None where that is astronomic."""
    if epsilon > _LARGEST_EPSILON:
        return None
    bits = 256
    return Fraction(1 << bits, exp_bounds(epsilon.numerator, epsilon.denominator, bits)[0])
