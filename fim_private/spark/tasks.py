"""A function of one partition, run by Spark on all of them; what it raises on purpose comes back as an error.

An exception in a task would be tried again, and be logged with a traceback; so the errors of this package travel as a
row with a failure instead. Anything else (a lost worker, no memory) is Spark's to try again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from fim_private.errors import DataError, FimPrivateError, MemoryLimitError, WorkLimitError
from fim_private.spark.session import quiet

Batches = Iterator[pa.RecordBatch]
# Gets the batches of a partition, and yields batches of the columns that were said.
Task = Callable[[Batches], Batches]

FAILURE = "failure"
_KINDS = {kind.__name__: kind for kind in (DataError, WorkLimitError, MemoryLimitError)}


def run(frame: Any, task: Task, schema: pa.Schema) -> Any:
    """Return a DataFrame of what a task makes of each partition of a DataFrame, with a column of failures.

    schema: of what it yields. A failure among what it gets ends the task, and is passed on.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    full = schema.append(pa.field(FAILURE, pa.string()))
    with quiet():
        return frame.mapInArrow(_Guarded(task, full), from_arrow_schema(full))


def collected(frame: Any) -> pa.Table:
    """Return all rows of a DataFrame, without the column of failures. Raises the first failure among them.

    Raises DataError where Spark gives up, which has logged why.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with quiet():
            table = frame.toArrow()
    except PySparkException as error:
        if "No module named 'fim_private'" in str(error):
            raise DataError("Spark's workers have no fim_private: install it there, or send it along") from None
        # What it says may quote a value.
        condition = error.getCondition() or type(error).__name__
    except (Py4JError, OSError) as error:  # Java is gone
        condition = type(error).__name__
    else:
        if FAILURE not in table.column_names:
            return table
        failures = table.column(FAILURE).drop_null().to_pylist()
        if failures:
            raise _error(failures[0])
        return table.drop_columns([FAILURE])
    raise DataError(f"Spark gave up on these purchases ({condition}); its log says at which stage, and why")


class _Guarded:
    """A task that yields its error as a row."""

    def __init__(self, task: Task, schema: pa.Schema) -> None:
        self._task = task
        self._schema = schema

    def __call__(self, batches: Batches) -> Batches:
        try:
            for batch in self._task(_passed(batches)):
                yield batch.append_column(FAILURE, pa.nulls(len(batch), pa.string())).cast(self._schema)
        except FimPrivateError as error:
            yield self._row(json.dumps([type(error).__name__, error.marked]))
        except pa.ArrowException:
            # What Arrow says may quote a value.
            told = "the purchases cannot be read as baskets; convert the columns to strings first"
            yield self._row(json.dumps([DataError.__name__, told]))

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
