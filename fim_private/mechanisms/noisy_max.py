"""Noisy max over levels: every itemset has a key of its own, independent of all others, and the highest wins.

Only the best key of each level matters. It is drawn by inversion: if one itemset's key has distribution function G,
the best of m has G^m, so the best key is where G reaches V^{1/m}, V uniform in [0, 1). V is known to as
many digits as the decision takes: keys are intervals, and the choice is made when one lies above all others.
A level of 10**60 itemsets takes no longer than one of 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.intervals import Bounds, precisions
from fim_private.dp.randomness import Randomness, UniformReal
from fim_private.mechanisms.base import universe_levels
from fim_private.spectrum import SupportSpectrum

# All levels show so many digits of V first; nearly all drop out by them.
_FIRST_BITS = 64
# Doubles decide who drops out, in logarithms: each has a relative error of some 2^-52, hundreds of times less than this
# share of it. So nobody drops out who could win.
_SLACK = 1e-12


class Keys(Protocol):
    """The distribution of one itemset's key, by how far its support lies below the highest."""

    def quantile(self, distance: int, above: Bounds, bits: int) -> Bounds:
        """Bound ``2**bits * x`` for the key x that is exceeded with a probability within above / 2**bits."""
        ...

    def log_exceeds(self, distances: NDArray[np.float64], key: float) -> NDArray[np.float64]:
        """Return ln P(a key exceeds this one) for each distance; good to twelve digits, or higher."""
        ...


def distances_below_first(spectrum: SupportSpectrum, mechanism: str) -> tuple[list[int], list[int], list[int]]:
    """Return the levels of a public universe, how far each lies below the first, and how many itemsets each has."""
    found = [(support, m) for support, m in universe_levels(spectrum, mechanism) if m]
    levels, multiplicities = [support for support, _ in found], [m for _, m in found]
    return levels, [levels[0] - level for level in levels], multiplicities


def noisy_argmax(keys: Keys, distances: Sequence[int], multiplicities: Sequence[int], *, randomness: Randomness) -> int:
    """Return the index of the level whose best key is the highest.

    distances: (m,) integers >= 0, the first 0. multiplicities: (m,) integers >= 0, of any size, the first >= 1.
    """
    if len(distances) == 1:
        return 0
    first = randomness.words(len(distances), _FIRST_BITS // 8)
    uniforms = {0: UniformReal(randomness=randomness, known=(int(first[0]), _FIRST_BITS))}
    bits = 96 + multiplicities[0].bit_length()
    lowest = _key(keys, uniforms[0], distances[0], multiplicities[0], bits)[0] / (1 << bits)
    for index in _contenders(keys, distances, multiplicities, first, lowest):
        uniforms[index] = UniformReal(randomness=randomness, known=(int(first[index]), _FIRST_BITS))
    for bits in precisions(96 + max(multiplicities).bit_length()):
        bounds = {i: _key(keys, uniform, distances[i], multiplicities[i], bits) for i, uniform in uniforms.items()}
        best = max(bounds, key=lambda i: bounds[i][0])
        uniforms = {i: uniforms[i] for i, (_, upper) in bounds.items() if i == best or upper >= bounds[best][0]}
        if len(uniforms) == 1:
            return best
    raise AssertionError("precisions() never ends")  # pragma: no cover


def _contenders(
    keys: Keys,
    distances: Sequence[int],
    multiplicities: Sequence[int],
    digits: NDArray[np.unsignedinteger],
    lowest: float,
) -> list[int]:
    """Return the levels after the first whose best key may reach `lowest`, given the first digits of their V.

    A level of m itemsets stays below if V < G^m, and G^m >= 1 - m P(key > lowest).
    """
    at = np.array([index for index, m in enumerate(multiplicities) if index and m], dtype=np.int64)
    # 1 - V lies above the complement of its digits, an integer. To subtract V from 1 in doubles would leave nothing of
    # it where V is nearly 1, which is where levels far below the first win.
    complement = (~digits[at]).astype(np.float64)
    with np.errstate(divide="ignore"):
        left = np.log(complement) - _FIRST_BITS * math.log(2)
    logarithm = np.array([math.log(multiplicities[index]) for index in at.tolist()])
    chance = keys.log_exceeds(np.array([distances[index] for index in at.tolist()], dtype=np.float64), lowest)
    slack = _SLACK * (_FIRST_BITS + logarithm + np.abs(chance))
    return [*map(int, at[left <= logarithm + chance + slack])]


def _key(keys: Keys, uniform: UniformReal, distance: int, multiplicity: int, bits: int) -> Bounds:
    return keys.quantile(distance, root_complement(uniform.digits(bits), multiplicity, bits), bits)


def root_complement(digits: int, count: int, bits: int) -> Bounds:
    """Bound ``2**bits * (1 - V**(1/count))`` for a V in [digits, digits + 1] / 2**bits."""
    one = 1 << bits
    # The decimal module's ln and exp are correctly rounded; what is added covers a division and them.
    context = Context(prec=bits * 31 // 100 + 24, Emin=-999_999, Emax=999_999)
    scale = Decimal(one)

    def root(numerator: int) -> Decimal:
        logarithm = context.ln(context.divide(Decimal(numerator), scale))
        return context.multiply(context.exp(context.divide(logarithm, Decimal(count))), scale)

    def floor(x: Decimal) -> int:
        return int(x.to_integral_value(rounding=ROUND_FLOOR))

    lower = one - min(floor(root(digits + 1)) + 2, one) if digits + 1 < one else 0
    upper = one - max(floor(root(digits)) - 1, 0) if digits else one
    return lower, upper
