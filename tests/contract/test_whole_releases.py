"""Whole releases by picks: their exact joint distribution on all neighbours of 3 items and at most
3 baskets.

What is held to (ε, δ) is all that leaves: which itemsets, in which order, where it stops, and their
noisy supports. The parameters are those that `allocate` has decided on; probabilities come from
`release_distributions` alone. Then what the package draws is held to the same distribution.
Whatever is broken on purpose must fail one or the other.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, permutations, product
from typing import Any

import oracles
import pytest
import release_distributions
from oracles import decimal
from release_distributions import (
    ERROR,
    Distribution,
    Itemset,
    Noise,
    Picked,
    Picks,
    Plan,
    Supports,
    consistent,
    divergence,
    release_distribution,
)

import fim_private as fim
from fim_private.counting import source as itemset_spectra
from fim_private.dp.cost import ZcdpCost
from fim_private.dp.noise import discrete_laplace
from fim_private.mechanisms import registry
from fim_private.mechanisms.exponential import Abstaining
from fim_private.mechanisms.top_k import TopK, is_bounded_range
from fim_private.reading.purchases import read_transactions
from fim_private.request import plan as plans
from fim_private.request import supports as noisy_supports
from fim_private.request.allocation import plan_of as allocated
from fim_private.request.request import request_of
from fim_private.request.supports import CONFIDENCE, NoiseKind, SupportNoise

NEIGHBORS: list[oracles.Neighbors] = ["add-remove", "replace-one"]
MINUTE = Fraction(1, 10**9)


# -------------------- all data of three items and at most three baskets

ITEMS = ("a", "b", "c")
BASKETS = tuple(basket for size in range(4) for basket in combinations(ITEMS, size))
ITEMSETS = BASKETS[1:]
MOST_BASKETS = 3

Database = tuple[Itemset, ...]
Column = tuple[int, ...]  # the support of each of ITEMSETS


def databases(most: int = MOST_BASKETS) -> Iterator[Database]:
    for size in range(most + 1):
        yield from combinations_with_replacement(BASKETS, size)


def neighbouring(neighbors: oracles.Neighbors) -> Iterator[tuple[Database, Database]]:
    """Every pair of databases with at most three baskets that differ in one basket, once."""
    for rest in databases(MOST_BASKETS - 1):
        if neighbors == "add-remove":
            yield from ((rest, (*rest, basket)) for basket in BASKETS)
        else:
            yield from (((*rest, one), (*rest, other)) for one, other in combinations(BASKETS, 2))


def column(database: Database, cut: int = 3) -> Column:
    """The supports, counted basket by basket, of which the first `cut` items count."""
    baskets = [set(basket[:cut]) for basket in database]
    return tuple(sum(basket.issuperset(itemset) for basket in baskets) for itemset in ITEMSETS)


def supports_of(values: Column) -> dict[Itemset, int]:
    return dict(zip(ITEMSETS, values, strict=True))


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
        sizes = "-".join(map(str, dict.fromkeys((self.sizes[0], self.sizes[-1]))))
        parts = [self.mechanism, f"top {self.top}", f"size {sizes}"]
        parts += [name for name in ("union", "supports", "count") if getattr(self, name)]
        parts += ["cut"] * (not self.keep_all)
        caps = (("of", self.universe), ("rank", self.max_rank), ("cap", self.max_basket))
        for name, value in caps:
            parts += [f"{name} {value}"] * isinstance(value, int)
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
        names = "top union supports mechanism max_rank max_basket keep_all count delta"
        listed = "universe_size" if isinstance(self.universe, int) else "catalogue"
        return {
            **{name: getattr(self, name) for name in names.split()},
            listed: self.universe,
            **({"epsilon": self.epsilon} if self.rho is None else {"rho": self.rho}),
            "size": range(self.sizes[0], self.sizes[-1] + 1),
            "neighbors": neighbors,
        }


def exact(value: Any) -> Fraction:
    """A budget as its digits say, whether it is kept as a float or exactly."""
    return Fraction(value) if isinstance(value, Fraction) else Fraction(repr(float(value)))


def ask_for(mechanism: str, budget: tuple[float, float], **options: Any) -> Ask:
    return Ask(mechanism, epsilon=exact(budget[0]), delta=exact(budget[1]), **options)


def asks(mechanism: str, *budgets: tuple[float, float], **options: Any) -> list[Ask]:
    """The same with several (ε, δ): larger δ are composed in zCDP, smaller ones added up."""
    return [ask_for(mechanism, budget, **options) for budget in budgets]


SIZES: dict[str, Any] = {"sizes": (1, 2)}
TOP_2: dict[str, Any] = {"top": 2, **SIZES}
UNITED: dict[str, Any] = {**TOP_2, "union": True}
SUPPORTS: dict[str, Any] = {"supports": True, "universe": ITEMS}
ASKS = [
    *asks("limited-domain", (1, 0.1), (1, 1e-3), (3, 0.1), (1, 1e-6), top=3, max_rank=3),
    *asks("limited-domain", (1, 0.1), (3, 0.1), max_rank=2, **UNITED),
    *asks("limited-domain", (2, 0.01), max_rank=1, **TOP_2),
    *asks("limited-domain", (1, 0.1), (3, 1e-4), (3, 1e-6), max_rank=3, supports=True, **TOP_2),
    *asks("limited-domain", (3, 0.02), max_rank=6, max_basket=2, supports=True, **UNITED),
    *asks("limited-domain", (1, 0.1), (4, 1e-3), top=2, max_rank=2, universe=ITEMS),
    *asks("choosing", (1, 0.1), (3, 0.02), (1, 1e-6), top=3, max_basket=3),
    *asks("choosing", (2, 1e-3), max_basket=2, **TOP_2),
    *asks("choosing", (1, 0.1), top=2, max_basket=3, supports=True),
    *asks("exponential", (1, 0.1), (1, 1e-6), top=3, universe=ITEMS),
    *asks("exponential", (1, 1e-6), universe=ITEMS, **TOP_2),
    *asks("exponential", (2, 0.1), **UNITED, **SUPPORTS),
    *asks("exponential", (2, 1e-9), top=2, **SUPPORTS),
    *asks("exponential", (1, 0.1), (3, 0.02), top=2, universe=3),
    *asks("exponential", (1, 0.1), universe=2, supports=True, **TOP_2),
    *asks("permute-and-flip", (1, 0.05), (3, 0.1), top=2, universe=ITEMS),
    *asks("permute-and-flip", (2, 0.1), (1, 0), (3, 0), **UNITED, **SUPPORTS),
    *asks("permute-and-flip", (1, 0.1), (2, 0.05), **SIZES, **SUPPORTS),
    *asks("max-of-laplaces", (3, 0.1), top=2, universe=ITEMS),
    *asks("exponential", (2, 0), **TOP_2, **SUPPORTS),
    *asks("max-of-laplaces", (2, 0), **SIZES, **SUPPORTS),
    *asks("large-margin", (2, 0.1), (40, 0.2), top=2, universe=ITEMS),
    *asks("large-margin", (4, 0.2), (1, 1e-6), max_rank=2, supports=True, **TOP_2),
    *asks("tight-margin", (4, 0.2), top=2, max_rank=3),
    *asks("distance", (2, 0.1), (1, 1e-6), **TOP_2),
]
# With a number of units.
COUNTED = [
    replace(ask, count=True)
    for ask in [
        *asks("exponential", (2, 0), (2, 0.1), **UNITED, **SUPPORTS),
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
        ("1/2", "1/100", Ask("exponential", **UNITED, **SUPPORTS)),
        ("1/3", "1/10", Ask("permute-and-flip", top=2, universe=ITEMS)),
        ("1", "1/50", Ask("permute-and-flip", **SIZES, **SUPPORTS)),
        ("1/2", "1/10", Ask("max-of-laplaces", top=2, universe=ITEMS)),
        ("1/4", "1/5", Ask("choosing", top=3, max_basket=3)),
        ("1", "1/10", Ask("choosing", max_basket=2, supports=True, **TOP_2)),
        ("1/4", "1/10", Ask("limited-domain", top=3, max_rank=3)),
        ("1/2", "1/5", Ask("limited-domain", max_rank=3, supports=True, **TOP_2)),
        ("1/2", "1/10", Ask("exponential", top=2, universe=3)),
        ("2", "1/10", Ask("tight-margin", top=2, max_rank=3)),
        ("1", "1/10", Ask("distance", **TOP_2)),
        ("3", "1/5", Ask("large-margin", max_rank=2, supports=True, **TOP_2)),
    ]
]


def plan_of(allocation: plans.ReleasePlan, ask: Ask, neighbors: oracles.Neighbors) -> Plan:
    """What the allocation says, read from its public parameters."""
    selections = []
    for one in allocation.selections:
        assert isinstance(one.run, TopK)
        mechanism: Any = one.run.mechanism
        assert str(mechanism.neighbors) == neighbors
        spec = registry.spec_of(mechanism)
        selections.append(
            Picks(
                spec.asked_as or spec.name,
                tuple(one.public.sizes),
                one.run.count,
                exact(mechanism.epsilon),
                exact(mechanism.delta),
                neighbors,
                known=isinstance(ask.universe, tuple),
                max_rank=getattr(mechanism, "max_rank", 0),
                units=getattr(mechanism, "max_itemsets", 0)
                or getattr(mechanism, "universe_size", None),
            )
        )
    most = ask.top * (1 if ask.union else len(ask.sizes))
    noises = [allocation.noise(count) for count in range(1, most + 1)]
    return Plan(
        tuple(selections),
        tuple(noise_of(noise) for noise in noises if noise is not None),
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
    [ITEMSETS.index(tuple(sorted(names[ITEMS.index(item)] for item in own))) for own in ITEMSETS]
    for names in permutations(ITEMS)
]


@cache
def support_pairs(neighbors: Any, cut: int, sizes: tuple[int, ...]) -> frozenset[Any]:
    """The supports of all neighbouring databases, one pair for all that differ in the names of the
    items.

    The distribution looks at supports only, and at no name. Of sizes not asked for the supports are
    taken to be 0.
    """

    def first(one: Column, other: Column) -> tuple[Column, Column]:
        both = one, other
        renamed = (tuple(tuple(side[i] for i in order) for side in both) for order in _RELABELLINGS)
        return min(renamed)  # type: ignore[return-value]

    def asked(database: Database) -> Column:
        cells = zip(ITEMSETS, column(database, cut), strict=True)
        return tuple(c if len(i) in sizes else 0 for i, c in cells)

    pairs = {(asked(one), asked(other)) for one, other in neighbouring(neighbors)}
    # One unit more or less is told by their number, even if it holds nothing.
    alike = neighbors == "add-remove"
    return frozenset(first(one, other) for one, other in pairs if alike or one != other)


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
    assert needed <= decimal(plan.delta) + ERROR


def test_the_asks_compose_both_ways_with_both_kinds_of_noise() -> None:
    met = set()
    for ask, neighbors in product(ASKS, NEIGHBORS):
        added = ask.allocation(neighbors).steps[0].rho is None
        kinds = [None, *(noise.kind for noise in allocated_plan(ask, neighbors).noises)]
        met |= {(added, kind) for kind in kinds}
    added_up, concentrated = {None, "laplace", "normal", "normals"}, {None, "gaussian", "normals"}
    assert met == {*product([True], added_up), *product([False], concentrated)}


# -------------------- concentrated

ORDERS = [Decimal(order) for order in ("1.01", "1.5", "2", "4", "16", "64")]


def excess_of_rho(plan: Plan, rho: Fraction, pairs: Iterable[tuple[Column, Column]]) -> Decimal:
    """The most by which a Rényi divergence exceeds ρα, over all pairs and orders α, both ways."""
    with localcontext(prec=release_distributions.PRECISION):
        return max(
            found - decimal(rho) * order
            for pair in pairs
            for order, found in renyi_divergences(plan, *map(supports_of, pair))
        )


def renyi_divergences(
    plan: Plan, one: Supports, other: Supports
) -> Iterator[tuple[Decimal, Decimal]]:
    """Yield orders α, each with a Rényi divergence of the releases of two neighbours.

    Of the noise on supports it is known: moved α / (2σ²) at most. (Canonne, Kamath and Steinke
    2020, Proposition 5.)
    """
    laws = [release_distribution(plan, supports) for supports in (one, other)]
    if set(laws[0]) != set(laws[1]):
        yield Decimal(1), Decimal("inf")
        return
    logarithms = [(laws[0][picked].ln(), laws[1][picked].ln()) for picked in laws[0]]
    of_noise = [divergence_of_noise(plan, picked, one, other) for picked in laws[0]]
    for order in ORDERS:
        sums = [Decimal(0), Decimal(0)]
        for (ln_one, ln_other), noise in zip(logarithms, of_noise, strict=True):
            common = order * (order - 1) * noise
            sums[0] += (order * ln_one + (1 - order) * ln_other + common).exp()
            sums[1] += (order * ln_other + (1 - order) * ln_one + common).exp()
        for total in sums:
            yield order, total.ln() / (order - 1)


def divergence_of_noise(plan: Plan, picked: Picked, one: Supports, other: Supports) -> Decimal:
    """The Rényi divergence of order 1 of the noise on the supports of what was picked."""
    if not plan.noises:
        return Decimal(0)
    noise = plan.noises[len(picked) - 1]
    if noise.of_units is not None:
        return decimal(noise.mu_squared / 2)
    moved = sum(abs(one[itemset] - other[itemset]) for itemset in picked if itemset)
    return decimal(moved / (2 * noise.parameter))


PURELY_CONCENTRATED = [ask for ask in GIVEN_RHO if isinstance(ask.universe, tuple)]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("ask", PURELY_CONCENTRATED, ids=str)
def test_what_needs_no_delta_is_concentrated(ask: Ask, neighbors: oracles.Neighbors) -> None:
    allocation, pairs = ask.allocation(neighbors), all_pairs(ask, neighbors)
    assert ask.rho is not None
    assert allocation.budget.zcdp(allocation.names_delta) == ZcdpCost(ask.rho, 0)
    assert sum(Fraction(share.rho or 0) for share in allocation.steps) == ask.rho
    assert excess_of_rho(allocated_plan(ask, neighbors), ask.rho, pairs) <= ERROR


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(
    "ask", [ask for ask in GIVEN_RHO if ask not in PURELY_CONCENTRATED], ids=str
)
def test_what_needs_a_delta_says_so(ask: Ask, neighbors: oracles.Neighbors) -> None:
    allocation = ask.allocation(neighbors)
    assert ask.rho is not None
    assert allocation.budget.zcdp(allocation.names_delta) == ZcdpCost(ask.rho, ask.delta / 2)
    assert sum(Fraction(share.rho or 0) for share in allocation.steps) == ask.rho
    runs = [
        (1 if is_bounded_range(run.mechanism) else run.count, run.mechanism.cost)
        for run in allocation.top_k_runs
    ]
    assert sum(many * Fraction(cost.delta) for many, cost in runs) == ask.delta / 2


# -------------------- mutants


def each(plan: Plan, **changes: Any) -> Plan:
    """The plan with every selection changed: each change is a function of the selection."""
    values = ({name: change(one) for name, change in changes.items()} for one in plan.selections)
    changed = (replace(one, **own) for one, own in zip(plan.selections, values, strict=True))
    return replace(plan, selections=tuple(changed))


ONE_SIZE = Ask("exponential", sizes=(1,), universe=ITEMS, delta=MINUTE)
NOISY = replace(ONE_SIZE, supports=True, epsilon=Fraction(3))
COUNTING = replace(ONE_SIZE, epsilon=Fraction(2), delta=Fraction(0))
CHOOSING = Ask("choosing", top=2, max_basket=3)
LIMITED = Ask("limited-domain", top=3, max_rank=3)
BOTH_SIZES = ask_for("limited-domain", (3, 1e-6), top=2, sizes=(1, 2), max_rank=3, supports=True)


def quieter(plan: Plan, factor: int) -> Plan:
    noises = (replace(noise, parameter=noise.parameter / factor) for noise in plan.noises)
    return replace(plan, noises=tuple(noises))


def epsilon(plan: Plan, factor: Callable[[Picks], Any]) -> Plan:
    return each(plan, epsilon=lambda s: s.epsilon * exact(factor(s)))


def root_3(_: Picks) -> float:
    return math.sqrt(3)


def one_itemset(plan: Plan) -> Plan:
    return each(plan, units=lambda s: 1)


def delta_of_all(plan: Plan, times: int | None) -> Plan:
    """So many times as much for each selection, or the whole of it."""
    return each(plan, delta=lambda s: s.delta * times if times else plan.delta)


def noise_besides(plan: Plan) -> Plan:
    return replace(plan, noises=(Noise("laplace", 3 / plan.epsilon),))


def count_besides(plan: Plan) -> Plan:
    return replace(plan, count=Noise("laplace", 4 / plan.epsilon))


def bottom(plan: Plan, factor: Fraction) -> Plan:
    return each(plan, bottom_factor=lambda s: factor)


def noise_for_one(plan: Plan) -> Plan:
    return replace(plan, noises=plan.noises[:1] * 2)


def count_at_half_the_scale(plan: Plan) -> Plan:
    assert plan.count is not None
    return replace(plan, count=replace(plan.count, parameter=plan.count.parameter / 4))


FLIP = Ask("permute-and-flip", top=2, universe=ITEMS)
PICKS = Ask("exponential", top=2, universe=ITEMS, delta=MINUTE)
GAUSSIAN = ask_for("exponential", (2, 0.1), **UNITED, **SUPPORTS)
SMALL_DELTA, TENTH = Fraction(1, 1000), Fraction(1, 10)
OF_RHO = (PURELY_CONCENTRATED[0], PURELY_CONCENTRATED[1])
FLIP_OF_RHO = replace(PURELY_CONCENTRATED[2], rho=Fraction(1, 50))
# What is broken, in what is asked, and how.
MUTANTS: list[tuple[Any, ...]] = [
    ("each pick has the whole of ε", PICKS, epsilon, lambda s: s.count),
    ("each size has the whole of ε", replace(ONE_SIZE, sizes=(1, 2)), epsilon, lambda s: 2),
    ("each pick has the whole of ρ", replace(PICKS, top=3, delta=TENTH), epsilon, root_3),
    ("⊥ weighs a tenth", replace(LIMITED, top=2, delta=SMALL_DELTA), bottom, TENTH),
    ("⊥ weighs a tenth, concentrated", LIMITED, bottom, TENTH),
    ("⊥ of choosing is for one itemset", replace(CHOOSING, delta=SMALL_DELTA), one_itemset),
    ("there is no ⊥: the candidates are those of the data", CHOOSING, bottom, MINUTE),
    ("each size has the whole of δ", BOTH_SIZES, delta_of_all, None),
    ("each run has the whole of δ", ask_for("distance", (1, 1e-6), top=2), delta_of_all, 2),
    ("half the scale of discrete Laplace", NOISY, quieter, 2),
    ("half the scale of the discrete Gaussian", GAUSSIAN, quieter, 4),
    ("each support has noise for one", replace(NOISY, top=2), noise_for_one),
    ("supports are not counted in the budget", ONE_SIZE, noise_besides),
    ("units are not counted", replace(COUNTING, sizes=(2,), supports=True), count_besides),
    ("units have half the scale", replace(COUNTING, count=True), count_at_half_the_scale),
    ("replace-one with the rate of add-remove", FLIP, epsilon, lambda s: s.offset),
    ("each pick has the whole of ρ, if given", OF_RHO[0], epsilon, root_3),
    ("picks that are not bounded-range are taken to be", FLIP_OF_RHO, epsilon, lambda s: 2),
    ("each support has noise for one, of ρ", OF_RHO[1], noise_for_one),
]


@pytest.mark.every_case
@pytest.mark.one_in(6)
@pytest.mark.parametrize("mutant", MUTANTS, ids=[name for name, *_ in MUTANTS])
def test_what_is_broken_is_caught(mutant: tuple[Any, ...]) -> None:
    """By some pair of neighbours, in one of the two relations."""
    _, ask, breaks, *how = mutant

    def is_caught(neighbors: oracles.Neighbors) -> bool:
        plan, pairs = breaks(allocated_plan(ask, neighbors), *how), all_pairs(ask, neighbors)
        if ask.rho is not None:
            return excess_of_rho(plan, ask.rho, pairs) > Decimal("0.001")
        return worst(plan, pairs) > decimal(plan.delta * Fraction(11, 10)) + ERROR

    assert any(map(is_caught, NEIGHBORS))


# -------------------- what is drawn


def printed(plan: Plan, database: Database, cut: int, *, keep_all: bool) -> dict[Any, float]:
    """P(each release as it is printed): in the order picked or, with supports, of what is said.

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
        unnamed = [(None, None)] * (len(picked) - len(named))
        for noisy, part in noise.noisy([supports[itemset] for itemset in named]):
            told = consistent(named, noisy, noise.steps)
            rows = [
                (itemset, estimate)
                for itemset, (least, estimate) in zip(named, told, strict=True)
                if keep_all or least > noise.half_width
            ]
            rows.sort(key=lambda row: -row[1])
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

    def releases(self, draws: int) -> Counter[Any]:
        """How often each release is printed by `mine`."""
        data = read_transactions([list(basket) for basket in self.database])
        options, drawn = self.ask.options(self.neighbors), Counter[Any]()
        for number in range(draws):
            itemsets = fim.mine(data, seed=100_000 + number, **options).itemsets
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
DRAWN = [
    drawn_of((8, 0.1), ADD, CHAIN, "limited-domain", max_rank=3, supports=True, **UNITED),
    drawn_of((6, 0.2), ADD, AHEAD, "limited-domain", top=2, max_rank=2),
    drawn_of((6, 0.1), ADD, TWINS, "choosing", max_basket=2, **TOP_2),
    drawn_of((8, 1e-9), ADD, CHAIN, "exponential", keep_all=False, **SIZES, **SUPPORTS),
    drawn_of((8, 1e-9), REPLACE, CHAIN, "exponential", **SIZES, **SUPPORTS),
    drawn_of((6, 0.1), ADD, TWINS, "exponential", top=2, universe=3),
    drawn_of((3, 0.3), ADD, CHAIN, "permute-and-flip", **SIZES, **SUPPORTS),
    drawn_of((8, 0.2), REPLACE, LEADER, "large-margin", top=2, max_rank=3),
    drawn_of((8, 0.2), REPLACE, AHEAD, "distance", top=2),
    drawn_of((8, 0.2), ADD, TWINS, "tight-margin", top=2, max_rank=3),
    # These take more draws, or more work for each.
    drawn_of(
        (9, 0.1), ADD, TWINS, "limited-domain", top=2, max_rank=3, supports=True, keep_all=False
    ),
    drawn_of((6, 0.1), ADD, CHAIN, "exponential", **UNITED, **SUPPORTS),
    drawn_of((4, 0.1), ADD, CHAIN, "permute-and-flip", universe=ITEMS, **UNITED),
    drawn_of((12, 0.2), REPLACE, AHEAD, "large-margin", top=2, universe=ITEMS),
    drawn_of((4, 0.1), ADD, CHAIN, "max-of-laplaces", top=2, universe=ITEMS),
]


@cache
def law_and_draws(drawn: Drawn) -> tuple[dict[Any, float], int]:
    """The law, and as many draws as catch an ε that is wrong by 30 %, either way."""
    right = drawn.distribution()
    wrong = [drawn.distribution(Fraction(tenths, 10)) for tenths in (7, 13)]
    draws = 250
    while min(oracles.detects(right, other, draws, level=LEVEL) for other in wrong) < 0.999:
        draws += draws // 4
        assert draws < MOST_DRAWS
    return right, draws


@pytest.mark.parametrize(
    "drawn",
    [pytest.param(d, marks=[] if d is DRAWN[2] else pytest.mark.full) for d in DRAWN],
    ids=str,
)
def test_releases_are_drawn_from_the_law(drawn: Drawn) -> None:
    distribution, draws = law_and_draws(drawn)
    assert oracles.chi_square_pvalue(drawn.releases(draws), distribution, draws) > LEVEL


def light_abstention(monkeypatch: pytest.MonkeyPatch) -> None:
    whole: Any = vars(Abstaining)["heaviness"]
    lighter = property(lambda bottom: whole.fget(bottom) / 10)
    monkeypatch.setattr(Abstaining, "heaviness", lighter)


def first_of_the_tied(monkeypatch: pytest.MonkeyPatch) -> None:
    first = lambda bound, number, *, randomness: [*range(number)]  # noqa: E731
    monkeypatch.setattr(itemset_spectra, "distinct_integers", first)


def half_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    half = lambda scale, *rest, **more: discrete_laplace(scale / 2, *rest, **more)  # noqa: E731
    monkeypatch.setitem(noisy_supports._DRAW, NoiseKind.LAPLACE, half)


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
    assert oracles.chi_square_pvalue(drawn.releases(draws), distribution, draws) < LEVEL
