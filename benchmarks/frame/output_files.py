"""Where the project and the results are, how a result is written, and what it was made with."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_OUTPUT = ROOT / "build" / "benchmarks"


def write_json(results: dict[str, Any], output: Path) -> None:
    """Write all or nothing."""
    write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", output)


def write_text(text: str, output: Path) -> None:
    """Write all or nothing."""
    temporary = output.with_name(output.name + ".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(output)


# What a result was made with.


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


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    ).stdout.strip()
