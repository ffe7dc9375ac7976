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
from fim_private.spark.check_cells import changed
from fim_private.spark.item_digests import ItemDigests, NewItems, digest
from fim_private.spark.row_reader import RowReader
from fim_private.spark.tasks import FAILURE, Batches, collected, run, spark_call

# The last row of a task has no item, and how many entries there were.
_NAMES = pa.schema(
    [
        ("digest", pa.int64()),
        ("number", pa.int64()),
        ("text", pa.string()),
        ("alike", pa.int64()),  # what a text prints like, where that is a number: by that it is ordered
        ("entries", pa.int64()),
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

    kept: what Spark was asked to keep. entries: how many items all rows have together.
    """

    digests: ItemDigests
    frame: Any
    kept: Any
    entries: int

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

    def __call__(self, batches: Batches) -> Batches:
        seen, entries = NewItems(), 0
        for rows in self.reader.rows(batches, self.reader.labels(seen, 0)):
            entries += len(rows.codes)
            fresh, seen.fresh = seen.fresh, []
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([digest(item, self.salt) for item in fresh], pa.int64()),
                    pa.array([item if isinstance(item, int) else None for item in fresh], pa.int64()),
                    pa.array([item if isinstance(item, str) else None for item in fresh], pa.string()),
                    pa.array([_alike(item) for item in fresh], pa.int64()),
                    pa.array([0] * len(fresh), pa.int64()),
                ],
                schema=_NAMES,
            )
        yield pa.RecordBatch.from_pylist([{"entries": entries}], schema=_NAMES)


def _alike(item: Item) -> int | None:
    return int(item) if isinstance(item, str) and re.fullmatch(INTEGER_TOKEN, item) else None


def numbered(frame: Any, reader: RowReader) -> ItemNames:
    """Return the items of a DataFrame. Items of one digest get others, by another salt."""
    for salt in range(_SALTS):
        names = run(frame, _Names(reader, salt), _NAMES, ours=False)
        with spark_call():
            names = names.groupBy("digest", *_ORDER, FAILURE).sum("entries").coalesce(_NAME_PARTS).persist()
            order = [names[column].asc_nulls_last() for column in _ORDER]
        try:
            found = collected(names.orderBy(*order).select("digest", "sum(entries)", FAILURE))
        except BaseException:
            names.unpersist()
            raise
        entries = sum(found.column("sum(entries)").to_pylist())
        digests = found.column("digest").drop_null().to_numpy()
        if len(np.unique(digests)) == len(digests):
            kept = names.where(names["digest"].isNotNull()).select("digest", "number", "text")
            return ItemNames(ItemDigests(digests, salt), kept, names, entries)
        names.unpersist()
    raise DataError("the items of these purchases cannot be told apart")  # one in 2^5000 or so
