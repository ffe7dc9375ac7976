"""The door from data to supports, on one machine."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from oracles import brute_force_supports, spectrum_of

from fim_private.counting import LocalSource
from fim_private.counting.source import Catalogue
from fim_private.reading.labels import Item
from fim_private.reading.purchases import read_catalogue, read_transactions

SHOP = read_transactions([*[[1, 2, 3, "a"]] * 5, *[[1, 2]] * 4, *[["a", "b"]] * 3, []])
CATALOGUE = Catalogue(read_catalogue([1, 2, "a", "never bought"]))

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


def test_purchases_are_not_shown() -> None:
    assert repr(LocalSource(SHOP)).startswith("LocalSource(transactions=<Transactions: purchases")
