"""Normal noise rounded to whole numbers: ⌊σZ + 1/2⌋ for a standard normal Z, drawn exactly, and its tail.

A real Z cannot be written down, but the rounded number depends on finitely many of its binary digits. So Z is drawn by
rejection, and every uniform number in it is known as an interval, which is refined by more random bits until a decision
is certain (Karney, "Sampling exactly from the normal distribution", 2016). The proposal is a histogram above the bell
curve (as in Marsaglia and Tsang, "The ziggurat method for generating random variables", 2000) whose cells have
whole-number weights, so that 16 bits choose a cell exactly: cell j spans [a, a + w), is chosen with probability c/2^16,
and |Z| = a + wx for a uniform x in [0, 1) is kept if a second uniform u lies below

    p = S · (w/h) / c · e^{-(a+wx)²/2} <= 1,                                                               (N)

with the same S and h for all cells. The density of what is kept is ∝ (c/w) p ∝ e^{-z²/2}, for every z >= 0.

Most draws are decided by comparing whole numbers, a few by Taylor's series in doubles with a margin beyond all of its
errors, and one in ten thousand or so by rationals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.directed_rounding import down, quotient, sqrt, up
from fim_private.dp.intervals import exp_bounds, precisions
from fim_private.dp.normal_tail import normal_tail_bounds, normal_tail_point
from fim_private.dp.randomness import Integers, Randomness, UniformReal

# Cells of width h = 1/32 from 0 to 4.75, then of width 1/4 without end. Chosen by 16 bits: the last of the 2^16 numbers
# stands for all of the wide cells, of which the i-th has the part 2^-(i+1), so it takes coins. There p < 1/2 for i = 0,
# and from one to the next p falls: 2^-(i+1) halves, and e^{-a²/2} falls by e^{-4.75/4} = 0.30 and more.
_CELLS = 152
_FINE = 32
_START = Fraction(_CELLS, _FINE)
_WIDE = Fraction(1, 4)
# S in (N): the largest for which the weights ⌈S e^{-a²/2}⌉ of the narrow cells leave a number to the wide ones.
_HEIGHT = 1611
_ENTRIES = 1 << 16
_TAIL = 255  # a wide cell, in the table
# Digits of x in the first word, beside 16 bits for the cell, 16 of u and the sign; and in the second, if there is one.
_DIGITS = 31
_MORE_DIGITS = 64
# Up to here one word is enough: σh 2^-31 and so the share of undecided roundings is below 2^-16.
_ONE_WORD_SIGMA2 = 1 << 40
# Beyond it doubles leave too many roundings undecided, and results may not fit into 64 bits.
_DOUBLES_SIGMA2 = 1 << 80
# So many draws at a time stay in the processor's cache.
_BLOCK = 1 << 15
# Relative error of σ|Z| in doubles: less than five roundings of 2^-53 each, and more than half as much again.
_ROUNDING = 2.0**-50
# Absolute error of p in doubles, and how far it falls between one 31-digit x and the next: see _keeps.
_MARGIN = 2.0**-30
# Rationals are first tried with so many digits of x and u.
_FIRST_BITS = 64
# Arithmetic of the tail. Smaller bounds are not told: as fractions, they would be long and of no use.
_DOWN, _UP = down(72), up(72)
_LEAST_BOUND = Decimal("1e-1000")


@dataclass(frozen=True, eq=False)
class _Histogram:
    """The narrow cells, as tables.

    cells: (2^16,) uint8, which cell each 16-bit number chooses; _TAIL for the wide ones. weights: (152,) the c of each.
    certain: (256,) uint16, for each cell the number below which the first 16 bits of u are kept whatever x is.
    heights: (152,) float64, p at x = 0, within 2^-53 (relative).
    """

    cells: NDArray[np.uint8]
    weights: tuple[int, ...]
    certain: NDArray[np.uint16]
    heights: NDArray[np.float64]


@lru_cache(maxsize=1)
def _histogram() -> _Histogram:
    """Return the tables, computed by certified bounds."""
    bits = 128
    edges = [exp_bounds(j * j, 2 * _FINE**2, bits) for j in range(_CELLS + 1)]
    weights = [-(-_HEIGHT * edge[1] >> bits) for edge in edges[:-1]]
    weights[0] += _ENTRIES - 1 - sum(weights)  # what is left over: (N) holds for any weight that is large enough
    certain = np.zeros(256, dtype=np.uint16)
    # u < 2^-16 (⌊2^16 p⌋) <= p, at the right edge, where p is least; u's first bits, plus 1, must not exceed that.
    certain[:_CELLS] = [
        _ENTRIES * _HEIGHT * edge[0] // weight >> bits for edge, weight in zip(edges[1:], weights, strict=True)
    ]
    heights = [
        float(Fraction(_HEIGHT * edge[0], weight << bits)) for edge, weight in zip(edges[:-1], weights, strict=True)
    ]
    cells = np.repeat(np.array([*range(_CELLS), _TAIL], dtype=np.uint8), [*weights, 1])
    return _Histogram(cells, tuple(weights), certain, np.array(heights))


def rounded_normal(sigma2: Fraction | int, size: int, *, randomness: Randomness) -> Integers:
    """Draw independent integers ⌊σZ + 1/2⌋, Z standard normal, for a variance sigma2 = σ² > 0.

    Returns (size,) int64, or Python integers where σ is 2**40 or more. The distribution is exact: that of normal noise
    of variance sigma2, rounded.
    """
    sigma2 = Fraction(sigma2)
    if sigma2 >= _DOUBLES_SIGMA2:
        return np.array([_draw(sigma2, randomness=randomness) for _ in range(size)], dtype=object)
    values = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        kept = _kept(sigma2, min(size - filled, _BLOCK), randomness=randomness)
        values[filled : filled + len(kept)] = kept
        filled += len(kept)
    return values


def _kept(sigma2: Fraction, size: int, *, randomness: Randomness) -> NDArray[np.int64]:
    """Propose `size` times, and return the rounded numbers of those that are kept: (m,) with m <= size."""
    words = randomness.words(size, 8)
    more = randomness.words(size, 8) if sigma2 > _ONE_WORD_SIGMA2 else None
    parts, upper = words.view("<u2").reshape(size, 4), words.view("<u4").reshape(size, 2)[:, 1]
    table = _histogram()
    cells, first = table.cells[parts[:, 0]], parts[:, 1]
    certain = first < table.certain[cells]
    # |Z| = h 2^-31 (place + [0, 1)): exact in a double.
    place = cells * 2.0**_DIGITS + (upper & ((1 << _DIGITS) - 1))
    rounded, decided = _rounded(place, more, sigma2)
    values = np.where(upper >> _DIGITS, -rounded, rounded).astype(np.int64)
    kept: NDArray[np.bool_] = certain & decided
    open_ = np.flatnonzero(~kept)
    keeps, drops = _keeps(cells[open_], first[open_], place[open_])
    kept[open_] = keeps & decided[open_]
    for i in open_[~(kept[open_] | drops)].tolist():
        cell, digits, known = int(cells[i]), int(upper[i]) & ((1 << _DIGITS) - 1), _DIGITS
        if more is not None:
            digits, known = digits << _MORE_DIGITS | int(more[i]), known + _MORE_DIGITS
        x = UniformReal(randomness=randomness, known=(digits, known))
        u = UniformReal(randomness=randomness, known=(int(first[i]), 16))
        magnitude = _settle(cell, u, x, sigma2, randomness=randomness)
        if magnitude is not None:
            kept[i], values[i] = True, -magnitude if upper[i] >> _DIGITS else magnitude
    return values[kept]


def _rounded(
    place: NDArray[np.float64], more: NDArray[Any] | None, sigma2: Fraction
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Round σ|Z| to whole numbers, as far as doubles can: (n,) numbers, and (n,) whether each is certain.

    place: (n,) 2^31 |Z| / h, but for more digits. more: (n,) the next 64 digits of it, or None where they are unknown.

    The product is within _ROUNDING, relative, of the lower end of the interval of σ|Z|; in the narrow cells that is
    less than `margin`. So if it keeps this distance from both of the nearest half-integers, and to the upper one also
    the length of the interval, the whole interval lies between these.
    """
    unit = math.sqrt(sigma2) / (_FINE << _DIGITS)
    margin = math.sqrt(sigma2) * float(_START) * _ROUNDING
    if more is not None:
        place = place + more * 2.0**-_MORE_DIGITS
        length = 0.0
    else:
        length = unit
    product = place * unit
    rounded = np.floor(product + 0.5)
    rest = product - rounded
    return rounded, (rest > margin - 0.5) & (rest < 0.5 - length - 2 * margin)


def _keeps(
    cells: NDArray[np.uint8], first: NDArray[Any], place: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Compare u with p of equation (N) in doubles: (n,) whether each is certainly below, and whether certainly not.

    first: (n,) the first 16 bits of u. place: (n,) as in _rounded. In cell j, p = heights[j] e^{-y} with
    y = h²x(2j + x)/2 < 0.15, so the terms of e^{-y} after y^8 add less than 0.15^9/9! < 2^-42. A dozen roundings of
    2^-53, and p's change over the interval of x, at most h(4.75) 2^-31, are less than the margin too.
    """
    table = _histogram()
    narrow = cells != _TAIL
    j = np.where(narrow, cells, 0).astype(np.float64)
    x = place * 2.0**-_DIGITS - cells
    y = x * (2 * j + x) / (2 * _FINE**2)
    series = np.ones_like(y)
    for n in range(8, 0, -1):
        series = 1 - y / n * series
    p = table.heights[j.astype(np.intp)] * series
    u = first * (1 / _ENTRIES)
    return narrow & (u + 1 / _ENTRIES < p - _MARGIN), narrow & (u > p + _MARGIN)


def _settle(cell: int, u: UniformReal, x: UniformReal, sigma2: Fraction, *, randomness: Randomness) -> int | None:
    """Return ⌊σ|Z| + 1/2⌋ for one proposal, by as many digits of u and x as it takes; None if it is not kept."""
    if cell != _TAIL:
        start, width, weight = Fraction(cell, _FINE), Fraction(1, _FINE), Fraction(_histogram().weights[cell])
    else:
        wide = 0
        while randomness.bits(1):
            wide += 1
        start, width, weight = _START + wide * _WIDE, _WIDE, Fraction(1, 2 << wide)
    return _nearest(start, width, x, sigma2) if _is_kept(start, width, weight, u, x) else None


def _is_kept(start: Fraction, width: Fraction, weight: Fraction, u: UniformReal, x: UniformReal) -> bool:
    """Decide u < p of equation (N), for a = start, w = width and c = weight."""
    height = _HEIGHT * width * _FINE / weight
    for bits in precisions(_FIRST_BITS):
        digits = x.digits(bits)
        near, far = ((start + width * Fraction(d, 1 << bits)) ** 2 / 2 for d in (digits, digits + 1))
        most, least = exp_bounds(*near.as_integer_ratio(), bits)[1], exp_bounds(*far.as_integer_ratio(), bits)[0]
        if u.digits(bits) + 1 <= height * least:
            return True
        if u.digits(bits) >= height * most:
            return False
    raise AssertionError("precisions() never ends")  # pragma: no cover


def _nearest(start: Fraction, width: Fraction, x: UniformReal, sigma2: Fraction) -> int:
    """Return ⌊σ(start + width x) + 1/2⌋, which is ⌊(⌊2σz⌋ + 1) / 2⌋ with ⌊2σz⌋ = ⌊√⌊4σ²z²⌋⌋."""
    for bits in precisions(_FIRST_BITS):
        digits = x.digits(bits)
        ends = (start + width * Fraction(d, 1 << bits) for d in (digits, digits + 1))
        lower, upper = ((math.isqrt(math.floor(4 * sigma2 * end * end)) + 1) // 2 for end in ends)
        if lower == upper:
            return lower
    raise AssertionError("precisions() never ends")  # pragma: no cover


def _draw(sigma2: Fraction, *, randomness: Randomness) -> int:
    """Draw one integer ⌊σZ + 1/2⌋, for any sigma2 > 0, by rationals alone."""
    while True:
        cell = int(_histogram().cells[randomness.bits(16)])
        u, x = UniformReal(randomness=randomness), UniformReal(randomness=randomness)
        magnitude = _settle(cell, u, x, sigma2, randomness=randomness)
        if magnitude is not None:
            return -magnitude if randomness.bits(1) else magnitude


def rounded_normal_tail(sigma2: Fraction | int, k: int) -> Fraction:
    """Return an upper bound of P(⌊σZ + 1/2⌋ >= k) = Q((k - 1/2)/σ), for σ² = sigma2 > 0 and any k.

    Less than 1e-30 (relative) too much, but at least 1e-1000.
    """
    square = Fraction(2 * k - 1) ** 2 / (4 * Fraction(sigma2))
    x = Fraction(sqrt(_DOWN, quotient(_DOWN, square))) if k > 0 else -Fraction(sqrt(_UP, quotient(_UP, square)))
    return Fraction(max(normal_tail_bounds(x)[1], _LEAST_BOUND))


@lru_cache(maxsize=1 << 10)
def least_exceeding(sigma2: Fraction | int, p: Fraction) -> int:
    """Return the least integer q such that certainly P(⌊σZ + 1/2⌋ >= q) <= p, for σ² = sigma2 > 0.

    p: 1e-310 or more, below 1.
    """
    sigma = Fraction(sqrt(_UP, quotient(_UP, Fraction(sigma2))))
    q = math.ceil(sigma * normal_tail_point(p) + Fraction(1, 2))
    while rounded_normal_tail(sigma2, q - 1) <= p:
        q -= 1
    while rounded_normal_tail(sigma2, q) > p:
        q += 1
    return q


def rounded_normal_half_width(sigma2: Fraction | int, confidence: Fraction = Fraction(95, 100)) -> int:
    """Return the least w >= 0 such that certainly P(|⌊σZ + 1/2⌋| <= w) >= confidence, for σ² = sigma2 > 0.

    confidence: above 0, below 1. By symmetry (both signs are rounded alike, but for a chance of 0) each side has half
    of what may be missed.
    """
    return least_exceeding(sigma2, (1 - confidence) / 2) - 1
