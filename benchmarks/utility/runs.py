"""Releases of a mechanism that is run as it is shipped: `fim_private.mine` itself, with seeds."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import transactions
from benchmarks.peers.item_matrix import item_matrix
from benchmarks.utility.measures import ABSTAINED, Releases
from fim_private.mining import mine

# The entries that are run and not simulated, and how many times at most.
RUNS: Mapping[str, int] = {"levelwise": 20}
# What is refused by default is estimated far too high for long tails.
_MAX_WORK = 10**14


def run(
    source: Source,
    sizes: tuple[int, ...],
    mechanism: str,
    count: int,
    epsilon: float,
    delta: float,
    neighbors: str,
    seeds: list[int],
) -> Releases:
    """Release `count` itemsets with supports once for each seed, of what has been read.

    The true support of each itemset released is counted in the data. An outcome without a name counts as none.
    """
    data, matrix = transactions(source), item_matrix(source)
    true = np.full((len(seeds), count), ABSTAINED, dtype=np.int64)
    noisy = np.zeros((len(seeds), count))
    for trial, seed in enumerate(seeds):
        release = mine(
            data,
            size=sizes,
            epsilon=Fraction(repr(epsilon)),
            delta=Fraction(repr(delta)),
            mechanism=mechanism,
            neighbors=neighbors,
            top=count,
            union=len(sizes) > 1,
            supports=True,
            max_work=_MAX_WORK,
            seed=seed,
        )
        named = [(each.items, each.support) for each in release.itemsets if each.items is not None]
        for place, (items, support) in enumerate(named):
            true[trial, place] = matrix.support(matrix.codes(items))
            noisy[trial, place] = support
    return Releases(true, noisy)
