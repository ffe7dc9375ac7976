"""Writing a file: all of it or nothing, to a temporary name that is renamed at the end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fim_private.errors import OutputError, parameter


@contextmanager
def staged(path: Path, *, given: str = parameter("output")) -> Iterator[Callable[[str | bytes], object]]:
    """Open an output and yield its write function; the file appears under its name only on success.

    The function takes text, which is written in UTF-8, or bytes, but not first one and then the other.
    An existing file keeps its permissions, a link its place; a device or pipe is written to directly.
    given: the parameter that gave the path, marked for messages.
    Raises OutputError, at once, when the file cannot be written.
    """

    def write(content: str | bytes) -> object:
        return stream.buffer.write(content) if isinstance(content, bytes) else stream.write(content)

    name = str(path)
    path = path.resolve()
    if path.is_dir():
        raise OutputError(f"cannot write {name!r}: it is a folder; give {given} a file name")
    direct = path.exists() and not path.is_file()
    # A short name of its own: the file's name with more on it may be too long.
    target = path if direct else path.with_name(f".fim-private.{os.getpid()}.part")
    try:
        if path.is_file() and not os.access(path, os.W_OK):
            raise PermissionError
        stream = target.open("w", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {name!r}: {_reason(error, path, given)}") from None
    try:
        with stream:
            yield write
        if not direct:
            if path.exists():
                shutil.copymode(path, target)
            target.replace(path)
    except OSError as error:
        _remove(target, direct)
        raise OutputError(f"cannot write {name!r}: {_reason(error, path, given)}") from None
    except BaseException:
        _remove(target, direct)
        raise


def _remove(target: Path, direct: bool) -> None:
    """Remove the temporary file; what was written directly stays."""
    if not direct:
        target.unlink(missing_ok=True)


def _reason(error: OSError, path: Path, given: str) -> str:
    """Say why a file cannot be written, and what to do."""
    if isinstance(error, FileNotFoundError | NotADirectoryError) and not path.parent.is_dir():
        return f"the folder {str(path.parent)!r} does not exist; create it first"
    if isinstance(error, PermissionError):
        return f"permission denied; choose another {given}"
    return f"{error.strerror or 'the system refused'}; choose another {given}"
