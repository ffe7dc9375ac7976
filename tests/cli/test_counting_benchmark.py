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

from benchmarks.counting import compare as counting
from benchmarks.counting import head_to_head as contest
from benchmarks.counting import page as counting_document
from benchmarks.counting import summary as counting_summary
from benchmarks.counting.peer_counters import ALL, CONTESTANTS, OURS, TOP, Request
from benchmarks.frame import provenance as measuring

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
    contest.check_agreement({"one": [(5, 1), (3, 2)], "other": [(5, 1), (3, 2)], "third": [(3, 2), (5, 1)]})
    contest.check_agreement({})
    for wrong in ([(5, 1)], [(5, 1), (3, 1)], [(5, 1), (3, 2), (1, 1)], []):
        with pytest.raises(contest.DisagreementError, match="wrong counts"):
            contest.check_agreement({"one": [(5, 1), (3, 2)], "wrong": wrong})


@linux
def test_a_wrong_count_ends_the_contest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = small(tmp_path)

    def one_too_many(self: contest.Worker, request: Request, seconds: float) -> dict[str, Any]:
        answer = honest(self, request, seconds)
        answer["levels"][0][1] += next(turns)
        return answer

    honest, turns = contest.Worker.ask, iter([0, 1])
    monkeypatch.setattr(contest.Worker, "ask", one_too_many)
    with pytest.raises(contest.DisagreementError):
        contest.hold(dataset, Request(2, ALL), 1, [OURS, f"{OURS}, numpy"], contest.Limits(runs=1))


@linux
def test_those_who_cannot_are_named(tmp_path: Path) -> None:
    dataset = small(tmp_path)
    names = [OURS, "scipy XᵀX", "mlxtend apriori"]
    outcome = contest.hold(dataset, Request(3, ALL), 10**6, names, contest.Limits(runs=1))
    assert outcome[OURS]["status"] == "ok"
    assert outcome["scipy XᵀX"]["status"] == "other sizes only"
    assert outcome["mlxtend apriori"]["status"].startswith("not ")
    outcome = contest.hold(dataset, Request(2, ALL), 1, [OURS], contest.Limits(runs=1, memory=10**8))
    assert "ok" not in outcome[OURS]["status"]


@linux
def test_who_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(self: contest.Worker, request: Request, seconds: float) -> dict[str, Any]:
        self._process.send_signal(signal.SIGSTOP)  # a count that does not end, however quick the machine is
        return honest(self, request, seconds)

    honest = contest.Worker.ask
    monkeypatch.setattr(contest.Worker, "ask", stopped)
    limits = contest.Limits(runs=2, seconds=0.01)
    outcome = contest.hold(small(tmp_path), Request(2, TOP, 1, 10), 1, [OURS], limits)
    assert outcome == {OURS: {"status": "timeout (0.01 s)"}}


def small(folder: Path) -> contest.Dataset:
    path = folder / "baskets.dat"
    path.write_text("1 2 3\n1 2\n2 3\n1 2 3 4\n")
    return contest.Dataset("small", path, 0.5, "four baskets")


def results_with(peer: dict[str, Any]) -> dict[str, Any]:
    ours = {"status": "ok", "seconds": contest.spread([0.2]), "memory": contest.spread([4e6])}
    outcome = {OURS: ours, "peer": peer}
    about = {"name": "shop", "about": "a shop", "baskets": 4, "items": 4, "entries": 11, "longest": 4}
    command = {"seconds": contest.spread([1.0]), "peak": contest.spread([1e8])}
    return {
        **measuring.machine(counting.PEERS),
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
        return {"status": "ok", **{name: contest.spread([value]) for name, value in spreads.items()}}

    assert counting_summary.losses(results_with(figures(0.4, 8e6))) == []
    assert counting_summary.losses(results_with({"status": "timeout (60 s)"})) == []
    faster, leaner = counting_summary.losses(results_with(figures(0.1, 2e6)))
    assert faster == "time: shop, size 2, all: peer (0.50)"
    assert leaner == "memory: shop, size 2, all: peer (0.50)"
    (net,) = counting_summary.losses(results_with(figures(0.4, 8e6, 0.3)))
    assert net == "time net of taking in the input: shop, size 2, all: peer (0.50)"
    failed = results_with(figures(0.4, 8e6))
    failed["contests"][0]["outcome"][OURS] = {"status": "out of memory"}
    assert "ours ends with out of memory, not so peer" in counting_summary.losses(failed)[0]

    picture = tmp_path / "figures" / "counting.svg"
    for results, told in ((results_with(figures(0.4, 8e6)), "none"), (failed, "- shop, size 2, all: ours ends")):
        counting_document.write_document(results, tmp_path / "page.md", picture)
        text = (tmp_path / "page.md").read_text()
        assert f"\n\n{told}" in text.partition("## Where a peer is better")[2]
        assert "Not there, so not counted: retail." in text


def test_command_line_names_no_folder_of_this_machine() -> None:
    options = ["--data", "../some/where", "--output", "/tmp/a/b.json", "--contestants", "PyFIM eclat"]
    assert measuring.command_line(counting.MODULE, options) == (
        "python -m benchmarks.counting.compare --data DIR --output b.json --contestants 'PyFIM eclat'"
    )
    assert measuring.command_line(counting.MODULE, ["--large"], real=True) == (
        "python -m benchmarks.counting.compare --large --data DIR"
    )


@pytest.mark.parametrize(
    "options",
    [["--runs", "0"], ["--modes", "some"], ["--contestants", "nobody"], ["--sizes", "2,x"], ["--growth", "0"]],
)
def test_bad_arguments_are_answered_in_one_line(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    with pytest.raises(SystemExit):
        counting.parse(options)
    assert capsys.readouterr().err.count("\n") == 1


def test_every_contestant_has_a_size_and_a_mode() -> None:
    for contestant in CONTESTANTS.values():
        assert contestant.modes
        assert contestant.obstacle(Request(2, TOP, 5, 10), 10**6) in (None, "not installed")
