"""A function of one partition, run by Spark on all of them; what it raises on purpose comes back as an error.

An exception in a task would be tried again, and be logged with a traceback; so the errors of this package travel as a
row with a failure instead. Anything else (a lost worker, no memory) is Spark's to try again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pyarrow as pa

from fim_private.errors import DataError, FimPrivateError, MemoryLimitError, WorkLimitError, parameter
from fim_private.spark.spark_errors import told

Batches = Iterator[pa.RecordBatch]
# Gets the batches of a partition, and yields batches of the columns that were said.
Task = Callable[[Batches], Batches]

FAILURE = "failure"
_KINDS = {kind.__name__: kind for kind in (DataError, WorkLimitError, MemoryLimitError)}


def spark_call() -> AbstractContextManager[None]:
    """Return what goes around each call to Spark: it raises DataError where Spark gives up, which has logged why."""
    return told(
        "Spark gave up on these purchases",
        "the workers need fim_private and the same Python as here; the log of its session says more "
        f"({parameter('spark_conf')} 'spark.log.level=ERROR' shows it)",
    )


def run(frame: Any, task: Task, schema: pa.Schema, *, ours: bool = True) -> Any:
    """Return a DataFrame of what a task makes of each partition of a DataFrame, with a column of failures.

    schema: of what it yields. ours: whether it comes from other tasks; a failure among it ends the task, and is passed
    on. A caller's table may have such a column of its own.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    full = schema.append(pa.field(FAILURE, pa.string()))
    with spark_call():
        return frame.mapInArrow(_Guarded(task, full, ours), from_arrow_schema(full))


def collected(frame: Any) -> pa.Table:
    """Return all rows of a DataFrame, without the column of failures. Raises the first failure among them.

    Raises DataError where Spark gives up, which has logged why.
    """
    with spark_call():
        table = frame.toArrow()
    if FAILURE not in table.column_names:
        return table
    failures = table.column(FAILURE).drop_null().to_pylist()
    if failures:
        raise _error(failures[0])
    return table.drop_columns([FAILURE])


def rows_of(schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """Return rows as a batch."""
    columns = zip(*rows, strict=True) if rows else [() for _ in schema]
    return pa.RecordBatch.from_arrays(
        [pa.array(list(values), field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )


class _Guarded:
    """A task that yields its error as a row."""

    def __init__(self, task: Task, schema: pa.Schema, ours: bool) -> None:
        self._task = task
        self._schema = schema
        self._ours = ours

    def __call__(self, batches: Batches) -> Batches:
        try:
            for batch in self._task(_passed(batches) if self._ours else batches):
                yield batch.append_column(FAILURE, pa.nulls(len(batch), pa.string())).cast(self._schema)
        except FimPrivateError as error:
            yield self._row(json.dumps([type(error).__name__, error.marked]))
        except pa.ArrowException:
            # What Arrow says may quote a value.
            line = "the purchases cannot be read as baskets; convert the columns to strings first"
            yield self._row(json.dumps([DataError.__name__, line]))

    def _row(self, failure: str) -> pa.RecordBatch:
        kinds = list(self._schema.types)[:-1]
        values = [*(pa.nulls(1, kind) for kind in kinds), pa.array([failure], pa.string())]
        return pa.RecordBatch.from_arrays(values, schema=self._schema)


def _passed(batches: Batches) -> Batches:
    """Yield the batches without their column of failures. Raises the first failure in it."""
    for batch in batches:
        place = batch.schema.get_field_index(FAILURE)
        if place < 0:
            yield batch
            continue
        if batch.column(place).null_count < len(batch):
            raise _error(batch.column(place).drop_null()[0].as_py())
        yield batch.remove_column(place)


def _error(failure: str) -> FimPrivateError:
    """Return the error that a failure tells of."""
    name, message = json.loads(failure)
    return _KINDS.get(name, DataError)(message)
