"""What a release says of itself, in words: whom it protects, from what, and what its figures are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from fim_private.display import MARK, printable
from fim_private.dp.charge import Charged, Left
from fim_private.dp.composition import growth_bound
from fim_private.dp.cost import PrivacyCost, at_least, at_most, rounded_up
from fim_private.dp.parameters import Neighbors
from fim_private.reading.labels import Item
from fim_private.reading.options import MissingUser

# From this ε on e^ε says nothing to anybody.
_LARGE_EPSILON = 20
_ALIKE = {
    "basket": "long baskets hold much the same items as short ones",
    "user": "users with many items hold much the same as those with few, and buy it again about as often",
}
# In place of a guarantee.
SEEDED = "NOT PRIVATE: a seed was given, so the randomness is predictable. For tests and benchmarks only."
# Why rules of users have no lift.
NOT_INDEPENDENCE = (
    "a pair must share one basket, but each item counts users who ever bought it, so lift 1 is not independence"
)


def number_of(number: int, thing: str) -> str:
    """Return "1 basket", "2 baskets", …"""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def of_items(sizes: Sequence[int]) -> str:
    """Return the sizes of itemsets: "1 item", "2 items" or "2 to 4 items"."""
    return f"{sizes[0]} to {sizes[-1]} items" if len(sizes) > 1 else f"{sizes[0]} item{'s' * (sizes[0] != 1)}"


def braces(items: Sequence[Item] | None, unit: str) -> str:
    """Return an itemset as text. unit: what has it, "basket" or "user"."""
    if items is None:
        return f"(unnamed: an itemset that no {unit} has, or too few have for it to be named privately)"
    return "{" + ", ".join(printable(str(item)) for item in items) + "}"


def customers(unit: str) -> str:
    """Return what readers call units."""
    return "customers" if unit == "user" else "baskets"


def percent(share: float, decimals: int) -> str:
    """Return a share as text, in per cent."""
    return f"{100 * share:,.{decimals}f} %"


def protected(unit: str, missing_user: str | None) -> str:
    """Return the unit that is protected, in words."""
    if unit == "basket":
        return "basket"
    nobodys = " or basket without a user" if missing_user == MissingUser.OWN_UNIT else ""
    return f"{unit} (all their baskets){nobodys}"


def change(neighbors: str, unit: str, *, where: bool = False, query: bool = False, segments: bool = False) -> str:
    """Return what neighbours differ in, in words. unit: as `protected` returns it.

    where, query, segments: what chooses units: under replace-one it treats both alike (docs/privacy.md).
    """
    if neighbors != Neighbors.REPLACE_ONE:
        return f"adding or removing any one {unit}"
    chosen_by = [name for name, chooses in (("condition", where), ("query", query)) if chooses]
    chosen = f" that the {' and the '.join(chosen_by)} {'keep' if len(chosen_by) > 1 else 'keeps'} as well"
    alike = [chosen] * bool(chosen_by) + [" that counts in the same segments"] * segments
    return f"replacing any one {unit} by any other{' and'.join(alike)}"


def guarantee(mechanism: str, cost: PrivacyCost, change: str) -> str:
    """Return the guarantee in one sentence. change: what neighbours differ in."""
    epsilon, delta = at_least(cost.epsilon), at_least(cost.delta)
    growth = growth_bound(cost.epsilon) if cost.epsilon < _LARGE_EPSILON else None
    factor = f"a factor e^{epsilon}" + (f" = {rounded_up(growth, 3)}" if growth else "")
    slack = f", up to an added probability of {delta}" if cost.delta else ""
    return (
        f"Guarantee ({mechanism}, ε = {epsilon}, δ = {delta}): {change} changes the "
        f"probability of any result by at most {factor}{slack}."
    )


def certainty_of_least(marked: int, found: int, least: str, cap: int | None) -> tuple[str, str]:
    """Return how certain it is that itemsets have a least support, and that they are all. marked: how many may not."""
    doubt = [f"{MARK} may have less than {least}, by the noise alone."] if marked else []
    sure = f"{'The others' if marked else 'They'} have as much, each with 97.5 % probability."
    missed = "Others may have as much, and not have been found."
    if cap is not None:
        missed = f"The cap was reached: only {cap:,} were looked at, and more may have as much."
    return " ".join([*doubt, *([] if marked == found else [sure])]), missed


def chance(shortfall: int | None, unit: str, *, of_each: bool) -> str:
    """Return what is uncertain of itemsets that were selected. of_each: whether each size was by itself."""
    size, picked = " of its size" if of_each else "", "Picked by lot, the likelier the more support:"
    if shortfall is None:
        return f"{picked} what nearly ties is a matter of chance."
    if not shortfall:
        return f"None{size} that was passed over has more support."
    more = number_of(shortfall, unit)
    return f"{picked} with 95 % probability none{size} that was passed over has over {more} more."


def doubt(marks: Sequence[bool], among: str, alike: str | None) -> tuple[str, ...]:
    """Return what marks mean, or that there is none. among: what may not be. alike: units that hold much the same."""
    if not marks:
        return ()
    beyond = "leads what was left out by more than the noise explains"
    # What a weight stands for is estimated of what was found: see docs/privacy.md, "How certain a release is".
    beyond += "" if alike is None else f", if {_ALIKE[alike]}"
    if not any(marks):
        return (f"Each of them {beyond}: it is {among}.",)
    others = "" if all(marks) else f" Each of the others {beyond}."
    left_out = "by the noise alone, what was left out, or lost on the way, may have as much support"
    return (f"{MARK} may not be {among}: {left_out}.{others}",)


def rows_where(condition: str | None) -> tuple[str, ...]:
    """Return by which condition rows were read, in a sentence; nothing where all were."""
    return () if condition is None else (f"Only rows were read where {printable(condition)}.",)


def left_briefly(left: Left) -> str:
    """Return what is left of a budget, as briefly as can be: of basic composition ε, of zCDP ρ."""
    return f"ε {at_most(left.epsilon)}" if left.rho is None else f"ρ {at_most(left.rho)}"


def charged(by: Charged | None) -> tuple[str, ...]:
    """Return what a ledger says of a release that was charged to it, in a sentence; nothing without one."""
    if by is None:
        return ()
    rho, epsilon = by.left.rho, by.left.epsilon
    loss = f"ε = {at_most(epsilon)}" if rho is None else f"ρ = {at_most(rho)} of zero-concentrated privacy"
    left = f"{loss}, δ = {at_most(by.left.delta)}"
    return (f"Charged to the budget of {printable(by.dataset)} (entry {by.entry:,}); left: {left}.",)


def rule_cells(
    first: Sequence[Item],
    second: Sequence[Item],
    numbers: Mapping[str, float],
    doubtful: bool,
    *,
    decimals: int,
    unit: str,
) -> list[str]:
    """Return a rule as texts. numbers: by the names of a frame's columns. decimals: of shares."""
    lift = []
    if "lift" in numbers:
        low, high = _lift(numbers["lift_lower"], math.floor), _lift(numbers["lift_upper"], math.ceil)
        lift = [_lift(numbers["lift"], round), f"{low} to {high}"]
    return [
        f"{braces(first, unit)} → {braces(second, unit)}" + (f" {MARK}" if doubtful else ""),
        percent(numbers["support"], decimals),
        percent(numbers["confidence"], 0),
        f"{math.floor(100 * numbers['confidence_lower'])} to {math.ceil(100 * numbers['confidence_upper'])} %",
        *lift,
    ]


def rule_note(doubtful: int, rules: int, *, lifts: bool) -> str:
    """Return how many rules are clear of the noise, what marks the others, and how to read the intervals."""
    note = []
    if lifts:
        note.append(f"{rules - doubtful:,} of {rules:,} {'rule is' if rules == 1 else 'rules are'} clear of the noise.")
    if doubtful and lifts:
        by_chance = "their sides may be together (or apart) by chance, or below a limit that you set"
        note.append(f"{MARK} marks the others: by the noise alone, {by_chance}.")
    elif doubtful:
        note.append(f"{MARK} marks {doubtful:,} of {rules:,}: they may have less confidence than you asked for.")
    note.append("The intervals of a rule hold what they are of with 95 % probability together.")
    return " ".join([*note, *([] if lifts else [f"No lift is shown: {NOT_INDEPENDENCE}."])])


def _lift(value: float, whole: Callable[[float], int]) -> str:
    if math.isinf(value):
        return "∞"
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{whole(value * 10**decimals) / 10**decimals:,.{decimals}f}"
