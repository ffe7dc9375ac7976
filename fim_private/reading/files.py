"""Paths and standard input: which form a file has, and how its bytes become one of the other sources."""

from __future__ import annotations

import csv
import errno
import gzip
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from fim_private.errors import DataError, FimPrivateError, parameter
from fim_private.reading import chunk_sizes
from fim_private.reading.column_roles import Roles
from fim_private.reading.dialect import not_utf8
from fim_private.reading.record_batches import ArrowSource

# Suffixes of text: in that of commas or tabs a line is split there, in others at white space.
DELIMITER_OF_SUFFIX = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_TEXT_SUFFIXES = (*DELIMITER_OF_SUFFIX, ".dat", ".txt", ".fimi", ".spmf")
READABLE = (
    "Parquet (.parquet), Arrow IPC or Feather (.arrow, .feather), one row per item or one basket per line "
    "(.csv, .tsv), FIMI (.dat, .txt, .fimi), text also with .gz, or - for text from standard input"
)

_BINARY_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "stream",
}
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "stream"}
_LONGEST_MAGIC = 6
_GZIP = b"\x1f\x8b"
# Where a shell puts the output of another command, as in <(command). Another pipe may wait for ever for who writes it.
_OPEN_FILES = ("/dev/fd/", "/proc/self/fd/")
# What the system says of a path, not of what is inside.
_NOT_OPENED = {
    errno.ENAMETOOLONG: "the name is too long; rename it",
    errno.ELOOP: "its links lead back to themselves; name the file itself",
    errno.EMFILE: "too many files are open; close some",
    errno.ENXIO: "there is no such device; name a file",
    errno.ENODEV: "there is no such device; name a file",
}


@dataclass(frozen=True)
class File:
    """A file that can be read and is not empty; or a pipe, or standard input, which can be read once.

    path: - for standard input. form: parquet, arrow, stream or text. suffix: of a text, such as .csv. compressed: by
    gzip. pipe: where it can be read only once.
    """

    path: Path
    form: str
    suffix: str = ""
    compressed: bool = False
    pipe: BinaryIO | None = None

    @property
    def name(self) -> str:
        """What errors call the file."""
        return _name(self.path)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open for reading bytes, decompressed. Raises OSError."""
        if self.pipe is not None:
            with nullcontext() if str(self.path) == "-" else self.pipe:
                yield cast(BinaryIO, gzip.GzipFile(fileobj=self.pipe)) if self.compressed else self.pipe
            return
        with cast(BinaryIO, gzip.open(self.path) if self.compressed else self.path.open("rb")) as stream:
            yield stream

    def native(self) -> pa.NativeFile:
        """Open what is no pipe for Arrow's own reading, decompressed. Raises OSError.

        Its threads read ahead: through a Python file they would want the interpreter when it is gone, and abort.
        """
        # Not mapped: a file that is cut off while it is read would end the process by a signal.
        stream = pa.OSFile(os.fsencode(self.path))  # as bytes: Arrow itself takes no name that is not UTF-8
        return pa.CompressedInputStream(stream, "gzip") if self.compressed else stream


def open_file(path: Path, *, as_text: bool = False) -> File:
    """Look at a path's suffix and, if that is none of text, at its first bytes.

    as_text: whether the caller says that it is text, whatever its suffix.
    Raises DataError for a file that is empty, or of no form that can be read; OSError where it cannot be opened.
    """
    if str(path) == "-":
        if sys.stdin is None:
            raise DataError("standard input is closed; name a file")
        return _pipe(path, sys.stdin.buffer)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compressed = suffixes[-1:] == [".gz"]
    suffix = "".join(suffixes[-2:-1] if compressed else suffixes[-1:])
    mode = path.stat().st_mode
    if stat.S_ISFIFO(mode) and str(path).startswith(_OPEN_FILES):
        return _pipe(path, path.open("rb"))
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise DataError(f"{_name(path)} is no regular file; send it to standard input and name it -")
    with path.open("rb") as stream:
        magic = stream.read(_LONGEST_MAGIC)
    if not magic:
        raise empty(_name(path))
    form = _form_of(magic)
    expected = _BINARY_SUFFIXES.get(suffix)
    if suffix in _TEXT_SUFFIXES or (as_text and expected is None and form is None):
        return File(path, "text", suffix, compressed or magic.startswith(_GZIP))
    if form is None and expected is not None:
        raise DataError(f"{str(path)!r} is not {_FORM_NAMES[expected]}; check how it was written")
    if form is None:
        raise DataError(
            f"{str(path)!r} is of no form that can be read; those are {READABLE}; "
            f"for text with another name say {parameter('input_format')}"
        )
    return File(path, form)


def _form_of(start: bytes) -> str | None:
    """Return the form of what begins with these bytes, None for none of Parquet or Arrow."""
    return next((form for magic, form in _MAGIC.items() if start.startswith(magic)), None)


def _pipe(path: Path, stream: BinaryIO) -> File:
    """Return what can be read once as a text. Raises DataError for what is no text, and for no bytes at all."""
    peek = getattr(stream, "peek", None)
    magic = b"" if peek is None else peek(_LONGEST_MAGIC)[:_LONGEST_MAGIC]
    if (is_empty := peek is not None and not magic) or _form_of(magic) is not None:
        if str(path) != "-":
            stream.close()
        if is_empty:
            raise empty(_name(path))
        raise DataError(f"{_name(path)} is not text, and can be read only once; write it to a file and name that")
    return File(path, "text", compressed=magic.startswith(_GZIP), pipe=stream)


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
    except (FimPrivateError, MemoryError):  # Arrow's MemoryError is an ArrowException as well
        raise
    except FileNotFoundError:
        raise DataError(f"{name} does not exist; check the path") from None
    except NotADirectoryError:
        raise DataError(f"{name} does not exist: what stands before its last slash is no folder") from None
    except IsADirectoryError:
        raise DataError(f"{name} is a folder; name one file in it") from None
    except PermissionError:
        raise DataError(f"{name} may not be read by this user; check its permissions") from None
    except UnicodeDecodeError:
        raise not_utf8(name) from None
    except UnicodeEncodeError:
        raise DataError(f"{name} is no path: it has a character that no file name has") from None
    except csv.Error:
        raise DataError(f"{name} is not well-formed CSV; check its double quotes") from None
    except pa.ArrowNotImplementedError:
        raise DataError(
            f"{name} has a column of a type that cannot be read; convert it to strings or integers"
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile, OSError, ValueError, pa.ArrowException) as error:
        number = getattr(error, "errno", None)
        if number == errno.ENOMEM:  # to open a file takes room as well
            raise MemoryError from None
        if number in _NOT_OPENED:
            raise DataError(f"{name} cannot be opened: {_NOT_OPENED[number]}") from None
        if isinstance(error, ValueError) and not isinstance(error, pa.ArrowException):
            if "\0" not in name and "\\x00" not in name:
                raise
            raise DataError(f"{name} is no path: it has a NUL in it") from None
        if number is not None:  # the system refused: what is in the file was not looked at
            raise DataError(f"{name} cannot be read: {os.strerror(number).lower()}; try again") from None
        raise DataError(f"{name} is truncated, damaged or not of the form its name says; write it again") from None


def arrow_source(file: File) -> ArrowSource:
    """Return a Parquet or Arrow file as a source of record batches. Raises ArrowException for a damaged one."""
    if file.form == "parquet":
        return _parquet(file)
    return _ipc(file) if file.form == "arrow" else _ipc_stream(file)


def _parquet(file: File) -> ArrowSource:
    """Return a Parquet file as a source of record batches."""
    from pyarrow.parquet import ParquetFile

    # The file is decoded batch by batch, from a buffer a column: nothing is read ahead.
    parquet = ParquetFile(file.native(), pre_buffer=False)
    schema = parquet.schema_arrow

    def batches(roles: Roles) -> Iterator[pa.RecordBatch]:
        """Yield batches of the columns needed, one row group after the other."""
        encoded = _text_leaves(parquet, roles.values[0]) if len(roles.values) == 1 else []
        reader = ParquetFile(
            file.native(), pre_buffer=False, read_dictionary=encoded, buffer_size=chunk_sizes.BLOCK_BYTES
        )
        # A batch of lists cannot span two dictionaries (apache/arrow issue 32723); each row group has one.
        for group in range(reader.num_row_groups):
            yield from reader.iter_batches(roles.rows_at_a_time, row_groups=[group], columns=roles.names)

    return ArrowSource(file.name, schema, batches, kind="Parquet")


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
    reader = pa.ipc.open_file(file.native())

    def batches(roles: Roles) -> Iterator[pa.RecordBatch]:
        """Yield batches of the columns needed."""
        options = pa.ipc.IpcReadOptions(included_fields=_positions(reader.schema, roles))
        with pa.ipc.open_file(file.native(), options=options) as narrow:
            for number in range(narrow.num_record_batches):
                yield _valid(narrow.get_batch(number))

    return ArrowSource(file.name, reader.schema, batches, kind="Arrow")


def _ipc_stream(file: File) -> ArrowSource:
    """Return an Arrow IPC stream as a source of record batches, which can be read once."""
    reader = pa.ipc.open_stream(file.native())
    return ArrowSource(file.name, reader.schema, lambda roles: map(_valid, reader), kind="Arrow")


def _valid(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch if its buffers fit together. Raises ArrowException if not."""
    # Arrow takes a file's offsets as they are: damaged ones would point outside of its memory.
    batch.validate(full=True)
    return batch


def _positions(schema: pa.Schema, roles: Roles) -> list[int]:
    """Return the positions of the columns needed, ascending."""
    return sorted(schema.get_field_index(name) for name in roles.names)
