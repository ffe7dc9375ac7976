"""The baskets that each shard of ranks needs: up to the shard's last rank that they have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.reading.known_labels import numbers
from fim_private.reading.transactions import Transactions
from fim_private.spark.check_cells import Cells
from fim_private.spark.pieces import FIELDS, mark, pieces
from fim_private.spark.tasks import Batches

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
