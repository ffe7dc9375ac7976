"""Noise on supports and on the number of units, the intervals that follow, and a least support.

How a pair gets its interval, as `run.outcome` carries it out:

1. Once it is settled which k itemsets are measured, they all get noise of one kind
   (`SupportNoise`). They are the itemsets selected, their subsets if rules are released, and known
   itemsets. The plan settles the kind (`plan.noise_of`): discrete Gaussian for a share of ρ,
   and rounded normal for a share of μ². A share of ε gets the narrowest that its δ
   allows, which without δ is discrete Laplace. If the number of units comes with the supports
   (joint noise), it gets one normal, and the supports' distances from it get another.
   The width follows from k and the share, never from a support. One noise value is within the
   `half_width` w, on either side, with probability 95 % or more.
2. `release` (or `release_with_units`) adds a draw of its own to each true support. After that
   nothing looks at the data.
3. `consistent` turns the noisy supports into an estimate and an interval for each itemset. An
   itemset that neither contains another measured one, nor is contained in one, gets its noisy
   support ± w, cut at 0. For any other, D is the smallest noisy support among the itemset and its
   measured subsets. U is the largest among the itemset and its measured supersets.
   The estimate is the middle of D and U, and the interval goes from D - w to U + w. It holds the
   true support with 95 % probability, for each itemset by itself. That is no promise for the
   itemsets that come out because the same noise lifted them, as over a least support. (With a
   least support and without rules, D and U are of the itemsets that reach it.)
   With joint noise, supports are in halves of a unit. There `reach` is the half width in halves,
   and the ends are rounded inwards.
4. If levelwise found 20 itemsets or more, all of them come out, and no least support was asked for,
   `pooling` draws the estimates towards what earlier counts predict. The intervals become
   narrower, and on average 95 % of them hold. The support and interval of step 3, which holds by
   itself, stay beside them as `exact_support` and `exact_interval`. Rules use these.
5. The share of a support in a noisy number of units has an interval of its own (`share_interval`).
"""

from __future__ import annotations

import math
import numbers
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, Self, TypeVar

import numpy as np

from fim_private.dp.arguments import exact_number
from fim_private.dp.bounds import laplace_tail_bounds, least_integer
from fim_private.dp.composition import gdp_mu, zcdp_rho
from fim_private.dp.noise import Randomness, discrete_gaussian, discrete_laplace, rounded_normal
from fim_private.dp.noise import rounded_normal_half_width as normal_half_width
from fim_private.errors import ParameterError, parameter, shown

# One privacy unit moves each of k supports by at most 1, under both neighbour relations: together
# they have L1 sensitivity k and squared L2 sensitivity k (docs/privacy.md, "Noisy supports").
# Independent noise on each of them is
#
# - discrete Laplace of scale k/ε: (ε, 0)-private (Ghosh, Roughgarden and Sundararajan 2009), or
# - discrete Gaussian of σ² = k/(2ρ): ρ-zCDP (Canonne, Kamath and Steinke 2020, Theorem 14), which
#   is (ε, δ)-private with ρ = zcdp_rho(ε, δ), or
# - normal, rounded to whole numbers, of σ² = k/μ²: μ-GDP (`dp.composition`), and (ε, δ)-private
#   with μ = gdp_mu(ε, δ).
#
# Under add-remove half the noise is enough (Theorem 28 there; after Lebeda 2024). A unit that is
# added raises the number n of units by 1, and a support x by 1 or not at all. So x - n/2 moves by
# 1/2 only, up or down. Therefore n is released with normal noise of variance a², and each 2x - n, a
# whole number, with normal noise of variance 4b². Half their sum is x with noise of variance
# b² + a²/4. Together they are μ-GDP if 1/a² + k/(4b²) = μ². Of all such variances
#
#     a² = (√k + 1)/μ²,    b² = √k (√k + 1)/(4μ²)     (T)
#
# make b² + a²/4 the smallest: ((√k + 1)/(2μ))². All that follows the noise is post-processing.

_Number = TypeVar("_Number", int, float)
CONFIDENCE = Fraction(95, 100)
# Up to this σ a Gaussian's probabilities are added one by one; above, a corrected integral is good
# to 1e-15.
_SUMMED_SIGMA = 1024
_ROOT_BITS = 40  # binary digits after the point of √k, rounded up
_ROUNDING_VARIANCE = 1 / 12  # of a number that is rounded to a whole one
_Z = 1.95996398454006  # a normal value is within so many σ with 95 % probability
# how far float arithmetic may be off in a probability: half widths allow for it
_FLOAT_ERROR = 1e-12


class NoiseKind(StrEnum):
    """The distribution of the noise on supports."""

    LAPLACE = "discrete-laplace"
    GAUSSIAN = "discrete-gaussian"
    NORMAL = "rounded-normal"
    TWO_NORMALS = "two-normals"


@dataclass(frozen=True)
class SupportNoise:
    """Noise for a number of supports, chosen by public parameters only.

    Attributes:
        kind: Its distribution.
        parameter: > 0: the scale of discrete Laplace noise, in units; else the variance, in units
            squared, which is b² of (T) for two normals.
        half_width: >= 0, in units: one noise value is within it, on either side, with probability
            >= 95 %.
        count: For how many supports it is, >= 1.
        of_units: For two normals the variance a² of (T) of the number of units; else None.
    """

    kind: NoiseKind
    parameter: Fraction
    half_width: int
    count: int
    of_units: Fraction | None = None

    @classmethod
    def of(
        cls, kind: NoiseKind, parameter: Fraction, count: int, of_units: Fraction | None = None
    ) -> Self:
        """Return noise of a kind, with its half width."""
        noise = cls(kind, parameter, 0, count, of_units)
        return replace(noise, half_width=noise.within(CONFIDENCE))

    @classmethod
    def for_budget(cls, epsilon: Fraction, delta: Fraction | None, count: int) -> Self:
        """Choose the noise with the smallest half width; Laplace, which spends no delta, if
        another's is equal.

        epsilon: > 0. delta: 0 or None for Laplace. count: >= 1. Raises ParameterError for a
        parameter out of range.
        """
        laplace = cls.of(NoiseKind.LAPLACE, count / epsilon, count)
        if not delta:
            return laplace
        normal = cls.for_mu_squared(gdp_mu(epsilon, delta) ** 2, count)
        gaussian = cls.for_rho(zcdp_rho(epsilon, delta), count)
        return min((laplace, normal, gaussian), key=lambda noise: noise.half_width)

    @classmethod
    def for_rho(cls, rho: Fraction, count: int) -> Self:
        """Return discrete Gaussian noise, rho-zCDP for `count` supports, >= 1: σ² = count/(2 rho),
        for rho > 0.
        """
        return cls.of(NoiseKind.GAUSSIAN, count / (2 * rho), count)

    @classmethod
    def for_mu_squared(cls, mu_squared: Fraction, count: int) -> Self:
        """Return rounded normal noise that is μ-GDP for `count` supports, >= 1: σ² = count/μ², for
        μ² > 0.
        """
        return cls.of(NoiseKind.NORMAL, count / mu_squared, count)

    @classmethod
    def with_units(cls, mu_squared: Fraction, count: int) -> Self:
        """Return the two normals that are μ-GDP under add-remove, for `count` supports and the
        number of units.

        With r >= √count instead of √count both variances of (T) are rounded up, and spend no more
        than μ². That is 1/(r + 1) + count/(count + r) <= 1, which is r² >= count.
        """
        root = Fraction(math.isqrt((count << 2 * _ROOT_BITS) - 1) + 1, 1 << _ROOT_BITS)
        variance = (count + root) / (4 * mu_squared)
        return cls.of(NoiseKind.TWO_NORMALS, variance, count, (root + 1) / mu_squared)

    @property
    def rho(self) -> Fraction:
        """The ρ that the supports spend together in zCDP: ε²/2 of discrete Laplace noise,
        count/(2σ²) of the others.
        """
        if self.kind is NoiseKind.LAPLACE:
            return (self.count / self.parameter) ** 2 / 2
        if self.of_units is not None:
            return (1 / self.of_units + self.count / (4 * self.parameter)) / 2
        return self.count / (2 * self.parameter)

    @property
    def per_unit(self) -> int:
        """How many steps of noisy supports are a unit: 2 for two normals, which come in halves."""
        return 1 if self.of_units is None else 2

    @property
    def own_variance(self) -> float:
        """The variance of the normal noise that each support has of its own, rounding included."""
        return float(self.parameter) + _ROUNDING_VARIANCE

    @property
    def shared_variance(self) -> float:
        """The variance of the normal noise that all supports share."""
        return 0.0 if self.of_units is None else float(self.of_units) / 4

    @property
    def number(self) -> SupportNoise:
        """The noise of the number of units, if there are two normals."""
        assert self.of_units is not None
        return SupportNoise.for_mu_squared(1 / self.of_units, 1)

    @property
    def beside_units(self) -> SupportNoise:
        """The noise of 2x - n for two normals: x is a support, and n the number of units."""
        return SupportNoise.for_mu_squared(self.count / (4 * self.parameter), self.count)

    def within(self, confidence: Fraction) -> int:
        """Return a w >= 0, in units: |noise value| <= w with at least this probability, above 0, at
        most 1 - 1e-6.
        """
        return -(-self.reach(confidence) // self.per_unit)

    def reach(self, confidence: Fraction) -> int:
        """Return such a w in steps of noisy supports: halves with joint noise, otherwise units."""
        # The sum of two rounded normals differs from their rounded sum by 1 at most.
        if self.of_units is not None:
            return normal_half_width(4 * self.parameter + self.of_units, confidence) + 1
        return _HALF_WIDTH[self.kind](self.parameter, confidence)

    def wider(self, confidence: Fraction) -> float:
        """Return by how many units each end of a 95 % interval moves to have this confidence.

        With two normals that is for a number of units that is given (`UnitCount.slices`). It then
        may be below 0, since the noise that all supports share is no part of it.
        """
        if self.of_units is None:
            return self.within(confidence) - self.half_width
        return (self.beside_units.within(confidence) + 1 - self.reach(CONFIDENCE)) / 2

    @property
    def common_reach(self) -> int:
        """How much of a half width is noise that all supports share, in units.

        Such noise moves two supports alike, and so does not blur which of them is larger.
        """
        if self.of_units is None:
            return 0
        # Where the ends of two intervals are compared, rounding has taken half a unit from each.
        return max(self.reach(CONFIDENCE) - self.beside_units.half_width - 1, 0)

    def share_interval(
        self,
        number: int,
        lowest: float,
        highest: float,
        *,
        own_variance: float | None = None,
        sigmas: float = _Z,
    ) -> tuple[float, float]:
        """Return a 95 % interval of a share x/n of all units, 0 to 1, where x and n have two
        normals.

        number: the noisy n. lowest, highest: D and U of `consistent`, in half units; both are
        twice the noisy x unless other supports widened the interval. own_variance: b², unless it
        is that of the noise. sigmas: z, for which a pooled support needs a larger number.
        x̂ - p n̂ has the variance b² + (1/2 - p)² a² about x - p n, and rounding adds 1/2 at most.
        So the true p is among those with |x̂ - p n̂| <= z √(b² + (1/2 - p)² a²) + 1/2 (Fieller
        1954). If n̂ > za these are between two ends, each a root of a quadratic in p - 1/2;
        otherwise nothing is known of p.
        """
        assert self.of_units is not None
        if own_variance is None:
            own_variance = float(self.parameter)
        number_variance, variance = sigmas**2 * float(self.of_units), sigmas**2 * own_variance
        leading = number * number - number_variance
        if leading <= 0 or number <= 0:
            return 0.0, 1.0

        def end(doubled: float, side: int) -> float:
            middle = (doubled - number + side) / 2
            spread = math.sqrt(number_variance * middle * middle + variance * leading)
            return min(max(0.5 + (middle * number + side * spread) / leading, 0.0), 1.0)

        return end(lowest, -1), end(highest, 1)


@lru_cache(maxsize=1 << 10)
def laplace_half_width(scale: Fraction, confidence: Fraction = CONFIDENCE) -> int:
    """Return the least w >= 0, in units, with P(|Z| <= w) >= confidence for discrete Laplace noise
    of a scale > 0.
    """
    most = (1 - confidence) / 2

    def is_enough(w: int) -> bool:
        """Tell whether P(Z > w) < most. They are never equal, as e^{-1/b} is transcendental."""
        bits = 96
        while True:
            lower, upper = laplace_tail_bounds(scale, w + 1, bits)
            limit = most * (1 << bits)
            if upper <= limit:
                return True
            if lower > limit:
                return False
            bits *= 2

    return least_integer(is_enough, 0)


@lru_cache(maxsize=1 << 10)
def gaussian_half_width(sigma2: Fraction, confidence: Fraction = CONFIDENCE) -> int:
    """Return a w >= 0, in units, with P(|Z| <= w) >= confidence, at most 1 - 1e-6, for discrete
    Gaussian noise of σ².

    The least w with P(|Z| <= w) >= confidence + 1e-12 in floats, which are right to 1e-12: never
    too small.
    """
    least = float(confidence) + _FLOAT_ERROR
    if sigma2 > _SUMMED_SIGMA**2:
        sigma = math.sqrt(sigma2)
        return least_integer(lambda w: _integral_within(sigma, w) >= least, 0)
    # Beyond 10 σ there is less than 1e-22 of the mass.
    k = np.arange(math.isqrt(math.floor(100 * sigma2)) + 2)
    weights = np.exp(-(k**2) / (2 * float(sigma2)))
    weights[1:] *= 2
    return int(np.searchsorted(np.cumsum(weights), least * weights.sum()))


def _integral_within(sigma: float, w: int) -> float:
    # P(|Z| <= w) by the midpoint rule and its first correction, -(f'(b) - f'(a))/24 (Euler and
    # Maclaurin). The next is below 1e-3/σ⁴. The sum over all integers is σ√(2π) up to a factor 1 +
    # 2e^{-2π²σ²}.
    z = (w + 0.5) / sigma
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return math.erf(z / math.sqrt(2)) + z * density / (12 * sigma * sigma)


# How noise of a kind is drawn, and how wide it is.
_DRAW = {
    NoiseKind.LAPLACE: discrete_laplace,
    NoiseKind.GAUSSIAN: discrete_gaussian,
    NoiseKind.NORMAL: rounded_normal,
}
_HALF_WIDTH: dict[NoiseKind, Callable[[Fraction, Fraction], int]] = {
    NoiseKind.LAPLACE: laplace_half_width,
    NoiseKind.GAUSSIAN: gaussian_half_width,
    NoiseKind.NORMAL: normal_half_width,
}


def release(
    true_supports: Sequence[int], noise: SupportNoise, *, randomness: Randomness
) -> tuple[int, ...]:
    """Return each support plus noise of its own, (k,) integers, in units; ValueError for more than
    noise.count.
    """
    if len(true_supports) > noise.count:
        raise ValueError(f"the noise is for {noise.count} supports, not for {len(true_supports)}")
    drawn = _DRAW[noise.kind](noise.parameter, len(true_supports), randomness=randomness)
    return tuple(int(support) + z for support, z in zip(true_supports, drawn.tolist(), strict=True))


def release_with_units(
    true_supports: Sequence[int], units: int, noise: SupportNoise, *, randomness: Randomness
) -> tuple[tuple[int, ...], int]:
    """Return twice each support with two normals, (k,) integers of any sign, and the noisy number
    of units.
    """
    [number] = release([units], noise.number, randomness=randomness)
    differences = [2 * support - units for support in true_supports]
    noisy = release(differences, noise.beside_units, randomness=randomness)
    return tuple(difference + number for difference in noisy), number


class NoisySupports(NamedTuple):
    """Estimates of k supports, in order, and intervals, all in units and >= 0, which contradict no
    set inclusion.
    """

    estimates: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]


def consistent(
    itemsets: Sequence[Collection[Hashable]], noisy: Sequence[int], reach: int, per_unit: int = 1
) -> NoisySupports:
    """Make noisy supports respect support >= 0 and support(A) >= support(B) for A ⊆ B:
    post-processing.

    Let D_i be the least noisy support among i and its subsets that are given, and U_i the greatest
    among i and its supersets. The estimate is ⌊(D_i + U_i)/2⌋ and the interval [D_i - w, U_i + w],
    all cut at 0. Neither D nor U grows from a subset to a superset, and so neither does an estimate
    or an end. As D_i <= noisy_i <= U_i, the interval contains noisy_i ± w, and so covers as well.

    Noisy supports in halves give estimates and ends in whole units. A half is rounded to the even
    unit in an estimate, and inwards in an interval, as true supports are whole. Raises ValueError
    if the lengths differ or an itemset is given twice.

    Args:
        itemsets: (k,) sets of items, all different.
        noisy: (k,) integers, in units or in halves.
        reach: The half width w of their noise, >= 0, in the same.
        per_unit: 1 for units, 2 for halves.
    """
    pairs = extremes(itemsets, noisy)
    return NoisySupports(
        estimates=tuple(
            max(0, round(Fraction((low + high) // 2, per_unit))) for low, high in pairs
        ),
        lower=tuple(max(0, -((reach - low) // per_unit)) for low, _ in pairs),
        upper=tuple(max(0, (high + reach) // per_unit) for _, high in pairs),
    )


def extremes(
    itemsets: Sequence[Collection[Hashable]], noisy: Sequence[_Number]
) -> list[tuple[_Number, _Number]]:
    """Return D and U of each itemset, as `consistent` has them: (k,) pairs."""
    sets = [frozenset(itemset) for itemset in itemsets]
    if len(sets) != len(noisy) or len(set(sets)) != len(sets):
        raise ValueError("every itemset must have one noisy support, and be given once")
    least, greatest = list(noisy), list(noisy)
    for smaller, larger in _inclusions(sets):
        greatest[smaller] = max(greatest[smaller], noisy[larger])
        least[larger] = min(least[larger], noisy[smaller])
    return list(zip(least, greatest, strict=True))


def _inclusions(sets: Sequence[frozenset[Hashable]]) -> Iterator[tuple[int, int]]:
    """Yield the places of each set and of each larger one that contains it."""
    common = Counter(item for itemset in sets for item in itemset)
    # A set is grouped by its size, and under its rarest item, which all of its supersets have.
    groups: defaultdict[int, defaultdict[Hashable, list[int]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for place, itemset in enumerate(sets):
        rarest = min(itemset, key=common.__getitem__, default=None)
        groups[len(itemset)][rarest].append(place)
    for larger, itemset in enumerate(sets):
        for size, group in groups.items():
            if size >= len(itemset):
                continue
            for item in (None, *itemset):
                for smaller in group.get(item, ()):
                    if sets[smaller] < itemset:
                        yield smaller, larger


# The interval of a share holds with 95 % probability if that of the support fails with at most 4 %,
# and that of the number of units with at most 1 %.
SUPPORT_CONFIDENCE, UNITS_CONFIDENCE = Fraction(96, 100), Fraction(99, 100)
_SLICES = 16  # of more slices of the number of units the bounds of rules are hardly narrower


class Slice(NamedTuple):
    """A range of possible numbers of units, and how far it shifts the ends of all supports."""

    fewest: float
    most: float
    lower: float = 0.0
    upper: float = 0.0


@dataclass(frozen=True)
class UnitCount:
    """A number of units, >= 0. noise: what it has; None where it is exact."""

    number: int
    noise: SupportNoise | None = None

    @classmethod
    def noisy(cls, units: int, noise: SupportNoise, randomness: Randomness) -> Self:
        """Return the number with noise, at least 0: one unit more or less moves it by 1."""
        [number] = release([units], noise, randomness=randomness)
        return cls(max(number, 0), noise)

    @property
    def interval(self) -> tuple[int, int] | None:
        """The (lowest, highest) number there may be, with 95 % probability; None where it is
        exact.
        """
        return None if self.noise is None else self.within(CONFIDENCE)

    def within(self, confidence: Fraction) -> tuple[int, int]:
        """Return (lowest, highest), >= 0, between which the true number lies with at least this
        probability.
        """
        width = 0 if self.noise is None else self.noise.within(confidence)
        return max(self.number - width, 0), self.number + width

    def slices(self, confidence: Fraction, *, moving: bool) -> list[Slice]:
        """Return slices of the numbers there may be; moving: whether supports rise by 1/2 with each
        unit more.
        """
        fewest, most = self.within(confidence)
        if not moving:
            return [Slice(fewest, most)]
        ends = [fewest + (most - fewest) * place / _SLICES for place in range(_SLICES + 1)]
        return [
            Slice(low, high, (low - self.number) / 2, (high - self.number) / 2)
            for low, high in pairwise(ends)
        ]

    def share_interval(self, lowest: int, highest: int) -> tuple[float, float]:
        """Return a 95 % interval of a support's share of all units, 0 to 1.

        lowest, highest: an interval of the support that holds with SUPPORT_CONFIDENCE.
        """
        fewest, most = self.within(UNITS_CONFIDENCE)
        highest_share = 1.0
        if fewest:
            highest_share = min(highest / fewest, 1.0)
        return min(lowest / max(most, 1), 1.0), highest_share


_NUMBER = re.compile(r"([0-9]+|[0-9]*\.[0-9]+(?:[eE]-?[0-9]{1,3})?|[0-9]+\.?[eE]-[0-9]{1,3}) ?(%?)")
_MOST_DIGITS = 18  # more than any number of units has


@dataclass(frozen=True)
class MinSupport:
    """A support: either a share of all units, above 0 and below 1, or a number of units, >= 1."""

    share: Fraction | None = None
    count: int | None = None

    @classmethod
    def of(cls, value: object) -> MinSupport:
        """Return what a caller asks for: 0.02, "0.02", "2%", a Fraction, 500 or "500". Raises
        ParameterError else.
        """
        exact = _exact(value)
        if isinstance(exact, int) and 1 <= exact < 10**_MOST_DIGITS:
            return cls(count=exact)
        if isinstance(exact, Fraction) and 0 < exact < 1:
            return cls(share=exact)
        raise ParameterError(
            f"{parameter('min_support')} must be a share above 0 and below 1, such as '2%', or a "
            f"number >= 1 of baskets (or users), of up to {_MOST_DIGITS} plain digits, not "
            f"{shown(value)}"
        )

    @property
    def as_given(self) -> float | int:
        """The share as a float, or the number of units as an int."""
        return float(self.share) if self.share is not None else self.count or 0

    def confidence(self, units: UnitCount | None) -> Fraction:
        """Return the confidence of the interval of a support that decides whether it is certain."""
        return (
            SUPPORT_CONFIDENCE
            if self.share is not None and units is not None and units.noise
            else CONFIDENCE
        )

    def threshold(self, units: UnitCount | None) -> int:
        """Return the least whole number of units that is as much, >= 1. units: how many there are,
        about or exactly.
        """
        if self.share is None:
            return self.count or 1
        assert units is not None, "a share is of a number of units that is known"
        return max(math.ceil(self.share * units.number), 1)

    def is_certain(self, lowest: int, units: UnitCount | None) -> bool:
        """Whether a support that is `lowest` at least, with `confidence`, is enough for the most
        units there may be.
        """
        if self.share is None:
            return lowest >= (self.count or 1)
        assert units is not None
        return lowest >= self.share * units.within(UNITS_CONFIDENCE)[1]


def exact_share(name: str, value: object) -> Fraction:
    """Return a share above 0 and below 1 as the rational its digits say: of 0.02, "0.02", "2%" or a
    Fraction.
    """
    share = _exact(value)
    if share is not None and 0 < share < 1:
        return Fraction(share)
    raise ParameterError(
        f"{parameter(name)} must be a share above 0 and below 1, such as 0.04 or '4%', not "
        f"{shown(value)}"
    )


def _exact(value: object) -> int | Fraction | None:
    if not isinstance(value, str):
        exact = exact_number(value)
        return int(exact) if exact is not None and isinstance(value, numbers.Integral) else exact
    match = _NUMBER.fullmatch(value.strip())
    if match is None or len(value) > 2 * _MOST_DIGITS:
        return None
    digits, percent = match.groups()
    if percent:
        return Fraction(digits) / 100
    return int(digits) if digits.isdigit() else Fraction(digits)
