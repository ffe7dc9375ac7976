"""Databases: what may be asked, and a real SQLite file."""

import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sales import COLUMNS, QUERY, as_csv, as_sqlite, sales
from sources import labels_of, units_of

import fim_private as fim
from fim_private import addresses
from fim_private.reading.databases import check_query
from fim_private.reading.locations import source_of
from fim_private.reading.purchases import read_transactions

ASKED: dict[str, Any] = {**COLUMNS, "missing_user": "drop"}
SALES = sales()


@pytest.fixture
def shop(tmp_path: Path) -> str:
    return as_sqlite(SALES, tmp_path / "shop.db")


@pytest.mark.parametrize(
    ("source", "query", "message"),
    [
        ("sales.csv", QUERY, "query is for a database"),
        (SALES, QUERY, "query is for a database"),
        ("s3://bucket/sales", QUERY, "query is for a database"),
        ("sqlite:///shop.db", None, "a database needs query: a select"),
        ("postgresql://host/shop", None, "a database needs query: a select"),
        ("sqlite:///shop.db", 3, "query must be a single select, as text"),
        ("sqlite:///shop.db", "delete from sales", "query must be a single select"),
        ("sqlite:///shop.db", "", "query must be a single select"),
        ("sqlite:///shop.db", "-- all\n drop table sales", "query must be a single select"),
    ],
)
def test_what_may_not_be_asked(source: Any, query: Any, message: str) -> None:
    for call in (fim.read_transactions, fim.mine, fim.inspect):
        with pytest.raises(fim.ParameterError) as caught:
            call(source, query=query)
        assert str(caught.value).startswith(message)


SELECTS = [
    *("select 1", " SELECT 1;", "-- all of it\nselect 1", "/* all */ select 1", "(select 1)"),
    *("with t as (select 1) select * from t", "values (1)", "table sales"),
]


def test_what_may_be_asked() -> None:
    for select in SELECTS:
        check_query(source_of("sqlite:///shop.db"), select)


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(addresses, "import_module", missing)
    for address, driver in (("sqlite:///shop.db", "sqlite"), ("postgresql://h/shop", "postgresql")):
        said = rf"pip install 'fim-private\[sql\]' \(adbc-driver-{driver}\)"
        with pytest.raises(fim.MissingExtraError, match=said):
            fim.mine(address, query=QUERY, **ASKED)


def in_no_order(read: Any) -> list[Any]:
    """The baskets of each user: nothing may depend on their order."""
    units = ([sorted(map(str, basket)) for basket in unit] for unit in units_of(read))
    return sorted(map(sorted, units))


def test_sqlite_gives_the_same(shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_transactions("sqlite:///shop.db", query=QUERY, **ASKED).baskets
    in_memory = read_transactions(SALES, **ASKED)
    of_text = read_transactions(as_csv(SALES, tmp_path / "sales.csv"), **ASKED)
    columns = "select price, product, order_id, customer_id from sales; "
    for query in (QUERY, f"{QUERY} -- all of it", columns):
        read = read_transactions(shop, query=query, **ASKED)
        assert in_no_order(read) == in_no_order(in_memory)
        assert labels_of(read.vocabulary) == labels_of(of_text.vocabulary)


def table_of(path: Path, columns: str, rows: list[tuple[Any, ...]]) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"create table sales ({columns})")
        connection.executemany(f"insert into sales values ({', '.join('?' * len(rows[0]))})", rows)
        connection.commit()
    return f"sqlite:///{path}"


def test_what_a_value_is_does_not_follow_from_the_first_rows(tmp_path: Path) -> None:
    # SQLite's driver guesses a type from the first rows: here, numbers; then come texts, bytes and
    # nothing.
    many: list[tuple[Any, ...]] = [(place % 7, 39) for place in range(70_000)]
    rows = [
        *many, (7, "tea"), (7, 2.0), (7, 0.5), (7, b"\xff\x00"), (7, None), (7, " NULL "),
        (None, "lost"),
    ]  # fmt: skip
    address = table_of(tmp_path / "a.db", "order_id, product", rows)
    read = read_transactions(address, query=QUERY, basket="order_id", item="product")
    assert labels_of(read.vocabulary) == [2, 39, "0.5", "FF00", "tea"]
    assert read.baskets == 8


def test_a_number_has_the_text_that_it_has_elsewhere(tmp_path: Path) -> None:
    # SQLite itself prints 1.0e+300, 0.33333333333333332 and Inf.
    numbers = [1e300, 1e-300, 1e18, 1 / 3, 0.1, 5e-324, 2.0, -0.0, math.inf]
    rows: list[tuple[Any, ...]] = [(1, number) for number in numbers]
    address = table_of(tmp_path / "a.db", "order_id, product real", rows)
    read = read_transactions(address, query=QUERY, basket="order_id", item="product")
    assert labels_of(read.vocabulary) == labels_of(read_transactions([numbers]).vocabulary)


def test_a_table_of_as_many_columns_as_sqlite_has(tmp_path: Path) -> None:
    names = [f"a{place}" for place in range(2000)]
    rows = [tuple(float(place % 3 == row) for place in range(2000)) for row in range(2)]
    address = table_of(tmp_path / "a.db", ", ".join(f"{name} real" for name in names), rows)
    read = read_transactions(address, query=QUERY, input_format="one-hot")
    assert in_no_order(read) == in_no_order(read_transactions([names[0::3], names[1::3]]))


FAILS = [
    ("select * from nowhere", "query gives nothing from 'sqlite:////.*/shop.db': it failed"),
    ("select nothing from sales", "query gives nothing from"),
    ("select * from sales; select 2", "query gives nothing from"),
    ("with gone as (select 1) delete from sales", "query gives nothing from"),
    ("select product from sales", "has no column 'customer_id'; it has 'product' (string)"),
]


@pytest.mark.parametrize(("query", "message"), FAILS)
def test_what_a_database_refuses_is_one_line(query: str, message: str, shop: str) -> None:
    with pytest.raises(fim.DataError) as caught:
        fim.mine(shop, query=query, **ASKED)
    found = str(caught.value)
    assert all(part in found for part in message.split(".*"))
    assert "\n" not in found


def test_a_file_is_only_read(shop: str) -> None:
    path = Path(shop.removeprefix("sqlite:///"))
    before = path.read_bytes()
    inserting = "with gone as (select 1) insert into sales select * from sales"
    for query in (inserting, "select load_extension('x')"):
        with pytest.raises(fim.DataError):
            read_transactions(shop, query=query, **ASKED)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("/nowhere.db", "'nowhere.db' does not exist"),
        ("/notes.txt", "'notes.txt' is not a SQLite database"),
        ("//", "'/' is a folder"),
        ("shop.db", "'sqlite://shop.db' is not the address of a SQLite file"),
        ("/shop.db?mode=rw", "'sqlite:///shop.db?mode=rw' is not the address of a SQLite file"),
    ],
)
def test_no_database(place: str, message: str, shop: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("to do", encoding="utf-8")
    with pytest.raises(fim.DataError) as caught:
        read_transactions(f"sqlite://{place}", query=QUERY, **ASKED)
    assert str(caught.value).startswith(message)
