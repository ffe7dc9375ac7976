"""What is shown beside the output, on standard error: progress, how a file was read, warnings; and the memory limit."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import typer

from fim_private.errors import PrivacyWarning

# What a process takes beside the data: libraries, threads, what their allocators keep ready.
_BESIDE = 2 << 30
# Work that takes less shows no bar.
_QUIET_SECONDS = 1.0
Show = Callable[[float], None]
_silent = False


def silence(wanted: bool) -> None:
    """Say nothing from now on but errors, or again all there is. As with warnings, this holds for the process."""
    global _silent
    _silent = wanted


def note(text: str) -> None:
    """Say something in a line on standard error."""
    if not _silent:
        typer.echo(text, err=True)


def _on_terminal() -> bool:
    return not _silent and sys.stderr is not None and sys.stderr.isatty()


def show_warnings_as_lines(spell: Callable[[str], str]) -> None:
    """From now on, print warnings of privacy as notes, with parameters named as spell says. Others go with them."""
    shown_otherwise = warnings.showwarning

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        if isinstance(message, PrivacyWarning):
            note(f"Warning: {message.spelled(spell)}")
        elif not _silent:
            shown_otherwise(message, *where, **more)

    warnings.filterwarnings("always", category=PrivacyWarning)
    warnings.showwarning = show


def hold_process(max_memory: str | None) -> None:
    """Have the system refuse this process more than twice its limit, and never more than the machine has.

    For what is decoded in one piece before it can be estimated: it ends in MemoryError, of which the command line makes
    one line. Where the system knows no such limit nothing is done. Raises ParameterError for what is no size.
    """
    from fim_private.reading.memory import MemoryLimit

    limit, machine = MemoryLimit.of(max_memory), MemoryLimit.of_whole_machine()
    try:
        import resource

        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        taken = 1024 * int(status.partition("VmData:")[2].split()[0])
    except (ImportError, OSError, ValueError, IndexError):  # not Linux, which alone counts what is allocated so
        return
    if limit.most is None or machine is None:
        return
    most = taken + min(2 * limit.most + _BESIDE, max(limit.most * 5 // 4, machine))
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if all(most < other for other in (soft, hard) if other != resource.RLIM_INFINITY):
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


@contextmanager
def progress_bar(label: str) -> Iterator[Show]:
    """Yield a function that shows how far the work is, from 0 to 1; the bar goes away at the end.

    label: what is being done. Where standard error is no terminal, or after --quiet, nothing is shown, nor is for work
    that is done in a moment.
    """
    if not _on_terminal():
        yield lambda fraction: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    # What the command writes is its own affair: rich would send standard output to the console of the bar.
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    task = bar.add_task(label, total=1.0)
    begun = time.monotonic()

    def show(fraction: float) -> None:
        if time.monotonic() - begun > _QUIET_SECONDS:
            bar.start()
            bar.update(task, completed=fraction)

    try:
        yield show
    finally:
        bar.stop()


def parts_of(show: Show, count: int) -> list[Show]:
    """Return, for each of so many equal portions of the work, a function that shows how far that portion is."""

    def portion(place: int, fraction: float) -> None:
        show((place + fraction) / count)

    return [partial(portion, place) for place in range(count)]


@contextmanager
def reading_shown() -> Iterator[None]:
    """Say on standard error, on a terminal, as what a file was read: its form and columns, nothing of its rows."""
    if not _on_terminal():
        yield
        return
    logger = logging.getLogger("fim_private.reading")
    handler = logging.StreamHandler(sys.stderr)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
