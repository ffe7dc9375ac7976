"""Purchases in memory: lists of baskets, frames, matrices, and what libraries hand over as Arrow.

No library is imported for them: a frame can only be here if its library already is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.errors import DataError
from fim_private.reading import memory, record_batches
from fim_private.reading.columns import Column, ReadAs, Roles, Wanted, choose
from fim_private.reading.files import READABLE
from fim_private.reading.labels import Codes, Labels, is_list_type
from fim_private.reading.locations import InMemory, Kind
from fim_private.reading.notations import FirstTexts
from fim_private.reading.options import InputForm, Reading
from fim_private.reading.other_readings import SAMPLE, FirstCells
from fim_private.reading.record_batches import (
    ArrowSource,
    Encoder,
    as_presence,
    items_name,
    read_arrow,
    table_source,
)
from fim_private.reading.transactions import KeyedRows, Transactions, assemble
from fim_private.reading.values import (
    arrow_of,
    integer_or_text,
    is_missing,
    null_where,
    numpy_of,
    shown_type,
)

if TYPE_CHECKING:
    import pyarrow.dataset

# What pandas, polars and others hand over: no library is imported for its types.
PandasFrame = Any
PandasSeries = Any
PolarsFrame = Any
Relation = Any
SparseMatrix = Any

_BOOLEAN = ("bool", "boolean", "bool[pyarrow]")
_PYTHON_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)
_FRAME = "the frame"


# What polars says of the plan of a frame, and of a scan of files, to which nothing was added.
_BARE_PLAN = re.compile(
    r"(DF \[[^\n]*\]; |(Parquet|Csv|IPC|Ipc|NDJSON|NDJson) SCAN \[[^\n]*\]\n)"
    r"PROJECT \*/[0-9]+ COLUMNS(\nESTIMATED ROWS: [0-9]+)?\s*"
)
# How DuckDB begins the query of a relation that is a file, or several, and nothing else.
_FILE_RELATION = re.compile(r"SELECT \* FROM (parquet_scan|read_parquet|read_csv|read_csv_auto)\(")
# How DuckDB begins the plan of a relation that reads a table of its own.
_TABLE_PLAN = re.compile(r"\W*seq[ _]scan\b", re.IGNORECASE)


def may_be_query(source: InMemory) -> bool:
    """Tell whether a query may have chosen the rows of an object.

    It has not if the object holds its rows itself, or is a plain scan of a table or of files. All
    else counts as a query: a stream, a reader, a generator, a frame that is still to be computed.
    """
    match source.kind:
        case Kind.POLARS_LAZY:
            return not _is_bare_lazy_frame(source.data)
        case Kind.DATASET:
            # These options hold the filter of dataset.filter(...).
            return bool(getattr(source.data, "_scan_options", True))
        case Kind.RELATION:
            return not _is_bare_relation(source.data)
        case Kind.READER | Kind.SCANNER | Kind.STREAM:
            return True
        case Kind.OTHER:
            return not isinstance(source.data, Sized)
    return False


def _is_bare_lazy_frame(frame: PolarsFrame) -> bool:
    try:
        plan = frame.explain(optimized=False)
    except Exception:  # what is wrong with it, reading it will say
        return False
    return _BARE_PLAN.fullmatch(plan) is not None


def _is_bare_relation(relation: Relation) -> bool:
    try:
        if relation.type == "TABLE_RELATION":
            # tables of an attached database may be its views
            return _TABLE_PLAN.match(relation.explain()) is not None
        if relation.type == "SUBQUERY_RELATION":
            return _FILE_RELATION.match(relation.sql_query()) is not None
    except Exception:  # what is wrong with it, reading it will say
        return False
    return False


def read_object(source: InMemory, options: Reading) -> Transactions:
    """Read purchases in memory, by their type. Raises DataError for a type that cannot be read."""
    table = arrow_object(source)
    if table is not None:
        return read_arrow(table, options)
    data = source.data
    match source.kind:
        case Kind.PANDAS:
            return _read_pandas(data, options)
        case Kind.POLARS:
            return _read_polars(data, options)
        case Kind.POLARS_LAZY:
            return _read_polars(data.collect(), options)
        case Kind.SPARSE:
            return _read_sparse(data, options)
        case Kind.NUMPY if data.ndim != 1 or data.dtype != object:
            return _read_array(data, options)
    _refuse_near_misses(data)
    array = array_of(source)
    if array is not None:
        return _read_list_array(array, options)
    if source.kind is Kind.STREAM:
        return read_arrow(_stream(data), options)
    if isinstance(data, Iterable) and not isinstance(data, bytes):
        options.refuse("an iterable of baskets")
        iterator = iter(data)
        chunks = iter(lambda: list(islice(iterator, memory.LIST_ROWS)), [])
        return _read_lists(chunks, "the iterable", options)
    raise DataError(
        f"cannot read baskets from {source.shown}; give a table, a frame, an iterable of baskets, "
        f"or the path of one of: {READABLE}"
    )


def _read_polars(frame: PolarsFrame, options: Reading) -> Transactions:
    """Read a polars frame, without its columns of Python objects."""
    # Arrow would be given the addresses of Python objects, in place of what they are.
    objects = [name for name, dtype in frame.schema.items() if str(dtype) == "Object"]
    for _, name in options.named():
        if name in objects:
            raise DataError(
                f"column {name!r} of the frame holds Python objects; cast it to strings or "
                f"integers first"
            )
    return read_arrow(polars_table(frame.drop(objects)), options)


def _refuse_near_misses(source: object) -> None:
    """Raise DataError for an object that is not read, but from which baskets are easily taken."""
    advice = None
    if isinstance(source, Mapping):
        advice = "give its values()"
    elif hasattr(source, "readline"):
        advice = "give the path of the file"
    elif type(source).__name__.endswith("GroupBy"):
        advice = "give the items of each group: groupby(...)[...].agg(list)"
    if advice is not None:
        raise DataError(f"cannot read baskets from {type(source).__name__}; {advice}")


def _read_list_array(array: pa.ChunkedArray, options: Reading) -> Transactions:
    """Read an Arrow array whose elements are lists of items."""
    options.refuse("an array of baskets")
    if not is_list_type(array.type):
        raise DataError(f"each basket must be a collection of items, not {shown_type(array.type)}")
    size = memory.LIST_ROWS
    slices = (
        chunk[start : start + size]
        for chunk in array.chunks
        for start in range(0, len(chunk), size)
    )
    return _read_lists(slices, "the array", options)


def _read_lists(chunks: Iterable[Any], where: str, options: Reading) -> Transactions:
    labels = Labels(where, fold_case=options.fold_case)
    return assemble((KeyedRows(*labels.encode_lists(chunk)) for chunk in chunks), labels)


# Frames of pandas become record batches. In a column of Python objects every element has a type of
# its own (Arrow would guess one from all): ids become a number for each different one, items codes,
# and what is compared or cut a text.


def describe_pandas(frame: PandasFrame) -> list[Column]:
    """Return what is known of a pandas frame's columns; of objects the first value is looked at."""
    return [_described(name, frame.iloc[:, place]) for place, name in enumerate(frame.columns)]


def _described(name: str, series: PandasSeries) -> Column:
    # of a sparse one that of its elements
    type_name = str(getattr(series.dtype, "subtype", series.dtype))
    if type_name == "object":
        first = next((value for value in series if not is_missing(value)), None)
        if isinstance(first, _PYTHON_COLLECTIONS):
            return Column(name, "lists", is_list=True)
        return Column(name, type_name, is_list=False)
    kind = getattr(series.dtype, "pyarrow_dtype", pa.null())
    if not pa.types.is_null(kind):
        type_name = str(kind)
    bare_name = type_name.lower().removeprefix("u")
    is_number = bare_name.startswith(("int", "float", "double", *_BOOLEAN))
    return Column(name, type_name, is_list_type(kind), pa.types.is_nested(kind), is_number)


def _read_pandas(frame: PandasFrame, options: Reading) -> Transactions:
    options.dialect.refuse_for("a frame")
    roles = record_batches.with_own_dates(choose(describe_pandas(frame), options, _FRAME))
    read_as = ReadAs.of_table([*map(str, frame.columns)], roles, kind="frame")
    rows = pa.RecordBatch.from_arrays([arrow_of(np.arange(len(frame)))], names=["row"])
    choosing = {name: _texts(frame, name) for name in roles.choosing}
    first = FirstTexts.of(roles, _FRAME)
    first.see({name: choosing[name] for name in first.columns})
    first.done()
    rows = record_batches.choose_rows(rows, choosing, roles, _FRAME)
    if len(rows) != len(frame):
        frame = frame.iloc[numpy_of(rows.column("row"))]
    # the segments and the days of the rows, if there are any
    beside = {name: rows.column(name) for name in rows.schema.names[1:]}
    transactions = None
    is_one_hot = roles.form is InputForm.ONE_HOT and not roles.fold_case
    if is_one_hot and not beside and [*frame.columns] == roles.names:
        transactions = _read_presence(frame, quantities=roles.quantities)
    if transactions is None:
        batches, encoder = _batches(frame, roles, beside)
        transactions = record_batches.read_batches(batches, roles, encoder, _FRAME)
    return replace(transactions, read_as=read_as, rows=len(frame))


def _batches(
    frame: PandasFrame, roles: Roles, beside: Mapping[str, pa.Array]
) -> tuple[Iterator[pa.RecordBatch], Encoder]:
    """Return a frame as batches, and what encodes their items. beside: more columns."""
    values, encoder = _values(frame, roles)
    columns = {}
    for place, name in enumerate(roles.values):
        if isinstance(name, str):
            columns[name] = values[place]
        else:  # names of items need not be texts
            columns[f"\0{place}"] = values[place]
    for key in (*roles.basket, roles.user):
        if key is not None:
            columns[key] = _key(frame[key], key)
    columns |= beside
    whole = pa.RecordBatch.from_arrays([*columns.values()], names=[*columns])
    size = roles.rows_at_a_time
    batches = (whole.slice(start, size) for start in range(0, max(1, len(frame)), size))
    return batches, encoder


def _values(frame: PandasFrame, roles: Roles) -> tuple[list[pa.Array], Encoder]:
    """Return the columns of items as Arrow arrays, (rows,) each, and what encodes their items."""
    labels = Labels(items_name(_FRAME, roles), fold_case=roles.fold_case)
    series = [frame[name] for name in roles.values]
    if roles.form is InputForm.ONE_HOT:
        encoder = Encoder(labels, labels.encode([*roles.values]))
        return [_cells(column) for column in series], encoder
    is_joint = roles.form is InputForm.LONG and len(series) > 1
    if is_joint or roles.split is not None:
        return [_texts(frame, name) for name in roles.values], Encoder(labels)
    if all(map(_is_arrow, series)):
        return [as_arrow(column) for column in series], Encoder(labels)
    if roles.may_hold_lists:
        first = FirstCells(items_name(_FRAME, roles), is_asked=True)
        first.see(_texts(frame.head(SAMPLE), roles.values[0]))
        first.done()
    return [_coded(column, roles, labels) for column in series], Encoder(labels, is_coded=True)


def _coded(series: PandasSeries, roles: Roles, labels: Labels) -> pa.Array:
    """Return the provisional codes of a column of objects, or of lists of them: (rows,) Arrow."""
    objects = _sparse_to_dense(series).tolist()
    if not roles.is_list:
        return arrow_of(labels.encode(objects))
    lengths, codes = labels.encode_lists(objects)
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    return pa.LargeListArray.from_arrays(arrow_of(ends), arrow_of(codes))


def _is_arrow(series: PandasSeries) -> bool:
    """Tell whether Arrow keeps every element of a pandas series as it is."""
    dtype = series.dtype
    if str(dtype) == "category":
        dtype = dtype.categories.dtype
    return str(dtype) != "object"


def array_of(source: InMemory) -> pa.ChunkedArray | None:
    """Return an Arrow array or a series as an Arrow array; None for anything else.

    It is None also for a series with elements that Arrow would change.
    """
    array = None
    match source.kind:
        case Kind.ARROW_ARRAY:
            array = source.data
        case Kind.PANDAS_SERIES:
            array = as_arrow(source.data)
        case Kind.POLARS_SERIES if str(source.data.dtype) != "Object":
            array = source.data.to_arrow()
    if isinstance(array, pa.Array):
        return pa.chunked_array([array])
    return array


def as_arrow(series: PandasSeries) -> pa.Array | None:
    """Return a pandas series as an Arrow array, (n,); None if its elements would change."""
    if not _is_arrow(series):
        return None
    array = pa.array(_sparse_to_dense(series), from_pandas=True)
    if isinstance(array, pa.ChunkedArray):
        if pa.types.is_dictionary(array.type):
            array = array.unify_dictionaries()
        array = array.combine_chunks()
    return record_batches.plain(array)


def _sparse_to_dense(series: PandasSeries) -> PandasSeries:
    if hasattr(series.dtype, "subtype"):
        return series.sparse.to_dense()
    return series


def as_texts(series: PandasSeries) -> pa.Array:
    """Return a column as Arrow has it; one of Python objects as texts."""
    array = as_arrow(series)
    if array is not None:
        return array
    return pa.array([*map(_text_or_none, series.tolist())], pa.large_string())


# Of these types a column of Python objects means what each of its cells means.
_PLAIN_CELLS = (pa.bool_(), pa.int64(), pa.float64(), pa.string())


def _cells(series: PandasSeries) -> pa.Array:
    """Return a column of a 0/1 table as Arrow has it.

    Objects of one kind become booleans, numbers or texts; others become texts. Arrow converts a
    whole column of one kind at once, which is far faster than each object by itself.
    """
    if _is_arrow(series):
        return as_texts(series)
    # There are objects of several kinds, or of one that Arrow has not.
    with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
        array = pa.array(series.to_numpy(), from_pandas=True)
        if array.type in _PLAIN_CELLS:
            return array
    values = series.tolist()
    try:
        # Each different cell once. Equal ones, such as True and 1, say the same in a 0/1 table.
        texts = {value: _text_or_none(value) for value in {*values}}
    except TypeError:  # there is no set of lists
        return as_texts(series)
    return pa.array([texts[value] for value in values], pa.large_string())


def _texts(frame: PandasFrame, name: str) -> pa.Array:
    try:
        return as_texts(frame[name])
    except pa.ArrowException:
        raise DataError(
            f"column {name!r} of the frame cannot be compared; make it strings or numbers"
        ) from None


def _text_or_none(value: object) -> str | None:
    """Return a Python object as the text that a column of texts would have in its place."""
    if is_missing(value):
        return None
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str | bytes):
        value = value.strip()
    if isinstance(value, np.number):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value).encode("utf-8", "replace").decode()


def _key(series: PandasSeries, name: str) -> pa.Array:
    """Return what tells identifiers apart, null for a missing one.

    Objects differ as in a dict, integers by their print. pandas' factorize looks at == alone where
    it happens to compare two, which depends on all others.
    """
    try:
        ids = as_arrow(series)
        if ids is not None:
            return ids
        numbers: dict[object, int] = {}
        codes = np.full(len(series), -1, dtype=np.int64)
        for place, value in enumerate(series):
            if not is_missing(value):
                codes[place] = numbers.setdefault(integer_or_text(value), len(numbers))
    except (TypeError, pa.ArrowException):
        raise DataError(
            f"column {name!r} of the frame cannot be an identifier; make it strings or integers"
        ) from None
    return null_where(arrow_of(codes < 0), arrow_of(codes))


# Matrices: rows are baskets, columns items.


def _read_presence(frame: PandasFrame, *, quantities: bool) -> Transactions | None:
    """Read a pandas frame of nothing but items, all boolean, or all sparse; None for another."""
    is_sparse = all(hasattr(dtype, "subtype") and not dtype.fill_value for dtype in frame.dtypes)
    if is_sparse and not quantities:
        return _read_sparse_columns(frame)
    dtypes = [str(getattr(dtype, "subtype", dtype)) for dtype in frame.dtypes]
    if not all(dtype in _BOOLEAN for dtype in dtypes):
        return None
    labels = Labels(_FRAME)
    codes = labels.encode(frame.columns.tolist())

    def cells(rows: slice) -> NDArray[np.bool_]:
        chosen: NDArray[np.bool_] = frame.iloc[rows].to_numpy(dtype=bool, na_value=False)
        return chosen

    return _read_cells(len(frame), cells, codes, labels)


def _read_sparse_columns(frame: PandasFrame) -> Transactions:
    """Read a pandas frame of sparse columns, which hold the rows that have their item."""
    labels = Labels(_FRAME)
    arrays = [frame.iloc[:, place].array for place in range(len(frame.dtypes))]
    rows_of_columns = [
        array.sp_index.indices[as_presence(array.sp_values, "a column of the frame")]
        for array in arrays
    ]
    counts = [len(rows) for rows in rows_of_columns]
    codes = np.repeat(labels.encode(frame.columns.tolist()), counts)
    row = np.concatenate(rows_of_columns).astype(np.int64)
    lengths = np.bincount(row, minlength=len(frame))
    return assemble([KeyedRows(lengths, codes[np.argsort(row, kind="stable")])], labels)


def _read_cells(
    count: int, cells: Callable[[slice], NDArray[np.bool_]], codes: Codes, labels: Labels
) -> Transactions:
    """Read the rows of a matrix, some at a time. cells: some rows as booleans."""
    size = max(1, memory.ONE_HOT_CELLS // max(1, len(codes)))
    chunks = (cells(slice(start, start + size)) for start in range(0, count, size))
    return assemble((record_batches.rows_of_cells(chunk, codes) for chunk in chunks), labels)


def _read_array(matrix: NDArray[np.generic], options: Reading) -> Transactions:
    options.refuse("an array")
    array = np.asarray(matrix)  # a numpy matrix is an array that stays two-dimensional
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise DataError(
            f"an array must be two-dimensional and boolean, not {array.ndim}-dimensional "
            f"{array.dtype}; use array.astype(bool), or a list of lists of items"
        )
    labels = Labels("the array")
    codes = labels.encode(arrow_of(np.arange(array.shape[1])))

    def cells(rows: slice) -> NDArray[np.bool_]:
        return as_presence(array[rows], "the array")

    return _read_cells(len(array), cells, codes, labels)


def _read_sparse(matrix: SparseMatrix, options: Reading) -> Transactions:
    options.refuse("a sparse matrix")
    if matrix.ndim != 2:
        raise DataError(f"a sparse array must be two-dimensional, not {matrix.ndim}-dimensional")
    rows = matrix.tocsr()
    if rows.dtype.kind not in "b" and not (rows.data >= 0).all():  # nor is NaN
        raise DataError(
            "the matrix holds negative numbers or NaN; give quantities of at least 0, or booleans"
        )
    labels, size = Labels("the matrix"), memory.LIST_ROWS

    def chunk(first: int) -> KeyedRows:
        bounds = rows.indptr[first : first + size + 1]
        inside = slice(bounds[0], bounds[-1])
        has = rows.data[inside] != 0
        codes = np.where(has, labels.encode(arrow_of(rows.indices[inside])), np.int32(-1))
        return KeyedRows(np.diff(bounds).astype(np.int64), codes)

    return assemble(map(chunk, range(0, max(1, len(rows.indptr) - 1), size)), labels)


# All that comes as Arrow: tables, readers, datasets, relations of DuckDB, Arrow streams.


def polars_table(frame: PolarsFrame) -> ArrowSource:
    """Return a polars frame as a source. Raises DataError if polars cannot make Arrow of it."""
    try:
        return table_source(frame.to_arrow())
    except BaseException as error:  # a panic of Rust is no Exception
        if type(error).__name__ != "PanicException":
            raise
        raise DataError(
            "the frame has a column that cannot be read; cast it to strings or integers first"
        ) from None


def arrow_object(source: InMemory) -> ArrowSource | None:
    """Return an object that Arrow or DuckDB reads in batches as a source; None for another.

    Raises ArrowException.
    """
    match source.kind:
        case Kind.TABLE | Kind.READER:
            return table_source(source.data)
        case Kind.SCANNER:
            return table_source(source.data.to_reader())
        case Kind.DATASET:
            return _dataset(source.data)
        case Kind.RELATION:
            return _relation(source.data)
    return None


def _dataset(dataset: pyarrow.dataset.Dataset) -> ArrowSource:
    def batches(scan: Wanted) -> Iterator[pa.RecordBatch]:
        # Little is read ahead: what is in flight stays small beside what was read.
        scanner = dataset.scanner(
            scan.names,
            batch_size=scan.rows_at_a_time,
            batch_readahead=1,
            fragment_readahead=1,
        )
        return iter(scanner.to_batches())

    return ArrowSource("the dataset", dataset.schema, batches, kind="dataset")


def _relation(relation: Relation) -> ArrowSource:
    def reader(relation: Relation, rows: int) -> pa.RecordBatchReader:
        if hasattr(relation, "to_arrow_reader"):
            return relation.to_arrow_reader(rows)
        return relation.fetch_arrow_reader(rows)  # before DuckDB 1.4

    def batches(scan: Wanted) -> Iterator[pa.RecordBatch]:
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in scan.names)
        with _duckdb_errors():
            yield from reader(relation.project(columns), scan.rows_at_a_time)

    with _duckdb_errors():
        schema = reader(relation.limit(0), 1).schema
    return ArrowSource("the relation", schema, batches, kind="relation")


@contextmanager
def _duckdb_errors() -> Iterator[None]:
    """Raise DuckDB's errors, which may quote values, as a DataError."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("duckdb", "_duckdb"):
            raise
        name = type(error).__name__
        raise DataError(
            f"the relation cannot be read ({name}); run it yourself to see why"
        ) from None


def list_table(source: InMemory, names: list[str]) -> ArrowSource | None:
    """Return an object as a table that has a list of items in these columns; None for no table."""
    frame = source.data
    match source.kind:
        case Kind.STREAM:
            return _stream(frame)
        case Kind.POLARS_LAZY:
            frame = frame.collect()
        case Kind.PANDAS | Kind.POLARS:
            pass
        case _:
            return arrow_object(source)
    try:
        if names and {*names} <= {*frame.columns}:
            frame = frame[list(dict.fromkeys(names))]  # others need not be of Arrow's types
        if source.kind is Kind.PANDAS:
            return table_source(pa.table(frame))
        return polars_table(frame)
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            "the frame cannot be read as a catalogue; give a list of the items"
        ) from None


def _stream(stream: object) -> ArrowSource:
    return table_source(pa.RecordBatchReader.from_stream(stream))
