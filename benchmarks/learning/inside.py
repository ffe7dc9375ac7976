"""How many values each way needs to find a point inside: data of several shapes, and probabilities of success.

All of them are exact, from output distributions: nothing is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

from benchmarks.frame.bisection import least_lasting
from benchmarks.learning import rec_concave
from fim_private.learning.points import ExponentialInterior, MajorityPath
from fim_private.mechanisms.noisy_max import LaplaceSum

EPSILON, DELTA, SUCCESS = 1.0, 1e-6, 0.95
# The relation of RecConcave, which the others are held against.
NEIGHBORS = "replace-one"
# So many n after one another must succeed, for odd and even numbers of values are not alike.
RUN = 6
EXPONENTIAL, MAJORITY = "exponential", "MajorityPath"
# By recursions above the base, and α. One recursion has an uneven split, which is better; more have an even one.
RECURSIVE = {
    "RecConcave, D = 1, α = 1": (1, 1.0),
    "RecConcave, D = 1, α = 1/2": (1, 0.5),
    "RecConcave, D = 2, α = 1": (2, 1.0),
    "RecConcave, D = 2, α = 1/2": (2, 0.5),
}
WAYS = (EXPONENTIAL, *RECURSIVE, MAJORITY)


def budget(levels: int) -> rec_concave.Budget:
    """Return how ε and δ are shared among 3D + 1 steps, of which 2D spend δ."""
    if levels == 1:
        return rec_concave.Budget(0.25 * EPSILON, 0.3 * EPSILON, 0.15 * EPSILON, DELTA / 2)
    each = EPSILON / (3 * levels + 1)
    return rec_concave.Budget(each, each, each, DELTA / (2 * levels))


def _pair(n: int, bits: int, centre: int) -> Iterator[int]:
    return (centre + number % 2 for number in range(n))


def _both_sides(n: int, bits: int, centre: int) -> Iterator[int]:
    return (centre + (-1) ** number * (1 << number // 2 % (bits - 2)) for number in range(n))


def _one_side(n: int, bits: int, centre: int) -> Iterator[int]:
    return (centre + (1 << number % (bits - 1)) for number in range(n))


def _uniform(n: int, bits: int, centre: int) -> Iterator[int]:
    return (((2 * number + 1) << bits) // (2 * n) for number in range(n))


SHAPES: dict[str, Callable[[int, int, int], Iterator[int]]] = {
    "an adjacent pair": _pair,
    "log-spaced on both sides": _both_sides,
    "log-spaced on one side": _one_side,
    "uniform": _uniform,
}


def centres(bits: int) -> dict[str, int]:
    """Return where the shapes lie: at the middle of the domain, which is cut there, and at a third of it."""
    return {"the middle": (1 << bits - 1) - 1, "a third": (1 << bits) // 3}


def success(way: str, values: list[int], bits: int) -> float:
    """Return the probability that a point with values on both sides, or on it, is found. values: ascending."""
    low, high = values[0], values[-1]
    if way == EXPONENTIAL:
        # Outside there are two runs at most, of score 0; of those inside the score is above.
        found = ExponentialInterior(EPSILON, bits, NEIGHBORS).distribution(values)
        return math.fsum(chance for start, _, chance in found if low <= start <= high)
    if way == MAJORITY:
        mechanism = _majority(bits)
        stops = mechanism.path(values)
        chances = zip(mechanism.depths(stops), stops, strict=False)
        return math.fsum(chance * _released(stop.excess) for chance, stop in chances if low <= stop.point <= high)
    levels, share = RECURSIVE[way]
    quality = rec_concave.Peaked.of_values(values, (1 << bits) - 1)
    law = rec_concave.law(quality, len(values) // 2, share, levels, budget(levels), within=(low, high))
    return math.fsum(law.values())


@cache
def _majority(bits: int) -> MajorityPath:
    return MajorityPath(EPSILON, DELTA, bits, NEIGHBORS)


@lru_cache(maxsize=1 << 14)
def _released(excess: int) -> float:
    mechanism = _majority(1)  # the second step knows no bits
    return LaplaceSum.of([mechanism.scale]).tail(mechanism.threshold + 2 - excess)


def needed(way: str, bits: int, shape: str, centre: str) -> Any:
    """Return the n from which on the success is 95 % or more: of it and the RUN - 1 after it."""

    @cache
    def succeeds(n: int) -> bool:
        return success(way, sorted(SHAPES[shape](n, bits, centres(bits)[centre])), bits) >= SUCCESS

    return least_lasting(succeeds, 0, 64, RUN)


def enough_for_any_data(bits: int) -> int:
    """Return the n for which MajorityPath succeeds with 95 % on any data, by Theorem 25: some depth scores n/6 or more.

    The worst that this allows is one depth with that score, and all others with some one lower score.
    """
    mechanism = _majority(bits)

    def fails(n: int) -> float:
        best, worst = -(-n // 6), 0.0
        top = 1 - _released(best)
        for score in range(best + 1):
            others = bits * math.exp(float(mechanism.rate) * (score - best))
            missed = 1 - _released(score) if score else 1.0
            worst = max(worst, (top + others * missed) / (1 + others))
        return worst

    n = 6
    while fails(n) > 1 - SUCCESS:
        n += 6
    return n - 5  # of six numbers with the same n/6 rounded up it is the least


def asked(bits: int) -> Any:
    """Return what the theorems ask for, by way; nothing where a recursion is none, because so few points are left."""
    found: dict[str, int] = {
        EXPONENTIAL: math.ceil(4 / EPSILON * (bits * math.log(2) + math.log(SUCCESS / (1 - SUCCESS)))),
        MAJORITY: enough_for_any_data(bits),
    }
    for way, (levels, share) in RECURSIVE.items():
        found[way] = rec_concave.promised(bits, levels, share, budget(levels), 1 - SUCCESS)
    return found
