"""Rank search: the first rank with a large margin, drawn exactly, and its exact distribution.

Given the noise X that all steps share, the steps are independent, and step ℓ stops with a probability h(ℓ), its
hazard, that depends on c(1) - c(ℓ+1) - T(ℓ) + X alone (docs/privacy.md, "Exact distribution"). So the rank is drawn by
inverting its survival function S(ℓ) = Π (1 - h(j)) at one uniform number, known to as many digits as it takes, and
ranks that share c(ℓ+1) and T(ℓ) are passed in one step. That is how a universe of 10**60 itemsets is searched without
walking through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.bisection import least_integer
from fim_private.dp.intervals import Bounds, power_bounds, precisions
from fim_private.dp.randomness import Randomness, UniformReal
from fim_private.mechanisms.base import MOST_CANDIDATES
from fim_private.mechanisms.rank_search_noise import StepNoise
from fim_private.spectrum import SupportSpectrum

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
        """Tell whether all hazards together are less than what survival must lose to fall to the uniform number.

        uniform: a bound from above. By doubles, with room for their rounding: False where that leaves it open. No level
        is read that the search would not read.
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
        """Yield the runs of ranks that the distribution treats as one."""
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

    pass


def _times(x: Bounds, y: Bounds, bits: int) -> Bounds:
    """Bound the product of two numbers that are bounded."""
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
