"""One release of purchases that have been read: counting, selection, names and noise, in that order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.dp.randomness import Randomness
from fim_private.mining.allocation import BudgetAllocation, counted_units
from fim_private.mining.engines import Opened
from fim_private.mining.known_itemsets import GivenItemsets, supports_of
from fim_private.mining.options import MiningOptions
from fim_private.mining.release import Release


class Spends(Protocol):
    """What spends privacy, as much as it says beforehand."""

    @property
    def cost(self) -> PrivacyCost:
        """What a release spends."""

    @property
    def concentrated(self) -> ZcdpCost:
        """What a release spends in zCDP."""


@dataclass(frozen=True)
class Job:
    """What is done with purchases, all of which was decided before they were read."""

    options: MiningOptions
    allocation: BudgetAllocation
    randomness: Randomness

    @property
    def cost(self) -> PrivacyCost:
        """What a release spends."""
        return self.allocation.cost

    @property
    def concentrated(self) -> ZcdpCost:
        """What a release spends in zCDP."""
        return self.allocation.concentrated

    def release(self, opened: Opened) -> Release:
        """Return what comes out. Raises WorkLimitError where counting is out of reach."""
        options, randomness = self.options, self.randomness
        source, scope = opened.source, opened.scope
        if options.max_basket is not None:
            source = source.capped(options.max_basket, options.max_baskets or 1)
        units = counted_units(source, self.allocation.count, randomness, public=options.units_are_public)
        threshold = None if options.min_support is None else options.min_support.threshold(units)
        taken = self.allocation
        found = taken.find(source, randomness, threshold)
        count_parts = (
            (lambda parts: supports_of(GivenItemsets.of(parts, exactly=True), source)) if options.rules else None
        )
        published = taken.published(found, randomness, units, count_parts, true_units=source.units)
        units = published.units
        if options.min_support is not None:
            threshold = options.min_support.threshold(units)
        itemsets, parts = published.itemsets, published.parts
        if (listed := scope.catalogue) is not None:
            scope = replace(scope, catalogue=listed.of_release([*itemsets, *parts]))
            itemsets, parts = listed.shown(itemsets), listed.shown(parts)
        return Release(
            mechanism=options.mechanism.name,
            sizes=options.sizes,
            cost=taken.cost,
            zcdp=taken.zcdp,
            neighbors=options.neighbors,
            privacy_unit="user" if source.by_user else "basket",
            private=randomness.private,
            abstained=not published.itemsets,
            itemsets=itemsets,
            parts=parts,
            missing_user=source.missing_user,
            where=opened.where,
            scope=scope,
            top=options.top,
            union=options.union,
            shares=taken.shares,
            noise=published.noise,
            reason=options.reason,
            keep_all=options.keep_all,
            shortfall=taken.shortfall,
            request=options if scope.max_segments == 1 else None,  # advice would speak of a part of the budget
            units=None if units is None else units.number,
            units_interval=None if units is None else units.interval,
            units_noise=None if units is None else units.noise,
            with_parts=options.rules,
            max_basket=options.max_basket,
            max_baskets=options.max_baskets,
            min_support=None if options.min_support is None else options.min_support.asked,
            threshold=threshold,
            capped=threshold is not None and taken.most is not None and len(found) >= taken.most,
        )


def cost_of(options: MiningOptions, job: Spends, most: int) -> tuple[PrivacyCost, ZcdpCost]:
    """Return what all releases spend together, of one for each segment, in (ε, δ) and in zCDP.

    options: of the whole. job: which makes each of them. most: in how many a unit counts at most.
    """
    each = job.concentrated
    concentrated = ZcdpCost(most * each.rho, most * each.delta)
    if most == 1:
        return job.cost, concentrated
    added = PrivacyCost(most * job.cost.epsilon, most * job.cost.delta)
    if options.rho is None:
        return added, concentrated
    # Both hold; of a ρ that is divided often the ε of the whole is the smaller one.
    converted = options.budget.cost(Fraction(concentrated.delta), normal=False)
    return min(added, converted, key=lambda cost: (cost.epsilon, cost.delta)), concentrated
