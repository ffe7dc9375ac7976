"""Releases of a mechanism that is run as it is shipped, with seeds, and how good they are: what `fim.mine` does.

The data is read once, and what does not depend on a seed is counted once: supports of items. All else is counted anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import levels_for, transactions
from benchmarks.peers.item_matrix import item_matrix
from benchmarks.utility.measures import ABSTAINED, PICKS, Asked, Releases, label, measures
from fim_private.counting import Effort
from fim_private.counting.source import UNKNOWN, Catalogue, LocalItems, LocalSource, Universe
from fim_private.dp.noise import Randomness
from fim_private.mechanisms import registry
from fim_private.mining.mine import mine
from fim_private.request.budget import allocation_of
from fim_private.request.request import MiningOptions

WITH_ITEMS = "levelwise, catalogue"
WITHOUT_SUPPORTS = "levelwise, no supports"
# The entries that are run and not simulated: the mechanism, whether it is told the items, and releases supports.
RUNS: Mapping[str, tuple[str, bool, bool]] = {
    "levelwise": ("levelwise", False, True),
    WITH_ITEMS: ("levelwise", True, True),
    WITHOUT_SUPPORTS: ("levelwise", False, False),
}
MOST_RUNS = 20
# One thread: studies run a process a core. What is refused by default is estimated far too high for long tails.
_MAX_WORK = 10**14


def shipped(asked: Asked, entry: str, counts: list[int], trials: int, seed: int) -> list[dict[str, Any]]:
    """Return the measures of one of RUNS for each k. trials: of which MOST_RUNS at most are run."""
    levels = levels_for(asked.source, asked.sizes)
    seeds = np.random.default_rng([seed, PICKS]).integers(1 << 63, size=trials).tolist()[:MOST_RUNS]
    return [{"k": count, **measures(run(asked, entry, count, seeds), levels, count, seed)} for count in counts]


def run(asked: Asked, entry: str, count: int, seeds: list[int]) -> Releases:
    """Release `count` itemsets once for each seed. Without noisy supports the true ones stand in their place."""
    data = _counted_once(asked.source)
    (mechanism, listed, has_supports), (epsilon, delta) = RUNS[entry], asked.budget
    spec = registry.spec_named(mechanism)
    universe: Universe = Catalogue(transactions(asked.source).vocabulary) if listed else UNKNOWN
    share = spec.supports_share(asked.neighbors) if has_supports else None
    wanted: dict[str, Any] = {"sizes": asked.sizes, "top": count, "union": len(asked.sizes) > 1}
    public: dict[str, Any] = {"universe": universe, "by_user": asked.source.by_user}
    options = MiningOptions(spec, epsilon, delta, asked.neighbors, **wanted, supports_share=share, **public)
    allocation, units = allocation_of(options), transactions(asked.source).units
    true = np.full((len(seeds), count), ABSTAINED, dtype=np.int64)
    noisy = np.zeros((len(seeds), count))
    for trial, seed in enumerate(seeds):
        randomness = Randomness.seeded(seed)
        found = allocation.find(data, randomness)
        supports = {one.items: one.support for one in found}
        for place, each in enumerate(allocation.published(found, randomness, true_units=units).itemsets):
            true[trial, place] = supports[each.items]
            noisy[trial, place] = supports[each.items] if each.support is None else each.support
    return Releases(true, noisy)


def by_default(asked: Asked, listed: bool, counts: list[int], trials: int, seed: int) -> list[dict[str, Any]]:
    """Return the measures of the default mechanism for each k, and which that is. seed: of the first trial.

    listed: whether it is given the list of the items.
    """
    source, sizes = asked.source, asked.sizes
    data, levels, matrix = transactions(source), levels_for(source, sizes), item_matrix(source)
    given: dict[str, Any] = {"epsilon": asked.epsilon, "delta": asked.delta, "neighbors": asked.neighbors}
    given |= {"supports": True, "size": label(sizes), "union": len(sizes) > 1}
    if listed:
        given["catalogue"] = [data.vocabulary.label(code) for code in range(len(data.vocabulary))]
    rows = []
    for count in counts:
        true = np.full((trials, count), ABSTAINED, dtype=np.int64)
        noisy = np.zeros((trials, count))
        mechanisms = set()
        for trial in range(trials):
            release = mine(data, top=count, seed=seed + trial, **given)
            mechanisms.add(release.mechanism)
            named = [(one.items, one.support) for one in release if one.items is not None]
            for place, (items, support) in enumerate(named):
                true[trial, place], noisy[trial, place] = matrix.support(matrix.codes(items)), support
        found = measures(Releases(true, noisy), levels, count, seed)
        rows.append({"k": count, "mechanism": ", ".join(sorted(mechanisms)), **found})
    return rows


@dataclass(frozen=True)
class _ItemsOnce(LocalItems):
    """Items whose sums are counted once for the same scale and number of items."""

    known: dict[tuple[int, int], NDArray[np.int64]] = field(default_factory=dict)

    def level_sums(self, scale: int, most: int) -> NDArray[np.int64]:
        """Return the level sum of each item; see `ItemSource.level_sums`."""
        if (scale, most) not in self.known:
            self.known[scale, most] = super().level_sums(scale, most)
        return self.known[scale, most].copy()


@dataclass(frozen=True)
class _CountedOnce(LocalSource):
    """A source that counts its items once. The catalogue holds all items, so it is the same without one."""

    once: dict[bool, _ItemsOnce] = field(default_factory=dict)

    def items(self, universe: Universe = UNKNOWN) -> LocalItems:
        """Return the items, and what units have of them; see `SupportSource.items`."""
        listed = isinstance(universe, Catalogue)
        if listed not in self.once:
            self.once[listed] = _ItemsOnce(super().items(universe).transactions, self.effort)
        return self.once[listed]


@lru_cache(maxsize=16)
def _counted_once(source: Source) -> LocalSource:
    return _CountedOnce(transactions(source), Effort(threads=1, max_work=_MAX_WORK))
