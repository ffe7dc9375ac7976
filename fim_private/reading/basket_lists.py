"""Baskets in memory that are lists: any iterable of collections of items, and Arrow arrays of lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import pyarrow as pa

from fim_private.errors import DataError
from fim_private.reading import chunk_sizes
from fim_private.reading.arrow_labels import ArrowLabels, is_list_type
from fim_private.reading.assembly import KeyedRows, assemble
from fim_private.reading.column_roles import shown_type
from fim_private.reading.options import Options
from fim_private.reading.python_labels import PythonLabels
from fim_private.reading.transactions import Transactions


def read_iterable(baskets: Iterable[object], options: Options) -> Transactions:
    """Read any iterable of collections of items, once, a chunk at a time.

    Raises DataError for a basket that is no collection of integers and strings, ParameterError if columns were named.
    """
    options.refuse("an iterable of baskets")
    labels = PythonLabels(fold_case=options.fold_case)
    iterator = iter(baskets)
    chunks = iter(lambda: list(islice(iterator, chunk_sizes.LIST_ROWS)), [])
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
        for start in range(0, len(chunk), chunk_sizes.LIST_ROWS):
            yield chunk[start : start + chunk_sizes.LIST_ROWS]
