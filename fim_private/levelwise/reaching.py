"""Itemsets whose support reaches a threshold: candidates for them, of which little else is kept.

As levelwise does, this finds items, and sets of those found. But a threshold says how good is good enough: after each
count goes on what may reach it, be that many or few. So the fewer itemsets do, the fewer are counted, and the less they
are scaled, and the noise of their supports grows with their number, not with the most there could be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.candidate_counts import CandidateSource
from fim_private.counting.found import Found
from fim_private.counting.source import SupportSource
from fim_private.counting.universe import Universe
from fim_private.dp.privacy_budget import PrivacyBudget
from fim_private.dp.randomness import Randomness
from fim_private.levelwise.candidate_pool import CandidatePool
from fim_private.levelwise.discovery import Level, found_items, found_levels
from fim_private.levelwise.gaussian_budget import GaussianBudget
from fim_private.levelwise.item_threshold import LARGEST_DELTA
from fim_private.levelwise.levelwise import ITEMS_DELTA
from fim_private.levelwise.scaled_count import best_bound, held_by_units, weighed
from fim_private.levelwise.threshold_recipe import ThresholdRecipe

# What goes on is estimated at no less than so many σ below the threshold: items to the sets, and sets and items to the
# supports. And at so many σ at least, whatever the threshold: what does not stand out from 0 is only more to count.
_ITEMS_REACH, _REACH, _STANDS_OUT = 2.0, 0.5, 1.5


@dataclass(frozen=True)
class _Counted:
    """A pool whose estimates are in units. deviation: σ of the noise in them."""

    pool: CandidatePool
    deviation: float

    def reaching(self, threshold: int, reach: float) -> NDArray[np.intp]:
        """Return the places of those that may reach the threshold, ascending."""
        least = max(threshold - reach * self.deviation, _STANDS_OUT * self.deviation)
        return np.flatnonzero(self.pool.estimates >= least)


@dataclass(frozen=True)
class Reaching:
    """Up to `most` candidates for itemsets of some sizes whose support reaches a threshold.

    sizes: consecutive, >= 1. budget: of all steps. items_delta: of naming items; None where they are public.
    """

    sizes: tuple[int, ...]
    most: int
    budget: GaussianBudget
    recipe: ThresholdRecipe
    items_delta: Fraction | None

    @property
    def steps(self) -> list[tuple[str, tuple[int, ...], Fraction]]:
        """What each step is for, the sizes of the itemsets it is about, and its share of the part of μ²."""
        recipe, sets = self.recipe, tuple(size for size in self.sizes if size > 1)
        levels = [("candidates", (size,), share) for size, share in enumerate(recipe.levels, start=2)]
        counts = [("histogram", sets, recipe.histogram), ("set count", sets, recipe.set_count)] if sets else []
        return [
            ("items", (1,), recipe.items),
            ("histogram", (1,), recipe.histogram),
            ("item count", (1,), recipe.item_count),
            *levels,
            *counts,
        ]

    def find(self, source: SupportSource, universe: Universe, threshold: int, randomness: Randomness) -> list[Found]:
        """Return itemsets that may reach the threshold, in units, >= 1; the highest estimates first.

        universe: a catalogue where the items are public, otherwise unknown.
        """
        items = source.items(universe)
        codes, found = found_items(items, self.budget, self.recipe, self.items_delta, randomness)
        if not len(codes):
            return []
        run = _Run(self, threshold, randomness)
        places, level = run.likely_items(items.among(codes), found)
        codes, counts = codes[places], items.among(codes[places])
        pool = run.candidates(counts, level)
        if not len(pool):
            return []
        supports = counts.sums(pool.sets, np.append(0, np.ones(len(pool), dtype=np.int64)))
        sets = [row for own in pool.sets for row in own.tolist()]
        names = items.named([codes[row].tolist() for row in sets])
        return [Found(names[i], int(supports[i])) for i in np.argsort(-pool.estimates, kind="stable").tolist()]


@dataclass(frozen=True)
class _Run:
    """One run: what it may spend, and what it looks for."""

    given: Reaching
    threshold: int
    randomness: Randomness

    def likely_items(self, counts: CandidateSource, found: Level) -> tuple[NDArray[np.intp], Level]:
        """Count the items found: return the places of those that may reach the threshold, and these as a level."""
        recipe = self.given.recipe
        pool = CandidatePool((found.sets,), found.weights)
        counted = self._counted(counts, pool, {1: found}, recipe.item_count)
        places = counted.reaching(self.threshold, _ITEMS_REACH)
        places = places[np.argsort(-counted.pool.estimates[places], kind="stable")]
        numbers = np.arange(len(places), dtype=np.int32)[:, None]
        return places, Level(numbers, counted.pool.estimates[places], counted.deviation)

    def candidates(self, counts: CandidateSource, items: Level) -> CandidatePool:
        """Return what may reach the threshold, of the sizes asked for, with estimates in units."""
        given, recipe = self.given, self.given.recipe
        parts = []
        if given.sizes[0] == 1:
            singles = _Counted(CandidatePool((items.sets,), items.weights), items.deviation)
            parts.append(singles.pool.at(singles.reaching(self.threshold, _REACH)))
        if sizes := [size for size in given.sizes if size > 1]:
            levels = found_levels(counts, items, given.budget, recipe, self.randomness)
            sets = CandidatePool.of_levels(levels, sizes, [recipe.kept] * len(sizes))
            if len(sets):
                counted = self._counted(counts, sets, levels, recipe.set_count)
                parts.append(counted.pool.at(counted.reaching(self.threshold, _REACH)))
        pool = joined(parts)
        return pool.at(pool.best(given.most, union=True)) if len(pool) else pool

    def _counted(
        self,
        counts: CandidateSource,
        pool: CandidatePool,
        levels: Mapping[int, Level],
        share: Fraction,
    ) -> _Counted:
        """Count a pool, with the weights that suit it, and make up for what these take: estimates in units."""
        budget, randomness = self.given.budget, self.randomness
        held = held_by_units(counts, pool, budget, self.given.recipe.histogram, randomness)
        bound = best_bound(held, len(pool), budget, share, self.threshold)
        weights, variance = weighed(counts, pool, budget, share, bound, randomness)
        kept = held.kept_weight(bound)
        estimates, _ = pool.shrunken(weights / kept, variance / kept**2, levels)
        return _Counted(estimates, sqrt(variance) / kept)


def joined(pools: list[CandidatePool]) -> CandidatePool:
    """Return the candidates of several pools as one."""
    if not pools:
        return CandidatePool((), np.empty(0))
    return CandidatePool(
        tuple(sets for pool in pools for sets in pool.sets), np.concatenate([pool.estimates for pool in pools])
    )


def reaching(
    sizes: Sequence[int],
    most: int,
    *,
    budget: PrivacyBudget,
    neighbors: str,
    listed: bool,
    by_user: bool,
    part: Fraction,
) -> Reaching:
    """Return the run that spends `part` of a budget; as `levelwise`. Raises ParameterError for one out of range."""
    items_delta = None if listed else min(budget.naming(ITEMS_DELTA), LARGEST_DELTA)
    gaussian = GaussianBudget(budget.normal(items_delta or Fraction(0)), neighbors, part)
    recipe = ThresholdRecipe.of(sizes)
    if by_user and sizes[-1] > 1:
        recipe = ThresholdRecipe.of_users(sizes, epsilon=budget.loss, neighbors=neighbors, listed=listed)
    return Reaching(tuple(sizes), most, gaussian, recipe, items_delta)
