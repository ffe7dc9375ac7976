"""The study of growth: data sets made of others, and what is said of the curves."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import transactions
from benchmarks.utility import growth
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


def test_halved_baskets_are_random_parts(tmp_path: Path) -> None:
    found = made(tmp_path, Fraction(1), Fraction(1, 2))
    assert sorted(map(len, found)) == sorted(-(-len(basket) // 2) for basket in BASKETS)
    assert all(any(set(half) <= set(basket) for basket in BASKETS) for half in found)
    assert any(half[0] % 10 for half in found)  # not the first items alone


def results(rates: dict[str, list[float]]) -> dict[str, Any]:
    answers = {}
    for what, grid in growth.FACTORS.items():
        for entry in growth.ENTRIES:
            for factor, rate in zip(grid, rates[entry], strict=False):
                rows = [{"k": k, "fnr": rate} for k in (10, 100)]
                answer = {"baskets": int(1600 * factor), "length": float(10 * factor), "rows": rows}
                answers[f"shop/{what}/{float(factor)}/{entry}"] = answer
    return {"answers": answers}


def test_sections_say_who_needs_how_much() -> None:
    ours, told, histogram = growth.ENTRIES
    falling = [0.9, 0.5, 0.3, 0.09, 0.05, 0.02, 0.0]
    found = results({ours: falling, told: [0.0] * 7, histogram: [1.0] * 7})
    more, longer = growth.sections(found)
    assert f"shop, k = 10: {ours} 800, {told} 100, {histogram} more than these" in more.reading
    assert f"misses less than {told} at 0, as much at 2 and more at 12" in more.reading
    assert f"less than {histogram} at 14, as much at 0 and more at 0" in more.reading
    (table,) = more.tables
    assert table.rows[0] == ("shop", 10, ours, *falling, "1 of 7")
    assert [row[:3] for row in table.rows] == [("shop", k, entry) for k in (10, 100) for entry in growth.ENTRIES]
    assert "2 or 4 baskets" in longer.reading
    (none,) = growth.sections({"answers": {}})
    assert "No data set was found" in none.reading


def test_the_figure_has_a_panel_for_each() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure(layout="constrained")
    rates = dict.fromkeys(growth.ENTRIES, [0.5] * 7)
    growth.paint(figure, results(rates))
    assert [panel.get_xlabel() for panel in figure.axes] == ["baskets", "mean length of a basket"]
    assert [len(panel.lines) for panel in figure.axes] == [6, 6]
