"""Support counting. One door: how many itemsets of a size have each support, highest first.

Whatever counts behind it keeps this contract: levels are produced lazily and in descending order, no
itemset is kept, and the one itemset to be named is found by a second scan down to its level only.
"""

from __future__ import annotations

import math

from fim_private.counting import portable
from fim_private.privacy import positive_integer
from fim_private.randomness import Randomness
from fim_private.spectrum import SupportSpectrum
from fim_private.transactions import Item, Transactions

__all__ = ["catalogue_spectrum", "itemset_spectrum"]


def itemset_spectrum(transactions: Transactions, size: int) -> SupportSpectrum:
    """Return the lazy spectrum of all itemsets of that size; the item universe is unknown.

    size: items per itemset, >= 1; a size larger than any basket gives an empty spectrum.
    Raises ParameterError for a size below 1.
    """
    size = positive_integer("size", size)

    def sample(support: int, multiplicity: int, randomness: Randomness) -> tuple[Item, ...]:
        codes = portable.nth_itemset(transactions, size, support, randomness.below(multiplicity))
        return _labels(transactions, codes)

    return SupportSpectrum(portable.levels(transactions, size), sampler=sample)


def catalogue_spectrum(transactions: Transactions, size: int) -> SupportSpectrum:
    """Return the lazy spectrum over a public catalogue: the transactions' vocabulary (restricted_to).

    The universe is every itemset of catalogue items, C(N, size) of them; the unsupported ones are level 0.
    Raises ParameterError for a size below 1.
    """
    named = itemset_spectrum(transactions, size)

    def sample(support: int, multiplicity: int, randomness: Randomness) -> tuple[Item, ...]:
        if support:
            return named.sample_itemset(support, randomness)
        # Uniform among the unsupported: draw uniformly and reject what some basket contains. Level 0 is
        # chosen with probability <= (its share of the universe), so this takes O(1) draws in expectation.
        while portable.is_supported(transactions, codes := _uniform_subset(transactions, size, randomness)):
            pass
        return _labels(transactions, codes)

    universe_size = math.comb(len(transactions.vocabulary), size)
    return SupportSpectrum(named.levels(), universe_size=universe_size, sampler=sample)


def _uniform_subset(transactions: Transactions, size: int, randomness: Randomness) -> list[int]:
    """Return a uniformly random set of size codes (Floyd's algorithm)."""
    count = len(transactions.vocabulary)
    chosen: set[int] = set()
    for last in range(count - size, count):
        code = randomness.below(last + 1)
        chosen.add(last if code in chosen else code)
    return sorted(chosen)


def _labels(transactions: Transactions, codes: list[int]) -> tuple[Item, ...]:
    # Codes are in canonical order, so the labels come out in it: integers, then strings, ascending.
    return tuple(transactions.vocabulary.label(code) for code in sorted(codes))
