"""All data of three items and at most three baskets, and which of them are neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement

import oracles
from release_distributions import Itemset

ITEMS = ("a", "b", "c")
BASKETS = tuple(basket for size in range(4) for basket in combinations(ITEMS, size))
ITEMSETS = BASKETS[1:]
MOST_BASKETS = 3

Database = tuple[Itemset, ...]
Column = tuple[int, ...]  # the support of each of ITEMSETS


def databases(most: int = MOST_BASKETS) -> Iterator[Database]:
    for size in range(most + 1):
        yield from combinations_with_replacement(BASKETS, size)


def neighbouring(neighbors: oracles.Neighbors) -> Iterator[tuple[Database, Database]]:
    """Every pair of databases with at most three baskets that differ in one basket, once."""
    for rest in databases(MOST_BASKETS - 1):
        if neighbors == "add-remove":
            yield from ((rest, (*rest, basket)) for basket in BASKETS)
        else:
            yield from (((*rest, one), (*rest, other)) for one, other in combinations(BASKETS, 2))


def column(database: Database, cut: int = 3) -> Column:
    """The supports, counted basket by basket, of which the first `cut` items count."""
    baskets = [set(basket[:cut]) for basket in database]
    return tuple(sum(basket.issuperset(itemset) for basket in baskets) for itemset in ITEMSETS)


def supports_of(values: Column) -> dict[Itemset, int]:
    return dict(zip(ITEMSETS, values, strict=True))
