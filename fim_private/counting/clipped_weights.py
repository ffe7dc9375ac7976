"""Clipped weights: what a unit gives to each of its candidates, so that all together have a bounded L2 norm."""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.parameters import positive_integer

# Products up to here are exact in int64.
_EXACT = 1 << 62


def clipped_weights(bound: int, largest: int, scale: int) -> NDArray[np.int64]:
    """Return the weight of each of a unit's candidates where it holds m of them, m = 0..largest: (largest + 1,) int64.

    The weight is floor(scale · min(1, sqrt(bound / m))), exactly, 0 for m = 0: in multiples of 1 / scale the vector of
    such a unit has an L2 norm of at most sqrt(bound), as m · weight² <= scale² · bound. It falls as m grows.
    bound: the square of that norm, >= 1. largest: candidates, >= 0. scale: >= 1, below 2^63.
    Raises ParameterError where bound or scale is no positive whole number.
    Weights of this form: Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, "Differentially private set union", 2020.

    >>> clipped_weights(2, 4, 100).tolist()
    [0, 100, 100, 81, 70]
    """
    bound, scale = positive_integer("bound", bound), positive_integer("scale", scale)
    weights = np.full(largest + 1, scale, dtype=np.int64)
    weights[0] = 0
    if largest > bound:
        weights[bound + 1 :] = _roots(scale * scale * bound, np.arange(bound + 1, largest + 1, dtype=np.int64), scale)
    return weights


def _roots(top: int, counts: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return floor(sqrt(top / count)) for each count, (n,) int64 >= 1 ascending; all of them are at most `most`."""
    if (most + 2) ** 2 * int(counts[-1]) > _EXACT:
        return np.array([isqrt(top // count) for count in counts.tolist()], dtype=np.int64)
    # The guess is off by far less than 1, so its floor by 1 at most.
    guess = np.sqrt(top / counts).astype(np.int64)
    guess -= guess * guess * counts > top
    guess += (guess + 1) ** 2 * counts <= top
    return guess
