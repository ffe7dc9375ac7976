"""The frame of the benchmark studies: tasks are remembered, interruptions lose nothing, tables are
Markdown.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.frame import study
from benchmarks.frame.figure_style import LETTERS, SHOWN
from benchmarks.frame.output_files import ROOT, machine
from benchmarks.frame.study import Options, Section, Study, Task
from benchmarks.frame.tables import Table
from benchmarks.paper import corollary1_tasks


def boom(value: int) -> int:
    raise ValueError(value)


def a_study(tasks: list[Task]) -> Study:
    return Study(
        "some", "benchmarks.some", "What?", lambda options: (tasks, []), lambda results: [], {}
    )


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
        return study.mark(function, arguments, tmp_path, "same")

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


def test_a_page_has_headings_tables_and_where_it_comes_from() -> None:
    about = {
        **machine(("numpy",)),
        "command": "python x",
        "seed": 3,
        "quick": True,
        "missing": ["retail"],
    }
    table = Table(("name", "|H|"), (("a", 1), ("b", None)))
    part = Section("Part", "Read.", "fig", (table,))
    one = Study("x", "benchmarks.x", "Why?", lambda o: ([], []), lambda r: [part], {})
    lines = "\n".join(study.markdown(one, about, "figures/", level=2))
    assert lines.startswith("## Why?\n\n    python x\n")
    assert (
        "### Part\n\nRead.\n\n![Part](figures/x_fig.svg)\n\n| name | \\|H\\| |\n|---|---:|\n| a "
        "| 1 |\n| b | – |"
    ) in lines
    assert "seed 3 (the small setting of --quick)" in lines
    assert "The small setting leaves out the real data." in lines
    full = "\n".join(study.markdown(one, {**about, "quick": False}, "", level=1))
    assert "Missing, so left out: retail." in full


def test_pages_show_no_picture_with_small_letters() -> None:
    pictures = sorted((ROOT / "docs" / "figures").glob("*.svg"))
    assert len(pictures) > 25
    for picture in pictures:
        text = picture.read_text(encoding="utf-8")
        width = re.search(r'<svg [^>]*width="([\d.]+)pt"', text, re.DOTALL)
        assert width is not None, picture.name
        assert float(width[1]) <= 72 * SHOWN, f"a page would shrink {picture.name}"
        exponents = round(0.7 * LETTERS, 1)  # which alone are smaller
        letters = {
            float(size) for size in re.findall(r"font(?:-size)?: (?:\w+ )*([\d.]+)px", text)
        } - {exponents}
        assert letters, f"{picture.name}: letters are drawn, not written"
        assert min(letters) >= LETTERS, picture.name
