"""What is decided before the data is read, and how it is carried out: selections, and noise on supports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fim_private.counting.source import SupportSource
from fim_private.counting.universe import Universe
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.dp.randomness import Randomness
from fim_private.levelwise.levelwise import Levelwise
from fim_private.mechanisms.top_k import TopK
from fim_private.mining import noisy_supports
from fim_private.mining.budget_share import Share
from fim_private.mining.measured import Measured
from fim_private.mining.noisy_supports import SupportNoise
from fim_private.mining.release import Itemset
from fim_private.reading.vocabulary import Item

# The items of an itemset found, None for the unnamed outcome, and its true support in units, which must not leave.
Found = tuple[tuple[Item, ...] | None, int]


@dataclass(frozen=True)
class AllocatedSelection:
    """One selection among the itemsets of some sizes, over a universe, with its part of the budget."""

    run: TopK | Levelwise
    sizes: tuple[int, ...]
    universe: Universe

    def find(self, source: SupportSource, randomness: Randomness) -> list[Found]:
        """Return the itemsets selected, in order, with their true supports in units; fewer if it abstained.

        Raises WorkLimitError where counting is out of reach, ParameterError where the mechanism cannot run.
        """
        if isinstance(self.run, Levelwise):
            return [*self.run.find(source, self.universe, randomness)]
        spectrum = source.spectrum(self.sizes, self.universe)
        levels = [chosen.level for chosen in self.run.select(spectrum, randomness) if chosen.level is not None]
        nameless = spectrum.universe_size is None
        names = iter(spectrum.sample_itemsets([level for level in levels if level or not nameless], randomness))
        return [(None if nameless and not level else next(names), level) for level in levels]


@dataclass(frozen=True)
class SupportsBudget:
    """What the noisy supports may spend: rho of zCDP, or μ² of GDP, or epsilon and, unless None, delta."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    mu_squared: Fraction | None = None

    def noise(self, count: int) -> SupportNoise:
        """Return the noise for that many supports, count >= 1."""
        if self.rho is not None:
            return SupportNoise.for_rho(self.rho, count)
        if self.mu_squared is not None:
            return SupportNoise.for_mu_squared(self.mu_squared, count)
        assert self.epsilon is not None
        return SupportNoise.for_budget(self.epsilon, self.delta, count)


@dataclass(frozen=True)
class BudgetAllocation:
    """What is decided before the data is read.

    selections: what is run, one after the other. supports: the budget of their noisy supports, None where none are
    released. cost: what all of it spends. shares: the same, part by part. zcdp: what it spends in zCDP, where the
    budget is a ρ. leaves_out: whether itemsets are not published that do not stand out from the noise of their
    supports.
    """

    selections: tuple[AllocatedSelection, ...]
    supports: SupportsBudget | None
    cost: PrivacyCost
    shares: tuple[Share, ...]
    zcdp: ZcdpCost | None = None
    leaves_out: bool = False

    def find(self, source: SupportSource, randomness: Randomness) -> tuple[BudgetAllocation, list[Found]]:
        """Return this allocation, and the itemsets that its selections find, in order."""
        return self, [itemset for selection in self.selections for itemset in selection.find(source, randomness)]

    @property
    def picks(self) -> list[TopK]:
        """The selections that are picks, not levelwise."""
        return [selection.run for selection in self.selections if isinstance(selection.run, TopK)]

    @property
    def margin(self) -> float:
        """The largest margin that a selection asks for, estimated, in units: to compare allocations."""
        return max(picks.margin for picks in self.picks)

    def published(self, found: list[Found], randomness: Randomness) -> tuple[tuple[Itemset, ...], SupportNoise | None]:
        """Return the itemsets as they may leave, and the noise of their supports; without supports, None for it.

        With supports, itemsets are in descending order of noisy support, unnamed ones last; where leaves_out says so,
        only those whose intervals lie above 0. (Picks name itemsets however rare they are. Where levelwise counts, it
        has left out its own, by other noise, so that its intervals cover as they say.)
        """
        named = [(items, support) for items, support in found if items is not None]
        unnamed = [Itemset(None) for items, _ in found if items is None]
        if self.supports is None or not named:
            return tuple(Itemset(items) for items, _ in found), None
        # How many came out is public by now: the noise is for so many, not for all that were asked for.
        noise = self.supports.noise(len(named))
        values = noisy_supports.release([support for _, support in named], noise, randomness=randomness)
        sets = [items for items, _ in named]
        consistent = noisy_supports.consistent(sets, values, noise.half_width)
        rows = zip(sets, consistent.estimates, consistent.lower, consistent.upper, strict=True)
        itemsets = [
            Itemset(items, estimate, (lower, upper))
            for items, estimate, lower, upper in rows
            if lower > 0 or not self.leaves_out
        ]
        return (*sorted(itemsets, key=lambda itemset: -(itemset.support or 0)), *unnamed), noise


@dataclass(frozen=True)
class MeasuredAllocation:
    """An allocation with several ways to go, one of which is taken as what is measured first suggests.

    run: what measures. universe: of the items. ways: the allocations, by the names that the run has for them.
    """

    run: Measured
    universe: Universe
    ways: Mapping[str, BudgetAllocation]

    def find(self, source: SupportSource, randomness: Randomness) -> tuple[BudgetAllocation, list[Found]]:
        """Return the allocation of the way that was taken, and the itemsets found, in order."""
        way, found = self.run.find(source, self.universe, randomness)
        return self.ways[way], [*found]
