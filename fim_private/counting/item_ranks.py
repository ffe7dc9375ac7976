"""What all counters share: the rank order of items, and levels out of a histogram."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fim_private.spectrum import Level


@dataclass(frozen=True)
class Top:
    """levels: descending, all that there are at or above floor (and below what was known before).

    work: steps that it took, roughly.
    """

    levels: list[Level]
    floor: int
    work: int = 0


def rank_order(supports: NDArray[np.int64], min_support: int = 0) -> NDArray[np.int64]:
    """Return the codes of at least that support by descending support, ties by ascending code."""
    codes = np.flatnonzero(supports >= min_support)
    return codes[np.argsort(-supports[codes], kind="stable")]


def at_least(support: int, ranked: NDArray[np.int64]) -> int:
    """Return how many of the supports, descending, are at least support."""
    return int(np.searchsorted(-ranked, -support, side="right"))


def descending(histogram: NDArray[np.int64], floor: int) -> list[Level]:
    """Return the levels of a histogram of supports, from the top down to floor >= 1."""
    supports = np.flatnonzero(histogram[floor:])[::-1] + floor
    return list(zip(supports.tolist(), histogram[supports].tolist(), strict=True))
