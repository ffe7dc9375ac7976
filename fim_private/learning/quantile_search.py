"""Quantiles of whole numbers by the exponential mechanism, exactly."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private import options
from fim_private.dp.charge import charge_list
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.noise import Randomness, bernoulli_exp, choose_level
from fim_private.dp.parameters import (
    Neighbors,
    as_list,
    as_rows,
    cautions,
    exact_epsilon,
    exact_neighbors,
    is_whole,
    whole_number,
)
from fim_private.errors import ParameterError, parameter, shown, warn

# -------------------- given values
# What learners are given, checked: whole numbers of a public domain, and labels. No error tells one of them.

# Far above what anybody measures in. A choice among the depths of such a domain is quick; one among its points takes
# some ten seconds, and in wider ones soon for ever.
MOST_BITS = 1 << 16


def checked_bits(bits: int) -> int:
    """Return the number of bits of a domain of 2**bits points, 1 to 65,536. Raises ParameterError for anything else."""
    return whole_number("bits", bits, least=1, most=MOST_BITS)


def points(name: str, values: Iterable[int], bits: int, neighbors: str) -> list[int]:
    """Return the values as Python integers, in their order.

    name: of the parameter, for the ParameterError that is raised for what is no list or array of whole numbers in
    [0, 2**bits), and for an empty one where the relation makes it public how many there are.
    """
    listed = as_list(name, values)
    check_some(name, listed, neighbors)
    return _points(name, listed, bits)


def check_some(name: str, values: Sized, neighbors: str) -> None:
    """Raise ParameterError for no values at all under replace-one; else how many there are is for nobody to know."""
    if not len(values) and exact_neighbors(neighbors) is Neighbors.REPLACE_ONE:
        raise ParameterError(f"{parameter(name)} must hold at least one number")


def _points(name: str, listed: Sequence[Any], bits: int) -> list[int]:
    """Return values that were listed as `points` does, also where there are none."""
    domain = f"{parameter(name)} must be whole numbers from 0 to below 2**{parameter('bits')}"
    for kind in dict.fromkeys(map(type, listed)):
        if not is_whole(kind):
            raise ParameterError(f"{domain}, not {kind.__name__}")
    numbers = [*map(int, listed)]
    if numbers and not (min(numbers) >= 0 and max(numbers) < 1 << bits):
        raise ParameterError(f"{domain}: one is not")
    return numbers


def truths(name: str, labels: Iterable[bool], rows: int) -> list[bool]:
    """Return one label for each of so many rows.

    name: of the parameter, for the ParameterError that is raised for another number of them, and for what is neither
    True nor False, nor 1 or 0.
    """
    listed = as_list(name, labels)
    for kind in dict.fromkeys(map(type, listed)):
        if not (is_whole(kind) or issubclass(kind, bool | np.bool_)):
            raise ParameterError(f"{parameter(name)} must be True or False, not {kind.__name__}")
    if any(label not in (0, 1) for label in listed):
        raise ParameterError(f"{parameter(name)} must be True or False, or 1 or 0: one is not")
    if len(listed) != rows:
        raise ParameterError(f"{parameter(name)} must be one for each row: there are more or fewer of them")
    return [bool(label) for label in listed]


def table(name: str, rows: Iterable[Iterable[int]], bits: int, neighbors: str) -> tuple[list[list[int]], int]:
    """Return rows of equally many whole numbers, and how many: of a list, an array or a data frame.

    name: of the parameter, for the ParameterError that is raised for anything else, and for no rows under replace-one
    or in a list, which does not say then how many numbers each would have.
    """
    listed = [_points(name, as_list(name, row), bits) for row in as_rows(name, rows)]
    check_some(name, listed, neighbors)
    shape: Any = getattr(rows, "shape", ())
    columns = len(listed[0]) if listed else shape[1] if len(shape) == 2 else 0
    if not columns:
        raise ParameterError(
            f"{parameter(name)} must have at least one number each; where there may be none of them, give an array of "
            "the shape (rows, columns)"
        )
    if any(len(row) != columns for row in listed):
        raise ParameterError(f"{parameter(name)} must have equally many numbers each")
    return listed, columns


# -------------------- pieces
# Pieces: a domain of whole numbers, cut into runs on which a score does not change, and an exact draw from it.
#
# A score that counts values below and above a point changes at the values alone. So n values cut any domain into at
# most
# 2n + 1 runs, and the exponential mechanism over 2**64 points draws one of these, and then a point in it.

# Pieces that are less likely than e^-40 all together are drawn by rejection: there may be very many of them.
_SPARE = 40


@dataclass(frozen=True)
class Pieces:
    """m >= 1 runs of points, in ascending order: the i-th is starts[i], starts[i] + 1, ..., lengths[i] of them, >= 1.

    below, above: (m,) how many values are smaller than any of these points, and larger.
    """

    starts: list[int]
    lengths: list[int]
    below: list[int]
    above: list[int]

    @classmethod
    def of(cls, values: Sequence[int], low: int, high: int) -> Pieces:
        """Cut the points low, ..., high - 1: every value is a piece, and what lies between two of them.

        values: (n,) ascending, each in low, ..., high - 1; low < high. The integers may be of any size.

        >>> Pieces.of([2, 2, 5], 0, 6)
        Pieces(starts=[0, 2, 3, 5], lengths=[2, 1, 2, 1], below=[0, 0, 2, 2], above=[3, 1, 1, 0])
        """
        starts, lengths, smaller, larger = [], [], [], []
        start, below, n = low, 0, len(values)
        for value, number in Counter(values).items():  # in the order in which they came
            if value > start:
                starts.append(start)
                lengths.append(value - start)
                smaller.append(below)
                larger.append(n - below)
            starts.append(value)
            lengths.append(1)
            smaller.append(below)
            start, below = value + 1, below + number
            larger.append(n - below)
        if high > start:
            starts.append(start)
            lengths.append(high - start)
            smaller.append(n)
            larger.append(0)
        return cls(starts, lengths, smaller, larger)

    def draw(self, distances: Sequence[int], rate: Fraction, *, randomness: Randomness) -> int:
        """Draw a point with probability ∝ exp(-rate * distance of its piece), exactly.

        distances: (m,) integers, of any point of each piece; only their differences matter. rate: > 0.

        Pieces far from the least distance are drawn together, as if they were at the nearest of these distances, and
        one of them is then kept with the probability that makes it right; else all is drawn anew.
        """
        least = min(distances)
        reach = max(0, math.ceil((sum(self.lengths).bit_length() + _SPARE) / rate))
        near = [place for place, distance in enumerate(distances) if distance - least <= reach]
        far = [place for place, distance in enumerate(distances) if distance - least > reach]
        ends = list(accumulate(self.lengths[place] for place in far))
        beyond = [(reach + 1, ends[-1])] if far else []
        levels = [(distances[place] - least, self.lengths[place]) for place in near] + beyond
        while True:
            chosen = choose_level(
                [distance for distance, _ in levels], [length for _, length in levels], rate, randomness=randomness
            )
            if chosen < len(near):
                place = near[chosen]
                return self.starts[place] + randomness.below(self.lengths[place])
            point = randomness.below(ends[-1])
            which = bisect_right(ends, point)
            place = far[which]
            excess = distances[place] - least - (reach + 1)
            if bernoulli_exp(rate * excess, 1, randomness=randomness)[0]:
                return self.starts[place] + ends[which] - 1 - point


# -------------------- quantile search
# Quantiles of whole numbers by the exponential mechanism, exactly, over domains of up to 2^65,536 points.
#
# A middle of all values is drawn first; then one of those below it and one of those above, and so on, level by level.
# (The module has a longer name than its function, which would hide it.)

_MOST_LEVELS = 16
# Equal values are put in an order by lot: so many random bits are appended to each, and dropped from what comes out.
_TIE_BITS = 16


def quantiles(
    values: Sequence[int] | NDArray[Any],
    *,
    levels: int,
    low: int,
    high: int,
    epsilon: float | Fraction,
    neighbors: str = options.NEIGHBORS,
    ledger: Any = None,
    dataset: str | None = None,
    unit: str | None = None,
    seed: int | None = None,
) -> list[int]:
    """Return 2**levels - 1 quantiles of one whole number for each unit, (epsilon, 0)-differentially private.

    values: (n,) whole numbers, one for each unit: items in a basket, what it cost in cents. Those below low count as
        low, those above high - 1 as high - 1: each is moved by itself. Under "add-remove" there may be none.
    levels: 1 to 16. One level is the median, two levels are quartiles, three are eighths, and so on; each has
        epsilon / levels.
    low, high: the public domain low, low + 1, ..., high - 1, of up to 2^65,536 points. It must not be taken from the
        data. A wide one costs little: the error in ranks grows with the logarithm of its size.
    epsilon: 1e-9 to 1e9. neighbors: "add-remove" (there could be one value more or less), or "replace-one" (any one
        value could have been any other; their number is public), with twice the noise.
    ledger, dataset: as in mine; the charge is on the disk before anything is computed of the values. unit: whom a value
        is of, "basket" or "user", each with one: unless given, whom the ledger protects, and a basket where it does not
        say yet.
    seed: for tests only: with a seed, nothing is private.

    Returns whole numbers of the domain, ascending, the k-th near the value of rank k n / 2**levels. Several are equal
    where many values are. Where the domain is vast and values are few the outer ones may be far from any value.
    Raises ParameterError for what is no list of whole numbers, and for parameters out of range, and LedgerError where
    the ledger refuses. Warns (PrivacyWarning) of an epsilon above 10, unless a seed was given.

    Why this is private: docs/privacy.md, Theorem 21. Source: the exponential mechanism of McSherry and Talwar (2007) on
    the interior-point score of Smith, "Privacy-preserving statistical estimation with optimal convergence rates"
    (2011), applied again on each side, as in Kaplan, Schnapp and Stemmer, "Differentially private approximate
    quantiles" (2022).

    >>> cents = [199, 250, 250, 399, 1_250] * 400
    >>> quantiles(cents, levels=1, low=0, high=2**64, epsilon=1.0, seed=1)
    [250]
    """
    levels = whole_number("levels", levels, least=1, most=_MOST_LEVELS)
    low, high = _bound("low", low), _bound("high", high)
    if low >= high:
        raise ParameterError(f"{parameter('low')} must be below {parameter('high')}: the domain is low, ..., high - 1")
    if high - low > 1 << MOST_BITS:
        raise ParameterError(f"{parameter('high')} must be at most 2^{MOST_BITS:,} above {parameter('low')}")
    cost, rate = PrivacyCost(exact_epsilon(epsilon), 0), _rate(epsilon, levels, neighbors)
    randomness = Randomness.of_seed(seed)
    if randomness.private:
        warn(cautions(cost), stacklevel=2)
    exact = _whole_numbers(values)
    check_some("values", exact, neighbors)
    charge_list(
        ledger,
        dataset,
        unit,
        command="quantiles",
        neighbors=neighbors,
        cost=cost,
        private=randomness.private,
        levels=levels,
        low=low,
        high=high,
    )
    lots = randomness.words(len(exact), 8).tolist()
    fine = sorted(
        min(max(value, low), high - 1) << _TIE_BITS | lot >> 64 - _TIE_BITS
        for value, lot in zip(exact, lots, strict=True)
    )
    found: list[int] = []
    _split(fine, levels, low << _TIE_BITS, high << _TIE_BITS, rate, randomness, found)
    return [value >> _TIE_BITS for value in found]


def _rate(epsilon: float | Fraction, levels: int, neighbors: str) -> Fraction:
    """Return the exponent for each value by which the numbers below and above a point differ (Theorem 21)."""
    each = exact_epsilon(epsilon) / levels
    return each / (2 if exact_neighbors(neighbors) is Neighbors.ADD_REMOVE else 4)


def _split(
    values: list[int], levels: int, low: int, high: int, rate: Fraction, randomness: Randomness, found: list[int]
) -> None:
    """Append the quantiles of values in low, ..., high - 1, ascending: what lies below a middle, it, and above.

    An empty domain has but its boundary.
    """
    if not levels:
        return
    if low == high:
        found += [low] * (2**levels - 1)
        return
    pieces = Pieces.of(values, low, high)
    distances = [abs(below - above) for below, above in zip(pieces.below, pieces.above, strict=True)]
    middle = pieces.draw(distances, rate, randomness=randomness)
    below = bisect_left(values, middle)
    _split(values[:below], levels - 1, low, middle, rate, randomness, found)
    found.append(middle)
    _split(values[below:], levels - 1, middle, high, rate, randomness, found)


def _bound(name: str, value: Any) -> int:
    """Return an end of the domain. Raises ParameterError for what is no whole number."""
    if not is_whole(type(value)):
        raise ParameterError(f"{parameter(name)} must be a whole number, not {shown(value)}")
    return int(value)


def _whole_numbers(values: Any) -> list[int]:
    """Return values as integers of Python. Raises ParameterError, which names a type at most, for anything else."""
    listed = as_list("values", values)
    for kind in dict.fromkeys(map(type, listed)):
        if not is_whole(kind):
            raise ParameterError(f"{parameter('values')} must be whole numbers, not {kind.__name__}")
    return [*map(int, listed)]
