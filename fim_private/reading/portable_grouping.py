"""Bringing rows together to baskets and units in numpy.

This is for installations without a compiler. The compiled `grouping` has the same functions, which
explain themselves there.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fim_private.reading.memory import ENTRIES
from fim_private.reading.values import Int32, Int64, offsets_of


def mark(numbers: Int32, marked: NDArray[np.uint8]) -> None:
    """Write 1 at the place of each number; see `grouping.mark`."""
    for block in np.split(numbers, range(ENTRIES, len(numbers), ENTRIES)):
        marked[block] = 1


def without_gaps(numbers: Int32) -> Int32:
    """Return the same numbers without gaps, in their order; see `grouping.without_gaps`."""
    renumbered = np.cumsum(np.bincount(numbers) > 0, dtype=np.int32) - np.int32(1)
    return np.asarray(renumbered[numbers])


def numbers_of_pairs(first: Int32, second: Int32) -> Int32 | None:
    """Return the number of each pair; see `grouping.numbers_of_pairs`."""
    if second.max(initial=0) >= 4 * len(second):
        return None
    rows = np.arange(len(second))
    first_rows = np.empty(int(second.max()) + 1, dtype=np.int64)
    first_rows[second[::-1]] = rows[::-1]  # of equal numbers the first is written last
    first_row = first_rows[second]
    if (first[first_row] != first).any():
        return None
    number = np.cumsum(first_row == rows, dtype=np.int32) - np.int32(1)
    return np.asarray(number[first_row])


def in_order_of_units(baskets: Int32, units: Int32) -> tuple[Int32, Int64]:
    """Return the baskets' numbers in the order of units; see `grouping.in_order_of_units`."""
    owner = np.empty(baskets.max(initial=-1) + 1, dtype=np.int32)
    owner[baskets] = units
    order = np.argsort(owner, kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank[baskets], offsets_of(np.bincount(owner))


def brought_together(codes: Int32, sizes: Int32, baskets: Int32) -> tuple[Int32, Int64]:
    """Return the codes basket by basket; see `grouping.brought_together`."""
    offsets = offsets_of(np.bincount(baskets, sizes))
    if (baskets[1:] >= baskets[:-1]).all():
        return codes, offsets
    key = np.repeat(baskets, sizes).astype(np.int64)
    key <<= 32
    key |= codes
    key.sort()
    return (key & 0xFFFFFFFF).astype(np.int32), offsets


def canonical_baskets(offsets: Int64, codes: Int32, final: Int32) -> tuple[Int64, Int32]:
    """Return offsets and items, some baskets at a time; see `grouping.canonical_baskets`."""
    ends, lengths = offsets.copy(), np.diff(offsets)
    firsts = np.unique(np.searchsorted(ends, np.arange(0, ends[-1], ENTRIES)))
    count = 0
    for first, last in pairwise([*firsts.tolist(), len(lengths)]):
        block = final[codes[ends[first] : ends[last]]]
        key = np.repeat(np.arange(last - first) << 32, lengths[first:last])
        key = (key | block)[block >= 0]
        key.sort()
        key = key[np.diff(key, prepend=-1) != 0]
        codes[count : count + len(key)] = key & 0xFFFFFFFF
        occupied = np.bincount(key >> 32, minlength=last - first)
        offsets[first + 1 : last + 1] = count + np.cumsum(occupied)
        count += len(key)
    return offsets, codes[:count]
