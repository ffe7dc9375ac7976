"""Releases of the peers with supports, and how good they are, in the study of utility."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.frame.support_spectra import levels_for
from benchmarks.peers import weighted_gaussian
from benchmarks.peers.best_cut import best_cuts
from benchmarks.peers.privbasis import privbasis_trials
from benchmarks.peers.released import Released
from benchmarks.peers.stability_histogram import histogram_trials
from benchmarks.utility.measures import ABSTAINED, PICKS, Asked, Releases, measures


def histogram(asked: Asked, counts: list[int], trials: int, seed: int) -> list[dict[str, Any]]:
    """Return the measures of the stability histogram, every k with the cut of its own that suits the data best.

    The release does not depend on k otherwise: a cut that is the best of several k is released once, and the top k by
    noisy supports are the first of a larger k.
    """
    where, budget = (asked.source, asked.sizes), (asked.epsilon, asked.delta)
    cuts = best_cuts(*where, counts, *budget, asked.neighbors)
    rows = []
    for kept in dict.fromkeys(cuts.values()):
        part = [count for count in counts if cuts[count] == kept]
        whole = histogram_trials(*where, max(part), *budget, kept, trials, seed_of_picks(seed), asked.neighbors)
        found = _peer(asked, part, partial(_first, whole), seed)
        rows += [{**row, **kept._asdict()} for row in found]
    return sorted(rows, key=lambda row: counts.index(row["k"]))


def seed_of_picks(seed: int) -> int:
    """Return the one number of the stream of selections: to numpy, numbers are words of 32 bits, the lowest first."""
    assert 0 <= seed < 1 << 32
    return seed + (PICKS << 32)


def _first(releases: list[Released], count: int) -> list[Released]:
    return [Released(release.true[:count], release.noisy[:count]) for release in releases]


def weighted(asked: Asked, counts: list[int], trials: int, seed: int) -> list[dict[str, Any]]:
    """Return the measures of the weighted Gaussian, every k with the cut of its own that suits the data best."""
    where, budget = (asked.source, asked.sizes), (asked.epsilon, asked.delta)
    rows = []
    for count in counts:
        kept = weighted_gaussian.best_cut(*where, count, *budget, asked.neighbors)
        found = weighted_gaussian.weighted_trials(
            *where, count, *budget, kept, trials, seed_of_picks(seed), asked.neighbors
        )
        rows += [{**row, **kept._asdict()} for row in _peer(asked, [count], partial(_first, found), seed)]
    return rows


def privbasis(asked: Asked, counts: list[int], trials: int, seed: int, *, pure: bool) -> list[dict[str, Any]]:
    """Return the measures of PrivBasis; pure: at δ = 0."""

    def releases(count: int) -> list[Released]:
        budget = asked.epsilon, None if pure else asked.delta
        return privbasis_trials(asked.source, asked.sizes, count, *budget, trials, seed_of_picks(seed), asked.neighbors)

    return _peer(asked, counts, releases, seed)


def _peer(asked: Asked, counts: list[int], trials: Callable[[int], list[Released]], seed: int) -> list[dict[str, Any]]:
    levels = levels_for(asked.source, asked.sizes)
    return [{"k": k, **measures(as_releases(trials(k), k), levels, k, seed)} for k in counts]


def as_releases(trials: list[Released], count: int) -> Releases:
    """Return the same in the form of the study, (trials, count)."""
    true = np.full((len(trials), count), ABSTAINED, dtype=np.int64)
    noisy = np.zeros((len(trials), count))
    for trial, release in enumerate(trials):
        true[trial, : len(release.true)] = release.true
        noisy[trial, : len(release.noisy)] = release.noisy
    return Releases(true, noisy)
