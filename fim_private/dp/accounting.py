"""What many private steps cost together: zero-concentrated differential privacy, by certified rationals.

Steps that are each ρ_i-zCDP are (Σ ρ_i)-zCDP together, even if each one depends on the outcomes before it
(Bun and Steinke, "Concentrated differential privacy", 2016, Lemma 7). Canonne, Kamath and Steinke, "The
discrete Gaussian for differential privacy" (2020), Corollary 13, turns that into (ε, δ): for every α > 1,

    δ = e^{(α−1)(αρ−ε)} / (α−1) · (1 − 1/α)^α,    or with x = α − 1,
    ln δ = x((x+1)ρ − ε) − x ln(1 + 1/x) − ln(1 + x).                                               (C)

Floats only choose x. Every x is a proof, so the ρ returned is computed from (C) by directed rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from fim_private.dp.intervals import exp_bounds
from fim_private.dp.parameters import exact_delta, exact_epsilon

# ln x lies within for every epsilon and delta allowed, and e^±700 is still a float.
_LOG_REACH = 700.0
# A smaller delta is a stronger promise; nearer to 1 than this, ln δ would need more than _DIGITS.
_LARGEST_DELTA = 1 - Fraction(1, 10**30)
# x has 13 of them, 1 + x at most 45; what is left covers the cancellation of (C), at most 15 (x < 10^13).
_DIGITS = 80
_DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR)
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING)
# Beyond this e^ε is no constant anybody wants to divide δ by.
_LARGEST_EPSILON = 50
# Rates are rounded down to so many decimal digits: samplers are quicker with small denominators.
_RATE_DIGITS = 12


def _rising_root(function: Callable[[float], float]) -> float:
    """Return x in e^±700 where an increasing function turns positive, to about 1e-12 relative."""
    low, high = -_LOG_REACH, _LOG_REACH
    for _ in range(50):
        middle = (low + high) / 2
        if function(math.exp(middle)) < 0:
            low = middle
        else:
            high = middle
    return math.exp(high)


@lru_cache(maxsize=1 << 10)
def zcdp_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return ρ such that ρ-zCDP implies (epsilon, delta)-privacy for certain: (C) solved for ρ, rounded down.

    epsilon: 1e-9 to 1e9; delta: 1e-300 up to below 1 (ParameterError otherwise).
    The result has 12 significant decimal digits and is within 2e-11 (relative) of the best that (C) gives,
    unless delta is nearer to 1 than 1e-30: then it is that of 1 − 1e-30.
    """
    epsilon, delta = exact_epsilon(epsilon), exact_delta(delta)
    log_delta = _quotient(_DOWN, min(delta, _LARGEST_DELTA)).ln(_DOWN).next_minus(_DOWN)
    spare, rate = -float(log_delta), float(epsilon)
    # Where ρ(x) is largest: the numerator of its derivative, negated. ρ(x) is quasi-concave, for {x: ρ(x) >= r}
    # is where the convex (C) is at most ln δ; so there is one root, and near it x hardly matters.
    best = _rising_root(lambda x: x * x * (rate + math.log1p(1 / x)) - (2 * x + 1) * (spare - math.log1p(x)))
    return _certified_rho(Decimal(f"{best:.12e}"), epsilon, log_delta)


def _certified_rho(x: Decimal, epsilon: Fraction, log_delta: Decimal) -> Fraction:
    """Return a lower bound of ρ(x) = (ln δ + xε − x ln x + (x+1) ln(1+x)) / (x(x+1)), of 12 digits.

    Each operation is rounded to the safe side; ln, which is correctly rounded, is moved on by one place.
    """
    more = _DOWN.add(x, 1)  # exact: at most 45 digits
    gained = _DOWN.add(
        _DOWN.multiply(x, _quotient(_DOWN, epsilon)), _DOWN.multiply(more, more.ln(_DOWN).next_minus(_DOWN))
    )
    lost = _UP.multiply(x, x.ln(_UP).next_plus(_UP))
    numerator = _DOWN.add(_DOWN.subtract(gained, lost), log_delta)
    rho = _DOWN.divide(numerator, _UP.multiply(x, more))
    return Fraction(Context(prec=_RATE_DIGITS, rounding=ROUND_FLOOR).plus(rho))


def _quotient(context: Context, value: Fraction) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def root_below(value: Fraction) -> Fraction:
    """Return the largest rational of 12 significant decimal digits that is at most √value, for value > 0."""
    # log10 of the root, give or take one, from the lengths in bits (log10 2 / 2 = 0.1505): some 24 digits to cut.
    places = 2 * _RATE_DIGITS - (value.numerator.bit_length() - value.denominator.bit_length()) * 301 // 2000
    scale = Fraction(10) ** places
    root = math.isqrt(math.floor(value * scale * scale))
    surplus = 10 ** (len(str(root)) - _RATE_DIGITS)
    return Fraction(root // surplus * surplus) / scale


def growth_bound(epsilon: Fraction) -> Fraction | None:
    """Return a rational at least e^ε, or None where that is astronomic: above ε = 50."""
    if epsilon > _LARGEST_EPSILON:
        return None
    bits = 256
    return Fraction(1 << bits, exp_bounds(epsilon.numerator, epsilon.denominator, bits)[0])
