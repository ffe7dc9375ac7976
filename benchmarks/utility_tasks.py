"""What `utility.py` computes: releases of every mechanism and peer with supports, and how good they are.

The relation is add-remove, which the peers use; a basket is a privacy unit. Everything is charged to one (ε, δ): ours
spend a third of it on supports (the default of `--supports`), the peers what their papers or libraries say.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import simulation
import spectra
from item_matrix import Released
from levelwise_simulation import Supports, counted, levelwise
from numpy.typing import NDArray
from privbasis import privbasis_trials
from spectra import Levels, Source
from stability_histogram import best_cap, histogram_trials

from fim_private.agreement import SUPPORTS_SHARE, Agreement, SupportsBudget, agree
from fim_private.levelwise import Levelwise
from fim_private.mechanisms import Distance, LargeMargin, MaxOfLaplaces, NamedExponential, PermuteAndFlip, TightMargin
from fim_private.mechanisms.top_k import TopK
from fim_private.mechanisms.weighing import Weighed
from fim_private.menu import LEVELWISE, Terms
from fim_private.spectrum import SupportSpectrum
from fim_private.supports import NoiseKind, SupportNoise
from fim_private.universe import Catalogue, SizedUniverse, UnknownUniverse

ABSTAINED = simulation.ABSTAINED
REPLACED = 2_000  # bootstrap samples
# Caps on a basket; ours and the histogram get the one that suits the data best, which no analyst may do.
CAPS = (5, 10, 25, 50, 100, 250, 500, 1_000, 2_500)
CATALOGUE = ("exponential", "permute-and-flip", "max-of-laplaces")
# By repetition each pick has its part of ε only, and a rank search reads 10,000 ranks for it.
REPEATED = ("large-margin", "tight-margin", "distance")
REPEATED_TOP = 10


@dataclass(frozen=True)
class Releases:
    """Itemsets released in many trials, (trials, k): their supports, ABSTAINED where there is none, and noisy ones."""

    true: NDArray[np.int64]
    noisy: NDArray[np.float64]


def measures(released: Releases, levels: Levels, count: int, seed: int) -> dict[str, float | None]:
    """Return how good the releases are.

    fnr: the share of the top k that is missing, where any itemset with at least the k-th support will do. regret: the
    share of the top k's supports that is lost. abstained: of k. error_median, error_95: |noisy - true| / true of what
    was released. low, high: a bootstrap interval of fnr's mean (percentiles, 95 %).
    """
    top = np.array([s for support, m in levels for s in [support] * min(m, count)][:count])
    hits = (released.true >= top[-1]).sum(axis=1)
    missing = 1 - hits / len(top)
    given = np.maximum(released.true, 0).sum(axis=1)
    named = released.true != ABSTAINED
    errors = np.abs(released.noisy - released.true)[named] / np.maximum(released.true[named], 1)
    resampled = np.random.default_rng(seed).choice(missing, (REPLACED, len(missing))).mean(axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return {
        "trials": len(missing),
        "fnr": float(missing.mean()),
        "low": float(low),
        "high": float(high),
        "regret": float((1 - given / top.sum()).mean()),
        "abstained": float(1 - named.sum(axis=1).mean() / len(top)),
        "error_median": float(np.median(errors)) if len(errors) else None,
        "error_95": float(np.quantile(errors, 0.95)) if len(errors) else None,
    }


def levels_for(source: Source, sizes: tuple[int, ...]) -> Levels:
    """Return the levels of the itemsets of these sizes together."""
    return spectra.levels_of(source, sizes[0]) if len(sizes) == 1 else spectra.mixed_levels(source, sizes)


def ours(
    source: Source, sizes: tuple[int, ...], mechanism: str, counts: list[int], epsilon: float, delta: float, **how: int
) -> list[dict[str, Any]]:
    """Return the measures of one of our mechanisms for each k. how: trials and seed."""
    levels = levels_for(source, sizes)
    rows = []
    for count in counts:
        terms = _terms(source, sizes, mechanism, count)
        budget = Fraction(repr(epsilon)), Fraction(repr(delta))
        agreement = agree(mechanism.split(",")[0], terms, *budget, union=True, supports_share=SUPPORTS_SHARE)
        found, exact = _picks(agreement, source, levels, count, how["trials"], how["seed"])
        rng = np.random.default_rng([how["seed"], 1])
        assert agreement.supports is not None
        released = Releases(found, found + _noise(agreement.supports, (found != ABSTAINED).sum(axis=1), count, rng))
        rows.append({"k": count, **measures(released, levels, count, how["seed"]), **exact})
    return rows


def _terms(source: Source, sizes: tuple[int, ...], mechanism: str, count: int) -> Terms:
    items = spectra.transactions(source).vocabulary
    if mechanism in CATALOGUE:
        return Terms(sizes, count, "add-remove", Catalogue(items))
    if mechanism == "exponential, size only":
        return Terms(sizes, count, "add-remove", SizedUniverse(len(items)))
    cap = None
    if mechanism == "choosing":
        longest = int(np.diff(spectra.transactions(source).offsets).max())
        cap = next(cap for cap in CAPS if cap >= longest)
    return Terms(sizes, count, "add-remove", UnknownUniverse(), max_basket=cap)


def _picks(
    agreement: Agreement, source: Source, levels: Levels, count: int, trials: int, seed: int
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Return the supports picked in each trial, and for one pick what is known exactly."""
    [selection] = agreement.selections
    run = selection.run
    if isinstance(run, Levelwise):
        return levelwise(run, _supports(source, run.sizes), trials, np.random.default_rng([seed, 3])), {}
    candidates = getattr(selection.universe, "candidates", None)
    size = None
    if isinstance(selection.universe, Catalogue):
        assert candidates is not None
        size = sum(candidates(size) for size in selection.sizes)
    spectrum = SupportSpectrum(levels, universe_size=size)
    rng = np.random.default_rng([seed, zlib.crc32(type(run.mechanism).__name__.encode())])
    exact = _exact(run, spectrum, levels) if count == 1 else {}
    return _simulated(run, spectrum, trials, rng), exact


def _exact(run: TopK, spectrum: SupportSpectrum, levels: Levels) -> dict[str, Any]:
    outcomes = run.mechanism.distribution(spectrum)
    maximum = levels[0][0]
    best = float(outcomes.probabilities[outcomes.levels == maximum].sum())
    kept = float((outcomes.levels * outcomes.probabilities).sum()) / maximum
    unnamed = outcomes.levels == 0 if isinstance(run.mechanism, NamedExponential) else np.zeros(1, dtype=bool)
    abstain = outcomes.abstain + float((outcomes.probabilities * unnamed).sum())
    missing = {"fnr": 1 - best, "low": 1 - best, "high": 1 - best}
    return {**missing, "regret": 1 - kept, "abstained": abstain, "exact": True}


def _simulated(run: TopK, spectrum: SupportSpectrum, trials: int, rng: np.random.Generator) -> NDArray[np.int64]:
    mechanism = run.mechanism
    match mechanism:
        case Weighed():
            return simulation.weighed(mechanism, spectrum, run.count, trials, rng)
        case PermuteAndFlip() | MaxOfLaplaces():
            return simulation.raced(mechanism, spectrum, run.count, trials, rng)
        case Distance():
            return simulation.distant(mechanism, spectrum, run.count, trials, rng)
    assert isinstance(mechanism, LargeMargin | TightMargin)
    if mechanism.distribution(spectrum).abstain > 1 - 1e-9:  # all picks abstain, as nothing is ever left out
        return np.full((trials, run.count), ABSTAINED, dtype=np.int64)
    return simulation.searched(mechanism, spectrum, run.count, trials, rng)


@lru_cache(maxsize=1)
def _supports(source: Source, sizes: tuple[int, ...]) -> Supports:
    return counted(spectra.transactions(source), sizes)


def _noise(
    budget: SupportsBudget, released: NDArray[np.int64], count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the noise of each trial's supports, which depends on how many were released, (trials, k)."""
    values = np.zeros((len(released), count))
    for number in np.unique(released[released > 0]):
        noise: SupportNoise = budget.noise(int(number))
        shape = int((released == number).sum()), count
        if noise.kind is NoiseKind.LAPLACE:
            rate = 1 / float(noise.parameter)
            drawn = np.floor(rng.exponential(1 / rate, shape)) - np.floor(rng.exponential(1 / rate, shape))
        else:
            drawn = np.rint(rng.normal(0, float(noise.parameter) ** 0.5, shape))
        values[released == number] = drawn
    return values


def histogram(
    source: Source, sizes: tuple[int, ...], counts: list[int], epsilon: float, delta: float, **how: int
) -> list[dict[str, Any]]:
    """Return the measures of the stability histogram, the larger half of k with a cap of its own.

    The release does not depend on k: the top k of one by noisy supports are the first of a larger k.
    """
    rows = []
    middle = len(counts) // 2
    for part in (part for part in (counts[:middle], counts[middle:]) if part):
        most = max(part)
        cap = best_cap(source, sizes, most, epsilon, delta)
        whole = histogram_trials(source, sizes, most, epsilon, delta, cap, how["trials"], how["seed"])
        rows += _peer(source, sizes, part, partial(_first, whole), how["seed"])
    return rows


def _first(releases: list[Released], count: int) -> list[Released]:
    return [Released(release.true[:count], release.noisy[:count]) for release in releases]


def privbasis(
    source: Source, sizes: tuple[int, ...], counts: list[int], epsilon: float, delta: float | None, **how: int
) -> list[dict[str, Any]]:
    """Return the measures of PrivBasis, pure where delta is None."""

    def trials(count: int) -> list[Released]:
        return privbasis_trials(source, sizes, count, epsilon, delta, how["trials"], how["seed"])

    return _peer(source, sizes, counts, trials, how["seed"])


def _peer(
    source: Source, sizes: tuple[int, ...], counts: list[int], trials: Callable[[int], list[Released]], seed: int
) -> list[dict[str, Any]]:
    levels = levels_for(source, sizes)
    rows = []
    for count in counts:
        releases = trials(count)
        true = np.full((len(releases), count), ABSTAINED, dtype=np.int64)
        noisy = np.zeros((len(releases), count))
        for trial, release in enumerate(releases):
            true[trial, : len(release.true)] = release.true
            noisy[trial, : len(release.noisy)] = release.noisy
        rows.append({"k": count, **measures(Releases(true, noisy), levels, count, seed)})
    return rows


OURS = (
    "large-margin",
    "tight-margin",
    "limited-domain",
    "choosing",
    "distance",
    LEVELWISE,
    "exponential",
    "exponential, size only",
    "permute-and-flip",
    "max-of-laplaces",
)
PEERS = ("stability histogram (OpenDP)", "PrivBasis, pure", "PrivBasis, zCDP")
