"""What levelwise releases of one item and of one pair, held to (ε, δ) exactly, value by value, and
drawn from its law.

All that it does with many is held to its budget in test_replay_audit.py; here the law of what
leaves is written down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations, product
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
from fim_private.request.plan import ReleasePlan

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
Pair = tuple[Database, Database]


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

    sizes: tuple[int, ...] = (2,)
    top: int = 3
    supports: bool = False
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(1, 10**6)
    neighbors: oracles.Neighbors = "add-remove"
    keep_all: bool = True

    def __str__(self) -> str:
        said = ["supports"] * self.supports + ["cut"] * (not self.keep_all)
        return " ".join(
            [
                f"size {self.sizes[0]}",
                *said,
                (f"ε={self.epsilon} δ={float(self.delta):g}"),
                self.neighbors,
            ]
        )

    @cached_property
    def plan(self) -> ReleasePlan:
        return plan_of(
            request_for(
                "levelwise",
                epsilon=self.epsilon,
                delta=self.delta,
                neighbors=self.neighbors,
                sizes=self.sizes,
                top=self.top,
                supports_share=Fraction(15, 100) if self.supports else None,
                keep_all=self.keep_all,
            )
        )

    @property
    def run(self) -> Levelwise:
        [selection] = self.plan.selections
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
        return item_threshold(
            self.item_variance / GRID**2, self.run.items_delta, self.run.recipe.own_items
        )


def neighbouring(
    neighbors: oracles.Neighbors, rests: Sequence[Database], units: Sequence[Unit]
) -> Iterator[Pair]:
    """Every pair that has the same rest, and one unit more or another unit."""
    for rest in rests:
        if neighbors == "add-remove":
            yield from ((rest, (*rest, unit)) for unit in units)
        else:
            yield from (((*rest, one), (*rest, other)) for one, other in combinations(units, 2))


# -------------------- what is released


def law_of(
    ask: Ask, database: Database, factor: float = 1.0
) -> dict[frozenset[tuple[str, ...]], float]:
    """P(each set of itemsets released). factor: by which all noise is wrong."""
    run, square = ask.run, Fraction(factor) ** 2
    return laws.release_law(
        [Counter(item for basket in unit for item in basket) for unit in database],
        ask.sizes,
        ask.threshold,
        ask.item_variance * square,
        lambda candidates: candidates / run.budget.spent(run.recipe.second) * square,
        None if ask.keep_all else STANDS_OUT / factor,
    )


@pytest.mark.parametrize("keep_all", [False, True])
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, Fraction(1, 10**6)), (3, Fraction(1, 10)), (20, Fraction(1, 10**4))]
)
def test_what_is_released_of_one_item_keeps_the_promise(
    epsilon: int, delta: Fraction, neighbors: oracles.Neighbors, keep_all: bool
) -> None:
    """Nothing, or the item with its noisy support, of any number of units."""
    ask = Ask(
        (1,),
        1,
        supports=True,
        epsilon=Fraction(epsilon),
        delta=delta,
        neighbors=neighbors,
        keep_all=keep_all,
    )
    noise = ask.plan.noise(1)
    assert noise is not None
    most, last = 0.0, 3 * ask.threshold // GRID
    known = [law_of(ask, ((("a",),),) * count) for count in range(last)]
    for count in range(1, last):
        for one, other in ((count, count - 1), (count - 1, count)):
            spent = laws.final_divergence(
                known[one], known[other], (one, other), noise, float(epsilon)
            )
            most = max(most, spent)
    assert 0 < most <= delta


def test_what_is_released_of_one_pair_keeps_the_promise() -> None:
    """Of two items, of which some units have both."""
    for neighbors, keep_all in product(NEIGHBORS, (False, True)):
        ask = Ask(
            supports=True,
            epsilon=Fraction(8),
            delta=Fraction(1, 10),
            neighbors=neighbors,
            keep_all=keep_all,
        )
        noise = ask.plan.noise(1)
        assert noise is not None
        kinds: list[Unit] = [((),), *SINGLE[:2], BOTH]
        for counts in product(range(0, 7, 3), repeat=3):
            rest = tuple(
                unit for unit, count in zip(kinds[1:], counts, strict=True) for _ in range(count)
            )
            for one, other in neighbouring(neighbors, [rest], kinds):
                for pair in ((one, other), (other, one)):
                    spent = laws.final_divergence(
                        law_of(ask, pair[0]),
                        law_of(ask, pair[1]),
                        (pair[0].count(BOTH), pair[1].count(BOTH)),
                        noise,
                        8.0,
                    )
                    assert spent <= ask.delta


LEVEL = 1e-6


@dataclass(frozen=True)
class Drawn:
    """What is asked for, and how many baskets of each kind there are, each beside or above the
    threshold.
    """

    ask: Ask
    beside: tuple[tuple[Unit, float], ...]

    def __str__(self) -> str:
        return str(self.ask)

    @property
    def database(self) -> Database:
        """Of each kind as many as the threshold times a number."""
        edge = self.ask.threshold / GRID
        return tuple(unit for unit, times in self.beside for _ in range(round(times * edge)))

    def releases(self, draws: int, *, by_user: bool = False) -> Counter[Any]:
        source = LocalSource(purchases(self.database, by_user=by_user), Effort(threads=1))
        found = (
            self.ask.run.find(source, UNKNOWN, Randomness.seeded(number)) for number in range(draws)
        )
        return Counter(frozenset(one.items for one in each) for each in found)


DRAWN = [
    Drawn(Ask((1,), epsilon=Fraction(4)), ((SINGLE[0], 0.7), (SINGLE[1], 0.7), (SINGLE[2], 1.3))),
    Drawn(
        Ask(epsilon=Fraction(4), delta=Fraction(1, 10**3), neighbors="replace-one"),
        ((SINGLE[0], 0.7), (SINGLE[1], 1.1), (SINGLE[2], 1.3)),
    ),
    Drawn(
        Ask((1,), epsilon=Fraction(4), keep_all=False),
        ((SINGLE[0], 0.8), (SINGLE[1], 0.5), (BOTH, 0.3)),
    ),
    Drawn(
        Ask((2,), epsilon=Fraction(4), keep_all=False),
        ((SINGLE[0], 0.7), (SINGLE[1], 0.8), (BOTH, 0.25)),
    ),
    Drawn(Ask((1,), epsilon=Fraction(4)), ((OFTEN, 1.0), (SINGLE[1], 0.5), (SINGLE[2], 1.3))),
]


@cache
def law_and_draws(drawn: Drawn, error: float = 0.5) -> tuple[dict[Any, float], int]:
    """The law, and as many draws as it takes to catch noise that is wrong by this part, either
    way.
    """
    right = law_of(drawn.ask, drawn.database)
    draws = 100
    wrong = [law_of(drawn.ask, drawn.database, factor) for factor in (1 - error, 1 + error)]
    while min(oracles.detects(right, other, draws, level=LEVEL) for other in wrong) < 0.999:
        draws += draws // 4
        assert draws < 100_000
    return right, draws


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    ("drawn", "by_user"),
    [(DRAWN[4], True), *product(DRAWN[:2], (False, True)), (DRAWN[2], True), (DRAWN[3], False)],
    ids=lambda value: ("user" if value else "basket") if isinstance(value, bool) else str(value),
)
def test_releases_are_drawn_from_the_law(drawn: Drawn, by_user: bool) -> None:
    """Enough of them to catch noise that is wrong by half, either way: law_and_draws."""
    law, draws = law_and_draws(drawn)
    assert oracles.chi_square_pvalue(drawn.releases(draws, by_user=by_user), law, draws) > LEVEL
