"""Writing a file: all of it or nothing, to a temporary name that is there for the moment of writing
only.

Each writer locks its temporary file. A file that a killed process leaves has no lock: the next
writer removes it. Windows keeps a file that is open by itself: nobody can remove it, rename it, or
put another in its place.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from fim_private.errors import OutputError, parameter

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# Where nothing is locked: how old a left-over is, at least; and for how long a file is waited for
# that another program has open, such as one that looks for viruses. In seconds.
_OLD, _PATIENCE, _PAUSE = 3600, 2.0, 0.05
_LEFT_OVERS = f".fim-private.{'[0-9a-f]' * 32}.part"
# What is wrong where the system's own words are unclear.
_REASONS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ELOOP: "its links lead back to themselves",
    errno.ENAMETOOLONG: "the name is too long",
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

    with _explained(path, option):
        place = path.resolve()
        if place.is_dir():
            raise OutputError(
                f"cannot write {str(path)!r}: it is a folder; give {option} a file name"
            )
        is_file = place.is_file()
        is_device = place.exists() and not is_file  # or a pipe
        if is_file:  # it may be read-only; on Windows another program may have it open
            place.open("r+b").close()
        if not is_device:
            _remove_left_overs(place.parent)
            stream = _new_file(place.parent)  # only to see whether the folder takes one
            stream.close()
            Path(stream.name).unlink()
    yield write
    with _explained(path, option):
        if is_device:
            place.write_bytes(content)
        else:
            _replace(place, content)


def _new_file(folder: Path, permissions: int = 0o666) -> BinaryIO:
    """Make a temporary file in a folder, and lock it until it is closed."""
    while True:
        # Random: nobody can plant a link under its name.
        temporary = folder / f".fim-private.{uuid4().hex}.part"
        stream = open(temporary, "xb", opener=partial(os.open, mode=permissions))  # noqa: SIM115 - Path.open takes no permissions
        if fcntl is not None:
            with suppress(OSError):  # some file systems have no locks
                fcntl.flock(stream, fcntl.LOCK_EX)
        if os.fstat(stream.fileno()).st_nlink:
            return stream
        stream.close()  # somebody took it for a left-over, between its creation and its lock


def _replace(place: Path, content: bytearray) -> None:
    """Write a temporary file beside a place, which then takes its name."""
    permissions = 0o666
    is_new = not place.exists()
    if not is_new:
        permissions = stat.S_IMODE(place.stat().st_mode)
    stream = _new_file(place.parent, permissions)
    temporary = Path(stream.name)
    try:
        with stream:
            stream.write(content)
            stream.flush()
            if not is_new:
                temporary.chmod(permissions)  # whatever the umask
            os.fsync(stream.fileno())
            if fcntl is None:
                stream.close()  # Windows renames no file that is open
            put_in_place(temporary, place)
    finally:
        temporary.unlink(missing_ok=True)


def _remove_left_overs(folder: Path) -> None:
    """Remove the temporary files of processes that were killed: files of this user that no process
    has locked.
    """
    for temporary in folder.glob(_LEFT_OVERS):
        with suppress(OSError):
            status = temporary.lstat()
            if not stat.S_ISREG(status.st_mode):
                continue
            if fcntl is None:
                if time.time() - status.st_mtime > _OLD:
                    temporary.unlink()  # which the system refuses while its writer has it open
            elif status.st_uid == os.geteuid():
                with temporary.open("rb") as stream:
                    # It raises OSError if a process has the file locked.
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    temporary.unlink()


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
    try:
        yield
    except OSError as error:
        problem = _REASONS.get(error.errno or 0) or error.strerror or "the system refused"
        if isinstance(error, FileNotFoundError) and not path.parent.is_dir():
            raise OutputError(
                f"cannot write {str(path)!r}: the folder {str(path.parent)!r} does not exist; "
                "create it first"
            ) from None
    except RuntimeError:  # pathlib's word for a loop of links
        problem = _REASONS[errno.ELOOP]
    except ValueError:  # its word for a NUL
        problem = "no file can have this name"
    else:
        return
    raise OutputError(f"cannot write {str(path)!r}: {problem}; choose another {option}")
