"""Threads beside the one that counts: they do the same work, and end when it ends, fails or is interrupted."""

from __future__ import annotations

import threading
from collections.abc import Callable

# How often the thread that waits for the others looks up.
_WAIT_SECONDS = 0.05


class HelperThreads:
    """Threads that do the same work as the one that waits for them at the end: a context manager.

    work: called by each thread. size: how many threads, none where it is not positive. stop: called when one of them
    or the block fails, to make all of them end soon; what failed first is raised at the end of the block.
    """

    def __init__(self, work: Callable[[], object], size: int, *, stop: Callable[[], object]) -> None:
        self._work = work
        self._stop = stop
        self._threads = [threading.Thread(target=self._guarded, daemon=True) for _ in range(size)]
        self._started = False
        self._failures: list[BaseException] = []

    def start(self) -> None:
        """Start the threads; nothing the second time."""
        if not self._started:
            self._started = True
            for thread in self._threads:
                thread.start()

    def finish(self, tick: Callable[[], object]) -> None:
        """Wait for the threads that were started, calling tick some twenty times a second."""
        for thread in self._threads if self._started else []:
            while thread.is_alive():
                thread.join(_WAIT_SECONDS)
                tick()

    def _guarded(self) -> None:
        try:
            self._work()
        except BaseException as failure:
            self._failures.append(failure)
            self._stop()

    def __enter__(self) -> HelperThreads:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._stop()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._threads.clear()  # they refer to this object, and to what they worked on
        if error is None and self._failures:
            raise self._failures[0]
