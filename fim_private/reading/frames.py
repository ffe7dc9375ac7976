"""Purchases in memory: lists, frames, Arrow objects."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError
from fim_private.reading import matrices, memory
from fim_private.reading.assembly import KeyedRows, assemble
from fim_private.reading.columns import Column, ReadAs, Roles, Wanted, choose, shown_type
from fim_private.reading.files import READABLE
from fim_private.reading.labels import ArrowLabels, Codes, Labels, PythonLabels, is_list_type
from fim_private.reading.matrices import as_presence, rows_at_a_time, rows_of_cells, rows_of_columns
from fim_private.reading.options import InputForm, Options, Segments, apply_rule
from fim_private.reading.other_readings import SAMPLE, FirstCells, split_cells
from fim_private.reading.record_batches import (
    ArrowSource,
    joint_ids,
    joint_items,
    keyed,
    plain,
    read_arrow,
    table_source,
    wide_rows,
    with_keys,
)
from fim_private.reading.row_filter import passing
from fim_private.reading.transactions import Transactions, segment_numbers
from fim_private.reading.values import is_missing, null_mask, numpy_of, present
from fim_private.reading.where import columns_of

# -------------------- basket lists
# Baskets in memory that are lists: any iterable of collections of items, and Arrow arrays of lists.


def read_iterable(baskets: Iterable[object], options: Options) -> Transactions:
    """Read any iterable of collections of items, once, a chunk at a time.

    Raises DataError for a basket that is no collection of integers and strings, ParameterError if columns were named.
    """
    options.refuse("an iterable of baskets")
    labels = PythonLabels(fold_case=options.fold_case)
    iterator = iter(baskets)
    chunks = iter(lambda: list(islice(iterator, memory.LIST_ROWS)), [])
    return assemble((KeyedRows(*labels.encode_lists(chunk)) for chunk in chunks), labels)


def read_list_array(array: pa.Array | pa.ChunkedArray, options: Options) -> Transactions:
    """Read an Arrow array of lists, each a basket; a null list is an empty one.

    Raises DataError for an array of anything else, ParameterError if columns were named.
    """
    options.refuse("an array of baskets")
    if not is_list_type(array.type):
        raise DataError(f"each basket must be a collection of items, not {shown_type(array.type)}")
    labels = ArrowLabels("the array", fold_case=options.fold_case)
    return assemble((KeyedRows(*labels.encode_lists(part)) for part in _parts(array)), labels)


def _parts(array: pa.Array | pa.ChunkedArray) -> Iterator[pa.Array]:
    """Yield the array a chunk at a time."""
    for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else [array]:
        for start in range(0, len(chunk), memory.LIST_ROWS):
            yield chunk[start : start + memory.LIST_ROWS]


# -------------------- frames
# Frames of pandas and polars, and their series.
#
# Neither library is ever imported: a frame can only be here if its library already is.

_BOOLEAN = ("bool", "boolean", "bool[pyarrow]")
_PYTHON_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)


def is_instance(source: object, module: str, *names: str) -> bool:
    """Tell whether source is one of the classes of these names, without importing the module they are in."""
    loaded = sys.modules.get(module)
    classes = tuple(getattr(loaded, name) for name in names if hasattr(loaded, name))
    return isinstance(source, classes)


def read_pandas(frame: Any, options: Options) -> Transactions:
    """Read a pandas frame: a list column, one row per item, or one boolean column per item.

    Raises DataError for columns that cannot play their part, ParameterError if columns are named where all are boolean.
    """
    options.dialect.refuse_for("a frame")
    dtypes = [_dense_name(dtype) for dtype in frame.dtypes]
    roles = choose(describe_pandas(frame), options, "the frame")
    if roles.where is not None:
        looked_at = {name: _comparable(frame[name], name) for name in columns_of(roles.where)}
        passes = passing(roles.where, looked_at, "the frame")
        frame = frame[numpy_of(passes) & ~null_mask(passes)]
    if roles.by is not None:
        frame = frame[~null_mask(_segment_numbers(frame, roles.by))]
    one_hot = roles.form is InputForm.ONE_HOT
    only_items = one_hot and not roles.fold_case and [*frame.columns] == roles.names
    if only_items and (all(dtype in _BOOLEAN for dtype in dtypes) or (_is_sparse(frame) and not roles.quantities)):
        found = _read_pandas_one_hot(frame)
    else:
        labels: Labels = PythonLabels(fold_case=roles.fold_case)
        codes = labels.encode(list(roles.values)) if one_hot else None
        is_joint = roles.form is InputForm.LONG and len(roles.values) > 1
        if (
            is_joint
            or roles.split is not None
            or (not one_hot and _is_of_one_arrow_type([frame[name] for name in roles.values]))
        ):
            where = f"column {roles.values[0]!r} of the frame" if len(roles.values) == 1 else "the frame"
            labels = ArrowLabels(where, fold_case=roles.fold_case)
        first = FirstCells(f"column {roles.values[0]!r} of the frame", is_asked=roles.may_hold_lists)
        if roles.may_hold_lists:
            first.see(_comparable(frame[roles.values[0]].head(SAMPLE), roles.values[0]))
            first.done()
        found = assemble(_pandas_rows(frame, roles, labels, codes), labels)
    return replace(found, read_as=ReadAs.of_table([*map(str, frame.columns)], roles, kind="frame"), rows=len(frame))


def describe_pandas(frame: Any) -> list[Column]:
    """Return what is known of the columns of a pandas frame."""
    return [_column(frame, index) for index in range(len(frame.columns))]


def read_polars(frame: Any, options: Options) -> Transactions:
    """Read a polars frame: a list column, one row per item, or one boolean column per item. Raises as read_pandas."""
    # Arrow would be given the addresses of Python objects, in place of what they are.
    objects = [name for name, dtype in frame.schema.items() if str(dtype) == "Object"]
    for _, name in options.named():
        if name in objects:
            raise DataError(f"column {name!r} of the frame holds Python objects; cast it to strings or integers first")
    return read_arrow(table_source(polars_to_arrow(frame.drop(objects))), options)


def polars_to_arrow(frame: Any) -> pa.Table:
    """Return a polars frame as an Arrow table. Raises DataError for a type that polars cannot hand on."""
    try:
        return frame.to_arrow()
    except BaseException as error:  # a panic of Rust is no Exception
        if type(error).__name__ != "PanicException":
            raise
        raise DataError("the frame has a column that cannot be read; cast it to strings or integers first") from None


def as_arrow(series: Any) -> pa.ChunkedArray | pa.Array | None:
    """Return a pandas or polars Series as an Arrow array, (n,), if that keeps every element as it is, else None."""
    if is_instance(series, "polars", "Series"):
        return None if str(series.dtype) == "Object" else series.to_arrow()
    return pa.array(series, from_pandas=True) if _as_arrow(series) else None


def _as_arrow(series: Any) -> bool:
    """Tell whether Arrow keeps every element of a pandas series as it is."""
    # In an object column every element has a type of its own: Arrow would guess one from all of them.
    if str(series.dtype) == "category":
        return str(series.cat.categories.dtype) != "object"
    return str(series.dtype) != "object"


def _dense_name(dtype: Any) -> str:
    """Return the name of a pandas type, of a sparse one that of its elements."""
    return str(getattr(dtype, "subtype", dtype))


def _is_number(dtype: str) -> bool:
    """Tell whether the name of a pandas type is one of numbers or booleans."""
    return dtype.lower().removeprefix("u").startswith(("int", "float", "double", *_BOOLEAN))


def _column(frame: Any, index: int) -> Column:
    """Return what is known of a pandas column; one of objects is judged by its first value."""
    name, series = frame.columns[index], frame.iloc[:, index]
    dtype = str(series.dtype)
    if dtype == "object":
        first = next((value for value in series if not is_missing(value)), None)
        is_list = isinstance(first, _PYTHON_COLLECTIONS)
        return Column(name, "lists" if is_list else dtype, is_list)
    kind = getattr(series.dtype, "pyarrow_dtype", None)
    if kind is None:
        return Column(name, _dense_name(series.dtype), is_number=_is_number(_dense_name(series.dtype)))
    return Column(name, str(kind), is_list_type(kind), bool(pa.types.is_nested(kind)), _is_number(str(kind)))


def _pandas_rows(frame: Any, roles: Roles, labels: Labels, codes: Codes | None) -> Iterator[KeyedRows]:
    """Yield the rows of a pandas frame a chunk at a time, at least one chunk.

    codes: of the columns, where they are items; None elsewhere.
    """
    if roles.user in roles.basket:  # who is not named has no basket either, and is asked about all the same
        _, stays = apply_rule(_key(frame[roles.user], roles.user), roles.missing_user, roles.user, "the frame")
        frame = frame if stays is None else frame[numpy_of(stays)]
    for name in roles.basket:
        frame = frame[~null_mask(_key(frame[name], name))]
    users = None
    if roles.user is not None:
        users, stays = apply_rule(_key(frame[roles.user], roles.user), roles.missing_user, roles.user, "the frame")
        frame = frame if stays is None else frame[numpy_of(stays)]
    parts_of_id = [_key(frame[name], name) for name in roles.basket]
    segments = None if roles.by is None else _segment_numbers(frame, roles.by)
    columns = [_sliceable(frame[name]) for name in roles.values]
    if roles.form is InputForm.WIDE and isinstance(labels, PythonLabels):
        # Beside texts, numbers are floats where one is missing.
        columns = [[*map(_exact, frame[name].tolist())] for name in roles.values]
    elif roles.form is InputForm.LONG and len(columns) > 1:
        columns = [joint_items([_comparable(frame[name], name) for name in roles.values])]
    elif roles.split is not None:
        columns = [_comparable(frame[roles.values[0]], roles.values[0])]
    size = roles.rows_at_a_time
    for start in range(0, max(1, len(frame)), size):
        parts = [plain(_one(column[start : start + size])) for column in columns]
        baskets = joint_ids([part[start : start + size] for part in parts_of_id]) if parts_of_id else None
        keys = [baskets, *(None if key is None else key[start : start + size] for key in (users, segments))]
        if codes is not None:
            rows = rows_of_columns(parts, roles.values, codes, "the frame", quantities=roles.quantities)
            yield with_keys(rows, *keys)
        elif roles.form is InputForm.WIDE:
            yield with_keys(wide_rows(parts, labels), *keys)
        else:
            items = parts[0] if roles.split is None else split_cells(parts[0], roles.split)
            yield keyed(items, *keys, is_list=roles.is_list, labels=labels)


def _segment_numbers(frame: Any, segments: Segments) -> pa.Array:
    """Return the place of each row's segment in the list, null for none: (rows,) Arrow int32."""
    return segment_numbers(segments, _comparable(frame[segments.column], segments.column))


def _comparable(series: Any, name: str) -> pa.Array:
    """Return a column as an Arrow array to compare; one of Python objects by the texts of each of them."""
    values = _sliceable(series)
    if isinstance(values, list):
        texts = [None if is_missing(value) else _as_text(value) for value in values]
        return pa.array(texts, pa.large_string())
    try:
        return plain(_one(values))
    except pa.ArrowException:
        raise DataError(f"column {name!r} of the frame cannot be compared; make it strings or numbers") from None


def _as_text(value: object) -> str:
    """Return a Python object as the text that a column of texts would have in its place."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, date | np.datetime64):
        return value.isoformat() if isinstance(value, date) else str(value)
    number = _exact(value)
    text = number.decode("utf-8", "replace") if isinstance(number, bytes) else str(number)
    return text.encode("utf-8", "replace").decode()


def _sliceable(series: Any) -> Any:
    """Return a series as an Arrow array, or, of Python objects, as a list of them."""
    if hasattr(series.dtype, "subtype"):
        series = series.sparse.to_dense()
    converted = as_arrow(series)
    return series.tolist() if converted is None else converted


def _is_of_one_arrow_type(columns: list[Any]) -> bool:
    """Tell whether Arrow keeps every element of these series as it is, all of one type."""
    return all(map(_as_arrow, columns)) and len({str(column.dtype) for column in columns}) == 1


def _key(series: Any, name: str) -> pa.Array:
    """Return what tells identifiers apart, null for a missing one: (rows,) Arrow array."""
    with _identifier_errors(name):
        return present(plain(_one(pa.array(series, from_pandas=True)))) if _as_arrow(series) else _numbers(series)


def _numbers(objects: Iterable[object]) -> pa.Array:
    """Return a number for each distinct Python object, null where it stands for none.

    Two objects are one if they are equal and have the same hash, as in a dict. pandas' factorize looks at == alone
    where it happens to compare two, which depends on all others: 0.1 and numpy.float32(0.1) were sometimes one.
    """
    numbers: dict[object, int] = {}
    codes = [-1 if is_missing(value) else numbers.setdefault(_exact(value), len(numbers)) for value in objects]
    found = np.array(codes, dtype=np.int64)
    return pa.array(found, mask=found < 0)


def _exact(value: object) -> object:
    """Return numpy's numbers as Python's, and whole floats as integers: numpy compares large ones as if rounded.

    Texts have no white space around them.
    """
    if isinstance(value, str | bytes):
        return value.strip()
    number = value.item() if isinstance(value, np.number) else value
    return int(number) if isinstance(number, float) and number.is_integer() else number


@contextmanager
def _identifier_errors(name: str) -> Iterator[None]:
    """Turn what converting identifiers raises into a DataError that names the column: a context manager."""
    try:
        yield
    except (TypeError, pa.ArrowException):
        raise DataError(f"column {name!r} of the frame cannot be an identifier; make it strings or integers") from None


def _one(values: Any) -> Any:
    """Return a chunked Arrow array as one array, and anything else as it is."""
    if not isinstance(values, pa.ChunkedArray):
        return values
    return (
        values.unify_dictionaries().combine_chunks() if pa.types.is_dictionary(values.type) else values.combine_chunks()
    )


def _is_sparse(frame: Any) -> bool:
    """Tell whether every column of a pandas frame keeps what is not 0 only."""
    return all(hasattr(dtype, "subtype") and not dtype.fill_value for dtype in frame.dtypes)


def _read_pandas_one_hot(frame: Any) -> Transactions:
    """Read a pandas frame of one boolean column for each item."""
    labels = PythonLabels()
    columns = labels.encode(frame.columns.tolist())
    if _is_sparse(frame):
        return assemble(_sparse_column_rows(frame, columns), labels)
    size = rows_at_a_time(len(frame.columns))
    parts = (frame.iloc[start : start + size] for start in range(0, len(frame), size))
    return assemble((rows_of_cells(part.to_numpy(dtype=bool, na_value=False), columns) for part in parts), labels)


def _sparse_column_rows(frame: Any, column_codes: Any) -> Iterator[KeyedRows]:
    """Turn sparse columns into rows without making them dense."""
    arrays = [frame.iloc[:, index].array for index in range(len(column_codes))]
    present = [array.sp_index.indices[as_presence(array.sp_values, "a column of the frame")] for array in arrays]
    row = np.concatenate(present).astype(np.int64)
    column = np.repeat(np.arange(len(present)), [len(rows) for rows in present])
    key = (row << 32) | column
    key.sort()
    yield KeyedRows(np.bincount(key >> 32, minlength=len(frame)), column_codes[key & 0xFFFFFFFF])


# -------------------- arrow objects
# What libraries hand over as Arrow: tables, readers, datasets, relations of DuckDB, and all with an Arrow stream.


def arrow_object(source: Any) -> ArrowSource | None:
    """Return an object as a table that is read in parts; None for what is none of these. Raises ArrowException.

    Of a dataset, and of a relation, only the columns that are wanted are asked for, and they can be read again.
    """
    if isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return table_source(source)
    if is_instance(source, "pyarrow.dataset", "Dataset"):
        return ArrowSource("the dataset", source.schema, lambda wanted: _scanned(source, wanted), kind="dataset")
    if is_instance(source, "pyarrow.dataset", "Scanner"):
        return table_source(source.to_reader())
    if is_instance(source, "duckdb", "DuckDBPyRelation"):
        return _relation(source)
    return None


def stream_source(source: Any) -> ArrowSource:
    """Return what has an Arrow stream as a table that can be read once. Raises ArrowException."""
    return table_source(pa.RecordBatchReader.from_stream(source))


def _scanned(dataset: Any, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Yield the columns of a dataset that are wanted."""
    # Little is read ahead: what is in flight stays small beside what was read.
    scanner = dataset.scanner(
        columns=wanted.names, batch_size=wanted.rows_at_a_time, batch_readahead=1, fragment_readahead=1
    )
    return iter(scanner.to_batches())


def _relation(relation: Any) -> ArrowSource:
    """Return a relation of DuckDB as a table: its columns are public, and the rows come when they are asked for."""
    with _DuckErrors():
        schema = _reader(relation.limit(0), 1).schema

    def batches(wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """Yield the columns that are wanted."""
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in wanted.names)
        with _DuckErrors():
            yield from _reader(relation.project(columns), wanted.rows_at_a_time)

    return ArrowSource("the relation", schema, batches, kind="relation")


def _reader(relation: Any, rows: int) -> pa.RecordBatchReader:
    """Return what yields the rows of a relation. rows: at a time."""
    # Its name before DuckDB 1.4.
    method = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    return method(rows)


class _DuckErrors:
    """Turns DuckDB's errors, which may quote values, into a DataError: a context manager."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is not None and kind.__module__.partition(".")[0] in ("duckdb", "_duckdb"):
            raise DataError(f"the relation cannot be read ({kind.__name__}); run it yourself to see why") from None


# -------------------- in memory
# Purchases in memory: which reader an object goes to, by its type.


def read_object(source: Any, options: Options) -> Transactions:
    """Read purchases in memory, by their type. Raises DataError for a type that cannot be read."""
    if (table := arrow_object(source)) is not None:
        return read_arrow(table, options)
    if is_instance(source, "pandas", "DataFrame"):
        return read_pandas(source, options)
    if is_instance(source, "polars", "LazyFrame"):
        source = source.collect()
    if is_instance(source, "polars", "DataFrame"):
        return read_polars(source, options)
    if is_instance(source, "scipy.sparse", "spmatrix", "sparray"):
        return matrices.read_sparse(source, options)
    if isinstance(source, np.ndarray) and (source.ndim != 1 or source.dtype != object):
        return matrices.read_array(source, options)
    if (instead := _instead_of(source)) is not None:
        raise DataError(f"cannot read baskets from {type(source).__name__}; {instead}")
    array = as_arrow(source) if is_series(source) else source
    if isinstance(array, pa.Array | pa.ChunkedArray):
        return read_list_array(array, options)
    if hasattr(source, "__arrow_c_stream__") and not is_series(source):
        return read_arrow(stream_source(source), options)
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return read_iterable(source, options)
    raise DataError(
        f"cannot read baskets from {type(source).__name__}; give a table, a frame, an iterable of baskets, "
        f"or the path of one of: {READABLE}"
    )


def _instead_of(source: object) -> str | None:
    """Return what to give instead of what can be iterated over, but not as baskets; None for anything else."""
    if isinstance(source, Mapping):
        return "give its values()"
    if hasattr(source, "readline"):
        return "give the path of the file"
    if type(source).__name__ in ("SeriesGroupBy", "DataFrameGroupBy", "GroupBy"):
        return "give the items of each group: groupby(...)[...].agg(list)"
    return None


def list_table(source: Any, names: list[str] | None) -> ArrowSource | None:
    """Return an object as a table that has a list of items; None for what is none. Raises ArrowException.

    names: of the columns that are wanted, none where none are named. Raises DataError for columns that Arrow does not
    have.
    """
    if (table := arrow_object(source)) is not None:
        return table
    if is_instance(source, "polars", "LazyFrame"):
        source = source.collect()
    if is_instance(source, "pandas", "DataFrame") or is_instance(source, "polars", "DataFrame"):
        columns = [*source.columns]
        if len({*columns}) < len(columns):
            raise DataError("the catalogue has two columns of one name; give the column of items alone")
        if names and {*names} <= {*columns}:
            source = source[list(dict.fromkeys(names))]  # others need not be of Arrow's types
        return table_source(_table_of(source))
    has_stream = hasattr(source, "__arrow_c_stream__") and not is_series(source)
    return stream_source(source) if has_stream and not isinstance(source, pa.ChunkedArray) else None


def _table_of(frame: Any) -> pa.Table:
    """Return a frame as an Arrow table. Raises DataError for columns that Arrow does not have."""
    try:
        return polars_to_arrow(frame) if hasattr(frame, "to_arrow") else pa.table(frame)
    except (TypeError, ValueError, OverflowError):
        raise DataError("the frame cannot be read as a catalogue; give a list of the items") from None


def is_series(source: object) -> bool:
    """Tell whether a source is a series of pandas or polars."""
    return is_instance(source, "pandas", "Series") or is_instance(source, "polars", "Series")
