"""What reading a file raises, as one line that quotes nothing of what is inside."""

from __future__ import annotations

import csv
import errno
import gzip
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from fim_private.errors import DataError, FimPrivateError
from fim_private.reading.dialect import not_utf8
from fim_private.reading.paths import name_of

# What the system says of a path, not of what is inside.
_NOT_OPENED = {
    errno.ENAMETOOLONG: "the name is too long; rename it",
    errno.ELOOP: "its links lead back to themselves; name the file itself",
    errno.EMFILE: "too many files are open; close some",
    errno.ENXIO: "there is no such device; name a file",
    errno.ENODEV: "there is no such device; name a file",
}
# So many bytes in one piece no whole file asks for: no machine has them. (An Arrow file says how long
# its parts are, and so does a damaged one.)
_BEYOND_ALL_MEMORY = 1 << 44
# Nor, in one piece, for so many times its own size, and as much as few machines have.
_BEYOND_ITS_SIZE, _MUCH = 10**6, 1 << 32


@contextmanager
def file_errors(path: Path | str) -> Iterator[None]:
    """Turn what reading the file raises into one DataError that quotes nothing of what is inside: a context manager.

    path: of the file; or, of one that is elsewhere, what errors call it.
    """
    name = path if isinstance(path, str) else name_of(path)
    try:
        yield
    except FimPrivateError:
        raise
    except MemoryError as error:  # Arrow's is an ArrowException as well
        asked = re.search(r" of size (\d+) failed", str(error))
        if asked is None or not _is_absurd(int(asked[1]), path):
            raise
        raise _damaged(name) from None
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
        if isinstance(path, str):
            raise DataError(
                f"{name} cannot be read; check the address, your rights, the network, and that what is there is whole"
            ) from None
        raise _damaged(name) from None


def _damaged(name: str) -> DataError:
    """Return the error of a file whose bytes make no sense."""
    return DataError(f"{name} is truncated, damaged or not of the form its name says; write it again")


def _is_absurd(size: int, path: Path | str) -> bool:
    """Tell whether so many bytes in one piece can only come of damage. path: of the file, where it is one."""
    if size >= _BEYOND_ALL_MEMORY:
        return True
    try:
        own = path.stat().st_size if isinstance(path, Path) else None
    except OSError:
        own = None
    return own is not None and size >= max(_MUCH, _BEYOND_ITS_SIZE * own)
