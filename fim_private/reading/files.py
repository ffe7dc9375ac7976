"""Paths and standard input: which form a file has, and how its bytes become one of the other sources."""

from __future__ import annotations

import gzip
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import pyarrow as pa

from fim_private.errors import DataError, parameter
from fim_private.reading.paths import name_of

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


class Remote(Protocol):
    """A file of a file system that Arrow opens, such as an object store."""

    @property
    def name(self) -> str:
        """What errors call it."""

    def native(self) -> pa.NativeFile:
        """Open for reading at any place. Raises OSError."""


@dataclass(frozen=True)
class File:
    """A file that can be read and is not empty; or a pipe, or standard input, which can be read once.

    path: - for standard input. form: parquet, arrow, stream or text. suffix: of a text, such as .csv. compressed: by
    gzip. pipe: where it can be read only once. remote: where it is not on this machine's disks.
    """

    path: Path
    form: str
    suffix: str = ""
    compressed: bool = False
    pipe: BinaryIO | None = None
    remote: Remote | None = None

    @property
    def name(self) -> str:
        """What errors call the file."""
        return name_of(self.path) if self.remote is None else self.remote.name

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open for reading bytes, decompressed. Raises OSError."""
        if self.pipe is not None:
            with nullcontext() if str(self.path) == "-" else self.pipe:
                yield cast(BinaryIO, gzip.GzipFile(fileobj=self.pipe)) if self.compressed else self.pipe
            return
        if self.remote is not None:
            with self.native() as stream:
                yield cast(BinaryIO, stream)
            return
        with cast(BinaryIO, gzip.open(self.path) if self.compressed else self.path.open("rb")) as opened:
            yield opened

    def native(self) -> pa.NativeFile:
        """Open what is no pipe for Arrow's own reading, decompressed. Raises OSError.

        Its threads read ahead: through a Python file they would want the interpreter when it is gone, and abort.
        """
        # Not mapped: a file that is cut off while it is read would end the process by a signal.
        # Its name as bytes: Arrow itself takes none that is not UTF-8.
        stream = pa.OSFile(os.fsencode(self.path)) if self.remote is None else self.remote.native()
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
    mode = path.stat().st_mode
    if stat.S_ISFIFO(mode) and str(path).startswith(_OPEN_FILES):
        return _pipe(path, path.open("rb"))
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise DataError(f"{name_of(path)} is no regular file; send it to standard input and name it -")
    with path.open("rb") as stream:
        return _by_form(File(path, "text"), stream.read(_LONGEST_MAGIC), as_text=as_text)


def open_remote(remote: Remote, path: Path, *, as_text: bool = False) -> File:
    """Look at a remote file as `open_file` does. path: of it, of which only the suffix is looked at."""
    with remote.native() as stream:
        return _by_form(File(path, "text", remote=remote), stream.read(_LONGEST_MAGIC), as_text=as_text)


def _by_form(file: File, magic: bytes, *, as_text: bool) -> File:
    """Return the file with its form. magic: its first bytes. Raises DataError as `open_file` does."""
    if not magic:
        raise empty(file.name)
    suffixes = [suffix.lower() for suffix in file.path.suffixes]
    compressed = suffixes[-1:] == [".gz"]
    suffix = "".join(suffixes[-2:-1] if compressed else suffixes[-1:])
    form = _form_of(magic)
    expected = _BINARY_SUFFIXES.get(suffix)
    if suffix in _TEXT_SUFFIXES or (as_text and expected is None and form is None):
        return replace(file, suffix=suffix, compressed=compressed or magic.startswith(_GZIP))
    if form is None and expected is not None:
        raise DataError(f"{file.name} is not {_FORM_NAMES[expected]}; check how it was written")
    if form is None:
        raise DataError(
            f"{file.name} is of no form that can be read; those are {READABLE}; "
            f"for text with another name say {parameter('input_format')}"
        )
    return replace(file, form=form)


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
            raise empty(name_of(path))
        raise DataError(f"{name_of(path)} is not text, and can be read only once; write it to a file and name that")
    return File(path, "text", compressed=magic.startswith(_GZIP), pipe=stream)


_FORM_NAMES = {"parquet": "a Parquet file", "arrow": "an Arrow IPC file", "stream": "an Arrow IPC stream"}


def empty(name: str) -> DataError:
    """Return the error for a source of no bytes."""
    return DataError(f"{name} is empty; check how it was written")
