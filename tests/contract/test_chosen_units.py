"""Where a condition, a query or segments choose units, nothing tells exactly how many there are."""

import datetime
import json
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from sales import as_sqlite

import fim_private as fim
from fim_private.learning.voting import Vote
from fim_private.learning.voting import voted as vote_of
from fim_private.output.ledgers import render_statement
from fim_private.output.releases import render_table, render_vote
from fim_private.output.screen import Screen
from fim_private.reading.frames import may_be_query
from fim_private.reading.locations import InMemory

CUSTOMERS = 1001
WHERE = "country = 'DE'"
QUERY = "select holder, visit, item from sales where country = 'DE'"
COLUMNS: dict[str, Any] = {"basket": "visit", "item": "item"}
UNITS: dict[str, dict[str, Any]] = {"basket": COLUMNS, "user": {**COLUMNS, "user": "holder"}}
WARNED = "replace-one does not hide which (baskets|users) are chosen by a condition"
Released = fim.Release | Vote | fim.SegmentedRelease
Call = Callable[..., Any]


def shop(germans: int) -> pa.Table:
    """1,001 customers of one visit each, so many from Germany and all others from France."""
    places = [place for place in range(CUSTOMERS) for _ in range(2)]
    return pa.table(
        {
            "holder": places,
            "visit": [f"v{place}" for place in places],
            "item": ["milk", "tea"] * CUSTOMERS,
            "country": ["DE" if place < germans else "FR" for place in places],
        }
    )


NEIGHBOURS = {germans: shop(germans) for germans in (501, 500)}


def by_condition(table: pa.Table, _: Path, **columns: Any) -> tuple[Any, dict[str, Any]]:
    return table, {"where": WHERE, **columns}


def by_query(table: pa.Table, folder: Path, **columns: Any) -> tuple[Any, dict[str, Any]]:
    path = folder / f"{len(list(folder.iterdir()))}.db"
    return as_sqlite(table, path), {"query": QUERY, **columns}


def by_lazy_frame(table: pa.Table, _: Path, **columns: Any) -> tuple[Any, dict[str, Any]]:
    return pl.DataFrame(table).lazy().filter(pl.col("country") == "DE"), columns


def by_segments(table: pa.Table, _: Path, **columns: Any) -> tuple[Any, dict[str, Any]]:
    return table, {"by": "country", "segments": ["DE"], **columns}


def by_condition_before(table: pa.Table, _: Path, **columns: Any) -> tuple[Any, dict[str, Any]]:
    return fim.read_transactions(table, where=WHERE, **columns), {}


def by_query_before(table: pa.Table, folder: Path, **columns: Any) -> tuple[Any, dict[str, Any]]:
    address, how = by_query(table, folder, **columns)
    return fim.read_transactions(address, **how), {}


def counted(data: Any, **asked: Any) -> fim.Release:
    return fim.count(data, [["milk"], ["milk", "tea"]], **{"count": False, **asked})


def voted(data: Any, **asked: Any) -> Vote:
    return vote_of(data, fim.HighestConfidence(min_share=0.1), **asked)


WAYS = (by_condition, by_query, by_condition_before, by_query_before, by_lazy_frame)
EVERY: tuple[Call, ...] = (fim.mine, counted, voted)
CALLS = [*((way, call) for way in WAYS for call in EVERY), (by_segments, fim.mine)]
QUERIED = "that the query keeps as well"
KEPT: dict[Call, str] = {
    **dict.fromkeys((by_condition, by_condition_before), "that the condition keeps as well"),
    **dict.fromkeys((by_query, by_query_before, by_lazy_frame), QUERIED),
    by_segments: "that counts in the same segments",
}
BOUGHT: list[tuple[Call, Call]] = [(by_condition, fim.mine), (by_query, counted)]
BOUGHT += [(by_segments, fim.mine)]
_NAMES = [f"{call.__name__} {way.__name__}" for way, call in CALLS]
every_call = pytest.mark.parametrize(("way", "call"), CALLS, ids=_NAMES)


def chosen(
    way: Call, call: Call, folder: Path, *, germans: int = 501, unit: str = "user", **asked: Any
) -> Any:
    data, how = way(NEIGHBOURS[germans], folder, **UNITS[unit])
    with pytest.warns(fim.PrivacyWarning, match=WARNED):
        return call(data, **how, **{"epsilon": 0.001, "neighbors": "replace-one", **asked})


def parts(found: Released) -> list[Any]:
    """The releases of its segments, or what there is alone."""
    return [*found.values()] if isinstance(found, fim.SegmentedRelease) else [found]


def forms(found: Released, folder: Path) -> dict[str, str]:
    """Everything that is written of it, by its name."""
    written = {"json": json.dumps(found.to_dict())}
    if isinstance(found, Vote):
        return written | {"table": render_vote(found, Screen())}
    fim.report(found, folder / "page.html")
    return written | {
        "table": render_table(found, Screen()),
        "text": str(found),
        "shown": repr(found),
        "notebook": found._repr_html_(),
        "csv": found.to_csv(),
        "markdown": found.to_markdown(),
        "arrow": str(found.to_arrow().column_names),
        "page": (folder / "page.html").read_text(encoding="utf-8"),
    }


@pytest.mark.parametrize("unit", UNITS)
@every_call
@pytest.mark.every_case
def test_no_neighbour_says_how_many(way: Call, call: Call, unit: str, tmp_path: Path) -> None:
    """One of 1,001 is from France instead of Germany. That was told for nothing, at any budget."""
    for germans in NEIGHBOURS:
        # A noisy number may be the exact one by chance, and then not again and again.
        exact: set[str] | None = None
        for _ in range(5):
            found = chosen(way, call, tmp_path, germans=germans, unit=unit)
            assert all(one.units is None for one in parts(found))
            written = forms(found, tmp_path)
            assert not [name for name, text in written.items() if "released exactly" in text]
            assert not [name for name, text in written.items() if '"units"' in text]
            now = {name for name, text in written.items() if re.search(r"\b50[01]\b", text)}
            exact = now if exact is None else exact & now
            if not exact:
                break
        assert not exact


@pytest.mark.parametrize(("way", "call"), BOUGHT, ids=["mine", "count", "by"])
@pytest.mark.every_case
def test_a_number_that_is_bought_is_noisy(way: Call, call: Call, tmp_path: Path) -> None:
    found = [chosen(way, call, tmp_path, epsilon=1, count=True) for _ in range(5)]
    for one in parts(found[0]):
        assert "count" in {share.purpose for share in one.shares}
        low, high = one.units_interval
        assert low < one.units < high
        assert abs(one.units - 501) < 1000
    assert len({re.findall(r'"units": \d+', one.to_json())[0] for one in found}) > 1


@every_call
@pytest.mark.every_case
def test_the_guarantee_names_what_replaces_what(way: Call, call: Call, tmp_path: Path) -> None:
    found = chosen(way, call, tmp_path)
    whom = f"replacing any one user (all their baskets) by any other {KEPT[way]}"
    assert f"{whom} changes the probability" in found.guarantee
    assert found.to_dict()["guarantee"] == found.guarantee
    for name, text in forms(found, tmp_path).items():
        if name in ("table", "json", "page", "text"):
            assert f"{whom} changes the probability" in " ".join(text.split()), name


def test_where_nothing_chooses_the_number_stays_public() -> None:
    asked: dict[str, Any] = {**UNITS["user"], "neighbors": "replace-one"}
    for call in EVERY:
        found = call(NEIGHBOURS[501], **asked)
        assert found.units == found.to_dict()["units"] == CUSTOMERS
        assert "(all their baskets) by any other changes the probability" in found.guarantee
        if call is not voted:
            assert found.units_interval is None
            assert "count" not in {share.purpose for share in found.shares}
    table = fim.mine(NEIGHBOURS[501], **asked, top=1)
    assert "There are 1,001 users in all" in " ".join(render_table(table, Screen()).split())
    assert table.to_pandas()["count"].tolist() == [itemset.support for itemset in table]


@pytest.mark.parametrize("asked", [{"where": WHERE}, {"exclude": ["jam"]}, {}], ids=str)
def test_a_ledger_says_whom_it_protects(asked: dict[str, Any], tmp_path: Path) -> None:
    whole = "It is about one user, with all their baskets (named by 'holder'), under replace-one"
    kept = "replacing it by any other that every condition keeps as well"
    said = f"{whole}: {kept}." if "where" in asked else f"{whole}."
    made: Any = {"epsilon": 4, "delta": 1e-4, "dataset": "shop", "unit": "user"}
    with fim.Ledger.create(tmp_path / "l", **made) as ledger:
        how: dict[str, Any] = {**UNITS["user"], "neighbors": "replace-one", "dataset": "shop"}
        fim.mine(NEIGHBOURS[501], ledger=ledger, **how)
        assert ledger.statement().protected == f"{whole}."
        with pytest.warns(fim.PrivacyWarning, match=WARNED) if "where" in asked else nullcontext():
            fim.mine(NEIGHBOURS[501], ledger=ledger, **how, **asked)
        statement = ledger.statement()
        assert statement.protected == statement.to_dict()["protected"] == said
        assert said in " ".join(render_statement(statement, Screen()).split())


# -------------------- what is read as of a query: no plain table, file or frame of its rows


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


def text(folder: Path) -> Path:
    path = folder / "sales.csv"
    pl.DataFrame(SALES).write_csv(path)
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
    "a filtered frame": lambda folder: pl.DataFrame(SALES).lazy().filter(pl.col("day") > JANUARY),
    "the head of a lazy frame": lambda folder: pl.DataFrame(SALES).lazy().head(3),
    "a scan of some rows": lambda folder: pl.scan_parquet(parquet(folder), n_rows=3),
    "a scan of text": lambda folder: pl.scan_csv(text(folder)),
    "a scan without comments": lambda folder: pl.scan_csv(text(folder), comment_prefix="1"),
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
        lambda data: voted(data, seed=1, **asked),
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
    asked: Any = {"basket": "visit", "item": "item", "time": "day", "size": 1, "dataset": "sales"}
    spent = {}
    lazy = pl.DataFrame(SALES).lazy()
    for name, since in (("query", lazy.filter(pl.col("day") > JANUARY)), ("table", lazy)):
        ledger = fim.Ledger.create(tmp_path / f"{name}.ledger", epsilon=10, delta=1e-3)
        fim.mine(SALES, period="2026-01", ledger=ledger, **asked)
        fim.mine(since, period="2026-02", ledger=ledger, **asked)
        entries: Any = ledger.entries
        first, second = entries
        assert first.span.period == "2026-01"
        assert second.span.period == (None if name == "query" else "2026-02")
        assert second.parameters.get("query", False) == (name == "query")
        spent[name] = ledger.left
    assert spent["query"].epsilon < spent["table"].epsilon
