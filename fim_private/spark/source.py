"""The source on Spark: the purchases stay there, and each task counts whole units, so that the
counts of all tasks can be added.

Itemsets are counted in shards of ranks, each by the kernel of one machine in a task of its own.
Inner functions travel to the tasks, so they refer to nothing that holds a DataFrame.
"""

from __future__ import annotations

import json
import math
from bisect import bisect
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate, chain, groupby
from operator import methodcaller
from typing import Any

import numpy as np
import pyarrow as pa

from fim_private.counting.counter import (
    Candidates,
    CandidateSource,
    Places,
    Shard,
    ShardCounter,
    Top,
    at_least,
    highest_support,
    rank_order,
    ranks_of,
)
from fim_private.counting.portable import ranked_entries, spread
from fim_private.counting.source import (
    UNKNOWN,
    Catalogue,
    KnownItemsets,
    ListedFirst,
    SizedUniverse,
    Universe,
    shard_counter,
    spectrum_of_items,
)
from fim_private.counting.work import Effort, Int32, Int64
from fim_private.reading.labels import Item, in_label_order, numbers
from fim_private.reading.transactions import Transactions
from fim_private.reading.values import Integers, offsets_of
from fim_private.spark.purchases import (
    PART,
    PIECES,
    Opening,
    StoredPurchases,
    joined,
    mark,
    pieces,
    tasks_for,
)
from fim_private.spark.tasks import (
    CHECK,
    Batches,
    Cells,
    SparkFrame,
    changed,
    collected,
    persisted,
    row_of,
    run,
    single_rows,
    spark_call,
    total,
    verify,
)
from fim_private.spectrum import Level, SupportSpectrum


@dataclass(frozen=True)
class _SparkItems:
    """The items of purchases that Spark keeps; see `ItemSource`.

    Attributes:
        view: The purchases.
        labels: Returns the labels of codes.
    """

    view: StoredPurchases
    labels: Callable[[Sequence[int]], dict[int, Item]]

    def sums(self, weights: Int64) -> Int64:
        return self.view.summed(lambda items: items.sums(weights), self.view.count)

    def level_sums(self, scale: int, most: int) -> Int64:
        return self.view.summed(lambda items: items.level_sums(scale, most), self.view.count)

    def named(self, itemsets: Sequence[Sequence[int]]) -> list[tuple[Item, ...]]:
        labels = self.labels(sorted({code for codes in itemsets for code in codes}))
        return [in_label_order(labels[code] for code in codes) for codes in itemsets]

    def among(self, codes: Integers) -> _SparkCandidates:
        return _SparkCandidates(self.view, codes)


@dataclass(frozen=True)
class _SparkCandidates:
    """Candidates among some items; see `CandidateSource`."""

    view: StoredPurchases
    codes: Integers

    def pair_level_sums(self, scale: int) -> Int64:
        return self._summed(
            lambda counts: counts.pair_level_sums(scale), math.comb(len(self.codes), 2)
        )

    def level_sums(self, sets: Int32, scale: int) -> Int64:
        return self._summed(lambda counts: counts.level_sums(sets, scale), len(sets))

    def sums(self, candidates: Candidates, weights: Int64) -> Int64:
        return self._summed(lambda counts: counts.sums(candidates, weights), len(weights) - 1)

    def units_with(self, candidates: Candidates) -> Int64:
        cells = sum(map(len, candidates)) + 1
        return self._summed(lambda counts: counts.units_with(candidates), cells)

    def _summed(self, vector: Callable[[CandidateSource], Int64], cells: int) -> Int64:
        codes = self.codes
        return self.view.summed(lambda items: vector(items.among(codes)), cells)


def projected(rank_of: Int32, bounds: Int64, size: int, data: Transactions) -> Batches:
    """Yield the pieces that each shard needs of the purchases of some units, with ranks for codes.

    Args:
        rank_of: The rank of each code, (codes,) int32, -1 for none.
        bounds: The first rank of each shard, and the end of the last, (shards + 1,).
        size: Items per itemset. A basket with fewer has none.
        data: The purchases.
    """
    row, ranks = ranked_entries(data, rank_of)
    starts = np.searchsorted(row, np.arange(data.stored))
    shard = np.searchsorted(bounds, ranks, side="right") - 1
    # A shard needs the entries of a row up to the last one of the shard.
    is_last = np.append((row[1:] != row[:-1]) | (shard[1:] != shard[:-1]), True)
    last = np.flatnonzero(is_last[: len(row)])
    last = last[last - starts[row[last]] + 1 >= size]
    if not len(last):
        return
    last = last[np.argsort(shard[last], kind="stable")]
    for ends in np.split(last, np.flatnonzero(np.diff(shard[last])) + 1):
        begins = starts[row[ends]]
        offsets = offsets_of(ends - begins + 1)
        unit_offsets = None
        if data.unit_offsets is not None:
            unit = np.searchsorted(data.unit_offsets, row[ends], side="right")
            unit_offsets = np.flatnonzero(np.diff(unit, prepend=-1, append=-1))
        entries = ranks[spread(begins, np.diff(offsets))]
        needed = Transactions(offsets, entries, numbers(int(bounds[-1])), unit_offsets)
        yield from pieces(needed, int(shard[ends[0]]))


def _shard_bounds(supports: Int64, shards: int) -> Int64:
    """Return the first rank of each shard, and the end of the last: about equal work in each."""
    # A rank takes more work the more entries of frequent items stand before it in rows.
    work = np.cumsum(supports * np.cumsum(supports).astype(np.float64))
    cuts = np.searchsorted(work, np.linspace(0, work[-1], shards + 1)[1:-1]) + 1
    return np.unique(np.concatenate([[0], cuts, [len(supports)]])).astype(np.int64)


# Asks a counter of the itemsets of a shard, which is given by its number. The answer travels as
# JSON, since its numbers may be of any size.
_Answer = Any
_Question = Callable[[int, ShardCounter], _Answer]
_ANSWERS = pa.schema([("shard", pa.int64()), ("answer", pa.string())])


@dataclass(frozen=True)
class _Shards:
    """How the ranks below some rank are cut into shards. It travels to the tasks.

    Attributes:
        bounds: The first rank of each shard, and the end of the last, (shards + 1,).
        supports: The support of each rank, descending, (ranks,).
        rank_of: The rank of each code, -1 for none, (codes,).
        size: Items per itemset.
        by_user: Whether a unit is a user.
        cells: The check cells of all purchases.
        effort: What each task may use.
    """

    bounds: Int64
    supports: Int64
    rank_of: Int32
    size: int
    by_user: bool
    cells: Cells
    effort: Effort

    @property
    def count(self) -> int:
        """How many shards there are."""
        return len(self.bounds) - 1

    def pieces(self, opened: Opening, batches: Batches) -> Batches:
        """Yield what each shard needs of a task's purchases, and their check cells for each."""
        for purchases, check in opened(batches):
            for number in range(self.count):
                yield mark(check, number)
            yield from projected(self.rank_of, self.bounds, self.size, purchases)

    def answers(self, question: _Question, batches: Batches) -> Batches:
        """Yield the answer of each shard in a partition, where its pieces are neighbours."""
        for number, group in groupby(single_rows(batches), lambda row: row[PART][0].as_py()):
            rows = [*group]
            verify(total(row[CHECK][0].as_py() for row in rows), self.cells)
            low, high = self.bounds[number : number + 2].tolist()
            purchases = joined(rows, len(self.supports), by_user=self.by_user)
            shard = Shard(purchases, low, high, self.supports)
            answer = question(number, shard_counter(shard, self.size, self.effort))
            yield row_of(_ANSWERS, {"shard": number, "answer": json.dumps(answer)})

    def ask(self, frame: SparkFrame, question: _Question) -> list[_Answer]:
        """Return the answer of each shard, in the order of ranks. frame: the pieces of all."""
        answers = collected(run(frame, partial(self.answers, question), _ANSWERS)).sort_by("shard")
        if answers["shard"].to_pylist() != [*range(self.count)]:  # each answers once
            raise changed()
        return [json.loads(answer) for answer in answers["answer"].to_pylist()]


# The first round counts only the most frequent items: the support that the wanted-th itemset has
# there is a floor for all, so a second round needs only the items with as much support. The first
# round has at least so many items, with so many times more itemsets than are wanted.
_FIRST_ITEMS, _FIRST_ITEMSETS, _MORE_ITEMS = 64, 4, 4


def _support_at(levels: Sequence[Level], rank: int) -> int:
    """Return the support of the rank-th itemset of descending levels; 0 if there are fewer."""
    for support, multiplicity in levels:
        rank -= multiplicity
        if rank <= 0:
            return support
    return 0


@dataclass(frozen=True)
class SparkCounter:
    """Counts itemsets of one size, >= 2, in purchases that Spark keeps; see `Counter`."""

    _view: StoredPurchases
    _size: int

    @property
    def item_supports(self) -> Int64:
        """How many units have each item: (codes,) int64."""
        return self._view.supports

    @cached_property
    def _order(self) -> Int64:
        return rank_order(self.item_supports, 1)  # the code of each rank

    @cached_property
    def _supports(self) -> Int64:
        return self.item_supports[self._order]  # of each rank, descending

    @cached_property
    def most_work(self) -> int:
        """How many steps a pass over all itemsets takes at most."""
        longest = self._view.count
        baskets = self._view.summed(
            lambda items: np.bincount(np.diff(items.transactions.offsets), minlength=longest + 1),
            longest + 1,
        )
        counts = enumerate(baskets.tolist())
        return sum(count * math.comb(length, self._size) for length, count in counts if count)

    def top(self, ceiling: int | None, limit: int | None) -> Top:
        """Count itemsets of support below ceiling (None: all), from the top down to the wanted-th;
        see `Counter`.
        """
        if ceiling is None:  # no itemset has more support than its least frequent item
            ceiling = highest_support(self._supports, self._size) + 1
        if ceiling <= 1:
            return Top([], 1)
        ranks = len(self._supports)
        if limit is None:
            self._view.effort.refuse_infeasible(self._size, self.most_work)
            return self._round(ranks, ceiling, 1, None)
        items = _FIRST_ITEMS
        while math.comb(items, self._size) < _FIRST_ITEMSETS * limit:
            items *= 2
        high, floor, work = min(ranks, items), 1, 0
        while True:
            top = self._round(high, ceiling, floor, limit)
            work += top.work
            if work > self._view.effort.max_work:
                raise self._view.effort.over_limit(self._size)
            # Each shard stops at a floor of its own, far below the wanted-th itemset of all shards.
            reached = _support_at(top.levels, limit)
            least = reached or top.floor
            needed = at_least(least, self._supports)
            if needed <= high:
                levels = [level for level in top.levels if level[0] >= reached]
                return Top(levels, least, work)
            floor = max(reached, 1)
            high = needed if reached else min(needed, _MORE_ITEMS * high)

    def locate(self, support: int, index: int) -> list[int]:
        """Return the codes of the index-th itemset of that support in scan order; see
        `Counter.locate`.
        """
        codes, _ = self.itemsets(support, support)
        return [*map(int, codes[index])]

    def itemsets(self, lowest: int, highest: int) -> tuple[Int64, Int64]:
        """Return the itemsets of supports lowest..highest: (m, size) codes in scan order, and (m,)
        supports.
        """
        high = at_least(lowest, self._supports)

        def listing(number: int, counter: ShardCounter) -> _Answer:
            return np.column_stack(counter.itemsets(lowest, highest)).tolist()

        with self._shards(high) as ask:
            listed = ask(listing)
        rows = np.array([*chain.from_iterable(listed)], dtype=np.int64)
        rows = rows.reshape(-1, self._size + 1)
        return self._order[rows[:, :-1]], rows[:, -1]

    def _round(self, high: int, ceiling: int, floor: int, limit: int | None) -> Top:
        def counting(number: int, counter: ShardCounter) -> _Answer:
            top = counter.descend(ceiling, floor, limit)
            return top.levels, top.floor, top.work

        with self._shards(high) as ask:
            tops = [Top(*answer) for answer in ask(counting)]
        least = max((top.floor for top in tops), default=floor)
        counts = Tally[int]()
        for top in tops:
            counts.update({support: count for support, count in top.levels if support >= least})
        return Top(sorted(counts.items(), reverse=True), least, sum(top.work for top in tops))

    def located(self, places: Sequence[Places], lowest: int | None) -> list[list[list[int]]]:
        """Return the codes of the itemsets at some places of levels; see `Counter.located`."""
        highest, least = places[0][0], places[-1][0]
        # What each shard is to locate: places of levels of its own.
        places_in_shard = defaultdict[int, list[Places]](list)

        def counting(number: int, counter: ShardCounter) -> _Answer:
            return counter.descend(highest + 1, least, None).levels

        def locating(number: int, counter: ShardCounter) -> _Answer:
            if number not in places_in_shard:
                return []
            return counter.located(places_in_shard[number], lowest)

        shards = []  # of all itemsets that are located, in order
        with self._shards(at_least(least, self._supports), persists=True) as ask:
            levels_in_shards = [dict(levels) for levels in ask(counting)]
            for support, indices in places:
                counts = (levels.get(support, 0) for levels in levels_in_shards)
                starts = [*accumulate(counts, initial=0)]
                for index in indices:
                    shard = bisect(starts, index) - 1
                    places_in_shard[shard].append((support, [index - starts[shard]]))
                    shards.append(shard)
            answers = [iter(answer) for answer in ask(locating)]
        ranks = (next(answers[shard])[0] for shard in shards)
        return [[self._order[next(ranks)].tolist() for _ in indices] for _, indices in places]

    @contextmanager
    def _shards(
        self, high: int, *, persists: bool = False
    ) -> Iterator[Callable[[_Question], list[_Answer]]]:
        """Yield a function that asks each shard of the ranks below high, in the order of ranks.

        persists: whether Spark keeps the shards, since they are asked several times.
        """
        if high < self._size:  # they have no itemset
            yield lambda question: []
            return
        view, supports = self._view, self._supports[:high]
        shards = _Shards(
            _shard_bounds(supports, tasks_for(view.frame, int(supports.sum()))),
            supports,
            ranks_of(self._order[:high], len(self.item_supports)),
            self._size,
            view.by_user,
            view.cells,
            view.effort,
        )
        frame = run(view.frame, partial(shards.pieces, view.opened), PIECES)
        with spark_call():
            # From 4.1 on each shard has a task of its own; before, a task may have none or several.
            repartition = getattr(frame, "repartitionById", frame.repartition)
            frame = repartition(shards.count, frame[PART].cast("int")).sortWithinPartitions(PART)
        keeping = persisted(frame) if persists else nullcontext(frame)
        with keeping as stored:
            yield partial(shards.ask, stored)


@dataclass(frozen=True)
class SparkSource:
    """Purchases that Spark keeps, of one segment; see `SupportSource`."""

    view: StoredPurchases

    @classmethod
    def of(
        cls,
        segments: Sequence[StoredPurchases],
        segment: int,
        effort: Effort,
        *,
        together: bool = False,
    ) -> SparkSource:
        """Return the source of one of the segments.

        together: whether the baskets of a user count as one.
        """
        effort_of_task = Effort(threads=1, max_work=effort.max_work)
        view = replace(segments[segment], effort=effort_of_task)
        if together:
            view = view.then(partial(replace, together=True))
        return cls(view)

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user with all their baskets, not a basket."""
        return self.view.by_user

    @property
    def units(self) -> int:
        """How many units there are; see `SupportSource.units`."""
        return int(self.view.cells[0])

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        """Return the lazy spectrum of the itemsets of one size or several.

        See `SupportSource.spectrum`.
        """
        items = self.items(universe)
        view = items.view.then(methodcaller("united"))
        if isinstance(universe, SizedUniverse):
            view = view.then(methodcaller("cut_to", universe.count))
        return spectrum_of_items(
            replace(items, view=view),
            view.count,
            size,
            universe,
            partial(SparkCounter, view),
        )

    def items(self, universe: Universe | KnownItemsets = UNKNOWN) -> _SparkItems:
        """Return the items, and what units have of them; see `SupportSource.items`."""
        view, names = self.view, self.view.items
        if not isinstance(universe, KnownItemsets | Catalogue):
            return _SparkItems(view, names.labels)
        listed = ListedFirst.of(universe, names.digests.codes_in)

        def labels(codes: Sequence[int]) -> dict[int, Item]:
            behind = [code - len(listed.listed) for code in codes if code >= len(listed.listed)]
            unlisted = names.labels(listed.others[behind].tolist())
            return {code: listed.label(code, unlisted.__getitem__) for code in codes}

        view = view.then(methodcaller("recoded", listed.codes, numbers(listed.total)))
        return _SparkItems(replace(view, count=listed.total), labels)

    def capped(self, most_items: int, most_baskets: int) -> SparkSource:
        """Return a source of fewer items and baskets; see `SupportSource.capped`."""
        digests = self.view.items.digests_of_texts() if self.by_user else []
        step = methodcaller("capped", most_items, most_baskets, digests.__getitem__)
        return replace(self, view=self.view.then(step))
