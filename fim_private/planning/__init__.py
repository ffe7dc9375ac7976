"""Planning: what each mechanism needs in order to succeed, from public parameters alone. No data is read here.

search   The least support and the least margin with which a mechanism succeeds.
results  The figures of every mechanism, which one is recommended, and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from fim_private import defaults
from fim_private.dp.cost import Exact
from fim_private.dp.parameters import exact_delta, exact_epsilon, exact_neighbors, positive_integer
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms import Mechanism, registry
from fim_private.mechanisms.mechanism_spec import BasketCap, MechanismSpec, RankCap, UniverseNeed
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.planning.results import Plan, PlannedMechanism, reason, recommended
from fim_private.planning.search import prospects
from fim_private.spectrum import candidate_itemsets

__all__ = ["Plan", "PlannedMechanism", "plan", "plan_grid"]

CATALOGUE = "catalogue of all items"
BASKET_CAP = "cap on basket size"
BASKETS_CAP = "cap on baskets per unit"
RANK_CAP = "public rank cap"

# The largest epsilon that is advised.
_LARGEST_ADVISED = 10
# More ranks than there can be itemsets; the search of tight-margin is followed through all that are given.
_LARGEST_RANK = 10**30


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
) -> Plan:
    """Return what each mechanism takes to succeed, and recommend one. No data is read.

    units: n >= 1, how many baskets there are, or users where those are protected. size: items per itemset, >= 1.
    epsilon: 1e-9 to 1e9. delta: 1e-300 up to below 1. neighbors: "replace-one" or "add-remove".
    universe_size: the public number of items, all of which a catalogue lists; None where there is no catalogue.
    max_basket: the public cap on items per basket, at least the size, to which baskets are cut. max_baskets: that on
        baskets per unit, >= 1, 1 if not given, of no use without it. Together they bound the itemsets of one unit.
    max_rank: the public rank cap, 1 to 1e30, for mechanisms that have one; each has a default of its own.
    confidence: the probability of success that is planned for, in (0, 1).

    A mechanism over a public universe is planned over the catalogue, the others without.
    Figures are exact for epsilon >= 0.1. Below, those of the mechanisms whose noise is averaged over are scaled, and up
    to 1 % too high. Recommended is, of those that can run and whose support the units can reach, the one that needs
    least.
    Raises ParameterError for a parameter outside its range.

    >>> found = plan(units=100_000, epsilon=1.0, delta=1e-6, max_rank=1000)
    >>> found.recommended, [m.required_support for m in found.mechanisms if m.name == found.recommended]
    ('limited-domain', [51])
    """
    given = _Given(units, size, epsilon, delta, neighbors, universe_size, max_basket, max_baskets, max_rank, confidence)
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


@dataclass(frozen=True)
class _Given:
    """The parameters of plan(), checked; once built, they are plain values."""

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
        exact_delta(self.delta)
        object.__setattr__(self, "neighbors", exact_neighbors(self.neighbors).value)
        for name in ("units", "size", "universe_size", "max_basket", "max_baskets", "max_rank"):
            if (value := getattr(self, name)) is not None or name == "size":
                object.__setattr__(self, name, positive_integer(name, value))  # a numpy integer is no plain value
        if not isinstance(self.confidence, float | int | Fraction) or not 0 < self.confidence < 1:
            raise ParameterError(
                f"{parameter('confidence')} must be a number above 0 and below 1, not {self.confidence!r}"
            )
        object.__setattr__(self, "confidence", float(self.confidence))
        if self.max_rank is not None and self.max_rank > _LARGEST_RANK:
            raise ParameterError(f"{parameter('max_rank')} must be at most 1e30 to be planned for")
        if self.max_baskets is not None and self.max_basket is None:
            raise ParameterError(
                f"{parameter('max_baskets')} goes with {parameter('max_basket')}: "
                "how many baskets of a unit count at most"
            )
        if self.max_basket is not None and self.max_basket < self.size:
            raise ParameterError(
                f"{parameter('max_basket')} must be at least the size {self.size}, not {self.max_basket}"
            )
        for count in (self.universe_size, self.max_basket):
            if count is not None:
                candidate_itemsets(count, self.size, "universe_size")

    def planned(self, spec: MechanismSpec) -> PlannedMechanism:
        """Return the figures of one mechanism."""
        needs = self._needs(spec)
        if missing := tuple(need for need in needs if need in self._missing):
            return PlannedMechanism(spec.name, None, None, None, None, None, False, needs, missing)
        candidates = self._candidates(spec)
        found = prospects(self._mechanism(spec, candidates), self.confidence, candidates)
        share = feasible = None
        if self.units is not None:
            feasible = found.support is not None and found.support <= self.units
            share = None if found.support is None else 100 * found.support / self.units
        figures = found.support, share, found.margin, found.margin_tied, found.regret
        return PlannedMechanism(spec.name, *figures, feasible, needs, ())

    def enough_epsilon(self, spec: MechanismSpec) -> float | None:
        """Return epsilon, doubled until the units suffice; None where it would have to exceed 10."""
        epsilon = 2 * float(self.epsilon)
        while epsilon <= _LARGEST_ADVISED:
            if replace(self, epsilon=epsilon).planned(spec).feasible:
                return epsilon
            epsilon *= 2
        return None

    def _mechanism(self, spec: MechanismSpec, candidates: int | None) -> Mechanism:
        """Return the mechanism as the public parameters build it."""
        caps = (self.max_rank, self.max_basket, self.max_baskets)
        public = PublicParameters((self.size,), 1, self.neighbors, candidates, candidates is not None, *caps)
        return registry.build(spec, exact_epsilon(self.epsilon), exact_delta(self.delta), public)

    def _candidates(self, spec: MechanismSpec) -> int | None:
        """Return how many itemsets the mechanism chooses from over a public universe; None over an unknown one."""
        if spec.universe is UniverseNeed.UNKNOWN or self.universe_size is None:
            return None
        return candidate_itemsets(self.universe_size, self.size, "universe_size")

    def _needs(self, spec: MechanismSpec) -> tuple[str, ...]:
        """Return the public parameters that a mechanism takes, in words."""
        needs = [CATALOGUE] * (spec.universe is not UniverseNeed.UNKNOWN) + [RANK_CAP] * (
            spec.rank_cap is RankCap.CANDIDATES
        )
        # An optional cap counts where it is given.
        if spec.basket_cap is BasketCap.NEEDED or (spec.basket_cap is BasketCap.OPTIONAL and self.max_basket):
            needs += [BASKET_CAP] + [BASKETS_CAP] * (self.max_baskets is not None)
        return tuple(needs)

    @property
    def _missing(self) -> set[str]:
        """The public parameters, in words, that were not given."""
        given = {CATALOGUE: self.universe_size, BASKET_CAP: self.max_basket}
        return {need for need, value in given.items() if value is None}
