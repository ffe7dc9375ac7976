"""What a privacy unit can change: one user, all baskets together, moves each support by at most 1,
in one direction.

Checked where it must hold, between baskets as read and the spectrum a mechanism sees, for each
universe; then on real customers, whose supports are also counted literally.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import brute_force_user_supports, hockey_stick, spectrum_of
from real_data import real_data

from fim_private.counting import LocalSource, itemset_spectrum
from fim_private.counting.source import Catalogue, SizedUniverse, Universe, UnknownUniverse
from fim_private.dp.noise import Randomness
from fim_private.mechanisms import NamedExponential
from fim_private.reading.purchases import read_catalogue, read_transactions
from fim_private.reading.transactions import Transactions
from fim_private.request.scope import Scope
from fim_private.spectrum import SupportSpectrum

Items = tuple[int | str, ...]
User = list[list[int]]
LONG: dict[str, Any] = {"user": "user", "basket": "basket", "item": "item"}


class Nth(Randomness):
    """Randomness that picks the item of a given number."""

    def __init__(self, number: int) -> None:
        super().__init__(lambda size: pytest.fail("a level is resolved by `below` alone"))
        self._number = number

    def below(self, bound: int) -> int:
        assert self._number < bound
        return self._number


def supports(spectrum: SupportSpectrum) -> Counter[Items]:
    return Counter(
        {
            spectrum.sample_itemsets([support], Nth(number))[0]: support
            for support, multiplicity in spectrum.levels()
            for number in range(multiplicity)
        }
    )


def of_users(users: Sequence[User]) -> Transactions:
    """Read users as long data. A basket has one row with a null too, so that an empty one is
    there.
    """
    rows: list[tuple[int, int, int | None]] = []
    for user, baskets in enumerate(users):
        for number, basket in enumerate(baskets):
            rows += [(user, number, None), *((user, number, item) for item in basket)]
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return read_transactions(
        pa.table(
            {name: pa.array(values, pa.int64()) for name, values in zip(LONG, columns, strict=True)}
        ),
        **LONG,
    )


UNIVERSES: dict[str, Universe] = {
    "unknown": UnknownUniverse(),
    "catalogue of some": Catalogue(read_catalogue(range(0, 9, 2))),
    "catalogue of more": Catalogue(read_catalogue(range(20))),
    **{f"sized {count}": SizedUniverse(count) for count in (3, 4, 6)},
}
random_user = st.lists(st.lists(st.integers(0, 8), max_size=5), min_size=1, max_size=4)


@pytest.mark.full
@pytest.mark.one_in(3)
@pytest.mark.parametrize("known", UNIVERSES)
@settings(max_examples=25)
@given(users=st.lists(random_user, max_size=4), more=random_user, size=st.integers(1, 3))
@example(users=[], more=[[0, 1, 2], [3, 4, 5], [6, 7, 8]], size=2)
@example(users=[[[0, 1, 2, 3]]], more=[[0, 1, 2]] * 5, size=2)
def test_a_user_more_moves_every_support_by_at_most_1_upwards(
    known: str, users: list[User], more: User, size: int
) -> None:
    universe = UNIVERSES[known]
    before = supports(LocalSource(of_users(users)).spectrum(size, universe))
    after = supports(LocalSource(of_users([*users, more])).spectrum(size, universe))
    moved = {itemset: after[itemset] - before[itemset] for itemset in before | after}
    assert set(moved.values()) <= {0, 1}
    if isinstance(universe, SizedUniverse):
        # Theorem 5 counts on it: not only the supports, also how many of them one unit can move.
        assert sum(moved.values()) <= universe.candidates(size)


SIZED = SizedUniverse(4)
# A user of five baskets, none with more items than the universe, together with far more.
MANY: User = [list(range(start, start + 4)) for start in range(0, 20, 4)]


def worst(users: Sequence[User], more: User, neighbors: str) -> tuple[float, float]:
    """The exact divergence of NamedExponential for one user more, and its delta."""
    mechanism = NamedExponential(1.0, 1e-3, SIZED.candidates(2), neighbors)

    def outcomes(held: Sequence[User]) -> dict[Hashable, float]:
        spectrum = LocalSource(of_users(held)).spectrum(2, SIZED)
        tied = supports(spectrum)
        number = Counter(tied.values())
        distribution = mechanism.distribution(spectrum)
        levels = dict(
            zip(distribution.levels.tolist(), distribution.probabilities.tolist(), strict=True)
        )
        return {None: levels[0], **{itemset: levels[c] / number[c] for itemset, c in tied.items()}}

    p, q = outcomes(users), outcomes([*users, more])
    return max(hockey_stick(a, b, Fraction(1)) for a, b in ((p, q), (q, p))), float(
        mechanism.cost.delta
    )


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("users", [[], [[[0, 1]]], [MANY], [[[30, 31, 32]]] * 3])
def test_naming_keeps_its_delta_whatever_one_user_has(users: list[User], neighbors: str) -> None:
    divergence, delta = worst(users, MANY, neighbors)
    assert divergence <= delta + 1e-12


def test_a_cut_of_each_basket_by_itself_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = Transactions.cut_to

    def cut_baskets(transactions: Transactions, count: int) -> Transactions:
        return replace(
            cut(replace(transactions, unit_offsets=None), count),
            unit_offsets=transactions.unit_offsets,
        )

    monkeypatch.setattr(Transactions, "cut_to", cut_baskets)
    divergence, delta = worst([], MANY, "add-remove")
    assert divergence > 4 * delta


@cache
def online_retail(products: int | None = None) -> pa.Table:
    """Online Retail's users, baskets and items, of its most frequent products only if so many are
    given.
    """
    columns = ["CustomerID", "InvoiceNo", "StockCode"]
    table = pq.read_table(real_data("online_retail.parquet"), columns=columns).rename_columns(
        list(LONG)
    )
    if products is None:
        return table
    counts = sorted(
        pc.value_counts(table["item"]).to_pylist(),
        key=lambda pair: (-pair["counts"], pair["values"]),
    )
    top = pa.array([pair["values"] for pair in counts[:products]], table["item"].type)
    return table.filter(pc.is_in(table["item"], top))


def held_by(table: pa.Table, nobody: Callable[[Any], Hashable]) -> Iterator[Iterable[set[Any]]]:
    """The baskets of each user, by the definition. nobody: the user of a basket without one, None
    to leave it out.
    """
    users: dict[Hashable, dict[Any, set[Any]]] = defaultdict(lambda: defaultdict(set))
    for user, basket, item in zip(*(table[name].to_pylist() for name in LONG), strict=True):
        owner = nobody(basket) if user is None or user == "" else user
        if owner is not None:
            users[owner][basket].add(item)
    return (baskets.values() for baskets in users.values())


RULES: dict[str, Callable[[Any], Hashable]] = {
    "drop": lambda _: None,
    "own-unit": lambda basket: ("nobody's", basket),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("size", "products"), [(1, None), (2, 200), (3, 50)])
@pytest.mark.full
def test_what_users_have_equals_brute_force(rule: str, size: int, products: int | None) -> None:
    table = online_retail(products)
    data = read_transactions(table, missing_user=rule, **LONG)
    users = [[*baskets] for baskets in held_by(table, RULES[rule])]
    assert list(itemset_spectrum(data, size).levels()) == spectrum_of(
        brute_force_user_supports(users, size)
    )
    together = Scope(together="user").applied(data)
    expected = spectrum_of(
        brute_force_user_supports(([set[Any]().union(*baskets)] for baskets in users), size)
    )
    assert list(itemset_spectrum(together.united(), size).levels()) == expected
    assert together.units == data.units
