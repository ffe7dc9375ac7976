"""A plan for many itemsets, by how many are asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from itertools import islice
from typing import Any

from fim_private import options as defaults
from fim_private.display import Table
from fim_private.dp.cost import Exact, at_least
from fim_private.dp.parameters import exact_delta_or_zero, exact_epsilon, exact_number, flag, whole_number
from fim_private.errors import ParameterError, parameter, shown
from fim_private.levelwise.levelwise import LevelNeeds, Levelwise
from fim_private.mechanisms import registry
from fim_private.mechanisms.needs import prospects
from fim_private.mechanisms.registry import MechanismSpec
from fim_private.mechanisms.top_k import TopK
from fim_private.planning.customers import ListGain, levelwise_options, list_gain
from fim_private.planning.plan import Given, of_units, or_dash, percent
from fim_private.request.budget import BudgetAllocation, allocate
from fim_private.request.request import MiningOptions, listed, parse_sizes

# -------------------- top results
# A plan for many itemsets: every mechanism's figures by how many are asked for, and which one to take, in words.


@dataclass(frozen=True)
class PlannedTop:
    """What one mechanism takes to find an itemset where `top` are asked for; figures in units, None where unknown.

    required_support: the least support with which an itemset of the largest size is found. With picks: where no more
    than `top` have as much, and others none. With levelwise it is an estimate (`levelwise.needs`).
    required_share: the same in % of all units; None where their number was not given.
    required_margin: by how much it must lead those that are not to be found.
    item_support: with levelwise, in how many units an item must be to be found by itself. step: which of its steps
        asks for most.
    half_width: 95 % of noisy supports are within it; None where none are asked for.
    feasible: whether it can run, and required_support is no more than the units; None where they were not given.
    needs: public parameters that it takes. missing: those of them that were not given, so that it cannot run.
    """

    name: str
    top: int
    required_support: int | None
    required_share: float | None
    required_margin: int | None
    item_support: int | None
    step: str | None
    half_width: int | None
    feasible: bool | None
    needs: tuple[str, ...]
    missing: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, one key per field."""
        return asdict(self) | {"needs": list(self.needs), "missing": list(self.missing)}


@dataclass(frozen=True, repr=False)
class TopPlan:
    """What each mechanism takes for many itemsets with these parameters, which are those of plan_top().

    mechanisms: for each top in turn, every mechanism. recommended: for each top the name of one of them. reason: why.
    len() and iteration are of the mechanisms; plan[10] is the one recommended for the top 10, as best(10).
    """

    top: tuple[int, ...]
    typical_basket: float | None
    sizes: tuple[int, ...]
    union: bool
    supports: bool
    units: int | None
    epsilon: float
    delta: float
    neighbors: str
    universe_size: int | None
    max_basket: int | None
    max_baskets: int | None
    max_rank: int | None
    confidence: float
    mechanisms: tuple[PlannedTop, ...]
    recommended: tuple[str, ...]
    reason: str

    @property
    def size(self) -> int | str:
        """The sizes as `mine` takes them: 2, or "2-4"."""
        return self.sizes[0] if len(self.sizes) == 1 else f"{self.sizes[0]}-{self.sizes[-1]}"

    def best(self, top: int) -> PlannedTop:
        """Return the figures of the one recommended for that many, one of `top`."""
        name = self.recommended[self.top.index(top)]
        return next(one for one in self.mechanisms if (one.top, one.name) == (top, name))

    @property
    def title(self) -> str:
        """What was asked, in words."""
        among = "" if self.units is None else f" among {of_units(self.units)}"
        baskets = "" if self.typical_basket is None else f", baskets of {self.typical_basket:g} items"
        return (
            f"What it takes to find one of many itemsets of {self.size}{among} with {percent(100 * self.confidence)} "
            f"probability (ε = {at_least(self.epsilon)}, δ = {at_least(self.delta)}, {self.neighbors}{baskets})"
        )

    @property
    def list_gain(self) -> ListGain | None:
        """What a list of all items would bring the largest top; None where there is one, or no typical basket."""
        if self.universe_size is not None or self.typical_basket is None or not self.delta:
            return None
        options = levelwise_options(
            epsilon=exact_epsilon(self.epsilon),
            delta=exact_delta_or_zero(self.delta),
            neighbors=self.neighbors,
            sizes=self.sizes,
            top=self.top[-1],
            union=self.union,
            supports=self.supports,
        )
        return list_gain(options, units=self.units, user_items=self.typical_basket)

    def __len__(self) -> int:
        return len(self.mechanisms)

    def __iter__(self) -> Iterator[PlannedTop]:
        return iter(self.mechanisms)

    def __getitem__(self, top: int) -> PlannedTop:
        if top not in self.top:
            raise KeyError(top)
        return self.best(top)

    def _table(self) -> Table:
        """Return what is shown of it: for each top the mechanism that is recommended."""
        return Table(
            self.title,
            ("top", "mechanism", "support needed", "margin needed"),
            [
                (f"{one.top:,}", one.name, or_dash(one.required_support), or_dash(one.required_margin))
                for one in map(self.best, self.top)
            ],
            numbers=frozenset({0, 2, 3}),
            notes=[self.reason, *([] if self.list_gain is None else [str(self.list_gain)])],
            rest="plan.to_pandas()",
        )

    def __repr__(self) -> str:
        return f"Plan: {self._table().text()}"

    def _repr_html_(self) -> str:
        return self._table().html()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: one key per field, mechanisms being a list of dictionaries."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        lists = {name: list(values[name]) for name in ("top", "sizes", "recommended")}
        return values | lists | {"mechanisms": [mechanism.to_dict() for mechanism in self.mechanisms]}

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame, one row per top and mechanism, columns as in PlannedTop.to_dict."""
        import pandas as pd

        return pd.DataFrame([mechanism.to_dict() for mechanism in self.mechanisms])


def recommended(mechanisms: Sequence[PlannedTop]) -> PlannedTop:
    """Return, of those that can run, the one whose larger figure is least: of support and margin.

    Those whose support the units can reach come first. Of equal ones fewer needs decide, then the order.
    """

    def cost(mechanism: PlannedTop) -> tuple[bool, bool, float, int]:
        figures = mechanism.required_support, mechanism.required_margin
        most = max(math.inf if figure is None else figure for figure in figures)
        return bool(mechanism.missing), mechanism.feasible is False, most, len(mechanism.needs)

    return min(mechanisms, key=cost)


def reason(best: Sequence[PlannedTop], *, units: int | None, confidence: float) -> str:
    """Return which mechanism to take for how many, and what it takes: a sentence for each.

    best: the one recommended for each top. units, confidence: as in plan_top().
    """
    return " ".join(_sentences(best, units, percent(100 * confidence)))


def _sentences(best: Sequence[PlannedTop], units: int | None, chance: str) -> Iterator[str]:
    """Yield a sentence for each mechanism, in the order of the tops."""
    for name in dict.fromkeys(one.name for one in best):
        own = [one for one in best if one.name == name]
        tops = _enumerated([f"{one.top:,}" for one in own])
        if any(one.required_support is None for one in own):
            yield f"For the top {tops} no mechanism succeeds with {chance} probability: ask for less confidence."
            continue
        supports = [f"{one.required_support:,}" for one in own]
        needed = _enumerated(supports) if len({*supports}) > 1 else supports[0]
        yield (
            f"For the top {tops} take {name}: {registry.spec_named(name).description}. "
            f"An itemset is found with {chance} probability once {needed} units have it."
        )
        if few := [f"{one.top:,}" for one in own if one.feasible is False]:
            yield f"But {of_units(units or 0)} are too few for the top {_enumerated(few)}: none will do."


def _enumerated(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


# -------------------- top plan
# A plan for many itemsets: what each mechanism takes, by how many are asked for. No data is read.

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
