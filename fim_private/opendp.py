"""Mechanisms as OpenDP measurements, to be chained and composed with everything else there. Needs
the extra opendp.

Candidates are the positions of a vector of scores. The privacy map is what docs/privacy.md proves,
for several units.
"""

import math
from dataclasses import is_dataclass, replace
from fractions import Fraction
from typing import Any

from fim_private.dp.arguments import positive_integer
from fim_private.dp.cost import Exact
from fim_private.dp.neighbors import Neighbors, exact_neighbors
from fim_private.dp.noise import Randomness
from fim_private.errors import MissingExtraError, ParameterError, parameter, shown
from fim_private.mechanisms import Mechanism
from fim_private.selecting import check_mechanism, choose_index, scaled

# Covers a few operations on doubles, the worst of which multiplies 2^-53 by an exponent below 700.
_ROUNDING = 1e-12
# OpenDP has vectors with this metric for these types, and for floats, which no mechanism takes.
_INTEGER_TYPES = ("i32", "i64", "u32", "u64", "usize")


def measurement(
    mechanism: Mechanism,
    *,
    sensitivity: int = 1,
    size: int | None = None,
    integer_type: str = "i64",
) -> Any:
    """Return an opendp Measurement from a vector of scores to the index chosen, or None.

    mechanism: any that fim_private.selecting.select takes, without max_itemsets.
    sensitivity: >= 1. Scores are divided by it and rounded down, so that one unit moves them by at
    most 1.
    size, integer_type: of the input domain, vector_domain(atom_domain(T=integer_type), size).
        integer_type: "i32", "i64", "u32", "u64" or "usize". The length of the vector must be public
        in either case. Input metric: linf_distance(integer_type), monotonic where neighbors is
        "add-remove": one unit then moves all scores alike. Output measure: max_divergence() where
        the mechanism spends no delta, else fixed_smoothed_max_divergence(). Privacy map: with k =
        ⌈d_in / sensitivity⌉, (kε, δ (e^{kε} - 1) / (e^ε - 1)), rounded up, delta at most 1; 0 for k
        = 0. Epsilon and delta are the doubles themselves: here 0.3 is the binary fraction that
        OpenDP adds up. Raises ParameterError for a wrong parameter, MissingExtraError without
        opendp.

    >>> from fim_private.mechanisms import LargeMargin
    >>> choose = measurement(LargeMargin(epsilon=1.0, delta=1e-6))
    >>> choose.map(1), choose([20, 9000, 31])
    ((1.0, 1e-06), 1)
    """
    try:
        import opendp.prelude as dp
        from opendp.mod import GLOBAL_FEATURES
    except ImportError:
        raise MissingExtraError(
            'opendp is not installed: pip install "fim-private[opendp]"'
        ) from None
    check_mechanism(mechanism)
    if getattr(mechanism, "max_itemsets", None) is not None:
        raise ParameterError(
            f"{parameter('mechanism')} must have no {parameter('max_itemsets')}: "
            "no metric of OpenDP says how many scores move"
        )
    exact = _of_doubles(mechanism)
    unit = positive_integer("sensitivity", sensitivity)
    if integer_type not in _INTEGER_TYPES:
        raise ParameterError(
            f"{parameter('integer_type')} must be one of {', '.join(_INTEGER_TYPES)}, not "
            f"{shown(integer_type)}"
        )
    vector = dp.vector_domain(dp.atom_domain(T=integer_type), size=size)
    monotonic = exact_neighbors(mechanism.neighbors) is Neighbors.ADD_REMOVE

    def spent(cost: Exact, stated: float | Fraction) -> Fraction:
        if not cost or stated == cost:
            return Fraction(cost)
        return Fraction(math.nextafter(cost, math.inf))

    epsilon, delta = spent(exact.cost.epsilon, exact.epsilon), spent(exact.cost.delta, exact.delta)

    def function(scores: list[int]) -> int | None:
        return choose_index(scaled(scores, unit), exact, Randomness())

    def privacy_map(distance: int) -> float | tuple[float, float]:
        if distance < 0:
            raise ParameterError(f"{parameter('d_in')} must be 0 or more")
        steps = -(-distance // unit)
        group_epsilon = _round_up(steps * epsilon)
        if not delta:
            return group_epsilon
        return group_epsilon, group_delta(epsilon, delta, steps)

    missing = {"contrib", "honest-but-curious"} - set(GLOBAL_FEATURES)
    dp.enable_features(*missing)
    try:
        return dp.m.make_user_measurement(
            input_domain=vector,
            input_metric=dp.linf_distance(T=integer_type, monotonic=monotonic),
            output_measure=dp.fixed_smoothed_max_divergence() if delta else dp.max_divergence(),
            function=function,
            privacy_map=privacy_map,
        )
    finally:
        dp.disable_features(*missing)


def group_delta(epsilon: Fraction, delta: Fraction, steps: int) -> float:
    """Return the delta for data sets `steps` >= 0 units apart, at most 1, rounded up.

    It is delta Σ_{i < steps} e^{i epsilon}.
    """
    if steps < 2:
        return _round_up(steps * delta)
    exponent = float((steps - 1) * epsilon)
    if exponent > 700:  # the last term alone is above 1, delta being at least 1e-300
        return 1.0
    ratio = math.exp(exponent) * math.expm1(-float(steps * epsilon)) / math.expm1(-float(epsilon))
    return min(1.0, float(delta) * ratio * (1 + _ROUNDING))


def _round_up(value: Fraction) -> float:
    nearest = float(value)
    if Fraction(nearest) >= value:
        return nearest
    return math.nextafter(nearest, math.inf)


def _of_doubles(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with the very doubles as parameters: OpenDP's 0.3 is not 3/10."""
    if not is_dataclass(mechanism):
        return mechanism
    doubles = {
        name: Fraction(value)
        for name, value in vars(mechanism).items()
        if name in ("epsilon", "delta") and isinstance(value, float)
    }
    return replace(mechanism, **doubles)
