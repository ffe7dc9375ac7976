"""The parts of the budget and the numbers of candidates, from public numbers alone.

Tuned on four of seven public data sets and checked on the others (docs/benchmarks.md); within a third of these numbers,
either way, hardly anything changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    items of a unit count where items are found. listed_stand_out: of a list those items go on whose weight is so many
    σ; None for all. ahead: what is not counted again is so many times as frequent as the last one sought, >= 1.
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
    listed_stand_out: float | None = None
    ahead: Fraction = Fraction(1)

    @classmethod
    def of(
        cls, sizes: Sequence[int], count: int, *, union: bool, epsilon: Fraction, neighbors: str, listed: bool
    ) -> Recipe:
        """Return the recipe for the `count` >= 1 most frequent itemsets of baskets, of each size or with union of all.

        sizes: consecutive, >= 1. listed: whether the items are public: it makes no difference here, but for users.
        Raises ParameterError for a size above LARGEST_SIZE.
        """
        _check(sizes)
        together = union and sizes[0] == 1
        few = count <= _FEW and epsilon >= _AMPLE
        items = _items_share(sizes, count, together, few, float(epsilon), neighbors)
        levels = _level_shares(sizes, few=few, together=together)
        rest = 1 - items - sum(levels)
        first = rest * Fraction(40 if few else 25, 100)
        histogram = rest * Fraction(3, 100)
        pool = _pool(sizes, count, union=union)
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
            # More of them would make more pairs, of which each would weigh less (FNR of pairs, k = 100, mean of five
            # data sets: .198 with all, .151 at 3 σ, .064 at 6 σ, .090 at 9 σ).
            listed_stand_out=6.0,
            # In dense baskets scaling takes more from some itemsets than from others (mushroom, triples, k = 50: FNR
            # .10 with 1, .03 with 1.5).
            ahead=Fraction(3, 2),
        )

    @classmethod
    def of_users(
        cls, sizes: Sequence[int], count: int, *, union: bool, epsilon: Fraction, neighbors: str, listed: bool
    ) -> Recipe:
        """Return the recipe for the itemsets of users; as `of`, which it differs from by few items that go on."""
        _check(sizes)
        alone, together = tuple(sizes) == (1,), union and sizes[0] == 1
        kind = "items" if alone else "together" if together else "pairs" if sizes[-1] == 2 else "larger"
        items, pairs, larger, first = (Fraction(percent, 100) for percent in _USERS_SHARES[kind, listed])
        if kind in ("pairs", "larger") and not listed:
            part = unlisted_items_share(items, epsilon, neighbors)
            pairs, larger, first, items = *((1 - part) / (1 - items) * each for each in (pairs, larger, first)), part
        levels = [pairs, *[larger] * (sizes[-1] - 2)][: sizes[-1] - 1]
        # However many levels there are, they leave the counts what they have with two.
        shrink = min(Fraction(1), (pairs + larger) / sum(levels)) if levels else Fraction(1)
        pool = (3 * count + 20,) if alone else _pool(sizes, count, union=union)
        histogram = Fraction(2, 100)
        return cls(
            items,
            tuple(each * shrink for each in levels),
            first,
            histogram,
            1 - items - sum(levels) * shrink - first - histogram,
            most_items=3 * count + 20 if alone else min(max(3 * count, 30), 150) if together else 150,
            most_closed=max(8_000, min(4 * max(pool), _MOST_CANDIDATES)),
            kept=max(1_000, *pool),
            pool=pool,
            second_pool=2 * count + 10,
            first_bound=3,
            own_items=OWN_ITEMS_OF_USER,
        )


# The parts of users, in hundredths: for the items, the pairs, each larger level, and the first count. By what is sought
# (only items, sizes from 1 on ranked together, pairs, or larger ones too), and whether the items are listed. Chosen on
# whole shops and on halves of their customers; within a quarter of these numbers hardly anything changes.
_USERS_SHARES = {
    ("items", False): (70, 0, 0, 5),
    ("items", True): (55, 0, 0, 8),
    ("together", False): (65, 6, 4, 5),
    ("together", True): (42, 8, 4, 12),
    ("pairs", False): (50, 18, 0, 10),
    ("pairs", True): (28, 30, 0, 13),
    ("larger", False): (45, 14, 14, 8),
    ("larger", True): (25, 20, 20, 10),
}


def unlisted_items_share(share: Fraction, epsilon: Fraction, neighbors: str) -> Fraction:
    """Return the part for items of users that nobody listed: more where the noise is larger, from .8 to 1.3 times."""
    doubled = 2 if neighbors == Neighbors.REPLACE_ONE else 1
    return share * _rounded(min(max((doubled / float(epsilon)) ** 0.25, 0.8), 1.3))


def _check(sizes: Sequence[int]) -> None:
    if sizes[-1] > LARGEST_SIZE:
        raise ParameterError(
            f"{parameter('size')} must be at most {LARGEST_SIZE} with levelwise, which finds all smaller ones first"
        )


def _pool(sizes: Sequence[int], count: int, *, union: bool) -> tuple[int, ...]:
    """Return how many candidates of each size are counted first."""
    if union:
        return tuple(min(3 * most_of_size(count, sizes, size), _MOST_CANDIDATES) for size in sizes)
    # 20, 10, 8 times as many as are sought, of 10, 50, 100.
    wide = min(max(round(20 * count * (count / 10) ** -0.4), 2 * count), _MOST_CANDIDATES)
    return (wide,) * len(sizes)


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
