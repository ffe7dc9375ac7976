"""A progress bar for long work: on standard error, on a terminal only, and not for what is done in a moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from fim_private.cli.notes import on_terminal

Show = Callable[[float], None]

# Work that takes less shows no bar.
_QUIET_SECONDS = 1.0


@contextmanager
def progress_bar(label: str) -> Iterator[Show]:
    """Yield a function that shows how far the work is, from 0 to 1; the bar goes away at the end.

    label: what is being done. Where standard error is no terminal, or after --quiet, nothing is shown.
    """
    if not on_terminal():
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
    """Return, for each of so many equal parts of the work, a function that shows how far that part is."""

    def part(place: int, fraction: float) -> None:
        show((place + fraction) / count)

    return [partial(part, place) for place in range(count)]
