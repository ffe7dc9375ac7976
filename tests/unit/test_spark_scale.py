"""The study of counting on Spark, without Spark: its data, its model of the cost, its lines, what it reads of a log."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.frame.study import Options
from benchmarks.spark import event_log, scale
from benchmarks.spark.cost_model import Data, cost, shards
from benchmarks.spark.generated_baskets import (
    ITEMS,
    basket_file,
    entries_among,
    expected_support,
    items_among,
    part,
)
from benchmarks.spark.lines import Line, crossing, through_largest
from benchmarks.spark.watched_process import DRIVER, Watch
from benchmarks.spark.ways import first
from fim_private.spark.purchases import MOST_ENTRIES

DATA = Data(10**6, 8.0, 16_000, 16e6, (3.0, 6.0))


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


def test_lines_and_where_they_cross() -> None:
    assert through_largest({10: 3.0}) is None
    assert through_largest({1: 100.0, 10: 3.0, 20: 5.0}) == Line(1.0, 0.2)
    assert crossing(Line(40.0, 0.1), Line(1.0, 0.2)) == pytest.approx(390)
    assert crossing(Line(40.0, 0.2), Line(1.0, 0.1)) is None
    assert Line(1.0, 0.2).at(10) == pytest.approx(3.0)


def test_the_cost_grows_with_the_baskets_and_not_with_the_cores() -> None:
    one = cost(DATA, 2)
    assert (one.source, one.passes, one.tasks) == (32e6, 6, 2)
    more = cost(replace(DATA, baskets=10**10, file=16e10), 1000)
    assert more.kept == 10**4 * one.kept
    assert 1 <= more.shuffled / (10**4 * one.shuffled) < 4
    assert more.tasks == math.ceil(16e10 / 2**27)
    assert more.task > one.task
    assert cost(replace(DATA, baskets=10**10, file=16e10), 10).tasks == more.tasks
    assert shards(1) == 1
    assert shards(1000 * MOST_ENTRIES) == 1000


def test_the_totals_of_a_log_end_with_the_count(tmp_path: Path) -> None:
    task = {"Input Metrics": {"Bytes Read": 5}, "Shuffle Write Metrics": {"Shuffle Bytes Written": 7}, "Result Size": 2}
    scan = {"name": "size of files read", "accumulatorId": 4}
    plan = {"metrics": [], "children": [{"metrics": [scan], "children": []}]}
    sql = "org.apache.spark.sql.execution.ui.SparkListener"
    events = [
        {"Event": f"{sql}SQLExecutionStart", "time": 1000, "sparkPlanInfo": plan},
        {"Event": f"{sql}DriverAccumUpdates", "accumUpdates": [[4, 100], [5, 1]]},
        {"Event": "SparkListenerJobStart", "Submission Time": 1000},
        {"Event": "SparkListenerTaskEnd", "Task Metrics": task},
        {"Event": "SparkListenerTaskEnd"},
        {"Event": "SparkListenerStageCompleted"},
        {"Event": "SparkListenerJobStart", "Submission Time": 3000},
        {"Event": "SparkListenerTaskEnd", "Task Metrics": task},
    ]
    (tmp_path / "app").write_text("\n".join(map(json.dumps, events)) + '\n{"Event": "Spar')
    whole, part_ = event_log.totals(tmp_path, math.inf), event_log.totals(tmp_path, 2.0)
    assert part_ == {
        "jobs": 1,
        "stages": 1,
        "tasks": 2,
        "bytes of the source": 100,
        "bytes kept": 5,
        "bytes shuffled": 7,
        "bytes to driver": 2,
        "bytes spilled": 0,
    }
    assert (whole["jobs"], whole["bytes shuffled"]) == (2, 14)
    assert set(event_log.totals(tmp_path / "none", 0.0).values()) == {0}


def test_the_first_supports_end_within_a_level() -> None:
    assert first(iter([(9, 60), (8, 60), (7, 1)])) == [9] * 60 + [8] * 40
    assert first(iter([(9, 2)])) == [9, 9]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="memory is read as Linux tells it")
def test_the_memory_of_a_process_is_watched() -> None:
    watch = Watch(os.getpid())
    assert os.getpid() in watch.look()
    assert watch.found()[DRIVER] > 10**7


def test_what_is_counted_when() -> None:
    every, missing = scale.tasks(Options())
    assert (len(every), missing) == (15, [])
    assert [task.key for task in scale.tasks(Options(quick=True))[0]] == ["local kernel|2000", "Spark, local[2]|2000"]
    assert {task.arguments["baskets"] for task in scale.tasks(Options(only=("1000000",)))[0]} == {10**6}


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
