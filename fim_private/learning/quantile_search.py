"""Quantiles of whole numbers by the exponential mechanism, exactly, over domains of up to 2^65,536 points.

A middle of all values is drawn first; then one of those below it and one of those above, and so on, level by level.
(The module has a longer name than its function, which would hide it.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from fim_private import defaults
from fim_private.dp.cautions import cautions
from fim_private.dp.charge import charge_list
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.given_lists import as_list
from fim_private.dp.parameters import Neighbors, exact_epsilon, exact_neighbors, is_whole, whole_number
from fim_private.dp.randomness import Randomness
from fim_private.errors import ParameterError, parameter, shown, warn
from fim_private.learning.given_values import MOST_BITS, check_some
from fim_private.learning.pieces import Pieces

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
    neighbors: str = defaults.NEIGHBORS,
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
