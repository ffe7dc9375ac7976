"""A real PostgreSQL server, whose programs it needs, and the same sales in every kind of source."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from patience import python
from postgres_server import PASSWORD, Server, running_server
from sales import COLUMNS, QUERY, as_csv, as_partitions, as_sqlite, sales
from sources import labels_of

import fim_private as fim
from fim_private.reading.purchases import read_transactions

pytestmark = pytest.mark.full

SALES = sales()
ASKED: dict[str, Any] = {**COLUMNS, "missing_user": "drop"}
MINED: dict[str, Any] = {**ASKED, "size": "1-2", "top": 8, "supports": True, "epsilon": 20}
MINED |= {"seed": 1}
COLUMN_KINDS = (
    "customer_id bigint, order_id integer, product text, country varchar(20), day date, "
    "price numeric(10, 2), code text"
)


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with running_server() as server:
        values = (row.values() for row in SALES.to_pylist())
        cells = (["\\N" if v is None else str(v) for v in row] for row in values)
        rows = "\n".join(map("\t".join, cells))
        server.run(f"create table sales ({COLUMN_KINDS});\ncopy sales from stdin;\n{rows}\n\\.\n")
        yield server


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return running


def every_source(server: Server, folder: Path) -> dict[str, tuple[Any, dict[str, Any]]]:
    """The same sales: each with what has to be said beside the columns."""
    import duckdb

    pyarrow.parquet.write_table(SALES, folder / "sales.parquet", row_group_size=100)
    return {
        "table": (SALES, {}),
        "PostgreSQL": (server.address(), {"query": QUERY}),
        "SQLite": (as_sqlite(SALES, folder / "shop.db"), {"query": QUERY}),
        "DuckDB": (duckdb.connect().sql(f"select * from '{folder}/sales.parquet'"), {}),
        "Parquet": (folder / "sales.parquet", {}),
        "partitions": (as_partitions(SALES, folder / "partitions"), {}),
        "CSV": (as_csv(SALES, folder / "sales.csv"), {}),
        "pandas": (SALES.to_pandas(), {}),
    }


def told(release: fim.Release) -> str:
    """All that it says, but whether a query chose the rows."""
    return json.dumps({k: value for k, value in release.to_dict().items() if k != "query"})


QUERIES = ["PostgreSQL", "SQLite", "DuckDB"]


@pytest.mark.parametrize(
    "where",
    [
        None,
        "country = 'France'",
        "day >= '2011-06-01' and not price > 10",
        "country is null or customer_id in (1, 2, 3)",
    ],
)
def test_sources_give_the_same_release(where: str | None, server: Server, tmp_path: Path) -> None:
    sources = every_source(server, tmp_path).items()
    releases = {key: fim.mine(data, **said, **MINED, where=where) for key, (data, said) in sources}
    assert len({*map(told, releases.values())}) == 1, releases.keys()
    assert [name for name, release in releases.items() if release.scope.query] == QUERIES
    if where is None:
        assert len(releases["table"].itemsets) > 8
    else:
        assert told(releases["table"]) != told(fim.mine(SALES, **MINED))


KINDS = {
    "bigint": ("39", [39]),
    "numeric(10, 2)": ("2.50", ["2.50"]),
    "text": ("'39'", [39]),
    "char(5)": ("'tea'", ["tea"]),
    "date": ("'2024-02-29'", ["2024-02-29"]),
    "jsonb": ("""'{"a": 1}'""", ['{"a": 1}']),
    "interval": ("'1 day'", ["1 day"]),
    "boolean": ("true", ["true"]),
    "mood": ("'good'", ["good"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_items_of_every_type(kind: str, server: Server) -> None:
    value, labels = KINDS[kind]
    if kind == "mood":
        server.run("drop type if exists mood cascade; create type mood as enum ('good', 'bad')")
    query = f"select cast({value} as {kind}) as one, 'x' as other union all select null, 'x'"
    for item, basket, expected in (("one", "other", labels), ("other", "one", ["x"])):
        asked: Any = {"query": query, "item": item, "basket": basket, "input_format": "long"}
        read = read_transactions(server.address(), **asked)
        assert read.baskets == 1
        assert labels_of(read.vocabulary) == expected


NO_SELECT = "it is not a single select that the database understands"
FAILS = [
    ("select * from nowhere", "there is no such table (SQLSTATE 42P01)"),
    ("select nothing from sales", "there is no such column (SQLSTATE 42703)"),
    ("select from where", "(SQLSTATE 42601)"),
    ("select * from sales; delete from sales", NO_SELECT),
    ("select * from sales) as t; drop table sales; --", NO_SELECT),
    ("with gone as (delete from sales returning *) select * from gone", "(SQLSTATE 0A000)"),
    ("select nextval('numbers') as order_id, 'x' as product", "it failed"),
    ("select order_id / (price * 0) as order_id, 'x' as product from sales", "it failed"),
    ("select cast(product as int) as order_id, 'x' as product from sales", "it failed"),
    ("select rolname as order_id, rolpassword as product from pg_authid", "(SQLSTATE 42501)"),
]


@pytest.mark.parametrize(("query", "message"), FAILS)
def test_a_refusal_is_one_line_without_values(query: str, message: str, server: Server) -> None:
    server.run(
        f"""create sequence if not exists numbers;
        do $$ begin create role reader login password '{PASSWORD}';
        exception when duplicate_object then null; end $$;
        grant select on sales to reader; grant all on numbers to reader;"""
    )
    with pytest.raises(fim.DataError) as caught:
        fim.mine(server.address(user="reader"), query=query, basket="order_id", item="product")
    found = str(caught.value)
    assert message in found
    assert found.startswith("query gives nothing from 'postgresql:///shop?host=")
    assert "\n" not in found
    assert "product 1" not in found
    assert read_transactions(server.address(), query=QUERY, **ASKED).baskets


@pytest.mark.parametrize(
    "change",
    [{"user": "stranger"}, {"database": "elsewhere"}, {"password": "wr0ng"}, {"host": "/nowhere"}],
)
def test_no_connection_is_one_line_without_password(change: dict[str, str], server: Server) -> None:
    with pytest.raises(fim.DataError, match="cannot be connected to") as caught:
        fim.mine(server.address(**change), query=QUERY, **ASKED)
    assert "wr0ng" not in str(caught.value)
    assert PASSWORD not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("form", [(), ("--format", "json")])
@pytest.mark.parametrize("command", ["mine", "inspect"])
def test_a_password_is_shown_nowhere(command: str, form: tuple[str, ...], server: Server) -> None:
    secret = "tell%40no%2Fone%3F"
    address = f"postgresql://owner:{secret}@/shop?host={server.folder}"
    named = [word for name, column in COLUMNS.items() for word in (f"--{name}", column)]
    words = [command, address, "--query", QUERY, *named, "--missing-user", "drop", *form]
    done = python("-m", "fim_private", *words, PGPASSWORD="")
    printed = done.stdout + done.stderr
    assert secret not in printed
    assert PASSWORD not in printed
    if command == "inspect":
        assert "postgresql://owner:***@/shop" in printed
        assert "--query" in printed
