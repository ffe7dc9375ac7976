"""Spectra of itemsets: how many of a size have each support, and what they are called, wherever they are counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, islice, takewhile
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import Counter
from fim_private.counting.counter_registry import counter_for
from fim_private.counting.lazy_levels import lazy_levels
from fim_private.counting.unsupported_itemsets import Candidates, candidates_of, unsupported_itemsets
from fim_private.counting.work_limit import Effort
from fim_private.dp.parameters import positive_integer
from fim_private.dp.randomness import Randomness, distinct_integers
from fim_private.reading.transactions import Transactions
from fim_private.reading.vocabulary import Item
from fim_private.spectrum import SupportSpectrum, Wanted

# A level's support, and which of its itemsets are to be named: places in scan order, all different.
Places = tuple[int, Sequence[int]]

# Names from which on it is quicker to list all itemsets down to their levels, if these are no more than so many.
_WORTH_LISTING = 3
_MOST_LISTED = 1 << 16


def itemset_spectrum(
    transactions: Transactions,
    size: int,
    *,
    min_support: int = 1,
    effort: Effort | None = None,
    counter: str | None = None,
) -> SupportSpectrum:
    """Return the lazy spectrum of all itemsets of that size; the item universe is unknown.

    size: items per itemset, >= 1; a size larger than any basket gives an empty spectrum.
    min_support: units, >= 1; levels below it are left out, and nothing is spent on them.
    effort: threads, limit of work and progress. counter: one of COUNTERS; the fastest unless given.
    Raises ParameterError for a number out of range; reading levels raises WorkLimitError where they are out of reach.
    """
    counting = counter_for(transactions, size, min_support, effort, counter)
    labels = partial(map, partial(_labels, transactions))
    return counted_spectrum(counting, partial(located, counting), labels, min_support=min_support)


class Locate(Protocol):
    """Finds the itemsets at some places of levels."""

    def __call__(self, places: Sequence[Places], spectrum: SupportSpectrum) -> list[list[list[int]]]:
        """Return for each level of places, in descending order, the codes of the itemsets there.

        spectrum: of the same itemsets.
        """


# The labels of itemsets given by their codes, in canonical order.
NameAll = Callable[[Sequence[Sequence[int]]], Iterable[tuple[Item, ...]]]


def counted_spectrum(counter: Counter, locate: Locate, names: NameAll, *, min_support: int = 1) -> SupportSpectrum:
    """Return the lazy spectrum of what a counter counts, whose itemsets are located and named by these functions.

    min_support: units, >= 1; levels below it are left out.
    """

    def sample(wanted: Sequence[Wanted], randomness: Randomness) -> list[list[tuple[Item, ...]]]:
        places = [
            (support, distinct_integers(multiplicity, number, randomness=randomness))
            for support, multiplicity, number in wanted
        ]
        found = locate(places, spectrum)
        named = iter(names([codes for level in found for codes in level]))
        return [list(islice(named, len(level))) for level in found]

    spectrum = SupportSpectrum(
        lazy_levels(counter, positive_integer("min_support", min_support)),
        whole=lambda: counter.top(None, None).levels,
        sampler=sample,
    )
    return spectrum


def catalogue_spectrum(transactions: Transactions, size: int, *, effort: Effort | None = None) -> SupportSpectrum:
    """Return the lazy spectrum over a public catalogue: the transactions' vocabulary (restricted_to).

    size: items per itemset, >= 1. effort: as in itemset_spectrum.
    The universe is every itemset of catalogue items, C(N, size) of them; the unsupported ones are level 0.
    Raises ParameterError for a size below 1; reading levels raises WorkLimitError where they are out of reach.
    """
    return listed_spectrum(
        itemset_spectrum(transactions, size, effort=effort),
        candidates_of(transactions, size, effort),
        partial(map, partial(_labels, transactions)),
    )


def listed_spectrum(named: SupportSpectrum, candidates: Candidates, names: NameAll) -> SupportSpectrum:
    """Return the spectrum of all candidates of a public catalogue: with those that no unit has, as level 0.

    named: of those that occur. candidates: all of them, of one size. names: of their codes.
    """

    def sample(wanted: Sequence[Wanted], randomness: Randomness) -> list[list[tuple[Item, ...]]]:
        occurring = [support for support, _, number in wanted for _ in range(number) if support]
        supported = iter(named.sample_itemsets(occurring, randomness))
        return [
            list(islice(supported, number))
            if support
            else list(names(unsupported_itemsets(candidates, multiplicity, number, randomness)))
            for support, multiplicity, number in wanted
        ]

    universe_size = math.comb(candidates.items, candidates.size)
    return SupportSpectrum(named.levels(), whole=named.all_levels, universe_size=universe_size, sampler=sample)


def list_itemsets(
    transactions: Transactions, size: int, lowest: int, highest: int, *, counter: str | None = None
) -> Iterator[tuple[tuple[Item, ...], int]]:
    """Yield the itemsets whose support is in lowest..highest, with their supports. Not private: for looking at data.

    size: items per itemset, >= 1. lowest, highest: units, >= 1. counter: as in itemset_spectrum.
    Memory is proportional to their number. Raises ParameterError for a number below 1.
    """
    lowest, highest = positive_integer("lowest", lowest), positive_integer("highest", highest)
    counting = counter_for(transactions, size, lowest, None, counter)
    most = transactions.baskets + 1  # more than any support: numbers beyond are as good, and may fit in no array
    codes, supports = counting.itemsets(min(lowest, most), min(highest, most))
    for row, support in zip(codes.tolist(), supports.tolist(), strict=True):
        yield _labels(transactions, row), support


def located(counter: Counter, places: Sequence[Places], spectrum: SupportSpectrum) -> list[list[list[int]]]:
    """Return the codes of the itemsets at some places of levels; see `Locate`.

    The highest levels are listed in one scan, where many are wanted: to locate each itemset takes a scan as well.
    """
    listed = _listed(counter, places, spectrum)
    return [
        [
            [int(code) for code in listed[support][index]] if support in listed else counter.locate(support, index)
            for index in indices
        ]
        for support, indices in places
    ]


def lowest_listed(places: Sequence[Places], spectrum: SupportSpectrum) -> int | None:
    """Return down to which level it is worth listing all itemsets to locate some; None for none.

    Levels too far down, with too many itemsets above them, are not.
    """
    if sum(len(indices) for _, indices in places) < _WORTH_LISTING:
        return None
    totals = accumulate(spectrum.levels(), lambda done, level: (level[0], done[1] + level[1]))
    lowest = places[-1][0]
    supports = [
        support for support, _ in takewhile(lambda total: total[0] >= lowest and total[1] <= _MOST_LISTED, totals)
    ]
    return supports[-1] if supports else None


def _listed(counter: Counter, places: Sequence[Places], spectrum: SupportSpectrum) -> dict[int, NDArray[np.int64]]:
    """Return the codes of all itemsets of each level that is worth listing, in scan order."""
    lowest = lowest_listed(places, spectrum)
    if lowest is None:
        return {}
    codes, found = counter.itemsets(lowest, places[0][0])
    return {support: codes[found == support] for support, _ in places if support >= lowest}


def _labels(transactions: Transactions, codes: Iterable[int]) -> tuple[Item, ...]:
    # Codes are in canonical order, so the labels come out in it: integers, then strings, ascending.
    return tuple(transactions.vocabulary.label(code) for code in sorted(codes))
