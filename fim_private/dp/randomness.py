"""Exact random integers from a byte source: the only place where randomness enters.

Every distribution here is exactly the one named, not a floating-point likeness of it, for floating-point noise
leaks (Mironov, "On significance of the least significant bits for differential privacy", 2012). Bernoulli(exp(-x)),
the geometric, the discrete Laplace and the discrete Gaussian distribution are sampled for any rational parameter,
many draws at a time, as in Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy" (2020),
Algorithms 1 to 3 ("CKS" below). A choice by inversion takes one uniform real number, which is revealed to as many
binary digits as the decision needs.
"""

from __future__ import annotations

import hashlib
import math
import operator
import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.intervals import exp_bounds, precisions
from fim_private.errors import ParameterError, parameter, shown

ByteSource = Callable[[int], bytes]
# int64 arrays; arrays of Python integers where a parameter needs more than 64 bits.
Integers = NDArray[Any]

# int64 holds every intermediate value of the geometric sampler below this bound (t * V with V < 2^15,
# and P(V >= 2^15) = e^-32768); beyond it, arrays of Python integers take over.
_INT64_BOUND = 1 << 48
# Below this scale a double guesses a geometric draw to within one.
_GUESSABLE_SCALE = 1 << 40


class Randomness:
    """A stream of exact random integers.

    source: returns as many random bytes as it is asked for; the operating system's generator unless another is given.
    """

    def __init__(self, source: ByteSource = os.urandom) -> None:
        self._source = source

    @classmethod
    def seeded(cls, seed: int) -> Randomness:
        """Return a reproducible stream (SHAKE-256 in counter mode). It is for tests and benchmarks, and not private."""
        return cls(_SeededBytes(seed))

    @classmethod
    def of_seed(cls, seed: int | None) -> Randomness:
        """Return the operating system's randomness; with a seed, a reproducible stream that is not private.

        Raises ParameterError for a seed that is no whole number.
        """
        if seed is None:
            return cls()
        try:
            if isinstance(seed, bool):
                raise TypeError
            return cls.seeded(operator.index(seed))
        except TypeError:
            raise ParameterError(f"{parameter('seed')} must be a whole number, not {shown(seed)}") from None

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
        while (value := self.bits(count)) >= bound:
            pass
        return value

    def words(self, count: int, width: int) -> NDArray[np.unsignedinteger]:
        """Return uniform unsigned integers of `width` bytes each (1, 2, 4 or 8): (count,)."""
        return np.frombuffer(self._source(count * width), dtype=f"<u{width}")


class _SeededBytes:
    """A byte source that gives the same bytes for the same seed on every machine: SHAKE-256 in counter mode."""

    _BLOCK = 1 << 12

    def __init__(self, seed: int) -> None:
        self._key = f"fim-private seed {int(seed)} block ".encode()
        self._block = 0
        self._pool = b""
        self._used = 0

    def __call__(self, count: int) -> bytes:
        missing = self._used + count - len(self._pool)
        if missing > 0:
            blocks = range(self._block, self._block - (-missing // self._BLOCK))
            fresh = (hashlib.shake_256(self._key + str(block).encode()).digest(self._BLOCK) for block in blocks)
            self._pool = b"".join([self._pool[self._used :], *fresh])
            self._block, self._used = blocks.stop, 0
        self._used += count
        return self._pool[self._used - count : self._used]


def distinct_integers(bound: int, size: int, *, randomness: Randomness) -> list[int]:
    """Draw size <= bound different integers in [0, bound), in uniformly random order, for a bound of any size."""
    moved: dict[int, int] = {}  # Fisher and Yates's shuffle, as far as it is looked at
    drawn = []
    for place in range(size):
        other = place + randomness.below(bound - place)
        drawn.append(moved.get(other, other))
        moved[other] = moved.get(place, place)
    return drawn


def uniform_integers(bound: int, size: int, *, randomness: Randomness) -> Integers:
    """Draw uniform integers in [0, bound), for a bound >= 1: (size,) int64, or Python integers where bound > 2**62."""
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


def _bernoulli_exp_below_one(numerators: Integers, denominator: int, *, randomness: Randomness) -> NDArray[np.bool_]:
    """Draw Bernoulli(exp(-numerator / denominator)) for each numerator in [0, denominator] (CKS Algorithm 1)."""
    odd = np.ones(len(numerators), dtype=bool)
    running = np.arange(len(numerators))
    k = 1
    while running.size:
        # Bernoulli(γ/k) as two independent coins: no product can overflow.
        goes_on = uniform_integers(denominator, running.size, randomness=randomness) < numerators[running]
        if k > 1:
            goes_on &= uniform_integers(k, running.size, randomness=randomness) == 0
        running = running[goes_on.astype(bool)]
        odd[running] = k % 2 == 0
        k += 1
    return odd


def bernoulli_exp(exponent: Fraction | int, size: int, *, randomness: Randomness) -> NDArray[np.bool_]:
    """Draw coins that show True with probability exp(-exponent), exponent >= 0: (size,) bool (CKS Algorithm 1)."""
    whole, rest = divmod(Fraction(exponent), 1)
    alive = np.arange(size)
    one = np.ones(1, dtype=np.int64)
    for _ in range(whole):
        if not alive.size:
            break
        alive = alive[_bernoulli_exp_below_one(np.broadcast_to(one, alive.size), 1, randomness=randomness)]
    numerators: Integers = np.full(alive.size, rest.numerator, dtype=_integer_type(rest.denominator))
    alive = alive[_bernoulli_exp_below_one(numerators, rest.denominator, randomness=randomness)]
    shown = np.zeros(size, dtype=bool)
    shown[alive] = True
    return shown


def geometric(rate: Fraction | int, size: int, *, randomness: Randomness) -> Integers:
    """Draw integers with P(k) = (1 - e^{-rate}) e^{-rate k}, k >= 0, for a rate > 0.

    Returns (size,) int64, or Python integers where the rate's numerator or denominator is 2**48 or more.
    With rate = s/t: X = U + tV, with U uniform below t and kept with probability e^{-U/t}, and V geometric with rate 1,
    is geometric with rate 1/t; then X // s has rate s/t (CKS Algorithm 2).
    """
    rate = Fraction(rate)
    steps, t = rate.numerator, rate.denominator
    remainder: Integers = np.zeros(size, dtype=_integer_type(max(steps, t)))
    pending = np.arange(size)
    while pending.size and t > 1:
        drawn = uniform_integers(t, pending.size, randomness=randomness)
        kept = _bernoulli_exp_below_one(drawn, t, randomness=randomness)
        remainder[pending[kept]] = drawn[kept]
        pending = pending[~kept]
    whole = np.zeros(size, dtype=remainder.dtype)
    running = np.arange(size)
    while running.size:
        running = running[bernoulli_exp(1, running.size, randomness=randomness)]
        whole[running] += 1
    fine: Integers = remainder + t * whole
    return fine // steps


def discrete_laplace(scale: Fraction | int, size: int, *, randomness: Randomness) -> Integers:
    """Draw integers with P(k) ∝ exp(-|k| / scale), for a scale > 0 (CKS Algorithm 2).

    Returns (size,) int64, or Python integers where the scale's numerator or denominator is 2**48 or more.
    """
    rate = 1 / Fraction(scale)
    values: Integers = np.zeros(size, dtype=_integer_type(max(rate.numerator, rate.denominator)))
    pending = np.arange(size)
    while pending.size:
        magnitude = geometric(rate, pending.size, randomness=randomness)
        negative = uniform_integers(2, pending.size, randomness=randomness) == 1
        kept = ~(negative & (magnitude == 0))  # zero must not be counted twice
        values[pending[kept]] = np.where(negative, -magnitude, magnitude)[kept]
        pending = pending[~kept]
    return values


def discrete_gaussian(sigma2: Fraction | int, size: int, *, randomness: Randomness) -> Integers:
    """Draw integers with P(k) ∝ exp(-k² / (2 sigma2)), for a sigma2 > 0 (CKS Algorithm 3).

    Returns (size,) int64, or Python integers where σ is 2**48 or so or more.
    Y, discrete Laplace of scale t = ⌊σ⌋ + 1, is kept with probability exp(-(|Y| - σ²/t)² / (2σ²)), which with
    σ² = p/q is exp(-(|Y| q t - p)² / (2 p q t²)). About two in three are kept.
    """
    p, q = Fraction(sigma2).as_integer_ratio()
    t = math.isqrt(p // q) + 1
    denominator = 2 * p * q * t * t
    values: Integers = np.zeros(size, dtype=_integer_type(t))
    pending = np.arange(size)
    while pending.size:
        drawn = discrete_laplace(t, pending.size, randomness=randomness)
        largest = max(denominator, (int(np.abs(drawn).max()) * q * t + p) ** 2)
        distances = np.abs(drawn).astype(np.int64 if largest < 1 << 62 else object) * (q * t) - p
        kept = _bernoulli_exp_each(distances * distances, denominator, randomness=randomness)
        values[pending[kept]] = drawn[kept]
        pending = pending[~kept]
    return values


def _bernoulli_exp_each(numerators: Integers, denominator: int, *, randomness: Randomness) -> NDArray[np.bool_]:
    """Draw one coin per numerator >= 0 that shows True with probability exp(-numerator / denominator)."""
    wholes, rests = numerators // denominator, numerators % denominator
    shown = _bernoulli_exp_below_one(rests, denominator, randomness=randomness)
    passed = 0
    # One coin of exp(-1) for each whole; most with many wholes drop out early.
    while (going := np.flatnonzero(shown & (wholes > passed).astype(bool))).size:
        shown[going] = bernoulli_exp(1, going.size, randomness=randomness)
        passed += 1
    return shown


def _integer_type(largest: int) -> Any:
    """Return the element type of arrays of integers up to `largest`: int64, or Python objects."""
    return np.int64 if largest < _INT64_BOUND else object


class UniformReal:
    """One uniform real number in [0, 1), of which only the binary digits asked for are ever drawn.

    known: (digits, number of them), where the first ones were drawn before.
    """

    def __init__(self, *, randomness: Randomness, known: tuple[int, int] = (0, 0)) -> None:
        self._randomness = randomness
        self._digits, self._known = known

    def digits(self, bits: int) -> int:
        """Return floor(2**bits * u), for bits >= 0. To ask for more bits later refines the same number."""
        if bits > self._known:
            fresh = bits - self._known
            self._digits = self._digits << fresh | self._randomness.bits(fresh)
            self._known = bits
        return self._digits >> (self._known - bits)


def discrete_laplace_integer(scale: Fraction, *, randomness: Randomness) -> int:
    """Draw one integer with P(k) ∝ exp(-|k| / scale), for a scale > 0: quicker than discrete_laplace for a single draw.

    By inversion: |k| is the k with e^{-(k+1)/scale} <= u < e^{-k/scale}; a float only guesses it, the bounds decide.
    """
    if scale > _GUESSABLE_SCALE:
        return int(discrete_laplace(scale, 1, randomness=randomness)[0])
    while True:
        magnitude = _geometric_by_inversion(scale, randomness=randomness)
        negative = randomness.bits(1)
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def _geometric_by_inversion(scale: Fraction, *, randomness: Randomness) -> int:
    """Draw one k >= 0 with P(k) ∝ exp(-k / scale), from one uniform number."""
    uniform = UniformReal(randomness=randomness)
    steps, unit = scale.denominator, scale.numerator
    for bits in precisions(96):
        digits = uniform.digits(bits)
        if not digits:
            continue
        guess = int((bits * math.log(2) - math.log(digits)) * unit / steps)
        for k in (guess, guess - 1, guess + 1):
            if k < 0:
                continue
            below, above = exp_bounds((k + 1) * steps, unit, bits), exp_bounds(k * steps, unit, bits)
            if below[1] <= digits and digits + 1 <= above[0]:
                return k
    raise AssertionError("precisions() never ends")  # pragma: no cover
