"""Several files as one table, datasets, relations and object stores."""

import gzip
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.fs
import pyarrow.parquet
import pytest

import fim_private as fim
from fim_private.addresses import shown_source
from fim_private.reading.purchases import read_transactions

COLUMNS: dict[str, Any] = {"user": "customer", "basket": "order", "item": "product"}
ROWS = 600
SALES = pa.table(
    {
        "customer": [f"c{row // 4 % 90}" for row in range(ROWS)],
        "order": [row // 4 for row in range(ROWS)],
        "product": [f"p{row * 7 % 5}" for row in range(ROWS)],
        "year": [2010 + row // 4 % 3 for row in range(ROWS)],
        "country": ["France" if row % 6 < 3 else "Spain" for row in range(ROWS)],
    }
)


def in_three(folder: Path, suffix: str, write: Callable[[pa.Table, str], Any]) -> Path:
    for part in range(3):
        write(SALES.slice(200 * part, 200), str(folder / f"{part}.{suffix}"))
    return folder


def parquet_folder(folder: Path) -> Path:
    (folder / "_SUCCESS").touch()
    (folder / ".crc").mkdir()
    (folder / ".crc" / "0.parquet").touch()
    return in_three(folder, "parquet", partial(pyarrow.parquet.write_table, row_group_size=70))


def csv_folder(folder: Path) -> Path:
    return in_three(folder, "csv", pa.csv.write_csv)


def csv_of_two_kinds(folder: Path) -> Path:
    # Other delimiters, another order of columns, and gzip.
    csv_folder(folder)
    frame = pd.read_csv(folder / "1.csv")[["year", "product", "customer", "order"]]
    frame.to_csv(folder / "1.csv", sep=";", index=False)
    (folder / "2.csv.gz").write_bytes(gzip.compress((folder / "2.csv").read_bytes()))
    (folder / "2.csv").unlink()
    return folder


def hive(folder: Path, *names: str) -> Path:
    schema = pa.schema([SALES.schema.field(name) for name in names or ("year", "country")])
    partitioning = pyarrow.dataset.partitioning(schema, flavor="hive")
    pyarrow.dataset.write_dataset(SALES, folder, format="parquet", partitioning=partitioning)
    return folder


def address_of_text(folder: Path) -> str:
    with gzip.open(folder / "all.csv.gz", "wb") as sink:
        pa.csv.write_csv(SALES, sink)
    return f"file://{folder}/all.csv.gz"


def dataset(folder: Path) -> Any:
    return pyarrow.dataset.dataset(hive(folder), partitioning="hive")


FORMS: dict[str, Callable[[Path], Any]] = {
    "parquet": parquet_folder,
    "csv": csv_folder,
    "csv of two kinds": csv_of_two_kinds,
    "arrow": lambda folder: in_three(folder, "feather", pyarrow.feather.write_feather),
    "hive": hive,
    "pattern": lambda folder: parquet_folder(folder) / "*.parquet",
    "address": lambda folder: f"file://{parquet_folder(folder)}",
    "address of text": address_of_text,
    "address with pattern": lambda folder: f"file://{hive(folder)}/year=*/**/*.parquet",
    "dataset": dataset,
    "reader": lambda folder: SALES.to_reader(max_chunksize=50),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_release(form: str, tmp_path: Path) -> None:
    release = fim.mine(FORMS[form](tmp_path), **COLUMNS, top=5, supports=True, seed=1, epsilon=50)
    assert release.itemsets
    expected = fim.mine(SALES, **COLUMNS, top=5, supports=True, seed=1, epsilon=50)
    # A reader may come from a query, and its release says so.
    assert release.to_json().replace('"query": true, ', "") == expected.to_json()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another type": (
        {"0.parquet": {"b": [1], "i": ["x"]}, "1.parquet": {"b": ["1"], "i": ["x"]}},
        "column 'b' of '{}/1.parquet' has type string, and in the first of these files int64",
    ),
    "a column less": (
        {"0.parquet": {"b": [1], "i": ["x"]}, "1.parquet": {"b": [1]}},
        "'{}/1.parquet' has no column 'i'",
    ),
    "other folders": (
        {"y=1/0.parquet": {"b": [1], "i": ["x"]}, "z=1/1.parquet": {"b": [1], "i": ["x"]}},
        "'{}' has files in folders that name other columns",
    ),
    "another form": (
        {"0.parquet": {"b": [1], "i": ["x"]}, "1.csv": {"b": [1], "i": ["x"]}},
        "'{}/1.csv' is text, and the first of these files is Parquet",
    ),
    "damaged": (
        {"0.parquet": {"b": [1], "i": ["x"]}, "1.parquet": None},
        "'{}/1.parquet' does not begin as a .parquet file does",
    ),
    "nothing": ({}, "'{}' is a folder without files"),
}


def write(path: Path, columns: dict[str, Any] | None) -> None:
    path.parent.mkdir(exist_ok=True)
    if columns is None:
        path.write_bytes(b"something else")
    elif path.suffix == ".csv":
        pa.csv.write_csv(pa.table(columns), path)
    else:
        pyarrow.parquet.write_table(pa.table(columns), path)


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_together_is_refused_in_one_line(case: str, tmp_path: Path) -> None:
    files, message = REFUSED[case]
    for name, columns in files.items():
        write(tmp_path / name, columns)
    with pytest.raises(fim.DataError) as caught:
        read_transactions(tmp_path, basket="b", item="i")
    assert str(caught.value).startswith(message.format(tmp_path))
    assert "\n" not in str(caught.value)


def test_items_that_are_columns_have_to_be_in_every_file(tmp_path: Path) -> None:
    write(tmp_path / "0.parquet", {"milk": [1], "tea": [0]})
    write(tmp_path / "1.parquet", {"milk": [1], "tea": [0], "beer": [1]})
    with pytest.raises(fim.DataError, match="has other columns than the first"):
        read_transactions(tmp_path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere/*.parquet", "no file fits the pattern 'nowhere/*.parquet'"),
        ("file:///nowhere/at/all", "'file:///nowhere/at/all' does not exist"),
        (
            "ftp://host/sales.csv",
            "'ftp://host/sales.csv' is not an address that can be read; those",
        ),
    ],
)
def test_what_is_not_there(source: str, message: str) -> None:
    with pytest.raises(fim.DataError) as caught:
        fim.mine(source)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("sales.parquet", "sales.parquet"),
        ("postgresql://ann:pa:s@s/wrd@host:5432/shop", "postgresql://ann:***@host:5432/shop"),
        # An @ behind a ?: of a password, or of what is said behind the address.
        ("postgresql://ann:pa:s@s/w?rd@host:5432/shop", "postgresql://***"),
        ("postgresql://db:5432/shop?password=abc@TAIL", "postgresql://***"),
        (
            "postgresql://ann@host/shop?password=x&user=b",
            "postgresql://ann@host/shop?password=***&user=b",
        ),
        ("postgresql://?service=shop", "postgresql://?service=shop"),
        ("s3://KEY:SECRET@bucket/a?region=eu", "s3://KEY:***@bucket/a?region=eu"),
        ("postgresql://host/shop?password=x@y", "postgresql://***"),
        ("postgresql://host/shop?password=xy", "postgresql://host/shop?password=***"),
        ("sqlite:///shop.db", "sqlite:///shop.db"),
    ],
)
def test_addresses_are_shown_without_passwords(address: str, shown: str) -> None:
    assert shown_source(address) == shown


@pytest.mark.parametrize(
    "named", ["sales", "sales/*.parquet", "file://{}/sales/0.parquet", "sqlite:///shop.db"]
)
def test_an_input_is_no_output(named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fim_private.cli.writing import destination

    monkeypatch.chdir(tmp_path)
    write(tmp_path / "sales" / "0.parquet", {"milk": [1]})
    (tmp_path / "shop.db").touch()
    inside = Path("shop.db") if named.startswith("sqlite") else Path("sales/0.parquet")
    refused = pytest.raises(fim.OutputError, match="it is an input")
    with refused, destination(inside, inputs=[named.format(tmp_path)]):
        pass
    with destination(tmp_path / "release.json", inputs=[named.format(tmp_path)]) as output:
        output.send("{}")
