"""Itemsets of a public catalogue that no basket contains, drawn uniformly: a pick may fall on one of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter_registry import counter_for
from fim_private.counting.work_limit import Effort
from fim_private.dp.randomness import Randomness, distinct_integers
from fim_private.reading.transactions import Transactions

Itemset = tuple[int, ...]

# From so many draws on, each of which scans the data, it is quicker to list all that baskets contain, if these are no
# more than so many.
_WORTH_LISTING, _MOST_LISTED = 8, 1 << 22


@dataclass(frozen=True)
class Candidates:
    """All itemsets of one size of a public catalogue.

    items: in the catalogue. size: items per itemset, >= 1. is_supported: tells whether any basket contains all the
    codes of one. supported: lists those that some basket contains, (m, size) codes in any order.
    """

    items: int
    size: int
    is_supported: Callable[[Itemset], bool]
    supported: Callable[[], NDArray[np.int64]]


def candidates_of(transactions: Transactions, size: int, effort: Effort | None) -> Candidates:
    """Return the candidates of a size >= 1, of transactions whose vocabulary is the catalogue.

    effort: as in itemset_spectrum, for listing what baskets contain.
    """
    return Candidates(
        len(transactions.vocabulary),
        size,
        partial(is_supported, transactions),
        lambda: counter_for(transactions, size, 1, effort, None).itemsets(1, transactions.baskets)[0],
    )


def unsupported_itemsets(
    candidates: Candidates, unsupported: int, number: int, randomness: Randomness
) -> list[Itemset]:
    """Return different itemsets that no basket contains, as ascending codes, in uniformly random order.

    unsupported: how many there are. number: how many are wanted, <= unsupported.
    """
    items, size = candidates.items, candidates.size
    every = math.comb(items, size)
    most_draws = number * every / (unsupported - number + 1)  # so many are expected at most
    if most_draws < _WORTH_LISTING or every - unsupported > _MOST_LISTED:
        return _drawn(items, size, number, candidates.is_supported, randomness)
    supported = set(map(tuple, np.sort(candidates.supported(), axis=1).tolist()))
    if 2 * number <= unsupported:
        return _drawn(items, size, number, supported.__contains__, randomness)
    # To draw the last of nearly all would take long. So these are listed, and are not many more than are wanted.
    free = [codes for codes in combinations(range(items), size) if codes not in supported]
    return [free[place] for place in distinct_integers(len(free), number, randomness=randomness)]


def _drawn(
    items: int, size: int, number: int, supported: Callable[[Itemset], bool], randomness: Randomness
) -> list[Itemset]:
    """Draw from all itemsets and reject what is supported: as level 0 was picked by its number, that is seldom long."""
    found: dict[Itemset, None] = {}
    while len(found) < number:
        codes = tuple(sorted(distinct_integers(items, size, randomness=randomness)))
        if codes not in found and not supported(codes):
            found[codes] = None
    return list(found)


def is_supported(transactions: Transactions, codes: Iterable[int]) -> bool:
    """Tell whether some basket contains all the codes, of which there is at least one."""
    baskets: NDArray[np.int64] | None = None
    for code in codes:
        entries = np.flatnonzero(transactions.items == code)
        rows = np.searchsorted(transactions.offsets, entries, side="right") - 1
        baskets = rows if baskets is None else np.intersect1d(baskets, rows, assume_unique=True)
        if not len(baskets):
            return False
    return True
