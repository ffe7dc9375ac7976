"""The stopping rank of the large margin search: drawn exactly, and its exact distribution.

Given the noise x = Z - G that all steps share, the steps are independent, and step ℓ stops with
probability h(ℓ) = P(Z_ℓ < c(1) - c(ℓ+1) - T(ℓ) + x) (docs/privacy.md, "Exact distribution"). So the
rank is drawn by inverting its survival function S(ℓ) = Π (1 - h(j)) at one uniform number, known to as
many digits as it takes, and ranks that share c(ℓ+1) and T(ℓ) are passed in one step. That is how a
universe of 10**60 itemsets is searched without walking it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fim_private.errors import ParameterError
from fim_private.intervals import Bounds, laplace_tail_bounds, power_bounds, precisions
from fim_private.mechanisms.noise import LaplaceSum
from fim_private.randomness import Randomness, UniformReal
from fim_private.spectrum import SupportSpectrum

Threshold = Callable[[int], int]

# Ranks beyond this are grouped in the distribution, never in the draw: see Search.distribution.
_SINGLE_RANKS = 1 << 14
_GROUP_SHARE = 1 << 12
# The largest 1/b with which the sum of the remaining hazards is bounded.
_LARGEST_RATE = 400
# Noise values the distribution averages over: 100 MB or so of working memory.
_LARGEST_REACH = 1 << 21


@dataclass(frozen=True)
class Run:
    """Ranks first … last (inclusive), all of which test against the same next support c(ℓ+1)."""

    first: int
    last: int
    next_support: int


@dataclass(frozen=True)
class Search:
    """The search of one spectrum for the first rank with a large margin.

    threshold: the integer T(ℓ), nondecreasing in ℓ. last_rank: the last rank tested.
    maximum_scale, shared_scale, step_scale: scales of Z, G and Z_ℓ.
    """

    spectrum: SupportSpectrum
    threshold: Threshold
    last_rank: int
    maximum_scale: Fraction
    shared_scale: Fraction
    step_scale: Fraction

    @cached_property
    def maximum(self) -> int:
        """c(1), 0 when nothing has support."""
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
        """Split a run into maximal runs that share the threshold as well."""
        first = run.first
        while first <= run.last:
            low, high = first, run.last
            while low < high:
                middle = (low + high + 1) // 2
                if self.threshold(middle) == self.threshold(first):
                    low = middle
                else:
                    high = middle - 1
            yield Run(first, low, run.next_support)
            first = low + 1

    def draw(self, noise: int, randomness: Randomness) -> int | None:
        """Draw the stopping rank given x = Z - G = noise; None if no rank up to last_rank stops."""
        uniform = UniformReal(randomness=randomness)
        for bits in precisions(128):
            digits = uniform.digits(bits)
            try:
                return self._invert((digits, digits + 1), noise, bits)
            except _NeedsMoreBits:
                continue
        raise AssertionError("precisions() never ends")  # pragma: no cover

    def _invert(self, uniform: Bounds, noise: int, bits: int) -> int | None:
        one = 1 << bits
        survival = (one, one)
        for run in self.runs():
            for segment in self.segments(run):
                slack = self.maximum - run.next_support - self.threshold(segment.first) + noise
                # P(Z_ℓ < slack) = P(Z_ℓ >= 1 - slack), Z_ℓ being symmetric.
                hazard = laplace_tail_bounds(self.step_scale, 1 - slack, bits)
                if self._rest_is_bounded and not run.next_support and slack <= 0:
                    rest = self._rest_bound(segment.first, hazard[1])
                    if uniform[1] <= survival[0] * (one - rest) >> bits:
                        return None
                stays = (one - hazard[1], one - hazard[0])
                ranks = segment.last - segment.first + 1
                if not _below(uniform, _times(survival, power_bounds(stays, ranks, bits), bits)):
                    return segment.first + _first_stop(uniform, survival, stays, ranks, bits)
                survival = _times(survival, power_bounds(stays, ranks, bits), bits)
        return None

    def _rest_bound(self, rank: int, hazard: int) -> int:
        """Bound the sum of the hazards from rank on, all against the same next support, where slack <= 0.

        T grows by at least (30/ε) ln((j+1)/(ℓ+1)) from ℓ to j, up to its rounding by less than 1, so
        h(j) <= e^{1/b} ((ℓ+1)/(j+1))^{5/2} h(ℓ) with b = 12/ε; the sum over j > ℓ is at most 2(ℓ+1)/3.
        """
        return hazard * self._rounding * (rank + 2)

    @cached_property
    def _rounding(self) -> int:
        """An integer above e^{1/b}."""
        return int(3 ** math.ceil(1 / self.step_scale))

    @cached_property
    def _rest_is_bounded(self) -> bool:
        """Whether _rest_bound is used: not with next to no noise, where e^{1/b} is astronomic."""
        return 1 / self.step_scale <= _LARGEST_RATE

    def distribution(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return the exact distribution of the stopping rank, averaged over the shared noise.

        Returns (ranks, probabilities, rest): (m,) float64 each, ranks ascending, and the probability
        that no rank stops. The first 16,384 ranks stand alone; beyond them ranks within a factor
        1 + 2^-12 are grouped under their middle one. The sums that use the rank see the candidates that
        it adds weighted by about δ/ℓ or less (that is the margin), so grouping moves no outcome by more
        than δ * 2^-12 or so.
        """
        shared, weights = _shared_noise(self.maximum_scale, self.shared_scale)
        lowest = -self.threshold(max(self.last_rank, 1)) + int(shared[0])
        # Slack beyond this is as good as this: no noise reaches it with probability above 1e-18.
        most = min(self.maximum, math.ceil(42 * self.step_scale) - int(shared[0]))
        highest = most + int(shared[-1])
        stays = _log_stay(lowest, highest, float(self.step_scale))
        ranks: list[float] = []
        probabilities: list[float] = []
        alive, total, checked = weights, float(weights.sum()), _SINGLE_RANKS
        for group in self._groups():
            slack = min(self.maximum - group.next_support - self.threshold(group.first), most)
            start = slack + int(shared[0]) - lowest
            log_stay = stays[start : start + len(shared)]
            if self._rest_is_bounded and not group.next_support and group.first > checked:
                checked = 2 * group.first
                ever = -np.expm1(log_stay) * float(min(self._rounding * (group.first + 2), 10**300))
                if (alive * np.minimum(ever, 1)).sum() < 1e-15:  # _rest_bound, over all noise
                    break
            count = group.last - group.first + 1
            alive = alive * np.exp(float(count) * log_stay)
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
                    size = 1 if first <= _SINGLE_RANKS else 1 + first // _GROUP_SHARE
                    last = min(first + size - 1, segment.last)
                    yield Run(first, last, run.next_support)
                    first = last + 1


class _NeedsMoreBits(Exception):  # noqa: N818 - a signal, not an error
    pass


def _times(x: Bounds, y: Bounds, bits: int) -> Bounds:
    return x[0] * y[0] >> bits, (x[1] * y[1] >> bits) + 1


def _below(uniform: Bounds, bounds: Bounds) -> bool:
    """Whether the uniform number lies below the bounded one; raises _NeedsMoreBits when that is open."""
    if uniform[1] <= bounds[0]:
        return True
    if uniform[0] >= bounds[1]:
        return False
    raise _NeedsMoreBits


def _first_stop(uniform: Bounds, survival: Bounds, stays: Bounds, ranks: int, bits: int) -> int:
    """Return the smallest i in [0, ranks) with u >= survival * stays^(i+1), known to exist."""
    low, high = 0, ranks - 1
    while low < high:
        middle = (low + high) // 2
        if _below(uniform, _times(survival, power_bounds(stays, middle + 1, bits), bits)):
            low = middle + 1
        else:
            high = middle
    return low


def _shared_noise(first: Fraction, second: Fraction) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the support and probabilities of X = Z - G, cut where the tail is below 1e-18."""
    reach = math.ceil(42 * max(first, second))
    if reach > _LARGEST_REACH:
        raise ParameterError("epsilon is too small for the exact distribution to be held in memory; select still works")
    x = np.arange(-reach, reach + 1)
    return x, LaplaceSum.of([first, second]).pmf(x)


def _log_stay(lowest: int, highest: int, scale: float) -> NDArray[np.float64]:
    """Return ln P(Z >= y) = ln(1 - P(Z < y)) for every slack y in [lowest, highest], Z discrete Laplace."""
    y = np.arange(lowest, highest + 1, dtype=np.float64)
    normaliser = math.log1p(math.exp(-1 / scale))
    above = -np.maximum(y, 1) / scale - normaliser
    below = np.log1p(-np.exp(-(1 - np.minimum(y, 0)) / scale - normaliser))
    return np.where(y >= 1, above, below)
