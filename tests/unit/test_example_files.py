"""The small files that the README's commands read come from the corner shop."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from real_data import REPOSITORY

FILES = ("sales.csv.gz", "catalogue.csv", "pairs.csv")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    script = REPOSITORY / "scripts" / "make_examples.py"
    subprocess.run(
        [sys.executable, str(script), "--output", str(folder)], check=True, capture_output=True
    )
    return folder


@pytest.mark.parametrize("name", FILES)
def test_they_are_what_the_script_makes(name: str, made: Path) -> None:
    shipped, again = ((folder / name).read_bytes() for folder in (REPOSITORY / "datasets", made))
    if name.endswith("gz"):  # which bytes hold it depends on the version of zlib
        shipped, again = gzip.decompress(shipped), gzip.decompress(again)
    assert shipped == again
