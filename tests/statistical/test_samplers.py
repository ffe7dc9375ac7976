"""The samplers against exact distributions, with proven power, and against OpenDP as an oracle.

Every test states its size and shows that a parameter wrong by 30 % would be caught.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import oracles
import pytest

from fim_private.dp.noise import (
    Randomness,
    bernoulli_exp,
    choose_level,
    discrete_gaussian,
    discrete_laplace,
    discrete_laplace_integer,
    geometric,
    uniform_integers,
)
from fim_private.request.supports import NoiseKind, SupportNoise, release

DRAWS = 100_000
LEVEL = 1e-6  # of each test: with fixed seeds, a failure is a defect


def assert_follows(drawn: list[int], pmf: dict[int, float], wrong: dict[int, float]) -> None:
    """Accept the right distribution, and prove that the wrong one would have been rejected."""
    counts = Counter(drawn)
    assert oracles.chi_square_pvalue(counts, pmf, len(drawn)) > LEVEL
    assert oracles.detects(pmf, wrong, len(drawn)) > 0.999


def laplace_pmf(scale: Fraction) -> dict[int, float]:
    reach = int(60 * scale) + 2
    k = np.arange(-reach, reach + 1)
    return dict(zip(k.tolist(), oracles.discrete_laplace_pmf(scale, k).tolist(), strict=True))


def gaussian_pmf(sigma2: Fraction) -> dict[int, float]:
    reach = int(40 * np.sqrt(float(sigma2))) + 2
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k**2) / (2 * float(sigma2)))
    return dict(zip(k.tolist(), (weights / weights.sum()).tolist(), strict=True))


def geometric_pmf(rate: Fraction) -> dict[int, float]:
    k = np.arange(int(60 / rate) + 2)
    return dict(zip(k.tolist(), oracles.geometric_pmf(rate, k).tolist(), strict=True))


SCALES = [
    Fraction(3),
    Fraction(12),
    Fraction(30, 7),
    Fraction(3, 10),
    Fraction(12 * 10**16, 10**16 + 1),
]


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.one_in(2)
def test_discrete_laplace_vector(scale: Fraction) -> None:
    drawn = discrete_laplace(scale, DRAWS, randomness=Randomness.seeded(101)).tolist()
    assert_follows(drawn, laplace_pmf(scale), laplace_pmf(scale * Fraction(13, 10)))
    assert oracles.detects(laplace_pmf(scale), laplace_pmf(scale * Fraction(7, 10)), DRAWS) > 0.999


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.one_in(6)
def test_discrete_laplace_single(scale: Fraction) -> None:
    randomness = Randomness.seeded(102)
    drawn = [discrete_laplace_integer(scale, randomness=randomness) for _ in range(DRAWS)]
    assert_follows(drawn, laplace_pmf(scale), laplace_pmf(scale * Fraction(7, 10)))


# Proposals of scale 1 and of larger ones; the last two need arithmetic beyond 64 bits.
VARIANCES = [
    Fraction(3, 10),
    Fraction(1),
    Fraction(1000, 3),
    Fraction(12 * 10**16, 10**16 + 1),
    SupportNoise.for_budget(Fraction(1), Fraction("1e-6"), 20).parameter,
]


@pytest.mark.parametrize("sigma2", VARIANCES, ids=str)
def test_discrete_gaussian(sigma2: Fraction) -> None:
    drawn = discrete_gaussian(sigma2, DRAWS, randomness=Randomness.seeded(110)).tolist()
    assert_follows(drawn, gaussian_pmf(sigma2), gaussian_pmf(sigma2 * Fraction(13, 10)))
    assert (
        oracles.detects(gaussian_pmf(sigma2), gaussian_pmf(sigma2 * Fraction(7, 10)), DRAWS) > 0.999
    )
    # Nor is it the proposal, nor a discrete Laplace distribution of the same variance.
    for scale in (Fraction(int(np.sqrt(float(sigma2))) + 1), Fraction(np.sqrt(float(sigma2) / 2))):
        assert oracles.detects(gaussian_pmf(sigma2), laplace_pmf(scale), DRAWS) > 0.999


@pytest.mark.parametrize(
    "sigma2", [Fraction(10**26), Fraction(10**40, 7), Fraction(1, 10**9)], ids=str
)
def test_discrete_gaussian_of_any_size(sigma2: Fraction) -> None:
    # Sixteen cells of equal probability, so that a σ wrong by 30 % would be seen in the outer ones.
    from scipy.stats import norm

    draws = 20_000
    drawn = discrete_gaussian(sigma2, draws, randomness=Randomness.seeded(111)).tolist()
    if sigma2 < 1:  # e^{-10^9/2}
        assert not any(drawn)
        return
    sigma = float(sigma2) ** 0.5
    edges = norm.ppf(np.arange(1, 16) / 16)
    cells = Counter(np.searchsorted(edges, [value / sigma for value in drawn]).tolist())
    pmf = dict.fromkeys(range(16), 1 / 16)
    assert oracles.chi_square_pvalue(cells, pmf, draws) > LEVEL
    for factor in (0.7, 1.3):
        wrong = np.diff([0, *norm.cdf(edges / factor), 1]).tolist()
        assert oracles.detects(pmf, dict(enumerate(wrong)), draws) > 0.999


@pytest.mark.full
@pytest.mark.parametrize("delta", [None, Fraction("1e-6")], ids=["laplace", "gaussian"])
def test_noise_of_supports(delta: Fraction | None) -> None:
    """Every support has its own noise, of the scale that their number asks for."""
    noise = SupportNoise.for_budget(Fraction(2), delta, 12)
    supports, runs = [0, 7, 10**12] * 4, DRAWS // 20
    randomness = Randomness.seeded(112)
    released = np.array(
        [release(supports, noise, randomness=randomness) for _ in range(runs)], dtype=np.int64
    )
    drawn = released - np.array(supports)
    pmf = laplace_pmf(Fraction(6)) if delta is None else gaussian_pmf(noise.parameter)
    few = (
        laplace_pmf(Fraction(6) * 11 / 12)
        if delta is None
        else gaussian_pmf(noise.parameter * 11 / 12)
    )
    assert (noise.kind is NoiseKind.LAPLACE) == (delta is None)
    # noise for one support fewer would be seen
    assert_follows([int(z) for z in drawn.ravel()], pmf, few)
    # Independent: of 66 correlations none is beyond 5.5 standard deviations, which are 0.014 each.
    correlations = np.asarray(np.corrcoef(drawn, rowvar=False))[np.triu_indices(12, 1)]
    assert np.abs(correlations).max() < 5.5 / np.sqrt(runs)


@pytest.mark.parametrize(
    "rate",
    [Fraction(1, 12), Fraction(7, 3), Fraction(1), Fraction(10**15, 10**15 * 3 + 7)],
    ids=str,
)
def test_geometric(rate: Fraction) -> None:
    drawn = geometric(rate, DRAWS, randomness=Randomness.seeded(103)).tolist()
    assert_follows(drawn, geometric_pmf(rate), geometric_pmf(rate * Fraction(13, 10)))


@pytest.mark.parametrize(
    "exponent", [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(7, 2)], ids=str
)
def test_bernoulli_exp(exponent: Fraction) -> None:
    def pmf(x: Fraction) -> dict[int, float]:
        return {1: float(np.exp(-float(x))), 0: float(-np.expm1(-float(x)))}

    drawn = (
        bernoulli_exp(exponent, 10 * DRAWS, randomness=Randomness.seeded(104)).astype(int).tolist()
    )
    assert_follows(drawn, pmf(exponent), pmf(exponent * Fraction(13, 10)))


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 200, 257])
def test_uniform_integers(bound: int) -> None:
    drawn = uniform_integers(bound, DRAWS, randomness=Randomness.seeded(105)).tolist()
    pmf = dict.fromkeys(range(bound), 1 / bound)
    assert oracles.chi_square_pvalue(Counter(drawn), pmf, DRAWS) > LEVEL


def test_choose_level() -> None:
    distances, multiplicities = [0, 3, 4, 9, 40], [1, 2, 1, 30, 10**6]

    def pmf(rate: float) -> dict[int, float]:
        weights = np.array(multiplicities) * np.exp(-rate * np.array(distances))
        return dict(enumerate((weights / weights.sum()).tolist()))

    randomness = Randomness.seeded(107)
    drawn = [
        choose_level(distances, multiplicities, Fraction(1, 3), randomness=randomness)
        for _ in range(DRAWS)
    ]
    assert_follows(drawn, pmf(1 / 3), pmf(1.3 / 3))


@pytest.mark.full
@pytest.mark.parametrize("scale", [1.0, 4.5, 12.0])
def test_opendp_draws_from_the_same_distribution(scale: float) -> None:
    """OpenDP's discrete Laplace, itself exact, agrees with ours."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    draws = 20_000
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = Counter(dp.m.make_laplace(*space, scale=scale)([0] * draws))
    ours = Counter(discrete_laplace(Fraction(scale), draws, randomness=Randomness()).tolist())
    assert two_sample_pvalue(ours, theirs) > LEVEL
    wrong = Counter(
        discrete_laplace(
            Fraction(scale) * Fraction(13, 10), draws, randomness=Randomness()
        ).tolist()
    )
    assert two_sample_pvalue(wrong, theirs) < LEVEL


def two_sample_pvalue(one: Counter[int], two: Counter[int]) -> float:
    from scipy.stats import chi2_contingency

    cells = sorted(k for k in one | two if one[k] + two[k] >= 20)
    table = np.array([[c[k] for k in cells] for c in (one, two)])
    rest = np.array([[c.total()] for c in (one, two)]) - table.sum(axis=1, keepdims=True)
    table = np.hstack([table, rest]) if rest.min() > 5 else table
    return float(chi2_contingency(table).pvalue)
