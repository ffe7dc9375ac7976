"""What a release says of itself, in words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from fim_private.display import MARK, printable
from fim_private.dp.charge import Charged, Left
from fim_private.dp.composition import growth_bound
from fim_private.dp.cost import PrivacyCost, ZcdpCost, at_least, at_most, rounded_up
from fim_private.dp.parameters import Neighbors
from fim_private.errors import parameter
from fim_private.reading.labels import Item
from fim_private.reading.options import MissingUser

# -------------------- wording
# What a release says of itself, in words: which itemsets it holds, and what is guaranteed.

# From this ε on e^ε says nothing to anybody.
_LARGE_EPSILON = 20
_MOST_DECIMALS = 6
# In place of a guarantee.
SEEDED = "NOT PRIVATE: a seed was given, so the randomness is predictable. For tests and benchmarks only."


# Why rules of users have no lift where one basket has to contain an itemset.
NOT_INDEPENDENCE = (
    "a pair must share one basket, but each item counts users who ever bought it, so lift 1 is not independence"
)
NO_LIFTS = f"No lift is shown: {NOT_INDEPENDENCE}."


def no_min_lift() -> str:
    """Say why there is no least lift of such rules, and what to do, for an error."""
    return f"{parameter('min_lift')} of users needs {parameter('together')} user: {NOT_INDEPENDENCE}"


def of_items(sizes: Sequence[int]) -> str:
    """Return the sizes of itemsets: "1 item", "2 items" or "2 to 4 items"."""
    if len(sizes) > 1:
        return f"{sizes[0]} to {sizes[-1]} items"
    return "1 item" if sizes[0] == 1 else f"{sizes[0]} items"


def braces(items: Sequence[Item] | None, unit: str) -> str:
    """Return an itemset as text. unit: what has it, "basket" or "user"."""
    if items is None:
        return f"(unnamed: an itemset that no {unit} has, or too few have for it to be named privately)"
    return "{" + ", ".join(printable(str(item)) for item in items) + "}"


def wording_title(
    mechanism: str, sizes: Sequence[int], *, found: int, wanted: int, of_each: int | None, order: str | None
) -> str:
    """Return what itemsets were selected: how many of how many, by what; not that they are what was asked for.

    found: how many came out, >= 1. wanted: how many were asked for. of_each: how many of each size; None for one size,
    or several ranked together. order: in which they stand, None where there is but one.
    """
    if wanted == 1:
        return f"The itemset of {of_items(sizes)} that {mechanism} selected as the most frequent"
    itemsets = "1 itemset" if found == 1 else f"{found:,} itemsets"
    each = "" if of_each is None else f" ({of_each:,} of each size)"
    placed = "" if order is None else f", in order of {order}"
    return (
        f"{itemsets} of {of_items(sizes)}, of {wanted:,} asked for{each}, "
        f"selected by {mechanism} as the most frequent{placed}"
    )


def chance(unit: str, shortfall: int | None, *, of_each: bool) -> str:
    """Return what is uncertain of itemsets that were picked.

    shortfall: of them, in units, as in `Outcome`. of_each: whether each size was picked by itself.
    """
    size = " of its size" if of_each else ""
    if shortfall is None:
        return "Picked by lot, the likelier the more support: what nearly ties is a matter of chance."
    if not shortfall:
        return f"None{size} that was passed over has more support."
    return (
        f"Picked by lot, the likelier the more support: with 95 % probability none{size} that was passed over has over "
        f"{of_units(shortfall, unit)} more."
    )


_ALIKE = {
    "basket": "long baskets hold much the same items as short ones",
    "user": "users with many items hold much the same as those with few, and buy it again about as often",
}


def doubt(marked: int, found: int, among: str, alike: str | None) -> str:
    """Return what the mark of doubtful itemsets means, or that there is none.

    among: what they may not be. alike: of which units it is taken that they hold much the same; None where nothing is.
    """
    beyond = "leads what was left out by more than the noise explains"
    # What a weight stands for is estimated of what was found: see docs/privacy.md, "How certain a release is".
    if alike is not None:
        beyond += f", if {_ALIKE[alike]}"
    if not marked:
        return f"Each of them {beyond}: it is among the {among}."
    others = "" if marked == found else f" Each of the others {beyond}."
    return (
        f"{MARK} may not be among the {among}: by the noise alone, what was left out, or lost on the way, may have as "
        f"much support.{others}"
    )


def of_units(number: int, unit: str) -> str:
    """Return "1 basket", "2 baskets", …"""
    return f"{number:,} {unit}" if number == 1 else f"{number:,} {unit}s"


def percent(share: float, decimals: int) -> str:
    """Return a share as text, in per cent."""
    return f"{100 * share:,.{decimals}f} %"


def decimals_of_shares(half_width: int, units: int) -> int:
    """Return how many decimals of a percentage tell more than noise within half_width, of so many units."""
    resolution = 100 * max(half_width, 0.5) / max(units, 1)
    return min(max(math.ceil(-math.log10(resolution)), 1), _MOST_DECIMALS)


def protected(unit: str, missing_user: str | None) -> str:
    """Return the unit that is protected, in words."""
    if unit == "basket":
        return "basket"
    nobodys = " or basket without a user" if missing_user == MissingUser.OWN_UNIT else ""
    return f"{unit} (all their baskets){nobodys}"


def change(neighbors: str, unit: str, *, where: bool = False, query: bool = False, segments: bool = False) -> str:
    """Return what neighbours differ in, in words. unit: as `protected` returns it.

    where, query, segments: whether a condition, a query or segments choose units: under replace-one a unit is exchanged
    for another that they treat alike (docs/privacy.md, "The number of units").
    """
    if neighbors != Neighbors.REPLACE_ONE:
        return f"adding or removing any one {unit}"
    chosen_by = [name for name, chooses in (("condition", where), ("query", query)) if chooses]
    kept = f" that the {' and the '.join(chosen_by)} {'keep' if len(chosen_by) > 1 else 'keeps'} as well"
    alike = [kept] * bool(chosen_by) + [" that counts in the same segments"] * segments
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


def rows_where(condition: str | None) -> tuple[str, ...]:
    """Return by which condition rows were read, in a sentence; nothing where all were."""
    return () if condition is None else (f"Only rows were read where {printable(condition)}.",)


def concentrated(cost: ZcdpCost | None) -> str:
    """Return what a release spends in zCDP, as one more sentence; nothing where its budget was not given so."""
    if cost is None:
        return ""
    approximately = f"{at_least(cost.delta)}-approximately " if cost.delta else ""
    return (
        f" It is {approximately}ρ-zCDP with ρ = {at_least(cost.rho)}, from which this follows, and which adds up with "
        "what other releases spend."
    )


def title_reaching(mechanism: str, sizes: Sequence[int], *, found: int, least: str) -> str:
    """Return which itemsets were released that reach a least support: how many, by what. least: that, in words."""
    if not found:
        return f"No itemset of {of_items(sizes)} was found with a noisy support of at least {least}."
    itemsets = "1 itemset" if found == 1 else f"{found:,} itemsets"
    return f"{itemsets} of {of_items(sizes)} with a noisy support of at least {least}, found by {mechanism}"


def certainty_reaching(marked: int, found: int, least: str, *, capped: bool, top: int) -> tuple[str, ...]:
    """Return how certain it is that itemsets reach a least support, and that they are all, in sentences."""
    doubt = f"{MARK} may have less than {least}, by the noise alone." if marked else ""
    sure = f"{'The others have' if marked else 'They have'} as much but for a probability of 2.5 %, each by itself."
    cap = f"The cap was reached: only {top:,} were looked at, and more may have as much." if capped else ""
    missed = cap or "Others may have as much, and not have been found."
    return " ".join(part for part in (doubt, "" if marked == found else sure) if part), missed


def no_shares(unit: str, *, chosen: bool) -> str:
    """Say why supports are no shares, and what to do, for an error. chosen: by a condition, a query or segments."""
    public = "" if chosen else f", or with {parameter('neighbors')}='replace-one', where it is public"
    return (
        f"supports cannot be told as shares of all {unit}s, which association_rules needs: how many there are is "
        f"private. Mine again with {parameter('count')}=True, which buys a noisy count{public}; or take the supports "
        "as they are, in units: to_pandas(relative=False)"
    )


def left_briefly(left: Left) -> str:
    """Return what is left of a budget, as briefly as can be: of basic composition ε, of zCDP ρ."""
    return f"ε {at_most(left.epsilon)}" if left.rho is None else f"ρ {at_most(left.rho)}"


def charged(by: Charged | None) -> tuple[str, ...]:
    """Return what a ledger says of a release that was charged to it, in a sentence; nothing without one."""
    if by is None:
        return ()
    delta = f"δ = {at_most(by.left.delta)}"
    if by.left.rho is None:
        left = f"ε = {at_most(by.left.epsilon)}, {delta}"
    else:
        left = f"ρ = {at_most(by.left.rho)} of zero-concentrated privacy, {delta}"
    return (f"Charged to the budget of {printable(by.dataset)} (entry {by.entry:,}); left: {left}.",)


# -------------------- rule cells
# Association rules as texts, a row each: what people read of them first.


def heads(*, lifts: bool) -> list[str]:
    """Return the headings of rules. lifts: whether there are any."""
    return ["rule", "share", "confidence", "95 %", *(["lift", "95 %"] if lifts else [])]


def cells(
    sides: Sequence[Sequence[Item]], numbers: Mapping[str, float], *, doubtful: bool, decimals: int, unit: str
) -> list[str]:
    """Return a rule as texts, one for each of the headings.

    sides: antecedent and consequent. numbers: by the names of a frame's columns. decimals: of shares, in per cent.
    unit: what has an itemset, "basket" or "user".
    """
    rule = " → ".join(braces(side, unit) for side in sides)
    low, high = numbers["confidence_lower"], numbers["confidence_upper"]
    lift = []
    if "lift" in numbers:
        ends = _figure(numbers["lift_lower"], math.floor), _figure(numbers["lift_upper"], math.ceil)
        lift = [_figure(numbers["lift"]), " to ".join(ends)]
    return [
        f"{rule} {MARK}" if doubtful else rule,
        percent(numbers["support"], decimals),
        percent(numbers["confidence"], 0),
        f"{math.floor(100 * low)} to {math.ceil(100 * high)} %",
        *lift,
    ]


def rule_cells_title(rules: int) -> str:
    """Return how many rules there are."""
    return f"{rules:,} association {'rule' if rules == 1 else 'rules'}"


def note(marked: int, rules: int, *, lifts: bool) -> str:
    """Return how many rules are clear of the noise, what marks the others, and how to read the intervals.

    marked: how many are doubtful. lifts: whether there are any; it is said why, where there are none.
    """
    told = []
    if lifts:
        told.append(f"{rules - marked:,} of {rules:,} {'rule is' if rules == 1 else 'rules are'} clear of the noise.")
    if marked and lifts:
        told.append(
            f"{MARK} marks the others: by the noise alone, their sides may be together (or apart) by chance, or below "
            "a limit that you set."
        )
    elif marked:
        told.append(f"{MARK} marks {marked:,} of {rules:,}: they may have less confidence than you asked for.")
    told.append("The intervals of a rule hold what they are of with 95 % probability together.")
    return " ".join([*told, *([] if lifts else [NO_LIFTS])])


def _figure(value: float, whole: Callable[[float], int] = round) -> str:
    """Return a lift with three digits or so. whole: which way it is rounded."""
    if math.isinf(value):
        return "∞"
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{whole(value * 10**decimals) / 10**decimals:,.{decimals}f}"


# -------------------- markdown
# A release as Markdown: the table, how certain it is, and the guarantee.

# What Markdown, or the HTML within it, would take for its own.
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is, on one line.

    >>> escaped("*tea* | <b>")
    '\\\\*tea\\\\* \\\\| \\\\<b\\\\>'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def markdown(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """Return a title, a table (whose first column is text, and the others numbers) and notes, a paragraph each."""
    parts = [f"**{escaped(title)}**"]
    if rows:
        ruler = ["---", *["---:"] * (len(columns) - 1)]
        cells = [list(map(escaped, row)) for row in (columns, *rows)]
        cells.insert(1, ruler)
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in cells))
    parts += map(escaped, notes)
    return "\n\n".join(parts) + "\n"
