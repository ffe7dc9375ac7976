"""Counting in a database: what one release costs in DuckDB, beside the local kernel and Spark on
the same machine.

The same generated baskets for all, in a Parquet file with a column of lists; each release in a
process of its own, one at a time, as the command line makes it. Under one seed all have to release
the same.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.frame.output_files import ROOT
from benchmarks.frame.study import Options, Results, Section, Study, Task, main
from benchmarks.frame.tables import Table
from benchmarks.spark.generated_baskets import basket_file
from benchmarks.spark.watched_process import TOGETHER, Watch
from benchmarks.spark.ways import WAYS as OF_SPARK

SIZES = (10**5, 10**6, 10**7)
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
    sizes = [2000] if options.quick else [size for size in SIZES if options.takes(str(size))]
    ways = (LOCAL, SMALL) if options.quick else (*WAYS, SELF_JOIN)
    given = {"seed": options.seed}
    return [
        Task(f"{way}|{size}", measured, {"way": way, "baskets": size, **given})
        for size in sizes
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
        start, used = time.perf_counter(), _cpu_of_children()
        with Path(folder, "release").open("w+", encoding="utf-8") as release:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | {"TMPDIR": folder},
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
    measured_ways = {tuple(key.split("|")): answer for key, answer in results["answers"].items()}
    rows, different = [], set()
    for (way, size), answer in measured_ways.items():
        local = measured_ways[LOCAL, size]
        if way != SELF_JOIN and answer["itemsets"] != local["itemsets"]:
            different.add(size)
        ratio = answer["seconds"] / local["seconds"]
        cpu = None if way == SPARK else answer["cpu"]  # its JVM is no child of this process
        costs = (answer["seconds"], ratio, cpu)
        rows.append((way, int(size), *costs, answer["memory"] / 1e6, answer["disk"] / 1e6))
    same = "All release the same"
    if different:
        same = f"They do NOT release the same at {', '.join(sorted(different))} baskets"
    reading = (
        "Each makes one release of 50 pairs of generated baskets (16,000 items, about 8 in a "
        f"basket), with supports, by the default mechanism. {same}. Seconds are those of the "
        "whole command, CPU seconds those of all its threads (Spark's were not measured). "
        "Memory is the peak of all its processes. Disk is the peak of what it writes beside the"
        " source: what does not fit in memory. All have the same two cores, and Spark has 3 GB "
        "for its JVM. The last row of a size is no release: DuckDB joins the baskets with "
        "themselves and counts every pair, which is what one would write by hand. Use the local"
        " kernel as long as its memory is enough. DuckDB gives the same from a small memory and"
        " a disk, and your own database where rows may not leave it."
    )
    measures = ("seconds", "times the local kernel", "CPU seconds", "memory (MB)", "disk (MB)")
    table = Table(("way", "baskets", *measures), tuple(rows))
    return (Section("Seconds, memory and disk", reading, tables=(table,)),)


QUESTION = "Counting in a database: what does a release cost beside one machine and Spark?"
STUDY = Study("warehouse", "benchmarks.spark.warehouse", QUESTION, tasks, sections, workers=1)

if __name__ == "__main__":
    main(STUDY)
