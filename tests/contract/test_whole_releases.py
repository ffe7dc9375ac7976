"""Whole releases by picks: their exact joint distribution on all neighbours of 3 items and at most
3 baskets.

What is held to (ε, δ) is all that leaves: which itemsets, in which order, where it stops, and their
noisy supports. The parameters are those that `allocate` has decided on; probabilities come from
`release_distributions` alone. Then what the package draws is held to the same distribution.
Whatever is broken on purpose must fail one or the other.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from typing import Any

import oracles
import pytest
import release_distributions
from release_distributions import (
    ERROR,
    Distribution,
    Itemset,
    Noise,
    Picked,
    Picks,
    Plan,
    divergence,
    release_distribution,
)
from small_data import (
    ITEMS,
    ITEMSETS,
    Column,
    Database,
    column,
    databases,
    neighbouring,
    supports_of,
)

import fim_private as fim
from fim_private.counting import source as itemset_spectra
from fim_private.dp.cost import ZcdpCost
from fim_private.dp.noise import discrete_laplace
from fim_private.mechanisms import PermuteAndFlip, registry
from fim_private.mechanisms import exponential as abstention
from fim_private.mechanisms.top_k import TopK, is_bounded_range
from fim_private.reading.purchases import read_transactions
from fim_private.request import plan as plans
from fim_private.request import supports as noisy_supports
from fim_private.request.allocation import plan_of as allocated
from fim_private.request.request import request_of
from fim_private.request.supports import CONFIDENCE, NoiseKind, SupportNoise

NEIGHBORS: list[oracles.Neighbors] = ["add-remove", "replace-one"]
MINUTE = Fraction(1, 10**9)


# -------------------- what is asked


@dataclass(frozen=True)
class Ask:
    """What `mine` is asked for. universe: None, the listed items, or their number."""

    mechanism: str
    top: int = 1
    sizes: tuple[int, ...] = (2,)
    union: bool = False
    supports: bool = False
    universe: tuple[str, ...] | int | None = None
    max_rank: int | None = None
    max_basket: int | None = None
    keep_all: bool = True
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(1, 10)
    rho: Fraction | None = None
    count: bool = False

    def __str__(self) -> str:
        sizes = f"{self.sizes[0]}-{self.sizes[-1]}" if len(self.sizes) > 1 else str(self.sizes[0])
        parts = [self.mechanism, f"top {self.top}", f"size {sizes}"]
        parts += (
            ["union"] * self.union + ["supports"] * self.supports + ["cut"] * (not self.keep_all)
        )
        parts += ["count"] * self.count
        parts += [f"of {self.universe}"] * isinstance(self.universe, int)
        parts += [
            f"{name} {value}"
            for name, value in (("rank", self.max_rank), ("cap", self.max_basket))
            if value
        ]
        budget = f"ε={self.epsilon}" if self.rho is None else f"ρ={self.rho}"
        return " ".join([*parts, budget, f"δ={float(self.delta):g}"])

    @property
    def cut(self) -> int:
        """To how many items a basket is cut."""
        return min(self.max_basket or 3, self.universe if isinstance(self.universe, int) else 3)

    def allocation(self, neighbors: oracles.Neighbors) -> plans.ReleasePlan:
        return allocated(request_of(by_user=False, **self.options(neighbors)))

    def options(self, neighbors: oracles.Neighbors) -> dict[str, Any]:
        """It as `mine` takes it."""
        names = (
            "top",
            "union",
            "supports",
            "mechanism",
            "max_rank",
            "max_basket",
            "keep_all",
            "count",
            "delta",
        )
        known = (
            {"universe_size": self.universe}
            if isinstance(self.universe, int)
            else {"catalogue": self.universe}
        )
        budget = {"epsilon": self.epsilon} if self.rho is None else {"rho": self.rho}
        size = range(self.sizes[0], self.sizes[-1] + 1)
        return (
            {name: getattr(self, name) for name in names}
            | known
            | budget
            | {"size": size, "neighbors": neighbors}
        )


def exact(value: Any) -> Fraction:
    """A budget as its digits say, whether it is kept as a float or exactly."""
    return Fraction(value) if isinstance(value, Fraction) else Fraction(repr(float(value)))


def ask_for(mechanism: str, budget: tuple[float, float], **options: Any) -> Ask:
    return Ask(mechanism, epsilon=exact(budget[0]), delta=exact(budget[1]), **options)


def asks(mechanism: str, *budgets: tuple[float, float], **options: Any) -> list[Ask]:
    """The same with several (ε, δ): larger δ are composed in zero-concentrated privacy, smaller
    ones added up.
    """
    return [ask_for(mechanism, budget, **options) for budget in budgets]


ASKS = [
    *asks("limited-domain", (1, 0.1), (1, 1e-3), (3, 0.1), (1, 1e-6), top=3, max_rank=3),
    *asks("limited-domain", (1, 0.1), (3, 0.1), top=2, max_rank=2, sizes=(1, 2), union=True),
    *asks("limited-domain", (2, 0.01), top=2, max_rank=1, sizes=(1, 2)),
    *asks(
        "limited-domain",
        (1, 0.1),
        (3, 1e-4),
        (3, 1e-6),
        top=2,
        max_rank=3,
        sizes=(1, 2),
        supports=True,
    ),
    *asks(
        "limited-domain",
        (3, 0.02),
        top=3,
        max_rank=6,
        sizes=(1, 2),
        union=True,
        max_basket=2,
        supports=True,
    ),
    *asks("limited-domain", (1, 0.1), (4, 1e-3), top=2, max_rank=2, universe=ITEMS),
    *asks("choosing", (1, 0.1), (3, 0.02), (1, 1e-6), top=3, max_basket=3),
    *asks("choosing", (2, 1e-3), top=2, sizes=(1, 2), max_basket=2),
    *asks("choosing", (1, 0.1), top=2, max_basket=3, supports=True),
    *asks("exponential", (1, 0.1), (1, 1e-6), top=3, universe=ITEMS),
    *asks("exponential", (1, 1e-6), top=2, sizes=(1, 2), universe=ITEMS),
    *asks("exponential", (2, 0.1), top=2, sizes=(1, 2), union=True, supports=True, universe=ITEMS),
    *asks("exponential", (2, 1e-9), top=2, supports=True, universe=ITEMS),
    *asks("exponential", (1, 0.1), (3, 0.02), top=2, universe=3),
    *asks("exponential", (1, 0.1), top=2, sizes=(1, 2), universe=2, supports=True),
    *asks("permute-and-flip", (1, 0.05), (3, 0.1), top=2, universe=ITEMS),
    *asks(
        "permute-and-flip", (2, 0.1), top=2, sizes=(1, 2), union=True, supports=True, universe=ITEMS
    ),
    *asks("permute-and-flip", (1, 0.1), (2, 0.05), sizes=(1, 2), supports=True, universe=ITEMS),
    *asks("max-of-laplaces", (3, 0.1), top=2, universe=ITEMS),
    *asks(
        "permute-and-flip",
        (1, 0),
        (3, 0),
        top=2,
        sizes=(1, 2),
        union=True,
        supports=True,
        universe=ITEMS,
    ),
    *asks("exponential", (2, 0), top=2, sizes=(1, 2), supports=True, universe=ITEMS),
    *asks("max-of-laplaces", (2, 0), sizes=(1, 2), supports=True, universe=ITEMS),
    *asks("large-margin", (2, 0.1), (40, 0.2), top=2, universe=ITEMS),
    *asks("large-margin", (4, 0.2), (1, 1e-6), top=2, sizes=(1, 2), max_rank=2, supports=True),
    *asks("tight-margin", (4, 0.2), top=2, max_rank=3),
    *asks("distance", (2, 0.1), (1, 1e-6), top=2, sizes=(1, 2)),
]
# With a number of units.
COUNTED = [
    replace(ask, count=True)
    for ask in [
        *asks(
            "exponential",
            (2, 0),
            (2, 0.1),
            top=2,
            sizes=(1, 2),
            union=True,
            supports=True,
            universe=ITEMS,
        ),
        *asks("permute-and-flip", (3, 0), (1, 0.1), top=2, universe=ITEMS),
        *asks("limited-domain", (3, 1e-6), (1, 0.2), top=2, max_rank=3, supports=True),
        replace(Ask("exponential", top=2, supports=True, universe=ITEMS), rho=Fraction(1, 2)),
        replace(Ask("choosing", top=2, max_basket=3), rho=Fraction(1)),
    ]
]
# The same in zero-concentrated privacy. Gaussian noise and bounded-range picks, or picks that are
# (ε, δ)-private alone.
GIVEN_RHO = [
    replace(ask, rho=Fraction(rho), delta=Fraction(delta))
    for rho, delta, ask in [
        ("1/4", "1/10", Ask("exponential", top=3, universe=ITEMS)),
        (
            "1/2",
            "1/100",
            Ask("exponential", top=2, sizes=(1, 2), union=True, supports=True, universe=ITEMS),
        ),
        ("1/3", "1/10", Ask("permute-and-flip", top=2, universe=ITEMS)),
        ("1", "1/50", Ask("permute-and-flip", sizes=(1, 2), supports=True, universe=ITEMS)),
        ("1/2", "1/10", Ask("max-of-laplaces", top=2, universe=ITEMS)),
        ("1/4", "1/5", Ask("choosing", top=3, max_basket=3)),
        ("1", "1/10", Ask("choosing", top=2, sizes=(1, 2), max_basket=2, supports=True)),
        ("1/4", "1/10", Ask("limited-domain", top=3, max_rank=3)),
        ("1/2", "1/5", Ask("limited-domain", top=2, max_rank=3, sizes=(1, 2), supports=True)),
        ("1/2", "1/10", Ask("exponential", top=2, universe=3)),
        ("2", "1/10", Ask("tight-margin", top=2, max_rank=3)),
        ("1", "1/10", Ask("distance", top=2, sizes=(1, 2))),
        ("3", "1/5", Ask("large-margin", top=2, sizes=(1, 2), max_rank=2, supports=True)),
    ]
]


def plan_of(allocation: plans.ReleasePlan, ask: Ask, neighbors: oracles.Neighbors) -> Plan:
    """What the allocation says, read from its public parameters."""

    def picks(mechanism: Any, sizes: tuple[int, ...], count: int, known: bool) -> Picks:
        assert str(mechanism.neighbors) == neighbors
        spec, budget = (
            registry.spec_of(mechanism),
            (exact(mechanism.epsilon), exact(mechanism.delta)),
        )
        most = getattr(mechanism, "max_itemsets", None) or getattr(mechanism, "universe_size", None)
        rank = getattr(mechanism, "max_rank", 0)
        return Picks(
            spec.asked_as or spec.name, sizes, count, *budget, neighbors, known, rank, most
        )

    known = isinstance(ask.universe, tuple)
    runs = [(one.run, tuple(one.sizes)) for one in allocation.selections]
    selections = [
        picks(run.mechanism, sizes, run.count, known)
        for run, sizes in runs
        if isinstance(run, TopK)
    ]
    assert len(selections) == len(runs)
    most = ask.top * (1 if ask.union else len(ask.sizes))
    noises = [
        noise for count in range(1, most + 1) if (noise := allocation.noise(count)) is not None
    ]
    return Plan(
        tuple(selections),
        tuple(map(noise_of, noises)),
        exact(allocation.cost.epsilon),
        exact(allocation.cost.delta),
        None if (step := allocation.step("count")) is None else noise_of(plans.noise_of(step, 1)),
    )


def noise_of(noise: SupportNoise) -> Noise:
    kind = str(noise.kind).partition("-")[2]
    return Noise(kind, exact(noise.parameter), noise.reach(CONFIDENCE), noise.of_units, noise.count)


def allocated_plan(ask: Ask, neighbors: oracles.Neighbors) -> Plan:
    return plan_of(ask.allocation(neighbors), ask, neighbors)


# Where the supports go if the items change their names.
_RELABELLINGS = [
    [
        ITEMSETS.index(tuple(sorted(names[ITEMS.index(item)] for item in itemset)))
        for itemset in ITEMSETS
    ]
    for names in permutations(ITEMS)
]


@cache
def support_pairs(
    neighbors: oracles.Neighbors, cut: int, sizes: tuple[int, ...]
) -> frozenset[tuple[Column, Column]]:
    """The supports of all neighbouring databases, one pair for all that differ in the names of the
    items.

    The distribution looks at supports only, and at no name. Of sizes not asked for the supports are
    taken to be 0.
    """

    def first(one: Column, other: Column) -> tuple[Column, Column]:
        renamed = (
            tuple(tuple(side[i] for i in order) for side in (one, other)) for order in _RELABELLINGS
        )
        return min(renamed)  # type: ignore[return-value]

    def asked(database: Database) -> Column:
        return tuple(
            c if len(i) in sizes else 0
            for i, c in zip(ITEMSETS, column(database, cut), strict=True)
        )

    pairs = {(asked(one), asked(other)) for one, other in neighbouring(neighbors)}
    # One unit more or less is told by their number, even if it holds nothing.
    return frozenset(
        first(one, other) for one, other in pairs if one != other or neighbors == "add-remove"
    )


def worst(plan: Plan, pairs: Iterable[tuple[Column, Column]]) -> Decimal:
    """The largest δ that any pair needs at the plan's ε, in both directions."""
    distributions: dict[Column, Distribution] = {}

    def distribution(values: Column) -> Distribution:
        if values not in distributions:
            distributions[values] = release_distribution(plan, supports_of(values))
        return distributions[values]

    return max(
        divergence(
            plan, supports_of(one), supports_of(other), distribution(one), distribution(other)
        )
        for pair in pairs
        for one, other in (pair, pair[::-1])
    )


def all_pairs(ask: Ask, neighbors: oracles.Neighbors) -> frozenset[tuple[Column, Column]]:
    return support_pairs(neighbors, ask.cut, ask.sizes)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("ask", [*ASKS, *COUNTED, *GIVEN_RHO], ids=str)
@pytest.mark.one_in(2)
def test_the_whole_release_keeps_its_guarantee(ask: Ask, neighbors: oracles.Neighbors) -> None:
    plan = allocated_plan(ask, neighbors)
    assert ask.rho is not None or plan.epsilon <= ask.epsilon
    assert plan.delta <= ask.delta
    needed = worst(plan, all_pairs(ask, neighbors))
    assert needed <= release_distributions.decimal(plan.delta) + ERROR


def test_the_databases_are_all_there_are() -> None:
    everything = {tuple(sorted(database)) for database in databases()}
    assert len(everything) == sum(math.comb(8 + size - 1, size) for size in range(4)) == 165
    assert len(list(neighbouring("add-remove"))) == 8 * (1 + 8 + 36)
    assert len(list(neighbouring("replace-one"))) == 28 * (1 + 8 + 36)
    assert column((("a", "b", "c"), ("b", "c"), ())) == (1, 2, 2, 1, 1, 2, 1)
    assert column((("a", "b", "c"), ("b", "c"), ()), cut=2) == (1, 2, 1, 1, 0, 1, 0)


def test_the_asks_compose_both_ways_with_both_kinds_of_noise() -> None:
    met = set()
    for ask, neighbors in product(ASKS, NEIGHBORS):
        added = ask.allocation(neighbors).steps[0].rho is None
        met |= {(added, None)} | {
            (added, noise.kind) for noise in allocated_plan(ask, neighbors).noises
        }
    kinds = {
        (True, "laplace"),
        (True, "normal"),
        (True, "normals"),
        (False, "gaussian"),
        (False, "normals"),
    }
    assert met == {(True, None), (False, None)} | kinds


@pytest.mark.parametrize(
    ("ask", "least"),
    [
        (ask_for("limited-domain", (1, 1e-4), top=3, max_rank=3), 0.99),
        # Composed in zCDP: the other half of δ converts ρ.
        (
            ask_for("limited-domain", (3, 1e-6), top=2, max_rank=3, sizes=(1, 2), supports=True),
            0.49,
        ),
        (ask_for("choosing", (3, 0.02), top=2, max_basket=3), 0.95),
        (Ask("exponential", top=2, universe=ITEMS), 0.5),
        (ask_for("tight-margin", (4, 0.1), top=2, max_rank=3), 0.7),
        (ask_for("distance", (1, 1e-6), top=2), 0.6),
    ],
    ids=str,
)
def test_much_of_delta_is_used(ask: Ask, least: float) -> None:
    """An enumeration that meets nothing would keep every guarantee."""
    assert (
        worst(allocated_plan(ask, "add-remove"), all_pairs(ask, "add-remove")) > least * ask.delta
    )


@pytest.mark.parametrize(
    ("ask", "share"),
    [
        (Ask("exponential", top=2, sizes=(1, 2), universe=ITEMS, delta=Fraction(1, 10**6)), 0.45),
        (
            Ask(
                "exponential",
                sizes=(1,),
                supports=True,
                universe=ITEMS,
                epsilon=Fraction(3),
                delta=MINUTE,
            ),
            0.9,
        ),
        (Ask("permute-and-flip", top=2, universe=ITEMS), 0.9),
        (Ask("max-of-laplaces", top=2, universe=ITEMS, epsilon=Fraction(3)), 0.7),
    ],
    ids=str,
)
def test_much_of_epsilon_is_used_where_there_is_no_delta(ask: Ask, share: float) -> None:
    plan = allocated_plan(ask, "add-remove")
    assert plan.delta == 0
    weaker = replace(plan, epsilon=plan.epsilon * exact(share))
    assert worst(weaker, all_pairs(ask, "add-remove")) > 1e-4


# -------------------- mixtures


def stops_before_new(distribution: Distribution, new: set[Itemset]) -> Distribution:
    """P̃: where an itemset is picked that only one of two data sets has, ⊥ is reported in its
    place.
    """
    result: Distribution = {}
    for picked, chance in distribution.items():
        first = next((place for place, itemset in enumerate(picked) if itemset in new), len(picked))
        result[picked[:first]] = result.get(picked[:first], Decimal(0)) + chance
    return result


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(
    "ask",
    [
        ask_for("choosing", (3, 0.2), top=2, max_basket=3),
        ask_for("choosing", (6, 0.3), top=2, sizes=(1, 2), union=True, max_basket=2),
        ask_for("limited-domain", (3, 0.3), top=3, max_rank=7, sizes=(1, 2), union=True),
    ],
    ids=str,
)
def test_picks_are_mostly_picks_of_what_both_have(ask: Ask, neighbors: oracles.Neighbors) -> None:
    """Theorem 8: P = (1 - δ_b)P̃ + δ_b Q, and each step of P̃ is bounded-range. (All candidates are
    above the cut.)
    """
    plan = allocated_plan(ask, neighbors)
    [picks] = plan.selections
    for pair in all_pairs(ask, neighbors):
        sides = [supports_of(values) for values in pair]
        new = {
            itemset for itemset in ITEMSETS if (sides[0][itemset] > 0) != (sides[1][itemset] > 0)
        }
        whole = [release_distribution(plan, side) for side in sides]
        parts = [stops_before_new(distribution, new) for distribution in whole]
        for distribution, part in zip(whole, parts, strict=True):
            for picked, chance in part.items():
                assert (
                    distribution[picked]
                    >= (1 - release_distributions.decimal(picks.delta)) * chance
                )
        assert set(parts[0]) == set(parts[1])
        ratios = [parts[0][picked] / parts[1][picked] for picked in parts[0] if len(picked) <= 1]
        assert (
            max(ratios) / min(ratios)
            <= release_distributions.decimal(picks.epsilon * picks.count).exp()
        )


# -------------------- concentrated

ORDERS = [Decimal(order) for order in ("1.01", "1.5", "2", "4", "16", "64")]


def excess_of_rho(plan: Plan, rho: Fraction, pairs: Iterable[tuple[Column, Column]]) -> Decimal:
    """The most by which a Rényi divergence exceeds ρα, over all pairs and orders α, both ways
    round.

    Of the noise on supports it is known: moved α / (2σ²) at most. (Canonne, Kamath and Steinke
    2020, Proposition 5.)
    """
    worst = Decimal("-inf")
    allowed = release_distributions.decimal(rho)
    with localcontext(prec=release_distributions.PRECISION):
        for pair in pairs:
            sides = [supports_of(values) for values in pair]
            laws = [release_distribution(plan, side) for side in sides]
            if set(laws[0]) != set(laws[1]):
                return Decimal("inf")
            moved = {
                picked: sum(
                    abs(sides[0][itemset] - sides[1][itemset]) for itemset in picked if itemset
                )
                * bool(plan.noises)
                for picked in laws[0]
            }
            for order, (one, other) in product(ORDERS, (laws, laws[::-1])):
                total = Decimal(0)
                for picked, chance in one.items():
                    noise = plan.noises[len(picked) - 1] if plan.noises else None
                    if noise is not None and noise.of_units is not None:
                        noisy: Fraction | int = noise.mu_squared / 2
                    else:
                        noisy = moved[picked] and moved[picked] / (
                            2 * plan.noises[len(picked) - 1].parameter
                        )
                    factor = order * (order - 1) * release_distributions.decimal(Fraction(noisy))
                    total += (order * chance.ln() + (1 - order) * other[picked].ln() + factor).exp()
                worst = max(worst, total.ln() / (order - 1) - allowed * order)
    return worst


PURELY_CONCENTRATED = [ask for ask in GIVEN_RHO if isinstance(ask.universe, tuple)]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("ask", PURELY_CONCENTRATED, ids=str)
def test_what_needs_no_delta_is_concentrated(ask: Ask, neighbors: oracles.Neighbors) -> None:
    allocation = ask.allocation(neighbors)
    assert ask.rho is not None
    assert allocation.stated_zcdp == ZcdpCost(ask.rho, 0)
    assert sum(Fraction(share.rho or 0) for share in allocation.steps) == ask.rho
    assert (
        excess_of_rho(allocated_plan(ask, neighbors), ask.rho, all_pairs(ask, neighbors)) <= ERROR
    )


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(
    "ask", [ask for ask in GIVEN_RHO if ask not in PURELY_CONCENTRATED], ids=str
)
def test_what_needs_a_delta_says_so(ask: Ask, neighbors: oracles.Neighbors) -> None:
    allocation = ask.allocation(neighbors)
    assert ask.rho is not None
    assert allocation.stated_zcdp == ZcdpCost(ask.rho, ask.delta / 2)
    assert sum(Fraction(share.rho or 0) for share in allocation.steps) == ask.rho
    runs = [
        (1 if is_bounded_range(run.mechanism) else run.count, run.mechanism.cost)
        for run in allocation.top_k_runs
    ]
    assert sum(many * Fraction(cost.delta) for many, cost in runs) == ask.delta / 2


@pytest.mark.parametrize(
    ("ask", "share"), [*zip(PURELY_CONCENTRATED[:3], ("1/2", "4/5", "9/20"), strict=True)], ids=str
)
def test_much_of_rho_is_used(ask: Ask, share: str) -> None:
    assert ask.rho is not None
    plan, pairs = allocated_plan(ask, "add-remove"), all_pairs(ask, "add-remove")
    assert excess_of_rho(plan, ask.rho * Fraction(share), pairs) > 0


RHO_MUTANTS: dict[str, tuple[Ask, Any]] = {
    "each pick has the whole of ρ": (
        PURELY_CONCENTRATED[0],
        lambda plan: each(plan, epsilon=lambda s: s.epsilon * exact(math.sqrt(3))),
    ),
    "picks that are not bounded-range are taken to be": (
        replace(PURELY_CONCENTRATED[2], rho=Fraction(1, 50)),
        lambda plan: each(plan, epsilon=lambda s: s.epsilon * 2),
    ),
    "each support has noise for one": (
        PURELY_CONCENTRATED[1],
        lambda plan: replace(plan, noises=plan.noises[:1] * 2),
    ),
}


@pytest.mark.parametrize("name", RHO_MUTANTS)
def test_what_spends_more_than_rho_is_caught(name: str) -> None:
    ask, broken = RHO_MUTANTS[name]
    assert ask.rho is not None
    plans = [
        (broken(allocated_plan(ask, neighbors)), all_pairs(ask, neighbors))
        for neighbors in NEIGHBORS
    ]
    assert any(excess_of_rho(plan, ask.rho, pairs) > Decimal("0.001") for plan, pairs in plans)


# -------------------- mutants


def each(plan: Plan, **changes: Any) -> Plan:
    """The plan with every selection's mechanism changed: what is given is a function of the
    selection.
    """
    picks: Any = plan.selections
    made = (
        replace(one, **{name: change(one) for name, change in changes.items()}) for one in picks
    )
    return replace(plan, selections=tuple(made))


ONE_SIZE = Ask("exponential", sizes=(1,), universe=ITEMS, delta=MINUTE)
NOISY = replace(ONE_SIZE, supports=True, epsilon=Fraction(3))
COUNTING = replace(ONE_SIZE, epsilon=Fraction(2), delta=Fraction(0))
CHOOSING = Ask("choosing", top=2, max_basket=3)
LIMITED = Ask("limited-domain", top=3, max_rank=3)
BOTH_SIZES = ask_for("limited-domain", (3, 1e-6), top=2, sizes=(1, 2), max_rank=3, supports=True)


def quieter(plan: Plan, factor: int) -> Plan:
    return replace(
        plan, noises=tuple(replace(n, parameter=n.parameter / factor) for n in plan.noises)
    )


MUTANTS: dict[str, tuple[Ask, Any]] = {
    "each pick has the whole of ε": (
        Ask("exponential", top=2, universe=ITEMS, delta=MINUTE),
        lambda plan: each(plan, epsilon=lambda s: s.epsilon * s.count),
    ),
    "each size has the whole of ε": (
        replace(ONE_SIZE, sizes=(1, 2)),
        lambda plan: each(plan, epsilon=lambda s: s.epsilon * 2),
    ),
    "each pick has the whole of ρ": (
        Ask("exponential", top=3, universe=ITEMS),
        lambda plan: each(plan, epsilon=lambda s: s.epsilon * exact(math.sqrt(3))),
    ),
    "⊥ has a tenth of its weight": (
        replace(LIMITED, top=2, delta=Fraction(1, 1000)),
        lambda plan: each(plan, bottom_factor=lambda s: Fraction(1, 10)),
    ),
    "⊥ has a tenth of its weight, concentrated": (
        LIMITED,
        lambda plan: each(plan, bottom_factor=lambda s: Fraction(1, 10)),
    ),
    "⊥ of choosing is for one itemset of a basket": (
        replace(CHOOSING, delta=Fraction(1, 1000)),
        lambda plan: each(plan, units=lambda s: 1),
    ),
    "there is no ⊥: the candidates are taken from the data": (
        CHOOSING,
        lambda plan: each(plan, bottom_factor=lambda s: MINUTE),
    ),
    "each size has the whole of δ": (
        BOTH_SIZES,
        lambda plan: each(plan, delta=lambda s: plan.delta),
    ),
    "each run has the whole of δ": (
        ask_for("distance", (1, 1e-6), top=2),
        lambda plan: each(plan, delta=lambda s: s.delta * 2),
    ),
    "half the scale of discrete Laplace": (NOISY, lambda plan: quieter(plan, 2)),
    "half the scale of the discrete Gaussian": (
        ask_for(
            "exponential", (2, 0.1), top=2, sizes=(1, 2), union=True, supports=True, universe=ITEMS
        ),
        lambda plan: quieter(plan, 4),
    ),
    "each support has noise for one": (
        replace(NOISY, top=2),
        lambda plan: replace(plan, noises=plan.noises[:1] * 2),
    ),
    "supports are not counted in the budget": (
        ONE_SIZE,
        lambda plan: replace(plan, noises=(Noise("laplace", 3 / plan.epsilon),)),
    ),
    "the number of units is not counted in the budget": (
        replace(COUNTING, sizes=(2,), supports=True),
        lambda plan: replace(plan, count=Noise("laplace", 4 / plan.epsilon)),
    ),
    "the number of units has half the scale": (
        replace(COUNTING, count=True),
        lambda plan: replace(
            plan, count=plan.count and replace(plan.count, parameter=plan.count.parameter / 4)
        ),
    ),
    "replace-one with the rate of add-remove": (
        Ask("permute-and-flip", top=2, universe=ITEMS),
        lambda plan: each(plan, epsilon=lambda s: s.epsilon * s.offset),
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_broken_is_caught(name: str) -> None:
    """By some pair of neighbours, in one of the two relations."""
    ask, broken = MUTANTS[name]
    plans = [
        (broken(allocated_plan(ask, neighbors)), all_pairs(ask, neighbors))
        for neighbors in NEIGHBORS
    ]
    assert any(
        worst(plan, pairs) > release_distributions.decimal(plan.delta * Fraction(11, 10)) + ERROR
        for plan, pairs in plans
    )


def test_permute_and_flip_is_not_bounded_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were it declared to be, its picks would be composed in zero-concentrated privacy, and spend
    too much.
    """
    ask = ask_for("permute-and-flip", (1, 0.05), top=2, universe=ITEMS)
    monkeypatch.setattr(PermuteAndFlip, "bounded_range", "no theorem", raising=False)
    plan = allocated_plan(ask, "add-remove")
    assert worst(plan, all_pairs(ask, "add-remove")) > 2 * plan.delta


# -------------------- what is drawn


def printed(
    plan: Plan, database: Database, cut: int = 3, *, keep_all: bool
) -> dict[Picked | tuple[tuple[Itemset, int], ...], float]:
    """P(each release as it is printed): itemsets in the order picked or, with supports, by what is
    said of these.

    keep_all: whether those are printed too whose interval reaches down to 0.
    """
    supports = supports_of(column(database, cut))
    result: defaultdict[Any, float] = defaultdict(float)
    for picked, chance in release_distribution(plan, supports).items():
        named = [itemset for itemset in picked if itemset is not None]
        if not plan.noises or not named:
            result[picked] += float(chance)
            continue
        noise = plan.noises[len(named) - 1]
        for noisy, part in noise.noisy([supports[itemset] for itemset in named]):
            told = zip(
                named, release_distributions.consistent(named, noisy, noise.steps), strict=True
            )
            rows = [
                (itemset, estimate)
                for itemset, (least, estimate) in told
                if keep_all or least > noise.half_width
            ]
            rows.sort(key=lambda row: -row[1])
            unnamed = [(None, None)] * (len(picked) - len(named))
            result[(*rows, *unnamed)] += float(chance) * part
    return dict(result)


def weaker(plan: Plan, factor: Fraction) -> Plan:
    """The plan whose every ε is wrong by a factor, of the noise on supports too."""

    changed = each(plan, epsilon=lambda picks: picks.epsilon * factor)
    return replace(changed, noises=tuple(noise.times(1 / factor) for noise in plan.noises))


# Databases on which neither the first nor abstaining is nearly certain. ε is large: three baskets
# are few.
CHAIN: Database = (("a", "b", "c"), ("a", "b"), ("a",))
TWINS: Database = (("a", "b", "c"), ("a", "b"), ("a", "b", "c"))
AHEAD: Database = (("a", "b", "c"), ("a", "b"), ("a", "b"))
# For large margin, which without a catalogue abstains on three baskets whatever ε is.
LEADER: Database = (*[("a", "b")] * 30, *[("b", "c")] * 5)


@dataclass(frozen=True)
class Drawn:
    """What is asked for, and of which database."""

    ask: Ask
    neighbors: oracles.Neighbors
    database: Database

    def __str__(self) -> str:
        return f"{self.ask} {self.neighbors}"

    def distribution(self, factor: Fraction = Fraction(1)) -> dict[Any, float]:
        plan = weaker(allocated_plan(self.ask, self.neighbors), factor)
        return printed(plan, self.database, self.ask.cut, keep_all=self.ask.keep_all)

    def releases(self, draws: int, seed: int) -> Counter[Any]:
        """How often each release is printed by `mine`."""
        data, options = (
            read_transactions([list(basket) for basket in self.database]),
            self.ask.options(self.neighbors),
        )
        drawn: Counter[Any] = Counter()
        for number in range(draws):
            itemsets = fim.mine(data, seed=seed * MOST_DRAWS + number, **options).itemsets
            bare = all(itemset.support is None for itemset in itemsets)
            drawn[tuple(i.items if bare else (i.items, i.support) for i in itemsets)] += 1
        return drawn


LEVEL = 1e-6
MOST_DRAWS = 100_000


def drawn_of(
    budget: tuple[float, float], neighbors: Any, database: Database, mechanism: str, **asked: Any
) -> Drawn:
    return Drawn(ask_for(mechanism, budget, **asked), neighbors, database)


ADD, REPLACE = NEIGHBORS
OF_SIZES: dict[str, Any] = {"sizes": (1, 2), "supports": True, "universe": ITEMS}
TOGETHER: dict[str, Any] = {"top": 2, "sizes": (1, 2), "union": True}
DRAWN = [
    drawn_of((8, 0.1), ADD, CHAIN, "limited-domain", max_rank=3, supports=True, **TOGETHER),
    drawn_of((6, 0.2), ADD, AHEAD, "limited-domain", top=2, max_rank=2),
    drawn_of((6, 0.1), ADD, TWINS, "choosing", top=2, sizes=(1, 2), max_basket=2),
    drawn_of((8, 1e-9), ADD, CHAIN, "exponential", keep_all=False, **OF_SIZES),
    drawn_of((8, 1e-9), REPLACE, CHAIN, "exponential", **OF_SIZES),
    drawn_of((6, 0.1), ADD, TWINS, "exponential", top=2, universe=3),
    drawn_of((3, 0.3), ADD, CHAIN, "permute-and-flip", **OF_SIZES),
    drawn_of((8, 0.2), REPLACE, LEADER, "large-margin", top=2, max_rank=3),
    drawn_of((8, 0.2), REPLACE, AHEAD, "distance", top=2),
    drawn_of((8, 0.2), ADD, TWINS, "tight-margin", top=2, max_rank=3),
]
# These take more draws, or more work for each.
DRAWN_SLOWLY = [
    drawn_of(
        (9, 0.1), ADD, TWINS, "limited-domain", top=2, max_rank=3, supports=True, keep_all=False
    ),
    drawn_of((6, 0.1), ADD, CHAIN, "exponential", supports=True, universe=ITEMS, **TOGETHER),
    drawn_of((4, 0.1), ADD, CHAIN, "permute-and-flip", universe=ITEMS, **TOGETHER),
    drawn_of((12, 0.2), REPLACE, AHEAD, "large-margin", top=2, universe=ITEMS),
    drawn_of((4, 0.1), ADD, CHAIN, "max-of-laplaces", top=2, universe=ITEMS),
]


@cache
def law_and_draws(drawn: Drawn) -> tuple[dict[Any, float], int]:
    """The distribution, and as many draws as it takes to catch an ε that is wrong by 30 %, either
    way.
    """
    right, wrong = (
        drawn.distribution(),
        [drawn.distribution(Fraction(7, 10)), drawn.distribution(Fraction(13, 10))],
    )
    draws = 250
    while min(oracles.detects(right, other, draws, level=LEVEL) for other in wrong) < 0.999:
        draws += draws // 4
        assert draws < MOST_DRAWS
    return right, draws


@pytest.mark.parametrize(
    "drawn",
    [
        DRAWN[2],
        *(
            pytest.param(drawn, marks=pytest.mark.full)
            for drawn in DRAWN[:2] + DRAWN[3:] + DRAWN_SLOWLY
        ),
    ],
    ids=str,
)
def test_releases_are_drawn_from_the_law(drawn: Drawn) -> None:
    """As many as it takes to catch an ε that is wrong by 30 %, either way."""
    distribution, draws = law_and_draws(drawn)
    assert oracles.chi_square_pvalue(drawn.releases(draws, 1), distribution, draws) > LEVEL


def light_abstention(monkeypatch: pytest.MonkeyPatch) -> None:
    whole: Any = vars(abstention.AbstentionWeight)["factor"]
    monkeypatch.setattr(
        abstention.AbstentionWeight, "factor", property(lambda bottom: whole.fget(bottom) / 10)
    )


def first_of_the_tied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        itemset_spectra, "distinct_integers", lambda bound, number, *, randomness: [*range(number)]
    )


def half_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        noisy_supports._DRAW,
        NoiseKind.LAPLACE,
        lambda scale, *rest, **more: discrete_laplace(scale / 2, *rest, **more),
    )


@pytest.mark.parametrize(
    ("breaks", "mechanism"),
    [
        (light_abstention, "choosing"),
        (first_of_the_tied, "choosing"),
        pytest.param(half_the_noise, "exponential", marks=pytest.mark.full),
    ],
)
def test_what_is_broken_is_not_drawn_from_the_law(
    breaks: Callable[[pytest.MonkeyPatch], None], mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = next(drawn for drawn in DRAWN if drawn.ask.mechanism == mechanism)
    distribution, draws = law_and_draws(drawn)
    breaks(monkeypatch)
    assert oracles.chi_square_pvalue(drawn.releases(draws, 1), distribution, draws) < LEVEL
