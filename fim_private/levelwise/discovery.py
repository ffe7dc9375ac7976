"""Discovery of items and of candidates of each size, under noise."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import CandidateSource
from fim_private.counting.source import ItemSource
from fim_private.dp.noise import Randomness
from fim_private.levelwise.recipe import (
    GRID,
    AnyRecipe,
    Floats,
    GaussianBudget,
    Itemsets,
    closed_sets,
    item_threshold,
    noisy_sums,
    noisy_weights,
    pairs_of,
)

# Noisy weights are drawn towards what others predict of them: post-processing, by the model of Fay
# and Herriot ("Estimates of income for small places", 1979) with a logarithmic link. Weight i is
# p_i = exp(b · x_i), times a factor of its own of variance c, plus noise of a known variance.
_STEPS = 12
_RIDGE = 1e-3
# Fewer weights than coefficients and so many more tell nothing.
_SPARE = 5
# The variance c, and logarithms, stay in these ranges.
_LEAST_SPREAD, _LARGEST_SPREAD = 1e-3, 10.0
_BELOW_NOISE, _LARGEST_LOG = 8.0, 40.0
# No step moves a logarithm further than by a weight that is this much of its prediction off.
_LEAST_RATIO, _LARGEST_RATIO = -1.0, 3.0


def shrunken(weights: Floats, variance: float, features: Floats) -> tuple[Floats, Floats]:
    """Return estimates of the true weights, each between its noisy weight and its prediction, and
    what is left open.

    weights: (n,) with normal noise. variance: of that noise, > 0. features: (n, q) logarithms,
    public or noisy. Both are (n,): the estimates, and the standard deviation of each. Given its
    prediction, a weight has σ √(c p² / (σ² + c p²)). The prediction has an error of its own, by the
    curvature of what was fitted. With few weights, n < q + 6, they are returned as they are, with
    the σ of the noise.
    """
    n, q = features.shape
    noise = sqrt(variance)
    if n < q + 1 + _SPARE:
        return weights.copy(), np.full(n, noise)
    x = np.column_stack(
        [np.ones(n), (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-9)]
    )
    ridge = _RIDGE * np.eye(q + 1)
    coefficients = np.linalg.lstsq(x, np.log(np.maximum(weights, noise)), rcond=None)[0]
    spread = 0.3
    for _ in range(_STEPS):  # iterated weighted least squares, and moments for the spread
        logs = _logs(x, coefficients, noise)
        p = np.asarray(np.exp(logs), dtype=np.float64)
        precision = p * p / (variance + spread * p * p)
        aim = logs + np.clip((weights - p) / p, _LEAST_RATIO, _LARGEST_RATIO)
        coefficients = np.linalg.solve(
            x.T @ (x * precision[:, None]) + ridge, x.T @ (precision * aim)
        )
        p = np.exp(_logs(x, coefficients, noise))
        trust = (p / (variance + spread * p * p)) ** 2
        moment = float((trust * ((weights - p) ** 2 - variance)).sum() / (trust * p * p).sum())
        spread = min(max(moment, _LEAST_SPREAD), _LARGEST_SPREAD)
    drawn: Floats = variance / (variance + spread * p * p)
    precision = p * p / (variance + spread * p * p)
    covariance = np.linalg.inv(x.T @ (x * precision[:, None]) + ridge)
    of_prediction = drawn * p * np.sqrt(np.einsum("ij,jk,ik->i", x, covariance, x))
    return weights + drawn * (p - weights), np.hypot(noise * np.sqrt(1 - drawn), of_prediction)


def _logs(x: NDArray[Any], coefficients: NDArray[Any], noise: float) -> Floats:
    return np.asarray(np.clip(x @ coefficients, math.log(noise) - _BELOW_NOISE, _LARGEST_LOG))


# Of so many pairs at most, what their items predict of them helps to rank them; of more that takes
# too long.
_SHRUNKEN_CELLS = 50_000
# A pair whose weight, less so many σ, is above what its items predict is ranked by that.
_LIFTED = 1.5


@dataclass(frozen=True)
class WeightedItemsets:
    """Itemsets of one size that were found.

    sets: (n, size). weights: (n,) their noisy weights, or estimates of these, in units. deviation:
    σ of the noise.
    scores: (n,) what they are ranked by; their weights unless given. weighed: the sum of all noisy
    weights of that size, also of those lost; 0 where it is not asked for. lost: the rank up to
    which others did not go on, or -inf.
    """

    sets: Itemsets
    weights: Floats
    deviation: float
    weighed: float = 0.0
    lost: float = -inf
    scores: Floats | None = None

    @property
    def ranked(self) -> Floats:
        """The scores, or else the weights: (n,)."""
        return self.weights if self.scores is None else self.scores

    @cached_property
    def logs(self) -> Mapping[tuple[int, ...], float]:
        """The logarithm of each one's weight, at least that of the noise's σ."""
        logs = np.log(np.maximum(self.weights, self.deviation))
        return dict(zip(map(tuple, self.sets.tolist()), logs.tolist(), strict=True))

    def first(self, count: int) -> WeightedItemsets:
        """Return the first `count`."""
        return self._at(np.arange(len(self.sets))[:count])

    def best(self, count: int) -> WeightedItemsets:
        """Return the `count` of the highest ranks, descending."""
        return self._at(np.argsort(-self.ranked, kind="stable")[:count])

    def _at(self, places: NDArray[np.intp]) -> WeightedItemsets:
        ranked = self.ranked[places]
        lost = (
            max(self.lost, float(ranked.min(initial=inf)))
            if len(places) < len(self.sets)
            else self.lost
        )
        scores = None if self.scores is None else ranked
        return replace(
            self, sets=self.sets[places], weights=self.weights[places], scores=scores, lost=lost
        )


WeightedBySize = Mapping[int, WeightedItemsets]


def found_items(
    items: ItemSource,
    budget: GaussianBudget,
    recipe: AnyRecipe,
    delta: Fraction | None,
    randomness: Randomness,
    *,
    listed: int = 0,
    known: Collection[int] = (),
) -> tuple[NDArray[np.int64], WeightedItemsets]:
    """Return the codes of the items found, (m,), and their level: known ones, then by descending
    noisy weight.

    delta: the probability with which an item may be named that one unit alone has; None where the
    items are public.
    listed: where some are, the codes below it. known: codes of public items that go on whatever
    they weigh.
    """
    variance = budget.variance(recipe.items, 1)
    sums = items.level_sums(GRID, recipe.own_items)
    codes = (
        np.arange(len(sums))
        if delta is None
        else np.flatnonzero((sums != 0) | (np.arange(len(sums)) < listed))
    )
    noisy, lost = noisy_sums(sums[codes], variance, randomness), -inf
    # whole numbers: of a float, one below the threshold might be rounded up to it
    if delta is not None:
        threshold = item_threshold(variance, delta, recipe.own_items)
        named = (noisy >= threshold).astype(np.bool_) | (codes < listed)
        codes, noisy, lost = codes[named], noisy[named], threshold / GRID
    weights = np.asarray(noisy / GRID, dtype=np.float64)
    scores = np.where(np.isin(codes, [*known]), inf, weights)
    order = np.lexsort((-weights, -scores))
    numbers = np.arange(len(order), dtype=np.int32)[:, None]
    found = WeightedItemsets(
        numbers, weights[order], sqrt(variance), lost=lost, scores=scores[order]
    )
    most = max(recipe.most_items, len(known))
    return codes[order[:most]], found.first(most)


def found_levels(
    counts: CandidateSource,
    items: WeightedItemsets,
    budget: GaussianBudget,
    recipe: AnyRecipe,
    randomness: Randomness,
    known: Mapping[int, Itemsets] | None = None,
) -> dict[int, WeightedItemsets]:
    """Return what was found of each size, from 1 on; nothing of a size whose subsets were not
    found.

    known: by size public itemsets, with all their subsets, that go on whatever they weigh.
    """
    levels = {1: items}
    for size in range(2, len(recipe.levels) + 2):
        own = (known or {}).get(size, nothing(size).sets)
        find = _pairs if size == 2 else _larger
        levels[size] = find(counts, levels, budget, recipe, randomness, own).best(
            recipe.survivors + len(own)
        )
    return levels


def _pairs(
    counts: CandidateSource,
    levels: WeightedBySize,
    budget: GaussianBudget,
    recipe: AnyRecipe,
    randomness: Randomness,
    known: Itemsets,
) -> WeightedItemsets:
    """Return all pairs of the items, those of weight 0 as well, by noisy weight."""
    items = len(levels[1].sets)
    cells = items * (items - 1) // 2
    if not cells:
        return nothing(2)
    variance = budget.variance(recipe.levels[0], 1, cells)
    weights = noisy_weights(counts.pair_level_sums(GRID), variance, randomness)
    scores = weights
    if cells <= _SHRUNKEN_CELLS:
        # What its items predict speaks for a pair; but where it weighs much more, it is bought
        # together for a reason.
        likely, _ = shrunken(
            weights, float(variance), parts_features(pairs_of(np.arange(cells)), levels)
        )
        scores = np.maximum(likely, weights - _LIFTED * sqrt(variance))
    if len(known):
        scores = scores.copy()
        scores[known[:, 1].astype(np.int64) * (known[:, 1] - 1) // 2 + known[:, 0]] = inf
    best, lost, most = np.arange(cells), -inf, recipe.survivors + len(known)
    if cells > most:  # only the best go on: it is quicker to name no others
        best = np.sort(np.argpartition(-scores, most)[:most])
        lost = float(scores[best].min())
    return WeightedItemsets(
        pairs_of(best), weights[best], sqrt(variance), float(weights.sum()), lost, scores[best]
    )


def _larger(
    counts: CandidateSource,
    levels: WeightedBySize,
    budget: GaussianBudget,
    recipe: AnyRecipe,
    randomness: Randomness,
    known: Itemsets,
) -> WeightedItemsets:
    """Return the itemsets of the next size all of whose subsets were found, by their estimates."""
    size = len(levels) + 1
    sets = closed_sets(levels[size - 1].sets)
    rows = {*map(tuple, known.tolist())}
    if left_behind := len(sets) > (most := recipe.most_closed + len(known)):
        likely = part_logs(sets, levels[size - 1]).mean(axis=1)
        likely[[tuple(row) in rows for row in sets.tolist()]] = inf
        sets = sets[np.sort(np.argsort(-likely, kind="stable")[:most])]
    if not len(sets):
        return nothing(size)
    variance = budget.variance(recipe.levels[size - 2], 1, len(sets))
    weights = noisy_weights(counts.level_sums(sets, GRID), variance, randomness)
    estimates, _ = shrunken(weights, float(variance), parts_features(sets, levels))
    # Those that were not weighed, as their subsets are rarer, would not have weighed more than the
    # least that was.
    lost = float(estimates.min()) if left_behind else -inf
    scores = (
        np.where([tuple(row) in rows for row in sets.tolist()], inf, estimates) if rows else None
    )
    return WeightedItemsets(sets, estimates, sqrt(variance), lost=lost, scores=scores)


def part_logs(sets: Itemsets, parts: WeightedItemsets) -> Floats:
    """Return the logarithm of the weight of each subset with one item less; all are there: (n,
    size).
    """
    logs = parts.logs
    columns = [
        [logs[tuple(row)] for row in np.delete(sets, i, axis=1).tolist()]
        for i in range(sets.shape[1])
    ]
    return np.array(columns, dtype=np.float64).reshape(sets.shape[1], -1).T


def parts_features(sets: Itemsets, levels: WeightedBySize) -> Floats:
    """Return the mean and least logarithm of the items' weights, (n, 2), and of three on their
    subsets': (n, 4).
    """
    size, items = sets.shape[1], levels[1]
    logs = [np.log(np.maximum(items.weights, items.deviation))[sets]]
    if size > 2:
        logs.append(part_logs(sets, levels[size - 1]))
    return np.column_stack([f(part, axis=1) for part in logs for f in (np.mean, np.min)])


def nothing(size: int) -> WeightedItemsets:
    """Return no itemsets of a size."""
    return WeightedItemsets(np.empty((0, size), dtype=np.int32), np.empty(0), 1.0)


@dataclass(frozen=True)
class CandidatePool:
    """Candidates of one or more sizes: K in all.

    sets: for each size (n, size), any number of them. estimates: (K,) of their supports, in units,
    in that order.
    """

    sets: tuple[Itemsets, ...]
    estimates: Floats

    @classmethod
    def of_levels(
        cls, levels: WeightedBySize, sizes: Sequence[int], most: Sequence[int]
    ) -> CandidatePool:
        """Return the most[i] candidates of the highest weights of each size."""
        best = [
            levels.get(size, nothing(size)).best(count)
            for size, count in zip(sizes, most, strict=True)
        ]
        return cls(
            tuple(level.sets for level in best), np.concatenate([level.weights for level in best])
        )

    @property
    def parts(self) -> Iterator[tuple[Itemsets, slice]]:
        """The candidates of each size, and where their estimates stand."""
        begin = 0
        for sets in self.sets:
            yield sets, slice(begin, begin + len(sets))
            begin += len(sets)

    def __len__(self) -> int:
        return len(self.estimates)

    def rivals(self, *, union: bool) -> list[slice]:
        """Return where those stand that are ranked together: all, or without union those of each
        size.
        """
        return [slice(0, len(self))] if union else [part for _, part in self.parts]

    def best(self, count: int, *, union: bool) -> NDArray[np.intp]:
        """Return the places of the `count` highest estimates, of all or without union of each size;
        ascending.
        """
        rivals = self.rivals(union=union)
        order = [
            np.argsort(-self.estimates[own], kind="stable")[:count] + own.start for own in rivals
        ]
        return np.sort(np.concatenate(order))

    def at(self, places: NDArray[np.intp]) -> CandidatePool:
        """Return the candidates at these places, ascending."""
        sets = tuple(
            own[places[(places >= part.start) & (places < part.stop)] - part.start]
            for own, part in self.parts
        )
        return CandidatePool(sets, self.estimates[places])

    def shrunken(
        self,
        weights: Floats,
        variance: float,
        levels: WeightedBySize,
        counted: Floats | None = None,
    ) -> tuple[CandidatePool, Floats]:
        """Return the pool with estimates from noisy weights, (K,), each size by itself, and the
        deviation of each.

        variance: of their noise. levels: what was found. counted: (K,) earlier estimates, positive,
        if there are any.
        """
        estimates, deviations = weights.copy(), np.full(len(weights), variance**0.5)
        for sets, part in self.parts:
            if len(sets):
                own = levels[sets.shape[1]].logs
                features = [np.array([own[tuple(row)] for row in sets.tolist()])]
                if sets.shape[1] > 1:
                    features.append(parts_features(sets, levels))
                if counted is not None:
                    features.append(np.log(counted[part]))
                estimates[part], left_open = shrunken(
                    weights[part], variance, np.column_stack(features)
                )
                # A prediction alone is no sign of an itemset: its own weight has to stand a little
                # out as well.
                deviations[part] = np.where(
                    weights[part] >= deviations[part], left_open, deviations[part]
                )
        return CandidatePool(self.sets, estimates), deviations
