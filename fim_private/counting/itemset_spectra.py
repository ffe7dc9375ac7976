"""Spectra of transactions in memory: how many itemsets of a size have each support, and what they are called."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice, takewhile

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import Counter
from fim_private.counting.counter_registry import counter_for
from fim_private.counting.lazy_levels import lazy_levels
from fim_private.counting.unsupported_itemsets import unsupported_itemsets
from fim_private.counting.work_limit import Effort
from fim_private.dp.parameters import positive_integer
from fim_private.dp.randomness import Randomness, distinct_integers
from fim_private.reading.transactions import Transactions
from fim_private.reading.vocabulary import Item
from fim_private.spectrum import SupportSpectrum, Wanted

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

    def sample(wanted: Sequence[Wanted], randomness: Randomness) -> list[list[tuple[Item, ...]]]:
        places = [
            (support, distinct_integers(multiplicity, number, randomness=randomness))
            for support, multiplicity, number in wanted
        ]
        listed = _listed(counting, spectrum, wanted)
        return [
            [_labels(transactions, _located(counting, listed, support, index)) for index in indices]
            for support, indices in places
        ]

    spectrum = SupportSpectrum(
        lazy_levels(counting, positive_integer("min_support", min_support)),
        whole=lambda: counting.top(None, None).levels,
        sampler=sample,
    )
    return spectrum


def catalogue_spectrum(transactions: Transactions, size: int, *, effort: Effort | None = None) -> SupportSpectrum:
    """Return the lazy spectrum over a public catalogue: the transactions' vocabulary (restricted_to).

    size: items per itemset, >= 1. effort: as in itemset_spectrum.
    The universe is every itemset of catalogue items, C(N, size) of them; the unsupported ones are level 0.
    Raises ParameterError for a size below 1; reading levels raises WorkLimitError where they are out of reach.
    """
    named = itemset_spectrum(transactions, size, effort=effort)

    def sample(wanted: Sequence[Wanted], randomness: Randomness) -> list[list[tuple[Item, ...]]]:
        names = named.sample_itemsets([s for s, _, number in wanted for _ in range(number) if s], randomness)
        supported = iter(names)
        return [
            list(islice(supported, number))
            if support
            else [
                _labels(transactions, codes)
                for codes in unsupported_itemsets(transactions, size, multiplicity, number, effort, randomness)
            ]
            for support, multiplicity, number in wanted
        ]

    universe_size = math.comb(len(transactions.vocabulary), size)
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


def _listed(counter: Counter, spectrum: SupportSpectrum, wanted: Sequence[Wanted]) -> dict[int, NDArray[np.int64]]:
    """List the highest levels wanted in one scan, where they are many: to locate each itemset takes a scan as well.

    Returns the codes of the itemsets of each level, in scan order. Levels too far down, with too many itemsets
    above them, are left out.
    """
    if sum(number for *_, number in wanted) < _WORTH_LISTING:
        return {}
    totals = accumulate(spectrum.levels(), lambda done, level: (level[0], done[1] + level[1]))
    supports = [support for support, _ in takewhile(lambda total: total[1] <= _MOST_LISTED, totals)]
    if not supports:
        return {}
    lowest = max(supports[-1], wanted[-1][0])
    codes, found = counter.itemsets(lowest, supports[0])
    return {support: codes[found == support] for support, *_ in wanted if support >= lowest}


def _located(counter: Counter, listed: dict[int, NDArray[np.int64]], support: int, index: int) -> list[int]:
    if support in listed:
        return [int(code) for code in listed[support][index]]
    return counter.locate(support, index)


def _labels(transactions: Transactions, codes: Iterable[int]) -> tuple[Item, ...]:
    # Codes are in canonical order, so the labels come out in it: integers, then strings, ascending.
    return tuple(transactions.vocabulary.label(code) for code in sorted(codes))
