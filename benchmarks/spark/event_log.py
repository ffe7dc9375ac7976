"""What Spark wrote down of an application: bytes read, shuffled and sent to the driver, jobs, stages and tasks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

READ_SOURCE, READ_KEPT, SHUFFLED, TO_DRIVER = "bytes of the source", "bytes kept", "bytes shuffled", "bytes to driver"
JOBS, STAGES, TASKS, SPILLED = "jobs", "stages", "tasks", "bytes spilled"
# The measure of a scan. (What tasks count as read leaves out most of a Parquet file.)
_FILES = "size of files read"


@dataclass
class _Totals:
    """What has been counted. scans: the numbers of the measures that say how large the files of a scan are."""

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
            self.found[READ_SOURCE] += sum(value for one, value in event["accumUpdates"] if one in self.scans)

    def _add_task(self, metrics: dict[str, Any]) -> None:
        self.found[TASKS] += 1
        self.found[READ_KEPT] += metrics.get("Input Metrics", {}).get("Bytes Read", 0)
        self.found[SHUFFLED] += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
        self.found[TO_DRIVER] += metrics.get("Result Size", 0)
        self.found[SPILLED] += metrics.get("Disk Bytes Spilled", 0)


def totals(folder: Path, until: float) -> dict[str, int]:
    """Return the totals of the one log in a folder, as far as there is one, of the jobs that began by a time.

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
