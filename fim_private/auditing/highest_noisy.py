"""Who has the highest noisy support, to sixty digits: integrals of products, of which one factor is left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, reduce

import numpy as np

from fim_private.auditing.digits import DIGITS, decay
from fim_private.auditing.exponential_sums import Exponentials, Stretch, Terms, stretches


def one_left_out(factors: Sequence[tuple[Decimal, Decimal, int]]) -> list[Decimal]:
    """Return, for each factor (a, b, m), the integral over x in [0, 1] of Π_j (a_j + b_j x)^{m_j} / (a + bx).

    The integrands are polynomials of degree below Σ m, which Gauss's rule integrates exactly.
    """
    integrals = [Decimal(0) for _ in factors]
    for x, weight in gauss(sum(m for _, _, m in factors)):
        values = [a + b * x for a, b, _ in factors]
        product = weight * math.prod(value**m for value, (_, _, m) in zip(values, factors, strict=True))
        for place, value in enumerate(values):
            integrals[place] += product / value
    return integrals


@lru_cache(maxsize=32)
def gauss(degree: int) -> list[tuple[Decimal, Decimal]]:
    """Return the nodes and weights of Gauss and Legendre on [0, 1], exact for polynomials below this degree."""
    count = degree // 2 + 1
    found = []
    with localcontext(DIGITS):
        for guess in np.polynomial.legendre.leggauss(count)[0].tolist():
            x = Decimal(guess)
            for _ in range(4):  # Newton's method doubles the 15 digits each time
                before, here = Decimal(1), x
                for k in range(2, count + 1):
                    before, here = here, ((2 * k - 1) * x * here - (k - 1) * before) / k
                slope = count * (x * here - before) / (x * x - 1)
                x -= here / slope
            found.append(((1 + x) / 2, 1 / ((1 - x * x) * slope * slope)))
    return found


@lru_cache(maxsize=1 << 12)
def highest_shares(scale: Fraction, levels: tuple[tuple[int, int], ...]) -> list[Decimal]:
    """Return the probability that the highest noisy support is of each level: (distance from c(1), multiplicity).

    A uniform number orders equal noisy supports. An itemset is below noisy support v and number x with probability
    F(x) = P(Z < v + distance) + x P(Z = v + distance): sum over v the integral over x of m P(Z = …) / F Π F^m. On a
    stretch of v on which no v + distance changes its sign, all of these are sums of exponentials of v.
    """
    with localcontext(DIGITS):
        laplace = _Laplace(scale)
        sums, shares = laplace.sums, [Decimal(0) for _ in levels]
        for x, weight in gauss(sum(m for _, m in levels)):
            for stretch in stretches({-distance for distance, _ in levels}):
                below = [laplace.below(distance, x, stretch) for distance, _ in levels]
                powers = [sums.power(terms, m - 1) for terms, (_, m) in zip(below, levels, strict=True)]
                rest = reduce(sums.times, powers)
                for place, (distance, m) in enumerate(levels):
                    others = reduce(sums.times, below[:place] + below[place + 1 :], rest)
                    product = sums.times(others, laplace.here(distance, stretch))
                    shares[place] += weight * m * sums.total(product, stretch)
        return shares


class _Laplace:
    """Discrete Laplace noise Z of a scale as exponentials of v, on stretches on which v + distance keeps its sign."""

    def __init__(self, scale: Fraction) -> None:
        self.sums = Exponentials(DIGITS, [1 / scale])
        self._falls = decay(1 / scale, 1)

    def below(self, distance: int, x: Decimal, stretch: Stretch) -> Terms:
        """Return P(Z < v + distance) + x P(Z = v + distance), with 0 < x < 1."""
        falls = self._falls
        if stretch.first is None or stretch.first + distance < 0:
            return {-1: (-distance, (falls + x * (1 - falls)) / (1 + falls))}
        return {0: (0, Decimal(1)), 1: (distance, (x * (1 - falls) - 1) / (1 + falls))}

    def here(self, distance: int, stretch: Stretch) -> Terms:
        """Return P(Z = v + distance)."""
        side = -1 if stretch.first is None or stretch.first + distance < 0 else 1
        return {side: (side * distance, (1 - self._falls) / (1 + self._falls))}
