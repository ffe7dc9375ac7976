"""What levelwise finds of one item and of one pair, drawn from its law."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from typing import Any

import levelwise_laws as laws
import numpy as np
import oracles
import pytest
from asking import request_for

from fim_private.counting import Effort, LocalSource
from fim_private.counting.source import UNKNOWN
from fim_private.dp.noise import Randomness
from fim_private.levelwise.levelwise import STANDS_OUT, Levelwise
from fim_private.levelwise.recipe import item_threshold
from fim_private.reading.purchases import read_transactions
from fim_private.reading.transactions import Transactions
from fim_private.request.allocation import plan_of

GRID = laws.GRID
ITEMS = ("a", "b", "c")
NEIGHBORS: list[oracles.Neighbors] = ["add-remove", "replace-one"]
# A unit's baskets: one, or those of a user.
Unit = tuple[tuple[str, ...], ...]
SINGLE: tuple[Unit, ...] = tuple(((item,),) for item in ITEMS)
BOTH: Unit = (("a", "b"),)
# A user's, who has one item more often than the other.
OFTEN: Unit = (("a", "b"), ("a",), ("a",))

Database = tuple[Unit, ...]


def purchases(units: Sequence[Unit], *, by_user: bool = False) -> Transactions:
    """Transactions that know of no items but those that these units have."""
    whole = read_transactions([list(basket) for unit in units for basket in unit])
    if not by_user:
        return whole
    offsets = np.cumsum([0, *map(len, units)]).astype(np.int64)
    return Transactions(whole.offsets, whole.items, whole.vocabulary, offsets)


# -------------------- what is asked


@dataclass(frozen=True)
class Ask:
    """What levelwise is asked for, three of it at most, without a list of items."""

    size: int = 2
    delta: Fraction = Fraction(1, 10**6)
    neighbors: oracles.Neighbors = "add-remove"
    keep_all: bool = True

    @cached_property
    def run(self) -> Levelwise:
        request = request_for(
            "levelwise",
            epsilon=Fraction(4),
            delta=self.delta,
            neighbors=self.neighbors,
            sizes=(self.size,),
            top=3,
            keep_all=self.keep_all,
        )
        [selection] = plan_of(request).selections
        assert isinstance(selection.run, Levelwise)
        return selection.run

    @property
    def item_variance(self) -> Fraction:
        """Of the noise on items, in multiples of 1/GRID squared, as the theorem has it: Δ² / μ²."""
        moved = 1 if self.neighbors == "add-remove" else 2
        return moved * GRID**2 / self.run.budget.spent(self.run.recipe.items)

    @cached_property
    def threshold(self) -> int:
        assert self.run.items_delta is not None
        variance = self.item_variance / GRID**2
        return item_threshold(variance, self.run.items_delta, self.run.recipe.own_items)


# -------------------- what is released


def law_of(
    ask: Ask, database: Database, factor: float = 1.0
) -> dict[frozenset[tuple[str, ...]], float]:
    """P(each set of itemsets released). factor: by which all noise is wrong."""
    run, square = ask.run, Fraction(factor) ** 2
    return laws.release_law(
        [Counter(item for basket in unit for item in basket) for unit in database],
        (ask.size,),
        ask.threshold,
        ask.item_variance * square,
        lambda candidates: candidates / run.budget.spent(run.recipe.second) * square,
        None if ask.keep_all else STANDS_OUT / factor,
    )


LEVEL = 1e-6


@dataclass(frozen=True)
class Drawn:
    """What is asked for, and of each kind of unit as many as the threshold times a number."""

    ask: Ask
    beside: tuple[tuple[Unit, float], ...]

    @property
    def database(self) -> Database:
        edge = self.ask.threshold / GRID
        return tuple(unit for unit, times in self.beside for _ in range(round(times * edge)))

    def releases(self, draws: int, *, by_user: bool = False) -> Counter[Any]:
        source = LocalSource(purchases(self.database, by_user=by_user), Effort(threads=1))
        find = self.ask.run.find
        found = (find(source, UNKNOWN, Randomness.seeded(number)) for number in range(draws))
        return Counter(frozenset(one.items for one in each) for each in found)


A, B, C = SINGLE
DRAWN = [
    Drawn(Ask(1), ((A, 0.7), (B, 0.7), (C, 1.3))),
    Drawn(Ask(2, Fraction(1, 10**3), "replace-one"), ((A, 0.7), (B, 1.1), (C, 1.3))),
    Drawn(Ask(1, keep_all=False), ((A, 0.8), (B, 0.5), (BOTH, 0.3))),
    Drawn(Ask(2, keep_all=False), ((A, 0.7), (B, 0.8), (BOTH, 0.25))),
    Drawn(Ask(1), ((OFTEN, 1.0), (B, 0.5), (C, 1.3))),
]


@cache
def law_and_draws(drawn: Drawn) -> tuple[dict[Any, float], int]:
    """The law, and as many draws as it takes to catch noise that is wrong by half, either way."""
    right = law_of(drawn.ask, drawn.database)
    wrong = [law_of(drawn.ask, drawn.database, factor) for factor in (0.5, 1.5)]
    draws = 100
    while min(oracles.detects(right, other, draws, level=LEVEL) for other in wrong) < 0.999:
        draws += draws // 4
        assert draws < 100_000
    return right, draws


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    ("drawn", "by_user"),
    [(DRAWN[4], True), *product(DRAWN[:2], (False, True)), (DRAWN[2], True), (DRAWN[3], False)],
)
def test_releases_are_drawn_from_the_law(drawn: Drawn, by_user: bool) -> None:
    law, draws = law_and_draws(drawn)
    assert oracles.chi_square_pvalue(drawn.releases(draws, by_user=by_user), law, draws) > LEVEL
