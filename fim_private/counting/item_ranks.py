"""Items by rank: 0 is the most frequent. All counters go through them in this order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def rank_order(supports: NDArray[np.int64], min_support: int = 0) -> NDArray[np.int64]:
    """Return the codes of at least that support by descending support, ties by ascending code: (ranks,) int64.

    supports: (vocabulary,) units that have each item.
    """
    codes = np.flatnonzero(supports >= min_support)
    return codes[np.argsort(-supports[codes], kind="stable")]


def at_least(support: int, ranked: NDArray[np.int64]) -> int:
    """Return how many of the supports, (ranks,) descending, are at least support."""
    return int(np.searchsorted(-ranked, -support, side="right"))
