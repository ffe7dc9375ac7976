"""Pieces: a domain of whole numbers, cut into runs on which a score does not change, and an exact draw from it.

A score that counts values below and above a point changes at the values alone. So n values cut any domain into at most
2n + 1 runs, and the exponential mechanism over 2**64 points draws one of these, and then a point in it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from fim_private.dp.randomness import Randomness, bernoulli_exp
from fim_private.dp.weighted_choice import choose_level

# Pieces that are less likely than e^-40 all together are drawn by rejection: there may be very many of them.
_SPARE = 40


@dataclass(frozen=True)
class Pieces:
    """m >= 1 runs of points, in ascending order: the i-th is starts[i], starts[i] + 1, ..., lengths[i] of them, >= 1.

    below, above: (m,) how many values are smaller than any of these points, and larger.
    """

    starts: list[int]
    lengths: list[int]
    below: list[int]
    above: list[int]

    @classmethod
    def of(cls, values: Sequence[int], low: int, high: int) -> Pieces:
        """Cut the points low, ..., high - 1: every value is a piece, and what lies between two of them.

        values: (n,) ascending, each in low, ..., high - 1; low < high. The integers may be of any size.

        >>> Pieces.of([2, 2, 5], 0, 6)
        Pieces(starts=[0, 2, 3, 5], lengths=[2, 1, 2, 1], below=[0, 0, 2, 2], above=[3, 1, 1, 0])
        """
        starts, lengths, smaller, larger = [], [], [], []
        start, below, n = low, 0, len(values)
        for value, number in Counter(values).items():  # in the order in which they came
            if value > start:
                starts.append(start)
                lengths.append(value - start)
                smaller.append(below)
                larger.append(n - below)
            starts.append(value)
            lengths.append(1)
            smaller.append(below)
            start, below = value + 1, below + number
            larger.append(n - below)
        if high > start:
            starts.append(start)
            lengths.append(high - start)
            smaller.append(n)
            larger.append(0)
        return cls(starts, lengths, smaller, larger)

    def draw(self, distances: Sequence[int], rate: Fraction, *, randomness: Randomness) -> int:
        """Draw a point with probability ∝ exp(-rate * distance of its piece), exactly.

        distances: (m,) integers, of any point of each piece; only their differences matter. rate: > 0.

        Pieces far from the least distance are drawn together, as if they were at the nearest of these distances, and
        one of them is then kept with the probability that makes it right; else all is drawn anew.
        """
        least = min(distances)
        reach = max(0, math.ceil((sum(self.lengths).bit_length() + _SPARE) / rate))
        near = [place for place, distance in enumerate(distances) if distance - least <= reach]
        far = [place for place, distance in enumerate(distances) if distance - least > reach]
        ends = list(accumulate(self.lengths[place] for place in far))
        beyond = [(reach + 1, ends[-1])] if far else []
        levels = [(distances[place] - least, self.lengths[place]) for place in near] + beyond
        while True:
            chosen = choose_level(
                [distance for distance, _ in levels], [length for _, length in levels], rate, randomness=randomness
            )
            if chosen < len(near):
                place = near[chosen]
                return self.starts[place] + randomness.below(self.lengths[place])
            point = randomness.below(ends[-1])
            which = bisect_right(ends, point)
            place = far[which]
            excess = distances[place] - least - (reach + 1)
            if bernoulli_exp(rate * excess, 1, randomness=randomness)[0]:
                return self.starts[place] + ends[which] - 1 - point
