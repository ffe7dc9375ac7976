"""What counts, and what an item is: items of several columns, lists to leave out, short baskets."""

import json
from collections import Counter
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fim_private as fim
from fim_private.counting.source import LocalSource
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.reading.record_batches import joint_items
from fim_private.request.scope import Scope

SHARES = [0.3, 0.3, 0.15, 0.1, 0.1, 0.05]


def sales(baskets: int = 3000) -> pd.DataFrame:
    """Purchases of 400 users in three stores, one row an item."""
    drawn = np.random.default_rng(5)
    rows = [
        (int(user), basket, store, item, "own" if item < "c" else "other")
        for basket, (user, store) in enumerate(
            zip(drawn.integers(400, size=baskets), drawn.choice([*"ABC"], baskets), strict=True)
        )
        for item in drawn.choice([*"abcdef"], size=drawn.integers(1, 5), replace=False, p=SHARES)
    ]
    return pd.DataFrame(rows, columns=["user", "basket", "store", "item", "brand"])


SALES = sales()
READ: dict[str, Any] = {"basket": "basket", "item": "item"}
NEARLY_EXACT: Any = {"epsilon": 1e6, "supports": True, "top": 6, "seed": 1, "keep_all": True}


def pairs(frame: pd.DataFrame, unit: str, together: str, item: str = "item") -> Counter[Any]:
    """How many units have each pair together, counted one by one."""
    held: dict[Any, set[tuple[str, ...]]] = {}
    for keys, items in frame.groupby([unit, together])[item].agg(set).items():
        assert isinstance(keys, tuple)
        held.setdefault(keys[0], set()).update(combinations(sorted(items), 2))
    return Counter(pair for own in held.values() for pair in own)


def supports(release: fim.Release) -> dict[tuple[str, ...], int]:
    return {tuple(sorted(map(str, one.items or ()))): one.support or 0 for one in release}


def check(release: fim.Release, true: Counter[tuple[str, ...]]) -> None:
    """The itemsets are the most frequent ones, with their supports but for a little noise."""
    found = supports(release)
    assert len(found) == 6
    assert all(abs(true[items] - support) <= 1 for items, support in found.items())
    assert min(true[items] for items in found) >= sorted(true.values(), reverse=True)[5]


# -------------------- items of several columns

_WRITTEN = ["a", "|", "a|", "|a", "\\", "a\\", "a | b", "b", " a ", "NULL"]
VALUES = st.none() | st.sampled_from(_WRITTEN)


@given(rows=st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=2))
def test_different_values_make_different_items(rows: list[tuple[str | None, str | None]]) -> None:
    def present(value: str | None) -> str | None:
        return None if value is None or value.strip() in ("", "NULL") else value.strip()

    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    one, other = joint_items(columns).to_pylist()
    first, second = ([present(value) for value in row] for row in rows)
    assert (one == other) == (first == second)
    assert (one is None) == (first == [None, None])


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas, None])
def test_several_columns_name_an_item(make: Any, tmp_path: Path) -> None:
    source: Any = tmp_path / "sales.csv"
    SALES.to_csv(source, index=False)
    if make is not None:
        source = make(SALES)
    release = fim.mine(source, basket="basket", item=["brand", "item"], **NEARLY_EXACT)
    check(release, pairs(SALES.assign(item=SALES.brand + " | " + SALES.item), "basket", "basket"))
    assert release.to_dict()["item"] == ["brand", "item"]
    assert "An item is what the columns 'brand' and 'item' say together." in str(release)


# -------------------- what is left out


def test_items_of_a_public_list_are_left_out(tmp_path: Path) -> None:
    listed = tmp_path / "left_out.txt"
    listed.write_text("a\nnobody has this\n")
    for exclude in (["a", "nobody has this"], listed, pd.Series(["a", "nobody has this"])):
        release = fim.mine(SALES, **READ, exclude=exclude, count=True, **NEARLY_EXACT)
        check(release, pairs(SALES[SALES["item"] != "a"], "basket", "basket"))
        assert release.units == pytest.approx(SALES["basket"].nunique(), abs=2)
        assert release.to_dict()["exclude"] == ["a", "nobody has this"]
    assert "By a public list, 2 items are left out: a, nobody has this." in str(release)


def test_short_baskets_count_as_empty() -> None:
    lengths = SALES.groupby("basket")["item"].transform("nunique")
    release = fim.mine(SALES, **READ, min_basket=3, count=True, **NEARLY_EXACT)
    check(release, pairs(SALES[lengths >= 3], "basket", "basket"))
    assert release.units == pytest.approx(SALES["basket"].nunique(), abs=2)
    assert release.to_dict()["min_basket"] == 3
    assert "Baskets of fewer than 3 items count as empty." in str(release)
    # How long one is does not count what is left out.
    baskets = [["tea", "bag"]] * 500 + [["tea", "milk", "bag"]] * 400
    counted: dict[str, Any] = {"size": 1, "exclude": ["bag"], "min_basket": 2}
    release = fim.mine(baskets, **counted, **{**NEARLY_EXACT, "top": 2})
    assert abs((release[0].support or 0) - 400) <= 1


# -------------------- users together


@pytest.mark.parametrize("together", ["basket", "user"])
def test_supports_of_users_are_those_of_a_count_one_by_one(together: str) -> None:
    data = fim.read_transactions(SALES, **READ, user="user")
    counted = Scope(together=together).applied(data)
    true = pairs(SALES, "user", together)
    levels = sorted(Counter(true.values()).items(), reverse=True)
    assert [*LocalSource(counted).spectrum(2).levels()] == levels
    release = fim.mine(SALES, **READ, user="user", together=together, **NEARLY_EXACT)
    check(release, true)
    assert release.privacy_unit == "user"
    assert release.to_dict().get("together") == (None if together == "basket" else "user")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"together": "user"}, "needs user too"),
        ({"together": "store"}, "must be one of basket, user"),
        ({"together": "user", "user": "user", "max_baskets": 3}, "leave out max_baskets"),
        ({"min_basket": 0}, "min_basket"),
        ({"min_basket": 1.5}, "min_basket"),
    ],
)
def test_what_is_asked_is_checked(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(fim.ParameterError, match=said):
        fim.mine(SALES, **READ, **asked)


def test_users_whose_baskets_are_one_need_no_cap_on_baskets() -> None:
    united: dict[str, Any] = {**READ, "user": "user", "together": "user", "max_basket": 4}
    release = fim.mine(SALES, **united, mechanism="choosing", epsilon=100, seed=1)
    assert (release.max_basket, release.max_baskets) == (4, None)


# -------------------- one of each


def test_each_segment_has_a_release_of_its_own() -> None:
    found = fim.mine(SALES, **READ, by="store", segments="A,C,nowhere", count=True, **NEARLY_EXACT)
    assert [*found] == ["A", "C", "nowhere"]
    for store in ("A", "C"):
        own = SALES[SALES["store"] == store]
        check(found[store], pairs(own, "basket", "basket"))
        assert found[store].units == pytest.approx(own["basket"].nunique(), abs=2)
        assert found[store].cost == found.cost
    assert found["nowhere"].abstained
    assert found["nowhere"].units == pytest.approx(0, abs=2)
    with pytest.raises(KeyError):
        found["B"]


def test_segments_where_a_user_may_count_share_the_budget() -> None:
    asked: dict[str, Any] = {**READ, "user": "user", "by": "store", "segments": [*"ABC"], "seed": 1}
    asked |= {"neighbors": "add-remove", "top": 2, "supports": True}
    whole: dict[str, Any] = {"epsilon": 3, "delta": 3e-6}
    for budget in (whole, {"rho": 0.3}, {**whole, "mechanism": "large-margin"}):
        alone = fim.mine(SALES, **asked, **budget)
        shared = fim.mine(SALES, **asked, **budget, max_segments=3)
        assert all(one.cost == alone.cost for one in alone.values())
        if "rho" in budget:
            assert all(float(one.rho or 0) * 3 == pytest.approx(0.3) for one in shared.values())
            assert shared.zcdp is not None
            assert (float(shared.zcdp.rho), shared.delta) == (0.3, 1e-6)
        else:
            for cost, times in [(shared.cost, 1), *((one.cost, 3) for one in shared.values())]:
                assert times * cost.epsilon <= 3
                assert times * cost.delta <= Fraction(3, 10**6)
    with pytest.raises(fim.ParameterError, match="epsilon leaves a step of the release less"):
        fim.mine(SALES, **asked, max_segments=3, epsilon=1e-9)


def test_a_ledger_is_charged_once_for_all_segments(tmp_path: Path) -> None:
    with fim.Ledger.create(tmp_path / "l", epsilon=4, delta=1e-4) as ledger:
        asked: dict[str, Any] = {**READ, "user": "user", "by": "store", "segments": "A,B"}
        asked |= {"neighbors": "add-remove", "max_segments": 2, "exclude": ["a"]}
        found = fim.mine(SALES, **asked, together="user", ledger=ledger, dataset="sales")
        (entry,) = ledger.entries
        assert float(entry.cost.epsilon) <= 1
        assert found.charged is not None
        kept = entry.parameters
    names = ("segments", "max_segments", "exclude", "together")
    assert [kept[name] for name in names] == [2, 2, 1, "user"]
    assert "store" not in json.dumps(kept)


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_they_are_saved_and_loaded(ending: str, tmp_path: Path) -> None:
    found = fim.mine(
        SALES, **READ, by="store", segments="A,C", rules=True, top=3, epsilon=5, exclude=["f"],
        seed=1,
    )  # fmt: skip
    found.save(tmp_path / f"r.{ending}")
    again = fim.load(tmp_path / f"r.{ending}")
    assert isinstance(again, fim.SegmentedRelease)
    assert again.to_dict(whole=True) == found.to_dict(whole=True)
    assert str(again) == str(found)
    assert again.rules().equals(found.rules())
    assert [one.scope for one in again.values()] == [one.scope for one in found.values()]


@pytest.mark.parametrize("ending", ["json", "parquet", "csv", None])
def test_itemsets_to_count_are_of_one_segment(ending: str | None, tmp_path: Path) -> None:
    found = fim.mine(SALES, **READ, by="store", segments="A,C", top=2, epsilon=9, seed=1)
    source: Any = found
    if ending is not None:
        source = tmp_path / f"r.{ending}"
        found.save(source)
    with pytest.raises(fim.FimPrivateError, match="releases of several segments"):
        fim.count(SALES, source, **READ)


def test_their_forms_have_all_segments() -> None:
    found = fim.mine(
        SALES, **READ, by="store", segments="A,C,=1+1", top=2, supports=True, count=True, epsilon=9,
        seed=1, size="1-2",
    )  # fmt: skip
    frame, table = found.to_pandas(), found.to_arrow()
    assert " ".join(frame.columns) == "segment support itemsets count lower upper doubtful"
    assert frame["segment"].tolist() == table["segment"].to_pylist() == ["A"] * 4 + ["C"] * 4
    lines = found.to_csv().splitlines()
    assert lines[0] == "segment,item_1,item_2,support,lower,upper,share,doubtful"
    assert len(lines) == 9
    values = json.loads(found.to_json())
    segments = ["A", "C", "=1+1"]
    assert [values[name] for name in ("by", "segments", "max_segments")] == ["store", segments, 1]
    assert [one["segment"] for one in values["releases"]] == segments
    assert "## store A" in found.to_markdown()
    assert "Nothing stood out from the noise for =1+1." in repr(found)
    assert "<td" in found._repr_html_()
    assert found._repr_markdown_() == found.to_markdown()
    assert found.to_polars().columns == found.to_arrow().column_names
    rows = SALES.assign(store=SALES["store"].replace("A", "=1+1"))
    found = fim.mine(rows, **READ, by="store", segments=["=1+1"], epsilon=100, seed=1)
    assert found.to_csv().splitlines()[1].startswith("'=1+1,")  # safe in a spreadsheet


def test_the_guarantee_says_what_is_hidden() -> None:
    # Of replace-one test_chosen_units tells.
    asked: dict[str, Any] = {**READ, "by": "store", "segments": "A,C", "neighbors": "add-remove"}
    found = fim.mine(SALES.drop(columns="user"), **asked)
    for whole_or_segment in (found, found["A"]):
        assert "adding or removing any one basket changes" in whole_or_segment.guarantee


@pytest.mark.parametrize("by", ["user", "basket"])
def test_a_segment_is_no_single_unit(by: str) -> None:
    with pytest.raises(fim.ParameterError, match="name the same column"):
        fim.mine(SALES, **READ, user="user", by=by, segments=[17])


def test_the_whole_says_nothing_of_one_segment_alone() -> None:
    rows = SALES[(SALES["store"] != "B") | (SALES["basket"] < 30)]
    asked: dict[str, Any] = {**READ, "by": "store", "segments": "A,B", "exclude": ["f"]}
    found = fim.mine(rows, **asked, supports=True, epsilon=5, seed=1)
    assert (found["B"].abstained, found["A"].abstained) == (True, False)
    shown = render_table(found, Screen())
    last = shown[shown.rindex("──") :]
    assert "Only rows where store is A, B count." in last
    assert "Each support is within" not in last
    for text in (str(found), repr(found), found._repr_html_()):
        assert "By a public list, 1 item is left out: f." in text
    values = found.to_dict()
    assert values["exclude"] == ["f"]
    assert all("exclude" not in one for one in values["releases"])


def test_a_release_and_its_ledger_say_how_items_and_baskets_were_made(tmp_path: Path) -> None:
    rows = [(n % 300, n // 300, "Tea, milk" if n % 2 else "TEA ,Jam") for n in range(3000)]
    frame = pd.DataFrame(rows, columns=["till", "day", "bought"])
    asked: Any = {"basket": ["till", "day"], "item": "bought", "split": ",", "fold_case": True}
    lists: dict[str, Any] = {"exclude": ["JAM"], "catalogue": ["TEA", "Milk", "jam"]}
    release = fim.mine(frame, **asked, **lists, **NEARLY_EXACT)
    assert [(found.items, found.support) for found in release] == [(("milk", "tea"), 1500)]
    said = {name: release.to_dict()[name] for name in ("basket", "split", "fold_case", "exclude")}
    assert said == {"basket": ["till", "day"], "split": ",", "fold_case": True, "exclude": ["jam"]}
    assert "A basket is all rows with the same 'till' and 'day'." in str(release)
    assert "Each cell of items was cut at ','." in str(release)
    assert "Capital and small letters are the same." in str(release)
    release.save(tmp_path / "a.json")
    loaded = fim.load(tmp_path / "a.json")
    assert isinstance(loaded, fim.Release)
    assert loaded.scope == release.scope
    with fim.Ledger.create(tmp_path / "a.ledger", epsilon=9, delta=1e-3, dataset="s") as ledger:
        fim.mine(frame, **asked, ledger=ledger, dataset="s")
        charged = ledger.entries[0].parameters
    assert [charged[name] for name in ("basket_columns", "split", "fold_case")] == [2, True, True]
    counted = fim.count(frame, [["TEA", "jam"], ["Milk"]], **asked, epsilon=1e6, seed=1)
    assert [found.items for found in counted] == [("jam", "tea"), ("milk",)]
    assert [found.support for found in counted] == [1500, 1500]
    with pytest.raises(fim.ParameterError, match="itemset 1 has an item twice"):
        fim.count(frame, [["TEA", "tea"]], **asked, seed=1)
