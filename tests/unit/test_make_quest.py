"""The generator of large baskets: the same file from the same seed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from real_data import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "scripts"))
import make_quest


@pytest.mark.parametrize("form", [[], ["--heavy-tail"], ["--dense"]])
@pytest.mark.one_in(3)
def test_same_seed_same_file(tmp_path: Path, form: list[str]) -> None:
    names = {"one": "7", "two": "7", "three": "8"}
    for name, seed in names.items():
        make_quest.main([str(tmp_path / name), "--baskets", "500", "--seed", seed, *form])
    one, two, three = ((tmp_path / name).read_bytes() for name in names)
    assert one == two != three
