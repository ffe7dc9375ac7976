"""Matrices: rows are baskets, columns items. Arrays of booleans, scipy's sparse matrices, and rows of cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private.errors import DataError
from fim_private.reading import chunk_sizes
from fim_private.reading.arrow_labels import ArrowLabels
from fim_private.reading.arrow_numpy import arrow_of
from fim_private.reading.assembly import KeyedRows, assemble
from fim_private.reading.column_roles import Options
from fim_private.reading.labels import Codes, Labels
from fim_private.reading.transactions import Transactions


def read_array(array: np.ndarray[Any, Any], options: Options) -> Transactions:
    """Read a two-dimensional boolean array: rows are baskets, column numbers are items.

    Raises DataError for another shape or type, ParameterError if columns were named.
    """
    options.refuse("an array")
    if array.ndim != 2 or array.dtype != bool:
        raise DataError(
            f"an array must be two-dimensional and boolean, not {array.ndim}-dimensional {array.dtype}; "
            "use array.astype(bool), or a list of lists of items"
        )
    labels = ArrowLabels("the array")
    columns = labels.encode(arrow_of(np.arange(array.shape[1])))
    size = rows_at_a_time(array.shape[1])
    parts = (array[start : start + size] for start in range(0, len(array), size))
    return assemble((rows_of_cells(part, columns) for part in parts), labels)


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


def rows_of_cells(cells: NDArray[np.bool_], column_codes: Codes) -> KeyedRows:
    """Return the rows of a matrix as baskets.

    cells: (rows, columns) bool, whether the row has the item. column_codes: (columns,) int32 provisional.
    """
    return KeyedRows(np.count_nonzero(cells, axis=1), column_codes[np.nonzero(cells)[1]])


def rows_at_a_time(columns: int) -> int:
    """Return how many rows of a matrix of so many columns, >= 0, to work on at a time."""
    return max(1, chunk_sizes.ONE_HOT_CELLS // max(1, columns))


def _sparse_rows(offsets: Any, columns: Any, present: Any, labels: Labels) -> Iterator[KeyedRows]:
    """Yield the rows of a compressed sparse matrix a chunk at a time, at least one chunk."""
    lengths = np.diff(offsets).astype(np.int64)
    done = 0
    for start in range(0, max(1, len(lengths)), chunk_sizes.LIST_ROWS):
        part = lengths[start : start + chunk_sizes.LIST_ROWS]
        inside = slice(done, done + int(part.sum()))
        codes = np.where(present[inside], labels.encode(arrow_of(columns[inside])), np.int32(-1))
        yield KeyedRows(part, codes)
        done = inside.stop
