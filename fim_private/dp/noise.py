"""Exact random numbers: uniform, Laplace, Gaussian, rounded normal, and choices by weight.

How a budget becomes the scale of noise stands in `request.allocation`.
"""

from __future__ import annotations

import hashlib
import math
import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, count
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.arguments import is_whole
from fim_private.dp.bounds import (
    DOWN,
    LEAST_BOUND,
    UP,
    Bounds,
    exp_bounds,
    least_integer,
    normal_tail,
    root,
)
from fim_private.errors import ParameterError, parameter, shown

# The only place where randomness enters. Every distribution here is exactly the one named, not a
# floating-point likeness of it, for floating-point noise leaks (Mironov, "On significance of the
# least significant bits for differential privacy", 2012). Bernoulli(exp(-x)), the geometric, the
# discrete Laplace and the discrete Gaussian are sampled for any rational parameter, many draws at a
# time, as in Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy" (2020),
# Algorithms 1 to 3 ("CKS" below).

ByteSource = Callable[[int], bytes]
Rational = Fraction | int
# int64 arrays; arrays of Python integers where a parameter needs more than 64 bits.
Integers = NDArray[Any]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
# Numbers, and which of them are taken.
Proposals = tuple[Integers, Flags]

# Below it int64 holds every intermediate value of the geometric sampler (t * V, and P(V >= 2^15) =
# e^-32768).
_INT64_BOUND = 1 << 48
# Below this scale a double guesses a geometric draw to within one.
_GUESSABLE_SCALE = 1 << 40


class Randomness:
    """A stream of exact random integers. source: returns as many random bytes as it is asked
    for.
    """

    def __init__(self, source: ByteSource = os.urandom) -> None:
        self._source = source

    @classmethod
    def seeded(cls, seed: int) -> Randomness:
        """Return a reproducible stream, the same on every machine: SHAKE-256 in counter mode.

        It is for tests and benchmarks, and not private.
        """
        pool, numbers = bytearray(), count()

        def source(size: int) -> bytes:
            while len(pool) < size:
                key = f"fim-private seed {int(seed)} block {next(numbers)}"
                pool.extend(hashlib.shake_256(key.encode()).digest(1 << 12))
            drawn = bytes(pool[:size])
            del pool[:size]
            return drawn

        return cls(source)

    @classmethod
    def of_seed(cls, seed: int | None) -> Randomness:
        """Return the operating system's randomness; with a seed, a reproducible stream that is not
        private.

        Raises ParameterError for a seed that is no whole number.
        """
        if seed is None:
            return cls()
        if not is_whole(type(seed)):
            raise ParameterError(f"{parameter('seed')} must be a whole number, not {shown(seed)}")
        return cls.seeded(seed)

    @property
    def private(self) -> bool:
        """Whether the bytes come from the operating system's generator."""
        return self._source is os.urandom

    def bits(self, count: int) -> int:
        """Return a uniform integer in [0, 2**count), for a count >= 0."""
        size = (count + 7) // 8
        return int.from_bytes(self._source(size), "little") >> (8 * size - count)

    def below(self, bound: int) -> int:
        """Return a uniform integer in [0, bound), for a bound >= 1 of any size."""
        count = (bound - 1).bit_length()
        value = self.bits(count)
        while value >= bound:
            value = self.bits(count)
        return value

    def words(self, count: int, width: int) -> Integers:
        """Return uniform unsigned integers of `width` bytes each (1, 2, 4 or 8): (count,)."""
        return np.frombuffer(self._source(count * width), dtype=f"<u{width}")


def distinct_integers(bound: int, size: int, randomness: Randomness) -> list[int]:
    """Draw size <= bound different integers in [0, bound), in uniformly random order, for a bound
    of any size.
    """
    moved: dict[int, int] = {}  # Fisher and Yates's shuffle, as far as it is looked at
    drawn = []
    for place in range(size):
        swapped = place + randomness.below(bound - place)
        drawn.append(moved.get(swapped, swapped))
        moved[swapped] = moved.get(place, place)
    return drawn


def uniform_integers(bound: int, size: int, randomness: Randomness) -> Integers:
    """Draw uniform integers in [0, bound), for a bound >= 1: (size,) int64, or Python integers
    where bound > 2**62.
    """
    if bound > 1 << 62:
        return np.array([randomness.below(bound) for _ in range(size)], dtype=object)
    count = (bound - 1).bit_length()
    width = next(w for w in (1, 2, 4, 8) if count <= 8 * w)
    mask = (1 << count) - 1
    values = (randomness.words(size, width) & mask).astype(np.int64)
    if bound <= mask:  # redraw those that are too large, and only those
        while (excess := np.flatnonzero(values >= bound)).size:
            values[excess] = (randomness.words(excess.size, width) & mask).astype(np.int64)
    return values


def _bernoulli_exp_below_one(
    numerators: Integers, denominator: int, randomness: Randomness
) -> Flags:
    """Draw Bernoulli(exp(-numerator / denominator)) for each numerator in [0, denominator] (CKS
    Algorithm 1).
    """
    odd = np.ones(len(numerators), dtype=bool)
    running = np.arange(len(numerators))
    k = 1
    while running.size:
        # Bernoulli(γ/k) as two independent coins: no product can overflow.
        goes_on = uniform_integers(denominator, running.size, randomness) < numerators[running]
        if k > 1:
            goes_on &= uniform_integers(k, running.size, randomness) == 0
        running = running[goes_on.astype(bool)]
        odd[running] = k % 2 == 0
        k += 1
    return odd


def bernoulli_exp(exponent: Rational, size: int, randomness: Randomness) -> Flags:
    """Draw coins that show True with probability exp(-exponent), exponent >= 0: (size,) bool (CKS
    Algorithm 1).
    """
    whole, fraction = divmod(Fraction(exponent), 1)
    alive = np.arange(size)
    while whole and alive.size:
        alive = alive[_bernoulli_exp_below_one(np.ones_like(alive), 1, randomness)]
        whole -= 1
    numerators: Integers = np.full(
        alive.size, fraction.numerator, dtype=_integer_type(fraction.denominator)
    )
    heads = np.zeros(size, dtype=bool)
    heads[alive] = _bernoulli_exp_below_one(numerators, fraction.denominator, randomness)
    return heads


def geometric(rate: Rational, size: int, randomness: Randomness) -> Integers:
    """Draw integers with P(k) = (1 - e^{-rate}) e^{-rate k}, k >= 0, for a rate > 0.

    Returns (size,) int64, or Python integers where the rate's numerator or denominator is 2**48 or
    more. With rate = s/t: U is uniform below t and taken with probability e^{-U/t}, and V is
    geometric with rate 1. So X = U + tV is geometric with rate 1/t; then X // s has rate s/t (CKS
    Algorithm 2).
    """
    rate = Fraction(rate)
    steps, t = rate.numerator, rate.denominator

    def propose(count: int) -> Proposals:
        drawn = uniform_integers(t, count, randomness)
        return drawn, _bernoulli_exp_below_one(drawn, t, randomness)

    fine: Integers = np.zeros(size, dtype=_integer_type(max(steps, t)))
    if t > 1:
        fine += _taken(propose, size)
    running = np.arange(size)
    while running.size:
        running = running[bernoulli_exp(1, running.size, randomness)]
        fine[running] += t
    return fine // steps


def discrete_laplace(scale: Rational, size: int, randomness: Randomness) -> Integers:
    """Draw integers with P(k) ∝ exp(-|k| / scale), for a scale > 0 (CKS Algorithm 2): (size,),
    typed as geometric's.
    """
    rate = 1 / Fraction(scale)

    def propose(count: int) -> Proposals:
        magnitude = geometric(rate, count, randomness)
        negative = uniform_integers(2, count, randomness) == 1
        signed = np.where(negative, -magnitude, magnitude)
        return signed, ~(negative & (magnitude == 0))  # zero must not be counted twice

    return _taken(propose, size)


def discrete_gaussian(sigma2: Rational, size: int, randomness: Randomness) -> Integers:
    """Draw integers with P(k) ∝ exp(-k² / (2 sigma2)), for a sigma2 > 0 (CKS Algorithm 3).

    Returns (size,) int64, or Python integers where σ is 2**48 or so or more. Y, discrete Laplace of
    scale t = ⌊σ⌋ + 1, is taken with probability exp(-(|Y| - σ²/t)² / (2σ²)), which with σ² = p/q is
    exp(-(|Y| q t - p)² / (2 p q t²)). About two in three are taken.
    """
    p, q = Fraction(sigma2).as_integer_ratio()
    t = math.isqrt(p // q) + 1
    denominator = 2 * p * q * t * t

    def propose(count: int) -> Proposals:
        drawn = discrete_laplace(t, count, randomness)
        magnitudes = np.abs(drawn)
        largest = max(denominator, (int(magnitudes.max(initial=0)) * q * t + p) ** 2)
        distances = magnitudes.astype(np.int64 if largest < 1 << 62 else object) * (q * t) - p
        numerators = distances * distances
        wholes = numerators // denominator
        taken = _bernoulli_exp_below_one(numerators % denominator, denominator, randomness)
        # One coin of exp(-1) for each whole; most with many wholes drop out early.
        while (going := np.flatnonzero(taken & (wholes > 0).astype(bool))).size:
            taken[going] = bernoulli_exp(1, going.size, randomness)
            wholes = wholes - 1
        return drawn, taken

    return _taken(propose, size)


def _taken(propose: Callable[[int], Proposals], size: int) -> Integers:
    """Draw by rejection: propose so many numbers, then others for those that are not taken."""
    values, taken = propose(size)
    while not taken.all():
        pending = np.flatnonzero(~taken)
        values[pending], taken[pending] = propose(pending.size)
    return values


def _integer_type(largest: int) -> Any:
    return np.int64 if largest < _INT64_BOUND else object


class UniformReal:
    """One uniform real number in [0, 1); only those binary digits that are asked for are ever
    drawn.

    known: (digits, number of them), where the first ones were drawn before.
    """

    def __init__(self, randomness: Randomness, known: tuple[int, int] = (0, 0)) -> None:
        self._randomness = randomness
        self._digits, self._known = known

    def digits(self, bits: int) -> int:
        """Return floor(2**bits * u), for bits >= 0. To ask for more bits later refines the same
        number.
        """
        if bits > self._known:
            fresh = bits - self._known
            self._digits = self._digits << fresh | self._randomness.bits(fresh)
            self._known = bits
        return self._digits >> (self._known - bits)


def discrete_laplace_integer(scale: Fraction, randomness: Randomness) -> int:
    """Draw one integer with P(k) ∝ exp(-|k| / scale), for a scale > 0: quicker than
    discrete_laplace for a single draw.

    By inversion: |k| is the k with e^{-(k+1)/scale} <= u < e^{-k/scale}; a float only guesses it,
    the bounds decide.
    """
    if scale > _GUESSABLE_SCALE:
        return int(discrete_laplace(scale, 1, randomness)[0])
    while True:
        magnitude = _geometric_by_inversion(scale, randomness)
        negative = randomness.bits(1)
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def _geometric_by_inversion(scale: Fraction, randomness: Randomness) -> int:
    """Draw one k >= 0 with P(k) ∝ exp(-k / scale), from one uniform number."""
    uniform = UniformReal(randomness)
    unit, steps = scale.as_integer_ratio()
    bits = 96
    while True:
        digits = uniform.digits(bits)
        guess = int((bits * math.log(2) - math.log(max(digits, 1))) * unit / steps)
        for k in range(max(guess - 1, 0), guess + 2):
            # u is certainly at least e^{-(k+1)/scale}, and below e^{-k/scale}
            least = exp_bounds((k + 1) * steps, unit, bits)[1]
            if least <= digits < exp_bounds(k * steps, unit, bits)[0]:
                return k
        bits *= 2


# Normal noise rounded to whole numbers: ⌊σZ + 1/2⌋ for a standard normal Z, drawn exactly, and its
# tail.
#
# A real Z cannot be written down, but the rounded number depends on finitely many of its binary
# digits. So Z is drawn by rejection, and every uniform number in it is known as an interval, which
# is refined by more random bits until a decision is certain (Karney, "Sampling exactly from the
# normal distribution", 2016). The proposal is a histogram above the bell curve (as in Marsaglia and
# Tsang, "The ziggurat method for generating random variables", 2000) whose cells have whole-number
# weights, so that 16 bits choose a cell exactly: cell j spans [a, a + w), is chosen with
# probability c/2^16, and |Z| = a + wx for a uniform x in [0, 1) is taken if a second uniform u lies
# below
#
#     p = S · (w/h) / c · e^{-(a+wx)²/2} <= 1,    (N)
#
# with the same S and h for all cells. The density of what is taken is ∝ (c/w) p ∝ e^{-z²/2}, for
# every z >= 0. Most draws are decided by comparing whole numbers, a few by Taylor's series in
# doubles with a margin beyond all of its errors, and one in ten thousand or so by rationals.

# Cells of width h = 1/32 from 0 to 4.75, then of width 1/4 without end. Chosen by 16 bits: the last
# of the 2^16 numbers stands for all of the wide cells, of which the i-th has the share 2^-(i+1), so
# it takes coins. There p < 1/2 for i = 0, and from one to the next p falls: 2^-(i+1) halves, and
# e^{-a²/2} falls by e^{-4.75/4} = 0.30 and more.
_CELLS = 152
_FINE = 32
_START = Fraction(_CELLS, _FINE)
_WIDE = Fraction(1, 4)
# S in (N): the largest for which the weights ⌈S e^{-a²/2}⌉ of the narrow cells leave a number to
# the wide ones.
_HEIGHT = 1611
_ENTRIES = 1 << 16
_TAIL = 255  # a wide cell, in the table
# Digits of x in the first word, beside 16 bits for the cell, 16 of u and the sign; and in the
# second, if there is one.
_DIGITS = 31
_MORE_DIGITS = 64
# Up to here one word is enough: σh 2^-31 and so the share of undecided roundings is below 2^-16.
_ONE_WORD_SIGMA2 = 1 << 40
# Beyond it doubles leave too many roundings undecided, and results may not fit into 64 bits.
_DOUBLES_SIGMA2 = 1 << 80
# So many draws at a time stay in the processor's cache.
_BLOCK = 1 << 15
# Relative error of σ|Z| in doubles: less than five roundings of 2^-53 each, and more than half as
# much again.
_ROUNDING = 2.0**-50
# Absolute error of p in doubles, and how far it falls between one 31-digit x and the next: see
# _keeps.
_MARGIN = 2.0**-30
# Rationals are first tried with so many digits of x and u.
_FIRST_BITS = 64


class _Histogram(NamedTuple):
    """The narrow cells, as tables.

    cells: (2^16,) uint8, which cell each 16-bit number chooses; _TAIL for the wide ones. weights:
    (152,) the c of each.
    certain: (256,) uint16, for each cell the number below which the first 16 bits of u are taken
    whatever x is; 0 for the wide ones.
    heights: (256,) float64, p at x = 0, within 2^-53 (relative); NaN for the wide ones.
    """

    cells: Integers
    weights: tuple[int, ...]
    certain: Integers
    heights: Floats


@lru_cache(maxsize=1)
def _histogram() -> _Histogram:
    bits = 128
    edges = [exp_bounds(j * j, 2 * _FINE**2, bits) for j in range(_CELLS + 1)]
    weights = [-(-_HEIGHT * edge[1] >> bits) for edge in edges[:-1]]
    # what is left over: (N) holds for any weight that is large enough
    weights[0] += _ENTRIES - 1 - sum(weights)
    certain = np.zeros(256, dtype=np.uint16)
    # u < 2^-16 (⌊2^16 p⌋) <= p, at the right edge, where p is least; u's first bits, plus 1, must
    # not exceed that.
    certain[:_CELLS] = [
        _ENTRIES * _HEIGHT * edges[j + 1][0] // weight >> bits for j, weight in enumerate(weights)
    ]
    heights = np.full(256, np.nan)
    heights[:_CELLS] = [
        _HEIGHT * edges[j][0] / (weight << bits) for j, weight in enumerate(weights)
    ]
    cells = np.repeat(np.array([*range(_CELLS), _TAIL], dtype=np.uint8), [*weights, 1])
    return _Histogram(cells, tuple(weights), certain, heights)


def rounded_normal(sigma2: Rational, size: int, randomness: Randomness) -> Integers:
    """Draw independent integers ⌊σZ + 1/2⌋, Z standard normal, exactly, for a variance sigma2 = σ²
    > 0.

    Returns (size,) int64, or Python integers where σ is 2**40 or more.
    """
    sigma2 = Fraction(sigma2)
    if sigma2 >= _DOUBLES_SIGMA2:
        return np.array([_draw(sigma2, randomness) for _ in range(size)], dtype=object)
    values, left = [np.empty(0, dtype=np.int64)], size
    while left:
        values.append(_accepted(sigma2, min(left, _BLOCK), randomness))
        left -= len(values[-1])
    return np.concatenate(values)


def _accepted(sigma2: Fraction, size: int, randomness: Randomness) -> Integers:
    """Propose `size` times, and return the rounded numbers of those that are taken: (m,) with m <=
    size.
    """
    words = randomness.words(size, 8)
    more = randomness.words(size, 8) if sigma2 > _ONE_WORD_SIGMA2 else None
    quarters, upper = words.view("<u2").reshape(size, 4), words.view("<u4").reshape(size, 2)[:, 1]
    negative, digits = upper >> _DIGITS, upper & ((1 << _DIGITS) - 1)
    table = _histogram()
    cells, first = table.cells[quarters[:, 0]], quarters[:, 1]
    certain = first < table.certain[cells]
    # |Z| = h 2^-31 (place + [0, 1)): exact in a double.
    place = cells * 2.0**_DIGITS + digits
    rounded, decided = _rounded(place, more, sigma2)
    magnitudes = rounded.astype(np.int64)
    taken: Flags = certain & decided
    open_ = np.flatnonzero(~taken)
    keeps, drops = _keeps(cells[open_], first[open_], place[open_])
    taken[open_] = keeps & decided[open_]
    for i in open_[~(taken[open_] | drops)].tolist():
        known = int(digits[i]), _DIGITS
        if more is not None:
            known = known[0] << _MORE_DIGITS | int(more[i]), _DIGITS + _MORE_DIGITS
        x, u = UniformReal(randomness, known), UniformReal(randomness, (int(first[i]), 16))
        magnitude = _settle(int(cells[i]), u, x, sigma2, randomness)
        if magnitude is not None:
            taken[i], magnitudes[i] = True, magnitude
    return np.where(negative, -magnitudes, magnitudes)[taken]


def _rounded(place: Floats, more: Integers | None, sigma2: Fraction) -> tuple[Floats, Flags]:
    """Round σ|Z| to whole numbers, as far as doubles can: (n,) numbers, and (n,) whether each is
    certain.

    place: (n,) 2^31 |Z| / h, but for more digits. more: (n,) the next 64 digits of it, or None
    where they are unknown. The product is within _ROUNDING, relative, of the lower end of the
    interval of σ|Z|; in the narrow cells that is less than `margin`. So if it keeps this distance
    from both of the nearest half-integers, and to the upper one also the length of the interval,
    the whole interval lies between these.
    """
    unit = math.sqrt(sigma2) / (_FINE << _DIGITS)
    margin = math.sqrt(sigma2) * float(_START) * _ROUNDING
    length = unit if more is None else 0.0
    product = (place if more is None else place + more * 2.0**-_MORE_DIGITS) * unit
    rounded = np.floor(product + 0.5)
    beyond = product - rounded
    return rounded, (beyond > margin - 0.5) & (beyond < 0.5 - length - 2 * margin)


def _keeps(cells: Integers, first: Integers, place: Floats) -> tuple[Flags, Flags]:
    """Compare u with p of equation (N) in doubles: (n,) whether each is certainly below, and
    whether certainly not.

    first: (n,) the first 16 bits of u. place: (n,) as in _rounded. In cell j, p = heights[j] e^{-y}
    with y = h²x(2j + x)/2 < 0.15, so the terms of e^{-y} after y^8 add less than 0.15^9/9! < 2^-42.
    A dozen roundings of 2^-53, and p's change over the interval of x, at most h(4.75) 2^-31, are
    less than the margin too.
    """
    j = cells.astype(np.float64)
    x = place * 2.0**-_DIGITS - j
    y = x * (2 * j + x) / (2 * _FINE**2)
    series = np.ones_like(y)
    for n in range(8, 0, -1):
        series = 1 - y / n * series
    p, u = _histogram().heights[cells] * series, first * (1 / _ENTRIES)
    return u + 1 / _ENTRIES < p - _MARGIN, u > p + _MARGIN  # never where p is NaN


def _settle(
    cell: int, u: UniformReal, x: UniformReal, sigma2: Fraction, randomness: Randomness
) -> int | None:
    """Return ⌊σ|Z| + 1/2⌋ for one proposal, by as many digits of u and x as it takes; None if it is
    not taken.
    """
    if cell != _TAIL:
        start, width = Fraction(cell, _FINE), Fraction(1, _FINE)
        height = Fraction(_HEIGHT, _histogram().weights[cell])
    else:
        wide = 0
        while randomness.bits(1):
            wide += 1
        start, width = _START + wide * _WIDE, _WIDE
        height = _HEIGHT * _WIDE * _FINE * (2 << wide)

    def squares(bits: int) -> list[Fraction]:
        return [
            (start + width * Fraction(digits, 1 << bits)) ** 2
            for digits in (x.digits(bits), x.digits(bits) + 1)
        ]

    bits = _FIRST_BITS
    while True:  # until it is decided whether u < p of equation (N)
        near, far = (exp_bounds(*(square / 2).as_integer_ratio(), bits) for square in squares(bits))
        if u.digits(bits) + 1 <= height * far[0]:
            break
        if u.digits(bits) >= height * near[1]:
            return None
        bits *= 2
    bits = _FIRST_BITS
    while True:  # ⌊σz + 1/2⌋ is ⌊(⌊2σz⌋ + 1) / 2⌋ with ⌊2σz⌋ = ⌊√⌊4σ²z²⌋⌋
        lower, upper = (
            (math.isqrt(math.floor(4 * sigma2 * square)) + 1) // 2 for square in squares(bits)
        )
        if lower == upper:
            return lower
        bits *= 2


def _draw(sigma2: Fraction, randomness: Randomness) -> int:
    """Draw one integer ⌊σZ + 1/2⌋, for any sigma2 > 0, by rationals alone."""
    magnitude = None
    while magnitude is None:
        cell = int(_histogram().cells[randomness.bits(16)])
        u, x = UniformReal(randomness), UniformReal(randomness)
        magnitude = _settle(cell, u, x, sigma2, randomness)
    return -magnitude if randomness.bits(1) else magnitude


def rounded_normal_tail(sigma2: Rational, k: int) -> Fraction:
    """Return P(⌊σZ + 1/2⌋ >= k) = Q((k - 1/2)/σ) for any k, or less than 1e-30 (relative) more; at
    least 1e-1000.
    """
    square = Fraction(2 * k - 1) ** 2 / (4 * Fraction(sigma2))
    x = root(DOWN, square) if k > 0 else -root(UP, square)
    return Fraction(max(normal_tail(UP, x), LEAST_BOUND))


@lru_cache(maxsize=1 << 10)
def least_exceeding(sigma2: Rational, p: Fraction) -> int:
    """Return the least integer q such that certainly P(⌊σZ + 1/2⌋ >= q) <= p, for σ² = sigma2 > 0,
    0 < p < 1.
    """
    sigma, step = root(UP, Fraction(sigma2)), 1
    # A double guesses; the bounds decide.
    nearest = min(max(float(p), 1e-300), 1 - 2.0**-53)
    guess = math.ceil(sigma * Fraction(-NormalDist().inv_cdf(nearest)) + Fraction(1, 2))
    while rounded_normal_tail(sigma2, guess - step) <= p:
        step *= 2
    return least_integer(lambda q: rounded_normal_tail(sigma2, q) <= p, guess - step + 1)


def rounded_normal_half_width(sigma2: Rational, confidence: Fraction) -> int:
    """Return the least w >= 0 such that certainly P(|⌊σZ + 1/2⌋| <= w) >= confidence, for σ² =
    sigma2.
    """
    return least_exceeding(sigma2, (1 - confidence) / 2) - 1


def choose_level(
    distances: Sequence[int],
    multiplicities: Sequence[int],
    rate: Fraction,
    randomness: Randomness,
) -> int:
    """Choose an index j with probability ∝ multiplicities[j] * exp(-rate * distances[j]), exactly.

    distances: (m,) integers >= 0, the smallest 0 or near it. rate: >= 0. multiplicities: (m,)
    integers >= 0, not all 0. The uniform number is refined until it lies for certain inside one of
    the intervals between cumulative weights.
    """
    uniform = UniformReal(randomness)
    bits = 96 + sum(multiplicities).bit_length()
    while True:
        decays = _decays(distances, rate, bits)
        weights = [(m, decays[d]) for m, d in zip(multiplicities, distances, strict=True)]
        lower, upper = ([*accumulate(m * decay[side] for m, decay in weights)] for side in (0, 1))
        digits = uniform.digits(bits)
        target_lower = digits * lower[-1] >> bits
        target_upper = ((digits + 1) * upper[-1] >> bits) + 1
        chosen = bisect_right(upper, target_lower)  # every weight before it lies below the target
        if chosen < len(lower) and target_upper <= lower[chosen]:
            return chosen
        bits *= 2


def _decays(distances: Sequence[int], rate: Fraction, bits: int) -> dict[int, Bounds]:
    """Bound ``2**bits * exp(-rate * d)`` for each distance d, each from the next smaller one, since
    gaps repeat.
    """
    decays = {}
    before, lower, upper = 0, 1 << bits, 1 << bits
    for distance in sorted(set(distances)):
        if distance and upper > 1:
            gap = rate.numerator * (distance - before)
            low, high = exp_bounds(gap, rate.denominator, bits)
            lower, upper = lower * low >> bits, (upper * high >> bits) + 1
        before = distance
        decays[distance] = lower, upper
    return decays
