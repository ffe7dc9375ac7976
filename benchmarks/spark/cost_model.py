"""The cost model beside what was measured, and what it says of more baskets and more cores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.frame.study import Results, Section
from benchmarks.frame.tables import Cell, Table
from benchmarks.spark.generated_baskets import ITEMS, entries_among, items_among
from benchmarks.spark.watched_process import OK, READ_KEPT, READ_SOURCE, SHUFFLED, WORKER
from benchmarks.spark.ways import CLUSTER, LOCAL_SPARK
from fim_private.spark.purchases import FEWEST_ENTRIES, MOST_ENTRIES

# What a count costs, as a function of the baskets and the cluster.

# Spark's own settings: partitions of a shuffle, and of a file the most bytes for a task, and what
# it reckons opening to cost, which is the fewest.
_PARTITIONS, PART, _OPENING = 200, 128 << 20, 4 << 20
_CODE = 4
# These were set so that they fit 10^5 baskets, the last two with 10^6 in view, too; more baskets
# check them. PACKED: bytes of a shuffled byte, once it is packed. NAME: bytes of an item's name
# that is shuffled, of each task. KEPT_NAME: of one that is kept. IDLE_WORKER: bytes of a worker
# that has nothing yet. ENTRY: of each entry of a task. SHARED: more, of those that it gives to
# shards.
PACKED = 0.6
NAME, KEPT_NAME = 30, 25
IDLE_WORKER, ENTRY, SHARED = 150 << 20, 21, 47


@dataclass(frozen=True)
class Data:
    """baskets: how many. length: items of one, on average. items: different ones. file: bytes of
    the source.

    rounds: of the counter, for each how many entries of a basket are of the items that the round
    counts.
    """

    baskets: int
    length: float
    items: float
    file: float
    rounds: tuple[float, ...]


@dataclass(frozen=True)
class Cost:
    """Bytes and passes. kept: bytes that Spark keeps. of_kept: bytes read of these. task: memory of
    the largest one.
    """

    source: float
    kept: float
    of_kept: float
    shuffled: float
    task: float
    tasks: int
    passes: int


def cost(data: Data, cores: int, most: float = PART) -> Cost:
    """Return what it costs on so many cores. most: bytes of the file for a task
    (spark.sql.files.maxPartitionBytes).
    """
    part = min(most, max(_OPENING, (data.file + _OPENING) / cores))
    tasks = math.ceil(data.file / part)
    kept = _CODE * (data.length + 1) * data.baskets
    shuffled = [
        shared_bytes(entries, shards(entries * data.baskets)) * data.baskets
        for entries in data.rounds
    ]
    # Names are grouped, and put in order; the supports of all items are added up.
    names = NAME * data.items * (tasks + 1) + 8 * data.items * tasks
    of_task = data.baskets * min(1, part / data.file)
    return Cost(
        source=2 * data.file,
        kept=kept,
        of_kept=(2 + len(data.rounds)) * kept + 2 * KEPT_NAME * data.items,
        shuffled=PACKED * sum(shuffled) + names,
        task=IDLE_WORKER + of_task * (ENTRY * data.length + SHARED * max(data.rounds)),
        tasks=tasks,
        passes=2 + 2 + len(data.rounds),
    )


def shards(entries: float) -> int:
    """Return how many shards share so many entries."""
    return max(
        math.ceil(entries / MOST_ENTRIES), min(_PARTITIONS, math.ceil(entries / FEWEST_ENTRIES)), 1
    )


def shared_bytes(length: float, parts: int) -> float:
    """Return how many bytes of a basket go to all shards together, its length being Poisson with
    that mean.

    Its items are taken to be spread evenly. A basket of l items meets d of the shards; to these go
    l·1/d, l·2/d, ..., l items, with a length each. A basket of one item has no pair.
    """
    total, chance = 0.0, math.exp(-length)
    for count in range(1, int(length + 12 * math.sqrt(length) + 12)):
        chance *= length / count
        if count >= 2:
            met = parts * -math.expm1(count * math.log1p(-1 / parts)) if parts > 1 else 1.0
            total += chance * _CODE * (count * (met + 1) / 2 + met)
    return total


# Straight lines through what was measured, and where two of them cross.


@dataclass(frozen=True)
class Line:
    """start: its value at no baskets. slope: for each basket."""

    start: float
    slope: float

    def at(self, baskets: float) -> float:
        """Return its value."""
        return self.start + self.slope * baskets


def through_largest(points: Mapping[int, float]) -> Line | None:
    """Return the line through the two points of the most baskets; None for fewer than two
    points.
    """
    if len(points) < 2:
        return None
    (low, of_low), (high, of_high) = sorted(points.items())[-2:]
    slope = (of_high - of_low) / (high - low)
    return Line(of_low - slope * low, slope)


def crossing(slow_start: Line, fast_start: Line) -> float | None:
    """Return from how many baskets on the first line is below the second; None where it never
    is.
    """
    if slow_start.slope >= fast_start.slope:
        return None
    return max(0.0, (slow_start.start - fast_start.start) / (fast_start.slope - slow_start.slope))


# Cores here, and of the clusters that are planned for.
CORES, CLUSTERS = 2, (10, 100, 1000)
# Bytes of a file for a task, where Spark is told so.
SMALLER = 16 << 20
PLANNED = (10**8, 10**9, 10**10)


def data_of(baskets: int, found: dict[str, Any]) -> Data:
    """Return what the model has to know, with the rounds and the file of a count that was
    measured.
    """
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
            "The model (`benchmarks/spark/cost_model.py`) is a function of the baskets, their mean "
            "length, the items, the bytes of the source and the cores. It also knows how many "
            "items each round counts among. Its constants were set at 10^5 baskets, those of a "
            "task's memory with 10^6 in view; what is larger checks them. Its predictions are "
            f"{min(ratios):.2f} to {max(ratios):.2f} times what was measured."
        )
    columns = ("way", "baskets", "what", "predicted (MB)", "measured (MB)", "predicted / measured")
    return Section(
        "The cost model beside what was measured", reading, tables=(Table(columns, tuple(rows)),)
    )


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
            seconds = (
                None
                if line is None
                else line.start + CORES * line.slope * baskets / min(cores, expected.tasks)
            )
            rows.append((baskets, cores, *_row(expected), smaller.task / 1e6, hours, seconds))
    reading = (
        f"This is the model, with the rounds that {largest:,} baskets took, and the time for each "
        "basket of local[2]. It is as if all cores were as fast as these two, each task had a core "
        "and the network kept up. All here is extrapolated, and nobody has run it. Bytes grow with "
        "the baskets. Per basket they grow no further than to what it takes with each of its items "
        "in a shard of its own. A task reads 128 MB of a file unless "
        "spark.sql.files.maxPartitionBytes says less. That decides its memory: with 16 MB there "
        "are more tasks, and each takes less."
    )
    columns = (
        *("baskets", "cores of all executors", "tasks that read", "passes"),
        *("read of the source (GB)", "kept (GB)", "shuffled (GB)", "memory of a task (MB)"),
        *("memory with parts of 16 MB (MB)", "core hours", "seconds"),
    )
    return Section("Planned: up to 10^10 baskets", reading, tables=(Table(columns, tuple(rows)),))


def _scaled(data: Data, baskets: int) -> Data:
    return Data(baskets, data.length, data.items, data.file / data.baskets * baskets, data.rounds)


def _row(expected: Cost) -> tuple[Cell, ...]:
    volumes = (expected.source / 1e9, expected.kept / 1e9, expected.shuffled / 1e9)
    return expected.tasks, expected.passes, *volumes, expected.task / 1e6


def by_way(results: Results) -> dict[str, dict[int, dict[str, Any]]]:
    """Return the answers of each way, by baskets."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for key, answer in results["answers"].items():
        way, _, baskets = key.rpartition("|")
        found.setdefault(way, {})[int(baskets)] = answer
    return found


def done(answers: Mapping[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return the answers of counts that came to an end."""
    return {baskets: answer for baskets, answer in answers.items() if answer["status"] == OK}
