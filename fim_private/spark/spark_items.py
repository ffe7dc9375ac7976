"""Weighted sums of items, pairs and candidates: each task has whole units, so what they add is added up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.candidate_counts import Candidates
from fim_private.counting.counter_registry import candidates_among, item_level_sums, item_sums
from fim_private.counting.work_limit import Effort
from fim_private.reading.transactions import Transactions
from fim_private.reading.vocabulary import Item
from fim_private.spark.views import View

# The labels of codes.
LabelsOf = Callable[[Sequence[int]], dict[int, Item]]


@dataclass(frozen=True)
class SparkItems:
    """The items of purchases that Spark keeps; see `counting.weighted_items.ItemSource`.

    labels: of some codes. max_work: steps that each task may take.
    """

    view: View
    labels: LabelsOf
    max_work: int

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weighted sum of each item; see `ItemSource.sums`."""
        return self.view.summed(_ItemSums(weights, self.max_work), self.view.count)

    def level_sums(self, scale: int, most: int) -> NDArray[np.int64]:
        """Return the level sum of each item; see `ItemSource.level_sums`."""
        return self.view.summed(_ItemLevelSums(scale, most, self.max_work), self.view.count)

    def label(self, code: int) -> Item:
        """Return the label of an item."""
        return self.labels([code])[code]

    def named(self, itemsets: Sequence[Sequence[int]]) -> list[tuple[Item, ...]]:
        """Return the labels of itemsets, all by one question; see `ItemSource.named`."""
        labels = self.labels(sorted({code for codes in itemsets for code in codes}))
        return [tuple(labels[code] for code in sorted(codes)) for codes in itemsets]

    def among(self, codes: NDArray[np.integer]) -> SparkCandidates:
        """Return the same purchases restricted to these items; see `ItemSource.among`."""
        return SparkCandidates(self.view, np.asarray(codes), self.max_work)


@dataclass(frozen=True)
class SparkCandidates:
    """Candidates among some items; see `counting.candidate_counts.CandidateSource`."""

    view: View
    codes: NDArray[np.integer]
    max_work: int

    def pair_level_sums(self, scale: int) -> NDArray[np.int64]:
        """Return the level sum of each pair; see `CandidateSource.pair_level_sums`."""
        cells = len(self.codes) * (len(self.codes) - 1) // 2
        return self.view.summed(_Counted(self.codes, self.max_work, "pair_level_sums", (scale,)), cells)

    def level_sums(self, sets: NDArray[np.int32], scale: int) -> NDArray[np.int64]:
        """Return the level sum of each candidate; see `CandidateSource.level_sums`."""
        return self.view.summed(_Counted(self.codes, self.max_work, "level_sums", (sets, scale)), len(sets))

    def sums(self, candidates: Candidates, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weighted sum of each candidate; see `CandidateSource.sums`."""
        return self.view.summed(_Counted(self.codes, self.max_work, "sums", (candidates, weights)), len(weights) - 1)

    def held(self, candidates: Candidates) -> NDArray[np.int64]:
        """Return how many units hold so many candidates; see `CandidateSource.held`."""
        cells = sum(map(len, candidates)) + 1
        return self.view.summed(_Counted(self.codes, self.max_work, "held", (candidates,)), cells)


@dataclass(frozen=True)
class _ItemSums:
    weights: NDArray[np.int64]
    max_work: int

    def __call__(self, data: Transactions) -> NDArray[np.int64]:
        effort = Effort(threads=1, max_work=self.max_work)
        return item_sums(data.cut_to(len(self.weights) - 1), self.weights, effort)


@dataclass(frozen=True)
class _ItemLevelSums:
    scale: int
    most: int
    max_work: int

    def __call__(self, data: Transactions) -> NDArray[np.int64]:
        return item_level_sums(data, self.scale, self.most, Effort(threads=1, max_work=self.max_work))


@dataclass(frozen=True)
class _Counted:
    """One of the methods of a source of candidates, on what one task has."""

    codes: NDArray[np.integer]
    max_work: int
    method: str
    given: tuple[object, ...]

    def __call__(self, data: Transactions) -> NDArray[np.int64]:
        counts = candidates_among(data, self.codes, Effort(threads=1, max_work=self.max_work))
        found: NDArray[np.int64] = getattr(counts, self.method)(*self.given)
        return found
