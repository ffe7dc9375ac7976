"""How long does the whole command take, from start to answer?

Runs `fim-private mine` as a process of its own on the corner shop and on any files named, and
beside it the start of an interpreter that imports numpy and pyarrow, which nothing that reads
Parquet can go below.

    python -m benchmarks.counting.cold_start [FILE ...] [--runs 5] [--output cold_start.json]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks.counting.process_timing import measure, report
from benchmarks.frame.command_line import OneLineParser
from benchmarks.frame.output_files import ROOT


def main() -> None:
    """Run the benchmark."""
    parser = OneLineParser("benchmarks.counting.cold_start", str(__doc__))
    parser.add_argument(
        "files", nargs="*", type=Path, help="more files to mine, in a form that needs no options"
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--output", type=Path, help="write the figures here as JSON")
    options = parser.parse_args()
    command = Path(sys.executable).with_name("fim-private")
    commands: list[tuple[str, list[str | Path]]] = [
        (
            "python -c 'import numpy, pyarrow.parquet'",
            [sys.executable, "-c", "import numpy, pyarrow.parquet"],
        ),
        ("fim-private --help", [command, "--help"]),
    ]
    for path in [ROOT / "datasets" / "corner_shop.parquet", *options.files]:
        for size in ("2", "3"):
            commands.append(
                (f"mine {path.name} --size {size}", [command, "mine", path, "--size", size])
            )
    rows: list[dict[str, Any]] = []
    for name, parts in commands:
        measured = measure(parts, options.runs)
        rows.append(
            {"command": name, "seconds": measured.seconds, "peak (MB)": measured.peak / 1e6}
        )
    report(f"Whole processes (medians of {options.runs})", rows, options.output)


if __name__ == "__main__":
    main()
