"""The studies of the paper's claims on their small settings: what their figures show is what is claimed."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE
from real_data import REPOSITORY

from benchmarks import page
from benchmarks.frame.study import answers_of
from benchmarks.learning import inside
from benchmarks.learning import interior_point as inside_study
from benchmarks.paper import corollary1_figures, corollary1_tasks
from benchmarks.utility.compare import SLOW
from benchmarks.utility.runs import MOST_RUNS, RUNS, WITHOUT_SUPPORTS
from benchmarks.utility.tasks import OURS, PEERS
from fim_private.mechanisms import LargeMargin

NEIGHBORS = ["replace-one", "add-remove"]


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
    told = [line for line in done.stderr.splitlines() if not line.startswith(f"{name}: missing, so left out: ")]
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


@pytest.mark.full
def test_the_exponential_needs_more_as_the_universe_grows_and_large_margin_does_not(
    corollary1: dict[str, Any],
) -> None:
    for (size,), found in corollary1_figures.parts(corollary1, "needs").items():
        for neighbors, per_e in (("replace-one", 2), ("add-remove", 1)):
            units = found[neighbors]["exponential"]
            assert all(b > a for a, b in pairwise(units))
            slope = corollary1_figures.slope(found["exponents"], units)
            assert slope == pytest.approx(int(size) * per_e * math.log(10), rel=0.02)
            assert found[neighbors]["large-margin"] == 438
            crossing = found[neighbors]["crossing"]
            assert crossing["measured"] == pytest.approx(crossing["predicted"], abs=1)


@pytest.mark.full
def test_errors_grow_for_the_one_and_are_flat_for_the_other(corollary1: dict[str, Any]) -> None:
    cases = corollary1_figures.parts(corollary1, "errors")
    assert cases
    for found in cases.values():
        for neighbors in NEIGHBORS:
            errors = [row[neighbors] for row in found["rows"]]
            assert all(b >= a * (1 - 1e-9) for a, b in pairwise(errors))
            assert 0 <= errors[-1] <= found["maximum"] * (1 + 1e-9)
            crossing = found["crossing"][neighbors]
            if crossing["measured"] is not None:
                assert crossing["measured"] == pytest.approx(crossing["predicted"], abs=8)
        told = [row["large-margin"] for row in found["rows"] if "large-margin" in row]
        assert len(told) >= 2
        # Told the universe it is better in small ones, and no worse in any than if it is not told.
        assert all(b >= a - 1e-6 * found["maximum"] for a, b in pairwise(told))
        assert told[-1] == pytest.approx(found["large-margin"], abs=1e-3 * found["maximum"])
    clear = cases["zipf, 1 lead by 600", "1"]
    told = [row["large-margin"] for row in clear["rows"] if "large-margin" in row]
    assert max(told) - min(told) < 1e-9 * clear["maximum"]


@pytest.mark.full
def test_in_a_crowd_the_error_of_the_one_is_in_proportion_to_the_size_of_the_universe(
    corollary1: dict[str, Any],
) -> None:
    crowds = corollary1_figures.parts(corollary1, "crowd")
    rows = [row for found in crowds.values() for row in found["rows"] if row["replace-one"] > 100]
    assert rows
    for row in rows:
        # As many as e^{0.75 d} at distance d from 450 on: down to d = ln K / 0.75, in steps of ten.
        assert row["replace-one"] == pytest.approx(max(450, row["ln_candidates"] / 0.75), abs=30)
    margin = [row["large-margin"] for found in crowds.values() for row in found["rows"] if row["ln_candidates"] > 10]
    assert max(margin) - min(margin) < 1e-6
    assert max(margin) < 20


@pytest.mark.full
def test_the_bound_is_kept_wherever_its_condition_holds(corollary1: dict[str, Any]) -> None:
    points = corollary1_figures.covered(corollary1)
    assert {p.eta for p in points} == {0.5, 0.2, 0.1, 0.05, 0.02, 0.01}
    for point in points:
        assert point.lower <= point.share <= point.upper
        assert point.lower >= 1 - point.eta
        assert point.exact >= 1 - point.eta
        assert point.lower - 0.01 <= point.exact <= point.upper + 0.01
    cases = corollary1_figures.parts(corollary1, "coverage").values()
    assert any(row["rank"] is None for case in cases for row in case["rows"])


@pytest.mark.full
def test_a_release_needs_a_certain_ratio(corollary1: dict[str, Any]) -> None:
    rows = [row for found in corollary1_figures.parts(corollary1, "condition").values() for row in found]
    assert min(row["abstain"] for row in rows if row["ratio"] < 15) > 0.99
    assert max(row["abstain"] for row in rows if row["ratio"] > row["enough"]) <= 1e-6
    assert {row["delta"] for row in rows} == {1e-6}


@pytest.mark.full
def test_open_vocabularies(corollary1: dict[str, Any]) -> None:
    commands = corollary1_figures.parts(corollary1, "command")
    for (name, planted), asked in commands.items():
        large, limited, refused, paid = asked
        assert [(one["exit"], one["answer"], one["planted"]) for one in (large, limited)] == [
            (0, "the planted pair", int(planted))
        ] * 2
        assert refused["exit"] == 2
        assert refused["answer"].startswith("Error: the exponential mechanism needs a public item universe")
        assert (paid["exit"], paid["answer"]) == (0, "the planted pair" if "GTIN" in name else "no named itemset")
    needs = corollary1_figures.parts(corollary1, "vocabulary")
    for neighbors in NEIGHBORS:
        gtin, strings = (needs[name, "2"][neighbors] for name in dict.fromkeys(name for name, _ in needs))
        assert gtin["named-exponential"] < strings["named-exponential"]
        assert gtin["large-margin"] == strings["large-margin"] == 438
        assert strings["limited-domain"] < gtin["named-exponential"]


def test_the_rank_of_theorem_3_by_its_definition() -> None:
    mechanism = LargeMargin(1.0, 1e-3)
    for levels in ([(900, 2), (600, 3), (200, 40)], [(700, 1)], [(900, 3), (899, 100), (1, 5)], [(300, 1), (20, 5)]):
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


@pytest.mark.full
def test_what_knows_more_misses_less(utility: dict[str, Any]) -> None:
    def missed(entry: str, k: int) -> float:
        [rows] = [
            rows for key, rows in utility["answers"].items() if key.startswith(f"quest/1/{entry}/basket/add-remove/")
        ]
        return float(next(row["fnr"] for row in rows if row["k"] == k))

    assert missed("exponential", 10) < missed("limited-domain", 10) <= missed("large-margin", 10)
    assert missed("PrivBasis, zCDP", 10) < 0.9
    assert missed("permute-and-flip", 1) <= missed("exponential", 1) + 1e-9


@pytest.fixture(scope="module")
def spark_scale(folder: Path) -> dict[str, Any]:
    return run("spark_scale", folder)


@pytest.mark.full
def test_counting_on_spark_is_measured_and_gives_the_same_answer(folder: Path, spark_scale: dict[str, Any]) -> None:
    assert [*spark_scale["answers"]] == ["local kernel|2000", "Spark, local[2]|2000"]
    local, spark = spark_scale["answers"].values()
    assert (local["status"], spark["status"]) == ("ok", "ok")
    assert len(local["supports"]) == 100
    assert spark["supports"] == local["supports"]
    assert spark["released"] == local["released"]
    assert spark["rounds"]
    assert spark["log"]["bytes of the source"] == 2 * spark["file"]
    assert {"Python of the driver", "JVM of the driver", "largest Python worker"} <= spark["peaks"].keys()
    assert list(folder.glob("spark_scale_*.svg"))
    text = (folder / "spark_scale.md").read_text()
    assert "the same answer from all that came to an end" in text
    assert "| 10,000,000,000 | 1,000 |" in text


@pytest.fixture(scope="module")
def interior_point(folder: Path) -> dict[str, Any]:
    return run("interior_point", folder)


@pytest.mark.full
def test_a_point_inside_takes_far_fewer_values_than_rec_concave_is_promised_for(interior_point: dict[str, Any]) -> None:
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
    others = ("examples", "pac_learning", "customers", "growth", "privbasis", "validation", "learners")
    found |= {name: run(name, tmp_path) for name in others}
    page_figures = {study.name: study.figures for study in page.STUDIES}
    assert found.keys() == page_figures.keys()
    for name, results in found.items():
        assert results["answers"]
        drawn = [len([*tmp_path.glob(f"{name}_*.{form}")]) for form in ("svg", "png")]
        assert drawn == [len(page_figures[name]) if name in DRAWN else 0] * 2
    document = tmp_path / "docs" / "benchmarks.md"
    document.parent.mkdir()
    command = [sys.executable, "-m", "benchmarks.page", "--results", str(tmp_path), "--document", str(document)]
    command += ["--quick"]
    done = subprocess.run(command[:-1], cwd=REPOSITORY, capture_output=True, encoding="utf-8", timeout=PATIENCE)
    assert (done.returncode, document.exists()) == (2, False)
    assert "results of --quick, which are no results" in done.stderr
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, encoding="utf-8", timeout=PATIENCE)
    assert (done.stderr, done.returncode) == ("", 0)
    text = document.read_text()
    for section in ("2.2", "3.1", "3.3", "4.1", "4.2"):
        assert f"| {section} | " in text
    assert "NOT" not in text
    for line in text.splitlines():
        if line.startswith("!["):
            assert (document.parent / line.partition("(")[2].rstrip(")")).is_file()
    (tmp_path / "utility.json").unlink()
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, encoding="utf-8", timeout=PATIENCE)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "there is no utility.json" in done.stderr
