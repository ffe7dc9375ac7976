"""Noisy supports: the noise is enough and no more, and what is made of it contradicts nothing."""

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from release_distributions import Noise

from fim_private.dp.composition import gdp_delta_upper, gdp_mu, zcdp_rho
from fim_private.dp.noise import Randomness, rounded_normal_half_width
from fim_private.request import supports as noisy_supports
from fim_private.request.supports import CONFIDENCE, NoiseKind, SupportNoise, consistent, release

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
    w = noisy_supports.laplace_half_width(scale)
    assert laplace_within(scale, w) >= Decimal("0.95")
    assert w == 0 or laplace_within(scale, w - 1) < Decimal("0.95")


@given(st.fractions(Fraction(1, 100), 2000))
def test_gaussian_half_width_is_the_least(sigma2: Fraction) -> None:
    w = noisy_supports.gaussian_half_width(sigma2)
    assert gaussian_within(sigma2, w) >= Decimal("0.95")
    assert w == 0 or gaussian_within(sigma2, w - 1) < Decimal("0.95") + Decimal("3e-12")


@given(st.integers(1, 10**5), st.integers(-9, 8), st.integers(-300, -1))
def test_the_noise_is_what_the_budget_asks_for(count: int, magnitude: int, log_delta: int) -> None:
    epsilon, delta = Fraction(10) ** magnitude, Fraction(10) ** log_delta
    noise, laplace = (SupportNoise.for_budget(epsilon, each, count) for each in (delta, None))
    gaussian, normal = count / (2 * zcdp_rho(epsilon, delta)), count / gdp_mu(epsilon, delta) ** 2
    width = rounded_normal_half_width(normal, CONFIDENCE)
    widths = noisy_supports.gaussian_half_width(gaussian), width
    assert normal < gaussian
    assert (laplace.kind, laplace.parameter) == (NoiseKind.LAPLACE, count / epsilon)
    assert noise.count == laplace.count == count
    assert noise.half_width == min(laplace.half_width, *widths)
    if noise.kind is NoiseKind.LAPLACE:
        assert noise == laplace
    else:
        assert noise.half_width < laplace.half_width
        assert noise.parameter == (normal if noise.kind is NoiseKind.NORMAL else gaussian)


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
            assert all(ends[a] >= ends[b] for ends in (made.estimates, made.lower, made.upper))
    with pytest.raises(ValueError, match="one noisy support"):
        consistent([("a",)], [1, 2], 0)
    with pytest.raises(ValueError, match="given once"):
        consistent([("a", "b"), ("b", "a")], [1, 2], 0)


# All subsets of four items: every set of three sizes below it. Supports that are equal put
# inclusion to the hardest test; supports far apart never contradict it; the others do now and then.
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
    true, covered = np.array(supports), np.zeros(len(supports))
    runs = 267  # 4005 intervals
    for _ in range(runs):
        made = consistent(NESTED, release(supports, noise, randomness=randomness), noise.half_width)
        covered += (np.array(made.lower) <= true) & (true <= np.array(made.upper))
    assert covered.sum() >= 0.94 * runs * len(supports)
    # of each itemset by itself: 267 runs, 3.7 standard deviations below 95 %
    assert covered.min() >= 0.90 * runs


def chances_of(sigma2: Fraction) -> dict[int, float]:
    return {z: float(p) for z, p in Noise("normal", sigma2).chances().items() if p > 1e-13}


def two_normals_law(
    units: int, supports: Sequence[int], noise: SupportNoise, *, whole: bool
) -> dict[tuple[int, ...], float]:
    """P(noisy number, twice the noisy supports less it). whole: noise on x - n/2 is a whole number:
    it must not be.
    """
    assert noise.of_units is not None
    common = chances_of(noise.of_units)
    own = chances_of(noise.parameter if whole else 4 * noise.parameter)
    law: Counter[tuple[int, ...]] = Counter()
    for shift, chance in common.items():
        for values in product(own, repeat=len(supports)):
            step = 2 if whole else 1
            beside = [2 * x - units + step * z for x, z in zip(supports, values, strict=True)]
            law[(units + shift, *beside)] += chance * math.prod(own[z] for z in values)  # type: ignore[assignment]
    return dict(law)


@pytest.mark.parametrize(("count", "mu"), [(1, 1.0), (2, 1.5)])
def test_two_normals_are_as_private_as_they_say(count: int, mu: float) -> None:
    """Exactly, of all that leaves, for every unit that there may be."""
    noise = SupportNoise.with_units(Fraction(mu) ** 2, count)
    before = two_normals_law(10, [5] * count, noise, whole=False)
    for unit in product((0, 1), repeat=count):
        after = two_normals_law(11, [5 + x for x in unit], noise, whole=False)
        for one, other in ((before, after), (after, before)):
            for epsilon in (0.25, 1.0, 2.0):
                factor = math.exp(epsilon)
                excess = sum(max(0.0, p - factor * other.get(value, 0)) for value, p in one.items())
                allowed = float(gdp_delta_upper(Fraction(epsilon), Fraction(mu)))
                assert 0.8 * allowed < excess <= allowed * (1 + 1e-9)
    seen = [two_normals_law(units, [5] * count, noise, whole=True) for units in (10, 11)]
    assert not seen[0].keys() & seen[1].keys()


@pytest.mark.parametrize("what", ["support", "share"])
def test_intervals_of_two_normals_cover(what: str) -> None:
    """With 95 %, and hardly more; ends that are a tenth nearer do not."""
    units, supports, runs = 3000, [0, 3, 40, 300, 900, 1500, 2000, 2700, 3000], 4000
    noise = SupportNoise.with_units(Fraction(1, 100), len(supports))
    randomness = Randomness.seeded(3)
    sets = [(n,) for n in range(len(supports))]
    held, nearer = np.zeros(len(supports)), np.zeros(len(supports))
    for _ in range(runs):
        release = noisy_supports.release_with_units
        values, number = release(supports, units, noise, randomness=randomness)
        made = consistent(sets, values, noise.reach(CONFIDENCE), noise.per_unit)
        for place, support in enumerate(supports):
            if what == "support":
                middle, true = values[place] / 2, float(support)
                low, high = float(made.lower[place]), float(made.upper[place])
            else:
                middle, true = values[place] / 2 / number, support / units
                low, high = noise.share_interval(number, values[place], values[place])
            held[place] += low <= true <= high
            nearer[place] += middle + 0.9 * (low - middle) <= true <= middle + 0.9 * (high - middle)
    slack = 3.5 * math.sqrt(0.05 * 0.95 / runs)
    inner = slice(2, -2)  # at the edges they are cut
    assert held.min() >= (0.95 - slack) * runs
    assert held[inner].max() <= (0.965 + slack) * runs
    assert nearer[inner].max() < (0.95 - slack) * runs
