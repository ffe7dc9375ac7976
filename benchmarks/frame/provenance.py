"""What every benchmark says about itself, and how it measures a process."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_DATA = Path(os.environ["FIM_DATA"]) if os.environ.get("FIM_DATA") else None  # datasets/README.md
DATA_HELP = "folder of real data sets, as Parquet (default: the environment variable FIM_DATA)"


class OneLineParser(argparse.ArgumentParser):
    """Of `python -m MODULE`: help keeps the lines of the description, and what is wrong is said in one line."""

    def __init__(self, module: str, description: str, example: str | None = None) -> None:
        lines = argparse.RawDescriptionHelpFormatter
        super().__init__(f"python -m {module}", description=description, epilog=example, formatter_class=lines)

    def error(self, message: str) -> NoReturn:
        """Exit with 2."""
        print(f"{self.prog}: {message}", file=sys.stderr)
        raise SystemExit(2)


@dataclass(frozen=True)
class Measured:
    """One run of a command, or medians over several. seconds: wall time. peak: resident bytes, from /proc or wait4."""

    seconds: float
    peak: int
    output: str


def run_once(command: Sequence[str | Path]) -> Measured:
    """Run a command as a process of its own."""
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, encoding="utf-8")
    assert process.stdout is not None
    output = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with exit code {process.returncode}")
    return Measured(seconds, usage.ru_maxrss * 1024, output)


def measure(command: Sequence[str | Path], runs: int) -> Measured:
    """Run a command as a process of its own, once to warm the file cache and then `runs` times."""
    done = [run_once(command) for _ in range(runs + 1)][1:]
    seconds, peaks = [run.seconds for run in done], [run.peak for run in done]
    return Measured(statistics.median(seconds), int(statistics.median(peaks)), done[-1].output)


def circumstances() -> dict[str, Any]:
    """Return the machine, the versions and the commit that a figure belongs to."""
    commit = _git("rev-parse", "--short", "HEAD")
    if commit and _git("status", "--porcelain", "--", "fim_private", "benchmarks"):
        commit += " with changes"
    return {
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "python": sys.version.split()[0],
        "numpy": version("numpy"),
        "pyarrow": version("pyarrow"),
        "fim-private": version("fim-private"),
        "commit": commit,
    }


def machine(packages: Sequence[str]) -> dict[str, Any]:
    """Return when, where and with which versions of these packages."""
    about = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*:\s*(.+)", about.read_text() if about.is_file() else "")
    versions = {}
    for name in packages:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return {
        **circumstances(),
        "cpu": model[1].strip() if model else "unknown processor",
        "memory_total": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "date": datetime.now(UTC).date().isoformat(),
        "versions": versions,
    }


def command_line(module: str, arguments: Sequence[str], real: bool = False) -> str:
    """Return the command without the folders of this machine. real: there were real data sets."""
    parts = [piece for part in arguments for piece in (part.split("=", 1) if part.startswith("--") else [part])]
    for place_, part in enumerate(parts):
        if place_ and parts[place_ - 1] == "--data":
            parts[place_] = "DIR"
        elif Path(part).is_absolute() or part.startswith(".."):
            parts[place_] = Path(part).name
        if " " in parts[place_]:
            parts[place_] = f"'{parts[place_]}'"
    if real and "--data" not in parts:
        parts += ["--data", "DIR"]
    return " ".join([f"python -m {module}", *parts])


def write_json(results: dict[str, Any], output: Path) -> None:
    """Write all or nothing."""
    write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", output)


def write_text(text: str, output: Path) -> None:
    """Write all or nothing."""
    temporary = output.with_name(output.name + ".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(output)


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    ).stdout.strip()


def report(question: str, rows: list[dict[str, Any]], output: Path | None) -> None:
    """Print the rows as a table and write them, with the circumstances, as JSON."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=question, title_justify="left")
    for name in rows[0]:
        table.add_column(name, justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        table.add_row(*(f"{value:,.2f}" if isinstance(value, float) else str(value) for value in row.values()))
    Console().print(table)
    if output is not None:
        output.write_text(json.dumps({"question": question, **circumstances(), "rows": rows}, indent=1) + "\n")
