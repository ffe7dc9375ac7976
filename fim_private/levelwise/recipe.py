"""The recipe: the steps, their noise and numbers of candidates, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, sqrt

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.bounds import least_integer
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.noise import (
    Integers,
    Randomness,
    least_exceeding,
    rounded_normal,
    rounded_normal_tail,
)
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


def closed_sets(subsets: Itemsets) -> Itemsets:
    """Return the itemsets whose subsets with one item less are all there, as Apriori joins them.

    subsets: (n, r), all different, r >= 1. The result is (m, r + 1), in lexicographic order.
    """
    rows = sorted(map(tuple, subsets.tolist()))
    known, size = set(rows), subsets.shape[1] + 1
    by_prefix: dict[tuple[int, ...], list[int]] = {}
    for row in rows:
        by_prefix.setdefault(row[:-1], []).append(row[-1])
    joined = (
        (*prefix, low, high)
        for prefix, lasts in by_prefix.items()
        for low, high in combinations(lasts, 2)
    )
    # The two that were joined are known; the other subsets lack an item of the prefix.
    closed = [s for s in joined if all(s[:i] + s[i + 1 :] in known for i in range(size - 2))]
    return np.array(closed, dtype=np.int32).reshape(-1, size)


def most_of_size(count: int, sizes: Sequence[int], size: int) -> int:
    """Return about how many of the `count` most frequent itemsets can have a size.

    With an itemset its subsets are among them, so all sets of x items, x the most that fit. One
    item more is allowed for those that are not.

    Args:
        count: How many are sought, >= 1, of all sizes together.
        sizes: The sizes that are sought, consecutive.
        size: One of these.
    """
    up_to_size = [smaller for smaller in sizes if smaller <= size]
    items = size
    while sum(comb(items + 1, smaller) for smaller in up_to_size) <= count:
        items += 1
    return min(count, comb(items + 1, size))


# Weights are whole multiples of 1/GRID of a unit.
GRID = 1 << 16


@dataclass(frozen=True)
class GaussianBudget:
    """A budget of Gaussian differential privacy: each step has a fixed share (Theorem 13).

    Attributes:
        mu_squared: μ² > 0, of the whole release.
        neighbors: The neighbour relation.
        part: The share of it for these steps together, > 0, <= 1.
    """

    mu_squared: Fraction
    neighbors: str
    part: Fraction = Fraction(1)

    def spent(self, share: Fraction) -> Fraction:
        """Return what a step with this share adds to μ²."""
        return share * self.part * self.mu_squared

    def variance(self, share: Fraction, bound: int, candidates: int | None = None) -> Fraction:
        """Return σ², in units squared, of the noise on each weight: Δ² divided by the μ² spent.

        Args:
            share: The share of the step, > 0, <= 1.
            bound: The bound of the squared L2 norm of a unit's weights.
            candidates: How many there are, >= 1, where that is public: no weight exceeds 1, so
                neither does the squared norm exceed their number.
        """
        squared = bound if self.neighbors == Neighbors.ADD_REMOVE else 2 * bound
        if candidates is not None:
            squared = min(squared, candidates)
        return squared / self.spent(share)


def noisy_sums(sums: NDArray[np.int64], variance: Fraction, randomness: Randomness) -> Integers:
    """Return each sum with normal noise of its own, in whole multiples of 1/GRID of a unit: (n,).

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
    """Return the threshold T of the items, in multiples of 1/GRID.

    With it, items that one unit alone has come out with probability delta at most.

    The squared weights of a unit's items add up to 1 at most. Then one comes out with probability
    p + max(p, q) at most. Here p is that of one item of weight 1, q the sum of those of `most`
    items of weight 1/√most. Where T is at most 1 + σ², q alone is enough (Theorem 14, equation 10).
    All roundings are upwards.

    Args:
        variance: The variance of the noise, in units squared, > 0.
        delta: The probability, > 0, <= LARGEST_DELTA.
        most: How many items a unit may have, >= 1.
    """
    sigma2 = variance * GRID**2
    root = math.isqrt((GRID**2 - 1) // most) + 1
    least = max(GRID + least_exceeding(sigma2, delta), root + least_exceeding(sigma2, delta / most))
    if most == 1 or least - GRID <= variance * GRID:
        return least

    def protects(threshold: int) -> bool:
        of_one_item = rounded_normal_tail(sigma2, threshold - GRID)
        of_most_items = most * rounded_normal_tail(sigma2, threshold - root)
        return of_one_item + max(of_one_item, of_most_items) <= delta

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


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a run spends, and on how many candidates. The shares, of μ², add up to 1.

    Attributes:
        items: The share for the items.
        levels: The shares for sets of 2, 3, … items.
        first: The share for the first count.
        histogram: The share for how many candidates units have.
        second: The share for the second count.
        most_items: How many items go on.
        most_closed: How many candidates of a size are weighed.
        survivors: How many of these go on.
        pool: How many candidates are counted first, for each size asked for.
        second_pool: How many, of each size or in all, are counted again.
        first_bound: The squared norm of a unit's weights in the first count.
        own_items: How many items of a unit count where items are found.
        listed_stand_out: Of a list those items go on whose weight is this many σ; None for all.
        ahead: What is not counted again is this many times as frequent as the last one sought, >=
            1.
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
        """Return the recipe for the `count` >= 1 most frequent itemsets.

        Raises ParameterError for a size above LARGEST_SIZE.

        Args:
            sizes: The sizes of the itemsets, consecutive, >= 1.
            count: How many are sought, of each size or with union of all.
            union: Whether all sizes are ranked together.
            by_user: Whether the units are users, not baskets.
            epsilon: The ε of the release.
            neighbors: The neighbour relation.
            listed: Whether the items are public: it makes a difference for users only.
        """
        _check_sizes(sizes)
        if by_user:
            return cls._of_users(sizes, count, union, epsilon, neighbors, listed)
        return cls._of_baskets(sizes, count, union, epsilon, neighbors)

    @classmethod
    def _of_users(
        cls,
        sizes: Sequence[int],
        count: int,
        union: bool,
        epsilon: Fraction,
        neighbors: str,
        listed: bool,
    ) -> Recipe:
        sought = _sought(sizes, union)
        percents = _USERS_SHARES[sought, listed]
        items, pairs, larger, first = (Fraction(percent, 100) for percent in percents)
        if sought in ("pairs", "larger") and not listed:
            usual, items = items, unlisted_items_share(items, epsilon, neighbors)
            left = (1 - items) / (1 - usual)
            pairs, larger, first = left * pairs, left * larger, left * first
        levels: list[Fraction] = []
        if sought != "items":
            levels = [pairs] + [larger] * (sizes[-1] - 2)
            # However many levels there are, they leave the counts what they have with two.
            scale = min(Fraction(1), (pairs + larger) / sum(levels))
            levels = [scale * share for share in levels]
        histogram = Fraction(2, 100)
        if sought == "items":
            pool, most_items = _limited([3 * count + 20]), 3 * count + 20
        else:
            pool = _first_pool(sizes, count, union)
            most_items = _most_items(sizes, count, union, _MOST_ITEMS_OF_USERS)
        return cls(
            items=items,
            levels=tuple(levels),
            first=first,
            histogram=histogram,
            second=1 - items - sum(levels) - first - histogram,
            most_items=most_items,
            most_closed=_most_closed(pool),
            survivors=max(1_000, *pool),
            pool=pool,
            second_pool=2 * count + 10,
            first_bound=3,
            own_items=OWN_ITEMS_OF_USER,
        )

    @classmethod
    def _of_baskets(
        cls, sizes: Sequence[int], count: int, union: bool, epsilon: Fraction, neighbors: str
    ) -> Recipe:
        sought = _sought(sizes, union)
        is_easy = count <= _FEW and epsilon >= _AMPLE
        if sought == "items":  # all of discovery
            items_share = min(0.2 + 0.003 * count, 0.5)
        elif sought == "together":
            items_share = 0.12 if epsilon <= _AMPLE else 0.1
        else:  # more where the threshold is high
            base = 0.05 if is_easy else 0.075
            if neighbors == Neighbors.REPLACE_ONE:
                base *= sqrt(2)
            items_share = min(max(base / float(epsilon), 0.05), 0.3)
        items = _rounded(items_share)
        levels = _levels_of_baskets(sizes[-1], sought == "together", is_easy)
        rest = 1 - items - sum(levels)
        first = rest * Fraction(40 if is_easy else 25, 100)
        histogram = rest * Fraction(3, 100)
        pool = _first_pool(sizes, count, union)
        return cls(
            items=items,
            levels=levels,
            first=first,
            histogram=histogram,
            second=rest - first - histogram,
            most_items=_most_items(sizes, count, union, _MOST_ITEMS),
            most_closed=_most_closed(pool),
            survivors=max(1_000, *pool),
            pool=pool,
            second_pool=2 * count + 10,
            # More items of a list would make more pairs, of which each would weigh less (FNR of
            # pairs, k = 100, mean of five data sets: .198 with all, .151 at 3 σ, .064 at 6 σ, .090
            # at 9 σ).
            listed_stand_out=6.0,
            # In dense baskets scaling takes more from some itemsets than from others (mushroom,
            # triples, k = 50: FNR .10 with ahead = 1, .03 with 1.5).
            ahead=Fraction(3, 2),
        )


def _sought(sizes: Sequence[int], union: bool) -> str:
    """Return which kind of itemsets is sought, as _USERS_SHARES names them."""
    if tuple(sizes) == (1,):
        return "items"
    if union and sizes[0] == 1:
        return "together"
    return "pairs" if sizes[-1] == 2 else "larger"


def _most_items(sizes: Sequence[int], count: int, union: bool, most: int) -> int:
    """Return how many items go on, `most` at most."""
    if union and sizes[0] == 1:
        # Every subset of one of the `count` most frequent sets is among them itself.
        return min(max(3 * count, 30), most)
    return most


def _levels_of_baskets(largest: int, is_together: bool, is_easy: bool) -> tuple[Fraction, ...]:
    """Return the share of each level, up to that of the largest size."""
    if largest == 1:
        return ()
    larger = 0.1 if is_together or is_easy else 0.15
    pairs = 0.05 if is_together else larger
    shares = [pairs] + [larger] * (largest - 2)
    scale = min(1.0, 0.45 / max(sum(shares), 0.45))  # all together 0.45 at most
    return tuple(_rounded(share * scale) for share in shares)


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
    """Return the share for items of users without a list: .8 to 1.3 times, more with more noise."""
    doubled = 2 if neighbors == Neighbors.REPLACE_ONE else 1
    return share * _rounded(min(max((doubled / float(epsilon)) ** 0.25, 0.8), 1.3))


def _check_sizes(sizes: Sequence[int]) -> None:
    if sizes[-1] > LARGEST_SIZE:
        raise ParameterError(
            f"{parameter('size')} must be at most {LARGEST_SIZE} with levelwise, which finds all "
            f"smaller ones first"
        )


def _first_pool(sizes: Sequence[int], count: int, union: bool) -> tuple[int, ...]:
    """Return how many candidates of each size are counted first."""
    if union:
        return _limited([3 * most_of_size(count, sizes, size) for size in sizes])
    # 20, 10, 8 times as many as are sought, of 10, 50, 100
    times_as_many = round(20 * count * (count / 10) ** -0.4)
    return _limited([max(times_as_many, 2 * count)] * len(sizes))


def _limited(pool: Sequence[int]) -> tuple[int, ...]:
    return tuple(min(candidates, _MOST_CANDIDATES) for candidates in pool)


def _most_closed(pool: Sequence[int]) -> int:
    """Return how many candidates of a size are weighed, for so many that are counted first."""
    return max(8_000, min(4 * max(pool), _MOST_CANDIDATES))


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

    The shares, of μ², add up to 1 with that of the histogram before each count. Without sets there
    are no levels, and set_count is 0. The fields that are not listed are as in Recipe.

    Attributes:
        items: The share for finding items.
        item_count: The share for counting them.
        levels: The shares for sets of 2, 3, … items.
        set_count: The share for counting the sets.
        survivors: How many of each size are counted.
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
        levels = sizes[-1] - 1
        if not levels:
            return cls(_ITEMS_ALONE, 1 - _ITEMS_ALONE - _HISTOGRAM, (), Fraction(0))
        percents = _BASKETS
        if by_user:
            percents = _USERS_LISTED if listed else _USERS
        usual, item_count, level, most = (Fraction(percent, 100) for percent in percents)
        items = usual
        if by_user and not listed:
            items = unlisted_items_share(usual, epsilon, neighbors)
        # If the items get more, every other step gives up the same proportion, so each keeps
        # something.
        left = (1 - items) / (1 - usual)
        item_count, level = left * item_count, left * min(level, most / levels)
        return cls(
            items,
            item_count,
            (level,) * levels,
            1 - items - item_count - 2 * _HISTOGRAM - levels * level,
            own_items=OWN_ITEMS_OF_USER if by_user else OWN_ITEMS,
        )


AnyRecipe = Recipe | ThresholdRecipe
