"""Weighted sums on Spark, and which purchases count: each task has whole units, so what they add is added up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import Candidates
from fim_private.counting.source import LocalItems, counter_for
from fim_private.counting.work import Effort
from fim_private.reading.labels import Item, numbers
from fim_private.reading.transactions import Transactions, canonical_baskets
from fim_private.spark.purchases import grouped_pieces, joined
from fim_private.spark.retries import Cells, Checksum, summed
from fim_private.spark.tasks import Batches, run

# Makes purchases of purchases, and looks at one unit at a time.
Step = Callable[[Transactions], Transactions]
# Makes a vector of whole numbers of the purchases of some units.
Vector = Callable[[Transactions], NDArray[np.int64]]


@dataclass(frozen=True)
class View:
    """Purchases that Spark keeps, and what is made of them before they are counted: cut, capped or restricted.

    frame: pieces. count: codes are below it. steps: one after the other, on what one task has.
    stored: the check cells that the pieces had when Spark was asked to keep them, by this checksum.
    coded_below: codes of the pieces are below it, where a step gives others; None for count.
    """

    frame: Any
    count: int
    by_user: bool
    checksum: Checksum
    stored: Cells
    steps: tuple[Step, ...] = ()
    coded_below: int | None = None

    def then(self, step: Step, count: int | None = None) -> View:
        """Return these with one more step. count: codes are below it from then on; as before unless given."""
        below = self.count if self.coded_below is None else self.coded_below
        return replace(self, steps=(*self.steps, step), count=self.count if count is None else count, coded_below=below)

    @property
    def _opened(self) -> Callable[[Sequence[Any]], Transactions]:
        """A function that makes purchases of the pieces of a task."""
        return partial(_opened, self.count if self.coded_below is None else self.coded_below, self.by_user, self.steps)

    def run(self, task: Callable[[Transactions], Batches], mark: Callable[[Cells], Batches], schema: Any) -> Any:
        """Return a DataFrame of what a task makes of the purchases of some units at a time.

        mark: makes more rows, of their check cells. Whoever uses the others verifies that these add up to `stored`.
        """
        return run(self.frame, partial(_made, self._opened, task, self.checksum, mark), schema)

    def summed(self, vector: Vector, cells: int) -> NDArray[np.int64]:
        """Return the sum of what a function makes of the purchases of some units at a time, (cells,) int64.

        Raises DataError where they are not those that were stored.
        """
        return summed(self.frame, partial(_vector, self._opened, vector, self.checksum), cells, self.stored)

    @cached_property
    def supports(self) -> NDArray[np.int64]:
        """How many units have each item: (count,)."""
        return self.summed(_supports, self.count)


def _opened(stored: int, by_user: bool, steps: tuple[Step, ...], pieces: Sequence[Any]) -> Transactions:
    return reduce(lambda data, step: step(data), steps, joined(pieces, stored, by_user=by_user))


def _made(opened: Any, task: Any, checksum: Checksum, mark: Any, batches: Batches) -> Batches:
    for group in grouped_pieces(batches):
        yield from mark(checksum.of_pieces(group))
        yield from task(opened(group))


def _vector(opened: Any, vector: Vector, checksum: Checksum, batches: Batches) -> tuple[NDArray[np.int64], Cells]:
    made = [(vector(opened(group)), checksum.of_pieces(group)) for group in grouped_pieces(batches)]
    vectors, checks = zip(*made, strict=True)
    return reduce(np.add, vectors), reduce(np.add, checks)


def _supports(data: Transactions) -> NDArray[np.int64]:
    return counter_for(data, 1, 1, Effort(threads=1)).item_supports


def capped(most_items: int, most_baskets: int, digests: NDArray[np.uint8] | None, data: Transactions) -> Transactions:
    """Return each basket with its first most_items items, and at most most_baskets baskets of each unit.

    digests: of the text of each code's label, (codes, 16) uint8.
    """
    texts: Mapping[int, bytes] | None = None if digests is None else _TextDigests(digests)
    return data.capped(most_items, most_baskets, texts)


class _TextDigests(dict[int, bytes]):
    def __init__(self, rows: NDArray[np.uint8]) -> None:
        super().__init__()
        self._rows = rows

    def __missing__(self, row: int) -> bytes:
        self[row] = self._rows[row].tobytes()
        return self[row]


def restricted(codes: NDArray[np.int32], count: int, data: Transactions) -> Transactions:
    """Return each basket with only the items that a public list has, coded by it.

    codes: (codes,) int32, the new code of each, -1 for none. count: items of the list.
    """
    offsets, items = canonical_baskets(np.diff(data.offsets), codes[data.items])
    return replace(data, offsets=offsets, items=items, vocabulary=numbers(count))


@dataclass(frozen=True)
class SparkItems:
    """The items of purchases that Spark keeps; see `ItemSource`.

    labels: of some codes. max_work: steps that each task may take.
    """

    view: View
    labels: Callable[[Sequence[int]], dict[int, Item]]
    max_work: int

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weighted sum of each item; see `ItemSource.sums`."""
        return self.view.summed(partial(_counted, None, self.max_work, "sums", (weights,)), self.view.count)

    def level_sums(self, scale: int, most: int) -> NDArray[np.int64]:
        """Return the level sum of each item; see `ItemSource.level_sums`."""
        return self.view.summed(partial(_counted, None, self.max_work, "level_sums", (scale, most)), self.view.count)

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
    """Candidates among some items; see `CandidateSource`."""

    view: View
    codes: NDArray[np.integer]
    max_work: int

    def pair_level_sums(self, scale: int) -> NDArray[np.int64]:
        """Return the level sum of each pair; see `CandidateSource.pair_level_sums`."""
        return self._summed(len(self.codes) * (len(self.codes) - 1) // 2, "pair_level_sums", scale)

    def level_sums(self, sets: NDArray[np.int32], scale: int) -> NDArray[np.int64]:
        """Return the level sum of each candidate; see `CandidateSource.level_sums`."""
        return self._summed(len(sets), "level_sums", sets, scale)

    def sums(self, candidates: Candidates, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weighted sum of each candidate; see `CandidateSource.sums`."""
        return self._summed(len(weights) - 1, "sums", candidates, weights)

    def units_with(self, candidates: Candidates) -> NDArray[np.int64]:
        """Return how many units have so many candidates; see `CandidateSource.units_with`."""
        return self._summed(sum(map(len, candidates)) + 1, "units_with", candidates)

    def _summed(self, cells: int, method: str, *given: object) -> NDArray[np.int64]:
        return self.view.summed(partial(_counted, self.codes, self.max_work, method, given), cells)


def _counted(
    codes: NDArray[np.integer] | None, max_work: int, method: str, given: tuple[object, ...], data: Transactions
) -> NDArray[np.int64]:
    """Return what a method of a source of items has of one task's units; with codes, of candidates among these."""
    items = LocalItems(data, Effort(threads=1, max_work=max_work))
    found: NDArray[np.int64] = getattr(items if codes is None else items.among(codes), method)(*given)
    return found
