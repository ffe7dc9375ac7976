"""Paths and standard input: which form a file has, and how its bytes become one of the other sources."""

from __future__ import annotations

import bz2
import gzip
import os
import re
import stat
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

import pyarrow as pa

from fim_private.errors import DataError, parameter
from fim_private.reading.paths import name_of

# Suffixes of text: in that of commas or tabs a line is split there, in others at white space.
DELIMITER_OF_SUFFIX = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_TEXT_SUFFIXES = (*DELIMITER_OF_SUFFIX, ".dat", ".txt", ".fimi", ".spmf")
_JSON_SUFFIXES = (".jsonl", ".ndjson")
READABLE = (
    "Parquet (.parquet), Arrow IPC or Feather (.arrow, .feather), one row per item or one basket per line "
    "(.csv, .tsv), FIMI (.dat, .txt, .fimi), JSON Lines (.jsonl), text also with .gz or .bz2, Excel (.xlsx), "
    "or - for text from standard input"
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
# How much of a file is looked at to tell its form.
_START = 512
_GZIP = b"\x1f\x8b"
_BZIP2 = re.compile(rb"BZh[1-9](1AY&SY|\x17\x72\x45\x38\x50\x90)")
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2"}
_OPENED: dict[str, Callable[..., Any]] = {"gzip": gzip.open, "bz2": bz2.open}
_ZIP = b"PK\x03\x04"
# What begins so is no text, whatever it is called and whoever says that it is one.
_OTHERS = {
    _ZIP: "a ZIP archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Office file, such as .xls",
    b"%PDF": "PDF",
    b"<?xml": "XML",
    b"\xef\xbb\xbf<?xml": "XML",
    b"<!DOCTYPE": "HTML",
    b"<!doctype": "HTML",
    b"<html": "HTML",
    b"{\\rtf": "RTF",
    b"SQLite format 3\0": "a SQLite database (which sqlite:/// reads)",
    b"7z\xbc\xaf": "a 7-Zip archive",
    b"Rar!": "a RAR archive",
    b"\xfd7zXZ": "compressed by xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"\x04\x22\x4d\x18": "compressed by lz4",
    b"Obj\x01": "Avro",
    b"ORC": "ORC",
    b"\x89HDF": "HDF5",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
}
# An element of XML or HTML, whatever it is called.
_TAG = re.compile(rb"\s*<[A-Za-z][^<>,;|\t]*>")
# JSON may be one object a line, for who says so.
_JSON = ".json"
_OTHER_SUFFIXES = {_JSON: "JSON", ".xml": "XML", ".zip": "a ZIP archive", ".xls": "an old Excel file", ".pdf": "PDF"}
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

    path: - for standard input. form: parquet, arrow, stream, excel, json (one object a line) or text. suffix: of a
    text, such as .csv. compression: gzip, bz2, or None. pipe: where it can be read only once. remote: where it is not
    on this machine's disks.
    """

    path: Path
    form: str
    suffix: str = ""
    compression: str | None = None
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
                yield self.pipe if self.compression is None else _OPENED[self.compression](self.pipe)
            return
        if self.remote is not None:
            with self.native() as stream:
                yield cast(BinaryIO, stream)
            return
        with cast(BinaryIO, _OPENED.get(self.compression or "", open)(self.path, "rb")) as opened:
            yield opened

    def start(self) -> bytes:
        """Return its first bytes, decompressed, which stay to be read; none of a pipe that is compressed."""
        if self.pipe is not None:
            return b"" if self.compression is not None else _peeked(self.pipe)
        with self.open() as stream:
            return stream.read(_START)

    def native(self) -> pa.NativeFile:
        """Open what is no pipe for Arrow's own reading, decompressed. Raises OSError.

        Its threads read ahead: through a Python file they would want the interpreter when it is gone, and abort.
        """
        # Not mapped: a file that is cut off while it is read would end the process by a signal.
        # Its name as bytes: Arrow itself takes none that is not UTF-8.
        stream = pa.OSFile(os.fsencode(self.path)) if self.remote is None else self.remote.native()
        return stream if self.compression is None else pa.CompressedInputStream(stream, self.compression)


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
        return _by_form(File(path, "text"), stream.read(_START), as_text=as_text)


def open_remote(remote: Remote, path: Path, *, as_text: bool = False) -> File:
    """Look at a remote file as `open_file` does. path: of it, of which only the suffix is looked at."""
    with remote.native() as stream:
        return _by_form(File(path, "text", remote=remote), stream.read(_START), as_text=as_text)


def _by_form(file: File, magic: bytes, *, as_text: bool) -> File:
    """Return the file with its form. magic: its first bytes. Raises DataError as `open_file` does."""
    if not magic:
        raise empty(file.name)
    suffixes = [suffix.lower() for suffix in file.path.suffixes]
    compression = _COMPRESSIONS.get("".join(suffixes[-1:]))
    suffix = "".join(suffixes[-1:] if compression is None else suffixes[-2:-1])
    form = _form_of(magic)
    if magic.startswith(_ZIP) and _is_workbook(file):
        return replace(file, form="excel")
    refuse_others(magic, file.name)
    if form is None and suffix in _OTHER_SUFFIXES and not (as_text and suffix == _JSON):
        raise not_read(file.name, _OTHER_SUFFIXES[suffix])
    expected = _BINARY_SUFFIXES.get(suffix)
    text = replace(file, suffix=suffix, compression=compression or _compression_of(magic))
    if suffix in _JSON_SUFFIXES:
        return replace(text, form="json")
    if suffix in _TEXT_SUFFIXES or (as_text and expected is None and form is None):
        refuse_others(text.start(), file.name)
        return text
    if form is None and expected is not None:
        raise DataError(f"{file.name} is not {_FORM_NAMES[expected]}; check how it was written")
    if form is None:
        raise DataError(
            f"{file.name} is of no form that can be read; those are {READABLE}; "
            f"for text with another name say {parameter('input_format')}"
        )
    return replace(file, form=form)


def refuse_others(start: bytes, name: str) -> None:
    """Raise DataError for what begins as a form that is not read."""
    for magic, what in _OTHERS.items():
        if start.startswith(magic):
            raise not_read(name, what)
    if _TAG.match(start):
        raise not_read(name, "XML")


def not_read(name: str, what: str) -> DataError:
    """Return the error for a form that is not read. what: it is."""
    or_lines = f", or say {parameter('input_format')} jsonl if it has one object a line" if what == "JSON" else ""
    return DataError(f"{name} is {what}, which is not read: save as CSV{or_lines}")


def _is_workbook(file: File) -> bool:
    """Tell whether a ZIP archive is a workbook of Excel, and nothing else. Raises OSError."""
    try:
        with file.open() as stream, zipfile.ZipFile(stream) as archive:
            names = {*archive.namelist()}
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return False
    return "xl/workbook.xml" in names and names.isdisjoint(("xl/workbook.bin", "content.xml", "mimetype"))


def _compression_of(start: bytes) -> str | None:
    """Return what compressed a file that begins with these bytes, None for nothing that is known."""
    return "gzip" if start.startswith(_GZIP) else "bz2" if _BZIP2.match(start) else None


def _form_of(start: bytes) -> str | None:
    """Return the form of what begins with these bytes, None for none of Parquet or Arrow."""
    return next((form for magic, form in _MAGIC.items() if start.startswith(magic)), None)


def _pipe(path: Path, stream: BinaryIO) -> File:
    """Return what can be read once as a text. Raises DataError for what is no text, and for no bytes at all."""
    magic = _peeked(stream)
    is_other = _form_of(magic) is not None or magic.startswith(tuple(_OTHERS))
    if (is_empty := hasattr(stream, "peek") and not magic) or is_other:
        if str(path) != "-":
            stream.close()
        if is_empty:
            raise empty(name_of(path))
        if not magic.startswith(_ZIP):
            refuse_others(magic, name_of(path))
        raise DataError(f"{name_of(path)} is not text, and can be read only once; write it to a file and name that")
    return File(path, "text", compression=_compression_of(magic), pipe=stream)


def _peeked(stream: BinaryIO) -> bytes:
    """Return the first bytes of a pipe, as far as it has written them, which stay to be read."""
    peek = getattr(stream, "peek", None)
    return b"" if peek is None else peek(_START)[:_START]


_FORM_NAMES = {"parquet": "a Parquet file", "arrow": "an Arrow IPC file", "stream": "an Arrow IPC stream"}


def empty(name: str) -> DataError:
    """Return the error for a source of no bytes."""
    return DataError(f"{name} is empty; check how it was written")
