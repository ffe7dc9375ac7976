"""The same sales in every kind of source."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

# Texts, of which most look like numbers.
CODES = ["10", "9", "100", "85123A", "007", "22469", "-3", "POST", "22470", "0", "20", "1e3"]
COLUMNS: dict[str, Any] = {"user": "customer_id", "basket": "order_id", "item": "product"}
QUERY = "select * from sales"


def sales(seed: int = 1, orders: int = 400) -> pa.Table:
    """One row per item, in no order: orders are not together. Some customers and products are
    missing.
    """
    draw = random.Random(seed)
    products = [f"product {place}" for place in range(12)]
    rows = []
    for order in range(orders):
        customer = None if order % 50 == 7 else draw.randrange(150)
        bought = {products[min(int(draw.expovariate(0.4)), 11)] for _ in range(4)}
        rows += [
            (
                customer,
                order,
                product,
                ["France", "Spain", None][order % 3],
                f"2011-{order % 12 + 1:02}-15",
                price,
                code,
            )
            for product in sorted(bought)
            for price, code in [(round(draw.random() * 20, 2), CODES[products.index(product)])]
        ]
    draw.shuffle(rows)
    names = ["customer_id", "order_id", "product", "country", "day", "price", "code"]
    table = pa.table(
        {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    )
    return table.set_column(4, "day", table["day"].cast(pa.date32()))


def as_sqlite(table: pa.Table, path: Path) -> str:
    """Write a table to a SQLite file; return its address."""
    rows = [
        tuple(str(value) if name == "day" else value for name, value in row.items())
        for row in table.to_pylist()
    ]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"create table sales ({', '.join(table.column_names)})")
        connection.executemany(
            f"insert into sales values ({', '.join('?' * table.num_columns)})", rows
        )
        connection.commit()
    return f"sqlite:///{path}"


def as_csv(table: pa.Table, path: Path) -> Path:
    """Write a table to a CSV; return its path."""
    pa.csv.write_csv(table, path)
    return path


def as_partitions(table: pa.Table, folder: Path) -> Path:
    """Write a table to Parquet in a folder for each country; return the folder."""
    by_country = pyarrow.dataset.partitioning(
        pa.schema([table.schema.field("country")]), flavor="hive"
    )
    pyarrow.dataset.write_dataset(
        table,
        folder,
        format="parquet",
        partitioning=by_country,
        max_rows_per_group=50,
        max_rows_per_file=100,
    )
    return folder
