"""Lines for Python's reader of CSV, which makes a row of any length: no longer than memory allows."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from fim_private.reading import chunk_sizes, memory


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
