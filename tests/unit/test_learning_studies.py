"""The studies of private learners: RecConcave against the paper's steps, point for point, and a
histogram's score.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from selection_oracles import distance_threshold

from benchmarks.learning import learners, rec_concave
from benchmarks.learning.rec_concave import Budget, Peaked

BUDGET = Budget(1.0, 2.0, 0.5, 0.1)
Law = dict[int, float]


def softmax(points: dict[int, int], epsilon: float) -> Law:
    weights = {point: math.exp(epsilon / 2 * quality) for point, quality in points.items()}
    return {point: weight / math.fsum(weights.values()) for point, weight in weights.items()}


def released(margin: int, budget: Budget) -> float:
    ratio = math.exp(-budget.interval / 2)
    needed = distance_threshold(budget.interval, budget.delta, "replace-one") + 3 - margin
    return ratio**needed / (1 + ratio) if needed > 0 else 1 - ratio ** (1 - needed) / (1 + ratio)


def slow(qualities: list[int], promise: float, share: float, levels: int, base: int) -> Law:
    """Steps 1 to 8, on a list of qualities of the points 0, …, T."""
    last = len(qualities) - 1
    if levels == 0 or last <= base:
        return softmax(dict(enumerate(qualities)), BUDGET.length)
    powers = next(power for power in range(20) if 1 << power >= last)
    extended = [*qualities, *[min(0, qualities[-1])] * ((1 << powers) - last)]

    def of_intervals(power: int) -> int:
        if power > powers:
            return min(0, of_intervals(powers))
        length = 1 << power
        return max(min(extended[i : i + length]) for i in range(len(extended) - length + 1))

    steps = [
        math.floor(min(of_intervals(j) - (1 - share) * promise, promise - of_intervals(j + 1)))
        for j in range(powers + 1)
    ]
    found: Law = {}
    for power, chance in slow(steps, share * promise / 2, 0.25, levels - 1, base).items():
        unit = 1 << power
        taken: list[tuple[set[int], float]] = []
        for offset in (0, 4 * unit):
            best = {
                first: max(qualities[first : first + 8 * unit])
                for first in range(offset, last + 1, 8 * unit)
            }
            first, *others = sorted(best, key=lambda start: -best[start]) or [last + 1]
            clears = (
                released(best[first] - best[others[0]], BUDGET) if others else float(bool(best))
            )
            taken.append(
                ({z for z in range(first, first + 8 * unit) if z <= last and z % unit == 0}, clears)
            )
        (first_set, one), (second_set, two) = taken
        for points, weight in (
            (first_set | second_set, one * two),
            (first_set, one * (1 - two)),
            (second_set, (1 - one) * two),
        ):
            for point, share_of in (
                softmax({z: qualities[z] for z in points}, BUDGET.point).items() if points else ()
            ):
                found[point] = found.get(point, 0.0) + chance * weight * share_of
    return found


def qualities_of(values: list[int], last: int) -> list[int]:
    return [min(sum(v <= z for v in values), sum(v >= z for v in values)) for z in range(last + 1)]


@given(
    values=st.lists(st.integers(0, 63), min_size=1, max_size=20),
    share=st.sampled_from([1.0, 0.5]),
    levels=st.sampled_from([0, 1, 2]),
)
@example(values=[31] * 10 + [32] * 10, share=0.5, levels=2)
@example(values=[0] * 9, share=1.0, levels=1)
@example(values=[63] * 9, share=0.5, levels=2)
def test_the_law_is_that_of_the_steps(values: list[int], share: float, levels: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rec_concave, "_BASE", 3)
        quality = Peaked.of_values(sorted(values), 63)
        found = rec_concave.law(quality, len(values) / 2, share, levels, BUDGET)
        expected = slow(qualities_of(values, 63), len(values) / 2, share, levels, 3)
        # Where several intervals are tied for the best, which of them is taken is not said; then δ
        # is all there is.
        assert math.fsum(found.values()) == pytest.approx(math.fsum(expected.values()), abs=1e-9)
        tied = math.fsum(abs(found.get(z, 0) - expected.get(z, 0)) for z in range(64)) / 2
        assert tied <= (2 * BUDGET.delta if levels else 0) + 1e-9
        if not levels:
            return
        low, high = min(values), max(values)
        within = rec_concave.law(
            quality, len(values) / 2, share, levels, BUDGET, within=(low, high)
        )
        assert math.fsum(within.values()) == pytest.approx(
            math.fsum(p for z, p in found.items() if low <= z <= high)
        )


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_a_margin_of_sensitivity_1_breaks_delta(epsilon: float) -> None:
    found: Any = rec_concave.exposed(epsilon, 1e-6)
    assert found["overlooked"]["same leader"] > 100_000
    assert found["overlooked"]["another leader"] == pytest.approx(math.exp(2 * epsilon) / 2)
    assert max(found["corrected"].values()) <= 1


def test_one_value_moves_the_score_of_a_histogram_no_more_than_is_said() -> None:
    # All data of three training values in two bins, and of two validation values, with any noise on
    # the counts.
    n, m, bins = 3, 2, 2

    def density(counts: tuple[int, ...]) -> learners.Cells:
        return np.repeat(
            np.clip(np.array(counts, dtype=float), 0, n) * bins / n, learners.BINS[-1] // bins
        )

    fine = learners.BINS[-1]
    places = [
        np.bincount(np.array(pair) * (fine // bins), minlength=fine).astype(float)
        for pair in ((0, 0), (0, 1))
    ]
    most = 0.0
    for noise in range(-4, 5):
        for one, two in combinations_with_replacement(range(n + 1), 2):
            if two - one != 1:
                continue
            first, second = (density((c + noise, n - c - noise)) for c in (one, two))
            most = max(
                most, *(abs(learners.score(first, v) - learners.score(second, v)) for v in places)
            )
    assert 2 * bins / n < most <= 4 * bins / n
    steep = density((n, 0))
    assert abs(
        learners.score(steep, places[0]) - learners.score(steep, places[1])
    ) == pytest.approx(2 * bins / m)
