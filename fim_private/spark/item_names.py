"""The items of a table: one pass lists and numbers them, and their names stay where Spark keeps them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError
from fim_private.reading.vocabulary import INTEGER_TOKEN, Item
from fim_private.spark.check_cells import CELLS, CHECK, Cells, Checksum, changed, total
from fim_private.spark.item_digests import ItemDigests, NewItems, digest
from fim_private.spark.row_reader import RowReader
from fim_private.spark.tasks import FAILURE, Batches, collected, run, spark_call

# The last row of a task has no item, and the check cells of the rows.
_NAMES = pa.schema(
    [
        ("digest", pa.int64()),
        ("number", pa.int64()),
        ("text", pa.string()),
        ("alike", pa.int64()),  # what a text prints like, where that is a number: by that it is ordered
        (CHECK, pa.binary()),
    ],
)
# In the order of a vocabulary's labels.
_ORDER = ("number", "alike", "text")
# Names are kept in so many parts: there are few of them, beside the purchases.
_NAME_PARTS = 8
_SALTS = 256


@dataclass(frozen=True)
class ItemNames:
    """The items of a source: their digests, on the driver, and their names, where Spark keeps them.

    kept: what Spark was asked to keep. read: the check cells of the rows of the source.
    """

    digests: ItemDigests
    frame: Any
    kept: Any
    read: Cells

    @property
    def entries(self) -> int:
        """How many items all rows have together."""
        return int(self.read[1])

    def labels(self, codes: Sequence[int]) -> dict[int, Item]:
        """Return the labels of some codes."""
        code_of = {int(self.digests.digests[code]): code for code in codes}
        found: dict[int, Item] = {}
        wanted = sorted(code_of)
        for start in range(0, len(wanted), 1000):  # Spark plans a list in a condition value by value
            some = self.frame.where(self.frame["digest"].isin(wanted[start : start + 1000]))
            for one in collected(some).to_pylist():
                found[code_of[one["digest"]]] = one["text"] if one["number"] is None else one["number"]
        if len(found) != len(code_of):
            raise changed()
        return found


@dataclass(frozen=True)
class _Names:
    """The task that lists the items of a partition, each once."""

    reader: RowReader
    salt: int
    checksum: Checksum

    def __call__(self, batches: Batches) -> Batches:
        seen, cells = NewItems(), np.zeros(CELLS, dtype=np.int64)
        items = self.checksum.of_items(np.empty(0, dtype=np.int64))
        for rows in self.reader.rows(batches, self.reader.labels(seen, 0)):
            fresh, seen.fresh = seen.fresh, []
            digests = np.array([digest(item, self.salt) for item in fresh], dtype=np.int64)
            if fresh:
                items = np.concatenate([items[:-1], self.checksum.of_items(digests)])
            cells += self.checksum.of_rows(rows, items, whole=self.reader.whole)
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array(digests),
                    pa.array([item if isinstance(item, int) else None for item in fresh], pa.int64()),
                    pa.array([item if isinstance(item, str) else None for item in fresh], pa.string()),
                    pa.array([_alike(item) for item in fresh], pa.int64()),
                    pa.nulls(len(fresh), pa.binary()),
                ],
                schema=_NAMES,
            )
        yield pa.RecordBatch.from_pylist([{CHECK: cells.tobytes()}], schema=_NAMES)


def _alike(item: Item) -> int | None:
    return int(item) if isinstance(item, str) and re.fullmatch(INTEGER_TOKEN, item) else None


def numbered(frame: Any, reader: RowReader, checksum: Checksum) -> ItemNames:
    """Return the items of a DataFrame. Items of one digest get others, by another salt."""
    for salt in range(_SALTS):
        names = run(frame, _Names(reader, salt, checksum), _NAMES, ours=False)
        with spark_call():
            names = names.groupBy("digest", *_ORDER, CHECK, FAILURE).count().coalesce(_NAME_PARTS).persist()
            order = [names[column].asc_nulls_last() for column in _ORDER]
        try:
            found = collected(names.orderBy(*order).select("digest", CHECK, "count", FAILURE))
        except BaseException:
            names.unpersist()
            raise
        # Tasks with the same rows are counted together.
        ends = found.filter(found.column(CHECK).is_valid()).select([CHECK, "count"]).to_pylist()
        read = total(one[CHECK] for one in ends for _ in range(one["count"]))
        digests = found.column("digest").drop_null().to_numpy()
        if len(np.unique(digests)) == len(digests):
            kept = names.where(names["digest"].isNotNull()).select("digest", "number", "text")
            return ItemNames(ItemDigests(digests, salt), kept, names, read)
        names.unpersist()
    raise DataError("the items of these purchases cannot be told apart")  # one in 2^5000 or so
