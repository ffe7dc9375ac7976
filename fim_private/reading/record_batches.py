"""Anything that arrives as Arrow record batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fim_private.reading.assembly import KeyedRows, assemble, runs
from fim_private.reading.columns import Column, ReadAs, Roles, Wanted, choose
from fim_private.reading.labels import (
    INTEGER_TOKEN,
    ArrowLabels,
    Codes,
    Item,
    Labels,
    PythonLabels,
    as_texts,
    is_list_type,
)
from fim_private.reading.matrices import rows_of_columns
from fim_private.reading.options import InputForm, Options, apply_rule
from fim_private.reading.other_readings import FirstCells, split_cells
from fim_private.reading.row_filter import passing
from fim_private.reading.transactions import Transactions, segment_numbers
from fim_private.reading.values import arrow_of, null_mask, numpy_of, present
from fim_private.reading.where import columns_of

# -------------------- identifiers
# Identifiers of baskets and users: when two are one.
#
# Two are one if their values are equal, whatever their column's type, and whatever order its rows are in: a rule that
# another unit's rows cannot change. Which stand for none `missing_values` says.


def by_value(ids: pa.Array) -> pa.Array:
    """Return the identifiers in a type that Arrow compares and hashes, where equal values have equal bits.

    ids: (rows,) Arrow array of any type; nulls stay.
    """
    kind = ids.type
    if pa.types.is_dictionary(kind):
        return by_value(ids.dictionary_decode()) if _has_other_form(kind.value_type) else ids
    if pa.types.is_float16(kind):
        return by_value(ids.cast(pa.float32()))
    if pa.types.is_floating(kind):
        # -0.0 equals 0.0 but hashes otherwise; -0.0 + 0.0 is 0.0.
        return pc.add(ids, arrow_of(np.zeros(1, dtype=kind.to_pandas_dtype()))[0])
    return ids.cast(pa.decimal128(kind.precision, kind.scale)) if _is_short_decimal(kind) else ids


def _has_other_form(kind: pa.DataType) -> bool:
    """Tell whether by_value changes identifiers of this type."""
    return bool(pa.types.is_floating(kind) or _is_short_decimal(kind))


def _is_short_decimal(kind: pa.DataType) -> bool:
    """Tell whether a type is a decimal of less than 128 bits."""
    return bool(pa.types.is_decimal(kind) and kind.bit_width < 128)


# -------------------- joint items
# What several columns name together: an item by a department and a brand, a basket by a customer and a date, say.

_BETWEEN = " | "
# So that "a | b" beside "c" is not "a" beside "b | c".
_ESCAPES = (("\\", "\\\\"), ("|", "\\|"))
# What is left where all parts are missing; a value's own bar has a backslash before it.
_NOTHING = r"^[| ]*$"


def joint_items(columns: Sequence[pa.Array]) -> pa.Array:
    """Return the texts of several columns' values, row by row, with a bar between them: (rows,) Arrow dictionary.

    columns: (rows,) Arrow arrays of any type that can be labels. A missing value is an empty part; where all are
    missing there is no item. Bars and backslashes inside of values have a backslash before them, so that different
    values make different items. Raises DataError for a column that cannot be labels.

    >>> joint_items([pa.array(["DAIRY", "DAIRY", None]), pa.array([1, None, None])]).to_pylist()
    ['DAIRY | 1', 'DAIRY |', None]
    """
    texts, code = _parts(columns[0])
    for column in columns[1:]:
        more, other = _parts(column)
        # Only what occurs together is joined.
        pairs = arrow_of(code.astype(np.int64) * len(more) + other).dictionary_encode()
        first, second = np.divmod(numpy_of(pairs.dictionary), len(more))
        joined = [texts.take(arrow_of(first)), more.take(arrow_of(second))]
        texts, code = pc.binary_join_element_wise(*joined, _BETWEEN), numpy_of(pairs.indices)
    bare = pc.utf8_trim_whitespace(texts)
    named = pc.if_else(pc.match_substring_regex(bare, _NOTHING), pa.nulls(1, pa.string())[0], bare)
    return pa.DictionaryArray.from_arrays(arrow_of(code), named)


def joint_ids(columns: Sequence[pa.Array]) -> pa.Array:
    """Return identifiers that several columns make together, row by row, equal where all their parts are: (rows,).

    columns: (rows,) Arrow arrays of identifiers, one at least. Where a part is missing there is none, for what is left
    is no name of a basket. Raises DataError for a column that cannot be a text.
    """
    if len(columns) == 1:
        return columns[0]
    missing = np.logical_or.reduce([null_mask(column) for column in columns])
    joined = joint_items(columns)
    return pc.if_else(arrow_of(missing), pa.nulls(1, pa.string())[0], joined.dictionary_decode())


def _parts(column: pa.Array) -> tuple[pa.Array, NDArray[np.integer]]:
    """Return the texts of a column's values, escaped, and "" as the last; and which of them each row has: (rows,)."""
    encoded = column if pa.types.is_dictionary(column.type) else _encoded(column)
    texts = present(as_texts(encoded.dictionary)).fill_null("")
    for plain, escaped in _ESCAPES:
        texts = pc.replace_substring(texts, plain, escaped)
    missing = null_mask(encoded.indices)
    code = np.where(missing, len(texts), numpy_of(encoded.indices))
    return pa.concat_arrays([texts, pa.array([""], texts.type)]), code


def _encoded(column: pa.Array) -> pa.Array:
    """Return a column as one of a dictionary; what Arrow has no dictionary of, as texts."""
    try:
        return column.dictionary_encode()
    except pa.ArrowNotImplementedError:
        return as_texts(column).dictionary_encode()


# -------------------- record batches
# Anything that arrives as Arrow record batches: tables, Parquet, IPC, CSV with a line of column names.


@dataclass(frozen=True)
class ArrowSource:
    """A table that is read in parts.

    name: what errors call it. schema: of all its columns. kind: of source, in a word or two. delimiter, encoding: of a
    text; None elsewhere. tokens: the columns of texts that are integers where they print so. folders: the columns that
    the names of folders say; they are no columns of items unless they are named.
    used: what was said of the dialect that its reader has used already.
    batches: gives record batches with (at least) the columns that are wanted, in order.
    """

    name: str
    schema: pa.Schema
    batches: Callable[[Wanted], Iterable[pa.RecordBatch]]
    kind: str = "table"
    delimiter: str | None = None
    encoding: str | None = None
    tokens: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    used: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether it is text."""
        return self.delimiter is not None

    def columns(self) -> list[Column]:
        """Return what is known of each column: their names and types are public."""
        return [
            replace(column, is_apart=True) if column.name in self.folders else column
            for column in describe(self.schema)
        ]


def read_arrow(source: ArrowSource, options: Options) -> Transactions:
    """Read baskets from record batches: a column of lists, one row per item, or columns of items (wide or one-hot).

    Raises DataError for columns that cannot play their part, ParameterError if columns are named where all are boolean.
    """
    if not source.is_text:
        options = replace(options, dialect=options.dialect.without(source.used))
        options.dialect.refuse_for(source.name)
    roles = choose(source.columns(), options, source.name)
    encoder = Encoder.of(source, roles)
    read_as = ReadAs.of_table(
        source.schema.names, roles, kind=source.kind, delimiter=source.delimiter, encoding=source.encoding
    )
    number = 0

    first = FirstCells(items_name(source.name, roles), is_asked=roles.may_hold_lists)

    def rows() -> Iterator[KeyedRows]:
        nonlocal number
        for part in _sliced(source, roles):
            batch = chosen(part, roles, source.name)
            number += len(batch)
            first.see(_column(batch, roles.values[0]))
            yield keyed_rows(batch, roles, encoder, source.name)
        first.done()

    found = assemble(rows(), encoder.labels)
    return replace(found, read_as=read_as, rows=number)


@dataclass(frozen=True)
class Encoder:
    """Item labels, and the code of each column where columns are items: (columns,) int32 provisional."""

    labels: Labels
    columns: Codes | None = None

    @classmethod
    def of(cls, source: ArrowSource, roles: Roles) -> Self:
        """Return what encodes the items of a source."""
        if roles.form is InputForm.ONE_HOT:
            names = PythonLabels(fold_case=roles.fold_case)
            said = [_token(name) if name in source.tokens else name for name in roles.values]
            return cls(names, names.encode(said))
        where = items_name(source.name, roles)
        return cls(ArrowLabels(where, text=has_tokens(source, roles), fold_case=roles.fold_case))


def items_name(source: str, roles: Roles) -> str:
    """Return what errors call the items of a source."""
    return source if roles.form is InputForm.WIDE else f"column {roles.values[0]!r} of {source}"


def has_tokens(source: ArrowSource, roles: Roles) -> bool:
    """Tell whether items are texts of which those that print as integers are some."""
    # A column of nulls says nothing of how the others are read.
    kinds = {kind for name in roles.values if not pa.types.is_null(kind := source.schema.field(name).type)}
    return len(kinds) > 1 or not source.tokens.isdisjoint(roles.values)


def _token(name: str) -> Item:
    """Return a name in a text as a label: what prints like an integer is one."""
    name = name.strip()
    return int(name) if re.fullmatch(INTEGER_TOKEN, name) else name


def table_source(table: Any) -> ArrowSource:
    """Return a pyarrow Table, RecordBatch or RecordBatchReader as a source."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    batches = table.to_batches() if isinstance(table, pa.Table) else table
    return ArrowSource("the table", table.schema, lambda wanted: batches)


def describe(schema: pa.Schema) -> list[Column]:
    """Return what the schema says of each column: their names and types are public."""
    return [Column(f.name, str(f.type), is_list_type(f.type), _is_nested(f.type), _is_number(f.type)) for f in schema]


def wide_rows(columns: Sequence[Any], labels: Labels) -> KeyedRows:
    """Return the rows of a table with a column for each place in a basket.

    columns: (rows,) each, as labels takes them.
    """
    codes = np.column_stack([labels.encode(column) for column in columns])
    return KeyedRows(np.full(len(codes), len(columns), dtype=np.int32), codes.ravel())


def keyed(values: Any, baskets: Any, users: Any, segments: Any = None, *, is_list: bool, labels: Labels) -> KeyedRows:
    """Return the rows of one chunk.

    values: (rows,) lists if is_list, else single items, as labels takes them. baskets, users, segments: (rows,) Arrow
    arrays, None where there are no such keys; single items have baskets.
    """
    baskets, users = (None if ids is None else by_value(ids) for ids in (baskets, users))
    if is_list:
        lengths, codes = labels.encode_lists(values)
        return KeyedRows(lengths, codes, baskets, users, segments)
    return runs(labels.encode(values), baskets, users, segments)


def _is_nested(kind: Any) -> bool:
    """Tell whether a type is one of lists, structs or maps, also inside a dictionary or an extension type."""
    if pa.types.is_dictionary(kind):
        return _is_nested(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return _is_nested(kind.storage_type)
    return bool(pa.types.is_nested(kind))


def _is_number(kind: Any) -> bool:
    """Tell whether a type is one of booleans, integers or floating-point numbers."""
    return bool(pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind))


def keyed_rows(batch: pa.RecordBatch, roles: Roles, encoder: Encoder, source: str) -> KeyedRows:
    """Return the rows of one batch; those without a basket id are left out, those without a user go by the rule."""
    if roles.user in roles.basket:  # who is not named has no basket either, and is asked about all the same
        _, stays = apply_rule(_column(batch, roles.user), roles.missing_user, roles.user, source)
        batch = batch if stays is None else batch.filter(stays)
    for name in roles.basket:
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, name, present(batch.column(place)))
        if batch.column(place).null_count:
            batch = batch.filter(batch.column(place).is_valid())
    users = None
    if roles.user is not None:
        users, stays = apply_rule(_column(batch, roles.user), roles.missing_user, roles.user, source)
        batch = batch if stays is None else batch.filter(stays)
    baskets = joint_ids([_column(batch, name) for name in roles.basket]) if roles.basket else None
    segments = None if roles.by is None else segment_numbers(roles.by, _column(batch, roles.by.column))
    columns = [_column(batch, name) for name in roles.values]
    if roles.form in (InputForm.LONG, None):
        items = items_of(columns) if roles.split is None else split_cells(columns[0], roles.split)
        return keyed(items, baskets, users, segments, is_list=roles.is_list, labels=encoder.labels)
    if encoder.columns is None:
        rows = wide_rows(_alike(columns), encoder.labels)
    else:
        rows = rows_of_columns(columns, roles.values, encoder.columns, source, quantities=roles.quantities)
    return with_keys(rows, baskets, users, segments)


def chosen(batch: pa.RecordBatch, roles: Roles, source: str) -> pa.RecordBatch:
    """Return the rows of a batch that are to be read, with the columns that are needed, in a plain form."""
    names = roles.names
    batch = pa.RecordBatch.from_arrays([plain(_column(batch, name)) for name in names], names=names)
    if roles.where is not None:
        looked_at = {name: _column(batch, name) for name in columns_of(roles.where)}
        batch = batch.filter(passing(roles.where, looked_at, source))
    if roles.by is not None:
        batch = batch.filter(segment_numbers(roles.by, _column(batch, roles.by.column)).is_valid())
    return batch


def items_of(columns: Sequence[Any]) -> Any:
    """Return what names the item of each row, or its list: the only column, or several together."""
    return columns[0] if len(columns) == 1 else joint_items(columns)


def with_keys(rows: KeyedRows, baskets: Any, users: Any, segments: Any) -> KeyedRows:
    """Return rows with the keys they belong to: (rows,) Arrow arrays, None where there are no such keys."""
    keys = (("baskets", baskets), ("users", users), ("segments", segments))
    return replace(rows, **{name: by_value(ids) for name, ids in keys if ids is not None})


def _alike(columns: list[pa.Array]) -> list[pa.Array]:
    """Return columns of one type: as they are, or, where they differ, as texts."""
    kinds = {column.type for column in columns if not pa.types.is_null(column.type)}
    return columns if len(kinds) < 2 else [as_texts(column) for column in columns]


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return the column of that name."""
    return batch.column(batch.schema.get_field_index(name))


def plain(column: Any) -> Any:
    """Return a column, (n,), in a form that Arrow can leave rows out of: no extension type, no view. Lists stay."""
    if not isinstance(column, pa.Array):
        return column
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_string_view(column.type):
        return column.cast(pa.string())
    return column.cast(pa.binary()) if pa.types.is_binary_view(column.type) else column


def _sliced(source: ArrowSource, roles: Roles) -> Iterator[pa.RecordBatch]:
    """Yield batches of bounded size, at least one."""
    size = roles.rows_at_a_time
    # The first is empty: types are checked even when there are no rows.
    yield empty_batch(source.schema, roles.names)
    for batch in source.batches(roles.wanted):
        for start in range(0, len(batch), size):
            yield batch.slice(start, size)


def empty_batch(schema: pa.Schema, names: list[str]) -> pa.RecordBatch:
    """Return a batch of these columns without rows."""
    fields = [schema.field(name) for name in names]
    try:
        columns = [pa.nulls(0, field.type) for field in fields]
    except KeyError:  # a type that Arrow has, but not for Python, such as intervals of months
        raise pa.ArrowNotImplementedError("there are no arrays of this type") from None
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
