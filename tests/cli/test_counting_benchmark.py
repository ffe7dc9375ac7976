"""The counting benchmark: it runs, writes what it should, and stops when somebody counts
wrongly.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE
from real_data import REPOSITORY

from benchmarks.counting import compare, head_to_head
from benchmarks.counting.page import losses
from benchmarks.counting.peer_counters import ALL, OURS
from benchmarks.frame.output_files import machine

linux = pytest.mark.skipif(
    sys.platform != "linux", reason=("peak memory is read from /proc, which only Linux has")
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


def test_contestants_have_to_agree() -> None:
    head_to_head.check_agreement(
        {"one": [(5, 1), (3, 2)], "other": [(5, 1), (3, 2)], "third": [(3, 2), (5, 1)]}
    )
    head_to_head.check_agreement({})
    for wrong in ([(5, 1)], [(5, 1), (3, 1)], [(5, 1), (3, 2), (1, 1)], []):
        with pytest.raises(head_to_head.DisagreementError, match="wrong counts"):
            head_to_head.check_agreement({"one": [(5, 1), (3, 2)], "wrong": wrong})


def results_with(peer: dict[str, Any]) -> dict[str, Any]:
    ours = {
        "status": "ok",
        "seconds": head_to_head.spread([0.2]),
        "memory": head_to_head.spread([4e6]),
    }
    outcome = {OURS: ours, "peer": peer}
    about = {
        "name": "shop",
        "about": "a shop",
        "baskets": 4,
        "items": 4,
        "entries": 11,
        "longest": 4,
    }
    command = {"seconds": head_to_head.spread([1.0]), "peak": head_to_head.spread([1e8])}
    return {
        **machine(compare.PEERS),
        "command": "python -m benchmarks.counting.compare",
        **{
            "runs": 5,
            "timeout": 60.0,
            "memory_limit": 12 * 10**9,
            "top": 10,
            "missing": ["retail"],
            "growth": [],
        },
        "contestants": [OURS, "peer"],
        "datasets": [about],
        "contests": [
            {"dataset": "shop", "size": 2, "mode": ALL, "min_support": 1, "outcome": outcome}
        ],
        "processes": [{"dataset": "shop", "commands": {"ours": command}}],
    }


def test_losses_are_named() -> None:
    def figures(seconds: float, memory: float, conversion: float = 0.0) -> dict[str, Any]:
        spreads = {"seconds": seconds, "memory": memory, "conversion": conversion}
        return {
            "status": "ok",
            **{name: head_to_head.spread([value]) for name, value in spreads.items()},
        }

    assert losses(results_with(figures(0.4, 8e6))) == []
    assert losses(results_with({"status": "timeout (60 s)"})) == []
    faster, leaner = losses(results_with(figures(0.1, 2e6)))
    assert faster == "time: shop, size 2, all: peer (0.50)"
    assert leaner == "memory: shop, size 2, all: peer (0.50)"
    (net,) = losses(results_with(figures(0.4, 8e6, 0.3)))
    assert net == "net of input: shop, size 2, all: peer (0.50)"
    failed = results_with(figures(0.4, 8e6))
    failed["contests"][0]["outcome"][OURS] = {"status": "out of memory"}
    assert "ours ends with out of memory, not so peer" in losses(failed)[0]


@pytest.mark.parametrize("options", [["--runs", "0"], ["--modes", "some"], ["--sizes", "2,x"]])
def test_bad_arguments_are_answered_in_one_line(
    capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    with pytest.raises(SystemExit):
        compare.parse(options)
    assert capsys.readouterr().err.count("\n") == 1
