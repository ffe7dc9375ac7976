"""How much memory a read may take, and how much is worked on at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import BinaryIO

from fim_private.errors import MemoryLimitError, ParameterError, parameter, shown

# How much is worked on at a time: that stays small beside what was read.
LONG_ROWS = 1 << 17  # rows of long formats
LIST_ROWS = 1 << 14  # rows of lists of a few items
ONE_HOT_CELLS = 1 << 24  # cells of a table or matrix with a column for each item
# items of baskets that are put together: the temporaries are about 40 bytes an item
ENTRIES = 1 << 18
BLOCK_BYTES = 1 << 21  # bytes of a text file

# What a read will need, as an estimate that is checked while it grows: for what was read so far,
# what is being worked on, putting it together and counting it. Whether a read is refused depends on
# the data: it is for whoever has them.
# bytes for each item of a basket: its code, and, for a sort or a count, twice as much again
ENTRY = 12
# for each row or basket: its length, its place among the entries before and after, its size
ROW = 28
# for each row with a basket's id or a user: their numbers and order, and what they are sorted by
KEYED_ROW = 24
# so many times the bytes of keys and labels, which are put together, and looked up, at the end
COPIES = 3
# for each byte of a line: its tokens, of two bytes at least, as places, codes and rows
LINE_BYTE = 20
FIELDS_BYTE = 40  # the same of a line with quotes, or in columns: its fields are Python's

_SIZE = r"(?i)\s*([0-9]+(?:\.[0-9]+)?)\s*(?:([kmgt]?)(i?)b)?\s*"
_POWERS = ("", "k", "m", "g", "t")
_SHARE = Fraction(4, 5)  # how much of the machine's memory is taken unless a caller says
# Where control groups, as of containers, say how much they may have.
_GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@cache
def _of_machine() -> int | None:
    """Return how many bytes of memory this machine or its container has; None if nobody knows."""
    sizes = []
    with suppress(AttributeError, ValueError):  # Windows has no sysconf, and others no such name
        sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for group in _GROUPS:
        with suppress(OSError, ValueError):  # there is none, or it is "max"
            sizes.append(int(Path(group).read_text(encoding="ascii")))
    return min((size for size in sizes if size > 0), default=None)


@dataclass(frozen=True)
class MemoryLimit:
    """The most memory that a read may take.

    most: how many bytes may be needed, >= 1; None for any number. is_given: whether a caller said
    so.
    """

    most: int | None
    is_given: bool
    of_whole_machine = staticmethod(_of_machine)

    @classmethod
    def of(cls, size: int | str | None) -> MemoryLimit:
        """Return a limit of some bytes, or of a size such as "1.5 GB" or "512MiB".

        None stands for 4/5 of the machine. Raises ParameterError for anything else.
        """
        if size is None:
            machine = _of_machine()
            return cls(machine and int(machine * _SHARE), is_given=False)
        most = 0
        match = re.fullmatch(_SIZE, str(size)) if isinstance(size, str | int) else None
        if match is not None:
            base = 1024 if match[3] else 1000
            power = _POWERS.index((match[2] or "").lower())
            most = int(Fraction(match[1]) * base**power)
        if most < 1:
            raise ParameterError(
                f"{parameter('max_memory')} must be a size such as '4GB' or '500MB', or a number "
                f"of bytes, not {shown(size)}"
            )
        return cls(most, is_given=True)

    def check(self, needed: int) -> None:
        """Raise MemoryLimitError if this number of bytes is above the limit."""
        if self.most is not None and needed > self.most:
            whence = "" if self.is_given else ", four fifths of what this machine has"
            raise MemoryLimitError(
                f"reading and counting these data takes more than {parameter('max_memory')} = "
                f"{_in_units(self.most)}{whence}: read fewer rows or columns "
                f"({parameter('where')}), or raise {parameter('max_memory')}"
            )


_LIMIT: ContextVar[MemoryLimit | None] = ContextVar("fim_private_memory", default=None)


@contextmanager
def limit_memory(limit: MemoryLimit) -> Iterator[None]:
    """Limit what is read in this block, by this thread."""
    token = _LIMIT.set(limit)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def current() -> MemoryLimit:
    """Return the limit that holds here: that of `limit_memory`, or else of the machine."""
    return _LIMIT.get() or MemoryLimit.of(None)


def read_whole(stream: BinaryIO) -> bytes:
    """Return all bytes of a small text, which becomes lines of Python.

    Raises MemoryLimitError if it is large.
    """
    limit, content = current(), bytearray()
    for block in iter(partial(stream.read, BLOCK_BYTES), b""):
        content += block
        limit.check(FIELDS_BYTE * len(content))
    return bytes(content)


def _in_units(size: int) -> str:
    place = min((len(str(size)) - 1) // 3, len(_POWERS) - 1)
    return f"{size / 1000**place:.4g} {('', 'k', 'M', 'G', 'T')[place]}B"
