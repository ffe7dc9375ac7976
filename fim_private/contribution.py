"""The contribution bound on a user's baskets: which of them count, a function of what is in them alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def drawn(
    hashes: NDArray[np.uint64], kinds: NDArray[np.uint64], unit_offsets: NDArray[np.int64], count: int
) -> NDArray[np.bool_]:
    """Return which baskets are the first count different, not empty ones of their unit: (baskets,) bool.

    hashes: (baskets,) of the texts of what is in each. kinds: (baskets,) of those that are integers, which parts
    baskets of equal texts. Their order is mixed with all of a unit's baskets: else every unit would lose the same ones,
    and itemsets with them.
    """
    baskets = np.diff(unit_offsets)
    unit = np.repeat(np.arange(len(baskets)), baskets)
    key = _mixed(hashes ^ _mixed(group_sums(hashes, unit_offsets))[unit])
    order = np.lexsort((kinds, key, unit))
    # For one unit the key is a bijection of the hash: equal keys are equal baskets.
    is_next = np.zeros(len(order), dtype=bool)
    is_next[:1] = True
    for differs in (kinds, key, unit):
        is_next[1:] |= differs[order[1:]] != differs[order[:-1]]
    is_next &= hashes[order] != 0
    place = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(is_next)])
    drawn = np.empty(len(order), dtype=bool)
    drawn[order] = is_next & (place[1:] - np.repeat(place[unit_offsets[:-1]], baskets) <= count)
    return drawn


def group_sums(values: NDArray[np.uint64], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the sum of each group modulo 2**64, 0 for an empty one: (groups,)."""
    sums: NDArray[np.uint64] = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values)])
    return sums[offsets[1:]] - sums[offsets[:-1]]


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a bijection of 64-bit numbers that spreads every bit (the finaliser of SplitMix64, Steele et al. 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
