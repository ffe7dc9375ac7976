"""What a release says of itself, in words: what it protects, from what, and what its figures
are.
"""

from __future__ import annotations

from collections.abc import Sequence

from fim_private.display import MARK, in_braces, printable
from fim_private.dp.charge import Charged, Left
from fim_private.dp.composition import growth_bound
from fim_private.dp.cost import Exact, PrivacyCost, least_in_words, most_in_words, rounded_up
from fim_private.dp.parameters import Neighbors
from fim_private.reading.labels import Item
from fim_private.reading.options import MissingUser

# From this ε on e^ε says nothing to anybody.
_LARGE_EPSILON = 20
# Itemsets of one and of two items.
_NAMED = ("item", "pair")
# In place of a guarantee.
SEEDED = (
    "NOT PRIVATE: a seed was given, so the randomness is predictable. For tests and "
    "benchmarks only."
)
# Why rules of users have no lift.
NOT_INDEPENDENCE = (
    "lift 1 would not mean independence, since a pair must share one basket, but "
    "an item may be in any"
)


def number_of(number: int, thing: str) -> str:
    """Return "1 basket", "2 baskets", …"""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def some_of(number: int, every: int, thing: str) -> str:
    """Return "no rule", "3 of 5 rules", "all 5 rules", or "the only rule"."""
    if number == 0:
        return f"no {thing}"
    if every == 1:
        return f"the only {thing}"
    things = number_of(every, thing)
    return f"all {things}" if number == every else f"{number:,} of {things}"


def itemsets_of(sizes: Sequence[int], number: int) -> str:
    """Return "item", "pairs", "itemsets of 3 items", "itemsets of 1 to 3 items": one, or several.
    sizes: ascending.
    """
    if sizes[-1] <= len(_NAMED) and len(sizes) == 1:
        return _NAMED[sizes[0] - 1] + "s" * (number != 1)
    return (
        f"itemset{'s' * (number != 1)} of {sizes[0]}{f' to {sizes[-1]}' * (len(sizes) > 1)} items"
    )


def candidates(found: int, sure: int, among: str) -> str:
    """Return how many itemsets came out, and of how many the rank is sure. sure: fewer than
    found.
    """
    if found == 1:
        return f"1 candidate: it is not sure to be {among}"
    said = f"{sure:,} are" if sure > 1 else "1 is" if sure else "none is"
    return f"{found:,} candidates: {said} sure to be {among}"


def ranks(marks: Sequence[bool], among: str) -> str:
    """Return whose rank is sure. marks: whether that of each itemset is not. among: what they were
    sought as.
    """
    if any(marks):
        doubt = (
            f"{MARK} may not be {among}: what was left out may have as much, because of the noise."
        )
        return doubt if all(marks) else f"{doubt} The rank is sure for the others."
    if len(marks) == 1:
        return f"Its rank is sure: it is {among}."
    every = "both" if len(marks) == 2 else f"all {len(marks):,}"
    return f"The rank is sure for {every}: each is {among}."


def braces(items: Sequence[Item] | None, unit: str) -> str:
    """Return an itemset as text. unit: what has it, "basket" or "user"."""
    if items is None:
        return f"(no name: no {unit} has it, or too few to name it privately)"
    return in_braces(items)


def customers(unit: str) -> str:
    """Return what readers call units."""
    return "customers" if unit == "user" else "baskets"


def percent(share: float, decimals: int) -> str:
    """Return a share as text, in per cent."""
    return f"{100 * share:,.{decimals}f} %"


# What neighbouring data share where the list of items is that of the data.
SAME_ITEMS = "among data with the same list of items"


def protected(unit: str, missing_user: str | None, per: str | None = None) -> str:
    """Return the unit that is protected, in words. per: of users, the kind of period that is one
    unit.
    """
    nobodys = " or basket without a user" if missing_user == MissingUser.OWN_UNIT else ""
    whole = (
        f"{unit} (all their baskets)"
        if per is None
        else (f"{unit}'s {per} (all their baskets of that {per})")
    )
    return "basket" if unit == "basket" else f"{whole}{nobodys}"


def guarantee(
    mechanism: str,
    cost: PrivacyCost,
    neighbors: str,
    of_whom: tuple[str, str | None, str | None],
    **chosen: bool,
) -> str:
    """Return the guarantee in one sentence. of_whom: privacy unit, missing_user and per.

    chosen: whether where, query, segments choose units: under replace-one they treat both alike
    (docs/privacy.md). same_items, among them: whether neighbouring data have the same list of
    items.
    """
    whom = protected(*of_whom)
    change = f"adding or removing any one {whom}"
    if neighbors == Neighbors.REPLACE_ONE:
        chosen_by = [
            word for name, word in (("where", "condition"), ("query", "query")) if chosen[name]
        ]
        keeps = (
            f" that the {' and the '.join(chosen_by)} "
            f"{'keep' if len(chosen_by) > 1 else 'keeps'} as well"
        )
        alike = [keeps] * bool(chosen_by) + [" that counts in the same segments"] * chosen.get(
            "segments", False
        )
        change = f"replacing any one {whom} by any other{' and'.join(alike)}"
    if chosen.get("same_items", False):
        change += f", {SAME_ITEMS},"
    epsilon, delta = least_in_words(cost.epsilon), least_in_words(cost.delta)
    # Of ε as it is written, so that the factor is no less than what it says.
    growth = growth_bound(Exact(float(epsilon))) if cost.epsilon < _LARGE_EPSILON else None
    factor = f"a factor e^{epsilon}" + (f" = {rounded_up(growth, 3)}" if growth else "")
    slack = f", up to an added probability of {delta}" if cost.delta else ""
    return (
        f"Guarantee ({mechanism}, ε = {epsilon}, δ = {delta}): {change} changes the "
        f"probability of any result by at most {factor}{slack}."
    )


def counted_for_rules(who: str) -> str:
    """Return why an itemset counts those who bought it in several baskets. who: what users are
    called.
    """
    return (
        f"Rules need that. Without rules it counts only {who} who bought all of it in one "
        f"basket, so the same itemset "
        "may have less support."
    )


def rows_where(condition: str | None) -> tuple[str, ...]:
    """Return by which condition rows were read, in a sentence; nothing where all were."""
    return () if condition is None else (f"Only rows where {printable(condition)} were read.",)


def left_briefly(left: Left) -> str:
    """Return what is left of a budget, as briefly as can be: of basic composition ε, of zCDP ρ."""
    return (
        f"ε {most_in_words(left.epsilon)}" if left.rho is None else f"ρ {most_in_words(left.rho)}"
    )


def charged(by: Charged | None) -> tuple[str, ...]:
    """Return what a ledger says of a release that was charged to it, in a sentence; nothing without
    one.
    """
    if by is None:
        return ()
    rho, epsilon = by.left.rho, by.left.epsilon
    loss = f"ε = {most_in_words(epsilon)}" if rho is None else f"ρ = {most_in_words(rho)} (zCDP)"
    left = f"{loss}, δ = {most_in_words(by.left.delta)}"
    where = "" if by.period is None else f" in {by.period}"
    return (
        (
            f"Charged to the budget of {printable(by.dataset)} (entry {by.entry:,}). "
            f"Left{where}: {left}."
        ),
    )
