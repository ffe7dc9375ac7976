"""Purchases in memory: lists of baskets, frames, matrices, and what libraries hand over as Arrow.

No library is imported for them: a frame can only be here if its library already is.
"""

import numbers
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, time, timedelta
from functools import lru_cache, partial
from importlib.util import find_spec
from itertools import chain, islice
from types import NoneType
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import Array, RecordBatch

from fim_private.errors import DataError
from fim_private.reading import memory
from fim_private.reading.columns import Scan
from fim_private.reading.files import READABLE
from fim_private.reading.labels import Labels, basket_of, is_list_type
from fim_private.reading.locations import InMemory
from fim_private.reading.options import SAMPLE, InputForm, Reading
from fim_private.reading.other_readings import refuse_rows_of_a_table
from fim_private.reading.record_batches import (
    OF_ARRAY,
    ArrowSource,
    as_presence,
    plain,
    read_arrow,
    table_source,
)
from fim_private.reading.transactions import KeyedRows, Transactions, assemble
from fim_private.reading.values import arrow_of, integer_or_text, is_missing, offsets_of, shown_type
from fim_private.reading.where import quoted

# What pandas, polars and others hand over: nothing is imported for its types.
PandasFrame = Any
PandasSeries = Any
Dataset = Any
PolarsFrame = Any
Relation = Any
SparseMatrix = Any

_PYTHON_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)


# What polars says of the plan of a frame, and of a scan of files, to which nothing was added. A
# scan of text may skip rows by what is in them (comment_prefix), and its plan does not say so.
_BARE_PLAN = re.compile(
    r"(DF \[[^\n]*\]; |(Parquet|IPC|Ipc) SCAN \[[^\n]*\]\n)"
    r"PROJECT \*/[0-9]+ COLUMNS(\nESTIMATED ROWS: [0-9]+)?\s*"
)
# How DuckDB begins the query of a relation that is a file, or several, and nothing else. Its reader
# of text may skip rows by what is in them: comments, and those with errors.
_FILE_RELATION = r"SELECT \* FROM (parquet_scan|read_parquet)\("
# How DuckDB begins the plan of a relation that reads a table of its own.
_TABLE_PLAN = r"(?i)\W*seq[ _]scan\b"


def may_be_query(source: InMemory) -> bool:
    """Tell whether a query may have chosen the rows of an object.

    It has not if the object holds its rows itself, or is a plain scan of a table or of files that
    are no text. All else counts as a query: a stream, a reader, a generator, a frame that is still
    to be computed.
    """
    try:
        match source.kind:
            case "polars.LazyFrame":
                return _BARE_PLAN.fullmatch(source.data.explain(optimized=False)) is None
            case "pyarrow.dataset.Dataset":
                # These options hold the filter of dataset.filter(...).
                return bool(getattr(source.data, "_scan_options", True))
            case "duckdb.DuckDBPyRelation":
                return not _is_bare_relation(source.data)
            case "pyarrow.RecordBatchReader" | "pyarrow.dataset.Scanner" | "stream":
                return True
            case "other":
                return not isinstance(source.data, Sized)
    except Exception:  # what is wrong with it, reading it will say
        return True
    return False


def _is_bare_relation(relation: Relation) -> bool:
    if relation.type == "TABLE_RELATION":
        # tables of an attached database may be its views
        return re.match(_TABLE_PLAN, relation.explain()) is not None
    is_subquery = relation.type == "SUBQUERY_RELATION"
    return is_subquery and re.match(_FILE_RELATION, relation.sql_query()) is not None


def read_object(source: InMemory, options: Reading) -> Transactions:
    """Read purchases in memory, by their type. Raises DataError for a type that cannot be read."""
    data = source.data
    table = table_of(source)
    if table is not None:
        transactions = None
        if source.kind == "pandas.DataFrame":
            _check_index(data, options)
            transactions = _read_sparse_frame(data, table, options)
        return transactions or read_arrow(table, options)
    match source.kind:
        case "scipy.sparse.spmatrix" | "scipy.sparse.sparray":
            return _read_sparse(data, options)
        case "numpy.ndarray" if data.ndim != 1 or data.dtype != object:
            return _read_array(data, options)
    array = array_of(source)
    size = memory.LIST_ROWS
    if array is not None:
        if not is_list_type(array.type):
            kind = shown_type(array.type)
            raise DataError(f"each basket must be a collection of items, not {kind}")
        slices = (array.slice(start, size).combine_chunks() for start in range(0, len(array), size))
        return _read_lists(slices, "array", options)
    _refuse_near_misses(data)
    if isinstance(data, Iterable) and not isinstance(data, bytes):
        iterator = iter(data)
        chunks = iter(lambda: list(islice(iterator, size)), [])
        first = next(chunks, [])
        refuse_rows_of_a_table(first[:SAMPLE])
        return _read_lists(chain([first], chunks), "iterable", options)
    raise DataError(
        f"cannot read baskets from {source.shown}; give a table, a frame, an iterable of baskets, "
        f"or the path of one of: {READABLE}"
    )


def _refuse_near_misses(data: object) -> None:
    """Raise DataError for an object that is not read, but from which baskets are easily taken."""
    advice = None
    if isinstance(data, Mapping):
        advice = "give its values() if they are baskets, or a frame of it if they are columns"
    elif hasattr(data, "readline") or hasattr(data, "line_num"):  # a file, or a reader of csv
        advice = "give the path of the file"
    elif hasattr(data, "fetchall"):
        advice = "each of its rows is a row of a table: read them into a frame, and give that"
    elif type(data).__name__.endswith("GroupBy"):
        advice = "give the items of each group: groupby(...)[...].agg(list)"
    if advice is not None:
        raise DataError(f"cannot read baskets from {type(data).__name__}; {advice}")


def _read_lists(chunks: Iterable[Any], kind: str, options: Reading) -> Transactions:
    """Read lists of items, some at a time, from an array or an iterable."""
    options.refuse(f"an {kind} of baskets", ": give a frame, such as pandas.DataFrame(rows)")
    labels = Labels(f"the {kind}", fold_case=options.fold_case)
    return assemble((KeyedRows(*labels.encode_lists(chunk)) for chunk in chunks), labels)


def array_of(source: InMemory) -> pa.ChunkedArray | None:
    """Return an Arrow array or a series as an Arrow array; None for anything else.

    It is None also for a series with elements that Arrow would change.
    """
    array = None
    match source.kind:
        case "pyarrow.Array" | "pyarrow.ChunkedArray":
            array = source.data
        case "pandas.Series" if not _holds_objects(source.data):
            array = _as_arrow(source.data)
        case "polars.Series" if str(source.data.dtype) != "Object":
            array = source.data.to_arrow()
    if isinstance(array, Array):
        return pa.chunked_array([array])
    return array


# Frames of pandas become record batches. In a column of Python objects every element has a type of
# its own, and Arrow would guess one from all: so each becomes a text by itself, or a list of texts.


def _pandas_table(frame: PandasFrame) -> ArrowSource:
    """Return a pandas frame as a source. A list in its first value makes a column of lists."""
    schema = pa.schema([(str(name), _arrow_type(series)) for name, series in frame.items()])

    def batches(scan: Scan) -> Iterator[RecordBatch]:
        places = [schema.get_field_index(name) for name in scan.names]
        for start in range(0, len(frame), memory.LONG_ROWS):
            rows = frame.iloc[start : start + memory.LONG_ROWS]
            columns = [_column(rows.iloc[:, place], schema.field(place)) for place in places]
            yield RecordBatch.from_arrays(columns, names=scan.names)

    of_truth_values = frozenset(
        str(name)
        for name, series in frame.items()
        if _holds_objects(series) and isinstance(_first_present(series), bool | np.bool_)
    )
    return ArrowSource(
        "the frame",
        schema,
        batches,
        kind="frame",
        perhaps_items=of_truth_values,
        own_dates=True,
    )


def _check_index(frame: PandasFrame, options: Reading) -> None:
    """Raise DataError if a column that was named is not a column, but in the index."""
    columns = {*map(str, frame.columns)}
    for _, name in options.named():
        if name not in columns and name in frame.index.names:
            raise DataError(
                f"{name!r} is in the index of the frame, which is not read; give "
                f"frame.reset_index()"
            )


def _holds_objects(series: PandasSeries) -> bool:
    """Tell whether the elements of a pandas series are Python objects, of types of their own."""
    dtype = series.dtype
    if str(dtype) == "category":
        dtype = dtype.categories.dtype
    return str(dtype) == "object"


def _arrow_type(series: PandasSeries) -> pa.DataType:
    if not _holds_objects(series):
        return _as_arrow(series.iloc[:0]).type
    if isinstance(_first_present(series), _PYTHON_COLLECTIONS):
        return pa.list_(pa.string())
    return pa.string()


def _first_present(series: PandasSeries) -> object:
    return next((value for value in series if not is_missing(value)), None)


def _as_arrow(series: PandasSeries) -> Array:
    """Return a pandas series that holds no objects as an Arrow array, (n,)."""
    if str(series.dtype).startswith("Sparse"):
        series = series.sparse.to_dense()
    array = pa.array(series, from_pandas=True)
    if isinstance(array, pa.ChunkedArray):
        array = array.unify_dictionaries().combine_chunks()
    return plain(array)


def _column(series: PandasSeries, field: pa.Field) -> Array:
    """Return a pandas series as an Arrow array, (n,). Raises DataError for objects of no text."""
    if not _holds_objects(series):
        return _as_arrow(series)
    values = series.tolist()
    try:
        if not is_list_type(field.type):
            return _texts(values)
        baskets = [basket_of(value) for value in values]
        ends = offsets_of(np.array([*map(len, baskets)], dtype=np.int64))
        items = _texts([*chain.from_iterable(baskets)])
        return pa.LargeListArray.from_arrays(arrow_of(ends), items)
    except (TypeError, UnicodeEncodeError):
        raise DataError(
            f"column {field.name!r} of the frame holds something else than texts, numbers and "
            f"dates; make it strings or integers"
        ) from None


def _texts(values: Sequence[object]) -> Array:
    """Return Python objects as texts, null for what stands for no value: (n,) Arrow."""
    kinds = {*map(type, values)}
    if kinds <= {str, NoneType}:
        return pa.array(values, pa.string())
    text_of = _text_or_none
    if kinds <= {bool, int, float, str, NoneType}:  # of each of which equal values print alike
        text_of = lru_cache(maxsize=None, typed=True)(_text_or_none)
    return pa.array([*map(text_of, values)], pa.string())


def _text_or_none(value: object) -> str | None:
    """Return the text of a Python object; None if it stands for no value.

    Ids and items are one if they print alike. So it raises TypeError for objects of other types,
    which may print alike though they differ, or each time in another way.
    """
    if is_missing(value):
        return None
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    bare = integer_or_text(value)
    if isinstance(bare, bool | np.bool_):
        return str(bare).lower()
    if not isinstance(bare, str | numbers.Number | time | timedelta | UUID):
        raise TypeError
    return str(bare)


# Matrices: rows are baskets, columns items.


def _read_array(matrix: NDArray[np.generic], options: Reading) -> Transactions:
    options.refuse("an array")
    array = np.asarray(matrix)  # a numpy matrix is an array that stays two-dimensional
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise DataError(
            f"an array must have two dimensions and hold booleans, or 0 and 1; it has {array.ndim} "
            f"and holds {array.dtype}: if its rows list items, give array.tolist()"
        )
    return _of_matrix(array, np.arange(array.shape[1]), "the array")


def _read_sparse(matrix: SparseMatrix, options: Reading) -> Transactions:
    options.refuse("a sparse matrix")
    if matrix.ndim != 2:
        raise DataError(f"a sparse array must be two-dimensional, not {matrix.ndim}-dimensional")
    by_row = matrix.tocsr()
    if not (by_row.data >= 0).all():  # nor is NaN
        raise DataError(
            "the matrix holds negative numbers or NaN; give quantities of at least 0, or booleans"
        )
    return _of_matrix(by_row, np.arange(by_row.shape[1]), "the matrix")


def _read_sparse_frame(
    frame: PandasFrame, table: ArrowSource, options: Reading
) -> Transactions | None:
    """Read a pandas frame of nothing but items in sparse columns; None for another."""
    is_sparse = all(
        str(dtype).startswith("Sparse") and not dtype.fill_value for dtype in frame.dtypes
    )
    # Any other way is the usual one, which only takes longer.
    if not is_sparse or options.fold_case or options.dialect.given() or not find_spec("scipy"):
        return None
    roles = table.roles(options)
    if roles.form is not InputForm.ONE_HOT or len(roles.values) < len(table.schema):
        return None
    matrix = frame.sparse.to_coo()
    as_presence(matrix.data, f"a column of {table.name}")
    transactions = _of_matrix(matrix.tocsr(), [*roles.values], table.name)
    return replace(transactions, read_as=table.read_as(roles), rows=len(frame))


def _of_matrix(
    matrix: SparseMatrix, items: Sequence[str] | NDArray[np.integer], name: str
) -> Transactions:
    """Return the rows of a matrix, an array or sparse by row, as baskets of its columns' items."""
    labels = Labels(name)
    codes = np.append(labels.encode(pa.array(items)), np.int32(-1))
    is_array, size = isinstance(matrix, np.ndarray), memory.LIST_ROWS
    if is_array:
        size = max(1, memory.ONE_HOT_CELLS // max(1, len(items)))

    def rows() -> Iterator[KeyedRows]:
        for start in range(0, matrix.shape[0], size):
            block = matrix[start : start + size]
            if is_array:
                cells = as_presence(block, name, OF_ARRAY)
                yield KeyedRows(np.count_nonzero(cells, axis=1), codes[np.nonzero(cells)[1]])
            else:  # a zero that is stored is no item
                places = np.where(block.data != 0, block.indices, -1)
                yield KeyedRows(np.diff(block.indptr), codes[places])

    return assemble(rows(), labels)


# All tables: frames, and what comes as Arrow: readers, datasets, relations of DuckDB, streams.


def table_of(source: InMemory) -> ArrowSource | None:
    """Return an object that is a table as a source; None for another.

    Raises ArrowException, and DataError for a frame of which polars cannot make Arrow.
    """
    data = source.data
    match source.kind:
        case "pandas.DataFrame":
            return _pandas_table(data)
        case "polars.DataFrame":
            return _polars_table(data)
        case "polars.LazyFrame":
            return _polars_table(data.collect())
        case "pyarrow.Table" | "pyarrow.RecordBatch" | "pyarrow.RecordBatchReader":
            return table_source(data)
        case "pyarrow.dataset.Scanner":
            return table_source(data.to_reader())
        case "stream":
            return table_source(pa.RecordBatchReader.from_stream(data))
        case "pyarrow.dataset.Dataset":
            return _dataset(data)
        case "duckdb.DuckDBPyRelation":
            return _relation(data)
    return None


def _polars_table(frame: PolarsFrame) -> ArrowSource:
    try:
        # Of Python objects Arrow would be given the addresses, not the values.
        if "Object" not in map(str, frame.dtypes):
            return table_source(frame.to_arrow())
    except BaseException as error:  # a panic of Rust is no Exception
        if type(error).__name__ != "PanicException":
            raise
    raise DataError(
        "the frame has a column that cannot be read; cast it to strings or integers first"
    )


def _dataset(dataset: Dataset) -> ArrowSource:
    # Little is read ahead: what is in flight stays small beside what was read.
    read = partial(dataset.scanner, batch_readahead=1, fragment_readahead=1)
    return ArrowSource(
        "the dataset",
        dataset.schema,
        lambda scan: read(scan.names, batch_size=scan.rows_at_a_time).to_batches(),
        kind="dataset",
    )


def _relation(relation: Relation) -> ArrowSource:
    def reader(relation: Relation, rows: int) -> pa.RecordBatchReader:
        if hasattr(relation, "to_arrow_reader"):
            return relation.to_arrow_reader(rows)
        return relation.fetch_arrow_reader(rows)  # before DuckDB 1.4

    def batches(scan: Scan) -> Iterator[RecordBatch]:
        columns = ", ".join(map(quoted, scan.names))
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
        raise DataError(
            f"the relation cannot be read ({type(error).__name__}); run it yourself to see why"
        ) from None
