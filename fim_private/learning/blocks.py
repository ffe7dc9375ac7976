"""Blocks: every privacy unit goes to one of them by lot, and each block is purchases of its own.

A block follows from the units in it, and from the lot, alone: it has no label that only other blocks have, and the
order of its units, and of a unit's baskets, is drawn as well, since in a file other units' rows may have made it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.randomness import Randomness, uniform_integers
from fim_private.reading.transactions import Transactions

# Baskets without an item have no place of their own, and there may be any number of them.
_LOTS_AT_ONCE = 1 << 20


def blocks_of(data: Transactions, count: int, randomness: Randomness) -> Iterator[Transactions]:
    """Yield `count` blocks, >= 1, to one of which each unit goes: any of them with the same probability, independently.

    All lots are drawn before the first block is made. A unit keeps all it has; a block may have no unit.
    """
    if data.unit_offsets is None:
        units = np.arange(data.kept, dtype=np.int64)
        first, number = units, np.ones(data.kept, dtype=np.int64)
    else:
        units = np.arange(data.units, dtype=np.int64)
        first, number = data.unit_offsets[:-1], np.diff(data.unit_offsets)
    block = uniform_integers(count, len(units), randomness=randomness)
    units = units[np.lexsort((_keys(len(units), randomness), block))]
    ends = np.cumsum(np.bincount(block, minlength=count))
    blank = _blank(data.blank, count, randomness)
    basket_key = None if data.unit_offsets is None else _keys(data.kept, randomness)
    begin = 0
    for place, end in enumerate(ends.tolist()):
        own = units[begin:end]
        begin = end
        baskets, unit_offsets = _ranges(first[own], number[own])
        if basket_key is None:
            yield _block(data, baskets, None, int(blank[place]))
        else:
            unit = np.repeat(np.arange(len(own)), number[own])
            yield _block(data, baskets[np.lexsort((basket_key[baskets], unit))], unit_offsets, 0)


def _block(
    data: Transactions, baskets: NDArray[np.int64], unit_offsets: NDArray[np.int64] | None, blank: int
) -> Transactions:
    """Return some baskets, in this order, as purchases of their own, with the labels that occur in them alone."""
    first = data.offsets[baskets]
    entries, offsets = _ranges(first, data.offsets[baskets + 1] - first)
    return Transactions(
        offsets,
        data.items[entries],
        data.vocabulary,
        unit_offsets,
        missing_user=data.missing_user,
        blank=blank,
        where=data.where,
        query=data.query,
    ).of_occurring_items()


def _ranges(first: NDArray[np.int64], number: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the members of ranges, one range after the other, and where each range begins among them, and the end."""
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(number)])
    return np.repeat(first - offsets[:-1], number) + np.arange(offsets[-1]), offsets


def _keys(count: int, randomness: Randomness) -> NDArray[np.unsignedinteger]:
    """Return random numbers, all different: sorted by them, things stand in uniformly random order."""
    while True:
        keys = randomness.words(count, 8)
        if len(np.unique(keys)) == count:  # but for one time in 10^7 where there are a million
            return keys


def _blank(blank: int, count: int, randomness: Randomness) -> NDArray[np.int64]:
    """Return how many of the baskets without an item go to each block: (count,)."""
    found = np.zeros(count, dtype=np.int64)
    for done in range(0, blank, _LOTS_AT_ONCE):
        lots = uniform_integers(count, min(_LOTS_AT_ONCE, blank - done), randomness=randomness)
        found += np.bincount(lots, minlength=count)
    return found
