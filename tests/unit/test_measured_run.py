"""What a measured run really does is what was paid for, and follows from nothing of the data but what was measured.

test_measured.py holds the plan of a run to Theorem 14. Here the run is watched: the noise that is drawn, the items that
are named and how, the picks that are made, the levels that are run. Runs that are broken on purpose are caught.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_measured import ADD_REMOVE, REPLACE_ONE, TAKEN, Users, options, read

from fim_private.counting import LocalSource
from fim_private.counting.universe import Catalogue
from fim_private.dp.accounting import zcdp_rho
from fim_private.dp.gaussian_dp import gdp_mu
from fim_private.dp.parameters import Neighbors
from fim_private.dp.randomness import Randomness
from fim_private.levelwise.gaussian_budget import GRID
from fim_private.levelwise.levelwise import Levelwise
from fim_private.levelwise.reaching import Reaching
from fim_private.mechanisms.top_k import TopK
from fim_private.mining import measured
from fim_private.mining.allocation import BudgetAllocation, MeasuredAllocation
from fim_private.mining.budget import allocation_of
from fim_private.mining.measured import Measured
from fim_private.mining.min_support import MinSupport
from fim_private.mining.options import MiningOptions
from fim_private.reading.transactions import Transactions

Told = Callable[[NDArray[np.int64]], Any]
DELTA = Fraction(1, 1000)
# Of those that are asked for a least support.
THRESHOLD = 40


@dataclass
class Watched:
    """What a run did. noise: variance of each number measured. cost: of all else, in ρ or as μ²/2. named: of items."""

    neighbors: str
    noise: list[Fraction] = field(default_factory=list)
    cost: Fraction = Fraction(0)
    deltas: list[Fraction | None] = field(default_factory=list)
    items: set[Any] = field(default_factory=set)
    universes: list[Any] = field(default_factory=list)


@contextmanager
def watched(module: ModuleType, neighbors: str, told: Told) -> Iterator[Watched]:
    """Watch what the run of a module does; what it measures is told it."""
    seen, changed = Watched(neighbors), 1 if neighbors == ADD_REMOVE else 2
    found_items, select, find, spectrum = module.found_items, TopK.select, Levelwise.find, LocalSource.spectrum
    reach = Reaching.find

    def noisy(sums: NDArray[np.int64], variance: Fraction, _: Randomness) -> Any:
        seen.noise += [variance] * len(sums)
        return told(sums)

    def finds(items: Any, budget: Any, recipe: Any, delta: Fraction | None, randomness: Randomness) -> Any:
        seen.cost += changed / (2 * budget.variance(recipe.items, 1))
        seen.deltas.append(delta)
        codes, level = found_items(items, budget, recipe, delta, randomness)
        seen.items |= {items.label(code) for code in codes.tolist()}
        return codes, level

    def selects(self: TopK, *rest: Any) -> Any:
        seen.cost += self.count * Fraction(self.mechanism.cost.epsilon) ** 2 / 8
        seen.deltas.append(Fraction(self.mechanism.cost.delta))
        return select(self, *rest)

    def runs(self: Levelwise, *rest: Any) -> Any:
        seen.cost += sum((self.budget.spent(share) / 2 for *_, share in self.steps), Fraction(0))
        seen.deltas.append(self.items_delta)
        return find(self, *rest)

    def reaches(self: Reaching, *rest: Any) -> Any:
        seen.cost += sum((self.budget.spent(share) / 2 for *_, share in self.steps), Fraction(0))
        seen.deltas.append(self.items_delta)
        return reach(self, *rest)

    def asks(self: LocalSource, sizes: Any, universe: Any) -> Any:
        seen.universes.append(universe)
        return spectrum(self, sizes, universe)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "noisy_weights", noisy)
        patch.setattr(module, "found_items", finds)
        patch.setattr(TopK, "select", selects)
        patch.setattr(Levelwise, "find", runs)
        patch.setattr(Reaching, "find", reaches)
        patch.setattr(LocalSource, "spectrum", asks)
        yield seen


def check(asked: MiningOptions, data: Transactions, way: str, told: Told, module: ModuleType = measured) -> None:
    """Run it, and hold what it did to what was allowed."""
    allocation = allocation_of(asked)
    assert isinstance(allocation, MeasuredAllocation)
    run = allocation.run
    with watched(module, asked.neighbors, told) as seen:
        taken, _ = module.Measured.find(run, LocalSource(data), asked.universe, Randomness.seeded(1), THRESHOLD)
    assert taken == way
    expected = [] if run.margin_variance is None else [run.margin_variance] * len(run.rankings)
    expected += [] if way == "direct" else [run.length_variance] * 11
    assert seen.noise == expected
    listed, replaces = isinstance(asked.universe, Catalogue), asked.neighbors == REPLACE_ONE
    margin = Fraction(0)
    if run.margin_variance is not None:
        margin = len(run.rankings) * (4 if replaces and not listed else 1) / (2 * run.margin_variance)
    lengths = (2 if replaces else 1) / (2 * run.length_variance)
    supports = allocation.ways[taken].supports
    spent = seen.cost + margin + (0 if way == "direct" else lengths)
    if supports is not None:
        noise = supports.noise(7)
        spent += noise.count / (2 * noise.parameter)
    naming, allowed = promised(asked, way)
    assert spent <= allowed
    if way in ("direct", "levels") or len(seen.items) > 1:  # of next to no items there are no picks
        assert Fraction(999999, 1000000) * allowed < spent
    if way == "direct":
        assert sum(map(Fraction, filter(None, seen.deltas)), Fraction(0)) == (naming or 0)
    else:  # picks among items that are public by then spend none
        assert [delta for delta in seen.deltas if delta != 0] == [naming]
    if way.startswith("picks"):
        among = seen.universes[0 if run.margin_variance is None else len(run.rankings) :]
        assert all(isinstance(universe, Catalogue) for universe in among)
        named = {universe.items.label(code) for universe in among for code in range(len(universe.items))}
        assert named <= seen.items


def promised(asked: MiningOptions, way: str) -> tuple[Fraction | None, Fraction]:
    """What of δ names items, None where they are listed, and what the way may spend: ρ, or of levels μ²/2."""
    naming = None if isinstance(asked.universe, Catalogue) else asked.delta / 4
    if asked.rho is not None:
        return naming and asked.delta / 2, asked.rho
    assert asked.epsilon is not None
    left = (asked.delta - (naming or 0)) / (1 - (naming or 0))
    if way == "levels":
        return naming, gdp_mu(asked.epsilon, left / 3) ** 2 / 2
    return naming, zcdp_rho(asked.epsilon, left * 2 / 3)


def truly(sums: NDArray[np.int64]) -> Any:
    """What there is, without noise."""
    return sums / GRID


@pytest.mark.parametrize("share", [None, Fraction(15, 100)])
@pytest.mark.parametrize(("way", "users", "asked"), TAKEN)
def test_a_run_spends_what_its_way_allows(
    way: str, users: Users, asked: dict[str, Any], share: Fraction | None
) -> None:
    check(options(ADD_REMOVE, supports_share=share, **asked), read(users), way, truly)


@pytest.mark.parametrize("rho", [Fraction(1, 5), Fraction(1, 7)])
@pytest.mark.parametrize(
    ("way", "told", "asked"), [("direct", 1e6, {}), ("levels", 50, {}), ("direct", 1e6, {"listed": True})]
)
def test_a_run_spends_the_rho_that_was_given(way: str, told: float, asked: dict[str, Any], rho: Fraction) -> None:
    for neighbors in (ADD_REMOVE, REPLACE_ONE):
        given = options(neighbors, top=30, rho=rho, epsilon=None, supports_share=Fraction(15, 100), **asked)
        check(given, read(DATA[2]), way, script(told, 0))


def script(margin: float, longest: int) -> Told:
    """All margins are told to be this, and users to be all in one bin of lengths."""

    def told(sums: NDArray[np.int64]) -> Any:
        return np.eye(11)[longest] * 1e6 if len(sums) == 11 else np.full(len(sums), margin)

    return told


# What is told, and which way follows: whatever the data.
SCRIPTED: list[tuple[str, Told, dict[str, Any]]] = [
    ("direct", script(1e6, 0), {"top": 30}),
    ("levels", script(50, 0), {"top": 30}),
    ("picks", script(100, 6), {"top": 300}),
    ("picks of more items", script(10, 10), {"top": 20}),
    ("direct", script(1e6, 10), {"top": 30, "listed": True}),
    ("picks", script(50, 10), {"top": 30, "listed": True, "epsilon": Fraction(1)}),
    ("levels", script(1, 10), {"top": 30, "listed": True}),
    ("picks", script(20, 10), {"top": 30, "sizes": (1,)}),
    ("levels", script(50, 0), {"top": 30, "sizes": (1,)}),
    # A least support: nothing but the lengths of users is measured.
    ("levels", script(0, 0), {"top": 1000, "min_support": MinSupport(count=40)}),
    ("picks of more items", script(0, 10), {"top": 1000, "min_support": MinSupport(count=40)}),
    ("picks", script(0, 10), {"top": 9, "sizes": (1,), "min_support": MinSupport(share=Fraction(1, 50))}),
    ("levels", script(0, 0), {"top": 50, "listed": True, "min_support": MinSupport(count=40)}),
]
DATA: Sequence[Users] = ([], [[(1, 2, 3)]], [[(1, 2)]] * 300, [[range(40)]] * 40)


@pytest.mark.parametrize("neighbors", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("users", DATA)
@pytest.mark.parametrize(("way", "told", "asked"), SCRIPTED)
def test_what_is_measured_decides_alone(
    way: str, told: Told, asked: dict[str, Any], users: Users, neighbors: str
) -> None:
    check(options(neighbors, **asked), read(users), way, told)


@pytest.mark.parametrize("sizes", [(1,), (2,), (1, 2)])
def test_nothing_is_named_that_one_user_alone_has(sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for margin, longest in ((-1e15, 0), (-1e15, 10), (1e15, 0)):
        told = script(margin, longest)
        monkeypatch.setattr(measured, "noisy_weights", lambda sums, *_, told=told: told(sums))
        for seed in range(20):
            allocation = allocation_of(options(ADD_REMOVE, sizes=sizes, union=True, top=50, delta=Fraction(1, 10**9)))
            assert isinstance(allocation, MeasuredAllocation)
            assert not allocation.find(LocalSource(read([[(1, 2, 3)]])), Randomness.seeded(seed))[1]


ALL_OF_IT = "replace(self.levels, budget=GaussianBudget(self.levels.budget.mu_squared, self.levels.budget.neighbors))"
BROKEN = [
    ("way.recipe, self.items_delta, randomness", "way.recipe, None, randomness"),
    (
        "way.recipe, self.items_delta, randomness",
        "way.recipe, 10 * (self.items_delta or Fraction(1, 10**9)), randomness",
    ),
    (
        "items.named(codes[:, None].tolist())",
        "items.named([[code] for code in range(len(items.transactions.vocabulary))])",
    ),
    ("self.budget, way.recipe", "self.budget, way.recipe.with_items(Fraction(99, 100))"),
    ("found_items(items, self.budget, way", "found_items(items, self.levels.budget, way"),
    ("self._among(source, labels, way.picks", "self._among(source, labels, self.picks[0][1].picks"),
    ("labels, way.picks", "labels, TopK(way.picks.mechanism, 2 * way.picks.count)"),
    ('"levels", self.levels.find(', f'"levels", {ALL_OF_IT}.find('),
    ("return mean_item_weight(users,", "return mean_item_weight(users_by_length(items) / GRID,"),
    ("noisy_weights(users_by_length(items), self.length_variance", "noisy_weights(users_by_length(items), Fraction(1)"),
    ("noisy_weights(true * GRID, self.margin_variance", "noisy_weights(true * GRID, self.margin_variance / 4"),
    ("self._levels_stand_out(margins[-1]", "self._levels_stand_out(float(true[-1])"),
    ("for margin, need in zip(margins, needs", "for margin, need in zip(true.tolist(), needs"),
]


METHODS = ("_needed", "_levels_stand_out", "_picks_for", "_among", "_item_weight", "_reaching", "_items_and_picks")


def cases() -> list[tuple[MiningOptions, Transactions, str, Told]]:
    share = Fraction(15, 100)
    return [
        (options(ADD_REMOVE, supports_share=share, **asked), read(users), way, told)
        for way, told, asked in SCRIPTED
        for users in (DATA[2], DATA[3])
    ]


def test_a_run_that_is_not_broken_passes() -> None:
    for case in cases():
        check(*case)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("right", "wrong"), BROKEN)
def test_a_run_that_is_broken_is_caught(right: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        Path(measured.__file__).read_text(encoding="utf-8").replace("import dataclass\n", "import dataclass, replace\n")
    )
    assert code.count(right) == 1
    module = ModuleType("broken_run")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # where dataclasses look for it
    exec(compile(code.replace(right, wrong), module.__name__, "exec"), module.__dict__)
    for name in METHODS:
        monkeypatch.setattr(Measured, name, vars(module.Measured)[name])
    caught = 0
    for case in cases():
        try:
            check(*case, module)
        except AssertionError:
            caught += 1
    assert caught


def test_supports_of_a_way_spend_what_it_left_them() -> None:
    for neighbors in Neighbors:
        allocation = allocation_of(options(neighbors, supports_share=Fraction(15, 100)))
        assert isinstance(allocation, MeasuredAllocation)
        for name, way in allocation.ways.items():
            assert isinstance(way, BudgetAllocation)
            assert way.supports is not None
            if name == "levels":
                assert way.supports.mu_squared == Fraction(30, 100) * promised(options(neighbors), name)[1]
            else:
                assert way.supports.rho == Fraction(15, 100) * promised(options(neighbors), name)[1]
