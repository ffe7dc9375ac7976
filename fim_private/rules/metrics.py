"""How strongly a rule A → C holds: mlxtend's metrics, of counts, and of intervals of counts.

With x units that have A and C, y that have A, z that have C, and n units in all:

    confidence      x / y                           P(C | A) (Agrawal, Imielinski and Swami 1993)
    lift            n x / (y z)                     P(A, C) / (P(A) P(C)) (Brin, Motwani, Ullman and Tsur 1997)
    leverage        x / n - y z / n²                P(A, C) - P(A) P(C) (Piatetsky-Shapiro 1991)
    conviction      (1 - z / n) / (1 - x / y)       P(A) P(not C) / P(A, not C) (Brin and others 1997); ∞ if x = y
    zhangs_metric   (p - q) / max(p, q)             with p = x / y and q = (z - x) / (n - y): P(C | A) against
                                                    P(C | not A) (Zhang 2000); 0 if both are 0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class RuleCounts:
    """Counts of rules, in units, each (rules,) float64: of both sides together, of each side, and of all units."""

    both: Numbers
    antecedent: Numbers
    consequent: Numbers
    units: Numbers


def confidence(of: RuleCounts) -> Numbers:
    """Return P(C | A), 0 to 1: (rules,); 1 where nobody has A."""
    return _ratio(of.both, of.antecedent, 1.0)


def lift(of: RuleCounts) -> Numbers:
    """Return how many times more often A and C are together than by chance, >= 0: (rules,); ∞ where nobody has one."""
    return _ratio(of.both * of.units, of.antecedent * of.consequent, np.inf)


def leverage(of: RuleCounts) -> Numbers:
    """Return by which part of all units A and C are more often together than by chance, -1/4 to 1/4: (rules,)."""
    return of.both / of.units - (of.antecedent / of.units) * (of.consequent / of.units)


def conviction(of: RuleCounts) -> Numbers:
    """Return how many times more often A would be without C by chance, >= 0: (rules,); ∞ where it never is."""
    return _ratio(1 - of.consequent / of.units, 1 - confidence(of), np.inf)


def zhangs_metric(of: RuleCounts) -> Numbers:
    """Return from -1 (never together) over 0 (by chance) to 1 (C never without A): (rules,)."""
    without = _ratio(of.consequent - of.both, of.units - of.antecedent, 0.0)
    return _zhang(confidence(of), np.clip(without, 0, 1))


def _zhang(given: Numbers, without: Numbers) -> Numbers:
    """Return Zhang's metric of P(C | A) and P(C | not A)."""
    return _ratio(given - without, np.maximum(given, without), 0.0)


METRICS: dict[str, Callable[[RuleCounts], Numbers]] = {
    function.__name__: function for function in (confidence, lift, leverage, conviction, zhangs_metric)
}


def bounds(name: str, lowest: RuleCounts, highest: RuleCounts) -> tuple[Numbers, Numbers]:
    """Return the lowest and the highest that a metric can be: (rules,) each, where the counts lie between these.

    All metrics but leverage rise with x and n and fall with y and z, so the ends are at two corners: for lift,
    confidence by their formulas; conviction is (n - z) y / (n (y - x)), and y / (y - x) falls with y; in Zhang's, p
    rises with x and falls with y, and q falls with x and n and rises with y and z. Leverage is bounded term by term.
    Counts that cannot be (more with both sides than with one, more with a side than there are) are left out first.
    """
    x, y, z, n = _possible(lowest, highest)
    low = RuleCounts(x[0], y[1], z[1], n[0])
    # At the upper corner no side may have less than both together.
    high = RuleCounts(x[1], np.maximum(y[0], x[1]), np.maximum(z[0], x[1]), n[1])
    if name == "lift":
        # Where x can be more than a side's lowest, lift is highest where they are equal.
        high = RuleCounts(np.minimum(x[1], np.minimum(y[0], z[0])), y[0], z[0], n[1])
        both_zero = (y[0] == 0) | (z[0] == 0)
        most = np.where(both_zero, _ratio(n[1], np.maximum(y[0], z[0]), np.inf), lift(high))
        return lift(low), most
    if name == "leverage":
        least = x[0] / n[1] - (y[1] / n[0]) * (z[1] / n[0])
        most = x[1] / n[0] - (y[0] / n[1]) * (z[0] / n[1])
        return np.maximum(least, -0.25), np.minimum(most, 0.25)
    if name == "zhangs_metric":
        often = np.clip(_ratio(z[1] - x[0], n[0] - y[1], 1.0), 0, 1)
        seldom = np.clip(_ratio(high.consequent - x[1], n[1] - y[0], 0.0), 0, 1)
        return _zhang(confidence(low), often), _zhang(confidence(high), seldom)
    if name == "conviction":
        low = RuleCounts(x[0], y[1], np.minimum(z[1], n[0]), n[0])
    metric = METRICS[name]
    return metric(low), metric(high)


Ends = tuple[Numbers, Numbers]


def _possible(lowest: RuleCounts, highest: RuleCounts) -> tuple[Ends, Ends, Ends, Ends]:
    """Return the ends of x, y, z and n without what contradicts x <= y, z <= n and x >= y + z - n."""
    most = highest.units
    sides = np.minimum(highest.antecedent, most), np.minimum(highest.consequent, most)
    x_high = np.minimum(highest.both, np.minimum(*sides))
    x_low = np.maximum(lowest.both, lowest.antecedent + lowest.consequent - most)
    x_low = np.clip(x_low, 0, x_high)
    y, z = (
        (np.minimum(np.maximum(low, x_low), high), high)
        for low, high in zip((lowest.antecedent, lowest.consequent), sides, strict=True)
    )
    n = np.maximum(lowest.units, np.maximum(np.maximum(y[0], z[0]), 1)), np.maximum(most, 1)
    return (x_low, x_high), y, z, n


def _ratio(above: Numbers, below: Numbers, otherwise: float) -> Numbers:
    """Return above / below, and `otherwise` where that is divided by nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, np.divide(above, below), otherwise)
