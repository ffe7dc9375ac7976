"""The work of counting: its limit, its threads, its progress."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fim_private.dp.arguments import check_function, positive_integer
from fim_private.errors import WorkLimitError, parameter
from fim_private.options import MAX_WORK
from fim_private.reading.values import Int32 as Int32
from fim_private.reading.values import Int64 as Int64

if TYPE_CHECKING:
    from fim_private.counting.sums import Pass

# How often a waiting thread wakes, and a count shows progress.
_WAIT_SECONDS = _PROGRESS_SECONDS = 0.05
# Further threads need tables of their own. They are worth that if one thread alone would still take
# this long.
_SHARED_SECONDS = 0.0015

# Called with the fraction done of the present pass, 0 to 1.
Progress = Callable[[float], object]


def _no_progress(fraction: float) -> None: ...


@dataclass(frozen=True)
class Effort:
    """What a count may use; ParameterError for a number out of range, and for a progress that is no
    function.

    threads: >= 1; None for one a core. max_work: steps after which it gives up, >= 1.
    progress: called now and then by the thread that counts, see `Progress`; what it raises ends the
    count.
    """

    threads: int | None = None
    max_work: int = MAX_WORK
    progress: Progress = _no_progress

    def __post_init__(self) -> None:
        if self.threads is not None:
            positive_integer("threads", self.threads)
        positive_integer("max_work", self.max_work)
        check_function("progress", self.progress)

    @property
    def workers(self) -> int:
        """How many threads to use, >= 1: as asked for, or as many as there are cores for this
        process.
        """
        if self.threads is None and hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return self.threads or os.cpu_count() or 1

    def share(self, tasks: Iterable[Callable[[], object]]) -> None:
        """Run all tasks, each once, in several threads. Raises what a task raises, and leaves out
        those not yet begun.
        """
        waiting = list(tasks)
        threads = min(self.workers, len(waiting))
        with ThreadPoolExecutor(max(threads, 1)) as pool:
            run = pool.map if threads > 1 else map
            list(run(lambda task: task(), waiting))

    def together(self, scan: Pass, fraction: Callable[[], float]) -> None:
        """Do one pass in several threads, this one among them.

        fraction: how much of the work is done, 0 to 1.
        """
        begun = shown = time.monotonic()
        before = fraction()
        helpers: list[Future[None]] = []
        with ThreadPoolExecutor(self.workers) as pool:

            def tick() -> None:
                nonlocal shown
                now, done = time.monotonic(), fraction()
                # One thread goes on at the speed that it had so far.
                if not helpers and (1 - done) * (now - begun) >= (done - before) * _SHARED_SECONDS:
                    helpers.extend(pool.submit(scan.run) for _ in range(self.workers - 1))
                if now - shown >= _PROGRESS_SECONDS:
                    shown = now
                    self.progress(done)

            try:
                scan.run(tick)
                while wait(helpers, _WAIT_SECONDS).not_done:
                    tick()
            except BaseException:
                scan.stop()
                raise
        for helper in helpers:
            helper.result()

    def refuse_infeasible(self, size: int, steps: int) -> None:
        """Raise WorkLimitError where reading every itemset of that size takes more steps than
        max_work.
        """
        if steps > self.max_work:
            raise WorkLimitError(
                f"counting every itemset of size {size} would take up to {_figure(steps)} steps, "
                f"more than {parameter('max_work')} = {_figure(self.max_work)}: ask for a smaller "
                f"size, raise {parameter('max_work')}, or use large-margin"
            )

    def over_limit(self, size: int) -> WorkLimitError:
        """Return the error of a count of itemsets of that size that was given up."""
        return WorkLimitError(
            f"counting itemsets of size {size} in these baskets took more than "
            f"{parameter('max_work')} = {_figure(self.max_work)} steps: ask for a smaller size, or "
            f"raise {parameter('max_work')}"
        )


class Meter:
    """Adds up the steps of a counter without threads: done, at most a given number."""

    def __init__(self, effort: Effort, size: int, most: int) -> None:
        self._effort, self._size, self._most = effort, size, max(most, 1)
        self.done, self._shown = 0, time.monotonic()

    def __call__(self, steps: int) -> None:
        """Take account of steps just done. Raises WorkLimitError where more are done than the
        effort allows.
        """
        self.done += steps
        if self.done > self._effort.max_work:
            raise self._effort.over_limit(self._size)
        if time.monotonic() - self._shown >= _PROGRESS_SECONDS:
            self._shown = time.monotonic()
            self._effort.progress(min(self.done / self._most, 1.0))


def itemset_occurrences(lengths: Int64, size: int) -> int:
    """Return how often an itemset of that size is in a basket: the sum of C(length, size), for
    lengths (baskets,).
    """
    counts = np.bincount(lengths)
    return sum(
        int(counts[length]) * math.comb(int(length), size) for length in np.flatnonzero(counts)
    )


def _figure(number: int) -> str:
    """Return a number as it is, or from a million on with two digits and an exponent."""
    digits = len(str(number)) - 1
    return f"{number:,}" if digits < 6 else f"{str(number)[0]}.{str(number)[1]}e{digits}"
