"""`fim.count`: which itemsets are taken, and how they are counted."""

import re
from collections.abc import Sequence
from decimal import Decimal
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
from fim_private.display import in_braces
from fim_private.dp.cost import PrivacyCost
from fim_private.errors import DataError, FimPrivateError, ParameterError, WorkLimitError
from fim_private.mining.given import given_itemsets, set_in
from fim_private.reading.labels import Item
from fim_private.reading.purchases import read_transactions
from fim_private.release.forms import csv_text
from fim_private.release.rules import rules_of
from fim_private.request.itemsets import supports_of

BASKETS = [["bread", "butter"]] * 600 + [["bread", "jam"]] * 50
THREE = [["bread", "butter"], ["jam"], ["tea"]]


def named(itemsets: Any) -> list[tuple[Item, ...]]:
    return list(given_itemsets(itemsets).itemsets)


LABELS: list[Item] = [1, 2, 39, "39", "a", "b", "c"]


def brute_force(baskets: Sequence[Any], units: Sequence[int], itemsets: Sequence[Any]) -> list[int]:
    """The supports, by the definition: how many units have a basket that contains it."""
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
    itemset = st.sets(st.sampled_from(forms), min_size=1).map(frozenset)
    chosen = data.draw(st.lists(itemset, min_size=1, max_size=9, unique=True))
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


def test_a_count_out_of_reach_is_refused() -> None:
    with pytest.raises(WorkLimitError, match=r"max_work"):
        fim.count([list(range(500))] * 1000, [range(7), range(3, 9)], max_work=10)


def test_supports_are_shares_unless_the_number_of_units_is_not_wanted() -> None:
    release = fim.count(BASKETS, THREE, epsilon=20, delta=0, seed=1)
    assert release.columns == ("itemset", "support", "share", "95 % interval")
    assert [round(release.share_of(one) or 0, 1) for one in release] == [0.9, 0.1, 0.0]
    assert [share.purpose for share in release.shares] == ["supports", "count"]
    assert release.cost == PrivacyCost(20, 0)
    assert fim.count(BASKETS, THREE, count=False).columns == ("itemset", "support", "95 % interval")


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
        "release.csv": 'item_1,item_2,support\nmilk,tea,5\njam,,5\n"a, b",c,5\n,,3\n',
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


MLXTEND = """,support,itemsets
0,0.5,"frozenset({'milk', 'tea'})"
1,0.4,"frozenset({np.str_('jam')})"
2,0.3,"frozenset({'a, b', 'c'})"
"""
RULES = """antecedents,consequents,antecedent support,confidence
"frozenset({'milk'})",frozenset({'tea'}),0.5,1.0
frozenset({'tea'}),frozenset({'milk'}),0.5,1.0
frozenset({'jam'}),frozenset(),0.5,1.0
"{'c'}","['a, b']",0.5,1.0
"""
TABLES = {
    "mlxtend.csv": MLXTEND,
    "mlxtend.tsv": re.sub("(?m)^(.*?),(.*?),", r"\1\t\2\t", MLXTEND),
    "mlxtend_rules.csv": RULES,
    "semicolons.csv": "itemsets;support\n{'milk', 'tea'};1\n['jam'];1\n('a, b', 'c',);1\n",
    "alone.csv": 'itemsets\n"{milk, tea}"\n{jam}\n"{""a, b"", c}"\n',
    "arules.csv": '"items","support","count"\n"1","{milk,tea}",0.1,5\n"2","{jam}",0.1,5\n"3","{\'a, b\',c}",0.1,5\n',  # noqa: E501
    "no row names.csv": "items,support\n{milk,tea},0.1\n{jam},0.1\n{'a, b',c},0.1\n",
    "arules.txt": '"items" "n"\n"1" "{milk,tea}" 1\n"2" "{jam}" 1\n"3" "{\'a, b\',c}" 1\n',
    "write.csv": (
        '"rules" "lift"\n"1" "{milk} => {tea}" 1\n"2" "{} => {jam}" 1\n"3" "{c} => {\'a, b\'}" 1\n'
    ),
    "inspected.csv": "LHS,RHS,lift\n{milk},{tea},1\n{},{jam},1\n{c},{'a, b'},1\n",
    "sets.txt": "{milk, tea}\n{'jam'}\n{\"a, b\", c}\n",
    "sets.csv": "{milk, tea}\n\"['jam']\"\n{'a, b', c}\n",
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.every_case
def test_tables_of_other_tools(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(TABLES[name])
    assert named(tmp_path / name) == PAIRS


def test_a_cell_of_a_table_may_have_line_breaks(tmp_path: Path) -> None:
    items = ["a\nb", 'c\r\n"d", e', "=f\n", "g"]
    release = fim.mine([items] * 300, size="1-4", top=15, rules=True, epsilon=50, seed=1)
    release.save(tmp_path / "r.csv")
    assert {*named(tmp_path / "r.csv")} == {*named(release)}
    known = fim.mine([items] * 300, size="1-4", known=tmp_path / "r.csv", epsilon=50, seed=1)
    assert known.scope.known_from is not None
    assert known.scope.known_from.itemsets == len(release) == 15
    (tmp_path / "rules.csv").write_text(csv_text(rules_of(release).sheet_rows()), newline="")
    of_rules = {itemset for itemset in named(release) if len(itemset) > 1}
    assert {*named(tmp_path / "rules.csv")} == of_rules
    (tmp_path / "pairs.csv").write_text('"a\nb",g\n')
    assert named(tmp_path / "pairs.csv") == [("a\nb", "g")]


def test_the_line_is_named_below_a_cell_with_line_breaks(tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    for cells in ('"a\n\nb",c,1', '"a b,c,1\n\ne,"f",1'):
        file.write_text(f"item_1,item_2,support\n{cells}\ng,h\n")
        with pytest.raises(DataError, match=r"line 5 has more or fewer fields than the first"):
            fim.count(BASKETS, file)


def test_a_release_and_its_rules_in_every_file_that_is_a_table(tmp_path: Path) -> None:
    baskets = [["milk", "=1+1"]] * 700 + [["milk", "bread, sliced"]] * 400
    release = fim.mine(baskets, top=2, rules=True, epsilon=9, seed=1)
    for ending in (".csv", ".xlsx", ".pq", ".json"):
        release.save(tmp_path / f"r{ending}")
        assert named(tmp_path / f"r{ending}") == [("=1+1", "milk"), ("bread, sliced", "milk")]
    (tmp_path / "rules.csv").write_text(csv_text(rules_of(release).sheet_rows()))
    assert {*named(tmp_path / "rules.csv")} == {*named(release)}
    assert {*named(release.rules())} == {*named(release)}


HEADERS = {
    "support.csv": "support,what\n0.5,\"frozenset({'milk', 'bread'})\"\n",
    "figures.csv": "product,count\nmilk,5\n",
    "sales.csv": "order_id,product\n1,milk\n",
    "two.tsv": "confidence\tlift\n1\t2\n",
    "spaces.txt": "item support\nmilk 5\n",
    "commas.txt": "item,support\nmilk,5\n",
    "sides.csv": "antecedent,confidence\n{milk},5\n",
    "item.csv": "itemset\nmilk\n",
}


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.every_case
def test_other_headers_are_refused_before_anything_is_charged(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(HEADERS[name])
    ledger = fim.Ledger.create(tmp_path / "a.ledger", epsilon=1, delta=1e-5)
    spent: dict[str, Any] = {"ledger": ledger, "dataset": "d"}
    with pytest.raises(DataError, match=r"its first line names columns\. It must have") as caught:
        fim.count(BASKETS, tmp_path / name, delta=0, **spent)
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match=r"its first line names columns\. It must have a column"):
        fim.mine(BASKETS, known=tmp_path / name, **spent)
    assert ledger.entries == ()


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("p.txt", "jam\ntea bags,semi-skimmed milk\n", "p.txt': line 2 has commas and spaces"),
        ("p.dat", "tea bags;milk\n", "line 1 has semicolons and spaces"),
        ("p.txt", "tea bags\tmilk\n", "line 1 has tabs and spaces"),
        ("p.fimi", "1 2|3\n", "line 1 has bars and spaces"),
        ("p.txt", "tea,milk\n", "line 1 has commas, but in such a file white space alone"),
        ("p.csv", "tea,milk\njam;bread\n", "line 2 has semicolons but no commas"),
        ("p.csv", "itemsets,support\n{a},1,2,3\n", "line 2 has more or fewer fields than"),
        ("p.csv", "rules\nmilk\n", "itemset 1 is not written as a set: put items in braces"),
        ("p.csv", "itemsets\nmilk\n", "itemset 1 is not written as a set: put items in braces"),
        ("p.csv", "itemsets\nfrozenset()\n", "itemset 1 is empty"),
        ("p.csv", "segment,antecedent_1,consequent_1,support\nA,b,c,1\n", "several segments"),
    ],
)
@pytest.mark.every_case
def test_mixed_separators_and_no_sets(tmp_path: Path, name: str, text: str, problem: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as caught:
        fim.count("no such file", tmp_path / name)
    assert problem in str(caught.value)


@given(
    st.lists(
        st.text(st.characters(codec="utf-8"), min_size=1).map(str.strip).filter(len),
        min_size=1,
        unique=True,
    )
)
def test_a_set_is_read_as_it_is_printed(items: list[str]) -> None:
    wanted = items
    if all(item.isprintable() and item[0] != "'" for item in items):
        assert set_in(in_braces(items)) == wanted
    assert set_in(str(items)) == wanted
    assert set_in(str(tuple(items))) == wanted
    assert {*map(str, set_in(str(frozenset(items))) or ())} == {*map(str, wanted)}


class Oddity:
    """No collection, whatever it claims."""

    def __iter__(self) -> Any:
        raise TypeError


FIRST = "itemsets: itemset 1"
COLLECTION = f"{FIRST} must be a collection of items, not"
NO_LIST = "itemsets must be a list of itemsets, a release, a frame or the path of a file, not "
REFUSED: list[tuple[Any, str]] = [
    ([], "itemsets must hold at least one itemset"),
    ([["a"], ()], "itemsets: itemset 2 is empty; leave it out: every unit has it"),
    ([["a", "b"], ["c"], {"b", "a"}], "itemsets: itemset 3 is itemset 1 again; give each once"),
    ([[5, np.int8(5)]], "itemsets: itemset 1 has an item twice; name each item once"),
    (["bread"], f"{COLLECTION} str; write ['bread'] for one item"),
    ([7], f"{COLLECTION} int; write ['bread'] for one item"),
    *(
        ([value], f"{COLLECTION} {type(value).__name__}")
        for value in (None, {"a": 1}, b"ab", Oddity(), np.array(5))
    ),
    *(
        ([[value]], f"{FIRST} must hold numbers and strings, not {type(value).__name__}")
        for value in (["a"], True, np.True_, b"a", np.timedelta64(1, "s"))
    ),
    *(
        ([["a", value]], f"{FIRST} holds a value that stands for no item")
        for value in (None, float("nan"), "NULL", " ")
    ),
    ([["\udc80"]], "itemsets: itemset 1 holds text that is not valid Unicode"),
    ([range(1001)], "itemsets: itemset 1 has more than 1,000 items"),
    (([n] for n in range(100_001)), "itemsets must be at most 100,000 itemsets"),
    (pd.DataFrame({"x": [1]}), "itemsets must have a column itemsets or items that holds"),
    (pa.table({"items": ["a", "b"]}), f"{COLLECTION} str"),
    *((value, NO_LIST) for value in (None, 5, b"ab", {"a": 1}, object(), np.array(5))),
]


def test_items_of_given_itemsets_are_those_in_print() -> None:
    data = [[7, 2.5, "tea"]] * 300
    for seven in (7, 7.0, "7.0", Decimal("7.00"), np.int64(7), np.float32(7)):
        [itemset] = fim.count(data, [[seven, 2.5, np.str_("tea")]], epsilon=50, seed=1)
        assert itemset.items == (7, "2.5", "tea")
        [partner, *_] = fim.mine(data, with_items=[seven], size=2, epsilon=50, seed=1)
        assert 7 in (partner.items or ())


def test_purchases_are_no_public_list(tmp_path: Path) -> None:
    """Each item, or basket, would come out as it is."""
    baskets = [["tea", "milk"], ["tea", "rye"]]
    (tmp_path / "p.dat").write_text("tea milk\ntea rye\n")
    (tmp_path / "link.dat").symlink_to(tmp_path / "p.dat")
    (tmp_path / "other.dat").hardlink_to(tmp_path / "p.dat")
    for data, listed in (
        (baskets, baskets),
        (tmp_path / "p.dat", str(tmp_path / "p.dat")),
        (tmp_path / "p.dat", tmp_path / "link.dat"),
        (tmp_path / "p.dat", tmp_path / "other.dat"),
        (tmp_path, tmp_path / "p.dat"),
        (tmp_path / "p*.dat", tmp_path / "p.dat"),
        (f"file://{tmp_path}/p.dat", tmp_path / "p.dat"),
    ):
        with pytest.raises(ParameterError, match="itemsets names the purchases themselves"):
            fim.count(data, listed)
        for name in ("known", "exclude", "with_each", "catalogue"):
            options: Any = {name: listed}
            with pytest.raises(
                ParameterError, match=f"^{name} names the purchases themselves, which"
            ):
                fim.mine(data, **options)


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
        ("semicolons.csv", "bread;butter\njam\n", "has semicolons but no commas: separate items"),
        ("quote.csv", '"a,b\n', "is not well-formed CSV"),
        ("latin.csv", "caf\xe9,tea\n".encode("latin-1"), "is not UTF-8 text; save it in UTF-8"),
        ("r.json", '{"itemsets": [{"items": ["a"]}]}', "is not a release: load what was saved"),
        ("x.json", "{", "is not a release"),
        ("p.parquet", "PAR1 but no more", "is truncated, damaged or not of the form its name says"),
        ("p.xlsx", "what", "has no form that can be read"),
    ],
)
def test_refused_files(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as caught:
        fim.count("no such file", tmp_path / name)
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_other_things_that_are_refused(tmp_path: Path) -> None:
    bad = ("", "the path of itemsets is empty"), (tmp_path, "is a folder"), ("no", "not exist")
    for source, message in bad:
        with pytest.raises(DataError, match=message):
            fim.count(BASKETS, source)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="must have a column itemsets or items"):
        fim.count(BASKETS, tmp_path / "t.parquet")
    with pytest.raises(ParameterError, match="only one of the purchases and itemsets can"):
        fim.count("-", "-")
    wrongs: list[dict[str, Any]] = [{"epsilon": 0}, {"delta": 1}, {"delta": -1}, {"max_work": 0}]
    for wrong in (*wrongs, {"neighbors": "x"}, {"seed": "x"}):
        with pytest.raises(FimPrivateError) as caught:
            fim.count("no such file", THREE, **wrong)
        assert next(iter(wrong)) in str(caught.value)


@pytest.mark.parametrize("seed", range(5))
def test_an_item_that_nobody_has_is_treated_like_any_other(seed: int) -> None:
    """What is released of it is what is released of an itemset whose support is 0, to the bit."""
    given = [["tea", "unicorn"], ["milk"], ["jam", "tea"]]
    baskets = [["tea", "jam"]] * 40 + [["milk"]] * 30
    unheard = fim.count(baskets, given, count=True, seed=seed)
    heard = fim.count([*baskets[:-1], ["unicorn", "milk"]], given, count=True, seed=seed)
    one, other = unheard.to_dict(), heard.to_dict()
    named = {"items", "support", "interval", "share", "share_interval"}
    assert all({*itemset} == named for release in (one, other) for itemset in release["itemsets"])
    assert one["itemsets"][0]["support"] == other["itemsets"][0]["support"]
    assert (one.keys(), one["noise"]) == (other.keys(), other["noise"])
