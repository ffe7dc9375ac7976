"""A histogram on [0, 1) as a density, made private, and a validation score by which its number of bins is chosen.

Noise on counts is whole, so that replacing a unit moves a noisy count by 0 or 1, also after it was cut to [0, n]; they
are divided by n, which is public. Then the score below is (4/h, 2/h, 0)-stable for bins of width h, and nothing is to
be added for what rarely happens (docs/privacy.md, after Theorem 22).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from benchmarks.tuning.ways import BEST, CONTROL, KEPT, PARALLEL, RANDOM, SPLIT, STABILITY, STOP
from fim_private.dp.randomness import Randomness, discrete_laplace, discrete_laplace_integer
from fim_private.learning import best_of, train_and_validate, validate

WAYS = (CONTROL, STABILITY, KEPT, SPLIT, PARALLEL, RANDOM, BEST)
_SCORE_STEPS = 1024


@dataclass(frozen=True)
class Histogram:
    """kept: (bins,) whole numbers in [0, n]: the noisy counts, cut. units: n.

    The density in bin j is kept[j] * bins / n.
    """

    kept: tuple[int, ...]
    units: int

    def score(self, counts: Sequence[int]) -> Fraction:
        """Return 2/m Σ f(v) - ∫ f² for m values to validate with, by their counts in the bins; higher is better."""
        bins = len(self.kept)
        hits = Fraction(2 * sum(k * c for k, c in zip(self.kept, counts, strict=True)), sum(counts))
        return bins * (hits / self.units - Fraction(sum(k * k for k in self.kept), self.units**2))

    def squared_error(self, density: NDArray[np.float64]) -> float:
        """Return ∫ (f - f*)² for a density f* of as many values as a multiple of the bins, each of one cell."""
        heights = np.repeat(np.array(self.kept) * len(self.kept) / self.units, len(density) // len(self.kept))
        return float(np.mean((heights - density) ** 2))


def histogram(counts: Sequence[int], noise: Sequence[int]) -> Histogram:
    """Return the histogram of counts with this noise, whole numbers."""
    units = sum(counts)
    return Histogram(tuple(min(max(c + z, 0), units) for c, z in zip(counts, noise, strict=True)), units)


def binned(cells: NDArray[np.int64], bins: int) -> list[int]:
    """Return how many values are in each bin, of how many are in each cell."""
    return [int(count) for count in cells.reshape(bins, -1).sum(axis=1)]


def private_histogram(cells: NDArray[np.int64], bins: int, epsilon: Fraction, randomness: Randomness) -> Histogram:
    """Return an (epsilon, 0)-private histogram: replacing a unit moves two counts by 1."""
    return histogram(binned(cells, bins), discrete_laplace(2 / epsilon, bins, randomness=randomness).tolist())


def stability(units: int, validated: int, bins: int) -> Fraction:
    """Return β for histograms of at most so many bins: max(4/(hn), 2/(hm))."""
    return max(Fraction(4 * bins, units), Fraction(2 * bins, validated))


def choose(
    way: str,
    training: NDArray[np.int64],
    validation: NDArray[np.int64],
    bins: Sequence[int],
    alpha: Fraction,
    seed: int,
) -> Histogram:
    """Return the histogram that a way of `ways` chooses: of n values to train on, and m to validate with, by cells."""
    randomness, rows = Randomness.seeded(seed), int(validation.sum())
    beta = stability(int(training.sum()), rows, max(bins))

    def score(made: Histogram) -> Fraction:
        return made.score(binned(validation, len(made.kept)))

    def trained(place: int, epsilon: Fraction) -> Histogram:
        return private_histogram(training, bins[place], epsilon, randomness)

    if way == CONTROL:
        return max((histogram(binned(training, b), [0] * b) for b in bins), key=score)
    if way in (STABILITY, KEPT):
        kept = way == KEPT
        return train_and_validate(
            lambda place: trained(place, alpha / 2),
            score,
            len(bins),
            stability=beta,
            epsilon=alpha if kept else alpha / 2,
            retrain=not kept,
            seed=seed + 1,
        )[1]
    if way in (SPLIT, PARALLEL):
        half = alpha / 2 if way == SPLIT else alpha
        models = [trained(place, half / len(bins)) for place in range(len(bins))]
        one_row = Fraction(2 * max(bins), rows)
        return models[validate([score(one) for one in models], stability=one_row, epsilon=half, seed=seed + 1)]
    if way == RANDOM:
        return trained(randomness.below(len(bins)), alpha)

    def run(place: int) -> tuple[Fraction, Histogram]:
        made = trained(place, alpha / 3)
        unit = Fraction(2 * max(bins), rows * _SCORE_STEPS)
        noise = discrete_laplace_integer(_SCORE_STEPS / (alpha / 3), randomness=randomness)
        return score(made) // unit + noise * Fraction(1), made

    return best_of(run, len(bins), stop=STOP, epsilon=alpha, seed=seed + 1)[1]
