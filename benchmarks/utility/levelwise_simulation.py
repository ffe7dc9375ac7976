"""The levelwise mechanism a hundred times over: which items were found decides what is drawn from next.

The shipped steps count the chosen items anew in every run; here the supports of all pairs and triples of the most
frequent items are counted once. `tests/unit/test_simulation.py` compares the two.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import log

import numpy as np
from numpy.typing import NDArray

from benchmarks.utility.simulation import ABSTAINED
from fim_private.mining.levelwise import Levelwise
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import SupportSpectrum

# Itemsets with an item beyond so many are taken to have no support, which is a little unfair to the mechanism.
_FREQUENT = 300
Supports = dict[int, NDArray[np.float32]]


def counted(transactions: Transactions, sizes: tuple[int, ...], frequent: int = _FREQUENT) -> Supports:
    """Return supports by size: (items,) of all, descending, and (m + 1,) * size of the most frequent m.

    The last row of each is 0, and stands for any other item. Only entries with ascending indices are meant.
    """
    found: Supports = {1: np.sort(np.bincount(transactions.items).astype(np.float32))[::-1]}
    if max(sizes) > 1:
        m, rows = min(frequent, len(found[1])), _matrix(transactions, frequent)
        found[2] = np.zeros((m + 1, m + 1), dtype=np.float32)
        found[2][:m, :m] = rows.T @ rows
    if max(sizes) > 2:
        found[3] = np.zeros((m + 1,) * 3, dtype=np.float32)
        for item in range(m):
            having = rows[rows[:, item] > 0]  # exact: counts below 2^24 are whole in single precision
            found[3][item, :m, :m] = having.T @ having
    return found


def _matrix(transactions: Transactions, frequent: int) -> NDArray[np.float32]:
    """Return a 0/1 matrix of the baskets by the most frequent items."""
    supports = np.bincount(transactions.items, minlength=len(transactions.vocabulary))
    place = np.full(len(supports), -1)
    order = np.argsort(-supports, kind="stable")[:frequent]
    place[order] = np.arange(len(order))
    columns = place[transactions.items]
    baskets = np.repeat(np.arange(transactions.baskets), np.diff(transactions.offsets))
    matrix = np.zeros((transactions.baskets, len(order)), dtype=np.float32)
    matrix[baskets[columns >= 0], columns[columns >= 0]] = 1
    return matrix


def levelwise(run: Levelwise, supports: Supports, trials: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the supports selected, (trials, count), ABSTAINED where too few items were found."""
    picks = np.full((trials, run.count), ABSTAINED, dtype=np.int64)
    frequent = len(supports[2]) - 1 if 2 in supports else 0
    rate = float(run.itemsets.rate)
    for trial, items in enumerate(_items(run, supports[1], trials, rng)):
        values = []
        for size in (size for size in run.sizes if size <= len(items)):
            if size == 1:
                values.append(supports[1][items])
            else:
                among = np.minimum(np.sort(items), frequent)[_combinations(len(items), size)]
                values.append(supports[size][tuple(among)])
        if values:
            candidates = np.concatenate(values)
            keys = rate * candidates + rng.gumbel(size=len(candidates))
            best = np.argsort(-keys)[: run.count]
            picks[trial, : len(best)] = candidates[best]
    return picks


@lru_cache
def _combinations(count: int, size: int) -> NDArray[np.intp]:
    """Return (size, C(count, size)) ascending indices."""
    return np.array(list(combinations(range(count), size)), dtype=np.intp).T


def _items(
    run: Levelwise, supports: NDArray[np.float32], trials: int, rng: np.random.Generator
) -> list[NDArray[np.intp]]:
    """Return the items that each trial finds, as places in descending order of support, before it abstains."""
    whole = SupportSpectrum.from_supports([int(s) for s in supports if s])
    bottom = next(c for c in run.items.candidates(whole) if c.level is None)
    top = supports[: run.items.max_rank]
    rate = float(run.items.rate)
    found = []
    for _ in range(trials):
        keys = rate * top + rng.gumbel(size=len(top))
        abstaining = rate * bottom.support + log(bottom.multiplicity) + rng.gumbel()
        order = np.argsort(-keys)[: run.sought]
        found.append(order[keys[order] > abstaining])
    return found
