"""Each benchmark of speed runs on a small setting and writes figures that make sense."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE
from real_data import REPOSITORY


def run(script: str, *options: str, output: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.counting.{script}", *options, "--output", str(output)],
        cwd=REPOSITORY,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    figures: dict[str, Any] = json.loads(output.read_text())
    assert figures["fim-private"]
    return figures


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc, which only Linux has")
@pytest.mark.full
def test_reading(tmp_path: Path) -> None:
    rows = run("reading", "--baskets", "3000", "--runs", "1", output=tmp_path / "reading.json")["rows"]
    assert len(rows) == 5
    # Every form holds the same baskets (empty ones are lost where a row is an item), so the arrays are alike.
    sizes = [row["arrays (MB)"] for row in rows]
    assert max(sizes) / min(sizes) < 1.02
    assert all(row["seconds"] > 0 and row["peak / arrays"] > 0 for row in rows)


@pytest.mark.full
def test_cold_start(tmp_path: Path) -> None:
    rows = run("cold_start", "--runs", "1", output=tmp_path / "cold_start.json")["rows"]
    assert [row["command"] for row in rows][-1] == "mine corner_shop.parquet --size 3"
    assert all(row["seconds"] > 0 and row["peak (MB)"] > 1 for row in rows)
