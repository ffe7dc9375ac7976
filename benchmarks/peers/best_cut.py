"""How the stability histogram cuts baskets: to as many items, and by the rule, that suit the very data best.

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
from benchmarks.peers.cut_baskets import ORDERS, counted, cut_data, degree
from benchmarks.peers.item_matrix import support_at_rank
from benchmarks.peers.released import Released
from benchmarks.peers.stability_histogram import LARGEST_DEGREE, calibrated, high_released

Cut = tuple[int, str]  # how many items of a basket are kept at most, and which: of ORDERS
CAPS = (2, 3, 5, 8, 12, 20, 50)
_TRIALS, _SEED = 100, 0
_EQUAL_RECALL, _NO_CHANCE = 0.005 + 1e-9, 1e-6


@lru_cache(maxsize=32)
def _tried(
    source: Source, sizes: tuple[int, ...], most: int, epsilon: float, delta: float, kept: Cut
) -> list[Released]:
    """Release the `most` highest of the listed itemsets, as others are hardly ever frequent; nothing if hopeless."""
    units = degree(kept[0], sizes)
    if not 0 < units < LARGEST_DEGREE:
        return []
    form = calibrated(units, epsilon, delta)
    highest = int(np.bincount(cut_data(source, *kept).items, minlength=1).max())
    if float(form.noise.survival(np.array([max(1, form.threshold - highest)]))[0]) < _NO_CHANCE:
        return []
    cells = counted(source, sizes, *kept, form.threshold, False)
    rng = np.random.default_rng(_SEED)
    trials = []
    for _ in range(_TRIALS):
        places, noisy = high_released(cells, form, rng, None)
        top = np.argsort(-noisy, kind="stable")[:most]
        trials.append(Released(cells.true[places[top]], noisy[top].astype(np.float64)))
    return trials


def expected(
    source: Source, sizes: tuple[int, ...], counts: Sequence[int], epsilon: float, delta: float, kept: Cut
) -> dict[int, tuple[float, float]]:
    """Return for each count what is to be expected of a cut, by the same trials for all counts.

    That is the mean share of the count that is released and truly as frequent as the count-th; and the median relative
    error of the supports released, infinite where there are none.
    """
    tried, found = _tried(source, sizes, max(counts), epsilon, delta, kept), {}
    for count in counts:
        true = np.concatenate([np.zeros(0), *(one.true[:count] for one in tried)])
        noisy = np.concatenate([np.zeros(0), *(one.noisy[:count] for one in tried)])
        recall = int((true >= max(1, support_at_rank(source, sizes, count))).sum()) / (_TRIALS * count)
        errors = np.abs(noisy - true) / np.maximum(true, 1)
        found[count] = recall, float(np.median(errors)) if len(errors) else math.inf
    return found


def best_cuts(
    source: Source, sizes: tuple[int, ...], counts: Sequence[int], epsilon: float, delta: float
) -> dict[int, Cut]:
    """Return for each count the cut, to a B of CAPS or the longest basket, of the highest expected recall.

    Of those within 0.005 of it the one of the least error, and then the lowest.
    """
    longest = int(np.diff(transactions(source).offsets).max(initial=1))
    caps = [cap for cap in CAPS if cap < longest] + [longest]
    found = {kept: expected(source, sizes, counts, epsilon, delta, kept) for kept in product(caps, ORDERS)}
    best = {}
    for count in counts:
        most = max(one[count][0] for one in found.values())
        equal = [kept for kept, one in found.items() if one[count][0] >= most - _EQUAL_RECALL]
        best[count] = min(equal, key=lambda kept: found[kept][count][1])
    return best
