"""The selection oracles against second definitions, simulations, and the privacy the theory claims."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import oracles
import pytest
import selection_oracles as so
from oracles import Neighbors

Counts = Mapping[str, int]
Exact = dict[str | None, Decimal]

NEIGHBORS: tuple[Neighbors, Neighbors] = ("add-remove", "replace-one")
SPLIT = (Fraction(1, 5), Fraction(3, 10), Fraction(1, 2))
TINY = Decimal("1e-50")
SPREAD = {"a": 9, "b": 7, "c": 7, "d": 7, "e": 4, "f": 1, "g": 1, "h": 0, "i": 0}


def step(rank: int) -> int:
    return 2 + rank


def known(counts: Counts, is_known: bool) -> int | None:
    return len(counts) if is_known else None


def close(p: Mapping[str | None, Decimal], q: Mapping[str | None, Decimal], error: Decimal = TINY) -> bool:
    with localcontext() as context:
        context.prec = 100
        return all(abs(p.get(o, Decimal(0)) - q.get(o, Decimal(0))) <= error for o in {*p, *q})


def every_mechanism(
    counts: Counts, epsilon: Fraction, delta: Fraction, neighbors: Neighbors, is_known: bool
) -> Iterator[Exact]:
    size = known(counts, is_known)
    if is_known:
        yield so.permute_and_flip_exact(counts, epsilon, neighbors=neighbors, universe_size=len(counts))
        yield so.max_of_laplaces_exact(counts, epsilon, neighbors=neighbors, universe_size=len(counts))
    for rank in (1, 3, 6, 8, 20):
        yield so.limited_domain_exact(
            counts, epsilon, delta, max_rank=rank, neighbors=neighbors, universe_size=size, max_itemsets=4
        )
    yield so.choosing_exact(counts, epsilon, delta, max_itemsets=4, neighbors=neighbors, universe_size=size)
    yield so.distance_exact(counts, epsilon, delta, neighbors=neighbors, universe_size=size)
    for rank in (1, 4, 12):
        yield so.tight_margin_exact(
            counts,
            epsilon,
            delta,
            max_rank=rank,
            neighbors=neighbors,
            split=SPLIT,
            thresholds=step,
            universe_size=size,
        )


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("counts", [SPREAD, {"a": 1}, {"a": 0, "b": 0}, {"a": 60, "b": 3, "c": 0}])
@pytest.mark.one_in(3)
def test_distributions_sum_to_one_and_treat_ties_alike(counts: Counts, is_known: bool, neighbors: Neighbors) -> None:
    for result in every_mechanism(counts, Fraction(3, 2), Fraction(1, 50), neighbors, is_known):
        assert abs(so.total(result) - 1) < TINY
        assert min(result.values()) >= 0
        names = {name for name, count in counts.items() if count or is_known}
        assert set(result) == {*names, None}
        for one, other in combinations(names, 2):
            if counts[one] == counts[other]:
                assert result[one] == result[other]
            else:
                more, less = (one, other) if counts[one] > counts[other] else (other, one)
                assert result[more] >= result[less]


def test_empty_data_of_unknown_universe_abstains() -> None:
    for result in every_mechanism({"a": 0}, Fraction(1), Fraction(1, 50), "add-remove", False):
        assert set(result) == {None}
        assert abs(so.total(result) - 1) < TINY


# ------------------------------------------------------------------------------- second definitions


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("counts", [{"a": 5, "b": 4, "c": 4, "d": 0, "e": 2}, {"a": 0, "b": 0}, {"a": 3}])
def test_permute_and_flip_by_permutations_and_subsets(counts: Counts, neighbors: Neighbors) -> None:
    with localcontext() as context:
        context.prec = 90
        rate = Decimal("0.7") / (1 if neighbors == "add-remove" else 2)
        heads = {name: (-rate * (max(counts.values()) - count)).exp() for name, count in counts.items()}
        by_order: Exact = dict.fromkeys(counts, Decimal(0))
        for order in permutations(counts):
            still = Decimal(1) / math.factorial(len(counts))
            for name in order:
                by_order[name] += still * heads[name]
                still *= 1 - heads[name]
        by_subset: Exact = {}
        for name in counts:
            others = [other for other in counts if other != name]
            by_subset[name] = heads[name] * sum(
                (
                    (-1) ** size * math.prod((heads[o] for o in chosen), start=Decimal(1)) / (size + 1)
                    for size in range(len(others) + 1)
                    for chosen in combinations(others, size)
                ),
                Decimal(0),
            )
    result = so.permute_and_flip_exact(
        counts, Fraction("0.7"), neighbors=neighbors, universe_size=len(counts), digits=70
    )
    assert close(result, by_order, Decimal("1e-65"))
    assert close(result, by_subset, Decimal("1e-65"))


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_max_of_laplaces_by_every_triple_of_noises(neighbors: Neighbors) -> None:
    counts = {"a": 3, "b": 3, "c": 2}
    scale = (1 if neighbors == "add-remove" else 2) / 1.5
    k = np.arange(-60, 61)
    pmf = oracles.discrete_laplace_pmf(scale, k)
    chance = pmf[:, None, None] * pmf[None, :, None] * pmf[None, None, :]
    sums = np.broadcast_arrays((3 + k)[:, None, None], (3 + k)[None, :, None], (2 + k)[None, None, :])
    best = np.maximum(np.maximum(sums[0], sums[1]), sums[2])
    tied = sum((one == best).astype(np.int64) for one in sums)
    result = so.max_of_laplaces(counts, 1.5, neighbors=neighbors, universe_size=3)
    for name, one in zip(counts, sums, strict=True):
        assert result[name] == pytest.approx(float((chance * (one == best) / tied).sum()), abs=1e-13)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5, 6, 9])
@pytest.mark.one_in(5)
def test_limited_domain_by_every_order_of_ties(rank: int, is_known: bool, neighbors: Neighbors) -> None:
    counts = {"a": 5, "b": 3, "c": 3, "d": 3, "e": 0, "f": 0}
    epsilon, delta = Fraction(1, 2), Fraction(1, 30)
    expected: Exact = dict.fromkeys([*counts, None], Decimal(0))
    with localcontext() as context:
        context.prec = 90
        m = min(rank, 2)
        if neighbors == "add-remove":
            rate, lift, number = Decimal("0.5"), 1, 30 * m
        else:
            rate, lift = Decimal("0.25"), 2
            number = math.ceil(30 * m * (1 + math.exp(-0.25)))
        orders = list(permutations(counts))
        for order in orders:
            ranking = sorted((n for n in order if counts[n] or is_known), key=lambda name: -counts[name])
            mass: Exact = {name: (rate * counts[name]).exp() for name in ranking[:rank]}
            cut = counts[ranking[rank]] if rank < len(ranking) else 0
            more = 0 if is_known or cut else m  # the zeros left out, docs/privacy.md, (7)
            mass[None] = (number + more) * (rate * (cut + lift)).exp() if not is_known or rank < 6 else Decimal(0)
            whole = sum(mass.values())
            for name, part in mass.items():
                expected[name] += part / whole / len(orders)
    result = so.limited_domain_exact(
        counts,
        epsilon,
        delta,
        max_rank=rank,
        neighbors=neighbors,
        universe_size=known(counts, is_known),
        max_itemsets=2,
    )
    assert close(result, expected)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_choosing_is_limited_domain_without_a_cut(neighbors: Neighbors) -> None:
    for size in (None, len(SPREAD)):
        chosen = so.choosing_exact(SPREAD, 0.7, 0.01, max_itemsets=3, neighbors=neighbors, universe_size=size)
        limited = so.limited_domain_exact(
            SPREAD, 0.7, 0.01, max_rank=99, max_itemsets=3, neighbors=neighbors, universe_size=size
        )
        if size is not None:
            assert close(chosen, limited)
        else:  # limited domain weighs its abstention by M = 3 itemsets more where it leaves zeros out
            number = so.abstention_multiplicity(0.7, 0.01, 3, neighbors)
            heavier = so.choosing_exact(
                SPREAD, 0.7, 0.01, max_itemsets=3, neighbors=neighbors, bottom_factor=1 + Fraction(3, number)
            )
            assert close(heavier, limited)
    levels = oracles.exponential_distribution(
        list(SPREAD.values()), 0.7, neighbors=neighbors, universe_size=len(SPREAD)
    )
    for name, count in SPREAD.items():
        tied = sum(other == count for other in SPREAD.values())
        assert float(chosen[name]) == pytest.approx(levels[count] / tied, rel=1e-14)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 3), Fraction(9, 10)])
def test_replace_one_weight_is_the_least_that_the_conversion_allows(epsilon: Fraction, delta: Fraction) -> None:
    number = so.abstention_multiplicity(epsilon, delta, 7, "replace-one")
    with localcontext() as context:
        context.prec = 50
        x = Decimal(epsilon.numerator) / epsilon.denominator / 2
        share = Decimal(delta.numerator) / delta.denominator / (1 + x.exp())
        needed = 7 / min(share, x)
        assert number * x.exp() >= needed > (number - 1) * x.exp()


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("delta", [0.5, 0.2, 1e-3, 1e-8])
def test_distance_threshold_and_release_by_sums(delta: float, neighbors: Neighbors) -> None:
    epsilon, s = 0.8, 1 if neighbors == "add-remove" else 2
    threshold = so.distance_threshold(epsilon, delta, neighbors)
    k = np.arange(0, 400)
    pmf = oracles.discrete_laplace_pmf(s / epsilon, k)
    assert math.fsum(pmf[threshold + 1 :]) <= delta
    assert threshold == 0 or math.fsum(pmf[threshold:]) > delta
    pmf = oracles.discrete_laplace_pmf(s / epsilon, k - 200)
    for gap in (0, 1, 2, 5, 30):
        counts = {"a": gap + 1, "b": 1, "c": 0}
        release = math.fsum(pmf[gap - s + (k - 200) > threshold])
        result = so.distance(counts, epsilon, delta, neighbors=neighbors)
        share = 2 if gap == 0 else 1
        assert result["a"] == pytest.approx(release / share, rel=1e-12)
        assert result["b"] == (result["a"] if gap == 0 else 0)
        assert result[None] == pytest.approx(1 - release, rel=1e-12)


def test_distance_without_support() -> None:
    zeros = {"a": 0, "b": 0}
    assert so.distance(zeros, 1, 0.1, neighbors="add-remove") == {None: 1.0}
    chances = so.distance(zeros, 1, 0.1, neighbors="add-remove", universe_size=2)
    assert chances["a"] == chances["b"] > 0
    # A single candidate has all others, none, at 0.
    assert so.distance({"a": 0}, 1, 0.1, neighbors="add-remove", universe_size=1)["a"] == 2 * chances["a"]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("threshold", [-3, 0, 2, 3, 8])
def test_tight_margin_search_of_one_test_in_closed_form(threshold: int, neighbors: Neighbors) -> None:
    epsilon = Fraction(7, 5)
    result = so.tight_margin_ranks_exact(
        {"a": 6, "b": 4}, epsilon, max_rank=2, neighbors=neighbors, split=SPLIT, thresholds=lambda _: threshold
    )
    with localcontext() as context:
        context.prec = 90
        e = Decimal("1.4") / (1 if neighbors == "add-remove" else 2)
        x, y = (-e / 5).exp(), (-3 * e / 10).exp()
        m = threshold - 2  # stops if Z >= m + G
        later = (1 - y) * x ** (1 - m) / (1 - x * y)
        stops = (1 - x) * y**m / (1 - x * y) if m >= 0 else 1 - later
        assert abs(result[1] - stops) < TINY
        assert abs(result[2] - (1 - stops)) < TINY


def test_tight_margin_is_the_mixture_of_its_stages() -> None:
    ranks = so.tight_margin_ranks(
        SPREAD, 2, max_rank=5, neighbors="replace-one", split=SPLIT, thresholds=step, universe_size=9
    )
    assert list(ranks) == [1, 2, 3, 4, 5]
    assert min(ranks.values()) > 0.01
    expected = Counter[str | None]()
    for rank, chance in ranks.items():
        selected = so.limited_domain(SPREAD, 1, 0.05, max_rank=rank, neighbors="replace-one", universe_size=9)
        for name, part in selected.items():
            expected[name] += chance * part  # type: ignore[assignment]
    result = so.tight_margin(
        SPREAD, 2, 0.05, max_rank=5, neighbors="replace-one", split=SPLIT, thresholds=step, universe_size=9
    )
    assert result == pytest.approx(dict(expected), abs=1e-14)


# -------------------------------------------------------------------------------------- simulations


# ------------------------------------------------------------------------------------------ privacy


# ------------------------------------------------------------------------------------ known figures


@pytest.mark.parametrize(("rho", "epsilon"), [(0.01, 1.0), (0.1, 1.0), (0.5, 4.0), (1.0, 0.5), (3.0, 0.0), (20.0, 5.0)])
def test_zcdp_delta_against_its_derivative_and_a_grid(rho: float, epsilon: float) -> None:
    def log_delta(alpha: float) -> float:
        return (
            (alpha - 1) * (alpha * rho - epsilon) - math.log(alpha - 1) + alpha * math.log1p(-1 / alpha)
        )  # Corollary 13 as printed

    low, high = 1.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        if (2 * middle - 1) * rho - epsilon + math.log1p(-1 / middle) < 0:
            low = middle
        else:
            high = middle
    delta = so.zcdp_delta(rho, epsilon)
    if high - 1 > 1e-6:  # in floats alpha - 1 has no digits left below
        assert delta == pytest.approx(math.exp(log_delta(high)), rel=1e-12)
    assert all(math.log(delta) <= log_delta(1 + 10 ** (i / 50)) + 1e-12 for i in range(-300, 100))
    assert 0 < delta <= 1
