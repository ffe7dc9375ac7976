"""The least support, and the least margin, with which a mechanism succeeds; and how much support a
chosen itemset may lack.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial

from fim_private.mechanisms.base import (
    MOST_CANDIDATES,
    Mechanism,
    RankCapped,
    exponential_rate,
)
from fim_private.mechanisms.exponential import Exponential, LimitedDomain
from fim_private.mechanisms.margins import STEP_SCALE, Groups, LargeMargin, TightMargin
from fim_private.mechanisms.noisy_max import Distance, MaxOfLaplaces, PermuteAndFlip
from fim_private.spectrum import Level, SupportSpectrum

# How many are tied at the top in Prospects.margin_tied.
LEADERS = 10
# How many others a margin is over, where neither a universe nor a rank cap limits them.
OTHERS = 10_000

_AveragesNoise = LargeMargin | TightMargin | MaxOfLaplaces
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
_TIGHT_GROUPS = 256, 256
_ROUGH_GROUPS = 32, 32
# The largest margin that is sought: base and margin are int64.
FARTHEST = 1 << 61
# A rank search that does not succeed with so many times its threshold never does.
_FAR = 64
# The probability that a shortfall is more than the one stated.
_MISS = 0.05


@dataclass(frozen=True)
class Prospects:
    """What a mechanism needs, in units; None if it never succeeds with the confidence asked for.

    support: of one itemset, where no other has any. regret: the mean support lost there; if it
    abstains, all of it is lost.
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
    if isinstance(mechanism, _AveragesNoise) and mechanism.epsilon < _LEAST_EPSILON:
        return _scaled_prospects(mechanism, confidence, candidates)
    if candidates is not None and candidates > MOST_CANDIDATES:
        # it is never worse than the exponential mechanism
        if isinstance(mechanism, PermuteAndFlip):
            exponential = Exponential(mechanism.epsilon, mechanism.neighbors)
            return prospects(exponential, confidence, candidates)
        # from above: its noise is >= -a, no other's above the margin less a
        if isinstance(mechanism, MaxOfLaplaces):
            scale, miss = float(mechanism.scale), math.log(2) - math.log1p(-confidence)
            margin = math.ceil(scale * miss) + math.ceil(scale * (math.log(candidates) + miss)) + 1
            return Prospects(margin, margin * (1 - confidence), margin, margin)
    if isinstance(mechanism, LargeMargin):
        mechanism = replace(mechanism, max_rank=min(mechanism.max_rank, _LARGE_RANKS))
    support, released = _solve(mechanism, confidence, lambda support: [(support, 1)], candidates)
    regret = None if support is None else support * (1 - released)
    # A rank search sees differences only, so zeros are passed over like any other itemsets.
    margin_alone, margin_tied = support, None
    if not isinstance(mechanism, LargeMargin | TightMargin):
        margin_alone = _margin(mechanism, confidence, 1, candidates)
    if not isinstance(mechanism, Distance):
        margin_tied = _margin(mechanism, confidence, LEADERS, candidates)
    return Prospects(support, regret, margin_alone, margin_tied)


def _scaled_prospects(
    mechanism: _AveragesNoise, confidence: float, candidates: int | None
) -> Prospects:
    """Return the prospects at the least ε that is computed, scaled to that of the mechanism."""
    at_least_epsilon = replace(mechanism, epsilon=_LEAST_EPSILON)
    if isinstance(at_least_epsilon, RankCapped):
        # A δ above ε is as good as ε (the weight of abstaining).
        delta = min(mechanism.delta, mechanism.epsilon)
        at_least_epsilon = replace(at_least_epsilon, delta=delta)
    coarse = prospects(at_least_epsilon, confidence, candidates)
    factor = _LEAST_EPSILON / mechanism.cost.epsilon

    def scaled(units: int | None) -> int | None:
        return None if units is None else math.ceil(units * factor)

    regret = None if coarse.regret is None else coarse.regret * float(factor)
    return Prospects(
        scaled(coarse.support), regret, scaled(coarse.margin), scaled(coarse.margin_tied)
    )


def _margin(
    mechanism: Mechanism, confidence: float, leaders: int, candidates: int | None
) -> int | None:
    """Return the least margin, in units, of tied leaders over many tied itemsets; None for none."""
    leaders = min(leaders, candidates or leaders)
    if candidates is None:
        followers = getattr(mechanism, "max_rank", OTHERS - 1) + 1
    else:
        followers = candidates - leaders
    # A support at which whatever weighs like one near 0 weighs next to nothing.
    heaviest = 100.0
    max_itemsets = getattr(mechanism, "max_itemsets", None)
    if max_itemsets is not None:
        heaviest += math.log(max_itemsets) - math.log(mechanism.delta)
    rate = float(exponential_rate(mechanism.epsilon, mechanism.neighbors))
    base = 10 + math.ceil(heaviest / rate)

    def levels(margin: int) -> list[Level]:
        leading = (base + margin, leaders)
        return [leading, (base, followers)] if followers else [leading]

    margin, _ = _solve(mechanism, confidence, levels, candidates)
    return margin


def _solve(
    mechanism: Mechanism,
    confidence: float,
    levels: Callable[[int], list[Level]],
    candidates: int | None,
) -> tuple[int | None, float]:
    """Return the least height, in units, that releases the first level, and how probably."""

    def released(height: int, **groups: Groups) -> float:
        spectrum = SupportSpectrum(levels(height), universe_size=candidates)
        outcomes = mechanism.distribution(spectrum, **groups)
        return float(outcomes.probabilities[0])

    if isinstance(mechanism, LargeMargin | TightMargin):
        start, farthest = mechanism.threshold(1), _FAR * mechanism.threshold(1)
    else:
        start, farthest = 1, FARTHEST
    slope = float(exponential_rate(mechanism.epsilon, mechanism.neighbors))
    if isinstance(mechanism, LargeMargin):
        slope /= STEP_SCALE
    probability = released
    if isinstance(mechanism, TightMargin):
        roughly = partial(released, groups=_ROUGH_GROUPS)
        start = least(roughly, confidence, start, farthest, slope)[0] or farthest
        if mechanism.max_rank > _MANY_RANKS:
            probability = partial(released, groups=_TIGHT_GROUPS)
    return least(probability, confidence, start, farthest, slope)


def least(
    probability: Callable[[int], float], confidence: float, start: int, farthest: int, slope: float
) -> tuple[int | None, float]:
    """Return the least height >= 1 that reaches the confidence, and its probability, or (None, 0).

    Args:
        probability: Returns the probability at a height. It never falls as the height grows.
        confidence: The probability that is to be reached.
        start: A guess, >= 1.
        farthest: The largest height that is tried.
        slope: About how fast the logit grows there.
    """
    target = _logit(confidence)
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
            share = 0.5 if turn % 3 == 2 else (target - low_value) / (high_value - low_value)
            point = low + min(max(math.ceil(share * (high - low)), 1), high - low - 1)
        else:
            step = max(math.ceil(abs(target - _logit(value)) / slope), 2 * step, 1)
            point = max(high - step, 1) if high else min(low + step, farthest)
        turn += 1


def _logit(probability: float) -> float:
    clipped = min(max(probability, 1e-15), 1 - 1e-15)
    return math.log(clipped) - math.log1p(-clipped)


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
