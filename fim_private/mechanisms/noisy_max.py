"""The highest of noisy supports: Laplace noise, permute-and-flip, and the distance of the leader to
the second.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np

from fim_private.dp.bounds import (
    Bounds,
    exp_bounds,
    laplace_tail_bounds,
    laplace_threshold,
    least_integer,
)
from fim_private.dp.noise import Floats, Randomness, UniformReal, discrete_laplace_integer
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.base import (
    ABSTAIN,
    MOST_CANDIDATES,
    Approximate,
    OutcomeDistribution,
    PurelyPrivate,
    Selection,
    universe_levels,
)
from fim_private.spectrum import SupportSpectrum

# Noisy max over levels: every itemset has a random key of its own, and the highest is selected.
# Only the best key of each level matters. It is drawn by inversion: if one itemset's key has
# distribution function G, the best of m has G^m, so the best key is where G reaches V^{1/m}, for a
# V uniform in [0, 1). V is known to as many digits as the decision takes: keys are intervals, and
# the choice is made when one lies above all others.

# The digits of V drawn at first for all levels; nearly all drop out by them.
_FIRST_BITS = 64
# Doubles decide which levels drop out, with a slack of hundreds of times their rounding error: no
# possible winner does.
_SLACK = 1e-12
# A level further below drops out as if it were only so far: doubles end at 2^1024, and rates at
# some 2^30.
_FURTHEST = 1 << 900
# Gauss-Legendre nodes on each interval: good to 1e-16 for a function that falls like e^-48x.
_NODES = 32
# The most values of the highest noisy support that are summed over.
_LARGEST_VALUES = 1 << 20
# Where so many keys are expected, there certainly is one: with a probability of 1 - e^-48.
_CERTAIN = 48
# In the place of 0, to divide 0 by.
_LEAST = 1e-300
# Array elements worked on at a time.
_CHUNK = 1 << 20


class _NoisyMax(PurelyPrivate):
    """A mechanism over a public universe that selects the itemset with the highest key."""

    _name: str

    @abstractmethod
    def _quantile(self, distance: int, above: Bounds, bits: int) -> Bounds:
        """Bound ``2**bits * x`` for the key x exceeded with a probability within above /
        2**bits.
        """

    @abstractmethod
    def _log_exceeds(self, distances: Floats, key: float) -> Floats:
        """Return ln P(an itemset's key exceeds `key`) by distance: (n,), right to twelve digits, or
        too high.
        """

    @abstractmethod
    def _intervals(self, distances: Floats, multiplicities: Floats) -> tuple[Floats, float]:
        """Return (n,) beginnings of intervals beyond which no key is highest, and their length."""

    @abstractmethod
    def _above(
        self, starts: Floats, inside: Floats, distances: Floats, multiplicities: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return P(an itemset's key is above some keys) and its density there, by level.

        Both are of a shape like (n, k, m) for the (m,) distances. Also returns over which share of
        each interval, (n, 1), these keys are spread: below it no key is highest.

        starts: (n, 1, 1) beginnings of intervals. inside: (k, 1), from 0 to their length.
        """

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Choose a level, 0 included, exactly. Raises ParameterError where the universe is not
        public.
        """
        levels, distances, counts = self._levels(spectrum)
        if len(levels) == 1:
            return Selection(levels[0])
        return Selection(levels[self._argmax(distances, counts, randomness)])

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the probability of every level, by quadrature good to 1e-12; that of abstaining is
        0.

        Raises ParameterError where the universe is not public or has over 1e300 candidates, or
        epsilon is too small.
        """
        if (spectrum.universe_size or 0) > MOST_CANDIDATES:
            raise ParameterError(
                f"{parameter('universe_size')} must be at most 1e300 for the exact distribution of "
                f"{self._name} (it can draw from more)"
            )
        levels, units, counts = self._levels(spectrum)
        distances, multiplicities = np.array(units, dtype=np.float64), np.array(counts, dtype=float)
        # The integral over the highest key y of m g(y) / G(y) Π_j G_j(y)^{m_j}, where G_j is the
        # distribution function of the key of an itemset of level j, and g is a density.
        starts, length = self._intervals(distances, multiplicities)
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        inside = length * (nodes[:, None] + 1) / 2
        shares = np.zeros(len(levels))
        step = max(_CHUNK // (len(levels) * _NODES), 1)
        for place in range(0, len(starts), step):
            here = starts[place : place + step, None, None]
            above, density, spread = self._above(here, inside, distances, multiplicities)
            with np.errstate(divide="ignore"):
                # below that all is 0, and must not become 0/0
                log_below = np.maximum(np.log1p(-above), -700)
            all_below = np.exp(log_below @ multiplicities) * weights * spread
            shares += (all_below[..., None] * np.exp(-log_below) * density).sum(axis=(0, 1))
        shares *= multiplicities
        return OutcomeDistribution(np.array(levels, dtype=np.int64), shares / shares.sum(), 0.0)

    def _levels(self, spectrum: SupportSpectrum) -> tuple[list[int], list[int], list[int]]:
        """Return the levels, how many units each lies below the first, and how many itemsets each
        has.
        """
        levels, counts = zip(
            *[level for level in universe_levels(spectrum, self._name) if level[1]], strict=True
        )
        return [*levels], [levels[0] - level for level in levels], [*counts]

    def _argmax(self, distances: list[int], counts: list[int], randomness: Randomness) -> int:
        """Return the index of the level, of two or more, that has the highest key."""

        def best_key(index: int, bits: int) -> Bounds:
            above = _root_complement(uniforms[index].digits(bits), counts[index], bits)
            return self._quantile(distances[index], above, bits)

        first = randomness.words(len(distances), _FIRST_BITS // 8)
        uniforms = [UniformReal(randomness, (known, _FIRST_BITS)) for known in first.tolist()]
        bits = 96 + counts[0].bit_length()
        lowest = best_key(0, bits)[0] / (1 << bits)
        # Only levels whose best key may exceed that, given the first digits of their V, are looked
        # at any further. 1 - V from the digits as integers: as doubles nothing is left of it where
        # V is nearly 1, which is where levels far below the first have the highest key.
        with np.errstate(divide="ignore"):
            left = np.log((~first[1:]).astype(np.float64)) - _FIRST_BITS * math.log(2)
        logarithm = np.array([math.log(count) for count in counts[1:]])
        chance = self._log_exceeds(
            np.array([float(min(d, _FURTHEST)) for d in distances[1:]]), lowest
        )
        slack = _SLACK * (_FIRST_BITS + logarithm + np.abs(chance))
        contenders = [0, *(1 + np.flatnonzero(left <= logarithm + chance + slack)).tolist()]
        bits = 96 + max(counts).bit_length()
        while True:
            bounds = {index: best_key(index, bits) for index in contenders}
            best = max(contenders, key=lambda index: bounds[index][0])
            contenders = [i for i in contenders if i == best or bounds[i][1] >= bounds[best][0]]
            if len(contenders) == 1:
                return best
            bits *= 2


def _root_complement(digits: int, count: int, bits: int) -> Bounds:
    """Bound ``2**bits * (1 - V**(1/count))`` for a V in [digits, digits + 1] / 2**bits, and a count
    >= 1.
    """
    unit = 1 << bits
    # ln and exp are correctly rounded; 24 more digits cover them and a division.
    context = Context(prec=bits * 31 // 100 + 24, Emin=-999_999, Emax=999_999)

    def floor_of_root(numerator: int) -> int:
        logarithm = context.ln(context.divide(Decimal(numerator), Decimal(unit)))
        root = context.exp(context.divide(logarithm, Decimal(count)))
        return int(context.multiply(root, Decimal(unit)))

    lower = unit - min(floor_of_root(digits + 1) + 2, unit)
    return lower, unit - max(floor_of_root(digits) - 1, 0)


class MaxOfLaplaces(_NoisyMax):
    """Noisy max with discrete Laplace noise, over every candidate of a public universe, of any
    size.

    Bhaskar, Laxman, Smith and Thakurta, "Discovering frequent patterns in sensitive data", 2010.
    ε-DP (docs/privacy.md, Theorem 10). The noise Z is integer. Equal noisy supports are put in a
    uniformly random order, by a U in [0, 1): the keys are Z - distance + U.
    """

    _name = "max-of-laplaces"

    @cached_property
    def scale(self) -> Fraction:
        """The scale of the noise, in units: 1/ε under add-remove, else 2/ε (Theorem 10)."""
        return 1 / self.rate

    def _quantile(self, distance: int, above: Bounds, bits: int) -> Bounds:
        unbounded = 1 << 4 * bits
        lower = self._crossing(above[1], bits, 0) if above[1] < 1 << bits else -unbounded
        upper = self._crossing(above[0], bits, 1) if above[0] else unbounded
        return lower - (distance << bits), upper - (distance << bits)

    def _crossing(self, probability: int, bits: int, side: int) -> int:
        """Return an x, times 2**bits, that Z + U exceeds with certainly at least the probability,
        or (1) at most.
        """

        def tail(k: int) -> Bounds:
            return laplace_tail_bounds(self.scale, k, bits)

        # Beyond that reach P(Z >= k) is below 2**-bits, and above 1 - 2**-bits before it.
        reach = math.floor(bits * self.scale) + 1
        k = least_integer(lambda k: tail(k)[side] < probability + side, 1 - reach, 1 + reach) - 1
        here, following, unit = tail(k), tail(k + 1), 1 << bits
        if side:
            fraction = (here[1] - probability << bits) // max(here[0] - following[1], 1) + 1
        else:
            fraction = (here[0] - probability << bits) // (here[1] - following[0] + 1)
        return (k << bits) + min(fraction, unit)

    def _log_exceeds(self, distances: Floats, key: float) -> Floats:
        # One below the floor, so that rounding never makes it too low.
        return log_laplace_tail(np.floor(key + distances) - 1, float(self.scale))

    def _intervals(self, distances: Floats, multiplicities: Floats) -> tuple[Floats, float]:
        # Outside, some itemset is certainly above, or certainly none is.
        scale = float(self.scale)
        first = math.floor(-42 * scale)
        reach = 42 + np.logaddexp.reduce(np.log(multiplicities) - distances / scale)
        last = math.ceil(reach * scale) + 1
        check_memory(last - first, _LARGEST_VALUES)
        return np.arange(first, last, dtype=np.float64), 1.0

    def _above(
        self, starts: Floats, inside: Floats, distances: Floats, multiplicities: Floats
    ) -> tuple[Floats, Floats, Floats]:
        tails = np.exp(log_laplace_tail(starts + distances, float(self.scale)))
        nexts = np.exp(log_laplace_tail(starts + distances + 1, float(self.scale)))
        density = tails - nexts  # constant inside an interval
        # The probability that all keys are below falls from the end of an interval at this rate, or
        # faster.
        falls = (density / np.maximum(1 - nexts, _LEAST)) @ multiplicities
        spread = _CERTAIN / np.maximum(falls, _CERTAIN)
        return nexts + spread[..., None] * inside * density, density, spread


class PermuteAndFlip(_NoisyMax):
    """Permute-and-flip over every candidate of a public universe, of any size.

    Candidates come in random order, and the first that is accepted is released. Each is accepted
    with probability exp(-rate (c(1) - c(i))) (McKenna and Sheldon, "Permute-and-flip: a new
    mechanism for differentially private selection", 2020). ε-DP (docs/privacy.md, Theorem 9), and
    never worse than the exponential mechanism. The order is a uniform arrival time in [0, 1] for
    each. If m candidates are each accepted with probability p, none that is accepted arrives before
    t with probability (1 - pt)^m. The keys are minus the arrival times.
    """

    _name = "permute-and-flip"

    def _quantile(self, distance: int, above: Bounds, bits: int) -> Bounds:
        lower, upper = exp_bounds(self.rate.numerator * distance, self.rate.denominator, bits)
        # The time is above / p, or later than any where p may be 0.
        latest = (above[1] << bits) // lower + 1 if lower else 1 << 2 * bits
        return -latest, -((above[0] << bits) // upper)

    def _log_exceeds(self, distances: Floats, key: float) -> Floats:
        return math.log(-key) - float(self.rate) * distances

    def _intervals(self, distances: Floats, multiplicities: Floats) -> tuple[Floats, float]:
        pace = float((multiplicities * np.exp(-float(self.rate) * distances)).sum())
        return np.zeros(1), min(1.0, _CERTAIN / pace)

    def _above(
        self, starts: Floats, inside: Floats, distances: Floats, multiplicities: Floats
    ) -> tuple[Floats, Floats, Floats]:
        # In terms of times, which the keys are minus of.
        accepted = np.exp(-float(self.rate) * distances)
        return accepted * (starts + inside), accepted, np.ones(1)


def check_memory(values: int, most: int) -> None:
    """Raise ParameterError where an exact distribution is over more values of the noise than
    that.
    """
    if values > most:
        raise ParameterError(
            f"{parameter('epsilon')} is too small for the exact distribution to fit in memory; "
            f"select still works"
        )


def log_laplace_tail(k: Floats | int, scale: float) -> Floats:
    """Return ln P(Z >= k), which is -k/b - ln(1 + e^{-1/b}) for k >= 1, of discrete Laplace noise:
    (n,) float64.
    """
    normaliser = math.log1p(math.exp(-1 / scale))
    below = np.log1p(-np.exp(-np.maximum(1 - k, 1) / scale - normaliser))
    return np.where(k >= 1, -np.maximum(k, 1) / scale - normaliser, below)


def laplace_tail(k: int, scale: Fraction) -> float:
    """Return P(Z >= k) for discrete Laplace noise of a scale > 0, and any integer k."""
    return math.exp(log_laplace_tail(k, float(scale)))


@dataclass(frozen=True)
class Distance(Approximate):
    """The itemset of highest support, if its margin over the second plus noise exceeds a threshold;
    or none.

    A_dist of Smith and Thakurta, "Differentially private feature selection via stability arguments,
    and the robustness of the Lasso", 2013: (ε, δ)-DP (docs/privacy.md, Theorem 7). It needs neither
    a universe nor a cap on baskets. Of such mechanisms it asks for the smallest margin, but one
    itemset must be alone in front.
    """

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on the margin, in units: sensitivity/ε."""
        return 1 / self.rate

    @property
    def threshold(self) -> int:
        """The least integer A >= 0, in units, with P(Z > A) <= δ: margin - sensitivity + Z must
        exceed it.
        """
        return laplace_threshold(self.scale, self.cost.delta)

    def select(self, spectrum: SupportSpectrum, randomness: Randomness) -> Selection:
        """Release the highest level, or abstain; reads two levels at most."""
        level, margin = leader(spectrum)
        noise = discrete_laplace_integer(self.scale, randomness)
        if spectrum.universe_size == 1 or margin - self.sensitivity + noise > self.threshold:
            return Selection(level)
        return ABSTAIN

    def distribution(self, spectrum: SupportSpectrum) -> OutcomeDistribution:
        """Return the probability of the highest level and of abstaining, exact up to floating
        point.
        """
        level, margin = leader(spectrum)
        if level is None:
            return OutcomeDistribution(np.empty(0, dtype=np.int64), np.empty(0), 1.0)
        clears = self.threshold + self.sensitivity - margin + 1
        released, abstain = laplace_tail(clears, self.scale), laplace_tail(1 - clears, self.scale)
        if spectrum.universe_size == 1:  # a single candidate is no secret
            released, abstain = 1.0, 0.0
        return OutcomeDistribution(np.array([level]), np.array([released]), abstain)


def leader(spectrum: SupportSpectrum) -> tuple[int | None, int]:
    """Return the highest level, and its margin over the second; 0 for an itemset that is tied.

    If nothing occurs, the level is None, or 0 in a known universe.
    """
    levels = spectrum.levels()
    first, multiplicity = next(levels, (0, 0))
    if not first and spectrum.universe_size is None:
        return None, 0
    if not first or multiplicity > 1:
        return first, 0
    second, _ = next(levels, (0, 0))
    return first, first - second
