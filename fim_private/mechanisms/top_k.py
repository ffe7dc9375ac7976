"""Several choices by one mechanism, composed; how much support a chosen itemset may lack."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fim_private.dp.accountant import Choices
from fim_private.dp.composition import root_below
from fim_private.dp.noise import Randomness
from fim_private.mechanisms.base import Mechanism, Selection
from fim_private.mechanisms.exponential import Exponential, LimitedDomain
from fim_private.mechanisms.margins import LargeMargin, TightMargin
from fim_private.mechanisms.noisy_max import Distance, MaxOfLaplaces, PermuteAndFlip
from fim_private.spectrum import SupportSpectrum

# The probability that a shortfall is more than the one stated.
_MISS = 0.05
# ln of a typical number of candidates: only to compare two forms of composition.
_LOG_CANDIDATES = 7

Build = Callable[[Fraction, Fraction], Mechanism]


def shortfall(mechanism: Mechanism, candidates: int | None, selections: int) -> int | None:
    """Return a t >= 0, in units: with 95 % probability, none that was passed over has over t more
    than one selected.

    candidates: how many itemsets of a public universe there are, None where it is unknown.
    selections: how many there are at most, >= 1, each by this mechanism; all together of those
    about which one statement is made. None where no such number follows from public parameters. The
    number of candidates of choosing is private. The unnamed outcome of an exponential mechanism
    over a bare number of items has the weight of many more than it has. With weights exp(rate *
    support) each of K candidates is chosen with probability e^{-rate t} at most if another that is
    not chosen has t units more. So by the union over all, t = ln(K selections / miss) / rate is
    enough. Permute-and-flip loses no more than exponential weights of the same rate (McKenna and
    Sheldon 2020). Max-of-laplaces passes the best over by t only if its noise is below -a, or that
    of one of K others above t - a.
    """
    miss = _MISS / selections
    match mechanism:
        case Distance():
            return 0  # the one that it names leads all others
        case MaxOfLaplaces() if candidates is not None:
            return math.ceil(
                float(mechanism.scale) * (math.log(candidates) + 2 * math.log(2 / miss))
            )
        case Exponential() | PermuteAndFlip() if candidates is not None:
            count = candidates
        case LimitedDomain() | TightMargin():
            count = min(mechanism.max_rank, candidates or mechanism.max_rank)
        case LargeMargin():
            count = candidates or mechanism.max_rank
        case _:
            return None
    return math.ceil((math.log(count) - math.log(miss)) / float(mechanism.rate))


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

    @property
    def choices(self) -> Choices:
        """The choices that it is made of, for the accountant."""
        epsilon = Fraction(self.mechanism.cost.epsilon)
        return Choices(self.count, epsilon, is_bounded_range(self.mechanism))

    @property
    def margin(self) -> float:
        """About how many units above the next support an itemset must lie to be selected: for
        comparing two splits.
        """
        cost = self.mechanism.cost
        return (_LOG_CANDIDATES - math.log(cost.delta or 1)) / cost.epsilon

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> list[Selection]:
        """Return the itemsets' levels in the order selected; fewer than `count` where the mechanism
        abstained.
        """
        if is_bounded_range(self.mechanism):
            many: Any = self.mechanism
            selected = many.select_many(spectrum, self.count, randomness)
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
