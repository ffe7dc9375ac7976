"""Differentially private set union by the weighted Gaussian: a cut by norm, where the histogram
cuts by number.

Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin, "Differentially private set union", ICML 2020,
Algorithm 5: a unit with t itemsets adds 1/√t to each, an L2 norm of 1 whatever t; Gaussian noise;
what clears a threshold is released. The noise, the threshold and the guarantee are OpenDP's
make_gaussian_threshold, which takes an L2 distance of its own: of the libraries that need no list
of keys (Google's and PipelineDP, Tumult Analytics, SmartNoise) it alone has a cut by norm; the
others keep a number of keys of each unit. No threshold needs the itemsets of a unit to be few, so
that baskets may be cut later than for the histogram; where they are, is taken from the data, to its
advantage.

It finds itemsets, not supports: SUPPORTS_SHARE of ρ counts the k of the highest noisy weights in
the whole data, with Gaussian noise for k counts that a unit moves by 1 each. Neighbours that have
one unit replaced are √2 apart in weights, which are not negative, and as far as others in those
counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from benchmarks.frame.datasets import Source
from benchmarks.peers.best_cut import cuts
from benchmarks.peers.cut_baskets import LISTED, Cut, cut_data, degree
from benchmarks.peers.item_matrix import Int64, ItemMatrix, item_matrix, support_at_rank
from benchmarks.peers.question import Question, Released, nothing
from benchmarks.peers.stability_histogram import opendp, threshold_measurement
from fim_private.counting import itemset_spectrum, list_itemsets
from fim_private.dp.composition import zcdp_rho
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.parameters import exact_delta, exact_epsilon
from fim_private.mechanisms import registry
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import union

# Of ρ: for the supports, under both relations what levelwise spends under add-remove. Of δ: for the
# threshold, whichever is best; the rest turns zCDP into (ε, δ).
SUPPORTS_SHARE = registry.spec_named("levelwise").supports_share(Neighbors.ADD_REMOVE)
_DELTA_SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
_CLOSE = 1.05  # between how many itemsets a unit may have, see _numbers
_STEPS = 20  # of a thousandth, to what OpenDP's map allows
_TRIALS, _SEED = 100, 0
# Weights are rounded down to a grid: OpenDP adds noise to whole numbers ten times as fast as to
# others.
GRID = 1 << 20


@dataclass(frozen=True)
class WeightThreshold:
    """Noise of that scale on each weight, released where the sum is >= threshold, both in steps of
    1 / GRID.

    support_scale: of the noise of the supports, for one count; it grows with √k.
    """

    scale: float
    threshold: int
    support_scale: float

    def measurement(self) -> Any:
        """Return OpenDP's measurement, from a dict of weights to the dict of those released."""
        return threshold_measurement(self.scale, self.threshold, gaussian=True)

    def cost(self, most: int, neighbors: Neighbors) -> tuple[float, float]:
        """Return (ρ, δ) by OpenDP's map: the worst of units with 1 to most itemsets, each of weight
        1/√t.

        Between two numbers a < b of _numbers it is taken for b itemsets of weight 1/√a.
        """
        from opendp.mod import OpenDPException

        times = neighbors.changed_units
        norm = GRID if times == 1 else math.isqrt(times * GRID**2) + 1
        with opendp():
            measurement = self.measurement()
            try:
                costs = [
                    measurement.map((times * b, norm, math.isqrt(GRID**2 // a)))
                    for a, b in _numbers(most)
                ]
            except OpenDPException:
                return math.inf, 1.0
        return max(rho for rho, _ in costs), max(delta for _, delta in costs)


@cache
def _numbers(most: int) -> list[tuple[int, int]]:
    """Return ranges of how many itemsets a unit may have, 1 to most: of one number each, then of
    some close ones.
    """
    ranges, start = [], 1
    while start <= most:
        end = min(most, max(start, math.floor(start * _CLOSE)))
        ranges.append((start, end))
        start = end + 1
    return ranges


@cache
def calibrated(most: int, epsilon: float, delta: float, neighbors: Neighbors) -> WeightThreshold:
    """Return about the lowest threshold that OpenDP's map allows where a unit has at most so many
    itemsets.
    """
    changed_units = neighbors.changed_units
    best = None
    for share in _DELTA_SHARES:
        rho = zcdp_rho(exact_epsilon(epsilon), exact_delta(delta * (1 - share)))
        scale = GRID * math.sqrt(changed_units / (2 * rho * (1 - SUPPORTS_SHARE)))
        ends = np.array(_numbers(most), dtype=np.float64)
        keys = ends[:, 1] * changed_units
        threshold = (
            math.ceil((GRID / np.sqrt(ends[:, 0]) - scale * ndtri(delta * share / keys)).max()) + 1
        )
        form = WeightThreshold(scale, threshold, math.sqrt(1 / (2 * rho * SUPPORTS_SHARE)))
        if best is None or form.threshold < best[0].threshold:
            best = form, float(rho * (1 - SUPPORTS_SHARE)), delta * share
    assert best is not None
    form, allowed, allowed_delta = best
    for _ in range(_STEPS):
        rho_spent, delta_spent = form.cost(most, neighbors)
        if rho_spent <= allowed and delta_spent <= allowed_delta:
            return form
        form = WeightThreshold(
            form.scale * 1.001, math.ceil(form.threshold * 1.002), form.support_scale
        )
    raise ValueError(f"OpenDP's map allows no threshold near {form.threshold}")


@dataclass(frozen=True)
class Weighed:
    """The itemsets of the highest supports in cut data: weights in steps, and supports in the whole
    data, both (m,).
    """

    weights: Int64
    true: Int64


def unit_weights(data: Transactions, sizes: tuple[int, ...]) -> Int64:
    """Return 1/√t of each basket, which has t itemsets, in steps of 1 / GRID, rounded down,
    (baskets,); 0 for t = 0.
    """
    lengths = np.diff(data.offsets)
    every = [
        sum(math.comb(length, size) for size in sizes)
        for length in range(int(lengths.max(initial=0)) + 1)
    ]
    numbers = np.array(every, dtype=np.float64)[lengths]
    # Less a step, as the root is of a double.
    return np.where(
        numbers > 1, np.floor(GRID / np.sqrt(np.maximum(numbers, 1))) - 1, GRID * numbers
    ).astype(np.int64)


@lru_cache(maxsize=64)
def weighed(source: Source, sizes: tuple[int, ...], kept: Cut) -> Weighed:
    """Weigh the LISTED itemsets of the highest supports in the cut data. Others are not released:
    none is frequent.
    """
    data = cut_data(source, kept)
    levels, seen = [], 0
    for support, multiplicity in union([itemset_spectrum(data, size) for size in sizes]).levels():
        seen += multiplicity
        if seen > LISTED:
            break
        levels.append(support)
    if not levels:
        return Weighed(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    whole, matrix, of_units = item_matrix(source), ItemMatrix(data), unit_weights(data, sizes)
    names = [
        labels for size in sizes for labels, _ in list_itemsets(data, size, levels[-1], levels[0])
    ]
    weights = np.array(
        [of_units[matrix.units(matrix.codes(labels))].sum() for labels in names], dtype=np.int64
    )
    return Weighed(
        weights, np.array([whole.support(whole.codes(labels)) for labels in names], dtype=np.int64)
    )


def form_for(question: Question, kept: Cut) -> WeightThreshold:
    """Return the threshold for what is asked of units that are cut."""
    most = degree(kept, question.sizes)
    return calibrated(most, question.epsilon, question.delta, question.neighbors)


def best_cut(question: Question, count: int) -> Cut:
    """Return the cut with which most of what is released is truly as frequent as the count-th, in
    trials of its own.
    """
    least = max(1, support_at_rank(question.source, question.sizes, count))

    def recall(kept: Cut) -> float:
        if not degree(kept, question.sizes):
            return 0.0
        cells = weighed(question.source, question.sizes, kept)
        rng = np.random.default_rng(_SEED)
        form = form_for(question, kept)
        noisy = cells.weights + rng.normal(scale=form.scale, size=(_TRIALS, len(cells.weights)))
        top = np.argsort(-noisy, axis=1)[:, :count]
        right = (np.take_along_axis(noisy, top, axis=1) >= form.threshold) & (
            cells.true[top] >= least
        )
        return float(right.sum(axis=1).mean())

    return max(cuts(question.source), key=recall)


def weighted_trials(
    question: Question, count: int, kept: Cut, trials: int, seed: int
) -> list[Released]:
    """Release the count itemsets of the highest noisy weights among those that clear the threshold,
    so many times.

    OpenDP draws the noise of the weights, whatever the seed. That of supports is from the seed.
    """
    # where no cut finds anything, it may be one that leaves nothing to find
    if not degree(kept, question.sizes):
        return [nothing()] * trials
    cells = weighed(question.source, question.sizes, kept)
    form = form_for(question, kept)
    releases = []
    rankings = _rankings(question, kept, trials)
    streams = np.random.default_rng([seed, count]).spawn(trials)
    for places, rng in zip(rankings, streams, strict=True):
        top = places[:count]
        noise = rng.normal(scale=form.support_scale * math.sqrt(max(len(top), 1)), size=len(top))
        releases.append(Released(cells.true[top], cells.true[top] + noise))
    return releases


@lru_cache(maxsize=4)  # those of one cut, whatever k
def _rankings(question: Question, kept: Cut, trials: int) -> list[Int64]:
    """Release what clears the threshold, so many times: places in the list, in descending order of
    noisy weight.
    """
    weights = weighed(question.source, question.sizes, kept).weights
    measurement = form_for(question, kept).measurement()
    by_place = dict(enumerate(weights.tolist()))
    rankings = []
    for _ in range(trials):
        released = measurement(by_place) if by_place else {}
        places = np.array(list(released), dtype=np.int64)
        noisy = np.array(list(released.values()), dtype=np.int64)
        rankings.append(places[np.argsort(-noisy, kind="stable")])
    return rankings
