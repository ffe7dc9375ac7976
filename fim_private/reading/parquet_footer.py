"""What the footer of a Parquet file says of its row groups, once it is known that it can be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa


class ParquetFooter:
    """The footer of a Parquet file.

    Arrow's Python asks without a guard for what is known of a column: where a damaged file, or an encrypted one, says
    what cannot be, C++ ends the process. To begin to read that column makes the same checks, and raises. So each column
    is begun to be read first, from a file of which nothing but the footer can be read.
    """

    def __init__(self, file: pa.NativeFile) -> None:
        """Read the footer. Raises ArrowException, or OSError, for a damaged one."""
        from pyarrow.parquet import ParquetFile

        self._file = _Sealed(file)
        self._parquet = ParquetFile(self._file)
        self._file.sealed = True

    def row_group(self, number: int, places: Mapping[str, int]) -> Any:
        """Return Arrow's metadata of a row group, of which the columns at these places may be asked for.

        Raises ArrowException, or OSError, where they may not.
        """
        group = self._parquet.metadata.row_group(number)
        for name, place in places.items():
            self._file.wanted = False
            try:
                next(self._parquet.iter_batches(1, row_groups=[number], columns=[name], use_threads=False), None)
            except (OSError, pa.ArrowException):
                if not self._file.wanted:
                    raise
            # Bounds are of the type of the column.
            if group.column(place).physical_type != self._parquet.schema.column(place).physical_type:
                raise pa.ArrowInvalid("a column has two types")
        return group


class _Sealed:
    """A file that can be read until it is sealed. wanted: whether something was to be read after that."""

    closed = sealed = wanted = False

    def __init__(self, file: pa.NativeFile) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """Return bytes; none once it is sealed, which Arrow takes for the end of the file.

        (An exception raised here would stay in Arrow, and with it, by its frames, all that they hold: open files.)
        """
        if self.sealed:
            self.wanted = True
            return b""
        return bytes(self._file.read(None if size < 0 else size))

    def seek(self, *place: int) -> int:
        """Go to a place, as files do."""
        return int(self._file.seek(*place))

    def tell(self) -> int:
        """Return the place."""
        return int(self._file.tell())

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that any place can be gone to."""
        return True

    def flush(self) -> None:
        """Do nothing: nothing is written."""

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self._file.close()
