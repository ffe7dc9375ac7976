"""Tasks of Spark: functions of one partition, and errors of one line, which quote no rows."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from fim_private.errors import (
    DataError,
    FimPrivateError,
    MemoryLimitError,
    WorkLimitError,
    parameter,
)

_PACKAGES = {"pyspark", "py4j", "grpc"}
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
# What Spark's message contains where a task or the driver ended, what that means, and what to do.
_CAUSES = {
    "No module named 'fim_private'": (
        "the workers have no fim_private",
        ("install it where they run"),
    ),
    "Python worker exited unexpectedly": (
        "a Python worker died, most often for want of memory",
        "use fewer tasks at a time, with spark.master, or machines with more memory",
    ),
    "java.lang.OutOfMemoryError": (
        "Java ran out of memory",
        "give it more, with spark.driver.memory, or spark.executor.memory on a cluster",
    ),
}


@contextmanager
def spark_errors(what: str, then: str) -> Iterator[None]:
    """Raise what Spark raises in this block as a DataError: "{what} ({its condition}): {then}", or
    the known cause.

    Spark's own words may quote rows: only the name of what went wrong is shown. pyspark's log and
    warnings are off.
    """
    loggers = {}
    if find_spec("pyspark") is not None:
        from pyspark.logger import PySparkLogger

        loggers = {logger: logger.disabled for logger in map(PySparkLogger.getLogger, _LOGGERS)}
    for logger in loggers:
        logger.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\b")
            warnings.filterwarnings(
                "ignore", "PySpark does not yet fully support pandas", FutureWarning
            )
            yield
        return
    except FimPrivateError:
        raise
    except Exception as error:
        packages = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
        gone = isinstance(error, ConnectionError)  # Java is
        if not gone and packages.isdisjoint(_PACKAGES):
            raise
        condition = error.getCondition() if hasattr(error, "getCondition") else None
        found = condition or type(error).__name__, then
        if not gone:
            found = next((cause for text, cause in _CAUSES.items() if text in str(error)), found)
    finally:
        for logger, disabled in loggers.items():
            logger.disabled = disabled
    raise DataError(f"{what} ({found[0]}): {found[1]}")


def spark_call() -> AbstractContextManager[None]:
    """Return what goes around each call to Spark: it raises DataError where Spark gives up, which
    has logged why.
    """
    return spark_errors(
        "Spark gave up on these purchases",
        "the workers need fim_private and the same Python as here; the log of its session says "
        "more "
        f"({parameter('spark_conf')} 'spark.log.level=ERROR' shows it)",
    )


@contextmanager
def persisted(frame: Any) -> Iterator[Any]:
    """Let Spark keep a DataFrame for as long as this lasts."""
    with spark_call():
        frame = frame.persist()
    try:
        yield frame
    finally:
        with spark_call():
            frame.unpersist()


Batches = Iterator[pa.RecordBatch]
# Gets the batches of a partition, and yields batches of the columns that its schema names.
Task = Callable[[Batches], Batches]

FAILURE = "failure"
_KINDS = {kind.__name__: kind for kind in (DataError, WorkLimitError, MemoryLimitError)}


def run(frame: Any, task: Task, schema: pa.Schema, *, ours: bool = True) -> Any:
    """Return a DataFrame of what a task makes of each partition of a DataFrame, with a column of
    failures.

    ours: whether it is of other tasks, whose failures are passed on; a caller's table may have a
    column of that name.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    full = schema.append(pa.field(FAILURE, pa.string()))
    with spark_call():
        return frame.mapInArrow(_Guarded(task, full, ours), from_arrow_schema(full))


def collected(frame: Any) -> pa.Table:
    """Return all rows of a DataFrame. Raises the first failure among them, or DataError where Spark
    gives up.
    """
    with spark_call():
        table = frame.toArrow()
    return _without_failures(table)


def _without_failures(rows: Any) -> Any:
    """Return a table or a batch without its column of failures, if it has one, or raise the first
    of them.
    """
    if FAILURE not in rows.schema.names:
        return rows
    for failure in rows.column(FAILURE).drop_null().to_pylist():
        name, message = json.loads(failure)
        raise _KINDS.get(name, DataError)(message)
    return rows.drop_columns([FAILURE])


def rows_of(schema: pa.Schema, rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
    """Return rows as a batch."""
    return pa.RecordBatch.from_pylist(
        [dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema
    )


@dataclass(frozen=True)
class _Guarded:
    """A task that yields its error as a row: an exception would be tried again, and be logged with
    a traceback.

    Anything that this package does not raise on purpose (a lost worker, no memory) is Spark's to
    try again.
    """

    _task: Task
    _schema: pa.Schema
    _ours: bool

    def __call__(self, batches: Batches) -> Batches:
        try:
            for batch in self._task(map(_without_failures, batches) if self._ours else batches):
                yield batch.append_column(FAILURE, pa.nulls(len(batch), pa.string())).cast(
                    self._schema
                )
        except FimPrivateError as error:
            failure = type(error).__name__, error.marked
        except pa.ArrowException:  # which may quote a value
            failure = (
                "DataError",
                ("the purchases cannot be read as baskets; convert the columns to strings first"),
            )
        else:
            return
        yield pa.RecordBatch.from_pylist([{FAILURE: json.dumps(failure)}], schema=self._schema)
