"""Several itemsets in one release: what is picked, and what it costs."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product
from operator import add
from typing import Any

import pytest
import selection_oracles
from asking import request_for

import fim_private as fim
from fim_private.counting.source import Catalogue, Universe, UnknownUniverse
from fim_private.dp.composition import (
    gdp_delta_upper,
    gdp_mu,
    mu_squared_with_choices,
    root_above,
    zcdp_rho,
)
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError
from fim_private.mechanisms import Distance, LargeMargin, NamedExponential
from fim_private.mechanisms.registry import single
from fim_private.mechanisms.top_k import TopK, is_bounded_range
from fim_private.reading.purchases import read_transactions
from fim_private.request.allocation import plan_of
from fim_private.request.plan import ReleasePlan
from fim_private.request.supports import NoiseKind
from fim_private.spectrum import SupportSpectrum

ONE = Fraction(1)
MILLIONTH = Fraction(1, 10**6)


def test_what_is_no_one_pass_mechanism_is_run_again_without_what_it_picked() -> None:
    spectrum = SupportSpectrum.from_supports([9000, 8000, 7000, 1])
    for mechanism in (Distance(1.0, 1e-6), LargeMargin(1.0, 1e-6)):
        picks = TopK(mechanism, 3).select(spectrum, Randomness.seeded(1))
        assert picks == [9000, 8000, 7000]


def test_the_unnamed_outcome_ends_the_picks() -> None:
    mechanism = NamedExponential(1.0, 1e-6, 10**6)
    spectrum = SupportSpectrum.from_supports([500, 400])
    picks = TopK(mechanism, 5).select(spectrum, Randomness.seeded(1))
    assert picks == [500, 400, 0]


def planned(mechanism: str, **more: Any) -> ReleasePlan:
    public = mechanism in ("exponential", "permute-and-flip", "max-of-laplaces")
    listed = Catalogue(read_transactions([[*range(40)]]).vocabulary)
    universe: Universe = listed if public else UnknownUniverse()
    cap = 10 if mechanism == "choosing" else None
    return plan_of(request_for(mechanism, **{"universe": universe, "max_basket": cap, **more}))


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize("mechanism", single())
@pytest.mark.parametrize(
    ("top", "sizes", "union"), [(1, (2,), False), (7, (2, 3), False), (40, (2, 3), True)]
)
@pytest.mark.parametrize("supports", [Fraction(0), Fraction(1, 3)])
def test_no_allocation_spends_more_than_was_allowed(
    neighbors: str,
    mechanism: str,
    top: int,
    sizes: tuple[int, ...],
    union: bool,
    supports: Fraction,
) -> None:
    asked = {"top": top, "sizes": sizes, "union": union, "supports_share": supports}
    plan = planned(mechanism, neighbors=neighbors, **asked)
    groups = 1 if union else len(sizes)
    assert plan.cost == PrivacyCost(1, plan.cost.delta)
    assert len(plan.selections) == groups
    assert plan.cost.delta <= 1e-6
    assert sum(share.fraction for share in plan.steps) == 1
    # ε, δ, ρ of every part, from what will really be run
    spent: list[tuple[Fraction, Fraction, Fraction]] = []
    bottoms = nothing = Fraction(0)
    for selection in plan.selections:
        assert isinstance(selection.run, TopK)
        cost, picks = selection.run.mechanism.cost, selection.run.count
        one_pass = is_bounded_range(selection.run.mechanism)
        bottoms += cost.delta if one_pass else nothing
        delta = nothing if one_pass else picks * cost.delta
        spent.append((picks * cost.epsilon, delta, picks * cost.epsilon * cost.epsilon / 8))
    noise = plan.noise(top * groups)
    concentrated = plan.steps[0].rho is not None
    if noise is not None:
        [own] = [share for share in plan.steps if share.purpose == "supports"]
        rho = noise.rho if concentrated else nothing
        spent.append((own.epsilon or nothing, own.delta or nothing, rho))
        if noise.kind is NoiseKind.LAPLACE:
            assert noise.count / noise.parameter == own.epsilon
            assert own.delta == 0
        elif not concentrated:  # normal noise, in a part of (ε, δ)
            assert own.epsilon is not None
            assert own.delta
            assert 2 * noise.rho <= gdp_mu(Fraction(own.epsilon), Fraction(own.delta)) ** 2
    if concentrated:
        composing = selection_oracles.zcdp_delta(sum((rho for *_, rho in spent), nothing), 1.0)
        assert float(bottoms) + (1 - float(bottoms)) * composing <= 1e-6 * (1 + 1e-9)
        left = (MILLIONTH - bottoms) / (1 - bottoms)
        assert sum(share.rho or nothing for share in plan.steps) == zcdp_rho(ONE, left)
    else:
        # To the last digit: nothing was rounded on the way.
        assert sum(share.epsilon or 0 for share in plan.steps) == 1
        assert sum(epsilon for epsilon, *_ in spent) == 1
        assert sum(delta for _, delta, _ in spent) + bottoms == plan.cost.delta
        assert plan.cost.delta == sum(share.delta or 0 for share in plan.steps)


USE_IT = "^leave out max_rank: only .* use it"
CHOOSING: dict[str, Any] = {"mechanism": "choosing", "max_basket": 5}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"top": 0}, "top must be a whole number of at least 1"),
        ({"top": 10**6}, "top must be at most 100,000"),
        ({"size": "3-2"}, "size must be a whole number of at least 1, or a range such as 2-4, not"),
        ({"size": [2, 4]}, "or a range such as 2-4"),
        ({"size": "9" * 1002}, "size must be at most 1e1000, not a number of more than"),
        ({"supports": True, "supports_share": 1.0}, "supports_share must be a number above 0 and"),
        ({"supports": False, "supports_share": 0.5}, "supports_share goes with supports: the part"),
        ({"supports_share": "half"}, "supports_share must be a number above 0 and below 1"),
        ({"mechanism": "choosing"}, "choosing mechanism needs max_basket"),
        ({**CHOOSING, "max_basket": 1}, "max_basket must be at least the size 2"),
        ({**CHOOSING, "user": "u"}, "max_baskets is needed with max_basket to protect users"),
        ({"max_baskets": 5}, "max_baskets goes with max_basket and user"),
        ({"union": True}, "^union goes with several sizes: whether all .* are ranked together$"),
        ({"union": True, "size": range(3, 4)}, "^union goes with several sizes"),
        ({"mechanism": "large-margin", "max_basket": 5}, "leave out max_basket: only limited-"),
        ({"mechanism": "distance", "max_rank": 5}, USE_IT),
        ({"mechanism": "levelwise", "max_rank": 5}, USE_IT),
        ({**CHOOSING, "max_rank": 5}, USE_IT),
        ({"mechanism": "exponential", "max_rank": 5, "catalogue": ["a", "b"]}, USE_IT),
        (
            {"mechanism": "large-margin", "max_rank": 5, "catalogue": ["a", "b"]},
            "^leave out max_rank: with a catalogue large-margin",
        ),
        ({"mechanism": "levelwise", "size": 21}, "^size must be at most 20 with levelwise"),
        (
            {"mechanism": "permute-and-flip", "universe_size": 5},
            "permute-and-flip mechanism needs a catalogue",
        ),
    ],
)
def test_bad_requests_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        fim.mine([["a", "b"]] * 10, **changes)


def test_choosing_over_capped_baskets_abstains_on_nothing() -> None:
    assert fim.mine([["a", "b"]], mechanism="choosing", max_basket=10).abstained
    assert not fim.mine([["a", "b"]] * 500, mechanism="choosing", max_basket=10).abstained


# -------------------- choices in Gaussian privacy (docs/privacy.md, Theorem 33)

Sequences = dict[tuple[int, ...], float]
LOSSES = (0, 0.1, 0.3, 0.6, 1, 1.5, 2.5)  # the ε at which δ are compared


def picked(supports: tuple[int, ...], count: int, epsilon: float) -> Sequences:
    """The probability of each sequence of candidates that the exponential mechanism picks."""
    weights = [math.exp(epsilon * support) for support in supports]
    found = {}
    for order in permutations(range(len(supports)), count):
        left, probability = sum(weights), 1.0
        for place in order:
            probability *= weights[place] / left
            left -= weights[place]
        found[order] = probability
    return found


def excess(one: Sequences, other: Sequences, epsilon: float) -> float:
    """The δ at which both are (ε, δ)-indistinguishable, from one side."""
    return sum(max(one[key] - math.exp(epsilon) * other[key], 0) for key in one)


def most_excess(mu_squared: Callable[[Fraction, int], Fraction]) -> float:
    """The largest ratio of what picks need for δ, to what Gaussian privacy allows them.

    mu_squared: their μ², from ε₀ and how many there are.
    """
    worst = 0.0
    for supports, count, epsilon in product(
        [(2, 2, 2), (3, 1, 0), (6, 5, 5, 0), (4, 4, 0, 0)], (1, 2, 3), (0.2, 0.7, 1.5)
    ):
        whole = picked(supports, count, epsilon)
        mu = root_above(mu_squared(Fraction(epsilon), count))
        allowed = {at: float(gdp_delta_upper(Fraction(at), mu)) for at in LOSSES}
        for more in product((0, 1), repeat=len(supports)):
            beside = picked(tuple(map(add, supports, more)), count, epsilon)
            for at, pair in product(LOSSES, ((whole, beside), (beside, whole))):
                worst = max(worst, excess(*pair, at) / allowed[at])
    return worst


def test_choices_are_as_gaussian_as_is_charged() -> None:
    """A unit may support any candidates; and ¼ of ε₀² for each choice, as in zCDP, is caught."""

    def charged(epsilon: Fraction, count: int) -> Fraction:
        return mu_squared_with_choices(epsilon, count, Fraction(0))

    assert 0.95 < most_excess(charged) <= 1
    assert most_excess(lambda epsilon, count: count * epsilon**2 / 4) > 1
