"""What libraries hand over as Arrow: tables, readers, datasets, relations of DuckDB, and all with an Arrow stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from fim_private.errors import DataError
from fim_private.reading.column_roles import Wanted
from fim_private.reading.frames import is_instance
from fim_private.reading.record_batches import ArrowSource, table_source


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
