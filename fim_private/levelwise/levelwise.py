"""Levelwise: the whole run, and what it may be asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fim_private.counting.found import Found
from fim_private.counting.source import SupportSource
from fim_private.counting.universe import Universe
from fim_private.dp.privacy_budget import PrivacyBudget
from fim_private.dp.randomness import Randomness
from fim_private.levelwise.candidate_pool import CandidatePool
from fim_private.levelwise.discovery import found_items, found_levels
from fim_private.levelwise.doubt import doubtful
from fim_private.levelwise.gaussian_budget import GaussianBudget
from fim_private.levelwise.item_threshold import LARGEST_DELTA
from fim_private.levelwise.recipe import Recipe
from fim_private.levelwise.two_counts import counted_twice

# The part of δ for items that nobody listed: to them the threshold grows slowly, to the noise of all else fast.
ITEMS_DELTA = Fraction(1, 10)
# An estimate below so many deviations does not stand out from 0: one of 0 does once in 20 to 44 times.
STANDS_OUT = 2.0
# Of the items that stand out the best fifty go on in any case: they are few pairs.
_ALWAYS = 50


@dataclass(frozen=True)
class Levelwise:
    """Up to `count` itemsets, of each of the sizes or with union of all together (docs/privacy.md, Theorem 13).

    sizes: consecutive, >= 1. budget: of all steps. items_delta: of naming items; None where they are public.
    keep_all: whether itemsets are named whose count does not stand out from the noise.
    """

    sizes: tuple[int, ...]
    count: int
    union: bool
    budget: GaussianBudget
    recipe: Recipe
    items_delta: Fraction | None
    keep_all: bool = False

    @property
    def steps(self) -> list[tuple[str, tuple[int, ...], Fraction]]:
        """What each step is for, the sizes of the itemsets it is about, and its share of the part of μ²."""
        recipe = self.recipe
        levels = [("candidates", (size,), share) for size, share in enumerate(recipe.levels, start=2)]
        return [
            ("items", (1,), recipe.items),
            *levels,
            ("first count", self.sizes, recipe.first),
            ("histogram", self.sizes, recipe.histogram),
            ("second count", self.sizes, recipe.second),
        ]

    def find(self, source: SupportSource, universe: Universe, randomness: Randomness) -> list[Found]:
        """Return itemsets, the highest estimates first, and which of them are doubtful (`doubt`).

        There are fewer than `count` where too few were found, or stand out. universe: a catalogue where the items are
        public, otherwise unknown.
        """
        items = source.items(universe)
        codes, found = found_items(items, self.budget, self.recipe, self.items_delta, randomness)
        stand_out = self.recipe.listed_stand_out
        # Unlisted, all were named that stand out, and no others; where nothing but items is sought, all go on.
        if self.items_delta is None and self.sizes[-1] > 1 and stand_out is not None:
            plain = max(int((found.weights >= stand_out * found.deviation).sum()), _ALWAYS)
            codes, found = codes[:plain], found.first(plain)
        counts = items.among(codes)
        levels = found_levels(counts, found, self.budget, self.recipe, randomness)
        first_pool = CandidatePool.of_levels(levels, self.sizes, self.recipe.pool)
        if not len(first_pool):
            return []
        counted = counted_twice(
            counts, first_pool, levels, self.budget, self.recipe, self.count, union=self.union, randomness=randomness
        )
        pool = counted.pool
        places = counted.best(self.count, union=self.union)
        if not self.keep_all:
            places = places[pool.estimates[places] >= STANDS_OUT * counted.deviations[places]]
        in_doubt = doubtful(counted, places, levels, first_pool, union=self.union)
        chosen = pool.at(places)
        supports = counts.sums(chosen.sets, np.append(0, np.ones(len(chosen), dtype=np.int64)))
        order = np.argsort(-chosen.estimates, kind="stable")
        sets = [row for own in chosen.sets for row in own.tolist()]
        names = items.named([codes[row].tolist() for row in sets])
        return [Found(names[i], int(supports[i]), bool(in_doubt[i])) for i in order.tolist()]


def levelwise(
    sizes: Sequence[int],
    count: int,
    *,
    union: bool,
    budget: PrivacyBudget,
    neighbors: str,
    listed: bool,
    by_user: bool,
    part: Fraction = Fraction(1),
    keep_all: bool = False,
) -> Levelwise:
    """Return the run that spends `part` of a budget (Theorem 13).

    by_user: whether units are users, not baskets. listed: whether the items are public. Otherwise a part of delta goes
    to naming them. The rest of the budget makes μ: the run has the part of μ², and whoever releases supports the rest.
    Raises ParameterError for a budget out of range.
    """
    items_delta = None if listed else min(budget.naming(ITEMS_DELTA), LARGEST_DELTA)
    gaussian = GaussianBudget(budget.normal(items_delta or Fraction(0)), neighbors, part)
    of_units = Recipe.of_users if by_user else Recipe.of
    recipe = of_units(sizes, count, union=union, epsilon=budget.loss, neighbors=neighbors, listed=listed)
    return Levelwise(tuple(sizes), count, union, gaussian, recipe, items_delta, keep_all)
