"""The same sales in every kind of source."""

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
    """One row per item, in no order. Some customers and products are missing."""
    draw = random.Random(seed)
    products = [f"product {place}" for place in range(12)]
    rows = []
    for order in range(orders):
        customer = None if order % 50 == 7 else draw.randrange(150)
        country, day = ["France", "Spain", None][order % 3], f"2011-{order % 12 + 1:02}-15"
        bought = {products[min(int(draw.expovariate(0.4)), 11)] for _ in range(4)}
        for product in sorted(bought):
            price, code = round(draw.random() * 20, 2), CODES[products.index(product)]
            rows.append((customer, order, product, country, day, price, code))
    draw.shuffle(rows)
    names = ["customer_id", "order_id", "product", "country", "day", "price", "code"]
    table = pa.table([pa.array(column) for column in zip(*rows, strict=True)], names=names)
    return table.set_column(4, "day", table["day"].cast(pa.date32()))


def as_sqlite(table: pa.Table, path: Path) -> str:
    """Write a table to a SQLite file; return its address."""
    named = (row.items() for row in table.to_pylist())
    rows = [tuple(str(v) if name == "day" else v for name, v in row) for row in named]
    marks = ", ".join("?" * table.num_columns)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"create table sales ({', '.join(table.column_names)})")
        connection.executemany(f"insert into sales values ({marks})", rows)
        connection.commit()
    return f"sqlite:///{path}"


def as_csv(table: pa.Table, path: Path) -> Path:
    """Write a table to a CSV; return its path."""
    pa.csv.write_csv(table, path)
    return path


def as_partitions(table: pa.Table, folder: Path) -> Path:
    """Write a table to Parquet in a folder for each country; return the folder."""
    country = pa.schema([table.schema.field("country")])
    pyarrow.dataset.write_dataset(
        table,
        folder,
        format="parquet",
        partitioning=pyarrow.dataset.partitioning(country, flavor="hive"),
        max_rows_per_group=50,
        max_rows_per_file=100,
    )
    return folder
