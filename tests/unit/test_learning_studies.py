"""What the studies of private learners compute: sanitizers, densities and sizes, on small data."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest

import fim_private as fim
from benchmarks.learning import concept_sizes, densities, sanitizers


@pytest.mark.parametrize("shape", sanitizers.THRESHOLDS)
def test_san_thresholds_puts_nearly_all_values_somewhere_near(shape: str) -> None:
    counts = sanitizers.THRESHOLDS[shape](10**8, 3)
    assert counts.sum() == 10**8
    run = sanitizers.SanThresholds(counts, 0.1, 1.0, 1e-6, np.random.default_rng(1))
    estimates = run.run()
    assert run.calls > 0
    assert estimates.sum() == pytest.approx(10**8, rel=0.01)
    assert np.abs(np.cumsum(estimates) - np.cumsum(counts)).max() < 10**7


def test_one_value_moves_the_score_of_a_histogram_no_more_than_is_said() -> None:
    # All data of three training values in two bins, and of two validation values, with any noise on the counts.
    n, m, bins = 3, 2, 2

    def density(counts: tuple[int, ...]) -> densities.Cells:
        return np.repeat(np.clip(np.array(counts, dtype=float), 0, n) * bins / n, densities.BINS[-1] // bins)

    fine = densities.BINS[-1]
    places = [np.bincount(np.array(pair) * (fine // bins), minlength=fine).astype(float) for pair in ((0, 0), (0, 1))]
    most = 0.0
    for noise in range(-4, 5):
        for one, two in combinations_with_replacement(range(n + 1), 2):
            if two - one != 1:
                continue
            first, second = (density((c + noise, n - c - noise)) for c in (one, two))
            most = max(most, *(abs(densities.score(first, v) - densities.score(second, v)) for v in places))
    assert 2 * bins / n < most <= 4 * bins / n
    steep = density((n, 0))
    assert abs(densities.score(steep, places[0]) - densities.score(steep, places[1])) == pytest.approx(2 * bins / m)


def test_the_score_of_a_histogram_is_less_by_its_squared_error() -> None:
    truth = densities.true_cells()
    best = densities.score(truth * densities.BINS[-1], truth)
    flat = np.ones(densities.BINS[-1])
    error = float(((flat - truth * densities.BINS[-1]) ** 2).mean())
    assert best - densities.score(flat, truth) == pytest.approx(error)
    found = densities.compared(3000, 1.0, 5, 1)
    assert all(error > 0 for error in found["error"].values())
    assert found["lost"] <= found["bound"]


def test_thresholds_take_what_is_promised_on_the_hardest_data() -> None:
    found = concept_sizes.threshold(6, 0.2, 1.0, "rows")
    n = found["hardest"]
    assert n <= found["promised"] <= n + 1 / 0.2

    def success(rows: int) -> float:
        # All values at the last two points: thresholds up to the last but one are wrong about 0.2 n rows just so.
        wrong = math.ceil(0.2 * rows)
        labels = [False] * wrong + [True] * (rows - wrong)
        values = [62] * wrong + [63] * (rows - wrong)
        right = [sum((v >= t) == label for v, label in zip(values, labels, strict=True)) for t in range(65)]
        weights = [math.exp(0.5 * (r - rows)) for r in right]
        return weights[63] / math.fsum(weights)

    assert success(n) >= 0.95 > success(n - 5)
    drawn = [
        fim.learn_threshold([62] * 20 + [63] * 80, [False] * 20 + [True] * 80, bits=6, epsilon=1.0, seed=seed)
        for seed in range(100)
    ]
    assert drawn.count(63) > 85
