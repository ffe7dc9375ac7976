"""Where a condition, a query or segments choose units, nothing tells exactly how many there are
unless it is public.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from sales import as_sqlite

import fim_private as fim
from fim_private.learning.voting import Vote
from fim_private.learning.voting import voted as vote_of
from fim_private.output.ledgers import render_statement
from fim_private.output.releases import render_table, render_vote
from fim_private.output.screen import Screen

CUSTOMERS = 1001
WHERE = "country = 'DE'"
QUERY = "select holder, visit, item from sales where country = 'DE'"
COLUMNS: dict[str, Any] = {"basket": "visit", "item": "item"}
UNITS: dict[str, dict[str, Any]] = {"basket": COLUMNS, "user": {**COLUMNS, "user": "holder"}}
WARNED = (
    "replace-one does not hide which (baskets|users) are chosen by a condition, a query or segments"
)
Released = fim.Release | Vote | fim.SegmentedRelease
Call = Callable[..., Any]


def shop(germans: int) -> pa.Table:
    """1,001 customers of one visit each, so many of them from Germany and all others from
    France.
    """
    rows = [
        (n, f"v{n}", item, "DE" if n < germans else "FR")
        for n in range(CUSTOMERS)
        for item in ("milk", "tea")
    ]
    names = ("holder", "visit", "item", "country")
    return pa.table(
        {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    )


NEIGHBOURS = {germans: shop(germans) for germans in (501, 500)}


def by_condition(table: pa.Table, _: Path, **columns: Any) -> tuple[Any, dict[str, Any]]:
    return table, {"where": WHERE, **columns}


def by_query(table: pa.Table, folder: Path, **columns: Any) -> tuple[Any, dict[str, Any]]:
    return as_sqlite(table, folder / f"{len(list(folder.iterdir()))}.db"), {
        "query": QUERY,
        **columns,
    }


def by_lazy_frame(table: pa.Table, _: Path, **columns: Any) -> tuple[Any, dict[str, Any]]:
    frame = pl.DataFrame(table).lazy()
    return frame.filter(pl.col("country") == "DE"), columns


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
CALLS: tuple[tuple[Call, Call], ...] = (
    *((way, call) for way in WAYS for call in EVERY),
    (by_segments, fim.mine),
)
KEPT: dict[Call, str] = {
    **dict.fromkeys((by_condition, by_condition_before), "that the condition keeps as well"),
    **dict.fromkeys((by_query, by_query_before, by_lazy_frame), "that the query keeps as well"),
    by_segments: "that counts in the same segments",
}
with_supports = pytest.mark.parametrize(
    ("way", "call"),
    [(by_condition, fim.mine), (by_query, counted), (by_segments, fim.mine)],
    ids=["mine", "count", "by"],
)
every_call = pytest.mark.parametrize(
    ("way", "call"), CALLS, ids=[f"{call.__name__} {way.__name__}" for way, call in CALLS]
)


def chosen(
    way: Call, call: Call, table: pa.Table, folder: Path, *, unit: str = "user", **asked: Any
) -> Any:
    data, how = way(table, folder, **UNITS[unit])
    with pytest.warns(fim.PrivacyWarning, match=WARNED):
        return call(data, **how, **{"epsilon": 0.001, "neighbors": "replace-one", **asked})


def parts(found: Released) -> list[Any]:
    """The releases of its segments, or what there is alone."""
    return [*found.values()] if isinstance(found, fim.SegmentedRelease) else [found]


def forms(found: Released, folder: Path) -> Iterator[tuple[str, str]]:
    """Everything that is written of it, with a name."""
    yield "json", json.dumps(found.to_dict())
    if isinstance(found, Vote):
        yield "table", render_vote(found, Screen())
        return
    yield "table", render_table(found, Screen())
    yield "text", str(found)
    others = (
        repr(found),
        found._repr_html_(),
        found.to_csv(),
        found.to_markdown(),
        str(found.to_arrow().column_names),
    )
    yield from zip(("shown", "notebook", "csv", "markdown", "arrow"), others, strict=True)
    fim.report(found, folder / "page.html")
    yield "page", (folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("unit", UNITS)
@every_call
@pytest.mark.every_case
def test_neighbours_with_different_numbers_of_units_say_none(
    way: Call, call: Call, unit: str, tmp_path: Path
) -> None:
    """One customer of 1,001 is from France instead of Germany. That was told for nothing, at any
    budget.
    """
    for table in NEIGHBOURS.values():
        # A noisy number may be the exact one by chance, and then not again and again.
        exact = {name for name, _ in forms(chosen(way, call, table, tmp_path, unit=unit), tmp_path)}
        for _ in range(4):
            found = chosen(way, call, table, tmp_path, unit=unit)
            for name, text in forms(found, tmp_path):
                exact -= set() if re.search(r"\b50[01]\b", text) else {name}
                assert "released exactly" not in text, name
                assert '"units"' not in text, name
            assert all(one.units is None for one in parts(found))
            if not exact:
                break
        assert not exact


@with_supports
@pytest.mark.every_case
def test_a_number_that_is_bought_is_noisy(way: Call, call: Call, tmp_path: Path) -> None:
    found = chosen(way, call, NEIGHBOURS[501], tmp_path, epsilon=1, count=True)
    for one in parts(found):
        assert "count" in {share.purpose for share in one.shares}
        low, high = one.units_interval
        assert low < one.units < high
        assert abs(one.units - 501) < 1000
    several = [
        chosen(way, call, NEIGHBOURS[501], tmp_path, epsilon=1, count=True).to_json()
        for _ in range(4)
    ]
    assert len({re.findall(r'"units": \d+', text)[0] for text in several}) > 1


@every_call
@pytest.mark.every_case
def test_the_guarantee_names_what_is_exchanged_for_what(
    way: Call, call: Call, tmp_path: Path
) -> None:
    found = chosen(way, call, NEIGHBOURS[501], tmp_path)
    said = (
        f"replacing any one user (all their baskets) by any other {KEPT[way]} changes the "
        f"probability"
    )
    assert said in found.guarantee
    assert found.to_dict()["guarantee"] == found.guarantee
    for name, text in forms(found, tmp_path):
        if name in ("table", "json", "page", "text"):
            assert said in " ".join(text.split()), name


def test_where_nothing_chooses_the_number_stays_public(tmp_path: Path) -> None:
    asked: dict[str, Any] = {**UNITS["user"], "neighbors": "replace-one"}
    for call in EVERY:
        found = call(NEIGHBOURS[501], **asked)
        assert found.units == found.to_dict()["units"] == CUSTOMERS
        assert (
            "replacing any one user (all their baskets) by any other changes the probability"
            in found.guarantee
        )
        if call is not voted:
            assert found.units_interval is None
            assert {share.purpose for share in found.shares} <= {"selection", "supports"}
    table = fim.mine(NEIGHBOURS[501], **asked, supports=True)
    assert "There are 1,001 users in all" in " ".join(render_table(table, Screen()).split())
    assert table.to_pandas()["count"].tolist() == [itemset.support for itemset in table]


@pytest.mark.parametrize("asked", [{"where": WHERE}, {"exclude": ["jam"]}, {}], ids=str)
def test_a_ledger_says_whom_it_protects(asked: dict[str, Any], tmp_path: Path) -> None:
    kept = (
        ": replacing it by any other that every condition keeps as well."
        if "where" in asked
        else "."
    )
    with fim.Ledger.create(
        tmp_path / "l", epsilon=4, delta=1e-4, dataset="shop", unit="user"
    ) as ledger:
        how: dict[str, Any] = {
            **UNITS["user"],
            "neighbors": "replace-one",
            "ledger": ledger,
            "dataset": "shop",
        }
        fim.mine(NEIGHBOURS[501], **how)
        whole = (
            "It is about one user, with all their baskets (named by 'holder'), under replace-one"
        )
        assert ledger.statement().protected == f"{whole}."
        with pytest.warns(fim.PrivacyWarning, match=WARNED) if "where" in asked else nullcontext():
            fim.mine(NEIGHBOURS[501], **how, **asked)
        assert (
            ledger.statement().protected
            == ledger.statement().to_dict()["protected"]
            == f"{whole}{kept}"
        )
        assert f"{whole}{kept}" in " ".join(render_statement(ledger.statement(), Screen()).split())
