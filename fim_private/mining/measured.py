"""Many itemsets of users: which way to go is measured first, since users differ more than baskets do.

A user can have hundreds of items. Scaled to a fixed norm, each of them weighs little, while a pick by exponential
weights is as sharp as ever, at a noise that grows with the number of picks. So some hundredths of the budget buy the
margin that the itemsets sought have over those far below, and one of four ways follows (docs/privacy.md, Theorem 14):

- direct: limited-domain picks the itemsets, where the margin suffices for not abstaining (over a catalogue, the
  exponential mechanism does, where they outweigh all its other itemsets);
- items: limited-domain picks items, where their margin suffices, and the exponential mechanism itemsets of them;
- picks: items are found under noise, and the exponential mechanism picks itemsets of them;
- levels: levelwise goes on from items so found, where its pairs would stand out from their noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fim_private.counting.source import SupportSource
from fim_private.counting.universe import Catalogue, Universe
from fim_private.dp.parameters import Neighbors
from fim_private.dp.randomness import Randomness
from fim_private.dp.rounded_normal import rounded_normal
from fim_private.levelwise.discovery import Level, found_items
from fim_private.levelwise.gaussian_budget import GaussianBudget
from fim_private.levelwise.levelwise import Levelwise
from fim_private.levelwise.recipe import Recipe
from fim_private.mechanisms import Exponential, LimitedDomain
from fim_private.mechanisms.abstention import AbstentionWeight
from fim_private.mechanisms.exponential_weights import top
from fim_private.mechanisms.top_k import TopK
from fim_private.reading.vocabulary import Item, mixed_vocabulary
from fim_private.spectrum import SupportSpectrum

Found = list[tuple[tuple[Item, ...], int]]

# Picks are among so many itemsets at most: all of them are counted.
_MOST_CANDIDATES = 2_000_000
# By how many σ levels must stand out.
_STANDS_OUT = 2.5


@dataclass(frozen=True)
class Measured:
    """A run that measures, and then goes one of four ways, each of which spends the whole budget at most.

    sizes: ranked together. count: how many itemsets, >= 1. neighbors: the relation. measurement: σ² of each number
    measured, in units squared. direct: picks of itemsets. by_items: picks of items, and of itemsets of them; None where
    the items are listed, or are what is sought. items: the budget of the step that finds items under
    noise, of which `recipe` names the share. picks: among itemsets of these. levels: what else may follow them.
    """

    sizes: tuple[int, ...]
    count: int
    neighbors: str
    measurement: Fraction
    direct: TopK
    by_items: tuple[TopK, TopK] | None
    items: GaussianBudget
    recipe: Recipe
    items_delta: Fraction | None
    picks: TopK
    levels: Levelwise

    def find(self, source: SupportSource, universe: Universe, randomness: Randomness) -> tuple[str, Found]:
        """Return which way was taken, and the itemsets found, each with its true support, which must not leave.

        universe: a catalogue where the items are public, otherwise unknown.
        """
        spectrum, single = source.spectrum(self.sizes, universe), source.spectrum(1, universe)
        margin = self._measured(_margin(spectrum, self.count, self.direct), randomness)
        if margin >= self._needed(self.direct, spectrum):
            return "direct", _picked(self.direct, spectrum, randomness)
        if self.by_items is not None:
            first, second = self.by_items
            # Half of the items will do: as many are sought as there may be pairs of rare ones.
            if self._measured(_margin(single, -(-first.count // 2), first), randomness) >= self._needed(first, single):
                labels = [label for (label,), _ in _picked(first, single, randomness)]
                return "items", self._among(source, labels, second, randomness)
        items = source.items(universe)
        codes, found = found_items(items, self.items, self.recipe, self.items_delta, randomness)
        most = self._measured(_margin(single, 1, None), randomness)
        if len(codes) and self._levels_stand_out(margin, most, found):
            return "levels", self.levels.find_among(items, codes, found, randomness)
        labels = [items.label(code) for code in codes[: most_items(self.sizes)].tolist()]
        return "picks", self._among(source, labels, self.picks, randomness)

    def _measured(self, value: int, randomness: Randomness) -> float:
        """Return the value with noise: one unit changes a support at a rank by 1, a difference of two by 1 or 2.

        The sum is of whole numbers, so that what is rounded to a float is the noisy value.
        """
        return float(value + int(rounded_normal(self.measurement, 1, randomness=randomness)[0]))

    def _needed(self, picks: TopK, spectrum: SupportSpectrum) -> float:
        """Return the margin at which all that is not sought is about as likely as the last itemset that is.

        By limited-domain that is abstaining: less σ of the measurement, for some itemsets are found below it as well.
        """
        mechanism = picks.mechanism
        if not isinstance(mechanism, LimitedDomain):
            assert isinstance(mechanism, Exponential)
            return math.log(spectrum.universe_size or 1) / float(mechanism.rate)
        weight = AbstentionWeight(mechanism.epsilon, mechanism.delta, mechanism.neighbors)
        bottom = weight.candidate(mechanism.max_rank, 0)
        needed = bottom.support + math.log(bottom.multiplicity) / float(mechanism.rate)
        return needed - math.sqrt(self.measurement)

    def _levels_stand_out(self, margin: float, most: float, found: Level) -> bool:
        """Tell from what was measured whether levels would do better than picks.

        most: about the support of the most frequent item. Its weight is smaller by √L if its users have L items.
        """
        length = max(most / max(float(found.weights[0]), 1.0), 1.0) ** 2
        doubled = 1.0 if self.neighbors == Neighbors.ADD_REMOVE else 2.0
        if self.sizes[-1] == 1:  # then only the noise of counting tells: of picks it grows with their number
            return length < 0.4 * doubled * self.count
        variance = self.levels.budget.variance(self.levels.recipe.levels[0], 1)
        return margin >= _STANDS_OUT * math.sqrt(variance * 0.5) * length

    def _among(self, source: SupportSource, labels: list[Item], picks: TopK, randomness: Randomness) -> Found:
        """Pick itemsets made of these items, which are public now."""
        sizes = [size for size in self.sizes if size <= len(labels)]
        if not sizes:
            return []
        vocabulary, _ = mixed_vocabulary(labels)
        return _picked(picks, source.spectrum(sizes, Catalogue(vocabulary)), randomness)


def _picked(picks: TopK, spectrum: SupportSpectrum, randomness: Randomness) -> Found:
    """Return the itemsets picked, with their true supports."""
    levels = [each.level for each in picks.select(spectrum, randomness) if each.level is not None]
    return list(zip(spectrum.sample_itemsets(levels, randomness), levels, strict=True))


def _margin(spectrum: SupportSpectrum, rank: int, picks: TopK | None) -> int:
    """Return the support at a rank >= 1, less that next below the candidates of picks by limited-domain, if any."""
    mechanism = None if picks is None else picks.mechanism
    below = _support(spectrum, mechanism.max_rank + 1) if isinstance(mechanism, LimitedDomain) else 0
    return _support(spectrum, rank) - below


def _support(spectrum: SupportSpectrum, rank: int) -> int:
    """Return the support at a rank >= 1, 0 beyond the last."""
    return top(spectrum, rank - 1)[1]


def most_items(sizes: Sequence[int]) -> int:
    """Return of how many items the itemsets of these sizes are few enough to be picked from; 0 if no number will do."""
    items = 0
    step = 1 << _MOST_CANDIDATES.bit_length()
    while step:  # bisection: the itemsets do not become fewer with more items
        if sum(math.comb(items + step, size) for size in sizes) <= _MOST_CANDIDATES:
            items += step
        step //= 2
    return items if items >= max(sizes) else 0
