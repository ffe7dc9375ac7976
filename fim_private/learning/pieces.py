"""Pieces: a domain of whole numbers, cut into runs on which a score does not change, and an exact draw from it.

A score that counts values below and above a point changes at the values alone. So n values cut any domain into at most
2n + 1 runs, and the exponential mechanism over 2**64 points draws one of these, and then a point in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from fim_private.dp.randomness import Randomness
from fim_private.dp.weighted_choice import choose_level


@dataclass(frozen=True)
class Piece:
    """The points start, start + 1, ..., `length` of them, >= 1.

    below, above: how many values are smaller than any of these points, and larger.
    """

    start: int
    length: int
    below: int
    above: int


def pieces_of(values: Sequence[int], low: int, high: int) -> list[Piece]:
    """Cut the points low, ..., high - 1 into pieces, in ascending order: every value is one, and what lies between.

    values: (n,) ascending, each in low, ..., high - 1; low < high. The integers may be of any size.

    >>> [(piece.start, piece.length, piece.below, piece.above) for piece in pieces_of([2, 2, 5], 0, 6)]
    [(0, 2, 0, 3), (2, 1, 0, 1), (3, 2, 2, 1), (5, 1, 2, 0)]
    """
    pieces, start, below = [], low, 0
    for value, equal in groupby(values):
        number = sum(1 for _ in equal)
        if value > start:
            pieces.append(Piece(start, value - start, below, len(values) - below))
        pieces.append(Piece(value, 1, below, len(values) - below - number))
        start, below = value + 1, below + number
    if high > start:
        pieces.append(Piece(start, high - start, below, 0))
    return pieces


def draw_point(pieces: Sequence[Piece], distances: Sequence[int], rate: Fraction, *, randomness: Randomness) -> int:
    """Draw a point z with probability ∝ exp(-rate * distance of its piece), exactly.

    pieces: one or more. distances: (pieces,) integers >= 0, of any point of each; only differences matter, and the
    least should be near 0. rate: >= 0.
    """
    least = min(distances)
    place = choose_level(
        [distance - least for distance in distances],
        [piece.length for piece in pieces],
        rate,
        randomness=randomness,
    )
    return pieces[place].start + randomness.below(pieces[place].length)
