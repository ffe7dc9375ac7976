"""Time and peak memory of a command that runs as a process of its own."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.frame.output_files import circumstances


@dataclass(frozen=True)
class Measured:
    """One run of a command, or medians over several. seconds: wall time. peak: resident bytes, from
    /proc or wait4.
    """

    seconds: float
    peak: int
    output: str


def run_once(command: Sequence[str | Path]) -> Measured:
    """Run a command as a process of its own. What it writes to stderr is shown where it fails."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, encoding="utf-8"
        )
        assert process.stdout is not None
        output = process.stdout.read()
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise SystemExit(
                f"{errors.read()}{command[0]} ended with exit code {process.returncode}"
            )
    return Measured(seconds, usage.ru_maxrss * 1024, output)


def measure(command: Sequence[str | Path], runs: int) -> Measured:
    """Run a command as a process of its own, once to warm the file cache and then `runs` times."""
    done = [run_once(command) for _ in range(runs + 1)][1:]
    seconds, peaks = [run.seconds for run in done], [run.peak for run in done]
    return Measured(statistics.median(seconds), int(statistics.median(peaks)), done[-1].output)


def report(question: str, rows: list[dict[str, Any]], output: Path | None) -> None:
    """Print the rows as a table and write them, with the circumstances, as JSON."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=question, title_justify="left")
    for name in rows[0]:
        table.add_column(name, justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        table.add_row(
            *(f"{value:,.2f}" if isinstance(value, float) else str(value) for value in row.values())
        )
    Console().print(table)
    if output is not None:
        output.write_text(
            json.dumps({"question": question, **circumstances(), "rows": rows}, indent=1) + "\n"
        )
