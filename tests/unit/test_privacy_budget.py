"""Budgets as (ε, δ) and as ρ: what each composition makes of them."""

import json
import math
from fractions import Fraction
from functools import partial
from typing import Any

import levelwise_laws
import pytest
import selection_oracles
from hypothesis import given
from hypothesis import strategies as st

import fim_private as fim
from fim_private.dp import composition
from fim_private.dp.composition import (
    PrivacyBudget,
    gdp_delta_upper,
    gdp_epsilon,
    zcdp_epsilon,
    zcdp_rho,
)
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.errors import ParameterError
from fim_private.mechanisms import registry
from fim_private.output.releases import render_table
from fim_private.output.screen import Screen
from fim_private.request.supports import NoiseKind, SupportNoise

BASKETS = [["bread", "butter"]] * 600 + [["bread", "jam"]] * 50 + [["jam", "tea"]] * 400
CATALOGUE = ["bread", "butter", "jam", "tea", "caviar"]
TENTH = Fraction(1, 10)
RHOS = st.builds(lambda power: Fraction(repr(10**power)), st.floats(-18, 8))
DELTAS = st.one_of(
    st.builds(lambda power: Fraction(repr(10**power)), st.floats(-299, -0.001)),
    st.sampled_from([Fraction(1, 2), Fraction(99, 100), 1 - Fraction(1, 10**15)]),
)


@given(RHOS, DELTAS)
def test_the_epsilon_of_a_rho_is_certified_and_nearly_best(rho: Fraction, delta: Fraction) -> None:
    epsilon = zcdp_epsilon(rho, delta)
    assert epsilon >= Fraction(1, 10**9)
    # which is certified by itself
    assert zcdp_rho(epsilon, delta) >= rho * (1 - Fraction(1, 10**10))
    if epsilon > Fraction(1, 10**9):
        assert zcdp_rho(max(epsilon * (1 - Fraction(1, 10**9)), Fraction(1, 10**9)), delta) <= rho


@given(RHOS, DELTAS)
def test_epsilon_of_normal_noise_is_valid_and_nearly_best(rho: Fraction, delta: Fraction) -> None:
    epsilon = gdp_epsilon(2 * rho, delta)
    assert Fraction(1, 10**9) <= epsilon <= zcdp_epsilon(rho, delta) * (1 + Fraction(1, 10**10))
    assert gdp_delta_upper(epsilon, composition.root_above(2 * rho)) <= delta
    if epsilon > Fraction(1, 10**9):
        below = max(epsilon * (1 - Fraction(1, 10**8)), Fraction(1, 10**9))
        least = composition.root_below(2 * rho) * (1 - Fraction(1, 10**9))
        most = gdp_delta_upper(below, composition.root_above(2 * rho))
        assert gdp_delta_upper(below, least) <= delta or most > delta


@pytest.mark.parametrize(
    ("rho", "delta"), [("0.1", "1e-6"), ("0.0241", "1e-6"), ("3", "1e-10"), ("0.5", "0.2")]
)
def test_the_epsilon_of_a_rho_against_an_oracle(rho: str, delta: str) -> None:
    epsilon = zcdp_epsilon(Fraction(rho), Fraction(delta))
    found = selection_oracles.zcdp_delta(Fraction(rho), float(epsilon))
    assert found == pytest.approx(float(delta), rel=1e-6)
    normal = gdp_epsilon(2 * Fraction(rho), Fraction(delta))
    mu = Fraction(math.sqrt(2 * float(Fraction(rho))))
    assert float(levelwise_laws.gaussian_delta(normal, mu)) == pytest.approx(float(delta), rel=1e-7)


@given(
    st.floats(1e-9, 1e3),
    st.floats(1e-200, 0.9),
    st.fractions(0, Fraction(9, 10)),
)
def test_an_epsilon_is_split_by_delta(epsilon: float, delta: float, part: Fraction) -> None:
    budget = PrivacyBudget.of(epsilon, delta, None, otherwise=1.0)
    naming = budget.delta_for_names(part)
    assert naming == part * budget.delta
    left = budget.spare_delta(naming)
    assert naming + (1 - naming) * left == budget.delta
    assert budget.epsilon is not None
    assert budget.rho_for_steps(naming) == zcdp_rho(budget.epsilon, left)
    assert budget.mu_squared_for_steps(naming) == composition.gdp_mu(budget.epsilon, left) ** 2
    for normal in (False, True):
        assert budget.cost(naming, normal=normal) == PrivacyCost(budget.epsilon, budget.delta)
    assert budget.zcdp(naming) is None
    assert budget.loss == budget.epsilon


@given(RHOS, st.floats(1e-200, 0.9), st.fractions(Fraction(1, 9), 1))
@pytest.mark.full
def test_a_rho_is_spent_whole(rho: Fraction, delta: float, share: Fraction) -> None:
    budget = PrivacyBudget.of(None, delta, rho, otherwise=1.0)
    naming = budget.delta_for_names(share)
    assert naming == budget.delta / 2
    assert budget.rho_for_steps(naming) == rho
    assert budget.mu_squared_for_steps(naming) == 2 * rho
    assert budget.zcdp(naming) == ZcdpCost(rho, naming)
    for named in (naming, Fraction(0)):
        left = budget.spare_delta(named)
        assert named + (1 - named) * left == budget.delta
        for normal, loss in ((False, zcdp_epsilon(rho, left)), (True, gdp_epsilon(2 * rho, left))):
            assert budget.cost(named, normal=normal) == PrivacyCost(loss, budget.delta)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"rho": 0.1, "epsilon": 1.0}, "give epsilon or rho, not both"),
    ({"rho": 0.1, "delta": 0}, "delta must be above 0 with rho: the epsilon that follows from rho"),
    *(
        ({"rho": wrong}, f"rho must be a number above 0, not {wrong!r}")
        for wrong in (0, -1, "x", True, float("nan"))
    ),
    ({"rho": 1e-19}, "rho must lie between 1e-18 and 1e+08, not 1e-19"),
    ({"rho": 1e9}, "rho must lie between 1e-18 and 1e+08, not 1000000000.0"),
    ({"rho": 0.1, "delta": 1}, "delta must be 0 or a number above 0 and below 1, not 1"),
    ({"rho": 1e-18, "top": 100, "mechanism": "limited-domain"}, "rho leaves next to nothing"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_wrong_is_refused_in_a_line(number: int) -> None:
    wrong, message = REFUSED[number]
    calls: list[Any] = [fim.mine, partial(fim.count, itemsets=[["a"]])]
    for call in calls[: 1 if "mechanism" in wrong else 2]:
        with pytest.raises(ParameterError) as caught:
            call("no such file", **wrong)
        assert str(caught.value).startswith(message)


ASKED: dict[str, dict[str, Any]] = {
    "one": {},
    "several": {"top": 3, "supports": True},
    "sizes": {"top": 3, "size": "1-3", "union": True},
    "supports": {"top": 3, "catalogue": CATALOGUE, "mechanism": "exponential", "supports": True},
    "levelwise over a catalogue": {"top": 3, "catalogue": CATALOGUE, "supports": True},
    "pure": {"top": 2, "catalogue": CATALOGUE, "mechanism": "permute-and-flip"},
    "margin": {"mechanism": "large-margin", "top": 2, "size": "1-2"},
    "size only": {"mechanism": "exponential", "universe_size": 5, "top": 2},
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_the_parts_are_rho(asked: dict[str, Any], neighbors: str) -> None:
    release = fim.mine(BASKETS, rho=0.3, neighbors=neighbors, seed=1, **asked)
    assert release.zcdp is not None
    assert release.rho == release.zcdp.rho == Fraction(3, 10)
    rhos = [step.rho if step.mu_squared is None else step.mu_squared / 2 for step in release.shares]
    assert sum(rho or 0 for rho in rhos) == Fraction(3, 10)
    assert all(share.epsilon is None for share in release.shares)
    listed = "catalogue" in asked
    assert release.zcdp.delta == (0 if listed else Fraction(1, 2 * 10**6))
    assert release.cost.delta in (0 if listed else release.zcdp.delta, Fraction(1, 10**6))
    left = (Fraction(1, 10**6) - release.zcdp.delta) / (1 - release.zcdp.delta)
    assert release.cost.epsilon <= zcdp_epsilon(Fraction(3, 10), left)
    found = json.loads(release.to_json())
    assert (found["rho"], found["zcdp_delta"]) == (0.3, float(release.zcdp.delta))
    assert found["epsilon"] == release.epsilon
    assert list(found).index("rho") == list(found).index("delta") + 1


def test_what_is_purely_private_says_so() -> None:
    """A pick with √(8ρ) of epsilon is private with that epsilon: less than ρ alone would imply."""
    normal = fim.mine(BASKETS, rho=0.3, top=3, seed=1)  # of levelwise all is Gaussian: μ² = 2ρ
    left = (Fraction(1, 10**6) - Fraction(1, 2 * 10**6)) / (1 - Fraction(1, 2 * 10**6))
    assert normal.cost == PrivacyCost(gdp_epsilon(Fraction(6, 10), left), Fraction(1, 10**6))
    alone: dict[str, Any] = {"top": 1, "supports": False, "seed": 1}
    one = fim.mine(BASKETS, rho=0.5, catalogue=CATALOGUE, mechanism="exponential", **alone)
    assert one.cost == PrivacyCost(2, 0)
    flipped = fim.mine(BASKETS, rho=0.5, catalogue=CATALOGUE, mechanism="permute-and-flip", seed=1)
    assert flipped.cost == PrivacyCost(1, 0)
    noisy = fim.mine(BASKETS, rho=0.5, catalogue=CATALOGUE, mechanism="exponential", seed=1)
    assert noisy.cost.delta == Fraction(1, 10**6)
    limited = fim.mine(BASKETS, rho=0.125, mechanism="limited-domain", **alone)
    assert limited.cost == PrivacyCost(1, Fraction(1, 2 * 10**6))


@pytest.mark.parametrize("mechanism", registry.single())
def test_every_mechanism_takes_a_rho(mechanism: str) -> None:
    more: dict[str, Any] = {"max_basket": 3} if mechanism == "choosing" else {}
    if registry.spec_named(mechanism).universe.name != "UNKNOWN":
        more = {"catalogue": CATALOGUE}
    kinds = {"add-remove": NoiseKind.TWO_NORMALS, "replace-one": NoiseKind.GAUSSIAN}
    for neighbors, kind in kinds.items():
        asked: Any = {"mechanism": mechanism, "top": 2, "supports": True, "keep_all": True}
        release = fim.mine(BASKETS, rho=1, neighbors=neighbors, **asked, **more)
        assert release.rho == 1
        assert release.noise is None or release.noise.kind is kind


def test_counts_spend_a_rho() -> None:
    given = [["bread"], ["tea", "jam"]]
    release = fim.count(BASKETS, given, rho=0.05)
    assert release.zcdp == ZcdpCost(0.05, 0)
    assert release.noise is not None
    assert release.noise == SupportNoise.with_units(TENTH, 2)
    replaced = fim.count(BASKETS, given, rho=0.05, neighbors="replace-one").noise
    assert replaced == SupportNoise.for_mu_squared(TENTH, 2)
    assert release.cost == PrivacyCost(gdp_epsilon(TENTH, Fraction(1, 10**6)), 1e-6)
    assert release.shares[0].mu_squared == TENTH


def test_the_guarantee_says_what_adds_up() -> None:
    shown = " ".join(render_table(fim.mine(BASKETS, rho=0.1, top=3), Screen()).split())
    assert "This follows from 5e-07-approximately ρ-zCDP with ρ = 0.1, which adds up" in shown
    release = fim.mine(BASKETS, rho=0.1, catalogue=CATALOGUE, mechanism="exponential")
    pure = render_table(release, Screen())
    assert "This follows from ρ-zCDP with ρ = 0.1" in " ".join(pure.split())
    assert "zCDP" not in render_table(fim.mine(BASKETS), Screen())


def test_the_advice_is_about_rho() -> None:
    few = fim.mine(BASKETS, rho=0.02, top=9, mechanism="limited-domain", supports=False)
    # ρ = 0.2 is an ε above 3
    assert "To find more: fim.mine(..., rho=0.1)" in render_table(few, Screen())
    for mechanism in ("levelwise", "limited-domain", "large-margin"):
        nothing = render_table(fim.mine(BASKETS[:9], rho=0.1, top=2, mechanism=mechanism), Screen())
        assert "epsilon=" not in nothing
        assert "--epsilon" not in nothing
