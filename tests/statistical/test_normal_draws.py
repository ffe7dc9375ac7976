"""Rounded normal noise against its exact distribution, with proven power."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import oracles
import pytest
from numpy.typing import NDArray

from fim_private.dp import noise as sampler
from fim_private.dp.noise import Integers, Randomness, rounded_normal

DRAWS = 100_000
LEVEL = 1e-6  # of each test: with fixed seeds, a failure is a defect


def normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def rounded_pmf(sigma: float) -> dict[int, float]:
    """P(⌊σZ + 1/2⌋ = k) = Φ((k + 1/2)/σ) - Φ((k - 1/2)/σ), from the tail on the side of 0."""
    reach = int(9 * sigma) + 2
    upper = {
        k: normal_cdf((0.5 - k) / sigma) - normal_cdf((-0.5 - k) / sigma) for k in range(reach)
    }
    return {k: upper[abs(k)] for k in range(1 - reach, reach)}


def equal_cells(drawn: Integers, sigma: float, count: int) -> Counter[int]:
    """How many fall into each of so many cells, equally probable for a standard deviation σ."""
    from scipy.stats import norm

    edges = norm.ppf(np.arange(1, count) / count)
    return Counter(np.searchsorted(edges, drawn.astype(np.float64) / sigma).tolist())


def equal_pmf(count: int, factor: float = 1) -> dict[int, float]:
    """The probabilities of these cells for a standard deviation that is wrong by a factor."""
    from scipy.stats import norm

    edges = norm.ppf(np.arange(1, count) / count)
    return dict(enumerate(np.diff([0, *norm.cdf(edges / factor), 1]).tolist()))


@pytest.fixture(params=["doubles", "rationals"])
def draws(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """As it is; and with all that is uncertain left to the slow path, fewer draws."""
    if request.param == "doubles":
        return DRAWS
    monkeypatch.setattr(sampler, "_MARGIN", 2.0)
    monkeypatch.setattr(sampler, "_ROUNDING", 2.0)
    return DRAWS // 10


@pytest.mark.parametrize(
    "sigma2", [Fraction(1), Fraction(1, 10), Fraction(7, 3), Fraction(400)], ids=str
)
@pytest.mark.one_in(4)
def test_small_variances(sigma2: Fraction, draws: int) -> None:
    pmf = rounded_pmf(math.sqrt(sigma2))
    counts = Counter(rounded_normal(sigma2, draws, randomness=Randomness.seeded(120)).tolist())
    assert oracles.chi_square_pvalue(counts, pmf, draws) > LEVEL
    for factor in (0.7, 1.3):
        assert oracles.detects(pmf, rounded_pmf(factor * math.sqrt(sigma2)), draws) > 0.999


@pytest.mark.parametrize(
    "sigma2", [Fraction(300 << 32), Fraction(1 << 79, 3), Fraction(10**40, 7)], ids=str
)
def test_large_variances(sigma2: Fraction) -> None:
    # The last in rationals alone. 64 cells: each tells 1/16 of σ and less.
    number, cells = (5000 if sigma2 > 1 << 80 else DRAWS), 64
    drawn = rounded_normal(sigma2, number, randomness=Randomness.seeded(121))
    pmf = equal_pmf(cells)
    assert (
        oracles.chi_square_pvalue(equal_cells(drawn, math.sqrt(sigma2), cells), pmf, number) > LEVEL
    )
    for factor in (0.7, 1.3):
        assert oracles.detects(pmf, equal_pmf(cells, factor), number) > 0.999


def test_low_digits_are_uniform() -> None:
    """σ = 1.1 · 2^20: what is drawn modulo 256 has no pattern, to within e^{-2π²(σ/256)²}."""
    drawn = rounded_normal(Fraction(300 << 32), DRAWS, randomness=Randomness.seeded(122))
    assert (
        oracles.chi_square_pvalue(
            Counter((drawn % 256).tolist()), dict.fromkeys(range(256), 1 / 256), DRAWS
        )
        > LEVEL
    )


@pytest.mark.full
def test_five_million_draws() -> None:
    """Beyond a cell's weight wrong by 2^-16; and no discrete Gaussian."""
    number = 5_000_000
    pmf = rounded_pmf(2.0)
    counts = Counter(
        rounded_normal(Fraction(4), number, randomness=Randomness.seeded(123)).tolist()
    )
    assert oracles.chi_square_pvalue(counts, pmf, number) > LEVEL
    weights = {k: math.exp(-(k**2) / 8) for k in pmf}
    total = math.fsum(weights.values())
    assert (
        oracles.detects(pmf, {k: weight / total for k, weight in weights.items()}, number) > 0.999
    )


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
