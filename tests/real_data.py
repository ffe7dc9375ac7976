"""Real data sets, which are not part of the project: datasets/README.md says which, and where to
get them.

The folder that holds them is named by the environment variable FIM_DATA. A test that wants one is
marked ``full``, so that it is not among those of `make test`, and is skipped where the data is
absent.
"""

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
CORNER_SHOP = REPOSITORY / "datasets" / "corner_shop.parquet"


def real_data(name: str) -> Path:
    """The path of a real data file, such as ``retail.dat``; skips the calling test where there is
    none.
    """
    if not (named := os.environ.get("FIM_DATA")):
        pytest.skip("no real data: FIM_DATA is not set")
    folder = Path(named).resolve()
    assert folder.is_dir(), "FIM_DATA names no folder"
    if not (folder / name).is_file():
        pytest.skip(f"no real data: FIM_DATA holds no {name}")
    return folder / name
