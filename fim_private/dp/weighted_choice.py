"""An exact choice among levels, each weighted by its multiplicity and exponentially by its support."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from fim_private.dp.intervals import Bounds, exp_bounds, precisions
from fim_private.dp.randomness import Randomness, UniformReal


def choose_level(
    distances: Sequence[int], multiplicities: Sequence[int], rate: Fraction, *, randomness: Randomness
) -> int:
    """Choose an index j with probability ∝ multiplicities[j] * exp(-rate * distances[j]), exactly.

    distances: (m,) integers >= 0, the smallest of which should be 0 or near it. rate: >= 0, per unit of distance.
    multiplicities: (m,) integers >= 0 of any size (10**60 is fine), not all 0.
    The cumulative weights are known as intervals. The uniform number is refined until it lies inside one for certain.
    """
    uniform = UniformReal(randomness=randomness)
    for bits in precisions(96 + sum(multiplicities).bit_length()):
        weights = _decays(distances, rate, bits)
        lower = list(accumulate(m * w[0] for m, w in zip(multiplicities, weights, strict=True)))
        upper = list(accumulate(m * w[1] for m, w in zip(multiplicities, weights, strict=True)))
        digits = uniform.digits(bits)
        target_lower = digits * lower[-1] >> bits
        target_upper = ((digits + 1) * upper[-1] >> bits) + 1
        chosen = bisect_right(upper, target_lower)  # every weight before it lies below the target
        if chosen < len(lower) and target_upper <= lower[chosen]:
            return chosen
    raise AssertionError("precisions() never ends")  # pragma: no cover


def _decays(distances: Sequence[int], rate: Fraction, bits: int) -> list[Bounds]:
    """Bound ``2**bits * exp(-rate * d)`` for each distance d, each from the next smaller one, since gaps repeat."""
    decays: list[Bounds] = [(0, 0)] * len(distances)
    before, lower, upper = 0, 1 << bits, 1 << bits
    for place in sorted(range(len(distances)), key=distances.__getitem__):
        if (gap := distances[place] - before) and upper > 1:
            low, high = exp_bounds(rate.numerator * gap, rate.denominator, bits)
            lower, upper = lower * low >> bits, (upper * high >> bits) + 1
        before = distances[place]
        decays[place] = lower, upper
    return decays
