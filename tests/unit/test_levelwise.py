"""Levelwise: the recipe, candidates, shrinkage, the threshold of items, the two counts."""

import math
from fractions import Fraction
from itertools import chain, combinations
from statistics import NormalDist
from typing import Any

import levelwise_laws as laws
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr

import fim_private as fim
from fim_private.dp.composition import PrivacyBudget
from fim_private.levelwise import levelwise as levelwise_run
from fim_private.levelwise.discovery import WeightedItemsets, shrunken
from fim_private.levelwise.recipe import (
    GRID,
    LARGEST_ITEMS_DELTA,
    LARGEST_SIZE,
    Recipe,
    Sought,
    closed_sets,
    item_threshold,
)

# -------------------- recipe

some_sizes = st.tuples(st.integers(1, LARGEST_SIZE), st.integers(0, 6)).map(
    lambda drawn: tuple(range(drawn[0], min(drawn[0] + drawn[1], LARGEST_SIZE) + 1))
)
some_asked = st.builds(
    Sought,
    sizes=some_sizes,
    count=st.integers(1, 100_000),
    union=st.booleans(),
    by_user=st.booleans(),
    listed=st.booleans(),
    epsilon=st.floats(1e-9, 1e9).map(Fraction),
    neighbors=st.sampled_from(["replace-one", "add-remove"]),
)


@given(some_asked)
def test_the_parts_of_a_recipe_are_the_whole(sought: Sought) -> None:
    recipe = Recipe.of(sought)
    parts = [recipe.items, *recipe.levels, recipe.first, recipe.histogram, recipe.second]
    assert sum(parts) + recipe.first_histogram == 1
    assert min(parts) > 0
    assert len(recipe.levels) == min(sought.sizes[-1], 20) - 1  # none larger can be found
    # No less goes on from a step than the next one asks for.
    assert recipe.most_closed >= recipe.survivors >= max(recipe.pool)
    assert recipe.second_pool >= sought.count
    assert recipe.fewest_paired <= recipe.most_paired <= recipe.most_items


@given(
    st.lists(st.floats(-1e3, 1e6), min_size=1, max_size=400),
    st.integers(0, 20),
    st.sampled_from([10, 50, 200]),
)
@example([-5.0] * 3 + [900.0] * 300, 3, 200)
def test_items_that_are_paired_are_a_number_between_two_public_ones(
    weights: list[float], known: int, count: int
) -> None:
    asked: dict[str, Any] = {"sizes": (2,), "union": True, "by_user": True, "listed": False}
    sought = Sought(count=count, epsilon=Fraction(1), neighbors="add-remove", **asked)
    budget = PrivacyBudget.of(1, 1e-6, None, otherwise=1)
    names_delta = levelwise_run.names_delta_of(budget)
    run = levelwise_run.levelwise(sought, budget, names_delta, part=Fraction(1))
    assert isinstance(run, levelwise_run.Levelwise)
    level = WeightedItemsets.of_items(np.array(weights), 6.0, np.array(weights))
    paired = run._items_to_pair(level, run.budget, known)
    least = min(len(weights), run.recipe.fewest_paired + known)
    assert least <= paired <= run.recipe.most_paired + known


# -------------------- candidates

families = st.integers(1, 4).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, 7), min_size=size, max_size=size, unique=True).map(
            lambda row: tuple(sorted(row))
        ),
        unique=True,
        max_size=40,
    ).map(lambda rows: np.array(rows, dtype=np.int32).reshape(-1, size))
)


@given(families)
def test_closed_sets_are_all_whose_parts_were_found(parts: NDArray[np.int32]) -> None:
    size = parts.shape[1]
    known = {*map(tuple, parts.tolist())}
    right = [s for s in combinations(range(8), size + 1) if known.issuperset(combinations(s, size))]
    found = closed_sets(parts)
    assert found.shape == (len(right), size + 1)
    assert found.dtype == np.int32
    assert [*map(tuple, found.tolist())] == right  # in lexicographic order, each once


# -------------------- shrinkage


def test_of_nothing_nothing_stands_out() -> None:
    """Of noise alone an estimate is twice its deviation once in 20 times."""
    random = np.random.default_rng(10)
    shown = 0
    for _ in range(200):
        estimates, deviations = shrunken(
            random.normal(0, 5, 30), 25.0, random.normal(0, 1, (30, 2))
        )
        shown += int((estimates >= 2 * deviations).sum())
    assert shown / (200 * 30) < 0.065, shown


# -------------------- threshold of items


some_sigmas = st.floats(math.log(0.3), math.log(1e4)).map(math.exp)
some_deltas = st.floats(math.log(1e-12), math.log(float(LARGEST_ITEMS_DELTA))).map(math.exp)
# What floats may be wrong by in a tail, relatively.
FLOATS = 1e-9


def threshold_of(sigma: float, delta: float, most: int) -> float:
    """The threshold in units."""
    return (item_threshold(Fraction(sigma) ** 2, Fraction(delta), most) - 0.5) / GRID


def equal_weights_threshold(sigma: float, delta: float, most: int) -> float:
    """What one item of weight 1 needs, or as many as there may be of equal weights."""
    return max(1 / math.sqrt(t) - sigma * NormalDist().inv_cdf(delta / t) for t in (1, most))


@given(some_sigmas, some_deltas, st.sampled_from([1, 2, 3, 7, 30, 150, 1000]))
@example(0.5, 0.01, 1000)
@example(1.0, 5e-7, 150)
def test_no_weights_of_one_unit_are_named_more_often_than_promised(
    sigma: float, delta: float, most: int
) -> None:
    assert laws.likeliest_alone(sigma, threshold_of(sigma, delta, most), most) <= delta * (
        1 + FLOATS
    )


@given(some_sigmas, some_deltas, st.sampled_from([1, 2, 7, 150, 1000]))
@example(0.5, 0.05, 1000)
@example(1.0, 1e-7, 150)
@example(1.9, 1e-3, 150)
def test_the_threshold_is_the_least_that_the_theorem_allows(
    sigma: float, delta: float, most: int
) -> None:
    found = threshold_of(sigma, delta, most)

    def named(threshold: float) -> float:
        one, spread = (t * float(ndtr((1 / math.sqrt(t) - threshold) / sigma)) for t in (1, most))
        # Where small noise makes what lies between convex, one heavy item may come beside the
        # others.
        return (
            max(one, spread)
            if most == 1 or threshold - 1 <= sigma**2 - 2 / GRID
            else one + max(one, spread)
        )

    assert found >= equal_weights_threshold(sigma, delta, most) - 1e-9 * found
    lower = found - 3 / GRID - 1e-9 * found
    assert named(lower) >= delta * (1 - FLOATS)


# -------------------- whole runs

SHOP = [
    *([["a", "b", "c"]] * 3000),
    *([["a", "b"]] * 2000),
    *([["d", "e"]] * 1500),
    *([["c", "d"]] * 900),
    *([["f"]] * 700),
    *([[f"x{n}"] for n in range(300)]),
]


def mined(data: Any = SHOP, **options: Any) -> fim.Release:
    release: fim.Release = fim.mine(data, **{"mechanism": "levelwise", "seed": 5, **options})
    return release


def names(release: fim.Release) -> list[Any]:
    return [itemset.items for itemset in release.itemsets]


def test_what_stands_out_is_found() -> None:
    assert {*names(mined(size=1, top=3))} == {("a",), ("b",), ("c",)}
    assert names(mined(size=2, top=1)) == [("a", "b")]
    assert {*names(mined(size=2, top=5))} == {
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
        ("d", "e"),
        ("c", "d"),
    }
    assert names(mined(size=3, top=5)) == [("a", "b", "c")]


@pytest.mark.parametrize(
    ("baskets", "options"),
    [
        ([], {"size": 2}),
        ([["a"]], {"size": 2}),
        ([["a", "b"], ["c"]], {"size": "1-3", "union": True}),
        ([["a"]] * 5000, {"size": "2-3"}),
        (SHOP, {"size": 7}),
        (SHOP, {"size": "7-9", "union": True}),
    ],
    ids=range(6),
)
def test_nothing_is_found_where_there_is_nothing(baskets: Any, options: dict[str, Any]) -> None:
    for keep_all in (False, True):
        release = mined(baskets, top=5, supports=True, keep_all=keep_all, **options)
        assert release.abstained
        assert release.itemsets == ()
        assert release.noise is None


def test_over_a_catalogue_items_need_no_threshold_and_those_that_nobody_bought_can_come() -> None:
    baskets = [["a", "b"]] * 120
    assert mined(baskets, size=2, top=3).abstained
    listed = mined(baskets, size=2, top=3, catalogue=["a", "b", "c", "d", "never"])
    assert names(listed)[0] == ("a", "b")
    everything = mined(
        baskets, size=1, top=10, catalogue=["a", "b", "c", "d", "never"], keep_all=True
    )
    assert {*names(everything)} == {("a",), ("b",), ("c",), ("d",), ("never",)}
    dropped = mined(SHOP, size=2, top=5, catalogue=["d", "e", "c"], keep_all=True)
    assert {*chain(*names(dropped))} <= {"c", "d", "e"}


# -------------------- costs
