"""Baskets and users cut to some items, so that one unit supports few itemsets, and what is frequent
in them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.datasets import Source
from benchmarks.frame.support_spectra import transactions
from benchmarks.peers.item_matrix import Int64, item_matrix
from fim_private.counting import itemset_spectrum, list_itemsets
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import SupportSpectrum, union

# Which items a cut keeps, see cut.
ORDERS = ("label", "random")
# Itemsets of cut data that are listed one by one: OpenDP takes 8 µs for each at each trial.
LISTED = 2048


class Cut(NamedTuple):
    """What is kept of a unit. items: how many different ones at most, >= 1. order: which: of
    ORDERS.

    baskets: None: the items are those of all baskets of the unit together. Of users also a number:
    so many random baskets of each user stay, and the items are those of each basket.
    """

    items: int
    order: str
    baskets: int | None = None


def cut(data: Transactions, kept: Cut) -> Transactions:
    """Return the data with what is kept of each unit: the first items by label, or random ones.

    What is random is drawn once, and not by what other units hold. Where labels are numbers in the
    order in which items were first seen, as in retail, the first ones are the frequent ones and
    keep far more pairs; elsewhere random ones can keep more.
    """
    by_basket = data.unit_offsets is None or kept.baskets is not None
    bounds = data.offsets if by_basket else data.offsets[data.unit_offsets]
    owner = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    different, place = np.unique((owner << 32) | data.items, return_inverse=True)
    owner = different >> 32
    if kept.order == "random":
        keys = np.random.default_rng(0).random(len(different))
    else:
        keys = (different & 0xFFFFFFFF).astype(np.float64)  # codes ascend with the labels
    stays = _first(owner, keys, kept.items)[place]
    if kept.baskets is not None and data.unit_offsets is not None:
        user = np.repeat(np.arange(len(data.unit_offsets) - 1), np.diff(data.unit_offsets))
        chosen = _first(user, np.random.default_rng(1).random(data.baskets), kept.baskets)
        stays &= np.repeat(chosen, np.diff(data.offsets))
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(stays)])
    return replace(data, offsets=ends[data.offsets], items=data.items[stays])


def _first(owners: Int64, keys: NDArray[np.float64], count: int) -> NDArray[np.bool_]:
    """Return which places have one of the `count` lowest keys of their owner. owners: ascending."""
    ranked = np.lexsort((keys, owners))
    starts = np.searchsorted(owners, owners)
    first = np.zeros(len(owners), dtype=bool)
    first[ranked[np.arange(len(owners)) - starts < count]] = True
    return first


def degree(kept: Cut, sizes: tuple[int, ...]) -> int:
    """Return Δ: how many itemsets of the sizes a unit supports at most once it is cut."""
    return (kept.baskets or 1) * sum(math.comb(kept.items, size) for size in sizes)


@dataclass(frozen=True)
class Counted:
    """The itemsets of cut data. Those of at least some support are listed: their supports when cut,
    and in the whole data, both (m,). Of the others, supports and how many share each; spectrum
    names them.
    """

    listed: Int64
    true: Int64
    low: Int64
    multiplicities: Int64
    spectrum: SupportSpectrum


@lru_cache(maxsize=64)
def cut_data(source: Source, kept: Cut) -> Transactions:
    """Return the cut units of a data set."""
    return cut(transactions(source), kept)


@lru_cache(maxsize=4)
def counted(source: Source, sizes: tuple[int, ...], kept: Cut, floor: int, whole: bool) -> Counted:
    """Count the itemsets of the cut data: listed are the LISTED highest, or all of support >= floor
    where these are more. whole: whether the others are needed too.
    """
    data = cut_data(source, kept)
    spectrum = union([itemset_spectrum(data, size) for size in sizes])
    levels = spectrum.all_levels() if whole else list(_high(spectrum, floor))
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


def _high(spectrum: SupportSpectrum, floor: int) -> Iterator[tuple[int, int]]:
    seen = 0
    for support, multiplicity in spectrum.levels():
        seen += multiplicity
        if seen > LISTED and support < floor:
            return
        yield support, multiplicity
