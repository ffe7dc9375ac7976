"""What the documents say to run of the benchmarks can be run."""

from __future__ import annotations

import importlib
import re
from importlib.util import find_spec

from real_data import REPOSITORY

from benchmarks.page import STUDIES


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
