"""How the stability histogram cuts units: to as many items, and by the rule, that suit the very
data best.

That is more than a user of this baseline could do: a choice made on the data is not private.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import transactions
from benchmarks.peers.cut_baskets import ORDERS, Cut, counted, cut_data
from benchmarks.peers.item_matrix import Released, support_at_rank
from benchmarks.peers.stability_histogram import LARGEST_DEGREE, calibrated, distance, high_released
from fim_private.counting import itemset_spectrum

CAPS = (2, 3, 5, 8, 12, 20, 50)
# Of users: how many baskets of each are kept, None for all.
BASKETS = (None, 1, 4)
_TRIALS, _SEED = 100, 0
_EQUAL_RECALL, _NO_CHANCE = 0.005 + 1e-9, 1e-6


@lru_cache(maxsize=32)
def _tried(
    source: Source,
    sizes: tuple[int, ...],
    most: int,
    epsilon: float,
    delta: float,
    kept: Cut,
    neighbors: str,
) -> list[Released]:
    """Release the `most` highest of the listed itemsets, as others are hardly ever frequent;
    nothing if hopeless.
    """
    units = distance(kept, sizes, neighbors)
    if not 0 < units < LARGEST_DEGREE:
        return []
    form = calibrated(units, epsilon, delta)
    highest = next(
        (support for support, _ in itemset_spectrum(cut_data(source, kept), 1).levels()), 0
    )
    if float(form.noise.survival(np.array([max(1, form.threshold - highest)]))[0]) < _NO_CHANCE:
        return []
    cells = counted(source, sizes, kept, form.threshold, False)
    rng = np.random.default_rng(_SEED)
    trials = []
    for _ in range(_TRIALS):
        places, noisy = high_released(cells, form, rng, None)
        top = np.argsort(-noisy, kind="stable")[:most]
        trials.append(Released(cells.true[places[top]], noisy[top].astype(np.float64)))
    return trials


def expected(
    source: Source,
    sizes: tuple[int, ...],
    counts: Sequence[int],
    epsilon: float,
    delta: float,
    kept: Cut,
    neighbors: str = "add-remove",
) -> dict[int, tuple[float, float]]:
    """Return for each count what is to be expected of a cut, by the same trials for all counts.

    That is the mean share of the count that is released and truly as frequent as the count-th; and
    the median relative error of the supports released, infinite where there are none.
    """
    tried, found = _tried(source, sizes, max(counts), epsilon, delta, kept, neighbors), {}
    for count in counts:
        true = np.concatenate([np.zeros(0), *(one.true[:count] for one in tried)])
        noisy = np.concatenate([np.zeros(0), *(one.noisy[:count] for one in tried)])
        recall = int((true >= max(1, support_at_rank(source, sizes, count))).sum()) / (
            _TRIALS * count
        )
        errors = np.abs(noisy - true) / np.maximum(true, 1)
        found[count] = recall, float(np.median(errors)) if len(errors) else math.inf
    return found


def cuts(source: Source) -> list[Cut]:
    """Return the cuts that are tried."""
    data = transactions(source)
    longest = int(np.diff(data.offsets).max(initial=1))
    caps = [cap for cap in CAPS if cap < longest] + [longest]
    return [
        Cut(cap, order, most)
        for cap, order, most in product(caps, ORDERS, BASKETS if data.by_user else (None,))
    ]


def best_cuts(
    source: Source,
    sizes: tuple[int, ...],
    counts: Sequence[int],
    epsilon: float,
    delta: float,
    neighbors: str = "add-remove",
) -> dict[int, Cut]:
    """Return for each count the cut, to a B of CAPS or the longest unit, of the highest expected
    recall.

    Of those within 0.005 of it the one of the least error, and then the lowest.
    """
    found = {
        kept: expected(source, sizes, counts, epsilon, delta, kept, neighbors)
        for kept in cuts(source)
    }
    best = {}
    for count in counts:
        most = max(one[count][0] for one in found.values())
        equal = [kept for kept, one in found.items() if one[count][0] >= most - _EQUAL_RECALL]
        best[count] = min(equal, key=lambda kept: found[kept][count][1])
    return best
