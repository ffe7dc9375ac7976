"""The noisy weight from which on an item that nobody listed may be named."""

from __future__ import annotations

import math
from fractions import Fraction

from fim_private.dp.bisection import least_integer
from fim_private.dp.rounded_normal import least_exceeding, rounded_normal_tail
from fim_private.levelwise.gaussian_budget import GRID

# Up to this δ the threshold follows from the largest weights that one item, or all items, can have: g(1) <= δ gives
# T - 1 >= 1.64 σ (Theorem 14).
LARGEST_DELTA = Fraction(1, 20)


def item_threshold(variance: Fraction, delta: Fraction, most: int) -> int:
    """Return T, in multiples of 1/GRID, with which items of one unit alone come out with probability delta at most.

    variance: of the noise, in units squared, > 0. delta: > 0, <= LARGEST_DELTA. most: items that a unit may have, >= 1.
    Their squared weights add up to 1 at most. Then one comes out with probability p + max(p, q) at most: p is that of
    one item of weight 1, q the sum of those of `most` items of weight 1/√most. Where T is at most 1 + σ², q alone is
    enough (Theorem 14, equation 10). All roundings are upwards.
    """
    sigma2, root = variance * GRID**2, math.isqrt((GRID**2 - 1) // most) + 1

    def one(t: int) -> Fraction:
        return rounded_normal_tail(sigma2, t - GRID)

    def spread(t: int) -> Fraction:
        return most * rounded_normal_tail(sigma2, t - root)

    least = max(GRID + least_exceeding(sigma2, delta), root + least_exceeding(sigma2, delta / most))
    if most == 1 or least - GRID <= variance * GRID:
        return least
    return least_integer(lambda t: one(t) + max(one(t), spread(t)) <= delta, least)
