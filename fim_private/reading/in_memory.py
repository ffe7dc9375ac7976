"""Purchases in memory: which reader an object goes to, by its type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError
from fim_private.reading import basket_lists, frames, matrices
from fim_private.reading.arrow_objects import arrow_object, stream_source
from fim_private.reading.files import READABLE
from fim_private.reading.options import Options
from fim_private.reading.record_batches import ArrowSource, read_arrow, table_source
from fim_private.reading.transactions import Transactions


def read_object(source: Any, options: Options) -> Transactions:
    """Read purchases in memory, by their type. Raises DataError for a type that cannot be read."""
    if (table := arrow_object(source)) is not None:
        return read_arrow(table, options)
    if frames.is_instance(source, "pandas", "DataFrame"):
        return frames.read_pandas(source, options)
    if frames.is_instance(source, "polars", "LazyFrame"):
        source = source.collect()
    if frames.is_instance(source, "polars", "DataFrame"):
        return frames.read_polars(source, options)
    if frames.is_instance(source, "scipy.sparse", "spmatrix", "sparray"):
        return matrices.read_sparse(source, options)
    if isinstance(source, np.ndarray) and (source.ndim != 1 or source.dtype != object):
        return matrices.read_array(source, options)
    if (instead := _instead_of(source)) is not None:
        raise DataError(f"cannot read baskets from {type(source).__name__}; {instead}")
    array = frames.as_arrow(source) if is_series(source) else source
    if isinstance(array, pa.Array | pa.ChunkedArray):
        return basket_lists.read_list_array(array, options)
    if hasattr(source, "__arrow_c_stream__") and not is_series(source):
        return read_arrow(stream_source(source), options)
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return basket_lists.read_iterable(source, options)
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
    if frames.is_instance(source, "polars", "LazyFrame"):
        source = source.collect()
    if frames.is_instance(source, "pandas", "DataFrame") or frames.is_instance(source, "polars", "DataFrame"):
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
        return frames.polars_to_arrow(frame) if hasattr(frame, "to_arrow") else pa.table(frame)
    except (TypeError, ValueError, OverflowError):
        raise DataError("the frame cannot be read as a catalogue; give a list of the items") from None


def is_series(source: object) -> bool:
    """Tell whether a source is a series of pandas or polars."""
    return frames.is_instance(source, "pandas", "Series") or frames.is_instance(source, "polars", "Series")
