"""Reads the rows of a table in tasks of Spark as they are read on one machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from fim_private.reading.assembly import KeyedRows
from fim_private.reading.column_roles import Roles
from fim_private.reading.dialect import InputForm
from fim_private.reading.known_labels import KnownLabels
from fim_private.reading.record_batches import Encoder, chosen, empty_batch, items_name, keyed_rows
from fim_private.reading.vocabulary import Item
from fim_private.spark.tasks import Batches

# What Spark calls a timestamp: a moment, which it hands over in the zone of its session.
INSTANT = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class RowReader:
    """Reads rows.

    name: of the table, in errors. roles: of its columns. tokens: whether items are texts of which those that print as
    integers are some.
    """

    name: str
    roles: Roles
    tokens: bool

    @property
    def whole(self) -> bool:
        """Whether rows are as in the source, and not put together of neighbours."""
        return self.roles.is_list or self.roles.form not in (InputForm.LONG, None)

    def labels(self, codes: Mapping[Item, int], count: int) -> KnownLabels:
        """Return labels with these codes, below count."""
        where = items_name(self.name, self.roles)
        return KnownLabels(codes, count, where, text=self.tokens, fold_case=self.roles.fold_case)

    def rows(self, batches: Batches, labels: KnownLabels) -> Iterator[KeyedRows]:
        """Yield the rows of batches whose columns are those of roles.names, in order.

        Raises DataError for what cannot be read.
        """
        for part in self.parts(batches):
            yield keyed_rows(part, self.roles, Encoder(labels), self.name)

    def parts(self, batches: Batches) -> Batches:
        """Yield the rows that are to be read, some at a time. Raises DataError for what cannot be compared."""
        size = self.roles.rows_at_a_time
        for numbered in map(_in_utc, batches):
            batch = numbered.rename_columns(self.roles.names)
            for start in range(0, len(batch), size):
                yield chosen(batch.slice(start, size), self.roles, self.name)

    def check(self, schema: pa.Schema) -> None:
        """Raise DataError for types that cannot be read, before anything is."""
        part = chosen(empty_batch(schema, self.roles.names), self.roles, self.name)
        keyed_rows(part, self.roles, Encoder(self.labels({}, 0)), self.name)


def _in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with all moments in UTC, so that no setting changes a label or a comparison."""
    moments = [place for place, kind in enumerate(batch.schema.types) if pa.types.is_timestamp(kind) and kind.tz]
    for place in moments:
        batch = batch.set_column(place, batch.schema.field(place).name, batch.column(place).cast(INSTANT))
    return batch
