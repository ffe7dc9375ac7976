"""What stands for no value, and which identifiers are one: the same in every form and company."""

import io
import math
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from files_read import in_every_form
from sources import ANY_ROWS, WRITERS, units_of

from fim_private.errors import DataError
from fim_private.reading.labels import Item
from fim_private.reading.purchases import read_catalogue, read_transactions
from fim_private.reading.transactions import Transactions
from fim_private.reading.values import MISSING_TEXTS

LONG: dict[str, Any] = {"basket": "b", "item": "i", "user": "u", "missing_user": "drop"}


def units(data: Transactions) -> Counter[frozenset[frozenset[Item]]]:
    return Counter(map(frozenset, units_of(data)))


def forms(rows: list[tuple[str, str, str]], folder: Path) -> Iterator[Any]:
    yield from in_every_form(rows, folder)
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate("ubi")})
    items = pa.array([[item] for item in table["i"].to_pylist()])
    lists = table.append_column("l", items).drop_columns(["i"])
    yield lists
    yield lists.to_pandas()


@pytest.mark.parametrize("blank", [*sorted(MISSING_TEXTS), "  ", " NULL\t", "\u3000nan"])
def test_one_rule_in_every_form(blank: str, tmp_path: Path) -> None:
    rows = [
        ("ann", "1", "tea "),
        ("ann ", " 1", blank),
        (blank, "1", "milk"),
        ("bob", blank, "milk"),
        ("bob", "2", " tea"),
        ("bob", "2", "7"),
    ]
    for source in forms(rows, tmp_path):
        columns = LONG
        if "l" in getattr(source, "columns", ()) or "l" in getattr(source, "column_names", ()):
            columns = {"items": "l", **{name: LONG[name] for name in LONG if name != "item"}}
        data = read_transactions(source, **columns)
        found = {frozenset(frozenset(map(str, basket)) for basket in unit) for unit in units(data)}
        expected = [{frozenset({"tea"})}, {frozenset({"tea", "7"})}]
        assert found == {*map(frozenset, expected)}, type(source)


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (2.5, "2.5"),
        (1e-7, "1e-07"),
        (4e18, "4000000000000000000"),
        (1_000_000_000_000_000.5, "1000000000000000.5"),
        (float("inf"), "inf"),
        (-0.0, "0"),
    ],
)
def test_a_number_is_the_same_item_whatever_the_type_of_its_column(
    number: float, printed: str
) -> None:
    """A text in somebody else's row makes a column of floats one of objects."""
    floats, mixed = pd.DataFrame({"i": [number]}), pd.DataFrame({"i": [number, "tea"]})
    tables: list[Any] = [
        floats.assign(b="1"),
        mixed.assign(b=["1", "2"]),
        pa.table({"b": ["1", "2"], "i": [number, None]}),
        pl.DataFrame({"b": ["1"], "i": [number]}),
    ]
    read = [read_transactions(table, basket="b", item="i") for table in tables]
    for data in (*read, read_transactions([[number]])):
        assert str(data.vocabulary.label(0)) == printed


@pytest.mark.parametrize("blank", ["", " ", "NULL", "NA", " nan"])
def test_baskets_and_catalogues(blank: str, tmp_path: Path) -> None:
    expected = units(read_transactions([["tea", "milk"], ["tea"]]))
    assert units(read_transactions([["tea", " milk", blank], [blank, "tea "]])) == expected
    assert units(read_transactions(pd.Series([["tea", "milk", blank], ["tea"]]))) == expected
    assert units(read_transactions(pa.array([["tea", "milk", blank], ["tea"]]))) == expected
    (tmp_path / "a.csv").write_text(f"tea, milk,{blank}\n{blank},tea,tea\n")
    assert units(read_transactions(tmp_path / "a.csv")) == expected
    assert len(read_catalogue(["tea", blank, "tea "])) == 1
    (tmp_path / "c.txt").write_text(f"tea\n{blank}\n tea\n")
    assert len(read_catalogue(tmp_path / "c.txt")) == 1


def test_the_list_is_that_of_pandas() -> None:
    texts = [*sorted(MISSING_TEXTS - {"\\N"}), "none", "Null", "na", "-", "0", "N.A."]
    frame = pd.read_csv(io.StringIO("x,y\n" + "".join(f'"{text}",1\n' for text in texts)))
    assert frame["x"].isna().tolist() == [text in MISSING_TEXTS for text in texts]


ROLES: dict[str, Any] = {"user": "u", "basket": "b", "item": "i"}
NUMBERS_MISSING = (
    *(math.nan, np.float32("nan"), Decimal("NaN"), complex("nan"), np.datetime64("NaT", "s")),
    *(None, pd.NA, pd.NaT),
)


@pytest.mark.parametrize(("rule", "expected"), [("drop", 1), ("own-unit", 2)])
def test_objects_that_are_no_user(rule: str, expected: int) -> None:
    for missing in (*NUMBERS_MISSING, "", " \t", b" "):
        users = pd.Series(["ann", missing], dtype=object)
        frame = pd.DataFrame({"u": users, "b": [1, 2], "i": ["tea", "milk"]})
        assert read_transactions(frame, missing_user=rule, **ROLES).units == expected


TEXTS = [None, "", " ", "\t \n", "\u00a0", "\u3000", "NULL", " nan "]


@pytest.mark.parametrize("kind", ANY_ROWS)
def test_without_a_rule_rows_of_nobody_are_refused(kind: str, tmp_path: Path) -> None:
    columns = [pa.array(["ann", missing, "bob"], pa.string()) for missing in TEXTS]
    columns += [pa.array([1.0, missing, 2.0], pa.float64()) for missing in (None, math.nan)]
    for users in columns:
        table = pa.table({"u": users, "b": [3, 4, 5], "i": ["beer", "tea", "milk"]})
        with pytest.raises(DataError) as caught:
            read_transactions(WRITERS[kind](table, tmp_path), **ROLES)
        shown = str(caught.value).replace(repr(str(tmp_path))[1:-1], "")
        for part in ("'u'", "missing_user 'drop'", "missing_user 'own-unit'"):
            assert part in shown
        assert "\n" not in shown
        # Not how many, nor which, nor of whom.
        assert not any(word in shown for word in ("ann", "bob", "beer", "tea", *"12345"))


# -------------------- identifiers: equal values are one, in every type, order and company


def baskets_of_units(data: Transactions) -> list[list[tuple[Any, ...]]]:
    """The baskets of each unit, in order, as tuples; baskets that hold nothing left out."""
    order = partial(sorted, key=lambda item: (isinstance(item, str), item))
    return [[tuple(order(basket)) for basket in unit if basket] for unit in units_of(data)]


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint64"])
def test_no_two_integers_are_one(kind: str) -> None:
    """Dense and unsorted."""
    limits = np.iinfo(kind)
    for low in (int(limits.min), max(int(limits.min), -100), int(limits.max) - 200):
        ids = np.array([low + step for step in range(201)], dtype=kind)
        np.random.default_rng(7).shuffle(ids)
        table = pa.table({"id": np.concatenate([ids, ids[::-1]]), "item": ["a"] * 402})
        assert read_transactions(table, basket="id", item="item").baskets == 201


def test_no_item_is_left_out_of_every_long_history() -> None:
    """What is drawn differs from user to user."""
    items = [f"item {number}" for number in range(10)]
    table = pa.table(
        {
            "user": [user for user in range(300) for _ in items],
            "items": pa.array([[item, f"own {user}"] for user in range(300) for item in items]),
        }
    )
    capped = read_transactions(table, user="user").capped(2, 1)
    baskets = [basket for unit in baskets_of_units(capped) for basket in unit]
    kept = Counter(item for basket in baskets for item in basket if item in items)
    assert sum(kept.values()) == 300
    # 30 expected; below 10 with a probability of 1e-6 for each
    assert min(kept[item] for item in items) >= 10


def test_large_numbers_of_several_types_are_compared_exactly() -> None:
    """2^120 and 2^120 + 2^61 - 1 have one hash in Python, and numpy's 2.0^120 equals both."""
    one, other, between = 2**120, 2**120 + 2**61 - 1, np.float64(2.0**120)
    for ids in ([one, other], [between, one, other], [one, other, between]):
        frame = pd.DataFrame({"id": pd.Series(ids, dtype=object), "item": "a"})
        assert read_transactions(frame, basket="id", item="item").baskets == 2
