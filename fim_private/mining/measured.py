"""Many itemsets of users: which way to go is measured first, since users differ more than baskets do.

A user can have hundreds of items. Scaled to a fixed norm, each of them weighs little, while a pick by exponential
weights is as sharp as ever, at a noise that grows with the number of picks. So some hundredths of the budget buy two
measurements, and one of three ways follows (docs/privacy.md, Theorem 14):

- direct: the itemsets are picked, where their margin suffices for not abstaining (over a catalogue, where they outweigh
  all its other itemsets);
- levels: all of levelwise, where its sets of items would stand out from their noise;
- picks: items are found under noise, and the exponential mechanism picks itemsets of them.

Where a least support is asked for, that takes the place of the first measurement: nothing is picked at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fim_private.counting.found import Found
from fim_private.counting.source import SupportSource
from fim_private.counting.universe import Catalogue, Universe
from fim_private.counting.weighted_items import ItemSource
from fim_private.dp.parameters import Neighbors
from fim_private.dp.randomness import Randomness
from fim_private.levelwise.discovery import found_items
from fim_private.levelwise.gaussian_budget import GRID, GaussianBudget, noisy_weights
from fim_private.levelwise.levelwise import Levelwise
from fim_private.levelwise.reaching import Reaching
from fim_private.levelwise.recipe import Recipe
from fim_private.mechanisms import Exponential, LimitedDomain
from fim_private.mechanisms.abstention import AbstentionWeight
from fim_private.mechanisms.exponential_weights import top
from fim_private.mechanisms.top_k import TopK
from fim_private.mining.user_lengths import mean_item_weight, users_by_length
from fim_private.reading.vocabulary import Item, mixed_vocabulary
from fim_private.spectrum import SupportSpectrum

# Picks are among so many itemsets at most: all of them are counted.
_MOST_CANDIDATES = 2_000_000
# ln of how many candidates there are about, where some dozens of items were found.
_LOG_CANDIDATES = 7
# These numbers are from all ways run on the customers of Online Retail and the households of Complete Journey, whole
# and cut into users of 1, 4 and 16 baskets, at ε = 1. Levels are better than picks where the weight of the k-th set of
# two items would be at least so many σ of their noise; or a little less, where the margin is so small a part of what
# picks need that they fail.
_SETS, _SETS_AT_LEAST, _HOPELESS = 0.6, 0.4, 0.6
# And where items are sought, and the weight of the k-th is so many σ: their threshold is at about 5 σ.
_ITEMS = 6.2
# Over a list there is no threshold.
_LISTED_HOPELESS, _LISTED_ITEMS = 0.4, 1.6
# Of a least support the weight is compared that an item of so much support has. (The customers of Online Retail, five
# requests at ε of 0.5 to 8.)
_REACHING = 4.5
# More of the budget finds items where the noise on them, in users, is so large a part of what picks need. Replace-one
# makes the noise √2 times as large, and what picks need twice.
_FEW_ITEMS = 0.38


@dataclass(frozen=True)
class PicksOfItems:
    """Items found under noise, with the share of the budget that the recipe names, and picks of itemsets of them.

    picks: of each ranking.
    """

    recipe: Recipe
    picks: TopK

    @property
    def need(self) -> float:
        """About which margin the itemsets need, in users."""
        mechanism = self.picks.mechanism
        assert isinstance(mechanism, Exponential)
        return _LOG_CANDIDATES / float(mechanism.rate)


@dataclass(frozen=True)
class Measured:
    """A run that measures, and then goes one of several ways, each of which spends the whole budget at most.

    rankings: the sizes that are ranked together, in each. count: how many itemsets of each, >= 1. margin_variance,
    length_variance: σ² of what is measured, in units squared. direct: picks of itemsets of each. budget: of the step
    that finds items for picks. picks: by name; the second, if any, spends more on items. items_delta: of naming items;
    None where they are public. levels: levelwise, of all sizes.
    Where a least support is asked for, levels is the run for that, margin_variance is None, and there is no direct.
    """

    rankings: tuple[tuple[int, ...], ...]
    count: int
    margin_variance: Fraction | None
    length_variance: Fraction
    direct: tuple[TopK, ...]
    budget: GaussianBudget
    picks: tuple[tuple[str, PicksOfItems], ...]
    items_delta: Fraction | None
    levels: Levelwise | Reaching

    def find(
        self, source: SupportSource, universe: Universe, randomness: Randomness, threshold: int | None = None
    ) -> tuple[str, list[Found]]:
        """Return which way was taken, and the itemsets found, each with its true support, which must not leave.

        universe: a catalogue where the items are public, otherwise unknown. threshold: the least support, in units,
        where one is asked for.
        """
        if isinstance(self.levels, Reaching):
            assert threshold is not None
            return self._reaching(self.levels, source, universe, threshold, randomness)
        assert self.margin_variance is not None
        spectra = [source.spectrum(sizes, universe) for sizes in self.rankings]
        ranked = list(zip(self.direct, spectra, strict=True))
        true = np.array([_margin(spectrum, self.count, picks) for picks, spectrum in ranked], dtype=np.int64)
        margins = noisy_weights(true * GRID, self.margin_variance, randomness).tolist()
        needs = [self._needed(picks, spectrum.universe_size) for picks, spectrum in ranked]
        if all(margin >= need for margin, need in zip(margins, needs, strict=True)):
            return "direct", [found for picks, spectrum in ranked for found in _picked(picks, spectrum, randomness)]
        items = source.items(universe)
        weight = self._item_weight(items, randomness)
        if self._levels_stand_out(margins[-1], weight, spectra[-1].universe_size):
            return "levels", self.levels.find(source, universe, randomness)
        return self._items_and_picks(source, items, weight, randomness)

    def _item_weight(self, items: ItemSource, randomness: Randomness) -> float:
        """Measure how many items users have: return about what one of them weighs."""
        users = noisy_weights(users_by_length(items), self.length_variance, randomness)
        return mean_item_weight(users, math.sqrt(self.length_variance))

    def _reaching(
        self, levels: Reaching, source: SupportSource, universe: Universe, threshold: int, randomness: Randomness
    ) -> tuple[str, list[Found]]:
        """Return which way was taken for a least support, and the itemsets found."""
        items = source.items(universe)
        weight = self._item_weight(items, randomness)
        if threshold * weight >= _REACHING * math.sqrt(levels.budget.variance(levels.recipe.items, 1)):
            return "levels", levels.find(source, universe, threshold, randomness)
        return self._items_and_picks(source, items, weight, randomness)

    def _items_and_picks(
        self, source: SupportSource, items: ItemSource, weight: float, randomness: Randomness
    ) -> tuple[str, list[Found]]:
        """Find items, and pick itemsets of them: return what that is called, and what was picked."""
        name, way = self._picks_for(weight)
        codes, _ = found_items(items, self.budget, way.recipe, self.items_delta, randomness)
        labels = [label for (label,) in items.named(codes[:, None].tolist())]
        return name, self._among(source, labels, way.picks, randomness)

    def _needed(self, picks: TopK, universe_size: int | None) -> float:
        """Return the margin at which all that is not sought is about as likely as the last itemset that is.

        By limited-domain that is abstaining: less σ/2 of the measurement, for some itemsets are found below it as well.
        """
        mechanism = picks.mechanism
        assert self.margin_variance is not None
        if isinstance(mechanism, Exponential):
            return math.log(universe_size or 1) / float(mechanism.rate)
        assert isinstance(mechanism, LimitedDomain)
        weight = AbstentionWeight(mechanism.epsilon, mechanism.delta, mechanism.neighbors)
        bottom = weight.candidate(mechanism.max_rank, 0)
        needed = bottom.support + math.log(bottom.multiplicity) / float(mechanism.rate)
        return needed - math.sqrt(self.margin_variance) / 2

    def _levels_stand_out(self, margin: float, weight: float, universe_size: int | None) -> bool:
        """Tell from the margin of the last ranking, which has the largest itemsets, whether levels would beat picks."""
        assert isinstance(self.levels, Levelwise)
        budget, recipe = self.levels.budget, self.levels.recipe
        if not recipe.levels:
            shown = margin * weight / math.sqrt(budget.variance(recipe.items, 1))
            return shown >= (_ITEMS if universe_size is None else _LISTED_ITEMS)
        need = self.picks[0][1].need
        if universe_size is not None:
            need *= math.log(min(universe_size, math.comb(recipe.most_items, 2))) / _LOG_CANDIDATES
            if margin < _LISTED_HOPELESS * need:
                return True
        shown = margin * weight**2 / math.sqrt(budget.variance(recipe.levels[0], 1))
        return shown >= (_SETS_AT_LEAST if margin < _HOPELESS * need else _SETS)

    def _picks_for(self, weight: float) -> tuple[str, PicksOfItems]:
        """Return the picks whose items, and whose itemsets, need about as much."""
        least = _FEW_ITEMS if self.budget.neighbors == Neighbors.ADD_REMOVE else _FEW_ITEMS / math.sqrt(2)
        noise = math.sqrt(self.budget.variance(self.picks[-1][1].recipe.items, 1)) / weight
        return self.picks[-1 if noise >= least * self.picks[0][1].need else 0]

    def _among(self, source: SupportSource, labels: list[Item], picks: TopK, randomness: Randomness) -> list[Found]:
        """Pick itemsets made of the first of these items, which are public now."""
        found: list[Found] = []
        for ranking in self.rankings:
            among, _ = mixed_vocabulary(labels[: most_items(ranking)])
            if sizes := [size for size in ranking if size <= len(among)]:
                found += _picked(picks, source.spectrum(sizes, Catalogue(among)), randomness)
        return found


def _picked(picks: TopK, spectrum: SupportSpectrum, randomness: Randomness) -> list[Found]:
    """Return the itemsets picked, with their true supports."""
    levels = [each.level for each in picks.select(spectrum, randomness) if each.level is not None]
    return [Found(*named) for named in zip(spectrum.sample_itemsets(levels, randomness), levels, strict=True)]


def _margin(spectrum: SupportSpectrum, rank: int, picks: TopK) -> int:
    """Return the support at a rank >= 1, less that next below the candidates of picks by limited-domain."""
    below = picks.mechanism.max_rank + 1 if isinstance(picks.mechanism, LimitedDomain) else None
    return _support(spectrum, rank) - (0 if below is None else _support(spectrum, below))


def _support(spectrum: SupportSpectrum, rank: int) -> int:
    """Return the support at a rank >= 1, 0 beyond the last."""
    return top(spectrum, rank - 1)[1]


def most_items(sizes: Sequence[int]) -> int:
    """Return of how many items the itemsets of these sizes are few enough to be picked from."""
    items = 0
    step = 1 << _MOST_CANDIDATES.bit_length()
    while step:  # bisection: the itemsets do not become fewer with more items
        if sum(math.comb(items + step, size) for size in sizes) <= _MOST_CANDIDATES:
            items += step
        step //= 2
    return items
