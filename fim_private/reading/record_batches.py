"""Anything that arrives as Arrow record batches: tables, Parquet, IPC, long CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fim_private.reading import chunk_sizes
from fim_private.reading.arrow_labels import ArrowLabels, is_list_type
from fim_private.reading.arrow_numpy import null_mask, numpy_of
from fim_private.reading.assembly import KeyedRows, assemble, runs
from fim_private.reading.column_roles import Column, Options, Roles, choose
from fim_private.reading.identifiers import by_value
from fim_private.reading.labels import Labels
from fim_private.reading.matrices import rows_at_a_time, rows_of_cells
from fim_private.reading.missing_users import apply_rule
from fim_private.reading.missing_values import present
from fim_private.reading.python_labels import PythonLabels
from fim_private.reading.transactions import Transactions


@dataclass(frozen=True)
class ArrowSource:
    """A table that is read in parts.

    name: what errors call it. schema: of all its columns. text: every column is text, and items are tokens.
    batches: gives record batches with (at least) the columns that the roles name, of all without roles, in order.
    """

    name: str
    schema: pa.Schema
    batches: Callable[[Roles | None], Iterable[pa.RecordBatch]]
    text: bool = False


def read_arrow(source: ArrowSource, options: Options) -> Transactions:
    """Read baskets from record batches: a list column, one row per item, or one boolean column per item.

    Raises DataError for columns that cannot play their part, ParameterError if columns are named where all are boolean.
    """
    if is_one_hot(source.schema):
        options.refuse("a table of one true/false column per item")
        return _read_one_hot(source)
    roles = choose(describe(source.schema), options, source.name)
    labels = ArrowLabels(f"column {roles.values!r} of {source.name}", text=source.text)
    return assemble((_rows(batch, roles, labels, source.name) for batch in _sliced(source, roles)), labels)


def table_source(table: Any) -> ArrowSource:
    """Return a pyarrow Table, RecordBatch or RecordBatchReader as a source."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    batches = table.to_batches() if isinstance(table, pa.Table) else table
    return ArrowSource("the table", table.schema, lambda roles: batches)


def describe(schema: pa.Schema) -> list[Column]:
    """Return what the schema says of each column: their names and types are public."""
    return [Column(f.name, str(f.type), is_list_type(f.type), _is_nested(f.type)) for f in schema]


def is_one_hot(schema: pa.Schema) -> bool:
    """Tell whether there are columns and all are boolean."""
    return len(schema) > 0 and all(pa.types.is_boolean(kind) for kind in schema.types)


def keyed(values: Any, baskets: Any, users: Any, is_list: bool, labels: Labels) -> KeyedRows:
    """Return the rows of one chunk.

    values: (rows,) lists if is_list, else single items, as labels takes them. baskets, users: (rows,) Arrow arrays,
    None where there are no such keys; single items have baskets.
    """
    baskets, users = (None if ids is None else by_value(ids) for ids in (baskets, users))
    if is_list:
        lengths, codes = labels.encode_lists(values)
        return KeyedRows(lengths, codes, baskets, users)
    return runs(labels.encode(values), baskets, users)


def _is_nested(kind: Any) -> bool:
    """Tell whether a type is one of lists, structs or maps, also inside a dictionary or an extension type."""
    if pa.types.is_dictionary(kind):
        return _is_nested(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return _is_nested(kind.storage_type)
    return bool(pa.types.is_nested(kind))


def _rows(batch: pa.RecordBatch, roles: Roles, labels: Labels, source: str) -> KeyedRows:
    """Return the rows of one batch; those without a basket id are left out, those without a user go by the rule."""
    batch = pa.RecordBatch.from_arrays([plain(_column(batch, name)) for name in roles.names], names=roles.names)
    if roles.basket is not None:
        place = batch.schema.get_field_index(roles.basket)
        batch = batch.set_column(place, roles.basket, present(batch.column(place)))
        if batch.column(place).null_count:
            batch = batch.filter(batch.column(place).is_valid())
    users = None
    if roles.user is not None:
        users, stays = apply_rule(_column(batch, roles.user), roles.missing_user, roles.user, source)
        batch = batch if stays is None else batch.filter(stays)
    baskets = None if roles.basket is None else _column(batch, roles.basket)
    return keyed(_column(batch, roles.values), baskets, users, roles.is_list, labels)


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return the column of that name."""
    return batch.column(batch.schema.get_field_index(name))


def plain(column: pa.Array) -> pa.Array:
    """Return a column, (n,), in a form that Arrow can leave rows out of: no extension type, no view."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    return column.cast(pa.binary()) if pa.types.is_binary_view(column.type) else column


def _sliced(source: ArrowSource, roles: Roles) -> Iterator[pa.RecordBatch]:
    """Yield batches of bounded size, at least one."""
    size = chunk_sizes.LIST_ROWS if roles.is_list else chunk_sizes.LONG_ROWS
    # The first is empty: types are checked even when there are no rows.
    yield _empty(source.schema, roles.names)
    for batch in source.batches(roles):
        for start in range(0, len(batch), size):
            yield batch.slice(start, size)


def _empty(schema: pa.Schema, names: list[str]) -> pa.RecordBatch:
    """Return a batch of these columns without rows."""
    fields = [schema.field(name) for name in names]
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in fields], schema=pa.schema(fields))


def _read_one_hot(source: ArrowSource) -> Transactions:
    """Read a table of one boolean column for each item."""
    labels = PythonLabels()
    column_codes = labels.encode(source.schema.names)
    size = rows_at_a_time(len(source.schema))

    def rows() -> Iterator[KeyedRows]:
        """Yield the rows a chunk at a time; a null counts as false."""
        for batch in source.batches(None):
            for start in range(0, len(batch), size):
                part = batch.slice(start, size)
                cells = [numpy_of(column) & ~null_mask(column) for column in part.columns]
                yield rows_of_cells(np.column_stack(cells), column_codes)

    return assemble(rows(), labels)
