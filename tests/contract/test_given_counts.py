"""Supports of given itemsets (Theorem 15), held to the guarantee on all small neighbours."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import levelwise_laws
import oracles
import pytest
from oracles import decimal
from release_distributions import ERROR, Itemset, Noise
from small_data import ITEMSETS, column, neighbouring, supports_of

import fim_private as fim
from fim_private.request.supports import CONFIDENCE

# Budgets are large here, so that little data tells whether they are kept.
pytestmark = pytest.mark.filterwarnings("ignore::fim_private.PrivacyWarning")

NEIGHBORS: list[oracles.Neighbors] = ["add-remove", "replace-one"]
# "d" is an item that nobody has.
GIVEN: dict[str, list[Itemset]] = {
    "one": [("a",)],
    "two": [("a",), ("a", "b")],
    "three": [("b",), ("a", "c"), ("a", "b", "c")],
    "unknown": [("d",), ("a", "d"), ("a",)],
    "all": list(ITEMSETS),
}
BUDGETS = [(1.0, 1e-6), (0.3, 0.2), (2.0, 0.3), (1.0, 0.1)]


def noise_of(release: fim.Release) -> Noise:
    noise = release.noise
    assert noise is not None
    kind = str(noise.kind).partition("-")[2]
    return Noise(kind, noise.parameter, noise.reach(CONFIDENCE), noise.of_units, noise.count)


def counted(given: str, budget: tuple[float, float], **options: Any) -> fim.Release:
    return fim.count([], GIVEN[given], epsilon=budget[0], delta=budget[1], **options)


def moves(given: str, neighbors: oracles.Neighbors) -> set[int]:
    """In how many supports neighbours of at most three baskets differ; each by one at most."""
    found = set()
    for pair in neighbouring(neighbors):
        one, other = (supports_of(column(database)) for database in pair)
        changes = [one.get(itemset, 0) - other.get(itemset, 0) for itemset in GIVEN[given]]
        assert set(map(abs, changes)) <= {0, 1}
        found.add(sum(map(abs, changes)))
    return found


def needed(given: str, neighbors: oracles.Neighbors, noise: Noise, epsilon: float) -> Decimal:
    """The least δ with which the release is private at that ε."""
    ratio = decimal(Fraction(repr(epsilon))).exp()
    return max(noise.excess(moved, ratio) for moved in moves(given, neighbors))


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("given", GIVEN)
def test_counts_keep_their_guarantee(
    given: str, budget: tuple[float, float], neighbors: oracles.Neighbors
) -> None:
    release = counted(given, budget, neighbors=neighbors)
    assert release.cost.epsilon == budget[0]
    assert release.cost.delta in (0, budget[1])
    noise, delta = noise_of(release), decimal(release.cost.delta)
    if noise.kind == "normal" and len(GIVEN[given]) > 3:
        # Too many values: that of the normal distributions which are rounded is a bound.
        moved = max(moves(given, neighbors)) / noise.parameter
        root = Fraction(math.isqrt(moved.numerator), math.isqrt(moved.denominator))
        assert root**2 == moved
        assert levelwise_laws.gaussian_delta(Fraction(repr(budget[0])), root) <= delta + ERROR
    else:
        assert needed(given, neighbors, noise, budget[0]) <= delta + ERROR


@pytest.mark.parametrize("broken", ["for one less", "half"])
@pytest.mark.parametrize(
    ("given", "budget"), [("two", (0.3, 0.2)), ("three", (2.0, 0.3)), ("all", (1.0, 1e-6))]
)
@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_too_little_noise_is_caught(
    given: str, budget: tuple[float, float], broken: str, neighbors: oracles.Neighbors
) -> None:
    release = counted(given, budget, neighbors=neighbors)
    noise, count = noise_of(release), len(GIVEN[given])
    half = Fraction(1, 4 if noise.is_squared else 2)
    part = half if broken == "half" else Fraction(count - 1, count)
    noise = replace(noise, parameter=noise.parameter * part)
    allowed = decimal(release.cost.delta) * Decimal("1.02") + ERROR
    assert needed(given, neighbors, noise, budget[0]) > allowed


@pytest.mark.parametrize("seed", range(5))
def test_an_item_that_nobody_has_is_treated_like_any_other(seed: int) -> None:
    """What is released of it is what is released of an itemset whose support is 0, to the bit."""
    given = [["tea", "unicorn"], ["milk"], ["jam", "tea"]]
    baskets = [["tea", "jam"]] * 40 + [["milk"]] * 30
    unheard = fim.count(baskets, given, count=True, seed=seed)
    heard = fim.count([*baskets[:-1], ["unicorn", "milk"]], given, count=True, seed=seed)
    one, other = unheard.to_dict(), heard.to_dict()
    named = {"items", "support", "interval", "share", "share_interval"}
    assert all({*itemset} == named for release in (one, other) for itemset in release["itemsets"])
    assert one["itemsets"][0]["support"] == other["itemsets"][0]["support"]
    assert (one.keys(), one["noise"]) == (other.keys(), other["noise"])
