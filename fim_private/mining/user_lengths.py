"""How many items users have, in public bins, and what an item weighs when users are scaled to a fixed norm."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.weighted_items import ItemSource
from fim_private.levelwise.gaussian_budget import GRID

# A bin has the lengths from one power of two to the next, the last all from 1,024 on, up to what the grid resolves.
_BINS = 11
_LONGEST = GRID - 1
# A bin below so many σ of its noise is taken for empty.
_EMPTY = 2.0


def users_by_length(items: ItemSource) -> NDArray[np.int64]:
    """Return how many users have so many distinct items, in multiples of 1 / GRID: (bins,) int64.

    A user adds at most 1 to one of them: one of t items has the weight ⌊GRID / t⌋ / GRID for each.
    """
    lengths = np.arange(_LONGEST + 1)
    bins = np.minimum(np.log2(np.maximum(lengths, 1)).astype(np.int64), _BINS - 1)
    weights = np.where(lengths > 0, GRID // np.maximum(lengths, 1), 0)
    return np.array([items.sums(np.where(bins == each, weights, 0)).sum() for each in range(_BINS)], dtype=np.int64)


def mean_item_weight(users: NDArray[np.float64], deviation: float) -> float:
    """Return about what an item weighs where a user of t items gives 1/√t to each: above 0, at most 1.

    The mean is over all items of all users. users: (bins,) noisy numbers. deviation: σ of the noise.
    """
    shown = np.where(users < _EMPTY * deviation, 0.0, users)
    middle = sqrt(2) * np.exp2(np.arange(len(users)))
    held = shown * middle
    return float((held / np.sqrt(middle)).sum() / held.sum()) if held.any() else 1.0
