"""The frame of the benchmark studies: tasks are remembered, interruptions lose nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.frame import study
from benchmarks.frame.figure_style import LETTERS, SHOWN
from benchmarks.frame.output_files import ROOT
from benchmarks.frame.study import Options, Study, Task


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
