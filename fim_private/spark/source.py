"""The source and the counter on Spark."""

from __future__ import annotations

import json
import math
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.counting.counter import Counter, ItemCounter, Shard, Top, at_least, rank_order
from fim_private.counting.source import UNKNOWN, Catalogue, SizedUniverse, Universe
from fim_private.counting.spectra import Candidates, Places, counted_spectrum, listed_spectrum, located, lowest_listed
from fim_private.counting.work import Effort
from fim_private.dp.parameters import positive_integer
from fim_private.errors import ParameterError, parameter
from fim_private.reading.contribution_bounds import text_digest
from fim_private.reading.labels import Item
from fim_private.reading.transactions import Transactions
from fim_private.spark.purchases import SEGMENT, ItemNames, Kept, tasks_for
from fim_private.spark.spectra import (
    COUNTS,
    DONE,
    FOUND,
    SCHEMA,
    SHARD,
    TOPS,
    Descent,
    LevelCounts,
    Listed,
    Located,
    OnShards,
    Projection,
    ShardOf,
)
from fim_private.spark.sums import Capped, CutTo, Restricted, SparkItems, View, counted_together, united
from fim_private.spark.tasks import CHECK, Batches, Cells, changed, collected, rows_of, run, spark_call, total, verify
from fim_private.spectrum import SupportSpectrum, union

# -------------------- spark counter
# The counter of itemsets on Spark: shards by rank, each counted by the kernel of one machine, and added up.
#
# The top comes first among the most frequent items alone. The support that the wanted-th itemset has there is a
# floor for
# all, so that a second round needs only the items that have as much: two rounds, or some more, of small data.

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


# -------------------- source
# The source on Spark: purchases that stay where they are, behind the door of all sources.

_DIGESTS = pa.schema([("digest", pa.int64()), ("of_text", pa.binary())])


@dataclass(frozen=True)
class SparkSource:
    """Purchases that Spark keeps, of one segment; see `counting.source.SupportSource`."""

    view: View
    items_named: ItemNames
    units: int
    missing_user: str | None
    effort: Effort = field(default_factory=Effort)

    @classmethod
    def of(
        cls, kept: Kept, segment: int, missing_user: str | None, effort: Effort, *, together: bool = False
    ) -> SparkSource:
        """Return the source of a segment, of all where there are none. together: whether a user's baskets count so."""
        frame = kept.frame.where(kept.frame[SEGMENT] == segment) if len(kept.units) > 1 else kept.frame
        view = View(frame, len(kept.items.digests), kept.by_user, kept.checksum, kept.cells[segment])
        if together:
            view = view.then(counted_together)
        return cls(view, kept.items, kept.units[segment], missing_user, effort)

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user with all their baskets, not a basket."""
        return self.view.by_user

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        """Return the lazy spectrum of the itemsets of that size, or of several; see `SupportSource.spectrum`."""
        sizes = size if isinstance(size, Sequence) else [size]
        if not sizes:
            raise ParameterError(f"{parameter('size')} must be at least one number")
        items = self.items(universe)
        items = replace(items, view=items.view.then(united))
        if isinstance(universe, SizedUniverse):
            items = replace(items, view=items.view.then(CutTo(universe.count)))
        return union([self._spectrum(items, one, listed=isinstance(universe, Catalogue)) for one in sizes])

    def items(self, universe: Universe = UNKNOWN) -> SparkItems:
        """Return the items, and what units have of them; see `SupportSource.items`."""
        if not isinstance(universe, Catalogue):
            return SparkItems(self.view, self.items_named.labels, self.effort.max_work)
        listed = universe.items
        restricted = Restricted(self.items_named.digests.codes_in(listed), len(listed))

        def labels(codes: Sequence[int]) -> dict[int, Item]:
            return {code: listed.label(code) for code in codes}

        return SparkItems(self.view.then(restricted, len(listed)), labels, self.effort.max_work)

    def capped(self, max_basket: int, max_baskets: int) -> SparkSource:
        """Return a source of fewer items and baskets; see `SupportSource.capped`."""
        digests = self._text_digests() if self.by_user else None
        return replace(self, view=self.view.then(Capped(max_basket, max_baskets, digests)))

    def _spectrum(self, items: SparkItems, size: int, *, listed: bool) -> SupportSpectrum:
        """Return the spectrum of the itemsets of one size. listed: whether items are those of a catalogue."""
        size = positive_integer("size", size)
        # Of single items the supports are all there is to know.
        counter = SparkCounter(items.view, max(size, 2), self.effort)
        if size == 1:
            single: Counter = ItemCounter(counter, 1)
            found = counted_spectrum(single, partial(located, single), items.named)
        else:
            found = counted_spectrum(counter, counter.located, items.named)
        if not listed:
            return found

        def is_supported(codes: tuple[int, ...]) -> bool:
            among = items.among(np.array(codes, dtype=np.int64))
            whole = np.arange(size, dtype=np.int32)[None, :]
            return bool(among.sums([whole], np.array([0, 1], dtype=np.int64))[0])

        def supported() -> np.ndarray:
            counting = ItemCounter(counter, 1) if size == 1 else counter
            return counting.itemsets(1, max(self.units, 1))[0]

        return listed_spectrum(found, Candidates(items.view.count, size, is_supported, supported), items.named)

    def _text_digests(self) -> np.ndarray:
        """Return the digest of the text of each code's label, (codes, 16) uint8."""
        table = collected(run(self.items_named.frame, _text_digests, _DIGESTS))
        named = table.column("digest").to_numpy()
        order = np.argsort(named, kind="stable")
        if not np.array_equal(named[order], np.sort(self.items_named.digests.digests)):
            raise changed()
        found = np.frombuffer(b"".join(table.column("of_text").to_pylist()), dtype=np.uint8).reshape(-1, 16)
        digests = self.items_named.digests.digests
        made = np.empty((len(digests), 16), dtype=np.uint8)
        made[np.argsort(digests, kind="stable")] = found[order]
        return made


def _text_digests(batches: Batches) -> Batches:
    """Yield the digest of the text of each item."""
    for batch in batches:
        columns = {name: batch.column(batch.schema.get_field_index(name)) for name in batch.schema.names}
        labels = zip(columns["number"].to_pylist(), columns["text"].to_pylist(), strict=True)
        of_text = [text_digest(text if number is None else str(number)) for number, text in labels]
        yield pa.RecordBatch.from_arrays([columns["digest"], pa.array(of_text, pa.binary())], schema=_DIGESTS)
