"""Real data sets, which are not part of the project: a test that wants one is skipped where they are absent."""

from __future__ import annotations

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDER = REPOSITORY.parent / "shared" / "data"


def real_data(name: str) -> Path:
    """The path of a real data file, such as ``retail.dat``; skips the calling test where there is none."""
    if not FOLDER.is_dir():
        pytest.skip("real data folder ../shared/data is absent")
    if not (FOLDER / name).is_file():
        pytest.skip(f"real data file ../shared/data/{name} is absent")
    return FOLDER / name
