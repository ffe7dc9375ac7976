"""Long vectors of whole numbers, one of each task, added up by Spark: the driver gets the sum alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.spark.check_cells import CHECK, Cells, total, verify
from fim_private.spark.tasks import Batches, collected, rows_of, run

# A vector travels in blocks of so many numbers; of those with nothing but zeros only the check cells do.
_BLOCK = 1 << 16
# Blocks are added up by so many tasks at most.
_TASKS = 64
_BLOCKS = pa.schema([("block", pa.int64()), ("values", pa.binary()), (CHECK, pa.binary())])
# Makes a vector, (cells,) int64, of the batches of a partition, and check cells of the same.
VectorOf = Callable[[Batches], tuple[NDArray[np.int64], Cells]]


def summed(frame: Any, vector: VectorOf, cells: int, kept: Cells) -> NDArray[np.int64]:
    """Return the sum over all partitions of what a function makes of each: (cells,) int64.

    The sums have to fit into 64 bits with a sign. kept: what the check cells have to add up to.
    Raises DataError where they do not. Each block has its own: another may have come from a task that ran again.
    """
    blocks = run(frame, _Blocks(vector), _BLOCKS)
    tasks = max(1, min(_TASKS, -(-cells // _BLOCK)))
    added = run(blocks.repartition(tasks, blocks["block"]), _added, _BLOCKS)
    found = np.zeros(cells, dtype=np.int64)
    checks: dict[int, list[bytes]] = {block: [] for block in range(-(-cells // _BLOCK))}
    for one in collected(added).to_pylist():
        start = one["block"] * _BLOCK
        values = np.frombuffer(one["values"], dtype=np.int64)
        found[start : start + len(values)] += values
        checks[one["block"]].append(one[CHECK])
    for own in checks.values():
        verify(total(own), kept)
    return found


@dataclass(frozen=True)
class _Blocks:
    """The task that cuts a vector into blocks."""

    vector: VectorOf

    def __call__(self, batches: Batches) -> Batches:
        made, check = self.vector(batches)
        values = np.ascontiguousarray(made, dtype=np.int64)
        for block in range(-(-len(values) // _BLOCK)):
            part = values[block * _BLOCK : (block + 1) * _BLOCK]
            yield _row(block, part if part.any() else part[:0], check)


def _added(batches: Batches) -> Batches:
    """Add up the blocks of one number."""
    totals: dict[int, NDArray[np.int64]] = {}
    checks: dict[int, Cells] = {}
    for batch in batches:
        for block, values, check in zip(batch.column(0).to_pylist(), *batch.columns[1:], strict=True):
            part = np.frombuffer(values.as_buffer(), dtype=np.int64)
            before = totals.get(block, part[:0])
            totals[block] = before + part if len(before) == len(part) else max(before, part, key=len)
            checks[block] = total([check.as_py()]) + checks.get(block, 0)
    for block, values in totals.items():
        yield _row(block, values, checks[block])


def _row(block: int, values: NDArray[np.int64], check: Cells) -> pa.RecordBatch:
    return rows_of(_BLOCKS, [(block, values.tobytes(), check.tobytes())])
