"""The least support, and the least lead, with which a mechanism succeeds: from its exact distribution on spectra that
are made up here. No data is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

from fim_private.errors import ParameterError
from fim_private.mechanisms import (
    Choosing,
    Distance,
    Exponential,
    LargeMargin,
    LimitedDomain,
    MaxOfLaplaces,
    PermuteAndFlip,
    TightMargin,
)
from fim_private.mechanisms.noise import LaplaceSum
from fim_private.mechanisms.steps import OneSidedSteps
from fim_private.mechanisms.weighing import exponential_rate
from fim_private.privacy import exact_epsilon
from fim_private.spectrum import Level, SupportSpectrum

CONFIDENCE = 0.95
# How many lead together in Prospects.margin_tied.
LEADERS = 10
# How many others a lead is over, where neither a universe nor a cap on ranks limits them.
OTHERS = 10_000

# Where noise is averaged over, a distribution takes time and memory like 1/ε. Below this ε figures are scaled from it:
# everything depends on ε times supports, up to rounding to whole units, which makes scaled figures up to 1 % higher.
_LEAST_EPSILON = Fraction(1, 10)
# Ranks of the large margin search that are looked at: what lies beyond only helps, by less than a unit in a thousand.
_LARGE_RANKS = 1024
# The tight margin search is first solved with so few ranks.
_TIGHT_RANKS = 256
# The distributions of permute-and-flip and max-of-laplaces hold multiplicities as doubles.
_LARGEST_CANDIDATES = 10**300
# A lead that would have to be higher than this is none: base and lead are int64.
_FARTHEST = 1 << 61
# A search over ranks that does not succeed with so many times its threshold never does.
_FAR = 64

PlannableMechanism = (
    Choosing | Distance | Exponential | LargeMargin | LimitedDomain | MaxOfLaplaces | PermuteAndFlip | TightMargin
)


@dataclass(frozen=True)
class Prospects:
    """What a mechanism takes, in units; None where it never succeeds with the confidence asked for.

    support: of one itemset, where no other has any. regret: what is lost on average there, abstaining losing all.
    margin: the lead of one itemset over many that are tied. margin_tied: of LEADERS that are tied over many others.
    """

    support: int | None
    regret: float | None
    margin: int | None
    margin_tied: int | None


def required_support(mechanism: LargeMargin, confidence: float = CONFIDENCE) -> int:
    """Return the support, in units, at which one itemset far above all others is released.

    confidence: the probability of releasing it, in (0, 1). Only stopping at rank 1 is counted, so the figure
    is the lead over the runner-up that a single leader needs, never too low; prospects() counts all ranks.
    """
    noise = LaplaceSum.of(mechanism.scales)
    threshold = mechanism.integer_threshold(1)
    # Rank 1 stops when Z_1 + G - Z < c - T̂(1), and the sum is symmetric.
    found = _least(lambda support: noise.tail(1 - (support - threshold)), confidence, threshold, _FARTHEST)
    if found is None:
        raise ParameterError(f"confidence must be a number above 0 and below 1, not {confidence!r}")
    return found[0]


@lru_cache(maxsize=1024, typed=True)
def prospects(mechanism: PlannableMechanism, confidence: float, candidates: int | None = None) -> Prospects:
    """Return what the mechanism takes to succeed with that probability, in (0, 1).

    candidates: K, the number of itemsets of a public universe, >= 1, up to any size; None where it is unknown.
    """
    if isinstance(mechanism, LargeMargin | TightMargin | MaxOfLaplaces) and mechanism.epsilon < _LEAST_EPSILON:
        return _scaled(mechanism, confidence, candidates)
    if candidates is not None and candidates > _LARGEST_CANDIDATES:
        if isinstance(mechanism, PermuteAndFlip):  # it is never worse than the exponential mechanism
            return prospects(Exponential(mechanism.epsilon, mechanism.neighbors), confidence, candidates)
        if isinstance(mechanism, MaxOfLaplaces):
            return _union_bound(mechanism, confidence, candidates)
    if isinstance(mechanism, LargeMargin):
        mechanism = replace(mechanism, max_rank=min(mechanism.max_rank, _LARGE_RANKS))
    elif isinstance(mechanism, TightMargin):
        mechanism = _QuickTightMargin(mechanism.epsilon, mechanism.delta, mechanism.neighbors, mechanism.max_rank)
    alone = _solve(mechanism, confidence, lambda support: [(support, 1)], candidates)
    support, released = (None, 0.0) if alone is None else alone
    if isinstance(mechanism, LargeMargin | TightMargin):
        margin = support  # a search over ranks sees differences only; zeros are others like any
    else:
        margin = _lead(mechanism, confidence, 1, candidates)
    # Two leaders have no lead over each other, and that is all that distance looks at.
    tied = None if isinstance(mechanism, Distance) else _lead(mechanism, confidence, LEADERS, candidates)
    return Prospects(support, None if support is None else support * (1 - released), margin, tied)


def _lead(mechanism: PlannableMechanism, confidence: float, leaders: int, candidates: int | None) -> int | None:
    if candidates is not None:
        leaders = min(leaders, candidates)
        others = candidates - leaders
    elif isinstance(mechanism, LimitedDomain | TightMargin | LargeMargin):
        others = mechanism.max_rank + 1
    else:
        others = OTHERS
    base = _base(mechanism)

    def levels(lead: int) -> list[Level]:
        return [(base + lead, leaders), (base, others)] if others else [(base + lead, leaders)]

    found = _solve(mechanism, confidence, levels, candidates)
    return None if found is None else found[0]


def _base(mechanism: PlannableMechanism) -> int:
    """Return a support at which what weighs like a support near 0 weighs nothing."""
    heaviest = 100.0
    if isinstance(mechanism, Choosing):
        heaviest += math.log(mechanism.max_itemsets) - math.log(mechanism.delta)
    return math.ceil(heaviest / float(exponential_rate(mechanism.epsilon, mechanism.neighbors)))


def _solve(
    mechanism: PlannableMechanism, confidence: float, levels: Callable[[int], list[Level]], candidates: int | None
) -> tuple[int, float] | None:
    def released_by(one: PlannableMechanism) -> Callable[[int], float]:
        def released(height: int) -> float:
            outcomes = one.distribution(SupportSpectrum(levels(height), universe_size=candidates))
            return float(outcomes.probabilities[outcomes.levels == levels(height)[0][0]].sum())

        return released

    if isinstance(mechanism, LargeMargin):
        start = mechanism.integer_threshold(1)
        return _least(released_by(mechanism), confidence, start, _FAR * start)
    if isinstance(mechanism, TightMargin):
        start = max(mechanism.threshold(1), 1)
        if mechanism.max_rank > _TIGHT_RANKS:
            easier = _least(released_by(mechanism.with_ranks(_TIGHT_RANKS)), confidence, start, _FAR * start)
            if easier is None:
                return None
            rate = float(exponential_rate(mechanism.selection_epsilon, mechanism.neighbors))
            start = easier[0] + round(math.log(mechanism.max_rank / _TIGHT_RANKS) / rate)
        return _least(released_by(mechanism), confidence, start, _FAR * start)
    return _least(released_by(mechanism), confidence, 1, _FARTHEST)


def _least(
    probability: Callable[[int], float], confidence: float, start: int, farthest: int
) -> tuple[int, float] | None:
    """Return the least height >= 1 whose probability reaches the confidence, and that probability.

    probability: nondecreasing. start: a guess, >= 1. Returns None where the farthest height does not reach it.
    """
    low, low_value, high, high_value = 0, 0.0, 0, 1.0  # low fails; high succeeds, 0 as long as none is known
    point, step = start, 1
    for turn in range(10_000):
        value = probability(point)
        if value >= confidence:
            high, high_value = point, value
        elif point >= farthest:
            return None
        else:
            low, low_value = point, value
        if high and high - low == 1:
            return high, high_value
        if not high:
            point, step = min(low + step, farthest), 4 * step
        elif not low and high > step:
            point, step = high - step, 4 * step
        else:
            share = (_logit(confidence) - _logit(low_value)) / (_logit(high_value) - _logit(low_value))
            ahead = math.ceil(share * (high - low)) if turn % 3 else (high - low) // 2
            point = low + min(max(ahead, 1), high - low - 1)
    raise AssertionError("the interval shrinks by half every third turn")  # pragma: no cover


def _logit(probability: float) -> float:
    clipped = min(max(probability, 1e-15), 1 - 1e-15)
    return math.log(clipped) - math.log1p(-clipped)


def _scaled(
    mechanism: LargeMargin | TightMargin | MaxOfLaplaces, confidence: float, candidates: int | None
) -> Prospects:
    factor = _LEAST_EPSILON / exact_epsilon(mechanism.epsilon)
    if isinstance(mechanism, MaxOfLaplaces):
        coarse = prospects(replace(mechanism, epsilon=_LEAST_EPSILON), confidence, candidates)
    else:  # a δ above ε is as good as ε (the weight of abstaining)
        delta = min(mechanism.delta, mechanism.epsilon)
        coarse = prospects(replace(mechanism, epsilon=_LEAST_EPSILON, delta=delta), confidence, candidates)

    def times(figure: int | None) -> int | None:
        return None if figure is None else math.ceil(figure * factor)

    regret = None if coarse.regret is None else coarse.regret * float(factor)
    return Prospects(times(coarse.support), regret, times(coarse.margin), times(coarse.margin_tied))


def _union_bound(mechanism: MaxOfLaplaces, confidence: float, candidates: int) -> Prospects:
    """Bound from above: the leader's noise is at least -a, and that of no other above what is left of its lead.

    P(Z >= k) <= e^{-k/b} for each; both shall fail with half of 1 - confidence at most.
    """
    scale, miss = float(mechanism.scale), math.log(2) - math.log1p(-confidence)
    lead = math.ceil(scale * miss) + math.ceil(scale * (math.log(candidates) + miss)) + 1
    return Prospects(lead, lead * (1 - confidence), lead, lead)


class _QuickTightMargin(TightMargin):
    """The same mechanism, asked again and again: it keeps its noise and its thresholds."""

    @cached_property
    def noise(self) -> OneSidedSteps:
        """The noise of the search, as in TightMargin."""
        return super().noise

    @cached_property
    def selection_epsilon(self) -> Fraction:
        """What is left of epsilon for the choice, as in TightMargin."""
        return super().selection_epsilon

    @cached_property
    def _thresholds(self) -> dict[int, int]:
        return {}

    def threshold(self, rank: int) -> int:
        """Return τ(ℓ), as TightMargin does."""
        if (value := self._thresholds.get(rank)) is None:
            value = self._thresholds[rank] = super().threshold(rank)
        return value

    def with_ranks(self, max_rank: int) -> TightMargin:
        """Return it with another cap."""
        return _QuickTightMargin(self.epsilon, self.delta, self.neighbors, max_rank)
