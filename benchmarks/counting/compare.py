"""How fast are itemsets counted, in how much memory, and how do other tools do?

Prepares data (real files where there are any, others generated), lets ours and every peer that is
installed count the same in turn, compares what they found, and writes the figures as JSON, tables,
pictures and a page. The three modes: all nonzero supports; those at or above a minimum support; the
1,000 most frequent.

    python -m benchmarks.counting.compare --output build/benchmarks/counting.json [--docs docs]
    python -m benchmarks.counting.compare --read build/benchmarks/counting.json --docs docs

The whole takes some hours. --quick tries everything on little data; --datasets, --contestants,
--sizes and --modes choose. --name writes what some counted to tables of their own.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.counting.datasets import Dataset, generated_datasets, quest_dataset, real_datasets
from benchmarks.counting.head_to_head import (
    DisagreementError,
    describe,
    hold,
    spread,
    support_of_nth,
)
from benchmarks.counting.page import (
    EVERYTHING,
    SUMMARY_COLUMNS,
    losses,
    place,
    quietest,
    reading,
    summary_rows,
    titles,
    write_tables,
)
from benchmarks.counting.peer_counters import ALL, CONTESTANTS, MODES, OURS, THRESHOLD, TOP, Request
from benchmarks.counting.process_timing import Measured, run_once
from benchmarks.counting.worker_client import LOADING_SECONDS, Limits, Worker
from benchmarks.frame.command_line import DATA_HELP, DEFAULT_DATA, OneLineParser, command_line
from benchmarks.frame.figures import draw_figures
from benchmarks.frame.output_files import DEFAULT_OUTPUT, machine, write_json
from benchmarks.frame.published import fill_page

# Whole commands, from start to answer.

FIM_PRIVATE = Path(sys.executable).with_name("fim-private")
START = "import numpy, pyarrow.parquet"
# The most frequent pair, with its support given for nothing.
PYFIM = """
import sys, pyarrow.parquet, fim
baskets = pyarrow.parquet.read_table(sys.argv[1], columns=["items"])["items"].to_pylist()
pairs = fim.eclat(baskets, supp=-int(sys.argv[2]), zmin=2, zmax=2, report="a")
print(max(pairs, key=lambda pair: pair[1]))
"""


ALONE = ("--top", "1", "--no-supports")


def mine(path: Path, size: int) -> list[str | Path]:
    """Return our command for the most frequent itemset, whose support PyFIM is given."""
    return [FIM_PRIVATE, "mine", path, "--size", str(size), *ALONE]


def comparisons(datasets: Sequence[Dataset], limits: Limits) -> Iterator[dict[str, Any]]:
    """Yield for each file (with a column of lists) the commands and their figures; commands take
    turns.
    """
    for dataset in datasets:
        if dataset.columns:
            continue
        commands: dict[str, list[str | Path]] = {
            f"{OURS} mine FILE --size 2 {' '.join(ALONE)}": mine(dataset.path, 2),
            f'python -c "{START}"': [sys.executable, "-c", START],
        }
        if importlib.util.find_spec("fim") is not None:
            support = str(support_of_nth(dataset, 2, 1, limits))
            commands["python, PyFIM eclat, threshold given"] = [
                sys.executable,
                "-c",
                PYFIM,
                dataset.path,
                support,
            ]
        done: dict[str, list[Measured]] = {name: [] for name in commands}
        for run in range(limits.runs + 1):
            for name, command in commands.items():
                measured = run_once(command)
                if run:  # the first is for the file cache
                    done[name].append(measured)
        yield {
            "dataset": dataset.name,
            "commands": {name: _figures(runs) for name, runs in done.items()},
        }


def growth(
    datasets: Sequence[Dataset], sizes: Sequence[int], wanted: int, limits: Limits
) -> list[dict[str, Any]]:
    """Return how our time and memory grow with the baskets: whole processes, and counts in
    memory.
    """
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
            status = next(
                (answer["status"] for answer in answers if answer["status"] != "ok"), "ok"
            )
            result[name] = {"status": status}
            if status == "ok":
                for figure in ("seconds", "memory"):
                    result[name][figure] = spread([answer[figure] for answer in answers])
    finally:
        worker.close()
    return result


def _figures(runs: Sequence[Measured]) -> dict[str, Any]:
    return {
        "seconds": spread([run.seconds for run in runs]),
        "peak": spread([run.peak for run in runs]),
    }


GROWTH = (100_000, 1_000_000)
LARGE = 10_000_000
QUICK_BASKETS = (2_000, 4_000)
QUICK_CONTESTANTS = (OURS, f"{OURS}, numpy", "PyFIM eclat", "scipy XᵀX")
PEERS = (
    "pyfim",
    "mlxtend",
    "efficient-apriori",
    "rusket",
    "fastapriori",
    "scipy",
    "polars",
    "duckdb",
    "fim-private",
    "numpy",
    "pyarrow",
)
MODULE = "benchmarks.counting.compare"
PROGRESS = Console(stderr=True, highlight=False)


def numbers(text: str) -> list[int]:
    """Read numbers with commas between them."""
    found = [int(part) for part in text.split(",")]
    if min(found) < 1:
        raise ValueError(text)
    return found


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = OneLineParser(MODULE, str(__doc__))
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help=DATA_HELP)
    parser.add_argument(
        "--cache", type=Path, default=DEFAULT_OUTPUT, help="folder of generated data"
    )
    parser.add_argument(
        "--output", type=Path, help="JSON to write; default: counting.json in the cache"
    )
    parser.add_argument(
        "--docs", type=Path, help="folder of the page to write, of its figures and tables"
    )
    parser.add_argument("--read", type=Path, help="run nothing: make figure and page of this JSON")
    parser.add_argument(
        "--name",
        default=EVERYTHING,
        help=(
            "with what the files of tables begin (default: %(default)s); another name is for some "
            "contestants, of whom only counts are timed, and the least times are shown"
        ),
    )
    parser.add_argument("--runs", type=int, default=5, help="repetitions (default: %(default)s)")
    parser.add_argument(
        "--timeout", type=float, default=60, help="seconds for one count (default: %(default)s)"
    )
    parser.add_argument(
        "--memory",
        type=float,
        default=12,
        help="GB of address space of one (default: %(default)s)",
    )
    parser.add_argument(
        "--top", type=int, default=1000, help="most frequent itemsets (default: %(default)s)"
    )
    parser.add_argument(
        "--sizes", type=numbers, default=[2, 3, 4], help="items per itemset (default: 2,3,4)"
    )
    parser.add_argument("--modes", help=f"some of {','.join(MODES)}")
    parser.add_argument("--datasets", help="names with commas between them; default: all")
    parser.add_argument("--contestants", help="names with ; between them; default: all")
    parser.add_argument(
        "--growth", type=numbers, help="numbers of baskets (default: 100000,1000000)"
    )
    parser.add_argument("--large", action="store_true", help=f"growth up to {LARGE:,} baskets")
    parser.add_argument(
        "--quick", action="store_true", help="one run on little data, to see that all works"
    )
    options = parser.parse_args(arguments)
    if options.runs < 1 or options.top < 1 or not options.timeout > 0 or not options.memory > 0:
        parser.error("--runs, --top, --timeout and --memory must be positive")
    options.modes = list(MODES) if options.modes is None else options.modes.split(",")
    if unknown := [mode for mode in options.modes if mode not in MODES]:
        parser.error(f"--modes: {unknown[0]} is none of {', '.join(MODES)}")
    default = QUICK_CONTESTANTS if options.quick else tuple(CONTESTANTS)
    options.contestants = (
        list(default) if options.contestants is None else options.contestants.split(";")
    )
    if unknown := [name for name in options.contestants if name not in CONTESTANTS]:
        parser.error(f"--contestants: {unknown[0]} is none of {'; '.join(CONTESTANTS)}")
    if OURS not in options.contestants:
        options.contestants.insert(0, OURS)
    if options.quick:
        options.runs, options.top, options.sizes, options.growth = (
            1,
            100,
            [2, 3],
            list(QUICK_BASKETS),
        )
    options.growth = options.growth or [*GROWTH, *([LARGE] if options.large else [])]
    options.output = options.output or options.cache / "counting.json"
    return options


def datasets_of(options: argparse.Namespace) -> tuple[list[Dataset], list[str]]:
    """Return the data sets to count in, and the names of what is missing."""
    if options.quick:
        return [quest_dataset(options.cache, QUICK_BASKETS[0])], []
    real, missing = real_datasets(options.data)
    found = [*real, *generated_datasets(options.cache, options.growth)]
    if options.datasets is None:
        return found, missing
    # "quest 100,000" is also quest_100000: a comma stands between names.
    by_name = {dataset.name.replace(" ", "_").replace(",", ""): dataset for dataset in found}
    wanted = options.datasets.split(",")
    if unknown := [name for name in wanted if name not in by_name]:
        raise SystemExit(f"counting: no data set {unknown[0]}; there are {', '.join(by_name)}")
    return [by_name[name] for name in wanted], missing


def contests(
    dataset: Dataset, about: dict[str, Any], options: argparse.Namespace, limits: Limits
) -> Iterator[dict[str, Any]]:
    """Yield the contests in one data set. Who was beaten by all itemsets of a size is not asked for
    a larger one.
    """
    beaten: dict[str, str] = {}
    for mode in options.modes:
        for size in options.sizes:
            PROGRESS.print(f"{dataset.name}, size {size}, {mode}")
            nth = about["supports_of_nth"][str(size)]
            support = {ALL: 1, THRESHOLD: about["min_support"], TOP: nth}[mode]
            wanted = options.top if mode == TOP else 0
            names = [name for name in options.contestants if mode != ALL or name not in beaten]
            try:
                occurrences = about["occurrences"][str(size)]
                outcome = hold(
                    dataset, Request(size, mode, support, wanted), occurrences, names, limits
                )
            except DisagreementError as error:
                raise SystemExit(
                    f"counting: {dataset.name}, size {size}, {mode}: {error}"
                ) from None
            if mode == ALL:
                outcome |= {
                    name: {"status": beaten[name]} for name in options.contestants if name in beaten
                }
                for name, figures in outcome.items():
                    if figures["status"].startswith(("timeout", "out of memory")):
                        beaten.setdefault(name, f"not tried ({figures['status']} at size {size})")
            outcome = {name: outcome[name] for name in options.contestants}
            yield {
                "dataset": dataset.name,
                "size": size,
                "mode": mode,
                "min_support": support,
                "outcome": outcome,
            }


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run everything; what is there so far is written after every data set."""
    limits = Limits(options.runs, options.timeout, int(options.memory * 10**9))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    datasets, missing = datasets_of(options)
    if missing:
        PROGRESS.print(f"missing, so left out: {', '.join(missing)}")
    results: dict[str, Any] = {
        **machine(PEERS),
        "command": command_line(
            MODULE,
            sys.argv[1:],
            real=any(options.data == dataset.path.parent for dataset in datasets),
        ),
        "runs": options.runs,
        "timeout": options.timeout,
        "memory_limit": limits.memory,
        "top": options.top,
        "loads": [],
        "contestants": options.contestants,
        "missing": missing,
        "datasets": [],
        "contests": [],
        "processes": [],
        "growth": [],
    }
    for dataset in datasets:
        results["loads"].append(os.getloadavg()[0])
        about = describe(dataset, options.sizes, options.top, limits)
        results["datasets"].append(about)
        results["contests"].extend(contests(dataset, about, options, limits))
        results["loads"].append(os.getloadavg()[0])
        write_json(results, options.output)
    if options.name != EVERYTHING:
        return results
    PROGRESS.print("whole processes")
    results["processes"] = list(comparisons(datasets, limits))
    PROGRESS.print("growth")
    made = [quest_dataset(options.cache, baskets) for baskets in sorted(options.growth)]
    sizes = [2] if options.quick else [size for size in options.sizes if size in (2, 3)]
    results["growth"] = growth(made, sizes, options.top, limits)
    write_json(results, options.output)
    return results


def show(results: dict[str, Any]) -> None:
    """Print the summaries."""
    console = Console() if sys.stdout.isatty() else Console(width=150)
    for mode, title in titles(results).items():
        if not any(contest["mode"] == mode for contest in results["contests"]):
            continue
        table = Table(
            *SUMMARY_COLUMNS, title=f"{title}: {reading(results, mode)}", title_justify="left"
        )
        for row in summary_rows(results, mode):
            table.add_row(*row)
        console.print(table)
    unfinished = [
        (name, place(contest), figures["status"])
        for contest in results["contests"]
        for name, figures in contest["outcome"].items()
        if figures["status"] not in ("ok", "other sizes only")
    ]
    table = Table("who", "where", "why", title="No figure", title_justify="left")
    for row in unfinished:
        table.add_row(*row)
    console.print(table)
    table = Table(
        "data", "command", "seconds", "peak (MB)", title="Whole processes", title_justify="left"
    )
    for process in results["processes"]:
        for name, figures in process["commands"].items():
            seconds, peak = figures["seconds"]["median"], figures["peak"]["median"]
            table.add_row(process["dataset"], name, f"{seconds:.2f}", f"{peak / 1e6:.0f}")
    for row_ in results["growth"]:
        seconds, peak = row_["process"]["seconds"]["median"], row_["process"]["peak"]["median"]
        table.add_row(
            row_["dataset"], f"mine --size {row_['size']}", f"{seconds:.2f}", f"{peak / 1e6:.0f}"
        )
    console.print(table)
    worse = [": ".join(row) for row in losses(results)]
    console.print("Where a peer is better (peer / ours):", *(worse or ["none"]), sep="\n  ")


def main() -> None:
    """Run the benchmark, or only make figures and page of an earlier run."""
    options = parse()
    results = run(options) if options.read is None else json.loads(options.read.read_text())
    if options.name != EVERYTHING:
        results = quietest(results)
    if options.docs is not None:
        write_tables(results, options.name, options.docs)
        draw_figures(options.docs)
        if not options.quick:  # the small setting has no findings
            fill_page("counting.md", options.docs)
    show(results)


if __name__ == "__main__":
    main()
