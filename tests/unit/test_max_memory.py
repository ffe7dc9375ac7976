"""How much memory a read may take: what would take more is refused while it is read."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
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
    offsets = np.arange(0, MANY + 1, 3, dtype=np.int32)
    lists = pa.table({"items": pa.ListArray.from_arrays(offsets, numbers % 100)})
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
def test_every_source_is_held_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        delimiter = "," if form == "lines" else None
        with pytest.raises(fim.FimPrivateError) as caught:
            fim.read_transactions(path, input_format=form, delimiter=delimiter, max_memory="30MB")
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
    sizes = [4 * 10**9, 4 * 10**9, 4_500_000, 1024, 7, 7, 7, 1 << 39]
    assert [MemoryLimit.of(size).most for size in given] == sizes


def test_unless_given_it_is_a_part_of_the_machine() -> None:
    machine: Any = MemoryLimit.of_whole_machine()
    found = MemoryLimit.of(None)
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
    said = "Error: reading and counting these data takes more than --max-memory = 100 kB: read"
    for command in (["mine"], ["count", "--itemsets", "pairs.csv"], ["inspect"]):
        done = run(tmp_path, *command, "a.dat", "--max-memory", "100kB", "--output", "out.json")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(said), done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"a.dat", "pairs.csv"}
