"""The study of counting on Spark: its data."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.spark.generated_baskets import ITEMS, basket_file, entries_among, expected_support, items_among, part


def test_baskets_are_those_of_their_seed_and_have_the_shape_that_is_said(tmp_path: Path) -> None:
    path = basket_file(3000, 5, tmp_path)
    assert basket_file(3000, 5, tmp_path) == path
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    baskets = pq.read_table(path)["items"].to_pylist()
    assert baskets == part(3000, 5, 0)["items"].to_pylist()
    assert baskets != part(3000, 6, 0)["items"].to_pylist()
    assert all(len(basket) == len({*basket}) for basket in baskets)
    assert np.mean([*map(len, baskets)]) == pytest.approx(entries_among(ITEMS), rel=0.03)
    assert len({item for basket in baskets for item in basket}) == pytest.approx(items_among(3000), rel=0.03)
    assert len(baskets) * expected_support(1) == pytest.approx(_most_frequent_pair(baskets), rel=0.15)
    assert 0 < expected_support(100) < expected_support(2) < expected_support(1)


def _most_frequent_pair(baskets: list[list[int]]) -> int:
    return Counter(pair for basket in baskets for pair in combinations(sorted(basket), 2)).most_common(1)[0][1]
