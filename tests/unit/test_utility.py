"""The study of utility: its measures, who it calls the best, and the cut that the histogram
gets.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import transactions
from benchmarks.utility import privbasis_grid, tasks
from benchmarks.utility.measures import (
    ABSTAINED,
    Releases,
    Row,
    among_best,
    certain,
    least,
    measures,
    names,
)
from benchmarks.utility.resampled import every_user

LEVELS = ((10, 1), (8, 2), (5, 4))


def measured(
    true: list[list[int]], noisy: list[list[float]], count: int, levels: Any = LEVELS
) -> Any:
    return measures(Releases(np.array(true), np.array(noisy)), levels, count, 1)


def test_measures_by_hand() -> None:
    # The second itemset may be any of the two of support 8; the second trial abstains once and
    # picks one of 0.
    found = measured([[10, 8], [0, ABSTAINED]], [[11, 8], [3, 0]], 2)
    assert (found["fnr"], found["abstained"]) == (0.5, 0.25)
    assert found["regret"] == pytest.approx(0.5)
    assert found["error_median"] == pytest.approx(0.1)  # of 0.1, 0 and 3
    assert 0 <= found["low"] <= 0.5 <= found["high"] <= 1
    assert (found["precision"], found["supported"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3))


def test_fewer_itemsets_than_k() -> None:
    picks = [[4, 3, 0, 0], [4, ABSTAINED, ABSTAINED, ABSTAINED]]
    found = measured(picks, [[4, 3, 0, 0], [4, 0, 0, 0]], 4, ((4, 1), (3, 1)))
    assert (found["fnr"], found["abstained"]) == (0.25, 0.25)
    empty = measured([[ABSTAINED]], [[0]], 1, ())
    assert (empty["fnr"], empty["regret"], empty["abstained"], empty["error_median"]) == (
        0,
        0,
        0,
        None,
    )
    assert (empty["precision"], empty["supported"]) == (None, None)


def test_precision_is_of_what_was_released() -> None:
    # Of three released one is in the top 2, and one occurs below it; any of the two of support 8
    # would be as good.
    found = measured([[8, 5], [0, ABSTAINED]], [[8, 5], [0, 0]], 2)
    assert (found["precision"], found["supported"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    # Right in all of the little that is said.
    found = measured([[10, ABSTAINED], [ABSTAINED, ABSTAINED]], [[10, 0], [0, 0]], 2)
    assert (found["fnr"], found["precision"], found["supported"]) == (0.75, 1, 1)
    # What is released where nothing occurs is wrong.
    found = measured([[0]], [[0]], 1, ())
    assert (found["precision"], found["supported"]) == (0, 0)
    exact = certain(0.6, 0.5, 0.5, 0.45)
    assert (exact["precision"], exact["supported"]) == (pytest.approx(0.8), pytest.approx(0.9))
    assert (certain(1, 1, 1, 0)["precision"], certain(1, 1, 1, 0)["supported"]) == (None, None)


def test_the_rule_of_three() -> None:
    none = measured([[10, 8]] * 50, [[10, 8]] * 50, 2)
    assert (none["fnr"], none["low"], none["high"]) == (0, 0, pytest.approx(0.03))
    every = measured([[5, 5]] * 50, [[5, 5]] * 50, 2)
    assert (every["fnr"], every["low"], every["high"]) == (1, pytest.approx(0.97), 1)
    assert certain(-1e-16, 1 + 1e-12, 0.5, 0.5)["low"] == 0


def row(
    entry: str, fnr: float, *, low: float | None = None, k: int = 10, epsilon: float = 1.0
) -> Row:
    found = {
        "trials": 100,
        "fnr": fnr,
        "low": fnr if low is None else low,
        "high": fnr,
        "regret": fnr,
    }
    found |= {"precision": 1 - fnr, "supported": 1.0}
    return Row(
        "d",
        "2",
        entry,
        epsilon,
        1e-6,
        k,
        {**found, "abstained": 0.0, "error_median": 0.1, "error_95": 0.2},
    )


def test_nearly_equal_rates_are_ties() -> None:
    rows = [
        row("a", 1e-10),
        row("b", 0.0),
        row("c", 0.004),
        row("d", 0.02, low=0.0049),
        row("e", 0.02, low=0.006),
    ]
    assert among_best(rows) == ["a", "b", "c", "d"]
    assert among_best([row("a", 1.0), row("b", 0.999)]) == []
    assert least({"a": 0.3, "b": 0.305, "c": 0.306}) == ["a", "b"]
    assert names(dict.fromkeys("abcd", 0.001) | {"e": 0.5}).startswith("4 of 5, at")


def test_measures_of_the_authors_of_privbasis_by_hand() -> None:
    # A list of three has one of the two of support 5, by lot: who releases both hits it once, who
    # releases one by half.
    true = np.array([[9, 5, 5], [9, 7, 5], [ABSTAINED] * 3])
    noisy = np.array([[18.0, 5, 5], [0, 7, 10], [0, 0, 0]])
    found = privbasis_grid.as_theirs(Releases(true, noisy), ((9, 1), (7, 1), (5, 2)), 3)
    assert found["fnr_listed"] == pytest.approx(1 - (2 + 2.5 + 0) / 9)
    # medians of 1, 0, 0 and of 1, 0, 1; nothing was released last
    assert found["error"] == pytest.approx((0 + 1) / 2)
    of_nothing = privbasis_grid.as_theirs(
        Releases(np.full((1, 2), ABSTAINED), np.zeros((1, 2))), ((9, 3),), 2
    )
    assert of_nothing == {"fnr_listed": 1.0, "error": None}
    made_up = privbasis_grid.as_theirs(Releases(np.array([[0]]), np.array([[3.0]])), ((9, 1),), 1)
    assert made_up == {"fnr_listed": 1.0, "error": 3.0}


SHOP = (("basket", "order"), ("item", "product"), ("user", "customer"), ("missing_user", "drop"))


def test_halves_hold_every_customer_once(tmp_path: Path) -> None:
    # In no order of rows, with text for numbers: "10" is before "9"; and nobody's rows are in no
    # half.
    rows = [
        ("9", 1, "a"),
        ("10", 2, "b"),
        ("", 3, "c"),
        ("11", 4, "d"),
        (None, 5, "e"),
        ("10", 6, "f"),
        ("12", 7, "g"),
    ]
    names = ("customer", "order", "product")
    pq.write_table(
        pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))), tmp_path / "shop.parquet"
    )
    shop = Source("shop", "", tmp_path / "shop.parquet", SHOP)
    for which, customers_of in enumerate((["10", "12"], ["11", "9"])):
        every_user(shop, tmp_path / f"{which}.parquet", which, 2)
        table = pq.read_table(tmp_path / f"{which}.parquet")
        assert sorted(set(table["customer"].to_pylist())) == customers_of
        assert set(table.to_pylist()[0]) == set(names)
        assert transactions(replace(shop, path=tmp_path / f"{which}.parquet")).units == 2
    assert pq.read_table(tmp_path / "0.parquet")["product"].to_pylist() == ["b", "f", "g"]


def test_peers_get_the_stream_of_picks() -> None:
    ours, theirs = (
        np.random.default_rng([2014, 1]),
        np.random.default_rng(tasks.seed_of_picks(2014)),
    )
    assert ours.random(4).tolist() == theirs.random(4).tolist()
