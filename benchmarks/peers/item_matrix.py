"""Which baskets hold which item, as bits: the exact supports of any itemset, and of all subsets of
a basis.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import top_supports, transactions
from fim_private.counting import itemset_spectrum
from fim_private.reading.labels import Item
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import union

Int64 = NDArray[np.int64]
Number = TypeVar("Number", np.int64, np.float64)
# A set of items as their codes, ascending.
Codes = tuple[int, ...]
# Rows of bits that are kept: all that a trial needs many times over, and no more than some 80 MB.
_MOST_ROWS = 4096


class ItemMatrix:
    """Which baskets hold which item, as bits made when first asked for.

    Supports are of privacy units: of baskets, or of users with a basket that holds all the items.
    """

    def __init__(self, data: Transactions) -> None:
        basket = np.repeat(np.arange(data.baskets, dtype=np.int32), np.diff(data.offsets))
        self.baskets = data.baskets
        self._vocabulary = data.vocabulary
        self._members = basket[np.argsort(data.items, kind="stable")]
        self._ends = np.cumsum(np.bincount(data.items, minlength=len(data.vocabulary)))
        self._users: Int64 | None = None  # of each basket, ascending
        if data.unit_offsets is not None:
            self._users = np.repeat(
                np.arange(len(data.unit_offsets) - 1), np.diff(data.unit_offsets)
            )
        self._bits: dict[int, NDArray[np.uint64]] = {}
        self._codes: dict[Item, int] = {}

    @property
    def supports_of_items(self) -> Int64:
        """How many baskets hold each item, (items,); where a basket is a unit."""
        assert self._users is None
        return np.diff(self._ends, prepend=0)

    def codes(self, labels: Sequence[Item]) -> Codes:
        """Return the codes of labels, ascending."""
        if not self._codes:
            self._codes = {
                self._vocabulary.label(code): code for code in range(len(self._vocabulary))
            }
        return tuple(sorted(self._codes[label] for label in labels))

    def bits(self, code: int) -> NDArray[np.uint64]:
        """Return which baskets hold the item: bit b of (words,) for basket b; those past the last
        are 0.
        """
        if code not in self._bits:
            if len(self._bits) >= _MOST_ROWS:
                self._bits.clear()
            start = self._ends[code - 1] if code else 0
            row = np.zeros(-(-self.baskets // 64) * 64, dtype=bool)
            row[self._members[start : self._ends[code]]] = True
            self._bits[code] = np.packbits(row, bitorder="little").view(np.uint64)
        return self._bits[code]

    def support(self, codes: Codes) -> int:
        """Return how many units have a basket that holds all the items; at least one item must be
        given.
        """
        return (
            int(np.bitwise_count(self._held(codes)).sum())
            if self._users is None
            else len(self.units(codes))
        )

    def units(self, codes: Codes) -> Int64:
        """Return which units have a basket that holds all the items, ascending."""
        held = np.flatnonzero(
            np.unpackbits(self._held(codes).view(np.uint8), bitorder="little", count=self.baskets)
        )
        return held.astype(np.int64) if self._users is None else np.unique(self._users[held])

    def _held(self, codes: Codes) -> NDArray[np.uint64]:
        both = self.bits(codes[0])
        for code in codes[1:]:
            both = both & self.bits(code)
        return both

    def pairs(self, codes: Sequence[int]) -> Int64:
        """Return the supports of the pairs (i, j), i < j, of these items, in the order of
        np.triu_indices.

        Of baskets, as bins.
        """
        rows = np.array([self.bits(code) for code in codes])
        parts = [
            np.bitwise_count(rows[i] & rows[i + 1 :]).sum(axis=1, dtype=np.int64)
            for i in range(len(rows) - 1)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def bins(self, codes: Codes) -> Int64:
        """Return how many baskets hold exactly each subset of the items: (2^len,), bit j of an
        index for codes[j].
        """
        subset = np.zeros(self.baskets, dtype=np.int64)
        for place, code in enumerate(codes):
            held = np.unpackbits(
                self.bits(code).view(np.uint8), bitorder="little", count=self.baskets
            )
            subset |= held.astype(np.int64) << place
        return np.bincount(subset, minlength=1 << len(codes)).astype(np.int64)


@lru_cache(maxsize=16)
def item_matrix(source: Source) -> ItemMatrix:
    """Return the matrix of a data set."""
    return ItemMatrix(transactions(source))


@lru_cache(maxsize=256)
def support_at_rank(source: Source, sizes: tuple[int, ...], rank: int) -> int:
    """Return the support of the rank-th most frequent itemset of these sizes, 0 where there are
    fewer.
    """
    spectra = [itemset_spectrum(transactions(source), size) for size in sizes]
    supports = top_supports(union(spectra).levels(), rank)
    return supports[-1] if len(supports) == rank else 0


def supports_of_subsets(bins: NDArray[Number]) -> NDArray[Number]:
    """Return for each subset of a basis the sum of the bins of all that contain it: as it is
    supported.
    """
    sums = bins.copy()
    for place in range(len(bins).bit_length() - 1):
        halves = sums.reshape(-1, 2, 1 << place)
        halves[:, 0] += halves[:, 1]
    return sums


@lru_cache(maxsize=256)
def subsets(length: int, sizes: tuple[int, ...]) -> tuple[Int64, Int64]:
    """Return the subsets of so many places that have one of the sizes: masks (m,), places (m,
    longest), -1 for none.
    """
    rows = [rest for size in sizes for rest in combinations(range(length), size)]
    masks = np.array([sum(1 << place for place in row) for row in rows], dtype=np.int64)
    padded = [row + (-1,) * (max(sizes) - len(row)) for row in rows]
    return masks, np.array(padded, dtype=np.int64).reshape(-1, max(sizes))


@lru_cache(maxsize=1024)
def basis_bins(source: Source, basis: Codes) -> Int64:
    """Return how many baskets hold exactly each subset of a basis."""
    return item_matrix(source).bins(basis)
