"""The margin of a quality of sensitivity 1 has sensitivity 2: what A_dist's constants cost if that is overlooked.

A_dist (Smith and Thakurta 2013) releases the best candidate if its margin over the second, with noise, exceeds a
threshold. With noise of scale 1/ε and the threshold ln(1/δ)/ε it is (ε, δ)-private if the margin moves by 1. Under
replace-one the best can lose 1 and the second gain 1. By exact probabilities, over all pairs of margins that neighbours
can have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fim_private.mechanisms import Distance
from fim_private.mechanisms.noisy_max import LaplaceSum

# The probability that a leader with so large a margin is released; beyond MOST it is 1 for all that matters.
Released = Callable[[int], float]
MOST = 400


def overlooked(epsilon: float, delta: float) -> Released:
    """Return the probability of a release with Laplace noise of scale 1/ε, and the threshold ln(1/δ)/ε."""

    def released(margin: int) -> float:
        beyond = epsilon * margin - math.log(1 / delta)  # by so many scales the margin exceeds the threshold
        return 1 - math.exp(-beyond) / 2 if beyond > 0 else math.exp(beyond) / 2

    return released


def corrected(epsilon: float, delta: float) -> Released:
    """Return the probability of a release by fim_private.mechanisms.Distance under replace-one."""
    mechanism = Distance(epsilon, delta, "replace-one")
    noise, needed = LaplaceSum.of([mechanism.scale]), mechanism.threshold + mechanism.sensitivity + 1
    return lambda margin: noise.tail(needed - margin)


def used(released: Released, epsilon: float) -> dict[str, float]:
    """Return the δ that neighbours need at ε: with the same leader, and where another may lead.

    Margins of neighbours differ by 2 at most; where the leaders differ, they have margins that add up to 2 at most.
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
