"""The parts of the budget and the numbers of candidates, from public numbers alone.

Tuned on four of seven public data sets and checked on the others (docs/benchmarks.md); within a third of these numbers,
either way, hardly anything changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

from fim_private.dp.parameters import Neighbors
from fim_private.errors import ParameterError, parameter
from fim_private.levelwise.closed_sets import most_of_size

# The largest itemsets that can be found: for one of 21 items, C(21, 10) = 352,716 of its parts would have to be among
# those that are kept, which are 50,000 at most.
LARGEST_SIZE = 20
# A unit's items beyond so many do not count where items are found: of a basket, and of a user.
OWN_ITEMS, OWN_ITEMS_OF_USER = 1_000, 150
# Items that go on to the pairs, at most: a million pairs.
_MOST_ITEMS = 1_500
# Candidates of one size in one count, at most.
_MOST_CANDIDATES = 50_000
# Up to so many itemsets, and from such an ε on, telling the candidates apart is harder than finding them.
_FEW, _AMPLE = 20, Fraction(1, 2)


@dataclass(frozen=True)
class Recipe:
    """What a run spends, and on how many candidates.

    items, levels, first, histogram, second: parts of μ², which add up to 1: for the items; for the sets of 2, 3, …
    items; for the first count; for how many candidates units hold; for the second count.
    most_items: how many items go on. most_closed: how many candidates of a size are weighed. kept: how many of them go
    on. pool: for each size asked for, how many candidates are counted first. second_pool: how many, of each size or in
    all, are counted again. first_bound: the squared norm of a unit's weights in the first count. own_items: how many
    items of a unit count where items are found.
    """

    items: Fraction
    levels: tuple[Fraction, ...]
    first: Fraction
    histogram: Fraction
    second: Fraction
    most_items: int
    most_closed: int
    kept: int
    pool: tuple[int, ...]
    second_pool: int
    first_bound: int = 16
    own_items: int = OWN_ITEMS

    @classmethod
    def of(cls, sizes: Sequence[int], count: int, *, union: bool, epsilon: Fraction, neighbors: str) -> Recipe:
        """Return the recipe for the `count` >= 1 most frequent itemsets, of each size or with union of all.

        sizes: consecutive, >= 1. Raises ParameterError for one above LARGEST_SIZE.
        """
        if sizes[-1] > LARGEST_SIZE:
            raise ParameterError(
                f"{parameter('size')} must be at most {LARGEST_SIZE} with levelwise, which finds all smaller ones first"
            )
        together = union and sizes[0] == 1
        few = count <= _FEW and epsilon >= _AMPLE
        items = _items_share(sizes, count, together, few, float(epsilon), neighbors)
        levels = _level_shares(sizes, few=few, together=together)
        rest = 1 - items - sum(levels)
        first = rest * Fraction(40 if few else 25, 100)
        histogram = rest * Fraction(3, 100)
        # 20, 10, 8 times as many as are sought, of 10, 50, 100.
        wide = min(max(round(20 * count * (count / 10) ** -0.4), 2 * count), _MOST_CANDIDATES)
        most = (min(3 * most_of_size(count, sizes, size), _MOST_CANDIDATES) for size in sizes)
        pool = tuple(most) if union else (wide,) * len(sizes)
        return cls(
            items,
            levels,
            first,
            histogram,
            rest - first - histogram,
            # Every subset of one of the `count` most frequent sets is among them itself, if its size is.
            most_items=min(max(3 * count, 30), _MOST_ITEMS) if together else _MOST_ITEMS,
            most_closed=max(8_000, min(4 * max(pool), _MOST_CANDIDATES)),
            kept=max(1_000, *pool),
            pool=pool,
            second_pool=2 * count + 10,
        )

    def with_items(self, share: Fraction) -> Recipe:
        """Return the same recipe with another part for the items, below 1; all else keeps its proportions."""
        rest = (1 - share) / (1 - self.items)
        return replace(
            self,
            items=share,
            levels=tuple(each * rest for each in self.levels),
            first=self.first * rest,
            histogram=self.histogram * rest,
            second=self.second * rest,
        )


def _items_share(
    sizes: Sequence[int], count: int, together: bool, few: bool, epsilon: float, neighbors: str
) -> Fraction:
    """Return the items' part: more where the threshold is high, and all of discovery where there are only items."""
    doubled = sqrt(2) if neighbors == Neighbors.REPLACE_ONE else 1.0
    if tuple(sizes) == (1,):
        share = 0.2 + 0.003 * count
    elif together:
        share = 0.12 if epsilon <= 0.5 else 0.1
    else:
        share = max((0.05 if few else 0.075) * doubled / epsilon, 0.05)
    return _rounded(min(share, 0.5 if tuple(sizes) == (1,) else 0.3))


def _level_shares(sizes: Sequence[int], *, few: bool, together: bool) -> tuple[Fraction, ...]:
    """Return the part of each level of 2, 3, … items, all together about 0.45 at most."""
    levels = sizes[-1] - 1
    if not levels:
        return ()
    each = 0.1 if together or few else 0.15
    shares = [0.05 if together else each] + [each] * (levels - 1)
    shrink = min(1.0, 0.45 / sum(shares))
    return tuple(_rounded(share * shrink) for share in shares)


def _rounded(share: float) -> Fraction:
    """Return a part as a rational with three decimals, at least one thousandth."""
    return Fraction(max(round(1000 * share), 1), 1000)
