"""A count in a process of its own, watched from here: peaks of memory of all its processes, and a
limit of time.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.frame.output_files import ROOT
from benchmarks.spark import counting_process
from benchmarks.spark.generated_baskets import basket_file

# What Spark itself wrote down: bytes read and shuffled, jobs and stages.

READ_SOURCE, READ_KEPT, SHUFFLED, TO_DRIVER = (
    "bytes of the source",
    "bytes kept",
    "bytes shuffled",
    "bytes to driver",
)
JOBS, STAGES, TASKS, SPILLED = "jobs", "stages", "tasks", "bytes spilled"
# The measure of a scan. (What tasks count as read leaves out most of a Parquet file.)
_FILES = "size of files read"


@dataclass
class _Totals:
    """What has been counted. scans: the numbers of the measures that say how large the files of a
    scan are.
    """

    found: Counter[str]
    scans: set[int] = field(default_factory=set)

    def add(self, event: dict[str, Any]) -> None:
        kind = event["Event"].rpartition(".")[2]
        if kind == "SparkListenerJobStart":
            self.found[JOBS] += 1
        elif kind == "SparkListenerStageCompleted":
            self.found[STAGES] += 1
        elif kind == "SparkListenerTaskEnd":
            self._add_task(event.get("Task Metrics") or {})
        elif kind in ("SparkListenerSQLExecutionStart", "SparkListenerSQLAdaptiveExecutionUpdate"):
            self.scans.update(_scans(event["sparkPlanInfo"]))
        elif kind == "SparkListenerDriverAccumUpdates":
            self.found[READ_SOURCE] += sum(
                value for one, value in event["accumUpdates"] if one in self.scans
            )

    def _add_task(self, metrics: dict[str, Any]) -> None:
        self.found[TASKS] += 1
        self.found[READ_KEPT] += metrics.get("Input Metrics", {}).get("Bytes Read", 0)
        self.found[SHUFFLED] += metrics.get("Shuffle Write Metrics", {}).get(
            "Shuffle Bytes Written", 0
        )
        self.found[TO_DRIVER] += metrics.get("Result Size", 0)
        self.found[SPILLED] += metrics.get("Disk Bytes Spilled", 0)


def totals(folder: Path, until: float) -> dict[str, int]:
    """Return the totals of the one log in a folder, as far as there is one, of the jobs that began
    by a time.

    until: seconds since 1970.
    """
    names = (JOBS, STAGES, TASKS, READ_SOURCE, READ_KEPT, SHUFFLED, TO_DRIVER, SPILLED)
    made = _Totals(Counter(dict.fromkeys(names, 0)))
    for path in folder.glob("*"):
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    event = json.loads(line)
                except ValueError:  # the last line of a process that was ended
                    continue
                if max(event.get("Submission Time", 0), event.get("time", 0)) > 1000 * until:
                    break
                made.add(event)
    return dict(made.found)


def _scans(plan: dict[str, Any]) -> Iterator[int]:
    """Yield the numbers of the measures of a plan that say how large the files of a scan are."""
    yield from (one["accumulatorId"] for one in plan["metrics"] if one["name"] == _FILES)
    for below in plan["children"]:
        yield from _scans(below)


OK, NO_MEMORY, NO_DISK = "ok", "out of memory", "out of disk"
# How often memory is looked at.
_LOOK_SECONDS = 0.2
_NO_MEMORY = re.compile(
    r"OutOfMemoryError|Java heap space|GC overhead limit|MemoryError|Cannot "
    r"allocate memory"
)
# Whose memory it is.
DRIVER, DRIVER_JVM, EXECUTORS, WORKER, TOGETHER = (
    "Python of the driver",
    "JVM of the driver",
    "JVMs of the executors",
    "largest Python worker",
    "all together",
)


@dataclass
class Watch:
    """The processes below one, and the peaks of their resident memory, in bytes."""

    root: int
    peaks: dict[tuple[str, int], int] = field(default_factory=dict)
    together: int = 0

    def look(self) -> set[int]:
        """Look at all processes once; return the numbers of those that are there."""
        parents, names = {}, {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    before, _, after = (entry / "stat").read_text().rpartition(")")
                    pid = int(entry.name)
                    names[pid], parents[pid] = before.partition("(")[2], int(after.split()[1])
        own, fresh = {self.root}, {self.root}
        while fresh:
            fresh = {pid for pid, parent in parents.items() if parent in fresh} - own
            own |= fresh
        now = 0
        for pid in own & names.keys():
            peak, resident = _memory(pid)
            now += resident
            key = (self._kind(names, parents, pid), pid)
            self.peaks[key] = max(peak, self.peaks.get(key, 0))
        self.together = max(self.together, now)
        return own

    def _kind(self, names: dict[int, str], parents: dict[int, int], pid: int) -> str:
        if pid == self.root:
            return DRIVER
        if names[pid].startswith("java"):
            if parents[pid] == self.root:
                return DRIVER_JVM
            return EXECUTORS if names.get(parents[pid], "").startswith("java") else "other"
        return WORKER if names[pid].startswith("python") else "other"

    def found(self) -> dict[str, int]:
        """Return the peaks: of the workers that of the largest, of the others the sum."""
        of = {
            kind: [peak for (one, _), peak in self.peaks.items() if one == kind]
            for kind, _ in self.peaks
        }
        sums = {kind: sum(of[kind]) for kind in (DRIVER, DRIVER_JVM, EXECUTORS) if kind in of}
        return (
            sums | ({WORKER: max(of[WORKER])} if WORKER in of else {}) | {TOGETHER: self.together}
        )


def _memory(pid: int) -> tuple[int, int]:
    """Return the peak and the present resident memory of a process, in bytes; 0 where it has
    ended.
    """
    with contextlib.suppress(OSError):
        told = dict(re.findall(r"(VmHWM|VmRSS):\s+(\d+)", Path(f"/proc/{pid}/status").read_text()))
        return 1024 * int(told.get("VmHWM", 0)), 1024 * int(told.get("VmRSS", 0))
    return 0, 0


def measured(way: str, baskets: int, seed: int, limit: float) -> dict[str, Any]:
    """Return what one count took, and the machine's load before it.

    limit: seconds that it may take, with the release that follows.
    Raises RuntimeError for one that fails for another reason than time, memory or disk.
    """
    path = basket_file(baskets, seed)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [
            sys.executable,
            "-m",
            counting_process.__name__,
            way,
            str(path),
            str(baskets),
            name,
        ]
        with (folder / "said").open("w+", encoding="utf-8", errors="replace") as said:
            start, moment = time.perf_counter(), time.time()
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
            watch = Watch(process.pid)
            in_time = _watched(process, watch, start + limit)
            took = time.perf_counter() - start
            said.seek(0)
            told = said.read()
        answer, status = folder / "answer.json", OK
        found: dict[str, Any] = {}
        if answer.is_file():
            found = json.loads(answer.read_text(encoding="utf-8"))
            took = found.pop("counted at") - moment
        else:
            status = _why(process.returncode, told) if in_time else f"over {limit:g} s"
        log = totals(folder / "log", moment + took if status == OK else math.inf)
        about = {"status": status, "seconds": took, "file": path.stat().st_size, "load": load}
        return about | {"peaks": watch.found(), "log": log} | found


def _watched(process: subprocess.Popen[Any], watch: Watch, deadline: float) -> bool:
    """Wait for the end of a process, or make one; whatever is left of it is ended. Returns whether
    it was in time.
    """
    known: set[int] = set()
    try:
        while process.poll() is None and time.perf_counter() < deadline:
            known = watch.look()
            time.sleep(_LOOK_SECONDS)
        return process.poll() is not None
    finally:
        for pid in known if process.poll() is None else ():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def _why(code: int, told: str) -> str:
    """Return why a process ended without an answer."""
    if code == -signal.SIGKILL or _NO_MEMORY.search(told):
        return NO_MEMORY
    if "No space left on device" in told:
        return NO_DISK
    last = [line for line in told.splitlines() if line.strip()][-8:]
    raise RuntimeError(f"a count ended with exit code {code}: " + "\n".join(last))
