"""Parquet and Arrow files, read in parts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from fim_private.reading import memory
from fim_private.reading.columns import Wanted
from fim_private.reading.files import File
from fim_private.reading.record_batches import ArrowSource
from fim_private.reading.where import columns_of, may_pass, of_row_group

# -------------------- parquet footer
# What the footer of a Parquet file says of its row groups, once it is known that it can be asked for.


class ParquetFooter:
    """The footer of a Parquet file.

    Arrow's Python asks without a guard for what is known of a column: where a damaged file, or an encrypted one, says
    what cannot be, C++ ends the process. To begin to read that column makes the same checks, and raises. So each column
    is begun to be read first, from a file of which nothing but the footer can be read.
    """

    def __init__(self, file: pa.NativeFile) -> None:
        """Read the footer. Raises ArrowException, or OSError, for a damaged one."""
        from pyarrow.parquet import ParquetFile

        self._file = _Sealed(file)
        self._parquet = ParquetFile(self._file)
        self._file.sealed = True

    def row_group(self, number: int, places: Mapping[str, int]) -> Any:
        """Return Arrow's metadata of a row group, of which the columns at these places may be asked for.

        Raises ArrowException, or OSError, where they may not.
        """
        group = self._parquet.metadata.row_group(number)
        for name, place in places.items():
            self._file.wanted = False
            try:
                next(self._parquet.iter_batches(1, row_groups=[number], columns=[name], use_threads=False), None)
            except (OSError, pa.ArrowException):
                if not self._file.wanted:
                    raise
            # Bounds are of the type of the column.
            if group.column(place).physical_type != self._parquet.schema.column(place).physical_type:
                raise pa.ArrowInvalid("a column has two types")
        return group


class _Sealed:
    """A file that can be read until it is sealed. wanted: whether something was to be read after that."""

    closed = sealed = wanted = False

    def __init__(self, file: pa.NativeFile) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """Return bytes; none once it is sealed, which Arrow takes for the end of the file.

        (An exception raised here would stay in Arrow, and with it, by its frames, all that they hold: open files.)
        """
        if self.sealed:
            self.wanted = True
            return b""
        return bytes(self._file.read(None if size < 0 else size))

    def seek(self, *place: int) -> int:
        """Go to a place, as files do."""
        return int(self._file.seek(*place))

    def tell(self) -> int:
        """Return the place."""
        return int(self._file.tell())

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that any place can be gone to."""
        return True

    def flush(self) -> None:
        """Do nothing: nothing is written."""

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self._file.close()


# -------------------- arrow files
# Parquet and Arrow files as tables that are read in parts.

# So many entries of lists are decoded at a time, at most.
_ENTRIES = 1 << 25
# What is compressed is at most so many times as large (Zstandard's runs: 128 KiB in four bytes).
_MOST_COMPRESSED = 1 << 15


def arrow_source(file: File) -> ArrowSource:
    """Return a Parquet or Arrow file as a source of record batches. Raises ArrowException for a damaged one."""
    if file.form == "parquet":
        return _parquet(file)
    return _ipc(file) if file.form == "arrow" else _ipc_stream(file)


def _parquet(file: File) -> ArrowSource:
    """Return a Parquet file as a source of record batches."""
    from pyarrow.parquet import ParquetFile

    # The file is decoded batch by batch, from a buffer a column: nothing is read ahead, unless it is far away.
    far = file.remote is not None
    parquet = ParquetFile(file.native(), pre_buffer=far)
    schema = parquet.schema_arrow

    def batches(wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """Yield batches of the columns needed, one row group after the other."""
        encoded = [] if wanted.items is None else _text_leaves(parquet, wanted.items)
        reader = ParquetFile(file.native(), pre_buffer=far, read_dictionary=encoded, buffer_size=memory.BLOCK_BYTES)
        tested = [] if wanted.where is None else sorted(columns_of(wanted.where))
        known = ParquetFooter(file.native()) if tested else None
        # A batch of lists cannot span two dictionaries (apache/arrow issue 32723); each row group has one.
        for group in range(reader.num_row_groups):
            if wanted.where is not None and known is not None:
                places = _places(parquet, tested)
                of_group = of_row_group(known.row_group(group, places), places, schema, file.name)
                if not may_pass(wanted.where, of_group):
                    continue
            size = _rows_at_a_time(reader.metadata.row_group(group), wanted.rows_at_a_time)
            for batch in reader.iter_batches(size, row_groups=[group], columns=wanted.names):
                if not {*wanted.names} <= {*batch.schema.names}:
                    raise pa.ArrowInvalid("the two schemas of the file do not agree")
                if encoded:
                    # Arrow takes a page's codes as they are, which may be of no value in the dictionary.
                    batch.column(wanted.items).validate(full=True)
                yield batch

    return ArrowSource(file.name, schema, batches, kind="Parquet")


def _rows_at_a_time(group: Any, wanted: int) -> int:
    """Return how many rows of a row group are read at a time: fewer than wanted where lists in them may be very long.

    group: its metadata. An entry of a list takes a bit or more.
    """
    entries = 8 * max(group.total_byte_size, 1) // max(group.num_rows, 1)
    return max(1, min(wanted, _ENTRIES // int(max(entries, 1))))


def _places(parquet: Any, names: Collection[str]) -> dict[str, int]:
    """Return where columns are among those of a Parquet file, by name, if they are plain ones."""
    return {path: place for place, path in enumerate(_paths(parquet)) if path in names}


def _paths(parquet: Any) -> list[str]:
    """Return the path of each column in a Parquet file, such as ``items.list.element``."""
    return [parquet.schema.column(index).path for index in range(len(parquet.schema.names))]


def _text_leaves(parquet: Any, column: str) -> list[str]:
    """Return the paths of the strings inside a column, such as ``items.list.element``."""
    leaves = (parquet.schema.column(index) for index in range(len(parquet.schema.names)))
    return [
        leaf.path
        for leaf in leaves
        if leaf.physical_type == "BYTE_ARRAY" and (leaf.path == column or leaf.path.startswith(f"{column}."))
    ]


def _ipc(file: File) -> ArrowSource:
    """Return an Arrow IPC file as a source of record batches."""
    with _damage(file):
        reader = pa.ipc.open_file(file.native())

    def batches(wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """Yield batches of the columns needed."""
        options = pa.ipc.IpcReadOptions(included_fields=_positions(reader.schema, wanted))
        with _damage(file), pa.ipc.open_file(file.native(), options=options) as narrow:
            for number in range(narrow.num_record_batches):
                yield _valid(narrow.get_batch(number))

    return ArrowSource(file.name, reader.schema, batches, kind="Arrow")


def _ipc_stream(file: File) -> ArrowSource:
    """Return an Arrow IPC stream as a source of record batches, which can be read once."""
    with _damage(file):
        reader = pa.ipc.open_stream(file.native())

    def batches(wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """Yield all batches."""
        with _damage(file):
            yield from map(_valid, reader)

    return ArrowSource(file.name, reader.schema, batches, kind="Arrow")


@contextmanager
def _damage(file: File) -> Iterator[None]:
    """Tell a file that asks for more memory than it can fill from a machine that has too little: a context manager.

    An Arrow file says how long its parts are, and a damaged one says anything. Raises ArrowInvalid for it.
    """
    try:
        yield
    except pa.ArrowMemoryError as error:
        asked = re.search(r" of size (\d+) failed", str(error))
        with file.native() as stream:
            if asked is None or int(asked[1]) <= _MOST_COMPRESSED * stream.size():
                raise
        raise pa.ArrowInvalid("a part is longer than the file can be") from None


def _valid(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch if its buffers fit together. Raises ArrowException if not."""
    # Arrow takes a file's offsets as they are: damaged ones would point outside of its memory.
    batch.validate(full=True)
    return batch


def _positions(schema: pa.Schema, wanted: Wanted) -> list[int]:
    """Return the positions of the columns needed, ascending."""
    return sorted(schema.get_field_index(name) for name in wanted.names)
