"""What a privacy unit can change: one user, all baskets together, whatever universe is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from oracles import hockey_stick

from fim_private.counting import LocalSource
from fim_private.counting.source import SizedUniverse
from fim_private.dp.noise import Randomness
from fim_private.mechanisms import NamedExponential
from fim_private.reading.purchases import read_transactions
from fim_private.reading.transactions import Transactions
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
    """Users as long data. A basket has one row with a null too, so that an empty one is there."""
    rows = [
        (user, number, item)
        for user, baskets in enumerate(users)
        for number, basket in enumerate(baskets)
        for item in (None, *basket)
    ]
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    arrays = [pa.array(column, pa.int64()) for column in columns]
    return read_transactions(pa.table(arrays, names=[*LONG]), **LONG)


SIZED = SizedUniverse(4)
# A user of five baskets, none with more items than the universe, together with far more.
MANY: User = [list(range(start, start + 4)) for start in range(0, 20, 4)]


def worst(users: Sequence[User], more: User, neighbors: str) -> tuple[float, float]:
    """The exact divergence of NamedExponential for one user more, and its delta."""
    mechanism = NamedExponential(1.0, 1e-3, SIZED.candidates(2), neighbors)

    def outcomes(held: Sequence[User]) -> dict[Hashable, float]:
        spectrum = LocalSource(of_users(held)).spectrum(2, SIZED)
        tied = supports(spectrum)
        number, law = Counter(tied.values()), mechanism.distribution(spectrum)
        levels = dict(zip(law.levels.tolist(), law.probabilities.tolist(), strict=True))
        return {None: levels[0], **{itemset: levels[c] / number[c] for itemset, c in tied.items()}}

    p, q = outcomes(users), outcomes([*users, more])
    spent = max(hockey_stick(p, q, Fraction(1)), hockey_stick(q, p, Fraction(1)))
    return spent, float(mechanism.cost.delta)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("users", [[], [[[0, 1]]], [MANY], [[[30, 31, 32]]] * 3])
def test_naming_keeps_its_delta_whatever_one_user_has(users: list[User], neighbors: str) -> None:
    divergence, delta = worst(users, MANY, neighbors)
    assert divergence <= delta + 1e-12


def test_a_cut_of_each_basket_by_itself_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = Transactions.cut_to

    def cut_baskets(data: Transactions, count: int) -> Transactions:
        return replace(cut(replace(data, unit_offsets=None), count), unit_offsets=data.unit_offsets)

    monkeypatch.setattr(Transactions, "cut_to", cut_baskets)
    divergence, delta = worst([], MANY, "add-remove")
    assert divergence > 4 * delta
