"""The studies of the paper's claims, and the counting benchmark, on their small settings."""

import importlib
import itertools
import json
import math
import re
import sys
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from patience import Done, program
from real_data import REPOSITORY

from benchmarks import page
from benchmarks.counting.peer_counters import OURS
from benchmarks.frame.figures import FIGURES
from benchmarks.frame.published import read_rows
from benchmarks.learning import learners


def benchmark(module: str, *options: str) -> Done:
    return program(sys.executable, "-m", f"benchmarks.{module}", *options, folder=REPOSITORY)


def run(name: str, folder: Path) -> dict[str, Any]:
    [module] = [study.module for study in page.STUDIES if study.name == name]
    output = folder / f"{name}.json"
    done = benchmark(module.removeprefix("benchmarks."), "--quick", "--output", str(output))
    missing = f"{name}: missing, so left out: "
    told = [line for line in done.stderr.splitlines() if not line.startswith(missing)]
    assert (told, done.returncode) == ([], 0)
    results: dict[str, Any] = json.loads(output.read_text())
    assert (folder / f"{name}.md").read_text().startswith(f"# {results['question']}\n")
    assert results["quick"] is True
    assert str(folder) not in output.read_text()
    return results


@pytest.mark.full
def test_the_page(tmp_path: Path) -> None:
    """All studies, small; then the page and the figures that are made of them."""
    pytest.importorskip("opendp")
    found = {study.name: run(study.name, tmp_path) for study in page.STUDIES}
    assert "All release the same." in (tmp_path / "warehouse.md").read_text()
    assert all(results["answers"] for results in found.values())
    docs = tmp_path / "docs"
    docs.mkdir()
    command = ["page", "--results", str(tmp_path), "--docs", str(docs)]
    done = benchmark(*command)
    assert (done.returncode, [*docs.iterdir()]) == (2, [])
    assert "results of --quick, which are no results" in done.stderr
    done = benchmark(*command, "--quick")
    assert (done.stderr, done.returncode) == ("", 0)
    drawn = {path.stem for path in (docs / "figures").iterdir()}
    assert drawn == {name for name in FIGURES if not name.startswith("counting")}
    verdicts = read_rows(docs / "data", "paper_claims")
    assert {row["section"] for row in verdicts} == {"2.2", "3.1", "3.3", "4.1", "4.2"}
    assert not any("NOT" in row["found"] for row in verdicts)
    sections = read_rows(docs / "data", "sections")
    assert {row["study"] for row in sections} == {"paper", *found}
    told = " ".join(row["reading"] for row in sections)
    assert "Without a universe the exponential mechanism is refused (2 of 2 runs)" in told
    index = (docs / "data" / "index.md").read_text()
    for target in re.findall(r"\]\(([^)]+)\)", index):
        assert (docs / "data" / target).is_file(), target
    (tmp_path / "utility.json").unlink()
    done = benchmark(*command, "--quick")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "there is no utility.json" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
@pytest.mark.full
def test_the_counting_benchmark_writes_results_pictures_and_tables(tmp_path: Path) -> None:
    output, docs = tmp_path / "counting.json", tmp_path / "docs"
    options = ["--cache", str(tmp_path / "cache"), "--output", str(output)]
    done = benchmark("counting.compare", "--quick", *options, "--docs", str(docs))
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
    drawn = {path.name for path in (docs / "figures").iterdir()}
    assert drawn == {"counting.svg", "counting_growth.svg"}
    told = {row["section"] for row in read_rows(docs / "data", "sections")}
    assert {"Growth", "Whole processes", "Where a peer is better"} < told
    assert len(read_rows(docs / "data", "counting_minimum_support")) == 2
    written = "".join(path.read_text() for path in (docs / "data").iterdir())
    assert str(tmp_path) not in written + output.read_text()


def test_what_is_said_to_be_run_can_be_run() -> None:
    documents = ["Makefile", "README.md", "CONTRIBUTING.md", "datasets/README.md"]
    documents += [f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md")]
    texts = [(REPOSITORY / document).read_text(encoding="utf-8") for document in documents]
    named = {module for text in texts for module in re.findall(r"-m (benchmarks[\w.]*)", text)}
    studies = {study.module for study in page.STUDIES}
    assert named >= {"benchmarks.page", "benchmarks.counting.compare", *studies}
    for module in named:
        assert find_spec(module), module
    for study in page.STUDIES:
        assert importlib.import_module(study.module).STUDY is study


# -------------------- the width of a histogram: its stability by brute force


@pytest.mark.parametrize(("units", "held"), [(3, 2), pytest.param(4, 1, marks=pytest.mark.full)])
def test_a_histogram_s_stability_is_reached(units: int, held: int) -> None:
    """By brute force, over all data in two bins and noise from -2 to 2."""

    def score(noisy: tuple[int, int], others: int) -> Fraction:
        shares = [Fraction(count, units) for count in noisy]
        middle = (shares[0] * others + shares[1] * (held - others)) / held
        return 2 * (2 * middle - shares[0] ** 2 - shares[1] ** 2)

    of_training = of_validation = Fraction(0)
    every = itertools.product(range(units), range(-2, 3), range(-2, 3), range(held + 1))
    for first, one, two, others in every:
        # One unit goes from the second bin to the first; counts are cut to [0, n].
        before, after = (
            (min(max(count + one, 0), units), min(max(units - count + two, 0), units))
            for count in (first, first + 1)
        )
        of_training = max(of_training, abs(score(before, others) - score(after, others)))
        if others:
            moved = (abs(score(n, others) - score(n, others - 1)) for n in (before, after))
            of_validation = max(of_validation, *moved)
    # The bound, less what one value is of all.
    of_one = Fraction(4, units**2)
    bounds = [learners.stability(n, m, bins=2) for n, m in ((units, math.inf), (math.inf, held))]
    assert bounds == pytest.approx([float(of_training + of_one), float(of_validation)])
