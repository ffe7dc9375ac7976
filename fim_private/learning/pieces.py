"""A domain of whole numbers, cut by sorted values into runs: stretches in which every point has the same rank.

So a mechanism over 2**64 points weighs at most 2n + 1 runs, each as often as it has points, and is exact all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from fim_private.dp.randomness import Randomness
from fim_private.dp.weighted_choice import choose_level


class Run(NamedTuple):
    """The points start, start + 1, …, of which there are `length` >= 1.

    below, above: how many of the values are smaller than each of these points, and how many are larger.
    """

    start: int
    length: int
    below: int
    above: int


def runs(values: Sequence[int], low: int, high: int) -> list[Run]:
    """Cut [low, high) into runs, in ascending order: one for each value, and one for each gap that has points.

    values: (n,) integers in [low, high), ascending; n may be 0. low < high: of any size.

    >>> runs([3, 3, 5], 0, 6)
    [Run(start=0, length=3, below=0, above=3), Run(start=3, length=1, below=0, above=1), \
Run(start=4, length=1, below=2, above=1), Run(start=5, length=1, below=2, above=0)]
    """
    found: list[Run] = []
    total, place, start = len(values), 0, low
    while place < total:
        value = values[place]
        if value > start:
            found.append(Run(start, value - start, place, total - place))
        after = place
        while after < total and values[after] == value:
            after += 1
        found.append(Run(value, 1, place, total - after))
        place, start = after, value + 1
    if start < high:
        found.append(Run(start, high - start, total, 0))
    return found


def choose_point(pieces: Sequence[Run], distances: Sequence[int], rate: Fraction, randomness: Randomness) -> int:
    """Choose a point with probability ∝ exp(-rate * distance), exactly.

    pieces: (m,) runs, m >= 1. distances: (m,) integers >= 0, that of each point of a run, the smallest near 0.
    rate: >= 0, per unit of distance.
    """
    run = pieces[choose_level(distances, [piece.length for piece in pieces], rate, randomness=randomness)]
    return run.start + randomness.below(run.length)
