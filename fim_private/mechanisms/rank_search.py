"""Rank search: the first rank with a large margin, drawn exactly, and its noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fim_private import options
from fim_private.dp.bounds import Bounds, exp_bounds, laplace_tail_bounds, least_integer, power_bounds, precisions
from fim_private.dp.noise import Randomness, UniformReal, discrete_laplace_integer, geometric
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.base import MOST_CANDIDATES, Checked, PublicParameters
from fim_private.mechanisms.noisy_max import LaplaceSum, log_laplace_tail
from fim_private.spectrum import SupportSpectrum

# The noise of a search: an integer X, in units, that all steps share, and what each step draws for itself.
#
# The slack of step ℓ is c(1) - c(ℓ+1) less its threshold. ``TwoSidedSteps`` is for the large margin mechanism:
# X = Z - G and Z_ℓ, all discrete Laplace; step ℓ stops when Z_ℓ < slack + X. ``OneSidedSteps`` is for the tight margin
# mechanism: G >= 0 and Z_ℓ >= 0, geometric; step ℓ stops when Z_ℓ >= G - slack, so X is -G.
#
# Both give, in the same words: step_reach, the least slack, in units, from which a step stops with a probability of 1,
# up to 1e-18. rest_factor, an F with Σ_{j >= ℓ} h(j) <= F (ℓ + 2) h(ℓ) for the hazards h of zeros without slack
# (docs/privacy.md, "Exact distribution"), None where no such bound holds. shared, the consecutive values of X and their
# probabilities, tails below 1e-18 cut. draw_shared, which draws X. hazard, bounds of 2**bits times the probability that
# a step stops; most_hazard, a bound of it from above up to rounding; log_stay, ln P(a step does not stop). For all
# three the slack includes X.

# The largest 1/b with which the sum of the remaining hazards is bounded.
_LARGEST_RATE = 400
# Most noise values that a distribution averages over: 100 MB or so of memory.
_LARGEST_REACH = 1 << 21
# No noise of scale 1 reaches this with a probability above 1e-18.
_REACH = 42


@dataclass(frozen=True)
class TwoSidedSteps:
    """The noise of the large margin mechanism, all discrete Laplace; of Z and G the scales, in units, > 0, differ."""

    maximum_scale: Fraction
    shared_scale: Fraction
    step_scale: Fraction

    @property
    def step_reach(self) -> int:
        """The least slack from which a step stops."""
        return math.ceil(_REACH * self.step_scale)

    @property
    def rest_factor(self) -> int | None:
        """An integer of at least e^{1/b}; None where there is next to no noise, and it would be astronomic.

        T grows by at least (30/ε) ln((j+1)/(ℓ+1)) from ℓ to j, up to its rounding by less than 1, so
        h(j) <= e^{1/b} ((ℓ+1)/(j+1))^{5/2} h(ℓ) with b = 12/ε; the sum over j > ℓ is at most 2(ℓ+1)/3 times e^{1/b}
        h(ℓ).
        """
        rate = 1 / self.step_scale
        return int(3 ** math.ceil(rate)) if rate <= _LARGEST_RATE else None

    def shared(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the values and probabilities of X = Z - G (docs/privacy.md, equation (6))."""
        reach = _checked(math.ceil(_REACH * max(self.maximum_scale, self.shared_scale)))
        x = np.arange(-reach, reach + 1)
        return x, LaplaceSum.of([self.maximum_scale, self.shared_scale]).pmf(x)

    def draw_shared(self, randomness: Randomness) -> int:
        """Draw X = Z - G."""
        maximum = discrete_laplace_integer(self.maximum_scale, randomness=randomness)
        return maximum - discrete_laplace_integer(self.shared_scale, randomness=randomness)

    def hazard(self, slack: int, bits: int) -> Bounds:
        """Bound ``2**bits * P(Z_ℓ < slack)``, which is P(Z_ℓ >= 1 - slack), as Z_ℓ is symmetric."""
        return laplace_tail_bounds(self.step_scale, 1 - slack, bits)

    def most_hazard(self, slack: int) -> float:
        """Return a bound of P(Z_ℓ < slack), which is e^{-(1 - slack)/b} / (1 + e^{-1/b}) for slack <= 0."""
        return math.exp((slack - 1) * self._step_rate) if slack <= 0 else 1.0

    @cached_property
    def _step_rate(self) -> float:
        return float(1 / self.step_scale)

    def log_stay(self, slack: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln P(Z_ℓ >= slack): (n,) float64."""
        return log_laplace_tail(slack, float(self.step_scale))


@dataclass(frozen=True)
class OneSidedSteps:
    """The tight margin mechanism's noise: P(G >= k) = e^{-shared_rate k}, P(Z_ℓ >= k) = e^{-step_rate k}, k >= 0."""

    shared_rate: Fraction
    step_rate: Fraction

    step_reach = 0  # from there on every step stops
    rest_factor = None  # no bound is needed, as the search ends at a cap

    def shared(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the values and probabilities of X = -G."""
        reach = _checked(math.ceil(_REACH / self.shared_rate))
        x = np.arange(-reach, 1)
        return x, -np.expm1(-float(self.shared_rate)) * np.exp(float(self.shared_rate) * x)

    def draw_shared(self, randomness: Randomness) -> int:
        """Draw X = -G."""
        return -int(geometric(self.shared_rate, 1, randomness=randomness)[0])

    def hazard(self, slack: int, bits: int) -> Bounds:
        """Bound ``2**bits * P(Z_ℓ >= -slack)``."""
        return exp_bounds(self.step_rate.numerator * max(-slack, 0), self.step_rate.denominator, bits)

    def most_hazard(self, slack: int) -> float:
        """Return P(Z_ℓ >= -slack)."""
        return math.exp(self._step_rate * min(slack, 0))

    @cached_property
    def _step_rate(self) -> float:
        return float(self.step_rate)

    def log_stay(self, slack: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln P(Z_ℓ < -slack), which is minus infinity from 0 on: (n,) float64."""
        with np.errstate(divide="ignore"):
            return np.log(-np.expm1(float(self.step_rate) * np.minimum(slack, 0)))


StepNoise = TwoSidedSteps | OneSidedSteps


def _checked(reach: int) -> int:
    if reach > _LARGEST_REACH:
        raise ParameterError(
            f"{parameter('epsilon')} is too small for the exact distribution to fit in memory; select still works"
        )
    return reach


class RankSearching(Checked):
    """A mechanism that begins with a rank search."""

    @classmethod
    def from_public(cls, epsilon: float | Fraction, delta: float | Fraction, public: PublicParameters) -> Self:
        """Return the mechanism for one selection; max_rank is its default unless given."""
        rank = options.MAX_RANK if public.max_rank is None else public.max_rank
        return cls(epsilon, delta, public.neighbors, rank)  # type: ignore[call-arg]


# Rank search: the first rank with a large margin, drawn exactly, and its exact distribution.
#
# Given the noise X that all steps share, the steps are independent, and step ℓ stops with a probability h(ℓ), its
# hazard, that depends on c(1) - c(ℓ+1) - T(ℓ) + X alone (docs/privacy.md, "Exact distribution"). So the rank is
# drawn by inverting its survival function S(ℓ) = Π (1 - h(j)) at one uniform number, known to as many digits as it
# takes, and ranks that share c(ℓ+1) and T(ℓ) are passed in one step: also in a universe of 10**60 itemsets.

Threshold = Callable[[int], int]

# Digits, in bits, with which a draw begins.
_BITS = 128
# What doubles are off at most when they add up hazards of so many ranks, generously.
_ROUNDING, _MANY = 1e-6, 1 << 20


def countable(spectrum: SupportSpectrum) -> SupportSpectrum:
    """Return the spectrum with no more candidates than doubles can count, 1e300, for distributions.

    More candidates change no probability by more than 1e-25 where fewer than 10^10 itemsets occur. With εc(1) <= 3,600
    a draw from so many is a zero, up to 10^10 e^600 / 10^300. With more the search, whose thresholds at rank 10^40 are
    below 3,200/ε, has ended before that rank, unless noise is 400/ε off.
    """
    if spectrum.universe_size is None or spectrum.universe_size <= MOST_CANDIDATES:
        return spectrum
    return SupportSpectrum(spectrum.levels(), universe_size=MOST_CANDIDATES)


@dataclass(frozen=True)
class Run:
    """Ranks first … last (inclusive), all tested against the same next support c(ℓ+1), in units."""

    first: int
    last: int
    next_support: int


@dataclass(frozen=True)
class Search:
    """The search of one spectrum for the first rank with a large margin.

    threshold: gives the integer T(ℓ) in units, nondecreasing in ℓ. last_rank: the last rank tested, 0 for none.
    single_ranks, group_share: see distribution; the draw does not depend on them.
    """

    spectrum: SupportSpectrum
    threshold: Threshold
    last_rank: int
    noise: StepNoise
    single_ranks: int = 1 << 14
    group_share: int = 1 << 12

    @property
    def maximum(self) -> int:
        """c(1) in units, 0 when nothing has support."""
        return next((support for support, _ in self.spectrum.levels()), 0)

    def runs(self) -> Iterator[Run]:
        """Yield the runs of ranks in order, reading no level beyond the run asked for."""
        before = 0
        for support, multiplicity in self.spectrum.levels():
            run = Run(max(before, 1), min(before + multiplicity - 1, self.last_rank), support)
            if run.first <= run.last:
                yield run
            before += multiplicity
            if before > self.last_rank:
                return
        if max(before, 1) <= self.last_rank:
            yield Run(max(before, 1), self.last_rank, 0)

    def segments(self, run: Run) -> Iterator[Run]:
        """Split a run into the longest runs that share the threshold as well."""
        first = run.first
        while first <= run.last:
            following = self._following(first, run.last)
            yield Run(first, following - 1, run.next_support)
            first = following

    def _following(self, first: int, last: int) -> int:
        """Return the first rank after `first` with another threshold, last + 1 if there is none."""
        threshold, step = self.threshold(first), 1
        # Mostly it is near, and the last rank may have thousands of digits.
        while first + step <= last and self.threshold(first + step) == threshold:
            step *= 2
        nearest, end = first + step // 2 + 1, min(first + step, last + 1)
        return least_integer(lambda rank: self.threshold(rank) != threshold, nearest, end)

    def draw(self, randomness: Randomness) -> int | None:
        """Draw the stopping rank, exactly; None if no rank up to last_rank stops."""
        return self.draw_given(self.noise.draw_shared(randomness), randomness)

    def draw_given(self, shared: int, randomness: Randomness) -> int | None:
        """Draw the stopping rank, as draw does, given the noise X that all steps share, in units."""
        uniform = UniformReal(randomness=randomness)
        if self._surely_never_stops((uniform.digits(_BITS) + 1) / (1 << _BITS), shared):
            return None
        for bits in precisions(_BITS):
            digits = uniform.digits(bits)
            try:
                return self._invert((digits, digits + 1), shared, bits)
            except _NeedsMoreBits:
                continue
        raise AssertionError("precisions() never ends")  # pragma: no cover

    def _surely_never_stops(self, uniform: float, shared: int) -> bool:
        """Tell, by doubles with room for their rounding, whether all hazards are too small to end the search.

        uniform: a bound from above. False where that stays open. No level is read that the search would not read.
        """
        if self.last_rank > _MANY:
            return False
        maximum, left = self.maximum, 1 - uniform - _ROUNDING
        for run in self.runs():
            for segment in self.segments(run):
                slack = maximum - self.threshold(segment.first) + shared
                # Thresholds only rise and supports are at least 0: no later hazard is above this one.
                if self.noise.most_hazard(slack) * (self.last_rank - segment.first + 1) < left:
                    return True
                left -= (segment.last - segment.first + 1) * self.noise.most_hazard(slack - run.next_support)
                if left <= 0:
                    return False
        return True

    def _invert(self, uniform: Bounds, shared: int, bits: int) -> int | None:
        """Return the rank at which survival falls to the uniform number; raise _NeedsMoreBits where that is open."""
        one, maximum = 1 << bits, self.maximum
        survival = (one, one)
        factor = self.noise.rest_factor
        checked = 0
        for run in self.runs():
            if run.first > checked:
                # Thresholds only rise and supports are at least 0: no later hazard is above this one.
                most = self.noise.hazard(maximum - self.threshold(run.first) + shared, bits)[1]
                rest = min(most * (self.last_rank - run.first + 1), one)
                if uniform[1] <= survival[0] * (one - rest) >> bits:
                    return None
                checked = 2 * run.first
            for segment in self.segments(run):
                slack = maximum - run.next_support - self.threshold(segment.first) + shared
                hazard = self.noise.hazard(slack, bits)
                if factor is not None and not run.next_support and slack <= 0:
                    rest = hazard[1] * factor * (segment.first + 2)  # of all hazards that are left
                    if uniform[1] <= survival[0] * (one - rest) >> bits:
                        return None
                stays = (one - hazard[1], one - hazard[0])
                ranks = segment.last - segment.first + 1
                if not _below(uniform, _times(survival, power_bounds(stays, ranks, bits), bits)):
                    return segment.first + _first_stop(uniform, survival, stays, ranks, bits)
                survival = _times(survival, power_bounds(stays, ranks, bits), bits)
        return None

    def distribution(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return the distribution of the stopping rank, averaged over the noise that all steps share.

        Returns (ranks, probabilities, rest): (m,) float64 each, ranks ascending, and the probability that no rank
        stops. The first single_ranks ranks stand alone. Beyond them, ranks within a factor 1 + 1/group_share are
        grouped under their middle one, which moves no outcome of a mechanism by more than δ/group_share or so: where
        the search stops, the candidates that one rank adds have a weight of about δ/ℓ or less. Otherwise it is exact up
        to floating point.
        """
        shared, weights = self.noise.shared()
        factor, maximum = self.noise.rest_factor, self.maximum
        lowest = -self.threshold(max(self.last_rank, 1)) + int(shared[0])
        # From this slack on a step stops, whatever the noise.
        most = min(maximum, self.noise.step_reach - int(shared[0]))
        highest = most + int(shared[-1])
        log_stays = self.noise.log_stay(np.arange(lowest, highest + 1, dtype=np.float64))
        stays = np.exp(log_stays)
        ranks: list[float] = []
        probabilities: list[float] = []
        alive, total, checked = weights.copy(), float(weights.sum()), self.single_ranks
        for group in self._groups():
            slack = min(maximum - group.next_support - self.threshold(group.first), most)
            start = slack + int(shared[0]) - lowest
            here = slice(start, start + len(shared))
            if factor is not None and not group.next_support and group.first > checked:
                checked = 2 * group.first
                ever = -np.expm1(log_stays[here]) * float(min(factor * (group.first + 2), 10**300))
                if (alive * np.minimum(ever, 1)).sum() < 1e-15:  # all hazards that are left, over all noise
                    break
            count = group.last - group.first + 1
            # Most groups are of one rank, for which nothing is computed anew.
            alive *= stays[here] if count == 1 else np.exp(float(count) * log_stays[here])
            left = float(alive.sum())
            ranks.append(group.first + (count - 1) / 2)
            probabilities.append(total - left)
            total = left
            if left < 1e-18:
                break
        return np.array(ranks), np.array(probabilities), total

    def _groups(self) -> Iterator[Run]:
        for run in self.runs():
            for segment in self.segments(run):
                first = segment.first
                while first <= segment.last:
                    size = 1 if first <= self.single_ranks else 1 + first // self.group_share
                    last = min(first + size - 1, segment.last)
                    yield Run(first, last, run.next_support)
                    first = last + 1


class _NeedsMoreBits(Exception):  # noqa: N818 - a signal, not an error
    """The digits known so far do not decide."""


def _times(x: Bounds, y: Bounds, bits: int) -> Bounds:
    return x[0] * y[0] >> bits, (x[1] * y[1] >> bits) + 1


def _below(uniform: Bounds, bounds: Bounds) -> bool:
    """Tell whether the uniform number lies below the bounded one; raise _NeedsMoreBits where that is open."""
    if uniform[1] <= bounds[0]:
        return True
    if uniform[0] >= bounds[1]:
        return False
    raise _NeedsMoreBits


def _first_stop(uniform: Bounds, survival: Bounds, stays: Bounds, ranks: int, bits: int) -> int:
    """Return the least i in [0, ranks) with u >= survival * stays^(i+1), which is known to exist."""
    return least_integer(
        lambda i: not _below(uniform, _times(survival, power_bounds(stays, i + 1, bits), bits)), 0, ranks - 1
    )
