"""A plan: the figures of every mechanism, which one is recommended, and why, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from fim_private.dp.cost import at_least
from fim_private.glance import Glance
from fim_private.mechanisms import registry


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

    def _glance(self) -> Glance:
        """Return what is shown of it: the recommended mechanism first, last those that lack something."""
        ordered = sorted(self.mechanisms, key=lambda one: (one.name != self.recommended, one.required_support is None))
        return Glance(
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
        return f"Plan: {self._glance().text()}"

    def _repr_html_(self) -> str:
        return self._glance().html()

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
