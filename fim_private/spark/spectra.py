"""What the tasks of a shard do to count its itemsets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.counting.counter import Shard, ShardCounter
from fim_private.counting.registry import shard_counter
from fim_private.counting.work import Effort
from fim_private.reading.labels import numbers
from fim_private.reading.transactions import Transactions
from fim_private.spark.purchases import FIELDS, joined, mark, pieces
from fim_private.spark.tasks import CHECK, Batches, Cells, rows_of, total, verify

# -------------------- projection
# The baskets that each shard of ranks needs: up to the shard's last rank that they have.

SHARD = "shard"
SCHEMA = pa.schema([pa.field(SHARD, pa.int64()), *FIELDS])


@dataclass(frozen=True)
class Projection:
    """The task that gives, for each shard, what it needs of the purchases of some units.

    rank_of: (codes,) int32, the rank of each code, -1 for none. bounds: (shards + 1,), the first rank of each shard,
    and the end of the last. size: items per itemset: of fewer a basket has none.
    """

    rank_of: NDArray[np.int32]
    bounds: NDArray[np.int64]
    size: int

    def __call__(self, data: Transactions) -> Batches:
        """Yield the pieces that each shard needs."""
        for shard, part in self.parts(data):
            yield from pieces(part, [(SHARD, shard)])

    def mark(self, cells: Cells) -> Batches:
        """Yield check cells for each shard, also for one that needs nothing."""
        for shard in range(len(self.bounds) - 1):
            yield mark(cells, [(SHARD, shard)])

    def parts(self, data: Transactions) -> Iterator[tuple[int, Transactions]]:
        """Yield the purchases that each shard needs, with ranks for codes; nothing for a shard that needs none."""
        ranks = self.rank_of[data.items]
        kept = ranks >= 0
        row = np.repeat(np.arange(data.kept, dtype=np.int64), np.diff(data.offsets))[kept]
        key = (row << 32) | ranks[kept]
        key.sort()
        row, ranks = key >> 32, (key & 0xFFFFFFFF).astype(np.int32)
        starts = np.searchsorted(row, np.arange(data.kept))
        shard = np.searchsorted(self.bounds, ranks, side="right") - 1
        # Of each row and shard the last entry: with what stands before it in the row it is what the shard needs.
        last = np.flatnonzero(np.append((row[1:] != row[:-1]) | (shard[1:] != shard[:-1]), True)[: len(row)])
        last = last[last - starts[row[last]] + 1 >= self.size]
        of_shard = shard[last]
        order = np.argsort(of_shard, kind="stable")
        ends = np.searchsorted(of_shard[order], np.arange(len(self.bounds)))
        for place in range(len(self.bounds) - 1):
            own = last[order[ends[place] : ends[place + 1]]]
            if len(own):
                yield place, self._part(data, ranks, starts[row[own]], own, row[own])

    def _part(
        self,
        data: Transactions,
        ranks: NDArray[np.int32],
        starts: NDArray[np.int64],
        last: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> Transactions:
        lengths = last - starts + 1
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
        places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        unit_offsets = None
        if data.unit_offsets is not None:
            unit = np.searchsorted(data.unit_offsets, rows, side="right")
            unit_offsets = np.flatnonzero(np.diff(unit, prepend=-1, append=-1))
        return Transactions(offsets, ranks[places], numbers(int(self.bounds[-1])), unit_offsets)


# -------------------- shard tasks
# What the tasks of a shard do: gather what it needs, and count, list or locate its itemsets.

# The column of an answer that says which shard gave it.
DONE = "done"
# floor: down to which levels are complete. levels: JSON, [[support, itemsets], ...], for these numbers may be of any
# size. work: steps.
TOPS = pa.schema([("floor", pa.int64()), ("levels", pa.string()), ("work", pa.string())])
# levels: as in TOPS, of a shard.
COUNTS = pa.schema([("shard", pa.int64()), ("levels", pa.string())])
# index: of an itemset among those of its support.
FOUND = pa.schema([("support", pa.int64()), ("index", pa.string()), ("ranks", pa.list_(pa.int32()))])


@dataclass(frozen=True)
class ShardOf:
    """Makes a shard of the pieces that it needs."""

    bounds: NDArray[np.int64]
    supports: NDArray[np.int64]
    by_user: bool

    def __call__(self, number: int, batches: Sequence[pa.RecordBatch]) -> Shard:
        """Return the shard of that number."""
        low, high = self.bounds[number : number + 2].tolist()
        data = joined(batches, len(self.supports), by_user=self.by_user)
        return Shard(data, low, high, self.supports)


@dataclass(frozen=True)
class OnShards:
    """The task that gathers the pieces of each shard, which are neighbours, and works on one shard at a time.

    kept: what the check cells of each shard have to add up to. schema: of what the task yields.
    """

    shard_of: ShardOf
    task: Callable[[int, Shard], Batches]
    kept: Cells
    schema: pa.Schema

    @property
    def answers(self) -> pa.Schema:
        """The schema of the answers: what the task yields, and in a row of its own the number of each shard."""
        return self.schema.append(pa.field(DONE, pa.int64()))

    def __call__(self, batches: Batches) -> Batches:
        """Yield what the task makes of each shard. Raises DataError for one that is not of what was kept."""
        present: int | None = None
        own: list[pa.RecordBatch] = []
        for batch in batches:
            numbers = batch.column(batch.schema.get_field_index(SHARD)).to_numpy()
            cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
            for start, end in pairwise(cuts):
                if start == end:
                    continue
                if present is not None and numbers[start] != present:
                    yield from self._done(present, own)
                    own = []
                present = int(numbers[start])
                own.append(batch.slice(start, end - start))
        if present is not None:
            yield from self._done(present, own)

    def _done(self, number: int, own: list[pa.RecordBatch]) -> Batches:
        verify(total(cells for batch in own for cells in batch.column(CHECK).to_pylist()), self.kept)
        shard = self.shard_of(number, own)
        own.clear()
        yield rows_of(self.answers, [(*(None for _ in self.schema), number)])
        for batch in self.task(number, shard):
            yield batch.append_column(DONE, pa.nulls(len(batch), pa.int64()))


@dataclass(frozen=True)
class Descent:
    """Counts a shard from the top."""

    size: int
    ceiling: int
    floor: int
    wanted: int | None
    max_work: int

    def __call__(self, number: int, shard: Shard) -> Batches:
        """Yield what it finds in one shard."""
        effort = Effort(threads=1, max_work=self.max_work)
        top = shard_counter(shard, self.size, effort).descend(self.ceiling, self.floor, self.wanted)
        yield rows_of(TOPS, [(top.floor, json.dumps(top.levels), str(top.work))])


@dataclass(frozen=True)
class LevelCounts:
    """Counts how many itemsets of a shard have some supports, which are in descending order."""

    size: int
    supports: tuple[int, ...]
    max_work: int

    def __call__(self, number: int, shard: Shard) -> Batches:
        """Yield what it finds in one shard."""
        top = shard_counter(shard, self.size, Effort(threads=1, max_work=self.max_work)).descend(
            self.supports[0] + 1, self.supports[-1], None
        )
        yield rows_of(COUNTS, [(number, json.dumps([level for level in top.levels if level[0] in self.supports]))])


@dataclass(frozen=True)
class Listed:
    """Lists the itemsets of a shard."""

    size: int
    lowest: int
    highest: int
    max_work: int

    def __call__(self, number: int, shard: Shard) -> Batches:
        """Yield what it finds in one shard."""
        ranks, supports = shard_counter(shard, self.size, Effort(threads=1, max_work=self.max_work)).itemsets(
            self.lowest, self.highest
        )
        rows = enumerate(zip(ranks.tolist(), supports.tolist(), strict=True))
        yield rows_of(FOUND, [(support, str(place), own) for place, (own, support) in rows])


@dataclass(frozen=True)
class Located:
    """Finds some itemsets of each shard.

    wanted: of each shard the support, the place in the shard's level, and that in the whole level, of each.
    """

    size: int
    wanted: dict[int, list[tuple[int, int, int]]]
    listed: int | None
    max_work: int

    def __call__(self, number: int, shard: Shard) -> Batches:
        """Yield what it finds in one shard."""
        counter = shard_counter(shard, self.size, Effort(threads=1, max_work=self.max_work))
        wanted = self.wanted[number]
        known = self._known(counter, [support for support, _, _ in wanted])
        rows = []
        for support, place, index in wanted:
            ranks = known[support][place].tolist() if support in known else counter.locate(support, place)
            rows.append((support, str(index), ranks))
        yield rows_of(FOUND, rows)

    def _known(self, counter: ShardCounter, supports: Sequence[int]) -> dict[int, NDArray[np.int64]]:
        """Return the ranks of all itemsets of each level that is worth listing."""
        if self.listed is None or max(supports) < self.listed:
            return {}
        lowest = max(self.listed, min(supports))
        ranks, found = counter.itemsets(lowest, max(supports))
        return {support: ranks[found == support] for support in supports if support >= lowest}
