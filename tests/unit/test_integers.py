"""What is an integer in print is that integer."""

import gzip
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from files_read import in_every_form
from sources import labels_of, units_of

import fim_private as fim
from fim_private.reading.labels import Item
from fim_private.reading.purchases import read_catalogue, read_transactions
from fim_private.reading.values import integer_or_text, integers_as_printed

PRINTS: list[tuple[object, Item]] = [
    (7, 7), (7.0, 7), ("7", 7), (" 7 ", 7), ("7.0", 7), ("7.000", 7), (Decimal("7.00"), 7),
    (-0.0, 0), ("0.0", 0), ("-7.0", -7), (b"7.0", 7), ("007", "007"), ("1e3", "1e3"), ("+7", "+7"),
    ("-0", "-0"), ("-0.0", "-0.0"), ("7.5", "7.5"), ("7.", "7."), (7.5, "7.5"),
    (10**18 - 1, 10**18 - 1), (10**18, str(10**18)), (str(10**18), str(10**18)),
    (f"{10**18}.0", f"{10**18}.0"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "printed"), PRINTS)
def test_one_value_at_a_time(value: object, printed: Item) -> None:
    if not isinstance(value, bytes):
        assert integer_or_text(value) == printed
        assert type(integer_or_text(value)) is type(printed)
        assert labels_of(read_transactions([[value]]).vocabulary) == [printed]


@pytest.mark.parametrize(("value", "printed"), PRINTS)
def test_arrow_as_python(value: object, printed: Item) -> None:
    array = pa.array([value])
    table = pa.table({"b": [1], "i": array})
    assert labels_of(read_transactions(table, basket="b", item="i").vocabulary) == [printed]
    if pa.types.is_string(array.type):
        bare = pa.array([str(value).strip()])
        assert integers_as_printed(bare).to_pylist() == [str(printed)]
        assert integers_as_printed(bare.cast(pa.binary())).to_pylist() == [str(printed).encode()]


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        ("7E+2", pa.decimal128(5, -2)), ("-7E+2", pa.decimal128(5, -2)),
        ("7E+20", pa.decimal256(40, -5)), ("0", pa.decimal128(20, 12)),
        ("7", pa.decimal128(20, 12)), ("0.0000001", pa.decimal128(20, 12)),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.every_case
def test_a_decimal_prints_alike_whatever_its_scale(number: str, kind: pa.DataType) -> None:
    array = pa.array([Decimal(number), None], kind)
    printed = integer_or_text(array[0].as_py())
    for column in (array, array.dictionary_encode()):
        table = pa.table({"b": [1, 2], "i": column})
        assert labels_of(read_transactions(table, basket="b", item="i").vocabulary) == [printed]
    assert labels_of(read_transactions([array[0:1].to_pylist()]).vocabulary) == [printed]


def forms(texts: list[str], folder: Path) -> Iterator[Any]:
    """A row per item of user, basket and item."""
    table = pa.table(dict.fromkeys("ubi", texts))
    yield from in_every_form([(text, text, text) for text in texts], folder)
    yield pa.table({name: pa.array(texts).dictionary_encode() for name in "ubi"})
    yield pa.table({name: pa.array(texts, pa.binary()) for name in "ubi"})
    (folder / "a.jsonl").write_text("".join(f'{{"u":"{t}","b":"{t}","i":"{t}"}}\n' for t in texts))
    yield folder / "a.jsonl"
    with closing(sqlite3.connect(folder / "a.sqlite")) as connection:
        table.to_pandas().to_sql("t", connection, index=False)
    yield f"sqlite:///{folder / 'a.sqlite'}"


def test_every_source_has_the_rule(tmp_path: Path) -> None:
    texts = ["7", "7.0", " 7", "007", "7.00", "1e3", "-0"]
    for source in forms(texts, tmp_path):
        query: dict[str, Any] = {"query": "select * from t"} if isinstance(source, str) else {}
        data = read_transactions(source, user="u", basket="b", item="i", **query)
        assert sorted(map(len, units_of(data))) == [1, 1, 1, 1]
        assert labels_of(data.vocabulary) == [7, "-0", "007", "1e3"]
        by_basket = read_transactions(source, basket="b", item="i", **query)
        assert by_basket.baskets == 4


def test_a_customer_is_one_in_a_column_of_objects() -> None:
    """Of 600 customers, each once with a number and once with its text, there were 1,199."""
    mixed = [number if place else str(number) for place in (0, 1) for number in range(600)]
    frame = pd.DataFrame({"customer": pd.Series(mixed, dtype=object), "day": range(1200)})
    frame["item"] = "tea"
    assert read_transactions(frame, user="customer", basket="day", item="item").units == 600


def test_a_month_with_gaps_and_one_without(tmp_path: Path) -> None:
    """Pandas writes 17850.0 where some customers are missing, and 17850 where none is."""
    head = "customer,basket,item\n"
    (tmp_path / "2026-01.csv").write_text(head + "17850.0,1,22423\n,2,22423\n13047.0,3,22423.0\n")
    (tmp_path / "2026-02.csv").write_text(head + "17850,4,22423\n13047,5,84029G\n")
    asked: Any = {"user": "customer", "basket": "basket", "item": "item", "missing_user": "drop"}
    data = read_transactions(str(tmp_path / "*.csv"), **asked)
    assert data.units == 2
    assert labels_of(data.vocabulary) == [22423, "84029G"]


def test_lists_of_items_follow_the_rule(tmp_path: Path) -> None:
    assert labels_of(read_catalogue(["7.0", 7, "007", 7.0])) == [7, "007"]
    (tmp_path / "list.csv.gz").write_bytes(gzip.compress(b"item\n7.0\n7\n007\n"))
    assert labels_of(read_catalogue(tmp_path / "list.csv.gz")) == [7, "007"]
    rows = [[7, 8]] * 900 + [["9", "8.0"]] * 600
    asked: dict[str, Any] = {"epsilon": 5.0, "seed": 1}
    counted = fim.count(rows, [("7.0", "8")], **asked)
    assert [one.items for one in counted.itemsets] == [(7, 8)]
    assert counted.itemsets[0].support == pytest.approx(900, abs=20)
    with pytest.raises(fim.ParameterError, match="again; give each once"):
        fim.count(rows, [("7.0", "8"), (7, 8)], **asked)
    found = fim.mine(rows, top=2, exclude=["7.0"], delta=1e-6, **asked)
    assert {one.items for one in found.itemsets} <= {(8, 9)}


def test_no_two_items_print_alike() -> None:
    numbers = [22423, 10**18, 10**17, -(10**18), 2**62]
    table = pa.table({"b": [1] * 10, "i": [*map(str, numbers), *(f"{n}.0" for n in numbers)]})
    wide = pa.table({"n": numbers, "t": [*map(str, numbers)]})
    readings: list[tuple[pa.Table, dict[str, Any]]] = [
        (table, {"basket": "b", "item": "i"}),
        (wide, {"input_format": "wide"}),
    ]
    for source, options in readings:
        printed = [*map(str, labels_of(read_transactions(source, **options).vocabulary))]
        assert len({*printed}) == len(printed)
    assert labels_of(read_transactions(wide, input_format="wide").vocabulary)[:2] == [22423, 10**17]
    assert len(read_transactions(wide, input_format="wide").vocabulary) == 5


# -------------------- tables of 0 and 1

ROW_NUMBERS = (
    "Unnamed: 0", "index", "X", "rownames", "Row ID", "S.No", "#", "__index_level_0__", "level_0",
    "row_number", "Sr. No.", "rowid", "id", "No.",
)  # fmt: skip


@pytest.mark.parametrize("name", ROW_NUMBERS)
def test_row_numbers_are_no_item(name: str, tmp_path: Path) -> None:
    lines = [f'"{name}",tea,milk', *(f"{row},{row % 2},1" for row in range(1, 9))]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    frame = pd.read_csv(tmp_path / "a.csv")
    table = pa.table(frame.to_dict("list"))
    for source in (tmp_path / "a.csv", frame, frame.astype(object), table):
        with pytest.raises(fim.DataError, match="called like an id") as error:
            read_transactions(source, input_format="one-hot")
        assert repr(name) in str(error.value)
        named = read_transactions(source, input_format="one-hot", basket=name)
        assert labels_of(named.vocabulary) == ["milk", "tea"]


def test_the_index_of_a_frame_is_no_item(tmp_path: Path) -> None:
    frame = pd.DataFrame({"tea": [True, False, True], "milk": [True, True, False]}, index=[0, 2, 1])
    named = frame.rename_axis("till")
    for number, one in enumerate((frame, named, frame.astype(int))):
        path = tmp_path / f"{number}.parquet"
        one.to_parquet(path)
        assert len(pyarrow.parquet.read_schema(path).names) == 3
        for source in (path, pa.Table.from_pandas(one), pyarrow.parquet.read_table(path)):
            assert labels_of(read_transactions(source).vocabulary) == ["milk", "tea"]
    data = read_transactions(tmp_path / "1.parquet", basket="till", input_format="one-hot")
    assert data.baskets == 3
