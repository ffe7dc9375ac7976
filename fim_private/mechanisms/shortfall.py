"""How much less support a pick has than what was passed over: from public parameters alone.

With weights exp(rate * support) each of K candidates is chosen with probability e^{-rate t} at most if another that is
not chosen has t units more; so by the union over K candidates and all picks, t = ln(K picks / miss) / rate is enough.
Permute-and-flip loses no more than exponential weights of the same rate (McKenna and Sheldon 2020). Max-of-laplaces
passes the best over by t only if its noise is below -a, or that of one of K others above t - a.
"""

from __future__ import annotations

import math

from fim_private.mechanisms import (
    Distance,
    Exponential,
    LargeMargin,
    LimitedDomain,
    MaxOfLaplaces,
    Mechanism,
    PermuteAndFlip,
    TightMargin,
)
from fim_private.mechanisms.exponential_weights import exponential_rate
from fim_private.mechanisms.large_margin import SELECTION_RATE

# The probability that it is more.
_MISS = 0.05


def shortfall(mechanism: Mechanism, candidates: int | None, picks: int) -> int | None:
    """Return a t >= 0, in units: with 95 % probability, none that was passed over has over t more than one picked.

    candidates: how many itemsets of a public universe there are, None where it is unknown. picks: how many are picked
    at most, >= 1, each by this mechanism; of several selections, about which one statement is made, all together.
    None where no such number follows from public parameters: how many candidates choosing has is private, and the
    unnamed outcome of an exponential mechanism over a bare number of items has the weight of many more than it has.
    """
    miss = _MISS / picks
    match mechanism:
        case Distance():
            return 0  # the one that it names leads all others
        case MaxOfLaplaces() if candidates is not None:
            logarithm = math.log(candidates) + 2 * math.log(2 / miss)
            return math.ceil(float(mechanism.scale) * logarithm)
        case Exponential() | PermuteAndFlip() if candidates is not None:
            rate, count = float(mechanism.rate), candidates
        case LimitedDomain():
            rate, count = float(mechanism.rate), _within(mechanism.max_rank, candidates)
        case TightMargin():
            rate = float(exponential_rate(mechanism.selection_epsilon, mechanism.neighbors))
            count = _within(mechanism.max_rank, candidates)
        case LargeMargin():
            rate = float(mechanism.epsilon * SELECTION_RATE)
            count = candidates or mechanism.max_rank
        case _:
            return None
    return math.ceil((math.log(count) - math.log(miss)) / rate)


def _within(max_rank: int, candidates: int | None) -> int:
    """Return how many itemsets can be chosen: those of the first ranks, or all if there are fewer."""
    return max_rank if candidates is None else min(max_rank, candidates)
