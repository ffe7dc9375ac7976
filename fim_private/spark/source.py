"""The source on Spark: purchases that stay where they are; each task has whole units, so what they
count is added up.

Itemsets are counted by shards of ranks, each by the kernel of one machine in a task of its own.
Functions inside of others travel to the tasks, and so name nothing that holds a DataFrame.
"""

from __future__ import annotations

import json
import math
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from itertools import accumulate, groupby
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.counting import source as on_one_machine
from fim_private.counting.counter import (
    Candidates,
    Shard,
    ShardCounter,
    Top,
    at_least,
    highest_support,
    rank_order,
    ranks_of,
)
from fim_private.counting.portable import sorted_in_rows, spread
from fim_private.counting.source import (
    UNKNOWN,
    Catalogue,
    KnownItemsets,
    Places,
    SizedUniverse,
    Universe,
    counter_for,
)
from fim_private.counting.work import Effort
from fim_private.reading.contribution_bounds import text_digest
from fim_private.reading.labels import Item, in_label_order, numbers
from fim_private.reading.transactions import Transactions
from fim_private.spark.purchases import (
    FIELDS,
    SEGMENT,
    ItemNames,
    Stored,
    grouped_pieces,
    joined,
    mark,
    pieces,
    tasks_for,
)
from fim_private.spark.retries import CHECK, Cells, Checksum, changed, summed, total, verify
from fim_private.spark.tasks import Batches, collected, persisted, rows_of, run, spark_call
from fim_private.spectrum import SupportSpectrum

Step = Callable[[Transactions], Transactions]  # looks at one unit at a time


@dataclass(frozen=True)
class View:
    """Purchases that Spark keeps, and what is made of them before they are counted: cut, capped or
    restricted.

    frame: pieces, with codes below stored_count. stored: their check cells when they were stored,
    by this checksum.
    steps: one after the other, on what one task has. count: codes are below it after them.
    """

    frame: Any
    stored_count: int
    by_user: bool
    checksum: Checksum
    stored: Cells
    count: int
    steps: tuple[Step, ...] = ()

    def then(self, step: Step, count: int | None = None) -> View:
        """Return these with one more step. count: codes are below it from then on; as before unless
        given.
        """
        return replace(
            self, steps=(*self.steps, step), count=self.count if count is None else count
        )

    @property
    def _opened(self) -> Callable[[Batches], Iterator[tuple[Transactions, Cells]]]:
        """What yields the purchases of the pieces of a task, some units at a time, and their check
        cells.
        """
        count, by_user, steps, checksum = self.stored_count, self.by_user, self.steps, self.checksum

        def opened(batches: Batches) -> Iterator[tuple[Transactions, Cells]]:
            for group in grouped_pieces(batches):
                purchases = joined(group, count, by_user=by_user)
                yield (
                    reduce(lambda data, step: step(data), steps, purchases),
                    checksum.of_pieces(group),
                )

        return opened

    def run(
        self, task: Callable[[Transactions], Batches], mark: Callable[[Cells], Batches], schema: Any
    ) -> Any:
        """Return what a task makes of some units at a time, and mark of their cells, which the
        caller verifies.
        """
        opened = self._opened

        def made(batches: Batches) -> Batches:
            for data, cells in opened(batches):
                yield from mark(cells)
                yield from task(data)

        return run(self.frame, made, schema)

    def summed(
        self, vector: Callable[[Transactions], NDArray[np.int64]], cells: int
    ) -> NDArray[np.int64]:
        """Return the sum of what a function makes of some units at a time, (cells,) int64;
        DataError where changed.
        """
        opened = self._opened

        def added(batches: Batches) -> tuple[NDArray[np.int64], Cells]:
            vectors, checks = zip(
                *((vector(data), cells) for data, cells in opened(batches)), strict=True
            )
            return reduce(np.add, vectors), reduce(np.add, checks)

        return summed(self.frame, added, cells, self.stored)

    @cached_property
    def supports(self) -> NDArray[np.int64]:
        """How many units have each item: (count,)."""
        return self.summed(
            lambda data: counter_for(data, 1, 1, Effort(threads=1)).item_supports, self.count
        )


@dataclass(frozen=True)
class _SparkItems:
    """The items of purchases that Spark keeps; see `ItemSource`. max_work: steps that each task may
    take.
    """

    view: View
    labels: Callable[[Sequence[int]], dict[int, Item]]
    max_work: int

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.summed(None, self.view.count, "sums", weights)

    def level_sums(self, scale: int, most: int) -> NDArray[np.int64]:
        return self.summed(None, self.view.count, "level_sums", scale, most)

    def named(self, itemsets: Sequence[Sequence[int]]) -> list[tuple[Item, ...]]:
        labels = self.labels(sorted({code for codes in itemsets for code in codes}))
        return [in_label_order(labels[code] for code in codes) for codes in itemsets]

    def among(self, codes: NDArray[np.integer]) -> _SparkCandidates:
        return _SparkCandidates(self, np.asarray(codes))

    def summed(
        self, codes: NDArray[np.integer] | None, cells: int, method: str, *given: object
    ) -> NDArray[np.int64]:
        """Sum what a method of a source of items has of each task's units; with codes, of
        candidates among these.
        """
        effort = Effort(threads=1, max_work=self.max_work)

        def counted(data: Transactions) -> NDArray[np.int64]:
            items = on_one_machine.LocalItems(data, effort)
            found: NDArray[np.int64] = getattr(
                items if codes is None else items.among(codes), method
            )(*given)
            return found

        return self.view.summed(counted, cells)


@dataclass(frozen=True)
class _SparkCandidates:
    """Candidates among some items; see `CandidateSource`."""

    items: _SparkItems
    codes: NDArray[np.integer]

    def pair_level_sums(self, scale: int) -> NDArray[np.int64]:
        return self.items.summed(
            self.codes, math.comb(len(self.codes), 2), "pair_level_sums", scale
        )

    def level_sums(self, sets: NDArray[np.int32], scale: int) -> NDArray[np.int64]:
        return self.items.summed(self.codes, len(sets), "level_sums", sets, scale)

    def sums(self, candidates: Candidates, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.items.summed(self.codes, len(weights) - 1, "sums", candidates, weights)

    def units_with(self, candidates: Candidates) -> NDArray[np.int64]:
        return self.items.summed(
            self.codes, sum(map(len, candidates)) + 1, "units_with", candidates
        )


_SHARD = "shard"
_PROJECTED = pa.schema([pa.field(_SHARD, pa.int64()), *FIELDS])


def projected(
    rank_of: NDArray[np.int32], bounds: NDArray[np.int64], size: int, data: Transactions
) -> Batches:
    """Yield the pieces that each shard needs of the purchases of some units, with ranks for codes.

    rank_of: (codes,) int32, the rank of each code, -1 for none. bounds: (shards + 1,), the first
    rank of each shard, and the end of the last. size: items per itemset: of fewer a basket has
    none.
    """
    ranks = rank_of[data.items]
    row = np.repeat(np.arange(data.stored, dtype=np.int64), np.diff(data.offsets))[ranks >= 0]
    row, ranks = sorted_in_rows(row, ranks[ranks >= 0])
    starts = np.searchsorted(row, np.arange(data.stored))
    shard = np.searchsorted(bounds, ranks, side="right") - 1
    # Of each row and shard the last entry: with what stands before it in the row it is what the
    # shard needs.
    last = np.flatnonzero(
        np.append((row[1:] != row[:-1]) | (shard[1:] != shard[:-1]), True)[: len(row)]
    )
    last = last[last - starts[row[last]] + 1 >= size]
    last = last[np.argsort(shard[last], kind="stable")]
    for own in np.split(last, np.flatnonzero(np.diff(shard[last])) + 1) if len(last) else []:
        begins = starts[row[own]]
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(own - begins + 1)])
        unit_offsets = None
        if data.unit_offsets is not None:
            unit = np.searchsorted(data.unit_offsets, row[own], side="right")
            unit_offsets = np.flatnonzero(np.diff(unit, prepend=-1, append=-1))
        entries = ranks[spread(begins, np.diff(offsets))]
        needed = Transactions(offsets, entries, numbers(int(bounds[-1])), unit_offsets)
        yield from pieces(needed, [(_SHARD, int(shard[own[0]]))])


# What is asked of each shard, by its number and a counter of its itemsets.
_Question = Callable[[int, ShardCounter], Any]
# JSON, for numbers may be of any size
_ANSWERS = pa.schema([("shard", pa.int64()), ("answer", pa.string())])

# The top comes first among the most frequent items alone: the support that the wanted-th itemset
# has there is a floor for all, and a second round needs only the items that have as much. The first
# is among at least so many items, of so many times as many itemsets as are wanted.
_FIRST_ITEMS, _FIRST_ITEMSETS, _MORE_ITEMS = 64, 4, 4


@dataclass(frozen=True)
class SparkCounter:
    """Counts itemsets of one size, >= 2, in purchases that Spark keeps; see `Counter`."""

    _view: View
    _size: int
    _effort: Effort

    @property
    def item_supports(self) -> NDArray[np.int64]:
        """How many units have each item: (codes,) int64."""
        return self._view.supports

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return rank_order(self.item_supports, 1)  # the code of each rank

    @cached_property
    def _supports(self) -> NDArray[np.int64]:
        return self.item_supports[self._order]  # of each rank, descending

    @cached_property
    def most_work(self) -> int:
        """How many steps a pass over all itemsets takes at most."""
        most = self._view.count + 1
        baskets = self._view.summed(
            lambda data: np.bincount(np.diff(data.offsets), minlength=most), most
        )
        return sum(
            int(baskets[length]) * math.comb(length, self._size)
            for length in np.flatnonzero(baskets).tolist()
        )

    def top(self, ceiling: int | None, wanted: int | None) -> Top:
        """Count itemsets of support below ceiling (None: all), from the top down to the wanted-th;
        see `Counter`.
        """
        ranks = len(self._supports)
        if ceiling is None:  # no itemset has more support than its least frequent item
            ceiling = highest_support(self._supports, self._size) + 1
        if ceiling <= 1:
            return Top([], 1)
        if wanted is None:
            self._effort.refuse_infeasible(self._size, self.most_work)
            return self._round(ranks, ceiling, 1, None)
        items = _FIRST_ITEMS
        while math.comb(items, self._size) < _FIRST_ITEMSETS * wanted:
            items *= 2
        high, floor, work = min(ranks, items), 1, 0
        while True:
            top = self._round(high, ceiling, floor, wanted)
            work += top.work
            if work > self._effort.max_work:
                raise self._effort.over_limit(self._size)
            # Each shard has a floor of its own, and what all of them have got to is far below what
            # is wanted of all.
            counts = accumulate(count for _, count in top.levels)
            found = next(
                (
                    level[0]
                    for level, count in zip(top.levels, counts, strict=True)
                    if count >= wanted
                ),
                None,
            )
            needed = at_least(found or top.floor, self._supports)
            if needed <= high:
                return Top(
                    [level for level in top.levels if level[0] >= (found or 1)],
                    found or top.floor,
                    work,
                )
            floor = found or 1
            high = needed if found else min(needed, _MORE_ITEMS * high)

    def locate(self, support: int, index: int) -> list[int]:
        """Return the codes of the index-th itemset of that support in scan order; see
        `Counter.locate`.
        """
        return self._found([(support, [index])], None)[0][0]

    def located(self, places: Sequence[Places], spectrum: SupportSpectrum) -> list[list[list[int]]]:
        """Return the codes of the itemsets at some places of levels; see `Locate`."""
        return self._found(places, on_one_machine.lowest_listed(places, spectrum))

    def itemsets(self, lowest: int, highest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the itemsets of supports lowest..highest: (m, size) codes in scan order, and (m,)
        supports.
        """
        high = at_least(lowest, self._supports)
        if high < self._size:
            return np.empty((0, self._size), dtype=np.int64), np.empty(0, dtype=np.int64)

        def listing(number: int, counter: ShardCounter) -> Any:
            return [found.tolist() for found in counter.itemsets(lowest, highest)]

        with self._shards(high) as ask:
            listed = ask(listing)
        ranks, supports = (
            np.array(
                [one for shard in sorted(listed) for one in listed[shard][place]], dtype=np.int64
            )
            for place in (0, 1)
        )
        return self._order[ranks.reshape(-1, self._size)], supports

    def _round(self, high: int, ceiling: int, floor: int, wanted: int | None) -> Top:
        if high < self._size:
            return Top([], floor)

        def counting(number: int, counter: ShardCounter) -> Any:
            top = counter.descend(ceiling, floor, wanted)
            return top.floor, top.levels, top.work

        with self._shards(high) as ask:
            tops = ask(counting).values()
        least = max([floor, *(own_floor for own_floor, _, _ in tops)])
        levels = Tally[int]()
        for _, own, _ in tops:
            levels.update({support: count for support, count in own if support >= least})
        return Top(sorted(levels.items(), reverse=True), least, sum(work for _, _, work in tops))

    def _found(self, places: Sequence[Places], listed: int | None) -> list[list[list[int]]]:
        """Return the codes of the itemsets at some places of levels, descending. listed: as of
        lowest_listed.
        """
        supports = [support for support, _ in places]
        # Of each shard the support, the place in the shard's level, and that in the whole level, of
        # each itemset.
        wanted: dict[int, list[tuple[int, int, int]]] = {}

        def counting(number: int, counter: ShardCounter) -> Any:
            return [
                one
                for one in counter.descend(supports[0] + 1, supports[-1], None).levels
                if one[0] in supports
            ]

        def locating(number: int, counter: ShardCounter) -> Any:
            own = [support for support, _, _ in wanted[number]]
            known: dict[int, list[list[int]]] = {}
            if listed is not None and max(own) >= listed:
                ranks, found = counter.itemsets(max(listed, min(own)), max(own))
                known = {
                    support: ranks[found == support].tolist()
                    for support in own
                    if support >= listed
                }
            return [
                (
                    support,
                    index,
                    known[support][place] if support in known else counter.locate(support, place),
                )
                for support, place, index in wanted[number]
            ]

        with self._shards(at_least(min(supports), self._supports), stored=True) as ask:
            levels = {shard: dict(own) for shard, own in ask(counting).items()}
            for support, indices in places:
                before = 0
                for shard in sorted(levels):
                    own = levels[shard].get(support, 0)
                    for index in indices:
                        if before <= index < before + own:
                            wanted.setdefault(shard, []).append((support, index - before, index))
                    before += own
            found = ask(locating, sorted(wanted))
        ranks = {(support, index): own for shard in found.values() for support, index, own in shard}
        return [
            [[int(self._order[rank]) for rank in ranks[support, index]] for index in indices]
            for support, indices in places
        ]

    @contextmanager
    def _shards(
        self, high: int, *, stored: bool = False
    ) -> Iterator[Callable[..., dict[int, Any]]]:
        """Yield what asks each shard of the ranks below high, or some. stored: whether Spark keeps
        their baskets.
        """
        view, supports = self._view, self._supports[:high]
        entries = np.cumsum(supports)
        # Of about equal work: what stands before a rank is the longer the more frequent items there
        # are.
        count = min(tasks_for(view.frame, int(entries[-1])), len(supports))
        work = np.cumsum(supports * entries.astype(np.float64))
        cuts = np.searchsorted(work, np.linspace(0, work[-1], count + 1)[1:-1]) + 1
        bounds = np.unique(np.concatenate([[0], cuts, [len(supports)]])).astype(np.int64)
        count = len(bounds) - 1
        rank_of = ranks_of(self._order[:high], len(self.item_supports))

        def marks(cells: Cells) -> Batches:
            return (mark(cells, [(_SHARD, shard)]) for shard in range(count))

        frame = view.run(partial(projected, rank_of, bounds, self._size), marks, _PROJECTED)
        with spark_call():
            # From 4.1 on each shard has a task of its own; before, some have several, and some
            # tasks none.
            spread = getattr(frame, "repartitionById", frame.repartition)
            frame = spread(count, frame[_SHARD].cast("int")).sortWithinPartitions(_SHARD)
        by_user, cells, size = view.by_user, view.stored, self._size
        effort = Effort(threads=1, max_work=self._effort.max_work)

        def counter_of(number: int, rows: list[pa.RecordBatch]) -> ShardCounter:
            verify(total(row.column(CHECK)[0].as_py() for row in rows), cells)
            low, high = bounds[number : number + 2].tolist()
            shard = Shard(joined(rows, len(supports), by_user=by_user), low, high, supports)
            return on_one_machine.shard_counter(shard, size, effort)

        with persisted(frame) if stored else nullcontext(frame) as asked:
            yield partial(self._ask, asked, count, counter_of)

    def _ask(
        self,
        frame: Any,
        count: int,
        counter_of: Any,
        question: _Question,
        some: Sequence[int] | None = None,
    ) -> dict[int, Any]:
        """Return what each shard, or some, answers. Raises DataError unless each of them answered
        once.
        """

        def answered(batches: Batches) -> Batches:
            rows = (
                (own, batch.slice(r, 1))
                for batch in batches
                for r, own in enumerate(batch[_SHARD].to_pylist())
            )
            # the pieces of a shard are neighbours
            for number, group in groupby(rows, key=itemgetter(0)):
                answer = question(number, counter_of(number, [row for _, row in group]))
                yield rows_of(_ANSWERS, [(number, json.dumps(answer))])

        asked = frame if some is None else frame.where(frame[_SHARD].isin(some))
        rows = collected(run(asked, answered, _ANSWERS)).to_pylist()
        if sorted(row["shard"] for row in rows) != [*(range(count) if some is None else some)]:
            raise changed()
        return {row["shard"]: json.loads(row["answer"]) for row in rows}


_DIGESTS = pa.schema([("digest", pa.int64()), ("of_text", pa.binary())])


@dataclass(frozen=True)
class SparkSource:
    """Purchases that Spark keeps, of one segment; see `SupportSource`."""

    view: View
    items_named: ItemNames
    units: int
    missing_user: str | None
    effort: Effort = field(default_factory=Effort)

    @classmethod
    def of(
        cls,
        stored: Stored,
        segment: int,
        missing_user: str | None,
        effort: Effort,
        *,
        together: bool = False,
    ) -> SparkSource:
        """Return the source of a segment, of all where there are none. together: whether a user's
        baskets count so.
        """
        frame = (
            stored.frame.where(stored.frame[SEGMENT] == segment)
            if len(stored.cells) > 1
            else stored.frame
        )
        count, cells = len(stored.items.digests), stored.cells[segment]
        view = View(frame, count, stored.by_user, stored.checksum, cells, count)
        view = view.then(partial(replace, together=True)) if together else view
        return cls(view, stored.items, int(cells[0]), missing_user, effort)

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user with all their baskets, not a basket."""
        return self.view.by_user

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        """Return the lazy spectrum of the itemsets of that size, or of several; see
        `SupportSource.spectrum`.
        """
        items = self.items(universe)
        view = items.view.then(methodcaller("united"))
        if isinstance(universe, SizedUniverse):
            view = view.then(methodcaller("cut_to", universe.count))
        items, listed = replace(items, view=view), isinstance(universe, Catalogue)
        return on_one_machine.spectrum_of_sizes(
            size, lambda one: self._spectrum(items, one, listed=listed)
        )

    def items(self, universe: Universe | KnownItemsets = UNKNOWN) -> _SparkItems:
        """Return the items, and what units have of them; see `SupportSource.items`."""
        if not isinstance(universe, KnownItemsets | Catalogue):
            return _SparkItems(self.view, self.items_named.labels, self.effort.max_work)
        listed = on_one_machine.ListedFirst.of(universe, self.items_named.digests.codes_in)

        def labels(wanted: Sequence[int]) -> dict[int, Item]:
            own = {
                int(listed.others[code - len(listed.listed)])
                for code in wanted
                if code >= len(listed.listed)
            }
            named = self.items_named.labels([*own])
            return {code: listed.label(code, named.__getitem__) for code in wanted}

        view = self.view.then(
            methodcaller("recoded", listed.codes, numbers(listed.total)), listed.total
        )
        return _SparkItems(view, labels, self.effort.max_work)

    def capped(self, most_items: int, most_baskets: int) -> SparkSource:
        """Return a source of fewer items and baskets; see `SupportSource.capped`."""
        digests = self._text_digests() if self.by_user else None

        def capped(data: Transactions) -> Transactions:
            there = np.flatnonzero(np.bincount(data.items)).tolist()
            texts = None if digests is None else {code: digests[code].tobytes() for code in there}
            return data.capped(most_items, most_baskets, texts)

        return replace(self, view=self.view.then(capped))

    def _spectrum(self, items: _SparkItems, size: int, *, listed: bool) -> SupportSpectrum:
        counter = SparkCounter(items.view, max(size, 2), self.effort)
        return on_one_machine.spectrum_of_items(
            items, items.view.count, size, counter, listed=listed, locate=counter.located
        )

    def _text_digests(self) -> NDArray[np.uint8]:
        """Return the digest of each code's text, (codes, 16), by which the items of users are
        capped.
        """

        def made(batches: Batches) -> Batches:
            for batch in batches:
                labels = zip(
                    batch.column("number").to_pylist(),
                    batch.column("text").to_pylist(),
                    strict=True,
                )
                of_text = pa.array(
                    [text_digest(t if number is None else str(number)) for number, t in labels],
                    pa.binary(),
                )
                yield pa.RecordBatch.from_arrays([batch.column("digest"), of_text], schema=_DIGESTS)

        table = collected(run(self.items_named.frame, made, _DIGESTS)).sort_by("digest")
        digests = self.items_named.digests.digests
        order = np.argsort(digests, kind="stable")
        if not np.array_equal(table.column("digest").to_numpy(), digests[order]):
            raise changed()
        found = np.empty((len(digests), 16), dtype=np.uint8)
        found[order] = np.frombuffer(
            b"".join(table.column("of_text").to_pylist()), dtype=np.uint8
        ).reshape(-1, 16)
        return found
