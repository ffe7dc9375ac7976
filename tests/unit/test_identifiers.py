"""Identifiers of baskets and users: equal values are one, in every type, order and company."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sources import units_of

from fim_private.reading.purchases import read_transactions
from fim_private.reading.transactions import Transactions


def read(ids: pa.Array, **columns: Any) -> Transactions:
    table = pa.table({"id": ids, "item": pa.array(["a"] * len(ids)), **columns})
    return read_transactions(table, basket="id", item="item")


def units(data: Transactions) -> list[list[tuple[Any, ...]]]:
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
        assert read(pa.array(np.concatenate([ids, ids[::-1]]))).baskets == 201


def shop(baskets: Sequence[Sequence[Any]]) -> Transactions:
    return read_transactions(
        pa.table({"user": ["X"] * len(baskets), "items": pa.array(baskets)}), user="user"
    )


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
    kept = Counter(
        item for unit in units(capped) for basket in unit for item in basket if item in items
    )
    assert sum(kept.values()) == 300
    # 30 expected; below 10 with a probability of 1e-6 for each
    assert min(kept[item] for item in items) >= 10


def test_large_numbers_of_several_types_are_compared_exactly() -> None:
    """2^120 and 2^120 + 2^61 - 1 have one hash in Python, and numpy's 2.0^120 equals both."""
    one, other, between = 2**120, 2**120 + 2**61 - 1, np.float64(2.0**120)
    for ids in ([one, other], [between, one, other], [one, other, between]):
        frame = pd.DataFrame({"id": pd.Series(ids, dtype=object), "item": "a"})
        assert read_transactions(frame, basket="id", item="item").baskets == 2
