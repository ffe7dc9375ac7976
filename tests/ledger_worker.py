"""Processes that charge a ledger and release: for tests that kill them anywhere.

    python ledger_worker.py MODE LEDGER LOG NUMBER...

What stands for a release is a line that is appended to LOG, at once on the disk. MODE:

- charge: NUMBER charges, each followed by its release; ends where the ledger refuses.
- every-line: kill itself, in a process that is forked, at every NUMBER-th line of Python that a
  charge and its release run through; each time with a ledger of its own, of which it prints how
  many entries and releases there are then.
- every-line-late: the same by a ledger that is broken: it charges after the release.
- killed: each of so many processes, the second number, charges so many times, the first; at random
  moments one is killed, and another put in its place, until so many were, the last; then all come
  to their end.
"""

import os
import random
import signal
import sqlite3
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from fim_private.dp.charge import Charge, Charged
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.errors import LedgerError
from fim_private.ledger.ledger import Ledger
from fim_private.ledger.postgresql import TablePlace

COST = PrivacyCost(0.1, 1e-7)
CHARGE = Charge("mine", "sales", "basket", "replace-one", COST, ZcdpCost(0.005, 1e-7), {"size": 2})


class LateLedger(Ledger):
    """Broken: what is charged is written down only when the ledger is closed, after the release."""

    due: Charge | None = None

    def charge(self, *charges: Charge) -> Charged:
        """Promise to charge."""
        self.check(*charges)
        self.due = charges[0]
        return Charged(charges[0].dataset, 1, self.left)

    def close(self) -> None:
        """Charge."""
        if self.due is not None:
            super().charge(self.due)
        super().close()


def release(kind: type[Ledger], path: str, log: Path) -> bool:
    """Charge, and release; whether the ledger allowed it."""
    with kind(path) as ledger:
        try:
            ledger.charge(CHARGE)
        except LedgerError:
            return False
        with log.open("ab") as stream:
            stream.write(b"released\n")
            stream.flush()
            os.fsync(stream.fileno())
    return True


def killed_at(place: int, kind: type[Ledger], path: str, log: Path) -> bool:
    """Release in a process that kills itself after so many lines; whether it came to that."""
    child = os.fork()
    if not child:
        left = place

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal left
            if (
                "fim_private" not in frame.f_code.co_filename
                and frame.f_code.co_filename != __file__
            ):
                return None
            if event == "line":
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        release(kind, path, log)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def every_line(kind: type[Ledger], path: str, log: Path, step: int) -> None:
    """Kill a process at every step-th line, and print what there is then."""
    place, goes_on = 0, True
    while goes_on:
        own, released = f"{path}.{place}", log.with_name(f"{log.name}.{place}")
        Ledger.create(own, epsilon=1, delta=1e-6)
        released.touch()
        goes_on = killed_at(place, kind, own, released)
        sys.stdout.write(f"{len(Ledger(own).entries)} {len(released.read_bytes().splitlines())}\n")
        place += step


def charging(path: str, log: Path, times: int) -> int:
    """Start a process that charges and releases so many times; its number."""
    if child := os.fork():
        return child
    done = False
    try:
        done = all(release(Ledger, path, log) for _ in range(times))
    finally:
        os._exit(not done)


def entries(path: str) -> int:
    """Return how many entries there are, at once: reading them all would take longer."""
    if "://" in path:
        with TablePlace.of(path).opened() as book:
            return len([*book.entries()])
    with sqlite3.connect(path) as connection:
        number = connection.execute("SELECT count(*) FROM entries").fetchone()[0]
    connection.close()
    return int(number)


def killed(path: str, log: Path, times: int, processes: int, kills: int) -> None:
    """Kill processes at random moments, and look each time whether more was released."""
    rng, left = random.Random(16), kills
    running = [charging(path, log, times) for _ in range(processes)]
    while left:
        time.sleep(rng.uniform(0, 0.05))
        place = rng.randrange(processes)
        os.kill(running[place], signal.SIGKILL)
        left -= os.waitstatus_to_exitcode(os.waitpid(running[place], 0)[1]) == -signal.SIGKILL
        running[place] = charging(path, log, times)
        assert len(log.read_bytes().splitlines()) <= entries(path)
    assert not any(os.waitpid(process, 0)[1] for process in running)


def main(mode: str, path: str, log: str, *numbers: str) -> None:
    """Do what the mode says."""
    if mode == "killed":
        killed(path, Path(log), *map(int, numbers))
    elif mode == "charge":
        all(release(Ledger, path, Path(log)) for _ in range(int(numbers[0])))
    else:
        every_line(
            LateLedger if mode.endswith("late") else Ledger, path, Path(log), int(numbers[0])
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
