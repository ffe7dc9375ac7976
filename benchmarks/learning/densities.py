"""The width of a private histogram, chosen in four ways (Chaudhuri and Vinterbo, NIPS 2013, section on densities).

A histogram with bins of width h of n training values has discrete Laplace noise of scale 2/α₁ on its counts C_j, which
are then cut to [0, n]; its density is C_j/(nh). Its score on m validation values is twice its mean density on them less
∫ of its square: up to a constant the negative integrated squared error. Exchanging a training value moves two counts by
1 and so the score by at most 4/(nh); a validation value, by at most 2/(mh): (4/h, 2/h, 0)-stable, without any δ,
because noise in whole numbers moves no cut count by more than the value did.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = (4, 8, 16, 32, 64, 128)  # each halves the bins of the one before
CONTROL, STABILITY, SPLIT, RANDOM = "Control", "Stability", "alphaSplit", "Random"
WAYS = (CONTROL, STABILITY, SPLIT, RANDOM)
Cells = NDArray[np.float64]


def true_cells() -> Cells:
    """Return the probability of each of the finest bins: a wide hill and a narrow one on [0, 1)."""
    middle = (np.arange(BINS[-1]) + 0.5) / BINS[-1]
    hills = (
        0.7 * np.exp(-(((middle - 0.35) / 0.15) ** 2) / 2) / 0.15
        + 0.3 * np.exp(-(((middle - 0.75) / 0.02) ** 2) / 2) / 0.02
    )
    return np.asarray(hills / hills.sum())


def trained(cells: Cells, bins: int, alpha: float, generator: np.random.Generator) -> Cells:
    """Return the density of a private histogram at each of the finest bins. cells: how many values each has."""
    n = cells.sum()
    counts = cells.reshape(bins, -1).sum(axis=1)
    one, two = generator.geometric(-math.expm1(-alpha / 2), (2, bins))
    density = np.clip(counts + one - two, 0, n) * bins / n
    return np.repeat(density, BINS[-1] // bins)


def score(density: Cells, cells: Cells) -> float:
    """Return twice the mean density on values less ∫ density². cells: of the values, or the truth."""
    return float(2 * (density * cells).sum() / cells.sum() - (density**2).mean())


def stability(n: int, m: int) -> float:
    """Return β: by how much one value of either set moves the score of any of the histograms."""
    return max(4 * BINS[-1] / n, 2 * BINS[-1] / m)


def compared(n: int, alpha: float, runs: int, seed: int) -> Any:
    """Return, of n training and n validation values, each way's mean integrated squared error at α in all.

    Half of α trains and half chooses. Stability is Algorithm 1 and trains the winner again (Algorithm 2). alphaSplit
    trains all with a part of the half each, so that they may be published, and pays for the validation values alone.
    Control chooses by the score as it is, which is not private. Also the 95 % quantile of what Stability's choice loses
    in score, and of what Theorem 3 bounds it with.
    """
    generator, truth, half = np.random.default_rng(seed), true_cells(), alpha / 2
    constant = float((truth**2).sum() * BINS[-1])
    errors: dict[str, list[float]] = {way: [] for way in WAYS}
    lost = []
    for _ in range(runs):
        training, validation = (generator.multinomial(n, truth).astype(float) for _ in range(2))
        full = [trained(training, bins, half, generator) for bins in BINS]
        split = [trained(training, bins, half / len(BINS), generator) for bins in BINS]
        scores, of_split = (np.array([score(d, validation) for d in each]) for each in (full, split))
        noise = generator.exponential(1 / half, (2, len(BINS)))
        stable = int(np.argmax(scores + 2 * stability(n, n) * noise[0]))
        chosen = {
            CONTROL: full[int(np.argmax(scores))],
            STABILITY: trained(training, BINS[stable], half, generator),
            SPLIT: split[int(np.argmax(of_split + 2 * (2 * BINS[-1] / n) * noise[1]))],
            RANDOM: trained(training, BINS[int(generator.integers(len(BINS)))], alpha, generator),
        }
        for way, density in chosen.items():
            errors[way].append(constant - score(density, truth))
        lost.append(float(scores.max() - scores[stable]))
    bound = 2 * stability(n, n) * math.log(len(BINS) / 0.05) / half
    means = {way: float(np.mean(values)) for way, values in errors.items()}
    deviations = {way: float(np.std(values) / math.sqrt(runs)) for way, values in errors.items()}
    return {
        "error": means,
        "deviation": deviations,
        "lost": float(np.quantile(lost, 0.95)),
        "bound": bound,
        "runs": runs,
    }
