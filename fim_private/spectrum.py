"""SupportSpectrum: how many itemsets have each support, highest first, produced only as far as it
is read.

A mechanism never sees more of the data. Every mechanism finds itemsets of equal support equally
likely, so a level (support, multiplicity) stands for them. An itemset is named only after the
mechanism has chosen its level.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby

from fim_private.dp.arguments import positive_integer
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError, parameter, shown

Level = tuple[int, int]
# An item as it is released: as reading.labels.Item.
Item = int | str
# Beyond these the exact integer C(n, r) would take too long to reckon with.
_LARGEST_SIZE, _MOST_DIGITS = 10_000, 50_000
# What is wanted of a level: (support, multiplicity, number of itemsets wanted).
LevelDraws = tuple[int, int, int]
ItemsetSampler = Callable[[Sequence[LevelDraws], Randomness], list[list[tuple[Item, ...]]]]


class SupportSpectrum:
    """A lazy, strictly descending sequence of levels (support >= 1 in units, multiplicity >= 1).

    levels: read once, from the top, and remembered; nothing is counted before it is asked for.
    universe_size: the number of candidate itemsets, >= 0, where that is public; None where it is
    not.
    whole: all levels at once, where that is cheaper than to read on and on; called once, before any
    other reading.
    sampler: names uniformly random itemsets, for each level wanted as many different ones as
    wanted.
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
        """Build a spectrum from one support, in units, for each itemset, in any order; repeats mean
        ties.

        universe_size: the public number of candidates. Raises ParameterError for a support or a
        size below 1.
        """
        counted = Counter(positive_integer("supports", support) for support in supports)
        if universe_size is not None:
            universe_size = positive_integer("universe_size", universe_size)
        return cls(sorted(counted.items(), reverse=True), universe_size=universe_size)

    def levels(self) -> Iterator[Level]:
        """Yield (support, multiplicity), strictly descending, support >= 1, reading only what is
        asked for.
        """
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
        """Return every level, as levels() would yield them: faster where all are needed."""
        if self._whole is not None and not self._read:
            self._read, self._unread = list(self._whole()), iter(())
        self._whole = None
        return list(self.levels())

    def zero_multiplicity(self) -> int:
        """Return how many candidates no unit supports; ParameterError where the universe is not
        public.
        """
        if self.universe_size is None:
            name = parameter("universe_size")
            raise ParameterError(
                f"{name} is not public, so itemsets of support 0 cannot be counted"
            )
        return max(
            0, self.universe_size - sum(multiplicity for _, multiplicity in self.all_levels())
        )

    def multiplicity(self, level: int) -> int:
        """Return how many itemsets have this support in units, 0 where none has. Raises as
        zero_multiplicity.
        """
        if level == 0:
            return self.zero_multiplicity()
        return next(
            (m if support == level else 0 for support, m in self.levels() if support <= level), 0
        )

    def without(self, taken: Mapping[int, int]) -> SupportSpectrum:
        """Return the spectrum, which cannot name itemsets, that is left without some: level -> how
        many, or more.
        """

        def reduced(levels: Iterable[Level]) -> Iterator[Level]:
            for support, multiplicity in levels:
                if (left := multiplicity - taken.get(support, 0)) > 0:
                    yield support, left

        size = (
            None if self.universe_size is None else max(0, self.universe_size - sum(taken.values()))
        )
        return SupportSpectrum(
            reduced(self.levels()), whole=lambda: reduced(self.all_levels()), universe_size=size
        )

    def sample_itemsets(
        self, levels: Sequence[int], randomness: Randomness
    ) -> list[tuple[Item, ...]]:
        """Return one itemset for each level, in order, uniformly random among all choices of
        different itemsets.

        Raises ParameterError for a spectrum built from numbers alone, or a level that has too few.
        """
        if self._sampler is None:
            raise ParameterError("this spectrum holds supports only, no itemsets to name")
        numbers = sorted(Counter(levels).items(), reverse=True)
        wanted = [(level, self.multiplicity(level), number) for level, number in numbers]
        if any(multiplicity < number for _, multiplicity, number in wanted):
            raise ParameterError(f"{parameter('level')} must be a support that the spectrum has")
        if not wanted:
            return []
        found = map(iter, self._sampler(wanted, randomness))
        names = dict(zip((level for level, *_ in wanted), found, strict=True))
        return [next(names[level]) for level in levels]


def union(spectra: Sequence[SupportSpectrum]) -> SupportSpectrum:
    """Return the spectrum of spectra without a common itemset; its universe is public where all of
    theirs are.
    """
    if len(spectra) == 1:
        return spectra[0]

    def merged(descending: Iterable[Iterable[Level]]) -> Iterator[Level]:
        ordered = heapq.merge(*descending, key=lambda level: -level[0])
        for support, tied in groupby(ordered, key=lambda level: level[0]):
            yield support, sum(multiplicity for _, multiplicity in tied)

    def sample(
        wanted: Sequence[LevelDraws], randomness: Randomness
    ) -> list[list[tuple[Item, ...]]]:
        owners: list[list[int]] = []
        asked: list[list[int]] = [[] for _ in spectra]
        for support, _, number in wanted:
            left = [spectrum.multiplicity(support) for spectrum in spectra]
            owners.append([])
            for _ in range(number):  # without replacement, as the itemsets themselves
                place = randomness.below(sum(left))
                owner = next(one for one, total in enumerate(accumulate(left)) if place < total)
                left[owner] -= 1
                owners[-1].append(owner)
                asked[owner].append(support)
        names = [
            iter(s.sample_itemsets(levels, randomness))
            for s, levels in zip(spectra, asked, strict=True)
        ]
        return [[next(names[owner]) for owner in chosen] for chosen in owners]

    sizes = [spectrum.universe_size for spectrum in spectra]
    return SupportSpectrum(
        merged([spectrum.levels() for spectrum in spectra]),
        whole=lambda: merged([spectrum.all_levels() for spectrum in spectra]),
        universe_size=None if None in sizes else sum(size for size in sizes if size is not None),
        sampler=sample,
    )


def candidate_itemsets(items: int, size: int, universe: str) -> int:
    """Return the number of itemsets of a size >= 1 in a public universe of `items`: C(items, size),
    exactly.

    Raises ParameterError, naming the parameter `universe`, for fewer items than size, and for a
    number out of reach.
    """
    if items < size:
        has = f"{parameter(universe)} has {shown(items)} {'item' if items == 1 else 'items'}"
        raise ParameterError(f"{has}, too few for an itemset of size {shown(size)}")
    largest = min(_LARGEST_SIZE, int(_MOST_DIGITS / math.log10(max(items, 10))))
    if min(size, items - size) > largest:
        raise ParameterError(
            f"{parameter('size')} must be at most {largest:,} for a public universe of its size, "
            f"not {shown(size)}"
        )
    return math.comb(items, size)
