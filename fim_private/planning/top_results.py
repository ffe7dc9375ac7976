"""A plan for many itemsets: every mechanism's figures by how many are asked for, and which one to take, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from fim_private.dp.cost import at_least
from fim_private.dp.parameters import exact_delta_or_zero, exact_epsilon
from fim_private.glance import Glance
from fim_private.mechanisms import registry
from fim_private.planning.product_list import ListGain, levelwise_options, list_gain
from fim_private.planning.results import of_units, or_dash, percent


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

    def _glance(self) -> Glance:
        """Return what is shown of it: for each top the mechanism that is recommended."""
        return Glance(
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
        return f"Plan: {self._glance().text()}"

    def _repr_html_(self) -> str:
        return self._glance().html()

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
