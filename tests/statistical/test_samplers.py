"""The samplers against exact distributions, with proven power, and against OpenDP as an oracle.

Every test states its size and shows that a parameter wrong by 30 % would be caught.
"""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import oracles
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from fim_private.dp import noise as sampler
from fim_private.dp.noise import Randomness, discrete_laplace, rounded_normal
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


def equal_cells(drawn: sampler.Integers, sigma: float, count: int) -> Counter[int]:
    """How many fall into each of so many cells, equally probable for a standard deviation σ."""
    edges = norm.ppf(np.arange(1, count) / count)
    return Counter(np.searchsorted(edges, drawn.astype(np.float64) / sigma).tolist())


def equal_pmf(count: int, factor: float = 1) -> dict[int, float]:
    """The probabilities of these cells for a standard deviation that is wrong by a factor."""
    edges = norm.ppf(np.arange(1, count) / count)
    return dict(enumerate(np.diff([0, *norm.cdf(edges / factor), 1]).tolist()))


def assert_normal(drawn: sampler.Integers, sigma: float, cells: int) -> None:
    """Accept normal draws by cells of equal probability, and reject those wrong by 30 %."""
    number, pmf = len(drawn), equal_pmf(cells)
    assert oracles.chi_square_pvalue(equal_cells(drawn, sigma, cells), pmf, number) > LEVEL
    for factor in (0.7, 1.3):
        assert oracles.detects(pmf, equal_pmf(cells, factor), number) > 0.999


SCALES = [*map(Fraction, ("3", "12", "30/7", "3/10")), Fraction(12 * 10**16, 10**16 + 1)]


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
    drawn = [sampler.discrete_laplace_integer(scale, randomness=randomness) for _ in range(DRAWS)]
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
    drawn = sampler.discrete_gaussian(sigma2, DRAWS, randomness=Randomness.seeded(110)).tolist()
    assert_follows(drawn, gaussian_pmf(sigma2), gaussian_pmf(sigma2 * Fraction(13, 10)))
    assert oracles.detects(gaussian_pmf(sigma2), gaussian_pmf(sigma2 * 7 / 10), DRAWS) > 0.999
    # Nor is it the proposal, nor a discrete Laplace distribution of the same variance.
    for scale in (Fraction(int(np.sqrt(float(sigma2))) + 1), Fraction(np.sqrt(float(sigma2) / 2))):
        assert oracles.detects(gaussian_pmf(sigma2), laplace_pmf(scale), DRAWS) > 0.999


@pytest.mark.parametrize("sigma2", [Fraction(10**26), Fraction(10**40, 7), Fraction(1, 10**9)])
def test_discrete_gaussian_of_any_size(sigma2: Fraction) -> None:
    drawn = sampler.discrete_gaussian(sigma2, 20_000, randomness=Randomness.seeded(111))
    if sigma2 < 1:  # e^{-10^9/2}
        assert not drawn.any()
    else:
        assert_normal(drawn, float(sigma2) ** 0.5, 16)


@pytest.mark.full
@pytest.mark.parametrize("delta", [None, Fraction("1e-6")], ids=["laplace", "gaussian"])
def test_noise_of_supports(delta: Fraction | None) -> None:
    """Every support has its own noise, of the scale that their number asks for."""
    noise = SupportNoise.for_budget(Fraction(2), delta, 12)
    supports, runs = [0, 7, 10**12] * 4, DRAWS // 20
    randomness = Randomness.seeded(112)
    released = [release(supports, noise, randomness=randomness) for _ in range(runs)]
    drawn = np.array(released, dtype=np.int64) - np.array(supports)
    assert delta is not None or noise.parameter == 6
    law = laplace_pmf if delta is None else gaussian_pmf
    pmf, few = law(noise.parameter), law(noise.parameter * 11 / 12)
    assert (noise.kind is NoiseKind.LAPLACE) == (delta is None)
    # noise for one support fewer would be seen
    assert_follows([int(z) for z in drawn.ravel()], pmf, few)
    # Independent: of 66 correlations none is beyond 5.5 standard deviations, which are 0.014 each.
    correlations = np.asarray(np.corrcoef(drawn, rowvar=False))[np.triu_indices(12, 1)]
    assert np.abs(correlations).max() < 5.5 / np.sqrt(runs)


@pytest.mark.parametrize(
    "rate", [Fraction(1, 12), Fraction(7, 3), Fraction(1), Fraction(10**15, 10**15 * 3 + 7)]
)
def test_geometric(rate: Fraction) -> None:
    drawn = sampler.geometric(rate, DRAWS, randomness=Randomness.seeded(103)).tolist()
    assert_follows(drawn, geometric_pmf(rate), geometric_pmf(rate * Fraction(13, 10)))


@pytest.mark.parametrize("exponent", [*map(Fraction, ("1/1000", "1/3", "1", "7/2"))], ids=str)
def test_bernoulli_exp(exponent: Fraction) -> None:
    def pmf(x: Fraction) -> dict[int, float]:
        return {1: float(np.exp(-float(x))), 0: float(-np.expm1(-float(x)))}

    drawn = sampler.bernoulli_exp(exponent, 10 * DRAWS, randomness=Randomness.seeded(104))
    assert_follows(drawn.astype(int).tolist(), pmf(exponent), pmf(exponent * Fraction(13, 10)))


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 200, 257])
def test_uniform_integers(bound: int) -> None:
    drawn = sampler.uniform_integers(bound, DRAWS, randomness=Randomness.seeded(105)).tolist()
    pmf = dict.fromkeys(range(bound), 1 / bound)
    assert oracles.chi_square_pvalue(Counter(drawn), pmf, DRAWS) > LEVEL


def test_choose_level() -> None:
    distances, multiplicities = [0, 3, 4, 9, 40], [1, 2, 1, 30, 10**6]

    def pmf(rate: float) -> dict[int, float]:
        weights = np.array(multiplicities) * np.exp(-rate * np.array(distances))
        return dict(enumerate((weights / weights.sum()).tolist()))

    randomness = Randomness.seeded(107)
    drawn = [
        sampler.choose_level(distances, multiplicities, Fraction(1, 3), randomness=randomness)
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
    off = discrete_laplace(Fraction(scale) * 13 / 10, draws, randomness=Randomness())
    wrong = Counter(off.tolist())
    assert two_sample_pvalue(wrong, theirs) < LEVEL


def two_sample_pvalue(one: Counter[int], two: Counter[int]) -> float:
    from scipy.stats import chi2_contingency

    cells = sorted(k for k in one | two if one[k] + two[k] >= 20)
    table = np.array([[c[k] for k in cells] for c in (one, two)])
    rest = np.array([[c.total()] for c in (one, two)]) - table.sum(axis=1, keepdims=True)
    table = np.hstack([table, rest]) if rest.min() > 5 else table
    return float(chi2_contingency(table).pvalue)


# -------------------- rounded normal noise


def normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def rounded_pmf(sigma: float) -> dict[int, float]:
    """P(⌊σZ + 1/2⌋ = k) = Φ((k + 1/2)/σ) - Φ((k - 1/2)/σ), from the tail on the side of 0."""
    reach = int(9 * sigma) + 2
    edges = [normal_cdf((0.5 - k) / sigma) for k in range(reach + 1)]
    upper = {k: edges[k] - edges[k + 1] for k in range(reach)}
    return {k: upper[abs(k)] for k in range(1 - reach, reach)}


@pytest.fixture(params=["doubles", "rationals"])
def draws(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """As it is; and with all that is uncertain left to the slow path, fewer draws."""
    if request.param == "doubles":
        return DRAWS
    monkeypatch.setattr(sampler, "_MARGIN", 2.0)
    monkeypatch.setattr(sampler, "_ROUNDING", 2.0)
    return DRAWS // 10


@pytest.mark.parametrize("sigma2", [Fraction(1), Fraction(1, 10), Fraction(7, 3), Fraction(400)])
@pytest.mark.one_in(4)
def test_small_variances(sigma2: Fraction, draws: int) -> None:
    pmf = rounded_pmf(math.sqrt(sigma2))
    drawn = rounded_normal(sigma2, draws, randomness=Randomness.seeded(120)).tolist()
    for factor in (0.7, 1.3):
        assert_follows(drawn, pmf, rounded_pmf(factor * math.sqrt(sigma2)))


@pytest.mark.parametrize("sigma2", [Fraction(300 << 32), Fraction(1 << 79, 3), Fraction(10**40, 7)])
def test_large_variances(sigma2: Fraction) -> None:
    # The last in rationals alone. 64 cells: each tells 1/16 of σ and less.
    number = 5000 if sigma2 > 1 << 80 else DRAWS
    drawn = rounded_normal(sigma2, number, randomness=Randomness.seeded(121))
    assert_normal(drawn, math.sqrt(sigma2), 64)


def test_low_digits_are_uniform() -> None:
    """σ = 1.1 · 2^20: what is drawn modulo 256 has no pattern, to within e^{-2π²(σ/256)²}."""
    drawn = rounded_normal(Fraction(300 << 32), DRAWS, randomness=Randomness.seeded(122))
    even = dict.fromkeys(range(256), 1 / 256)
    assert oracles.chi_square_pvalue(Counter((drawn % 256).tolist()), even, DRAWS) > LEVEL


@pytest.mark.full
def test_five_million_draws() -> None:
    """Beyond a cell's weight wrong by 2^-16; and no discrete Gaussian."""
    number = 5_000_000
    pmf = rounded_pmf(2.0)
    drawn = rounded_normal(Fraction(4), number, randomness=Randomness.seeded(123)).tolist()
    assert_follows(drawn, pmf, gaussian_pmf(Fraction(4)))


class WideCells(Randomness):
    """Random words that all choose the wide cells, those far out."""

    def __init__(self, seed: int) -> None:
        self._seeded = Randomness.seeded(seed)
        super().__init__(lambda count: self._seeded.bits(8 * count).to_bytes(count, "little"))

    def words(self, count: int, width: int) -> NDArray[np.unsignedinteger]:
        return super().words(count, width) | np.uint64(0xFFFF)


@pytest.mark.full
def test_what_comes_from_the_wide_cells_is_the_tail() -> None:
    """From 4.75 on: |Z| >= 4.75 has the tail Q(z) / Q(4.75). The steps are 1/16, so the cells of
    1/4 are seen.
    """
    draws = 2000
    drawn = rounded_normal(Fraction(256), draws, randomness=WideCells(124)).tolist()
    least = 76  # 16 · 4.75

    def pmf(steepness: float) -> dict[int, float]:
        """Of 76, which is only what is rounded up to it, to 160; the tail to a power."""
        tails = [normal_cdf(-4.75), *(normal_cdf(-(k + 0.5) / 16) for k in range(least, 160))]
        beyond = [(tail / tails[0]) ** steepness for tail in tails]
        return dict(enumerate([*(-np.diff(beyond)), beyond[-1]], start=least))

    magnitudes = Counter(min(abs(k), 160) for k in drawn)
    assert oracles.chi_square_pvalue(magnitudes, pmf(1), draws) > LEVEL
    assert oracles.detects(pmf(1), pmf(1.3), draws) > 0.999
    assert oracles.detects(pmf(1), pmf(0.7), draws) > 0.999
    assert abs(sum(k > 0 for k in drawn) - draws / 2) < 5 * math.sqrt(draws) / 2


def test_draws_are_independent() -> None:
    """Neighbours, squares, sign with size: none correlated beyond 5.5 deviations."""
    z = rounded_normal(Fraction(400), DRAWS, randomness=Randomness.seeded(125)) / 20
    pairs = [(z[1:], z[:-1]), (z[1:] ** 2, z[:-1] ** 2), (np.sign(z), np.abs(z)), (z[:-2], z[2:])]
    for one, other in pairs:
        assert abs(np.corrcoef(one, other)[0, 1]) < 5.5 / math.sqrt(DRAWS)
