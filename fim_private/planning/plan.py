"""A plan for one itemset: what each mechanism needs, and which to take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from typing import Any, overload

from fim_private import options
from fim_private.display import Table
from fim_private.dp.cost import Exact, at_least
from fim_private.dp.parameters import (
    exact_delta_or_zero,
    exact_epsilon,
    exact_fraction,
    exact_neighbors,
    public_integer,
)
from fim_private.errors import ParameterError, parameter, shown
from fim_private.mechanisms import Mechanism, registry
from fim_private.mechanisms.base import PublicParameters
from fim_private.mechanisms.needs import prospects
from fim_private.mechanisms.registry import BasketCap, MechanismSpec, RankCap, UniverseNeed
from fim_private.planning.customers import USUAL_TOP, CustomerPlan, ListGain, list_gain, plan_customers
from fim_private.spectrum import candidate_itemsets

# -------------------- results
# A plan: the figures of every mechanism, which one is recommended, and why, in words.


@dataclass(frozen=True)
class PlannedMechanism:
    """What one mechanism takes to succeed with the plan's confidence; figures in units, None where it never does.

    required_support: the least support with which an itemset is released, where no other has any.
    required_share: the same in % of all units; None where their number was not given.
    required_margin: the least margin of one itemset over many others that are tied, with which it is released.
    required_margin_tied: the least margin of ten that are tied over many others, with which any of the ten is released.
    expected_regret: at required_support, the mean support that is lost; an abstention loses all of it.
    feasible: whether it can run, and required_support is no more than the units; None where it can run and
        they were not given.
    needs: public parameters that it takes. missing: those of them that were not given, so that it cannot run.
    """

    name: str
    required_support: int | None
    required_share: float | None
    required_margin: int | None
    required_margin_tied: int | None
    expected_regret: float | None
    feasible: bool | None
    needs: tuple[str, ...]
    missing: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, one key per field."""
        return asdict(self) | {"needs": list(self.needs), "missing": list(self.missing)}


@dataclass(frozen=True, repr=False)
class Plan:
    """What each mechanism takes with these parameters, which are those of plan(), and which one to use.

    recommended: the name of one of mechanisms. reason: why, in a sentence or two, or what to change if none will do.
    len() and iteration are of the mechanisms; plan["exponential"] is that of a name.
    """

    units: int | None
    size: int
    epsilon: float
    delta: float
    neighbors: str
    universe_size: int | None
    max_basket: int | None
    max_baskets: int | None
    max_rank: int | None
    confidence: float
    mechanisms: tuple[PlannedMechanism, ...]
    recommended: str
    reason: str

    @property
    def title(self) -> str:
        """What was asked, in words."""
        among = "" if self.units is None else f" among {of_units(self.units)}"
        return (
            f"What it takes to find an itemset of {self.size}{among} with {percent(100 * self.confidence)} probability "
            f"(ε = {at_least(self.epsilon)}, δ = {at_least(self.delta)}, {self.neighbors})"
        )

    def __len__(self) -> int:
        return len(self.mechanisms)

    def __iter__(self) -> Iterator[PlannedMechanism]:
        return iter(self.mechanisms)

    def __getitem__(self, name: str) -> PlannedMechanism:
        return {mechanism.name: mechanism for mechanism in self.mechanisms}[name]

    def _table(self) -> Table:
        """Return what is shown of it: the recommended mechanism first, last those that lack something."""
        ordered = sorted(self.mechanisms, key=lambda one: (one.name != self.recommended, one.required_support is None))
        return Table(
            self.title,
            ("mechanism", "support needed", "margin needed", "lacks"),
            [
                (one.name, or_dash(one.required_support), or_dash(one.required_margin), ", ".join(one.missing))
                for one in ordered
            ],
            numbers=frozenset({1, 2}),
            notes=[self.reason],
            rest="plan.to_pandas()",
        )

    def __repr__(self) -> str:
        return f"Plan: {self._table().text()}"

    def _repr_html_(self) -> str:
        return self._table().html()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: one key per field, mechanisms being a list of dictionaries."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"mechanisms": [mechanism.to_dict() for mechanism in self.mechanisms]}

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame, one row per mechanism, columns as in PlannedMechanism.to_dict."""
        import pandas as pd

        return pd.DataFrame([mechanism.to_dict() for mechanism in self.mechanisms])


def recommended(mechanisms: Sequence[PlannedMechanism]) -> PlannedMechanism:
    """Return, of those that can run, the one whose largest figure is least: of support, margin, and margin when tied.

    Those whose support the units can reach come first. Of equal ones fewer needs decide, then the order.
    """

    def cost(mechanism: PlannedMechanism) -> tuple[bool, bool, float, int]:
        figures = mechanism.required_support, mechanism.required_margin, mechanism.required_margin_tied
        most = max(math.inf if figure is None else figure for figure in figures)
        return bool(mechanism.missing), mechanism.feasible is False, most, len(mechanism.needs)

    return min(mechanisms, key=cost)


def reason(best: PlannedMechanism, *, units: int | None, size: int, confidence: float, epsilon: float | None) -> str:
    """Return why this mechanism is recommended, or what to change if it will not do, in a sentence or two.

    units, size, confidence: as in plan(). epsilon: a larger one with which the units suffice; None if none is advised.
    """
    chance = percent(100 * confidence)
    if best.required_support is None:
        return f"No mechanism succeeds with {chance} probability at these parameters: ask for less confidence."
    support = f"{best.required_support:,}"
    if best.feasible is False and units is not None:
        ways = [f"more units: {support} at the very least, since so many must have the itemset"]
        if epsilon is not None:
            ways.append(f"a larger epsilon: {at_least(epsilon)} would do")
        return (
            f"None will do: {of_units(units)} are too few to find anything with {chance} probability; "
            f"{best.name} finds an itemset once {support} units have it and it leads. It takes {'; or '.join(ways)}."
        )
    share = None if best.required_share is None else f"{support} of {of_units(units)} ({percent(best.required_share)})"
    described = f"{best.name}: {registry.spec_named(best.name).description}"
    found = (
        f"{described}. An itemset of {size} is found with {chance} probability once "
        f"{share or of_units(best.required_support)} have it"
    )
    if best.required_margin is not None:
        found += f" and it leads the others by {best.required_margin:,}"
    if best.required_margin_tied is None:
        found += "; where several lead together none is found"
    return f"{found}."


def of_units(number: int | None) -> str:
    """Return "1 unit", "2 units", …"""
    return "1 unit" if number == 1 else f"{number:,} units"


def or_dash(figure: int | None) -> str:
    """Return a figure as text, a dash for none."""
    return "–" if figure is None else f"{figure:,}"


def percent(value: float) -> str:
    """Return a percentage in words: two digits below 10, 99.9 and the like in full."""
    return f"{value:.2g} %" if value < 10 else f"{value:,.10g} %" if value < 100 else f"{value:,.0f} %"


# -------------------- given
# The public parameters of a plan, checked, and what one selection by a mechanism takes with them.

CATALOGUE = "catalogue of all items"
BASKET_CAP = "cap on basket size"
BASKETS_CAP = "cap on baskets per unit"
RANK_CAP = "public rank cap"
DELTA = "delta above 0"

# The largest epsilon that is advised.
_LARGEST_ADVISED = 10
# More ranks than there can be itemsets; the search of tight-margin is followed through all that are given.
_LARGEST_RANK = 10**30


@dataclass(frozen=True)
class Given:
    """The parameters of plan(), checked; once built, they are plain values.

    size: items per itemset; of several sizes the largest.
    """

    units: int | None
    size: int
    epsilon: float | Fraction
    delta: float | Fraction
    neighbors: str
    universe_size: int | None
    max_basket: int | None
    max_baskets: int | None
    max_rank: int | None
    confidence: float

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        registry.check_delta(
            exact_delta_or_zero(self.delta),
            None,
            listed=self.universe_size is not None,
            give=f"{parameter('universe_size')}, how many it has",
        )
        object.__setattr__(self, "neighbors", exact_neighbors(self.neighbors).value)
        for name in ("units", "size", "universe_size", "max_basket", "max_baskets", "max_rank"):
            if (value := getattr(self, name)) is not None or name == "size":
                object.__setattr__(self, name, public_integer(name, value))  # a numpy integer is no plain value
        object.__setattr__(self, "confidence", float(exact_fraction("confidence", self.confidence)))
        if self.max_rank is not None and self.max_rank > _LARGEST_RANK:
            raise ParameterError(f"{parameter('max_rank')} must be at most 1e30 to be planned for")
        if self.max_baskets is not None and self.max_basket is None:
            raise ParameterError(
                f"{parameter('max_baskets')} goes with {parameter('max_basket')}: "
                "how many baskets of a unit count at most"
            )
        if self.max_basket is not None and self.max_basket < self.size:
            raise ParameterError(
                f"{parameter('max_basket')} must be at least the size {shown(self.size)}, not {shown(self.max_basket)}"
            )
        for count in (self.universe_size, self.max_basket):
            if count is not None:
                candidate_itemsets(count, self.size, "universe_size")

    def planned(self, spec: MechanismSpec) -> PlannedMechanism:
        """Return the figures of one mechanism."""
        needs = self.needs(spec)
        if missing := tuple(need for need in needs if need in self.missing):
            return PlannedMechanism(spec.name, None, None, None, None, None, False, needs, missing)
        candidates = self.candidates(spec, (self.size,))
        found = prospects(self._mechanism(spec), self.confidence, candidates)
        share, feasible = self.among_units(found.support)
        figures = found.support, share, found.margin, found.margin_tied, found.regret
        return PlannedMechanism(spec.name, *figures, feasible, needs, ())

    def among_units(self, support: int | None) -> tuple[float | None, bool | None]:
        """Return a support in percent of the units, and whether they are enough for it; None where it is not known."""
        if self.units is None:
            return None, None
        return None if support is None else 100 * support / self.units, support is not None and support <= self.units

    def enough_epsilon(self, spec: MechanismSpec) -> float | None:
        """Return epsilon, doubled until the units suffice; None where it would have to exceed 10."""
        epsilon = 2 * float(self.epsilon)
        while epsilon <= _LARGEST_ADVISED:
            if replace(self, epsilon=epsilon).planned(spec).feasible:
                return epsilon
            epsilon *= 2
        return None

    def public(self, spec: MechanismSpec, sizes: Sequence[int], top: int) -> PublicParameters:
        """Return the public parameters of one selection of up to `top` itemsets of these sizes."""
        candidates = self.candidates(spec, sizes)
        caps = (self.max_rank, self.max_basket, self.max_baskets)
        return PublicParameters(tuple(sizes), top, self.neighbors, candidates, candidates is not None, *caps)

    def candidates(self, spec: MechanismSpec, sizes: Sequence[int]) -> int | None:
        """Return how many itemsets the mechanism chooses from over a public universe; None over an unknown one."""
        if spec.universe is UniverseNeed.UNKNOWN or self.universe_size is None:
            return None
        return sum(candidate_itemsets(self.universe_size, size, "universe_size") for size in sizes)

    def _mechanism(self, spec: MechanismSpec) -> Mechanism:
        """Return the mechanism as the public parameters build it."""
        public = self.public(spec, (self.size,), 1)
        return registry.build(spec, exact_epsilon(self.epsilon), exact_delta_or_zero(self.delta), public)

    def needs(self, spec: MechanismSpec) -> tuple[str, ...]:
        """Return the public parameters that a mechanism takes, in words."""
        needs = [CATALOGUE] * (spec.universe is not UniverseNeed.UNKNOWN) + [RANK_CAP] * (
            spec.rank_cap is RankCap.CANDIDATES
        )
        # An optional cap counts where it is given.
        if spec.basket_cap is BasketCap.NEEDED or (spec.basket_cap is BasketCap.OPTIONAL and self.max_basket):
            needs += [BASKET_CAP] + [BASKETS_CAP] * (self.max_baskets is not None)
        return (*needs, *[DELTA] * (spec.spends_delta and not self.delta))

    @property
    def missing(self) -> set[str]:
        """The public parameters, in words, that were not given."""
        given = {CATALOGUE: self.universe_size, BASKET_CAP: self.max_basket, DELTA: self.delta or None}
        return {need for need, value in given.items() if value is None}


# -------------------- planning
# Planning: what each mechanism needs in order to succeed, from public parameters alone. No data is read here.
#
# given         The public parameters, checked, and what one selection takes with them.
# results       The figures of every mechanism, which one is recommended, and why.
# top_plan      The same for many itemsets, by how many.
# top_results   Its figures, which mechanism to take for how many, and why.
# forecast      About what share of the true top is found, where users are protected.
# customers     The plan for users: that share, with a product list and without, under both neighbour relations.
# product_list  What a product list would bring.

__all__ = ["CustomerPlan", "ListGain", "Plan", "PlannedMechanism", "list_gain", "plan", "plan_grid"]


@overload
def plan(
    *,
    units: int | None = None,
    size: int = options.SIZE,
    epsilon: float | Fraction = options.EPSILON,
    delta: float | Fraction = options.DELTA,
    neighbors: str = options.NEIGHBORS,
    universe_size: int | None = None,
    max_basket: int | None = None,
    max_baskets: int | None = None,
    max_rank: int | None = None,
    confidence: float = options.CONFIDENCE,
) -> Plan: ...


@overload
def plan(
    *,
    units: int | None = None,
    user_items: float,
    top: int = USUAL_TOP,
    size: int | str | Iterable[int] = options.SIZE,
    union: bool = False,
    epsilon: float | Fraction = options.EPSILON,
    delta: float | Fraction = options.DELTA,
    neighbors: str = options.NEIGHBORS,
    universe_size: int | None = None,
) -> CustomerPlan: ...


def plan(
    *,
    units: int | None = None,
    user_items: float | None = None,
    top: int | None = None,
    size: Any = options.SIZE,
    union: bool = False,
    epsilon: float | Fraction = options.EPSILON,
    delta: float | Fraction = options.DELTA,
    neighbors: str = options.NEIGHBORS,
    universe_size: int | None = None,
    max_basket: int | None = None,
    max_baskets: int | None = None,
    max_rank: int | None = None,
    confidence: float = options.CONFIDENCE,
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
        for name, value in (given_in_vain | {"confidence": None if confidence == options.CONFIDENCE else 0}).items():
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
