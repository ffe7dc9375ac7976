"""A plan for many itemsets: what each mechanism takes, by how many are asked for. No data is read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import islice

from fim_private import defaults
from fim_private.dp.cost import Exact
from fim_private.dp.parameters import exact_delta_or_zero, exact_epsilon, exact_number, flag, whole_number
from fim_private.errors import ParameterError, parameter, shown
from fim_private.levelwise.levelwise import Levelwise
from fim_private.levelwise.needs import LevelNeeds
from fim_private.mechanisms import registry
from fim_private.mechanisms.mechanism_spec import MechanismSpec
from fim_private.mechanisms.prospects import prospects
from fim_private.mechanisms.top_k import TopK
from fim_private.mining.allocation import BudgetAllocation
from fim_private.mining.budget import allocate
from fim_private.mining.options import MiningOptions
from fim_private.mining.sizes import listed, parse_sizes
from fim_private.planning.given import Given
from fim_private.planning.top_results import PlannedTop, TopPlan, reason, recommended

TYPICAL_BASKET = "items of a typical basket"
_LARGEST_TOP = 100_000
# Each number is a plan of its own.
_MOST_TOPS = 100
_LARGEST_BASKET = 1_000_000


def plan_top(
    *,
    top: int | Iterable[int] = defaults.PLANNED_TOPS,
    typical_basket: float | None = None,
    size: int | str | Iterable[int] = defaults.SIZE,
    union: bool = False,
    supports: bool = False,
    units: int | None = None,
    epsilon: float | Fraction = defaults.EPSILON,
    delta: float | Fraction = defaults.DELTA,
    neighbors: str = defaults.NEIGHBORS,
    universe_size: int | None = None,
    max_basket: int | None = None,
    max_baskets: int | None = None,
    max_rank: int | None = None,
    confidence: float = defaults.CONFIDENCE,
) -> TopPlan:
    """Return what each mechanism takes to find one of many itemsets, and recommend one for each `top`. No data is read.

    top: how many itemsets are wanted, 1 to 100,000, or several such numbers, in ascending order in the plan.
    typical_basket: a public guess of how many items a typical basket has, 1 to 1e6; without it levelwise is not
        planned, whose weights depend on it. (Where users are protected: `plan` with user_items.)
    delta: 0 with a universe_size, which is that of a catalogue: then those are planned that spend none.
    size, union, supports: as in mine: 2, "2-4" or range(2, 5); whether all sizes are ranked together; whether noisy
        supports take their part of the budget. The others: as in plan.

    Planned are levelwise and the mechanisms whose picks share one budget: each pick of any other would have its part of
    ε only. The budget is split as mine splits it. Figures are for the largest size. Those of levelwise are estimates:
    with the mean items per basket for typical_basket, within a factor of 1.5 of what was measured in 87 % of cases and
    more (`levelwise.needs`). Those of picks are exact for each pick by itself, as in plan.
    Raises ParameterError for a parameter outside its range.

    >>> found = plan_top(top=(10, 100), typical_basket=10, neighbors="add-remove")
    >>> found.recommended
    ('limited-domain', 'levelwise')
    """
    sizes = parse_sizes(size)
    public = (units, sizes[-1], epsilon, delta, neighbors, universe_size, max_basket, max_baskets, max_rank, confidence)
    union, supports = flag("union", union), flag("supports", supports)
    planner = _Planner(Given(*public), sizes, union, supports, _typical(typical_basket))
    tops = _tops(top)
    if union and len(sizes) == 1:
        raise ParameterError(f"{parameter('union')} goes with several sizes: whether all of them are ranked together")
    rows = [[planner.planned(spec, count) for spec in _specs(pure=not delta)] for count in tops]
    best = [recommended(row) for row in rows]
    given = asdict(planner.given) | {"epsilon": float(Exact(epsilon)), "delta": float(Exact(delta))}
    del given["size"]
    return TopPlan(
        top=tops,
        typical_basket=planner.typical_basket,
        sizes=sizes,
        union=union,
        supports=supports,
        mechanisms=tuple(one for row in rows for one in row),
        recommended=tuple(one.name for one in best),
        reason=reason(best, units=planner.given.units, confidence=planner.given.confidence),
        **given,
    )


def _specs(*, pure: bool) -> list[MechanismSpec]:
    """Return the mechanisms for many: levelwise, and those whose picks share one budget.

    The others need about `top` times what they need for one, as each of their picks has that part of ε; so do all
    where they are to be purely private, and then those that are not worse are there as well.
    """
    specs = registry.MECHANISMS.values()
    return [spec for spec in specs if spec.composed or spec.bounded_range or (pure and not spec.spends_delta)]


@dataclass(frozen=True)
class _Planner:
    """The parameters of plan_top() but for the tops, checked."""

    given: Given
    sizes: tuple[int, ...]
    union: bool
    supports: bool
    typical_basket: float | None

    def planned(self, spec: MechanismSpec, top: int) -> PlannedTop:
        """Return the figures of one mechanism for that many itemsets."""
        needs = self.given.needs(spec) + (TYPICAL_BASKET,) * spec.composed
        missing = tuple(need for need in needs if need in self._missing)
        if missing:
            return PlannedTop(spec.name, top, None, None, None, None, None, None, False, needs, missing)
        allocation = self._allocation(spec, top)
        run = allocation.selections[0].run
        item_support = step = None
        if isinstance(run, Levelwise):
            assert self.typical_basket is not None
            level = LevelNeeds(run, self.typical_basket, self.given.confidence)
            support: int | None = level.support
            margin: int | None = level.margin
            item_support, step = math.ceil(level.item_support), level.limit
        else:
            assert isinstance(run, TopK)
            found = prospects(run.mechanism, self.given.confidence, self.given.candidates(spec, self._selected))
            support, margin = found.support, found.margin
        share, feasible = self.given.among_units(support)
        wanted = top if self.union else top * len(self.sizes)
        width = None if allocation.supports is None else allocation.supports.noise(wanted).half_width
        return PlannedTop(spec.name, top, support, share, margin, item_support, step, width, feasible, needs, ())

    def _allocation(self, spec: MechanismSpec, top: int) -> BudgetAllocation:
        """Return how mine would split the budget."""
        options = MiningOptions(
            spec,
            exact_epsilon(self.given.epsilon),
            exact_delta_or_zero(self.given.delta),
            self.given.neighbors,
            self.sizes,
            top,
            self.union,
            spec.supports_share(self.given.neighbors) if self.supports else None,
            max_rank=self.given.max_rank,
            max_basket=self.given.max_basket,
            max_baskets=self.given.max_baskets,
        )
        groups = [self.sizes] if self.union else [(size,) for size in self.sizes]
        return allocate(options, [self.given.public(spec, sizes, top) for sizes in groups])

    @property
    def _selected(self) -> tuple[int, ...]:
        """The sizes that are selected among together, the largest with them."""
        return self.sizes if self.union else self.sizes[-1:]

    @property
    def _missing(self) -> set[str]:
        """The public parameters, in words, that were not given."""
        return self.given.missing | ({TYPICAL_BASKET} if self.typical_basket is None else set())


def _tops(top: int | Iterable[int]) -> tuple[int, ...]:
    """Return how many itemsets are wanted, ascending. Raises ParameterError unless each is 1 to 100,000."""
    wanted = [*islice(listed(top), _MOST_TOPS + 1)]
    tops = tuple(sorted({whole_number("top", each, least=1, most=_LARGEST_TOP) for each in wanted}))
    if not tops:
        raise ParameterError(f"{parameter('top')} must hold at least one number")
    if len(wanted) > _MOST_TOPS:
        raise ParameterError(f"{parameter('top')} must hold at most {_MOST_TOPS} numbers")
    return tops


def _typical(items: float | None) -> float | None:
    """Return the items of a typical basket. Raises ParameterError unless they are 1 to 1,000,000, or None."""
    if items is None:
        return None
    number = exact_number(items)
    if number is None or not 1 <= number <= _LARGEST_BASKET:
        raise ParameterError(
            f"{parameter('typical_basket')} must be a number of items from 1 to {_LARGEST_BASKET:,}, not {shown(items)}"
        )
    return float(number)
