"""Where purchases are: on this machine, at an address, in a database, or in memory."""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fim_private.addresses import ADDRESS, shown_source

_DATABASES = ("postgresql", "postgres", "sqlite")


@dataclass(frozen=True)
class LocalPath:
    """A file, a folder or a pattern of files on this machine.

    shown: the path as it was given. path: the same from the home folder, if it begins with ~.
    """

    shown: str
    path: Path

    @property
    def is_standard_input(self) -> bool:
        """Whether it is -, which stands for standard input."""
        return str(self.path) == "-"

    @property
    def name(self) -> str:
        """What errors call it."""
        return name_of(self.path)

    @property
    def can_be_read_again(self) -> bool:
        """Whether it can be read several times."""
        return not self.is_standard_input and not self.path.is_fifo()


@dataclass(frozen=True)
class Address:
    """The address of files elsewhere, such as s3://bucket/sales.

    text: the address with its secrets. scheme: what stands before ://, in small letters.
    """

    text: str = field(repr=False)
    scheme: str
    can_be_read_again = True

    @property
    def shown(self) -> str:
        """The address without its secrets."""
        return shown_source(self.text)

    @property
    def name(self) -> str:
        """What errors call it."""
        return repr(self.shown)


class Database(Address):
    """The address of a database, such as postgresql://host/shop."""


# The classes of the objects that are read by what they are, each where its library has it.
_CLASSES = (
    "pyarrow.Table",
    "pyarrow.RecordBatch",
    "pyarrow.RecordBatchReader",
    "pyarrow.Array",
    "pyarrow.ChunkedArray",
    "pyarrow.dataset.Dataset",
    "pyarrow.dataset.Scanner",
    "duckdb.DuckDBPyRelation",
    "pandas.DataFrame",
    "pandas.Series",
    "polars.DataFrame",
    "polars.LazyFrame",
    "polars.Series",
    "numpy.ndarray",
    "scipy.sparse.spmatrix",
    "scipy.sparse.sparray",
)


@dataclass(frozen=True, eq=False)
class InMemory:
    """An object in memory: a frame, a table, a list, or purchases that were read before."""

    data: Any

    @cached_property
    def kind(self) -> str:
        """The class of the object, such as pandas.DataFrame, if it is known here.

        Otherwise "stream" for a stream of Arrow, or "other". No library is imported: an object is
        here only if its library is.
        """
        for kind in _CLASSES:
            module, _, class_name = kind.rpartition(".")
            known = getattr(sys.modules.get(module), class_name, None)
            if known is not None and isinstance(self.data, known):
                return kind
        if hasattr(self.data, "__arrow_c_stream__"):
            return "stream"
        return "other"

    @property
    def shown(self) -> str:
        """The name of its type."""
        return type(self.data).__name__

    @property
    def can_be_read_again(self) -> bool:
        """Whether it can be read several times."""
        is_reader = self.kind in ("pyarrow.RecordBatchReader", "pyarrow.dataset.Scanner")
        return not is_reader and not isinstance(self.data, Iterator)


FileLocation = LocalPath | Address
Source = FileLocation | InMemory


def source_of(data: object) -> Source:
    """Return where the data are that a caller gives: the one place that asks this."""
    if not isinstance(data, str | os.PathLike):
        return InMemory(data)
    text = os.fsdecode(data)
    match = re.fullmatch(ADDRESS, text)
    if match is None or not isinstance(data, str):
        return LocalPath(text, expanded(text))
    scheme = match[1].lower()
    if scheme in _DATABASES:
        return Database(text, scheme)
    return Address(text, scheme)


def expanded(path: str) -> Path:
    """Return a path, in which a leading ~ is the home folder, as in a shell."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 (Path's own raises where there is no such home)


def name_of(path: Path) -> str:
    """Return what errors call a file: a literal, so that a line break in it breaks no line."""
    if str(path) == "-":
        return "standard input"
    return repr(str(path))
