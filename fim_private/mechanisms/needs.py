"""The least support, and the least margin, with which a mechanism succeeds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from fim_private.dp.parameters import exact_epsilon
from fim_private.mechanisms.base import MOST_CANDIDATES, Mechanism
from fim_private.mechanisms.exponential import Exponential, exponential_rate
from fim_private.mechanisms.margins import STEP_SCALE, LargeMargin, TightMargin
from fim_private.mechanisms.noisy_max import Distance, MaxOfLaplaces, PermuteAndFlip
from fim_private.spectrum import Level, SupportSpectrum

# How many are tied at the top in Prospects.margin_tied.
LEADERS = 10
# How many others a margin is over, where neither a universe nor a rank cap limits them.
OTHERS = 10_000

# Below this ε the figures of mechanisms that average over noise, in time and memory like 1/ε, are
# scaled from it, as all depends on ε times supports: up to 1 % higher, by rounding to whole units.
_LEAST_EPSILON = Fraction(1, 10)
# Ranks of the large margin search that are looked at: those beyond only help, by less than a unit
# in a thousand.
_LARGE_RANKS = 1024
# A tight margin search of more ranks than this is grouped from rank 256 on, which moves a
# probability by some 1e-8. It is first solved roughly, to know where to look: with larger groups
# still.
_MANY_RANKS = 1 << 14
_TIGHT_GROUPS = 256
_ROUGH_GROUPS = 32
# The largest margin that is sought: base and margin are int64.
FARTHEST = 1 << 61
# A rank search that does not succeed with so many times its threshold never does.
_FAR = 64


@dataclass(frozen=True)
class Prospects:
    """What a mechanism takes, in units; None where it never succeeds with the confidence asked for.

    support: of one itemset, where no other has any. regret: the mean support lost there, abstaining
    losing all.
    margin: of one itemset over many that are tied. margin_tied: of LEADERS that are tied, over many
    others.
    """

    support: int | None
    regret: float | None
    margin: int | None
    margin_tied: int | None


@lru_cache(maxsize=1024, typed=True)
def prospects(mechanism: Mechanism, confidence: float, candidates: int | None = None) -> Prospects:
    """Return what the mechanism takes to succeed with probability `confidence`, in (0, 1).

    candidates: K, of a public universe, >= 1; None: unknown. Raises ParameterError where it cannot
    run there.
    """
    if (
        isinstance(mechanism, LargeMargin | TightMargin | MaxOfLaplaces)
        and mechanism.epsilon < _LEAST_EPSILON
    ):
        # A δ above ε is as good as ε (the weight of abstaining).
        delta: Any = (
            {}
            if isinstance(mechanism, MaxOfLaplaces)
            else {"delta": min(mechanism.delta, mechanism.epsilon)}
        )
        coarse = prospects(
            replace(mechanism, epsilon=_LEAST_EPSILON, **delta), confidence, candidates
        )
        factor = _LEAST_EPSILON / exact_epsilon(mechanism.epsilon)
        units = coarse.support, coarse.margin, coarse.margin_tied
        support, margin, tied = (
            None if figure is None else math.ceil(figure * factor) for figure in units
        )
        return Prospects(
            support, None if coarse.regret is None else coarse.regret * float(factor), margin, tied
        )
    if candidates is not None and candidates > MOST_CANDIDATES:
        # it is never worse than the exponential mechanism
        if isinstance(mechanism, PermuteAndFlip):
            return prospects(
                Exponential(mechanism.epsilon, mechanism.neighbors), confidence, candidates
            )
        # from above: its noise is >= -a, no other's above the margin less a
        if isinstance(mechanism, MaxOfLaplaces):
            scale, miss = float(mechanism.scale), math.log(2) - math.log1p(-confidence)
            margin = math.ceil(scale * miss) + math.ceil(scale * (math.log(candidates) + miss)) + 1
            return Prospects(margin, margin * (1 - confidence), margin, margin)
    if isinstance(mechanism, LargeMargin):
        mechanism = replace(mechanism, max_rank=min(mechanism.max_rank, _LARGE_RANKS))
    support, released = _solve(mechanism, confidence, lambda support: [(support, 1)], candidates)
    # A rank search sees differences only; zeros are others like any.
    searches = isinstance(mechanism, LargeMargin | TightMargin)
    margin = support if searches else _margin(mechanism, confidence, 1, candidates)
    tied = (
        None
        if isinstance(mechanism, Distance)
        else _margin(mechanism, confidence, LEADERS, candidates)
    )
    return Prospects(support, None if support is None else support * (1 - released), margin, tied)


def _margin(
    mechanism: Mechanism, confidence: float, leaders: int, candidates: int | None
) -> int | None:
    """Return the least margin, in units, of tied leaders over many others that are tied; None if
    none is enough.
    """
    leaders = min(leaders, candidates or leaders)
    others = (
        getattr(mechanism, "max_rank", OTHERS - 1) + 1
        if candidates is None
        else candidates - leaders
    )
    # A support at which whatever weighs like one near 0 weighs next to nothing.
    heaviest = 100.0
    if (most := getattr(mechanism, "max_itemsets", None)) is not None:
        heaviest += math.log(most) - math.log(mechanism.delta)
    base = 10 + math.ceil(
        heaviest / float(exponential_rate(mechanism.epsilon, mechanism.neighbors))
    )

    others_tied: list[Level] = [(base, others)] if others else []
    return _solve(
        mechanism, confidence, lambda margin: [(base + margin, leaders), *others_tied], candidates
    )[0]


def _solve(
    mechanism: Mechanism,
    confidence: float,
    levels: Callable[[int], list[Level]],
    candidates: int | None,
) -> tuple[int | None, float]:
    """Return the least height, in units, with which one of the first level is released, or None;
    and how probably.
    """

    def released(height: int, groups: Any = ()) -> float:
        spectrum = SupportSpectrum(levels(height), universe_size=candidates)
        with np.errstate(over="ignore", invalid="ignore"):  # abstaining may weigh infinity
            outcomes = mechanism.distribution(spectrum, *groups)
        return float(outcomes.probabilities[outcomes.levels == levels(height)[0][0]].sum())

    rate = float(exponential_rate(mechanism.epsilon, mechanism.neighbors))
    if isinstance(mechanism, LargeMargin):
        start = mechanism.integer_threshold(1)
        return least(
            released, confidence, start, _FAR * start, float(mechanism.epsilon) / STEP_SCALE
        )
    if isinstance(mechanism, TightMargin):
        rate = float(exponential_rate(mechanism.selection_epsilon, mechanism.neighbors))
        start, farthest = mechanism.threshold(1), _FAR * mechanism.threshold(1)
        rough, _ = least(
            partial(released, groups=[_ROUGH_GROUPS]), confidence, start, farthest, rate
        )
        groups = [_TIGHT_GROUPS] if mechanism.max_rank > _MANY_RANKS else []
        return least(
            partial(released, groups=groups), confidence, rough or farthest, farthest, rate
        )
    return least(released, confidence, 1, FARTHEST, rate)


def least(
    probability: Callable[[int], float], confidence: float, start: int, farthest: int, slope: float
) -> tuple[int | None, float]:
    """Return the least height >= 1 whose probability reaches the confidence, and that; None and 0
    beyond farthest.

    probability: nondecreasing in the height. start: a guess, >= 1. slope: about how fast its logit
    grows there.
    """
    wanted = _logit(confidence)
    # low fails; high succeeds, 0 while none is known
    low, low_value, high, high_value = 0, _logit(0.0), 0, 0.0
    point, step, turn = start, 0, 0
    while True:
        value = probability(point)
        if value >= confidence:
            high, high_value, reached = point, _logit(value), value
        elif point >= farthest:
            return None, 0.0
        else:
            low, low_value = point, _logit(value)
        if high - low == 1:
            return high, reached
        if low and high:
            # The bracket shrinks by half every third turn at least.
            share = 0.5 if turn % 3 == 2 else (wanted - low_value) / (high_value - low_value)
            point = low + min(max(math.ceil(share * (high - low)), 1), high - low - 1)
        else:
            step = max(math.ceil(abs(wanted - _logit(value)) / slope), 2 * step, 1)
            point = max(high - step, 1) if high else min(low + step, farthest)
        turn += 1


def _logit(probability: float) -> float:
    clipped = min(max(probability, 1e-15), 1 - 1e-15)
    return math.log(clipped) - math.log1p(-clipped)
