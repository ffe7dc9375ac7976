"""Planning: what each mechanism needs in order to succeed, from public parameters alone. No data is read here.

given         The public parameters, checked, and what one selection takes with them.
results       The figures of every mechanism, which one is recommended, and why.
top_plan      The same for many itemsets, by how many.
top_results   Its figures, which mechanism to take for how many, and why.
forecast      About what share of the true top is found, where users are protected.
customers     The plan for users: that share, with a product list and without, under both neighbour relations.
product_list  What a product list would bring.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any, overload

from fim_private import defaults
from fim_private.dp.cost import Exact
from fim_private.dp.parameters import exact_neighbors
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms import registry
from fim_private.planning.customers import USUAL_TOP, CustomerPlan, plan_customers
from fim_private.planning.given import Given
from fim_private.planning.product_list import ListGain, list_gain
from fim_private.planning.results import Plan, PlannedMechanism, reason, recommended

__all__ = ["CustomerPlan", "ListGain", "Plan", "PlannedMechanism", "list_gain", "plan", "plan_grid"]


@overload
def plan(
    *,
    units: int | None = None,
    size: int = defaults.SIZE,
    epsilon: float | Fraction = defaults.EPSILON,
    delta: float | Fraction = defaults.DELTA,
    neighbors: str = defaults.NEIGHBORS,
    universe_size: int | None = None,
    max_basket: int | None = None,
    max_baskets: int | None = None,
    max_rank: int | None = None,
    confidence: float = defaults.CONFIDENCE,
) -> Plan: ...


@overload
def plan(
    *,
    units: int | None = None,
    user_items: float,
    top: int = USUAL_TOP,
    size: int | str | Iterable[int] = defaults.SIZE,
    union: bool = False,
    epsilon: float | Fraction = defaults.EPSILON,
    delta: float | Fraction = defaults.DELTA,
    neighbors: str = defaults.NEIGHBORS,
    universe_size: int | None = None,
) -> CustomerPlan: ...


def plan(
    *,
    units: int | None = None,
    user_items: float | None = None,
    top: int | None = None,
    size: Any = defaults.SIZE,
    union: bool = False,
    epsilon: float | Fraction = defaults.EPSILON,
    delta: float | Fraction = defaults.DELTA,
    neighbors: str = defaults.NEIGHBORS,
    universe_size: int | None = None,
    max_basket: int | None = None,
    max_baskets: int | None = None,
    max_rank: int | None = None,
    confidence: float = defaults.CONFIDENCE,
) -> Plan | CustomerPlan:
    """Return what each mechanism takes to succeed, and recommend one. No data is read.

    With user_items: what share of the `top` most frequent itemsets is found where users are protected, with a product
    list and without, under both neighbour relations. That is an estimate (`planning.forecast`).

    units: n >= 1, how many baskets there are, or users where those are protected. size: items per itemset, >= 1.
    epsilon: 1e-9 to 1e9. delta: 1e-300 up to below 1, or with a universe_size 0: the mechanisms that spend one are then
        not planned. neighbors: "replace-one" or "add-remove".
    universe_size: the public number of items, all of which a catalogue lists; None where there is no catalogue.
    max_basket: the public cap on items per basket, at least the size, to which baskets are cut. max_baskets: that on
        baskets per unit, >= 1, 1 if not given, of no use without it. Together they bound the itemsets of one unit.
    max_rank: the public rank cap, 1 to 1e30, for mechanisms that have one; each has a default of its own.
    confidence: the probability of success that is planned for, in (0, 1).
    user_items: how many different items a user has bought in all, on average, from the size to 1e6. It goes with units,
        and with neither caps nor a confidence. top, union: as in mine, for user_items only; size is then as in mine,
        universe_size how many items the list has, and delta above 0. (For units that are baskets: plan_top.)

    A mechanism over a public universe is planned over the catalogue, the others without.
    Figures are exact for epsilon >= 0.1. Below, those of the mechanisms whose noise is averaged over are scaled, and up
    to 1 % too high. Recommended is, of those that can run and whose support the units can reach, the one that needs
    least.
    Raises ParameterError for a parameter outside its range.

    >>> found = plan(units=100_000, epsilon=1.0, delta=1e-6, max_rank=1000)
    >>> found.recommended, [m.required_support for m in found.mechanisms if m.name == found.recommended]
    ('limited-domain', [25])
    >>> plan(units=10_000, user_items=30, top=50).expected_found["add-remove"]
    {'no list': 0.8724, 'list': 0.8903}
    """
    if user_items is not None:
        given_in_vain = {"max_basket": max_basket, "max_baskets": max_baskets, "max_rank": max_rank}
        for name, value in (given_in_vain | {"confidence": None if confidence == defaults.CONFIDENCE else 0}).items():
            if value is not None:
                raise ParameterError(f"{parameter(name)} has no use with {parameter('user_items')}: leave it out")
        exact_neighbors(neighbors)  # both are planned for
        return plan_customers(
            units=units,
            user_items=user_items,
            top=USUAL_TOP if top is None else top,
            size=size,
            union=union,
            epsilon=epsilon,
            delta=delta,
            universe_size=universe_size,
        )
    if top is not None or union:
        name = "union" if top is None else "top"
        raise ParameterError(f"{parameter(name)} goes with {parameter('user_items')}; for baskets there is plan_top()")
    given = Given(units, size, epsilon, delta, neighbors, universe_size, max_basket, max_baskets, max_rank, confidence)
    mechanisms = tuple(given.planned(spec) for spec in registry.single().values())
    best = recommended(mechanisms)
    words = reason(
        best,
        units=given.units,
        size=given.size,
        confidence=given.confidence,
        epsilon=given.enough_epsilon(registry.spec_named(best.name)) if best.feasible is False else None,
    )
    parameters = asdict(given) | {"epsilon": float(Exact(epsilon)), "delta": float(Exact(delta))}
    return Plan(**parameters, mechanisms=mechanisms, recommended=best.name, reason=words)


def plan_grid(epsilons: Sequence[float], **parameters: Any) -> tuple[Plan, ...]:
    """Return one plan for each epsilon, in order. No data is read.

    epsilons: one or more. parameters: of plan, the same for all.
    Raises ParameterError for no epsilon, and as plan does.
    """
    if not len(epsilons):
        raise ParameterError(f"{parameter('epsilons')} must hold at least one")
    return tuple(plan(epsilon=epsilon, **parameters) for epsilon in epsilons)
