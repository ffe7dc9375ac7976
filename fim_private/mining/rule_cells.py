"""Association rules as texts, a row each: what people read of them first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from fim_private.mining.wording import MARK, braces, percent
from fim_private.reading.vocabulary import Item

HEADS = ("rule", "share", "confidence", "95 %", "lift", "95 %")


def cells(
    sides: Sequence[Sequence[Item]], numbers: Mapping[str, float], *, doubtful: bool, decimals: int, unit: str
) -> list[str]:
    """Return a rule as texts, one for each of HEADS.

    sides: antecedent and consequent. numbers: by the names of a frame's columns. decimals: of shares, in per cent.
    unit: what has an itemset, "basket" or "user".
    """
    rule = " → ".join(braces(side, unit) for side in sides)
    low, high = numbers["confidence_lower"], numbers["confidence_upper"]
    return [
        f"{rule} {MARK}" if doubtful else rule,
        percent(numbers["support"], decimals),
        percent(numbers["confidence"], 0),
        f"{math.floor(100 * low)} to {math.ceil(100 * high)} %",
        _figure(numbers["lift"]),
        f"{_figure(numbers['lift_lower'], math.floor)} to {_figure(numbers['lift_upper'], math.ceil)}",
    ]


def title(rules: int) -> str:
    """Return how many rules there are."""
    return f"{rules:,} association {'rule' if rules == 1 else 'rules'}"


def note(marked: int, rules: int) -> str:
    """Return how the intervals of rules are to be read, and the mark of the doubtful ones among them."""
    told = "The intervals of a rule hold what they are of with 95 % probability together."
    if marked:
        told += (
            f" {MARK} ({marked:,} of {rules:,}): by the noise alone its two sides may be together no more (or "
            "less) often than by chance, or it may miss what was asked for."
        )
    return told


def _figure(value: float, whole: Callable[[float], int] = round) -> str:
    """Return a lift with three digits or so. whole: which way it is rounded."""
    if math.isinf(value):
        return "∞"
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{whole(value * 10**decimals) / 10**decimals:,.{decimals}f}"
