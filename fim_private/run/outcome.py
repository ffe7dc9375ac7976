"""Carrying out the steps of a plan: selecting itemsets, adding noise, publishing the outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fim_private.counting.source import SelectedItemset, SupportSource
from fim_private.dp.accountant import Step
from fim_private.dp.noise import Randomness
from fim_private.levelwise.levelwise import Levelwise, LevelwiseThreshold
from fim_private.mechanisms.top_k import TopK
from fim_private.reading.labels import Item
from fim_private.request import supports as noisy_supports
from fim_private.request.itemsets import Itemset, subsets_of
from fim_private.request.plan import LeftOut, ReleasePlan, Selection, noise_of
from fim_private.request.supports import (
    CONFIDENCE,
    SUPPORT_CONFIDENCE,
    MinSupport,
    SupportNoise,
    UnitCount,
)

Items = tuple[Item, ...]


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


# -------------------- selecting


def select(
    plan: ReleasePlan, source: SupportSource, randomness: Randomness, threshold: int | None = None
) -> list[SelectedItemset]:
    """Return the itemsets that the selections of a plan select, in order, with true supports.

    threshold: the least support, in units, if there is one.
    """
    selected: list[SelectedItemset] = []
    for selection in plan.selections:
        selected += _selected_by(selection, source, randomness, threshold)
    return selected


def _selected_by(
    selection: Selection, source: SupportSource, randomness: Randomness, threshold: int | None
) -> list[SelectedItemset]:
    match selection.run:
        case LevelwiseThreshold() as run:
            assert threshold is not None
            return run.find(source, selection.universe, threshold, randomness)
        case Levelwise() as run:
            return run.find(source, selection.universe, randomness)
        case TopK() as run:
            return _selected_one_by_one(run, selection, source, randomness)


def _selected_one_by_one(
    run: TopK, selection: Selection, source: SupportSource, randomness: Randomness
) -> list[SelectedItemset]:
    spectrum = source.spectrum(selection.sizes, selection.universe)
    chosen = run.select(spectrum, randomness)
    levels = [choice.level for choice in chosen if choice.level is not None]
    # Over a universe of unknown items nobody can name an itemset that no unit has.
    nameless = spectrum.universe_size is None
    with_names = [level for level in levels if level or not nameless]
    names = iter(spectrum.sample_itemsets(with_names, randomness))
    selected = []
    for level in levels:
        items = None if nameless and not level else next(names)
        selected.append(SelectedItemset(items, level))
    return selected


def unit_count(
    plan: ReleasePlan, source: SupportSource, randomness: Randomness, *, public: bool
) -> UnitCount | None:
    """Return how many units there are: exactly if that is public, else with noise.

    Returns None if no step counts them.
    """
    if public:
        return UnitCount(source.units)
    step = plan.step("count")
    if step is None:
        return None
    return UnitCount.noisy(source.units, noise_of(step, 1), randomness)


# -------------------- publishing


def publish(
    plan: ReleasePlan,
    selected: Sequence[SelectedItemset],
    randomness: Randomness,
    units: UnitCount | None = None,
    count_supports: Callable[[Sequence[Items]], Sequence[int]] | None = None,
    *,
    with_subsets: bool = False,
    known: Sequence[Items] = (),
    true_units: int = 0,
) -> Outcome:
    """Return the outcome of a plan: itemsets with noisy supports, and the noise.

    Itemsets come by descending noisy support, unnamed ones last. Which are left out, the plan
    says; one that is left out may still be among the subsets or the known itemsets. With a least
    support only those come whose noisy support reaches it. They are doubtful if the noise alone may
    have lifted them there.

    Args:
        plan: The plan.
        selected: The itemsets selected, with true supports.
        randomness: What noise is drawn from.
        units: The number of units, if it is released.
        count_supports: Returns the true supports of subsets and known itemsets.
        with_subsets: Whether the subsets of the itemsets are released too.
        known: The known itemsets.
        true_units: The true number of units, which joint noise releases, also if nothing was
            selected.
    """
    step = plan.step("supports")
    named = [itemset for itemset in selected if itemset.items is not None]
    if step is None or not (named or known):
        return _without_supports(plan, step, selected, randomness, units, true_units)
    itemsets = [itemset.items or () for itemset in named]
    supports = [itemset.support for itemset in named]
    subsets = subsets_of(itemsets) if with_subsets else []
    counted = {frozenset(items) for items in (*itemsets, *subsets)}
    others = [*subsets, *(items for items in known if frozenset(items) not in counted)]
    if count_supports is not None and others:
        itemsets += others
        supports += count_supports(others)
    # It is public by now how many itemsets came out, so the noise is for these alone.
    noise = noise_of(step, len(supports), joint=plan.joint_noise)
    noisy, units = released(supports, noise, randomness, units, true_units)
    if plan.min_support is None:
        estimates = estimated(itemsets, noisy, noise, units)
        found = _ranked(plan, named, estimates, noise)
    else:
        estimates, found = _reaching(
            plan.min_support, itemsets, noisy, noise, units, len(named), with_subsets=with_subsets
        )
    return _outcome(plan, found, estimates, selected, noise, units, known, with_subsets)


def _without_supports(
    plan: ReleasePlan,
    step: Step | None,
    selected: Sequence[SelectedItemset],
    randomness: Randomness,
    units: UnitCount | None,
    true_units: int,
) -> Outcome:
    """Return the outcome if no supports are released, or there are no itemsets to have any."""
    if step is not None and plan.joint_noise:
        noise = SupportNoise.for_mu_squared(step.normal, 1)
        units = UnitCount.noisy(true_units, noise, randomness)
    itemsets = tuple(Itemset(itemset.items, doubtful=itemset.doubtful) for itemset in selected)
    return Outcome(itemsets, None, units)


def _ranked(
    plan: ReleasePlan,
    named: Sequence[SelectedItemset],
    estimates: Sequence[Itemset],
    noise: SupportNoise,
) -> list[Itemset]:
    """Return the itemsets selected with their supports, and whether each is doubtful.

    estimates: of the itemsets selected, and then of others.
    """
    itemsets = [
        replace(estimate, doubtful=itemset.doubtful)
        for estimate, itemset in zip(estimates, named, strict=False)
    ]
    for selection in plan.selections:
        itemsets = _with_doubts(selection, itemsets, noise.common_reach)
    return itemsets


def _with_doubts(selection: Selection, itemsets: list[Itemset], common: int) -> list[Itemset]:
    """Return itemsets, those of a selection with whether they may not be the most frequent.

    common: how many units closer two intervals may come, since both share some of their noise.
    """
    run, most_left_out = selection.run, selection.shortfall()
    if most_left_out is None or not isinstance(run, TopK) or run.count == 1:
        return itemsets
    of_selection = {
        itemset
        for itemset in itemsets
        if itemset.items is not None and len(itemset.items) in selection.sizes
    }
    if not of_selection:
        return itemsets
    lowest_end = min(_interval(itemset)[1] for itemset in of_selection)
    cut = most_left_out + lowest_end - common
    marked = []
    for itemset in itemsets:
        if itemset in of_selection:
            low, _ = _interval(itemset)
            itemset = replace(itemset, doubtful=low == 0 or low <= cut)
        marked.append(itemset)
    return marked


def _interval(itemset: Itemset) -> tuple[int, int]:
    return itemset.interval or (0, 0)


def _reaching(
    least: MinSupport,
    itemsets: Sequence[Items],
    noisy: Sequence[int],
    noise: SupportNoise,
    units: UnitCount | None,
    selected: int,
    *,
    with_subsets: bool,
) -> tuple[list[Itemset], list[Itemset]]:
    """Return estimates, and those of the itemsets selected that reach a least support.

    The noisy supports decide as they were drawn, before inclusion changes them. Of the others only
    subsets are needed.

    Args:
        least: The least support.
        itemsets: (k,) itemsets; the first of them were selected.
        noisy: (k,) noisy supports, in steps of the noise's grid.
        noise: Their noise.
        units: The number of units, if it is released.
        selected: How many of the itemsets were selected.
        with_subsets: Whether subsets are released too.
    """
    threshold = least.threshold(units) * noise.steps
    reaching = [place for place in range(selected) if noisy[place] >= threshold]
    order = list(reaching)
    if with_subsets:
        order += sorted({*range(len(noisy))}.difference(reaching))
    itemsets = [itemsets[place] for place in order]
    noisy = [noisy[place] for place in order]
    estimates = estimated(itemsets, noisy, noise, units)
    sure = _are_sure(least, estimates, itemsets, noisy, noise, units)
    found = [replace(estimates[place], doubtful=not sure[place]) for place in range(len(reaching))]
    return estimates, found


def _are_sure(
    least: MinSupport,
    estimates: Sequence[Itemset],
    itemsets: Sequence[Items],
    noisy: Sequence[int],
    noise: SupportNoise,
    units: UnitCount | None,
) -> list[bool]:
    """Return for each itemset whether its true support certainly reaches a least support."""
    share = least.share
    if share is not None and noise.of_units is not None:
        intervals = [estimate.share_interval for estimate in estimates]
        return [interval is not None and interval[0] >= share for interval in intervals]
    reach = noise.reach(least.confidence(units))
    lowest = noisy_supports.consistent(itemsets, noisy, reach, noise.steps).lower
    return [least.is_certain(low, units) for low in lowest]


def _outcome(
    plan: ReleasePlan,
    found: Sequence[Itemset],
    estimates: Sequence[Itemset],
    selected: Sequence[SelectedItemset],
    noise: SupportNoise,
    units: UnitCount | None,
    known: Sequence[Items],
    with_subsets: bool,
) -> Outcome:
    """Return the outcome: without the itemsets that the plan leaves out, and in order."""
    itemsets = list(found)
    none_is_sure = all(itemset.doubtful for itemset in found)
    if plan.left_out is LeftOut.UNCLEAR or (
        plan.left_out is LeftOut.UNCLEAR_IF_NONE_IS_SURE and none_is_sure
    ):
        itemsets = [itemset for itemset in found if _interval(itemset)[0] > 0]
    itemsets.sort(key=lambda itemset: -(itemset.support or 0))
    unnamed = [Itemset(None) for itemset in selected if itemset.items is None]
    named = [itemset.items or () for itemset in itemsets]
    subsets = {*subsets_of(named)} if with_subsets else set()
    shown = {frozenset(items) for items in (*named, *subsets)}
    other_known = {frozenset(items) for items in known} - shown
    return Outcome(
        (*itemsets, *unnamed),
        noise,
        units,
        tuple(estimate for estimate in estimates if estimate.items in subsets),
        tuple(estimate for estimate in estimates if frozenset(estimate.items or ()) in other_known),
    )


# -------------------- noise and intervals


def released(
    supports: Sequence[int],
    noise: SupportNoise,
    randomness: Randomness,
    units: UnitCount | None,
    true_units: int,
) -> tuple[Sequence[int], UnitCount | None]:
    """Return supports with noise, in steps of its grid, and the number of units.

    That is the one given, unless joint noise gives it with the supports.
    """
    if noise.of_units is None:
        return noisy_supports.release(supports, noise, randomness=randomness), units
    noisy, number = noisy_supports.release_with_units(
        supports, true_units, noise, randomness=randomness
    )
    return noisy, UnitCount(max(number, 0), noise.number)


def estimated(
    itemsets: Sequence[Items],
    noisy: Sequence[int],
    noise: SupportNoise,
    units: UnitCount | None,
) -> list[Itemset]:
    """Return itemsets with the supports and 95 % intervals that their noisy supports give.

    Args:
        itemsets: (k,) itemsets, all different.
        noisy: (k,) noisy supports from `released`.
        noise: Their noise.
        units: The number of units, if it is released.
    """
    supports = noisy_supports.consistent(itemsets, noisy, noise.reach(CONFIDENCE), noise.steps)
    share_intervals = _share_intervals(itemsets, noisy, noise, units)
    return [
        Itemset(items, support, (lower, upper), share_interval=share_interval)
        for items, support, lower, upper, share_interval in zip(
            itemsets,
            supports.estimates,
            supports.lower,
            supports.upper,
            share_intervals,
            strict=True,
        )
    ]


def _share_intervals(
    itemsets: Sequence[Items],
    noisy: Sequence[int],
    noise: SupportNoise,
    units: UnitCount | None,
) -> Sequence[tuple[float, float] | None]:
    """Return a 95 % interval of each share of a noisy number of units; None of an exact number."""
    if units is not None and noise.of_units is not None:
        extremes = noisy_supports.extremes(itemsets, noisy)
        return [noise.share_interval(units.number, low, high) for low, high in extremes]
    if units is not None and units.noise is not None:
        wider = noisy_supports.consistent(itemsets, noisy, noise.within(SUPPORT_CONFIDENCE))
        bounds = zip(wider.lower, wider.upper, strict=True)
        return [units.share_interval(low, high) for low, high in bounds]
    return [None] * len(itemsets)
