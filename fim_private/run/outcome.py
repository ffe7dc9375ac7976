"""Carrying out the steps of a plan: selecting itemsets, adding noise, publishing the outcome."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import NormalDist
from typing import Self

import numpy as np

from fim_private.counting.source import Catalogue, SelectedItemset, SupportSource, Universe
from fim_private.dp.accountant import Step
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.noise import Randomness
from fim_private.levelwise.discovery import NoisyCounts
from fim_private.levelwise.levelwise import Levelwise, LevelwiseThreshold
from fim_private.mechanisms.top_k import TopK
from fim_private.request import pooling
from fim_private.request import supports as noisy_supports
from fim_private.request.groups import Promise
from fim_private.request.itemsets import GivenItemsets, Items, Itemset, subsets_of, supports_of
from fim_private.request.plan import (
    EnoughItems,
    ReleasePlan,
    Selection,
    noise_of,
    noise_of_look,
)
from fim_private.request.request import Request
from fim_private.request.supports import (
    CONFIDENCE,
    SUPPORT_CONFIDENCE,
    MinSupport,
    SupportNoise,
    UnitCount,
)


@dataclass(frozen=True)
class Outcome:
    """What a run publishes.

    Attributes:
        itemsets: The itemsets that are released, by descending noisy support; unnamed ones last.
        noise: The noise on their supports; None if none are released.
        units: The number of units; None if it is not released.
        subsets: Every subset of the itemsets that is not one of them, if rules were asked for.
        known: The known itemsets that are in neither.
    """

    itemsets: tuple[Itemset, ...]
    noise: SupportNoise | None = None
    units: UnitCount | None = None
    subsets: tuple[Itemset, ...] = ()
    known: tuple[Itemset, ...] = ()


# -------------------- measuring


@dataclass(frozen=True)
class Measurement:
    """Noisy supports of k itemsets.

    Attributes:
        itemsets: (k,) itemsets, all different.
        noisy: (k,) noisy supports, in steps of the noise's grid.
        noise: The noise on each of them.
        units: The number of units; None if it is not released.
    """

    itemsets: Sequence[Items]
    noisy: Sequence[int]
    noise: SupportNoise
    units: UnitCount | None

    def at(self, places: Sequence[int]) -> "Measurement":
        """Return the measurement of the itemsets at these places."""
        return replace(
            self,
            itemsets=[self.itemsets[place] for place in places],
            noisy=[self.noisy[place] for place in places],
        )

    def estimates(self) -> list[Itemset]:
        """Return the itemsets with the supports and 95 % intervals that follow: (k,)."""
        supports = self.consistent(self.noise.reach(CONFIDENCE))
        intervals = zip(supports.lower, supports.upper, strict=True)
        rows = zip(
            self.itemsets, supports.estimates, intervals, self._share_intervals(), strict=True
        )
        return [
            Itemset(items, support, interval, share_interval=share_interval)
            for items, support, interval, share_interval in rows
        ]

    def consistent(self, reach: int) -> noisy_supports.NoisySupports:
        """Return the supports that follow, with intervals of this half width, in steps."""
        return noisy_supports.consistent(self.itemsets, self.noisy, reach, self.noise.per_unit)

    def _share_intervals(self) -> Sequence[tuple[float, float] | None]:
        """Return a 95 % interval of each share of a noisy number of units; None of an exact one."""
        units, noise = self.units, self.noise
        if units is None or units.noise is None:
            return [None] * len(self.itemsets)
        if noise.of_units is not None:
            extremes = noisy_supports.extremes(self.itemsets, self.noisy)
            return [noise.share_interval(units.number, low, high) for low, high in extremes]
        wider = self.consistent(noise.reach(SUPPORT_CONFIDENCE))
        return [*map(units.share_interval, wider.lower, wider.upper)]


@dataclass(frozen=True)
class NoisySupport:
    """A noisy support that a look at the data saw, in units, and its normal noise."""

    support: float
    noise: SupportNoise

    def surely_exceeded(self, noise: SupportNoise, count: int) -> float:
        """Return a number of units above which other noisy supports are of larger supports.

        With 95 % probability that is so of all of them.

        Args:
            noise: The noise of the others.
            count: How many there are, >= 1.
        """
        own = noise.own_variance + self.noise.own_variance
        shared = noise.shared_variance + self.noise.shared_variance
        sigmas = NormalDist().inv_cdf(1 - float(1 - CONFIDENCE) / count)
        return self.support + sigmas * math.sqrt(own + shared)


# -------------------- carrying out the steps


@dataclass(frozen=True)
class Execution:
    """Carries out the steps of a plan.

    Attributes:
        plan: The plan.
        source: The purchases.
        randomness: What choices and noise are drawn from.
        left_out: The noisy support of the first itemset that a true ranking leaves out, if a look
            at the data saw it.
    """

    plan: ReleasePlan
    source: SupportSource
    randomness: Randomness
    left_out: NoisySupport | None = None

    def unit_count(self, *, public: bool) -> UnitCount | None:
        """Return how many units there are: exactly if that is public, else with noise.

        Returns None if no step counts them.
        """
        if public:
            return UnitCount(self.source.units)
        step = self.plan.step("count")
        if step is None:
            return None
        return UnitCount.noisy(self.source.units, noise_of(step, 1), self.randomness)

    def settled(self, request: Request) -> tuple[Request, Self]:
        """Return what is carried out, and for which request: after a look, if the plan has one.

        Source: docs/privacy.md, Theorem 33.
        """
        look, step = self.plan.look, self.plan.step("look")
        if look is None or step is None:
            return request, self
        condition, selection = look.condition, look.plan.selections[0]
        numbers = [self._support_left_out(selection)]
        if isinstance(condition, EnoughItems):
            numbers.append(self._users_with(condition.items, selection.universe))
        seen, units = self._seen(numbers, step, request.promise)
        # The last number decides. The first one serves for marks, too.
        if seen[-1].support < condition.needed(units):
            reason = (
                f"a noisy look at the data did not show that {condition} for "
                f"{look.request.mechanism.name}"
            )
            return replace(request, reason=reason), self
        reason = f"a noisy look at the data showed that {condition} for it"
        return replace(look.request, reason=reason), replace(self, plan=look.plan, left_out=seen[0])

    def _seen(
        self, numbers: Sequence[int], step: Step, promise: Promise
    ) -> tuple[list[NoisySupport], int]:
        """Return what a look sees: numbers that a unit changes by 1 at most, and that of all units.

        The latter comes with them at no cost where one unit more or less is to be hidden
        (docs/privacy.md, Theorem 28), and where it is public.
        """
        units, noise = self.source.units, noise_of_look(step, len(numbers), promise)
        if promise.neighbors == Neighbors.ADD_REMOVE:
            noisy, units = noisy_supports.release_with_units(
                numbers, units, noise, randomness=self.randomness
            )
        elif promise.units_are_public:
            noisy = noisy_supports.release(numbers, noise, randomness=self.randomness)
        else:
            drawn = noisy_supports.release([*numbers, units], noise, randomness=self.randomness)
            noisy, units = drawn[:-1], drawn[-1]
        return [NoisySupport(number / noise.per_unit, noise) for number in noisy], units

    def _support_left_out(self, selection: Selection) -> int:
        """Return the support of the first itemset that a true ranking leaves out; 0 if none is."""
        spectrum = self.source.spectrum(selection.public.sizes, selection.universe)
        seen = 0
        for support, multiplicity in spectrum.levels():
            seen += multiplicity
            if seen > selection.public.top:
                return support
        return 0

    def _users_with(self, least: int, universe: Universe) -> int:
        """Return how many users have bought so many different items of a list, or more."""
        assert isinstance(universe, Catalogue)
        codes = np.arange(len(universe.items), dtype=np.int32)
        counts = self.source.items(universe).among(codes)
        return int(counts.units_with([codes[:, None]])[least:].sum())

    def find_items(self) -> NoisyCounts | None:
        """Return the items that levelwise finds first; None if the plan has another mechanism."""
        for selection in self.plan.selections:
            run = selection.run
            if not isinstance(run, TopK):
                return run.found_items(self.source, selection.universe, self.randomness)
        return None

    def select(
        self, items: NoisyCounts | None, units: UnitCount | None = None
    ) -> list[SelectedItemset]:
        """Return the itemsets that the selections of the plan select, in order, with true supports.

        Args:
            items: What `find_items` returned, for this plan or for another of its questions.
            units: The number of units, by which a share of them as a least support is a number.
        """
        selected: list[SelectedItemset] = []
        for selection in self.plan.selections:
            match selection.run:
                case LevelwiseThreshold() as run:
                    assert self.plan.target.min_support is not None
                    assert items is not None
                    selected += run.find(items, self.plan.target.min_support.threshold(units))
                case Levelwise() as run:
                    assert items is not None
                    selected += run.find(items)
                case TopK() as run:
                    selected += self._selected_one_by_one(run, selection)
        return selected

    def _selected_one_by_one(self, run: TopK, selection: Selection) -> Iterator[SelectedItemset]:
        spectrum = self.source.spectrum(selection.public.sizes, selection.universe)
        levels = run.select(spectrum, self.randomness)
        # Over a universe of unknown items nobody can name an itemset that no unit has.
        nameless = spectrum.universe_size is None
        with_names = [level for level in levels if level or not nameless]
        names = iter(spectrum.sample_itemsets(with_names, self.randomness))
        for level in levels:
            items = None if nameless and not level else next(names)
            yield SelectedItemset(items, level)

    def measure(
        self, itemsets: Sequence[Items], supports: Sequence[int], units: UnitCount | None
    ) -> Measurement:
        """Return itemsets with noise on their supports, and the number of units.

        Args:
            itemsets: (k,) itemsets, all different.
            supports: (k,) their true supports, in units.
            units: The number of units, unless joint noise gives it with the supports.
        """
        noise = self.plan.noise(len(supports))
        assert noise is not None
        if noise.of_units is None:
            noisy = noisy_supports.release(supports, noise, randomness=self.randomness)
        else:
            noisy, number = noisy_supports.release_with_units(
                supports, self.source.units, noise, randomness=self.randomness
            )
            units = UnitCount(max(number, 0), noise.number)
        return Measurement(itemsets, noisy, noise, units)

    def publish(
        self, selected: Sequence[SelectedItemset], units: UnitCount | None = None
    ) -> Outcome:
        """Return the outcome of the plan: itemsets with noisy supports, and the noise.

        Itemsets come by descending noisy support, unnamed ones last. Which are left out, the plan
        says; one that is left out may still be among the subsets or the known itemsets. With a
        least support only those come whose noisy support reaches it. They are doubtful if the noise
        alone may have lifted them there.

        Each exact interval covers the true support with 95 % probability by itself. That says
        nothing about the itemsets which come out because these same noisy supports were high. Of
        pooled intervals 95 % cover it (`request.pooling`).

        Args:
            selected: The itemsets selected, with true supports.
            units: The number of units, if it is released.
        """
        named = [itemset for itemset in selected if itemset.items is not None]
        has_some_to_measure = bool(named or self.plan.target.known_itemsets)
        if self.plan.supports_step is None or not has_some_to_measure:
            unmeasured = (Itemset(itemset.items, doubtful=itemset.doubtful) for itemset in selected)
            return Outcome(tuple(unmeasured), None, self._units_alone(units))
        itemsets = _names_of(named)
        supports = [itemset.support for itemset in named]
        besides = [*chain(*self._besides(itemsets))]
        if besides:
            itemsets += besides
            universe = self.plan.selections[0].universe
            supports += supports_of(GivenItemsets.of(besides), self.source, universe)
        # It is public by now how many itemsets came out, so the noise is for these alone.
        measurement = self.measure(itemsets, supports, units)
        estimates, candidates = self._candidates(measurement, named)
        clear = self._clear_ones(measurement, candidates, named)
        unnamed = [Itemset(None)] * (len(selected) - len(named))
        subsets, others_known = (
            tuple(estimate for estimate in estimates if estimate.items in names)
            for names in map(set, self._besides(_names_of(clear)))
        )
        return Outcome(
            (*clear, *unnamed), measurement.noise, measurement.units, subsets, others_known
        )

    def _units_alone(self, units: UnitCount | None) -> UnitCount | None:
        """Return the number of units where no support is released.

        Joint noise releases it, also if nothing was selected.
        """
        step = self.plan.supports_step
        if step is None or not self.plan.joint_noise:
            return units
        noise = SupportNoise.for_mu_squared(step.normal_mu_squared, 1)
        return UnitCount.noisy(self.source.units, noise, self.randomness)

    def _clear_ones(
        self,
        measurement: Measurement,
        candidates: list[Itemset],
        named: Sequence[SelectedItemset],
    ) -> list[Itemset]:
        """Return the candidates that are not left out, by descending support.

        Args:
            measurement: The noisy supports of the candidates, and then of others.
            candidates: What `_candidates` returned.
            named: The itemsets selected.
        """
        clear = candidates
        if self._leaves_out(candidates, named):
            clear = [itemset for itemset in candidates if _interval(itemset)[0] > 0]
        # Where some were left out, their noise selected those that stay: pooled intervals, which
        # hold on average over all that were found, would not hold for these.
        if self.plan.target.min_support is None and len(clear) == len(named):
            clear = _pooled(measurement, clear, named)
        return sorted(clear, key=lambda itemset: -(itemset.support or 0))

    def _besides(self, itemsets: Sequence[Items]) -> tuple[list[Items], list[Items]]:
        """Return the subsets of itemsets, if they are released, and known itemsets in neither."""
        target = self.plan.target
        subsets = subsets_of(itemsets) if target.rules else []
        counted = {*itemsets, *subsets}
        return subsets, [items for items in target.known_itemsets if items not in counted]

    def _candidates(
        self, measurement: Measurement, named: Sequence[SelectedItemset]
    ) -> tuple[list[Itemset], list[Itemset]]:
        """Return the estimates of all itemsets, and the itemsets selected, with their doubts.

        With a least support the latter are those that reach it.
        """
        least = self.plan.target.min_support
        if least is not None:
            return self._reaching(least, measurement, len(named))
        estimates = measurement.estimates()
        selected = [
            replace(estimate, doubtful=doubtful)
            for estimate, doubtful in zip(
                estimates[: len(named)], self._doubts(named, measurement), strict=True
            )
        ]
        return estimates, selected

    def _leaves_out(self, candidates: Sequence[Itemset], named: Sequence[SelectedItemset]) -> bool:
        """Tell whether itemsets are left out whose interval reaches 0."""
        target = self.plan.target
        if target.keep_all:
            return False
        if self.plan.spares_all_for_one and any(itemset.leads for itemset in named):
            return False
        if target.known.required:
            # An item may have few owners, and then no rank is sure. But if one partner surely has
            # support, the others, which stand out in the second count, are no mere noise.
            return all(_interval(itemset)[0] == 0 for itemset in candidates)
        return True

    def _doubts(
        self, named: Sequence[SelectedItemset], measurement: Measurement
    ) -> list[bool | None]:
        """Return of each itemset selected whether one that was left out may be more frequent.

        None where nothing is said of that.

        measurement: of the itemsets selected, and then of others.
        """
        noise = measurement.noise
        if self.left_out is not None:
            extremes = noisy_supports.extremes(measurement.itemsets, measurement.noisy)
            exceeded = self.left_out.surely_exceeded(noise, len(named)) * noise.per_unit
            return [least <= exceeded for least, _ in extremes[: len(named)]]
        supports = measurement.consistent(noise.reach(CONFIDENCE))
        doubtful = [itemset.doubtful for itemset in named]
        for selection in self.plan.selections:
            places = [
                place
                for place, itemset in enumerate(named)
                if len(itemset.items or ()) in selection.public.sizes
            ]
            lead = selection.shortfall(len(self.plan.selections))
            upper_ends = [supports.upper[place] for place in places]
            left_out = _most_left_out(selection, lead, upper_ends, noise)
            if left_out is not None:
                for place in places:
                    doubtful[place] = supports.lower[place] <= left_out
        return doubtful

    def _reaching(
        self, least: MinSupport, measurement: Measurement, selected: int
    ) -> tuple[list[Itemset], list[Itemset]]:
        """Return the estimates that are needed with a least support, and the itemsets reaching it.

        The noisy supports decide which reach it as they were drawn, before inclusion changes them.
        Those that do not are dropped first, unless rules need them as subsets. An itemset that
        reaches it is doubtful if the noise may have lifted it there.

        Args:
            least: The least support.
            measurement: All noisy supports; the first of them are of itemsets selected.
            selected: How many itemsets were selected.
        """
        noisy, noise, units = measurement.noisy, measurement.noise, measurement.units
        threshold = least.threshold(units) * noise.per_unit
        reaching = [place for place in range(selected) if noisy[place] >= threshold]
        places = list(reaching)
        if self.plan.target.rules:
            places += sorted({*range(len(noisy))}.difference(reaching))
        measurement = measurement.at(places)
        estimates = measurement.estimates()
        if least.share is not None and noise.of_units is not None:
            share = least.share
            sure = [(estimate.share_interval or (0, 1))[0] >= share for estimate in estimates]
        else:
            lower = measurement.consistent(noise.reach(least.confidence(units))).lower
            sure = [least.is_certain(lowest, units) for lowest in lower]
        marked = [
            replace(estimate, doubtful=not is_sure)
            for estimate, is_sure in zip(estimates, sure, strict=True)
        ]
        return estimates, marked[: len(reaching)]


# -------------------- publishing


def _names_of(itemsets: Sequence[Itemset | SelectedItemset]) -> list[Items]:
    """Return the items of itemsets that have names."""
    return [itemset.items or () for itemset in itemsets]


def _most_left_out(
    selection: Selection, lead: int | None, upper_ends: Sequence[int], noise: SupportNoise
) -> int | None:
    """Return the largest support, in units, that an itemset may have which picks passed over.

    Below 0 if none is left out. None if nothing is known of it, or if only one is picked: the
    interval of that one never lies above what one left out may have.

    Args:
        selection: The selection.
        lead: The lead that an itemset left out may have over one picked, if that is known.
        upper_ends: Of the intervals of the itemsets picked.
        noise: The noise on their supports.
    """
    run = selection.run
    if lead is None or not isinstance(run, TopK) or run.count == 1:
        return None
    possible = selection.public.candidates
    if possible is not None and run.count >= possible:
        return -1
    # Noise that all supports share cancels where two of them are compared.
    return max(min(upper_ends, default=0) + lead - noise.common_reach, 0)


def _interval(itemset: Itemset) -> tuple[int, int]:
    return itemset.interval or (0, 0)


def _pooled(
    measurement: Measurement, itemsets: list[Itemset], selected: Sequence[SelectedItemset]
) -> list[Itemset]:
    """Return itemsets whose supports draw on the estimates of earlier counts (`request.pooling`).

    They are returned as they are if there are too few of them, or no earlier estimates.

    Args:
        measurement: The noisy supports of these itemsets, and then of others.
        itemsets: (k,) itemsets with the supports that hold for each by itself.
        selected: (k,) the same with the estimates of earlier counts.
    """
    earlier = [itemset.estimate for itemset in selected if itemset.estimate is not None]
    if len(earlier) < max(len(selected), pooling.LEAST_ITEMSETS):
        return itemsets
    noise, units = measurement.noise, measurement.units
    noisy = np.array(measurement.noisy[: len(itemsets)]) / noise.per_unit
    pooled = pooling.pooled(noisy, np.array(earlier), noise.own_variance)
    half_widths = pooled.half_widths(noise.shared_variance).tolist()
    # An itemset that another contains is at least as frequent as that one.
    extremes = noisy_supports.extremes(_names_of(itemsets), pooled.estimates.tolist())
    # Of a share of an exact number of units, the interval follows from that of the support.
    share_intervals: Sequence[tuple[float, float] | None] = [None] * len(itemsets)
    if noise.of_units is not None and units is not None:
        shares = np.clip(pooled.estimates / max(units.number, 1), 0, 1)
        sigmas = pooled.sigmas(4 * noise.shared_variance * (0.5 - shares) ** 2).tolist()
        variances = pooled.variances.tolist()
        share_intervals = [
            noise.share_interval(
                units.number, 2 * low, 2 * high, own_variance=variance, sigmas=critical
            )
            for (low, high), variance, critical in zip(extremes, variances, sigmas, strict=True)
        ]
    return [
        replace(
            itemset,
            support=max(round((low + high) / 2), 0),
            interval=(max(math.ceil(low - width), 0), max(math.floor(high + width), 0)),
            share_interval=share_interval,
            exact_support=itemset.support,
            exact_interval=itemset.interval,
            exact_share_interval=itemset.share_interval,
        )
        for itemset, (low, high), width, share_interval in zip(
            itemsets, extremes, half_widths, share_intervals, strict=True
        )
    ]
