"""Up to k itemsets: several selections by one mechanism, composed (docs/privacy.md, Theorem 8).

A mechanism that declares its selections bounded-range makes all of them in one pass of Gumbel noise; they compose by
basic composition, or in zero-concentrated privacy. Any other mechanism is run k times with (ε/k, δ/k), each time
without the itemsets selected before.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, TypeGuard

from fim_private.dp.accounting import root_below
from fim_private.dp.parameters import positive_integer
from fim_private.dp.randomness import Randomness
from fim_private.mechanisms.base import Mechanism, Selection
from fim_private.spectrum import SupportSpectrum

Build = Callable[[Fraction, Fraction], Mechanism]

# ln of a number of candidates, for comparing two ways to compose only.
_LOG_CANDIDATES = 7


class BoundedRange(Mechanism, Protocol):
    """A mechanism whose selections are bounded-range: the odds of any two outcomes change by a factor of e^ε at most.

    bounded_range: the theorem of docs/privacy.md that says so. It is declared, for it cannot be told from a class's
    methods: permute-and-flip could select many too, but the odds change by more, and its selections would cost three
    times as much as was charged. The audit holds every mechanism that declares it to it.
    """

    bounded_range: ClassVar[str]

    def select_many(self, spectrum: SupportSpectrum, count: int, randomness: Randomness) -> list[Selection]:
        """Choose up to count different itemsets."""
        ...


def is_bounded_range(mechanism: Mechanism) -> TypeGuard[BoundedRange]:
    """Tell whether the mechanism's class declares its selections bounded-range."""
    return bounded_range_of(mechanism) is not None


def bounded_range_of(mechanism: Mechanism) -> str | None:
    """Return the theorem by which the mechanism's class declares its selections bounded-range; none is inherited."""
    theorem = vars(type(mechanism)).get("bounded_range")
    return theorem if isinstance(theorem, str) else None


@dataclass(frozen=True)
class TopK:
    """Up to count itemsets. mechanism: that of each selection, with its part of the budget."""

    mechanism: Mechanism
    count: int

    @classmethod
    def by_basic_composition(cls, build: Build, count: int, epsilon: Fraction, delta: Fraction) -> TopK:
        """Split (epsilon, delta) evenly among count selections of the mechanism that build(epsilon, delta) returns.

        In one pass no selection needs a δ of its own: all of them share one abstention (Theorem 8).
        count: >= 1. Raises ParameterError for a parameter out of range.
        """
        whole = build(epsilon, delta)
        if positive_integer("top", count) == 1:
            return cls(whole, 1)
        return cls(build(epsilon / count, delta if is_bounded_range(whole) else delta / count), count)

    @classmethod
    def by_zcdp_composition(cls, build: Build, count: int, rho: Fraction, bottom_delta: Fraction) -> TopK:
        """Split rho of zero-concentrated privacy evenly among count bounded-range selections.

        bottom_delta: the δ of its abstention; (1 + e^ε) times as much is part of the δ of the whole (Theorem 8).
        """
        return cls(build(root_below(8 * rho / count), bottom_delta), count)

    @property
    def margin(self) -> float:
        """About how far above the candidates' edge an itemset must be, to compare splits of a budget; units."""
        cost = self.mechanism.cost
        return (_LOG_CANDIDATES - math.log(cost.delta or 1)) / cost.epsilon

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> list[Selection]:
        """Return the itemsets' levels in the order selected; fewer than count where the mechanism abstained."""
        if self.count > 1 and is_bounded_range(self.mechanism):
            selected = self.mechanism.select_many(spectrum, self.count, randomness)
            return [selection for selection in selected if not selection.abstained]
        taken: Counter[int] = Counter()
        chosen: list[Selection] = []
        for _ in range(self.count):
            left = spectrum.without(taken) if taken else spectrum
            if left.universe_size == 0:
                break
            selection = self.mechanism.select(left, randomness)
            if selection.level is not None:
                taken[selection.level] += 1
                chosen.append(selection)
        return chosen
