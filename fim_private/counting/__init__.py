"""Support counting. One door: how many itemsets of a size have each support, highest first.

Whatever counts behind it keeps this contract: levels are produced lazily and in descending order, no
itemset is kept, and the one itemset to be named is found by a second scan down to its level only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, islice, takewhile
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.item_ranks import Top, descending
from fim_private.counting.portable_counter import PortableCounter
from fim_private.counting.work_limit import DEFAULT_MAX_WORK, Effort, Progress
from fim_private.dp.parameters import positive_integer
from fim_private.dp.randomness import Randomness, distinct_integers
from fim_private.errors import ParameterError, WorkLimitError, parameter
from fim_private.reading.transactions import Transactions
from fim_private.reading.vocabulary import Item
from fim_private.spectrum import Level, SupportSpectrum, Wanted

__all__ = [
    "COUNTERS",
    "DEFAULT_MAX_WORK",
    "Counter",
    "Effort",
    "Progress",
    "active_counter",
    "catalogue_spectrum",
    "itemset_spectrum",
    "list_itemsets",
]

# A reader of the top reads this many itemsets first, and then so many times more again and again.
_FIRST_ITEMSETS = 1024
_MORE_ITEMSETS = 16
# The rest comes in one pass where that is no more than the work already done. Who reads on from this many itemsets
# likely wants all: for them it may be so many times as much. What is done is a small part of any more than that.
_ENOUGH_ITEMSETS = 1 << 14
_WORTH_FINISHING = 16
# Names from which on it is quicker to list all itemsets down to their levels, if these are no more than so many.
_WORTH_LISTING = 3
_MOST_LISTED = 1 << 16


class Counter(Protocol):
    """What counts the itemsets of one size in one set of transactions."""

    @property
    def item_supports(self) -> NDArray[np.int64]:
        """How many units have each item: (vocabulary,)."""

    @property
    def most_work(self) -> int:
        """How many steps a pass over all itemsets takes, before it is begun: at most, or about."""

    def top(self, ceiling: int | None, wanted: int | None) -> Top:
        """Count itemsets of support below ceiling (None: all), from the top down to the wanted-th (None: all)."""

    def locate(self, support: int, index: int) -> list[int]:
        """Return the codes of the index-th itemset of that support in scan order.

        Scan order: items ranked by descending support, ties by code; itemsets ascending by their ranks, from the least
        frequent item on. It does not depend on the counter, nor on where the baskets were read from.
        """

    def itemsets(self, lowest: int, highest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the itemsets of supports lowest..highest: (m, size) codes in scan order, and (m,) supports."""


MakeCounter = Callable[[Transactions, int, int, Effort], Counter]

COUNTERS: dict[str, MakeCounter] = {"numpy": PortableCounter}
try:
    from fim_private.counting.compiled_counter import LARGEST_SIZE, CompiledCounter
except ImportError:  # built without a compiler
    LARGEST_SIZE = 0
else:
    COUNTERS = {"compiled": CompiledCounter, **COUNTERS}


def active_counter() -> str:
    """Return the name of the counter in use: the first of COUNTERS."""
    return next(iter(COUNTERS))


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
    min_support: units; levels below it are left out, and nothing is spent on them.
    effort: threads, limit of work and progress. counter: one of COUNTERS; the fastest unless given.
    Raises ParameterError for a number out of range; reading levels raises WorkLimitError where they are out of reach.
    """
    counting = _counter(transactions, size, min_support, effort, counter)

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
        _levels(counting, positive_integer("min_support", min_support)),
        whole=lambda: counting.top(None, None).levels,
        sampler=sample,
    )
    return spectrum


def catalogue_spectrum(transactions: Transactions, size: int, *, effort: Effort | None = None) -> SupportSpectrum:
    """Return the lazy spectrum over a public catalogue: the transactions' vocabulary (restricted_to).

    The universe is every itemset of catalogue items, C(N, size) of them; the unsupported ones are level 0.
    Raises ParameterError for a size below 1.
    """
    named = itemset_spectrum(transactions, size, effort=effort)

    def unsupported(number: int, randomness: Randomness) -> list[tuple[Item, ...]]:
        # Uniform among the unsupported: draw uniformly and reject what some basket contains. Level 0 is
        # chosen with probability <= (its share of the universe), so this takes O(1) draws in expectation.
        found: dict[tuple[Item, ...], None] = {}
        while len(found) < number:
            codes = distinct_integers(len(transactions.vocabulary), size, randomness=randomness)
            if not is_supported(transactions, codes):
                found[_labels(transactions, codes)] = None
        return list(found)

    def sample(wanted: Sequence[Wanted], randomness: Randomness) -> list[list[tuple[Item, ...]]]:
        names = named.sample_itemsets([s for s, _, number in wanted for _ in range(number) if s], randomness)
        supported = iter(names)
        return [
            list(islice(supported, number)) if support else unsupported(number, randomness)
            for support, _, number in wanted
        ]

    universe_size = math.comb(len(transactions.vocabulary), size)
    return SupportSpectrum(named.levels(), whole=named.all_levels, universe_size=universe_size, sampler=sample)


def list_itemsets(
    transactions: Transactions, size: int, lowest: int, highest: int, *, counter: str | None = None
) -> Iterator[tuple[tuple[Item, ...], int]]:
    """Yield the itemsets whose support is in lowest..highest, with their supports. Not private: for looking at data.

    Memory is proportional to their number. Raises ParameterError for a number below 1.
    """
    lowest, highest = positive_integer("lowest", lowest), positive_integer("highest", highest)
    counting = _counter(transactions, size, lowest, None, counter)
    most = transactions.baskets + 1  # more than any support: numbers beyond are as good, and may fit in no array
    codes, supports = counting.itemsets(min(lowest, most), min(highest, most))
    for row, support in zip(codes.tolist(), supports.tolist(), strict=True):
        yield _labels(transactions, row), support


def is_supported(transactions: Transactions, codes: Iterable[int]) -> bool:
    """Whether some basket contains all the codes."""
    baskets: NDArray[np.int64] | None = None
    for code in codes:
        entries = np.flatnonzero(transactions.items == code)
        rows = np.searchsorted(transactions.offsets, entries, side="right") - 1
        baskets = rows if baskets is None else np.intersect1d(baskets, rows, assume_unique=True)
        if not len(baskets):
            return False
    return True


class _Items:
    """The counter of single items: nothing to scan."""

    def __init__(self, counter: Counter, min_support: int) -> None:
        self._counter = counter
        self._min_support = min_support

    @property
    def item_supports(self) -> NDArray[np.int64]:
        return self._counter.item_supports

    @property
    def most_work(self) -> int:
        return 0

    def top(self, ceiling: int | None, wanted: int | None) -> Top:
        return Top(descending(np.bincount(self.item_supports), self._min_support), self._min_support)

    def locate(self, support: int, index: int) -> list[int]:
        return [int(np.flatnonzero(self.item_supports == support)[index])]

    def itemsets(self, lowest: int, highest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        codes = np.flatnonzero((self.item_supports >= lowest) & (self.item_supports <= highest))
        return codes[:, None], self.item_supports[codes]


def _counter(
    transactions: Transactions, size: int, min_support: int, effort: Effort | None, name: str | None
) -> Counter:
    size, min_support = positive_integer("size", size), positive_integer("min_support", min_support)
    min_support = min(min_support, transactions.baskets + 1)  # no support is larger, and some fit in no array
    if name is not None and name not in COUNTERS:
        raise ParameterError(f"{parameter('counter')} must be one of {', '.join(COUNTERS)}, not {name!r}")
    if name is None and (size > LARGEST_SIZE or transactions.baskets >= 1 << 31):
        name = "numpy"
    make = partial(COUNTERS[name or active_counter()], transactions, size, min_support, effort or Effort())
    return _Items(make(), min_support) if size == 1 else make()


def _levels(counter: Counter, min_support: int) -> Iterator[Level]:
    """Yield all levels: rounds of counting, each some times as many itemsets as the one before, and then the rest."""
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


def _labels(transactions: Transactions, codes: list[int]) -> tuple[Item, ...]:
    # Codes are in canonical order, so the labels come out in it: integers, then strings, ascending.
    return tuple(transactions.vocabulary.label(code) for code in sorted(codes))
