"""Itemsets that no basket contains are drawn uniformly, in reasonable time."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import comb
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fim_private as fim
from fim_private.counting import source as module
from fim_private.counting.source import CatalogueItemsets, LocalItems, counter_for
from fim_private.dp.noise import Randomness
from fim_private.reading.purchases import read_catalogue, read_transactions
from fim_private.reading.transactions import Transactions


def candidates_of(transactions: Transactions, size: int) -> CatalogueItemsets:
    items = LocalItems(transactions)
    count = len(transactions.vocabulary)
    return CatalogueItemsets(items, count, size, counter_for(transactions, size, 1))


baskets_of = st.lists(st.sets(st.integers(0, 7), max_size=8).map(sorted), max_size=6)


@given(
    baskets=baskets_of,
    size=st.integers(1, 3),
    share=st.floats(0, 1),
    listed=st.booleans(),
    seed=st.integers(0, 99),
)
def test_they_are_different_and_in_no_basket(
    baskets: list[list[int]], size: int, share: float, listed: bool, seed: int
) -> None:
    transactions = read_transactions(baskets).restricted_to(read_catalogue(range(8)))
    free = {
        each
        for each in combinations(range(8), size)
        if not any({*each} <= {*basket} for basket in baskets)
    }
    number = round(share * len(free))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_WORTH_DRAWING", 1 if listed else 1 << 30)
        candidates = candidates_of(transactions, size)
        found = candidates.unsupported(len(free), number, Randomness.seeded(seed))
    assert len(set(found)) == len(found) == number
    assert {*found} <= free


@pytest.mark.parametrize("number", [1, 3, 7])  # drawn one by one, by lists, and from a list of all
def test_each_is_as_likely(number: int) -> None:
    transactions = read_transactions([[0, 1, 2]]).restricted_to(read_catalogue(range(5)))
    assert comb(5, 2) - 3 == 7
    candidates = candidates_of(transactions, 2)
    trials, drawn = 2_000, Counter[tuple[int, ...]]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_WORTH_DRAWING", 3)
        for seed in range(trials):
            drawn.update(candidates.unsupported(7, number, Randomness.seeded(seed))[:1])
    expected = trials / 7
    # of 6 degrees of freedom: 1 in 1,000
    assert sum((drawn[each] - expected) ** 2 / expected for each in drawn) < 22.5
    assert len(drawn) == 7


def test_all_of_a_catalogue_may_be_wanted() -> None:
    baskets = [[item] for item in range(150)] * 20
    asked: dict[str, Any] = {
        "size": 2,
        "top": comb(150, 2),
        "mechanism": "exponential",
        "catalogue": range(150),
        "seed": 1,
    }
    release = fim.mine(baskets, supports=False, **asked)
    assert len({itemset.items for itemset in release.itemsets}) == comb(150, 2)
