"""The door from data to supports, on one machine."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import brute_force_supports, spectrum_of

from fim_private.counting import LocalSource, SupportSource, catalogue_spectrum, itemset_spectrum
from fim_private.counting.source import Catalogue, SizedUniverse, Universe, UnknownUniverse
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError
from fim_private.reading.labels import Item, Vocabulary
from fim_private.reading.purchases import read_catalogue, read_transactions
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import SupportSpectrum, union

SHOP = read_transactions([*[[1, 2, 3, "a"]] * 5, *[[1, 2]] * 4, *[["a", "b"]] * 3, []])
CATALOGUE = Catalogue(read_catalogue([1, 2, "a", "never bought"]))
VISITS = pa.table({"user": ["ann", "ann", "ann", "bob", None], "items": [[1, 2], [1, 2, 3], [4], [1, 2], [1, 2]]})

random_baskets = st.lists(st.lists(st.integers(0, 6), max_size=5), max_size=8)
several_sizes = st.lists(st.integers(1, 3), min_size=1, unique=True)


def drawn(spectrum: SupportSpectrum) -> list[tuple[Item, ...]]:
    """What is named under one seed, of all levels in turn."""
    return spectrum.sample_itemsets([support for support, _ in spectrum.all_levels()], Randomness.seeded(3))


def by_hand(known: Universe, size: int) -> SupportSpectrum:
    match known:
        case Catalogue():
            return catalogue_spectrum(SHOP.restricted_to(known.items), size)
        case SizedUniverse():
            return itemset_spectrum(SHOP.cut_to(known.count), size)
        case UnknownUniverse():
            return itemset_spectrum(SHOP, size)


@given(baskets=random_baskets, sizes=several_sizes)
def test_several_sizes_are_ranked_together(baskets: list[list[Item]], sizes: list[int]) -> None:
    source = LocalSource(read_transactions(baskets))
    supports = {itemset: c for size in sizes for itemset, c in brute_force_supports(baskets, size).items()}
    assert source.spectrum(sizes).all_levels() == spectrum_of(supports)
    candidates = sum(CATALOGUE.candidates(size) for size in sizes)
    assert source.spectrum(sizes, CATALOGUE).universe_size == candidates


@pytest.mark.parametrize("sizes", [(1,), (2,), (1, 2, 3)])
@pytest.mark.parametrize("known", [UnknownUniverse(), CATALOGUE, SizedUniverse(2)])
def test_a_seed_draws_what_the_spectra_of_transactions_draw(known: Universe, sizes: tuple[int, ...]) -> None:
    source: SupportSource = LocalSource(SHOP)
    assert drawn(source.spectrum(sizes, known)) == drawn(union([by_hand(known, size) for size in sizes]))
    assert source.spectrum(sizes[0], known).all_levels() == by_hand(known, sizes[0]).all_levels()


@pytest.mark.parametrize(("known", "cut"), [(CATALOGUE, "restricted_to"), (SizedUniverse(2), "cut_to")])
def test_data_are_cut_once_for_all_sizes(known: Universe, cut: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped, calls = getattr(Transactions, cut), []

    def counted(self: Transactions, to: int | Vocabulary) -> Transactions:
        calls.append(to)
        return shipped(self, to)  # type: ignore[no-any-return]

    monkeypatch.setattr(Transactions, cut, counted)
    LocalSource(SHOP).spectrum((1, 2, 3), known)
    assert len(calls) == 1


def test_users_and_caps() -> None:
    source: SupportSource = LocalSource(read_transactions(VISITS, user="user", missing_user="own-unit"))
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
    assert repr(LocalSource(SHOP)).startswith("LocalSource(transactions=<Transactions: purchases by basket, not shown>")
