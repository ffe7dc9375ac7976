"""Spectra of itemsets: how many of a size have each support, and what they are called."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, combinations, islice, takewhile
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import Counter
from fim_private.counting.registry import counter_for
from fim_private.counting.work import Effort
from fim_private.dp.noise import Randomness, distinct_integers
from fim_private.dp.parameters import positive_integer
from fim_private.errors import WorkLimitError
from fim_private.reading.labels import Item
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import Level, SupportSpectrum, Wanted

# -------------------- unsupported itemsets
# Itemsets of a public catalogue that no basket contains, drawn uniformly: a pick may fall on one of them.

Itemset = tuple[int, ...]

# From so many draws on, each of which scans the data, it is quicker to list all that baskets contain, if these are no
# more than so many.
_UNSUPPORTED_ITEMSETS_WORTH_LISTING, _UNSUPPORTED_ITEMSETS_MOST_LISTED = 8, 1 << 22


@dataclass(frozen=True)
class Candidates:
    """All itemsets of one size of a public catalogue.

    items: in the catalogue. size: items per itemset, >= 1. is_supported: tells whether any basket contains all the
    codes of one. supported: lists those that some basket contains, (m, size) codes in any order.
    """

    items: int
    size: int
    is_supported: Callable[[Itemset], bool]
    supported: Callable[[], NDArray[np.int64]]


def candidates_of(transactions: Transactions, size: int, effort: Effort | None) -> Candidates:
    """Return the candidates of a size >= 1, of transactions whose vocabulary is the catalogue.

    effort: as in itemset_spectrum, for listing what baskets contain.
    """
    return Candidates(
        len(transactions.vocabulary),
        size,
        partial(is_supported, transactions),
        lambda: counter_for(transactions, size, 1, effort, None).itemsets(1, transactions.baskets)[0],
    )


def unsupported_itemsets(
    candidates: Candidates, unsupported: int, number: int, randomness: Randomness
) -> list[Itemset]:
    """Return different itemsets that no basket contains, as ascending codes, in uniformly random order.

    unsupported: how many there are. number: how many are wanted, <= unsupported.
    """
    items, size = candidates.items, candidates.size
    every = math.comb(items, size)
    most_draws = number * every / (unsupported - number + 1)  # so many are expected at most
    if most_draws < _UNSUPPORTED_ITEMSETS_WORTH_LISTING or every - unsupported > _UNSUPPORTED_ITEMSETS_MOST_LISTED:
        return _drawn(items, size, number, candidates.is_supported, randomness)
    supported = set(map(tuple, np.sort(candidates.supported(), axis=1).tolist()))
    if 2 * number <= unsupported:
        return _drawn(items, size, number, supported.__contains__, randomness)
    # To draw the last of nearly all would take long. So these are listed, and are not many more than are wanted.
    free = [codes for codes in combinations(range(items), size) if codes not in supported]
    return [free[place] for place in distinct_integers(len(free), number, randomness=randomness)]


def _drawn(
    items: int, size: int, number: int, supported: Callable[[Itemset], bool], randomness: Randomness
) -> list[Itemset]:
    """Draw from all itemsets and reject what is supported: as level 0 was picked by its number, that is seldom long."""
    found: dict[Itemset, None] = {}
    while len(found) < number:
        codes = tuple(sorted(distinct_integers(items, size, randomness=randomness)))
        if codes not in found and not supported(codes):
            found[codes] = None
    return list(found)


def is_supported(transactions: Transactions, codes: Iterable[int]) -> bool:
    """Tell whether some basket contains all the codes, of which there is at least one."""
    baskets: NDArray[np.int64] | None = None
    for code in codes:
        entries = np.flatnonzero(transactions.items == code)
        rows = np.searchsorted(transactions.offsets, entries, side="right") - 1
        baskets = rows if baskets is None else np.intersect1d(baskets, rows, assume_unique=True)
        if not len(baskets):
            return False
    return True


# -------------------- lazy levels
# Levels as far as they are read: rounds of counting from the top, and the rest at once where that costs no more.

# A reader of the top reads this many itemsets first, and then so many times more again and again.
_FIRST_ITEMSETS = 1024
_MORE_ITEMSETS = 16
# The rest comes in one pass where that is no more than the work already done. Who reads on from this many itemsets
# likely wants all: for them it may be so many times as much. What is done is a small part of any more than that.
_ENOUGH_ITEMSETS = 1 << 14
_WORTH_FINISHING = 16


def lazy_levels(counter: Counter, min_support: int) -> Iterator[Level]:
    """Yield the levels of at least that support, descending; each round some times as many itemsets as the one before.

    min_support: units, >= 1. Raises WorkLimitError where the next level takes more steps than allowed.
    """
    top, wanted, read, done, within_limit = counter.top(None, _FIRST_ITEMSETS), _FIRST_ITEMSETS, 0, 0, True
    yield from top.levels
    while top.floor > min_support:
        read += sum(multiplicity for _, multiplicity in top.levels)
        done += top.work
        wanted *= _MORE_ITEMSETS
        rest = None
        if within_limit and counter.most_work <= done * (_WORTH_FINISHING if read >= _ENOUGH_ITEMSETS else 1):
            try:
                rest = counter.top(top.floor, None)
            except WorkLimitError:  # out of reach as a whole: who wants only some more can still have them
                within_limit = False
        top = counter.top(top.floor, wanted) if rest is None else rest
        yield from top.levels


# -------------------- itemset spectra
# Spectra of itemsets: how many of a size have each support, and what they are called, wherever they are counted.

# A level's support, and which of its itemsets are to be named: places in scan order, all different.
Places = tuple[int, Sequence[int]]

# Names from which on it is quicker to list all itemsets down to their levels, if these are no more than so many.
_ITEMSET_SPECTRA_WORTH_LISTING = 3
_ITEMSET_SPECTRA_MOST_LISTED = 1 << 16


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
    if sum(len(indices) for _, indices in places) < _ITEMSET_SPECTRA_WORTH_LISTING:
        return None
    totals = accumulate(spectrum.levels(), lambda done, level: (level[0], done[1] + level[1]))
    lowest = places[-1][0]
    supports = [
        support
        for support, _ in takewhile(
            lambda total: total[0] >= lowest and total[1] <= _ITEMSET_SPECTRA_MOST_LISTED, totals
        )
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
