"""A plan: what each mechanism needs to find itemsets, and which to take."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, Unpack, overload

from fim_private.counting.source import NOTHING_KNOWN, UNKNOWN, SizedUniverse, Universe
from fim_private.display import JsonObject, Table, item_name
from fim_private.dp.arguments import exact_fraction, flag
from fim_private.dp.cautions import cautions, cautions_of_units
from fim_private.dp.cost import Exact, PrivacyCost, least_in_words
from fim_private.errors import Marked, ParameterError, parameter, shown
from fim_private.levelwise.levelwise import LevelNeeds, Levelwise
from fim_private.mechanisms import registry
from fim_private.mechanisms.needs import prospects
from fim_private.mechanisms.registry import BasketCap, MechanismSpec, RankCap, UniverseNeed
from fim_private.mechanisms.top_k import TopK
from fim_private.options.declaration import filled, takes
from fim_private.options.requests import PlannedUsers, PlanOptions
from fim_private.planning.forecast import (
    USUAL_ITEMS,
    CustomerPlan,
    TabularPlan,
    enumerated,
    group_gain,
    list_gain,
    plan_customers,
    typical_items,
)
from fim_private.reading.labels import Item, in_label_order
from fim_private.request.allocation import plan_of
from fim_private.request.groups import Promise, PublicFacts, Target, range_of
from fim_private.request.itemsets import items_asked
from fim_private.request.request import (
    Request,
    check_least_size,
    listed,
    parse_sizes,
    parse_top,
    parse_union,
    public_number,
    request_of,
)

_LARGEST_ADVISED = 10  # the largest epsilon that is advised
_LARGEST_RANK = 10**30  # more ranks than there can be itemsets
_MOST_TOPS = 100  # each top is a plan of its own


@dataclass(frozen=True)
class PlannedMechanism:
    """What one mechanism needs to find an itemset where `top` are asked for; figures in units, None
    where unknown.

    required_support: the least support with which an itemset of the largest size is found, if at
        most `top` have as much, and all others none. With levelwise it is an estimate
        (`LevelNeeds`). required_share: the same in % of all units.
    required_margin: its lead over many others that are tied. required_margin_tied, of one itemset:
        the lead of ten that are tied, to find any of them. expected_regret, of one itemset: the
        mean support that is lost at required_support; an abstention loses all of it. item_support,
        of levelwise: the support with which an item is found by itself. step: its most demanding
        step.
    half_width: 95 % of noisy supports are within it.
    feasible: whether it can run and required_support is at most the units; None where they were not
    given.
    needs: public parameters that it takes. missing: those that were not given, so that it cannot
    run.
    """

    name: str
    top: int
    required_support: int | None = None
    required_share: float | None = None
    required_margin: int | None = None
    required_margin_tied: int | None = None
    expected_regret: float | None = None
    item_support: int | None = None
    step: str | None = None
    half_width: int | None = None
    feasible: bool | None = False
    needs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """Return plain values, one key per field."""
        return asdict(self)


@dataclass(frozen=True, repr=False)
class Plan(TabularPlan):
    """What each mechanism needs, and which one to use. The fields are the parameters of plan(),
    checked.
    """

    units: int | None
    size: int | str
    top: int | tuple[int, ...]
    union: bool
    supports: bool
    typical_basket: float | None
    epsilon: float
    delta: float
    neighbors: str
    universe_size: int | None
    max_basket: int | None
    max_baskets: int | None
    max_rank: int | None
    confidence: float
    with_items: tuple[Item, ...] = ()
    by_user: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the itemsets, ascending."""
        return parse_sizes(self.size)

    @cached_property
    def mechanisms(self) -> tuple[PlannedMechanism, ...]:
        """For each top in turn, every mechanism."""
        return tuple(self._planned(spec, top) for top in self.tops for spec in self._specs(top))

    @property
    def recommended(self) -> str | tuple[str, ...]:
        """The name of one of the mechanisms, or of one for each top where several were given."""
        names = tuple(self.best(top).name for top in self.tops)
        return names[0] if isinstance(self.top, int) else names

    def __len__(self) -> int:
        return len(self.mechanisms)

    def __iter__(self) -> Iterator[PlannedMechanism]:
        return iter(self.mechanisms)

    def __getitem__(self, key: str | int) -> PlannedMechanism:
        """Return the figures of a mechanism by its name, or of the one recommended for so many
        itemsets.
        """
        if isinstance(key, int):
            return self.best(key)
        # With several tops, those of the first.
        by_name = {planned.name: planned for planned in reversed(self.mechanisms)}
        return by_name[key]

    def best(self, top: int) -> PlannedMechanism:
        """Return the figures of the mechanism recommended for `top` itemsets, one of `tops`.

        It is the one that needs least, of those that can run. Those come first whose support the
        units can reach. Of equal ones fewer needs decide, then the order.
        """

        def price(mechanism: PlannedMechanism) -> tuple[bool, bool, float, int]:
            figures = [mechanism.required_support, mechanism.required_margin]
            if top == 1 and mechanism.step is None:
                figures.append(mechanism.required_margin_tied)
            most = math.inf
            if None not in figures:
                most = max(filter(None, figures))
            is_short = mechanism.feasible is False
            return bool(mechanism.missing), is_short, most, len(mechanism.needs)

        return min((planned for planned in self.mechanisms if planned.top == top), key=price)

    @cached_property
    def reason(self) -> str:
        """Why those recommended, in a sentence or two for each, or what to change if none will
        do.
        """
        best = [self.best(top) for top in self.tops]
        return self._reason(best[0]) if len(best) == 1 else " ".join(self._reasons(best))

    @property
    def sought(self) -> str:
        """What is to be found, in words."""
        itemset = "an itemset" if self.tops == (1,) else "one of many itemsets"
        names = " and ".join(map(item_name, self.with_items))
        having = f" with {names}" if names else ""
        return f"{itemset} of {self.size}{having}"

    @property
    def title(self) -> str:
        """What was asked, in words."""
        among, baskets = "", ""
        if self.units is not None:
            among = f" among {of_units(self.units)}"
        if self.typical_basket is not None:
            kind = "users" if self.by_user else "baskets"
            items = "item" if self.typical_basket == 1 else "items"
            baskets = f", {kind} of {self.typical_basket:g} {items}"
        return (
            f"What it takes to find {self.sought}{among} with {percent(100 * self.confidence)} "
            f"probability (ε = {least_in_words(self.epsilon)}, δ = {least_in_words(self.delta)}, "
            f"{self.neighbors}{baskets})"
        )

    @property
    def gains(self) -> list[Marked]:
        """What would find more if units are users: a list of all items, or groups of products."""
        if self.universe_size is not None or not self.delta or self.with_items:
            return []
        request = request_of(
            by_user=True,
            size=self.sizes,
            top=self.tops[-1],
            union=self.union,
            supports=self.supports,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbors=self.neighbors,
        )
        items = self.typical_basket
        gains = []
        if items is not None:
            gains.append(list_gain(request, units=self.units, user_items=items))
        if self.units is not None:
            gains.append(group_gain(request, self.units, items or USUAL_ITEMS))
        return [gain for gain in gains if gain is not None]

    def table(self) -> Table:
        """Return all mechanisms of one itemset, the recommended one first; of many itemsets the
        mechanism recommended for each top.
        """
        rows, tops = [self.best(top) for top in self.tops], [f"{top:,}" for top in self.tops]
        if self.tops == (1,):
            tops = []
            rows = sorted(
                self.mechanisms,
                key=lambda row: (row.name != self.recommended, row.required_support is None),
            )
        columns = {
            "top": tops,
            "mechanism": [row.name for row in rows],
            "support needed": [or_dash(row.required_support) for row in rows],
            "margin needed": [or_dash(row.required_margin) for row in rows],
            "lacks": [", ".join(row.missing) for row in rows],
        }
        filled = {name: cells for name, cells in columns.items() if any(cells)}
        text_columns = [
            place for place, name in enumerate(filled) if name in ("mechanism", "lacks")
        ]
        notes = [self.reason, *map(str, self.gains)]
        return Table(
            self.title,
            [*filled],
            [*zip(*filled.values(), strict=True)],
            notes,
            "plan.to_pandas()",
            text_columns,
        )

    def to_dict(self) -> JsonObject:
        """Return plain values: one key per parameter, the mechanisms, recommended and reason."""
        return asdict(self) | {
            "recommended": self.recommended,
            "reason": self.reason,
            "mechanisms": [mechanism.to_dict() for mechanism in self.mechanisms],
        }

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame, one row per top and mechanism, columns as in
        PlannedMechanism.to_dict.
        """
        import pandas as pd

        return pd.DataFrame([mechanism.to_dict() for mechanism in self.mechanisms])

    def _specs(self, top: int) -> list[MechanismSpec]:
        # For several, those that pick with a budget of their own each need about `top` times what
        # they need for one; so do all where they are to be purely private, and then those that are
        # not worse are there as well.
        specs = [*registry.MECHANISMS.values()]
        if self.with_items:
            return [spec for spec in specs if spec.composed]
        if top == 1:
            return [spec for spec in specs if not spec.composed or self.typical_basket is not None]
        return [
            spec for spec in specs if not spec.is_for_one or not (self.delta or spec.spends_delta)
        ]

    def _planned(self, spec: MechanismSpec, top: int) -> PlannedMechanism:
        """Return what a mechanism needs to find an itemset among the `top`, if it can run."""
        needs = self._needs(spec)
        missing = tuple(name for name, is_there in needs.items() if not is_there)
        planned = PlannedMechanism(spec.name, top, needs=tuple(needs), missing=missing)
        if missing:
            return planned
        release_plan = plan_of(self._request(spec, top))
        match release_plan.selections[0].run:
            case Levelwise() as run:
                level = LevelNeeds.of(run, self.typical_basket or 0, self.confidence)
                planned = replace(
                    planned,
                    required_support=level.support,
                    required_margin=level.margin,
                    item_support=math.ceil(level.item_support),
                    step=level.limit,
                )
            case TopK(mechanism):
                candidates = release_plan.selections[-1].public.candidates
                needed = prospects(mechanism, self.confidence, candidates)
                planned = replace(
                    planned, required_support=needed.support, required_margin=needed.margin
                )
                if top == 1:
                    planned = replace(
                        planned,
                        required_margin_tied=needed.margin_tied,
                        expected_regret=needed.regret,
                    )
        half_width = share = feasible = None
        if self.supports:
            half_width = release_plan.half_width(release_plan.target.sought)
        support = planned.required_support
        if self.units is not None:
            feasible = False
            if support is not None:
                share, feasible = 100 * support / self.units, support <= self.units
        return replace(planned, required_share=share, half_width=half_width, feasible=feasible)

    def _needs(self, spec: MechanismSpec) -> dict[str, bool]:
        """Return the public parameters that a mechanism needs, and whether each is there."""
        needs = {}
        if spec.universe is not UniverseNeed.UNKNOWN:
            needs["catalogue of all items"] = self.universe_size is not None
        if spec.rank_cap is RankCap.CANDIDATES:
            needs["public rank cap"] = True  # there is a usual one
        has_cap = self.max_basket is not None
        # An optional cap counts where it is given.
        if spec.basket_cap is BasketCap.NEEDED or (
            has_cap and spec.basket_cap is BasketCap.OPTIONAL
        ):
            needs["cap on basket size"] = has_cap
            if self.max_baskets is not None:
                needs["cap on baskets per unit"] = True
        if spec.spends_delta and not self.delta:
            needs["delta above 0"] = False
        if spec.composed:
            needs["items of a typical basket"] = self.typical_basket is not None
        return needs

    def _request(self, spec: MechanismSpec, top: int) -> Request:
        """Return the request for that many itemsets. The list of items need not exist yet."""
        universe: Universe = UNKNOWN
        if self.universe_size is not None and spec.universe is not UniverseNeed.UNKNOWN:
            universe = SizedUniverse(self.universe_size, is_listed=True)
        supports_share = spec.supports_share(self.neighbors) if self.supports else Fraction(0)
        required = tuple(range(len(self.with_items)))
        return Request(
            Target(self.sizes, top, self.union, known=replace(NOTHING_KNOWN, required=required)),
            PublicFacts(universe, self.max_rank, self.max_basket, self.max_baskets),
            Promise.of(vars(self), by_user=self.by_user),
            spec,
            supports_share=supports_share,
        )

    def _reason(self, best: PlannedMechanism) -> str:
        chance = percent(100 * self.confidence)
        if best.required_support is None:
            return (
                f"No mechanism succeeds with {chance} probability at these parameters: ask "
                f"for less confidence."
            )
        support = f"{best.required_support:,}"
        spec = registry.spec_named(best.name)
        if best.feasible is False:
            changes = [f"at least {support} units, all of them with the itemset"]
            enough = self._epsilon_enough(spec, best.top)
            if enough is not None:
                changes.append(f"a larger epsilon: {least_in_words(enough)} would do")
            return (
                f"No mechanism will do: {of_units(self.units)} are too few to find anything with "
                f"{chance} probability. {best.name} finds an itemset once {support} units have it "
                f"and it leads. You need {'; or '.join(changes)}."
            )
        needed = of_units(best.required_support)
        if best.required_share is not None:
            needed = (
                f"{support} of {of_units(self.units)} ({percent(round(best.required_share, 1))})"
            )
        reason = (
            f"{best.name}: {spec.description}. An itemset of {self.size} is found with "
            f"{chance} probability once {needed} have it"
        )
        if best.required_margin is not None:
            rivals = "the others" if best.top == 1 else "those left out"
            reason += f" and it leads {rivals} by {best.required_margin:,}"
        if best.top == 1 and best.required_margin_tied is None and best.step is None:
            reason += ". If several lead together, none is found"
        return f"{reason}."

    def _epsilon_enough(self, spec: MechanismSpec, top: int) -> float | None:
        """Return the least doubling of ε with which a mechanism will do, if it may be advised."""
        epsilon = 2 * self.epsilon
        while epsilon <= _LARGEST_ADVISED:
            if replace(self, epsilon=epsilon)._planned(spec, top).feasible:
                return epsilon
            epsilon *= 2
        return None

    def _reasons(self, best: Sequence[PlannedMechanism]) -> Iterator[str]:
        chance = percent(100 * self.confidence)
        for name in dict.fromkeys(planned.name for planned in best):
            same = [planned for planned in best if planned.name == name]
            tops = enumerated([f"{planned.top:,}" for planned in same])
            if any(planned.required_support is None for planned in same):
                yield (
                    f"For the top {tops} no mechanism succeeds with {chance} probability: ask "
                    f"for less confidence."
                )
                continue
            supports = [f"{planned.required_support:,}" for planned in same]
            needed = enumerated(supports) if len({*supports}) > 1 else supports[0]
            yield (
                f"For the top {tops} take {name}: {registry.spec_named(name).description}. "
                f"An itemset is found with {chance} probability once {needed} units have it."
            )
            too_few = [f"{planned.top:,}" for planned in same if planned.feasible is False]
            if too_few:
                yield (
                    f"But {of_units(self.units)} are too few for the top {enumerated(too_few)}: "
                    f"no mechanism will do."
                )


def of_units(number: int | None) -> str:
    """Return "1 unit", "2 units", …"""
    return "1 unit" if number == 1 else f"{number:,} units"


def or_dash(figure: float | None, in_words: Callable[[float], str] = "{:,}".format) -> str:
    """Return a figure in words, or a dash if there is none."""
    if figure is None:
        return "–"
    return in_words(figure)


def percent(value: float) -> str:
    """Return a percentage in words: two digits below 10, all digits below 100, or whole numbers."""
    if value < 10:
        return f"{value:.2g} %"
    if value < 100:
        return f"{value:,.10g} %"
    return f"{value:,.0f} %"


@overload
def plan(*, user_items: None = None, **parameters: Unpack[PlanOptions]) -> Plan: ...


@overload
def plan(*, user_items: float, **parameters: Unpack[PlanOptions]) -> CustomerPlan: ...


@takes(PlannedUsers, PlanOptions)
def plan(
    *, user_items: float | None = None, **parameters: Unpack[PlanOptions]
) -> Plan | CustomerPlan:
    """Return what each mechanism needs to find itemsets, and recommend one for each `top`. It reads
    no data.

    With user_items it estimates instead which share of the `top` most frequent itemsets is found if
    users are protected. It does so with a product list and without, under both neighbour relations
    (`CustomerPlan`). Give units, and no caps, typical basket or confidence; delta is then above 0.

    Units and caps are >= 1, max_rank up to 1e30, max_basket at least the size. top is 1 to 100,000,
    or several such numbers (ascending in the plan). typical_basket is 1 to 1e6, user_items from the
    size to 1e6. epsilon is 1e-9 to 1e9, delta 1e-300 up to below 1, or with a universe_size 0.
    confidence is in (0, 1). levelwise needs a typical_basket to be planned, and mechanisms over a
    catalogue need a universe_size. max_baskets is 1 by default, and needs
    max_basket. max_rank is for mechanisms that have such a cap.

    For several itemsets it plans levelwise and the mechanisms whose selections share one budget.
    Figures are exact for epsilon >= 0.1; below, some are up to 1 % too high. Those of levelwise are
    estimates. With the mean items per basket as typical_basket, 87 % or more were within a factor
    of 1.5 of what was measured (`LevelNeeds`). It recommends, of the mechanisms that can run and
    whose support the units can reach, the one that needs least. Raises ParameterError for a
    parameter outside its range.

    >>> found = plan(units=100_000, epsilon=1.0, delta=1e-6, max_rank=1000)
    >>> found.recommended, found.best(10).required_support
    ('limited-domain', 222)
    """
    values = filled("plan", PlanOptions, parameters)
    promise = Promise.of(values)
    with_items = in_label_order(items_asked("with_items", values["with_items"]))
    if user_items is not None and not with_items:
        return plan_customers(user_items, values, _numbers_of(values["top"]))
    sizes = parse_sizes(values["size"])
    check_least_size(sizes, len(with_items), "with_items")
    union = parse_union(values["union"], sizes)
    if user_items is not None:
        values["typical_basket"] = user_items
    basket = values["typical_basket"]
    if with_items and basket is None:
        raise ParameterError(
            f"{parameter('with_items')} needs {parameter('typical_basket')}, a guess of how many "
            f"items a basket has, or {parameter('user_items')}"
        )
    planned = Plan(
        size=range_of(sizes),
        top=_numbers_of(values["top"]),
        union=union,
        supports=flag("supports", values["supports"]),
        typical_basket=None if basket is None else typical_items("typical_basket", basket, least=1),
        epsilon=float(Exact(promise.budget.loss)),
        delta=float(Exact(promise.budget.delta)),
        neighbors=str(promise.neighbors),
        confidence=float(exact_fraction("confidence", values["confidence"])),
        units=public_number("units", values),
        universe_size=public_number("universe_size", values),
        max_basket=public_number("max_basket", values),
        max_baskets=public_number("max_baskets", values),
        max_rank=public_number("max_rank", values),
        with_items=with_items,
        by_user=user_items is not None,
    )
    _check_public(planned, sizes[-1])
    how_to_list = f"{parameter('universe_size')}, how many it has"
    has_list = planned.universe_size is not None
    registry.check_delta(promise.budget.delta, None, listed=has_list, give=how_to_list)
    _ = planned.mechanisms  # raises for what cannot be planned
    return planned


def _numbers_of(top: object) -> int | tuple[int, ...]:
    """Return the number of itemsets that is planned for or, of several, all in ascending order."""
    numbers = [*islice(listed(top), _MOST_TOPS + 1)]
    tops = set(map(parse_top, numbers))
    if not 0 < len(numbers) <= _MOST_TOPS:
        raise ParameterError(
            f"{parameter('top')} must hold at least one number, and at most {_MOST_TOPS}"
        )
    return tuple(sorted(tops)) if isinstance(top, Iterable) else min(tops)


def _check_public(planned: Plan, size: int) -> None:
    """Raise ParameterError for public numbers that do not go together. size: the largest."""
    most = planned.max_basket
    if planned.max_rank is not None and planned.max_rank > _LARGEST_RANK:
        raise ParameterError(f"{parameter('max_rank')} must be at most 1e30 to be planned for")
    if planned.max_baskets is not None and most is None:
        raise ParameterError(
            f"{parameter('max_baskets')} goes with {parameter('max_basket')}: how many baskets "
            f"of a unit count at most"
        )
    if most is not None and most < size:
        raise ParameterError(
            f"{parameter('max_basket')} must be at least the size {shown(size)}, not {shown(most)}"
        )


def cautions_of_plan(
    planned: Plan | CustomerPlan | PrivacyCost, units: int | None
) -> Iterator[str]:
    """Yield the warnings of a release with this epsilon and delta. units: None if not public."""
    cost = PrivacyCost(planned.epsilon, planned.delta)
    yield from cautions(cost)
    if units is not None:
        yield from cautions_of_units(cost, [units], 1, "unit")


def plan_grid(epsilons: Sequence[float], **parameters: Unpack[PlanOptions]) -> tuple[Plan, ...]:
    """Return one plan for each of one or more epsilons, in order."""
    if not len(epsilons):
        raise ParameterError(f"{parameter('epsilons')} must hold at least one")
    plans = []
    for epsilon in epsilons:
        parameters["epsilon"] = epsilon
        plans.append(plan(**parameters))
    return tuple(plans)
