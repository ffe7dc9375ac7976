"""What a mechanism needs in order to succeed, from its parameters alone: no data is read here."""

from __future__ import annotations

from fim_private.mechanisms import LargeMargin
from fim_private.mechanisms.noise import LaplaceSum

CONFIDENCE = 0.95


def required_support(mechanism: LargeMargin, confidence: float = CONFIDENCE) -> int:
    """Return the support, in units, at which one itemset far above all others is released.

    confidence: the probability of releasing it, in (0, 1). Only stopping at rank 1 is counted, so the figure
    is the lead over the runner-up that a single leader needs, never too low.
    """
    noise = LaplaceSum.of(mechanism.scales)
    threshold = mechanism.integer_threshold(1)

    # Rank 1 stops when Z_1 + G - Z < c - T̂(1), and the sum is symmetric.
    def succeeds(support: int) -> bool:
        return noise.tail(1 - (support - threshold)) >= confidence

    high = 1
    while not succeeds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if succeeds(middle) else (middle, high)
    return high
