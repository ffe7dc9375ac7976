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
from itertools import accumulate, groupby, tee
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
        self._levels = iter(levels)
        self._whole = whole
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
        self._whole = None
        self._levels, levels = tee(self._levels)
        yield from levels

    def all_levels(self) -> list[Level]:
        """Return all levels, which may be faster than levels()."""
        if self._whole is not None:
            self._levels = iter(self._whole())
        return list(self.levels())

    def zero_multiplicity(self) -> int:
        """Return how many candidates no unit supports.

        Raises ParameterError if the size of the universe is not public.
        """
        if self.universe_size is None:
            raise ParameterError(
                f"{parameter('universe_size')} is not public, so itemsets of support 0 cannot be "
                f"counted"
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
        numbers = Counter(levels)
        supports = sorted(numbers, reverse=True)
        draws = [
            LevelDraws(support, self.multiplicity(support), numbers[support])
            for support in supports
        ]
        if any(level.multiplicity < level.number for level in draws):
            raise ParameterError(f"{parameter('level')} must be a support that the spectrum has")
        if not draws:
            return []
        itemsets = map(iter, self._sampler(draws, randomness))
        of_level = dict(zip(supports, itemsets, strict=True))
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
    """Draw itemsets from the levels of several spectra: each first gets its spectrum.

    Of each level they are drawn without replacement.
    """
    owners: list[list[int]] = []
    supports: list[list[int]] = [[] for _ in spectra]
    for support, _, number in draws:
        left, chosen = [spectrum.multiplicity(support) for spectrum in spectra], []
        for _ in range(number):
            owner = bisect_right([*accumulate(left)], randomness.below(sum(left)))
            left[owner] -= 1
            chosen.append(owner)
            supports[owner].append(support)
        owners.append(chosen)
    names = [
        iter(spectrum.sample_itemsets(levels, randomness))
        for spectrum, levels in zip(spectra, supports, strict=True)
    ]
    return [[next(names[owner]) for owner in chosen] for chosen in owners]


def candidate_itemsets(items: int, size: int, universe: str) -> int:
    """Return the number of itemsets of a size >= 1 in a public universe: C(items, size), exactly.

    universe: the parameter that errors name. Raises ParameterError for fewer items than size, and
    for a number out of reach.
    """
    if items < size:
        noun = "item" if items == 1 else "items"
        raise ParameterError(
            f"{parameter(universe)} has {shown(items)} {noun}, too few for an itemset of size "
            f"{shown(size)}"
        )
    largest = min(_LARGEST_SIZE, int(_MOST_DIGITS / math.log10(max(items, 10))))
    if min(size, items - size) > largest:
        raise ParameterError(
            f"{parameter('size')} must be at most {largest:,} for a public universe of its size, "
            f"not {shown(size)}"
        )
    return math.comb(items, size)
