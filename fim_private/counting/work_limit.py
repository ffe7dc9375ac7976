"""How much work a count may be, who does it, and who watches: threads, the limit of work, progress, Ctrl-C.

Work is counted in steps: about one step for each time that an itemset is met in a basket.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.parameters import positive_integer
from fim_private.errors import WorkLimitError, parameter

# Some minutes on one core. Requests that are out of reach are out of it by factors of thousands.
DEFAULT_MAX_WORK = 10**11

# How often a count looks up to show progress and to notice Ctrl-C.
_GLANCE_SECONDS = 0.05

Progress = Callable[[float], object]


def _no_progress(fraction: float) -> None:
    pass


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Effort:
    """What a count may use.

    threads: >= 1; None for one a core. max_work: steps after which it gives up, >= 1.
    progress: called now and then, by the thread that counts, with the fraction done of the present pass.
    Raises ParameterError for a number out of range.
    """

    threads: int | None = None
    max_work: int = DEFAULT_MAX_WORK
    progress: Progress = _no_progress

    def __post_init__(self) -> None:
        if self.threads is not None:
            positive_integer("threads", self.threads)
        positive_integer("max_work", self.max_work)

    @property
    def workers(self) -> int:
        """How many threads to use."""
        return self.threads or len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(2))

    def share(self, jobs: Iterable[Callable[[], object]]) -> None:
        """Run all jobs, each once; this thread takes its part."""
        waiting = list(jobs)
        queue = iter(waiting)  # one iterator for all threads: each job is taken once

        def work() -> None:
            for job in queue:
                job()

        with _Crew(work, min(self.workers, len(waiting)) - 1, stop=waiting.clear) as crew:
            crew.start()
            work()

    def together(
        self,
        work: Callable[[Callable[[], None] | None], object],
        *,
        stop: Callable[[], object],
        fraction: Callable[[], float],
    ) -> None:
        """Do one piece of work in several threads, this one among them.

        work: called by each thread, with a function for this one to call every few milliseconds (it shows
            progress, and raises what should end the work), None for the others. stop: makes all of them end soon.
        """
        glanced = time.monotonic()

        def glance() -> None:
            nonlocal glanced
            crew.start()  # not before the work has lasted some milliseconds: less is not worth a thread
            if time.monotonic() - glanced >= _GLANCE_SECONDS:
                glanced = time.monotonic()
                self.progress(fraction())

        with _Crew(lambda: work(None), self.workers - 1, stop=stop) as crew:
            work(glance)
            crew.finish(glance)

    def refuse_infeasible(self, size: int, steps: int) -> None:
        """Raise WorkLimitError if max_work is less than the steps that reading every itemset of that size takes."""
        if steps > self.max_work:
            raise WorkLimitError(
                f"counting every itemset of size {size} in these baskets would take up to {_figure(steps)} steps, more "
                f"than {parameter('max_work')} = {_figure(self.max_work)}: ask for a smaller size, use large-margin, "
                f"which reads the most frequent itemsets only, or raise {parameter('max_work')}"
            )

    def over_limit(self, size: int) -> WorkLimitError:
        """Return the error of a count that was given up on its way."""
        return WorkLimitError(
            f"counting itemsets of size {size} in these baskets took more than {parameter('max_work')} = "
            f"{_figure(self.max_work)} steps: ask for a smaller size, or raise {parameter('max_work')}"
        )


class Meter:
    """What a counter without threads reports its steps to; most: how many there are to do, at most.

    Raises WorkLimitError where more are done than the effort allows.
    """

    def __init__(self, effort: Effort, size: int, most: int) -> None:
        self.done = 0
        self._effort, self._size, self._most = effort, size, max(most, 1)
        self._glanced = time.monotonic()

    def __call__(self, steps: int) -> None:
        """Take account of steps just done."""
        self.done += steps
        if self.done > self._effort.max_work:
            raise self._effort.over_limit(self._size)
        if time.monotonic() - self._glanced >= _GLANCE_SECONDS:
            self._glanced = time.monotonic()
            self._effort.progress(min(self.done / self._most, 1.0))


class _Crew:
    """Threads that do the same work as the one that waits for them at the end."""

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

    def finish(self, glance: Callable[[], object]) -> None:
        """Wait for the threads that were started, looking up now and then."""
        for thread in self._threads if self._started else []:
            while thread.is_alive():
                thread.join(_GLANCE_SECONDS)
                glance()

    def _guarded(self) -> None:
        try:
            self._work()
        except BaseException as failure:
            self._failures.append(failure)
            self._stop()

    def __enter__(self) -> _Crew:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._stop()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._threads.clear()  # they know this crew, and what they worked on
        if error is None and self._failures:
            raise self._failures[0]


def itemset_occurrences(lengths: NDArray[np.int64], size: int) -> int:
    """Return how often an itemset of that size is in a basket: the sum of C(length, size)."""
    counts = np.bincount(lengths)
    return sum(int(counts[length]) * math.comb(int(length), size) for length in np.flatnonzero(counts))


def _figure(number: int) -> str:
    digits = len(str(number)) - 1
    return f"{number:,}" if digits < 6 else f"{str(number)[0]}.{str(number)[1]}e{digits}"
