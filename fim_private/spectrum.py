"""SupportSpectrum: how many itemsets have each support, highest first, counted only as far as it is
read.

A mechanism sees nothing else of the data. To every mechanism itemsets of equal support are equally
likely, so a level (support, multiplicity) stands for them. An itemset is named only after the
mechanism has chosen its level.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, groupby
from operator import itemgetter
from typing import NamedTuple

from fim_private.dp.arguments import positive_integer
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError, parameter, shown

Level = tuple[int, int]
# An item as it is released: the same type as reading.labels.Item.
Item = int | str
Items = tuple[Item, ...]
# With a larger size, or more digits, the exact integer C(n, r) would take too long to compute.
_LARGEST_SIZE, _MOST_DIGITS = 10_000, 50_000


class LevelDraws(NamedTuple):
    """How many different itemsets are drawn from a level with this support and multiplicity."""

    support: int
    multiplicity: int
    number: int


# Draws random itemsets: a list for each level.
ItemsetSampler = Callable[[Sequence[LevelDraws], Randomness], list[list[Items]]]


class SupportSpectrum:
    """A lazy, strictly descending sequence of levels (support >= 1 in units, multiplicity >= 1).

    Args:
        levels: Read once, from the top, and remembered. Nothing is counted before it is read.
        whole: Returns all levels, if that is cheaper than to read one after the other. It is called
            at most once, before any other reading.
        universe_size: The number of candidate itemsets, >= 0, if it is public; otherwise None.
        sampler: Draws uniformly random itemsets of some levels, without repeats.
    """

    def __init__(
        self,
        levels: Iterable[Level],
        *,
        whole: Callable[[], Iterable[Level]] | None = None,
        universe_size: int | None = None,
        sampler: ItemsetSampler | None = None,
    ) -> None:
        self._unread = iter(levels)
        self._whole = whole
        self._read: list[Level] = []
        self.universe_size = universe_size
        self._sampler = sampler

    @classmethod
    def from_supports(
        cls, supports: Iterable[int], universe_size: int | None = None
    ) -> SupportSpectrum:
        """Return the spectrum of itemsets with these supports, in units, in any order.

        universe_size: the public number of candidates. Raises ParameterError for a support or a
        size below 1.
        """
        counted = Counter(positive_integer("supports", support) for support in supports)
        if universe_size is not None:
            universe_size = positive_integer("universe_size", universe_size)
        return cls(sorted(counted.items(), reverse=True), universe_size=universe_size)

    def levels(self) -> Iterator[Level]:
        """Yield (support, multiplicity), strictly descending, support >= 1, each as it is read."""
        position = 0
        while True:
            while position < len(self._read):
                yield self._read[position]
                position += 1
            level = next(self._unread, None)
            if level is None:
                return
            self._read.append(level)

    def all_levels(self) -> list[Level]:
        """Return all levels, which may be faster than levels()."""
        if self._whole is not None and not self._read:
            self._read, self._unread = list(self._whole()), iter(())
        self._whole = None
        return list(self.levels())

    def zero_multiplicity(self) -> int:
        """Return how many candidates no unit supports.

        Raises ParameterError if the size of the universe is not public.
        """
        if self.universe_size is None:
            name = parameter("universe_size")
            raise ParameterError(
                f"{name} is not public, so itemsets of support 0 cannot be counted"
            )
        supported = sum(multiplicity for _, multiplicity in self.all_levels())
        return max(0, self.universe_size - supported)

    def multiplicity(self, level: int) -> int:
        """Return how many itemsets have this support in units. Raises as zero_multiplicity."""
        if level == 0:
            return self.zero_multiplicity()
        for support, multiplicity in self.levels():
            if support <= level:
                return multiplicity if support == level else 0
        return 0

    def without(self, taken: Mapping[int, int]) -> SupportSpectrum:
        """Return the spectrum without some itemsets; it cannot name any.

        taken: how many itemsets to leave out of each level; more than there are is all of them.
        """

        def reduced(levels: Iterable[Level]) -> Iterator[Level]:
            for support, multiplicity in levels:
                left = multiplicity - taken.get(support, 0)
                if left > 0:
                    yield support, left

        universe_size = self.universe_size
        if universe_size is not None:
            universe_size = max(0, universe_size - sum(taken.values()))
        return SupportSpectrum(
            reduced(self.levels()),
            whole=lambda: reduced(self.all_levels()),
            universe_size=universe_size,
        )

    def sample_itemsets(self, levels: Sequence[int], randomness: Randomness) -> list[Items]:
        """Return a uniformly random itemset for each level, in order, without repeats.

        Raises ParameterError for a spectrum of numbers alone, or a level with too few itemsets.
        """
        if self._sampler is None:
            raise ParameterError("this spectrum holds supports only, no itemsets to name")
        numbers = sorted(Counter(levels).items(), reverse=True)
        draws = [
            LevelDraws(support, self.multiplicity(support), number) for support, number in numbers
        ]
        if any(level.multiplicity < level.number for level in draws):
            raise ParameterError(f"{parameter('level')} must be a support that the spectrum has")
        if not draws:
            return []
        itemsets = map(iter, self._sampler(draws, randomness))
        of_level = {level.support: drawn for level, drawn in zip(draws, itemsets, strict=True)}
        return [next(of_level[level]) for level in levels]


def union(spectra: Sequence[SupportSpectrum]) -> SupportSpectrum:
    """Return the spectrum of spectra without a common itemset.

    The size of its universe is public if those of all spectra are.
    """
    if len(spectra) == 1:
        return spectra[0]
    sizes = [spectrum.universe_size for spectrum in spectra if spectrum.universe_size is not None]
    return SupportSpectrum(
        _merged([spectrum.levels() for spectrum in spectra]),
        whole=lambda: _merged([spectrum.all_levels() for spectrum in spectra]),
        universe_size=sum(sizes) if len(sizes) == len(spectra) else None,
        sampler=partial(_sample_union, spectra),
    )


def _merged(descending: Iterable[Iterable[Level]]) -> Iterator[Level]:
    ordered = heapq.merge(*descending, key=itemgetter(0), reverse=True)
    for support, tied in groupby(ordered, key=itemgetter(0)):
        yield support, sum(multiplicity for _, multiplicity in tied)


def _sample_union(
    spectra: Sequence[SupportSpectrum], draws: Sequence[LevelDraws], randomness: Randomness
) -> list[list[Items]]:
    """Draw itemsets from the levels of several spectra: each first gets its spectrum."""
    owners = []
    for support, _, number in draws:
        multiplicities = [spectrum.multiplicity(support) for spectrum in spectra]
        owners.append(_draw_owners(multiplicities, number, randomness))
    names = []
    for place, spectrum in enumerate(spectra):
        supports: list[int] = []
        for level, chosen in zip(draws, owners, strict=True):
            supports += [level.support] * chosen.count(place)
        names.append(iter(spectrum.sample_itemsets(supports, randomness)))
    return [[next(names[owner]) for owner in chosen] for chosen in owners]


def _draw_owners(multiplicities: list[int], number: int, randomness: Randomness) -> list[int]:
    """Draw itemsets of one level without replacement; return the place of the spectrum of each.

    multiplicities: how many itemsets each spectrum has at that level.
    """
    left, owners = multiplicities.copy(), []
    for _ in range(number):
        owner = bisect_right([*accumulate(left)], randomness.below(sum(left)))
        left[owner] -= 1
        owners.append(owner)
    return owners


def candidate_itemsets(items: int, size: int, universe: str) -> int:
    """Return the number of itemsets of a size >= 1 in a public universe: C(items, size), exactly.

    universe: the parameter that errors name. Raises ParameterError for fewer items than size, and
    for a number out of reach.
    """
    if items < size:
        noun = "item" if items == 1 else "items"
        has = f"{parameter(universe)} has {shown(items)} {noun}"
        raise ParameterError(f"{has}, too few for an itemset of size {shown(size)}")
    largest = min(_LARGEST_SIZE, int(_MOST_DIGITS / math.log10(max(items, 10))))
    if min(size, items - size) > largest:
        raise ParameterError(
            f"{parameter('size')} must be at most {largest:,} for a public universe of its size, "
            f"not {shown(size)}"
        )
    return math.comb(items, size)
