"""The metrics of association rules, and intervals of them from noisy counts.

With x units that have A and C, y that have A, z that have C, and n units in all:

    confidence      x / y                           P(C | A) (Agrawal, Imielinski and Swami 1993)
    lift            n x / (y z)                     P(A, C) / (P(A) P(C)) (Brin and others 1997)
    leverage        x / n - y z / n²                P(A, C) - P(A) P(C) (Piatetsky-Shapiro 1991)
    conviction      (1 - z / n) / (1 - x / y)       P(A) P(not C) / P(A, not C) (Brin and
                                                    others 1997); ∞ if x = y
    zhangs_metric   (p - q) / max(p, q)             with p = x / y and q = (z - x) / (n - y):
                                                    P(C | A) against P(C | not A) (Zhang 2000); 0
                                                    if both are 0, or y = n
    jaccard         x / (y + z - x)                 P(A, C) / P(A or C) (Jaccard 1901)
    kulczynski      (x / y + x / z) / 2             (P(C | A) + P(A | C)) / 2 (Kulczynski 1927)
    certainty       (x / y - z / n) / (1 - z / n)   1 - 1 / conviction; 0 if z = n

mlxtend's representativity is left out: without missing values it is 1 for every rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fim_private.request.supports import NoiseKind, SupportNoise, UnitCount

Numbers = NDArray[np.float64]
Marks = NDArray[np.bool_]
Ends = tuple[Numbers, Numbers]


class RuleCounts(NamedTuple):
    """Counts of units, one for each rule: those with both sides, with each side, and all."""

    both: Numbers
    antecedent: Numbers
    consequent: Numbers
    units: Numbers

    @classmethod
    def within(cls, supports: Numbers, units: float) -> RuleCounts:
        """Return supports cut to 0 and the number of units.

        supports: (3, rules), of both sides, the left and the right.
        """
        both, antecedent, consequent = np.clip(supports, 0, units)
        return cls(both, antecedent, consequent, np.full(len(both), float(units)))


def _ratio(numerator: Numbers, denominator: Numbers, otherwise: Numbers | float) -> Numbers:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator > 0, np.divide(numerator, denominator), otherwise)


def _confidence(counts: RuleCounts) -> Numbers:
    return _ratio(counts.both, counts.antecedent, 1.0)


def _lift(counts: RuleCounts) -> Numbers:
    return _ratio(counts.both * counts.units, counts.antecedent * counts.consequent, np.inf)


def _leverage(counts: RuleCounts) -> Numbers:
    antecedent_share = counts.antecedent / counts.units
    consequent_share = counts.consequent / counts.units
    return counts.both / counts.units - antecedent_share * consequent_share


def _conviction(counts: RuleCounts) -> Numbers:
    return _ratio(1 - counts.consequent / counts.units, 1 - _confidence(counts), np.inf)


def _zhangs_metric(counts: RuleCounts) -> Numbers:
    confidence = _confidence(counts)
    units_without = counts.units - counts.antecedent
    without = _ratio(counts.consequent - counts.both, units_without, confidence)
    return _zhang(confidence, np.clip(without, 0, 1))


def _jaccard(counts: RuleCounts) -> Numbers:
    either = counts.antecedent + counts.consequent - counts.both
    return _ratio(counts.both, either, 0.0)


def _kulczynski(counts: RuleCounts) -> Numbers:
    both, left, right, _ = counts
    return _ratio(both * (left + right), 2 * left * right, 1.0)


def _zhang(with_left: Numbers, without_left: Numbers) -> Numbers:
    """Return Zhang's metric of P(C | A) and P(C | not A)."""
    return _ratio(with_left - without_left, np.maximum(with_left, without_left), 0.0)


# By mlxtend's names, in its order. Certainty follows conviction, and so does its interval.
METRICS = {
    "confidence": _confidence,
    "lift": _lift,
    "leverage": _leverage,
    "conviction": _conviction,
    "zhangs_metric": _zhangs_metric,
    "jaccard": _jaccard,
    "kulczynski": _kulczynski,
}


def bounds(name: str, lowest: RuleCounts, highest: RuleCounts) -> Ends:
    """Return the lowest and the highest that the support, or a metric, of each rule can be between
    two counts.

    All metrics except leverage rise with x and n and fall with y and z, so the ends are at two
    corners. For lift and confidence that follows from their formulas. Conviction is (n - z) y / (n
    (y - x)), and y / (y - x) falls with y. In Zhang's, p rises with x and falls with y, and q falls
    with x and n and rises with y and z. Leverage is bounded term by term. Counts that cannot be
    (more with both sides than with one, more with a side than there are) are left out first.
    """
    if name == "support":
        least_share = lowest.both / np.maximum(highest.units, 1)
        return least_share, np.minimum(highest.both / np.maximum(lowest.units, 1), 1.0)
    # The ends of counts with x <= y <= n, x <= z <= n and x >= y + z - n.
    y_high = np.minimum(highest.antecedent, highest.units)
    z_high = np.minimum(highest.consequent, highest.units)
    x_high = np.minimum.reduce([highest.both, y_high, z_high])
    overlap = lowest.antecedent + lowest.consequent - highest.units
    x_low = np.clip(np.maximum(lowest.both, overlap), 0, x_high)
    y_low = np.clip(lowest.antecedent, x_low, y_high)
    z_low = np.clip(lowest.consequent, x_low, z_high)
    n_low = np.maximum.reduce([lowest.units, y_low, z_low, np.ones_like(y_low)])
    n_high = np.maximum(highest.units, 1)
    if name == "leverage":
        lower = x_low / n_high - (y_high / n_low) * (z_high / n_low)
        upper = x_high / n_low - (y_low / n_high) * (z_low / n_high)
        return np.maximum(lower, -0.25), np.minimum(upper, 0.25)
    worst = RuleCounts(x_low, y_high, z_high, n_low)
    # At the upper corner no side may have less than both together.
    best = RuleCounts(x_high, np.maximum(y_low, x_high), np.maximum(z_low, x_high), n_high)
    if name == "lift":
        # Where x can be more than a side's lowest, lift is highest where they are equal.
        best = RuleCounts(np.minimum.reduce([x_high, y_low, z_low]), y_low, z_low, n_high)
        without_a_side = _ratio(n_high, np.maximum(y_low, z_low), np.inf)
        upper = np.where((y_low == 0) | (z_low == 0), without_a_side, _lift(best))
        return _lift(worst), upper
    if name == "zhangs_metric":
        often = np.clip(_ratio(z_high - x_low, n_low - y_high, 1.0), 0, 1)
        seldom = np.clip(_ratio(best.consequent - x_high, n_high - y_low, 0.0), 0, 1)
        return _zhang(_confidence(worst), often), _zhang(_confidence(best), seldom)
    if name == "conviction":
        worst = worst._replace(consequent=np.minimum(z_high, n_low))
    metric = METRICS[name]
    return metric(worst), metric(best)


# Each of the counts that a rule is made of (of both sides, of each side, and of all units where
# that is noisy) has noise of a known distribution. If the noise is normal, and the counts are large
# against it, all of them together are jointly normal, and the interval of each metric follows from
# that law (`joint_interval`). Elsewhere bounds hold. With probability 1 - 0.05/m each of m counts
# is within its interval, so with 95 % all of them are at once (Bonferroni), and then so are all
# metrics of the rule within the bounds that follow. Where the supports follow the number of units
# (two normals), this number is in one of several slices, and the bounds are those of all of them
# together.

# A normal value is within so many σ with 95 % probability.
_Z = 1.959963984540054
# A count is large against its noise if it is this many σ.
_LARGE = 4.0
# Metrics that are a product of two factors divided by another of two: counts of a rule, or
# differences of them, by their weights in a `RuleCounts`. Of Zhang's metric this is P(C | A) /
# P(C | not A): it rises with that ratio, and depends on nothing else. In Jaccard's metric the units
# cancel, and Kulczynski's is half of the quotient.
_BOTH, _ANTECEDENT, _CONSEQUENT, _UNITS = np.eye(4)
_QUOTIENTS = {
    "lift": np.array([_BOTH, _UNITS, _ANTECEDENT, _CONSEQUENT]),
    "conviction": np.array([_UNITS - _CONSEQUENT, _ANTECEDENT, _UNITS, _ANTECEDENT - _BOTH]),
    "zhangs_metric": np.array([_BOTH, _UNITS - _ANTECEDENT, _ANTECEDENT, _CONSEQUENT - _BOTH]),
    "jaccard": np.array([_BOTH, _UNITS, _ANTECEDENT + _CONSEQUENT - _BOTH, _UNITS]),
    "kulczynski": np.array([_BOTH, _ANTECEDENT + _CONSEQUENT, _ANTECEDENT, _CONSEQUENT]),
}
_EXPONENTS = np.array([1, 1, -1, -1])


@dataclass(frozen=True)
class JointNoise:
    """The covariance of the noise of a rule's counts, in units squared.

    Attributes:
        own: The variance that each support has of its own.
        shared: The variance that all supports share.
        units: The variance of the number of units.
        between: The covariance of a support and the number of units.
    """

    own: float
    shared: float = 0.0
    units: float = 0.0
    between: float = 0.0

    @classmethod
    def of(cls, noise: SupportNoise, units: UnitCount) -> JointNoise | None:
        """Return the joint noise of supports and of the number of units; None if not normal."""
        if noise.of_units is not None:
            shared = noise.shared_variance
            return cls(noise.own_variance, shared, 4 * shared, 2 * shared)
        if NoiseKind.LAPLACE in (noise.kind, units.noise and units.noise.kind):
            return None
        if units.noise is None:
            return cls(noise.own_variance)
        return cls(noise.own_variance, units=units.noise.own_variance)

    def deviation(self, slopes: Numbers) -> Numbers:
        """Return the standard deviation of functions of the counts, given their slopes.

        slopes: (4, functions), in the order of `RuleCounts`.
        """
        supports, units = slopes[:3], slopes[3]
        sides = supports.sum(axis=0)
        variance: Numbers = (
            self.own * (supports**2).sum(axis=0)
            + self.shared * sides**2
            + self.units * units**2
            + 2 * self.between * sides * units
        )
        return np.sqrt(np.maximum(variance, 0))


def joint_interval(name: str, counts: RuleCounts, noise: JointNoise) -> tuple[Ends, Marks]:
    """Return a 95 % interval of a metric of each rule, and for which rules it holds.

    It is that of a function of jointly normal counts (the delta method). Support and leverage are
    taken as they are, others by a logarithm, which is nearer to a line. Confidence is a ratio of
    two normal values, whose interval is exact (Fieller 1954).

    Args:
        name: "support", or a metric.
        counts: The noisy counts.
        noise: Their noise.
    """
    x, y, z, n = counts
    weights = _QUOTIENTS.get(name, np.empty((0, 4)))
    factors = weights @ counts
    holds = np.min([x, y, z, *factors], axis=0) >= _LARGE * math.sqrt(noise.own + noise.shared)
    with np.errstate(all="ignore"):
        if name == "confidence":
            return _ratio_interval(counts, noise), holds
        if name in _QUOTIENTS:
            # The slopes of its logarithm.
            factor = np.exp(_Z * noise.deviation((_EXPONENTS * weights.T) @ (1 / factors)))
            if name == "zhangs_metric":
                with_left, without_left = x / y, (z - x) / (n - y)
                lower = _zhang(with_left, without_left * factor)
                return (lower, _zhang(with_left, without_left / factor)), holds
            value = METRICS[name](counts)
            most = np.inf if name in ("lift", "conviction") else 1.0
            return (value / factor, np.minimum(value * factor, most)), holds
        slopes = np.array([1 / n, 0 * y, 0 * z, -x / n**2])
        value, least, most = x / n, 0.0, 1.0
        if name == "leverage":
            slopes += [0 * x, -z / n**2, -y / n**2, 2 * y * z / n**3]
            value, least, most = _leverage(counts), -0.25, 0.25
        width = _Z * noise.deviation(slopes)
        return (np.maximum(value - width, least), np.minimum(value + width, most)), holds


def _ratio_interval(counts: RuleCounts, noise: JointNoise) -> Ends:
    """Return Fieller's interval of x / y, within 0 and 1: all of it where y may be 0.

    It is all c with (x - c y)² <= z² Var(x - c y), where the variance is own (1 + c²) + shared
    (1 - c)²: between the two roots of a quadratic.
    """
    x, y = counts.both, counts.antecedent
    shared = _Z**2 * noise.shared
    alone = _Z**2 * (noise.own + noise.shared)
    leading, middle, last = y * y - alone, x * y - shared, x * x - alone
    spread = np.sqrt(np.maximum(middle * middle - leading * last, 0))
    roots = np.array([middle - spread, middle + spread]) / leading
    lower, upper = np.clip(np.where(leading > 0, roots, [[0.0], [1.0]]), 0, 1)
    return lower, upper


def certainty_of(columns: Mapping[str, Numbers]) -> dict[str, Numbers]:
    """Return the certainty of rules, whose interval follows from that of conviction."""
    consequent = columns["consequent support"]
    above_chance = columns["confidence"] - consequent
    certainty = {"certainty": _ratio(above_chance, 1 - consequent, 0.0)}
    for end in ("lower", "upper"):
        conviction = columns[f"conviction_{end}"]
        certainty[f"certainty_{end}"] = 1 - _ratio(np.ones_like(conviction), conviction, np.inf)
    return certainty
