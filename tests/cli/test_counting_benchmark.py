"""The counting benchmark: it runs, writes what it should, and stops when somebody counts wrongly."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE
from real_data import REPOSITORY

from benchmarks.counting import compare, head_to_head
from benchmarks.counting.datasets import Dataset
from benchmarks.counting.page import write_document, write_section
from benchmarks.counting.peer_counters import ALL, CONTESTANTS, OURS, THRESHOLD, TOP, Request
from benchmarks.counting.summary import losses, quietest
from benchmarks.counting.worker_client import Limits, Worker
from benchmarks.frame.provenance import machine

linux = pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc, which only Linux has")


@linux
@pytest.mark.full
def test_quick_run_writes_figures_picture_and_page(tmp_path: Path) -> None:
    output, page = tmp_path / "counting.json", tmp_path / "docs" / "counting.md"
    page.parent.mkdir()
    options = ["--quick", "--cache", str(tmp_path / "cache"), "--output", str(output), "--document", str(page)]
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
    assert {"cpu", "date", "versions", "datasets", "contests", "processes", "growth", "missing"} <= results.keys()
    assert len(results["contests"]) == 3 * 2  # modes, sizes
    for found in results["contests"]:
        assert found["outcome"].keys() == set(results["contestants"])
        ours = found["outcome"][OURS]
        assert ours["status"] == "ok"
        assert 0 < ours["seconds"]["min"] <= ours["seconds"]["median"] <= ours["seconds"]["max"]
    assert results["growth"][-1]["process"]["peak"]["median"] > 10**7
    assert (page.parent / "figures" / "counting.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (page.parent / "figures" / "counting.svg").read_text()
    text = page.read_text()
    assert "(figures/counting.svg)" in text
    assert "## Where a peer is better" in text
    assert str(tmp_path) not in text + output.read_text()


def test_contestants_have_to_agree() -> None:
    head_to_head.check_agreement({"one": [(5, 1), (3, 2)], "other": [(5, 1), (3, 2)], "third": [(3, 2), (5, 1)]})
    head_to_head.check_agreement({})
    for wrong in ([(5, 1)], [(5, 1), (3, 1)], [(5, 1), (3, 2), (1, 1)], []):
        with pytest.raises(head_to_head.DisagreementError, match="wrong counts"):
            head_to_head.check_agreement({"one": [(5, 1), (3, 2)], "wrong": wrong})


@linux
def test_a_wrong_count_ends_the_contest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = small(tmp_path)

    def one_too_many(self: Worker, request: Request, seconds: float) -> dict[str, Any]:
        answer = honest(self, request, seconds)
        answer["levels"][0][1] += next(turns)
        return answer

    honest, turns = Worker.ask, iter([0, 1])
    monkeypatch.setattr(Worker, "ask", one_too_many)
    with pytest.raises(head_to_head.DisagreementError):
        head_to_head.hold(dataset, Request(2, ALL), 1, [OURS, f"{OURS}, numpy"], Limits(runs=1))


@linux
def test_those_who_cannot_are_named(tmp_path: Path) -> None:
    dataset = small(tmp_path)
    names = [OURS, "scipy XᵀX", "mlxtend apriori"]
    outcome = head_to_head.hold(dataset, Request(3, ALL), 10**6, names, Limits(runs=1))
    assert outcome[OURS]["status"] == "ok"
    assert outcome["scipy XᵀX"]["status"] == "other sizes only"
    assert outcome["mlxtend apriori"]["status"].startswith("not ")
    outcome = head_to_head.hold(dataset, Request(2, ALL), 1, [OURS], Limits(runs=1, memory=10**8))
    assert "ok" not in outcome[OURS]["status"]


@linux
def test_who_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(self: Worker, request: Request, seconds: float) -> dict[str, Any]:
        self._process.send_signal(signal.SIGSTOP)  # a count that does not end, however quick the machine is
        return honest(self, request, seconds)

    honest = Worker.ask
    monkeypatch.setattr(Worker, "ask", stopped)
    limits = Limits(runs=2, seconds=0.01)
    outcome = head_to_head.hold(small(tmp_path), Request(2, TOP, 1, 10), 1, [OURS], limits)
    assert outcome == {OURS: {"status": "timeout (0.01 s)"}}


@linux
@pytest.mark.full
@pytest.mark.parametrize(("mode", "support"), [(ALL, 1), (THRESHOLD, 2)])
def test_miners_in_rust_count_what_ours_counts(tmp_path: Path, mode: str, support: int) -> None:
    for module in ("rusket", "fastapriori"):
        pytest.importorskip(module, reason=f"{module} is not installed")
    names = [OURS, *(name for name, one in CONTESTANTS.items() if one.needs in ("rusket", "fastapriori"))]
    for size in (2, 3):
        request = Request(size, mode, support, 0)
        outcome = head_to_head.hold(small(tmp_path), request, 10, names, Limits(runs=1, seconds=PATIENCE))
        tried = [name for name in names if CONTESTANTS[name].obstacle(request, 10) is None]
        assert {name for name, found in outcome.items() if found["status"] == "ok"} == set(tried)  # and all agree


def small(folder: Path) -> Dataset:
    path = folder / "baskets.dat"
    path.write_text("1 2 3\n1 2\n2 3\n1 2 3 4\n")
    return Dataset("small", "four baskets", path, share=0.5)


def results_with(peer: dict[str, Any]) -> dict[str, Any]:
    ours = {"status": "ok", "seconds": head_to_head.spread([0.2]), "memory": head_to_head.spread([4e6])}
    outcome = {OURS: ours, "peer": peer}
    about = {"name": "shop", "about": "a shop", "baskets": 4, "items": 4, "entries": 11, "longest": 4}
    command = {"seconds": head_to_head.spread([1.0]), "peak": head_to_head.spread([1e8])}
    return {
        **machine(compare.PEERS),
        "command": "python -m benchmarks.counting.compare",
        **{"runs": 5, "timeout": 60.0, "memory_limit": 12 * 10**9, "top": 10, "missing": ["retail"], "growth": []},
        "contestants": [OURS, "peer"],
        "datasets": [about],
        "contests": [{"dataset": "shop", "size": 2, "mode": ALL, "min_support": 1, "outcome": outcome}],
        "processes": [{"dataset": "shop", "commands": {"ours": command}}],
    }


def test_losses_are_told(tmp_path: Path) -> None:
    def figures(seconds: float, memory: float, conversion: float = 0.0) -> dict[str, Any]:
        spreads = {"seconds": seconds, "memory": memory, "conversion": conversion}
        return {"status": "ok", **{name: head_to_head.spread([value]) for name, value in spreads.items()}}

    assert losses(results_with(figures(0.4, 8e6))) == []
    assert losses(results_with({"status": "timeout (60 s)"})) == []
    faster, leaner = losses(results_with(figures(0.1, 2e6)))
    assert faster == "time: shop, size 2, all: peer (0.50)"
    assert leaner == "memory: shop, size 2, all: peer (0.50)"
    (net,) = losses(results_with(figures(0.4, 8e6, 0.3)))
    assert net == "time net of taking in the input: shop, size 2, all: peer (0.50)"
    failed = results_with(figures(0.4, 8e6))
    failed["contests"][0]["outcome"][OURS] = {"status": "out of memory"}
    assert "ours ends with out of memory, not so peer" in losses(failed)[0]

    picture = tmp_path / "figures" / "counting.svg"
    for results, told in ((results_with(figures(0.4, 8e6)), "none"), (failed, "- shop, size 2, all: ours ends")):
        write_document(results, tmp_path / "page.md", picture)
        text = (tmp_path / "page.md").read_text()
        assert f"\n\n{told}" in text.partition("## Where a peer is better")[2]
        assert "Not there, so not counted: retail." in text


def test_a_part_of_the_page_is_made_anew(tmp_path: Path) -> None:
    spreads = {name: head_to_head.spread(values) for name, values in {"seconds": [0.5, 0.1], "memory": [8e6]}.items()}
    results = {**results_with({"status": "ok", **spreads}), "loads": [0.5, 4.25]}
    del results["processes"], results["growth"], results["missing"]
    document = tmp_path / "page.md"
    document.write_text("# Page\n\n## First\n\nkept\n\n## Peers\n\nold\n\n## Last\n\nkept too\n")
    write_section(quietest({**results, "processes": []}), document, "Peers")
    text = document.read_text()
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## First", "## Peers", "## Last"]
    assert ("kept\n" in text, "kept too\n" in text, "old" in text) == (True, True, False)
    assert "- time: shop, size 2, all: peer (0.50)" in text  # 0.1 of 0.2 s: the least, not the median
    assert "load average\n0.5 to 4.2" in text
    write_section(quietest({**results, "processes": []}), document, "More")
    assert document.read_text().rpartition("\n## ")[2].startswith("More\n")


@pytest.mark.parametrize(
    "options",
    [
        ["--runs", "0"],
        ["--modes", "some"],
        ["--contestants", "nobody"],
        ["--sizes", "2,x"],
        ["--growth", "0"],
        ["--section", "x"],
    ],
)
def test_bad_arguments_are_answered_in_one_line(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    with pytest.raises(SystemExit):
        compare.parse(options)
    assert capsys.readouterr().err.count("\n") == 1
