"""Tasks of Spark: functions of one partition, and errors of one line that quote no rows."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fim_private.errors import (
    DataError,
    FimPrivateError,
    MemoryLimitError,
    WorkLimitError,
    parameter,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
def spark_errors(source: str, then: str) -> Iterator[None]:
    """Raise any error of Spark in this block as a DataError: "{what} ({condition}): {then}".

    A known cause has its own words. Those of Spark may quote rows, so only the name of its error is
    shown, and pyspark's log and warnings are off.
    """
    try:
        with _quiet():
            yield
        return
    except Exception as error:
        packages = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
        # Without a connection Java is gone.
        if not isinstance(error, ConnectionError) and packages.isdisjoint(_PACKAGES):
            raise
        condition = error.getCondition() if hasattr(error, "getCondition") else None
        cause = condition or type(error).__name__
        for text, (known_cause, todo) in _CAUSES.items():
            if text in str(error):
                cause, then = known_cause, todo
    raise DataError(f"{source} ({cause}): {then}")


@contextmanager
def _quiet() -> Iterator[None]:
    """Turn pyspark's log and warnings off."""
    loggers = []
    if find_spec("pyspark") is not None:
        from pyspark.logger import PySparkLogger

        loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\b")
            warnings.filterwarnings(
                "ignore", "PySpark does not yet fully support pandas", FutureWarning
            )
            yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def spark_call() -> AbstractContextManager[None]:
    """Return a context for a call to Spark, which raises DataError if Spark gives up."""
    return spark_errors(
        "Spark gave up on these purchases",
        "the workers need fim_private and the same Python as here; the log of its session says "
        "more "
        f"({parameter('spark_conf')} 'spark.log.level=ERROR' shows it)",
    )


@contextmanager
def persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """Let Spark keep a DataFrame as long as the context lasts."""
    with spark_call():
        frame = frame.persist()
    try:
        yield frame
    finally:
        with spark_call():
            frame.unpersist()


# A DataFrame of Spark, which comes from a package that may be missing.
SparkFrame = Any
Batches = Iterator[pa.RecordBatch]
# Takes the batches of a partition, and yields batches with the columns of a schema.
Task = Callable[[Batches], Batches]

FAILURE = "failure"
_KINDS = {kind.__name__: kind for kind in (DataError, WorkLimitError, MemoryLimitError)}


def run(frame: DataFrame, task: Task, schema: pa.Schema, *, ours: bool = True) -> DataFrame:
    """Return the batches of a task for each partition, as a DataFrame with a column of failures.

    ours: whether other tasks made the DataFrame, so that their failures are passed on; a caller's
    table may have a column of the same name.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    full = schema.append(pa.field(FAILURE, pa.string()))
    with spark_call():
        return frame.mapInArrow(guarded(task, full, ours=ours), from_arrow_schema(full))


def collected(frame: DataFrame) -> pa.Table:
    """Return all rows of a DataFrame.

    Raises the first failure among them, or DataError if Spark gives up.
    """
    with spark_call():
        table = frame.toArrow()
    return _without_failures(table)


def _without_failures(rows: pa.Table | pa.RecordBatch) -> pa.Table | pa.RecordBatch:
    """Return rows without a column of failures, or raise the first failure."""
    if FAILURE not in rows.schema.names:
        return rows
    for failure in rows.column(FAILURE).drop_null().to_pylist():
        name, message = json.loads(failure)
        raise _KINDS.get(name, DataError)(message)
    return rows.drop_columns([FAILURE])


def row_of(schema: pa.Schema, *values: object) -> pa.RecordBatch:
    """Return a batch of one row."""
    row = dict(zip(schema.names, values, strict=True))
    return pa.RecordBatch.from_pylist([row], schema=schema)


def single_rows(batches: Batches) -> Batches:
    """Yield each row as a batch."""
    return (batch.slice(row, 1) for batch in batches for row in range(len(batch)))


def guarded(task: Task, schema: pa.Schema, *, ours: bool) -> Task:
    """Return a task that yields its error as a row: Spark would retry and log an exception.

    Spark may retry after any error that this package does not raise on purpose, such as a lost
    worker or no memory.
    """

    def yielding_failures(batches: Batches) -> Batches:
        try:
            if ours:
                batches = map(_without_failures, batches)
            for batch in task(batches):
                no_failures = pa.nulls(len(batch), pa.string())
                yield batch.append_column(FAILURE, no_failures).cast(schema)
            return
        except FimPrivateError as error:
            failure = type(error).__name__, error.marked
        except pa.ArrowException:  # which may quote a value
            told = "the purchases cannot be read as baskets; convert the columns to strings first"
            failure = DataError.__name__, told
        yield pa.RecordBatch.from_pylist([{FAILURE: json.dumps(failure)}], schema=schema)

    return yielding_failures
