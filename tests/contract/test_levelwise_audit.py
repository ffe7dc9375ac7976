"""Levelwise held to Theorem 13, on all neighbours of 3 items and few baskets: 3 for each stage, 2 for the whole.

The conversion to (ε, δ) and the worst case of each stage leave slack in which a broken stage can hide: an audit of the
whole does not see, for instance, a threshold without its union over t where ε is small. So each stage is held to its
own part: how far one unit moves what it counts, against the noise that it draws, for any past; and how often it names
what one unit alone has. The whole is then integrated exactly. What is broken on purpose must fail the same checks.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import combinations, combinations_with_replacement, permutations, product
from typing import Any

import levelwise_laws as laws
import numpy as np
import oracles
import pytest
from levelwise_transcripts import GRID, Played, Script, Unit, played, purchases
from scipy.special import ndtri

from fim_private.counting import Effort, LocalSource, weighted_items
from fim_private.counting.clipped_weights import clipped_weights
from fim_private.counting.universe import UNKNOWN, Catalogue, Universe
from fim_private.counting.weighted_items import LocalItems
from fim_private.dp.accounting import root_below
from fim_private.dp.randomness import Randomness
from fim_private.dp.rounded_normal import least_exceeding
from fim_private.levelwise import discovery, gaussian_budget, reaching, scaled_count
from fim_private.levelwise.closed_sets import pairs_of
from fim_private.levelwise.discovery import Level, nothing
from fim_private.levelwise.gaussian_budget import GaussianBudget
from fim_private.levelwise.item_threshold import item_threshold
from fim_private.levelwise.levelwise import STANDS_OUT, Levelwise
from fim_private.levelwise.reaching import Reaching
from fim_private.mechanisms import registry
from fim_private.mining.allocation import BudgetAllocation
from fim_private.mining.budget import allocate
from fim_private.mining.min_support import MinSupport
from fim_private.mining.options import MiningOptions
from fim_private.reading import read_catalogue
from fim_private.reading.transactions import Transactions

ITEMS = ("a", "b", "c")
BASKETS = tuple(basket for size in range(4) for basket in combinations(ITEMS, size))
NEIGHBORS: list[oracles.Neighbors] = ["add-remove", "replace-one"]
# All that a basket, or a user of at most two baskets, can be.
BASKET_UNITS: tuple[Unit, ...] = tuple((basket,) for basket in BASKETS)
USER_UNITS: tuple[Unit, ...] = ((), *BASKET_UNITS, *combinations_with_replacement(BASKETS, 2))
# Larger data, which both neighbours have besides.
FIXED: tuple[Unit, ...] = (*(unit for unit in BASKET_UNITS[1:] for _ in range(4)), (("a", "c"),), (("b",),))
SINGLE: tuple[Unit, ...] = tuple(((item,),) for item in ITEMS)
BOTH: Unit = (("a", "b"),)
# What a float may be wrong by, relatively.
ROUNDING = 1e-9

Database = tuple[Unit, ...]
Pair = tuple[Database, Database]


# ------------------------------------------------------------------------------------------------ what is asked


def most_items() -> int:
    """Of a unit's items, how many count: a number that tests make smaller."""
    return int(vars(discovery)["MOST_ITEMS_OF_UNIT"])


@dataclass(frozen=True)
class Ask:
    """What levelwise is asked for. least: the support to be reached, where it is asked for that."""

    sizes: tuple[int, ...] = (2,)
    top: int = 3
    union: bool = False
    supports: bool = False
    listed: bool = False
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(1, 10**6)
    neighbors: oracles.Neighbors = "add-remove"
    keep_all: bool = True
    least: int | None = None

    def __str__(self) -> str:
        sizes = f"{self.sizes[0]}-{self.sizes[-1]}" if len(self.sizes) > 1 else str(self.sizes[0])
        said = ["union"] * self.union + ["supports"] * self.supports + ["listed"] * self.listed
        said += ["cut"] * (not self.keep_all) + [f"least {self.least}"] * (self.least is not None)
        return " ".join([f"size {sizes}", *said, f"ε={self.epsilon} δ={float(self.delta):g}", self.neighbors])

    @cached_property
    def universe(self) -> Universe:
        return Catalogue(read_catalogue(list(ITEMS))) if self.listed else UNKNOWN

    @cached_property
    def allocation(self) -> BudgetAllocation:
        return allocate(
            MiningOptions(
                registry.spec_named("levelwise"),
                self.epsilon,
                self.delta,
                self.neighbors,
                self.sizes,
                self.top,
                self.union,
                self.supports_share if self.supports else None,
                self.universe,
                keep_all=self.keep_all,
                min_support=None if self.least is None else MinSupport(count=self.least),
            )
        )

    @property
    def supports_share(self) -> Fraction:
        return Fraction(15 if self.least is None else 40, 100)

    @property
    def run(self) -> Levelwise | Reaching:
        [selection] = self.allocation.selections
        assert isinstance(selection.run, Levelwise if self.least is None else Reaching)
        return selection.run

    @property
    def item_variance(self) -> Fraction:
        """Of the noise on items, in multiples of 1/GRID squared, as the theorem has it: Δ² / μ²."""
        moved = 1 if self.neighbors == "add-remove" else 2
        return moved * GRID**2 / self.run.budget.spent(self.run.recipe.items)

    @cached_property
    def least_threshold(self) -> int:
        """T of equation (9), as low as it may be: for every t, independent noise on each of t new items."""
        items_delta = self.run.items_delta
        assert items_delta is not None
        t = np.arange(1, most_items() + 1)
        chances = -np.expm1(np.log1p(-float(items_delta)) / t)
        above = np.sqrt(float(self.item_variance)) * -ndtri(chances) + 0.5
        return int(max(laws.weight(1, int(n)) + math.ceil(q) for n, q in zip(t, above, strict=True)))


def with_both_relations(asks: Sequence[Ask]) -> list[Ask]:
    return [replace(ask, neighbors=neighbors) for ask in asks for neighbors in NEIGHBORS]


ASKS = with_both_relations(
    [
        Ask(),
        Ask((1,), keep_all=False),
        Ask((1, 2, 3), top=4, union=True, supports=True),
        Ask((2, 3), supports=True, listed=True),
        Ask((1, 2), top=2, supports=True, keep_all=False),
    ]
)
# What reaches a threshold.
REACHING = with_both_relations(
    [
        Ask((1,), top=100, supports=True, least=2),
        Ask((1, 2, 3), top=5, union=True, supports=True, least=1),
        Ask((2, 3), top=100, union=True, supports=True, listed=True, least=40),
    ]
)


# ------------------------------------------------------------------------------------------------ the databases


def databases(most: int) -> Iterator[Database]:
    for size in range(most + 1):
        yield from combinations_with_replacement(BASKET_UNITS, size)


def neighbouring(neighbors: oracles.Neighbors, rests: Sequence[Database], units: Sequence[Unit]) -> Iterator[Pair]:
    """Every pair that has the same rest, and one unit more or another unit."""
    for rest in rests:
        if neighbors == "add-remove":
            yield from ((rest, (*rest, unit)) for unit in units)
        else:
            yield from (((*rest, one), (*rest, other)) for one, other in combinations(units, 2))


def basket_pairs(neighbors: oracles.Neighbors, most: int) -> list[Pair]:
    """All neighbours of at most so many baskets, of one beside those that are fixed, and of one beside single items."""
    return [*neighbouring(neighbors, [*databases(most - 1), FIXED, SINGLE], BASKET_UNITS)]


def user_pairs(neighbors: oracles.Neighbors, *, alone: bool = False) -> list[Pair]:
    """All neighbours of one user beside those that are fixed; and, alone, beside at most one user of one basket."""
    return [*neighbouring(neighbors, [FIXED, *(databases(1) if alone else ())], USER_UNITS)]


def up_to_names(pairs: Sequence[Pair]) -> list[Pair]:
    """Of the pairs that are the same but for the names of the items, one drawn at random, the same in each run.

    Names decide nothing but ties and which items of a long unit count; both come about in what is drawn.
    """

    def renamed(pair: Pair, names: tuple[str, ...]) -> Any:
        return tuple(
            sorted(
                sorted(tuple(sorted(names[ITEMS.index(item)] for item in basket)) for basket in unit) for unit in side
            )
            for side in pair
        )

    found: dict[str, Pair] = {}
    for pair in random.Random(16).sample(pairs, len(pairs)):
        found.setdefault(min(str(renamed(pair, names)) for names in permutations(ITEMS)), pair)
    return list(found.values())


class Plays:
    """The runs of what is asked for, each played once."""

    def __init__(self, ask: Ask, *, by_user: bool) -> None:
        self._ask = ask
        self._data = cache(partial(purchases, by_user=by_user))
        self._played: dict[Any, Played] = {}
        self._alike: dict[Any, Played] = {}

    def of(self, database: Database, named: tuple[str, ...], seed: int) -> Played:
        """The run in which these items are named; all others stay as little below the threshold as they can."""
        key = tuple(sorted(database)), named, seed
        if key not in self._played:
            edge = 0 if self._ask.listed else self._ask.least_threshold
            # As high above it as it takes for items to be told apart, and for any threshold in use.
            above = {item: edge + (2000 + 10 * ITEMS.index(item)) * GRID for item in named}
            script = Script(dict.fromkeys(ITEMS, edge - 1) | above, seed)
            run = played(self._ask.run, self._data(key[0]), script, self._ask.universe, self._ask.least or 0)
            what = run.steps, run.itemsets, run.supports, tuple(sorted(run.items.items())), run.weights
            self._played[key] = self._alike.setdefault(what, run)
        return self._played[key]


def items_of(database: Database) -> set[str]:
    """Those that some unit still has once it is cut."""
    units = ({item for basket in unit for item in basket} for unit in database)
    return {item for unit in units for item in sorted(unit)[: most_items()]}


def pasts(ask: Ask, pair: Pair) -> list[tuple[str, ...]]:
    """Which items may be named in both: any of those that both have."""
    return [ITEMS] if ask.listed else [*laws.subsets(items_of(pair[0]) & items_of(pair[1]))]


# ------------------------------------------------------------------------------------------------ each stage


def spent_by(ask: Ask, shared: Sequence[str], one: Played, other: Played) -> dict[str, Fraction]:
    """Which part of what it may add to μ² each step uses between two runs with the same past, exactly.

    shared: the items that both data sets have, or that are listed. Fails where the runs do not go the same way.
    """
    purposes = [[step.purpose for step in side.steps] for side in (one, other)]
    assert purposes[0] == purposes[1], "steps are not the same"
    assert one.itemsets == other.itemsets, "more than the noisy weights leaves the data"
    run, used = ask.run, dict[str, Fraction]()
    names = [step.purpose for step in one.steps]
    for place, (step, its) in enumerate(zip(one.steps, other.steps, strict=True)):
        if step.purpose == "items":  # what one of the two lacks is held to the threshold
            moved = sum((one.item_sum(item) - other.item_sum(item)) ** 2 for item in shared)
        else:
            assert len(step.sums) == len(its.sums), "candidates are not the same"
            moved = step.moved(its)
        assert step.sigma2 == its.sigma2, "noise is not the same"
        before = names[:place].count(step.purpose)
        share = [share for purpose, _, share in run.steps if purpose == step.purpose][before]
        used[f"{step.purpose} {before}"] = Fraction(moved) / step.sigma2 / run.budget.spent(share)
    if ask.supports and one.supports:
        budget = ask.allocation.supports
        assert budget is not None
        moved = sum((x - y) ** 2 for x, y in zip(one.supports, other.supports, strict=True))
        used["supports"] = (
            moved / budget.noise(len(one.supports)).parameter / (ask.supports_share * run.budget.mu_squared)
        )
    return used


def check_stages(ask: Ask, pairs: Sequence[Pair], *, by_user: bool = False, seeds: int = 1) -> dict[str, Fraction]:
    """Hold each stage to its part of μ², for any past; return the largest share of it that is used."""
    plays, most = Plays(ask, by_user=by_user), defaultdict[str, Fraction](Fraction)
    met = set()
    for pair, seed in product(pairs, range(seeds)):
        shared = pasts(ask, pair)[-1]
        for named in pasts(ask, pair):
            one, other = (plays.of(side, named, seed) for side in pair)
            # Many pairs of data sets have runs in which everything is the same: these are one object.
            if (id(one), id(other), shared) in met:
                continue
            met.add((id(one), id(other), shared))
            for purpose, used in spent_by(ask, shared, one, other).items():
                assert used <= 1, f"{purpose} uses {float(used):.4f} of its part: {pair}"
                most[purpose] = max(most[purpose], used)
    return dict(most)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("ask", ASKS, ids=str)
def test_each_stage_keeps_to_its_part_of_the_budget(ask: Ask) -> None:
    used = check_stages(ask, basket_pairs(ask.neighbors, 1))
    expected = dict.fromkeys(("items 0", "first count 0", "histogram 0", "second count 0"), 1.0)
    expected |= {f"candidates {size - 2}": 1 for size in range(2, ask.sizes[-1] + 1)}
    if ask.supports:
        expected["supports"] = 1
    if ask.listed and ask.neighbors == "replace-one":
        expected["second count 0"] = 0.5  # no two baskets of three items hold as many itemsets of two and three apart
    assert used == pytest.approx(expected, rel=1e-4)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("ask", REACHING, ids=str)
def test_each_stage_of_what_reaches_a_threshold_keeps_to_its_part(ask: Ask) -> None:
    used = check_stages(ask, basket_pairs(ask.neighbors, 1), seeds=2)
    expected = dict.fromkeys(("items 0", "histogram 0", "item count 0", "supports"), 1.0)
    expected |= {f"candidates {size - 2}": 1 for size in range(2, ask.sizes[-1] + 1)}
    if ask.sizes[-1] > 1:
        expected |= dict.fromkeys(("histogram 1", "set count 0"), 1.0)
    assert used == pytest.approx(expected, rel=1e-4)


@pytest.mark.full
@pytest.mark.parametrize("ask", [*ASKS, *REACHING], ids=str)
def test_each_stage_keeps_to_its_part_on_all_small_databases(ask: Ask) -> None:
    check_stages(ask, up_to_names(basket_pairs(ask.neighbors, 3)), seeds=2)


@pytest.mark.parametrize("ask", [*ASKS[:2], *REACHING[2:4]], ids=str)
def test_each_stage_keeps_to_its_part_for_users(ask: Ask) -> None:
    check_stages(ask, user_pairs(ask.neighbors)[:: 2 if ask.neighbors == "add-remove" else 40], by_user=True)


@pytest.mark.full
@pytest.mark.parametrize("ask", [*ASKS, *REACHING], ids=str)
def test_each_stage_keeps_to_its_part_for_all_users(ask: Ask) -> None:
    check_stages(ask, up_to_names(user_pairs(ask.neighbors, alone=True)), by_user=True)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("ask", ASKS[:2], ids=str)
@pytest.mark.parametrize("by_user", [False, True], ids=["basket", "user"])
def test_each_stage_keeps_to_its_part_where_long_units_are_cut(
    ask: Ask, by_user: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To two items of three: what remains of a unit is its own matter."""
    monkeypatch.setattr(discovery, "MOST_ITEMS_OF_UNIT", 2)
    pairs = user_pairs(ask.neighbors)[::25] if by_user else basket_pairs(ask.neighbors, 1)
    check_stages(replace(ask), pairs, by_user=by_user)


@pytest.mark.parametrize("ask", [*ASKS, *REACHING, Ask((20,)), Ask(tuple(range(1, 21)), top=100_000)], ids=str)
def test_the_parts_add_up_to_the_promise(ask: Ask) -> None:
    run, budget = ask.run, ask.allocation.supports
    spent = [run.budget.spent(share) for _, _, share in run.steps]
    if budget is not None:
        assert budget.mu_squared is not None
        spent.append(budget.mu_squared)
    assert all(part > 0 for part in spent)
    assert sum(spent) == run.budget.mu_squared
    new = run.items_delta or Fraction(0)
    assert (new == 0) == ask.listed
    reached = laws.gaussian_delta(ask.epsilon, root_below(run.budget.mu_squared))
    assert Fraction(reached) * (1 - new) + new <= ask.delta
    assert Fraction(reached) * (1 - new) + new > ask.delta * Fraction(999_999, 1_000_000)
    assert ask.allocation.cost.delta == ask.delta


# ------------------------------------------------------------------------------------------------ new items


class OneUnit:
    """Items of which one unit alone has all; its weights are those that the package gives to it."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.weights: Sequence[int] = ()

    def sums(self, weights: Any) -> Any:
        self.weights = weights.tolist()
        items = [f"{item:05}" for item in range(self._count)]
        return LocalItems(purchases([(tuple(items),)])).sums(weights)


def named_of(ask: Ask, count: int, noise: int) -> tuple[int, OneUnit, Fraction]:
    """How many of one unit's own items are named if the noise on each is this; the unit, and the noise's variance."""
    unit, run, variance = OneUnit(count), ask.run, []

    def drawn(sigma2: Fraction, size: int, *, randomness: Randomness) -> Any:
        variance.append(sigma2)
        return np.full(size, noise)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gaussian_budget, "rounded_normal", drawn)
        recipe = replace(run.recipe, most_items=10**6)
        found: Any = discovery.found_items(unit, run.budget, recipe, run.items_delta, Randomness.seeded(0))  # type: ignore[arg-type]
    return len(found[0]), unit, Fraction(variance[0])


def threshold_in_use(ask: Ask) -> int:
    """The least noisy weight with which an item is named, found by trying."""
    low, high = -(1 << 60), 1 << 60
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if named_of(ask, 1, middle)[0] else (middle, high)
    return high + GRID


def check_new_items(ask: Ask) -> float:
    """Hold the naming of what one unit alone has to its δ, for any number of such items; return the share used."""
    assert ask.run.items_delta is not None
    promised, threshold = ask.run.items_delta, threshold_in_use(ask)
    most = 0.0
    _, unit, sigma2 = named_of(ask, 1, 0)
    for t, own in enumerate(unit.weights):
        if t:
            chance = laws.tail(sigma2, threshold - own)
            share = (1 - (1 - chance) ** t if chance > 0.1 else -math.expm1(t * math.log1p(-chance))) / float(promised)
            assert share <= 1 + ROUNDING, f"of {t} new items one is named {share:.4f} times as often as promised"
            most = max(most, share)
    for t in (1, 2, 30, len(unit.weights) - 1):
        exact = laws.exact_tail(sigma2, threshold - unit.weights[t])
        assert 1 - (1 - Fraction(exact)) ** t <= promised
    return most


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "ask",
    with_both_relations(
        [
            Ask(),
            Ask(epsilon=Fraction(3), delta=Fraction(1, 10)),
            Ask(epsilon=Fraction(30), delta=Fraction(1, 10**9)),
            Ask((1,), epsilon=Fraction(100), delta=Fraction(1, 2)),
            Ask(epsilon=Fraction(1, 50), supports=True),
        ]
    ),
    ids=str,
)
def test_what_one_unit_alone_has_is_named_as_rarely_as_promised(ask: Ask) -> None:
    assert 0.9 < check_new_items(ask) <= 1 + ROUNDING


def test_the_items_of_a_long_unit_are_as_many_as_count_and_weigh_as_little() -> None:
    """And never less than those of a unit that has so many."""
    for count in (1, 2, 999, 1000, 1001, 1500):
        kept = min(count, 1000)
        unit = OneUnit(count)
        sums = unit.sums(clipped_weights(1, 1000, GRID))
        assert Counter(sums[sums > 0].tolist()) == {laws.weight(1, kept): kept}
        assert named_of(Ask(), count, 1 << 40)[0] == kept


def test_items_are_compared_with_their_threshold_without_rounding() -> None:
    """It may be so high that floats are several steps apart."""
    ask = Ask(epsilon=Fraction(1, 10**9), delta=Fraction(1, 10**290), neighbors="replace-one")
    sigma2 = ask.run.budget.variance(ask.run.recipe.items, 1)
    assert ask.run.items_delta is not None
    least = item_threshold(sigma2, ask.run.items_delta, 1000)
    assert least > 1 << 54
    assert threshold_in_use(ask) == least


# ------------------------------------------------------------------------------------------------ the whole


def check_whole(ask: Ask, pairs: Sequence[Pair]) -> float:
    """Hold all noisy weights of a run, and the supports, to (ε, δ); return the largest share of δ that is used.

    What follows the items is normal noise whose distance may depend on the past: it is the largest of two pasts.
    """
    plays, known = Plays(ask, by_user=False), dict[Any, float]()
    sigma2, epsilon = Fraction(0), float(ask.epsilon)
    threshold = 0 if ask.listed else threshold_in_use(ask)

    def distance(pair: Pair, named: tuple[str, ...]) -> float:
        """μ² of all steps after the items."""
        most = 0.0
        for seed in range(2):
            one, other = (plays.of(side, named, seed) for side in pair)
            squared = sum(
                float(step.moved(its) / step.sigma2)
                for step, its in zip(one.steps, other.steps, strict=True)
                if step.purpose != "items"
            )
            if ask.supports and one.supports:
                assert ask.allocation.supports is not None
                noise = ask.allocation.supports.noise(len(one.supports))
                squared += float(sum((x - y) ** 2 for x, y in zip(one.supports, other.supports, strict=True))) / float(
                    noise.parameter
                )
            most = max(most, squared)
        return most

    for pair in pairs:
        first = [plays.of(side, pasts(ask, pair)[-1], 0) for side in pair]
        sigma2 = first[0].steps[0].sigma2
        sums = [{item: play.item_sum(item) for item in ITEMS} for play in first]
        if ask.listed:
            moved = float(sum((sums[0][item] - sums[1][item]) ** 2 for item in ITEMS) / sigma2)
            mu = math.sqrt(moved + distance(pair, ITEMS))
            known[pair] = float(laws.excess(np.ones(1), np.ones(1), epsilon, mu)[0])
            continue
        later = {named: math.sqrt(distance(pair, named)) for named in pasts(ask, pair)}
        for one, other in ((0, 1), (1, 0)):
            key = (*sums[one].items(), *sums[other].items(), *later.items())
            if key not in known:
                known[key] = laws.found_divergence(
                    sums[one], sums[other], threshold, sigma2, epsilon, later.__getitem__
                )
    share = max(known.values()) / float(ask.delta)
    assert share <= 1 + ROUNDING, f"{share:.4f} of δ is used"
    return share


# What is asked for, how many times the fixed units are there, and a share of δ that some neighbours need.
WHOLE: list[tuple[Ask, int, float]] = [
    (Ask((2, 3), supports=True, listed=True), 0, 0.999),
    (Ask(supports=True, neighbors="replace-one"), 30, 0.34),
    (Ask(epsilon=Fraction(3), delta=Fraction(1, 10)), 30, 0.9),
    (Ask(supports=True), 30, 0.89),
    (Ask((2, 3), supports=True, listed=True, neighbors="replace-one"), 0, 0.4),
    (Ask((1,), epsilon=Fraction(4), delta=Fraction(1, 2), neighbors="replace-one"), 1, 0.94),
    (Ask((1,), epsilon=Fraction(4), delta=Fraction(1, 2)), 1, 0.94),
    (Ask(epsilon=Fraction(3), delta=Fraction(1, 10), neighbors="replace-one"), 1, 0.17),
    (replace(REACHING[4], least=1), 0, 0.9),
    (replace(REACHING[5], least=1), 0, 0.15),
    (replace(REACHING[2], epsilon=Fraction(3), delta=Fraction(1, 10)), 30, 0.5),
    (replace(REACHING[3], epsilon=Fraction(3), delta=Fraction(1, 10)), 1, 0.1),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("ask", "times", "least"), WHOLE, ids=str)
def test_the_whole_keeps_its_promise_and_uses_much_of_it(ask: Ask, times: int, least: float) -> None:
    assert check_whole(ask, [*neighbouring(ask.neighbors, [FIXED * times], BASKET_UNITS)]) > least


@pytest.mark.full
@pytest.mark.parametrize("ask", [ask for ask, _, _ in WHOLE], ids=str)
def test_the_whole_keeps_its_promise_on_all_small_databases(ask: Ask) -> None:
    check_whole(ask, up_to_names(basket_pairs(ask.neighbors, 2)))


# ------------------------------------------------------------------------------------------------ what is released


def law_of(ask: Ask, database: Database, factor: float = 1.0) -> dict[frozenset[tuple[str, ...]], float]:
    """P(each set of itemsets released). factor: by which all noise is wrong."""
    run, square = ask.run, Fraction(factor) ** 2
    assert isinstance(run, Levelwise)
    return laws.release_law(
        [frozenset(item for basket in unit for item in basket) for unit in database],
        ask.sizes,
        item_threshold(ask.item_variance / GRID**2, run.items_delta or Fraction(0), most_items()),
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
    ask = Ask((1,), 1, supports=True, epsilon=Fraction(epsilon), delta=delta, neighbors=neighbors, keep_all=keep_all)
    budget = ask.allocation.supports
    assert budget is not None
    most, last = 0.0, 3 * ask.least_threshold // GRID
    known = [law_of(ask, ((("a",),),) * count) for count in range(last)]
    for count in range(1, last):
        for one, other in ((count, count - 1), (count - 1, count)):
            spent = laws.final_divergence(
                known[one], known[other], (one, other), Fraction(budget.noise(1).parameter), float(epsilon)
            )
            most = max(most, spent)
    assert 0 < most <= delta


def test_what_is_released_of_one_pair_keeps_the_promise() -> None:
    """Of two items, of which some units have both."""
    for neighbors, keep_all in product(NEIGHBORS, (False, True)):
        ask = Ask(supports=True, epsilon=Fraction(8), delta=Fraction(1, 10), neighbors=neighbors, keep_all=keep_all)
        budget = ask.allocation.supports
        assert budget is not None
        kinds: list[Unit] = [((),), *SINGLE[:2], BOTH]
        for counts in product(range(0, 7, 3), repeat=3):
            rest = tuple(unit for unit, count in zip(kinds[1:], counts, strict=True) for _ in range(count))
            for one, other in neighbouring(neighbors, [rest], kinds):
                for pair in ((one, other), (other, one)):
                    spent = laws.final_divergence(
                        law_of(ask, pair[0]),
                        law_of(ask, pair[1]),
                        (pair[0].count(BOTH), pair[1].count(BOTH)),
                        Fraction(budget.noise(1).parameter),
                        8.0,
                    )
                    assert spent <= ask.delta


LEVEL = 1e-6


@dataclass(frozen=True)
class Drawn:
    """What is asked for, and how many baskets of each kind there are, each beside or above the threshold."""

    ask: Ask
    beside: tuple[tuple[Unit, float], ...]

    def __str__(self) -> str:
        return str(self.ask)

    @property
    def database(self) -> Database:
        """Of each kind as many as the threshold times a number."""
        edge = self.ask.least_threshold / GRID
        return tuple(unit for unit, times in self.beside for _ in range(round(times * edge)))

    def releases(self, draws: int, *, by_user: bool = False) -> Counter[Any]:
        source = LocalSource(purchases(self.database, by_user=by_user), Effort(threads=1))
        run = self.ask.run
        assert isinstance(run, Levelwise)
        found = (run.find(source, UNKNOWN, Randomness.seeded(number)) for number in range(draws))
        return Counter(frozenset(one.items for one in each) for each in found)


DRAWN = [
    Drawn(Ask((1,), epsilon=Fraction(4)), ((SINGLE[0], 0.7), (SINGLE[1], 0.7), (SINGLE[2], 1.3))),
    Drawn(
        Ask(epsilon=Fraction(4), delta=Fraction(1, 10**3), neighbors="replace-one"),
        ((SINGLE[0], 0.7), (SINGLE[1], 1.1), (SINGLE[2], 1.3)),
    ),
    Drawn(Ask((1,), epsilon=Fraction(4), keep_all=False), ((SINGLE[0], 0.8), (SINGLE[1], 0.5), (BOTH, 0.3))),
    Drawn(Ask((2,), epsilon=Fraction(4), keep_all=False), ((SINGLE[0], 0.7), (SINGLE[1], 0.8), (BOTH, 0.25))),
]


@cache
def law_and_draws(drawn: Drawn, error: float = 0.5) -> tuple[dict[Any, float], int]:
    """The law, and as many draws as it takes to catch noise that is wrong by this part, either way."""
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
    [*product(DRAWN[:2], (False, True)), (DRAWN[2], True), (DRAWN[3], False)],
    ids=lambda value: ("user" if value else "basket") if isinstance(value, bool) else str(value),
)
def test_releases_are_drawn_from_the_law(drawn: Drawn, by_user: bool) -> None:
    """Enough of them to catch noise that is wrong by half, either way: law_and_draws."""
    law, draws = law_and_draws(drawn)
    assert oracles.chi_square_pvalue(drawn.releases(draws, by_user=by_user), law, draws) > LEVEL


# ------------------------------------------------------------------------------------------------ mutants

Patch = pytest.MonkeyPatch


def weights_by(patch: Patch, weights: Callable[[int, int, int], Any]) -> None:
    for room in (discovery, scaled_count):
        patch.setattr(room, "clipped_weights", weights)


def no_clip(patch: Patch) -> None:
    weights_by(patch, lambda bound, largest, scale: np.full(largest + 1, scale))


def rounded_up(patch: Patch) -> None:
    def up(bound: int, largest: int, scale: int) -> Any:
        down = clipped_weights(bound, largest, scale)
        return down + (down**2 * np.arange(largest + 1) < scale**2 * bound) * (down < scale)

    weights_by(patch, up)


def as_if_added(patch: Patch) -> None:
    """√B in place of √(2B)."""
    whole = GaussianBudget.variance
    patch.setattr(
        GaussianBudget, "variance", lambda budget, *rest: whole(replace(budget, neighbors="add-remove"), *rest)
    )


def less_noise(patch: Patch) -> None:
    """By three tenths, where it is drawn."""
    for room in (gaussian_budget, discovery):
        whole = vars(room)["noisy_sums"]

        def less(sums: Any, variance: Fraction, randomness: Randomness, whole: Any = whole) -> Any:
            return whole(sums, variance * Fraction(49, 100), randomness)

        patch.setattr(room, "noisy_sums", less)


def threshold_for_one(patch: Patch) -> None:
    """No union over t."""
    patch.setattr(discovery, "item_threshold", lambda variance, delta, most: item_threshold(variance, delta, 1))


def threshold_for_many(patch: Patch) -> None:
    """The other end only."""

    def of_most(variance: Fraction, delta: Fraction, most: int) -> int:
        return laws.weight(1, most) + 1 + least_exceeding(variance * GRID**2, delta / most)

    patch.setattr(discovery, "item_threshold", of_most)


def no_threshold(patch: Patch) -> None:
    patch.setattr(discovery, "item_threshold", lambda variance, delta, most: -(10**15))


def pairs_of_the_data(patch: Patch) -> None:
    """Only those that occur get noise."""

    def occurring(counts: Any, levels: Any, size: int, budget: Any, recipe: Any, share: Any, randomness: Any) -> Level:
        items = len(levels[1].sets)
        cells = items * (items - 1) // 2
        if not cells:
            return nothing(size)
        sums = counts.pair_sums(clipped_weights(1, cells, GRID))
        found = np.flatnonzero(sums)
        variance = budget.variance(share, 1, cells)
        weights = gaussian_budget.noisy_weights(sums[found], variance, randomness)
        return Level(pairs_of(found), weights, math.sqrt(variance))

    patch.setattr(discovery, "_pairs", occurring)


def clip_by_basket(patch: Patch) -> None:
    """A user's baskets are clipped one by one."""
    whole = vars(weighted_items)["item_sums"]
    patch.setattr(
        weighted_items,
        "item_sums",
        lambda transactions, *rest: whole(replace(transactions, unit_offsets=None), *rest),
    )


def one_for_all_cut(patch: Patch) -> None:
    """What counts of a unit is the items that most units have: of one that everybody else depends on."""
    patch.setattr(discovery, "MOST_ITEMS_OF_UNIT", 1)

    def commonest(transactions: Any, count: int) -> Any:
        order = np.argsort(-np.bincount(transactions.items), kind="stable")[:count]
        return transactions._with(np.isin(transactions.items, order))

    patch.setattr(Transactions, "cut_to", commonest)


def bound_of_the_data(patch: Patch) -> None:
    """Weights are scaled to what the fullest unit holds."""

    def bare(counts: Any, pool: Any, budget: Any, share: Any, randomness: Any) -> Any:
        units = counts.held(pool.sets).astype(np.float64)
        return scaled_count.Held(np.maximum(np.arange(len(units)), 0.5), units)

    def fullest(held: Any, candidates: int, *rest: Any) -> int:
        return max(int(held.held[held.units > 0].max(initial=1)), 1)

    patch.setattr(reaching, "held_by_units", bare)
    patch.setattr(reaching, "best_bound", fullest)


def chosen_by_support(patch: Patch) -> None:
    """What goes on to the supports is what has them."""
    whole = vars(reaching)["_Run"].candidates

    def chosen(run: Any, counts: Any, items: Any) -> Any:
        pool = whole(run, counts, items)
        if not len(pool):
            return pool
        supports = counts.sums(pool.sets, np.append(0, np.ones(len(pool), dtype=np.int64)))
        return pool.at(np.flatnonzero(supports >= run.threshold))

    patch.setattr(vars(reaching)["_Run"], "candidates", chosen)


def in_baskets(neighbors: oracles.Neighbors) -> Callable[[], object]:
    # A new Ask has nothing in its cache.
    return lambda: check_stages(replace(ASKS[0], neighbors=neighbors), basket_pairs(neighbors, 1))


def reaching_in_baskets(neighbors: oracles.Neighbors, size: int = 3) -> Callable[[], object]:
    ask = Ask((2, 3) if size > 1 else (1,), 100, union=size > 1, supports=True, neighbors=neighbors, least=2)
    return lambda: check_stages(replace(ask), basket_pairs(neighbors, 1), seeds=2)


def reaching_in_users() -> object:
    ask = Ask((1, 2), 100, union=True, supports=True, least=3)
    return check_stages(ask, user_pairs("add-remove")[10:20], by_user=True)


def in_users() -> object:
    return check_stages(Ask(), user_pairs("add-remove")[10:20], by_user=True)


def new_items() -> object:
    return check_new_items(Ask())


def few_new_items() -> object:
    return check_new_items(Ask(epsilon=Fraction(100), delta=Fraction(1, 2)))


def everything() -> object:
    ask = Ask((2, 3), supports=True, listed=True)
    return check_whole(ask, [*neighbouring("add-remove", [()], BASKET_UNITS)])


MUTANTS: list[tuple[Callable[[Patch], None], Callable[[], object]]] = [
    (no_clip, in_baskets("add-remove")),
    (no_clip, everything),
    (rounded_up, in_baskets("add-remove")),
    (as_if_added, in_baskets("replace-one")),
    (threshold_for_one, new_items),
    (threshold_for_many, few_new_items),
    (no_threshold, new_items),
    (no_threshold, in_baskets("add-remove")),
    (pairs_of_the_data, in_baskets("add-remove")),
    (clip_by_basket, in_users),
    (one_for_all_cut, in_baskets("add-remove")),
    (less_noise, in_baskets("add-remove")),
    (less_noise, everything),
    (no_clip, reaching_in_baskets("add-remove")),
    (no_clip, reaching_in_baskets("replace-one", 1)),
    (rounded_up, reaching_in_baskets("add-remove")),
    (as_if_added, reaching_in_baskets("replace-one")),
    (no_threshold, reaching_in_baskets("add-remove")),
    (pairs_of_the_data, reaching_in_baskets("add-remove")),
    (bound_of_the_data, reaching_in_baskets("add-remove")),
    (chosen_by_support, reaching_in_baskets("add-remove", 1)),
    (less_noise, reaching_in_baskets("replace-one")),
    (clip_by_basket, reaching_in_users),
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("breaks", "check"), MUTANTS, ids=[breaks.__name__ for breaks, _ in MUTANTS])
def test_what_is_broken_is_caught(
    breaks: Callable[[Patch], None], check: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a check that the package passes."""
    check()
    breaks(monkeypatch)
    with pytest.raises(AssertionError, match=r"of its part|of δ|as promised|not the same|leaves the data"):
        check()


@pytest.mark.full
def test_less_noise_is_not_drawn_from_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    law, draws = law_and_draws(DRAWN[0], 0.3)
    less_noise(monkeypatch)
    assert oracles.chi_square_pvalue(DRAWN[0].releases(draws), law, draws) < LEVEL
