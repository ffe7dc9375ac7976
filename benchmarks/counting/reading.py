"""How fast are 1.13 million baskets read, and in how much memory?

Generates baskets (seeded, Zipf-like items), writes them in each form to a temporary folder, and
reads each in a process of its own. Memory is what reading adds to a process that has imported its
libraries, as a multiple of the arrays that come out.

    python -m benchmarks.counting.reading [--baskets 1130000] [--runs 5] [--output reading.json]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from benchmarks.counting.process_timing import measure, report
from benchmarks.frame.command_line import OneLineParser

SEED = 2014
ITEMS = 16_000
MEAN_LENGTH = 7.7

READ = r"""
import re, sys, time
from pathlib import Path
from fim_private.reading import read_transactions
import pyarrow.parquet, pyarrow.csv
# Not getrusage: its peak starts at that of the process which started this one.
peak = lambda: 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
before, start = peak(), time.perf_counter()
shop = read_transactions(sys.argv[1], **dict(option.split("=") for option in sys.argv[2:]))
size = sum(each.nbytes for each in (shop.offsets, shop.items, shop.unit_offsets) if each is not None)
print(time.perf_counter() - start, (peak() - before) / size, size)
"""  # noqa: E501


def generate(baskets: int) -> pa.Table:
    """Return a table with one list column of item names."""
    generator = np.random.default_rng(SEED)
    popularity = np.cumsum(1 / np.arange(1, ITEMS + 1) ** 0.9)
    lengths = generator.poisson(MEAN_LENGTH, baskets)
    codes = np.searchsorted(popularity, generator.random(lengths.sum()) * popularity[-1])
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    names = pa.array([f"item number {code}" for code in range(ITEMS)])
    return pa.table({"items": pa.ListArray.from_arrays(offsets, names.take(pa.array(codes)))})


def long_form(table: pa.Table) -> pa.Table:
    """Return one row per item, with the basket's number."""
    lists = table["items"].combine_chunks()
    return pa.table({"basket": lists.value_parent_indices(), "item": lists.flatten()})


def write_all(folder: Path, baskets: int) -> list[tuple[str, Path, list[str]]]:
    """Write the baskets in every form; return name, path and options of each."""
    table = generate(baskets)
    rows = long_form(table)
    generator = np.random.default_rng(SEED)
    # About ten baskets each, in no order.
    customer_of = pa.array(generator.integers(0, max(baskets // 10, 1), baskets))
    with_customers = rows.append_column("customer", customer_of.take(rows["basket"]))
    shuffled_rows = pa.array(generator.permutation(len(rows)))
    shuffled = rows.take(shuffled_rows)
    pq.write_table(table, folder / "list.parquet")
    pq.write_table(rows, folder / "long.parquet")
    pq.write_table(with_customers, folder / "customers.parquet")
    pq.write_table(with_customers.take(shuffled_rows), folder / "shuffled_customers.parquet")
    pq.write_table(shuffled, folder / "shuffled.parquet")
    csv.write_csv(rows, folder / "long.csv")
    codes = pa.compute.replace_substring(
        table["items"].combine_chunks().flatten(), "item number ", ""
    )
    numbers = pa.ListArray.from_arrays(table["items"].combine_chunks().offsets, codes)
    lines = pa.compute.binary_join(numbers, " ").to_pylist()
    (folder / "baskets.dat").write_text("\n".join(lines) + "\n")
    columns = ["basket=basket", "item=item"]
    of_customers = [*columns, "user=customer"]
    return [
        ("Parquet, list of strings", folder / "list.parquet", []),
        ("Parquet, one row per item, sorted", folder / "long.parquet", columns),
        ("Parquet, one row per item, shuffled", folder / "shuffled.parquet", columns),
        ("with customers, sorted by basket", folder / "customers.parquet", of_customers),
        ("with customers, shuffled", folder / "shuffled_customers.parquet", of_customers),
        ("CSV, one row per item", folder / "long.csv", columns),
        ("FIMI .dat", folder / "baskets.dat", []),
    ]


def main() -> None:
    """Run the benchmark."""
    parser = OneLineParser("benchmarks.counting.reading", str(__doc__))
    parser.add_argument("--baskets", type=int, default=1_130_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--output", type=Path, help="write the figures here as JSON")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path, columns in write_all(Path(folder), options.baskets):
            results = [
                measure([sys.executable, "-c", READ, path, *columns], 1).output.split()
                for _ in range(options.runs)
            ]
            seconds, ratio, size = np.median(np.array(results, dtype=float), axis=0).tolist()
            rows.append(
                {
                    "form": name,
                    "seconds": seconds,
                    "peak / arrays": ratio,
                    "arrays (MB)": size / 1e6,
                    "peak (bytes a basket)": ratio * size / options.baskets,
                }
            )
    report(
        f"Reading {options.baskets:,} baskets (seed {SEED}, medians of {options.runs})",
        rows,
        options.output,
    )


if __name__ == "__main__":
    main()
