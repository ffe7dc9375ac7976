"""The studies of the paper's claims on their small settings: what their figures show is what is
claimed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE
from real_data import REPOSITORY

from benchmarks import page
from benchmarks.frame.study import answers_of
from benchmarks.learning import interior_point as inside
from benchmarks.learning import interior_point as inside_study
from benchmarks.paper import corollary1_tasks
from benchmarks.utility.compare import SLOW
from benchmarks.utility.tasks import MOST_RUNS, OURS, PEERS, RUNS, WITHOUT_SUPPORTS
from fim_private.mechanisms import LargeMargin

# Of these the study itself draws the figures, which `benchmarks.page` draws again of all.
DRAWN = ("spark_scale", "pac_learning", "validation")


def run(name: str, folder: Path) -> dict[str, Any]:
    [module] = [study.module for study in page.STUDIES if study.name == name]
    options = [] if name in DRAWN else ["--no-figures"]
    output = folder / f"{name}.json"
    done = subprocess.run(
        [sys.executable, "-m", module, "--quick", "--output", str(output), *options],
        cwd=REPOSITORY,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    told = [
        line
        for line in done.stderr.splitlines()
        if not line.startswith(f"{name}: missing, so left out: ")
    ]
    assert (told, done.returncode) == ([], 0)
    results: dict[str, Any] = json.loads(output.read_text())
    assert (folder / f"{name}.md").read_text().startswith(f"# {results['question']}\n")
    assert results["quick"] is True
    assert str(folder) not in output.read_text()
    return results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the studies are that several tests look at: each is run once."""
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="module")
def corollary1(folder: Path) -> dict[str, Any]:
    return run("corollary1", folder)


def test_the_rank_of_theorem_3_by_its_definition() -> None:
    mechanism = LargeMargin(1.0, 1e-3)
    for levels in (
        [(900, 2), (600, 3), (200, 40)],
        [(700, 1)],
        [(900, 3), (899, 100), (1, 5)],
        [(300, 1), (20, 5)],
    ):
        supports = [support for support, m in levels for _ in range(m)] + [0]
        for more in (0.0, 60.0, 150.0):
            right = next(
                (
                    rank
                    for rank in range(1, len(supports))
                    if supports[rank] < supports[0] - mechanism.thresholds(1.0, 1e-3, rank) - more
                ),
                None,
            )
            assert corollary1_tasks.good_rank(tuple(levels), mechanism, more) == right


@pytest.fixture(scope="module")
def utility(folder: Path) -> dict[str, Any]:
    pytest.importorskip("opendp")
    return run("utility", folder)


@pytest.mark.full
def test_every_mechanism_is_measured(utility: dict[str, Any]) -> None:
    answers = utility["answers"]
    entries = {key.split("/")[2] for key in answers}
    assert entries == {*OURS, *PEERS, WITHOUT_SUPPORTS}
    for key, rows in answers.items():
        assert [row["k"] for row in rows] == [1, 10], key
        entry = key.split("/")[2]
        for row in rows:
            assert -1e-9 <= row["low"] - 1e-9 <= row["fnr"] <= row["high"] + 1e-9 <= 1 + 1e-8, key
            assert -1e-9 <= row["regret"] <= 1
            assert 0 <= row["abstained"] <= 1
            if row["precision"] is not None:
                assert 0 <= row["precision"] <= row["supported"] + 1e-9 <= 1 + 1e-9
            assert row["trials"] == (MOST_RUNS if entry in RUNS else 4 if entry in SLOW else 24)
        assert rows[0].get("exact", False) == (entry in OURS and entry not in RUNS)


@pytest.fixture(scope="module")
def spark_scale(folder: Path) -> dict[str, Any]:
    return run("spark_scale", folder)


@pytest.mark.full
def test_counting_on_spark_is_measured_and_gives_the_same_answer(
    folder: Path, spark_scale: dict[str, Any]
) -> None:
    assert [*spark_scale["answers"]] == ["local kernel|2000", "Spark, local[2]|2000"]
    local, spark = spark_scale["answers"].values()
    assert (local["status"], spark["status"]) == ("ok", "ok")
    assert len(local["supports"]) == 100
    assert spark["supports"] == local["supports"]
    assert spark["released"] == local["released"]
    assert spark["rounds"]
    assert spark["log"]["bytes of the source"] == 2 * spark["file"]
    assert {"Python of the driver", "JVM of the driver", "largest Python worker"} <= spark[
        "peaks"
    ].keys()
    assert list(folder.glob("spark_scale_*.svg"))
    text = (folder / "spark_scale.md").read_text()
    assert "All that came to an end gave the same answer" in text
    assert "| 10,000,000,000 | 1,000 |" in text


@pytest.fixture(scope="module")
def interior_point(folder: Path) -> dict[str, Any]:
    return run("interior_point", folder)


@pytest.mark.full
def test_a_point_inside_takes_far_fewer_values_than_rec_concave_is_promised_for(
    interior_point: dict[str, Any],
) -> None:
    needed = {way: n for (bits, way), n in inside_study.worst(interior_point).items() if bits == 16}
    asked = interior_point["answers"]["asked|16"]
    assert needed.keys() == {way for way in inside.WAYS if "D = 2" not in way}
    assert (
        needed[inside.EXPONENTIAL]
        == 54
        < needed[inside.MAJORITY]
        < min(needed[way] for way in inside.RECURSIVE if way in needed)
    )
    assert all(n <= asked[way] for way, n in needed.items())
    assert all(asked[way] > 100 * needed[way] for way in inside.RECURSIVE if way in needed)
    for found in answers_of(interior_point, "a_dist").values():
        assert found["overlooked"]["same leader"] > 1 >= max(found["corrected"].values())


@pytest.mark.full
def test_the_page(
    folder: Path,
    corollary1: dict[str, Any],
    utility: dict[str, Any],
    spark_scale: dict[str, Any],
    interior_point: dict[str, Any],
    tmp_path: Path,
) -> None:
    """All studies, small, with figures; then the page that is made of them."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    found = {"corollary1": corollary1, "utility": utility, "spark_scale": spark_scale}
    found["interior_point"] = interior_point
    others = (
        "examples",
        "pac_learning",
        "customers",
        "periods",
        "growth",
        "privbasis",
        "validation",
        "learners",
    )
    found |= {name: run(name, tmp_path) for name in (*others, "warehouse")}
    assert "All release the same." in (tmp_path / "warehouse.md").read_text()
    page_figures = {study.name: study.figures for study in page.STUDIES}
    assert found.keys() == page_figures.keys()
    for name, results in found.items():
        assert results["answers"]
        drawn = len([*tmp_path.glob(f"{name}_*.svg")])
        assert drawn == (len(page_figures[name]) if name in DRAWN else 0)
    document = tmp_path / "docs" / "benchmarks.md"
    document.parent.mkdir()
    command = [
        sys.executable,
        "-m",
        "benchmarks.page",
        "--results",
        str(tmp_path),
        "--document",
        str(document),
    ]
    command += ["--quick"]
    done = subprocess.run(
        command[:-1], cwd=REPOSITORY, capture_output=True, encoding="utf-8", timeout=PATIENCE
    )
    assert (done.returncode, document.exists()) == (2, False)
    assert "results of --quick, which are no results" in done.stderr
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, encoding="utf-8", timeout=PATIENCE
    )
    assert (done.stderr, done.returncode) == ("", 0)
    text = document.read_text()
    for section in ("2.2", "3.1", "3.3", "4.1", "4.2"):
        assert f"| {section} | " in text
    assert "NOT" not in text
    assert "Without a universe the exponential mechanism is refused (2 of 2 runs)" in text
    for line in text.splitlines():
        if line.startswith("!["):
            assert (document.parent / line.partition("(")[2].rstrip(")")).is_file()
    (tmp_path / "utility.json").unlink()
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, encoding="utf-8", timeout=PATIENCE
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "there is no utility.json" in done.stderr
