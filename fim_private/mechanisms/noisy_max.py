"""Noisy max over levels: every itemset has a random key of its own, and the itemset with the highest key is selected.

Only the best key of each level matters. It is drawn by inversion: if one itemset's key has distribution function G,
the best of m has G^m, so the best key is where G reaches V^{1/m}, for a V uniform in [0, 1). V is known to as many
digits as the decision takes: keys are intervals, and the choice is made when one lies above all others.
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

# The digits of V drawn at first for all levels; nearly all drop out by them.
_FIRST_BITS = 64
# Doubles decide which levels drop out, with this much slack: hundreds of times their rounding error, so that none drops
# out which could have the highest key.
_SLACK = 1e-12
# A level further below drops out as if it were only so far: that errs towards keeping it, and the exact keys decide.
# Doubles end at 2^1024, and rates, which it is multiplied by, at some 2^30.
_FURTHEST = 1 << 900


class Keys(Protocol):
    """The distribution of one itemset's key, given by how many units its support lies below the highest."""

    def quantile(self, distance: int, above: Bounds, bits: int) -> Bounds:
        """Bound ``2**bits * x`` for the key x that is exceeded with a probability within above / 2**bits.

        distance: >= 0, in units.
        """
        ...

    def log_exceeds(self, distances: NDArray[np.float64], key: float) -> NDArray[np.float64]:
        """Return ln P(an itemset's key exceeds `key`): (n,) float64, right to twelve digits, or too high.

        distances: (n,) float64, in units.
        """
        ...


def distances_below_first(spectrum: SupportSpectrum, mechanism: str) -> tuple[list[int], list[int], list[int]]:
    """Return the levels of a public universe, how many units each lies below the first, and how many itemsets each has.

    mechanism: its name, for the ParameterError that is raised where the universe is not public.
    """
    found = [(support, m) for support, m in universe_levels(spectrum, mechanism) if m]
    levels, multiplicities = [support for support, _ in found], [m for _, m in found]
    return levels, [levels[0] - level for level in levels], multiplicities


def noisy_argmax(keys: Keys, distances: Sequence[int], multiplicities: Sequence[int], *, randomness: Randomness) -> int:
    """Return the index of the level that has the highest key.

    distances: (m,) integers >= 0 in units, the first 0. multiplicities: (m,) integers >= 0 of any size, the first >= 1.
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
    """Return the levels after the first whose best key may exceed `lowest`, given the first digits of their V.

    A level of m itemsets stays below if V < G^m, and G^m >= 1 - m P(key > lowest). digits: (m,) uint64.
    """
    at = np.array([index for index, m in enumerate(multiplicities) if index and m], dtype=np.int64)
    # 1 - V from the digits as integers: as doubles nothing is left of it where V is nearly 1, which is where levels
    # far below the first have the highest key.
    complement = (~digits[at]).astype(np.float64)
    with np.errstate(divide="ignore"):
        left = np.log(complement) - _FIRST_BITS * math.log(2)
    logarithm = np.array([math.log(multiplicities[index]) for index in at.tolist()])
    far = np.array([min(distances[index], _FURTHEST) for index in at.tolist()], dtype=np.float64)
    chance = keys.log_exceeds(far, lowest)
    slack = _SLACK * (_FIRST_BITS + logarithm + np.abs(chance))
    return [*map(int, at[left <= logarithm + chance + slack])]


def _key(keys: Keys, uniform: UniformReal, distance: int, multiplicity: int, bits: int) -> Bounds:
    """Bound ``2**bits`` times the best key of a level of so many itemsets, given its V."""
    return keys.quantile(distance, root_complement(uniform.digits(bits), multiplicity, bits), bits)


def root_complement(digits: int, count: int, bits: int) -> Bounds:
    """Bound ``2**bits * (1 - V**(1/count))`` for a V in [digits, digits + 1] / 2**bits, and a count >= 1."""
    one = 1 << bits
    # ln and exp are correctly rounded; 24 more digits cover them and a division.
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
