"""What is public about the items: three universes, and what one user can change of them."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import oracles
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naming import named, of_users

from fim_private.counting import LocalSource
from fim_private.counting.source import Catalogue, SizedUniverse
from fim_private.errors import ParameterError
from fim_private.mechanisms import NamedExponential
from fim_private.reading.labels import Item
from fim_private.reading.purchases import read_catalogue, read_transactions
from fim_private.reading.transactions import Transactions

Baskets = list[list[Item]]

items: st.SearchStrategy[Item] = st.one_of(st.integers(-3, 9), st.sampled_from(["a", "b", "c"]))
random_baskets = st.lists(st.lists(items, max_size=8), max_size=12)
several_sizes = st.lists(st.integers(1, 3), min_size=1, unique=True)


@given(baskets=random_baskets, sizes=several_sizes)
def test_several_sizes_are_ranked_together(baskets: Baskets, sizes: list[int]) -> None:
    counts = (oracles.brute_force_supports(baskets, size) for size in sizes)
    supports = sum(counts, Counter[Any]())
    source, catalogue = LocalSource(read_transactions(baskets)), Catalogue(read_catalogue([*"abc"]))
    assert source.spectrum(sizes).all_levels() == oracles.spectrum_of(supports)
    candidates = sum(catalogue.candidates(size) for size in sizes)
    assert source.spectrum(sizes, catalogue).universe_size == candidates


def in_label_order(basket: list[Item]) -> list[Item]:
    return sorted(set(basket), key=lambda item: (isinstance(item, str), item))


@given(
    users=st.lists(
        st.lists(st.lists(items, max_size=6), min_size=1, max_size=4), min_size=1, max_size=6
    ),
    size=st.integers(1, 3),
    count=st.integers(1, 9),
)
def test_a_sized_universe_cuts_users_whole(users: list[Baskets], size: int, count: int) -> None:
    rows = [(user, basket) for user, held in enumerate(users) for basket in held]
    frame = pd.DataFrame({"user": [user for user, _ in rows], "items": [own for _, own in rows]})
    source = LocalSource(read_transactions(frame, user="user", items="items"))
    spectrum = source.spectrum(size, SizedUniverse(count))
    kept = [in_label_order([item for basket in held for item in basket])[:count] for held in users]
    paired = zip(users, kept, strict=True)
    cut = [[[item for item in basket if item in own] for basket in held] for held, own in paired]
    assert named(spectrum) == oracles.brute_force_user_supports(cut, size)


@pytest.mark.parametrize(("count", "size"), [(1, 2), (2, 3), (1, 100)])
def test_a_universe_too_small_for_the_size_is_refused(count: int, size: int) -> None:
    few = rf"has {count} items?, too few for an itemset of size {size}"
    with pytest.raises(ParameterError, match=rf"^universe_size {few}"):
        SizedUniverse(count).candidates(size)
    catalogue = Catalogue(read_catalogue(list(range(count))))
    with pytest.raises(ParameterError, match=rf"^catalogue {few}"):
        catalogue.candidates(size)


def test_a_size_that_no_computer_can_count_to_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^size must be at most 5,555 for a public universe"):
        SizedUniverse(10**9).candidates(10**8)
    assert SizedUniverse(10**9).candidates(10**9) == 1


# -------------------- naming where the number of items alone is public

SIZED = SizedUniverse(4)
# A user of five baskets, none with more items than the universe, together with far more.
MANY: Baskets = [list(range(start, start + 4)) for start in range(0, 20, 4)]


def worst(users: Sequence[Baskets], more: Baskets, neighbors: str) -> tuple[float, float]:
    """The exact divergence of NamedExponential for one user more, and its delta."""
    mechanism = NamedExponential(1.0, 1e-3, SIZED.candidates(2), neighbors)

    def outcomes(held: Sequence[Baskets]) -> dict[Hashable, float]:
        spectrum = LocalSource(of_users(held)).spectrum(2, SIZED)
        tied = named(spectrum)
        number, law = Counter(tied.values()), mechanism.distribution(spectrum)
        levels = dict(zip(law.levels.tolist(), law.probabilities.tolist(), strict=True))
        return {None: levels[0], **{itemset: levels[c] / number[c] for itemset, c in tied.items()}}

    p, q = outcomes(users), outcomes([*users, more])
    spent = max(oracles.hockey_stick(p, q, Fraction(1)), oracles.hockey_stick(q, p, Fraction(1)))
    return spent, float(mechanism.cost.delta)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("users", [[], [[[0, 1]]], [MANY], [[[30, 31, 32]]] * 3])
def test_naming_keeps_its_delta_whatever_one_user_has(users: list[Baskets], neighbors: str) -> None:
    divergence, delta = worst(users, MANY, neighbors)
    assert divergence <= delta + 1e-12


def test_a_cut_of_each_basket_by_itself_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = Transactions.cut_to

    def cut_baskets(data: Transactions, count: int) -> Transactions:
        return replace(cut(replace(data, unit_offsets=None), count), unit_offsets=data.unit_offsets)

    monkeypatch.setattr(Transactions, "cut_to", cut_baskets)
    divergence, delta = worst([], MANY, "add-remove")
    assert divergence > 4 * delta
