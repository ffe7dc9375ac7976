"""What many private steps cost together, in zero-concentrated differential privacy (zCDP), by certified rationals.

Steps that are each ρ_i-zCDP are (Σ ρ_i)-zCDP together, even if each one depends on the outcomes before it (Bun and
Steinke, "Concentrated differential privacy: simplifications, extensions, and lower bounds", 2016, Lemmas 1.7 and
2.3). Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy" (2020), Corollary 13, turns
that into (ε, δ): for every α > 1,

    δ = e^{(α−1)(αρ−ε)} / (α−1) · (1 − 1/α)^α,    or with x = α − 1,
    ln δ = x((x+1)ρ − ε) − x ln(1 + 1/x) − ln(1 + x).                                               (C)

Every x > 0 proves some ρ for a given ε, and some ε for a given ρ. Floats only choose a good x; what is returned is
computed from (C) by directed rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from fim_private.dp.directed_rounding import down, ln, quotient, up
from fim_private.dp.intervals import exp_bounds
from fim_private.dp.parameters import EPSILON_RANGE, exact_delta, exact_epsilon, exact_rho

# ln x lies between minus this and this for every epsilon and delta allowed, and e^±700 is still a float.
_LOG_REACH = 700.0
# Stands for any larger delta, as a smaller one is a stronger guarantee: nearer to 1, ln δ would need more digits.
LARGEST_DELTA = 1 - Fraction(1, 10**30)
# Digits of the arithmetic: 1 + x has at most 45, and cancellation in (C) costs at most 15 (x < 10^13).
_DIGITS = 80
_DOWN, _UP = down(_DIGITS), up(_DIGITS)
# Above this e^ε is so large that dividing δ by it leaves nothing of use.
_LARGEST_EPSILON = 50
# Rates are rounded down to so many decimal digits: samplers are quicker with small denominators.
RATE_DIGITS = 12


def _rising_root(function: Callable[[float], float]) -> float:
    """Return the x from e^-700 to e^700 at which an increasing function becomes positive, to about 1e-12 (relative)."""
    low, high = -_LOG_REACH, _LOG_REACH
    for _ in range(50):
        middle = (low + high) / 2
        if function(math.exp(middle)) < 0:
            low = middle
        else:
            high = middle
    return math.exp(high)


@lru_cache(maxsize=1 << 10, typed=True)
def zcdp_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a ρ such that ρ-zCDP certainly implies (epsilon, delta)-privacy: equation (C) solved for ρ, rounded down.

    epsilon: 1e-9 to 1e9. delta: at least 1e-300, below 1. Raises ParameterError otherwise.
    The result has 12 significant decimal digits and is within 2e-11 (relative) of the best that (C) gives. A delta
    nearer to 1 than 1e-30 is taken for 1 − 1e-30.
    """
    epsilon, delta = exact_epsilon(epsilon), exact_delta(delta)
    log_delta = ln(_DOWN, quotient(_DOWN, min(delta, LARGEST_DELTA)))
    spare, rate = -float(log_delta), float(epsilon)
    # Where ρ(x) is largest: the numerator of its derivative, negated. ρ(x) is quasi-concave, for {x: ρ(x) >= r}
    # is where the convex (C) is at most ln δ; so there is one root, and near it x hardly matters.
    best = _rising_root(lambda x: x * x * (rate + math.log1p(1 / x)) - (2 * x + 1) * (spare - math.log1p(x)))
    return _certified_rho(Decimal(f"{best:.12e}"), epsilon, log_delta)


def _certified_rho(x: Decimal, epsilon: Fraction, log_delta: Decimal) -> Fraction:
    """Return a lower bound of ρ(x) = (ln δ + xε − x ln x + (x+1) ln(1+x)) / (x(x+1)), of 12 digits.

    Each operation is rounded to the safe side.
    """
    more = _DOWN.add(x, 1)  # exact: at most 45 digits
    gained = _DOWN.add(_DOWN.multiply(x, quotient(_DOWN, epsilon)), _DOWN.multiply(more, ln(_DOWN, more)))
    lost = _UP.multiply(x, ln(_UP, x))
    numerator = _DOWN.add(_DOWN.subtract(gained, lost), log_delta)
    rho = _DOWN.divide(numerator, _UP.multiply(x, more))
    return Fraction(Context(prec=RATE_DIGITS, rounding=ROUND_FLOOR).plus(rho))


@lru_cache(maxsize=1 << 10, typed=True)
def zcdp_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon such that rho-zCDP certainly implies (epsilon, delta)-privacy: (C) solved for ε, rounded up.

    rho: 1e-18 to 1e8. delta: at least 1e-300, below 1. Raises ParameterError otherwise.
    The result is at least 1e-9, has 12 significant decimal digits, and is within 2e-11 (relative) of the best that (C)
    gives. A delta nearer to 1 than 1e-30 is taken for 1 - 1e-30.
    """
    rho, delta = exact_rho(rho), min(exact_delta(delta), LARGEST_DELTA)
    spare = _UP.minus(ln(_DOWN, quotient(_DOWN, delta)))
    # Where ε(x) is least: its derivative is ρ - (ln 1/δ - ln(1 + x)) / x².
    best = _rising_root(lambda x: x * x * float(rho) + math.log1p(x) - float(spare))
    return _certified_epsilon(Decimal(f"{best:.12e}"), rho, spare)


def _certified_epsilon(x: Decimal, rho: Fraction, spare: Decimal) -> Fraction:
    """Return an upper bound of ε(x) = (x+1)ρ + (ln 1/δ - ln(1+x)) / x - ln(1 + 1/x), of 12 digits, at least 1e-9.

    Each operation is rounded to the safe side. spare: at least ln 1/δ.
    """
    more = _UP.add(x, 1)  # exact: at most 45 digits
    moved = _UP.divide(_UP.subtract(spare, ln(_DOWN, more)), x)
    gained = ln(_DOWN, _DOWN.add(1, _DOWN.divide(1, x)))
    total = _UP.subtract(_UP.add(_UP.multiply(more, quotient(_UP, rho)), moved), gained)
    least = Decimal(repr(EPSILON_RANGE[0]))
    return Fraction(Context(prec=RATE_DIGITS, rounding=ROUND_CEILING).plus(max(total, least)))


def root_below(value: Fraction) -> Fraction:
    """Return the largest rational of 12 significant decimal digits that is at most √value, for value > 0."""
    # log10 of the root, give or take one, from the lengths in bits (log10 2 / 2 = 0.1505): some 24 digits to cut.
    places = 2 * RATE_DIGITS - (value.numerator.bit_length() - value.denominator.bit_length()) * 301 // 2000
    scale = Fraction(10) ** places
    root = math.isqrt(math.floor(value * scale * scale))
    surplus = 10 ** (len(str(root)) - RATE_DIGITS)
    return Fraction(root // surplus * surplus) / scale


def root_above(value: Fraction) -> Fraction:
    """Return a rational that is at least √value, and by 2e-11 (relative) more at most, for value > 0."""
    below = root_below(value)
    return below if below * below == value else below * (1 + Fraction(1, 10 ** (RATE_DIGITS - 1)))


def growth_bound(epsilon: Fraction) -> Fraction | None:
    """Return a rational that is at least e^ε, and hardly more; None above ε = 50, where it would be too large for use.

    epsilon: >= 0.
    """
    if epsilon > _LARGEST_EPSILON:
        return None
    bits = 256
    return Fraction(1 << bits, exp_bounds(epsilon.numerator, epsilon.denominator, bits)[0])
