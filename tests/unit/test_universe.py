"""What is public about the items: three universes, and what each does with data that contradicts it."""

from __future__ import annotations

import math
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import brute_force_supports, spectrum_of

from fim_private.errors import ParameterError
from fim_private.randomness import Randomness
from fim_private.reading import read_catalogue, read_transactions
from fim_private.transactions import Item
from fim_private.universe import Catalogue, SizedUniverse, UnknownUniverse

Baskets = list[list[Item]]

items: st.SearchStrategy[Item] = st.one_of(st.integers(-3, 9), st.sampled_from(["a", "b", "c"]))
random_baskets = st.lists(st.lists(items, max_size=8), max_size=12)


def in_label_order(basket: list[Item]) -> list[Item]:
    return sorted(set(basket), key=lambda item: (isinstance(item, str), item))


@settings(deadline=None)
@given(baskets=random_baskets, size=st.integers(1, 3))
def test_an_unknown_universe_counts_what_occurs(baskets: Baskets, size: int) -> None:
    spectrum = UnknownUniverse().spectrum(read_transactions(baskets), size)
    assert list(spectrum.levels()) == spectrum_of(brute_force_supports(baskets, size))
    assert spectrum.universe_size is None


@settings(deadline=None)
@given(baskets=random_baskets, size=st.integers(1, 3), count=st.integers(1, 9))
def test_a_sized_universe_cuts_each_basket_by_itself(baskets: Baskets, size: int, count: int) -> None:
    spectrum = SizedUniverse(count).spectrum(read_transactions(baskets), size)
    cut = [in_label_order(basket)[:count] for basket in baskets]
    expected = brute_force_supports(cut, size)
    assert list(spectrum.levels()) == spectrum_of(expected)
    # Unsupported itemsets have no names, so they are no level: the mechanism has an outcome for them.
    assert spectrum.universe_size is None
    for support, multiplicity in islice(spectrum.levels(), 1):
        name = spectrum.sample_itemset(support, Randomness.seeded(multiplicity))
        assert expected[name] == support


def test_the_cut_of_a_basket_depends_on_no_other_basket() -> None:
    # [4, 1, 3] keeps 1 and 3, whoever else buys what: changing one basket changes one basket.
    long: list[Item] = [4, 1, 3]
    for others in ([], [[4]] * 50, [[4, 3]] * 50 + [["a", 0, -5]]):
        transactions = read_transactions([long, *others]).cut_to(2)
        kept = transactions.items[: transactions.offsets[1]].tolist()
        assert [transactions.vocabulary.label(code) for code in kept] == [1, 3]


def test_one_basket_never_supports_more_itemsets_than_the_universe_has() -> None:
    spectrum = SizedUniverse(4).spectrum(read_transactions([list(range(30))]), 2)
    assert list(spectrum.levels()) == [(1, math.comb(4, 2))]


def test_more_items_in_the_data_than_promised_is_no_error() -> None:
    baskets: Baskets = [[n, n + 1] for n in range(100)]
    spectrum = SizedUniverse(2).spectrum(read_transactions(baskets), 2)
    assert list(spectrum.levels()) == [(1, 100)]


def test_short_baskets_are_not_touched() -> None:
    transactions = read_transactions([[1, 2], [3]])
    assert transactions.cut_to(2) is transactions


@pytest.mark.parametrize(("count", "size"), [(1, 2), (2, 3), (1, 100)])
def test_a_universe_too_small_for_the_size_is_refused(count: int, size: int) -> None:
    few = rf"has {count} items?, too few for an itemset of size {size}"
    with pytest.raises(ParameterError, match=rf"^universe_size {few}"):
        SizedUniverse(count).candidates(size)
    catalogue = Catalogue(read_catalogue(list(range(count))))
    with pytest.raises(ParameterError, match=rf"^catalogue {few}"):
        catalogue.candidates(size)


@pytest.mark.parametrize(("count", "size"), [(1, 1), (2, 2), (16_470, 2), (10**20, 30)])
def test_candidates_are_counted_exactly(count: int, size: int) -> None:
    assert SizedUniverse(count).candidates(size) == math.comb(count, size)


@settings(deadline=None)
@given(baskets=random_baskets, size=st.integers(1, 3), listed=st.sets(items, min_size=3))
def test_a_catalogue_drops_what_it_does_not_list(baskets: Baskets, size: int, listed: set[Item]) -> None:
    catalogue = Catalogue(read_catalogue(listed))
    spectrum = catalogue.spectrum(read_transactions(baskets), size)
    expected = brute_force_supports([[item for item in basket if item in listed] for basket in baskets], size)
    assert list(spectrum.levels()) == spectrum_of(expected)
    assert spectrum.universe_size == catalogue.candidates(size) == math.comb(len(listed), size)


@pytest.mark.parametrize("bought", [[39, 48], ["39", "48"], [39, "48", 48, "39"]])
@pytest.mark.parametrize("listed", [[39, 48], ["39", "48"]])
def test_the_number_39_and_the_text_39_are_one_item_named_as_listed(bought: list[Item], listed: list[Item]) -> None:
    spectrum = Catalogue(read_catalogue(listed)).spectrum(read_transactions([bought] * 5), 2)
    assert list(spectrum.levels()) == [(5, 1)]
    assert spectrum.sample_itemset(5, Randomness()) == tuple(listed)


@pytest.mark.parametrize("listed", ["039", " 39", "39.0", "+39"])
def test_other_spellings_of_39_are_other_items(listed: str) -> None:
    spectrum = Catalogue(read_catalogue([listed])).spectrum(read_transactions([[39]] * 5), 1)
    assert list(spectrum.levels()) == []


def test_a_size_that_no_computer_can_count_to_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^size must be at most 10,000 for a public universe"):
        SizedUniverse(10**9).candidates(10**8)
    assert SizedUniverse(10**9).candidates(10**9) == 1
