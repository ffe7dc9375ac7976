"""The door from data to supports, on one machine."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import brute_force_supports, spectrum_of

from fim_private.counting import LocalSource, SupportSource
from fim_private.counting.source import Catalogue
from fim_private.errors import ParameterError
from fim_private.reading.labels import Item
from fim_private.reading.purchases import read_catalogue, read_transactions

SHOP = read_transactions([*[[1, 2, 3, "a"]] * 5, *[[1, 2]] * 4, *[["a", "b"]] * 3, []])
CATALOGUE = Catalogue(read_catalogue([1, 2, "a", "never bought"]))
VISITS = pa.table(
    {"user": ["ann", "ann", "ann", "bob", None], "items": [[1, 2], [1, 2, 3], [4], [1, 2], [1, 2]]}
)

random_baskets = st.lists(st.lists(st.integers(0, 6), max_size=5), max_size=8)
several_sizes = st.lists(st.integers(1, 3), min_size=1, unique=True)


@given(baskets=random_baskets, sizes=several_sizes)
def test_several_sizes_are_ranked_together(baskets: list[list[Item]], sizes: list[int]) -> None:
    source = LocalSource(read_transactions(baskets))
    supports = {
        itemset: c for size in sizes for itemset, c in brute_force_supports(baskets, size).items()
    }
    assert source.spectrum(sizes).all_levels() == spectrum_of(supports)
    candidates = sum(CATALOGUE.candidates(size) for size in sizes)
    assert source.spectrum(sizes, CATALOGUE).universe_size == candidates


def test_users_and_caps() -> None:
    source: SupportSource = LocalSource(
        read_transactions(VISITS, user="user", missing_user="own-unit")
    )
    assert (source.by_user, source.missing_user) == (True, "own-unit")
    assert source.spectrum(2).all_levels() == [(3, 1), (1, 2)]
    capped = source.capped(1, 1)
    assert (capped.by_user, capped.missing_user) == (True, "own-unit")
    assert capped.spectrum(2).all_levels() == []
    assert sum(support * many for support, many in capped.spectrum(1).levels()) == 3
    assert (LocalSource(SHOP).by_user, LocalSource(SHOP).missing_user) == (False, None)


def test_sizes_out_of_range_are_refused() -> None:
    for size in (0, (2, 0), ()):
        with pytest.raises(ParameterError, match=r"^size must be "):
            LocalSource(SHOP).spectrum(size)


def test_purchases_are_not_shown() -> None:
    assert repr(LocalSource(SHOP)).startswith(
        "LocalSource(transactions=<Transactions: purchases by basket, not shown>"
    )
