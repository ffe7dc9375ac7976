"""The generator of large baskets: sizes, shapes, and the same file from the same seed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from real_data import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "scripts"))
import make_quest


def made(output: Path, *options: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lengths of the baskets, and in how many each item is, descending."""
    make_quest.main([str(output), *options])
    lists = pq.read_table(output)["items"].combine_chunks()
    lengths, items = np.diff(lists.offsets.to_numpy()), lists.flatten().to_numpy()
    basket = np.repeat(np.arange(len(lengths)), lengths)
    inside = np.diff(basket) == 0
    assert (np.diff(items)[inside] > 0).all()  # distinct, ascending
    supports = np.bincount(items)
    return lengths, np.sort(supports[supports > 0])[::-1]


def test_quest_is_like_t10i4d100k(tmp_path: Path) -> None:
    lengths, supports = made(tmp_path / "quest.parquet", "--baskets", "30000")
    assert len(lengths) == 30_000
    assert 9.5 < lengths.mean() < 10.7  # 10.1
    assert 1 <= lengths.min() <= 2
    assert 22 < lengths.max() < 40  # 29
    assert 750 < len(supports) < 950  # 870
    assert 0.05 < supports[0] / 30_000 < 0.2  # 0.078
    assert supports[len(supports) // 2] / 30_000 < 0.02  # 0.008


def test_heavy_tail_is_like_kosarak(tmp_path: Path) -> None:
    lengths, supports = made(tmp_path / "clicks.parquet", "--heavy-tail", "--baskets", "60000")
    assert len(lengths) == 60_000
    assert 7.6 < lengths.mean() < 8.6  # 8.1
    assert np.median(lengths) == 3
    assert 500 < lengths.max() <= 2_500
    assert 0.55 < supports[0] / 60_000 < 0.68
    assert len(supports) > 10_000


@pytest.mark.parametrize("form", [[], ["--heavy-tail"], ["--dense"]])
@pytest.mark.one_in(3)
def test_same_seed_same_file(tmp_path: Path, form: list[str]) -> None:
    names = {"one": "7", "two": "7", "three": "8"}
    for name, seed in names.items():
        make_quest.main([str(tmp_path / name), "--baskets", "500", "--seed", seed, *form])
    one, two, three = ((tmp_path / name).read_bytes() for name in names)
    assert one == two != three
