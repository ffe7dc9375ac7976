"""Where files are: a folder, a pattern, or an address of Arrow's own file systems, to the files it stands for.

Which files these are follows from their names. Those whose name, or whose folder's name, begins with a dot or an
underscore are left out, as everywhere: they are what programs keep beside the data.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from fim_private.errors import DataError
from fim_private.reading.addresses import scheme_of, shown_source
from fim_private.reading.files import File, open_file, open_remote

# What the folder of a missing value is called, by Hive and all who followed it.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Part:
    """One of the files of a table. open: opens it, as text whatever its suffix where that is said. place: what
    `file_errors` takes.

    partitions: the columns that the names of its folders say, such as (("year", "2024"),), in order; "" for no value.
    Only the folders below the one that was named count, or those from the first with a pattern in its name on.
    """

    open: Callable[[bool], File]
    place: Path | str
    partitions: tuple[tuple[str, str], ...] = ()


def parts_of_path(path: Path) -> list[Part] | None:
    """Return the files of a folder, or those that fit a pattern; None for what names a single file. Raises OSError.

    Raises DataError where there are none.
    """
    first = next((place for place, step in enumerate(path.parts) if glob.has_magic(step)), len(path.parts))
    if path.is_dir():
        found, first = sorted(_below(path)), len(path.parts)
    elif glob.has_magic(str(path)) and not path.exists():
        named = map(Path, glob.glob(str(path), recursive=True))  # noqa: PTH207 (Path's own takes no whole pattern)
        found = sorted({file for one in named for file in (_below(one) if one.is_dir() else [one])})
        if not found:
            raise DataError(f"no file fits the pattern {str(path)!r}; check the path")
    else:
        return None
    if not found:
        raise DataError(f"{str(path)!r} is a folder without files to read; check the path")
    return [Part(_opener(file), file, _partitions(file.parts[first:-1])) for file in found]


def parts_of_address(address: str) -> list[Part]:
    """Return the files that an address names: one, those of a folder, or those that fit a pattern.

    Raises DataError where there are none, and for an address that no file system of Arrow is at;
    OSError, ArrowException.
    """
    from pyarrow import fs

    shown = shown_source(address)
    place, mark, query = address.partition("?")
    base, pattern = _split(place)
    try:
        system, root = fs.FileSystem.from_uri(base + mark + query)
    except pa.ArrowNotImplementedError:
        raise DataError(
            f"{shown!r} needs a file system that this pyarrow was built without; copy the files here"
        ) from None
    except (pa.ArrowInvalid, ValueError):
        raise DataError(
            f"{shown!r} is no address that can be read; those are s3://, gs://, abfs://, hdfs:// and file://, and for "
            "databases postgresql:// and sqlite:///"
        ) from None
    kind = system.get_file_info(root).type
    if kind == fs.FileType.NotFound:
        raise FileNotFoundError
    if kind == fs.FileType.File and pattern is None:
        return [_remote_part(_Remote(system, root, repr(shown)))]
    inside = [
        info.path.removeprefix(root).lstrip("/")
        for info in system.get_file_info(fs.FileSelector(root, recursive=True))
        if info.type == fs.FileType.File
    ]
    fits = re.compile(_regular(pattern)).match if pattern is not None else bool
    found = sorted(path for path in inside if fits(path) and not _is_hidden(path.split("/")))
    if not found:
        what = "no file fits the pattern {}" if pattern is not None else "{} is a folder without files to read"
        raise DataError(f"{what.format(repr(shown))}; check the address")
    return [
        _remote_part(
            _Remote(system, f"{root.rstrip('/')}/{path}", repr(f"{shown_source(base)}/{path}")),
            _partitions(path.split("/")[:-1]),
        )
        for path in found
    ]


@dataclass(frozen=True)
class _Remote:
    """A file of a file system of Arrow: `files.Remote`."""

    system: Any
    path: str
    name: str

    def native(self) -> pa.NativeFile:
        """Open for reading at any place. Raises OSError."""
        return self.system.open_input_file(self.path)


def _opener(path: Path) -> Callable[[bool], File]:
    """Return what opens a file."""
    return lambda as_text: open_file(path, as_text=as_text)


def _remote_part(remote: _Remote, partitions: tuple[tuple[str, str], ...] = ()) -> Part:
    """Return a file that is elsewhere as part of a table."""
    return Part(lambda as_text: open_remote(remote, Path(remote.path), as_text=as_text), remote.name, partitions)


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder, at any depth. Raises OSError."""

    def refuse(error: OSError) -> None:
        raise error

    for above, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not _is_hidden([name])]
        yield from (Path(above, name) for name in files if not _is_hidden([name]))


def _is_hidden(names: Iterable[str]) -> bool:
    """Tell whether any of these names is one of what is left out. (_year=2024 is a column all the same.)"""
    return any(name.startswith((".", "_")) and "=" not in name for name in names)


def _partitions(folders: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the columns that names of folders say, as in year=2024: their values are texts, whatever others are."""
    pairs = [unquote(name).partition("=") for name in folders if name.find("=") > 0]
    return tuple({name: "" if value == _NO_VALUE else value for name, _, value in pairs}.items())


def _split(place: str) -> tuple[str, str | None]:
    """Cut an address in front of the first folder with a pattern in its name; None where there is no pattern."""
    steps = place.split("/")
    first = next((place for place, step in enumerate(steps) if glob.has_magic(step)), None)
    if first is None or scheme_of(place) is None:
        return place.rstrip("/"), None
    return "/".join(steps[:first]), "/".join(steps[first:])


def _regular(pattern: str) -> str:
    """Return a pattern of paths as a regular expression: * stays inside a folder's name, ** means any folders."""
    steps = pattern.split("/")
    parts = []
    for step in steps[:-1]:
        parts.append("(?:[^/]+/)*" if step == "**" else _step(step) + "/")
    return "".join(parts) + _step(steps[-1]) + r"(?:/.*)?\Z"


def _step(step: str) -> str:
    """Return the pattern of a name as a regular expression."""
    # As fnmatch writes it, but that a star does not reach over a slash.
    return fnmatch.translate(step).removesuffix(r"\Z").replace(".*", "[^/]*")
