"""Sums over integers of products of exponentials, in closed form: what noise on supports is averaged by.

On a stretch of integers x on which every slack keeps its sign, each tail of discrete Laplace or geometric noise is a
number, or an exponential of x, or one less the other. Products of them are finite sums C e^{-u (p + g x)}, and the sum
of each over the stretch is a geometric one. So the time it takes does not depend on how wide the noise is, and nothing
is cut off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

# Σ C e^{-u (p + g x)} by slope g: (p, C), with whole numbers p and g. In a stretch p + g x >= 0 for each.
Terms = dict[int, tuple[int, Decimal]]


@dataclass(frozen=True)
class Stretch:
    """The integers from first to last, both inclusive; None where there is no end."""

    first: int | None
    last: int | None


def stretches(bounds: Iterable[int], end: int | None = None) -> Iterator[Stretch]:
    """Yield all integers up to the end, None for no end, ascending: a new stretch begins at each of the bounds."""
    inside = sorted({bound for bound in bounds if end is None or bound <= end})
    yield from (
        Stretch(first, None if following is None else following - 1)
        for first, following in zip([None, *inside], [*inside, None if end is None else end + 1], strict=True)
    )


class Exponentials:
    """Exponentials of whole multiples of a unit rate u, to the digits of a context.

    digits: the context. rates: positive rationals, which all become whole multiples of u.
    """

    def __init__(self, digits: Context, rates: Iterable[Fraction]) -> None:
        self._digits = digits
        first, *others = rates
        for rate in others:
            one, two = first.denominator, rate.denominator
            first = Fraction(math.gcd(first.numerator * two, rate.numerator * one), one * two)
        self._unit = first
        self.decay = lru_cache(maxsize=1 << 16)(self._decay)
        self._rest = lru_cache(maxsize=1 << 10)(self._one_less)

    def multiple(self, rate: Fraction) -> int:
        """Return how many units one of the rates is."""
        whole = rate / self._unit
        assert whole.denominator == 1
        return whole.numerator

    def _decay(self, units: int) -> Decimal:
        """Return e^{-u units}, for units >= 0."""
        with localcontext(self._digits):
            exponent = self._unit * units
            return (-(Decimal(exponent.numerator) / Decimal(exponent.denominator))).exp()

    def _one_less(self, units: int) -> Decimal:
        """Return 1 / (1 - e^{-u units}), for units > 0."""
        with localcontext(self._digits):
            return 1 / (1 - self.decay(units))

    def times(self, terms: Terms, factor: Terms) -> Terms:
        """Return the product of two sums."""
        product: Terms = {}
        decay: Callable[[int], Decimal] = self.decay
        for slope, (exponent, coefficient) in factor.items():
            for other, (power, number) in terms.items():
                key, least, value = slope + other, exponent + power, coefficient * number
                if key in product:
                    before, known = product[key]
                    if before <= least:
                        least, value = before, known + value * decay(least - before)
                    else:
                        value += known * decay(before - least)
                product[key] = least, value
        return product

    def power(self, terms: Terms, exponent: int) -> Terms:
        """Return a sum to the power of a whole number >= 0."""
        product: Terms = {0: (0, Decimal(1))}
        for _ in range(exponent):
            product = self.times(product, terms)
        return product

    def total(self, terms: Terms, stretch: Stretch) -> Decimal:
        """Return the sum over the integers of a stretch. Towards a side without end all terms decay."""
        found = Decimal(0)
        first, last = stretch.first, stretch.last
        for slope, (exponent, coefficient) in terms.items():
            # From the end at which the term is largest.
            start = last if slope < 0 else first
            assert start is not None
            value = coefficient * self.decay(exponent + slope * start)
            if slope == 0:
                assert last is not None
                assert first is not None
                value *= last - first + 1
            else:
                value *= self._rest(abs(slope))
                if first is not None and last is not None:
                    value *= 1 - self.decay(abs(slope) * (last - first + 1))
            found += value
        return found
