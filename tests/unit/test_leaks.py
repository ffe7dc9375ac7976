"""Many small runs in one process: neither memory nor files nor threads grow with their number."""

import gc
import gzip
import sys
import tempfile
import threading
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import fim_private as fim

SHOP = [["bread", "butter", "jam"]] * 300 + [["bread", "butter"]] * 400 + [["tea"]] * 500
ROWS: dict[str, Any] = {"order": [1, 1, 2, 3] * 40, "item": ["a", "b", "a", "c"] * 40}
SALES = pa.table({**ROWS, "who": ["u", None, "v", "u"] * 40})

linux = pytest.mark.skipif(sys.platform != "linux", reason="what it holds is read from /proc")


def asked(folder: Path) -> list[Callable[[], object]]:
    """Small runs of all kinds: releases, counts, reads and files, with a ledger and without."""
    pyarrow.parquet.write_table(SALES, folder / "a.parquet")
    pyarrow.feather.write_feather(SALES, folder / "a.arrow")
    (folder / "a.csv").write_text("order,item\n1,a\n1,b\n2,a\n")
    (folder / "b.csv").write_text("order,item\n1,a\n1,b,c,d\n2,a\n")
    (folder / "a.dat.gz").write_bytes(gzip.compress(b"1 2\n3\n" * 50))
    (folder / "b.dat.gz").write_bytes(gzip.compress(b"1 2\n3\n" * 50)[:30])
    (folder / "b.parquet").write_bytes((folder / "a.parquet").read_bytes()[:-20])
    (folder / "b.json").write_text('{"schema": 1}')
    ledger = folder / "a.ledger"
    # Large enough for all runs but one kind; its entries are read each time, so it is made anew now
    # and then.
    opened = count()

    def fresh() -> fim.Ledger:
        if next(opened) % 50:
            return fim.Ledger(ledger)
        for left in folder.glob("a.ledger*"):
            left.unlink()
        return fim.Ledger.create(ledger, epsilon=60, delta=1e-3)

    long: dict[str, Any] = {"basket": "order", "item": "item"}
    return [
        lambda: fim.mine(SHOP, size=1),
        lambda: fim.mine(SHOP, size="1-2", top=3, supports=True, seed=1).to_json(),
        lambda: fim.mine(SHOP, ledger=fresh(), dataset="sales", size=1),
        lambda: fim.mine(SHOP, ledger=fresh(), dataset="sales", size=1, epsilon=1000),  # overspends
        lambda: fim.count(SHOP, [["bread"], ["tea", "jam"]]),
        lambda: fim.count(folder / "a.parquet", [["a"]], **long, user="who", missing_user="drop"),
        lambda: fim.mine(folder / "a.dat.gz", size=1),
        lambda: fim.read_transactions(folder / "a.parquet", **long, where="order > 1"),
        lambda: fim.read_transactions(folder / "a.arrow", **long),
        lambda: fim.read_transactions(folder / "a.csv", **long),
        lambda: fim.inspect(folder / "a.csv"),
        lambda: fim.read_transactions(SALES.to_pandas(), **long),
        lambda: fim.read_transactions(folder / "b.csv", **long),
        lambda: fim.read_transactions(folder / "b.dat.gz"),
        lambda: fim.read_transactions(folder / "b.parquet", **long),
        # rows without a user
        lambda: fim.read_transactions(folder / "a.parquet", **long, user="who"),
        lambda: fim.read_transactions(folder / "none.csv"),
        lambda: fim.mine(SHOP, size=2, max_work=1, mechanism="exponential", universe_size=100),
        lambda: fim.mine(SHOP, max_memory=1),
        lambda: fim.mine(SHOP, size=1, seed=2).save(folder / "a.json"),
        lambda: fim.load(folder / "a.json"),
        lambda: fim.load(folder / "b.json"),
        lambda: fim.Ledger(folder / "a.csv"),
    ]


def run(runs: Iterator[Callable[[], object]], number: int) -> None:
    for ask in islice(runs, number):
        with suppress(fim.FimPrivateError):
            ask()


def held() -> tuple[int, set[str], int, set[str]]:
    """Kilobytes of this process, what its open files are, how many threads it has."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    status = Path("/proc/self/status").read_text()
    files = set()
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            files.add(f"{path.name} {path.readlink()}")
    return (
        int(status.partition("VmRSS:")[2].split()[0]),
        {name for name in files if "/proc/" not in name and "urandom" not in name},
        threading.active_count(),
        {path.name for path in Path(tempfile.gettempdir()).iterdir()},
    )


def drift(folder: Path, warm: int, number: int, *, traced: int) -> dict[str, float]:
    """Run so many times; return by how much what the process holds has grown since it was warm."""
    runs = cycle(asked(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(runs, warm)
        memory, files, threads, left = held()
        run(runs, number)
        after = held()
        tracemalloc.start()
        run(runs, 2 * 23)
        gc.collect()
        before_traced = tracemalloc.get_traced_memory()[0]
        run(runs, traced // 23 * 23)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before_traced
        tracemalloc.stop()
    return {
        "kilobytes": after[0] - memory,
        "files": len(after[1]) - len(files),
        "threads": after[2] - threads,
        "left": len([name for name in after[3] - left if name.startswith((".fim", "fim"))]),
        "traced bytes a run": grown / traced,
    }


@linux
@pytest.mark.full
def test_thousands_of_small_runs_leave_nothing(tmp_path: Path) -> None:
    found = drift(tmp_path, 1_000, 2_000, traced=400)
    assert (found["files"], found["threads"], found["left"]) == (0, 0, 0), found
    assert not [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")]
    assert found["kilobytes"] < 8_000, found  # less than a byte in a thousand of each run's own
    assert found["traced bytes a run"] < 500, found  # what is remembered of what was computed once
