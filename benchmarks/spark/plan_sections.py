"""The cost model beside what was measured, and what it says of more baskets and more cores."""

from __future__ import annotations

from typing import Any

from benchmarks.frame.study import Results, Section
from benchmarks.frame.tables import Cell, Table
from benchmarks.spark.cost_model import Cost, Data, cost
from benchmarks.spark.event_log import READ_KEPT, READ_SOURCE, SHUFFLED
from benchmarks.spark.figure import by_way, done
from benchmarks.spark.generated_baskets import ITEMS, entries_among, items_among
from benchmarks.spark.lines import through_largest
from benchmarks.spark.watched_process import WORKER
from benchmarks.spark.ways import CLUSTER, LOCAL_SPARK

# Cores here, and of the clusters that are planned for.
CORES, CLUSTERS = 2, (10, 100, 1000)
# Bytes of a file for a task, where Spark is told so.
SMALLER = 16 << 20
PLANNED = (10**8, 10**9, 10**10)


def data_of(baskets: int, found: dict[str, Any]) -> Data:
    """Return what the model has to know, with the rounds and the file of a count that was measured."""
    rounds = tuple(entries_among(high) for high, _ in found["rounds"])
    return Data(baskets, entries_among(ITEMS), items_among(baskets), found["file"], rounds)


def model_section(results: Results) -> Section:
    """Return the model's predictions beside what was measured."""
    rows: list[tuple[Cell, ...]] = []
    ratios = []
    for way in (LOCAL_SPARK, CLUSTER):
        for baskets, found in done(by_way(results).get(way, {})).items():
            expected = cost(data_of(baskets, found), CORES)
            log = found["log"]
            pairs = (
                ("bytes read of the source", expected.source, log[READ_SOURCE]),
                ("bytes read of what is kept", expected.of_kept, log[READ_KEPT]),
                ("bytes shuffled", expected.shuffled, log[SHUFFLED]),
                ("memory of the largest task", expected.task, found["peaks"].get(WORKER, 0)),
            )
            for name, predicted, measured in pairs:
                ratio = predicted / measured if measured else None
                rows.append((way, baskets, name, predicted / 1e6, measured / 1e6, ratio))
                ratios += [] if ratio is None else [ratio]
    reading = "No count on Spark came to an end."
    if ratios:
        reading = (
            "The model (`benchmarks/spark/cost_model.py`) is a function of the baskets, their mean length, the items, "
            "the bytes of the source and the cores, and knows how many items each round counts among. Its constants "
            "were set at 10^5 baskets, those of a task's memory with 10^6 in view; what is larger checks them. What it "
            "predicts is "
            f"{min(ratios):.2f} to {max(ratios):.2f} times what was measured."
        )
    columns = ("way", "baskets", "what", "predicted (MB)", "measured (MB)", "predicted / measured")
    return Section("The cost model beside what was measured", reading, tables=(Table(columns, tuple(rows)),))


def plan_section(results: Results) -> Section:
    """Return what the model says of up to 10^10 baskets."""
    ended = done(by_way(results).get(LOCAL_SPARK, {}))
    if not ended:
        return Section("Planned: up to 10^10 baskets", "No count on Spark came to an end.")
    largest = max(ended)
    line = through_largest({baskets: one["seconds"] for baskets, one in ended.items()})
    rows = []
    for baskets in PLANNED:
        for cores in CLUSTERS:
            data = _scaled(data_of(largest, ended[largest]), baskets)
            expected, smaller = cost(data, cores), cost(data, cores, SMALLER)
            hours = None if line is None else CORES * line.slope * baskets / 3600
            seconds = None if line is None else line.start + CORES * line.slope * baskets / min(cores, expected.tasks)
            rows.append((baskets, cores, *_row(expected), smaller.task / 1e6, hours, seconds))
    reading = (
        f"The model, with the rounds that {largest:,} baskets took, and the time for each basket of local[2], as if "
        "all cores were as fast as these two, each task had a core and the network kept up: what stands here is "
        "extrapolated, and nobody has run it. Bytes grow with the baskets, and per basket no further than to what it "
        "takes when each of its items is in a shard of its own. A task reads 128 MB of a file "
        "unless spark.sql.files.maxPartitionBytes says less, which is what decides its memory: with 16 MB there are "
        "more tasks, and each takes less."
    )
    columns = (
        "baskets", "cores of all executors", "tasks that read", "passes", "read of the source (GB)", "kept (GB)",
        "shuffled (GB)", "memory of a task (MB)", "memory with parts of 16 MB (MB)", "core hours", "seconds",
    )  # fmt: skip
    return Section("Planned: up to 10^10 baskets", reading, tables=(Table(columns, tuple(rows)),))


def _scaled(data: Data, baskets: int) -> Data:
    return Data(baskets, data.length, data.items, data.file / data.baskets * baskets, data.rounds)


def _row(expected: Cost) -> tuple[Cell, ...]:
    volumes = (expected.source / 1e9, expected.kept / 1e9, expected.shuffled / 1e9)
    return expected.tasks, expected.passes, *volumes, expected.task / 1e6
