"""Writing a file: all of it or nothing, to a temporary name that is there for the moment of writing
only.

Each writer locks its temporary file. A file that a killed process leaves has no lock: the next
writer removes it. Windows keeps a file that is open by itself: nobody can remove it, rename it, or
put another in its place.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from fim_private.errors import OutputError, parameter

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# A temporary file: new, and no link. One that may be a left-over: no link, and no pipe that is
# waited for.
_NEW = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)
_LEFT_OVER = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
# Where nothing is locked: how old a left-over is, at least; and for how long a file is waited for
# that another program has open, such as one that looks for viruses. In seconds.
_OLD, _PATIENCE, _PAUSE = 3600, 2.0, 0.05
_TEMPORARY = f".fim-private.{'[0-9a-f]' * 32}.part"
# What is wrong where the system's own words are unclear.
_REASONS = {errno.EACCES: "permission denied", errno.EPERM: "permission denied"}
_REASONS |= {
    errno.ELOOP: "its links lead back to themselves",
    errno.ENAMETOOLONG: ("the name is too long"),
}


@contextmanager
def staged(
    path: Path, *, option: str = parameter("output")
) -> Iterator[Callable[[str | bytes], object]]:
    """Open an output and yield its write function; the file appears under its name only on success,
    and whole.

    The function takes bytes, or text, for UTF-8; all of it stays in memory until the end. An
    existing file keeps its permissions, a link its place. option: the parameter that gave the path,
    marked. Raises OutputError, at once.
    """
    content = bytearray()

    def write(more: str | bytes) -> None:
        if isinstance(more, str):
            # A lone half of a surrogate pair has no UTF-8; in JSON its escape means the same.
            more = more.encode(errors="backslashreplace")
        content.extend(more)

    with ExitStack() as opened:
        stream = None
        with _explained(path, option):
            place = path.resolve()
            if place.is_dir():
                raise OutputError(
                    f"cannot write {str(path)!r}: it is a folder; give {option} a file name"
                )
            if place.exists() and not place.is_file():  # a device or a pipe
                stream = opened.enter_context(place.open("wb"))
            else:
                # it may be read-only; on Windows another program may have it open
                if place.is_file():
                    place.open("r+b").close()
                _remove_left_overs(place.parent)
                _write(place, b"", replacing=False)
        yield write
        with _explained(path, option):
            if stream is None:
                _write(place, content, replacing=True)
            else:
                stream.write(content)
                stream.close()


def _write(place: Path, content: bytes | bytearray, *, replacing: bool) -> None:
    """Write a temporary file beside a place, which then replaces what is there, or is only
    tried.
    """
    permissions = 0o666
    is_new = not place.exists()
    if not is_new:
        permissions = stat.S_IMODE(place.stat().st_mode)
    while True:
        # Short: the file's name with more on it may be too long. And random: nobody can plant a
        # link under it.
        temporary = place.with_name(f".fim-private.{uuid4().hex}.part")
        handle = os.open(temporary, _NEW, permissions)
        _lock(handle)
        if os.fstat(handle).st_nlink:
            break
        os.close(handle)  # somebody took it for a left-over, between its creation and its lock
    try:
        # It is open, and so locked, until it has its name: until then nobody takes it for a
        # left-over.
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            if replacing:
                stream.flush()
                if not is_new and fcntl is not None:
                    os.fchmod(handle, permissions)
                os.fsync(handle)
                if fcntl is None:
                    stream.close()
                put_in_place(temporary, place)
    finally:
        temporary.unlink(missing_ok=True)


def _remove_left_overs(folder: Path) -> None:
    """Remove the temporary files of processes that were killed: files of this user that no process
    has locked.
    """
    for temporary in folder.glob(_TEMPORARY):
        with suppress(OSError):
            handle = os.open(temporary, _LEFT_OVER)
            try:
                status = os.fstat(handle)
                if fcntl is not None:
                    is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
                    if is_own and _lock(handle, wait=False):
                        temporary.unlink()
            finally:
                os.close(handle)
            if fcntl is None and time.time() - status.st_mtime > _OLD:
                temporary.unlink()  # which the system refuses while its writer has it open


def _lock(handle: int, *, wait: bool = True) -> bool:
    """Lock an open file until it is closed, or its process ends; whether that could be done."""
    if fcntl is None:
        return False
    kind = fcntl.LOCK_EX
    if not wait:
        kind |= fcntl.LOCK_NB
    with suppress(OSError):  # another has it; or its file system has no locks
        fcntl.flock(handle, kind)
        return True
    return False


def put_in_place(new: Path, place: Path) -> None:
    """Give a file the name of another, or a free one, and have its folder written to the disk,
    where the system can.

    So it keeps its name in a crash. Raises OSError.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            new.replace(place)
            break
        except PermissionError:
            if fcntl is not None or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
    sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Have a folder written to the disk, where the system can: files that are new in it stay there
    in a crash.
    """
    with suppress(OSError):  # Windows opens no folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _explained(path: Path, option: str) -> Iterator[None]:
    problem = None
    try:
        yield
    except OSError as error:
        problem = _REASONS.get(error.errno or 0) or error.strerror or "the system refused"
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            folder = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - it raises nothing, whatever the path is
            if not os.path.isdir(folder):  # noqa: PTH112
                raise OutputError(
                    f"cannot write {str(path)!r}: the folder {folder!r} does not exist; create it "
                    f"first"
                ) from None
    except RuntimeError:  # pathlib's word for a loop of links
        problem = _REASONS[errno.ELOOP]
    except ValueError:  # its word for a NUL
        problem = "no file can have this name"
    if problem is not None:
        raise OutputError(f"cannot write {str(path)!r}: {problem}; choose another {option}")
