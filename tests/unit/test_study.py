"""The frame of the benchmark studies: tasks are remembered, interruptions lose nothing, tables are Markdown."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE
from real_data import REPOSITORY

from benchmarks.frame import study, task_cache
from benchmarks.frame.provenance import machine
from benchmarks.frame.study import Options, Section, Study, Task
from benchmarks.frame.tables import Table
from benchmarks.paper import corollary1_tasks

SCRIPT = """
import sys, time
sys.path.insert(0, {repository!r})
from benchmarks.frame.study import Figure, Section, Study, Table, Task, main

def slow(value):
    with open({log!r}, "a") as log:
        log.write(f"{{value}}\\n")
    time.sleep(0.02 if value < 4 else {sleep})
    return value * value

def tasks(options):
    return [Task(str(v), slow, {{"value": v}}) for v in range(8)], ["the data set that is not there"]

def sections(results):
    answers = results["answers"]
    return [Section("Squares", f"The last is {{answers['7']}}.", None, (Table(("n", "n²"), tuple(answers.items())),))]

if __name__ == "__main__":
    main(Study("squares", "squares", "Are squares square?", tasks, sections, {{}}))
"""


def script(folder: Path, sleep: float) -> list[str]:
    path = folder / "squares.py"
    path.write_text(SCRIPT.format(repository=str(REPOSITORY), log=str(folder / "log"), sleep=sleep))
    return [sys.executable, str(path), "--output", str(folder / "squares.json"), "--no-figures"]


def done(folder: Path) -> list[str]:
    return (folder / "log").read_text().split() if (folder / "log").is_file() else []


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is sent as on a terminal of Linux or macOS")
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.full
def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, workers: str) -> None:
    command = [*script(tmp_path, 60), "--workers", workers]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True)
    deadline = time.monotonic() + PATIENCE
    while sum(len([*filter(None, parts.read_text().split("\n"))]) for parts in tmp_path.glob("*.parts")) < 4:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert error.splitlines()[-1] == "interrupted after 4 of 8 tasks; the same command goes on from there"
    assert "missing, so left out: the data set that is not there" in error
    assert not (tmp_path / "squares.json").exists()
    first = done(tmp_path)
    (tmp_path / "log").unlink()
    # The same script, quick now: what the mark covers (the project's code and the options) is the same.
    again = subprocess.run(
        [*script(tmp_path, 0.01), "--workers", workers], capture_output=True, encoding="utf-8", timeout=PATIENCE
    )
    assert again.returncode == 0, again.stderr
    assert sorted(done(tmp_path)) == ["4", "5", "6", "7"]
    assert {"0", "1", "2", "3"} <= set(first)
    results = json.loads((tmp_path / "squares.json").read_text())
    assert results["answers"] == {str(v): v * v for v in range(8)}
    assert {"fim-private", "cpu", "date", "commit", "seed", "command"} <= results.keys()
    assert "| 7 | 49 |" in (tmp_path / "squares.md").read_text()
    (tmp_path / "log").unlink()
    third = subprocess.run(script(tmp_path, 0.01), capture_output=True, encoding="utf-8", timeout=PATIENCE)
    assert (third.returncode, done(tmp_path)) == (0, [])
    assert "done before by the same code" in third.stderr
    subprocess.run([*script(tmp_path, 0.01), "--fresh"], capture_output=True, timeout=PATIENCE, check=True)
    assert len(done(tmp_path)) == 8


def double(value: int) -> int:
    return 2 * value


def boom(value: int) -> int:
    raise ValueError(value)


def a_study(tasks: list[Task]) -> Study:
    return Study("some", "benchmarks.some", "What?", lambda options: (tasks, []), lambda results: [], {})


def test_another_seed_or_a_half_written_line_is_done_again(tmp_path: Path) -> None:
    output, seen = tmp_path / "some.json", []

    def noted(value: int) -> int:
        seen.append(value)
        return value

    tasks = [Task(str(v), noted, {"value": v}) for v in range(3)]
    failing = [*tasks[:2], Task("2", boom, {"value": 2})]
    with pytest.raises(ValueError, match="2"):
        study.run(a_study(failing), Options(None), output)
    assert seen == [0, 1]
    [remembered] = tmp_path.glob("*.parts")
    lines = remembered.read_text().split("\n")[1:]
    remembered.write_text(lines[0] + "\n" + lines[1][:-3])
    study.run(a_study(tasks), Options(None), output)
    assert seen == [0, 1, 1, 2]
    study.run(a_study(tasks), Options(None), output)
    assert seen == [0, 1, 1, 2]
    with pytest.raises(ValueError, match="2"):
        study.run(a_study(failing), Options(None, seed=5), output)
    assert seen == [0, 1, 1, 2, 0, 1]
    study.run(a_study(tasks), Options(None, seed=6), output)
    assert seen == [0, 1, 1, 2, 0, 1, 0, 1, 2]
    # What another seed has begun is still there.
    study.run(a_study(tasks), Options(None, seed=5), output)
    assert seen == [0, 1, 1, 2, 0, 1, 0, 1, 2, 2]


def test_other_data_arguments_or_code_is_done_again(tmp_path: Path) -> None:
    def mark(function: Any, **arguments: Any) -> str:
        return task_cache.mark(function, arguments, tmp_path, "same")

    first = mark(corollary1_tasks.needed)
    assert mark(corollary1_tasks.needed) == first
    assert mark(corollary1_tasks.errors) != first
    assert mark(corollary1_tasks.needed, trials=3) != first
    data = tmp_path / "retail.parquet"
    data.write_bytes(b"x")
    assert (second := mark(corollary1_tasks.needed)) != first
    os.utime(data, (1, 1))
    assert mark(corollary1_tasks.needed) == second, "a copy of the same data"
    data.write_bytes(b"y")
    assert mark(corollary1_tasks.needed) not in (first, second)


def test_the_code_of_a_task_is_what_it_imports() -> None:
    code = {path.name for path in task_cache.code(corollary1_tasks.errors.__module__)}
    assert code >= {"support_spectra.py", "bisection.py"}
    assert not code & {"study.py", "corollary1.py"}
    # So a change of levelwise leaves the peers as they are.
    assert "levelwise" in {path.parent.name for path in task_cache.code("benchmarks.utility.runs")}
    assert not {path.parent.name for path in task_cache.code("benchmarks.utility.peer_tasks")} & {"levelwise", "mining"}


def test_what_is_done_after_some_minutes_is_written_and_the_rest_done_later(tmp_path: Path) -> None:
    output, seen = tmp_path / "some.json", []

    def noted(value: int) -> int:
        seen.append(value)
        return value

    tasks = [Task(str(v), noted, {"value": v}) for v in range(3)]
    study.run(a_study(tasks[:2]), Options(None), output)
    part = study.run(a_study(tasks), Options(None), output, minutes=0)
    assert (seen, part["answers"], part["not_done"]) == ([0, 1], {"0": 0, "1": 1}, ["2"])
    page = "\n".join(study.markdown(a_study([]), part, "", level=1))
    assert "Of 3 tasks 1 have not been run, and are in no figure here." in page
    whole = study.run(a_study(tasks), Options(None), output)
    assert (seen, whole["not_done"]) == ([0, 1, 2], [])
    assert "have not been run" not in "\n".join(study.markdown(a_study([]), whole, "", level=1))
    assert study.run(a_study([*tasks, Task("3", noted, {"value": 3})]), Options(None), output, minutes=1e-9)


def test_a_page_has_headings_tables_and_where_it_comes_from() -> None:
    about = {**machine(("numpy",)), "command": "python x", "seed": 3, "quick": True, "missing": ["retail"]}
    table = Table(("name", "|H|"), (("a", 1), ("b", None)))
    part = Section("Part", "Read.", "fig", (table,))
    one = Study("x", "benchmarks.x", "Why?", lambda o: ([], []), lambda r: [part], {})
    lines = "\n".join(study.markdown(one, about, "figures/", level=2))
    assert lines.startswith("## Why?\n\n    python x\n")
    assert (
        "### Part\n\nRead.\n\n![Part](figures/x_fig.svg)\n\n| name | \\|H\\| |\n|---|---:|\n| a | 1 |\n| b | – |"
        in lines
    )
    assert "seed 3 (the small setting of --quick)" in lines
    assert "The small setting leaves out the real data." in lines
    full = "\n".join(study.markdown(one, {**about, "quick": False}, "", level=1))
    assert "Missing, so left out: retail." in full
