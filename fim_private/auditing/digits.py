"""Decimals of sixty digits: the arithmetic of the audit."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

DIGITS = Context(prec=60, Emin=-999_999, Emax=999_999)


def number(x: Fraction) -> Decimal:
    """Return x as a decimal, to the digits of the current context."""
    return Decimal(x.numerator) / Decimal(x.denominator)


@lru_cache(maxsize=1 << 18)
def decay(rate: Fraction, distance: int) -> Decimal:
    """Return e^{-rate * distance}, to 60 digits."""
    with localcontext(DIGITS):
        return (-number(rate * distance)).exp()


@lru_cache(maxsize=1 << 18)
def laplace_tail(scale: Fraction, k: int) -> Decimal:
    """Return P(Z >= k) for discrete Laplace noise of that scale > 0 (docs/privacy.md, equation (1))."""
    with localcontext(DIGITS):
        if k <= 0:
            return 1 - laplace_tail(scale, 1 - k)
        return decay(1 / scale, k) / (1 + decay(1 / scale, 1))
