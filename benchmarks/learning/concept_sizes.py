"""How many rows the learners of fim_private.learning take: points, thresholds and boxes. Exact but for the boxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.frame.bisection import least_lasting
from fim_private.learning.concepts import learn_box
from fim_private.mechanisms import Distance
from fim_private.spectrum import SupportSpectrum

# The relation of the paper, whose sizes they are held against.
SUCCESS, DELTA, NEIGHBORS = 0.95, 1e-6, "replace-one"


def least(succeeds: Callable[[int], bool]) -> int:
    """Return the least n >= 2 from which on a success, whose probability grows with n but for rounding, is sure."""
    return least_lasting(succeeds, 1, 2, 50)


def positives(epsilon: float) -> Any:
    """Return how many rows labelled True the point takes, all others being labelled False, in any domain."""
    mechanism = Distance(epsilon, DELTA, NEIGHBORS)

    def succeeds(n: int) -> bool:
        found = mechanism.distribution(SupportSpectrum.from_supports([n], 1 << 64))
        return bool(found.probabilities[0] >= SUCCESS)

    return {"measured": least(succeeds)}


def _enough(mistakes: Sequence[float], number: Sequence[float], wrong: float, epsilon: float) -> bool:
    """Whether thresholds with fewer than `wrong` mistakes have 95 % of the weight. number: logarithms of how many."""
    exponents = np.array(number) - epsilon / 2 * np.array(mistakes)
    weights = np.exp(exponents - exponents.max())
    return bool(weights[np.array(mistakes) < wrong].sum() >= SUCCESS * weights.sum())


def threshold(bits: int, error: float, epsilon: float, private: str) -> Any:
    """Return the rows that a threshold takes to be wrong about fewer than error n of them: measured, and as promised.

    hardest: all values at the end of the domain, so that nearly all thresholds are wrong about just error n rows; with
    private labels the harder of the next and all rows labelled True. uniform: values evenly spaced, half labelled True.
    """
    odds = math.log(SUCCESS / (1 - SUCCESS))

    def hardest(n: int) -> bool:
        wrong = math.ceil(error * n)
        below, above = bits * math.log(2) + math.log1p(-(2.0**-bits)), 0.0
        return _enough([wrong, 0, n - wrong], [below, 0.0, above], error * n, epsilon)

    def uniform(n: int) -> bool:
        each = 0.0 if private == "labels" else bits * math.log(2) - math.log(n)
        return _enough([abs(place - n // 2) for place in range(n + 1)], [each] * (n + 1), error * n, epsilon)

    def apart(n: int) -> bool:
        return _enough([*range(n + 1)], [0.0] * (n + 1), error * n, epsilon)  # all rows labelled True

    def promised(n: int) -> bool:
        number = math.log(n) if private == "labels" else bits * math.log(2)
        return n >= 2 / (error * epsilon) * (number + odds)

    found = {"uniform": least(uniform), "promised": least(promised)}
    return {"hardest": max(least(apart if private == "labels" else hardest), found["uniform"]), **found}


def box(columns: int, rows: int, bits: int, error: float, epsilon: float, runs: int, seed: int) -> Any:
    """Return the share of runs in which the box errs by `error` or less, and the mean error, on half of the rows True.

    Rows are uniform, and the true box has half of the volume, in the middle. Its error is that of new rows.
    """
    generator = np.random.default_rng(seed)
    size, side = 1 << bits, 0.5 ** (1 / columns)
    low, high = round((1 - side) / 2 * size), round((1 + side) / 2 * size) - 1
    errors = []
    for run in range(runs):
        sample = generator.integers(0, size, (rows, columns))
        labels = ((sample >= low) & (sample <= high)).all(axis=1)
        options: Any = {"bits": bits, "error": error, "epsilon": epsilon, "neighbors": NEIGHBORS}
        found = learn_box(sample, labels, **options, seed=seed + run)
        volumes = [
            math.prod(max(0, min(b, d) - max(a, c) + 1) / size for (a, b), (c, d) in zip(one, two, strict=True))
            for one, two in ((found, found), (found, [(low, high)] * columns), ([(low, high)] * columns,) * 2)
        ]
        errors.append(volumes[0] + volumes[2] - 2 * volumes[1])
    return {"share": float(np.mean(np.array(errors) <= error)), "mean": float(np.mean(errors)), "runs": runs}


def box_promised(columns: int, bits: int, error: float, epsilon: float) -> int:
    """Return the n for which Theorem 26 promises 95 % for the box, on the rows at hand."""
    rest = bits * math.log(2) + math.log(2 * columns / (1 - SUCCESS))
    return math.ceil(16 * columns**2 / (error * epsilon) * rest + 4 * columns / error)
