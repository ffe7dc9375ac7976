"""`fim.count`: which itemsets are taken, and how they are counted. (The guarantee: contract/test_given_counts.py.)"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fim_private as fim
from fim_private.counting import LocalSource
from fim_private.dp.cost import PrivacyCost
from fim_private.errors import DataError, FimPrivateError, ParameterError, WorkLimitError
from fim_private.mining.count import given_itemsets
from fim_private.output import Screen, render_table
from fim_private.reading.labels import Item
from fim_private.reading.purchases import read_transactions
from fim_private.request import itemsets as known_itemsets
from fim_private.request.itemsets import supports_of

BASKETS = [["bread", "butter"]] * 600 + [["bread", "jam"]] * 50
THREE = [["bread", "butter"], ["jam"], ["tea"]]


def named(itemsets: Any) -> list[tuple[Item, ...]]:
    return list(given_itemsets(itemsets).itemsets)


# ------------------------------------------------------------------------------------------------- counted right

LABELS: list[Item] = [1, 2, 39, "39", "a", "b", "c"]


def brute_force(
    baskets: Sequence[Iterable[Item]], units: Sequence[int], itemsets: Sequence[Iterable[Item]]
) -> list[int]:
    """The supports, by the definition: how many units have a basket that contains it. Labels are compared as texts."""
    held = [({*map(str, basket)}, unit) for basket, unit in zip(baskets, units, strict=True)]
    return [len({unit for basket, unit in held if basket >= {*map(str, i)}}) for i in itemsets]


@given(st.data())
def test_supports_are_those_of_the_definition(data: st.DataObject) -> None:
    # The data has one form of each label only; the list may have the other.
    labels = [label for label in LABELS if label != data.draw(st.sampled_from([39, "39"]))]
    baskets = data.draw(st.lists(st.sets(st.sampled_from(labels)), max_size=12))
    users = data.draw(st.lists(st.integers(0, 3), min_size=len(baskets), max_size=len(baskets)))
    other: Item = 39 if data.draw(st.booleans()) else "39"
    forms: list[Item] = [1, 2, other, "a", "b", "c", "nobody's"]
    chosen = data.draw(
        st.lists(st.sets(st.sampled_from(forms), min_size=1).map(frozenset), min_size=1, max_size=9, unique=True)
    )
    for by_user in (False, True):
        units = users if by_user else range(len(baskets))
        rows = [
            (unit, number, item)
            for number, (unit, basket) in enumerate(zip(units, baskets, strict=True))
            for item in sorted(basket, key=str)
        ]
        if by_user:
            table = pd.DataFrame(rows, columns=["u", "b", "i"], dtype=object)
            transactions = read_transactions(table, user="u", basket="b", item="i")
        else:
            transactions = read_transactions(baskets)
        expected = brute_force(baskets, units, chosen)
        assert supports_of(given_itemsets(chosen), LocalSource(transactions)) == expected


def test_more_items_than_one_pass_looks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_itemsets, "_ITEMS_AT_ONCE", 4)
    rng = np.random.default_rng(5)
    baskets = [rng.choice(12, size=5, replace=False).tolist() for _ in range(300)]
    itemsets = [set(pair) for pair in combinations(range(12), 2)] + [{i} for i in range(12)] + [{*range(6)}, {0, 5, 9}]
    rng.shuffle(itemsets)
    source = LocalSource(read_transactions(baskets))
    assert supports_of(given_itemsets(itemsets), source) == brute_force(baskets, range(300), itemsets)


def test_two_forms_of_a_number_are_two_items_where_both_are_named() -> None:
    """As in a catalogue: 39 of the data is 39 of the list, and "39" only where the list has no 39."""
    source = LocalSource(read_transactions([[39]] * 5))
    assert supports_of(given_itemsets([[39], ["39"], [39, "39"]]), source) == [5, 0, 0]
    assert supports_of(given_itemsets([["39"], ["7"]]), source) == [5, 0]


def test_a_count_out_of_reach_is_refused() -> None:
    with pytest.raises(WorkLimitError, match=r"max_work"):
        fim.count([list(range(500))] * 1000, [range(7), range(3, 9)], max_work=10)


# ------------------------------------------------------------------------------------------------- what is released


def test_the_release() -> None:
    release = fim.count(BASKETS, THREE, seed=1)
    assert (release.mechanism, release.size, release.top, release.wanted) == ("count", "1-2", 3, 3)
    assert release.cost == PrivacyCost(1.0, 0.0)
    assert [itemset.items for itemset in release.itemsets] == [("bread", "butter"), ("jam",), ("tea",)]
    assert release.units is None
    assert not release.abstained
    found = json.loads(release.to_json())
    assert found["mechanism"] == "count"
    assert found["noise"] == {"kind": "discrete-laplace", "parameter": "3", "half_width": 9}
    assert found["delta"] == 0.0
    assert fim.count(BASKETS, THREE, neighbors="replace-one", seed=1).units == 650
    assert release.to_csv().splitlines()[0] == "item_1,item_2,support,lower,upper"


def test_the_table_says_what_was_given() -> None:
    shown = render_table(fim.count(BASKETS, THREE), Screen())
    assert "The supports of the 3 itemsets given" in shown
    assert "{bread, butter}" in shown
    assert "within 9 with 95 % probability" in shown
    assert "Guarantee (count, ε = 1, δ = 0): adding or removing any one basket" in shown
    one = render_table(fim.count(BASKETS, [["jam"]], seed=1), Screen())
    assert "The support of the itemset" in one
    assert "NOT PRIVATE" in one


def test_the_order_is_that_of_the_list() -> None:
    order = [["jam"], ["bread", "butter"], ["bread"], ["zebra"]]
    assert [i.items for i in fim.count(BASKETS, order).itemsets] == [tuple(one) for one in order]


def test_supports_contradict_no_inclusion() -> None:
    for seed in range(20):
        whole, part = fim.count(BASKETS, [["bread", "jam"], ["jam"]], epsilon=0.1, seed=seed).itemsets
        assert whole.support is not None
        assert part.support is not None
        assert whole.support <= part.support


def test_users() -> None:
    visits = pa.table({"customer": [*range(600)] * 2, "items": [["bread", "butter"]] * 1200})
    release = fim.count(visits, [["butter"]], user="customer", epsilon=5)
    assert release.privacy_unit == "user"
    assert release.units is None
    assert fim.count(visits, [["butter"]], user="customer", epsilon=5, neighbors="replace-one").units == 600
    assert abs((release.itemsets[0].support or 0) - 600) < 20


@pytest.mark.full
def test_intervals_cover() -> None:
    runs, covered = 400, 0
    data = read_transactions(BASKETS)
    for seed in range(runs):
        for itemset, support in zip(fim.count(data, THREE, seed=seed).itemsets, (600, 50, 0), strict=True):
            assert itemset.interval is not None
            covered += itemset.interval[0] <= support <= itemset.interval[1]
    assert covered >= 0.94 * runs * 3


# ------------------------------------------------------------------------------------------- every form of a list

PAIRS: list[tuple[Item, ...]] = [("milk", "tea"), ("jam",), ("a, b", "c")]


def test_forms_in_python() -> None:
    expected = [("a",), ("b", "c")]
    table = pa.table({"itemsets": [["a"], ["c", "b"]], "support": [1, 2]})
    release = fim.count(BASKETS, expected, count=True)
    forms: list[Any] = [
        expected,
        iter(expected),
        (list(itemset) for itemset in expected),
        [frozenset(itemset) for itemset in expected],
        [np.array(itemset) for itemset in expected],
        [(item for item in itemset) for itemset in expected],
        [pd.Series(itemset) for itemset in expected],
        pd.Series(expected),
        pl.Series([["a"], ["c", "b"]]),
        table,
        table.to_batches()[0],
        table.to_reader(),
        table["itemsets"],
        pa.array([["a"], ["c", "b"]]),
        pa.table({"items": [["a"], ["c", "b"]]}),
        pl.from_arrow(table),
        table.to_pandas(),
        pd.DataFrame({"support": [0.5, 0.2], "itemsets": [frozenset("a"), frozenset("cb")]}),
        release,
        release.itemsets,
        release.to_pandas(),
        release.to_arrow(),
        np.array([frozenset("a"), frozenset("cb")], dtype=object),
        dict.fromkeys(map(frozenset, expected)).keys(),
    ]
    for form in forms:
        assert named(form) == expected


def test_forms_in_files(tmp_path: Path) -> None:
    texts = {
        "pairs.csv": 'tea,milk\njam\n"a, b",c\n',
        "trailing.csv": 'milk,tea,\r\njam,,\r\n"a, b", c\r\n',
        "no newline.csv": 'milk, tea \n\n  \njam\n"a, b",c',
        "old.csv": 'milk,tea\rjam\r"a, b",c\r',
        "pairs.tsv": "milk\ttea\njam\na, b\tc\n",
        "release.csv": 'item_1,item_2,support,lower,upper\nmilk,tea,5,1,9\njam,,5,1,9\n"a, b",c,5,,\n,,3,,\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" * (name == "old.csv") + text.encode())
        assert named(tmp_path / name) == PAIRS, name
        assert named(str(tmp_path / name)) == PAIRS
    (tmp_path / "pairs.dat").write_text("2 39\n007\n\n tea -5 \n")
    assert named(tmp_path / "pairs.dat") == [(2, 39), ("007",), (-5, "tea")]
    table = pa.table({"itemsets": [list(map(str, itemset)) for itemset in PAIRS]})
    pq.write_table(table, tmp_path / "pairs.parquet")
    feather.write_feather(table, str(tmp_path / "pairs.feather"))
    for name in ("pairs.parquet", "pairs.feather"):
        assert named(tmp_path / name) == PAIRS
    release = fim.count(BASKETS, PAIRS)
    (tmp_path / "release.json").write_text(release.to_json())
    assert named(tmp_path / "release.json") == PAIRS
    (tmp_path / "ours.csv").write_text(release.to_csv())
    assert named(tmp_path / "ours.csv") == PAIRS


def test_numbers_in_text_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text('39,48\n"39",007\n')
    assert named(tmp_path / "n.csv") == [(39, 48), (39, "007")]
    assert named([[2**70], [np.int64(5)], [np.str_("x")]]) == [(str(2**70),), (5,), ("x",)]


class Oddity:
    """No collection, whatever it claims."""

    def __iter__(self) -> Any:
        raise TypeError


REFUSED: list[tuple[Any, str]] = [
    ([], "itemsets must hold at least one itemset"),
    ([[]], "itemsets: itemset 1 is empty; leave it out: every unit has it"),
    ([["a"], ()], "itemsets: itemset 2 is empty; leave it out: every unit has it"),
    ([["a", "b"], ["c"], {"b", "a"}], "itemsets: itemset 3 is itemset 1 again; give each once"),
    ([["a", "b", "a"]], "itemsets: itemset 1 has an item twice; name each item once"),
    ([[5, np.int8(5)]], "itemsets: itemset 1 has an item twice; name each item once"),
    (["bread"], "itemsets: itemset 1 must be a collection of items, not str; write ['bread'] for one item"),
    ([7], "itemsets: itemset 1 must be a collection of items, not int; write ['bread'] for one item"),
    ([None], "itemsets: itemset 1 must be a collection of items, not NoneType"),
    ([{"a": 1}], "itemsets: itemset 1 must be a collection of items, not dict"),
    ([b"ab"], "itemsets: itemset 1 must be a collection of items, not bytes"),
    ([Oddity()], "itemsets: itemset 1 must be a collection of items, not Oddity"),
    ([np.array(5)], "itemsets: itemset 1 must be a collection of items, not ndarray"),
    ([[["a"]]], "itemsets: itemset 1 must hold whole numbers and strings, not list"),
    ([[{"a"}, "b"]], "itemsets: itemset 1 must hold whole numbers and strings, not set"),
    ([[1.0]], "itemsets: itemset 1 must hold whole numbers and strings, not float"),
    ([[True]], "itemsets: itemset 1 must hold whole numbers and strings, not bool"),
    ([[np.timedelta64(1, "s")]], "itemsets: itemset 1 must hold whole numbers and strings, not timedelta64"),
    ([["a", None]], "itemsets: itemset 1 must hold whole numbers and strings, not NoneType"),
    ([[float("nan")]], "itemsets: itemset 1 must hold whole numbers and strings, not float"),
    ([["\udc80"]], "itemsets: itemset 1 holds text that is not valid Unicode"),
    ([range(1001)], "itemsets: itemset 1 has more than 1,000 items"),
    (([n] for n in range(100_001)), "itemsets must be at most 100,000 itemsets"),
    (
        pd.DataFrame({"x": [1]}),
        "itemsets must have a column itemsets or items that holds an itemset in each row",
    ),
    (
        pa.table({"items": ["a", "b"]}),
        "itemsets: itemset 1 must be a collection of items, not str; write ['bread'] for ",
    ),
    *(
        (value, "itemsets must be a list of itemsets, a release, a frame or the path of a file, not ")
        for value in (None, 5, b"ab", {"a": 1}, object(), np.array(5))
    ),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_no_list_of_itemsets_is_refused_in_a_line(number: int) -> None:
    value, message = REFUSED[number]
    with pytest.raises(ParameterError) as caught:
        fim.count("no such file", value)  # refused before the data is opened
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv", "", "is empty; check how it was written"),
        ("blank.csv", "\n \n", "must hold at least one itemset"),
        ("commas.csv", "a,b\n,,\n", "itemset 2 is empty"),
        ("twice.csv", "a,b\nb,a\n", "itemset 2 is itemset 1 again"),
        ("repeated.dat", "1 2 1\n", "itemset 1 has an item twice"),
        ("semicolons.csv", "bread;butter\njam\n", "has semicolons but no commas: separate items by commas, or put "),
        ("quote.csv", '"a,b\n', "is not well-formed CSV"),
        ("latin.csv", "caf\xe9,tea\n".encode("latin-1"), "is not UTF-8 text"),
        ("r.json", "{}", "is no release as JSON: it has no list of itemsets"),
        ("l.json", '["a"]', "is no release as JSON"),
        ("x.json", "{", "is no release as JSON"),
        ("n.json", '{"itemsets": [{"items": [1.5]}]}', "itemset 1 must hold whole numbers and strings, not float"),
        ("s.json", '{"itemsets": [{"items": "ab"}]}', "itemset 1 must be a collection of items, not str"),
        ("a.json", '{"itemsets": [{"items": null}]}', "must hold at least one itemset"),
        ("p.parquet", "PAR1 but no more", "is truncated, damaged or not of the form its name says"),
        ("p.xlsx", "what", "is of no form that can be read"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as caught:
        fim.count("no such file", tmp_path / name)
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_other_things_that_are_refused(tmp_path: Path) -> None:
    for source, message in (("", "the path of the itemsets is empty"), (tmp_path, "is a folder"), ("no", "not exist")):
        with pytest.raises(DataError, match=message):
            fim.count(BASKETS, source)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="must have a column itemsets or items"):
        fim.count(BASKETS, tmp_path / "t.parquet")
    with pytest.raises(ParameterError, match="only one of the purchases and itemsets can be standard input"):
        fim.count("-", "-")
    bad: list[dict[str, Any]] = [
        {"epsilon": 0},
        {"delta": 1},
        {"delta": -1},
        {"neighbors": "x"},
        {"max_work": 0},
        {"seed": "x"},
    ]
    for wrong in bad:
        with pytest.raises(FimPrivateError) as caught:
            fim.count("no such file", THREE, **wrong)
        assert next(iter(wrong)) in str(caught.value)


def test_a_release_without_itemsets_cannot_be_counted() -> None:
    with pytest.raises(ParameterError, match="at least one itemset"):
        fim.count(BASKETS, fim.mine([], seed=1))
