"""Noisy supports of itemsets that are released already: the noise, the release, and what set inclusion implies.

One privacy unit moves each of k supports by at most 1, under both neighbour relations. So the k supports
together have L1 sensitivity k and squared L2 sensitivity k. Independent noise on each of them is

- discrete Laplace of scale k/ε: (ε, 0)-private (Ghosh, Roughgarden and Sundararajan 2009), or
- discrete Gaussian of σ² = k/(2ρ): ρ-zCDP (Canonne, Kamath and Steinke 2020, Theorem 14), which is
  (ε, δ)-private with ρ = zcdp_rho(ε, δ).

Everything after the noise is post-processing: it sees the noisy integers, and no data.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

import numpy as np

from fim_private.dp.accounting import zcdp_rho
from fim_private.dp.bisection import least_integer
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.intervals import laplace_tail_bounds, precisions
from fim_private.dp.parameters import positive_integer
from fim_private.dp.randomness import Randomness, discrete_gaussian, discrete_laplace

CONFIDENCE = Fraction(95, 100)
# Up to this σ the Gaussian's probabilities are added one by one; above, its sum differs from an integral by less
# than 1e-15 once the first correction is made.
_SUMMED_SIGMA = 1024
# What float arithmetic may be wrong by in a probability; a half width is never too small because of it.
_FLOAT_ERROR = 1e-12


class NoiseKind(StrEnum):
    """Which distribution the noise of the supports has."""

    LAPLACE = "discrete-laplace"
    GAUSSIAN = "discrete-gaussian"


@dataclass(frozen=True)
class SupportNoise:
    """Noise for so many supports, chosen by public parameters only.

    kind: the distribution. parameter: > 0, in units of support: the scale b of discrete Laplace, or σ² of
    the discrete Gaussian. half_width: >= 0, in units of support; one noise value is at most that large,
    either way, with probability >= 95 %. count: >= 1, the supports it is enough for. cost: of them all together;
    None where they are a part of a larger sum of zero-concentrated privacy.
    """

    kind: NoiseKind
    parameter: Fraction
    half_width: int
    count: int
    cost: PrivacyCost | None

    @classmethod
    def for_budget(cls, epsilon: Fraction, delta: Fraction | None, count: int) -> SupportNoise:
        """Choose the noise with the smaller half width; Laplace, which spends no delta, if they are equal.

        delta None: Laplace. Raises ParameterError if a parameter is out of range (zcdp_rho; count >= 1).
        """
        count = positive_integer("count", count)
        scale = count / epsilon
        laplace = cls(NoiseKind.LAPLACE, scale, laplace_half_width(scale), count, PrivacyCost(epsilon, 0))
        if delta is None:
            return laplace
        sigma2 = count / (2 * zcdp_rho(epsilon, delta))
        width = gaussian_half_width(sigma2)
        if laplace.half_width <= width:
            return laplace
        return cls(NoiseKind.GAUSSIAN, sigma2, width, count, PrivacyCost(epsilon, delta))

    @classmethod
    def for_rho(cls, rho: Fraction, count: int) -> SupportNoise:
        """Return discrete Gaussian noise that is rho-zCDP for count supports: σ² = count/(2 rho).

        (Discrete Laplace noise of as much privacy is wider for every count.)
        """
        sigma2 = positive_integer("count", count) / (2 * rho)
        return cls(NoiseKind.GAUSSIAN, sigma2, gaussian_half_width(sigma2), count, None)


@lru_cache(maxsize=1 << 10)
def laplace_half_width(scale: Fraction) -> int:
    """Return the least w >= 0 with P(|Z| <= w) >= 95 % for discrete Laplace noise of that scale > 0, certified."""
    return least_integer(lambda w: _laplace_tail_is_small(scale, w + 1), 0)


def _laplace_tail_is_small(scale: Fraction, k: int) -> bool:
    """Decide whether P(Z >= k) <= 2.5 %, for k >= 1; equality cannot be, as e^{-1/b} is transcendental."""
    for bits in precisions(96):
        lower, upper = (bound * 40 for bound in laplace_tail_bounds(scale, k, bits))
        if upper <= 1 << bits:
            return True
        if lower > 1 << bits:
            return False
    raise AssertionError("precisions() never ends")  # pragma: no cover


@lru_cache(maxsize=1 << 10)
def gaussian_half_width(sigma2: Fraction) -> int:
    """Return a w >= 0 with P(|Z| <= w) >= 95 % for discrete Gaussian noise of that σ² > 0.

    It is the least w of which P(|Z| <= w) >= 95 % + 1e-12 holds in floats, which are right to 1e-12: so it
    is never too small, and the least one unless a smaller one is that close to 95 %.
    """
    wanted = float(CONFIDENCE) + _FLOAT_ERROR
    if sigma2 > _SUMMED_SIGMA**2:
        sigma = math.sqrt(sigma2)
        return least_integer(lambda w: _integral_within(sigma, w) >= wanted, 0)
    # Beyond 10 σ there is less than 1e-22 of the mass.
    k = np.arange(math.isqrt(math.floor(100 * sigma2)) + 2)
    weights = np.exp(-(k**2) / (2 * float(sigma2)))
    weights[1:] *= 2
    return int(np.searchsorted(np.cumsum(weights), wanted * weights.sum()))


def _integral_within(sigma: float, w: int) -> float:
    """Return P(|Z| <= w) by the midpoint rule and its first correction, -(f'(b) - f'(a))/24 (Euler-Maclaurin).

    The next one is below 1e-3/σ⁴. The sum over all integers is σ√(2π) up to a factor 1 + 2e^{-2π²σ²}.
    """
    z = (w + 0.5) / sigma
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return math.erf(z / math.sqrt(2)) + z * density / (12 * sigma * sigma)


def release(true_supports: Sequence[int], noise: SupportNoise, *, randomness: Randomness) -> tuple[int, ...]:
    """Return each support plus fresh noise: integers of any sign, in order.

    true_supports: (k,) integers >= 0, k <= noise.count. Raises ValueError if there are more: the noise would
    be too little.
    """
    if len(true_supports) > noise.count:
        raise ValueError(f"the noise is for {noise.count} supports, not for {len(true_supports)}")
    draw = discrete_laplace if noise.kind is NoiseKind.LAPLACE else discrete_gaussian
    drawn = draw(noise.parameter, len(true_supports), randomness=randomness).tolist()
    return tuple(int(support) + int(z) for support, z in zip(true_supports, drawn, strict=True))


@dataclass(frozen=True)
class NoisySupports:
    """Estimates of the supports of k itemsets, in order, that do not contradict set inclusion or each other.

    estimates, lower, upper: (k,) integers >= 0 each, in units of support, lower[i] <= estimates[i] <= upper[i].
    None of the three grows from an itemset to one that contains it. Each interval covers the true support with
    probability >= 95 %, taken by itself: all of them at once hold less often.
    """

    estimates: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]


def consistent(itemsets: Sequence[Collection[Hashable]], noisy: Sequence[int], half_width: int) -> NoisySupports:
    """Make noisy supports respect support >= 0 and support(A) >= support(B) for A ⊆ B. Post-processing.

    itemsets: (k,) sets of items, distinct; noisy: (k,) what release returned; half_width: >= 0, that of its
    noise. Raises ValueError if the lengths differ or an itemset is given twice.

    With D_i the least noisy support among the given subsets of i and i itself, and U_i the greatest among
    its supersets and itself, the estimate is ⌊(D_i + U_i)/2⌋ and the interval [D_i - w, U_i + w], all cut
    at 0. D and U do not grow from subset to superset, so neither do these. D_i <= noisy_i <= U_i: the interval
    contains the plain [noisy_i - w, noisy_i + w], which proves its coverage, and is that where the noise
    contradicts nothing. (To intersect the plain intervals, [U_i - w, D_i + w], would cover only if all of them
    do: with 20 nested itemsets of equal support, as little as 60 % instead of 95 %.)
    """
    sets = [frozenset(itemset) for itemset in itemsets]
    if len(sets) != len(noisy) or len(set(sets)) != len(sets):
        raise ValueError("every itemset must have one noisy support, and be given once")
    by_size: defaultdict[int, list[int]] = defaultdict(list)
    for i, itemset in enumerate(sets):
        by_size[len(itemset)].append(i)
    least, greatest = list(noisy), list(noisy)
    for i, itemset in enumerate(sets):
        larger = (j for size, members in by_size.items() if size > len(itemset) for j in members)
        for j in larger:
            if itemset < sets[j]:
                greatest[i] = max(greatest[i], noisy[j])
                least[j] = min(least[j], noisy[i])
    pairs = list(zip(least, greatest, strict=True))
    return NoisySupports(
        estimates=tuple(max(0, (low + high) // 2) for low, high in pairs),
        lower=tuple(max(0, low - half_width) for low, _ in pairs),
        upper=tuple(max(0, high + half_width) for _, high in pairs),
    )
