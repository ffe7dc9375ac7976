"""Certified fixed-point bounds for the few transcendental numbers that decide a release.

A sampler must never decide by a rounded float. So a number x is a pair of integers ``(lower, upper)`` with
``lower <= 2**bits * x <= upper`` here. A decision is taken only when both ends agree, and is otherwise repeated with
more bits. Exponentials come from the standard library's decimal module, whose ``exp`` is correctly rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from fim_private.dp.bisection import least_integer

Bounds = tuple[int, int]

# Bits for comparing a tail with δ, which may be 10^-300. A tail too close to tell counts as above δ.
_TAIL_BITS = 1152


def precisions(start: int) -> Iterator[int]:
    """Yield start, 2 start, 4 start, … without end: the number of bits for each new attempt at a decision."""
    bits = start
    while True:
        yield bits
        bits *= 2


@lru_cache(maxsize=1 << 17)
def exp_bounds(numerator: int, denominator: int, bits: int) -> Bounds:
    """Bound ``2**bits * exp(-numerator / denominator)``, for integers numerator >= 0, denominator >= 1."""
    if not numerator:
        return 1 << bits, 1 << bits
    if numerator > denominator * bits:  # e^-x < 2^-bits once x > bits ln 2
        return 0, 1
    # x <= bits, so rounding x moves e^-x by less than bits * 10^-digits, far below 2^-bits: one unit either way
    # covers every rounding.
    digits = bits * 31 // 100 + 24
    context = Context(prec=digits, Emin=-999_999, Emax=999_999)
    x = context.divide(Decimal(numerator), Decimal(denominator))
    value = context.multiply(context.exp(x.copy_negate()), Decimal(1 << bits))
    floor = int(value.to_integral_value(rounding=ROUND_FLOOR))
    return max(floor - 1, 0), min(floor + 2, 1 << bits)


def power_bounds(base: Bounds, exponent: int, bits: int) -> Bounds:
    """Bound ``x**exponent`` for an x in [0, 1] given by its bounds, and an exponent >= 0, by repeated squaring."""
    one = 1 << bits
    lower, upper = one, one
    square_lower, square_upper = base
    while exponent:
        if exponent & 1:
            lower = lower * square_lower >> bits
            upper = min((upper * square_upper >> bits) + 1, one)
        exponent >>= 1
        if exponent and square_upper <= 1:
            return 0, 1  # the factors that are left are below a unit
        if exponent:
            square_lower = square_lower * square_lower >> bits
            square_upper = min((square_upper * square_upper >> bits) + 1, one)
    return lower, upper


@lru_cache(maxsize=1 << 16)
def laplace_tail_bounds(scale: Fraction, k: int, bits: int) -> Bounds:
    """Bound ``2**bits * P(X >= k)`` for discrete Laplace noise, P(x) ∝ exp(-|x| / scale).

    scale: b > 0, in units. k: any integer. For k >= 1 the tail is e^{-k/b} / (1 + e^{-1/b}) (docs/privacy.md,
    equation (1)); for k <= 0 it follows by symmetry.
    """
    one = 1 << bits
    if k <= 0:
        lower, upper = laplace_tail_bounds(scale, 1 - k, bits)
        return one - upper, one - lower
    tail_lower, tail_upper = exp_bounds(k * scale.denominator, scale.numerator, bits)
    unit_lower, unit_upper = exp_bounds(scale.denominator, scale.numerator, bits)
    return (tail_lower << bits) // (one + unit_upper), min((tail_upper << bits) // (one + unit_lower) + 1, one)


@lru_cache(maxsize=64)
def laplace_threshold(scale: Fraction, delta: Fraction) -> int:
    """Return the least integer A >= 0 with P(Z > A) <= delta for discrete Laplace noise Z, certified.

    scale: > 0, in units. delta: 1e-300 up to below 1.
    """

    def is_enough(noise: int) -> bool:
        return Fraction(laplace_tail_bounds(scale, noise + 1, _TAIL_BITS)[1], 1 << _TAIL_BITS) <= delta

    return least_integer(is_enough, 0)
