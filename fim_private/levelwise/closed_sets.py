"""Candidates: itemsets all of whose parts were found, as Apriori makes them (Agrawal and Srikant, 1994).

Itemsets of one size are an array (n, size) int32 of item numbers, ascending in a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

Itemsets = NDArray[np.int32]


def pairs_of(cells: NDArray[np.integer]) -> Itemsets:
    """Return the pairs a < b at the cells b(b - 1)/2 + a: (n, 2)."""
    larger = np.floor((1 + np.sqrt(1 + 8 * cells.astype(np.float64))) / 2).astype(np.int64)
    larger -= larger * (larger - 1) // 2 > cells  # the root may be off by a rounding
    larger += larger * (larger + 1) // 2 <= cells
    return np.column_stack([cells - larger * (larger - 1) // 2, larger]).astype(np.int32)


def closed_sets(parts: Itemsets) -> Itemsets:
    """Return the itemsets all of whose subsets with one item less are among the parts, in lexicographic order.

    parts: (n, r), all different, r >= 1. The result is (m, r + 1).
    """
    rows = sorted(map(tuple, parts.tolist()))
    known, size = set(rows), parts.shape[1] + 1
    by_prefix: dict[tuple[int, ...], list[int]] = {}
    for row in rows:
        by_prefix.setdefault(row[:-1], []).append(row[-1])
    joined = ((*prefix, low, high) for prefix, lasts in by_prefix.items() for low, high in combinations(lasts, 2))
    # The two that were joined are parts; the others lack an item of the prefix.
    found = [s for s in joined if all(s[:i] + s[i + 1 :] in known for i in range(size - 2))]
    return np.array(found, dtype=np.int32).reshape(-1, size)


def most_of_size(count: int, sizes: Sequence[int], size: int) -> int:
    """Return about how many itemsets of a size can be among the `count` most frequent ones of these sizes.

    With an itemset its subsets are among them, so all sets of x items, x the most that fit; one item more is allowed
    for those that are not. count: >= 1. sizes: consecutive, size among them.
    """
    smaller = [other for other in sizes if other <= size]
    items = size
    while sum(comb(items + 1, other) for other in smaller) <= count:
        items += 1
    return min(count, comb(items + 1, size))
