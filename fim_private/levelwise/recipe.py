"""Recipes: the steps, noise and numbers of candidates, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, groupby
from math import comb, sqrt

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.source import NOTHING_KNOWN, KnownItemsets
from fim_private.counting.work import Int64
from fim_private.dp.bounds import least_integer
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.noise import (
    Floats,
    Integers,
    Randomness,
    least_exceeding,
    rounded_normal,
    rounded_normal_tail,
)
from fim_private.errors import ParameterError, parameter

# Itemsets of one size: (n, size) int32 item numbers, ascending in a row.
Itemsets = NDArray[np.int32]
Places = NDArray[np.intp]
Marks = NDArray[np.bool_]


def closed_sets(subsets: Itemsets) -> Itemsets:
    """Return the itemsets whose subsets with one item less are all there, as Apriori joins them.

    subsets: (n, r), all different, r >= 1. The result is (m, r + 1), in lexicographic order.
    """
    rows = sorted(map(tuple, subsets.tolist()))
    present, size = set(rows), subsets.shape[1] + 1
    closed = [
        (*low, high[-1])
        for _, same_prefix in groupby(rows, key=lambda row: row[:-1])
        for low, high in combinations(same_prefix, 2)
        # The two that are joined are present; the other subsets lack an item of the prefix.
        if all((*low[:i], *low[i + 1 :], high[-1]) in present for i in range(size - 2))
    ]
    return np.array(closed, dtype=np.int32).reshape(-1, size)


def most_of_size(count: int, sizes: Sequence[int], size: int) -> int:
    """Return about how many of the `count` most frequent itemsets can have a size.

    Every subset of a frequent itemset is frequent too. So most itemsets of
    one size fit in if all sets of the same x items are among the `count`. One item more allows for
    others.

    Args:
        count: How many itemsets are sought, >= 1, of all sizes together.
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
    """A budget of Gaussian differential privacy, of which each step spends a share (Theorem 13).

    Attributes:
        mu_squared: μ² > 0 of the whole release.
        neighbors: The neighbour relation.
        part: The share of μ² that all steps of the run spend together, > 0, <= 1.
    """

    mu_squared: Fraction
    neighbors: str
    part: Fraction

    def variance(self, share: Fraction, bound: int, candidates: int | None = None) -> Fraction:
        """Return σ², in units squared, of the noise on each weight: Δ² divided by the μ² spent.

        Args:
            share: The share of the step, > 0, <= 1.
            bound: The bound of the squared L2 norm of a unit's weights.
            candidates: The number of candidates, >= 1, or None where it is not public. No weight
                exceeds 1, so the squared L2 sensitivity Δ² does not exceed this number.
        """
        squared_sensitivity = Neighbors(self.neighbors).changed_units * bound
        if candidates is not None:
            squared_sensitivity = min(squared_sensitivity, candidates)
        return squared_sensitivity / (share * self.part * self.mu_squared)


def noisy_sums(sums: Int64, variance: Fraction, randomness: Randomness) -> Integers:
    """Return each sum with independent rounded normal noise: (n,), in multiples of 1/GRID.

    sums: (n,), in multiples of 1/GRID. variance: σ² of the noise, > 0, in units squared.
    """
    return sums + rounded_normal(variance * GRID**2, len(sums), randomness=randomness)


def noisy_weights(sums: Int64, variance: Fraction, randomness: Randomness) -> Floats:
    """Return `noisy_sums` in units, as floats, where no comparison must be exact: (n,)."""
    return np.asarray(noisy_sums(sums, variance, randomness) / GRID, dtype=np.float64)


# Up to this δ the threshold follows from the largest weights that one item, or all items, can have:
# g(1) <= δ gives T - 1 >= 1.64 σ (Theorem 14).
LARGEST_ITEMS_DELTA = Fraction(1, 20)


def item_threshold(variance: Fraction, delta: Fraction, most: int) -> int:
    """Return T, the noisy weight from which on an item is named, in multiples of 1/GRID.

    With T, any items that one unit alone has are named with probability delta at most.

    The squared weights of a unit's items add up to 1 at most. So one of its items is named with
    probability p + max(p, q) at most. Here p is that of one item of weight 1, and q the sum of
    those of `most` items of weight 1/√most. Where T is at most 1 + σ², max(p, q) is enough
    (Theorem 14, equation 10). All roundings are upwards.

    Args:
        variance: The variance of the noise, in units squared, > 0.
        delta: The probability, > 0, <= LARGEST_ITEMS_DELTA.
        most: How many items of a unit count, >= 1.
    """
    sigma2 = variance * GRID**2
    least = max(
        GRID + least_exceeding(sigma2, delta),
        _even_weight(1, most) + least_exceeding(sigma2, delta / most),
    )
    return least_integer(
        lambda threshold: naming_probability(variance, threshold, most) <= delta, least
    )


def naming_probability(variance: Fraction, threshold: int, most: int, units: int = 1) -> Fraction:
    """Return the probability at most with which any items are named that one person alone has.

    Args:
        variance: The variance of the noise, in units squared, > 0.
        threshold: The noisy weight from which on an item is named, in multiples of 1/GRID.
        most: How many items of a unit count, >= 1.
        units: How many units the person is, >= 1: one of their items weighs as much at most, and
            `units` times `most` items count.

    Source: docs/privacy.md, Theorem 14 and, for several units, Theorem 30 (c).
    """
    sigma2, items = variance * GRID**2, units * most
    one_item = rounded_normal_tail(sigma2, threshold - units * GRID)
    if items == 1:
        return one_item
    even_items = items * rounded_normal_tail(sigma2, threshold - _even_weight(units, items))
    several = max(one_item, even_items)
    if threshold * units <= (units**2 + variance) * GRID:
        probability = several
    else:
        probability = one_item + several
    return probability if probability <= LARGEST_ITEMS_DELTA else Fraction(1)


def _even_weight(units: int, items: int) -> int:
    """Return the weight of each of a person's items, if all weigh the same: rounded up."""
    return math.isqrt((units**2 * GRID**2 - 1) // items) + 1


# The shares of the budget and the numbers of candidates, tuned on four of seven public data sets
# and checked on the others (docs/benchmarks.md); within a third of these numbers, up or down,
# hardly anything changes.

# For an itemset of 21 items, C(21, 10) = 352,716 of its subsets would have to go on, of which
# 50,000 do at most.
LARGEST_SIZE = 20
# How many items of a unit count at most where items are found: of a basket, and of a user.
OWN_ITEMS, OWN_ITEMS_OF_USER = 1_000, 150
# Items that go on to the pairs, at most: of baskets (a million pairs).
_MOST_ITEMS = 1_500
# Of users so many items go on in any case, and at most so many, of which few itemsets need fewer.
# On three shops, and one of 100,000 customers, more in any case lose some of the 200 most frequent
# pairs at ε = 1, and fewer a third of the 50 most frequent ones at ε = 4 (docs/benchmarks.md).
_ITEMS_OF_USERS, _MOST_ITEMS_OF_USERS = 150, 300
# Items that may go with a public one: without a list, and with one.
_PARTNERS, _LISTED_PARTNERS = 300, 500
# Candidates of one size in one count, at most.
_MOST_CANDIDATES = 50_000
# Up to this number of itemsets, and from this ε on, telling the candidates apart is harder than
# finding them.
_FEW, _AMPLE = 20, Fraction(1, 2)


@dataclass(frozen=True, kw_only=True)
class Sought:
    """The itemsets that a run seeks, and all else that is public and decides its recipe.

    Attributes:
        sizes: The sizes of the itemsets, consecutive, >= 1, without the public items of each.
        count: How many are sought, >= 1, of each size or with union of all.
        union: Whether all sizes are ranked together.
        by_user: Whether the units are users, not baskets.
        listed: Whether the items are public.
        epsilon: The ε of the release.
        neighbors: The neighbour relation.
        known: Public itemsets, which are counted whatever their items weigh, and the items that are
            required, which no size counts. If they come from a catalogue, all of its items are
            public.
        questions: How many runs share the items found, and in equal parts what all other steps
            spend. They differ in the items that are required.
        keep_all: Whether the most frequent itemsets come out whose estimate does not stand out
            from 0.
    """

    sizes: tuple[int, ...]
    count: int
    union: bool
    by_user: bool
    listed: bool
    epsilon: Fraction
    neighbors: str
    known: KnownItemsets = NOTHING_KNOWN
    questions: int = 1
    keep_all: bool = False

    def __post_init__(self) -> None:
        if self.sizes[-1] > LARGEST_SIZE:
            raise ParameterError(
                f"{parameter('size')} must be at most {LARGEST_SIZE} with levelwise, which finds "
                "all smaller ones first"
            )

    @property
    def kind(self) -> str:
        """The kind of itemsets that is sought, as _USERS_SHARES names it."""
        if self.known.required:
            return "partners"
        return kind_of(self.sizes, union=self.union)

    def whole(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the sizes of itemsets with the public items that each of them has."""
        return tuple(size + len(self.known.required) for size in sizes)

    def items_that_go_on(self, most: int) -> int:
        """Return how many items go on to the pairs, `most` at most."""
        if self.union and self.sizes[0] == 1:
            # Every subset of one of the `count` most frequent sets is among them itself.
            return min(max(3 * self.count, 30), most)
        return most

    def first_pool(self) -> tuple[int, ...]:
        """Return how many candidates of each size are counted first."""
        if self.union:
            return _limited([3 * most_of_size(self.count, self.sizes, size) for size in self.sizes])
        # 20, 10, 8 times as many as are sought, of 10, 50, 100
        times_as_many = round(20 * self.count * (self.count / 10) ** -0.4)
        return _limited([max(times_as_many, 2 * self.count)] * len(self.sizes))


def kind_of(sizes: Sequence[int], *, union: bool) -> str:
    """Return the kind of itemsets of these sizes: items, pairs, larger, or all sizes together."""
    if sizes == (1,):
        return "items"
    if union and sizes[0] == 1:
        return "together"
    return "pairs" if sizes[-1] == 2 else "larger"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The shares of the budget, and the numbers of candidates, of a run for the most frequent.

    The shares are of μ², and add up to 1.

    Attributes:
        items: The share for finding items.
        levels: The shares for finding sets of 2, 3, … items.
        first: The share for the first count.
        histogram: The share for the histogram of how many candidates units have.
        most_items: How many items go on.
        fewest_paired: How many of them go on to the pairs in any case.
        most_paired: How many of them go on to the pairs at most.
        pool: How many candidates are counted first, for each size sought.
        second_pool: How many, of each size or in all, are counted again.
        first_bound: The squared norm of a unit's weights in the first count, or the least one.
        first_histogram: The share for a histogram that says whether a larger norm is better; 0 if
            none is made.
        own_items: How many items of a unit count where items are found.
        listed_stand_out: From how many σ on the weight of a listed item lets it go on.
        clear_ratio: A candidate this many times as frequent as the last one sought, >= 1, need not
            be counted again.
    """

    items: Fraction
    levels: tuple[Fraction, ...]
    first: Fraction
    histogram: Fraction
    most_items: int
    fewest_paired: int
    most_paired: int
    pool: tuple[int, ...]
    second_pool: int
    first_bound: int = 16
    first_histogram: Fraction = Fraction(0)
    own_items: int = OWN_ITEMS
    listed_stand_out: float = -math.inf
    clear_ratio: Fraction = Fraction(1)

    @property
    def most_closed(self) -> int:
        """How many candidates of a size get a noisy weight."""
        return max(8_000, min(4 * max(self.pool), _MOST_CANDIDATES))

    @property
    def survivors(self) -> int:
        """How many candidates of a size go on to the next."""
        return max(1_000, *self.pool)

    @property
    def second(self) -> Fraction:
        """The share for the second count: what the other steps leave."""
        counting = self.first_histogram + self.first + self.histogram
        return 1 - self.items - sum(self.levels) - counting

    @classmethod
    def of(cls, sought: Sought) -> Recipe:
        """Return the recipe for the most frequent itemsets."""
        if sought.by_user:
            return cls._of_users(sought)
        return cls._of_baskets(sought)

    @classmethod
    def _of_users(cls, sought: Sought) -> Recipe:
        items, pairs, larger, first = _shares(
            _USERS_SHARES[sought.kind, sought.listed],
            sought,
            adapts=sought.kind in ("pairs", "larger", "partners"),
        )
        pool, first_histogram = sought.first_pool(), Fraction(1, 100)
        if sought.kind == "partners":
            most_items = most_paired = _LISTED_PARTNERS if sought.listed else _PARTNERS
            pool = _partner_pool(sought, most_items)
            # An item has few owners, and a histogram of them would be mostly noise.
            first_histogram = Fraction(0)
        elif sought.kind == "items":
            most_items = most_paired = 3 * sought.count + 20
            pool = _limited([most_items])
        else:
            most_paired = _ITEMS_OF_USERS + 3 * max(sought.count - _FEW, 0)
            most_paired = sought.items_that_go_on(min(most_paired, _MOST_ITEMS_OF_USERS))
            most_items = max(most_paired, pool[0]) if sought.sizes[0] == 1 else most_paired
        return cls(
            items=items,
            # However many levels there are, they leave the counts what they have with two.
            levels=_levels(sought, pairs, larger, pairs + larger),
            first=first,
            histogram=Fraction(2, 100),
            most_items=most_items,
            fewest_paired=min(_ITEMS_OF_USERS, most_paired),
            most_paired=most_paired,
            pool=pool,
            second_pool=2 * sought.count + 10,
            first_bound=3,
            first_histogram=first_histogram,
            own_items=OWN_ITEMS_OF_USER,
        )

    @classmethod
    def _of_baskets(cls, sought: Sought) -> Recipe:
        is_easy = sought.count <= _FEW and sought.epsilon >= _AMPLE
        is_together = sought.kind == "together"
        if sought.kind == "items":  # all of discovery
            items = _rounded(min(0.2 + 0.003 * sought.count, 0.5))
        elif is_together:
            items = Fraction(12 if sought.epsilon <= _AMPLE else 10, 100)
        else:  # more where the threshold is high
            base = 0.05 if is_easy else 0.075
            if sought.neighbors == Neighbors.REPLACE_ONE:
                base *= sqrt(2)
            items = _rounded(min(max(base / float(sought.epsilon), 0.05), 0.3))
        larger = Fraction(15, 100)
        if is_together or is_easy:
            larger = Fraction(10, 100)
        pairs = Fraction(5, 100) if is_together else larger
        levels = tuple(map(_rounded, _levels(sought, pairs, larger, Fraction(45, 100))))
        counting = 1 - items - sum(levels)
        most_items = sought.items_that_go_on(_MOST_ITEMS)
        return cls(
            items=items,
            levels=levels,
            first=counting * Fraction(40 if is_easy else 25, 100),
            histogram=counting * Fraction(3, 100),
            most_items=most_items,
            fewest_paired=most_items,
            most_paired=most_items,
            pool=sought.first_pool(),
            second_pool=2 * sought.count + 10,
            # More items of a list would make more pairs, of which each would weigh less (FNR of
            # pairs, k = 100, mean of five data sets: .198 with all, .151 at 3 σ, .064 at 6 σ, .090
            # at 9 σ).
            listed_stand_out=6.0,
            # In dense baskets scaling takes more from some itemsets than from others (mushroom,
            # triples, k = 50: FNR .10 with a ratio of 1, .03 with 1.5).
            clear_ratio=Fraction(3, 2),
        )


def _partner_pool(sought: Sought, most_items: int) -> tuple[int, ...]:
    """Return how many candidates of each size are counted first: all items that go on."""
    usual = sought.first_pool()
    return tuple(
        most_items if size == 1 else candidates
        for size, candidates in zip(sought.sizes, usual, strict=True)
    )


def _levels(
    sought: Sought, pairs: Fraction, larger: Fraction, most: Fraction
) -> tuple[Fraction, ...]:
    """Return the share of each level, up to that of the largest size: all together `most` at most.

    pairs, larger: the shares of the level of pairs, and of each other one.
    """
    count = sought.sizes[-1] - 1
    shares = [pairs, *[larger] * count][:count]
    return tuple(share * min(Fraction(1), most / sum(shares)) for share in shares)


# The shares of users, in hundredths: for items, the pairs, each larger level, and the first count.
# They depend on what is sought (only items, sizes from 1 on ranked together, pairs, or larger ones
# too), and on whether the items are listed. Chosen on whole shops and on halves of their customers;
# within a quarter of these numbers hardly anything changes.
_USERS_SHARES = {
    ("items", False): (70, 0, 0, 5),
    ("items", True): (55, 0, 0, 8),
    ("together", False): (65, 6, 4, 5),
    ("together", True): (42, 8, 4, 12),
    ("pairs", False): (50, 18, 0, 10),
    ("pairs", True): (28, 30, 0, 13),
    ("larger", False): (45, 14, 14, 8),
    ("larger", True): (25, 20, 20, 10),
    ("partners", False): (44, 12, 4, 22),
    ("partners", True): (22, 16, 8, 22),
}


def _shares(percents: Sequence[int], sought: Sought, *, adapts: bool) -> list[Fraction]:
    """Return shares, of which the first is for items.

    percents: the usual shares. adapts: whether the share for items grows with the noise, from
    0.8 to 1.3 times the usual one. It does for users without a list of items alone.
    """
    usual, *shares = (Fraction(percent, 100) for percent in percents)
    items = usual
    if adapts and sought.by_user and not sought.listed:
        noise = Neighbors(sought.neighbors).changed_units
        items *= _rounded(min(max((noise / float(sought.epsilon)) ** 0.25, 0.8), 1.3))
    # If the items get more, every other step gives up the same proportion, so each keeps something.
    scale = (1 - items) / (1 - usual)
    return [items, *(scale * share for share in shares)]


def _limited(pool: Sequence[int]) -> tuple[int, ...]:
    return tuple(min(candidates, _MOST_CANDIDATES) for candidates in pool)


def _rounded(share: float | Fraction) -> Fraction:
    """Return a share rounded to whole thousandths, 1/1000 at least."""
    return Fraction(max(round(1000 * share), 1), 1000)


# For a threshold, chosen on five public data sets and the corner shop, as robust: where only items
# are sought, the share that finds them; and the share of each histogram.
_ITEMS_ALONE, _HISTOGRAM = Fraction(35, 100), Fraction(15, 1000)
# Where sets are sought, in hundredths: the share that finds the items, that counts them, that each
# level of sets has, and that all levels together have at most. For baskets; for users without a
# list of items, and with one.
_BASKETS, _USERS, _USERS_LISTED = (23, 8, 20, 36), (50, 6, 17, 26), (30, 6, 26, 26)


@dataclass(frozen=True)
class ThresholdRecipe:
    """The shares of the budget, and the numbers of candidates, of a run with a threshold.

    The shares, of μ², add up to 1 with that of the histogram before each count. Without sets there
    are no levels, and set_count is 0. The fields that are not listed are as in Recipe.

    Attributes:
        items: The share for finding items.
        item_count: The share for counting them.
        levels: The shares for finding sets of 2, 3, … items.
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
    def of(cls, sought: Sought) -> ThresholdRecipe:
        """Return the recipe for itemsets that reach a threshold, however many they are."""
        levels = sought.sizes[-1] - 1
        if not levels:
            return cls(_ITEMS_ALONE, 1 - _ITEMS_ALONE - _HISTOGRAM, (), Fraction(0))
        percents = _BASKETS
        if sought.by_user:
            percents = _USERS_LISTED if sought.listed else _USERS
        items, item_count, level, most = _shares(percents, sought, adapts=True)
        level = min(level, most / levels)
        return cls(
            items,
            item_count,
            (level,) * levels,
            1 - items - item_count - 2 * _HISTOGRAM - levels * level,
            own_items=OWN_ITEMS_OF_USER if sought.by_user else OWN_ITEMS,
        )


AnyRecipe = Recipe | ThresholdRecipe
