"""The paper's worked examples: what the figures say is what the theorems say, and the checks can
fail.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from patience import PATIENCE
from real_data import REPOSITORY

from benchmarks.paper import worked_examples as examples
from fim_private.mechanisms import Exponential

ONE, TWO = "D = (1, …, 1)", "D = (2, …, 2)"
RELATIONS = ("replace-one", "add-remove")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    output = tmp_path_factory.mktemp("examples") / "examples.json"
    command = [
        sys.executable,
        "-m",
        examples.STUDY.module,
        "--quick",
        "--no-figures",
        "--output",
        str(output),
    ]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, encoding="utf-8", timeout=PATIENCE
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert "| large-margin, known K |" in output.with_suffix(".md").read_text()
    answers: dict[str, Any] = json.loads(output.read_text())["answers"]
    return answers


@pytest.mark.parametrize("data", [ONE, TWO])
@pytest.mark.parametrize(("relation", "rate"), [("replace-one", 0.5), ("add-remove", 1.0)])
@pytest.mark.full
def test_exponential_pays_for_the_universe(
    results: dict[str, Any], data: str, relation: str, rate: float
) -> None:
    found = results[f"{data}|0.95|{relation}|exponential"]
    units = found["units"]
    assert units == sorted(units)
    slope = np.polyfit(np.array(found["exponents"]) * math.log(10), np.array(units), 1)[0]
    assert slope == pytest.approx(1 / rate, rel=0.02)
    # The least n with 1/(1 + (K - m)/m e^{-rate n}) >= 0.95, m leaders.
    leaders = 1 if data == ONE else 2
    exact = [
        math.ceil((math.log(10**e / leaders - 1) + math.log(19)) / rate) for e in found["exponents"]
    ]
    assert units == exact


@pytest.mark.full
def test_large_margin_does_not(results: dict[str, Any]) -> None:
    known = results[f"{ONE}|0.95|replace-one|large-margin, known K"]["units"]
    unknown = results[f"{ONE}|0.95|replace-one|large-margin"]["units"]
    assert len(set(unknown)) == 1
    assert known[1:] == unknown[1:]  # K = 10^40 and more
    assert known[0] < unknown[0]  # K = 100: the last stage is enough
    for name in ("tight-margin", "limited-domain"):
        assert max(results[f"{ONE}|0.95|replace-one|{name}"]["units"]) < unknown[0] / 5


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.full
def test_distance_needs_a_single_leader(results: dict[str, Any], relation: str) -> None:
    one, two = (results[f"{data}|0.95|{relation}|distance"] for data in (ONE, TWO))
    assert None not in one["units"]
    assert set(two["units"]) == {None}
    assert two["success with most units"] <= 1e-6  # δ
    assert all(n is not None for n in results[f"{TWO}|0.95|replace-one|large-margin"]["units"])


@pytest.mark.full
def test_no_success_is_above_the_lower_bound(results: dict[str, Any]) -> None:
    checked = 0
    for key, found in results.items():
        kind, ell, *_ = key.split("|")
        if kind == "margin":
            for m, success in zip(found["units"], found["success"], strict=True):
                assert success <= examples.with_margin(int(ell), m) * (1 + 1e-9)
                checked += 1
            assert found["half"] >= math.log((int(ell) - 1) / 2)
    assert checked > 300


def test_a_mechanism_that_is_too_good_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exponential mechanism with ten times the ε breaks both bounds."""
    monkeypatch.setattr(examples, "mechanism", lambda *_: Exponential(10.0))
    with pytest.raises(ValueError, match="above the bound"):
        examples.contest("exponential", 100)
    with pytest.raises(ValueError, match="above the bound"):
        examples.needs("exponential", "replace-one", 1, 0.5, [10])
