"""The benchmarks stand in folders that import downwards, and those of reading and starting write
sensible figures.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest
from real_data import REPOSITORY

from benchmarks.page import STUDIES

# What the modules of each folder may import of the others; the page stands above them all.
MAY_IMPORT = {
    "frame": "",
    "peers": "frame",
    "utility": "frame peers",
    "paper": "frame utility",  # the table of claims reads one answer of the study of utility
    "counting": "frame",
    "spark": "frame",
    "tuning": "frame",
    "learning": "frame",
    "validation": "frame tuning",
    "page": "frame utility paper spark validation learning",
}
BENCHMARKS = REPOSITORY / "benchmarks"


def imported(path: Path) -> Iterator[str]:
    """The folders (or the page) of the benchmarks that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("benchmarks."))


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_folders_import_what_stands_below_them(folder: str) -> None:
    modules = sorted((BENCHMARKS / folder).glob("*.py")) or [BENCHMARKS / f"{folder}.py"]
    for path in modules:
        assert set(imported(path)) <= {folder, *MAY_IMPORT[folder].split()}, path.name


def test_every_folder_is_known_and_none_imports_itself_by_a_detour() -> None:
    found = {
        path.relative_to(BENCHMARKS).parts[0].removesuffix(".py")
        for path in BENCHMARKS.rglob("*.py")
    }
    assert found - {"__init__"} == set(MAY_IMPORT)
    # raises CycleError
    TopologicalSorter({folder: below.split() for folder, below in MAY_IMPORT.items()}).prepare()


def test_the_glossary_of_each_folder_names_its_modules() -> None:
    for folder in set(MAY_IMPORT) - {"page", "tuning", "validation"}:
        glossary = ast.get_docstring(
            ast.parse((BENCHMARKS / folder / "__init__.py").read_text(encoding="utf-8"))
        )
        words = set(re.findall(r"\w+", str(glossary)))
        assert {path.stem for path in (BENCHMARKS / folder).glob("*.py")} - {"__init__"} <= words, (
            folder
        )


def test_what_is_said_to_be_run_can_be_run() -> None:
    documents = ["Makefile", "README.md", "CONTRIBUTING.md", "datasets/README.md"]
    documents += [
        path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "docs").glob("*.md")
    ]
    named = {
        module
        for document in documents
        for module in re.findall(
            r"-m (benchmarks[\w.]*)", (REPOSITORY / document).read_text(encoding="utf-8")
        )
    }
    assert named >= {
        "benchmarks.page",
        "benchmarks.counting.compare",
        *(study.module for study in STUDIES),
    }
    for module in named:
        assert find_spec(module), module
    for study in STUDIES:
        assert importlib.import_module(study.module).STUDY is study
