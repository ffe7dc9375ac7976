"""Whole processes, from start to answer: our command, the same run with PyFIM, and what neither can go below."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.counting.datasets import Dataset
from benchmarks.counting.head_to_head import spread, support_of_nth
from benchmarks.counting.peer_counters import ALL, OURS, TOP, Request
from benchmarks.counting.process_timing import Measured, run_once
from benchmarks.counting.worker_client import LOADING_SECONDS, Limits, Worker

FIM_PRIVATE = Path(sys.executable).with_name("fim-private")
START = "import numpy, pyarrow.parquet"
# The most frequent pair, with its support given for nothing.
PYFIM = """
import sys, pyarrow.parquet, fim
baskets = pyarrow.parquet.read_table(sys.argv[1], columns=["items"])["items"].to_pylist()
pairs = fim.eclat(baskets, supp=-int(sys.argv[2]), zmin=2, zmax=2, report="a")
print(max(pairs, key=lambda pair: pair[1]))
"""


def mine(path: Path, size: int) -> list[str | Path]:
    """Return our command."""
    return [FIM_PRIVATE, "mine", path, "--size", str(size)]


def comparisons(datasets: Sequence[Dataset], limits: Limits) -> Iterator[dict[str, Any]]:
    """Yield for each file (with a column of lists) the commands and their figures; commands take turns."""
    for dataset in datasets:
        if dataset.columns:
            continue
        commands: dict[str, list[str | Path]] = {
            f"{OURS} mine FILE --size 2": mine(dataset.path, 2),
            f'python -c "{START}"': [sys.executable, "-c", START],
        }
        if importlib.util.find_spec("fim") is not None:
            support = str(support_of_nth(dataset, 2, 1, limits))
            commands["python, PyFIM eclat, threshold given"] = [sys.executable, "-c", PYFIM, dataset.path, support]
        done: dict[str, list[Measured]] = {name: [] for name in commands}
        for run in range(limits.runs + 1):
            for name, command in commands.items():
                measured = run_once(command)
                if run:  # the first is for the file cache
                    done[name].append(measured)
        yield {"dataset": dataset.name, "commands": {name: _figures(runs) for name, runs in done.items()}}


def growth(datasets: Sequence[Dataset], sizes: Sequence[int], wanted: int, limits: Limits) -> list[dict[str, Any]]:
    """Return how our time and memory grow with the baskets: whole processes, and counts in memory."""
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for dataset in datasets:
        for size in sizes:
            counts = _counts(dataset, size, wanted, limits)
            rows[dataset.name, size] = {"dataset": dataset.name, "size": size, **counts}
    done: dict[tuple[str, int], list[Measured]] = {key: [] for key in rows}
    for _ in range(limits.runs):
        for dataset in datasets:
            for size in sizes:
                done[dataset.name, size].append(run_once(mine(dataset.path, size)))
    return [{**row, "process": _figures(done[key])} for key, row in rows.items()]


def _counts(dataset: Dataset, size: int, wanted: int, limits: Limits) -> dict[str, Any]:
    result: dict[str, Any] = {}
    worker = Worker(OURS, dataset, (), limits)
    try:
        loaded = worker.answer(LOADING_SECONDS)
        if loaded["status"] != "ok":
            raise SystemExit(f"{dataset.name} cannot be read: {loaded['status']}")
        result["baskets"], result["entries"] = loaded["baskets"], loaded["entries"]
        for name, request in ((TOP, Request(size, TOP, wanted=wanted)), (ALL, Request(size, ALL))):
            answers = [worker.ask(request, 10 * limits.seconds) for _ in range(limits.runs)]
            status = next((answer["status"] for answer in answers if answer["status"] != "ok"), "ok")
            result[name] = {"status": status}
            if status == "ok":
                for figure in ("seconds", "memory"):
                    result[name][figure] = spread([answer[figure] for answer in answers])
    finally:
        worker.close()
    return result


def _figures(runs: Sequence[Measured]) -> dict[str, Any]:
    return {"seconds": spread([run.seconds for run in runs]), "peak": spread([run.peak for run in runs])}
