"""Certified bounds of the standard normal tail Q(x) = P(Z >= x), from the middle to far beyond what a float holds.

Q(x) = φ(x) R(x), with the density φ(x) = e^{-x²/2} / √(2π) and the Mills ratio

    R(x) = ∫_0^∞ e^{-xt - t²/2} dt,                                                                      (M)

which decreases, lies between 0 and 1/x, and so loses no digits where Q is tiny. All arithmetic is on intervals: a
lower bound is computed from bounds downwards, an upper bound upwards, in some 70 decimal digits.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from fim_private.dp.directed_rounding import Interval, down, exp, ln, quotient, sqrt, up

_DIGITS = 72
_DOWN, _UP = down(_DIGITS), up(_DIGITS)
_ONE, _HALF = Decimal(1), Decimal("0.5")
# 2π, cut off after 80 decimals: more than is kept of it, so rounding up passes the rest too.
_TWO_PI = Decimal("6.28318530717958647692528676655900576839433879875021164194988918461563281257241799")
_ROOT_TWO_PI: Interval = (sqrt(_DOWN, _DOWN.plus(_TWO_PI)), sqrt(_UP, _UP.plus(_TWO_PI)))
# Below this the series of the Mills ratio is quicker than its continued fraction.
_SERIES_END = 5
# The series ends with terms so small: its sum is cut off far behind the digits of what remains.
_LEAST_TERM = Decimal("1e-75")
# No arithmetic operators on decimals below: they would round to the 28 digits of the default context.


def normal_tail_bounds(x: Fraction) -> Interval:
    """Bound Q(x) = P(Z >= x), for Z standard normal and x of any sign and size.

    Both bounds agree in 40 significant digits for |x| <= 1e6. Where e^{-x²/2} is below what the decimal module
    can hold (|x| beyond 2e9 on a machine of 64 bits) the lower bound is 0.
    For x < 0, Q(x) = 1 - Q(-x).
    """
    if x < 0:
        lower, upper = normal_tail_bounds(-x)
        return _DOWN.subtract(_ONE, upper), _UP.subtract(_ONE, lower)
    density, ratio = normal_density_bounds(x), mills_ratio_bounds(x)
    return _DOWN.multiply(density[0], ratio[0]), _UP.multiply(density[1], ratio[1])


def normal_density_bounds(x: Fraction) -> Interval:
    """Bound φ(x) = e^{-x²/2} / √(2π), for x of any sign and size."""
    square = x * x / 2
    lower, upper = exp(_DOWN, quotient(_DOWN, -square)), exp(_UP, quotient(_UP, -square))
    return _DOWN.divide(lower, _ROOT_TWO_PI[1]), _UP.divide(upper, _ROOT_TWO_PI[0])


def mills_ratio_bounds(x: Fraction) -> Interval:
    """Bound the Mills ratio R(x) = Q(x) / φ(x), for x >= 0."""
    interval = quotient(_DOWN, x), quotient(_UP, x)
    return _by_series(interval) if x < _SERIES_END else _by_continued_fraction(interval)


def _by_series(x: Interval) -> Interval:
    """Bound R(x) = √(π/2) e^{x²/2} - Σ_{n>=0} x^{2n+1} / (2n+1)!!, for x from 0 to 5.

    Both sides solve R' = xR - 1 and are √(π/2) at 0. All terms t_n are positive. Their ratio is x²/(2n+3); once it is
    below 1/2 for all that follow, what comes after t_n is less than t_n.
    """
    low_square, high_square = _DOWN.multiply(x[0], x[0]), _UP.multiply(x[1], x[1])
    (low, high), n = x, 0
    sum_low, sum_high = low, high
    while high > _LEAST_TERM or high_square > n + 1:
        n += 1
        low = _DOWN.divide(_DOWN.multiply(low, low_square), 2 * n + 1)
        high = _UP.divide(_UP.multiply(high, high_square), 2 * n + 1)
        sum_low, sum_high = _DOWN.add(sum_low, low), _UP.add(sum_high, high)
    sum_high = _UP.add(sum_high, high)
    whole_low = _DOWN.multiply(exp(_DOWN, _DOWN.multiply(_HALF, low_square)), _DOWN.multiply(_HALF, _ROOT_TWO_PI[0]))
    whole_high = _UP.multiply(exp(_UP, _UP.multiply(_HALF, high_square)), _UP.multiply(_HALF, _ROOT_TWO_PI[1]))
    return _DOWN.subtract(whole_low, sum_high), _UP.subtract(whole_high, sum_low)


def _by_continued_fraction(x: Interval) -> Interval:
    """Bound R(x) = 1/(x + 1/(x + 2/(x + 3/(x + …)))), Laplace's continued fraction, for x >= 5.

    Let M_k = ∫_0^∞ t^k e^{-xt - t²/2} dt > 0, so M_0 = R(x). Integration by parts gives 1 = x M_0 + M_1 and
    k M_{k-1} = x M_k + M_{k+1}. Hence T_k = x + M_{k+1}/M_k is more than x, 1/R(x) = T_0, and
    T_k = x + (k+1)/T_{k+1}. So T_n lies between x and x + (n+1)/x, and these bounds, carried back from n to 0, close in
    on T_0.
    """
    low, high = x
    # 120 steps leave 42 digits at 5, fewer leave more further out.
    last = 40 + int(2000 / float(x[0]) ** 2)
    lower, upper = low, _UP.add(high, _UP.divide(last + 1, low))
    for k in range(last, 0, -1):
        lower, upper = _DOWN.add(low, _DOWN.divide(k, upper)), _UP.add(high, _UP.divide(k, lower))
    return _DOWN.divide(_ONE, upper), _UP.divide(_ONE, lower)


def normal_tail_point(tail: Fraction) -> Fraction:
    """Return an x with Q(x) = tail but for some 1e-40 (relative): a guess only, to be certified by what uses it.

    tail: above 0, below 1. By Newton's method for ln Q, which is concave with slope -1/R(x): begun at the right of the
    root, it approaches it from there. Q(x) <= e^{-x²/2} / 2 gives the start.
    """
    if tail > Fraction(1, 2):
        return -normal_tail_point(1 - tail)
    log_tail = ln(_UP, quotient(_UP, tail))
    x = sqrt(_UP, _UP.multiply(-2, log_tail))
    while True:
        exact = Fraction(x)
        ratio, density = mills_ratio_bounds(exact)[1], normal_density_bounds(exact)[1]
        excess = _UP.subtract(ln(_UP, _UP.multiply(ratio, density)), log_tail)
        step = _UP.multiply(excess, ratio)
        x = max(_UP.add(x, step), Decimal(0))
        if abs(step) < Decimal("1e-22"):
            return Fraction(x)
