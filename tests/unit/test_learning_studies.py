"""What the studies of private learners compute: sanitizers, densities and sizes, on small data."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from benchmarks.learning import densities


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
