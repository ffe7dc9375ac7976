"""Integer noise, Laplace or Gaussian, drawn with floats: for benchmarks only, not private."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]


@dataclass(frozen=True)
class IntegerNoise:
    """P(noise = k) ∝ e^{-|k| / scale}, or e^{-k² / (2 scale²)} where gaussian; drawn with floats, out of a seed."""

    gaussian: bool
    scale: float

    def survival(self, distances: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return P(noise >= distance) for distances >= 1."""
        if self.gaussian:
            tail = gaussian_tail(self.scale)
            return tail[np.minimum(distances, len(tail) - 1)]
        return np.asarray(np.exp(-distances / self.scale) / (1 + math.exp(-1 / self.scale)))

    def excess(self, distance: int, number: int, rng: np.random.Generator) -> Int64:
        """Draw by how much the noise is above a distance >= 1, given that it is not below it."""
        if not self.gaussian:  # its tail is geometric
            return rng.geometric(-math.expm1(-1 / self.scale), number).astype(np.int64) - 1
        tail = gaussian_tail(self.scale)
        levels = tail[min(distance, len(tail) - 1)] * (1 - rng.random(number))
        # The largest x with P(noise >= x) >= level.
        place: Int64 = np.searchsorted(tail[::-1], levels, side="left").astype(np.int64)
        return len(tail) - 1 - distance - place

    def draw(self, number: int, rng: np.random.Generator) -> Int64:
        """Return so many draws of the noise, (number,)."""
        if not self.gaussian:
            share = -math.expm1(-1 / self.scale)
            return (rng.geometric(share, number) - rng.geometric(share, number)).astype(np.int64)
        tail = gaussian_tail(self.scale)
        zero = 1 - 2 * tail[1]
        sign = np.where(rng.random(number) < 0.5, -1, 1)
        return np.where(rng.random(number) < zero, 0, sign * (1 + self.excess(1, number, rng)))


@lru_cache(maxsize=4)
def gaussian_tail(scale: float) -> NDArray[np.float64]:
    """Return P(noise >= t) for t = 0, 1, ... up to 38 scales, where doubles end."""
    weights = np.exp(-((np.arange(math.ceil(38 * scale) + 2) / scale) ** 2) / 2)
    tail = np.cumsum(weights[::-1])[::-1]
    return np.asarray(tail / (2 * tail[0] - 1))
