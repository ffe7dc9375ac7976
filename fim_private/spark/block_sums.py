"""Long vectors of whole numbers, one of each task, added up by Spark: the driver gets the sum alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.spark.tasks import Batches, collected, run

# A vector travels in blocks of so many numbers; those with nothing but zeros stay.
_BLOCK = 1 << 16
# Blocks are added up by so many tasks at most.
_TASKS = 64
_BLOCKS = pa.schema([("block", pa.int64()), ("values", pa.binary())])


def summed(frame: Any, vector: Callable[[Batches], NDArray[np.int64]], cells: int) -> NDArray[np.int64]:
    """Return the sum over all partitions of what a function makes of each: (cells,) int64.

    vector: of the batches of a partition, (cells,). The sums have to fit into 64 bits with a sign.
    """
    blocks = run(frame, _Blocks(vector), _BLOCKS)
    tasks = max(1, min(_TASKS, -(-cells // _BLOCK)))
    added = run(blocks.repartition(tasks, blocks["block"]), _added, _BLOCKS)
    total = np.zeros(cells, dtype=np.int64)
    for one in collected(added).to_pylist():
        start = one["block"] * _BLOCK
        values = np.frombuffer(one["values"], dtype=np.int64)
        total[start : start + len(values)] += values
    return total


@dataclass(frozen=True)
class _Blocks:
    """The task that cuts a vector into blocks."""

    vector: Callable[[Batches], NDArray[np.int64]]

    def __call__(self, batches: Batches) -> Batches:
        values = np.ascontiguousarray(self.vector(batches), dtype=np.int64)
        for block in range(-(-len(values) // _BLOCK)):
            part = values[block * _BLOCK : (block + 1) * _BLOCK]
            if part.any():
                yield _row(block, part)


def _added(batches: Batches) -> Batches:
    """Add up the blocks of one number."""
    totals: dict[int, NDArray[np.int64]] = {}
    for batch in batches:
        for block, values in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            part = np.frombuffer(values.as_buffer(), dtype=np.int64)
            if block in totals:
                totals[block] += part
            else:
                totals[block] = part.copy()
    for block, total in totals.items():
        yield _row(block, total)


def _row(block: int, values: NDArray[np.int64]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([block], pa.int64()), pa.array([values.tobytes()])], schema=_BLOCKS)
