"""Pooled supports: 95 % of their intervals hold, whatever the true supports are; mutants do not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from fim_private.request import pooling
from fim_private.request.pooling import pooled

Floats = NDArray[np.float64]
REPLAYS = 300
OWN, SHARED = 40.0**2, 5.0**2


def on_the_line(count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Supports that the earlier estimates predict exactly, apart from their own noise."""
    supports = np.round(9_000 / np.arange(1, count + 1) ** 0.7)
    return supports, 0.8 * supports**1.05 + rng.normal(0, 12, count)


def about_the_line(count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Supports that lie about it, by less than the noise is wide."""
    supports, earlier = on_the_line(count, rng)
    return np.round(supports + rng.normal(0, 18, count)), earlier


def a_few_far_off(count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Supports on the line but for one in ten, which lies far above it."""
    supports, earlier = on_the_line(count, rng)
    return supports + 160.0 * (np.arange(count) % 10 == 0), earlier


POPULATIONS = [on_the_line, about_the_line, a_few_far_off]


def coverage(
    population: Callable[[int, np.random.Generator], tuple[Floats, Floats]], count: int
) -> float:
    """Return the share of intervals that hold the true support, on average."""
    rng = np.random.default_rng(count)
    hold = []
    for _ in range(REPLAYS):
        supports, earlier = population(count, rng)
        own = rng.normal(0, math.sqrt(OWN), count)
        noisy = supports + own + rng.normal(0, math.sqrt(SHARED))
        result = pooled(noisy, earlier, OWN)
        hold.append(np.abs(result.estimates - supports) <= result.half_widths(SHARED))
    return float(np.mean(hold))


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("count", [20, 50, 130])
def test_95_percent_of_the_intervals_hold(
    population: Callable[[int, np.random.Generator], tuple[Floats, Floats]], count: int
) -> None:
    assert coverage(population, count) >= 0.95


def worst_coverage() -> float:
    return min(coverage(population, count) for population in POPULATIONS for count in (50, 130))


def without_margin(deviations: Floats, earlier: Floats, variance: float) -> Floats:
    spreads = np.empty(len(deviations))
    number = max(len(deviations) // 50, 1)
    for places in np.array_split(np.argsort(-earlier), number):
        mean = float((deviations[places] ** 2).sum()) / (len(places) - 2 / number)
        spreads[places] = max(mean - variance, 1e-3 * variance)
    return spreads


def in_proportion(deviations: Floats, earlier: Floats, variance: float) -> Floats:
    """One relative spread for all, as plain empirical Bayes has it."""
    relative = max(float((deviations**2 - variance).sum() / (earlier**2).sum()), 0)
    return np.maximum(relative * earlier**2, 1e-3 * variance)


def test_a_spread_without_its_error_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooling, "_spreads", without_margin)
    assert worst_coverage() < 0.93


def test_plain_empirical_bayes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooling, "_spreads", in_proportion)
    monkeypatch.setattr(pooling, "critical_value", lambda bias: 1.96 * math.sqrt(1 + bias))
    assert worst_coverage() < 0.93


def test_an_interval_that_forgets_the_bias_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooling, "critical_value", lambda bias: 1.96)
    assert worst_coverage() < 0.93
