"""Tasks of Spark: functions of one partition, and errors of one line that quote no rows.

Check cells tell whether a task that is retried, or runs twice, had the same rows. Spark makes what
it lost again from the source, and some sources give other rows then. So each task adds up how many
units and entries it works on, and a checksum of them in any order. These sums must be those of the
purchases when they were first made; otherwise nothing is released. The rows of the source, which is
read twice before that, have check cells of their own. Nor does a retried task change what is
released: noise is drawn on the driver.
"""

import json
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import RecordBatch

from fim_private.counting.work import Int64
from fim_private.errors import (
    DataError,
    FimPrivateError,
    MemoryLimitError,
    WorkLimitError,
    parameter,
)
from fim_private.reading.transactions import KeyedRows, Transactions
from fim_private.reading.values import decoded, null_mask, numpy_of, offsets_of

# A DataFrame of Spark, which comes from a package that may be missing.
SparkFrame = Any
_PACKAGES = {"pyspark", "py4j", "grpc"}
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
# What Spark's message contains where a task or the driver ended, what that means, and what to do.
_CAUSES = {
    "No module named 'fim_private'": (
        "the workers have no fim_private",
        "install it where they run",
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
    """Raise any error of Spark in this block as a DataError: "{source} ({cause}): {then}".

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
                break
    raise DataError(f"{source} ({cause}): {then}")


@contextmanager
def _quiet() -> Iterator[None]:
    """Turn pyspark's log and warnings off."""
    with ExitStack() as stack:
        if find_spec("pyspark") is not None:
            from pyspark.logger import PySparkLogger

            for logger in map(PySparkLogger.getLogger, _LOGGERS):
                stack.callback(setattr, logger, "disabled", logger.disabled)
                logger.disabled = True
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", FutureWarning)
        yield


def spark_call() -> AbstractContextManager[None]:
    """Return a context for a call to Spark, which raises DataError if Spark gives up."""
    return spark_errors(
        "Spark gave up on these purchases",
        "the workers need fim_private and the same Python as here; the log of its session says "
        f"more ({parameter('spark_conf')} 'spark.log.level=ERROR' shows it)",
    )


@contextmanager
def persisted(frame: SparkFrame) -> Iterator[SparkFrame]:
    """Let Spark keep a DataFrame as long as the context lasts."""
    with spark_call():
        frame = frame.persist()
    try:
        yield frame
    finally:
        with spark_call():
            frame.unpersist()


Batches = Iterator[RecordBatch]
# Takes the batches of a partition, and yields batches with the columns of a schema.
Task = Callable[[Batches], Batches]

FAILURE = "failure"
_KINDS = {kind.__name__: kind for kind in (DataError, WorkLimitError, MemoryLimitError)}


def run(frame: SparkFrame, task: Task, schema: pa.Schema) -> SparkFrame:
    """Return the batches of a task for each partition, as a DataFrame with a column of failures.

    Failures of the tasks that made the DataFrame are passed on.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    full = schema.append(pa.field(FAILURE, pa.string()))
    with spark_call():
        return frame.mapInArrow(guarded(task, full), from_arrow_schema(full))


def collected(frame: SparkFrame) -> pa.Table:
    """Return all rows of a DataFrame.

    Raises the first failure among them, or DataError if Spark gives up.
    """
    with spark_call():
        table = frame.toArrow()
    return _without_failures(table)


def _without_failures(rows: pa.Table | RecordBatch) -> pa.Table | RecordBatch:
    """Return rows without a column of failures, or raise the first failure."""
    if FAILURE not in rows.schema.names:
        return rows
    for failure in rows[FAILURE].drop_null().to_pylist():
        name, message = json.loads(failure)
        raise _KINDS.get(name, DataError)(message)
    return rows.drop_columns([FAILURE])


def row_of(schema: pa.Schema, row: Mapping[str, object]) -> RecordBatch:
    """Return a batch of one row, with null in the columns that it does not name."""
    return RecordBatch.from_pylist([row], schema=schema)


def single_rows(batches: Batches) -> Batches:
    """Yield each row as a batch."""
    return (batch.slice(row, 1) for batch in batches for row in range(len(batch)))


def guarded(task: Task, schema: pa.Schema) -> Task:
    """Return a task that yields its error as a row: Spark would retry and log an exception.

    Spark may retry after any error that this package does not raise on purpose, such as a lost
    worker or no memory.
    """

    def yielding_failures(batches: Batches) -> Batches:
        try:
            for batch in task(map(_without_failures, batches)):
                no_failures = pa.nulls(len(batch), pa.string())
                yield batch.append_column(FAILURE, no_failures).cast(schema)
            return
        except FimPrivateError as error:
            failure = type(error).__name__, error.marked
        except pa.ArrowException:  # which may quote a value
            told = "the purchases cannot be read as baskets; convert the columns to strings first"
            failure = DataError.__name__, told
        yield row_of(schema, {FAILURE: json.dumps(failure)})

    return yielding_failures


# -------------------- check cells

Hashes = NDArray[np.uint64]
Cells = Int64  # (3,): units, entries, checksum. They are added modulo 2^64.
CELLS = 3
CHECK = "check"  # the column that they travel in


def changed() -> DataError:
    """Return the error of a source that gave other rows when it was read again."""
    return DataError(
        "the purchases changed while they were read, so nothing is released; write them to "
        "Parquet, or checkpoint them, and use that"
    )


def verify(computed: Cells, stored: Cells) -> None:
    """Raise DataError if a count saw other purchases than were stored, by their check cells.

    computed: the check cells of one count, or of several, a row each.
    """
    if not (computed == stored).all():
        raise changed()


def total(cells: Iterable[bytes | None]) -> Cells:
    """Return the sum of check cells that travelled as bytes; None is nothing."""
    arrays = (np.frombuffer(content, dtype=np.int64) for content in cells if content is not None)
    return sum(arrays, np.zeros(CELLS, np.int64))


@dataclass(frozen=True)
class Checksum:
    """Makes check cells. key: 0 to 2^64 - 1, drawn for each run, so that nobody can make rows that
    pass for others.
    """

    key: int

    def of_purchases(self, purchases: Transactions) -> Cells:
        """Return the check cells of purchases."""
        # There are fewer different items than entries: hashed once, and looked up.
        codes = np.arange(purchases.items.max(initial=-1) + 1, dtype=np.uint64)
        hashes = self.hashed(codes, 0)[purchases.items]
        hashes = self.hashed(_run_sums(hashes, purchases.offsets), 1)
        if purchases.unit_offsets is not None:
            hashes = self.hashed(_run_sums(hashes, purchases.unit_offsets), 2)
        return np.array([purchases.units, len(purchases.items), hashes.sum().view(np.int64)])

    def of_rows(self, rows: KeyedRows, items: Hashes, *, whole: bool) -> Cells:
        """Return the check cells of some rows of the source. items: as of_items returns. whole: as
        of RowReader.
        """
        hashes = _run_sums(items[rows.codes], offsets_of(rows.lengths))
        baskets = 0
        if whole:
            hashes, baskets = self.hashed(hashes, 1), len(hashes)
        owner = np.ones(len(hashes), dtype=np.uint64)
        for level, keys in enumerate(rows.keys.values(), start=2):
            owner = self.hashed(owner + self._of_keys(keys, level), level)
        return np.array([baskets, len(rows.codes), (hashes * owner).sum().view(np.int64)])

    def of_items(self, digests: Int64) -> Hashes:
        """Return the hash of items with these digests, and at the end that of a null: (items +
        1,).
        """
        return self.hashed(np.append(digests, 0).view(np.uint64), 0)

    def _of_keys(self, keys: pa.Array, level: int) -> Hashes:
        """Return the hash of each key, (rows,): of numbers and moments as they are, of others by
        their bytes; 0 for null.
        """
        keys = decoded(keys)
        kind = keys.type
        if pa.types.is_primitive(kind) and kind.bit_width >= 32:
            integer = pa.int32() if kind.bit_width == 32 else pa.int64()
            numbers = numpy_of(keys.view(integer).fill_null(0)).astype(np.int64).view(np.uint64)
        else:
            texts = keys if pa.types.is_binary(kind) else keys.cast(pa.string())
            values = texts.fill_null("").cast(pa.binary()).to_pylist()
            offsets = offsets_of(np.array([len(value) for value in values], dtype=np.int64))
            # The sum of the bytes, each times the hash of its place.
            data = np.frombuffer(b"".join(values), dtype=np.uint8)
            places = np.arange(len(data)) - np.repeat(offsets[:-1], np.diff(offsets))
            factors = self.hashed(np.arange(places.max(initial=0) + 1, dtype=np.uint64), level)
            numbers = _run_sums((data + np.uint64(1)) * factors[places], offsets)
        hashes = self.hashed(numbers, level)
        hashes[null_mask(keys)] = 0
        return hashes

    def hashed(self, values: Hashes, level: int) -> Hashes:
        """Return the hash of each number, by SplitMix64 (Steele et al., OOPSLA 2014).

        values: They are overwritten. level: What the numbers are; each level has hashes of its own.
        """
        values += np.uint64((self.key + level * 0x9E3779B97F4A7C15) % 2**64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            values ^= values >> np.uint64(shift)
            values *= np.uint64(factor)
        values ^= values >> np.uint64(31)
        return values


def _run_sums(values: Hashes, offsets: Int64) -> Hashes:
    """Return the sum of each run of values modulo 2^64: (runs,)."""
    sums = np.append(np.uint64(0), np.cumsum(values, dtype=np.uint64))
    return np.diff(sums[offsets])


# A vector travels in blocks of so many numbers, behind its check cells; of nothing but zeros these
# only do. Blocks are added up by so many tasks at most: the driver gets the sum alone.
_BLOCK, _TASKS = 1 << 16, 64
_BLOCKS = pa.schema([("block", pa.int64()), ("values", pa.binary())])
# Each vector, (cells,) int64, comes with the check cells of the purchases that it was made from.
Vectors = Iterable[tuple[Int64, Cells]]


def summed(
    frame: SparkFrame, vectors: Callable[[Batches], Vectors], cells: int, stored: Cells
) -> Int64:
    """Return the sum of all vectors that a function makes of each partition: (cells,) int64, which
    has to fit.

    stored: what check cells of each block must add up to, or DataError is raised: one may be of a
    task run again.
    """

    def in_blocks(batches: Batches) -> Batches:
        total_vector, check = np.zeros(cells, dtype=np.int64), np.zeros(CELLS, dtype=np.int64)
        for vector, vector_check in vectors(batches):
            total_vector += vector
            check += vector_check
        for block, start in enumerate(range(0, cells, _BLOCK)):
            values = total_vector[start : start + _BLOCK]
            if not values.any():
                values = values[:0]
            content = np.append(check, values).tobytes()
            yield row_of(_BLOCKS, {"block": block, "values": content})

    count = -(-cells // _BLOCK)
    blocks = run(frame, in_blocks, _BLOCKS)
    blocks = blocks.repartition(min(max(count, 1), _TASKS), blocks["block"])
    added = np.zeros((count, CELLS + _BLOCK), dtype=np.int64)
    for row in collected(run(blocks, _added, _BLOCKS)).to_pylist():
        added[row["block"]] = np.frombuffer(row["values"], dtype=np.int64)
    verify(added[:, :CELLS], stored)
    return added[:, CELLS:].ravel()[:cells]


def _added(batches: Batches) -> Batches:
    """Add up the blocks of each number, of which some have zeros left out."""
    sums = defaultdict[int, Int64](lambda: np.zeros(CELLS + _BLOCK, dtype=np.int64))
    for batch in batches:
        for row in batch.to_pylist():
            values = np.frombuffer(row["values"], dtype=np.int64)
            sums[row["block"]][: len(values)] += values
    for block, added in sums.items():
        yield row_of(_BLOCKS, {"block": block, "values": added.tobytes()})
