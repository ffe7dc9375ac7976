"""The study of counting on Spark, without Spark: its data, its model of the cost, its lines, what it reads of a log."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.spark import event_log, scale
from benchmarks.spark.generated_baskets import ITEMS, basket_file, entries_among, expected_support, items_among, part
from benchmarks.spark.watched_process import DRIVER


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


def test_the_sections_say_what_did_not_come_to_an_end_and_what_differs() -> None:
    log = dict.fromkeys(event_log.totals(Path("none"), 0.0), 10)

    def answer(seconds: float, supports: list[int], **more: object) -> dict[str, object]:
        found = {"status": "ok", "seconds": seconds, "file": 1, "load": 0.1, "supports": supports, "rounds": [[8, 9]]}
        return {**found, "counting": 1.0, "peaks": {DRIVER: 10**8, "largest Python worker": 10**8}, "log": log, **more}

    gone = {"status": "out of memory", "seconds": 3.0, "file": 1, "load": 0.1, "peaks": {}, "log": log}
    answers = {
        "local kernel|1000": answer(1.0, [3, 2]),
        "local kernel|9000": answer(2.0, [9]),
        "Spark, local[2]|1000": answer(40.0, [3, 2]),
        "Spark, local[2]|9000": answer(80.0, [8]),
        "DataFrame self-join, local[2]|1000": gone,
    }
    results = {"answers": answers}
    assert scale.agreed(results) == {1000: True, 9000: False}
    told = {section.title: section for section in scale.sections(results)}
    assert "NOT the same answer at 9,000 baskets" in told["Seconds"].reading
    assert "DataFrame self-join, local[2] at 1,000 baskets: out of memory" in told["Peers on Spark"].reading
    assert "none: more for each basket, up to 9,000" in str(told["Break-even"].tables)
    assert len(told["Planned: up to 10^10 baskets"].tables[0].rows) == 9
    assert all(section.reading for section in scale.sections({"answers": {}}))
