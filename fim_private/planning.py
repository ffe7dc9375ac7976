"""What a mechanism needs in order to succeed, from its parameters alone: no data is read here."""

from __future__ import annotations

from dataclasses import replace

from fim_private.mechanisms import LargeMargin
from fim_private.spectrum import SupportSpectrum

CONFIDENCE = 0.95


def required_support(mechanism: LargeMargin, confidence: float = CONFIDENCE) -> int:
    """Return the support, in units, at which one itemset far above all others is released.

    confidence: the probability of releasing it, in (0, 1); stopping at rank 1 alone counts, so the
        figure is the margin that a single leader needs over the runner-up, never too low.
    """
    first_rank_only = replace(mechanism, max_rank=1)

    def succeeds(support: int) -> bool:
        alone = SupportSpectrum.from_supports([support])
        return bool(first_rank_only.distribution(alone).probabilities[0] >= confidence)

    high = 1
    while not succeeds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if succeeds(middle) else (middle, high)
    return high
