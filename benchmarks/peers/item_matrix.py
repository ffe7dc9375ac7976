"""What the baselines from outside share: exact supports of itemsets, the itemsets of cut baskets, integer noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.support_spectra import Source, transactions
from fim_private.counting import itemset_spectrum, list_itemsets
from fim_private.reading.transactions import Item, Transactions
from fim_private.spectrum import SupportSpectrum, union

Int64 = NDArray[np.int64]
Number = TypeVar("Number", np.int64, np.float64)
# A set of items as their codes, ascending.
Codes = tuple[int, ...]
# Rows of bits that are kept: all that a trial needs many times over, and no more than some 80 MB.
_MOST_ROWS = 4096
# Which items a cut keeps: see cut.
ORDERS = ("label", "random")
# Itemsets of cut data that are listed one by one: OpenDP takes 8 µs for each at each trial.
LISTED = 2048


@dataclass(frozen=True)
class Released:
    """What one trial released.

    true: supports in the whole data of the itemsets released, in the order of release. noisy: what was released as
    their supports; as many.
    """

    true: Int64
    noisy: NDArray[np.float64]


def nothing() -> Released:
    """Return what a trial that releases nothing released."""
    return Released(np.zeros(0, dtype=np.int64), np.zeros(0))


class ItemMatrix:
    """Which baskets hold which item, as bits made when first asked for; a basket is a privacy unit."""

    def __init__(self, data: Transactions) -> None:
        basket = np.repeat(np.arange(data.baskets, dtype=np.int32), np.diff(data.offsets))
        self.supports_of_items: Int64 = np.bincount(data.items, minlength=len(data.vocabulary)).astype(np.int64)
        self.baskets = data.baskets
        self._vocabulary = data.vocabulary
        self._members = basket[np.argsort(data.items, kind="stable")]
        self._ends = np.cumsum(self.supports_of_items)
        self._bits: dict[int, NDArray[np.uint64]] = {}
        self._codes: dict[Item, int] = {}

    def codes(self, labels: Sequence[Item]) -> Codes:
        """Return the codes of labels, ascending."""
        if not self._codes:
            self._codes = {self._vocabulary.label(code): code for code in range(len(self._vocabulary))}
        return tuple(sorted(self._codes[label] for label in labels))

    def bits(self, code: int) -> NDArray[np.uint64]:
        """Return which baskets hold the item: bit b of (words,) for basket b; those past the last are 0."""
        if code not in self._bits:
            if len(self._bits) >= _MOST_ROWS:
                self._bits.clear()
            end = self._ends[code]
            row = np.zeros(-(-self.baskets // 64) * 64, dtype=bool)
            row[self._members[end - self.supports_of_items[code] : end]] = True
            self._bits[code] = np.packbits(row, bitorder="little").view(np.uint64)
        return self._bits[code]

    def support(self, codes: Codes) -> int:
        """Return how many baskets hold all the items; at least one item must be given."""
        both = self.bits(codes[0])
        for code in codes[1:]:
            both = both & self.bits(code)
        return int(np.bitwise_count(both).sum())

    def pairs(self, codes: Sequence[int]) -> Int64:
        """Return the supports of the pairs (i, j), i < j, of these items, in the order of np.triu_indices."""
        rows = np.array([self.bits(code) for code in codes])
        parts = [np.bitwise_count(rows[i] & rows[i + 1 :]).sum(axis=1, dtype=np.int64) for i in range(len(rows) - 1)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def bins(self, codes: Codes) -> Int64:
        """Return how many baskets hold exactly each subset of the items: (2^len,), bit j of an index for codes[j]."""
        subset = np.zeros(self.baskets, dtype=np.int64)
        for place, code in enumerate(codes):
            held = np.unpackbits(self.bits(code).view(np.uint8), bitorder="little", count=self.baskets)
            subset |= held.astype(np.int64) << place
        return np.bincount(subset, minlength=1 << len(codes)).astype(np.int64)


@lru_cache(maxsize=2)
def item_matrix(source: Source) -> ItemMatrix:
    """Return the matrix of a data set."""
    return ItemMatrix(transactions(source))


@lru_cache(maxsize=256)
def support_at_rank(source: Source, sizes: tuple[int, ...], rank: int) -> int:
    """Return the support of the rank-th most frequent itemset of these sizes, 0 where there are fewer."""
    seen = 0
    for support, multiplicity in union([itemset_spectrum(transactions(source), size) for size in sizes]).levels():
        seen += multiplicity
        if seen >= rank:
            return support
    return 0


# ----------------------------------------------------------------------------------------------------------- a basis


def supports_of_subsets(bins: NDArray[Number]) -> NDArray[Number]:
    """Return for each subset of a basis the sum of the bins of all that contain it: as it is supported."""
    sums = bins.copy()
    for place in range(len(bins).bit_length() - 1):
        halves = sums.reshape(-1, 2, 1 << place)
        halves[:, 0] += halves[:, 1]
    return sums


@lru_cache(maxsize=256)
def subsets(length: int, sizes: tuple[int, ...]) -> tuple[Int64, Int64]:
    """Return the subsets of so many places that have one of the sizes: masks (m,), places (m, longest), -1 for none."""
    rows = [rest for size in sizes for rest in combinations(range(length), size)]
    masks = np.array([sum(1 << place for place in row) for row in rows], dtype=np.int64)
    padded = [row + (-1,) * (max(sizes) - len(row)) for row in rows]
    return masks, np.array(padded, dtype=np.int64).reshape(-1, max(sizes))


@lru_cache(maxsize=1024)
def basis_bins(source: Source, basis: Codes) -> Int64:
    """Return how many baskets hold exactly each subset of a basis."""
    return item_matrix(source).bins(basis)


# --------------------------------------------------------------------------------------------------------- the cut


def cut(data: Transactions, max_basket: int, order: str) -> Transactions:
    """Return the baskets with at most max_basket items: the first by label, or random ones of each basket.

    The random ones are drawn once, whatever the baskets hold. Where labels are numbers in the order in which items
    were first seen, as in retail, the first ones are the frequent ones and keep far more pairs; elsewhere random
    ones can keep more.
    """
    if order == "label":
        return data.capped(max_basket, 1)
    lengths = np.diff(data.offsets)
    keys = np.random.default_rng(0).random(len(data.items))
    ranked = np.lexsort((keys, np.repeat(np.arange(data.baskets), lengths)))
    kept = np.zeros(len(data.items), dtype=bool)
    kept[ranked[np.arange(len(ranked)) - np.repeat(data.offsets[:-1], lengths) < max_basket]] = True
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])
    return Transactions(ends[data.offsets], data.items[kept], data.vocabulary, data.unit_offsets)


def degree(max_basket: int, sizes: tuple[int, ...]) -> int:
    """Return Δ: how many itemsets of the sizes a basket of max_basket items supports."""
    return sum(math.comb(max_basket, size) for size in sizes)


# -------------------------------------------------------------------------------------------------------- counting


@dataclass(frozen=True)
class Counted:
    """The itemsets of cut data. Those of at least some support are listed: their supports when cut, and in the whole
    data, both (m,). Of the others, supports and how many share each; spectrum names them.
    """

    listed: Int64
    true: Int64
    low: Int64
    multiplicities: Int64
    spectrum: SupportSpectrum


@lru_cache(maxsize=16)
def cut_data(source: Source, max_basket: int, order: str) -> Transactions:
    """Return the cut baskets of a data set."""
    return cut(transactions(source), max_basket, order)


@lru_cache(maxsize=4)
def counted(source: Source, sizes: tuple[int, ...], max_basket: int, order: str, floor: int, whole: bool) -> Counted:
    """Count the itemsets of the cut data: listed are the LISTED highest, or all of support >= floor where these are
    more. whole: whether the others are needed too.
    """
    data = cut_data(source, max_basket, order)
    spectrum = union([itemset_spectrum(data, size) for size in sizes])
    levels = spectrum.all_levels() if whole else list(_first(spectrum, floor))
    supports = np.array([support for support, _ in levels], dtype=np.int64)
    multiplicities = np.array([multiplicity for _, multiplicity in levels], dtype=np.int64)
    high = (np.cumsum(multiplicities) <= LISTED) | (supports >= floor)
    matrix = item_matrix(source)
    found: list[tuple[int, int]] = []
    if high.any():
        lowest, highest = int(supports[high][-1]), int(supports[0])
        for size in sizes:
            named = list_itemsets(data, size, lowest, highest)
            found += [(support, matrix.support(matrix.codes(labels))) for labels, support in named]
    cells = np.array(found, dtype=np.int64).reshape(-1, 2)
    return Counted(cells[:, 0], cells[:, 1], supports[~high], multiplicities[~high], spectrum)


def _first(spectrum: SupportSpectrum, floor: int) -> Iterator[tuple[int, int]]:
    seen = 0
    for support, multiplicity in spectrum.levels():
        seen += multiplicity
        if seen > LISTED and support < floor:
            return
        yield support, multiplicity


# ----------------------------------------------------------------------------------------------------------- noise


@dataclass(frozen=True)
class IntegerNoise:
    """P(noise = k) ∝ e^{-|k| / scale}, or e^{-k² / (2 scale²)} where gaussian; drawn with floats, out of a seed."""

    gaussian: bool
    scale: float

    def survival(self, distances: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return P(noise >= distance) for distances >= 1."""
        if self.gaussian:
            tail = gaussian_tail(self.scale)
            return tail[np.minimum(distances, len(tail) - 1)]
        return np.asarray(np.exp(-distances / self.scale) / (1 + math.exp(-1 / self.scale)))

    def excess(self, distance: int, number: int, rng: np.random.Generator) -> Int64:
        """Draw by how much the noise is above a distance >= 1, given that it is not below it."""
        if not self.gaussian:  # its tail is geometric
            return rng.geometric(-math.expm1(-1 / self.scale), number).astype(np.int64) - 1
        tail = gaussian_tail(self.scale)
        levels = tail[min(distance, len(tail) - 1)] * (1 - rng.random(number))
        # The largest x with P(noise >= x) >= level.
        place: Int64 = np.searchsorted(tail[::-1], levels, side="left").astype(np.int64)
        return len(tail) - 1 - distance - place

    def draw(self, number: int, rng: np.random.Generator) -> Int64:
        """Draw noise."""
        if not self.gaussian:
            share = -math.expm1(-1 / self.scale)
            return (rng.geometric(share, number) - rng.geometric(share, number)).astype(np.int64)
        tail = gaussian_tail(self.scale)
        zero = 1 - 2 * tail[1]
        sign = np.where(rng.random(number) < 0.5, -1, 1)
        return np.where(rng.random(number) < zero, 0, sign * (1 + self.excess(1, number, rng)))


@lru_cache(maxsize=4)
def gaussian_tail(scale: float) -> NDArray[np.float64]:
    """Return P(noise >= t) for t = 0, 1, ... up to 38 scales, where doubles end."""
    weights = np.exp(-((np.arange(math.ceil(38 * scale) + 2) / scale) ** 2) / 2)
    tail = np.cumsum(weights[::-1])[::-1]
    return np.asarray(tail / (2 * tail[0] - 1))
