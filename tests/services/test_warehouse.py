"""The engine in a database: the same seeded release as on one machine, of DuckDB and PostgreSQL."""

import datetime
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from patience import PATIENCE
from postgres_server import PASSWORD, Server, running_server
from real_data import real_data
from typer.testing import CliRunner

import fim_private as fim
from fim_private.cli.commands import app
from fim_private.counting.counter import clipped_weights
from fim_private.counting.source import ItemSource, LocalItems
from fim_private.reading.frames import may_be_query
from fim_private.reading.locations import InMemory
from fim_private.reading.options import Reading, Times
from fim_private.reading.times import TimeFormat
from fim_private.reading.values import MISSING_TEXTS
from fim_private.warehouse.conditions import WHITE, day, moment, present
from fim_private.warehouse.session import Session, is_query
from fim_private.warehouse.source import View, _with_level_weights

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

COLUMNS: dict[str, Any] = {"basket": "visit", "item": "product"}
USERS = {**COLUMNS, "user": "customer", "missing_user": "drop"}
LISTED: dict[str, Any] = {"catalogue": ["i1", "i2", 5, "i3", "zz"]}
TEN: dict[str, Any] = {**COLUMNS, "top": 10}
TEN_OF_USERS: dict[str, Any] = {**USERS, "top": 10, "units": 10**6}
WRITTEN = "%d/%m/%Y %I:%M %p"
OF_DATES: dict[str, Any] = {"time": "date", "time_format": "%d %b %Y", "period": "2026-02"}
OF_TEXTS = {"time": "written", "time_format": WRITTEN, "missing_time": "drop", "period": "2026-02"}
OF_NUMBERS = {"time": "code", "time_format": "%Y%m%d", "period": "2026-W02"}
BY_BOTH, BY_SHOP = {"basket": ["customer", "basket"]}, {"by": "shop", "segments": ["0.0", "1"]}
OF_FEBRUARY: dict[str, Any] = {"time": "day", "period": "2026-02"}
MONTHS: dict[str, Any] = {"time": "day", "period": "2026-01..2026-03", "per": "month"}
SOME = "store in ('N', 'S') and not (price > 2.5 or day < '2026-01-15')"
LIKE = "product like 'i1_' or product not like '%i%' or price like '2%'"
CASES: dict[str, dict[str, Any]] = {
    "pairs": {**COLUMNS, "top": 20},
    "sizes": {**COLUMNS, "top": 15, "size": "1-3"},
    "customers": {**USERS, "top": 15, "size": "1-3"},
    "rules": {**TEN_OF_USERS, "size": "2-3", "rules": True},
    "nobody is a unit": {**TEN_OF_USERS, "missing_user": "own-unit"},
    "together": {**TEN_OF_USERS, "together": "user", "size": "2-3"},
    "min_support": {**COLUMNS, "min_support": 0.02},
    "catalogue": {**TEN, **LISTED},
    "known": {**TEN, "known": [("i1", "i2")]},
    "with an item": {**TEN, "with_items": ["i1"]},
    "exclude": {**TEN, "exclude": ["i1"], "min_basket": 2},
    "where": {**TEN, "where": SOME},
    "like": {**TEN, "where": LIKE},
    "dates in texts": {**TEN, "time_format": "%d %b %Y", "where": "date >= '2026-01-15'"},
    "period of texts": {**TEN, **OF_TEXTS},
    "period of numbers": {**TEN_OF_USERS, **OF_NUMBERS},
    "baskets by their day": {**TEN_OF_USERS, **OF_DATES, "basket": ["customer", "date"]},
    "segments": {**USERS, "top": 5, "by": "store", "segments": ["N", "S"]},
    "segments of baskets": {**COLUMNS, "top": 5, "by": "store", "segments": ["S", "N"]},
    "period": {**TEN, **OF_FEBRUARY},
    "periods": {**TEN_OF_USERS, "time": "day", "periods": ["2026-01", "2026-02"]},
    "per month": {**TEN_OF_USERS, **MONTHS},
    "limited-domain": {**COLUMNS, "size": 2},
    "limited-domain of customers": {**USERS, "size": 3, "mechanism": "limited-domain"},
    "large-margin": {**COLUMNS, "size": 2, "mechanism": "large-margin"},
    "sized universe": {**COLUMNS, "size": 2, "mechanism": "exponential", "universe_size": 60},
    "exponential": {**COLUMNS, "size": 2, **LISTED},
}


def purchases() -> pa.Table:
    """Rows that no two baskets of a customer keep together, with every odd kind of id and item."""
    draw = np.random.default_rng(7)
    items: list[str | None] = [*(f"i{k}" for k in range(30)), *map(str, range(5, 15))]
    items += ["007", " i3 ", "Ärger", "NULL", "", None]
    kept: list[dict[str, Any]] = []
    for visit in range(2000):
        who = int(draw.integers(0, 500))
        nobody = [None, "", " NULL "][who % 3]
        for place in draw.zipf(1.3, draw.integers(1, 7)) % len(items):
            row: dict[str, Any] = {
                "customer": nobody if who < 30 else f"c{who}{' ' * (visit % 2)}",
                "visit": None if visit % 101 == 0 else visit // 2 if visit % 50 == 0 else visit,
                "product": items[place],
                "store": ["N", "S", "W", " N", None][int(draw.integers(0, 5))],
                "price": int(draw.integers(1, 5)),
                "day": datetime.datetime(2026, 1, 1)
                + datetime.timedelta(hours=int(draw.integers(0, 2000))),
                "code": 20260101 + int(draw.integers(0, 28)),
            }
            day, is_written = row["day"], row["price"] < 4 or row["day"].day < 20
            row |= {"written": f"{day:{WRITTEN}}" if is_written else "soon"}
            kept.append(row | {"date": f"{day.day} {day:%b} {day.year}"})
    return pa.Table.from_pylist([kept[place] for place in draw.permutation(len(kept))])


TABLE = purchases()
ASKED: dict[str, Any] = {"epsilon": 2, "delta": 1e-5, "seed": 3}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch, running_server() as running:
        patch.setenv("PGPASSWORD", PASSWORD)
        con = connected(running)
        con.create_table("sales", obj=ibis.memtable(TABLE))
        con.disconnect()
        yield running


def connected(server: Server) -> Any:
    asked = {"user": "owner", "password": PASSWORD, "database": "shop"}
    return ibis.postgres.connect(host=str(server.folder), **asked)


def in_memory(table: pa.Table, name: str = "sales") -> Any:
    """A connection to DuckDB that has a table of that name."""
    con = ibis.duckdb.connect()
    con.create_table(name, obj=ibis.memtable(table))
    return con


@pytest.fixture(scope="module")
def duckdb_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("warehouse") / "shop.duckdb"
    con = ibis.duckdb.connect(str(path))
    con.create_table("sales", obj=ibis.memtable(TABLE))
    con.disconnect()
    return path


@pytest.mark.parametrize("name", CASES)
def test_releases_are_those_of_one_machine(name: str, server: Server, duckdb_file: Path) -> None:
    asked: dict[str, Any] = {**ASKED, **CASES[name]}
    here = fim.mine(TABLE, **asked).to_dict()
    for address in (f"duckdb:///{duckdb_file}", server.address()):
        assert fim.mine(address, engine="sql", table="sales", **asked).to_dict() == here, address


LISTS: dict[str, Any] = {"items": "items", "top": 20, "size": "2-3", "rules": True}
OF_COUNTRIES: dict[str, Any] = {"by": "Country", "segments": ["France", "Germany"], "top": 10}
OF_COUNTRIES |= {"basket": "InvoiceNo", "item": "StockCode"}
OF_COUNTRIES |= {"user": "CustomerID", "missing_user": "drop"}
OF_ORDERS: dict[str, Any] = {"basket": "order", "item": "product", "user": "customer"}
# What is asked of each data set, and whether of PostgreSQL too, which takes longer.
REAL: dict[str, tuple[dict[str, Any], bool]] = {
    "groceries": (LISTS, True),
    "online_retail": (OF_COUNTRIES, True),
    "valued_shoppers": ({**LISTS, "items": None, **OF_ORDERS}, True),
    **dict.fromkeys(["bms_webview_1", "mushroom", "retail", "t10i4d100k"], (LISTS, False)),
}


@pytest.mark.parametrize("name", REAL)
def test_releases_of_real_data_are_those_of_one_machine(name: str, server: Server) -> None:
    file, (asked, everywhere) = real_data(f"{name}.parquet"), REAL[name]
    asked = {**ASKED, **asked}
    here = fim.mine(file, **asked).to_dict()
    assert fim.mine(file, engine="sql", **asked).to_dict() == here
    if everywhere:
        with adbc.connect(server.address()) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, pyarrow.parquet.read_table(file), mode="create")
            connection.commit()
        there = fim.mine(server.address(), engine="sql", table=name, **asked)
        assert there.to_dict() == here


def test_counts_are_those_of_one_machine(duckdb_file: Path) -> None:
    asked: dict[str, Any] = {**ASKED, **USERS}
    given = [("i1",), ("i1", "i2"), ("i1", "i2", "i3"), ("nothing",)]
    there = fim.count(f"duckdb:///{duckdb_file}", given, engine="sql", table="sales", **asked)
    assert there.to_dict() == fim.count(TABLE, given, **asked).to_dict()


def test_a_table_of_ibis_needs_no_engine_and_nothing_stays(duckdb_file: Path) -> None:
    con = ibis.duckdb.connect(str(duckdb_file), read_only=True)
    release = fim.mine(con.table("sales"), **ASKED, **CASES["pairs"])
    assert release.to_dict() == fim.mine(TABLE, **ASKED, **CASES["pairs"]).to_dict()
    with pytest.raises(fim.WorkLimitError, match="use mechanism levelwise"):
        fim.mine(con.table("sales"), **ASKED, **COLUMNS, top=1, max_work=10)
    temporary = "select table_name from duckdb_tables() where temporary"
    uploaded = "select view_name from duckdb_views() where not internal"
    assert con.con.execute(f"{temporary} union {uploaded}").fetchall() == []
    con.disconnect()


@pytest.mark.parametrize("two_names", ["i7", " i3 "])
def test_lists_and_folders_of_parquet(tmp_path: Path, two_names: str) -> None:
    draw = np.random.default_rng(5)
    names = [two_names if k == 7 else f"i{k}" for k in range(20)]
    sizes = [*draw.integers(0, 6, 990), *[32, 33, 60] * 3, 0]
    columns = {
        "customer": draw.integers(0, 300, 1000),
        "basket": [*([names[k] for k in draw.zipf(1.4, size) % 20] for size in sizes[1:]), None],
        "day": [datetime.date(2026, 1 + k % 3, 1 + k % 28) for k in range(1000)],
    }
    table = pa.table(columns)
    for part in range(2):
        pyarrow.parquet.write_table(table.slice(500 * part, 500), tmp_path / f"part{part}.parquet")
    (tmp_path / "_temporary").mkdir()
    pyarrow.parquet.write_table(table, tmp_path / "_temporary" / "part0.parquet")
    pyarrow.parquet.write_table(table, tmp_path / ".part0.parquet")
    for own in ({}, {"user": "customer"}, OF_FEBRUARY, {"user": "customer", **MONTHS}):
        asked: dict[str, Any] = {**ASKED, **own, "items": "basket", "top": 10, "size": "1-2"}
        for source in (tmp_path, tmp_path / "part[01].parquet"):
            there = fim.mine(source, engine="sql", max_memory="1GB", **asked)
            assert there.to_dict() == fim.mine(table, **asked).to_dict()


@pytest.mark.parametrize(
    ("own", "rows"),
    [
        ({"where": "price >= 2.512345"}, 100),
        ({"where": "price in (2.51, 1e30, 1e-40) or price < -1e40"}, "its type is decimal"),
        ({"where": "weight < 1" + "0" * 400}, 200),
        ({"user": "weight", "missing_user": "own-unit"}, 1),
        ({"time": "day", "period": "2026"}, "without a time"),
        ({"time": "day", "period": "2026", "missing_time": "drop"}, 100),
    ],
)
def test_numbers_and_what_is_missing_are_as_on_one_machine(
    own: dict[str, Any], rows: int | str
) -> None:
    prices = [Decimal("2.512345"), Decimal("2.512344")] * 100
    days = [None, datetime.date(2026, 1, 1)] * 100
    refused = "time" in own and "missing_time" not in own
    table = pa.table(
        {
            "basket": [None if day is None and refused else n for n, day in enumerate(days)],
            "item": ["a"] * 200,
            "price": pa.array(prices, pa.decimal128(18, 6)),
            "weight": [0.0, -0.0] * 100,
            "day": days,
        }
    )
    there = in_memory(table).table("sales")
    asked: dict[str, Any] = {"basket": "basket", "item": "item", "size": 1, "top": 2, "count": True}
    asked |= ASKED | own
    if isinstance(rows, str):
        with pytest.raises(fim.DataError, match=rows):
            fim.mine(there, **asked)
        return
    release = fim.mine(there, **asked)
    assert release.to_dict() == fim.mine(table, **asked).to_dict()
    assert abs((release.units or 0) - rows) < 30


@pytest.mark.parametrize("own", [{}, {"user": "customer"}, BY_BOTH, BY_SHOP])
def test_integers_in_print_are_as_on_one_machine(own: dict[str, Any]) -> None:
    ways, rows = ["{}", "{}.0", " {}.00 ", "0{}", "{}.5"], range(3000)
    table = pa.table(
        {
            "customer": [ways[n % 5].format(n // 10) for n in rows],
            "basket": [ways[n % 3].format(n // 6) for n in rows],
            "item": [ways[n % 4].format(n % 7) for n in rows],
            "shop": [ways[n % 3].format(n % 2) for n in rows],
        }
    )
    asked: dict[str, Any] = {"basket": "basket", "item": "item", "size": "1-2", "top": 9}
    asked |= {"count": True} | ASKED | own
    there = fim.mine(in_memory(table).table("sales"), **asked)
    assert there.to_dict() == fim.mine(table, **asked).to_dict()


def test_what_stands_for_no_value_is_as_on_one_machine() -> None:
    every = [chr(code) for code in range(1, 0x3100) if not 0xD800 <= code < 0xE000]
    bare = pa.compute.utf8_trim_whitespace(pa.array(every)).to_pylist()
    white = [text for text, left in zip(every, bare, strict=True) if not left]
    assert white == re.findall(f"[{WHITE}]", "".join(every))
    texts = [f" {text}\u3000" for text in sorted(MISSING_TEXTS)] + [" a b ", "x"]
    table = ibis.memtable(pa.table({"at": range(len(texts)), "x": texts}))
    found = ibis.duckdb.connect().to_pyarrow(table.mutate(x=lambda t: present(t.x)))
    assert [*filter(None, found.sort_by("at").column("x").to_pylist())] == ["a b", "x"]


def test_a_date_is_compared_with_texts_only_if_their_format_is_said() -> None:
    table = pa.table({"basket": range(40), "item": ["x"] * 40, "day": ["2026-01-05"] * 40})
    asked: dict[str, Any] = {"basket": "basket", "item": "item", "size": 1, **ASKED}
    asked["where"] = "day <> '2026-01-05'"
    source = in_memory(table).table("sales")
    said = r"with a date by <>, and its type is string\. Make a view .*, say with time_format how"
    with pytest.raises(fim.DataError, match=said):
        fim.mine(source, **asked)
    assert not fim.mine(source, time_format="%Y-%m-%d", **asked).itemsets


@pytest.mark.parametrize(
    ("own", "error"),
    [
        ({"table": "nothing"}, "there is no such table"),
        ({"table": None}, "a database needs table"),
        ({"item": "nothing"}, "has no column 'nothing'"),
        ({"user": "customer"}, "has rows without a user"),
        ({"where": "store < 'N'"}, "make a view with the right type"),
        ({"max_basket": 3, "mechanism": "limited-domain"}, "leave out max_basket"),
        ({"items_are_public": True}, "with sql list the items with catalogue"),
        ({"query": "select * from sales"}, "make a view of it, and name that with table"),
        ({"query": "select 1; drop table sales"}, "engine sql takes no query"),
        ({"user": "customer", "basket": ["customer", "visit"]}, "has rows without a user"),
        ({"where": "day like '2026%'"}, "column 'day' of .* with a pattern by like"),
        (OF_TEXTS | {"time_format": None}, "say with time_format how they are written"),
        (OF_TEXTS | {"time_format": "%d/%m/%Y"}, "is not written as time_format"),
        (
            {"where": "written >= '2026-02-01'", "time_format": "%d/%m/%Y"},
            "not all of its values fit time_format",
        ),
        (OF_TEXTS | {"missing_time": None}, "rows without a time"),
    ],
)
def test_errors_are_of_one_line(own: dict[str, Any], error: str, server: Server) -> None:
    with pytest.raises(fim.FimPrivateError, match=f"(?i){error}") as raised:
        fim.mine(server.address(), **{"engine": "sql", "table": "sales", **ASKED, **COLUMNS, **own})
    assert "\n" not in str(raised.value)


def test_a_role_without_rights_is_told_which(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.run(
        "create role guest login password 'x'; grant select on sales to guest; "
        "revoke temporary on database shop from public"
    )
    monkeypatch.setenv("PGPASSWORD", "x")
    with pytest.raises(fim.DataError, match="GRANT TEMPORARY ON DATABASE"):
        fim.mine(server.address(user="guest"), engine="sql", table="sales", **ASKED, **COLUMNS)
    monkeypatch.setenv("PGPASSWORD", "wrong")
    with pytest.raises(fim.DataError) as raised:
        fim.mine(server.address(user="guest"), engine="sql", table="sales", **ASKED, **COLUMNS)
    assert "wrong" not in str(raised.value)


VISITS_AND_VIEW = """
    create table visits as
        select n as visit, 'milk' as item, timestamp '2026-01-10 00:00:00' as day
        from generate_series(0, 299) as january(n)
        union all
        select n, 'tea', timestamp '2026-02-10 00:00:00' from generate_series(0, 299) as february(n);
    create view since_february as select * from visits where day >= '2026-02-01';
"""  # noqa: E501


@pytest.fixture(params=["duckdb", "postgresql"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database with visits of January, each of which has a row of February too."""
    if request.param == "duckdb":
        path = tmp_path / "visits.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(VISITS_AND_VIEW)
        return f"duckdb:///{path}"
    running: Server = request.getfixturevalue("server")
    running.run(f"drop table if exists visits cascade; {VISITS_AND_VIEW}")
    return running.address()


VISITS: dict[str, Any] = {"engine": "sql", "basket": "visit", "item": "item", "size": 1, "top": 2}


def test_a_view_is_charged_to_all_periods(shop: str, tmp_path: Path) -> None:
    """The same visits are of January in the table, and of February in the view."""
    for second, charged_to in (("since_february", None), ("visits", "2026-02")):
        ledger = fim.Ledger.create(tmp_path / f"{second}.ledger", epsilon=10, delta=1e-3)
        asked = {**VISITS, "time": "day", "ledger": ledger, "dataset": "visits"}
        fim.mine(shop, table="visits", period="2026-01", **asked)
        fim.mine(shop, table=second, period="2026-02", **asked)
        spans = [entry.span for entry in ledger.entries]
        assert [span and span.period for span in spans] == ["2026-01", charged_to]


def test_a_view_hides_how_many_it_chose(shop: str) -> None:
    asked: dict[str, Any] = {**VISITS, "neighbors": "replace-one"}
    table = fim.mine(shop, table="visits", **asked)
    assert table.units == 300
    assert "by any other changes the probability" in table.guarantee
    said = "does not hide which baskets are chosen by a condition, a query"
    with pytest.warns(fim.PrivacyWarning, match=said):
        view = fim.mine(shop, table="since_february", **asked)
    assert view.units is None
    assert view.to_dict()["query"] is True
    assert "by any other that the query keeps as well changes the probability" in view.guarantee
    assert "Only rows that a query returned were read." in view.rows_read


def test_what_of_a_database_is_a_query(duckdb_file: Path, tmp_path: Path, server: Server) -> None:
    file = tmp_path / "it's (1).parquet"
    pyarrow.parquet.write_table(TABLE, file)
    con = ibis.duckdb.connect()
    named = str(file).replace("'", "''")
    for statement in (
        f"attach '{duckdb_file}' as shop (read_only)",
        "create table Sales as select * from shop.main.sales",
        "create temp table hidden as from sales",
        "create schema other",
        "create table other.own as from sales",
        "create view other.seen as from sales",
        "create temp view hidden_view as from sales",
        "create view ibis_read_parquet_x as "
        f"select * from (select * from read_parquet('{named}') limit 9)",
        "create table shadowed as from sales",
        "create temp view shadowed as from sales where visit < 9",
    ):
        con.raw_sql(statement)
    sales = con.table("Sales")
    plain = {
        "table": sales,
        "temporary": con.table("hidden"),
        "of a schema": con.table("own", database="other"),
        "attached": con.table("sales", database=("shop", "main")),
        "Parquet": con.read_parquet(file),
        "memory": ibis.memtable(TABLE),
    }
    queries = {
        "view": con.table("seen", database="other"),
        "temporary view": con.table("hidden_view"),
        "view of a file": con.table("ibis_read_parquet_x"),
        "view that hides a table": con.table("shadowed"),
        "filter": sales.filter(sales.visit < 100),
        "limit": sales.limit(10),
        "projection": sales.select("visit", "product"),
        "filtered memory": ibis.memtable(TABLE).limit(3),
    }
    for name, table in (plain | queries).items():
        assert is_query(table, None, Reading()) == (name in queries), name
    con.disconnect()
    server.run(
        """create materialized view copied as select * from sales;
        create table secret as select * from sales;
        create role clerk login password 'x'; grant select on secret, sales to clerk;
        alter table secret enable row level security;
        create policy p on secret using (visit < 10);"""
    )
    with pytest.MonkeyPatch.context() as patch:
        for user, name, is_one in (
            *(("owner", name, False) for name in ("sales", "public.sales", "secret")),
            ("owner", "copied", True),
            ("clerk", "secret", True),
            ("clerk", "sales", False),
        ):
            patch.setenv("PGPASSWORD", PASSWORD if user == "owner" else "x")
            assert is_query(server.address(user=user), name, Reading()) == is_one, name
    server.run(
        "drop materialized view copied; drop table secret; drop owned by clerk; drop role clerk"
    )


def test_what_of_duckdb_itself_is_a_query(tmp_path: Path) -> None:
    con = duckdb.connect()
    con.execute("create table sales as select 1 as visit, 'tea' as item")
    con.execute("create view seen as from sales")
    pyarrow.parquet.write_table(TABLE, tmp_path / "sales.parquet")
    sales, file = con.table("sales"), con.read_parquet(str(tmp_path / "sales.parquet"))
    plain = {"table": sales, "file": file}
    (tmp_path / "sales.csv").write_text("item,visit\ntea,1\n#milk,2\n")
    queries = {
        "text": con.read_csv(str(tmp_path / "sales.csv")),
        "text without comments": con.read_csv(str(tmp_path / "sales.csv"), comment="#"),
        "view": con.view("seen"),
        "table of a view": con.table("seen"),
        "query": con.sql("select * from sales where visit > 0"),
        "all of a table": con.sql("from sales"),
        "filter": sales.filter("visit > 0"),
        "filter with a name": sales.filter("visit > 0").set_alias("sales"),
        "filter of a file": file.filter("visit > 0").set_alias("x"),
        "limit": sales.limit(1),
        "reader": con.from_arrow(TABLE.to_reader()),
    }
    for name, relation in (plain | queries).items():
        assert may_be_query(InMemory(relation)) == (name in queries), name


ZONES = ("UTC", "Asia/Tokyo", "America/New_York")
# The last hours of January in UTC, which are February in Tokyo; and times without a zone, as they
# are written.
LATE = [datetime.datetime(2026, 1, 31, 20), datetime.datetime(2026, 2, 1, 3)]
TIMES = pa.table(
    {
        "visit": range(400),
        "item": ["milk"] * 400,
        "zoned": pa.array(LATE * 200, pa.timestamp("us", "UTC")),
        "plain": pa.array(LATE * 200, pa.timestamp("us")),
    }
)
OF_TIMES: dict[str, dict[str, Any]] = {
    "period": {"time": "zoned", "period": "2026-01"},
    "days": {"time": "zoned", "start": "2026-01-31", "end": "2026-01-31"},
    "plain period": {"time": "plain", "period": "2026-01"},
    "where": {"where": "zoned < '2026-02-01'"},
    "plain where": {"where": "plain < '2026-02-01'"},
    "where with a zone": {"where": "zoned < '2026-02-01T00:00:00+00:00'"},
}


@pytest.mark.parametrize("zone", ZONES)
def test_a_day_is_of_utc_whatever_the_zone_of_a_session(zone: str, server: Server) -> None:
    """A basket of late January is in no release of February, whatever the session believes."""
    asked: dict[str, Any] = {"basket": "visit", "item": "item", "size": 1, "count": True}
    asked |= {"epsilon": 9, "seed": 1}
    con, there = in_memory(TIMES, "times"), connected(server)
    con.raw_sql(f"set timezone = '{zone}'")
    there.create_table("times", obj=ibis.memtable(TIMES), temp=True)
    there.raw_sql(f"set time zone '{zone}'").close()
    for own in OF_TIMES.values():
        here = fim.mine(TIMES, **asked, **own)
        assert abs((here.units or 0) - 200) < 20
        for table in (con.table("times"), con.con.table("times"), there.table("times")):
            assert fim.mine(table, **asked, **own).units == here.units
    for backend in (con, there):
        backend.disconnect()


def test_a_zone_that_a_database_cannot_be_asked_for_is_refused() -> None:
    kinds = {"visit": "int64", "item": "string", "day": "timestamp('UTC')"}
    asked: dict[str, Any] = {"dialect": "exasol", "basket": "visit", "item": "item", "top": 5}
    said = "column 'day' of the table of Ibis has times with a zone"
    for own in ({"time": "day", "period": "2026-02"}, {"where": "day >= '2026-02-01'"}):
        with pytest.raises(fim.DataError, match=said):
            fim.queries(ibis.table(kinds, name="sales"), **asked, **own)


# Databases that are not here: their queries are compiled, and stand in files that a reviewer can
# read.
COMPILED = ("bigquery", "clickhouse", "databricks", "snowflake", "trino")
COMPILED_REQUEST: dict[str, Any] = {
    "user": "customer",
    "missing_user": "own-unit",
    "basket": ["store", "visit"],
    "item": "product",
    "top": 20,
    "size": "2-3",
    "rules": True,
    "exclude": ["bag"],
    "min_basket": 2,
    "where": "price < 2.5 and store is not null and day >= '2026-02-10'",
    "time": "day",
    "period": "2026-02",
    "missing_time": "drop",
}


def sent(dialect: str) -> str:
    """Return the queries of one request, in a dialect: each once, whatever its numbers are."""
    columns = dict.fromkeys(("customer", "product", "store"), "string")
    columns |= {"visit": "int64", "price": "float64", "day": "timestamp('UTC')"}
    table = ibis.table({name: columns[name] for name in ORDER}, name="sales")
    queries = fim.queries(table, dialect=dialect, **ASKED, **COMPILED_REQUEST)
    distinct = {re.sub(r"\d+", "", query): query for query in reversed(queries)}
    return "".join(f"{query}\n\n" for query in reversed(distinct.values()))


ORDER = ("customer", "visit", "product", "store", "price", "day")


@pytest.mark.parametrize("dialect", COMPILED)
def test_queries_are_compiled_for_databases_that_are_not_here(
    dialect: str, request: pytest.FixtureRequest
) -> None:
    """Run with FIM_WRITE_QUERIES=1 to write the files anew."""
    file, found = Path(__file__).with_name("queries") / f"{dialect}.sql", sent(dialect)
    if os.environ.get("FIM_WRITE_QUERIES"):
        file.write_text(found, encoding="utf-8")
    # Line breaks and blanks differ between versions of sqlglot.
    assert found.split() == file.read_text(encoding="utf-8").split()


@pytest.mark.parametrize("dialect", COMPILED)
def test_times_in_texts_are_compiled_for_databases_that_are_not_here(dialect: str) -> None:
    table, session = ibis.table({"written": "string"}, name="sales"), Session("", None, dialect, [])
    for written in ("%d/%m/%Y", "%d %b %Y %I:%M:%S.%f %p"):
        shape = TimeFormat(written)
        days = day(table.written, Times("written", format=shape), session)
        found = table.select(day=days, moment=moment(table.written, shape))
        assert "31" in ibis.to_sql(found, dialect=dialect)


@pytest.mark.parametrize(
    "name", ["customers", "rules", "catalogue", "segments", "periods", "limited-domain"]
)
def test_a_dry_run_has_every_query_of_a_true_one(
    name: str, duckdb_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, true = {**ASKED, **CASES[name]}, list[str]()
    con = ibis.duckdb.connect(str(duckdb_file), read_only=True)

    def noting(ask: Callable[..., Any]) -> Callable[..., Any]:
        def noted(session: Session, expression: Any, *given: Any) -> Any:
            if session.queries is None:
                true.append(str(con.compile(expression)))
            return ask(session, expression, *given)

        return noted

    for method in ("rows", "keep"):
        monkeypatch.setattr(Session, method, noting(getattr(Session, method)))
    fim.mine(con.table("sales"), **asked)
    con.disconnect()

    def plain(query: str) -> str:
        query = re.sub(r"fim_([a-z]+)_[0-9a-f]{8}", r"fim_\1", query)
        return re.sub(
            r'^CREATE TEMPORARY TABLE fim_[a-z]+ AS|"temp"."main".|( OFFSET)? ?\b[0-9]+|[\s;]',
            "",
            query,
        )  # numbers are made up

    dry = {*map(plain, fim.queries(f"duckdb:///{duckdb_file}", table="sales", **asked))}
    asked_of_tables = {plain(query) for query in true if "fim_upload" not in query}
    assert len(asked_of_tables) > 8
    assert asked_of_tables <= dry


def test_a_dry_run_charges_nothing(duckdb_file: Path, tmp_path: Path) -> None:
    ledger = fim.Ledger.create(tmp_path / "sales.ledger", epsilon=1, delta=1e-5)
    queries = fim.queries(
        f"duckdb:///{duckdb_file}", table="sales", ledger=ledger, dataset="sales", **COLUMNS, top=5
    )
    assert any(query.startswith("CREATE TEMPORARY TABLE fim_entries") for query in queries)
    assert not ledger.entries
    unknown = ibis.table({"visit": "int64", "product": "string"}, name="sales")
    with pytest.raises(fim.DataError, match=r"^the table of Ibis: it failed \(\w+\)$"):
        fim.queries(unknown, dialect="nothing", **COLUMNS, top=5)
    with pytest.raises(fim.ParameterError, match="only engine sql sends queries"):
        fim.queries(TABLE, engine="local", **COLUMNS, top=5)


@pytest.mark.parametrize("scale", [1, 7, 1 << 16])
def test_level_weights_are_exact_whole_numbers(scale: int) -> None:
    """Also of perfect squares, and of numbers at which a float is rounded up."""
    small = [(times, total) for total in range(1, 120) for times in range(1, total + 1)]
    squares = [(k * k, k * k * m * m) for k in (1, 3, 99) for m in (2, 7, 300)]
    large = [(times, total) for total in (2**30, 2**30 - 1) for times in (1, 2**29, total - 1)]
    below = [(times, total + 1) for times, total in [*squares, *large]]
    times, totals = zip(*small, *squares, *large, *below, strict=True)
    held = ibis.memtable({"times": times, "total": totals})
    weights = _with_level_weights(held, scale).to_pandas()
    exact = [
        math.isqrt(scale * scale * row.times // row.total)
        for row in weights.itertuples(index=False)
    ]
    assert weights.weight.tolist() == exact


def all_sums(items: ItemSource) -> list[list[int]]:
    """Return every kind of sum that a run asks for, of nine items."""
    sums = []
    for most in (1, 3, 20):  # units are cut, or not
        sums += [items.level_sums(1 << 16, most), items.sums(np.arange(most + 1) ** 2)]
    among = items.among(np.array([4, 1, 7, 0, 8, 5]))
    sums.append(among.pair_level_sums(1 << 16))
    pairs, triples = (np.array([*combinations(range(6), size)], dtype=np.int32) for size in (2, 3))
    # Some are in the table of those before, and others need one of their own.
    for sets in ([pairs, triples[:9]], [pairs[3:8]], [triples[2:5]], [triples[10:]]):
        weights = clipped_weights(2, sum(map(len, sets)), 1 << 16)
        sums += [among.sums(sets, weights), among.units_with(sets)]
        sums.append(among.level_sums(sets[-1], 1 << 16))
    return [vector.tolist() for vector in sums]


@pytest.mark.parametrize("unit", ["basket", "user", "united user"])
@pytest.mark.parametrize("seed", range(3))
def test_every_sum_is_that_of_one_machine(unit: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    users, items = draw.integers(0, 6, 200), np.append(range(9), draw.integers(0, 9, 191))
    baskets = users * 5 + draw.integers(0, 5, 200)
    columns: dict[str, Any] = {"basket": "basket", "item": "item"}
    if unit != "basket":
        columns["user"] = "user"
    table = pa.table({"user": users, "basket": baskets, "item": items})
    here = replace(fim.read_transactions(table, **columns), together=unit == "united user")
    units = users if here.by_user else baskets
    session = Session("the test", ibis.duckdb.connect(), "duckdb", None)
    rows = session.upload({"unit": units, "basket": baskets, "item": items}, "rows")
    entries = session.keep(rows.distinct(), "entries")
    public = (9, here.units, here.by_user, here.together, here.vocabulary.label)
    assert all_sums(View(session, entries, *public)) == all_sums(LocalItems(here))


def test_a_lost_connection_keeps_the_charge(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = fim.Ledger.create(tmp_path / "sales.ledger", epsilon=3, delta=1e-5)
    counted, others = View.summed, "pid <> pg_backend_pid() and usename = 'owner'"

    def lost(self: View, *given: Any) -> Any:
        server.run(f"select pg_terminate_backend(pid) from pg_stat_activity where {others}")
        return counted(self, *given)

    monkeypatch.setattr(View, "summed", lost)
    asked: dict[str, Any] = {"table": "sales", "ledger": ledger, "dataset": "sales", **USERS}
    said = "the connection was lost: nothing is released, and what was charged stays"
    with pytest.raises(fim.DataError, match=said):
        fim.mine(server.address(), engine="sql", top=50, **asked)
    assert len(ledger.entries) == 1


DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "warehouse.md").read_text(
    encoding="utf-8"
)
SHOWN = re.findall(r"^```(sh|python|sql)\n(.*?)^```$", DOCUMENT, flags=re.MULTILINE | re.DOTALL)


def test_what_the_document_shows_runs(server: Server, tmp_path: Path) -> None:
    """In the order of the page: views and roles first, then queries, a ledger and the release."""
    datasets = Path(__file__).resolve().parents[2] / "datasets"
    (tmp_path / "datasets").symlink_to(datasets, target_is_directory=True)
    server.run(
        "alter table sales rename to all_sales; create view sales as "
        "select customer as customer_id, visit as order_id, product from all_sales"
    )
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = os.environ | {"PATH": path, "PGPASSWORD": "ask-your-vault"}
    address = f"'{server.address(user='miner')}'"
    try:
        for language, text in SHOWN:
            if language == "sql":
                server.run(text)
                continue
            shown = re.sub(r"(?m)^pip install.*\n", "", text)
            shown = shown.replace("postgresql://miner@db.example/shop", address)
            command = ["sh", "-ec"] if language == "sh" else [sys.executable, "-c"]
            done = subprocess.run(
                [*command, shown],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
            )
            assert done.returncode == 0, done.stderr[-2000:]
    finally:
        server.run(
            "drop view purchases, sales; alter table all_sales rename to sales; "
            "drop owned by miner; drop role miner"
        )
    assert "CREATE TEMPORARY TABLE fim_entries" in (tmp_path / "queries.sql").read_text()
    assert fim.load(tmp_path / "release.json").privacy_unit == "user"
    assert len(fim.Ledger(tmp_path / "purchases.ledger").entries) == 1


def test_a_dry_run_on_the_command_line_leaves_files_as_they_are(
    duckdb_file: Path, tmp_path: Path
) -> None:
    options = "--engine sql --table sales --dry-run --basket visit --item product --top 5"
    command = ["mine", f"duckdb:///{duckdb_file}", *options.split()]
    assert "CREATE TEMPORARY TABLE fim_entries" in CliRunner().invoke(app, command).stdout
    kept = tmp_path / "kept"
    kept.write_text("a release")
    for option in ("--output", "--report"):
        refused = CliRunner().invoke(app, [*command, option, str(kept)]).exception
        assert isinstance(refused, fim.ParameterError)
        assert kept.read_text() == "a release"


def test_a_database_without_temporary_tables_is_named(
    duckdb_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    con = ibis.duckdb.connect(str(duckdb_file), read_only=True)

    def refused(*given: Any, **options: Any) -> Any:
        raise NotImplementedError("Temporary tables are not supported")

    monkeypatch.setattr(con, "create_table", refused)
    with pytest.raises(fim.DataError, match="makes no temporary tables there"):
        fim.mine(con.table("sales"), **ASKED, **CASES["pairs"])
    con.disconnect()
