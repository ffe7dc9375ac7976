"""The study of growth: data sets made of others, and what is said of the curves."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import transactions
from benchmarks.utility.resampled import resampled

BASKETS = [[*range(start, start + length)] for start in range(0, 40, 10) for length in (1, 2, 3, 5, 8)] * 3


def made(folder: Path, share: Fraction, times: Fraction, seed: int = 1) -> list[tuple[int, ...]]:
    source, path = Source("shop", "", folder / "shop.dat"), folder / f"{float(share)}_{float(times)}_{seed}.parquet"
    source.path.write_text("".join(" ".join(map(str, basket)) + "\n" for basket in BASKETS))
    resampled(source, path, share, times, seed)
    data = transactions(Source(path.stem, "", path))
    codes = transactions(source).vocabulary
    labels = [codes.label(int(data.vocabulary.label(item))) for item in range(len(data.vocabulary))]
    kept = np.split(data.items, data.offsets[1:-1])
    return [tuple(int(labels[item]) for item in basket) for basket in kept]


def test_a_part_is_some_of_the_baskets(tmp_path: Path) -> None:
    found = made(tmp_path, Fraction(1, 4), Fraction(1))
    assert len(found) == 15
    left = list(map(tuple, BASKETS))
    for basket in found:
        left.remove(basket)  # raises ValueError where one is there too often
    assert made(tmp_path, Fraction(1, 4), Fraction(1), seed=2) != found


def test_more_are_drawn_with_replacement(tmp_path: Path) -> None:
    found = made(tmp_path, Fraction(2), Fraction(1))
    assert len(found) == 120
    assert set(found) <= set(map(tuple, BASKETS))
    assert sorted(found) != sorted([*map(tuple, BASKETS)] * 2)


def test_pasted_baskets_hold_what_the_parts_hold(tmp_path: Path) -> None:
    found = made(tmp_path, Fraction(1), Fraction(2))
    assert len(found) == len(BASKETS)
    pairs = {tuple(sorted({*one, *other})) for one in BASKETS for other in BASKETS}
    assert set(found) <= pairs
    assert sum(map(len, found)) > 1.3 * sum(map(len, BASKETS))
