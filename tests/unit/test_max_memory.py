"""How much memory a read may take, where more is refused; and that many runs leave nothing."""

from __future__ import annotations

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

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from commands import run

import fim_private as fim
from fim_private.errors import MemoryLimitError, ParameterError
from fim_private.mining.given import given_itemsets
from fim_private.reading import memory as chunk_sizes
from fim_private.reading.memory import MemoryLimit, limit_memory

MANY = 300_000
LONG: dict[str, Any] = {"basket": "order", "item": "item"}


def gzipped(path: Path, piece: bytes, size: int) -> Path:
    """A file of about a thousandth of that size."""
    with gzip.open(path, "wb", compresslevel=6) as stream:
        block = piece * ((1 << 20) // len(piece))
        for _ in range(size // len(block)):
            stream.write(block)
    return path


def sources(folder: Path) -> dict[str, tuple[Any, dict[str, Any]]]:
    """The same purchases, a few megabytes each, in every kind of source."""
    numbers = np.arange(MANY)
    table = pa.table({"order": numbers // 3, "item": numbers % 100})
    lists = pa.table(
        {
            "items": pa.ListArray.from_arrays(
                np.arange(0, MANY + 1, 3, dtype=np.int32), numbers % 100
            )
        }
    )
    pyarrow.parquet.write_table(table, folder / "long.parquet")
    pyarrow.parquet.write_table(lists, folder / "lists.parquet")
    with pa.ipc.new_stream(str(folder / "long.arrows"), table.schema) as writer:
        writer.write_table(table)
    rows = b"".join(b"%d,%d\n" % (number // 3, number % 100) for number in numbers.tolist())
    (folder / "long.csv").write_bytes(b"order,item\n" + rows)
    (folder / "wide.csv").write_bytes(b"a,b\n" + rows)
    lines = b"1 2 3\n" * (MANY // 3)
    (folder / "lines.dat").write_bytes(lines)
    (folder / "lines.csv").write_bytes(lines.replace(b" ", b","))
    (folder / "lines.dat.gz").write_bytes(gzip.compress(lines))
    (folder / "users.spmf").write_bytes(b"1 2 -1 3 -1 -2\n" * (MANY // 3))
    (folder / "line.dat").write_bytes(b"1 2 3 " * (MANY // 3))
    plain = ["lists.parquet", "lines.dat", "lines.csv", "lines.dat.gz", "users.spmf"]
    return {
        **{name: (folder / name, {}) for name in [*plain, "line.dat"]},
        **{name: (folder / name, LONG) for name in ("long.parquet", "long.arrows", "long.csv")},
        "wide.csv": (folder / "wide.csv", {"input_format": "wide"}),
        "a pattern": (str(folder / "long.p*"), LONG),
        "table": (table, LONG),
        "reader": (lists.to_reader(), {}),
        "pandas": (table.to_pandas(), LONG),
        "lists": ([[1, 2, 3]] * (MANY // 3), {}),
        "iterator": (iter([[1, 2, 3]] * (MANY // 3)), {}),
        "array": (np.ones((MANY // 30, 30), dtype=bool), {}),
    }


@pytest.mark.full
def test_every_kind_of_source_is_held_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LONG_ROWS", "LIST_ROWS", "ENTRIES"):
        monkeypatch.setattr(chunk_sizes, name, 1_000)
    monkeypatch.setattr(chunk_sizes, "BLOCK_BYTES", 1 << 14)
    for name, (source, options) in sources(tmp_path).items():
        with pytest.raises(MemoryLimitError, match=r"takes more than max_memory = 1 MB: read"):
            pytest.fail(f"{name}: {fim.read_transactions(source, **options, max_memory='1MB')}")
    for name, (source, options) in sources(tmp_path).items():
        assert len(fim.read_transactions(source, **options, max_memory="1GB").items), name


@pytest.mark.parametrize("piece", [b"\0", b"a", b"a\n", b'"a",', b"1 -1 -2\n"])
@pytest.mark.one_in(6)
def test_little_gzip_of_much_text(piece: bytes, tmp_path: Path) -> None:
    path = gzipped(tmp_path / "a.txt.gz", piece, 60_000_000)
    for form in ("lines", "fimi", "spmf", "wide"):
        with pytest.raises(fim.FimPrivateError) as caught:
            fim.read_transactions(
                path,
                input_format=form,
                delimiter="," if form == "lines" else None,
                max_memory="30MB",
            )
        assert "\n" not in str(caught.value)
    for read in (fim.read_catalogue, given_itemsets):
        with pytest.raises(MemoryLimitError), limit_memory(MemoryLimit.of("30MB")):
            read(path)


@pytest.mark.parametrize("size", ["", "GB", "-1", "1XB", "1e9", "4 G B", 0, -1, 1.5, True, [], "0"])
def test_what_is_no_size(size: Any) -> None:
    for ask in (
        lambda: fim.mine([["a"]], max_memory=size),
        lambda: fim.count([["a"]], [["a"]], max_memory=size),
        lambda: fim.read_transactions([["a"]], max_memory=size),
        lambda: fim.inspect([["a"]], max_memory=size),
    ):
        with pytest.raises(ParameterError, match="max_memory must be a size such as '4GB'"):
            ask()


def test_sizes() -> None:
    given: list[int | str] = ["4GB", "4 gb", "4.5MB", "1KiB", "7b", "7", 7, "0.5 TiB"]
    assert [MemoryLimit.of(size).most for size in given] == [
        *(4 * 10**9, 4 * 10**9, 4_500_000, 1024, 7, 7, 7),
        1 << 39,
    ]


def test_unless_given_it_is_a_part_of_the_machine() -> None:
    machine = MemoryLimit.of_whole_machine()
    found = MemoryLimit.of(None)
    assert machine is not None
    assert found.most == machine * 4 // 5
    with pytest.raises(MemoryLimitError, match=r"GB, four fifths of what this machine has: read"):
        found.check(machine)


def test_a_refusal_while_reading_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_bytes(b"1 2 3\n" * 50_000)
    with fim.Ledger.create(tmp_path / "a.ledger", epsilon=9, delta=1e-5) as ledger:
        for ask in (fim.mine, lambda data, **how: fim.count(data, [[1]], **how)):
            with pytest.raises(MemoryLimitError):
                ask(tmp_path / "a.dat", max_memory="100kB", ledger=ledger, dataset="sales")
        assert not ledger.entries


def test_the_command_line_says_one_line_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_bytes(b"1 2 3\n" * 50_000)
    (tmp_path / "pairs.csv").write_text("1,2\n")
    said = (
        "Error: to read and count these data takes more than --max-memory = 100 kB: read "
        "fewer rows or columns"
    )
    for command in (["mine"], ["count", "--itemsets", "pairs.csv"], ["inspect"]):
        done = run(tmp_path, *command, "a.dat", "--max-memory", "100kB", "--output", "out.json")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(said), done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"a.dat", "pairs.csv"}


# -------------------- many small runs in one process leave nothing


SHOP = [["bread", "butter", "jam"]] * 300 + [["bread", "butter"]] * 400 + [["tea"]] * 500
SALES = pa.table(
    {
        "order": [1, 1, 2, 3] * 40,
        "item": ["a", "b", "a", "c"] * 40,
        "who": ["u", None, "v", "u"] * 40,
    }
)

linux = pytest.mark.skipif(
    sys.platform != "linux", reason="what a process holds is read from /proc"
)


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


def run_some(runs: Iterator[Callable[[], object]], number: int) -> None:
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
        run_some(runs, warm)
        memory, files, threads, left = held()
        run_some(runs, number)
        after = held()
        tracemalloc.start()
        run_some(runs, 2 * 23)
        gc.collect()
        before_traced = tracemalloc.get_traced_memory()[0]
        run_some(runs, traced // 23 * 23)
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
