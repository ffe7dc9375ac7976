"""The accountant: what the steps of a plan cost, under every way of adding up."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from asking import request_for
from hypothesis import given, settings
from hypothesis import strategies as st

from fim_private.dp import accountant
from fim_private.dp.accountant import Choices, Step, StepComposition, cost_of_training
from fim_private.dp.composition import PrivacyBudget, gdp_epsilon, zcdp_epsilon
from fim_private.dp.cost import Exact, PrivacyCost, ZcdpCost
from fim_private.errors import ParameterError
from fim_private.request.allocation import plan_of, plan_of_given
from fim_private.request.plan import ReleasePlan

MILLIONTH = Fraction(1, 10**6)
BUDGETS: list[dict[str, Any]] = [
    {"epsilon": Fraction(1, 10)},
    {"epsilon": Fraction(3)},
    {"epsilon": None, "rho": Fraction(1, 20)},
    {"epsilon": None, "rho": Fraction(1, 1000)},
]
REQUESTS = st.fixed_dictionaries(
    {
        "mechanism": st.sampled_from(["limited-domain", "levelwise", "large-margin"]),
        "neighbors": st.sampled_from(["add-remove", "replace-one"]),
        "sizes": st.sampled_from([(2,), (1, 2, 3)]),
        "top": st.sampled_from([1, 7, 100]),
        "union": st.booleans(),
        "supports_share": st.sampled_from([Fraction(0), Fraction(1, 3)]),
    }
)


def certified_epsilon(plan: ReleasePlan) -> list[Fraction]:
    """Every ε that holds at the δ of the plan, by the steps alone."""
    steps, cost = plan.steps, plan.cost
    spare = (cost.delta - plan.names_delta) / (1 - plan.names_delta)
    epsilons = []
    if all(step.epsilon is not None for step in steps):
        epsilons.append(sum((Fraction(step.epsilon or 0) for step in steps), Fraction(0)))
    if all(step.choices is not None for step in steps):
        choices = [step.choices for step in steps if step.choices]
        epsilons.append(sum((each.count * each.epsilon for each in choices), Fraction(0)))
    if all(step.mu_squared is not None for step in steps):
        mu_squared = sum((Fraction(step.mu_squared or 0) for step in steps), Fraction(0))
        epsilons.append(gdp_epsilon(mu_squared, spare))
    if all(step.rho is not None for step in steps) and spare > 0:
        rho = sum((Fraction(step.rho or 0) for step in steps), Fraction(0))
        epsilons.append(zcdp_epsilon(rho, spare))
    return epsilons


@settings(max_examples=60, deadline=None)
@given(REQUESTS, st.sampled_from(BUDGETS))
def test_what_a_plan_costs_follows_from_its_steps(asked: dict[str, Any], budget: Any) -> None:
    if len(asked["sizes"]) == 1:
        asked["union"] = False
    try:
        plan = plan_of(request_for(**asked, **budget))
    except ParameterError:  # so little for each of many itemsets
        return
    assert sum(step.fraction for step in plan.steps) == 1
    assert plan.cost.delta <= MILLIONTH
    # What was solved for to twelve digits is stated as it was asked for.
    assert min(certified_epsilon(plan)) <= plan.cost.epsilon * (1 + Fraction(1, 10**9))
    rho = sum(Fraction(step.zcdp.rho) for step in plan.steps)
    assert plan.zcdp == ZcdpCost(
        rho,
        plan.names_delta + sum(step.delta or 0 for step in plan.steps),
        normal=plan.composition is StepComposition.GAUSSIAN,
    )


def test_bounded_range_choices_cost_an_eighth_in_zcdp() -> None:
    choices = Choices(4, Fraction(1, 2), bounded_range=True)
    step = Step("selection", (2,), Fraction(1), Exact(2), Exact(MILLIONTH), choices=choices)
    assert step.zcdp == ZcdpCost(Fraction(4, 4 * 8), MILLIONTH)
    loose = Choices(4, Fraction(1, 2), bounded_range=False)
    assert Step("selection", (2,), Fraction(1), Exact(2), choices=loose).zcdp.rho == Fraction(1, 2)
    assert Step("supports", (2,), Fraction(1), Exact(2)).zcdp.rho == 2


@pytest.mark.parametrize("joint_noise", [False, True])
def test_given_itemsets_cost_in_zcdp_what_their_noise_does(joint_noise: bool) -> None:
    budget = PrivacyBudget(Fraction(1), MILLIONTH)
    plan = plan_of_given(budget, (2,), 50, with_count=True, joint_noise=joint_noise)
    noise: Any = plan.noise(50)
    count = plan.step("count")
    others = Fraction(0) if count is None else Fraction(count.zcdp.rho)
    assert plan.zcdp == ZcdpCost(noise.rho + others, 0, normal=True)
    assert plan.composition is StepComposition.GAUSSIAN


def test_a_unit_in_several_segments_pays_for_each() -> None:
    half = PrivacyBudget(Fraction(1, 2), MILLIONTH)
    cost, zcdp = PrivacyCost(half.loss, half.delta), ZcdpCost(Fraction(1, 8), 0)
    assert accountant.cost_of_releases([(cost, zcdp)], 1, half) == (cost, zcdp)
    total, total_zcdp = accountant.cost_of_releases([(cost, zcdp)], 3, half)
    assert total == PrivacyCost(Fraction(3, 2), 3 * MILLIONTH)
    assert total.as_total == "ε = 1.5 (stated at δ = 3e-06)"
    assert PrivacyCost(1, 0).as_total == "ε = 1"
    assert total_zcdp == ZcdpCost(Fraction(3, 8), 0)


def test_releases_of_different_cost_add_up() -> None:
    whole = PrivacyBudget(Fraction(1), MILLIONTH)
    pure = PrivacyCost(Fraction(1, 2), 0), ZcdpCost(Fraction(1, 8), 0)
    normal = PrivacyCost(Fraction(1, 2), MILLIONTH), ZcdpCost(Fraction(1, 32), 0, normal=True)
    total, total_zcdp = accountant.cost_of_releases([pure, normal], 1, whole)
    assert total == PrivacyCost(1, MILLIONTH)
    assert total_zcdp == ZcdpCost(Fraction(5, 32), 0)
    assert not total_zcdp.normal
    twice, _ = accountant.cost_of_releases([pure, normal], 2, whole)
    assert twice == PrivacyCost(2, 2 * MILLIONTH)


@pytest.mark.parametrize("mechanism", ["limited-domain", "levelwise"])
def test_steps_that_spend_more_than_the_budget_have_no_cost(mechanism: str) -> None:
    plan = plan_of(request_for(mechanism, top=20, supports_share=Fraction(1, 3)))
    assert plan.cost.epsilon == 1
    supports = plan.steps[-1]
    assert supports.purpose == "supports"
    with pytest.raises(ValueError, match="more than its budget"):
        _ = replace(plan, steps=(*plan.steps, supports)).cost


def test_training_and_choosing_cost_what_theorem_22_says() -> None:
    training, choice = Fraction(1, 4), Fraction(1)
    assert cost_of_training(training, choice, retrain=True) == PrivacyCost(Fraction(5, 4), 0)
    # A unit to validate with spends more than half of the choice and the training.
    assert cost_of_training(training, choice, retrain=False) == PrivacyCost(1, 0)
    assert cost_of_training(Fraction(2), choice, retrain=False) == PrivacyCost(Fraction(5, 2), 0)
