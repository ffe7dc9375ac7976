"""Paths, addresses, patterns and standard input, to files of a known form; and their errors."""

import csv
import errno
import fnmatch
import glob
import os
import re
import stat
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath
from typing import BinaryIO
from urllib.parse import unquote

import pyarrow as pa

from fim_private.addresses import shown_source
from fim_private.errors import DataError, FimPrivateError, parameter
from fim_private.reading.locations import (
    Address,
    Database,
    InMemory,
    LocalPath,
    Source,
    name_of,
    source_of,
)
from fim_private.reading.memory import read_whole
from fim_private.reading.options import not_utf8

# -------------------- errors

# What reading raises that says by its type what is wrong; the first that fits.
_MEANINGS = {
    FileNotFoundError: "does not exist; check the path",
    NotADirectoryError: "does not exist: what stands before its last slash is not a folder",
    IsADirectoryError: "is a folder; name one file in it",
    PermissionError: "may not be read by this user; check its permissions",
    UnicodeEncodeError: "is not a path: it has a character that no file name has",
    pa.ArrowNotImplementedError: (
        "has a column of a type that cannot be read; convert it to strings or integers"
    ),
}
_DAMAGED = "is truncated, damaged or not of the form its name says; write it again"
# Only a damaged file asks for so many bytes in one piece: no machine has them. (An Arrow file says
# how long its parts are.)
_BEYOND_ALL_MEMORY = 1 << 44


@contextmanager
def file_errors(name: str) -> Iterator[None]:
    """Turn what reading a file raises into one DataError that quotes nothing of the file.

    name: what errors call the file.
    """
    try:
        yield
    except FimPrivateError:
        raise
    except MemoryError as error:  # Arrow's is an ArrowException as well
        size = re.search(r" of size (\d+) failed", str(error))
        if size is None or int(size[1]) < _BEYOND_ALL_MEMORY:
            raise
        raise DataError(f"{name} {_DAMAGED}") from None
    except UnicodeDecodeError:
        raise not_utf8(name) from None
    except csv.Error:
        raise DataError(
            f"{name} is not well-formed CSV; check its double quotes", is_of_a_line=True
        ) from None
    except (OSError, ValueError, pa.ArrowException) as error:
        if getattr(error, "errno", None) == errno.ENOMEM:  # to open a file takes room as well
            raise MemoryError from None
        problem = _problem_of(error, name)
        if problem is None:
            raise
        raise DataError(f"{name} {problem}") from None


def _problem_of(error: BaseException, name: str) -> str | None:
    """Return what an error says of a file that cannot be read; None for an error of the program."""
    for kind, meaning in _MEANINGS.items():
        if isinstance(error, kind):
            return meaning
    if isinstance(error, ValueError) and not isinstance(error, pa.ArrowException):
        if "\\x00" in name:
            return "is not a path: it has a NUL in it"
        return None
    number = getattr(error, "errno", None)
    if number is not None:  # the system refused: what is in the file was not looked at
        return f"cannot be read: {os.strerror(number).lower()}; see to that, and try again"
    if "://" not in name:
        return _DAMAGED
    return (
        "cannot be read; check the address, your rights, the network, and that what is there is "
        "whole"
    )


def empty(name: str) -> DataError:
    """Return the error for a source of no bytes."""
    return DataError(f"{name} is empty; check how it was written")


def not_read(name: str, form: str) -> DataError:
    """Return the error for a form that is not read."""
    or_lines = ""
    if form == "JSON":
        or_lines = f", or say {parameter('input_format')} jsonl if it has one object a line"
    return DataError(f"{name} is {form}, which is not read: save as CSV{or_lines}")


# -------------------- forms

# Suffixes of text: in that of commas or tabs a line is split there, in others at white space.
DELIMITER_OF_SUFFIX = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
TEXT_SUFFIXES = (*DELIMITER_OF_SUFFIX, ".dat", ".txt", ".fimi", ".spmf")
JSON_SUFFIXES = (".jsonl", ".ndjson")
READABLE = (
    "Parquet (.parquet), Arrow or Feather, text (.csv, .tsv, .dat, .txt, .fimi, .jsonl; also .gz "
    "or .bz2), Excel (.xlsx), or - for standard input"
)
_BINARY_SUFFIXES = (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".arrows")

# What files begin with: patterns.
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "stream"}
_PACKED = {b"\x1f\x8b": "gzip", rb"BZh[1-9](1AY&SY|\x17\x72\x45\x38\x50\x90)": "bz2"}
_START = 512  # how much of a file is looked at to tell its form
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2"}
_ZIP = b"PK\x03\x04"
# What begins so is no text, whatever it is called and whoever says that it is one: patterns.
_OTHERS = {
    _ZIP: "a ZIP archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Office file, such as .xls",
    b"%PDF": "PDF",
    rb"(\xef\xbb\xbf)?<\?xml": "XML",
    b"<!DOCTYPE|<!doctype|<html": "HTML",
    b"SQLite format 3\0": "a SQLite database (which sqlite:/// reads)",
    rb"\xfd7zXZ|\x28\xb5\x2f\xfd|\x04\x22\x4d\x18": "compressed by xz, zstd or lz4",
    b"Obj\x01|ORC|\x89HDF": "Avro, ORC or HDF5",
}
_TAG = rb"\s*<[A-Za-z][^<>,;|\t]*>"  # an element of XML or HTML, whatever it is called
# JSON may be one object a line, for who says so.
_OTHER_SUFFIXES = {
    ".arff": "ARFF, the format of Weka",
    ".json": "JSON",
    ".xml": "XML",
    ".zip": "a ZIP archive",
    ".xls": "an old Excel file",
    ".pdf": "PDF",
}
# Where a shell puts the output of another command, as in <(command). Any other pipe may wait for
# ever for a program that writes to it.
_OPEN_FILES = ("/dev/fd/", "/proc/self/fd/")


@dataclass(frozen=True)
class File:
    """A file. Some columns may come from the names of folders, as in year=2024."""

    path: Path  # - for standard input
    form: str = "text"  # or parquet, arrow, stream, excel, json (one object a line)
    suffix: str = ""  # of a text, such as .csv
    compression: str | None = None
    pipe: BinaryIO | None = None  # what can be read only once
    # opens what is not on this machine's disks, or is in memory
    remote: Callable[[], pa.NativeFile] | None = None
    shown: str = ""  # what errors call what is remote
    # the columns that its folders say, such as {"year": "2024"}, "" for no value
    partitions: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What errors call the file."""
        return self.shown or name_of(self.path)

    def open(self) -> AbstractContextManager[BinaryIO]:
        """Open for reading bytes, decompressed. Raises OSError."""
        if self.pipe is None or self.compression is not None:
            return self.native()  # type: ignore[no-any-return]
        if str(self.path) == "-":
            return nullcontext(self.pipe)
        return self.pipe

    def public_text(self) -> str:
        """Return all of a small text that is public, such as a list of items.

        The option for an encoding is for purchases alone. Raises DataError if this is not UTF-8.
        """
        with self.open() as stream:
            content = read_whole(stream)
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise DataError(f"{self.name} is not UTF-8 text; save it in UTF-8") from None

    def start(self) -> bytes:
        """Return its first bytes, decompressed, still to be read; none of a compressed pipe."""
        if self.pipe is None:
            with self.open() as stream:
                return stream.read(_START)
        if self.compression is not None or not hasattr(self.pipe, "peek"):
            return b""
        return bytes(self.pipe.peek(_START)[:_START])

    def native(self) -> pa.NativeFile:
        """Open for Arrow's own reading, decompressed. Raises OSError."""
        # Its threads read ahead: through a Python file they would want the interpreter when it is
        # gone, and abort. Not mapped: a file that is cut off while it is read would end the process
        # by a signal. Its name as bytes: Arrow itself takes none that is not UTF-8.
        if self.pipe is not None:
            stream = pa.PythonFile(self.pipe)
        elif self.remote is not None:
            stream = self.remote()
        else:
            stream = pa.OSFile(os.fsencode(self.path))
        if self.compression is None:
            return stream
        return pa.CompressedInputStream(stream, self.compression)


def open_file(file: File, *, as_text: bool = False) -> File:
    """Return a file with its form, by its suffix and, if that is none of text, by its first bytes.

    as_text: whether the caller says that it is text. Raises DataError for no form that can be read,
    and OSError.
    """
    stream = _stream_of(file)
    if stream is not None:
        return _pipe(file.path, stream)
    magic = file.start()
    suffix, compression = _suffix_and_compression(file.path, magic)
    if magic.startswith(_ZIP) and _is_workbook(file):
        return replace(file, form="excel")
    _refuse_others(magic, file.name)
    form = _first(_MAGIC, magic)
    is_told = as_text and suffix == ".json"
    if form is None and suffix in _OTHER_SUFFIXES and not is_told:
        raise not_read(file.name, _OTHER_SUFFIXES[suffix])
    text = replace(file, suffix=suffix, compression=compression)
    if suffix in JSON_SUFFIXES:
        return replace(text, form="json")
    is_binary = form is not None or suffix in _BINARY_SUFFIXES
    if suffix in TEXT_SUFFIXES or (as_text and not is_binary):
        _refuse_others(text.start(), file.name)
        return text
    if form is not None:
        return replace(file, form=form)
    if suffix in _BINARY_SUFFIXES:
        raise DataError(
            f"{file.name} does not begin as a {suffix} file does; check how it was written"
        )
    raise DataError(
        f"{file.name} has no form that can be read; those are {READABLE}; "
        f"for text with another ending give {parameter('input_format')}",
        options={},
    )


def _suffix_and_compression(path: Path, start: bytes) -> tuple[str, str | None]:
    """Return the suffix in small letters, and how a suffix behind it, or the first bytes, say that
    it is compressed.
    """
    name = PurePath(path.name.lower())
    compression = _COMPRESSIONS.get(name.suffix)
    if compression is None:
        return name.suffix, _first(_PACKED, start)
    return name.with_suffix("").suffix, compression


def _stream_of(file: File) -> BinaryIO | None:
    """Return the stream of standard input, or of another command's output; None for a file.

    Raises DataError for anything else than these, and OSError.
    """
    if file.remote is not None:
        return None
    if str(file.path) == "-":
        if sys.stdin is None:
            raise DataError("standard input is closed; name a file")
        return sys.stdin.buffer
    mode = file.path.stat().st_mode
    if stat.S_ISFIFO(mode) and str(file.path).startswith(_OPEN_FILES):
        return file.path.open("rb")
    if stat.S_ISDIR(mode):
        raise IsADirectoryError
    if not stat.S_ISREG(mode):
        raise DataError(
            f"{file.name} is not a regular file; send it to standard input and name it -"
        )
    return None


def _refuse_others(start: bytes, name: str) -> None:
    """Raise DataError for a file that is empty, or begins like a form that is not read."""
    if not start:
        raise empty(name)
    form = _first(_OTHERS, start)
    if form is None and re.match(_TAG, start):
        form = "XML"
    if form is not None:
        raise not_read(name, form)


def _is_workbook(file: File) -> bool:
    try:
        with file.open() as stream, zipfile.ZipFile(stream) as archive:
            names = {*archive.namelist()}
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return False
    return "xl/workbook.xml" in names and names.isdisjoint(
        ("xl/workbook.bin", "content.xml", "mimetype")
    )


def _first(kinds: dict[bytes, str], start: bytes) -> str | None:
    return next((kind for magic, kind in kinds.items() if re.match(magic, start)), None)


def _pipe(path: Path, stream: BinaryIO) -> File:
    file = File(path, pipe=stream)
    magic, name = file.start(), file.name
    is_empty = hasattr(stream, "peek") and not magic
    if not is_empty and _first(_MAGIC | _OTHERS, magic) is None:
        return replace(file, compression=_first(_PACKED, magic))
    if str(path) != "-":
        stream.close()
    if not magic.startswith(_ZIP):
        _refuse_others(magic, name)
    raise DataError(
        f"{name} is not text, and can be read only once; write it to a file and name that"
    )


# -------------------- folders, patterns and object stores: their names alone say which files

# A folder such as year=2024, and that of a missing value, by Hive and all who followed it.
_PARTITION = "(?:^|/)([^/=]+)=(?:__HIVE_DEFAULT_PARTITION__|([^/]*))(?=/)"


# Gives the names in a folder, and whether each is a folder.
Listing = Callable[[str], Iterable[tuple[str, bool]]]


def files_of(source: LocalPath | Address) -> list[File]:
    """Return the files that a path, a pattern or an address stands for, in order.

    Raises DataError, OSError, ArrowException.
    """
    if isinstance(source, Address):
        return _files_of_address(source)
    if not source.shown:
        raise DataError("the path is empty; name a file")
    path = source.path
    is_pattern = glob.has_magic(str(path)) and not path.exists()
    if source.is_standard_input or not (is_pattern or path.is_dir()):
        return [File(path)]
    base, pattern = path.as_posix(), ""
    if not path.is_absolute():
        base = f"./{base}"
    if is_pattern:
        base, pattern = _base_and_pattern(base)
    files = _below(_local_names, base.rstrip("/"), pattern, str(path))
    return [File(Path(file), partitions=_partitions(file, base)) for file in files]


def have_something_in_common(data: object, listed: object) -> bool:
    """Tell whether both are the same object, or stand for a file in common, by whatever name.

    Two names of one database do not: it may hold both.
    """
    first, second = source_of(data), source_of(listed)
    if isinstance(first, InMemory):
        return data is listed
    if first == second and not isinstance(first, Database):
        return True
    # Whatever is wrong with a path, its reader will say.
    with suppress(FimPrivateError, OSError, RuntimeError, ValueError, pa.ArrowException):
        return not _local_files(first).isdisjoint(_local_files(second))
    return False


def _local_files(source: Source) -> set[tuple[int, int]]:
    """Return the files of this machine that a source stands for, by their numbers on the disk."""
    if isinstance(source, InMemory) or (isinstance(source, Address) and source.scheme != "file"):
        return set()
    stats = [file.path.stat() for file in files_of(source)]
    return {(stat.st_dev, stat.st_ino) for stat in stats}


def _local_names(folder: str) -> Iterator[tuple[str, bool]]:
    with suppress(FileNotFoundError), os.scandir(f"{folder}/") as entries:
        for entry in entries:
            # A link to a folder may lead back to where it is: nothing behind it is read.
            if not (entry.is_symlink() and entry.is_dir()):
                yield entry.name, entry.is_dir()


def _files_of_address(address: Address) -> list[File]:
    """Return the file at an address, the files in a folder, or those that fit a pattern."""
    from pyarrow import fs

    place, mark, query = address.text.partition("?")
    base, pattern = _base_and_pattern(place.rstrip("/"))
    try:
        system, root = fs.FileSystem.from_uri(base + mark + query)
    except pa.ArrowNotImplementedError:
        raise DataError(
            f"{address.name} needs a file system that this pyarrow was built without; "
            f"copy the files here"
        ) from None
    except (pa.ArrowInvalid, ValueError):
        raise DataError(
            f"{address.name} is not an address that can be read; those begin with s3://, gs://, "
            f"abfs://, hdfs:// or file://, and for databases postgresql:// or sqlite:///; "
            f"{parameter('engine')} sql reads duckdb:/// too"
        ) from None

    def names_in(folder: str) -> list[tuple[str, bool]]:
        infos = system.get_file_info(fs.FileSelector(folder))
        return [(info.base_name, info.type == fs.FileType.Directory) for info in infos]

    kind = system.get_file_info(root).type
    if kind == fs.FileType.NotFound:
        raise FileNotFoundError
    folder = root.rstrip("/")
    files = [root]
    if kind != fs.FileType.File or pattern:
        files = _below(names_in, folder, pattern, address.shown)
    return [
        File(
            Path(file),
            remote=partial(system.open_input_file, file),
            shown=repr(shown_source(base) + file.removeprefix(folder)),
            partitions=_partitions(file, root),
        )
        for file in files
    ]


def _base_and_pattern(place: str) -> tuple[str, str]:
    """Return the path up to the first step that is a pattern, and that pattern; "" for none."""
    match = re.search(r"(?:^|/)([^/]*[*?[].*)", place, re.DOTALL)
    if match is None:
        return place, ""
    return place[: match.start()], match[1]


def _below(names_in: Listing, folder: str, pattern: str, shown: str) -> list[str]:
    """Return the files below a folder that fit a pattern, or all of them, in order.

    shown: what the caller named. Raises DataError if there are none.
    """
    files = sorted({*_fitting(names_in, folder, pattern)})
    if files:
        return files
    problem = f"{shown!r} is a folder without files to read"
    if pattern:
        problem = f"no file fits the pattern {shown!r}"
    raise DataError(f"{problem}; check the path")


def _fitting(names_in: Listing, folder: str, pattern: str) -> Iterator[str]:
    """Yield the files below a folder that fit a pattern; a folder that fits stands for its files.

    The step ** fits any folders, or none.
    """
    step, _, inner = (pattern or "*").partition("/")
    if step == "**":
        yield from _fitting(names_in, folder, inner)
    for name, is_folder in names_in(folder):
        path = f"{folder}/{name}"
        # What programs keep beside the data begins with a dot or an underscore. (_year=2024 is a
        # column all the same.)
        is_hidden = name.startswith((".", "_")) and "=" not in name
        if is_hidden and not name.startswith(step[:1]):
            continue
        if step == "**" and is_folder:
            yield from _fitting(names_in, path, pattern)
        elif not fnmatch.fnmatch(name, step):
            continue
        elif is_folder:
            yield from _fitting(names_in, path, inner)
        elif not inner:
            yield path


def _partitions(file: str, base: str) -> dict[str, str]:
    """Return the columns that the folders below a base say, with their values; "" for no value."""
    folders = re.findall(_PARTITION, file.removeprefix(base))
    return {unquote(name): unquote(value) for name, value in folders}
