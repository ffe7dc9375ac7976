"""Discovery of items and of candidates of each size, under noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf, sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import CandidateSource, clipped_weights
from fim_private.counting.source import (
    ItemSource,
    KnownItemsets,
    SelectedItemset,
    SupportSource,
    Universe,
)
from fim_private.counting.work import Int64
from fim_private.dp.noise import Floats, Randomness
from fim_private.levelwise.recipe import (
    GRID,
    AnyRecipe,
    GaussianBudget,
    Itemsets,
    Marks,
    Places,
    Sought,
    closed_sets,
    item_threshold,
    naming_probability,
    noisy_sums,
    noisy_weights,
)

# Each noisy weight is drawn towards what other noisy weights predict of it: post-processing, by the
# model of Fay and Herriot ("Estimates of income for small places", 1979) with a logarithmic link.
# The true weight i is exp(b · x_i), its prediction, times a factor of its own of variance c. The
# noisy weight is that plus noise of a known variance.
_STEPS = 12
_RIDGE = 1e-3
# With fewer weights than coefficients plus this many, nothing is predicted.
_SPARE = 5
# The variance c, and logarithms, stay in these ranges.
_LEAST_SPREAD, _LARGEST_SPREAD = 1e-3, 10.0
_BELOW_NOISE, _LARGEST_LOG = 8.0, 40.0
# A step of the fit moves a logarithm no further than a weight that is off by this much of its
# prediction would.
_LEAST_RATIO, _LARGEST_RATIO = -1.0, 3.0


def shrunken(weights: Floats, variance: float, features: Floats) -> tuple[Floats, Floats]:
    """Return estimates of the true weights, and the standard deviation of each: (n,) both.

    Each estimate lies between the noisy weight and its prediction p. Given p, the deviation is
    σ √(c p² / (σ² + c p²)). To its square is added that of p itself, from the curvature of the fit.
    With few weights, n < q + 6, they are returned as they are, with the σ of the noise.

    Args:
        weights: (n,) with normal noise, in units.
        variance: σ² of that noise, > 0.
        features: (n, q) logarithms, public or noisy, from which the weights are predicted.
    """
    n, q = features.shape
    noise = sqrt(variance)
    if n < q + 1 + _SPARE:
        return weights.copy(), np.full(n, noise)
    standardised = (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-9)
    x = np.column_stack([np.ones(n), standardised])
    ridge = _RIDGE * np.eye(q + 1)

    def predictions(coefficients: NDArray[np.floating]) -> Floats:
        """Return the logarithms that coefficients predict."""
        return np.asarray(np.clip(x @ coefficients, math.log(noise) - _BELOW_NOISE, _LARGEST_LOG))

    def information(precision: Floats) -> Floats:
        """Return the information about the coefficients, given the precision of each logarithm."""
        return x.T @ (x * precision[:, None]) + ridge

    logs = predictions(np.linalg.lstsq(x, np.log(np.maximum(weights, noise)), rcond=None)[0])
    p, spread = np.exp(logs), 0.3
    for _ in range(_STEPS):  # iterated weighted least squares, and moments for the spread
        precision = p * p / (variance + spread * p * p)
        aim = logs + np.clip((weights - p) / p, _LEAST_RATIO, _LARGEST_RATIO)
        logs = predictions(np.linalg.solve(information(precision), x.T @ (precision * aim)))
        p = np.exp(logs)
        trust = (p / (variance + spread * p * p)) ** 2
        moment = float((trust * ((weights - p) ** 2 - variance)).sum() / (trust * p * p).sum())
        spread = min(max(moment, _LEAST_SPREAD), _LARGEST_SPREAD)
    total_variance = variance + spread * p * p
    pull = variance / total_variance
    covariance = np.linalg.inv(information(p * p / total_variance))
    prediction_error = pull * p * np.sqrt(np.einsum("ij,jk,ik->i", x, covariance, x))
    return weights + pull * (p - weights), np.hypot(noise * np.sqrt(1 - pull), prediction_error)


# For more pairs than this, their items' predictions, which help to rank them, take too long.
_SHRUNKEN_CELLS = 50_000
# A pair is ranked by its weight less this many σ where that exceeds what its items predict.
_LIFTED = 1.5


@dataclass(frozen=True)
class WeightedItemsets:
    """Itemsets of one size that were found.

    Attributes:
        sets: (n, size).
        weights: (n,) their noisy weights, or estimates of these, in units.
        deviation: σ of the noise in each weight.
        scores: (n,) what they are ranked by.
        cutoff: The score up to which itemsets of the size were dropped; -inf if none was.
        total_weight: The sum of all noisy weights of the size, also of itemsets that were dropped;
            0 where nobody asks for it.
    """

    sets: Itemsets
    weights: Floats
    deviation: float
    scores: Floats
    cutoff: float = -inf
    total_weight: float = 0.0

    @classmethod
    def of_items(
        cls, weights: Floats, deviation: float, scores: Floats, cutoff: float = -inf
    ) -> Self:
        """Return items by themselves, which are numbered in their order."""
        numbers = np.arange(len(weights), dtype=np.int32)[:, None]
        return cls(numbers, weights, deviation, scores, cutoff)

    @property
    def logs(self) -> Floats:
        """The logarithms of the weights: (n,). A weight below the σ of its noise counts as that."""
        return np.asarray(np.log(np.maximum(self.weights, self.deviation)))

    @cached_property
    def _places(self) -> dict[tuple[int, ...], int]:
        return {tuple(row): place for place, row in enumerate(self.sets.tolist())}

    def logs_of(self, sets: Itemsets) -> Floats:
        """Return the logarithms of the weights of itemsets of this level: (n,)."""
        return self.logs[[self._places[tuple(row)] for row in sets.tolist()]]

    def best(self, count: int) -> WeightedItemsets:
        """Return the `count` itemsets of the highest scores, descending."""
        losses = -self.scores
        places = np.arange(len(losses))
        if count < len(losses):  # the others need no order
            places = np.flatnonzero(losses <= np.partition(losses, count)[count])
        return self.at(places[np.argsort(losses[places], kind="stable")[:count]])

    def at(self, places: Places) -> WeightedItemsets:
        """Return the itemsets at these places. Those that are left out were dropped."""
        scores = self.scores[places]
        cutoff = self.cutoff
        if len(places) < len(self.sets):
            cutoff = max(cutoff, float(scores.min(initial=inf)))
        return replace(
            self, sets=self.sets[places], weights=self.weights[places], scores=scores, cutoff=cutoff
        )


WeightedBySize = Mapping[int, WeightedItemsets]


def empty_level(size: int) -> WeightedItemsets:
    """Return a level without itemsets."""
    return WeightedItemsets(np.empty((0, size), dtype=np.int32), np.empty(0), 1.0, np.empty(0))


def _are_among(sets: Itemsets, known: Itemsets) -> Marks:
    """Return for each of the itemsets whether it is known: (n,)."""
    known_rows = {*map(tuple, known.tolist())}
    return np.array([tuple(row) in known_rows for row in sets.tolist()], dtype=np.bool_)


def subset_logs(sets: Itemsets, subsets: WeightedItemsets) -> Floats:
    """Return the logarithms of the weights of all subsets with one item less: (n, size)."""
    columns = [subsets.logs_of(np.delete(sets, i, axis=1)) for i in range(sets.shape[1])]
    return np.array(columns).T


def subset_features(sets: Itemsets, levels: WeightedBySize) -> Floats:
    """Return the mean and the least logarithm of the weights of each itemset's items: (n, 2).

    From three items on those of its subsets with one item less are added: (n, 4).
    """
    size = sets.shape[1]
    logs = [levels[1].logs[sets]]
    if size > 2:
        logs.append(subset_logs(sets, levels[size - 1]))
    return np.column_stack([f(subset, axis=1) for subset in logs for f in (np.mean, np.min)])


@dataclass(frozen=True)
class CandidatePool:
    """K candidates of one or more sizes.

    Attributes:
        sets: For each size (n, size), any number of them.
        estimates: (K,) of their supports, in units, in that order.
        union: Whether all sizes are ranked together, not each by itself.
    """

    sets: tuple[Itemsets, ...]
    estimates: Floats
    union: bool = True

    @classmethod
    def of_levels(
        cls, levels: WeightedBySize, most: Mapping[int, int], *, union: bool
    ) -> CandidatePool:
        """Return the candidates of the highest scores, most[size] of each size."""
        best = [levels[size].best(count) for size, count in most.items()]
        estimates = np.concatenate([level.weights for level in best])
        return cls(tuple(level.sets for level in best), estimates, union)

    @property
    def by_size(self) -> Iterator[tuple[Itemsets, slice]]:
        """The candidates of each size, with the places of their estimates."""
        begin = 0
        for sets in self.sets:
            yield sets, slice(begin, begin + len(sets))
            begin += len(sets)

    def __len__(self) -> int:
        return len(self.estimates)

    @property
    def rivals(self) -> list[slice]:
        """The places of all that are ranked together: all, or without union each size."""
        if self.union:
            return [slice(0, len(self))]
        return [places for _, places in self.by_size]

    def best(self, count: int) -> Places:
        """Return the places of the `count` best of each group of rivals, ascending."""
        best = [
            np.argsort(-self.estimates[rivals], kind="stable")[:count] + rivals.start
            for rivals in self.rivals
        ]
        return np.sort(np.concatenate(best))

    def at(self, places: Places) -> CandidatePool:
        """Return the candidates at these places, ascending."""
        chosen = np.zeros(len(self), dtype=np.bool_)
        chosen[places] = True
        sets = tuple(of_size[chosen[their_places]] for of_size, their_places in self.by_size)
        return replace(self, sets=sets, estimates=self.estimates[places])

    def shrunken(
        self,
        weights: Floats,
        variance: float,
        levels: WeightedBySize,
        earlier: Floats | None = None,
    ) -> tuple[CandidatePool, Floats]:
        """Return the pool with new estimates, (K,), and the deviation of each, (K,).

        Args:
            weights: (K,) the noisy weights from which each size is estimated by itself.
            variance: σ² of their noise.
            levels: The levels that were found.
            earlier: (K,) positive estimates of an earlier count, if there was one.
        """
        estimates, deviations = weights.copy(), np.full(len(weights), variance**0.5)
        for sets, places in self.by_size:
            if not len(sets):
                continue
            features = [levels[sets.shape[1]].logs_of(sets)]
            if sets.shape[1] > 1:
                features.append(subset_features(sets, levels))
            if earlier is not None:
                features.append(np.log(earlier[places]))
            estimates[places], new_deviations = shrunken(
                weights[places], variance, np.column_stack(features)
            )
            # A prediction alone is no sign of an itemset: its own weight has to stand a little
            # out as well.
            stands_out = weights[places] >= deviations[places]
            deviations[places] = np.where(stands_out, new_deviations, deviations[places])
        return replace(self, estimates=estimates), deviations


# Squared norms that a count chooses from.
BOUNDS = (2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1_200, 2_000)
# Each bin of the histogram is this much wider than the one before, and a bin below this many σ of
# its noise is taken for empty.
_BIN_GROWTH, EMPTY = 1.15, 2.0
# The error that scaling causes is about this much of the weight that the least itemset sought loses
# by it: the part that differs from one itemset to another.
_UNEVEN = 0.8


@dataclass(frozen=True)
class UnitHistogram:
    """About how many units have how many candidates.

    Attributes:
        candidates: (bins,) the middle of each bin.
        units: (bins,) noisy, >= 0.
        deviation: σ of the noise in each number of units.
    """

    candidates: Floats
    units: Floats
    deviation: float

    @property
    def least_supports(self) -> float:
        """What the supports of all candidates add up to at least, given the noise; may be < 0."""
        in_use = self.candidates[self.units > 0]
        lost = EMPTY * self.deviation * float(np.linalg.norm(in_use))
        return float((self.units * self.candidates).sum()) - lost

    def remaining_weight(self, bound: int) -> float:
        """Return the share of all weight, above 0, that remains if units are scaled to a norm.

        bound: their squared norm.
        """
        weights = self.units * self.candidates
        total = float(weights.sum())
        if total <= 0:
            return 1.0
        scaled = weights * np.minimum(1, np.sqrt(bound / self.candidates))
        return float(scaled.sum()) / total


def bins(candidates: int) -> tuple[Int64, Floats]:
    """Return the least number of candidates in each bin of a histogram, and the middle: (bins,)."""
    edges, edge = [1], 2
    while edge <= candidates:
        edges.append(edge)
        edge = max(edge + 1, int(edge * _BIN_GROWTH))
    first = np.array(edges)
    last = np.append(first[1:] - 1, candidates)
    return first, (first + last) / 2


@dataclass(frozen=True)
class NoisyCounts:
    """Candidates among some items, of which a run sees nothing but sums with noise.

    Attributes:
        items: All items.
        codes: (m,) those of these items, by descending noisy weight.
        level: The level of these items, which are numbered in their order.
        budget: The budget of the run.
        randomness: The source of the noise.
        required: The codes of the items that every candidate has besides those of these items by
            which it is known here.
    """

    items: ItemSource
    codes: Int64
    level: WeightedItemsets
    budget: GaussianBudget
    randomness: Randomness
    required: tuple[int, ...] = ()

    @cached_property
    def counts(self) -> CandidateSource:
        """The purchases of these items, and then those that are required."""
        return self.items.among(np.append(self.codes, self.required).astype(np.int64))

    def first(self, count: int) -> NoisyCounts:
        """Return the candidates among the first `count` of these items."""
        if count >= len(self.codes):
            return self
        return replace(self, codes=self.codes[:count], level=self.level.at(np.arange(count)))

    def beside(self, required: tuple[int, ...], questions: int) -> NoisyCounts:
        """Return the candidates among these items without those that all are required to have.

        Args:
            required: The codes of those that are required.
            questions: How many questions share the budget of what follows, each with an equal part.
        """
        places, level = np.flatnonzero(np.isin(self.codes, required, invert=True)), self.level
        return replace(
            self,
            codes=self.codes[places],
            level=WeightedItemsets.of_items(
                level.weights[places], level.deviation, level.scores[places], level.cutoff
            ),
            budget=replace(self.budget, part=self.budget.part / questions),
            required=required,
        )

    def _whole(self, sets: Itemsets) -> Itemsets:
        """Return itemsets of one size with the items that are required: (n, size + required)."""
        end = len(self.codes) + len(self.required)
        required = np.arange(len(self.codes), end, dtype=np.int32)
        return np.column_stack([sets, np.tile(required, (len(sets), 1))])

    def _sums(self, pool: CandidatePool, weights: Int64) -> Int64:
        """Return for each candidate the sum of weights[candidates of the unit]: (K,)."""
        return self.counts.sums([*map(self._whole, pool.sets)], weights)

    def named(
        self, pool: CandidatePool, doubts: Sequence[bool | None], leads: Sequence[bool]
    ) -> list[SelectedItemset]:
        """Return candidates with their true supports, the highest estimates first.

        doubts, leads: (K,) `doubtful` and `leads` of each.
        """
        supports = self._sums(pool, np.append(0, np.ones(len(pool), dtype=np.int64))).tolist()
        codes = [[*self.codes[row].tolist(), *self.required] for sets in pool.sets for row in sets]
        names = self.items.named(codes)
        estimates = pool.estimates.tolist()
        order = np.argsort(-pool.estimates, kind="stable").tolist()
        rows = [*zip(names, supports, doubts, estimates, leads, strict=True)]
        return [SelectedItemset(*rows[place]) for place in order]

    def _noisy(
        self, sums: Int64, share: Fraction, bound: int, candidates: int | None
    ) -> tuple[Floats, float]:
        """Return sums with noise, in units, and its variance; see `GaussianBudget.variance`."""
        variance = self.budget.variance(share, bound, candidates)
        return noisy_weights(sums, variance, self.randomness), float(variance)

    def levels(
        self, recipe: AnyRecipe, known: Mapping[int, Itemsets]
    ) -> dict[int, WeightedItemsets]:
        """Return the level of each size from 1 on.

        A level is empty if no itemset has all subsets found.

        known: By size, public itemsets that go on whatever they weigh, and all of their subsets.
        """
        levels = {1: self.level}
        for size, share in enumerate(recipe.levels, start=2):
            known_sets = known.get(size, empty_level(size).sets)
            if size == 2 and not self.required:
                level = self._pairs(levels, share, known_sets)
            else:
                level = self._larger(levels, share, known_sets, recipe.most_closed)
            levels[size] = level.best(recipe.survivors + len(known_sets))
        return levels

    def _pairs(self, levels: WeightedBySize, share: Fraction, known: Itemsets) -> WeightedItemsets:
        """Return all pairs of items, those of weight 0 included."""
        items = len(levels[1].sets)
        cells = items * (items - 1) // 2
        if not cells:
            return empty_level(2)
        weights, variance = self._noisy(self.counts.pair_level_sums(GRID), share, 1, cells)
        larger, smaller = np.tril_indices(items, -1)
        sets, scores = np.column_stack([smaller, larger]).astype(np.int32), weights.copy()
        if cells <= _SHRUNKEN_CELLS:
            # What its items predict speaks for a pair; but where it weighs much more, it is bought
            # together for a reason.
            estimates, _ = shrunken(weights, variance, subset_features(sets, levels))
            scores = np.maximum(estimates, weights - _LIFTED * sqrt(variance))
        low, high = known[:, 0], known[:, 1].astype(np.int64)
        scores[high * (high - 1) // 2 + low] = inf
        total_weight = float(weights.sum())
        return WeightedItemsets(sets, weights, sqrt(variance), scores, total_weight=total_weight)

    def _larger(
        self, levels: WeightedBySize, share: Fraction, known: Itemsets, most_closed: int
    ) -> WeightedItemsets:
        """Return the itemsets of the next size all of whose subsets were found."""
        size = len(levels) + 1
        sets = closed_sets(levels[size - 1].sets)
        most = most_closed + len(known)
        is_cut = len(sets) > most
        if is_cut:
            likely = subset_logs(sets, levels[size - 1]).mean(axis=1)
            likely[_are_among(sets, known)] = inf
            sets = sets[np.sort(np.argsort(-likely, kind="stable")[:most])]
        if not len(sets):
            return empty_level(size)
        sums = self.counts.level_sums(self._whole(sets), GRID)
        weights, variance = self._noisy(sums, share, 1, len(sets))
        estimates, _ = shrunken(weights, variance, subset_features(sets, levels))
        # The itemsets that were cut have rarer subsets: they would not have weighed more than the
        # least that got a weight.
        cutoff = float(estimates.min()) if is_cut else -inf
        scores = np.where(_are_among(sets, known), inf, estimates)
        return WeightedItemsets(sets, estimates, sqrt(variance), scores, cutoff)

    def weights(self, pool: CandidatePool, share: Fraction, bound: int) -> tuple[Floats, float]:
        """Return the noisy weight of each candidate, (K,), in units, and the variance of the noise.

        bound: the squared norm to which the weights of a unit are scaled.
        """
        candidates = len(pool)
        sums = self._sums(pool, clipped_weights(bound, candidates, GRID))
        return self._noisy(sums, share, bound, candidates)

    def histogram(self, pool: CandidatePool, share: Fraction) -> UnitHistogram:
        """Return how many candidates units have, with noise, in public bins of growing width."""
        first, middles = bins(len(pool))
        sets = [*map(self._whole, pool.sets)]
        units = np.add.reduceat(self.counts.units_with(sets)[1:], first - 1)
        noisy, variance = self._noisy(units * GRID, share, 1, None)  # a unit is in one bin
        noisy[noisy < EMPTY * sqrt(variance)] = 0
        return UnitHistogram(middles, noisy, sqrt(variance))

    def weights_by_histogram(
        self, pool: CandidatePool, histogram_share: Fraction, share: Fraction, least: float
    ) -> tuple[Floats, float, float]:
        """Return noisy weights, (K,), the variance of the noise, and how much weight remains.

        The norm is that with the least error from noise and from scaling together.

        Args:
            pool: The candidates.
            histogram_share: The share of the histogram of how many of them units have.
            share: The share of the count.
            least: The support of the least itemset that is sought, in units, >= 0.
        """
        histogram = self.histogram(pool, histogram_share)
        bound = self.best_bound(histogram, len(pool), share, least)
        weights, variance = self.weights(pool, share, bound)
        return weights, variance, histogram.remaining_weight(bound)

    def best_bound(
        self, histogram: UnitHistogram, candidates: int, share: Fraction, least: float
    ) -> int:
        """Return the norm with the least error from noise and from scaling together.

        Args:
            histogram: How many candidates units have.
            candidates: How many candidates there are.
            share: The share of the count.
            least: The support of the least itemset that is sought, in units, >= 0.
        """

        def error(bound: int) -> float:
            remaining = histogram.remaining_weight(bound)
            noise = float(self.budget.variance(share, bound, candidates)) / remaining**2
            return noise + (_UNEVEN * (1 - remaining) * least) ** 2

        return min((min(bound, candidates) for bound in BOUNDS), key=error)


@dataclass(frozen=True)
class ItemSearch:
    """What a run does first: it finds items (docs/privacy.md, Theorem 13).

    Attributes:
        sought: The itemsets that are sought.
        budget: The budget of the release, and the share of it that the run spends.
        items_delta: The δ for naming items that only one unit has. None stands for a public list
            of all items.
        recipe: The shares of its steps, and the numbers of candidates.
    """

    sought: Sought
    budget: GaussianBudget
    items_delta: Fraction | None
    recipe: AnyRecipe

    def names_delta(self, units: int) -> Fraction:
        """Return the δ for naming items that only one person has, who is so many units, >= 1."""
        delta = self.items_delta
        if delta is None:
            return Fraction(0)
        if units == 1:
            return delta
        variance = self.budget.variance(self.recipe.items, 1)
        return naming_probability(variance, self._threshold(delta), self.recipe.own_items, units)

    def _threshold(self, delta: Fraction) -> int:
        """Return the noisy weight from which on an item is named. delta: `items_delta`."""
        variance = self.budget.variance(self.recipe.items, 1)
        return item_threshold(variance, delta, self.recipe.own_items)

    def found_items(
        self, source: SupportSource, universe: Universe, randomness: Randomness
    ) -> NoisyCounts:
        """Return the m items found, by descending noisy weight.

        The items of known itemsets come first, and go on whatever they weigh.

        Args:
            source: The purchases.
            universe: A catalogue where the items are public, otherwise unknown.
            randomness: The source of the noise.
        """
        recipe, known, delta = self.recipe, self.sought.known, self.items_delta
        # If only some items are public, the codes below `listed` are theirs.
        listed = 0 if delta is None else len(known.items)
        public: Universe | KnownItemsets = known if listed else universe
        items = source.items(public)
        variance = self.budget.variance(recipe.items, 1)
        sums = items.level_sums(GRID, recipe.own_items)
        codes, cutoff = np.arange(len(sums)), -inf
        if delta is not None:
            codes = codes[(sums != 0) | (codes < listed)]
        noisy = noisy_sums(sums[codes], variance, randomness)
        if delta is not None:
            # Whole numbers are compared: a float below the threshold might be rounded up to it.
            threshold = self._threshold(delta)
            named = (noisy >= threshold).astype(np.bool_) | (codes < listed)
            codes, noisy, cutoff = codes[named], noisy[named], threshold / GRID
        weights = np.asarray(noisy / GRID, dtype=np.float64)
        known_codes = {code for itemset in known.itemsets for code in itemset}
        scores = np.where(np.isin(codes, [*known_codes]), inf, weights)
        order = np.lexsort((-weights, -scores))
        level = WeightedItemsets.of_items(weights[order], sqrt(variance), scores[order], cutoff)
        found = NoisyCounts(items, codes[order], level, self.budget, randomness)
        return found.first(max(recipe.most_items, len(known_codes)))
