"""Product lists: every form of one, labels in place of codes, earlier releases."""

import html
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from workbook_files import workbook

import fim_private as fim
from fim_private.dp.accountant import sums_of
from fim_private.errors import LedgerError
from fim_private.mining.mine import planned
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.release.page import page

PRODUCTS = pd.DataFrame({"sku": [1, 2, 3, 9], "name": ["Milk", "Tea", "Jam", "Soap"]})
PRODUCTS["price"] = [1.5, 2, 3, 4]
ROWS = PRODUCTS.to_numpy(dtype=object).tolist()
SALES = pa.table(
    {
        "customer": [str(n // 6) for n in range(3600)],
        "order": [str(n // 3) for n in range(3600)],
        "sku": [
            ((1, 2, 3), (1, 2, 77), (1, 3, 77))[(n >= 1800) + (n >= 3000)][n % 3]
            for n in range(3600)
        ],
    }
)
READ: dict[str, Any] = {"basket": "order", "item": "sku"}
ASKED: dict[str, Any] = READ | {"top": 2, "epsilon": 100, "supports": True, "seed": 1}
NAMED: dict[str, Any] = {"catalogue_item": "sku", "catalogue_label": "name"}
LISTED: dict[str, Any] = {"item": "sku", "label": "name", "items": 4}


def as_database(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table products (sku, name, price)")
        connection.executemany("insert into products values (?, ?, ?)", ROWS)
        connection.commit()
    return f"sqlite:///{path}"


def forms(folder: Path) -> Iterator[tuple[Any, str | None, dict[str, Any]]]:
    """Every form of the product list: it, the name that a release gives it."""
    PRODUCTS.to_csv(folder / "p.csv", index=False)
    PRODUCTS.to_csv(folder / "german.csv.gz", index=False, sep=";")
    PRODUCTS.to_parquet(folder / "p.parquet")
    PRODUCTS.to_json(folder / "p.jsonl", orient="records", lines=True)
    for name in ("p.csv", "german.csv.gz", "p.parquet", "p.jsonl"):
        yield folder / name, name, {}
    (folder / "p.xlsx").write_bytes(workbook(dict(enumerate([[*PRODUCTS], *ROWS], 1))))
    yield f"{folder}/p.xlsx", "p.xlsx", {}
    query = {"catalogue_query": "select sku, name from products"}
    yield as_database(folder / "p.db"), "p.db", query
    for place, part in enumerate((PRODUCTS[:2], PRODUCTS[2:])):
        (folder / "departments" / f"no={place}").mkdir(parents=True)
        part.to_parquet(folder / "departments" / f"no={place}" / "part.parquet")
    yield folder / "departments", "departments", {}
    yield f"{folder}/departments/*/*.parquet", "*.parquet", {}
    mixed = PRODUCTS.assign(note=[object()] * 4)  # a column that Arrow has no type for
    table = pa.Table.from_pandas(PRODUCTS)
    for source in (mixed, pl.LazyFrame(pl.DataFrame(table)), table.to_reader()):
        yield source, None, {}
    yield pyarrow.dataset.dataset(folder / "p.parquet"), None, {}


def test_any_table_is_a_catalogue_and_its_labels_are_shown(tmp_path: Path) -> None:
    for source, name, more in forms(tmp_path):
        release = fim.mine(SALES, size="1-2", catalogue=source, **NAMED, **more, **ASKED)
        found = {itemset.items for itemset in release}
        assert found == {("Milk",), ("Tea",), ("Milk", "Tea"), ("Jam", "Milk")}, source
        assert release[["Tea", "Milk"]].items == ("Milk", "Tea")
        told = release.to_dict()["catalogue"]
        assert told.pop("codes") == {"Jam": 3, "Milk": 1, "Tea": 2}
        assert told == ({} if name is None else {"source": name}) | LISTED, source


def test_labels_that_several_items_have_and_items_without_one() -> None:
    """A label that would not tell is followed by the item."""
    products = pd.DataFrame({"sku": [1, 2, 3, 5, 1], "name": ["Tea", "Tea", None, "3", "Green"]})
    sales = pa.table({"order": [n // 4 for n in range(1200)], "sku": [1, 2, 3, 5] * 300})
    release = fim.mine(sales, size=1, catalogue=products, **NAMED, **ASKED | {"top": 4})
    assert {itemset.items for itemset in release} == {("Tea (1)",), ("Tea (2)",), (3,), ("3 (5)",)}
    clash = pd.DataFrame({"sku": [1, 2, 5], "name": ["Tea", "Tea", "Tea (1)"]})
    with pytest.raises(fim.DataError, match=r"^catalogue_label has labels that stay alike"):
        fim.mine(sales, catalogue=clash, **NAMED, **ASKED)


def test_what_a_release_says_of_its_list(tmp_path: Path) -> None:
    PRODUCTS.to_csv(tmp_path / "<products>.csv", index=False)
    release = fim.mine(SALES, catalogue=tmp_path / "<products>.csv", **NAMED, **ASKED)
    place = "in <products>.csv, column 'sku', named by column 'name'"
    said = f"Items were listed publicly, {place}: 4 items."
    assert said in release.rows_read
    assert said in str(release)
    assert said in html.unescape(page(release))
    assert "<products>" not in page(release)
    assert str(tmp_path) not in str(release.to_dict()) + page(release)
    for suffix in ("json", "parquet"):
        release.save(tmp_path / f"r.{suffix}")
        again = fim.load(tmp_path / f"r.{suffix}")
        assert isinstance(again, fim.Release)
        assert again.scope == release.scope
        assert again.to_dict() == release.to_dict()


def test_an_earlier_release_is_a_list_of_its_items(tmp_path: Path) -> None:
    earlier = fim.mine(SALES, size=2, catalogue=[1, 2, 9], **ASKED | {"top": 1})
    some = PRODUCTS[PRODUCTS["sku"] != 3]
    labelled = fim.mine(SALES, size=2, catalogue=some, **NAMED, **ASKED | {"top": 1})
    for release in (earlier, labelled):
        release.save(tmp_path / "week.json")
        for source, name in ((release, None), (tmp_path / "week.json", "week.json")):
            everything = ASKED | {"top": 9, "keep_all": True}
            found = fim.mine(SALES, size=1, catalogue=source, **everything)
            assert {itemset.items for itemset in found} == {(1,), (2,)}
            expected = ({} if name is None else {"source": name}) | {"release": True, "items": 2}
            assert found.to_dict()["catalogue"] == expected
            assert any("earlier release" in told for told in found.rows_read)


def test_a_labelled_release_is_counted_by_its_codes(tmp_path: Path) -> None:
    release = fim.mine(SALES, size=2, catalogue=PRODUCTS, **NAMED, **ASKED | {"top": 1})
    release.save(tmp_path / "r.parquet")
    for source in (release, tmp_path / "r.parquet"):
        (found,) = fim.count(SALES, source, **READ, epsilon=100, seed=1)
        assert found.items == (1, 2)
        assert found.support == pytest.approx(1000, abs=2)


def test_a_seeded_release_is_no_public_list() -> None:
    with pytest.warns(fim.PrivacyWarning, match="made with a seed") as warned:
        fim.mine(SALES, size=1, catalogue=fim.mine(SALES, size=1, **ASKED), **READ, user="customer")
    assert warned[0].filename == __file__
    with pytest.warns(
        fim.PrivacyWarning, match="itemsets is a release that was made with"
    ) as warned:
        fim.count(SALES, fim.mine(SALES, size=1, **ASKED), **READ, user="customer")
    assert warned[0].filename == __file__


def test_the_items_of_the_data_are_public_only_where_somebody_says_so() -> None:
    asked = ASKED | {"top": 4, "size": 1, "keep_all": True}
    release = fim.mine(SALES, items_are_public=True, **asked)
    assert release.to_dict()["catalogue"] == {"items_are_public": True}
    said = "The names of all items in the file were taken to be public, and are not protected."
    assert said in release.rows_read
    assert release.cost == fim.mine(SALES, catalogue=[1], **asked).cost
    assert "catalogue" not in fim.mine(SALES, **asked).to_dict()
    assert fim.mine(SALES, items_are_public=True, **asked, delta=0).delta == 0


def test_they_are_those_of_all_rows_whatever_counts(tmp_path: Path) -> None:
    """Not those of the rows that pass, nor of those with a user or a basket."""
    columns = [["a", None, "b", "b"], ["1", "2", None, "4"], [5, 6, 7, 8], [1, 1, 1, 2]]
    table = pa.table(columns, names=[*"ubid"])
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    table.to_pandas().to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "wide.csv").write_text("u,d,Item 1,Item 2\na,1,5,6\n,1,7,\nb,2,8,\n")
    of_users: dict[str, Any] = {"u": ["a", None, "b"], "d": [1, 1, 2]}
    lists = pa.table({**of_users, "i": [[5, 6], [7], [8]]})
    cells = {"5": [1, 0, 0], "6": [1, 0, 0], "7": [0, 1, 0], "8": [0, 0, 1]}
    asked: dict[str, Any] = {"user": "u", "missing_user": "drop", "where": "d = 1"}
    long = asked | {"basket": "b", "item": "i"}
    forms: list[tuple[Any, dict[str, Any]]] = [
        *(
            (source, long)
            for source in (table, table.to_pandas(), tmp_path / "a.parquet", tmp_path / "a.csv")
        ),
        (tmp_path / "wide.csv", asked | {"input_format": "wide"}),
        (lists, asked | {"items": "i"}),
        (pd.DataFrame(of_users | cells), asked | {"input_format": "one-hot"}),
        ([[5, 6], [7], [8], []], {}),
    ]
    for source, read in forms:
        # Over a public list the exponential mechanism names as many as there are, whoever has them.
        asked_for: Any = {"size": 1, "top": 9, "keep_all": True, "mechanism": "exponential"}
        release = fim.mine(source, **asked_for, items_are_public=True, **read, seed=1)
        assert sorted(itemset.items for itemset in release) == [(5,), (6,), (7,), (8,)]


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_the_guarantee_is_among_data_with_the_same_items(neighbors: str, tmp_path: Path) -> None:
    """How many items the data have is no public choice: a purchase of a new item changes it."""
    baskets = [["milk", "tea"]] * 2000 + [[f"rare {number}"] for number in range(733)]
    ledger = fim.Ledger.create(tmp_path / "a.ledger", dataset="sales", epsilon=10, delta=1e-3)
    asked: dict[str, Any] = {"size": 1, "top": 2, "supports": True, "neighbors": neighbors}
    asked |= {"ledger": ledger, "dataset": "sales"}
    fim.mine(baskets, **asked)
    before = ledger.statement().protected
    release = fim.mine(baskets, **asked, items_are_public=True)
    alike = "among data with the same list of items"
    by_other = " by any other" * (neighbors == "replace-one")
    assert f"any one basket{by_other}, {alike}, changes" in release.guarantee
    assert release.protected == f"basket, {alike}"
    changed = before.replace(f"under {neighbors}", f"under {neighbors}, {alike}")
    assert ledger.statement().protected == changed
    assert alike not in before
    fim.report(release, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "It does not protect which items there are" in page
    assert page.count(alike) >= 3
    said = [release.to_json(), release.to_json(whole=True), repr(release), repr(release.scope)]
    said += [release.to_csv(), release.to_markdown(), str(release), page, repr(ledger)]
    for text in (*said, json.dumps(ledger.statement().to_dict())):
        # A noisy number of units such as "2,735" is not the number of items.
        assert re.search(r"(?<![\d,.])735(?![\d,.]?\d)", text) is None, text
    release.save(tmp_path / "release.json")
    assert fim.load(tmp_path / "release.json").guarantee == release.guarantee


def test_the_ledger_keeps_that_they_were_public_and_no_names(tmp_path: Path) -> None:
    PRODUCTS.to_csv(tmp_path / "secret-name.csv", index=False)
    ledger = fim.Ledger.create(tmp_path / "a.ledger", dataset="sales", epsilon=10, delta=1e-3)
    charged: Any = {"user": "customer", "size": 1, "top": 2, "ledger": ledger, "dataset": "sales"}
    fim.mine(SALES, **READ, **charged, items_are_public=True)
    fim.mine(SALES, **READ, **charged, catalogue=tmp_path / "secret-name.csv", **NAMED)
    first, second = (entry.parameters for entry in ledger.entries)
    assert first["items_are_public"] is True
    assert "catalogue" not in first
    assert second["catalogue"] == 4
    assert "items_are_public" not in second
    assert "secret-name" not in str(second)


SKU: dict[str, Any] = {"catalogue": "p.csv", "catalogue_item": "sku"}


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"catalogue": "p.csv"}, r"^'p\.csv' has several columns.*say"),
        ({"exclude": "p.csv"}, r"^'p\.csv' has several columns.*; give a list with the"),
        ({"with_each": "p.parquet"}, r"^'p\.parquet' must have one column, or one named"),
        ({"catalogue": "p.parquet"}, r"^'p\.parquet' must have one"),
        ({"catalogue": "p.csv", "catalogue_item": "skuu"}, r"^'p\.csv' has no column"),
        (
            {"catalogue": PRODUCTS, "catalogue_item": "skuu"},
            r"^the frame has no column 'skuu': name",
        ),
        (SKU | {"catalogue_label": "nam"}, r"column 'nam'.*catalogue_label"),
        ({"catalogue": "p.csv", "catalogue_label": "name"}, r"^catalogue_label needs"),
        (SKU | {"catalogue_label": "sku"}, "^catalogue_label needs catalogue_item, another column"),
        ({"catalogue": "p.csv", "catalogue_item": 3}, r"^catalogue_item must be the name"),
        ({"catalogue_item": "sku"}, r"^catalogue_item goes with catalogue"),
        ({"catalogue": [1], "catalogue_item": "sku"}, r"^leave out catalogue_item: catalogue"),
        ({"catalogue": "empty.csv", "catalogue_item": "sku"}, r"^column 'sku' .* has no items"),
        (SKU | {"catalogue_query": "select 1"}, r"^catalogue_query is for a"),
        ({"catalogue": "sqlite:///a.db"}, "^a database needs catalogue_query: a select"),
        (SKU | {"catalogue": "sqlite:///a.db"}, r"^a database needs catalogue_query: a select"),
        ({"catalogue": "nothing.json"}, r"^the catalogue 'nothing\.json' is a release without"),
        ({"catalogue": "week.json", "catalogue_item": "sku"}, r"^leave out catalogue_item: .*an"),
        ({"catalogue": "broken.json"}, "^'broken.json': field \"private\" is missing"),
        ({"catalogue": "latin.csv"}, r"^'latin\.csv' is not UTF-8 text; save it in UTF-8$"),
        ({"exclude": "latin.csv"}, r"^'latin\.csv' is not UTF-8 text; save it in UTF-8$"),
        ({"with_each": "latin.csv"}, r"^'latin\.csv' is not UTF-8 text; save it in UTF-8$"),
        (
            {"catalogue": "latin.csv", "catalogue_item": "sku"},
            r"^'latin\.csv' is not .*That is for purchases",
        ),
        ({"exclude": "vote.json"}, r"^'vote\.json' is JSON, and no list of items: give a text"),
        ({"exclude": "bags.list"}, r"^'bags\.list' has no form .*That is for purchases"),
        ({"catalogue": "title.csv", "catalogue_item": "sku"}, r"^'title\.csv' seems to have"),
        ({"catalogue": SALES, "catalogue_item": "sku"}, r"^catalogue names the purchases"),
        ({"catalogue": [1], "items_are_public": True}, r"^give catalogue or items_are_public"),
        ({"universe_size": 4, "items_are_public": True}, r"^give universe_size"),
        ({"engine": "spark", "items_are_public": True}, r"^items_are_public is .*: with spark"),
    ],
    ids=str,
)
def test_what_is_refused(given: Any, message: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    PRODUCTS.to_csv("p.csv", index=False)
    PRODUCTS.to_parquet("p.parquet")
    Path("empty.csv").write_text("sku,name\n")
    Path("latin.csv").write_bytes("sku\nKäse\n".encode("cp1252"))
    Path("title.csv").write_text("Our products\n\nsku,name\n1,Milk\n")
    Path("broken.json").write_text('{"schema": 1}')
    Path("vote.json").write_text('{"schema": 1, "mechanism": "vote"}')
    Path("bags.list").write_text("bag\n")
    fim.mine([["a"]], epsilon=0.001, size=1, seed=1).save("nothing.json")
    fim.mine(SALES, size=2, **ASKED).save("week.json")
    ledger = fim.Ledger.create("a.ledger", dataset="sales", epsilon=1, delta=1e-3)
    with pytest.raises(fim.FimPrivateError, match=message) as caught:
        fim.mine(SALES, **READ, **given, ledger=ledger, dataset="sales")
    assert "\n" not in str(caught.value)
    assert not [*ledger.entries]


def test_the_purchases_are_no_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(SALES, "sales.parquet")
    for name in ("sales.parquet", tmp_path / "sales.parquet", "./sales.parquet"):
        with pytest.raises(fim.ParameterError, match="names the purchases themselves"):
            fim.mine("sales.parquet", catalogue=name, catalogue_item="sku", **ASKED)
    address = as_database(tmp_path / "shop.db")
    asked: dict[str, Any] = {"query": "select name, sku from products", "basket": "name"}
    asked |= {"item": "sku", "seed": 1}
    listed: Any = {"catalogue_query": "select sku from products", "catalogue_item": "sku"}
    release = fim.mine(address, size=1, **asked, catalogue=address, **listed)
    assert release.to_dict()["catalogue"] == {"source": "shop.db", "item": "sku", "items": 4}


def test_what_can_be_read_once_has_no_public_items() -> None:
    for data in (iter([[1, 2]]), SALES.to_reader(), fim.read_transactions([[1, 2]])):
        with pytest.raises(fim.ParameterError, match=r"^items_are_public reads all items first"):
            fim.mine(data, items_are_public=True, seed=1)
    with pytest.raises(fim.DataError, match=r"^items_are_public finds no items"):
        fim.mine([[]], items_are_public=True, seed=1)


def test_one_line_says_what_a_list_would_bring_users() -> None:
    asked = ASKED | {"user": "customer", "top": 10, "units": 1000}
    release = fim.mine(SALES, **asked)
    (line,) = [one for one in render_table(release, Screen()).splitlines() if "product list" in one]
    # Under add-remove the number of users is not public, and no shares of it were released.
    told = "A public product list finds more: --catalogue products.csv --catalogue-item sku."
    assert line == told
    listed = fim.mine(SALES, **asked, catalogue=[1, 2])
    for other in (listed, fim.mine(SALES, **ASKED | {"top": 10})):
        assert "--catalogue" not in render_table(other, Screen())
    assert "product list" not in render_table(release, Screen(), advise=False) + release.to_json()


# -------------------- groups in place of items

GROUPS = pd.DataFrame(
    {
        "sku": ["cola", "ale", "crisps", "nuts", "soap", "rope"],
        "kind": ["soft", "beer", "salty", "salty", "bath", None],
        "area": ["drinks", "drinks", "snacks", "snacks", "home", "home"],
    }
)
BOUGHT = [("cola", "crisps", "rope")] * 900 + [("ale", "nuts", "crisps")] * 600 + [("soap",)] * 500
ALIKE: dict[str, Any] = {"size": 2, "top": 2, "epsilon": 100, "seed": 1}
BY_GROUP: dict[str, Any] = {"catalogue": GROUPS, "catalogue_item": "sku", **ALIKE}


def test_purchases_of_an_item_count_as_those_of_its_group() -> None:
    release = fim.mine(BOUGHT, group="kind", **BY_GROUP | {"top": 2, "rules": True})
    assert [itemset.items for itemset in release] == [("salty", "soft"), ("beer", "salty")]
    groups = {row.sku: row.kind for row in GROUPS.dropna().itertuples()}
    joined = [{groups[item] for item in basket if item in groups} for basket in BOUGHT]
    listed = [*groups.values()]
    asked: dict[str, Any] = {**ALIKE, "rules": True, "catalogue": listed}
    assert release.itemsets == fim.mine(joined, **asked).itemsets
    assert release.parts == fim.mine(joined, **asked).parts
    assert any("column 'kind'): 4 groups." in line for line in release.rows_read)


def test_levels_of_groups_share_one_budget(tmp_path: Path) -> None:
    asked = BY_GROUP | {"mechanism": "levelwise", "epsilon": 3}
    both = cast(fim.SegmentedRelease, fim.mine(BOUGHT, group=["kind", "area"], **asked))
    items = {name: release[0].items for name, release in both.items()}
    assert items == {"kind": ("salty", "soft"), "area": ("drinks", "snacks")}
    one = fim.mine(BOUGHT, group="kind", **asked)
    assert both.cost == one.cost
    assert both["kind"].shares == one.shares
    widths = [release.noise.half_width for release in (both["kind"], one) if release.noise]
    assert widths[0] == pytest.approx(2**0.5 * widths[1], rel=0.2)
    both.save(tmp_path / "both.json")
    loaded = fim.load(tmp_path / "both.json")
    assert loaded.to_dict() == both.to_dict()
    assert 'class="within"' in page(cast(fim.SegmentedRelease, loaded))


def test_levels_that_are_picked_apart_may_have_too_little_of_the_budget() -> None:
    asked = BY_GROUP | {"mechanism": "limited-domain", "epsilon": 1.5e-9, "group": ["kind", "area"]}
    with pytest.raises(fim.ParameterError, match="epsilon leaves a step of the release less than"):
        fim.mine(BOUGHT, **asked | {"top": 1, "supports": False})


FINE_AND_COARSE: dict[str, Any] = {
    "catalogue": pd.DataFrame(
        {
            "sku": [f"item {n}" for n in range(60)],
            "fine": [f"fine {n}" for n in range(60)],
            "coarse": [f"coarse {n % 2}" for n in range(60)],
        }
    ),
    "catalogue_item": "sku",
    "size": 1,
}


@pytest.mark.every_case
@pytest.mark.parametrize("group", [["fine", "coarse"], ["coarse", "fine"]])
@pytest.mark.parametrize(
    "asked",
    [
        {"mechanism": "exponential"},
        {"mechanism": "limited-domain"},
        {"mechanism": "exponential", "rho": 0.1, "epsilon": None},
        {"mechanism": "exponential", "neighbors": "replace-one"},
        {"delta": 0},
    ],
    ids=str,
)
def test_levels_that_are_picked_apart_cost_what_each_of_them_costs(
    asked: dict[str, Any], group: list[str], tmp_path: Path
) -> None:
    """They differ in how many picks there are, in their noise, and in whether they spend δ."""
    baskets = [[f"item {n % 60}", f"item {n * 7 % 60}"] for n in range(600)]
    asked = {"epsilon": 1, "supports": True, **FINE_AND_COARSE, **asked, "group": group}
    ledger = fim.Ledger.create(tmp_path / "a.ledger", dataset="shop", epsilon=9, delta=1e-5)
    levels = cast(fim.SegmentedRelease, fim.mine(baskets, ledger=ledger, dataset="shop", **asked))
    plans = planned(baskets, **asked).plans
    # Those that are given ρ share it equally.
    assert (plans[0].zcdp.rho == plans[1].zcdp.rho) == ("rho" in asked)
    for release, plan in zip(levels.values(), plans, strict=True):
        assert (release.cost, release.shares) == (plan.cost, plan.steps)
        assert release.shortfall == plan.shortfall
    [entry] = ledger.entries
    assert entry.zcdp.rho >= sum(plan.zcdp.rho for plan in plans)
    assert entry.zcdp.delta >= sum(plan.zcdp.delta for plan in plans)
    assert entry.cost.delta >= sum(plan.cost.delta for plan in plans) or "rho" in asked
    assert entry.cost.epsilon <= 1 or "rho" in asked
    assert levels.cost == entry.cost
    adds_up = levels.whole.adds_up
    assert adds_up is not None
    assert adds_up["rho"] == sum(sums_of(plan.cost, plan.zcdp)["rho"] for plan in plans)
    assert levels.whole.top == 10


def test_where_no_delta_may_be_spent_no_level_spends_any(tmp_path: Path) -> None:
    """The first level needs none, and the second one has normal noise."""
    ledger = fim.Ledger.create(tmp_path / "a.ledger", dataset="shop", epsilon=9, delta=0)
    asked = {**FINE_AND_COARSE, "group": ["coarse", "fine"], "mechanism": "exponential"}
    with pytest.raises(LedgerError, match="would overspend"):
        fim.mine([["item 1"]] * 9, ledger=ledger, dataset="shop", supports=True, **asked)
    assert not ledger.entries


OF_ITEMS = fim.mine(BOUGHT, size=1, epsilon=100, seed=1)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"group": "size"}, "has no column 'size': name another with group"),
        ({"group": "kind", "catalogue_item": None}, "group needs catalogue_item"),
        ({"group": "kind", "catalogue_item": None, "catalogue": None}, "group goes with catalogue"),
        (
            {"group": "kind", "catalogue_item": None, "catalogue": OF_ITEMS},
            "leave out group: catalogue is an earlier release",
        ),
        ({"group": ["kind", "kind"]}, "group must name one to 10 different columns"),
        ({"group": "kind", "catalogue_label": "area"}, "give group or catalogue_label, not both"),
        ({"group": ["kind", "area"], "with_each": ["soft"]}, "give group or with_each, not both"),
    ],
)
def test_groups_that_cannot_be_counted_are_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises((fim.DataError, fim.ParameterError), match=said):
        fim.mine(BOUGHT, **BY_GROUP | asked)
