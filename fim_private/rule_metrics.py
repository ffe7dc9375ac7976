"""How strongly a rule A → C holds: mlxtend's metrics, of counts and of intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fim_private.errors import ParameterError, parameter, shown
from fim_private.reading.labels import Item

# -------------------- metrics
# How strongly a rule A → C holds: mlxtend's metrics, of counts, and of intervals of counts.
#
# With x units that have A and C, y that have A, z that have C, and n units in all:
#
#     confidence      x / y                           P(C | A) (Agrawal, Imielinski and Swami 1993)
#     lift            n x / (y z)                     P(A, C) / (P(A) P(C)) (Brin, Motwani, Ullman and Tsur 1997)
#     leverage        x / n - y z / n²                P(A, C) - P(A) P(C) (Piatetsky-Shapiro 1991)
#     conviction      (1 - z / n) / (1 - x / y)       P(A) P(not C) / P(A, not C) (Brin and others 1997); ∞ if x = y
#     zhangs_metric   (p - q) / max(p, q)             with p = x / y and q = (z - x) / (n - y): P(C | A) against
#                                                     P(C | not A) (Zhang 2000); 0 if both are 0

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


# -------------------- association
# The rules A → C of itemsets whose parts all have supports, with intervals that hold what they are of.
#
# Each of the counts that a rule is made of (of both sides, of each side, and of all units where that is noisy) has
# noise
# of its own, of a known distribution. With probability 1 - 0.05/m each of m of them is within its interval, so with
# 95 %
# all of them are at once (Bonferroni), and then so are all metrics of the rule within the bounds that follow. Where the
# supports follow the number of units (two normals), this number is in one of several slices, and the bounds are
# those of
# all of them together.

CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True)
class KnownSupport:
    """What is released of an itemset's support, in units: an estimate, and between which two it lies."""

    estimate: int
    lower: float
    upper: float


@dataclass(frozen=True)
class Slice:
    """Between which numbers of units it may be, and by how much the ends of all supports are shifted then."""

    fewest: float
    most: float
    lower: float = 0.0
    upper: float = 0.0


# Returns what is known with so much probability: of each support; about how many units there are; and slices, one of
# which holds their number.
Known = Callable[[Fraction], tuple[Mapping[frozenset[Item], KnownSupport], int, Sequence[Slice]]]


@dataclass(frozen=True)
class Rules:
    """Rules, those that are surest first.

    antecedents, consequents: (rules,) their items. antecedent_support, consequent_support, support: (rules,) shares of
    all units. metrics: by name, (rules,); confidence alone where independence is not lift 1 (has_lifts). bounds: the
    same with support, (lowest, highest): all those of a rule hold with 95 % probability together. doubtful: (rules,)
    whether these leave open whether its sides are together more, or less, often than by chance, or whether it reaches
    what was asked for; without lifts the latter alone.
    """

    antecedents: tuple[tuple[Item, ...], ...]
    consequents: tuple[tuple[Item, ...], ...]
    antecedent_support: Numbers
    consequent_support: Numbers
    support: Numbers
    metrics: Mapping[str, Numbers]
    bounds: Mapping[str, tuple[Numbers, Numbers]]
    doubtful: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.antecedents)

    @property
    def has_lifts(self) -> bool:
        """Whether there are lift, leverage, conviction and Zhang's metric, which compare with independence."""
        return "lift" in self.metrics

    def at(self, places: NDArray[np.intp]) -> Rules:
        """Return the rules at these places, in this order."""
        return Rules(
            tuple(self.antecedents[place] for place in places),
            tuple(self.consequents[place] for place in places),
            self.antecedent_support[places],
            self.consequent_support[places],
            self.support[places],
            {name: values[places] for name, values in self.metrics.items()},
            {name: (low[places], high[places]) for name, (low, high) in self.bounds.items()},
            self.doubtful[places],
        )


def least(name: str, value: float) -> float:
    """Return the least confidence or lift asked for. Raises ParameterError for what is no number, or out of range."""
    highest = 1 if name == "min_confidence" else np.inf
    if isinstance(value, bool | str) or not isinstance(value, int | float | np.number) or not 0 <= value <= highest:
        between = "between 0 and 1" if highest == 1 else "of at least 0"
        raise ParameterError(f"{parameter(name)} must be a number {between}, not {shown(value)}")
    return float(value)


def association_rules(
    itemsets: Sequence[tuple[Item, ...]],
    known: Known,
    *,
    noisy_units: bool,
    lifts: bool = True,
    min_confidence: float = 0.0,
    min_lift: float = 0.0,
) -> Rules:
    """Return all rules of itemsets whose estimates have at least so much confidence and lift, the surest first.

    itemsets: with supports above 0; those of one item make no rules. known: returns supports of them and of all their
    parts. noisy_units: whether the number of units is noisy. lifts: whether lift 1 is independence; without it there is
    confidence alone, and min_lift must be 0.
    The surest are those whose lift (without lifts: confidence) is highest at least: by the lower end of its interval;
    doubtful ones come last.
    """
    supports, units, slices = known(1 - (1 - CONFIDENCE) / (4 if noisy_units else 3))
    sides = [
        (tuple(side), tuple(item for item in itemset if item not in side), itemset)
        for itemset in itemsets
        if len(itemset) > 1 and supports[frozenset(itemset)].estimate > 0
        for size in range(1, len(itemset))
        for side in combinations(itemset, size)
    ]

    def numbers(of: Callable[[KnownSupport], float]) -> Numbers:
        one = [[of(supports[frozenset(part)]) for part in parts] for parts in sides]
        return np.array(one, dtype=np.float64).reshape(-1, 3).T

    def counts(one: Numbers, number: float, shift: float = 0.0) -> RuleCounts:
        first, second, both = np.maximum(one + shift, 0)
        return RuleCounts(both, first, second, np.full(len(sides), float(number)))

    told = counts(numbers(lambda each: each.estimate), max(units, 1))
    metrics = METRICS if lifts else {"confidence": METRICS["confidence"]}
    lowest, highest = numbers(lambda each: each.lower), numbers(lambda each: each.upper)
    ends = [
        _bounds(metrics, counts(lowest, one.fewest, one.lower), counts(highest, one.most, one.upper)) for one in slices
    ]
    limits = {
        name: (np.minimum.reduce([one[name][0] for one in ends]), np.maximum.reduce([one[name][1] for one in ends]))
        for name in ends[0]
    }
    doubtful = limits["confidence"][0] < min_confidence
    if lifts:
        low, high = limits["lift"]
        doubtful |= ((low <= 1) & (high >= 1)) | (low < min_lift)
    found = Rules(
        tuple(first for first, _, _ in sides),
        tuple(second for _, second, _ in sides),
        np.minimum(told.antecedent / told.units, 1.0),
        np.minimum(told.consequent / told.units, 1.0),
        np.minimum(told.both / told.units, 1.0),
        {name: metric(told) for name, metric in metrics.items()},
        limits,
        doubtful,
    )
    enough = found.metrics["confidence"] >= min_confidence
    kept = np.flatnonzero(enough & (found.metrics["lift"] >= min_lift) if lifts else enough)
    by = "lift" if lifts else "confidence"
    order = np.lexsort((-found.metrics[by][kept], -limits[by][0][kept], found.doubtful[kept]))
    return found.at(kept[order])


def _bounds(metrics: Iterable[str], lowest: RuleCounts, highest: RuleCounts) -> dict[str, tuple[Numbers, Numbers]]:
    """Return the lowest and the highest that metrics and the support can be, where the counts lie between these."""
    limits = {name: bounds(name, lowest, highest) for name in metrics}
    most = np.maximum(highest.units, 1)
    limits["support"] = lowest.both / most, np.minimum(highest.both / np.maximum(lowest.units, 1), 1.0)
    return limits
