"""Baskets cut to a number of items, so that one basket supports few itemsets, and what is frequent in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import transactions
from benchmarks.peers.item_matrix import Int64, item_matrix
from fim_private.counting import itemset_spectrum, list_itemsets
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import SupportSpectrum, union

# Which items a cut keeps: see cut.
ORDERS = ("label", "random")
# Itemsets of cut data that are listed one by one: OpenDP takes 8 µs for each at each trial.
LISTED = 2048


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
