"""A hundred releases at a time, of the shipped mechanisms' output distributions, drawn with
floating-point noise.

For benchmarks only: it is fast and not private.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.support_spectra import top_supports
from fim_private.mechanisms import (
    Distance,
    LargeMargin,
    MaxOfLaplaces,
    NamedExponential,
    PermuteAndFlip,
    TightMargin,
)
from fim_private.mechanisms.exponential import (
    Candidate,
    ExponentialWeights,
)
from fim_private.mechanisms.margins import OneSidedSteps, TwoSidedSteps
from fim_private.spectrum import SupportSpectrum

Picks = NDArray[np.int64]
ABSTAINED = -1
# Rank searches go block by block, as most stop early; a block whose chance of a stop is below 10^4
# e^-50 is skipped.
_BLOCKS = (30, 100, 300, 1_000, 3_000)
_UNLIKELY, _NEVER = 50, -(1 << 62)


@dataclass(frozen=True)
class Table:
    """Levels as arrays: supports (m,) int64, descending; logarithms (m,) of the multiplicities,
    which may be 10^60.
    """

    supports: NDArray[np.int64]
    logarithms: NDArray[np.float64]

    @classmethod
    def of(cls, levels: Sequence[tuple[int, int]]) -> Table:
        """Return the levels that have any itemset."""
        kept = [(support, m) for support, m in levels if m]
        return cls(
            np.array([s for s, _ in kept], dtype=np.int64), np.array([math.log(m) for _, m in kept])
        )


def weighed(
    mechanism: ExponentialWeights,
    spectrum: SupportSpectrum,
    count: int,
    trials: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the supports selected in one pass, (trials, count), ABSTAINED after abstaining
    (Theorem 8).
    """
    candidates = [
        candidate for candidate in mechanism.candidates(spectrum) if candidate.multiplicity
    ]
    if isinstance(mechanism, NamedExponential):  # its level 0 names nothing
        candidates = [c if c.level else replace(c, level=None) for c in candidates]
    places = peel(candidates, float(mechanism.rate), count, trials, rng)
    levels = np.array([ABSTAINED if c.level is None else c.level for c in candidates] + [ABSTAINED])
    return np.asarray(levels[places], dtype=np.int64)


def peel(
    candidates: Sequence[Candidate], rate: float, count: int, trials: int, rng: np.random.Generator
) -> Picks:
    """Return the places of the `count` highest of all itemsets' keys rate * support + Gumbel noise,
    (trials, count).

    -log of a Gumbel variable's exponential is exponential: of m itemsets of a level the first
    arrives after E/m, the next E/(m - 1) later, and so on. Nothing follows abstaining. ABSTAINED
    where no candidate is left.
    """
    supports = np.array([float(c.support) for c in candidates])
    left = np.tile([float(min(c.multiplicity, 10**300)) for c in candidates], (trials, 1))
    arrivals = rng.exponential(size=left.shape) / left
    keys = rate * supports - np.log(arrivals)
    picks = np.full((trials, count), ABSTAINED, dtype=np.int64)
    rows = np.arange(trials)
    bottom = np.array([c.level is None for c in candidates])
    for turn in range(count):
        best = keys.argmax(axis=1)
        some = np.isfinite(keys[rows, best])
        picks[some, turn] = best[some]
        taken = some & ~bottom[best]  # abstaining stays where it is, above all others
        where = rows[taken], best[taken]
        left[where] -= 1
        arrivals[where] += rng.exponential(size=taken.sum()) / np.maximum(left[where], 1)
        keys[where] = np.where(
            left[where] > 0, rate * supports[where[1]] - np.log(arrivals[where]), -np.inf
        )
    return picks


def noisy_max(
    mechanism: PermuteAndFlip | MaxOfLaplaces,
    spectrum: SupportSpectrum,
    count: int,
    trials: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the supports selected by repetition, (trials, count): the highest noisy support, noise
    anew each time.
    """
    levels = [*spectrum.all_levels(), (0, spectrum.zero_multiplicity())]
    table = Table.of(levels)
    taken = np.zeros((trials, len(table.supports)))
    whole = np.exp(np.minimum(table.logarithms, 690.0))
    picks = np.empty((trials, count), dtype=np.int64)
    rows = np.arange(trials)
    for turn in range(count):
        left = whole - taken
        some = left > 0
        # The upper tail probability at the best of m independent keys: 1 - V^(1/m).
        tails = -np.expm1(np.log(rng.random(left.shape)) / np.where(some, left, 1.0))
        if isinstance(mechanism, PermuteAndFlip):
            # permute-and-flip is the highest with exponential noise
            noise = -np.log(tails) / float(mechanism.rate)
        else:
            noise = _integer_laplace(tails, float(mechanism.scale))
        keys = np.where(some, table.supports + noise, -np.inf)
        best = keys.argmax(axis=1)
        picks[:, turn] = table.supports[best]
        taken[rows, best] += 1
    return picks


def _integer_laplace(tails: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Return the x with P(Z + U > x) = tail, Z discrete Laplace and U uniform in [0, 1), which
    orders ties.
    """
    q = math.exp(-1 / scale)

    def tail(k: NDArray[np.float64]) -> NDArray[np.float64]:  # P(Z >= k)
        upper = np.exp(-np.maximum(k, 1) / scale) / (1 + q)
        lower = 1 - np.exp(-(1 - np.minimum(k, 0)) / scale) / (1 + q)
        return np.where(k >= 1, upper, lower)

    above = np.floor(-scale * np.log(tails * (1 + q)))
    with np.errstate(divide="ignore"):
        below = np.floor(1 + scale * np.log((1 - tails) * (1 + q)))
    k = np.where(tails <= q / (1 + q), np.maximum(above, 1), np.minimum(below, 0))
    high, low = tail(k), tail(k + 1)
    # Where rounding leaves no room between them, where in between does not matter.
    return np.asarray(k + np.clip((high - tails) / np.maximum(high - low, 1e-300), 0, 1))


def searched(
    mechanism: LargeMargin | TightMargin,
    spectrum: SupportSpectrum,
    count: int,
    trials: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the supports selected by repeating rank search and choice over an unknown universe,
    (trials, count).
    """
    ranks = mechanism.max_rank
    supports = np.tile(_highest(spectrum, ranks + 1 + count), (trials, 1))
    thresholds = _thresholds(mechanism, ranks)
    picks = np.full((trials, count), ABSTAINED, dtype=np.int64)
    for turn in range(count):
        stops = _stops(mechanism, supports, thresholds, rng)
        for trial, rank in enumerate(stops.tolist()):
            if isinstance(mechanism, LargeMargin):
                place = _large_choice(mechanism, supports[trial], rank, rng)
            else:
                place = _tight_choice(mechanism, supports[trial], rank or ranks, rng)
            if place is not None and supports[trial, place]:
                picks[trial, turn] = supports[trial, place]
                supports[trial, place:-1] = supports[trial, place + 1 :]
                supports[trial, -1] = 0
    return picks


def _highest(spectrum: SupportSpectrum, count: int) -> NDArray[np.int64]:
    found = top_supports(spectrum.levels(), count)
    return np.array(found + [0] * (count - len(found)), dtype=np.int64)


def _thresholds(mechanism: LargeMargin | TightMargin, ranks: int) -> NDArray[np.int64]:
    return np.array([mechanism.threshold(rank) for rank in range(1, ranks + 1)], dtype=np.int64)


def _stops(
    mechanism: LargeMargin | TightMargin,
    supports: NDArray[np.int64],
    thresholds: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the rank at which each trial stops, 0 for none."""
    trials = len(supports)
    noise = mechanism.search(SupportSpectrum(())).noise
    one_sided = isinstance(noise, OneSidedSteps)
    # at its last rank the tight margin stops whatever the margin
    last = len(thresholds) - one_sided
    if isinstance(noise, OneSidedSteps):
        rate = float(noise.step_rate)
        shared = -_geometric(float(noise.shared_rate), (trials, 1), rng)
    else:
        assert isinstance(noise, TwoSidedSteps)
        rate = 1 / float(noise.step_scale)
        shared = _laplace(float(noise.maximum_scale), (trials, 1), rng)
        shared -= _laplace(float(noise.shared_scale), (trials, 1), rng)
    found = np.zeros(trials, dtype=np.int64)
    searching = np.arange(trials)
    for start, end in pairwise([0, *(b for b in _BLOCKS if b < last), last]):
        slack = (
            supports[searching, :1]
            - supports[searching, start + 1 : end + 1]
            - thresholds[start:end]
        )
        slack += shared[searching]
        likely = slack.max(axis=1, initial=_NEVER) * rate > -_UNLIKELY
        if one_sided:
            steps = _geometric(rate, slack[likely].shape, rng)
        else:
            steps = _laplace(1 / rate, slack[likely].shape, rng) - 1  # strictly above
        stopped = slack[likely] + steps >= 0
        some = stopped.any(axis=1)
        found[searching[likely][some]] = start + stopped[some].argmax(axis=1) + 1
        searching = np.flatnonzero(found == 0)
    return found


def _geometric(rate: float, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return k >= 0 with P(k or more) = e^(-rate k)."""
    return np.floor(rng.exponential(1 / rate, shape)).astype(np.int64)


def _laplace(scale: float, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
    """Discrete Laplace noise: the difference of two geometric variables."""
    return _geometric(1 / scale, shape, rng) - _geometric(1 / scale, shape, rng)


def _large_choice(
    mechanism: LargeMargin, supports: NDArray[np.int64], rank: int, rng: np.random.Generator
) -> int | None:
    if not rank:
        return None
    rate = float(mechanism.rate)
    return int((rate * supports[:rank] + rng.gumbel(size=rank)).argmax())


def _tight_choice(
    mechanism: TightMargin, supports: NDArray[np.int64], rank: int, rng: np.random.Generator
) -> int | None:
    rate = float(mechanism.rate)
    following = int(supports[rank])
    abstaining = mechanism.choice(rank).abstention(rank, following, zeros_left_out=True)
    keys = rate * supports[:rank] + rng.gumbel(size=rank)
    keys[supports[:rank] == 0] = -np.inf
    key = rate * abstaining.support + math.log(abstaining.multiplicity) + rng.gumbel()
    place = int(keys.argmax())
    return place if keys[place] > key else None


def distant(
    mechanism: Distance,
    spectrum: SupportSpectrum,
    count: int,
    trials: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the supports selected by repeating the distance mechanism, (trials, count)."""
    supports = np.tile(_highest(spectrum, count + 2), (trials, 1))
    picks = np.full((trials, count), ABSTAINED, dtype=np.int64)
    for turn in range(count):
        lead = supports[:, 0] - supports[:, 1]
        noise = _laplace(float(mechanism.scale), (trials,), rng)
        released = (noise > mechanism.threshold + mechanism.sensitivity - lead) & (
            supports[:, 0] > 0
        )
        picks[released, turn] = supports[released, 0]
        supports[released, :-1] = supports[released, 1:]
        supports[released, -1] = 0
    return picks
