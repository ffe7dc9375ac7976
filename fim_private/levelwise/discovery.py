"""The items, and the candidates of each size: found under noise, so public from here on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.candidate_counts import CandidateSource
from fim_private.counting.weighted_items import ItemSource
from fim_private.dp.randomness import Randomness
from fim_private.levelwise.closed_sets import Itemsets, closed_sets, pairs_of
from fim_private.levelwise.gaussian_budget import GRID, GaussianBudget, noisy_sums, noisy_weights
from fim_private.levelwise.item_threshold import item_threshold
from fim_private.levelwise.shrinkage import shrunken

# Of so many pairs at most, what their items predict of them helps to rank them; of more that takes too long.
_SHRUNKEN_CELLS = 50_000
# A pair whose weight, less so many σ, is above what its items predict is ranked by that.
_LIFTED = 1.5


class DiscoveryRecipe(Protocol):
    """What finding items and sets of them spends, and how many go on: see `recipe.Recipe`."""

    @property
    def items(self) -> Fraction:
        """The part of μ² that finds items."""

    @property
    def levels(self) -> tuple[Fraction, ...]:
        """The parts of the levels of 2, 3, … items."""

    @property
    def own_items(self) -> int:
        """How many items of a unit count where items are found: those that it has in most baskets."""

    @property
    def most_items(self) -> int:
        """How many items go on."""

    @property
    def most_closed(self) -> int:
        """How many candidates of a size are weighed."""

    @property
    def kept(self) -> int:
        """How many of them go on."""


@dataclass(frozen=True)
class Level:
    """Itemsets of one size that were found.

    sets: (n, size). weights: (n,) their noisy weights, or estimates of these, in units. deviation: σ of the noise.
    scores: (n,) what they are ranked by; their weights unless given.
    weighed: the sum of all noisy weights of that size, those that were not kept too; 0 where it is not asked for.
    lost: the rank up to which others were not kept, in units of weight; -inf where none was lost.
    """

    sets: Itemsets
    weights: NDArray[np.float64]
    deviation: float
    weighed: float = 0.0
    lost: float = -inf
    scores: NDArray[np.float64] | None = None

    @property
    def ranked(self) -> NDArray[np.float64]:
        """What they are ranked by: (n,)."""
        return self.weights if self.scores is None else self.scores

    @cached_property
    def logs(self) -> Mapping[tuple[int, ...], float]:
        """The logarithm of each one's weight, at least that of the noise's σ."""
        logs = np.log(np.maximum(self.weights, self.deviation))
        return dict(zip(map(tuple, self.sets.tolist()), logs.tolist(), strict=True))

    def first(self, count: int) -> Level:
        """Return the first `count`."""
        return self._kept(np.arange(len(self.sets))[:count])

    def best(self, count: int) -> Level:
        """Return the `count` of the highest ranks, descending."""
        return self._kept(np.argsort(-self.ranked, kind="stable")[:count])

    def _kept(self, places: NDArray[np.intp]) -> Level:
        """Return those at these places, which have the highest ranks of all."""
        ranked = self.ranked[places]
        lost = max(self.lost, float(ranked.min(initial=inf))) if len(places) < len(self.sets) else self.lost
        scores = None if self.scores is None else ranked
        return replace(self, sets=self.sets[places], weights=self.weights[places], scores=scores, lost=lost)


def found_items(
    items: ItemSource, budget: GaussianBudget, recipe: DiscoveryRecipe, delta: Fraction | None, randomness: Randomness
) -> tuple[NDArray[np.int64], Level]:
    """Return the codes of the items found, (m,), and their level, in descending order of noisy weight.

    delta: the probability with which an item may be named that one unit alone has; None where the items are public.
    """
    variance = budget.variance(recipe.items, 1)
    sums = items.level_sums(GRID, recipe.own_items)
    codes = np.arange(len(sums)) if delta is None else np.flatnonzero(sums)
    noisy = noisy_sums(sums[codes], variance, randomness)
    lost = -inf
    if delta is not None:  # whole numbers: of a float, one below the threshold might be rounded up to it
        threshold = item_threshold(variance, delta, recipe.own_items)
        named = (noisy >= threshold).astype(np.bool_)
        codes, noisy, lost = codes[named], noisy[named], threshold / GRID
    weights = np.asarray(noisy / GRID, dtype=np.float64)
    order = np.argsort(-weights, kind="stable")
    numbers = np.arange(len(order), dtype=np.int32)[:, None]
    found = Level(numbers, weights[order], sqrt(variance), lost=lost).first(recipe.most_items)
    return codes[order[: recipe.most_items]], found


def found_levels(
    counts: CandidateSource, items: Level, budget: GaussianBudget, recipe: DiscoveryRecipe, randomness: Randomness
) -> dict[int, Level]:
    """Return what was found of each size, from 1 on; nothing of a size whose parts were not found."""
    levels = {1: items}
    for size, share in enumerate(recipe.levels, start=2):
        make = _pairs if size == 2 else _larger
        levels[size] = make(counts, levels, size, budget, recipe, share, randomness).best(recipe.kept)
    return levels


def _pairs(
    counts: CandidateSource,
    levels: Mapping[int, Level],
    size: int,
    budget: GaussianBudget,
    recipe: DiscoveryRecipe,
    share: Fraction,
    randomness: Randomness,
) -> Level:
    """Return all pairs of the items, those of weight 0 as well, by noisy weight."""
    items = len(levels[1].sets)
    cells = items * (items - 1) // 2
    if not cells:
        return nothing(size)
    variance = budget.variance(share, 1, cells)
    weights = noisy_weights(counts.pair_level_sums(GRID), variance, randomness)
    scores = weights
    if cells <= _SHRUNKEN_CELLS:
        # What its items predict speaks for a pair; but where it weighs much more, it is bought together for a reason.
        likely, _ = shrunken(weights, float(variance), parts_features(pairs_of(np.arange(cells)), levels))
        scores = np.maximum(likely, weights - _LIFTED * sqrt(variance))
    # Only the best go on: it is quicker to name no others.
    best = np.argpartition(-scores, recipe.kept)[: recipe.kept] if cells > recipe.kept else np.arange(cells)
    best.sort()
    lost = float(scores[best].min()) if cells > len(best) else -inf
    return Level(pairs_of(best), weights[best], sqrt(variance), float(weights.sum()), lost, scores[best])


def _larger(
    counts: CandidateSource,
    levels: Mapping[int, Level],
    size: int,
    budget: GaussianBudget,
    recipe: DiscoveryRecipe,
    share: Fraction,
    randomness: Randomness,
) -> Level:
    """Return the itemsets all of whose parts were found, by their estimates."""
    sets = closed_sets(levels[size - 1].sets)
    if left_behind := len(sets) > recipe.most_closed:
        likely = part_logs(sets, levels[size - 1]).mean(axis=1)
        sets = sets[np.sort(np.argsort(-likely, kind="stable")[: recipe.most_closed])]
    if not len(sets):
        return nothing(size)
    variance = budget.variance(share, 1, len(sets))
    weights = noisy_weights(counts.level_sums(sets, GRID), variance, randomness)
    estimates, _ = shrunken(weights, float(variance), parts_features(sets, levels))
    # Those that were not weighed, as their parts are rarer, would not have weighed more than the least that was.
    return Level(sets, estimates, sqrt(variance), lost=float(estimates.min()) if left_behind else -inf)


def part_logs(sets: Itemsets, parts: Level) -> NDArray[np.float64]:
    """Return the logarithm of the weight of each part with one item less, all of which are there: (n, size)."""
    logs = parts.logs
    columns = [[logs[tuple(row)] for row in np.delete(sets, i, axis=1).tolist()] for i in range(sets.shape[1])]
    return np.array(columns, dtype=np.float64).reshape(sets.shape[1], -1).T


def parts_features(sets: Itemsets, levels: Mapping[int, Level]) -> NDArray[np.float64]:
    """Return what the parts say of itemsets of two items or more: (n, 2), of three or more (n, 4).

    The mean and the least logarithm of the items' weights, and of the largest parts'.
    """
    size = sets.shape[1]
    items = levels[1]
    logs = [np.log(np.maximum(items.weights, items.deviation))[sets]]
    if size > 2:
        logs.append(part_logs(sets, levels[size - 1]))
    return np.column_stack([f(part, axis=1) for part in logs for f in (np.mean, np.min)])


def nothing(size: int) -> Level:
    """Return no itemsets of a size."""
    return Level(np.empty((0, size), dtype=np.int32), np.empty(0), 1.0)
