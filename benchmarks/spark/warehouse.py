"""Counting in a database: what one release costs in DuckDB, beside the local kernel and Spark on
the same machine.

The same generated baskets for all, in a Parquet file with a column of lists; each release in a
process of its own, one at a time, as the command line makes it. Under one seed all have to release
the same. The ways take turns, so that what else runs on the machine slows all of them.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.frame.output_files import DEFAULT_OUTPUT, ROOT
from benchmarks.frame.study import Options, Results, Section, Study, Task, main
from benchmarks.frame.tables import Table
from benchmarks.spark.generated_baskets import basket_file
from benchmarks.spark.watched_process import TOGETHER, Watch
from benchmarks.spark.ways import WAYS as OF_SPARK

# How often each way takes its turn, by the baskets.
TURNS = {10**5: 5, 10**6: 5, 10**7: 1}
# Python keeps compiled modules here, as it does beside those that are installed.
_COMPILED = DEFAULT_OUTPUT / "compiled"
LOCAL, DUCKDB, SMALL, SPARK = "local kernel", "DuckDB", "DuckDB in 2 GB", "Spark, local[2]"
SELF_JOIN = "DuckDB's own self-join"
# What a person would write without this program: the true support of every pair.
_ALL_PAIRS = """
import duckdb, sys
duckdb.sql(
    "create temp table purchases as select row_number() over () as basket, unnest(items) as item "
    f"from read_parquet('{sys.argv[1]}')"
)
print(duckdb.sql(
    "select count(*) from (select a.item, b.item, count(*) from purchases a join purchases b "
    "on a.basket = b.basket and a.item < b.item group by all)"
).fetchall())
"""
_SETTINGS = OF_SPARK[SPARK].settings or {}
WAYS: dict[str, list[str]] = {
    LOCAL: [],
    DUCKDB: ["--engine", "sql"],
    SMALL: ["--engine", "sql", "--max-memory", "2GB"],
    SPARK: [
        "--engine",
        "spark",
        *(f"--spark-conf={name}={value}" for name, value in _SETTINGS.items()),
    ],
}
_ASKED = [
    "--size",
    "2",
    "--top",
    "50",
    "--epsilon",
    "1",
    "--delta",
    "1e-6",
    "--seed",
    "1",
    "--json",
    "--quiet",
]


def tasks(options: Options) -> tuple[list[Task], list[str]]:
    """Return the releases; no data set can be missing. A data set's name is its baskets."""
    turns = {size: count for size, count in TURNS.items() if options.takes(str(size))}
    ways = (*WAYS, SELF_JOIN)
    if options.quick:
        turns, ways = {2000: 1}, (LOCAL, SMALL)
    return [
        Task(f"{way}|{size}|{turn}", measured, {"way": way, "baskets": size, "seed": options.seed})
        for size, count in turns.items()
        for turn in range(count)
        for way in ways
    ], []


def measured(way: str, baskets: int, seed: int) -> dict[str, Any]:
    """Return the seconds of one release, also of the CPU, the peaks of memory and of files beside
    the source, in bytes, and the release. The self-join counts all pairs, and releases nothing.

    Raises RuntimeError for one that fails.
    """
    path = basket_file(baskets, seed)
    with (
        tempfile.TemporaryDirectory() as folder,
        Path(folder, "said").open("w+", encoding="utf-8") as said,
    ):
        logs = Path(folder, "log")
        logs.mkdir()
        of_spark = (
            {"spark.eventLog.dir": logs.as_uri(), "spark.local.dir": folder} if way == SPARK else {}
        )
        command = [sys.executable, "-c", _ALL_PAIRS, str(path)]
        if way != SELF_JOIN:
            conf = [f"--spark-conf={name}={value}" for name, value in of_spark.items()]
            mine = [sys.executable, "-m", "fim_private", "mine", str(path)]
            command = [*mine, *_ASKED, *WAYS[way], *conf]
        environment = os.environ | {"PYTHONPYCACHEPREFIX": str(_COMPILED)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        start, used = time.perf_counter(), _cpu_of_children()
        with Path(folder, "release").open("w+", encoding="utf-8") as release:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment | {"TMPDIR": folder},
                stdin=subprocess.DEVNULL,
                stdout=release,
                stderr=said,
            )
            watch, disk = Watch(process.pid), 0
            while process.poll() is None:
                watch.look()
                disk = max(disk, _size(Path(folder)))
                time.sleep(0.2)
            took = time.perf_counter() - start
            release.seek(0)
            text = release.read()
        said.seek(0)
        if process.returncode != 0:
            raise RuntimeError(
                f"{way} ended with exit code {process.returncode}: {said.read()[-500:]}"
            )
        itemsets = [] if way == SELF_JOIN else json.loads(text)["itemsets"]
        return {
            "seconds": took,
            "cpu": _cpu_of_children() - used,
            "memory": watch.found()[TOGETHER],
            "disk": disk,
            "itemsets": itemsets,
        }


def _cpu_of_children() -> float:
    """Return the CPU seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _size(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:  # it was deleted meanwhile
            continue
    return total


def sections(results: Results) -> tuple[Section, ...]:
    """Return the seconds, memory and disk of each way, and whether all released the same."""
    turns: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for key, answer in results["answers"].items():
        way, size, _ = key.split("|")
        turns.setdefault((way, int(size)), []).append(answer)
    rows, different = [], set()
    for (way, size), answers in turns.items():
        local = turns[LOCAL, size]
        released = [answer["itemsets"] for answer in answers if way != SELF_JOIN]
        if any(itemsets != local[0]["itemsets"] for itemsets in released):
            different.add(f"{size:,}")
        seconds = _median(answers, "seconds"), _ratio(answers, local, "seconds")
        cpu = _median(answers, "cpu"), _ratio(answers, turns.get((SELF_JOIN, size), []), "cpu")
        if way == SPARK:  # its JVM is no child of this process
            cpu = None, None
        peaks = (max(answer[name] for answer in answers) / 1e6 for name in ("memory", "disk"))
        rows.append((way, size, *seconds, *cpu, *peaks))
    times = [f"{len(turns[key])} with {key[1]:,} baskets" for key in turns if key[0] == LOCAL]
    same = "All release the same"
    if different:
        same = f"They do NOT release the same at {', '.join(sorted(different))} baskets"
    reading = (
        "Each makes one release of 50 pairs of generated baskets (16,000 items, about 8 in a "
        f"basket), with supports, by the default mechanism. {same}. Seconds are those of the whole "
        "command, CPU seconds those of all its threads (Spark's were not measured), both from the "
        f"start of Python on. The ways took turns, {', '.join(times)}: seconds, and ratios within "
        "a turn, are medians. Memory is the peak of all its processes. Disk is the peak of what it "
        "writes beside the source: what does not fit in memory. All have the same two cores, and "
        "Spark has 3 GB for its JVM. The last row of a size is no release: DuckDB joins the "
        "baskets with themselves and counts every pair, which is what one would write by hand. Use "
        "the local kernel as long as its memory is enough. DuckDB gives the same from a small "
        "memory and a disk, and your own database where rows may not leave it."
    )
    ratios = ("times the local kernel", "times the CPU of the self-join")
    columns = ("way", "baskets", "seconds", ratios[0], "CPU seconds", ratios[1])
    table = Table((*columns, "memory (MB)", "disk (MB)"), tuple(rows))
    return (Section("Seconds, memory and disk", reading, tables=(table,)),)


def _median(answers: Sequence[dict[str, float]], name: str) -> float | None:
    return statistics.median(answer[name] for answer in answers)


def _ratio(
    answers: Sequence[dict[str, float]], others: Sequence[dict[str, float]], name: str
) -> float | None:
    """Return the median of the ratios of each turn; None if the others took none."""
    if not others:
        return None
    pairs = zip(answers, others, strict=False)  # of an interrupted run
    return statistics.median(answer[name] / other[name] for answer, other in pairs)


QUESTION = "Counting in a database: what does a release cost beside one machine and Spark?"
STUDY = Study("warehouse", "benchmarks.spark.warehouse", QUESTION, tasks, sections, workers=1)

if __name__ == "__main__":
    main(STUDY)
