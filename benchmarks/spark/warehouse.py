"""Counting in a database: what one release costs in DuckDB, beside the local kernel and Spark on
the same machine.

The same generated baskets for all, in a Parquet file with a column of lists; each release in a
process of its own, one at a time, as the command line makes it. Under one seed all have to release
the same.
"""

from __future__ import annotations

import json
import os
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
    ways = (LOCAL, SMALL) if options.quick else tuple(WAYS)
    given = {"seed": options.seed}
    return [
        Task(f"{way}|{size}", measured, {"way": way, "baskets": size, **given})
        for size in sizes
        for way in ways
    ], []


def measured(way: str, baskets: int, seed: int) -> dict[str, Any]:
    """Return the seconds of one release, the peaks of memory and of files beside the source, in
    bytes, and the release.

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
        own = [f"--spark-conf={name}={value}" for name, value in of_spark.items()]
        command = [
            sys.executable,
            "-m",
            "fim_private",
            "mine",
            str(path),
            *_ASKED,
            *WAYS[way],
            *own,
        ]
        start = time.perf_counter()
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
        itemsets = json.loads(text)["itemsets"]
        return {
            "seconds": took,
            "memory": watch.found()[TOGETHER],
            "disk": disk,
            "itemsets": itemsets,
        }


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
    found = {tuple(key.split("|")): answer for key, answer in results["answers"].items()}
    rows, wrong = [], set()
    for (way, size), one in found.items():
        local = found[LOCAL, size]
        wrong |= {size} if one["itemsets"] != local["itemsets"] else set()
        ratio = one["seconds"] / local["seconds"]
        rows.append((way, int(size), one["seconds"], ratio, one["memory"] / 1e6, one["disk"] / 1e6))
    same = (
        f"They do NOT release the same at {', '.join(sorted(wrong))} baskets"
        if wrong
        else "All release the same"
    )
    reading = (
        "Each makes one release of 50 pairs of generated baskets (16,000 items, about 8 in a "
        "basket), with supports, "
        f"by the default mechanism. {same}. Seconds are those of the whole command. Memory is "
        f"the peak of all its "
        "processes. Disk is the peak of what it writes beside the source: what does not fit in "
        "memory. All have the "
        "same two cores, and Spark has 3 GB for its JVM. Use the local kernel as long as its "
        "memory is enough. DuckDB "
        "gives the same from a small memory and a disk, and your own database where rows may not "
        "leave it."
    )
    columns = ("way", "baskets", "seconds", "times the local kernel", "memory (MB)", "disk (MB)")
    return (Section("Seconds, memory and disk", reading, tables=(Table(columns, tuple(rows)),)),)


QUESTION = "Counting in a database: what does a release cost beside one machine and Spark?"
STUDY = Study("warehouse", "benchmarks.spark.warehouse", QUESTION, tasks, sections, {}, workers=1)

if __name__ == "__main__":
    main(STUDY)
