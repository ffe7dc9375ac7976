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
from benchmarks.peers.item_matrix import support_at_rank
from benchmarks.peers.question import Question, Released
from benchmarks.peers.stability_histogram import LARGEST_DEGREE, calibrated, distance, high_released
from fim_private.counting import itemset_spectrum

CAPS = (2, 3, 5, 8, 12, 20, 50)
# Of users: how many baskets of each are kept, None for all.
BASKETS = (None, 1, 4)
_TRIALS, _SEED = 100, 0
_EQUAL_RECALL, _NO_CHANCE = 0.005 + 1e-9, 1e-6


@lru_cache(maxsize=32)
def _tried(question: Question, most: int, kept: Cut) -> list[Released]:
    """Release the `most` highest of the listed itemsets, as others are hardly ever frequent;
    nothing if hopeless.
    """
    units = distance(question, kept)
    if not 0 < units < LARGEST_DEGREE:
        return []
    form = calibrated(units, question.epsilon, question.delta)
    of_items = itemset_spectrum(cut_data(question.source, kept), 1)
    highest = next((support for support, _ in of_items.levels()), 0)
    [chance] = form.noise.survival(np.array([max(1, form.threshold - highest)]))
    if chance < _NO_CHANCE:
        return []
    cells = counted(question.source, question.sizes, kept, form.threshold, False)
    rng = np.random.default_rng(_SEED)
    trials = []
    for _ in range(_TRIALS):
        places, noisy = high_released(cells, form, rng, None)
        top = np.argsort(-noisy, kind="stable")[:most]
        trials.append(Released(cells.true[places[top]], noisy[top].astype(np.float64)))
    return trials


def expected(
    question: Question, counts: Sequence[int], kept: Cut
) -> dict[int, tuple[float, float]]:
    """Return for each count what is to be expected of a cut, by the same trials for all counts.

    That is the mean share of the count that is released and truly as frequent as the count-th; and
    the median relative error of the supports released, infinite where there are none.
    """
    tried = _tried(question, max(counts), kept)
    prospects = {}
    for count in counts:
        releases = [release.first(count) for release in tried]
        true = np.concatenate([np.zeros(0), *(release.true for release in releases)])
        noisy = np.concatenate([np.zeros(0), *(release.noisy for release in releases)])
        least = max(1, support_at_rank(question.source, question.sizes, count))
        recall = int((true >= least).sum()) / (_TRIALS * count)
        errors = np.abs(noisy - true) / np.maximum(true, 1)
        prospects[count] = recall, float(np.median(errors)) if len(errors) else math.inf
    return prospects


def cuts(source: Source) -> list[Cut]:
    """Return the cuts that are tried."""
    data = transactions(source)
    longest = int(np.diff(data.offsets).max(initial=1))
    caps = [cap for cap in CAPS if cap < longest] + [longest]
    return [
        Cut(cap, order, most)
        for cap, order, most in product(caps, ORDERS, BASKETS if data.by_user else (None,))
    ]


def best_cuts(question: Question, counts: Sequence[int]) -> dict[int, Cut]:
    """Return for each count the cut, to a B of CAPS or the longest unit, of the highest expected
    recall.

    Of those within 0.005 of it the one of the least error, and then the lowest.
    """
    prospects = {kept: expected(question, counts, kept) for kept in cuts(question.source)}
    best = {}
    for count in counts:
        recalls = {kept: of_cut[count][0] for kept, of_cut in prospects.items()}
        enough = max(recalls.values()) - _EQUAL_RECALL
        equal = [kept for kept, recall in recalls.items() if recall >= enough]
        best[count] = min(equal, key=lambda kept: prospects[kept][count][1])
    return best
