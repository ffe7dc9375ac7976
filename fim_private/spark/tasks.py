"""Tasks of Spark: one partition each; retried tasks are held against check cells; errors without rows."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.errors import DataError, FimPrivateError, MemoryLimitError, WorkLimitError, parameter
from fim_private.reading.transactions import KeyedRows
from fim_private.reading.values import null_mask, numpy_of

# -------------------- spark errors
# What Spark raises, as one line: it may quote rows, so only the name of what went wrong is told.

_PACKAGES = {"pyspark", "py4j", "grpc"}
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
# What Spark's message holds where a task or the driver ended, what that means, and what to do.
_CAUSES = {
    "No module named 'fim_private'": ("the workers have no fim_private", "install it where they run"),
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
def told(what: str, then: str) -> Iterator[None]:
    """Raise what Spark raises in this block as a DataError: "{what} ({its condition}): {then}".

    then: what to do, unless the cause is known. What pyspark warns of other packages' versions is left out: nobody can
    do anything about it here. So is what it logs of an error, with Java's trace and a text that may quote rows.
    """
    try:
        with _no_log(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\b")
            warnings.filterwarnings(
                "ignore", category=FutureWarning, message="PySpark does not yet fully support pandas"
            )
            yield
        return
    except FimPrivateError:
        raise
    except Exception as error:
        found = _condition(error, then)
        if found is None:
            raise
    raise DataError(f"{what} ({found[0]}): {found[1]}")


@contextmanager
def _no_log() -> Iterator[None]:
    """Keep pyspark from logging the errors that it raises in this block."""
    if find_spec("pyspark") is None:
        yield
        return
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def _condition(error: Exception, then: str) -> tuple[str, str] | None:
    """Return the name of what went wrong, if it is Spark that says so, and what to do.

    then: what to do if the cause is not known.
    """
    packages = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if isinstance(error, ConnectionError):  # Java is gone
        return type(error).__name__, then
    if packages.isdisjoint(_PACKAGES):
        return None
    text = str(error)
    for said, cause in _CAUSES.items():
        if said in text:
            return cause
    condition = error.getCondition() if hasattr(error, "getCondition") else None
    return condition or type(error).__name__, then


# -------------------- check cells
# Check cells: by them a sum is known to be of the purchases that were kept, and of no others.
#
# What Spark keeps and loses it makes again from the source, and some sources give other rows then. So each task adds up
# how many units and entries the very rows have that it works on, and a checksum of them. The sums are held against
# those
# of the purchases when they were kept. A checksum is a sum over units: in which order they come, and to which task,
# changes nothing. The rows of the source, which is read twice before that, have check cells of their own.

# (3,) int64: units, entries, checksum. They are added modulo 2^64.
Cells = NDArray[np.int64]
CELLS = 3
# The column that they travel in.
CHECK = "check"
_COLUMNS = ("units", "baskets", "lengths", "items")


def changed() -> DataError:
    """Return the error of a source that gave other rows when it was read again."""
    return DataError(
        "the purchases changed while they were read: their source gave other rows the next time, so nothing is "
        "released; write it to Parquet, or checkpoint it, and use that"
    )


def verify(found: Cells, kept: Cells) -> None:
    """Raise DataError unless the check cells of what was counted are those of what was kept."""
    if not np.array_equal(found, kept):
        raise changed()


def total(cells: Iterable[bytes | None]) -> Cells:
    """Return the sum of check cells that travelled as bytes; None is nothing."""
    found = np.zeros(CELLS, dtype=np.int64)
    for one in cells:
        if one is not None:
            found += np.frombuffer(one, dtype=np.int64)
    return found


@dataclass(frozen=True)
class Checksum:
    """Makes check cells. key: 0 to 2^64 - 1, drawn for each run, so that nobody can make rows that pass for others."""

    key: int

    def of_pieces(self, batches: Iterable[pa.RecordBatch]) -> Cells:
        """Return the check cells of some pieces."""
        found = np.zeros(CELLS, dtype=np.int64)
        for batch in batches:
            columns = (batch.column(batch.schema.get_field_index(name)) for name in _COLUMNS)
            for units, baskets, lengths, items in zip(*columns, strict=True):
                codes = _numbers(items)
                sizes = _numbers(lengths)
                hashes = self._of_runs(self._of_codes(codes), sizes, 1)
                if baskets.is_valid:
                    hashes = self._of_runs(hashes, _numbers(baskets), 2)
                else:
                    hashes[sizes == 0] = 0  # of these any number may be counted as blank instead
                found += np.array([units.as_py(), len(codes), hashes.sum(dtype=np.uint64).view(np.int64)])
        return found

    def _of_codes(self, codes: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Return the hash of each code, which is looked up where there are fewer different ones."""
        count = int(codes.max(initial=-1)) + 1
        if count < len(codes):
            return self.hashed(np.arange(count, dtype=np.uint64), 0)[codes]
        return self.hashed(codes.astype(np.uint64), 0)

    def of_rows(self, rows: KeyedRows, items: NDArray[np.uint64], *, whole: bool) -> Cells:
        """Return the check cells of some rows of the source.

        items: (items + 1,), the hash of each code, at its end that of a null. whole: whether a row is one in the source
        too; otherwise its entries are, and how neighbours are put together changes nothing.
        """
        ends = np.cumsum(rows.lengths, dtype=np.int64)
        hashes = _run_sums(items[rows.codes], ends)
        if whole:
            hashes = self.hashed(hashes, 1)
        owner = np.ones(len(ends), dtype=np.uint64)
        for level, keys in enumerate((rows.users, rows.baskets, rows.segments), start=2):
            if keys is not None:
                owner = self.hashed(owner + self._of_keys(keys, level), level)
        checksum = (hashes * owner).sum(dtype=np.uint64).view(np.int64)
        return np.array([len(ends) if whole else 0, len(rows.codes), checksum])

    def of_items(self, digests: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the hash of items with these digests, and at the end that of a null: (items + 1,)."""
        return self.hashed(np.append(digests, 0).view(np.uint64), 0)

    def _of_keys(self, keys: pa.Array, level: int) -> NDArray[np.uint64]:
        """Return the hash of each key, (rows,): of numbers and moments as they are, of others by their bytes."""
        if pa.types.is_dictionary(keys.type):
            keys = keys.dictionary_decode()
        null = null_mask(keys)
        if pa.types.is_floating(keys.type):
            found = self.hashed(numpy_of(keys.cast(pa.float64()).fill_null(0)).view(np.uint64).copy(), level)
        elif pa.types.is_integer(keys.type) or pa.types.is_temporal(keys.type):
            kind = pa.int32() if keys.type.bit_width == 32 else pa.int64()
            numbers = keys if pa.types.is_integer(keys.type) else keys.view(kind)
            found = self.hashed(numpy_of(numbers.fill_null(0)).astype(np.int64).view(np.uint64), level)
        else:
            if not pa.types.is_binary(keys.type) and not pa.types.is_large_binary(keys.type):
                keys = keys.cast(pa.large_string())
            found = self._of_bytes(keys.cast(pa.large_binary()).fill_null(b""), level)
        found[null] = 0
        return found

    def _of_bytes(self, values: pa.LargeBinaryArray, level: int) -> NDArray[np.uint64]:
        """Return the hash of each value: the sum of its bytes, each times the hash of its place."""
        ends = np.frombuffer(values.buffers()[1], dtype=np.int64)[values.offset : values.offset + len(values) + 1]
        held = values.buffers()[2]
        data = np.frombuffer(held, dtype=np.uint8)[ends[0] : ends[-1]] if held else np.empty(0, dtype=np.uint8)
        lengths = np.diff(ends)
        places = np.arange(len(data)) - np.repeat(ends[:-1] - ends[0], lengths)
        factors = self.hashed(np.arange(lengths.max(initial=0), dtype=np.uint64), level)
        return self.hashed(
            _run_sums((data.astype(np.uint64) + np.uint64(1)) * factors[places], ends[1:] - ends[0]), level
        )

    def _of_runs(self, hashes: NDArray[np.uint64], lengths: NDArray[np.int32], level: int) -> NDArray[np.uint64]:
        """Return the hash of each run, which is of its hashes in any order."""
        return self.hashed(_run_sums(hashes, np.cumsum(lengths, dtype=np.int64)), level)

    def hashed(self, values: NDArray[np.uint64], level: int) -> NDArray[np.uint64]:
        """Return the hash of each number, in its place, by SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).

        level: what the numbers are; others hash the same numbers otherwise.
        """
        values += np.uint64((self.key + level * 0x9E3779B97F4A7C15) % 2**64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            values ^= values >> np.uint64(shift)
            values *= np.uint64(factor)
        values ^= values >> np.uint64(31)
        return values


def _run_sums(values: NDArray[np.uint64], ends: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the sum of each run, by where it ends."""
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)])
    return np.diff(sums[ends], prepend=np.uint64(0))


def _numbers(value: pa.BinaryScalar) -> NDArray[np.int32]:
    return np.frombuffer(value.as_buffer(), dtype=np.int32)


# -------------------- tasks
# A function of one partition, run by Spark on all of them; what it raises on purpose comes back as an error.
#
# An exception in a task would be tried again, and be logged with a traceback; so the errors of this package travel as a
# row with a failure instead. Anything else (a lost worker, no memory) is Spark's to try again.

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
