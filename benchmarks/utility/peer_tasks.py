"""Releases of the peers with supports, and how good they are, in the study of utility."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import levels_for
from benchmarks.peers import weighted_gaussian
from benchmarks.peers.best_cut import best_cuts
from benchmarks.peers.privbasis import privbasis_trials
from benchmarks.peers.released import Released
from benchmarks.peers.stability_histogram import histogram_trials
from benchmarks.utility.measures import ABSTAINED, PICKS, Releases, measures


def histogram(
    source: Source, sizes: tuple[int, ...], counts: list[int], epsilon: float, delta: float, neighbors: str, **how: int
) -> list[dict[str, Any]]:
    """Return the measures of the stability histogram, every k with the cut of its own that suits the data best.

    The release does not depend on k otherwise: a cut that is the best of several k is released once, and the top k by
    noisy supports are the first of a larger k.
    """
    cuts = best_cuts(source, sizes, counts, epsilon, delta, neighbors)
    rows = []
    for kept in dict.fromkeys(cuts.values()):
        part = [count for count in counts if cuts[count] == kept]
        budget = max(part), epsilon, delta, kept, how["trials"], seed_of_picks(how["seed"]), neighbors
        whole = histogram_trials(source, sizes, *budget)
        found = _peer(source, sizes, part, partial(_first, whole), how["seed"])
        rows += [{**row, **kept._asdict()} for row in found]
    return sorted(rows, key=lambda row: counts.index(row["k"]))


def seed_of_picks(seed: int) -> int:
    """Return the one number of the stream of selections: to numpy, numbers are words of 32 bits, the lowest first."""
    assert 0 <= seed < 1 << 32
    return seed + (PICKS << 32)


def _first(releases: list[Released], count: int) -> list[Released]:
    return [Released(release.true[:count], release.noisy[:count]) for release in releases]


def weighted(
    source: Source, sizes: tuple[int, ...], counts: list[int], epsilon: float, delta: float, neighbors: str, **how: int
) -> list[dict[str, Any]]:
    """Return the measures of the weighted Gaussian, every k with the cut of its own that suits the data best."""
    rows = []
    for count in counts:
        kept = weighted_gaussian.best_cut(source, sizes, count, epsilon, delta, neighbors)
        budget = epsilon, delta, kept, how["trials"], seed_of_picks(how["seed"]), neighbors

        def trials(count: int, budget: Any = budget) -> list[Released]:
            return weighted_gaussian.weighted_trials(source, sizes, count, *budget)

        rows += [{**row, **kept._asdict()} for row in _peer(source, sizes, [count], trials, how["seed"])]
    return rows


def privbasis(
    source: Source,
    sizes: tuple[int, ...],
    counts: list[int],
    epsilon: float,
    delta: float | None,
    neighbors: str,
    **how: int,
) -> list[dict[str, Any]]:
    """Return the measures of PrivBasis, pure where delta is None."""

    def trials(count: int) -> list[Released]:
        budget = epsilon, delta, how["trials"], seed_of_picks(how["seed"]), neighbors
        return privbasis_trials(source, sizes, count, *budget)

    return _peer(source, sizes, counts, trials, how["seed"])


def _peer(
    source: Source, sizes: tuple[int, ...], counts: list[int], trials: Callable[[int], list[Released]], seed: int
) -> list[dict[str, Any]]:
    levels = levels_for(source, sizes)
    rows = []
    for count in counts:
        rows.append({"k": count, **measures(as_releases(trials(count), count), levels, count, seed)})
    return rows


def as_releases(trials: list[Released], count: int) -> Releases:
    """Return the same in the form of the study, (trials, count)."""
    true = np.full((len(trials), count), ABSTAINED, dtype=np.int64)
    noisy = np.zeros((len(trials), count))
    for trial, release in enumerate(trials):
        true[trial, : len(release.true)] = release.true
        noisy[trial, : len(release.noisy)] = release.noisy
    return Releases(true, noisy)
