"""Noisy supports: the noise is enough and no more, and what is made of it contradicts nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations, pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_private.dp.accounting import zcdp_rho
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.gaussian_dp import gdp_mu
from fim_private.dp.randomness import Randomness
from fim_private.dp.rounded_normal import rounded_normal_half_width
from fim_private.errors import ParameterError
from fim_private.mining.noisy_supports import (
    NoiseKind,
    NoisySupports,
    SupportNoise,
    consistent,
    gaussian_half_width,
    laplace_half_width,
    release,
)

PRECISE = Context(prec=60)
DELTA = Fraction("1e-6")
Itemset = tuple[int, ...]


def exp(value: Fraction) -> Decimal:
    return PRECISE.exp(PRECISE.divide(Decimal(value.numerator), Decimal(value.denominator)))


def laplace_within(scale: Fraction, w: int) -> Decimal:
    """P(|Z| <= w) by adding probabilities, with q = e^(-1/scale): (1 - q)/(1 + q) (1 + 2 Σ q^k)."""
    q = exp(-1 / scale)
    added = sum((PRECISE.power(q, k) for k in range(1, w + 1)), Decimal(0))
    return PRECISE.multiply(PRECISE.divide(1 - q, 1 + q), 1 + 2 * added)


def gaussian_within(sigma2: Fraction, w: int) -> Decimal:
    """P(|Z| <= w) by adding weights, each with many digits."""
    reach = math.isqrt(math.ceil(200 * sigma2)) + 2
    weights = [exp(-Fraction(k * k) / (2 * sigma2)) for k in range(reach)]
    whole = 2 * sum(weights, Decimal(0)) - 1
    return PRECISE.divide(2 * sum(weights[: w + 1], Decimal(0)) - 1, whole)


@given(st.fractions(Fraction(1, 30), 40))
def test_laplace_half_width_is_the_least(scale: Fraction) -> None:
    w = laplace_half_width(scale)
    assert laplace_within(scale, w) >= Decimal("0.95")
    assert w == 0 or laplace_within(scale, w - 1) < Decimal("0.95")


@given(st.fractions(Fraction(1, 100), 2000))
def test_gaussian_half_width_is_the_least(sigma2: Fraction) -> None:
    w = gaussian_half_width(sigma2)
    assert gaussian_within(sigma2, w) >= Decimal("0.95")
    assert w == 0 or gaussian_within(sigma2, w - 1) < Decimal("0.95") + Decimal("3e-12")


@pytest.mark.parametrize("above", [Fraction(0), Fraction(1, 7)])
@pytest.mark.one_in(2)
def test_the_integral_continues_the_sum(above: Fraction) -> None:
    edge = Fraction(1024**2) + above  # the last sum, and the first integral
    w = gaussian_half_width(edge)
    assert gaussian_within(edge, w) >= Decimal("0.95") > gaussian_within(edge, w - 1)


def test_half_widths_of_reference() -> None:
    # 1.959964 σ and ln 20 b, of which an integer is the next one.
    assert gaussian_half_width(Fraction(10**26)) == pytest.approx(1.959963984540054e13, rel=1e-11)
    assert laplace_half_width(Fraction(10**13)) == pytest.approx(math.log(20) * 1e13, rel=1e-12)
    assert laplace_half_width(Fraction(1)) == 3
    assert gaussian_half_width(Fraction(1)) == 2
    assert laplace_half_width(Fraction(1, 1000)) == gaussian_half_width(Fraction(1, 1000)) == 0


@given(st.integers(1, 10**5), st.integers(-9, 8), st.integers(-300, -1))
def test_the_noise_is_what_the_budget_asks_for(count: int, magnitude: int, log_delta: int) -> None:
    epsilon, delta = Fraction(10) ** magnitude, Fraction(10) ** log_delta
    noise = SupportNoise.for_budget(epsilon, delta, count)
    laplace = SupportNoise.for_budget(epsilon, None, count)
    gaussian, normal = count / (2 * zcdp_rho(epsilon, delta)), count / gdp_mu(epsilon, delta) ** 2
    widths = gaussian_half_width(gaussian), rounded_normal_half_width(normal)
    assert normal < gaussian
    assert laplace.kind is NoiseKind.LAPLACE
    assert laplace.parameter == count / epsilon
    assert laplace.cost == PrivacyCost(float(epsilon), 0.0)
    assert noise.count == laplace.count == count
    assert noise.half_width == min(laplace.half_width, *widths)
    if noise.kind is NoiseKind.LAPLACE:
        assert noise == laplace
    else:
        assert noise.half_width < laplace.half_width
        assert noise.parameter == (normal if noise.kind is NoiseKind.NORMAL else gaussian)
        assert noise.cost == PrivacyCost(float(epsilon), float(delta))


def test_many_supports_take_normal_noise() -> None:
    kinds = [SupportNoise.for_budget(Fraction(1), DELTA, count).kind for count in range(1, 40)]
    assert kinds == [NoiseKind.LAPLACE] * 7 + [NoiseKind.NORMAL] * 32
    widths = [SupportNoise.for_budget(Fraction(1), DELTA, count).half_width for count in range(1, 40)]
    assert all(one <= two for one, two in pairwise(widths))


@pytest.mark.parametrize(("epsilon", "count"), [("1e-10", 3), ("1", 0), ("1", -1)])
def test_the_budget_is_checked(epsilon: str, count: int) -> None:
    with pytest.raises(ParameterError):
        SupportNoise.for_budget(Fraction(epsilon), DELTA, count)


def test_release_draws_as_many_as_it_is_asked_for() -> None:
    noise = SupportNoise.for_budget(Fraction(1), DELTA, 3)
    assert release([], noise, randomness=Randomness.seeded(1)) == ()
    noisy = release([5, 10**15, 0], noise, randomness=Randomness.seeded(1))
    assert len(noisy) == 3
    assert all(type(value) is int for value in noisy)
    with pytest.raises(ValueError, match="for 3 supports, not for 4"):
        release([1, 2, 3, 4], noise, randomness=Randomness.seeded(1))


FAMILIES = st.lists(st.frozensets(st.integers(0, 5), max_size=4), unique=True, max_size=25).flatmap(
    lambda sets: st.tuples(
        st.just([tuple(sorted(itemset)) for itemset in sets]),
        st.lists(st.integers(-50, 200), min_size=len(sets), max_size=len(sets)),
        st.integers(0, 60),
    )
)


@given(FAMILIES)
def test_what_is_made_of_noise_is_consistent(family: tuple[list[Itemset], list[int], int]) -> None:
    itemsets, noisy, w = family
    made = consistent(itemsets, noisy, w)
    for low, estimate, high, x in zip(made.lower, made.estimates, made.upper, noisy, strict=True):
        assert 0 <= low <= estimate <= high
        assert low <= max(0, x - w)
        assert max(0, x + w) <= high
    for a, b in permutations(range(len(itemsets)), 2):
        if set(itemsets[a]) <= set(itemsets[b]):
            assert made.estimates[a] >= made.estimates[b]
            assert made.lower[a] >= made.lower[b]
            assert made.upper[a] >= made.upper[b]


@given(FAMILIES)
def test_what_is_consistent_stays_as_it_is(family: tuple[list[Itemset], list[int], int]) -> None:
    itemsets, noisy, w = family
    estimates = consistent(itemsets, noisy, w).estimates
    assert consistent(itemsets, estimates, w).estimates == estimates
    plain = consistent(itemsets, estimates, w)
    assert plain.lower == tuple(max(0, x - w) for x in estimates)
    assert plain.upper == tuple(x + w for x in estimates)


@given(FAMILIES, st.data())
def test_the_order_does_not_matter(family: tuple[list[Itemset], list[int], int], data: st.DataObject) -> None:
    itemsets, noisy, w = family
    order = data.draw(st.permutations(range(len(itemsets))))
    made = consistent(itemsets, noisy, w)
    moved = consistent([itemsets[i] for i in order], [noisy[i] for i in order], w)
    for name in ("estimates", "lower", "upper"):
        assert getattr(moved, name) == tuple(getattr(made, name)[i] for i in order)


def test_an_example_by_hand() -> None:
    made = consistent([("a",), ("b",), ("a", "b"), ("c",)], [10, 30, 21, -9], 5)
    assert made == NoisySupports(estimates=(15, 30, 15, 0), lower=(5, 25, 5, 0), upper=(26, 35, 26, 0))


def test_every_itemset_has_one_support() -> None:
    with pytest.raises(ValueError, match="one noisy support"):
        consistent([("a",)], [1, 2], 0)
    with pytest.raises(ValueError, match="given once"):
        consistent([("a", "b"), ("b", "a")], [1, 2], 0)


# All subsets of four items: every set of three sizes below it. Supports that are equal put inclusion to the
# hardest test; supports far apart never contradict it; the others do now and then.
NESTED = [itemset for size in range(1, 5) for itemset in combinations(range(4), size)]
SUPPORTS = {
    "equal": [500] * 15,
    "near": [520 - 10 * len(itemset) - sum(itemset) for itemset in NESTED],
    "apart": [4000 - 900 * len(itemset) for itemset in NESTED],
    "rare": [max(0, 6 - 2 * len(itemset)) for itemset in NESTED],
}


@pytest.mark.parametrize("supports", SUPPORTS.values(), ids=SUPPORTS)
@pytest.mark.parametrize("delta", [None, DELTA], ids=["laplace", "normal"])
@pytest.mark.one_in(4)
def test_intervals_cover(supports: Sequence[int], delta: Fraction | None) -> None:
    noise = SupportNoise.for_budget(Fraction(1), delta, len(supports))
    assert (noise.kind is NoiseKind.NORMAL) == (delta is not None)
    randomness = Randomness.seeded(201)
    covered = [0] * len(supports)
    runs = 267  # 4005 intervals
    for _ in range(runs):
        made = consistent(NESTED, release(supports, noise, randomness=randomness), noise.half_width)
        for i, (low, support, high) in enumerate(zip(made.lower, supports, made.upper, strict=True)):
            covered[i] += low <= support <= high
    assert sum(covered) >= 0.94 * runs * len(supports)
    assert min(covered) >= 0.90 * runs  # of each itemset by itself: 267 runs, 3.7 standard deviations below 95 %
