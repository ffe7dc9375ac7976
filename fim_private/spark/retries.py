"""What happens when a Spark task is retried, or runs twice: check cells tell whether it had the
same rows.

Spark makes what it lost again from the source, and some sources give other rows then. So each task
adds up how many units and entries it works on, and a checksum of them in any order. These sums must
be those of the purchases when they were first made; otherwise nothing is released. The rows of the
source, which is read twice before that, have check cells of their own. Nor does a retried task
change what is released: noise is drawn on the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fim_private.errors import DataError
from fim_private.reading.transactions import KeyedRows
from fim_private.reading.values import null_mask, numpy_of
from fim_private.spark.tasks import Batches, SparkFrame, collected, row_of, run, single_rows

Cells = NDArray[np.int64]  # (3,): units, entries, checksum. They are added modulo 2^64.
CELLS = 3
CHECK = "check"  # the column that they travel in
_COLUMNS = ("units", "baskets", "lengths", "items")


def changed() -> DataError:
    """Return the error of a source that gave other rows when it was read again."""
    return DataError(
        "the purchases changed while they were read, so nothing is released; write them to "
        "Parquet, or checkpoint "
        "them, and use that"
    )


def verify(computed: Cells, stored: Cells) -> None:
    """Raise DataError unless the check cells of what was counted are those of what was stored."""
    if not np.array_equal(computed, stored):
        raise changed()


def total(cells: Iterable[bytes | None]) -> Cells:
    """Return the sum of check cells that travelled as bytes; None is nothing."""
    return sum(
        (np.frombuffer(one, dtype=np.int64) for one in cells if one is not None),
        np.zeros(CELLS, np.int64),
    )


@dataclass(frozen=True)
class Checksum:
    """Makes check cells. key: 0 to 2^64 - 1, drawn for each run, so that nobody can make rows that
    pass for others.
    """

    key: int

    def of_pieces(self, batches: Iterable[pa.RecordBatch]) -> Cells:
        """Return the check cells of some pieces."""
        found = np.zeros(CELLS, dtype=np.int64)
        for batch in batches:
            columns = (batch.column(batch.schema.get_field_index(name)) for name in _COLUMNS)
            for units, baskets, lengths, items in zip(*columns, strict=True):
                codes, sizes = _numbers(items), _numbers(lengths)
                count = int(codes.max(initial=-1)) + 1
                if count < len(codes):  # there are fewer different ones: hashed once, and looked up
                    hashes = self.hashed(np.arange(count, dtype=np.uint64), 0)[codes]
                else:
                    hashes = self.hashed(codes.astype(np.uint64), 0)
                hashes = self._of_runs(hashes, sizes, 1)
                if baskets.is_valid:
                    hashes = self._of_runs(hashes, _numbers(baskets), 2)
                else:
                    hashes[sizes == 0] = 0  # of these any number may be counted as blank instead
                found += np.array(
                    [units.as_py(), len(codes), hashes.sum(dtype=np.uint64).view(np.int64)]
                )
        return found

    def of_rows(self, rows: KeyedRows, items: NDArray[np.uint64], *, whole: bool) -> Cells:
        """Return the check cells of some rows of the source. items: as of_items returns. whole: as
        of RowReader.
        """
        ends = np.cumsum(rows.lengths, dtype=np.int64)
        hashes = _run_sums(items[rows.codes], ends)
        if whole:
            hashes = self.hashed(hashes, 1)
        owner = np.ones(len(ends), dtype=np.uint64)
        for level, keys in enumerate((rows.users, rows.baskets, rows.segments, rows.days), start=2):
            if keys is not None:
                owner = self.hashed(owner + self._of_keys(keys, level), level)
        checksum = (hashes * owner).sum(dtype=np.uint64).view(np.int64)
        baskets = len(ends) if whole else 0
        return np.array([baskets, len(rows.codes), checksum])

    def of_items(self, digests: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the hash of items with these digests, and at the end that of a null: (items +
        1,).
        """
        return self.hashed(np.append(digests, 0).view(np.uint64), 0)

    def _of_keys(self, keys: pa.Array, level: int) -> NDArray[np.uint64]:
        """Return the hash of each key, (rows,): of numbers and moments as they are, of others by
        their bytes.
        """
        keys = keys.dictionary_decode() if pa.types.is_dictionary(keys.type) else keys
        null, kind = null_mask(keys), keys.type
        if pa.types.is_floating(kind):
            numbers = numpy_of(keys.cast(pa.float64()).fill_null(0)).view(np.uint64).copy()
        elif pa.types.is_integer(kind) or pa.types.is_temporal(kind):
            if pa.types.is_temporal(kind):
                integer = pa.int32() if kind.bit_width == 32 else pa.int64()
                keys = keys.view(integer)
            numbers = numpy_of(keys.fill_null(0)).astype(np.int64).view(np.uint64)
        else:
            if not pa.types.is_binary(kind) and not pa.types.is_large_binary(kind):
                keys = keys.cast(pa.large_string())
            # The sum of the bytes, each times the hash of its place.
            ends, data = bytes_of(keys.cast(pa.large_binary()).fill_null(b""))
            lengths = np.diff(ends)
            factors = self.hashed(np.arange(lengths.max(initial=0), dtype=np.uint64), level)
            places = np.arange(len(data)) - np.repeat(ends[:-1], lengths)
            numbers = _run_sums((data.astype(np.uint64) + np.uint64(1)) * factors[places], ends[1:])
        found = self.hashed(numbers, level)
        found[null] = 0
        return found

    def _of_runs(
        self, hashes: NDArray[np.uint64], lengths: NDArray[np.int32], level: int
    ) -> NDArray[np.uint64]:
        return self.hashed(_run_sums(hashes, np.cumsum(lengths, dtype=np.int64)), level)

    def hashed(self, values: NDArray[np.uint64], level: int) -> NDArray[np.uint64]:
        """Return the hash of each number, in its place, by SplitMix64 (Steele et al., OOPSLA 2014).
        level: its kind.
        """
        values += np.uint64((self.key + level * 0x9E3779B97F4A7C15) % 2**64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            values ^= values >> np.uint64(shift)
            values *= np.uint64(factor)
        values ^= values >> np.uint64(31)
        return values


def _run_sums(values: NDArray[np.uint64], ends: NDArray[np.int64]) -> NDArray[np.uint64]:
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)])
    return np.diff(sums[ends], prepend=np.uint64(0))


def _numbers(value: pa.BinaryScalar) -> NDArray[np.int32]:
    return np.frombuffer(value.as_buffer(), dtype=np.int32)


def bytes_of(values: pa.LargeBinaryArray) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return where each value begins among the bytes of all, and the end: (values + 1,), and these
    bytes.
    """
    _, ends, buffer = values.buffers()
    ends = np.frombuffer(ends, dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    data = (
        np.frombuffer(buffer, dtype=np.uint8)[ends[0] : ends[-1]]
        if buffer
        else np.empty(0, dtype=np.uint8)
    )
    return ends - ends[0], data


# A vector travels in blocks of so many numbers, behind its check cells; of nothing but zeros these
# only do. Blocks are added up by so many tasks at most: the driver gets the sum alone.
_BLOCK, _TASKS = 1 << 16, 64
_BLOCKS = pa.schema([("block", pa.int64()), ("values", pa.binary())])
# Yields vectors, (cells,) int64, and the check cells of what they were made of.
VectorsOf = Callable[[Batches], Iterable[tuple[NDArray[np.int64], Cells]]]


def summed(frame: SparkFrame, vectors: VectorsOf, cells: int, stored: Cells) -> NDArray[np.int64]:
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
            yield row_of(_BLOCKS, block, np.append(check, values).tobytes())

    count = -(-cells // _BLOCK)
    blocks = run(frame, in_blocks, _BLOCKS)
    blocks = blocks.repartition(min(max(count, 1), _TASKS), blocks["block"])
    added = np.zeros((count, CELLS + _BLOCK), dtype=np.int64)
    table = collected(run(blocks, _added_blocks, _BLOCKS))
    for block, values in _added(iter(table.to_batches())).items():
        added[block] = values
    for check in added[:, :CELLS]:
        verify(check, stored)
    return added[:, CELLS:].ravel()[:cells]


def _added(batches: Batches) -> dict[int, NDArray[np.int64]]:
    """Return the sum of all blocks of each number, with the zeros that were left out."""
    sums: dict[int, NDArray[np.int64]] = {}
    for row in single_rows(batches):
        values = np.frombuffer(row["values"][0].as_buffer(), dtype=np.int64)
        block = sums.setdefault(row["block"][0].as_py(), np.zeros(CELLS + _BLOCK, dtype=np.int64))
        block[: len(values)] += values
    return sums


def _added_blocks(batches: Batches) -> Batches:
    for block, values in _added(batches).items():
        yield row_of(_BLOCKS, block, values.tobytes())
