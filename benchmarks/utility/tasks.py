"""What the study of utility is about: mechanisms and peers; and releases of ours that are simulated, with supports.

Everything is charged to one (ε, δ): what is simulated spends a
third of it on supports (the default of `--supports`), levelwise its own share, the peers what their papers or libraries
say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.support_spectra import Levels, levels_for, transactions
from benchmarks.utility import simulation
from benchmarks.utility.measures import ABSTAINED, PICKS, Asked, Releases, certain, measures
from benchmarks.utility.runs import WITH_ITEMS
from fim_private.counting.source import Catalogue, SizedUniverse, Universe, UnknownUniverse
from fim_private.mechanisms import (
    Distance,
    LargeMargin,
    MaxOfLaplaces,
    NamedExponential,
    PermuteAndFlip,
    TightMargin,
    registry,
)
from fim_private.mechanisms.exponential import ExponentialWeights
from fim_private.mechanisms.top_k import TopK
from fim_private.request.budget import BudgetAllocation, allocate
from fim_private.request.request import MiningOptions
from fim_private.request.supports import NoiseKind
from fim_private.spectrum import SupportSpectrum

_SUPPORTS = 2  # the stream of supports: see measures.py
# Caps on a basket: choosing gets the least that cuts none, which an analyst would have to know.
CAPS = (5, 10, 25, 50, 100, 250, 500, 1_000, 2_500)
CATALOGUE = ("exponential", "permute-and-flip", "max-of-laplaces")


def ours(asked: Asked, mechanism: str, counts: list[int], trials: int, seed: int) -> list[dict[str, Any]]:
    """Return the measures of one of our mechanisms for each k, simulated."""
    levels = levels_for(asked.source, asked.sizes)
    rows = []
    for count in counts:
        released, exact = simulated(asked, mechanism, count, trials, seed)
        rows.append({"k": count, **measures(released, levels, count, seed), **exact})
    return rows


def simulated(asked: Asked, mechanism: str, count: int, trials: int, seed: int) -> tuple[Releases, dict[str, Any]]:
    """Return simulated releases of one of our mechanisms, and for a single itemset what is known exactly."""
    allocation = allocate(_options(asked, mechanism, count))
    found, exact = _picks(allocation, levels_for(asked.source, asked.sizes), count, trials, seed)
    rng = np.random.default_rng([seed, _SUPPORTS])
    noise = _noise(allocation, (found != ABSTAINED).sum(axis=1), count, rng)
    return Releases(found, found + noise), exact


def _options(asked: Asked, mechanism: str, count: int) -> MiningOptions:
    items = transactions(asked.source).vocabulary
    universe: Universe = UnknownUniverse()
    cap = None
    if mechanism in CATALOGUE:
        universe = Catalogue(items)
    elif mechanism == "exponential, size only":
        universe = SizedUniverse(len(items))
    elif mechanism == "choosing":
        longest = int(np.diff(transactions(asked.source).offsets).max())
        cap = next(cap for cap in CAPS if cap >= longest)
    spec = registry.spec_named(mechanism.split(",")[0])
    share, (epsilon, delta) = spec.supports_share(asked.neighbors), asked.budget
    wanted: dict[str, Any] = {"sizes": asked.sizes, "top": count, "union": True, "keep_all": True}
    public: dict[str, Any] = {"universe": universe, "max_basket": cap}
    return MiningOptions(spec, epsilon, delta, asked.neighbors, **wanted, supports_share=share, **public)


def _picks(
    allocation: BudgetAllocation, levels: Levels, count: int, trials: int, seed: int
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Return the supports selected in each trial, and for a single one what is known exactly."""
    [selection] = allocation.selections
    assert isinstance(selection.run, TopK), "it is not simulated: see runs.py"
    universe, size = selection.universe, None
    if isinstance(universe, Catalogue):
        size = sum(universe.candidates(size) for size in selection.sizes)
    spectrum = SupportSpectrum(levels, universe_size=size)
    exact = _exact(selection.run, spectrum, levels) if count == 1 else {}
    return _simulated(selection.run, spectrum, trials, np.random.default_rng([seed, PICKS])), exact


def _exact(run: TopK, spectrum: SupportSpectrum, levels: Levels) -> dict[str, Any]:
    outcomes = run.mechanism.distribution(spectrum)
    maximum = levels[0][0]
    best = float(outcomes.probabilities[outcomes.levels == maximum].sum())
    kept = float((outcomes.levels * outcomes.probabilities).sum()) / maximum
    unnamed = outcomes.levels == 0 if isinstance(run.mechanism, NamedExponential) else np.zeros(1, dtype=bool)
    abstain = outcomes.abstain + float((outcomes.probabilities * unnamed).sum())
    return certain(1 - best, 1 - kept, abstain, float(outcomes.probabilities[outcomes.levels > 0].sum()))


def _simulated(run: TopK, spectrum: SupportSpectrum, trials: int, rng: np.random.Generator) -> NDArray[np.int64]:
    mechanism = run.mechanism
    match mechanism:
        case ExponentialWeights():
            return simulation.weighed(mechanism, spectrum, run.count, trials, rng)
        case PermuteAndFlip() | MaxOfLaplaces():
            return simulation.noisy_max(mechanism, spectrum, run.count, trials, rng)
        case Distance():
            return simulation.distant(mechanism, spectrum, run.count, trials, rng)
    assert isinstance(mechanism, LargeMargin | TightMargin)
    return simulation.searched(mechanism, spectrum, run.count, trials, rng)


def _noise(
    allocation: BudgetAllocation, released: NDArray[np.int64], count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the noise of each trial's supports, which depends on how many were released, (trials, k)."""
    values = np.zeros((len(released), count))
    for number in np.unique(released[released > 0]):
        noise = allocation.noise(int(number))
        assert noise is not None
        shape = int((released == number).sum()), count
        if noise.kind is NoiseKind.LAPLACE:
            rate = 1 / float(noise.parameter)
            drawn = np.floor(rng.exponential(1 / rate, shape)) - np.floor(rng.exponential(1 / rate, shape))
        else:
            drawn = rng.normal(0, float(noise.parameter) ** 0.5, shape)
            if noise.of_units is not None:
                drawn += rng.normal(0, float(noise.of_units) ** 0.5 / 2, (shape[0], 1))
            drawn = np.rint(drawn)
        values[released == number] = drawn
    return values


OURS = (
    "large-margin",
    "tight-margin",
    "limited-domain",
    "choosing",
    "distance",
    "levelwise",
    WITH_ITEMS,
    "exponential",
    "exponential, size only",
    "permute-and-flip",
    "max-of-laplaces",
)
HISTOGRAM = "stability histogram (OpenDP)"
PURE = "PrivBasis, pure"
WEIGHTED = "weighted Gaussian (OpenDP)"
PEERS = (HISTOGRAM, WEIGHTED, PURE, "PrivBasis, zCDP")
ENTRIES = (*OURS, *PEERS)
# Those that are told the items, or at least how many there are.
UNIVERSE = (WITH_ITEMS, *CATALOGUE, "exponential, size only", PURE, "PrivBasis, zCDP")
# Ours that need nothing public but, some of them, a cap on baskets or a rank.
UNKNOWN = tuple(entry for entry in OURS if entry not in UNIVERSE)
