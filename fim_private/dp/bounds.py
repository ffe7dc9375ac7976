"""Certified bounds of the few transcendental numbers that decide a release.

How an itemset gets its interval stands in `request.supports`.
"""

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache


def least_integer(holds: Callable[[int], bool], first: int, last: int | None = None) -> int:
    """Return the least integer >= first from which on a condition holds.

    last: an integer >= first for which it is known to hold; None: the search goes on until it
    holds.
    """
    if last is None:
        step = 1
        while not holds(first + step - 1):
            step *= 2
        first, last = first + step // 2, first + step - 1
    while first < last:
        middle = (first + last) // 2
        if holds(middle):
            last = middle
        else:
            first = middle + 1
    return first


# Decimal arithmetic rounded to one side: what is computed downwards is never too large, upwards
# never too small. The decimal module rounds each single operation exactly as the context says,
# except exp, ln and sqrt, which it rounds to the nearest: these are moved on by one place here.
#
# Digits of the arithmetic: in dp.composition 1 + x has at most 45, and cancellation in (C) costs at
# most 15 (x < 10^13). In (G) R(a) - R(b) loses at most 13 digits (μ >= 1e-11 where δ >= 1e-300);
# 1 - δ may be 1e-30, of which 12 digits count. Exponents are as small as the machine allows.
DOWN, UP = (
    Context(prec=80, rounding=side, Emin=MIN_EMIN, Emax=MAX_EMAX)
    for side in (ROUND_FLOOR, ROUND_CEILING)
)
# No tail is given a smaller bound: as a fraction, it would be long and of no use.
LEAST_BOUND = Decimal("1e-1000")


def quotient(context: Context, value: Fraction) -> Decimal:
    """Return the fraction as a decimal, rounded as the context says."""
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def exp(context: Context, x: Fraction) -> Decimal:
    """Return a bound of e^x to the side the context rounds to, and >= 0: a lower or an upper
    one.
    """
    return max(_moved_on(context, context.exp(quotient(context, x))), Decimal(0))


def ln(context: Context, x: Fraction) -> Fraction:
    """Return a bound of ln x, for x > 0, to the side the context rounds to."""
    return _bound(context, context.ln(quotient(context, x)))


def root(context: Context, value: Fraction) -> Fraction:
    """Return a bound of √value, for a value >= 0, to that side, and >= 0."""
    return _bound(context, context.sqrt(quotient(context, value)))


def _bound(context: Context, nearest: Decimal) -> Fraction:
    # ln 1 and √0 are 0 exactly; the decimal beside 0 would be a fraction of 10^18 digits
    return Fraction(_moved_on(context, nearest)) if nearest else Fraction(0)


def _moved_on(context: Context, value: Decimal) -> Decimal:
    return (
        context.next_minus(value) if context.rounding == ROUND_FLOOR else context.next_plus(value)
    )


# A sampler must never decide by a rounded float. So a number x is a pair of integers ``(lower,
# upper)`` with ``lower <= 2**bits * x <= upper``. A decision is taken only when both ends agree,
# and else again with more bits.
Bounds = tuple[int, int]

# Bits for comparing a tail with δ, which may be 10^-300. A tail too close to tell counts as above
# δ.
_TAIL_BITS = 1152


@lru_cache(maxsize=1 << 17)
def exp_bounds(numerator: int, denominator: int, bits: int) -> Bounds:
    """Bound ``2**bits * exp(-numerator / denominator)``, for integers numerator >= 0, denominator
    >= 1.
    """
    if not numerator:
        return 1 << bits, 1 << bits
    if numerator > denominator * bits:  # e^-x < 2^-bits once x > bits ln 2
        return 0, 1
    # x <= bits, so rounding x moves e^-x by less than bits * 10^-digits, far below 2^-bits: one
    # unit up or down covers every rounding.
    digits = bits * 31 // 100 + 24
    context = Context(prec=digits, Emin=-999_999, Emax=999_999)
    x = context.divide(Decimal(numerator), Decimal(denominator))
    floor = int(context.multiply(context.exp(x.copy_negate()), Decimal(1 << bits)))
    return max(floor - 1, 0), min(floor + 2, 1 << bits)


def power_bounds(base: Bounds, exponent: int, bits: int) -> Bounds:
    """Bound ``x**exponent`` for an x in [0, 1] given by its bounds, and an exponent >= 0, by
    repeated squaring.
    """
    whole = 1 << bits
    product = (whole, whole)

    def times(x: Bounds, y: Bounds) -> Bounds:
        return x[0] * y[0] >> bits, min((x[1] * y[1] >> bits) + 1, whole)

    while exponent:
        if exponent & 1:
            product = times(product, base)
        exponent >>= 1
        if exponent and base[1] <= 1:
            return 0, 1  # the factors that are left are below a unit
        if exponent:
            base = times(base, base)
    return product


@lru_cache(maxsize=1 << 16)
def laplace_tail_bounds(scale: Fraction, k: int, bits: int) -> Bounds:
    """Bound ``2**bits * P(X >= k)`` for discrete Laplace noise, P(x) ∝ exp(-|x| / scale).

    For k >= 1 the tail is e^{-k/b} / (1 + e^{-1/b}) with the scale b > 0, in units
    (docs/privacy.md, equation (1)).
    """
    whole = 1 << bits
    if k <= 0:
        lower, upper = laplace_tail_bounds(scale, 1 - k, bits)
        return whole - upper, whole - lower
    tail_lower, tail_upper = exp_bounds(k * scale.denominator, scale.numerator, bits)
    unit_lower, unit_upper = exp_bounds(scale.denominator, scale.numerator, bits)
    return (tail_lower << bits) // (whole + unit_upper), min(
        (tail_upper << bits) // (whole + unit_lower) + 1, whole
    )


@lru_cache(maxsize=64)
def laplace_threshold(scale: Fraction, delta: Fraction) -> int:
    """Return the least integer A >= 0 with P(Z > A) <= delta for discrete Laplace noise Z of scale
    > 0, certified.
    """
    enough = delta * (1 << _TAIL_BITS)
    return least_integer(
        lambda noise: laplace_tail_bounds(scale, noise + 1, _TAIL_BITS)[1] <= enough, 0
    )


# The standard normal tail Q(x) = P(Z >= x) is φ(x) R(x), with the density φ(x) = e^{-x²/2} / √(2π)
# and the Mills ratio
#
#     R(x) = ∫_0^∞ e^{-xt - t²/2} dt,    (M)
#
# which decreases, lies between 0 and 1/x, and so loses no digits where Q is tiny. Each function
# below bounds its number from one side: from below where `side` is DOWN, from above where it is UP.
# What makes the number smaller is bounded from the opposite side. No arithmetic operators on
# decimals: they would round to the 28 digits of the default context.

_OPPOSITE = {DOWN: UP, UP: DOWN}
# 2π, cut off after 80 decimals: more than is used of it, so rounding up passes the rest too.
_TWO_PI = Fraction(
    "6.28318530717958647692528676655900576839433879875021164194988918461563281257241799"
)
_ROOT_OF_TWO_PI = {side: quotient(side, root(side, _TWO_PI)) for side in (DOWN, UP)}
# Below this the series of the Mills ratio is quicker than its continued fraction.
_SERIES_END = 5
# The series ends with terms so small: its sum is cut off far behind the digits of what remains.
_LEAST_TERM = Decimal("1e-75")


def normal_tail(side: Context, x: Fraction) -> Decimal:
    """Bound Q(x) = P(Z >= x), for Z standard normal and x of any sign and size.

    Both bounds agree in 40 digits for |x| <= 1e6. Where e^{-x²/2} is below what the decimal module
    can hold the lower is 0.
    """
    if x < 0:
        return side.subtract(1, normal_tail(_OPPOSITE[side], -x))
    return side.multiply(normal_density(side, x), mills_ratio(side, x))


def normal_density(side: Context, x: Fraction) -> Decimal:
    """Bound φ(x) = e^{-x²/2} / √(2π), for x of any sign and size."""
    return side.divide(exp(side, -x * x / 2), _ROOT_OF_TWO_PI[_OPPOSITE[side]])


def mills_ratio(side: Context, x: Fraction) -> Decimal:
    """Bound the Mills ratio R(x) = Q(x) / φ(x), for x >= 0."""
    return _by_series(side, x) if x < _SERIES_END else _by_continued_fraction(side, x)


def _by_series(side: Context, x: Fraction) -> Decimal:
    """Bound R(x) = √(π/2) e^{x²/2} - Σ_{n>=0} x^{2n+1} / (2n+1)!!, for x from 0 to 5.

    Both sides solve R' = xR - 1 and are √(π/2) at 0. All terms t_n are positive. Their ratio is
    x²/(2n+3); once it is below 1/2 for all that follow, what comes after t_n is less than t_n.
    """
    opposite, n = _OPPOSITE[side], 0
    square, term = quotient(opposite, x * x), quotient(opposite, x)
    total = term
    while term > _LEAST_TERM or square > n + 1:
        n += 1
        term = opposite.divide(opposite.multiply(term, square), 2 * n + 1)
        total = opposite.add(total, term)
    if opposite is UP:
        total = UP.add(total, term)
    doubled = side.multiply(exp(side, x * x / 2), _ROOT_OF_TWO_PI[side])
    return side.subtract(side.divide(doubled, 2), total)


def _by_continued_fraction(side: Context, x: Fraction) -> Decimal:
    """Bound R(x) = 1/(x + 1/(x + 2/(x + 3/(x + …)))), Laplace's continued fraction, for x >= 5.

    Let M_k = ∫_0^∞ t^k e^{-xt - t²/2} dt > 0, so M_0 = R(x). Integration by parts gives 1 = x M_0 +
    M_1 and k M_{k-1} = x M_k + M_{k+1}. Hence T_k = x + M_{k+1}/M_k is more than x, 1/R(x) = T_0,
    and T_k = x + (k+1)/T_{k+1}. So x is a lower bound of T_n, from which follow an upper bound of
    T_{n-1}, a lower one of T_{n-2} and so on, closing in on T_0.
    """
    # About 120 steps leave 42 digits at 5, fewer leave more further out. An odd number of steps
    # ends with an upper bound of T_0, and so a lower one of R.
    steps = 2 * (20 + int(1000 / x**2)) + (side is DOWN)
    low, high = quotient(DOWN, x), quotient(UP, x)
    bound = low
    for k in range(steps, 0, -1):
        if (steps - k) % 2 == 0:
            bound = UP.add(high, UP.divide(k, bound))
        else:
            bound = DOWN.add(low, DOWN.divide(k, bound))
    return side.divide(1, bound)
