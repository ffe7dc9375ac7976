"""The counter of itemsets on Spark: shards by rank, each counted by the kernel of one machine, and added up.

The top comes first among the most frequent items alone. The support that the wanted-th itemset has there is a floor for
all, so that a second round needs only the items that have as much: two rounds, or some more, of small data.
"""

from __future__ import annotations

import json
import math
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.counting.counter import Top
from fim_private.counting.item_ranks import at_least, rank_order
from fim_private.counting.itemset_spectra import Places, lowest_listed
from fim_private.counting.shards import Shard
from fim_private.counting.work_limit import Effort
from fim_private.reading.transactions import Transactions
from fim_private.spark.check_cells import CHECK, Cells, changed, total, verify
from fim_private.spark.projection import SCHEMA, SHARD, Projection
from fim_private.spark.purchases import tasks_for
from fim_private.spark.shard_tasks import (
    COUNTS,
    DONE,
    FOUND,
    TOPS,
    Descent,
    LevelCounts,
    Listed,
    Located,
    OnShards,
    ShardOf,
)
from fim_private.spark.tasks import Batches, collected, rows_of, run, spark_call
from fim_private.spark.views import View
from fim_private.spectrum import SupportSpectrum

# The first round is among at least so many of the most frequent items, of so many times as many itemsets as are wanted.
_FIRST_ITEMS, _FIRST_ITEMSETS = 64, 4
_MORE_ITEMS = 4
_LENGTHS = pa.schema([("length", pa.int64()), ("baskets", pa.int64()), (CHECK, pa.binary())])


class SparkCounter:
    """Counts itemsets of one size, >= 2, in purchases that Spark keeps; see `counting.counter.Counter`.

    max_work: steps that each task may take, and all together.
    """

    def __init__(self, view: View, size: int, effort: Effort) -> None:
        self._view = view
        self._size = size
        self._effort = effort

    @property
    def item_supports(self) -> NDArray[np.int64]:
        """How many units have each item: (codes,) int64."""
        return self._view.supports

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """The code of each rank."""
        return rank_order(self.item_supports, 1)

    @cached_property
    def _supports(self) -> NDArray[np.int64]:
        """The support of each rank, descending."""
        return self.item_supports[self._order]

    @cached_property
    def most_work(self) -> int:
        """How many steps a pass over all itemsets takes at most."""
        rows = collected(self._view.run(_lengths, _lengths_check, _LENGTHS)).to_pylist()
        verify(total(one[CHECK] for one in rows), self._view.kept)
        return sum(one["baskets"] * math.comb(one["length"], self._size) for one in rows)

    def top(self, ceiling: int | None, wanted: int | None) -> Top:
        """Count itemsets of support below ceiling (None: all), from the top down to the wanted-th (None: all).

        Raises WorkLimitError where that takes more steps than allowed.
        """
        ranks = len(self._supports)
        if ceiling is None:
            # No itemset has more support than its least frequent item.
            ceiling = int(self._supports[self._size - 1]) + 1 if ranks >= self._size else 1
        if ceiling <= 1:
            return Top([], 1)
        if wanted is None:
            self._effort.refuse_infeasible(self._size, self.most_work)
            return self._round(ranks, ceiling, 1, None)
        high = min(ranks, self._first_items(wanted))
        floor, work = 1, 0
        while True:
            top = self._round(high, ceiling, floor, wanted)
            work += top.work
            if work > self._effort.max_work:
                raise self._effort.over_limit(self._size)
            # Where there were enough, the last of them is a floor for all; where not, more items are looked at.
            least = _support_of(top, wanted)
            needed = at_least(least or top.floor, self._supports)
            if needed <= high:
                return Top([level for level in top.levels if level[0] >= (least or 1)], least or top.floor, work)
            floor = least or 1
            high = needed if least else min(needed, _MORE_ITEMS * high)

    def locate(self, support: int, index: int) -> list[int]:
        """Return the codes of the index-th itemset of that support in scan order; see `Counter.locate`."""
        return self._found([(support, [index])], None)[0][0]

    def located(self, places: Sequence[Places], spectrum: SupportSpectrum) -> list[list[list[int]]]:
        """Return the codes of the itemsets at some places of levels; see `itemset_spectra.Locate`."""
        return self._found(places, lowest_listed(places, spectrum))

    def itemsets(self, lowest: int, highest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the itemsets of supports lowest..highest: (m, size) codes in scan order, and (m,) supports."""
        high = at_least(lowest, self._supports)
        if high < self._size:
            return np.empty((0, self._size), dtype=np.int64), np.empty(0, dtype=np.int64)
        with self._shards(high) as (frame, shard_of):
            task = Listed(self._size, lowest, highest, self._effort.max_work)
            listed = self._on_shards(frame, shard_of, task, FOUND)
        rows = sorted(listed.to_pylist(), key=lambda one: int(one["index"]))
        ranks = np.array([one["ranks"] for one in rows], dtype=np.int64).reshape(-1, self._size)
        order = np.lexsort(ranks[:, ::-1].T) if len(ranks) else np.empty(0, dtype=np.int64)
        return self._order[ranks[order]], np.array([one["support"] for one in rows], dtype=np.int64)[order]

    def _first_items(self, wanted: int) -> int:
        """Return among how many of the most frequent items the first round is."""
        items = _FIRST_ITEMS
        while math.comb(items, self._size) < _FIRST_ITEMSETS * wanted:
            items *= 2
        return items

    def _round(self, high: int, ceiling: int, floor: int, wanted: int | None) -> Top:
        """Count the itemsets of the ranks below high, of supports from floor up to below ceiling."""
        if high < self._size:
            return Top([], floor)
        task = Descent(self._size, ceiling, floor, wanted, self._effort.max_work)
        with self._shards(high) as (frame, shard_of):
            tops = self._on_shards(frame, shard_of, task, TOPS).to_pylist()
        least = max([floor, *(one["floor"] for one in tops)])
        levels = Tally[int]()
        for one in tops:
            for support, count in json.loads(one["levels"]):
                if support >= least:
                    levels[support] += count
        return Top(sorted(levels.items(), reverse=True), least, sum(int(one["work"]) for one in tops))

    def _found(self, places: Sequence[Places], listed: int | None) -> list[list[list[int]]]:
        """Return the codes of the itemsets at some places of levels, in descending order.

        listed: down to which support the itemsets of a shard are listed to find some of them; None for none.
        """
        supports = [support for support, _ in places]
        with self._shards(at_least(min(supports), self._supports), kept=True) as (frame, shard_of):
            counts = LevelCounts(self._size, tuple(supports), self._effort.max_work)
            counted = self._on_shards(frame, shard_of, counts, COUNTS)
            levels = {one["shard"]: dict(json.loads(one["levels"])) for one in counted.to_pylist()}
            wanted: dict[int, list[tuple[int, int, int]]] = {}
            for support, indices in places:
                before = 0
                for shard in sorted(levels):
                    own = levels[shard].get(support, 0)
                    for index in indices:
                        if before <= index < before + own:
                            wanted.setdefault(shard, []).append((support, index - before, index))
                    before += own
            task = Located(self._size, wanted, listed, self._effort.max_work)
            some = frame.where(frame[SHARD].isin(sorted(wanted)))
            found = self._on_shards(some, shard_of, task, FOUND, sorted(wanted)).to_pylist()
        ranks = {(one["support"], int(one["index"])): one["ranks"] for one in found}
        return [
            [[int(self._order[rank]) for rank in ranks[support, index]] for index in indices]
            for support, indices in places
        ]

    @contextmanager
    def _shards(self, high: int, *, kept: bool = False) -> Iterator[tuple[Any, ShardOf]]:
        """Yield the baskets of each shard of the ranks below high, and what makes a shard of them.

        kept: whether Spark keeps them, for several questions.
        """
        supports = self._supports[:high]
        rank_of = np.full(len(self.item_supports), -1, dtype=np.int32)
        rank_of[self._order[:high]] = np.arange(high, dtype=np.int32)
        bounds = self._bounds(supports)
        projection = Projection(rank_of, bounds, self._size)
        frame = self._view.run(projection, projection.mark, SCHEMA)
        with spark_call():
            # From 4.1 on each shard has a task of its own; before, some have several, and some tasks none.
            spread = getattr(frame, "repartitionById", frame.repartition)
            frame = spread(len(bounds) - 1, frame[SHARD].cast("int")).sortWithinPartitions(SHARD)
            if kept:
                frame = frame.persist()
        try:
            yield frame, ShardOf(bounds, supports, self._view.by_user)
        finally:
            if kept:
                frame.unpersist()

    def _bounds(self, supports: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first rank of each shard, and the end of the last: (shards + 1,), of about equal work.

        supports: of the ranks there are.
        """
        entries = np.cumsum(supports)
        shards = min(tasks_for(self._view.frame, int(entries[-1])), len(supports))
        # What stands before a rank is the longer the more frequent items there are.
        work = np.cumsum(supports * entries.astype(np.float64))
        cuts = np.searchsorted(work, np.linspace(0, work[-1], shards + 1)[1:-1]) + 1
        return np.unique(np.concatenate([[0], cuts, [len(supports)]])).astype(np.int64)

    def _on_shards(
        self,
        frame: Any,
        shard_of: ShardOf,
        task: Callable[[int, Shard], Batches],
        schema: pa.Schema,
        some: Sequence[int] | None = None,
    ) -> pa.Table:
        """Return what a task yields of each shard, or of some. Raises DataError unless each of them answered once."""
        on_shards = OnShards(shard_of, task, self._view.kept, schema)
        answers = collected(run(frame, on_shards, on_shards.answers))
        done = answers.column(DONE)
        if sorted(done.drop_null().to_pylist()) != list(range(len(shard_of.bounds) - 1) if some is None else some):
            raise changed()
        return answers.filter(done.is_null()).drop_columns([DONE])


def _support_of(top: Top, wanted: int) -> int | None:
    """Return the support of the wanted-th itemset, None where there are not so many: each shard has a floor of its own,
    and the least that all of them have reached is far below what is wanted of all together.
    """
    reached = accumulate(top.levels, lambda done, level: (level[0], done[1] + level[1]), initial=(0, 0))
    return next((support for support, count in reached if count >= wanted), None)


def _lengths(data: Transactions) -> Batches:
    """Yield how many baskets have each number of items."""
    counts = np.bincount(np.diff(data.offsets))
    lengths = np.flatnonzero(counts)
    yield rows_of(_LENGTHS, [(*one, None) for one in zip(lengths.tolist(), counts[lengths].tolist(), strict=True)])


def _lengths_check(cells: Cells) -> Batches:
    yield rows_of(_LENGTHS, [(0, 0, cells.tobytes())])
