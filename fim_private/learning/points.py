"""Quantiles of whole numbers, a point inside them, and the checks of learners."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.arguments import as_list, as_rows, is_whole, whole_number
from fim_private.dp.bounds import laplace_threshold
from fim_private.dp.charge import Charging, begin
from fim_private.dp.cost import Number, PrivacyCost
from fim_private.dp.neighbors import Neighbors, exact_neighbors
from fim_private.dp.noise import Randomness, choose_level, discrete_laplace_integer
from fim_private.errors import ParameterError, parameter
from fim_private.mechanisms.base import Checked, exponential_rate
from fim_private.mechanisms.noisy_max import laplace_tail
from fim_private.options import NEIGHBORS

# far above what anybody measures in: a choice among so many points takes some ten seconds
MOST_BITS = 1 << 16


# Checks of the data of learners. No error names one of the numbers.
def checked_bits(bits: int) -> int:
    """Return the number of bits of a domain of 2**bits points, 1 to 65,536, or raise
    ParameterError.
    """
    return whole_number("bits", bits, least=1, most=MOST_BITS)


def check_some(name: str, values: Sized, neighbors: str) -> None:
    """Raise ParameterError if there are no values under replace-one.

    Under add-remove their number is private, and no error may tell it.
    """
    if not len(values) and exact_neighbors(neighbors) is Neighbors.REPLACE_ONE:
        raise ParameterError(f"{parameter(name)} must hold at least one number")


def points(name: str, values: Iterable[int], bits: int, neighbors: str | None) -> list[int]:
    """Return whole numbers in [0, 2**bits), or raise ParameterError.

    neighbors: None for a row, which may be empty.
    """
    must = f"{parameter(name)} must be whole numbers from 0 to below 2**{parameter('bits')}"
    listed = as_list(name, values)
    if neighbors is not None:
        check_some(name, listed, neighbors)
    numbers = _integers(must, listed)
    if numbers and (min(numbers) < 0 or max(numbers) >= 1 << bits):
        raise ParameterError(f"{must}: one is not")
    return numbers


def _integers(must: str, listed: Sequence[Any]) -> list[int]:
    """Return whole numbers, also numpy's, as Python's. Raises ParameterError for other types."""
    for kind in dict.fromkeys(map(type, listed)):
        if not is_whole(kind):
            raise ParameterError(f"{must}, not {kind.__name__}")
    return [*map(int, listed)]


def truths(labels: Iterable[bool], rows: int) -> list[bool]:
    """Return one label, True or 1, False or 0, for each of ``rows`` rows, or raise
    ParameterError.
    """
    listed = as_list("labels", labels)
    must = f"{parameter('labels')} must be"
    kinds = {*map(type, listed)}
    are_truths = all(is_whole(kind) or issubclass(kind, bool | np.bool_) for kind in kinds)
    if not are_truths or any(label not in (0, 1) for label in listed):
        raise ParameterError(f"{must} True or False, or 1 or 0: one is not")
    if len(listed) != rows:
        raise ParameterError(f"{must} one for each row: there are more or fewer of them")
    return [bool(label) for label in listed]


def labelled(
    values: Iterable[int], labels: Iterable[bool], bits: int, neighbors: str
) -> list[tuple[int, bool]]:
    """Return each value with its label, or raise ParameterError."""
    listed = points("values", values, bits, neighbors)
    return [*zip(listed, truths(labels, len(listed)), strict=True)]


def table(rows: Iterable[Iterable[int]], bits: int, neighbors: str) -> tuple[list[list[int]], int]:
    """Return rows of equally many whole numbers, and the number of columns.

    Raises ParameterError for others, and for an empty list.
    """
    listed = [points("rows", row, bits, None) for row in as_rows("rows", rows)]
    check_some("rows", listed, neighbors)
    columns: int = getattr(rows, "shape", (0, 0))[-1]
    if listed:
        columns = len(listed[0])
    if not columns:
        raise ParameterError(
            f"{parameter('rows')} must have at least one number each; where there may be none of "
            "them, give an array of the shape (rows, columns)"
        )
    if any(len(row) != columns for row in listed):
        raise ParameterError(f"{parameter('rows')} must have equally many numbers each")
    return listed, columns


class Piece(NamedTuple):
    """A run of neighbouring points of a domain.

    Attributes:
        start: The first point.
        length: How many points there are, >= 1.
        below: How many values are smaller than any of the points.
        above: How many values are larger.
    """

    start: int
    length: int
    below: int
    above: int


def pieces_of(values: Sequence[int], low: int, high: int) -> list[Piece]:
    """Return low, ..., high - 1, cut into each value and the gaps between two of them, ascending.

    values: (n,) ascending whole numbers.
    """
    pieces = []
    start, below, above = low, 0, len(values)
    for value, number in Counter(values).items():  # in the order in which they came
        if value > start:
            pieces.append(Piece(start, value - start, below, above))
        above -= number
        pieces.append(Piece(value, 1, below, above))
        below += number
        start = value + 1
    if high > start:
        pieces.append(Piece(start, high - start, below, 0))
    return pieces


def draw(
    pieces: Sequence[Piece], distances: Sequence[int], rate: Fraction, randomness: Randomness
) -> int:
    """Return a point, drawn with probability ∝ exp(-rate * distance of its piece), exactly.

    distances: (m,), of m >= 1 pieces. rate: > 0.
    """
    least = min(distances)
    excess = [distance - least for distance in distances]
    lengths = [piece.length for piece in pieces]
    chosen = pieces[choose_level(excess, lengths, rate, randomness)]
    return chosen.start + randomness.below(chosen.length)


# Equal values are put in an order by lot: so many random bits are appended to each value, and
# dropped from the quantiles.
_TIE_BITS = 16


def quantiles(
    values: Sequence[int] | NDArray[Any],
    *,
    levels: int,
    low: int,
    high: int,
    epsilon: Number,
    neighbors: str = NEIGHBORS,
    **charging: Unpack[Charging],
) -> list[int]:
    """Return 2**levels - 1 quantiles of one whole number for each unit, (epsilon, 0)-differentially
    private.

    values: (n,) whole numbers, one for each unit: items in a basket, what it cost in cents. Those
        below low count as low, those above high - 1 as high - 1. Under "add-remove" there may be
        none.
    levels: 1 to 16: the median, quartiles, eighths, and so on; each level has epsilon / levels.
    low, high: the public domain low, low + 1, ..., high - 1, of up to 2^65,536 points, not taken
        from the data. A wide one costs little: the error in ranks grows with the logarithm of its
        size.
    epsilon, neighbors: as in mine; "replace-one" takes twice the noise. charging: as in Charging.

    Returns points of the domain, ascending, the k-th near the value of rank k n / 2**levels. Raises
    ParameterError.
    Source: Kaplan, Schnapp and Stemmer, "Differentially private approximate quantiles" (2022);
    docs/privacy.md, Theorem 21.
    """
    levels = whole_number("levels", levels, least=1, most=16)
    must = f"{parameter('low')} and {parameter('high')} must be whole numbers"
    low, high = _integers(must, [low, high])
    if low >= high:
        raise ParameterError(
            f"{parameter('low')} must be below {parameter('high')}: the domain "
            f"is low, ..., high - 1"
        )
    if high - low > 1 << MOST_BITS:
        raise ParameterError(
            f"{parameter('high')} must be at most 2^{MOST_BITS:,} above {parameter('low')}"
        )
    # per value by which the numbers below and above a point differ (Theorem 21)
    rate = exponential_rate(epsilon, neighbors) / (2 * levels)
    whole = _integers(f"{parameter('values')} must be whole numbers", as_list("values", values))
    check_some("values", whole, neighbors)
    randomness = begin(
        "quantiles", neighbors, PrivacyCost(epsilon, 0), charging, levels=levels, low=low, high=high
    )
    lots = randomness.words(len(whole), 8).tolist()
    ordered = sorted(
        min(max(value, low), high - 1) << _TIE_BITS | lot >> 64 - _TIE_BITS
        for value, lot in zip(whole, lots, strict=True)
    )
    released = _split(ordered, levels, low << _TIE_BITS, high << _TIE_BITS, rate, randomness)
    return [value >> _TIE_BITS for value in released]


def _split(
    values: list[int], levels: int, low: int, high: int, rate: Fraction, randomness: Randomness
) -> list[int]:
    """Return 2**levels - 1 quantiles of ascending values: the median, and those of either side."""
    if low == high:  # an empty domain has only its boundary
        return [low] * (2**levels - 1)
    if not levels:
        return []
    pieces = pieces_of(values, low, high)
    distances = [abs(piece.below - piece.above) for piece in pieces]
    median = draw(pieces, distances, rate, randomness)
    place = bisect_left(values, median)
    lower = _split(values[:place], levels - 1, low, median, rate, randomness)
    upper = _split(values[place:], levels - 1, median, high, rate, randomness)
    return [*lower, median, *upper]


# The shares of ε for the choice of a depth, and for the release.
_DEPTH, _RELEASE = Fraction(3, 5), Fraction(2, 5)


def interior_point(
    values: Iterable[int],
    mechanism: MajorityPath | ExponentialInterior,
    **charging: Unpack[Charging],
) -> int | None:
    """Return a point with values on both sides of it, or on it, with the guarantee that
    mechanism.cost states.

    values: a list or array of whole numbers in [0, 2**mechanism.bits), one of each unit.
    mechanism: MajorityPath, which may abstain (None), or ExponentialInterior, which spends no
        delta, and needs fewer values in domains below some 175 bits, under "replace-one" some 85.
    charging: as in Charging. Raises ParameterError. Source: docs/privacy.md, Theorem 25.
    """
    if not isinstance(mechanism, _InDomain):
        raise ParameterError(
            f"{parameter('mechanism')} must be a MajorityPath or an ExponentialInterior"
        )
    ordered = mechanism.ordered(values)
    randomness = begin(
        "interior_point",
        mechanism.neighbors,
        mechanism.cost,
        charging,
        mechanism=type(mechanism).__name__,
        bits=mechanism.bits,
    )
    return mechanism.select(ordered, randomness)


class Stop(NamedTuple):
    """A cell of the path.

    Attributes:
        point: The first point of its right half, or the point of a cell of one point.
        score: How many values stand on either side of that point at least, but no more than the
            excess.
        excess: By how many values, >= 1, the cell has more than half of all, rounded down.
    """

    point: int
    score: int
    excess: int


class _InDomain(Checked):
    """A mechanism that chooses a point of [0, 2**bits)."""

    bits: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bits", checked_bits(self.bits))

    def ordered(self, values: Iterable[int]) -> list[int]:
        """Return values as interior_point takes, ascending, or raise ParameterError."""
        return sorted(points("values", values, self.bits, self.neighbors))


@dataclass(frozen=True)
class MajorityPath(_InDomain):
    """A point of [0, 2**bits) with values on both sides, or abstaining, (epsilon, delta)-private.

    The domain is halved again and again, towards the half that has more than half of all values, as
    long as there is one: that is the path. The exponential mechanism chooses a depth of it. The
    middle of that depth's cell is released if the cell has far enough more than half of the values:
    one value less cannot matter. It needs about as many values in a domain of 2**1024 points as in
    one of 2**64. Raises ParameterError.

    Attributes:
        epsilon: As in mine. Three fifths are for the depth.
        delta: As in mine.
        bits: 1 to 65,536.
        neighbors: As in mine; the noise is the same for both.
    """

    epsilon: Number = 1.0
    delta: Number = 1e-6
    bits: int = 64
    neighbors: str = NEIGHBORS

    @cached_property
    def rate(self) -> Fraction:
        """The exponent of a depth's weight per value of its score, which one unit moves by 1 in any
        direction.
        """
        return _DEPTH * self.cost.epsilon / 2

    @cached_property
    def scale(self) -> Fraction:
        """The scale of the noise on the excess, in values."""
        return 1 / (_RELEASE * self.cost.epsilon)

    @cached_property
    def threshold(self) -> int:
        """The least integer A >= 0 with P(Z > A) <= delta: a point is released if its excess - 1 +
        Z exceeds it.
        """
        return laplace_threshold(self.scale, self.cost.delta)

    def select(self, values: Iterable[int], randomness: Randomness) -> int | None:
        """Choose a point of values as interior_point takes, by the law that distribution returns;
        None: it abstains.
        """
        stops = self.path(self.ordered(values))
        scores = self._scores(stops)
        highest = max(scores)
        distances = [highest - score for score in scores]
        depth = choose_level(distances, [1] * len(scores), self.rate, randomness)
        noise = discrete_laplace_integer(self.scale, randomness)
        if depth < len(stops) and stops[depth].excess - 1 + noise > self.threshold:
            return stops[depth].point
        return None

    def distribution(self, values: Iterable[int]) -> dict[int | None, float]:
        """Return the probability of each point that may be released, and of None, exact up to
        floating point.
        """
        stops = self.path(self.ordered(values))
        released: dict[int | None, float] = defaultdict(float)
        for stop, chance in zip(stops, self.depths(stops), strict=False):
            released[stop.point] += chance * self.released(stop.excess)
        return {**released, None: max(0.0, 1 - math.fsum(released.values()))}

    def path(self, ordered: Sequence[int]) -> list[Stop]:
        """Return the cells, from the whole domain on, that have more than half of the values, which
        are ascending.
        """
        total, half = len(ordered), len(ordered) // 2
        stops: list[Stop] = []
        # the cell's first point, and which of the values are in it
        start, first, last = 0, 0, total
        for size in range(self.bits, -1, -1):
            excess = last - first - half
            if excess < 1:
                break
            middle = start + (1 << size) // 2
            place = bisect_left(ordered, middle, first, last)
            after = bisect_left(ordered, middle + 1, place, last)
            stops.append(Stop(middle, min(after, total - place, excess), excess))
            if place - first > half:
                last = place
            else:
                start, first = middle, place
        return stops

    def depths(self, stops: Sequence[Stop]) -> list[float]:
        """Return the probability of each depth, 0 to bits."""
        return _softmax([float(self.rate) * score for score in self._scores(stops)])

    def released(self, excess: int) -> float:
        """Return the probability that a point is released, once its depth is chosen, for an excess
        >= 1.
        """
        return laplace_tail(self.threshold + 2 - excess, self.scale)

    def _scores(self, stops: Sequence[Stop]) -> list[int]:
        """Return the score of each depth: 0 where the path has ended."""
        return [stop.score for stop in stops] + [0] * (self.bits + 1 - len(stops))


@dataclass(frozen=True)
class ExponentialInterior(_InDomain):
    """A point of [0, 2**bits) with as many values as can be on both sides, (epsilon, 0)-private.

    P(z) ∝ exp(rate * score(z)), the score being the lesser of how many values are at most z, and at
    least z. A value more moves each score by 0 or 1, an exchange by 1 up or down. A point that is
    not inside the data is an answer, too. It is improbable with more than
    (2 / rate) (bits ln 2 + ln 19) values. As in MajorityPath, with a rate of epsilon, or epsilon /
    2 under "replace-one" (McSherry and Talwar, 2007).
    """

    epsilon: Number = 1.0
    bits: int = 64
    neighbors: str = NEIGHBORS

    delta: ClassVar[int] = 0  # type: ignore[misc]

    def select(self, values: Iterable[int], randomness: Randomness) -> int:
        """Choose a point, exactly with the probabilities that distribution returns; values: as for
        MajorityPath.
        """
        pieces, distances = self._weighed(values)
        return draw(pieces, distances, self.rate, randomness)

    def distribution(self, values: Iterable[int]) -> list[tuple[int, int, float]]:
        """Return runs of equally probable points, ascending: (first one, how many, probability of
        all together).
        """
        pieces, distances = self._weighed(values)
        weights = [
            math.log(piece.length) - float(self.rate) * distance
            for piece, distance in zip(pieces, distances, strict=True)
        ]
        chances = zip(pieces, _softmax(weights), strict=True)
        return [(piece.start, piece.length, chance) for piece, chance in chances]

    def _weighed(self, values: Iterable[int]) -> tuple[list[Piece], list[int]]:
        """Return the domain in pieces, and n less the score of each."""
        pieces = pieces_of(self.ordered(values), 0, 1 << self.bits)
        return pieces, [max(piece.below, piece.above) for piece in pieces]


def _softmax(exponents: Sequence[float]) -> list[float]:
    weights = np.exp(np.array(exponents) - max(exponents))
    return [*map(float, weights / weights.sum())]
