"""The recipe: steps of the budget and numbers of candidates, from public numbers alone; the noise
of a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.bounds import least_integer
from fim_private.dp.noise import (
    Integers,
    Randomness,
    least_exceeding,
    rounded_normal,
    rounded_normal_tail,
)
from fim_private.dp.parameters import Neighbors
from fim_private.errors import ParameterError, parameter

# Itemsets of one size: (n, size) int32 item numbers, ascending in a row.
Itemsets = NDArray[np.int32]
Floats = NDArray[np.float64]


def pairs_of(cells: NDArray[np.integer]) -> Itemsets:
    """Return the pairs a < b at the cells b(b - 1)/2 + a: (n, 2)."""
    larger = np.floor((1 + np.sqrt(1 + 8 * cells.astype(np.float64))) / 2).astype(np.int64)
    larger -= larger * (larger - 1) // 2 > cells  # the root may be off by a rounding
    larger += larger * (larger + 1) // 2 <= cells
    return np.column_stack([cells - larger * (larger - 1) // 2, larger]).astype(np.int32)


def closed_sets(parts: Itemsets) -> Itemsets:
    """Return the itemsets all of whose subsets with one item less are among the parts, as Apriori
    makes them.

    parts: (n, r), all different, r >= 1. The result is (m, r + 1), in lexicographic order.
    """
    rows = sorted(map(tuple, parts.tolist()))
    known, size = set(rows), parts.shape[1] + 1
    by_prefix: dict[tuple[int, ...], list[int]] = {}
    for row in rows:
        by_prefix.setdefault(row[:-1], []).append(row[-1])
    joined = (
        (*prefix, low, high)
        for prefix, lasts in by_prefix.items()
        for low, high in combinations(lasts, 2)
    )
    # The two that were joined are parts; the others lack an item of the prefix.
    found = [s for s in joined if all(s[:i] + s[i + 1 :] in known for i in range(size - 2))]
    return np.array(found, dtype=np.int32).reshape(-1, size)


def most_of_size(count: int, sizes: Sequence[int], size: int) -> int:
    """Return about how many itemsets of a size can be among the `count` most frequent ones of these
    sizes.

    With an itemset its subsets are among them, so all sets of x items, x the most that fit. One
    item more is allowed for those that are not. count: >= 1. sizes: consecutive, size among them.
    """
    smaller = [other for other in sizes if other <= size]
    items = size
    while sum(comb(items + 1, other) for other in smaller) <= count:
        items += 1
    return min(count, comb(items + 1, size))


# Weights are whole multiples of 1/GRID of a unit.
GRID = 1 << 16


@dataclass(frozen=True)
class GaussianBudget:
    """A budget of Gaussian differential privacy. Each step has a share of it fixed beforehand
    (Theorem 13).

    mu_squared: μ² > 0, of the whole release. part: the share of it for these steps together, > 0,
    <= 1.
    """

    mu_squared: Fraction
    neighbors: str
    part: Fraction = Fraction(1)

    def spent(self, share: Fraction) -> Fraction:
        """Return what a step with this share adds to μ²."""
        return share * self.part * self.mu_squared

    def variance(self, share: Fraction, bound: int, candidates: int | None = None) -> Fraction:
        """Return σ², in units squared, of the noise on each weight of a step: Δ² divided by what it
        adds to μ².

        share: the step's, > 0, <= 1. bound: of the squared L2 norm of a unit's weights.
        candidates: how many there are, >= 1, where that is public: no weight exceeds 1, so neither
        does their number.
        """
        squared = bound if self.neighbors == Neighbors.ADD_REMOVE else 2 * bound
        return (squared if candidates is None else min(squared, candidates)) / self.spent(share)


def noisy_sums(sums: NDArray[np.int64], variance: Fraction, randomness: Randomness) -> Integers:
    """Return each sum with normal noise of its own, rounded to multiples of 1/GRID of a unit: (n,)
    whole numbers.

    sums: (n,), in multiples of 1/GRID. variance: of the noise, > 0, in units squared.
    """
    return np.asarray(sums + rounded_normal(variance * GRID**2, len(sums), randomness=randomness))


def noisy_weights(sums: NDArray[np.int64], variance: Fraction, randomness: Randomness) -> Floats:
    """Return `noisy_sums` in units, as floats, for whatever needs no exact comparison: (n,)."""
    return np.asarray(noisy_sums(sums, variance, randomness) / GRID, dtype=np.float64)


# Up to this δ the threshold follows from the largest weights that one item, or all items, can have:
# g(1) <= δ gives T - 1 >= 1.64 σ (Theorem 14).
LARGEST_DELTA = Fraction(1, 20)


def item_threshold(variance: Fraction, delta: Fraction, most: int) -> int:
    """Return T, in multiples of 1/GRID, with which items of one unit alone come out with
    probability delta at most.

    variance: of the noise, in units squared, > 0. delta: > 0, <= LARGEST_DELTA. most: items that a
    unit may have, >= 1. Their squared weights add up to 1 at most. Then one comes out with
    probability p + max(p, q) at most. Here p is that of one item of weight 1, q the sum of those of
    `most` items of weight 1/√most. Where T is at most 1 + σ², q alone is enough (Theorem 14,
    equation 10). All roundings are upwards.
    """
    sigma2, root = variance * GRID**2, math.isqrt((GRID**2 - 1) // most) + 1
    least = max(GRID + least_exceeding(sigma2, delta), root + least_exceeding(sigma2, delta / most))
    if most == 1 or least - GRID <= variance * GRID:
        return least

    def protects(t: int) -> bool:
        one = rounded_normal_tail(sigma2, t - GRID)
        return one + max(one, most * rounded_normal_tail(sigma2, t - root)) <= delta

    return least_integer(protects, least)


# The shares of the budget and the numbers of candidates, tuned on four of seven public data sets
# and checked on the others (docs/benchmarks.md); within a third of these numbers, up or down,
# hardly anything changes.

# For an itemset of 21 items, C(21, 10) = 352,716 of its subsets would have to go on, of which
# 50,000 do at most.
LARGEST_SIZE = 20
# A unit's items beyond so many do not count where items are found: of a basket, and of a user.
OWN_ITEMS, OWN_ITEMS_OF_USER = 1_000, 150
# Items that go on to the pairs, at most, of baskets (a million pairs) and of users.
_MOST_ITEMS, _MOST_ITEMS_OF_USERS = 1_500, 150
# Candidates of one size in one count, at most.
_MOST_CANDIDATES = 50_000
# Up to so many itemsets, and from such an ε on, telling the candidates apart is harder than finding
# them.
_FEW, _AMPLE = 20, Fraction(1, 2)


@dataclass(frozen=True)
class Recipe:
    """What a run spends, and on how many candidates.

    items, levels, first, histogram, second: shares of μ², which add up to 1. They are for items,
    sets of 2, 3, … items, the first count, how many candidates units have, and the second count.
    most_items: how many items go on. most_closed: how many candidates of a size are weighed.
    survivors: how many of these go on. pool: for each size asked for, how many candidates are
    counted first. second_pool: how many, of each size or in all, are counted again.
    first_bound: the squared norm of a unit's weights in the first count. own_items: how many items
    of a unit count where items are found. listed_stand_out: of a list those items go on whose
    weight is this many σ; None for all.
    ahead: what is not counted again is this many times as frequent as the last one sought, >= 1.
    """

    items: Fraction
    levels: tuple[Fraction, ...]
    first: Fraction
    histogram: Fraction
    second: Fraction
    most_items: int
    most_closed: int
    survivors: int
    pool: tuple[int, ...]
    second_pool: int
    first_bound: int = 16
    own_items: int = OWN_ITEMS
    listed_stand_out: float | None = None
    ahead: Fraction = Fraction(1)

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        count: int,
        *,
        union: bool,
        by_user: bool,
        epsilon: Fraction,
        neighbors: str,
        listed: bool,
    ) -> Recipe:
        """Return the recipe for the `count` >= 1 most frequent itemsets, of each size or with union
        of all.

        sizes: consecutive, >= 1. by_user: of users, not of baskets. listed: whether the items are
        public: it makes a difference for users only. Raises ParameterError for a size above
        LARGEST_SIZE.
        """
        _check_sizes(sizes)
        alone, together = tuple(sizes) == (1,), union and sizes[0] == 1
        candidates = _candidates(sizes, count, union=union, items_of_users=by_user and alone)
        # Every subset of one of the `count` most frequent sets is among them itself, if its size
        # is.
        most_items = _MOST_ITEMS_OF_USERS if by_user else _MOST_ITEMS
        most_items = min(max(3 * count, 30), most_items) if together else most_items
        if by_user:
            kind = (
                "items"
                if alone
                else "together"
                if together
                else "pairs"
                if sizes[-1] == 2
                else "larger"
            )
            share, pairs, larger, first = (
                Fraction(percent, 100) for percent in _USERS_SHARES[kind, listed]
            )
            if kind in ("pairs", "larger") and not listed:
                usual, share = share, unlisted_items_share(share, epsilon, neighbors)
                pairs, larger, first = (
                    (1 - share) / (1 - usual) * each for each in (pairs, larger, first)
                )
            of_levels = [pairs, *[larger] * (sizes[-1] - 2)][: sizes[-1] - 1]
            # However many levels there are, they leave the counts what they have with two.
            most = min(Fraction(1), (pairs + larger) / sum(of_levels)) if of_levels else Fraction(1)
            histogram, second = (
                Fraction(2, 100),
                1 - share - sum(of_levels) * most - first - Fraction(2, 100),
            )
            steps = share, tuple(each * most for each in of_levels), first, histogram, second
            most_items = 3 * count + 20 if alone else most_items
            return cls(*steps, most_items, **candidates, first_bound=3, own_items=OWN_ITEMS_OF_USER)
        few = count <= _FEW and epsilon >= _AMPLE
        if alone:  # all of discovery
            items = min(0.2 + 0.003 * count, 0.5)
        elif together:
            items = 0.12 if epsilon <= _AMPLE else 0.1
        else:  # more where the threshold is high
            doubled = sqrt(2) if neighbors == Neighbors.REPLACE_ONE else 1.0
            items = min(max((0.05 if few else 0.075) * doubled / float(epsilon), 0.05), 0.3)
        each = 0.1 if together or few else 0.15
        levels = [0.05 if together else each, *[each] * (sizes[-1] - 2)][: sizes[-1] - 1]
        shrink = min(1.0, 0.45 / max(sum(levels), 0.45))  # all together 0.45 at most
        shares = _rounded(items), tuple(_rounded(share * shrink) for share in levels)
        rest = 1 - shares[0] - sum(shares[1])
        first, histogram = rest * Fraction(40 if few else 25, 100), rest * Fraction(3, 100)
        # More items of a list would make more pairs, of which each would weigh less (FNR of pairs,
        # k = 100, mean of five data sets: .198 with all, .151 at 3 σ, .064 at 6 σ, .090 at 9 σ). In
        # dense baskets scaling takes more from some itemsets than from others (mushroom, triples, k
        # = 50: FNR .10 with ahead = 1, .03 with 1.5).
        steps = *shares, first, histogram, rest - first - histogram
        return cls(*steps, most_items, **candidates, listed_stand_out=6.0, ahead=Fraction(3, 2))


# The shares of users, in hundredths: for items, the pairs, each larger level, and the first count.
# By what is sought (only items, sizes from 1 on ranked together, pairs, or larger ones too), and
# whether the items are listed. Chosen on whole shops and on halves of their customers; within a
# quarter of these numbers hardly anything changes.
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
    """Return the share for items of users that nobody listed: more where the noise is larger, from
    .8 to 1.3 times.
    """
    doubled = 2 if neighbors == Neighbors.REPLACE_ONE else 1
    return share * _rounded(min(max((doubled / float(epsilon)) ** 0.25, 0.8), 1.3))


def _check_sizes(sizes: Sequence[int]) -> None:
    if sizes[-1] > LARGEST_SIZE:
        raise ParameterError(
            f"{parameter('size')} must be at most {LARGEST_SIZE} with levelwise, which finds all "
            f"smaller ones first"
        )


def _candidates(
    sizes: Sequence[int], count: int, *, union: bool, items_of_users: bool = False
) -> dict[str, Any]:
    """Return how many candidates are weighed of a size, go on, are counted of each size, and are
    counted again.
    """
    if items_of_users:
        pool = [3 * count + 20]
    elif union:
        pool = [3 * most_of_size(count, sizes, size) for size in sizes]
    else:  # 20, 10, 8 times as many as are sought, of 10, 50, 100
        pool = [max(round(20 * count * (count / 10) ** -0.4), 2 * count)] * len(sizes)
    pool = [min(each, _MOST_CANDIDATES) for each in pool]
    weighed = max(8_000, min(4 * max(pool), _MOST_CANDIDATES))
    return {
        "most_closed": weighed,
        "survivors": max(1_000, *pool),
        "pool": tuple(pool),
        "second_pool": 2 * count + 10,
    }


def _rounded(share: float) -> Fraction:
    return Fraction(max(round(1000 * share), 1), 1000)


# For a threshold, chosen on five public data sets and the corner shop, as robust: of items alone,
# the share that finds them; and that of each histogram.
_ITEMS_ALONE, _HISTOGRAM = Fraction(35, 100), Fraction(15, 1000)
# With sets, in hundredths: what finds the items, what counts them, what each level of sets has, and
# all levels together at most. Of baskets; of users without a list of items, and with one.
_BASKETS, _USERS, _USERS_LISTED = (23, 8, 20, 36), (50, 6, 17, 26), (30, 6, 26, 26)


@dataclass(frozen=True)
class ThresholdRecipe:
    """What a run with a threshold spends, and on how many candidates.

    items, item_count, levels, set_count: shares of μ², which with that of the histogram before each
    count add up to 1. They are for finding items, counting them, the sets of 2, 3, … items, and
    counting the sets. Without sets there are no levels, and set_count is 0. survivors: how many of
    each size are counted. The others as in Recipe.
    """

    items: Fraction
    item_count: Fraction
    levels: tuple[Fraction, ...]
    set_count: Fraction
    histogram: Fraction = _HISTOGRAM
    own_items: int = OWN_ITEMS
    most_items: int = 1_500
    most_closed: int = 8_000
    survivors: int = 2_000

    @classmethod
    def of(
        cls, sizes: Sequence[int], *, by_user: bool, epsilon: Fraction, neighbors: str, listed: bool
    ) -> ThresholdRecipe:
        """Return the recipe for itemsets of baskets or users. Raises as `Recipe.of` does."""
        _check_sizes(sizes)
        if not (levels := sizes[-1] - 1):
            return cls(_ITEMS_ALONE, 1 - _ITEMS_ALONE - _HISTOGRAM, (), Fraction(0))
        percents = _BASKETS if not by_user else _USERS_LISTED if listed else _USERS
        usual, item_count, level, most = (Fraction(percent, 100) for percent in percents)
        items = unlisted_items_share(usual, epsilon, neighbors) if by_user and not listed else usual
        # What the items take more, all others give in proportion: none is left with nothing.
        left = (1 - items) / (1 - usual)
        item_count, each = left * item_count, left * min(level, most / levels)
        rest = 1 - items - item_count - 2 * _HISTOGRAM - levels * each
        return cls(
            items,
            item_count,
            (each,) * levels,
            rest,
            own_items=OWN_ITEMS_OF_USER if by_user else OWN_ITEMS,
        )


AnyRecipe = Recipe | ThresholdRecipe
