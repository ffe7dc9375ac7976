"""Decimal arithmetic rounded to one side: what is computed downwards is never too large, upwards never too small.

The standard library's decimal module rounds each single operation exactly as the context says, except exp, ln and sqrt,
which it rounds to the nearest: these are moved on by one place here.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

# A lower and an upper bound of a number.
Interval = tuple[Decimal, Decimal]


def down(digits: int) -> Context:
    """Return a context of so many digits that rounds down; exponents as small as the machine allows."""
    return Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)


def up(digits: int) -> Context:
    """Return a context of so many digits that rounds up; exponents as small as the machine allows."""
    return Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)


def quotient(context: Context, value: Fraction) -> Decimal:
    """Return the fraction as a decimal, rounded as the context says."""
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def exp(context: Context, x: Decimal) -> Decimal:
    """Return a bound of e^x to the side the context rounds to, and >= 0: a lower or an upper one."""
    return _moved_on(context, context.exp(x))


def ln(context: Context, x: Decimal) -> Decimal:
    """Return a bound of ln x, for x > 0, to the side the context rounds to."""
    value = context.ln(x)
    return context.next_minus(value) if context.rounding == ROUND_FLOOR else context.next_plus(value)


def sqrt(context: Context, x: Decimal) -> Decimal:
    """Return a bound of √x, for x >= 0, to the side the context rounds to, and >= 0."""
    return _moved_on(context, context.sqrt(x))


def _moved_on(context: Context, value: Decimal) -> Decimal:
    """Return the next number on the context's side of a value >= 0, but none below 0."""
    if context.rounding == ROUND_FLOOR:
        return max(context.next_minus(value), Decimal(0))
    return context.next_plus(value)
