"""Matrices: rows are baskets, columns items. Arrays, scipy's sparse matrices, and the cells of one-hot tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fim_private.errors import DataError, parameter
from fim_private.reading import memory
from fim_private.reading.assembly import KeyedRows, assemble
from fim_private.reading.columns import shown_type, suggests_a_column
from fim_private.reading.labels import ArrowLabels, Codes, Labels
from fim_private.reading.options import Options
from fim_private.reading.transactions import Transactions
from fim_private.reading.values import arrow_of, arrow_strings, is_missing, null_mask, numpy_of, present

# What says in a text, in small letters, that a basket has an item, and that it does not. (Nothing says that, too.)
TRUE_TEXTS = (
    *("1", "1.0", "true", "t", "yes", "y", "x", "wahr", "ja", "j", "vrai", "oui", "verdadero", "si", "sí", "vero"),
    *("sì", "verdadeiro", "sim", "waar", "sand", "sant", "tak", "prawda", "on"),
)
FALSE_TEXTS = (
    *("0", "0.0", "false", "f", "no", "n", "falsch", "nein", "faux", "non", "falso", "não", "nao", "onwaar", "nee"),
    *("falsk", "falskt", "nej", "nei", "nie", "fałsz", "off"),
)
_TRUE, _FALSE = arrow_strings(TRUE_TEXTS), arrow_strings(FALSE_TEXTS)
# A quantity in a text: a number with no sign before it but a plus. It is above 0 where a digit before its exponent is.
QUANTITY = r"^\+?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?$"
ABOVE_ZERO = r"^[^1-9eE]*[1-9]"


def read_array(array: np.ndarray[Any, Any], options: Options) -> Transactions:
    """Read a two-dimensional array of booleans, or of 0 and 1: rows are baskets, column numbers are items.

    Raises DataError for another shape, type or number, ParameterError if columns were named.
    """
    options.refuse("an array")
    array = np.asarray(array)  # a matrix is an array that stays two-dimensional
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise DataError(
            f"an array must be two-dimensional and boolean, not {array.ndim}-dimensional {array.dtype}; "
            "use array.astype(bool), or a list of lists of items"
        )
    labels = ArrowLabels("the array")
    columns = labels.encode(arrow_of(np.arange(array.shape[1])))
    size = rows_at_a_time(array.shape[1])
    parts = (array[start : start + size] for start in range(0, len(array), size))
    return assemble((rows_of_cells(as_presence(part, "the array"), columns) for part in parts), labels)


def read_sparse(matrix: Any, options: Options) -> Transactions:
    """Read a scipy sparse matrix or array: rows are baskets, column numbers are items, nonzero is present.

    Raises DataError for other than two dimensions, negative numbers and NaN, ParameterError if columns were named.
    """
    options.refuse("a sparse matrix")
    if matrix.ndim != 2:
        raise DataError(f"a sparse array must be two-dimensional, not {matrix.ndim}-dimensional")
    rows = matrix.tocsr()
    if rows.dtype.kind not in "b" and not (rows.data >= 0).all():  # nor is NaN
        raise DataError("the matrix holds negative numbers or NaN; give quantities of at least 0, or booleans")
    labels = ArrowLabels("the matrix")
    return assemble(_sparse_rows(rows.indptr, rows.indices, rows.data != 0, labels), labels)


def rows_of_columns(
    columns: Sequence[Any], names: Sequence[str], codes: Codes, source: str, *, quantities: bool
) -> KeyedRows:
    """Return the rows of a table with a column for each item as baskets.

    columns: Arrow arrays, or lists, of booleans, of 0 and 1, or of texts that say so; a null is false. names: theirs.
    codes: (columns,) int32 provisional. source: what errors call the table. quantities: whether other numbers of at
    least 0 say it, too, where a column is not called like one of ids. Raises DataError for a column of anything else.
    """
    cells = [
        presence(_arrow(column), _where(name, source), quantities=None if _seems_an_id(name) else quantities)
        for column, name in zip(columns, names, strict=True)
    ]
    return rows_of_cells(np.column_stack(cells), codes)


def _arrow(column: Any) -> pa.Array:
    """Return a column as an Arrow array; one of Python objects as their texts."""
    if isinstance(column, pa.Array):
        return column
    return pa.array([None if is_missing(value) else _text(value) for value in column], pa.string())


def _text(value: object) -> str:
    """Return a Python object as a text, in which a boolean is 0 or 1."""
    return str(int(value)) if isinstance(value, bool | np.bool_) else str(value).encode("utf-8", "replace").decode()


def _where(name: str, source: str) -> str:
    """Return what errors call a column: by its name if that looks like one of ids, for other names may be items."""
    return f"column {name!r} of {source}" if _seems_an_id(name) else f"a column of {source}"


def _seems_an_id(name: object) -> bool:
    """Tell whether a column is called like one of ids, or another of purchases, rather than like an item."""
    return suggests_a_column(name) or str(name).strip().casefold() == "id"


def presence(column: pa.Array, where: str, *, quantities: bool | None) -> NDArray[np.bool_]:
    """Return which cells of a column say that the basket has the item: (rows,) bool.

    column: Arrow array of booleans, of 0 and 1, or of texts that say so; a null counts as false. where: what errors
    call it. quantities: whether every number of at least 0 says so; None for a column called like an id.
    Raises DataError for anything else.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return presence(column.dictionary_decode(), where, quantities=quantities)
    if pa.types.is_null(kind):
        return np.zeros(len(column), dtype=bool)
    if pa.types.is_boolean(kind):
        return numpy_of(column) & ~null_mask(column)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        lower = pc.utf8_lower(present(column).cast(pa.string()))
        has = pc.is_in(lower, value_set=_TRUE)
        if quantities:
            is_number = pc.match_substring_regex(lower, QUANTITY).fill_null(False)
            has = pc.or_(has, pc.and_(is_number, pc.match_substring_regex(lower, ABOVE_ZERO).fill_null(False)))
            lower = pc.if_else(is_number, pa.nulls(1, pa.string())[0], lower)
        if pc.all(pc.or_(pc.or_(has, lower.is_null()), pc.is_in(lower, value_set=_FALSE))).as_py() is False:
            raise _no_presence(where, quantities)
        return numpy_of(has)
    if not pa.types.is_integer(kind) and not pa.types.is_floating(kind):
        raise DataError(f"{where} has type {shown_type(kind)}, and a column of an item holds 0 and 1, or booleans")
    cells = numpy_of(column)
    absent = null_mask(column) | (cells != cells)
    return as_presence(np.where(absent, cells.dtype.type(0), cells), where, quantities=quantities)


def as_presence(cells: NDArray[Any], where: str, *, quantities: bool | None = False) -> NDArray[np.bool_]:
    """Return numbers or booleans as booleans. Raises DataError for a number that says nothing of an item.

    quantities: whether all numbers of at least 0 do, as in `presence`; otherwise only 0 and 1.
    """
    if cells.dtype == bool:
        return cells
    if not ((cells >= 0).all() if quantities else ((cells == 0) | (cells == 1)).all()):
        raise _no_presence(where, quantities)
    return cells > 0


def _no_presence(where: str, quantities: bool | None) -> DataError:
    """Return the error for cells that do not say whether a basket has an item. quantities: as in `presence`."""
    if quantities:
        return DataError(
            f"{where} holds something other than truth values and quantities of at least 0, so it does not say whether "
            f"a basket has the item; what was returned has to be taken off before; if it is an id name it with "
            f"{parameter('basket')} or {parameter('user')}, or leave it out"
        )
    if quantities is None:
        return DataError(
            f"{where} holds more than 0 and 1, and is called like an id: name it with {parameter('basket')} or "
            f"{parameter('user')}, leave it out, or rename it if it is an item; for one row per item name "
            f"{parameter('basket')} and {parameter('item')}"
        )
    return DataError(
        f"{where} holds more than 0 and 1, so it does not say whether a basket has the item; if it is an id name it "
        f"with {parameter('basket')} or {parameter('user')}, or leave it out; for quantities, of which each > 0 counts "
        f"as 1, say {parameter('input_format')} one-hot; for one row per item name {parameter('basket')} and "
        f"{parameter('item')}"
    )


def rows_of_cells(cells: NDArray[np.bool_], column_codes: Codes) -> KeyedRows:
    """Return the rows of a matrix as baskets.

    cells: (rows, columns) bool, whether the row has the item. column_codes: (columns,) int32 provisional.
    """
    return KeyedRows(np.count_nonzero(cells, axis=1), column_codes[np.nonzero(cells)[1]])


def rows_at_a_time(columns: int) -> int:
    """Return how many rows of a matrix of so many columns, >= 0, to work on at a time."""
    return max(1, memory.ONE_HOT_CELLS // max(1, columns))


def _sparse_rows(offsets: Any, columns: Any, present: Any, labels: Labels) -> Iterator[KeyedRows]:
    """Yield the rows of a compressed sparse matrix a chunk at a time, at least one chunk."""
    lengths = np.diff(offsets).astype(np.int64)
    done = 0
    for start in range(0, max(1, len(lengths)), memory.LIST_ROWS):
        part = lengths[start : start + memory.LIST_ROWS]
        inside = slice(done, done + int(part.sum()))
        codes = np.where(present[inside], labels.encode(arrow_of(columns[inside])), np.int32(-1))
        yield KeyedRows(part, codes)
        done = inside.stop
