"""Measured runs (Theorem 14): what is measured, what each way spends, and which one is taken."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import comb
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import fim_private as fim
from fim_private.counting import LocalSource
from fim_private.counting.universe import UNKNOWN, Catalogue
from fim_private.dp.accounting import zcdp_rho
from fim_private.dp.cost import ZcdpCost
from fim_private.dp.gaussian_dp import gdp_mu
from fim_private.dp.parameters import Neighbors
from fim_private.dp.randomness import Randomness
from fim_private.errors import ParameterError
from fim_private.levelwise.gaussian_budget import GRID
from fim_private.levelwise.levelwise import Levelwise
from fim_private.levelwise.reaching import Reaching
from fim_private.mechanisms import Exponential, LimitedDomain, registry
from fim_private.mechanisms.top_k import TopK
from fim_private.mining import measured, measured_budget
from fim_private.mining.allocation import MeasuredAllocation, SupportsBudget
from fim_private.mining.budget import allocation_of
from fim_private.mining.measured import Measured, most_items
from fim_private.mining.measured_budget import Way
from fim_private.mining.min_support import MinSupport
from fim_private.mining.noisy_supports import NoiseKind
from fim_private.mining.options import MiningOptions
from fim_private.mining.user_lengths import mean_item_weight, users_by_length
from fim_private.output.console import Screen
from fim_private.output.release_table import render_table
from fim_private.reading import read_catalogue, read_transactions
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import SupportSpectrum

ADD_REMOVE, REPLACE_ONE = str(Neighbors.ADD_REMOVE), str(Neighbors.REPLACE_ONE)
LISTED = Catalogue(read_catalogue(range(40)))
every_relation = pytest.mark.parametrize("neighbors", [ADD_REMOVE, REPLACE_ONE])


def options(neighbors: str = REPLACE_ONE, *, listed: bool = False, **more: Any) -> MiningOptions:
    asked = {"epsilon": Fraction(3), "delta": Fraction(1, 1000), "universe": LISTED if listed else UNKNOWN, **more}
    return MiningOptions(registry.spec_named("levelwise"), neighbors=neighbors, by_user=True, **asked)


Users = Sequence[Sequence[Sequence[int]]]
LONG: dict[str, Any] = {"user": "user", "basket": "basket", "item": "item"}


def table(users: Users) -> pa.Table:
    rows = [(u, f"{u} {b}", i) for u, held in enumerate(users) for b, basket in enumerate(held) for i in basket]
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    types = (pa.int64(), pa.string(), pa.int64())
    return pa.table({n: pa.array(c, t) for n, c, t in zip(LONG, columns, types, strict=True)})


def read(users: Users) -> Transactions:
    return read_transactions(table(users), **LONG)


# --------------------------------------------------------------------------- what one unit does to what is measured

# All that a user can have of the items and pairs out of three items.
UNITS = [
    (*((item,) for item in held), *pairs)
    for count in range(4)
    for held in combinations(range(3), count)
    for number in range(comb(count, 2) + 1)
    for pairs in combinations([*combinations(held, 2)], number)
]
Database = tuple[int, ...]  # the places of its users in UNITS, ascending


def databases(most: int) -> Iterator[Database]:
    for count in range(most + 1):
        yield from combinations_with_replacement(range(len(UNITS)), count)


def neighbours(neighbors: str) -> Iterator[tuple[Database, Database]]:
    """All pairs of neighbouring data of at most three users, in one order."""
    for others in databases(2):
        with_one = [tuple(sorted((*others, unit))) for unit in range(len(UNITS))]
        yield from ((others, more) for more in with_one) if neighbors == ADD_REMOVE else combinations(with_one, 2)


def largest_change(neighbors: str, sizes: Sequence[int], rank: int, picks: TopK) -> int:
    """The most that one unit changes a margin that may be measured."""

    def number(database: Database) -> int:
        supports = Counter(held for unit in database for held in UNITS[unit] if len(held) in sizes)
        return measured._margin(SupportSpectrum.from_supports(supports.values()), rank, picks)

    numbers = {database: number(database) for database in databases(3)}
    return max(abs(numbers[one] - numbers[other]) for one, other in neighbours(neighbors))


@pytest.mark.parametrize("sizes", [(1,), (2,), (1, 2)])
@pytest.mark.parametrize(("neighbors", "due"), [(ADD_REMOVE, 1), (REPLACE_ONE, 2)])
def test_a_unit_changes_the_margin_below_the_candidates_by_what_it_is_charged_for(
    neighbors: str, due: int, sizes: tuple[int, ...]
) -> None:
    ranks = ((1, 1), (1, 2), (2, 2))
    picks = [TopK(LimitedDomain(1.0, 1e-6, neighbors, below), 1) for _, below in ranks]
    assert max(largest_change(neighbors, sizes, rank, of) for (rank, _), of in zip(ranks, picks, strict=True)) == due
    run, _ = measured_budget.measured(options(neighbors))
    assert isinstance(run.direct[0].mechanism, LimitedDomain)  # so that this is what it measures
    assert margin_change(options(neighbors)) == due


@every_relation
def test_a_unit_changes_a_support_at_a_rank_by_one(neighbors: str) -> None:
    for sizes, rank in product(((1,), (2,), (1, 2)), (1, 3)):
        assert largest_change(neighbors, sizes, rank, TopK(Exponential(1.0, neighbors), 1)) == 1
    run, _ = measured_budget.measured(options(neighbors, listed=True))
    assert isinstance(run.direct[0].mechanism, Exponential)


def lengths_of(*held: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return users_by_length(LocalSource(read(held)).items())


@pytest.mark.parametrize("baskets", [1, 3])
def test_a_user_is_in_one_bin_of_lengths_and_once(baskets: int) -> None:
    everybody = [[range(n * b // baskets, n * (b + 1) // baskets) for b in range(baskets)] for n in (3, 40, 1000, 1024)]
    apart = [lengths_of(held) for held in everybody]
    for own, place in zip(apart, (1, 5, 9, 10), strict=True):
        assert np.flatnonzero(own).tolist() == [place]
        assert 0.98 * GRID < own[place] <= GRID
    assert lengths_of(*everybody).tolist() == np.sum(apart, axis=0).tolist()
    assert not lengths_of([]).any()


def test_the_longest_users_are_in_the_last_bin() -> None:
    [place] = np.flatnonzero(longest := lengths_of([range(70_000)]))
    assert place == len(longest) - 1
    assert 0 < longest[place] <= GRID


@given(users=st.lists(st.floats(0, 1e6), min_size=11, max_size=11), deviation=st.floats(1e-3, 1e3))
def test_the_mean_weight_is_that_of_some_length(users: list[float], deviation: float) -> None:
    assert 2**-5.5 < mean_item_weight(np.array(users), deviation) <= 1


def test_the_mean_weight_is_of_items_not_of_users() -> None:
    users = np.zeros(11)
    users[[0, 8]] = 1000, 1000
    weight = mean_item_weight(users, 1.0)
    middle = 2**0.5, 2**8.5
    assert weight == pytest.approx(sum(m**0.5 for m in middle) / sum(middle))
    assert mean_item_weight(users, 1000.0) == 1  # none of it stands out


# ----------------------------------------------------------------------------------------- what each way spends


def margin_change(asked: MiningOptions) -> int:
    """By how much a unit changes the margin: that of two supports, or over a catalogue one of them."""
    return 1 if asked.neighbors == ADD_REMOVE or isinstance(asked.universe, Catalogue) else 2


def of_picks(picks: TopK) -> Fraction:
    return picks.count * Fraction(picks.mechanism.cost.epsilon) ** 2 / 8


def spent(asked: MiningOptions, run: Measured, name: str, way: Way) -> dict[str, Fraction]:
    """What each part of a way costs, in zCDP or as μ²/2, by the noise that is drawn and the picks that are made."""
    changed = 1 if asked.neighbors == ADD_REMOVE else 2
    parts = {"measurement": Fraction(0)}
    if run.margin_variance is not None:
        parts["measurement"] += len(run.rankings) * margin_change(asked) ** 2 / (2 * run.margin_variance)
    if name == "direct":
        parts["selection"] = sum(map(of_picks, run.direct), Fraction(0))
    else:
        parts["measurement"] += changed / (2 * run.length_variance)
    if name == "levels":
        parts["selection"] = sum((run.levels.budget.spent(share) / 2 for *_, share in run.levels.steps), Fraction(0))
    elif name != "direct":
        picks = dict(run.picks)[name]
        parts["items"] = changed / (2 * run.budget.variance(picks.recipe.items, 1))
        parts["selection"] = len(run.rankings) * of_picks(picks.picks)
    if way.count is not None:
        parts["count"] = 1 / (2 * SupportsBudget(mu_squared=2 * way.count).noise(1).parameter)
    if way.supports is not None:
        noise = (SupportsBudget(mu_squared=way.supports) if way.normal else SupportsBudget(rho=way.supports)).noise(7)
        parts["supports"] = noise.count / (2 * noise.parameter)
    return parts


def check_budget(
    asked: MiningOptions,
    build: Callable[[MiningOptions], tuple[Measured, dict[str, Way]]] = measured_budget.measured,
) -> None:
    """Hold a run to Theorem 14: to one ρ for all ways but levels, to a μ for these, and to δ₀ beside them."""
    run, ways = build(asked)
    assert {*ways} == {"levels", *dict(run.picks), *(["direct"] if asked.min_support is None else [])}
    naming = Fraction(0)
    if not isinstance(asked.universe, Catalogue):
        assert run.items_delta is not None
        naming = run.items_delta
        assert run.levels.items_delta == naming
        direct = sum((Fraction(picks.mechanism.cost.delta) for picks in run.direct), Fraction(0))
        assert direct == (naming if asked.min_support is None else 0)
    assert naming < asked.delta
    if asked.rho is not None:
        most = dict.fromkeys(ways, asked.rho)
    else:
        assert asked.epsilon is not None
        left = (asked.delta - naming) / (1 - naming)
        most = {name: zcdp_rho(asked.epsilon, left * 2 / 3) for name in ways}
        most["levels"] = gdp_mu(asked.epsilon, left / 3) ** 2 / 2
    for name, way in ways.items():
        parts = spent(asked, run, name, way)
        assert min(parts.values()) > 0
        assert Fraction(999999, 1000000) * most[name] < sum(parts.values()) <= most[name]


def check_shares(asked: MiningOptions) -> None:
    """What is told of the budget is exact, and enough for what is spent."""
    run, ways = measured_budget.measured(asked)
    for name, way in ways.items():
        assert sum(share.fraction for share in way.shares) == 1
        told: Counter[str] = Counter()
        for share in way.shares:
            exact = share.mu_squared if way.normal else share.rho
            assert exact is not None
            assert exact == share.fraction * sum(Fraction(s.mu_squared or s.rho or 0) for s in way.shares)
            known = {"measurement", "supports", "count", *(() if way.normal else ("items",))}
            told[share.purpose if share.purpose in known else "selection"] += Fraction(exact)  # type: ignore[assignment]
        for purpose, cost in spent(asked, run, name, way).items():
            at_most = Fraction(told[purpose]) / (2 if way.normal else 1)
            assert Fraction(999999, 1000000) * at_most < cost <= at_most
            assert cost == at_most or purpose in ("items", "selection")  # whose roots are rounded down


@st.composite
def requests(draw: st.DrawFn) -> MiningOptions:
    def power(low: float, high: float) -> Fraction:
        return Fraction(repr(10 ** draw(st.floats(low, high))))

    sizes = draw(st.sampled_from([(1,), (2,), (3,), (5,), (1, 2), (2, 3, 4), (1, 2, 3, 4, 5)]))
    given = {"epsilon": power(-9, 3)} if draw(st.booleans()) else {"epsilon": None, "rho": power(-18, 3)}
    return options(
        draw(st.sampled_from([ADD_REMOVE, REPLACE_ONE])),
        listed=draw(st.booleans()),
        **given,
        delta=draw(st.one_of(st.just(Fraction(99, 100)), st.builds(power, st.just(-299.5), st.just(-0.01)))),
        sizes=sizes,
        union=len(sizes) > 1 and draw(st.booleans()),
        top=draw(st.integers(1, 100_000)),
        supports_share=draw(st.none() | st.fractions(Fraction(1, 100), Fraction(94, 100), max_denominator=100)),
        count_share=draw(st.sampled_from([None, Fraction(5, 100)])),
        min_support=draw(st.sampled_from([None, MinSupport(count=9)])),
    )


@given(asked=requests())
@example(asked=options(epsilon=Fraction(1000), delta=Fraction(99, 100), top=100_000, supports_share=Fraction(99, 100)))
@example(asked=options(epsilon=Fraction(1, 10**9), delta=Fraction(1, 10**6), top=1, supports_share=Fraction(1, 100)))
@example(asked=options(epsilon=Fraction(1, 10**9), delta=Fraction(1, 10**299), top=100_000))
def test_no_way_spends_more_than_its_part(asked: MiningOptions) -> None:
    allocation = allocation_of(asked)
    if isinstance(allocation, MeasuredAllocation):
        check_budget(asked)
        check_shares(asked)
        [(cost, zcdp)] = {(way.cost, way.zcdp) for way in allocation.ways.values()}
        assert cost.delta == asked.delta
        if asked.rho is None:
            assert (cost.epsilon, zcdp) == (asked.epsilon, None)
        else:
            naming = allocation.run.items_delta or Fraction(0)
            assert zcdp == ZcdpCost(asked.rho, naming)
            assert zcdp_rho(cost.epsilon, (asked.delta - naming) / (1 - naming)) >= asked.rho * Fraction(
                999999, 1000000
            )
    else:  # a part of it is too small for some mechanism
        if asked.sizes[-1] <= 4:
            with pytest.raises(ParameterError):
                measured_budget.measured(asked)
        assert isinstance(allocation.selections[0].run, Levelwise | Reaching)


BROKEN = [
    ("(2 if replaces and not listed else 1)", "1"),
    ("(2 if replaces else 1)", "1"),
    ("margin_change**2 / (2 * measurement)", "margin_change / (2 * measurement)"),
    ("budget.concentrated(spent, _CONCENTRATED)", "budget.concentrated(spent)"),
    ("budget.concentrated(spent, _CONCENTRATED)", "budget.concentrated(Fraction(0), _CONCENTRATED)"),
    ("budget.normal(spent, 1 - _CONCENTRATED)", "budget.normal(spent)"),
    ("budget.normal(spent, 1 - _CONCENTRATED)", "budget.normal(Fraction(0), 1 - _CONCENTRATED)"),
    ("parts.naming / len(rankings)", "parts.naming"),
    ("(left * rho - margins) / len(rankings)", "left * rho / len(rankings)"),
    ("- margins - measurement - items.spent(share) / 2", "- items.spent(share) / 2"),
    ("- margins - measurement - items.spent(share) / 2", "- margins - items.spent(share) / 2"),
    ("- margins - measurement - items.spent(share) / 2", "- margins - measurement"),
    ("2 * (counted + margins + measurement) / mu_squared", "2 * (counted + margins) / mu_squared"),
    ("2 * (counted + margins + measurement) / mu_squared", "2 * (margins + measurement) / mu_squared"),
    ("left = 1 - options.extras", "left = 1 - (options.supports_share or 0)"),
    ("items.spent(share) / 2)", "items.spent(share) / 3)"),
]


@pytest.mark.parametrize(("right", "wrong"), BROKEN)
def test_a_budget_that_is_wrong_is_caught(right: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = Path(measured_budget.__file__).read_text(encoding="utf-8")
    assert code.count(right) == 1
    module = ModuleType("broken_budget")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # where dataclasses look for it
    exec(compile(code.replace(right, wrong), module.__name__, "exec"), module.__dict__)
    asked = options(supports_share=Fraction(15, 100), count_share=Fraction(5, 100), sizes=(1, 2))
    check_budget(asked)
    caught = 0
    for neighbors in (ADD_REMOVE, REPLACE_ONE):  # some show under one of them only
        try:
            check_budget(replace(asked, neighbors=neighbors), module.measured)
        except (AssertionError, ParameterError):
            caught += 1
    assert caught


# ------------------------------------------------------------------------------------------- which way is taken

PAIRS = [*combinations(range(10), 2)]
EACH_PAIR = [[pair] for pair in PAIRS] * 50
SAME = [[(1, 2, 3)]] * 500
# All have all items, in baskets of their own, and two of them together.
MANY_ITEMS = [[*((item,) for item in range(200)), pair] for pair in PAIRS[:10]] * 30
TAKEN: list[tuple[str, Users, dict[str, Any]]] = [
    ("direct", SAME, {"top": 3}),
    ("picks of more items", MANY_ITEMS, {"top": 20}),
    ("picks", MANY_ITEMS, {"top": 300}),
    ("levels", EACH_PAIR, {"top": 30}),
    ("direct", EACH_PAIR, {"top": 10, "listed": True}),
    ("picks", MANY_ITEMS, {"top": 10, "listed": True, "epsilon": Fraction(1)}),
    ("levels", [[pair] for pair in PAIRS] * 8, {"top": 10, "sizes": (1,), "delta": Fraction(1, 10**9)}),
    ("direct", EACH_PAIR, {"top": 10, "sizes": (1, 2, 3), "union": True}),
    ("direct", EACH_PAIR, {"top": 10, "sizes": (1, 2)}),
    ("picks", MANY_ITEMS, {"top": 100, "sizes": (1, 2)}),
    ("levels", EACH_PAIR, {"top": 30, "sizes": (1, 2)}),
]


@pytest.mark.parametrize(("name", "users", "asked"), TAKEN)
@pytest.mark.one_in(3)
def test_each_way_is_taken_where_it_is_meant_to_be(
    name: str, users: Users, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[Fraction, int]] = []

    def measured_truly(sums: NDArray[np.int64], variance: Fraction, _: Randomness) -> Any:
        drawn.append((variance, len(sums)))
        return sums / GRID  # without its noise, which takes one way or the other where both are about as good

    monkeypatch.setattr(measured, "noisy_weights", measured_truly)
    request = options(ADD_REMOVE, supports_share=Fraction(15, 100), **asked)
    allocation = allocation_of(request)
    assert isinstance(allocation, MeasuredAllocation)
    source = LocalSource(read(users))
    taken, found = allocation.find(source, Randomness.seeded(1))
    assert taken is allocation.ways[name]
    run = allocation.run
    both = [(run.margin_variance, len(run.rankings)), (run.length_variance, 11)]
    assert drawn == (both[:1] if name == "direct" else both)  # as many as were paid for
    _, again = allocation.find(source, Randomness.seeded(1))
    assert found == again
    assert found
    held = {*request.sizes}
    for items, support, _ in found:
        assert items is not None
        assert len(items) in held
        assert support == sum(any({*items} <= {*basket} for basket in baskets) for baskets in users)
    kind = taken.published(found, Randomness.seeded(2)).noise
    assert kind is not None
    assert kind.kind == (NoiseKind.NORMAL if name == "levels" else NoiseKind.GAUSSIAN)


@pytest.mark.parametrize("told", [-1e15, 1e15])
@pytest.mark.parametrize("asked", [{"top": 3}, {"top": 3, "sizes": (1,)}, {"top": 3, "listed": True}])
@pytest.mark.parametrize("users", [[], [[]], [[(1, 2, 3)]], SAME[:50]])
def test_which_way_follows_from_what_was_measured_alone(
    users: Users, asked: dict[str, Any], told: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "noisy_weights", lambda sums, *_: np.full(len(sums), told))
    run, _ = measured_budget.measured(options(**asked))
    for seed in range(3):
        name, found = run.find(LocalSource(read(users)), options(**asked).universe, Randomness.seeded(seed))
        assert (name == "direct") == (told > 0)
        assert len(found) <= 3


def mined(users: Users, **asked: Any) -> fim.Release:
    known: dict[str, Any] = {"mechanism": "levelwise", "supports": True, "seed": 1, **LONG, **asked}
    release: fim.Release = fim.mine(table(users), neighbors="add-remove", epsilon=3, delta=1e-3, **known)
    return release


def test_but_for_the_way_releases_tell_the_same() -> None:
    one, other = (mined(users, top=30, mechanism="auto").to_dict() for users in (EACH_PAIR, MANY_ITEMS))
    assert one["noise"] != other["noise"]
    assert one["shares"] != other["shares"]
    for told in (one, other):
        assert all(told.pop(key) is not None for key in ("noise", "shares", "itemsets"))
    assert one == other


@pytest.mark.parametrize(
    ("users", "asked", "said"),
    [
        (MANY_ITEMS, {"top": 20, "supports": False}, "Picks name itemsets however rare they are: --supports tells"),
        (SAME, {"top": 30}, "others were not picked, or too few items were found to make them of, or"),
        ([], {"top": 3}, "was released: none was picked, or none stood out from the noise."),
    ],
)
def test_the_table_says_what_the_way_that_was_taken_leaves_out(users: Users, asked: dict[str, Any], said: str) -> None:
    text = " ".join(render_table(mined(users, **asked), Screen()).split())
    assert said in text
    assert ("Picks name" in text) == ("Picks name" in said)


@pytest.mark.parametrize("users", [[], [[]], [[(1,)]], [[(1, 2, 3)]]])
@pytest.mark.parametrize(
    "asked", [{"top": 100}, {"top": 9, "size": 1}, {"top": 9, "size": "1-3", "union": True}, {"top": 9, "size": 5}]
)
def test_next_to_no_data_gives_nothing(users: Users, asked: dict[str, Any]) -> None:
    assert mined(users, **asked).abstained


def test_no_more_than_there_is_comes_out() -> None:
    assert {itemset.items for itemset in mined(SAME, top=1000).itemsets} == {(1, 2), (1, 3), (2, 3)}
    listed = mined(SAME, top=1000, catalogue=[1, 2], keep_all=True).itemsets
    assert [itemset.items for itemset in listed] == [(1, 2)]
    with pytest.raises(ParameterError, match="too few for an itemset of size 3"):
        mined(SAME, top=3, size=3, catalogue=[1, 2])


# -------------------------------------------------------------------------------------------- without measuring


@every_relation
@pytest.mark.parametrize("listed", [False, True])
def test_several_sizes_apart_have_a_ranking_each(neighbors: str, listed: bool) -> None:
    asked = options(neighbors, listed=listed, sizes=(1, 2, 3), top=3, supports_share=Fraction(15, 100))
    allocation = allocation_of(asked)
    assert isinstance(allocation, MeasuredAllocation)
    assert allocation.run.rankings == ((1,), (2,), (3,))
    more = {"catalogue": range(40)} if listed else {}
    found = Counter(len(itemset.items or ()) for itemset in mined(SAME, top=3, size="1-3", **more).itemsets)
    assert found == {1: 3, 2: 3, 3: 1}


def test_levelwise_is_run_where_nothing_can_be_measured() -> None:
    with pytest.raises(ParameterError, match="delta must lie between 1e-300 and 1"):
        allocation_of(options(delta=Fraction(1, 10**300)))


@pytest.mark.parametrize("sizes", [(1,), (2,), (3,), (5,), (20,), (1, 2, 3), tuple(range(1, 21))])
def test_picks_are_among_as_many_items_as_there_is_time_for(sizes: tuple[int, ...]) -> None:
    items = most_items(sizes)
    assert sum(comb(items, size) for size in sizes) <= 2_000_000 < sum(comb(items + 1, size) for size in sizes)


@pytest.mark.parametrize(("sizes", "measures"), [((4,), True), ((1, 2, 3, 4), True), ((5,), False), ((3, 4, 5), False)])
def test_large_itemsets_are_found_by_levels_without_measuring(sizes: tuple[int, ...], measures: bool) -> None:
    allocation = allocation_of(options(sizes=sizes, union=True))
    assert isinstance(allocation, MeasuredAllocation) == measures
