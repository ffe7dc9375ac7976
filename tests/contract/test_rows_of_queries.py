"""What is no plain table, nor a file or frame of its rows, is read as of a query."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import fim_private as fim
from fim_private.learning.voting import voted
from fim_private.reading.frames import may_be_query
from fim_private.reading.locations import InMemory

LISTS = [["milk", "tea"], ["milk"]] * 150
JANUARY, FEBRUARY = (datetime.datetime(2026, month, 10) for month in (1, 2))
# Each basket has a row of January and one of February: by all of its rows it is of January.
SALES = pa.table(
    {
        "visit": [visit for visit in range(300) for _ in range(2)],
        "item": ["milk", "tea"] * 300,
        "day": [JANUARY, FEBRUARY] * 300,
    }
)
SINCE_FEBRUARY = ds.field("day") > JANUARY


class Stream:
    """Any library's object that hands over an Arrow stream."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Baskets:
    """Baskets that are made as they are asked for."""

    def __iter__(self) -> Iterator[list[str]]:
        return iter(LISTS)


def parquet(folder: Path) -> Path:
    path = folder / "sales.parquet"
    pq.write_table(SALES, path)
    return path


PLAIN: dict[str, Callable[[Path], Any]] = {
    "an Arrow table": lambda folder: SALES,
    "an Arrow batch": lambda folder: SALES.to_batches()[0],
    "an Arrow array": lambda folder: pa.array(LISTS),
    "a frame of pandas": lambda folder: SALES.to_pandas(),
    "a series of pandas": lambda folder: pd.Series(LISTS),
    "a frame of polars": lambda folder: pl.DataFrame(SALES),
    "a series of polars": lambda folder: pl.Series(LISTS),
    "a lazy frame of polars": lambda folder: pl.DataFrame(SALES).lazy(),
    "a scan of polars": lambda folder: pl.scan_parquet(parquet(folder)),
    "a dataset": lambda folder: ds.dataset(parquet(folder)),
    "a dataset in memory": lambda folder: ds.dataset(SALES),
    "a matrix": lambda folder: scipy.sparse.csr_matrix([[True, False]]),
    "a list": lambda folder: LISTS,
    "values of a dict": lambda folder: dict(enumerate(LISTS)).values(),
}
QUERIES: dict[str, Callable[[Path], Any]] = {
    "a filtered lazy frame": lambda folder: (
        pl.DataFrame(SALES).lazy().filter(pl.col("day") > JANUARY)
    ),
    "the head of a lazy frame": lambda folder: pl.DataFrame(SALES).lazy().head(3),
    "a scan of some rows": lambda folder: pl.scan_parquet(parquet(folder), n_rows=3),
    "a scan of a dataset": lambda folder: pl.scan_pyarrow_dataset(ds.dataset(parquet(folder))),
    "a lazy frame that fails": lambda folder: pl.DataFrame(SALES).lazy().select("nothing"),
    "a filtered dataset": lambda folder: ds.dataset(parquet(folder)).filter(SINCE_FEBRUARY),
    "a scanner": lambda folder: ds.dataset(parquet(folder)).scanner(filter=SINCE_FEBRUARY),
    "a reader": lambda folder: SALES.to_reader(),
    "a stream": lambda folder: Stream(SALES),
    "a generator": lambda folder: iter(LISTS),
    "an iterable without a length": lambda folder: Baskets(),
}


@pytest.mark.every_case
@pytest.mark.parametrize("name", [*PLAIN, *QUERIES])
def test_what_is_a_query(name: str, tmp_path: Path) -> None:
    source = (PLAIN | QUERIES)[name](tmp_path)
    assert may_be_query(InMemory(source)) == (name in QUERIES)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "name", ["a frame of polars", "a reader", "a stream", "a scanner", "a filtered dataset"]
)
def test_it_is_stated_and_hides_how_many_were_chosen(name: str, tmp_path: Path) -> None:
    source = PLAIN | QUERIES
    asked: dict[str, Any] = {"basket": "visit", "item": "item", "neighbors": "replace-one"}
    for ask in (
        lambda data: fim.mine(data, size=1, seed=1, **asked),
        lambda data: fim.count(data, [["tea"]], count=False, seed=1, **asked),
        lambda data: voted(data, fim.HighestConfidence(min_share=0.1), seed=1, **asked),
        lambda data: fim.mine(
            fim.read_transactions(data, basket="visit", item="item"),
            size=1,
            seed=1,
            neighbors="replace-one",
        ),
    ):
        release = ask(source[name](tmp_path))
        assert release.scope.query == (name in QUERIES)
        assert (release.units is None) == (name in QUERIES)
        assert release.to_dict().get("query", False) == (name in QUERIES)


def test_it_is_charged_to_all_periods(tmp_path: Path) -> None:
    """The same 300 baskets are of January by all rows, and of February by the rows of February."""
    asked: dict[str, Any] = {
        "basket": "visit",
        "item": "item",
        "time": "day",
        "size": 1,
        "dataset": "sales",
    }
    spent = {}
    lazy = pl.DataFrame(SALES).lazy()
    for name, since in (("query", lazy.filter(pl.col("day") > JANUARY)), ("table", lazy)):
        ledger = fim.Ledger.create(tmp_path / f"{name}.ledger", epsilon=10, delta=1e-3)
        fim.mine(SALES, period="2026-01", ledger=ledger, **asked)
        fim.mine(since, period="2026-02", ledger=ledger, **asked)
        first, second = ledger.entries
        assert first.span is not None
        assert first.span.period == "2026-01"
        assert second.span is not None
        assert second.span.period == (None if name == "query" else "2026-02")
        assert second.parameters.get("query", False) == (name == "query")
        spent[name] = ledger.left
    assert spent["query"].epsilon < spent["table"].epsilon
