"""Text as blocks of whole lines."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from typing import BinaryIO

from fim_private.errors import DataError, parameter
from fim_private.reading import memory
from fim_private.reading import memory as chunk_sizes
from fim_private.reading.files import File, empty

# -------------------- bounded lines
# Lines for Python's reader of CSV, which makes a row of any length: no longer than memory allows.


class BoundedLines:
    """The lines of a text for a reader of CSV, which would make a row of any length; together with its rows."""

    def __init__(self, lines: io.TextIOBase, limit: memory.MemoryLimit) -> None:
        self._lines, self._limit = lines, limit
        self._read = 0

    def __iter__(self) -> Iterator[str]:
        # A piece at a time: a line may be as long as the file, and to a reader of CSV its end is a line's end.
        while piece := self._lines.readline(chunk_sizes.BLOCK_BYTES):
            line = [piece]
            self._count(piece)
            while not piece.endswith(("\n", "\r")) and (piece := self._lines.readline(chunk_sizes.BLOCK_BYTES)):
                line.append(piece)
                self._count(piece)
            yield "".join(line)

    def each(self, rows: Iterable[list[str]]) -> Iterator[list[str]]:
        """Yield rows, each of which may be as long as one may be."""
        for row in rows:
            self._read = 0
            yield row

    def _count(self, piece: str) -> None:
        """Raise MemoryLimitError where a row has become too long."""
        self._read += len(piece)
        self._limit.check(memory.FIELDS_BYTE * self._read)


# -------------------- text blocks
# A text's bytes, as blocks of whole lines in UTF-8, whatever it is encoded in and however its lines end.
#
# A line ends at a line feed, at a carriage return, or at both (two returns and a line feed, which some programs write,
# are one end): a rule that looks at nothing else.

# Byte order marks, the longer ones first: that of UTF-16 begins that of UTF-32. Codecs of no fixed byte order take
# their mark away.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LONGEST_MARK = 4
_LINE_END = re.compile(rb"\r\r\n|\r\n?")
# So many carriage returns may belong to a line feed that comes behind them.
_HELD_BACK = 2
# Some ten million items: what has more in a basket is no list of baskets, and a small file may hold gigabytes of it.
_LONGEST_LINE = 1 << 26


def encoding_of(start: bytes, given: str | None) -> str:
    """Return the encoding of a text, of which start is the first four bytes: the given one, its mark's, or UTF-8."""
    mark = next((encoding for mark, encoding in _MARKS.items() if start.startswith(mark)), None)
    if given is None or (given in ("utf-8", "ascii") and mark == "utf-8-sig"):
        return mark or "utf-8"
    return given


def blocks(file: File, encoding: str | None = None) -> Generator[bytes, None, None]:
    """Yield blocks of whole lines, each ending in a line feed, in UTF-8 without a byte order mark; at least one.

    encoding: of the file; None for what its byte order mark says, or UTF-8. (What is UTF-8 already is not looked at.)
    Raises DataError for a file without text, and for one that is not of its encoding.
    """
    with file.open() as stream:
        yield from _whole_lines(utf8_parts(stream, encoding, file.name), file.name)


def utf8_parts(stream: BinaryIO, encoding: str | None, name: str) -> Iterator[bytes]:
    """Yield the bytes of a text in UTF-8, as they come, without byte order mark. Raises DataError as `blocks` does."""
    part = _first(stream)
    encoding = encoding_of(part[:_LONGEST_MARK], encoding)
    if encoding in ("utf-8", "utf-8-sig", "ascii"):
        part = part.removeprefix(codecs.BOM_UTF8) if encoding == "utf-8-sig" else part
        while part:
            yield part
            part = stream.read(chunk_sizes.BLOCK_BYTES)
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        while part:
            yield decoder.decode(part).encode()
            part = stream.read(chunk_sizes.BLOCK_BYTES)
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError:
        raise DataError(
            f"{name} is not {encoding.upper()} text; name its encoding with {parameter('encoding')}"
        ) from None


def _first(stream: BinaryIO) -> bytes:
    """Return the first part of a stream, long enough for a byte order mark: a pipe may give a byte at a time."""
    part = b""
    while len(part) < _LONGEST_MARK and (more := stream.read(chunk_sizes.BLOCK_BYTES)):
        part += more
    return part


def _whole_lines(parts: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Cut the parts of a text where lines end. Raises DataError if there is nothing in it."""
    carry = bytearray()
    is_empty = True
    limit = memory.current()
    cut_return = b""
    for given in parts:
        part = cut_return + given
        is_empty = is_empty and not part
        # A line feed may come behind it.
        cut_return = b"\r" * min(_HELD_BACK, len(part) - len(part.rstrip(b"\r")))
        part = part[: len(part) - len(cut_return)]
        if b"\r" in part:
            part = _LINE_END.sub(b"\n", part)
        cut = part.rfind(b"\n") + 1
        if cut:
            yield bytes(carry) + part[:cut]
            carry.clear()
        carry += part[cut:]
        if len(carry) > chunk_sizes.BLOCK_BYTES:
            _refuse_long_line(len(carry), name, limit)
    if carry or cut_return:
        yield bytes(carry) + _LINE_END.sub(b"\n", cut_return or b"\r")
    if is_empty:
        raise empty(name)


def refuse_nul(part: bytes, name: str) -> None:
    """Raise DataError for a part of a text with a NUL in it, which no text has."""
    if b"\0" in part:
        raise DataError(
            f"{name} has a byte that no text has (NUL): it is damaged, or say its {parameter('encoding')}, such as "
            "utf-16"
        )


def _refuse_long_line(length: int, name: str, limit: memory.MemoryLimit) -> None:
    """Raise MemoryLimitError, or DataError, where so many bytes are too many for a line."""
    limit.check(memory.LINE_BYTE * length)
    if length > _LONGEST_LINE:
        raise DataError(f"{name} has a line of more than 64 MiB; write one basket a line")


# -------------------- title rows
# What stands above a table, such as a title: it is refused, with the option that leaves it out.
#
# Which lines are read follows from what the caller says alone; nothing is left out unasked.

# How many rows are looked at.
LOOKED_AT = 20


def refuse_title(rows: Sequence[tuple[int, Sequence[str]]], wanted: Collection[str], name: str) -> None:
    """Raise DataError where rows above that of the names plausibly are a title.

    rows: the first that are not blank, each with how many lines or rows stand above it, and its cells, without white
    space around them. wanted: the columns that were named. name: what errors call the file.
    """
    if (above := title_rows(rows, wanted)) is not None:
        raise DataError(
            f"{name} seems to have a title above its table: say {parameter('skip_rows')} {above} to leave out what "
            "stands above the names of the columns"
        )


def title_rows(rows: Sequence[tuple[int, Sequence[str]]], wanted: Collection[str]) -> int | None:
    """Return how many lines stand above the row that plausibly names the columns; None where it is the first.

    It is the first that has all columns that were named. Where none were named it is the first with as many cells as
    any, if that are two at least, and twice as many as the first row has.

    >>> title_rows([(0, ["Sales 2024", ""]), (2, ["order", "item"]), (3, ["1", "tea"])], [])
    2
    """
    held = [(above, {*cells}, sum(map(bool, cells))) for above, cells in rows if any(cells)]
    if not held:
        return None
    if wanted:
        place = next((place for place, (_, cells, _) in enumerate(held) if cells.issuperset(wanted)), 0)
        return held[place][0] if place else None
    most = max(count for _, _, count in held)
    above = next(above for above, _, count in held if count == most)
    return above if 2 * held[0][2] <= most else None
