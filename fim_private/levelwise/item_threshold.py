"""The noisy weight from which on an item that nobody listed may be named."""

from __future__ import annotations

import math
from fractions import Fraction

from fim_private.dp.rounded_normal import least_exceeding
from fim_private.levelwise.gaussian_budget import GRID

# Up to this δ the threshold is largest at one of its two ends (Theorem 13).
LARGEST_DELTA = Fraction(1, 20)


def item_threshold(variance: Fraction, delta: Fraction, most: int) -> int:
    """Return T, in multiples of 1/GRID, with which items of one unit alone come out with probability delta at most.

    variance: of the noise, in units squared, > 0. delta: > 0, <= LARGEST_DELTA. most: items that a unit may have, >= 1.
    Of t items of its own, each of weight 1/√t at most, some comes out with probability t P(noise >= T - 1/√t) at most.
    So T must be at least 1/√t + σ Q⁻¹(delta/t) for each t = 1 … most. That falls and then rises in t, so the ends
    suffice (equation 10); both are rounded up.
    """
    return max(math.isqrt(GRID**2 // t) + 1 + least_exceeding(variance * GRID**2, delta / t) for t in {1, most})
