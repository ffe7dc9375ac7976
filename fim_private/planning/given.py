"""The public parameters of a plan, checked, and what one selection by a mechanism takes with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from fim_private.dp.parameters import (
    exact_delta_or_zero,
    exact_epsilon,
    exact_fraction,
    exact_neighbors,
    public_integer,
)
from fim_private.errors import ParameterError, parameter, shown
from fim_private.mechanisms import Mechanism, registry
from fim_private.mechanisms.mechanism_spec import BasketCap, MechanismSpec, RankCap, UniverseNeed
from fim_private.mechanisms.prospects import prospects
from fim_private.mechanisms.public_parameters import PublicParameters
from fim_private.planning.results import PlannedMechanism
from fim_private.spectrum import candidate_itemsets

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
