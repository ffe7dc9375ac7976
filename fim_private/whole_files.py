"""Writing a file: all of it or nothing, to a temporary name that is there for the moment of writing only."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fim_private.errors import OutputError, parameter

# What is wrong where the system's own words would not tell.
_REASONS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ELOOP: "its links lead back to themselves",
    errno.ENAMETOOLONG: "the name is too long",
}


@contextmanager
def staged(path: Path, *, given: str = parameter("output")) -> Iterator[Callable[[str | bytes], object]]:
    """Open an output and yield its write function; the file appears under its name only on success, and whole.

    The function takes text, which is written in UTF-8, or bytes; all of it is kept in memory until the end.
    An existing file keeps its permissions, a link its place; a device or pipe is written to directly.
    given: the parameter that gave the path, marked for messages.
    Raises OutputError, at once, when the file cannot be written.
    """
    pieces: list[bytes] = []

    def write(more: str | bytes) -> None:
        # A lone half of a surrogate pair has no UTF-8; in JSON its escape means the same.
        pieces.append(more if isinstance(more, bytes) else more.encode(errors="backslashreplace"))

    with ExitStack() as opened:
        with _explained(path, given):
            place = path.resolve()
            if place.is_dir():
                raise OutputError(f"cannot write {str(path)!r}: it is a folder; give {given} a file name")
            direct = place.exists() and not place.is_file()
            if direct:
                stream = opened.enter_context(place.open("wb"))
            elif place.is_file() and not os.access(place, os.W_OK):
                raise PermissionError(errno.EACCES, "permission denied")
            else:
                _write_part(place, b"", replacing=False)
        yield write
        with _explained(path, given):
            if direct:
                stream.write(b"".join(pieces))
                stream.close()
            else:
                _write_part(place, b"".join(pieces), replacing=True)


def _write_part(place: Path, content: bytes, *, replacing: bool) -> None:
    """Write a temporary file beside a place, which then replaces what is there, or is only tried. Raises OSError."""
    # A short name of its own: the file's name with more on it may be too long.
    part = place.with_name(f".fim-private.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            stream.write(content)
        if replacing:
            if place.exists():
                shutil.copymode(place, part)
            part.replace(place)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _explained(path: Path, given: str) -> Iterator[None]:
    """Turn what the system says of a path into an OutputError."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write {str(path)!r}: {_reason(error, path, given)}") from None
    except RuntimeError:  # pathlib's word for a loop of links
        loop = _REASONS[errno.ELOOP]
        raise OutputError(f"cannot write {str(path)!r}: {loop}; choose another {given}") from None
    except ValueError:  # and for a NUL
        raise OutputError(f"cannot write {str(path)!r}: no file can have this name; choose another {given}") from None


def _reason(error: OSError, path: Path, given: str) -> str:
    """Say why a file cannot be written, and what to do."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        folder = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - it raises nothing, whatever the path is
        if not os.path.isdir(folder):  # noqa: PTH112
            return f"the folder {folder!r} does not exist; create it first"
    words = _REASONS.get(error.errno or 0) or error.strerror or "the system refused"
    return f"{words}; choose another {given}"
