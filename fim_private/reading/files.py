"""Paths and standard input: which form a file has, and how its bytes become one of the other sources."""

from __future__ import annotations

import csv
import gzip
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from fim_private.errors import DataError, FimPrivateError
from fim_private.reading import chunk_sizes
from fim_private.reading.column_roles import Roles
from fim_private.reading.record_batches import ArrowSource

FIMI_SUFFIXES = (".dat", ".txt", ".fimi")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
READABLE = (
    "Parquet (.parquet), Arrow IPC or Feather (.arrow, .feather), one row per item or one basket per line "
    "(.csv, .tsv), FIMI (.dat, .txt, .fimi), text also with .gz, or - for standard input in FIMI form"
)

_BINARY_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "stream",
}
_MAGIC = {b"PAR1": "parquet", b"ARRO": "arrow", b"\xff\xff\xff\xff": "stream"}


@dataclass(frozen=True)
class File:
    """A file that exists, can be read and is not empty; or standard input.

    path: - for standard input. form: parquet, arrow, stream, or a text suffix. compressed: by gzip.
    """

    path: Path
    form: str
    compressed: bool = False

    @property
    def name(self) -> str:
        """What errors call the file."""
        return _name(self.path)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open for reading bytes, decompressed. Raises OSError."""
        if str(self.path) == "-":
            yield sys.stdin.buffer
            return
        with cast(BinaryIO, gzip.open(self.path) if self.compressed else self.path.open("rb")) as stream:
            yield stream

    def native(self) -> pa.NativeFile:
        """Open for Arrow's own reading, decompressed. Raises OSError.

        Its threads read ahead: through a Python file they would want the interpreter when it is gone, and abort.
        """
        stream = pa.OSFile(os.fsencode(self.path))
        return pa.CompressedInputStream(stream, "gzip") if self.compressed else stream

    def mapped(self) -> pa.MemoryMappedFile:
        """Map into memory. Raises OSError."""
        return pa.memory_map(os.fsencode(self.path))  # as bytes: Arrow itself takes no name that is not UTF-8


def open_file(path: Path) -> File:
    """Look at a path's suffix and, if that is no text form, at its first bytes.

    Raises DataError for a file that is empty, of no form that can be read, or no regular file; OSError where it cannot
    be opened.
    """
    if str(path) == "-":
        if sys.stdin is None:
            raise DataError("standard input is closed; name a file")
        return File(path, ".dat")
    if path.exists() and not path.is_file() and not path.is_dir():
        # It could be read only once, and its form is told by reading its start.
        raise DataError(f"{_name(path)} is no regular file; send it to standard input and name it -")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compressed = suffixes[-1:] == [".gz"]
    suffix = "".join(suffixes[-2:-1] if compressed else suffixes[-1:])
    with path.open("rb") as stream:
        magic = stream.read(4)
    if not magic:
        raise empty(_name(path))
    if suffix in FIMI_SUFFIXES or suffix in DELIMITERS:
        return File(path, suffix, compressed)
    form = _MAGIC.get(magic)
    expected = _BINARY_SUFFIXES.get(suffix)
    if form is None and expected is not None:
        raise DataError(f"{str(path)!r} is not {_FORM_NAMES[expected]}; check how it was written")
    if form is None:
        raise DataError(f"{str(path)!r} is of no form that can be read; those are {READABLE}")
    return File(path, form)


_FORM_NAMES = {"parquet": "a Parquet file", "arrow": "an Arrow IPC file", "stream": "an Arrow IPC stream"}


def empty(name: str) -> DataError:
    """Return the error for a source of no bytes."""
    return DataError(f"{name} is empty; check how it was written")


def _name(path: Path) -> str:
    """Return what errors call the file."""
    # As a literal: a name with a line break in it still makes one line.
    return "standard input" if str(path) == "-" else repr(str(path))


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn what reading the file raises into one DataError that quotes nothing of what is inside: a context manager."""
    name = _name(path)
    try:
        yield
    except FimPrivateError:
        raise
    except FileNotFoundError:
        raise DataError(f"{name} does not exist; check the path") from None
    except IsADirectoryError:
        raise DataError(f"{name} is a folder; name one file in it") from None
    except PermissionError:
        raise DataError(f"{name} may not be read by this user; check its permissions") from None
    except UnicodeDecodeError:
        raise DataError(f"{name} is not UTF-8 text; convert it to UTF-8 first") from None
    except csv.Error:
        raise DataError(f"{name} is not well-formed CSV; check its double quotes") from None
    except pa.ArrowNotImplementedError:
        raise DataError(
            f"{name} has a column of a type that cannot be read; convert it to strings or integers"
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile, OSError, pa.ArrowException):
        raise DataError(f"{name} is truncated, damaged or not of the form its name says; write it again") from None


def arrow_source(file: File) -> ArrowSource:
    """Return a Parquet or Arrow file as a source of record batches. Raises ArrowException for a damaged one."""
    if file.form == "parquet":
        return _parquet(file)
    return _ipc(file) if file.form == "arrow" else _ipc_stream(file)


def _parquet(file: File) -> ArrowSource:
    """Return a Parquet file as a source of record batches."""
    from pyarrow.parquet import ParquetFile

    # The file is decoded batch by batch from the mapped pages: nothing is read ahead.
    parquet = ParquetFile(file.mapped(), pre_buffer=False)
    schema = parquet.schema_arrow

    def batches(roles: Roles | None) -> Iterator[pa.RecordBatch]:
        """Yield batches of the columns needed, one row group after the other."""
        names = schema.names if roles is None else roles.names
        encoded = [] if roles is None else _text_leaves(parquet, roles.values)
        size = chunk_sizes.LIST_ROWS if roles is None or roles.is_list else chunk_sizes.LONG_ROWS
        reader = ParquetFile(file.mapped(), pre_buffer=False, read_dictionary=encoded)
        # A batch of lists cannot span two dictionaries (apache/arrow issue 32723); each row group has one.
        for group in range(reader.num_row_groups):
            yield from reader.iter_batches(size, row_groups=[group], columns=names)

    return ArrowSource(file.name, schema, batches)


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
    mapped = file.mapped()
    reader = pa.ipc.open_file(mapped)

    def batches(roles: Roles | None) -> Iterator[pa.RecordBatch]:
        """Yield batches of the columns needed."""
        included = None if roles is None else _positions(reader.schema, roles)
        options = pa.ipc.IpcReadOptions(included_fields=included) if included else None
        with pa.ipc.open_file(mapped, options=options) as narrow:
            for number in range(narrow.num_record_batches):
                yield _valid(narrow.get_batch(number))

    return ArrowSource(file.name, reader.schema, batches)


def _ipc_stream(file: File) -> ArrowSource:
    """Return an Arrow IPC stream as a source of record batches, which can be read once."""
    reader = pa.ipc.open_stream(file.mapped())
    return ArrowSource(file.name, reader.schema, lambda roles: map(_valid, reader))


def _valid(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch if its buffers fit together. Raises ArrowException if not."""
    # Arrow takes a file's offsets as they are: damaged ones would point outside of its memory.
    batch.validate(full=True)
    return batch


def _positions(schema: pa.Schema, roles: Roles) -> list[int]:
    """Return the positions of the columns needed, ascending."""
    return sorted(schema.get_field_index(name) for name in roles.names)
