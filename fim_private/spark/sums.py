"""Weighted sums on Spark, and which purchases count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.candidates import Candidates
from fim_private.counting.registry import candidates_among, counter_for, item_level_sums, item_sums
from fim_private.counting.work import Effort
from fim_private.reading.labels import Item, numbers
from fim_private.reading.transactions import Transactions, canonical_baskets
from fim_private.spark.purchases import grouped, joined, summed
from fim_private.spark.tasks import Batches, Cells, Checksum, run

# -------------------- views
# Which purchases a source counts: all that were kept, or these cut, capped or restricted, unit by unit.

# Makes purchases of purchases, and looks at one unit at a time.
Step = Callable[[Transactions], Transactions]
# Makes rows that carry check cells.
Mark = Callable[[Cells], Batches]


@dataclass(frozen=True)
class View:
    """Purchases that Spark keeps, and what is made of them before they are counted.

    frame: pieces. count: codes are below it. steps: one after the other, on what one task has.
    kept: the check cells that the pieces had when Spark was asked to keep them, by this checksum.
    """

    frame: Any
    count: int
    by_user: bool
    checksum: Checksum
    kept: Cells
    steps: tuple[Step, ...] = ()
    stored: int | None = None

    def then(self, step: Step, count: int | None = None) -> View:
        """Return these with one more step. count: codes are below it from then on; as before unless given."""
        stored = self.count if self.stored is None else self.stored
        return replace(self, steps=(*self.steps, step), count=self.count if count is None else count, stored=stored)

    @property
    def opened(self) -> Callable[[Batches], Transactions]:
        """A function that makes purchases of the pieces of a task."""
        return _Opened(self.count if self.stored is None else self.stored, self.by_user, self.steps)

    def run(self, task: Callable[[Transactions], Batches], mark: Mark, schema: Any) -> Any:
        """Return a DataFrame of what a task makes of the purchases of some units at a time.

        mark: makes more rows, of their check cells. Whoever uses the others has to verify that these add up to `kept`.
        """
        return run(self.frame, _OfPurchases(self.opened, task, self.checksum, mark), schema)

    def summed(self, vector: Callable[[Transactions], NDArray[np.int64]], cells: int) -> NDArray[np.int64]:
        """Return the sum of what a function makes of the purchases of some units at a time, (cells,) int64.

        Raises DataError where they are not those that were kept.
        """
        return summed(self.frame, _VectorOfPurchases(self.opened, vector, self.checksum), cells, self.kept)

    @cached_property
    def supports(self) -> NDArray[np.int64]:
        """How many units have each item: (count,)."""
        return self.summed(_supports, self.count)


@dataclass(frozen=True)
class _Opened:
    stored: int
    by_user: bool
    steps: tuple[Step, ...]

    def __call__(self, batches: Batches) -> Transactions:
        data = joined(batches, self.stored, by_user=self.by_user)
        for step in self.steps:
            data = step(data)
        return data


@dataclass(frozen=True)
class _OfPurchases:
    opened: Callable[[Batches], Transactions]
    task: Callable[[Transactions], Batches]
    checksum: Checksum
    mark: Mark

    def __call__(self, batches: Batches) -> Batches:
        for group in grouped(batches):
            yield from self.mark(self.checksum.of_pieces(group))
            yield from self.task(self.opened(iter(group)))


@dataclass(frozen=True)
class _VectorOfPurchases:
    opened: Callable[[Batches], Transactions]
    vector: Callable[[Transactions], NDArray[np.int64]]
    checksum: Checksum

    def __call__(self, batches: Batches) -> tuple[NDArray[np.int64], Cells]:
        made = [(self.vector(self.opened(iter(g))), self.checksum.of_pieces(g)) for g in grouped(batches)]
        vectors, checks = zip(*made, strict=True)
        return reduce(np.add, vectors), reduce(np.add, checks)


def _supports(data: Transactions) -> NDArray[np.int64]:
    return counter_for(data, 1, 1, Effort(threads=1)).item_supports


def counted_together(data: Transactions) -> Transactions:
    """Return purchases whose users' baskets count together."""
    return replace(data, together=True)


def united(data: Transactions) -> Transactions:
    """Return the purchases with users whose baskets count together as one basket each."""
    return data.united()


@dataclass(frozen=True)
class CutTo:
    """Each unit with its first count distinct items."""

    count: int

    def __call__(self, data: Transactions) -> Transactions:
        """Return what is left of the purchases."""
        return data.cut_to(self.count)


@dataclass(frozen=True)
class Capped:
    """Each basket with its first max_basket items, and at most max_baskets baskets of each unit.

    digests: of the text of each code's label, (codes, 16) uint8.
    """

    max_basket: int
    max_baskets: int
    digests: NDArray[np.uint8] | None

    def __call__(self, data: Transactions) -> Transactions:
        """Return what is left of the purchases."""
        digests: Mapping[int, bytes] | None = None if self.digests is None else _Rows(self.digests)
        return data.capped(self.max_basket, self.max_baskets, digests)


class _Rows(dict[int, bytes]):
    """The rows of an array, as bytes."""

    def __init__(self, rows: NDArray[np.uint8]) -> None:
        super().__init__()
        self._rows = rows

    def __missing__(self, row: int) -> bytes:
        self[row] = self._rows[row].tobytes()
        return self[row]


@dataclass(frozen=True)
class Restricted:
    """Each basket with only the items that a public list has, coded by it.

    codes: (codes,) int32, the new code of each, -1 for none. count: items of the list.
    """

    codes: NDArray[np.int32]
    count: int

    def __call__(self, data: Transactions) -> Transactions:
        """Return what is left of the purchases."""
        listed = np.arange(self.count, dtype=np.int32)
        offsets, items = canonical_baskets([(np.diff(data.offsets), self.codes[data.items])], listed)
        return replace(data, offsets=offsets, items=items, vocabulary=numbers(self.count))


# -------------------- spark items
# Weighted sums of items, pairs and candidates: each task has whole units, so what they add is added up.

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
