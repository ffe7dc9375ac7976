"""Supports that draw on each other: the critical value, the estimates, and what a release shows."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import fim_private as fim
from fim_private.request import pooling
from fim_private.request.pooling import LEAST_ITEMSETS, critical_value, pooled
from fim_private.request.pooling import _miss as miss


@given(st.floats(0, 50))
def test_no_two_biases_of_a_mean_square_make_more_than_5_percent_miss(mean_square: float) -> None:
    # The worst distribution of the squared bias has two points (Armstrong and others, 2022).
    chi = critical_value(mean_square)
    low = np.linspace(0, mean_square, 12)
    high = mean_square + np.linspace(0, (chi + 6) ** 2, 60)

    def most_missed(sigmas: float) -> float:
        missed = [miss(mean_square, sigmas)]
        for first in low:
            for second in high[1:]:
                share = (mean_square - first) / (second - first)
                missed.append((1 - share) * miss(first, sigmas) + share * miss(second, sigmas))
        return max(missed)

    assert most_missed(chi) <= 0.05 + 1e-9
    assert most_missed(0.97 * chi) > 0.05


def test_without_a_bias_it_is_that_of_a_normal_value() -> None:
    assert critical_value(0) == pytest.approx(1.96, abs=1e-3)
    assert critical_value(4) == pytest.approx(7.22, abs=0.02)


@given(st.integers(20, 130), st.integers(0, 1000))
def test_what_an_itemset_gets_does_not_depend_on_the_order(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    supports = 5_000 / np.arange(1, count + 1)
    noisy, earlier = supports + rng.normal(0, 50, count), supports + rng.normal(0, 20, count)
    result = pooled(noisy, earlier, 50.0**2)
    widths = result.half_widths(0.0)
    # Never wider than four times what a support has by itself, and never nothing.
    assert (widths > 0).all()
    assert (widths < 4 * 1.96 * 50).all()
    order = rng.permutation(count)
    again = pooled(noisy[order], earlier[order], 50.0**2)
    assert again.estimates == pytest.approx(result.estimates[order])
    assert again.half_widths(0.0) == pytest.approx(widths[order])


@given(st.lists(st.tuples(st.floats(-1e6, 1e12), st.floats(-1e6, 1e12)), min_size=20, max_size=120))
def test_whatever_the_numbers_are_there_is_an_answer(numbers: list[tuple[float, float]]) -> None:
    noisy, earlier = np.array(numbers).T
    result = pooled(noisy, earlier, 25.0)
    assert np.isfinite(result.estimates).all()
    assert np.isfinite(result.half_widths(4.0)).all()


BASKETS = [
    [first, second]
    for place, first in enumerate("abcdefgh")
    for second in "abcdefgh"[place + 1 :]
    for _ in range(900 - 25 * place - 3 * ord(second))
]
REQUEST: Any = {"size": 2, "epsilon": 2, "delta": 1e-6, "mechanism": "levelwise", "seed": 5}


def test_exact_numbers_stand_beside_those_that_draw_on_each_other(tmp_path: Path) -> None:
    release = fim.mine(BASKETS, **REQUEST, top=24)
    assert release.is_pooled
    plain = release.with_exact_intervals()
    assert not plain.is_pooled
    assert plain.itemsets != release.itemsets
    assert {itemset.items for itemset in plain} == {itemset.items for itemset in release}
    for itemset in release:
        narrow, wide = (high - low for low, high in (itemset.interval, itemset.exact_interval))
        assert narrow < wide
        assert itemset.by_itself == plain[itemset.items]
        assert release.share_interval_of(itemset) != release.share_interval_of(itemset.by_itself)
    values = release.to_dict()["itemsets"][0]
    assert {"exact_support", "exact_interval", "exact_share_interval"} <= values.keys()
    for name in ("release.json", "release.parquet"):
        release.save(tmp_path / name)
        loaded = fim.load(tmp_path / name)
        assert isinstance(loaded, fim.Release)
        assert loaded.itemsets == release.itemsets
    columns = ["exact_support", "exact_lower", "exact_upper"]
    assert set(columns) <= {*release.to_arrow().column_names}
    assert release.to_csv().startswith("item_1,item_2,support,lower,upper,exact_support")


@pytest.mark.parametrize(
    "options",
    [
        {"top": LEAST_ITEMSETS - 1},
        {"top": 24, "min_support": 20},
        {"top": 24, "mechanism": "limited-domain", "supports": True},
    ],
)
def test_few_itemsets_and_those_of_a_least_support_have_one_number(
    options: dict[str, Any],
) -> None:
    release = fim.mine(BASKETS, **{**REQUEST, **options})
    assert len(release) > 5
    assert not release.is_pooled
    assert "exact_support" not in release.to_dict()["itemsets"][0]


def test_what_asks_about_one_itemset_alone_takes_the_exact_number() -> None:
    with_rules = fim.mine(BASKETS, **REQUEST, top=24, rules=True)
    assert with_rules.is_pooled
    plain = with_rules.with_exact_intervals()
    assert with_rules.rules().equals(plain.rules())
    assert with_rules.to_pandas().equals(plain.to_pandas())
    later = fim.mine(BASKETS[:5_000], **REQUEST, top=24)
    changes = fim.changes(with_rules, later, keep_all=True)
    exact = fim.changes(plain, later.with_exact_intervals(), keep_all=True)
    assert changes.to_dict() == exact.to_dict()


def test_a_file_with_only_some_of_the_exact_numbers_is_refused(tmp_path: Path) -> None:
    release = fim.mine(BASKETS, **REQUEST, top=24)
    first = replace(release.itemsets[0], exact_support=None)
    file = tmp_path / "release.json"
    replace(release, itemsets=(first, *release.itemsets[1:])).save(file)
    with pytest.raises(fim.DataError, match="exact_support"):
        fim.load(file)


# -------------------- 95 % of the intervals hold, whatever the true supports are; mutants do not


Floats = NDArray[np.float64]
Population = Callable[[int, np.random.Generator], tuple[Floats, Floats]]
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


def faint(count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Supports below the noise, as most of hundreds are, which the earlier estimates tell apart."""
    supports = np.round(np.linspace(4, 40, count))
    return supports, 0.5 * supports + rng.normal(0, 2, count)


POPULATIONS = [on_the_line, about_the_line, a_few_far_off, faint]


def coverage(population: Population, count: int) -> float:
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
def test_95_percent_of_the_intervals_hold(population: Population, count: int) -> None:
    assert coverage(population, count) >= 0.95


def test_estimates_below_the_noise_still_tell_supports_apart() -> None:
    rng = np.random.default_rng(3)
    supports, earlier = faint(500, rng)
    noisy = supports + rng.normal(0, math.sqrt(OWN), len(supports))
    estimates = pooled(noisy, earlier, OWN).estimates
    # Without the earlier estimates, all would get the mean: a mean squared error of 108.
    assert np.mean((estimates - supports) ** 2) < 40


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


MUTANTS: dict[str, dict[str, Any]] = {
    "a spread without its error": {"_spreads": without_margin},
    "plain empirical Bayes": {
        "_spreads": in_proportion,
        "critical_value": lambda bias: 1.96 * math.sqrt(1 + bias),
    },
    "an interval that forgets the bias": {"critical_value": lambda bias: 1.96},
}


@pytest.mark.every_case
@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_broken_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, broken in MUTANTS[name].items():
        monkeypatch.setattr(pooling, place, broken)
    assert worst_coverage() < 0.93
