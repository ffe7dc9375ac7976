"""Association rules as texts, a row each: what people read of them first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from fim_private.mining.wording import MARK, NO_LIFTS, braces, percent
from fim_private.reading.vocabulary import Item


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


def title(rules: int) -> str:
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
