"""The counting benchmark: it runs, writes what it should."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE
from real_data import REPOSITORY

from benchmarks.counting.peer_counters import OURS

linux = pytest.mark.skipif(
    sys.platform != "linux", reason="peak memory is read from /proc, which only Linux has"
)


@linux
@pytest.mark.full
def test_quick_run_writes_figures_picture_and_page(tmp_path: Path) -> None:
    output, page = tmp_path / "counting.json", tmp_path / "docs" / "counting.md"
    page.parent.mkdir()
    options = [
        "--quick",
        "--cache",
        str(tmp_path / "cache"),
        "--output",
        str(output),
        "--document",
        str(page),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.counting.compare", *options],
        cwd=REPOSITORY,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert "Where a peer is better" in done.stdout
    results = json.loads(output.read_text())
    assert results["command"].startswith("python -m benchmarks.counting.compare --quick")
    assert len(results["contests"]) == 3 * 2  # modes, sizes
    for found in results["contests"]:
        assert found["outcome"].keys() == set(results["contestants"])
        ours = found["outcome"][OURS]
        assert ours["status"] == "ok"
        assert 0 < ours["seconds"]["min"] <= ours["seconds"]["median"] <= ours["seconds"]["max"]
    assert results["growth"][-1]["process"]["peak"]["median"] > 10**7
    assert "<svg" in (page.parent / "figures" / "counting.svg").read_text()
    text = page.read_text()
    assert "(figures/counting.svg)" in text
    assert "## Where a peer is better" in text
    assert str(tmp_path) not in text + output.read_text()
