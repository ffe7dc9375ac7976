"""What is decided before the data is read, and how it is carried out: selections, and noise on supports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from fim_private.counting.found import Found
from fim_private.counting.source import SupportSource
from fim_private.counting.universe import Universe, UnknownUniverse
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.dp.randomness import Randomness
from fim_private.levelwise.levelwise import Levelwise
from fim_private.levelwise.reaching import Reaching
from fim_private.mechanisms.shortfall import shortfall
from fim_private.mechanisms.top_k import TopK
from fim_private.mining import noisy_supports
from fim_private.mining.budget_share import Share
from fim_private.mining.itemset import Itemset
from fim_private.mining.known_itemsets import parts_of
from fim_private.mining.min_support import MinSupport
from fim_private.mining.noisy_supports import CONFIDENCE, SupportNoise
from fim_private.mining.unit_count import SUPPORT_CONFIDENCE, UnitCount
from fim_private.reading.vocabulary import Item

_NONE = Fraction(0)


@dataclass(frozen=True)
class AllocatedSelection:
    """One selection among the itemsets of some sizes, over a universe, with its part of the budget.

    is_cut: whether only a part of long baskets, or of users, is counted.
    """

    run: TopK | Levelwise | Reaching
    sizes: tuple[int, ...]
    universe: Universe
    is_cut: bool = False

    def find(self, source: SupportSource, randomness: Randomness, threshold: int | None = None) -> list[Found]:
        """Return the itemsets selected, in order, with their true supports in units; fewer if it abstained.

        threshold: the support that is asked for, in units, where one is; of picks it is asked afterwards.
        Raises WorkLimitError where counting is out of reach, ParameterError where the mechanism cannot run.
        """
        if isinstance(self.run, Reaching):
            assert threshold is not None
            return self.run.find(source, self.universe, threshold, randomness)
        if isinstance(self.run, Levelwise):
            return self.run.find(source, self.universe, randomness)
        spectrum = source.spectrum(self.sizes, self.universe)
        levels = [chosen.level for chosen in self.run.select(spectrum, randomness) if chosen.level is not None]
        nameless = spectrum.universe_size is None
        names = iter(spectrum.sample_itemsets([level for level in levels if level or not nameless], randomness))
        return [Found(None if nameless and not level else next(names), level) for level in levels]

    def shortfall(self, selections: int = 1) -> int | None:
        """By how many units at most something that was passed over beats what was picked, with 95 % probability.

        selections: of how many such this is one, if it is said of all of them together, >= 1.
        None where no such number follows from public parameters, where baskets are cut, so that what was passed over
        has more support than was counted, and where it was not picked.
        """
        if not isinstance(self.run, TopK) or self.is_cut:
            return None
        known = None if isinstance(self.universe, UnknownUniverse) else sum(map(self.universe.candidates, self.sizes))
        return shortfall(self.run.mechanism, known, self.run.count * selections)

    def with_doubts(self, itemsets: Sequence[Itemset], common: int = 0) -> list[Itemset]:
        """Return itemsets with supports, those of this selection with whether they may not be the most frequent.

        Something that was passed over has at most `shortfall` units more than the least of those picked. Of one pick
        that says nothing new, and where levelwise counts it has told already. common: by how many units two intervals
        may come closer together, since both have the same noise in part.
        """
        picked = [one for one in itemsets if one.items is not None and len(one.items) in self.sizes]
        most_left_out = self.shortfall()
        if most_left_out is None or not isinstance(self.run, TopK) or self.run.count == 1 or not picked:
            return [*itemsets]
        cut = most_left_out + min(one.interval[1] for one in picked if one.interval is not None) - common
        return [
            replace(one, doubtful=not one.interval[0] or one.interval[0] <= cut)
            if one in picked and one.interval is not None
            else one
            for one in itemsets
        ]


@dataclass(frozen=True)
class SupportsBudget:
    """What the noisy supports may spend: rho of zCDP, or μ² of GDP, or epsilon and, unless None, delta.

    with_units: whether the number of units comes with them, by two normals: of rho or μ², under add-remove.
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    mu_squared: Fraction | None = None
    with_units: bool = False

    @property
    def normal(self) -> Fraction:
        """The μ² that it may spend, of which μ-GDP is as private as ρ-zCDP where that is what it may."""
        return 2 * (self.rho or _NONE) if self.mu_squared is None else self.mu_squared

    def noise(self, count: int) -> SupportNoise:
        """Return the noise for that many supports, count >= 1."""
        if self.with_units:
            return SupportNoise.with_units(self.normal, count)
        if self.rho is not None:
            return SupportNoise.for_rho(self.rho, count)
        if self.mu_squared is not None:
            return SupportNoise.for_mu_squared(self.mu_squared, count)
        assert self.epsilon is not None
        return SupportNoise.for_budget(self.epsilon, self.delta, count)


@dataclass(frozen=True)
class Published:
    """What leaves of what was found: itemsets, the noise of their supports, and the parts of them with supports.

    noise: None where no supports leave. units: how many there are, None where that is not released. parts: every part
    of the itemsets that is not among them, where they were asked for.
    """

    itemsets: tuple[Itemset, ...]
    noise: SupportNoise | None
    units: UnitCount | None = None
    parts: tuple[Itemset, ...] = ()


@dataclass(frozen=True)
class BudgetAllocation:
    """What is decided before the data is read.

    selections: what is run, one after the other. supports: the budget of their noisy supports, None where none are
    released. count: that of a noisy number of units, None where none is bought.
    cost: what all of it spends. shares: the same, part by part. zcdp: what it spends in zCDP, where the budget is a ρ.
    leaves_out: whether itemsets are not published that do not stand out from the noise of their supports.
    min_support: the least support that is asked for, None where the most frequent are. most: how many itemsets are
    looked at then, at most. naming: what of δ names what only one unit has, beside the deltas of the shares.
    """

    selections: tuple[AllocatedSelection, ...]
    supports: SupportsBudget | None
    cost: PrivacyCost
    shares: tuple[Share, ...]
    zcdp: ZcdpCost | None = None
    count: SupportsBudget | None = None
    leaves_out: bool = False
    min_support: MinSupport | None = None
    most: int | None = None
    naming: Fraction = Fraction(0)

    @property
    def concentrated(self) -> ZcdpCost:
        """What it spends in zCDP, whatever it is composed in: a bound (docs/privacy.md, Theorem 18)."""
        added_up = any(share.purpose == "selection" and share.epsilon is not None for share in self.shares)
        rho = sum((share.in_zcdp for share in self.shares if not (added_up and share.purpose == "selection")), _NONE)
        if added_up:
            rho += sum((picks.concentrated for picks in self.picks), _NONE)
        return ZcdpCost(rho, self.naming + sum((share.delta or _NONE for share in self.shares), _NONE))

    def find(self, source: SupportSource, randomness: Randomness, threshold: int | None = None) -> list[Found]:
        """Return the itemsets that its selections find, in order; threshold: in units, if any."""
        return [itemset for each in self.selections for itemset in each.find(source, randomness, threshold)]

    @property
    def picks(self) -> list[TopK]:
        """The selections that are picks, not levelwise."""
        return [selection.run for selection in self.selections if isinstance(selection.run, TopK)]

    @property
    def margin(self) -> float:
        """The largest margin that a selection asks for, estimated, in units: to compare allocations."""
        return max(picks.margin for picks in self.picks)

    def published(
        self,
        found: list[Found],
        randomness: Randomness,
        units: UnitCount | None = None,
        count_parts: Callable[[Sequence[tuple[Item, ...]]], Sequence[int]] | None = None,
        *,
        true_units: int = 0,
    ) -> Published:
        """Return the itemsets as they may leave, and the noise of their supports; without supports, None for it.

        units: how many there are, None where that is not released. count_parts: gives the true supports of the parts
        of what was found, where these are to leave as well; which they are follows from what was found, that is, from
        what is public by then. true_units: how many there are; it leaves with noise where supports have two normals,
        and then in place of `units`, also where nothing was found.

        With supports, itemsets are in descending order of noisy support, unnamed ones last; where leaves_out says so,
        only those whose intervals lie above 0. (Picks name itemsets however rare they are. Where levelwise counts, it
        has left out its own, by other noise, so that its intervals cover as they say.) Where a least support is asked
        for, only those whose noisy support is as much, doubtful if by the noise alone they may have less.
        """
        named = [one for one in found if one.items is not None]
        unnamed = [Itemset(None) for one in found if one.items is None]
        if self.supports is None or not named:
            if self.supports is not None and self.supports.with_units:
                noise = SupportNoise.for_mu_squared(self.supports.normal, 1)
                units = UnitCount.noisy(true_units, noise, randomness)
            return Published(tuple(Itemset(one.items, doubtful=one.doubtful) for one in found), None, units)
        sets, supports = [one.items or () for one in named], [one.support for one in named]
        parts = [] if count_parts is None else parts_of(sets)
        if count_parts is not None and parts:
            supports += count_parts(parts)
        # How many came out is public by now: the noise is for so many, not for all that were asked for.
        noise = self.supports.noise(len(supports))
        values, units = released(supports, noise, randomness, units, true_units)
        if self.min_support is None:
            made = told([*sets, *parts], values, noise, units)
            itemsets = [replace(each, doubtful=one.doubtful) for each, one in zip(made, named, strict=False)]
            for selection in self.selections:
                itemsets = selection.with_doubts(itemsets, noise.common_reach)
        else:
            # As they were drawn, before inclusion changes them.
            threshold = self.min_support.threshold(units)
            enough = [place for place in range(len(sets)) if values[place] >= threshold * noise.steps]
            others = [] if count_parts is None else sorted({*range(len(values))}.difference(enough))
            order = [*enough, *others]
            kept = [[*sets, *parts][place] for place in order], [values[place] for place in order]
            made = told(*kept, noise, units)
            if self.min_support.share is not None and noise.of_units is not None:
                sure = [
                    one.share_interval is not None and one.share_interval[0] >= self.min_support.share for one in made
                ]
            else:
                reach = noise.reach(self.min_support.confidence(units))
                lowest = noisy_supports.consistent(*kept, reach, noise.steps).lower
                sure = [self.min_support.is_certain(low, units) for low in lowest]
            itemsets = [
                replace(each, doubtful=not certain) for each, certain in zip(made[: len(enough)], sure, strict=False)
            ]
        left = [one for one in itemsets if not self.leaves_out or (one.interval or (0,))[0] > 0]
        left.sort(key=lambda itemset: -(itemset.support or 0))
        needed = {*parts_of([one.items or () for one in left])} if count_parts is not None else set()
        return Published((*left, *unnamed), noise, units, tuple(one for one in made if one.items in needed))

    @property
    def shortfall(self) -> int | None:
        """The largest of its selections, each among the itemsets of its sizes; None where one of them has none."""
        each = [selection.shortfall(len(self.selections)) for selection in self.selections]
        known = [one for one in each if one is not None]
        return max(known) if known and len(known) == len(each) else None


def told(
    itemsets: Sequence[tuple[Item, ...]], values: Sequence[int], noise: SupportNoise, units: UnitCount | None
) -> list[Itemset]:
    """Return itemsets with what their noisy supports tell: estimates, intervals, and intervals of shares.

    itemsets: (k,), all different. values: (k,) their supports with this noise, as `released` returns them. units: as
    in `published`.
    """
    made = noisy_supports.consistent(itemsets, values, noise.reach(CONFIDENCE), noise.steps)
    shares: Sequence[tuple[float, float] | None] = [None] * len(itemsets)
    if units is not None and noise.of_units is not None:
        ends = noisy_supports.extremes(itemsets, values)
        shares = [noise.share_interval(units.number, *pair) for pair in ends]
    elif units is not None and units.noise is not None:
        wider = noisy_supports.consistent(itemsets, values, noise.within(SUPPORT_CONFIDENCE))
        shares = [units.share_interval(*bounds) for bounds in zip(wider.lower, wider.upper, strict=True)]
    intervals = zip(made.lower, made.upper, strict=True)
    rows = zip(itemsets, made.estimates, intervals, shares, strict=True)
    return [Itemset(items, estimate, bounds, share_interval=own) for items, estimate, bounds, own in rows]


def released(
    supports: Sequence[int], noise: SupportNoise, randomness: Randomness, units: UnitCount | None, true_units: int
) -> tuple[Sequence[int], UnitCount | None]:
    """Return supports with noise, in steps of its grid, and the number of units: the one given, or that of the noise.

    true_units: how many there are.
    """
    if noise.of_units is None:
        return noisy_supports.release(supports, noise, randomness=randomness), units
    values, number = noisy_supports.release_with_units(supports, true_units, noise, randomness=randomness)
    return values, UnitCount(max(number, 0), noise.number)


def counted_units(
    source: SupportSource, budget: SupportsBudget | None, randomness: Randomness, *, public: bool
) -> UnitCount | None:
    """Return how many units there are, exactly where that is public; None where it is not, and nobody paid for it."""
    if public:
        return UnitCount(source.units)
    return None if budget is None else UnitCount.noisy(source.units, budget.noise(1), randomness)
