"""RecConcave (Beimel, Nissim and Stemmer 2013, Figure 5) for a point inside: its exact output
distribution.

The quality of a point is the lesser of how many values are at most it, and at least it. It rises
and falls once, so that a level's points are an interval, and a domain of 2^1024 points is a list of
nested intervals. Of the paper's A_dist the correct form is taken, fim_private.mechanisms.Distance:
see exposed.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.neighbors import Neighbors
from fim_private.mechanisms import Distance
from fim_private.mechanisms.noisy_max import laplace_tail

# The probability that a leader with so large a margin is released; beyond MOST it is 1 for all that
# matters.
Released = Callable[[int], float]
MOST = 400


def overlooked(epsilon: float, delta: float) -> Released:
    """Return the probability of a release with Laplace noise of scale 1/ε, and the threshold
    ln(1/δ)/ε.
    """

    def released(margin: int) -> float:
        # by so many scales the margin exceeds the threshold
        beyond = epsilon * margin - math.log(1 / delta)
        return 1 - math.exp(-beyond) / 2 if beyond > 0 else math.exp(beyond) / 2

    return released


def corrected(epsilon: float, delta: float) -> Released:
    """Return the probability of a release by fim_private.mechanisms.Distance under replace-one."""
    return partial(_clears, epsilon, delta)


def used(released: Released, epsilon: float) -> dict[str, float]:
    """Return the δ that neighbours need at ε: with the same leader, and where another may lead.

    Margins of neighbours differ by 2 at most; where the leaders differ, they have margins that add
    up to 2 at most.
    """
    factor = math.exp(epsilon)
    same = max(
        max(0.0, one - factor * two, (1 - one) - factor * (1 - two))
        for margin in range(MOST)
        for other in range(max(0, margin - 2), margin + 3)
        for one, two in [(released(margin), released(other))]
    )
    other = max(released(margin) for margin in range(3))  # what one names the other names never
    return {"same leader": same, "another leader": other}


def exposed(epsilon: float, delta: float) -> Any:
    """Return what both forms use of δ, as multiples of it."""
    forms = {"overlooked": overlooked(epsilon, delta), "corrected": corrected(epsilon, delta)}
    return {
        name: {case: value / delta for case, value in used(released, epsilon).items()}
        for name, released in forms.items()
    }


# No recursion below so many points: the exponential mechanism chooses among them.
_BASE = 32
# What is less probable than that is left out.
_NEGLIGIBLE = 1e-12
Law = dict[int, float]


@dataclass(frozen=True)
class Peaked:
    """A whole-numbered quality on [0, last] that rises and falls once.

    levels: ascending; levels[i] is the quality of what is in [lows[i], highs[i]] and not in the
    next of these nested intervals. The first is [0, last].
    """

    last: int
    levels: Sequence[int]
    lows: Sequence[int]
    highs: Sequence[int]

    @classmethod
    def of_values(cls, ordered: Sequence[int], last: int) -> Peaked:
        """Return the quality of points in [0, last] for ascending values: those on the poorer side,
        or on the point.
        """
        levels = [
            (low, high) for low, high in zip(ordered, reversed(ordered), strict=True) if low <= high
        ]
        return cls(
            last,
            range(len(levels) + 1),
            [0, *(low for low, _ in levels)],
            [last, *(high for _, high in levels)],
        )

    @classmethod
    def of_list(cls, qualities: Sequence[int]) -> Peaked:
        """Return the quality of the places of a list, which rises and falls once."""
        levels = sorted(set(qualities))
        places = [
            [i for i, quality in enumerate(qualities) if quality >= level] for level in levels
        ]
        assert all(found[-1] - found[0] == len(found) - 1 for found in places)
        return cls(
            len(qualities) - 1,
            levels,
            [found[0] for found in places],
            [found[-1] for found in places],
        )

    def at(self, point: int) -> int:
        """Return the quality of a point in [0, last]."""
        return self.levels[
            min(bisect_right(self.lows, point), bisect_right(self._falling, -point)) - 1
        ]

    @cached_property
    def _falling(self) -> list[int]:
        return [-high for high in self.highs]

    @cached_property
    def _shrinking(self) -> list[int]:
        """1 less than the sizes of the intervals, negative, and so ascending."""
        return [low - high for low, high in zip(self.lows, self.highs, strict=True)]

    def of_intervals(self, power: int) -> int:
        """Return the highest quality that all points of some interval of 2^power points have, or
        more.
        """
        found = bisect_right(self._shrinking, 1 - (1 << power))
        return self.levels[found - 1] if found else min(0, self.levels[0])

    def best_within(self, start: int, end: int) -> int:
        """Return the highest quality of [start, end), which has points of [0, last]."""
        end = min(end, self.last + 1)
        if start <= self.highs[-1] and self.lows[-1] < end:
            return self.levels[-1]
        return self.at(end - 1 if end <= self.lows[-1] else start)


@dataclass(frozen=True)
class Budget:
    """What each step spends: (epsilon for the length, for both choices of an interval, for the
    point), and delta.

    delta is for each choice of an interval.
    """

    length: float
    interval: float
    point: float
    delta: float


def law(
    quality: Peaked,
    promise: float,
    share: float,
    levels: int,
    budget: Budget,
    *,
    within: tuple[int, int] | None = None,
) -> Law:
    """Return the probability of each point that RecConcave may give; what is missing to 1 is that
    it gives none.

    promise: the quality that some point is promised to have. share: alpha, what part of it may be
    lost.
    levels: recursions above the base, >= 0. within: where it is given, and there is a recursion,
    only what is in this closed interval, as one point.
    """
    if levels == 0 or quality.last <= _BASE:
        values = np.array([quality.at(point) for point in range(quality.last + 1)], dtype=float)
        return dict(enumerate(_softmax(budget.length / 2 * values)))
    # T' = 2^powers is the least power of two that is at least last
    powers = (quality.last - 1).bit_length()
    lengths = [quality.of_intervals(power) for power in range(powers + 1)]
    after = [*lengths[1:], min(0, lengths[-1])]
    steps = [
        math.floor(min(one - (1 - share) * promise, promise - other))
        for one, other in zip(lengths, after, strict=True)
    ]
    chosen = law(Peaked.of_list(steps), share * promise / 2, 0.25, levels - 1, budget)
    found: Law = {}
    for power, chance in chosen.items():
        if chance < _NEGLIGIBLE:
            continue
        for point, probability in _finished(quality, 1 << power, budget):
            place = point if within is None else within[0]
            if within is None or within[0] <= point <= within[1]:
                found[place] = found.get(place, 0.0) + chance * probability
    return found


def _finished(quality: Peaked, unit: int, budget: Budget) -> Iterator[tuple[int, float]]:
    """Yield the points, and their probabilities, once 2^k = unit is chosen: two choices of an
    interval, and a point.
    """
    (first, one), (second, two) = (
        _interval(quality, offset, 8 * unit, budget) for offset in (0, 4 * unit)
    )
    places = [place for place in sorted({*first, *second}) if place * unit <= quality.last]
    values = np.array([quality.at(place * unit) for place in places], dtype=float)
    for taken, chance in ((None, one * two), (first, one * (1 - two)), (second, (1 - one) * two)):
        if chance > _NEGLIGIBLE:
            kept = np.array([taken is None or place in taken for place in places])
            shares = chance * _softmax(np.where(kept, budget.point / 2 * values, -np.inf))
            yield from zip((place * unit for place in places), shares.tolist(), strict=True)


def _interval(quality: Peaked, offset: int, length: int, budget: Budget) -> tuple[range, float]:
    """Return the multiples of length/8 in the best of the intervals from offset on, as numbers, and
    its probability.
    """
    number = -((offset - quality.last - 1) // length)
    if number <= 0:
        return range(0), 0.0
    # of an interval with a best point, or nearest to one
    place = (max(quality.lows[-1], offset) - offset) // length
    start = offset + place * length
    inside = range(8 * start // length, 8 * (start + length) // length)
    if number == 1:
        return inside, 1.0
    best = quality.best_within(start, start + length)
    beside = [
        quality.best_within(offset + other * length, offset + (other + 1) * length)
        for other in (place - 1, place + 1)
        if 0 <= other < number
    ]
    return inside, _clears(budget.interval, budget.delta, best - max(beside))


@lru_cache(maxsize=1 << 16)
def _clears(epsilon: float, delta: float, margin: int) -> float:
    """Return the probability that the distance mechanism takes a leader of this margin, under
    replace-one.
    """
    mechanism = Distance(epsilon, delta, Neighbors.REPLACE_ONE)
    clears = mechanism.threshold + mechanism.sensitivity - margin + 1
    return laplace_tail(clears, mechanism.scale)


def _softmax(exponents: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(exponents - exponents.max())
    return np.asarray(weights / weights.sum())


def promised(bits: int, levels: int, share: float, budget: Budget, failure: float) -> int:
    """Return the n that the paper's Theorem 3.15 asks for, where r = n/2 is to be 8^N 4/(αε)
    (ln(32/(βδ)) + log^(N) T).

    N = levels + 1; β is a part of the probability of failure, 1/(3N); logarithms are natural; ε is
    the least of a step.
    """
    epsilon, depth = min(budget.length, budget.interval, budget.point), levels + 1
    iterated = bits * math.log(2)
    for _ in range(depth - 1):
        iterated = math.log(iterated)
    rest = math.log(32 * 3 * depth / (failure * budget.delta)) + iterated
    return math.ceil(2.0 * 8.0**depth * 4 / (share * epsilon) * rest)
