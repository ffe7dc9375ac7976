"""The baselines from outside: PrivBasis and the stability histogram of OpenDP, and what they
share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import transactions
from benchmarks.peers import cut_baskets, item_matrix, privbasis, stability_histogram
from benchmarks.peers.cut_baskets import Cut, cut
from benchmarks.peers.privbasis import Budget
from benchmarks.peers.stability_histogram import IntegerNoise
from fim_private.dp.composition import zcdp_rho
from fim_private.reading.transactions import Transactions

Baskets = list[list[int]]
# Nothing here fails by chance more often: OpenDP's noise has no seed.
RARE = 1e-7


def market(seed: int, baskets: int, items: int = 25) -> Baskets:
    """Item i is in a basket with a probability that falls with i, and i + 1 more often where i
    is.
    """
    rng = np.random.default_rng(seed)
    chance = 0.5 / np.sqrt(np.arange(1, items + 1))
    held = rng.random((baskets, items)) < chance
    held[:, 1:] |= held[:, :-1] & (rng.random((baskets, items - 1)) < 0.3)
    return [np.flatnonzero(row).tolist() for row in held]


def written(folder: Path, name: str, baskets: Baskets) -> Source:
    path = folder / f"{name}.dat"
    path.write_text("".join(" ".join(map(str, basket)) + "\n" for basket in baskets))
    return Source(name, "generated", path)


def brute_force(baskets: Baskets, sizes: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    return Counter(
        found
        for basket in baskets
        for size in sizes
        for found in combinations(sorted(basket), size)
    )


MARKET = market(1, 1500)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return written(tmp_path_factory.mktemp("baselines"), "market", MARKET)


# -------------------- supports


def test_supports_and_bins_are_those_of_brute_force(source: Source) -> None:
    matrix, supports = item_matrix.item_matrix(source), brute_force(MARKET, (1, 2, 3))
    for labels, support in supports.items():
        assert matrix.support(matrix.codes(labels)) == support
    labels = (0, 3, 4, 9)
    codes = matrix.codes(labels)
    assert matrix.pairs(codes).tolist() == [supports[pair] for pair in combinations(labels, 2)]
    bins = matrix.bins(codes)
    assert bins.sum() == len(MARKET)
    exact = Counter(
        sum(1 << place for place, label in enumerate(labels) if label in basket)
        for basket in MARKET
    )
    assert bins.tolist() == [exact[mask] for mask in range(16)]
    sums = item_matrix.supports_of_subsets(bins)
    masks, places = item_matrix.subsets(4, (1, 3))
    assert [sums[mask] for mask in masks] == [
        supports[tuple(labels[p] for p in row if p >= 0)] for row in places
    ]
    assert len(masks) == 8


@pytest.mark.parametrize("order", cut_baskets.ORDERS)
@pytest.mark.parametrize("max_basket", [1, 3, 8])
def test_cut_baskets_are_never_too_long(source: Source, order: str, max_basket: int) -> None:
    data = cut(transactions(source), Cut(max_basket, order))
    kept = [
        data.items[a:b].tolist() for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)
    ]
    assert [len(basket) for basket in kept] == [min(len(basket), max_basket) for basket in MARKET]
    for short, basket in zip(kept, MARKET, strict=True):
        if order == "label":
            assert short == basket[:max_basket]
        else:
            assert short == sorted(set(short) & set(basket))
        for sizes in ((1,), (2,), (1, 2, 3)):
            assert len(brute_force([short], sizes)) <= cut_baskets.degree(
                Cut(max_basket, order), sizes
            )


def visits(seed: int = 2) -> list[Baskets]:
    """Users with one to six baskets each."""
    rng, baskets = np.random.default_rng(seed), iter(market(seed, 1200, items=12))
    return [list(islice(baskets, number)) for number in rng.integers(1, 7, 200)]


@pytest.fixture(scope="module")
def by_user(tmp_path_factory: pytest.TempPathFactory) -> Source:
    path = tmp_path_factory.mktemp("users") / "visits.parquet"
    rows = [(user, basket) for user, baskets in enumerate(visits()) for basket in baskets]
    columns = {
        "user": [user for user, _ in rows],
        "items": pa.array([items for _, items in rows], pa.list_(pa.int32())),
    }
    pq.write_table(pa.table(columns), path)
    return Source("visits", "generated", path, (("user", "user"),))


def units(data: Transactions) -> list[Baskets]:
    assert data.unit_offsets is not None
    kept = [data.items[a:b].tolist() for a, b in pairwise(data.offsets.tolist())]
    return [kept[a:b] for a, b in pairwise(data.unit_offsets.tolist())]


@pytest.mark.parametrize("order", cut_baskets.ORDERS)
@pytest.mark.parametrize("baskets", [None, 1, 4])
def test_cut_users_support_no_more_itemsets_than_the_degree(
    by_user: Source, order: str, baskets: int | None
) -> None:
    for items in (2, 3, 9):
        kept = Cut(items, order, baskets)
        cut_users = units(cut(transactions(by_user), kept))
        lost = False
        for short, user in zip(cut_users, visits(), strict=True):
            assert all(set(a) <= set(b) for a, b in zip(short, user, strict=True))
            for sizes in ((1,), (2,), (1, 2, 3)):
                assert len(set(brute_force(short, sizes))) <= cut_baskets.degree(kept, sizes)
            if baskets is None:
                held = sorted({item for basket in user for item in basket})
                stays = {item for basket in short for item in basket}
                assert len(stays) == min(items, len(held))
                assert order == "random" or stays == set(held[:items])
            else:
                assert sum(map(bool, short)) <= baskets
                assert all(
                    len(a) in (0, min(items, len(b))) for a, b in zip(short, user, strict=True)
                )
            lost |= short != user
        assert lost


# -------------------- PrivBasis


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize(
    ("sizes", "count"), [((1, 2, 3), 5), ((1, 2, 3), 40), ((2,), 30), ((1,), 20), ((2, 3), 30)]
)
def test_what_is_spent_adds_up(
    source: Source,
    sizes: tuple[int, ...],
    count: int,
    delta: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spent: list[Fraction] = []
    pick, noisy_bins = privbasis.pick, privbasis.noisy_bins

    def recorded_pick(utilities: Any, picks: int, cost: Fraction, zcdp: bool, rng: Any) -> Any:
        spent.extend([cost] * picks)
        return pick(utilities, picks, cost, zcdp, rng)

    def recorded_bins(bins: Any, cost: Fraction, zcdp: bool, rng: Any) -> Any:
        spent.append(cost)
        return noisy_bins(bins, cost, zcdp, rng)

    monkeypatch.setattr(privbasis, "pick", recorded_pick)
    monkeypatch.setattr(privbasis, "noisy_bins", recorded_bins)
    total = Fraction(7, 10) if delta is None else zcdp_rho(Fraction(7, 10), Fraction(1, 10**6))
    for seed in range(5):
        spent.clear()
        privbasis.privbasis_trials(source, sizes, count, 0.7, delta, 1, seed)
        assert sum(spent) == total
        assert spent[0] == total / 10


@pytest.mark.parametrize(("zcdp", "rate"), [(False, 0.125), (True, 1.0)])
def test_the_law_of_a_pick(zcdp: bool, rate: float) -> None:
    # The cost c buys the rate c, or √(8c): (rate²)/8 is c again.
    utilities, rng, draws = np.array([0.0, 2.0, 5.0]), np.random.default_rng(3), 20_000
    weights = np.exp(rate * utilities)
    picked = [
        tuple(privbasis.pick(utilities, 2, Fraction(1, 8), zcdp, rng).tolist())
        for _ in range(draws)
    ]
    orders = [(i, j) for i in range(3) for j in range(3) if i != j]
    expected = [
        weights[i] / weights.sum() * weights[j] / (weights.sum() - weights[i]) for i, j in orders
    ]
    counts = Counter(picked)
    assert (
        stats.chisquare([counts[order] for order in orders], np.array(expected) * draws).pvalue
        > RARE
    )


@pytest.mark.parametrize(("zcdp", "variance"), [(False, 2 * 5.0**2), (True, 5 / 2)])
def test_the_noise_of_bins(zcdp: bool, variance: float) -> None:
    noise = privbasis.noisy_bins(
        np.zeros(200_000, dtype=np.int64), Fraction(1, 5), zcdp, np.random.default_rng(4)
    )
    assert noise.var() == pytest.approx(variance, rel=0.03)  # five standard errors at most


def test_one_basket_moves_utilities_within_an_interval_of_length_1() -> None:
    rng = np.random.default_rng(5)
    for seed in range(40):
        before = market(seed, 30, items=8)
        added = np.flatnonzero(rng.random(8) < 0.5).tolist()
        found = []
        for baskets in (before, [*before, added]):
            supports = np.array([brute_force(baskets, (1,))[(item,)] for item in range(8)])
            ordered = sorted(brute_force(baskets, (1, 2)).values(), reverse=True)
            captured: list[Any] = []
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(
                    privbasis,
                    "pick",
                    lambda u, *_, captured=captured: captured.append(u) or np.zeros(1, int),
                )
                privbasis.number_of_items(
                    supports, ordered[9], (1, 2), 9, Budget(Fraction(1), False), rng
                )
            found.append((captured[0], supports.astype(float)))
        moved_quality, moved_supports = (np.subtract(*pair) for pair in zip(*found, strict=True))
        assert np.ptp(moved_quality) <= 1
        assert np.ptp(moved_supports) <= 1


def test_one_basket_replaced_moves_twice_as_much_at_most() -> None:
    """What Budget halves and quarters: intervals of utilities are twice as long, and of w bins 2w
    move by 1.
    """
    rng = np.random.default_rng(15)
    for seed in range(40):
        before = market(seed, 30, items=8)
        after = [*before[1:], np.flatnonzero(rng.random(8) < 0.5).tolist()]
        found = []
        for baskets in (before, after):
            supports = np.array([brute_force(baskets, (1,))[(item,)] for item in range(8)])
            theta = sorted(brute_force(baskets, (1, 2)).values(), reverse=True)[9]
            codes = [sum(1 << item for item in basket) for basket in baskets]
            found.append(
                (
                    -np.abs(np.sort(supports) - theta) / 2,
                    supports,
                    np.bincount(codes, minlength=256),
                )
            )
        quality, supports, bins = (np.subtract(*pair) for pair in zip(*found, strict=True))
        assert max(np.ptp(quality), np.ptp(supports)) <= 2
        assert (bins**2).sum() <= 2
    for delta, times in ((None, (2, 2, 2)), (1e-6, (4, 4, 2))):
        one, other = (
            Budget.of(0.7, delta, neighbors) for neighbors in ("add-remove", "replace-one")
        )
        assert [one.stage(number) / other.stage(number) for number in (1, 2, 3)] == list(times)


# -------------------- stability histogram


@pytest.fixture
def opendp() -> Iterator[None]:
    pytest.importorskip("opendp", reason="opendp is not installed")
    from opendp.mod import GLOBAL_FEATURES

    before = set(GLOBAL_FEATURES)
    yield
    assert before == GLOBAL_FEATURES


@pytest.mark.parametrize("form", [stability_histogram.laplace, stability_histogram.gaussian])
@pytest.mark.parametrize(
    ("units", "epsilon", "delta"), [(1, 0.3, 1e-6), (28, 1.0, 1e-6), (300, 2.0, 1e-9)]
)
@pytest.mark.full
@pytest.mark.usefixtures("opendp")
def test_calibration_is_what_opendp_allows_and_no_less(
    form: Any, units: int, epsilon: float, delta: float
) -> None:
    found = form(units, epsilon, delta)
    assert found.keeps(epsilon, delta)
    assert found.cost(delta) <= (epsilon, delta)
    assert not replace(found, threshold=found.threshold - 1).keeps(epsilon, delta)
    # OpenDP's δ of a Gaussian tail comes in steps of some 1e-14, within which any scale will do.
    assert not replace(found, scale=found.scale * (1 - (1e-3 if found.gaussian else 1e-9))).keeps(
        epsilon, delta
    )
    assert not found.keeps(epsilon, delta / 2)


def histogram(values: Any, lowest: int, bins: int) -> Any:
    """How often each of so many values occurs from the lowest on, the last together with all
    above.
    """
    return np.bincount(np.clip(np.asarray(values) - lowest, 0, bins - 1), minlength=bins)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.full
@pytest.mark.usefixtures("opendp")
def test_opendp_releases_by_the_law_that_is_drawn_here(gaussian: bool) -> None:
    # Were the threshold one higher, the number released would be 20 standard deviations away, or
    # more.
    form, distance, keys = stability_histogram.Threshold(gaussian, 1, 3.0, 10), 4, 20_000
    noise = IntegerNoise(gaussian, 3.0)
    tail = noise.survival(np.arange(distance, distance + 8))
    released = list(form.measurement()(dict.fromkeys(range(keys), 10 - distance)).values())
    assert stats.binomtest(len(released), keys, tail[0]).pvalue > RARE
    rng = np.random.default_rng(12)
    shares = -np.diff(np.append(tail, 0))
    for values in (released, 10 + noise.excess(distance, 4000, rng)):
        assert (
            stats.chisquare(histogram(values, 10, 8), shares / tail[0] * len(values)).pvalue > RARE
        )
    drawn = noise.draw(keys, rng)
    above = drawn[drawn >= distance]
    assert (
        stats.chisquare(histogram(above, distance, 8), shares / tail[0] * len(above)).pvalue > RARE
    )
    assert stats.binomtest(int((drawn >= distance).sum()), keys, tail[0]).pvalue > RARE
    assert stats.binomtest(int((drawn <= -distance).sum()), keys, tail[0]).pvalue > RARE
    weights = (
        np.exp(-(np.arange(-200, 201) ** 2) / 18)
        if gaussian
        else np.exp(-np.abs(np.arange(-200, 201)) / 3)
    )
    assert tail[:3] == pytest.approx(
        [weights[200 + t :].sum() / weights.sum() for t in (4, 5, 6)], rel=1e-9
    )
