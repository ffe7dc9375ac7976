"""A point inside the data: one with values on both sides of it, or on it, in a domain of 2**bits points.

``MajorityPath`` spends δ and needs about as many values in a domain of 2**1024 points as in one of 2**64: it chooses
among the depths of the domain's binary tree instead of among its points. ``ExponentialInterior`` is the exponential
mechanism on the points themselves (McSherry and Talwar, 2007): it spends no δ, and needs values in proportion to bits.
The problem is that of Beimel, Nissim and Stemmer, "Private learning and sanitization: pure vs. approximate differential
privacy" (2013), whose own algorithm, RecConcave, is in benchmarks/learning. Theorem 25 of docs/privacy.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fim_private import options
from fim_private.dp.bounds import laplace_threshold
from fim_private.dp.charge import charge_list
from fim_private.dp.cost import PrivacyCost
from fim_private.dp.noise import Randomness, choose_level, discrete_laplace_integer
from fim_private.dp.parameters import cautions, exact_delta, exact_epsilon, exact_neighbors
from fim_private.errors import ParameterError, parameter, warn
from fim_private.learning.quantile_search import Pieces, checked_bits, points
from fim_private.mechanisms.exponential import exponential_rate
from fim_private.mechanisms.noisy_max import LaplaceSum

# The parts of ε for the depth and for the release; what is released needs the larger margin, the depth the more care.
_DEPTH, _RELEASE = Fraction(3, 5), Fraction(2, 5)


def interior_point(
    values: Iterable[int],
    mechanism: MajorityPath | ExponentialInterior,
    *,
    ledger: Any = None,
    dataset: str | None = None,
    unit: str | None = None,
    seed: int | None = None,
) -> int | None:
    """Return a point with values on both sides of it, or on it, with the guarantee that mechanism.cost states.

    values: a list or array of whole numbers in [0, 2**mechanism.bits), one of each unit. Neighbours are data with one
        value more or less or, under "replace-one", where it is public how many there are, another in its place.
    mechanism: MajorityPath, which may abstain (None), or ExponentialInterior, which spends no delta. Which of the two
        needs fewer values is known beforehand: below some 175 bits ExponentialInterior, under "replace-one" some 85.
    ledger, dataset: as in mine; mechanism.cost is charged, and on the disk before anything is computed of the values.
        unit: whom a value is of, "basket" or "user", each with one: unless given, whom the ledger protects, and a
        basket where it does not say yet.
    seed: for tests only: with a seed, nothing is private.

    Raises ParameterError for values, a mechanism or a seed of the wrong kind, and LedgerError where the ledger refuses.
    Warns (PrivacyWarning) of an epsilon above 10 or a delta above 1/1000, unless a seed was given.

    >>> interior_point([1999] * 300 + [2499] * 200, MajorityPath(epsilon=1.0, delta=1e-6, bits=64), seed=1)
    2048
    """
    if not isinstance(mechanism, MajorityPath | ExponentialInterior):
        raise ParameterError(f"{parameter('mechanism')} must be a MajorityPath or an ExponentialInterior")
    randomness = Randomness.of_seed(seed)
    if randomness.private:
        warn(cautions(mechanism.cost), stacklevel=2)
    listed = points("values", values, mechanism.bits, mechanism.neighbors)
    charge_list(
        ledger,
        dataset,
        unit,
        command="interior_point",
        neighbors=mechanism.neighbors,
        cost=mechanism.cost,
        private=randomness.private,
        mechanism=type(mechanism).__name__,
        bits=mechanism.bits,
    )
    return mechanism.select(listed, randomness)


class Stop(NamedTuple):
    """A cell of the path. point: the first one of its right half, or that of a cell of one point.

    score: how many values stand on either side of that point at least, and no more than the excess; in values.
    excess: by how many values the cell has more than half of all, rounded down; >= 1.
    """

    point: int
    score: int
    excess: int


@dataclass(frozen=True)
class MajorityPath:
    """A point of [0, 2**bits) with values on both sides, or abstaining, (epsilon, delta)-private.

    The domain is halved again and again, towards the half that has more than half of all values, as long as there is
    one: that is the path. A depth of it is chosen by the exponential mechanism, and the middle of that depth's cell is
    released if the cell has so many more than half of the values that one value less cannot matter.

    epsilon: 1e-9 to 1e9; three fifths are for the depth. delta: 1e-300 up to below 1. bits: 1 to 65,536. neighbors:
    "add-remove" or "replace-one", with the same noise (Theorem 25).
    Raises ParameterError for a parameter outside its range.

    >>> middle = MajorityPath(epsilon=1.0, delta=1e-6, bits=64)
    >>> middle.cost
    PrivacyCost(epsilon=1.0, delta=1e-06)
    >>> prices = [199 + 10 * (unit % 40) for unit in range(500)]
    >>> middle.select(prices, Randomness.of_seed(1))
    512
    >>> middle.distribution(prices)[512] > 0.99
    True
    """

    epsilon: float | Fraction = 1.0
    delta: float | Fraction = 1e-6
    bits: int = 64
    neighbors: str = options.NEIGHBORS

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        exact_delta(self.delta)
        exact_neighbors(self.neighbors)
        object.__setattr__(self, "bits", checked_bits(self.bits))

    @property
    def cost(self) -> PrivacyCost:
        """(epsilon, delta)."""
        return PrivacyCost(self.epsilon, self.delta)

    @cached_property
    def rate(self) -> Fraction:
        """The exponent of a depth's weight per value of its score, which one unit moves by 1 in any direction."""
        return _DEPTH * exact_epsilon(self.epsilon) / 2

    @cached_property
    def scale(self) -> Fraction:
        """The scale of the noise on the excess, in values."""
        return 1 / (_RELEASE * exact_epsilon(self.epsilon))

    @cached_property
    def threshold(self) -> int:
        """The least integer A >= 0 with P(Z > A) <= delta: a point is released if its excess - 1 + Z exceeds it."""
        return laplace_threshold(self.scale, exact_delta(self.delta))

    def select(self, values: Iterable[int], randomness: Randomness) -> int | None:
        """Choose a point, exactly with the probabilities that distribution returns; None for abstaining.

        values: a list or array of n whole numbers in [0, 2**bits), one of each unit; n >= 1 under replace-one, where it
        is public. Raises ParameterError for anything else.
        """
        stops = self.path(sorted(points("values", values, self.bits, self.neighbors)))
        scores = self._scores(stops)
        highest = max(scores)
        depth = choose_level([highest - s for s in scores], [1] * len(scores), self.rate, randomness=randomness)
        noise = discrete_laplace_integer(self.scale, randomness=randomness)
        if depth < len(stops) and stops[depth].excess - 1 + noise > self.threshold:
            return stops[depth].point
        return None

    def distribution(self, values: Iterable[int]) -> dict[int | None, float]:
        """Return the probability of each point that may be released, and of None, exact up to floating point.

        values: as for select.
        """
        stops = self.path(sorted(points("values", values, self.bits, self.neighbors)))
        found: dict[int | None, float] = {}
        for stop, chance in zip(stops, self.depths(stops), strict=False):
            found[stop.point] = found.get(stop.point, 0.0) + chance * self.released(stop.excess)
        return {**found, None: max(0.0, 1 - math.fsum(found.values()))}

    def path(self, ordered: Sequence[int]) -> list[Stop]:
        """Return the cells, from the whole domain on, that have more than half of the values, which are ascending."""
        total = len(ordered)
        stops: list[Stop] = []
        start, first, last = 0, 0, total  # the cell's first point, and which of the values are in it
        for size in range(self.bits, -1, -1):
            if last - first <= total // 2:
                break
            middle = start + (1 << size - 1 if size else 0)
            place = bisect_left(ordered, middle, first, last)
            after = bisect_left(ordered, middle + 1, place, last)
            excess = last - first - total // 2
            stops.append(Stop(middle, min(after, total - place, excess), excess))
            if place - first > total // 2:
                last = place
            else:
                start, first = middle, place
        return stops

    def depths(self, stops: Sequence[Stop]) -> list[float]:
        """Return the probability of each depth, 0 to bits, exact up to floating point."""
        return _softmax([float(self.rate) * score for score in self._scores(stops)])

    def released(self, excess: int) -> float:
        """Return the probability that a point is released, once its depth is chosen, for an excess >= 1 in values."""
        return LaplaceSum.of([self.scale]).tail(self.threshold + 2 - excess)

    def _scores(self, stops: Sequence[Stop]) -> list[int]:
        """Return the score of each depth, 0 to bits: 0 where the path has ended."""
        return [stop.score for stop in stops] + [0] * (self.bits + 1 - len(stops))


@dataclass(frozen=True)
class ExponentialInterior:
    """A point of [0, 2**bits) with as many values as can be on both sides, (epsilon, 0)-private.

    P(z) ∝ exp(rate * score(z)), the score being the lesser of how many values are at most z, and at least z: half of
    them at the median. It never abstains, and a point that is not inside the data is an answer like any other, which is
    improbable where there are more than (2 / rate) (bits ln 2 + ln 19) values.

    epsilon: 1e-9 to 1e9. bits: 1 to 65,536. neighbors: "add-remove", with a rate of epsilon, or "replace-one", with one
    of epsilon / 2. Raises ParameterError for a parameter outside its range.

    >>> ExponentialInterior(epsilon=1.0, bits=16).select([1000] * 40 + [1020] * 40, Randomness.of_seed(1))
    1012
    """

    epsilon: float | Fraction = 1.0
    bits: int = 64
    neighbors: str = options.NEIGHBORS

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        exact_neighbors(self.neighbors)
        object.__setattr__(self, "bits", checked_bits(self.bits))

    @property
    def delta(self) -> int:
        """0: the guarantee has no exception."""
        return 0

    @property
    def cost(self) -> PrivacyCost:
        """(epsilon, 0)."""
        return PrivacyCost(self.epsilon, 0)

    @cached_property
    def rate(self) -> Fraction:
        """The exponent per value of a point's score: a value more moves each by 0 or 1, an exchange either way."""
        return exponential_rate(self.epsilon, self.neighbors)

    def select(self, values: Iterable[int], randomness: Randomness) -> int:
        """Choose a point, exactly with the probabilities that distribution returns.

        values: a list or array of n whole numbers in [0, 2**bits), one of each unit; n >= 1 under replace-one, where it
        is public. Raises ParameterError for anything else.
        """
        pieces, distances = self._weighed(values)
        return pieces.draw(distances, self.rate, randomness=randomness)

    def distribution(self, values: Iterable[int]) -> list[tuple[int, int, float]]:
        """Return runs of equally probable points: (first one, how many, probability of all of them together).

        values: as for select. The runs are in ascending order; probabilities are exact up to floating point.
        """
        pieces, distances = self._weighed(values)
        weights = [math.log(m) - float(self.rate) * d for m, d in zip(pieces.lengths, distances, strict=True)]
        return [*zip(pieces.starts, pieces.lengths, _softmax(weights), strict=True)]

    def _weighed(self, values: Iterable[int]) -> tuple[Pieces, list[int]]:
        """Return the domain in pieces, and n less the score of each."""
        pieces = Pieces.of(sorted(points("values", values, self.bits, self.neighbors)), 0, 1 << self.bits)
        return pieces, [*map(max, pieces.below, pieces.above)]


def _softmax(exponents: Sequence[float]) -> list[float]:
    """Return weights e^x as shares of their sum."""
    array = np.array(exponents)
    weights = np.exp(array - array.max())
    return [float(share) for share in weights / weights.sum()]
