"""Engines: what reads and counts, this machine or Spark; and one release of purchases that were read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from fim_private.counting import Effort
from fim_private.counting.source import LocalSource, SupportSource
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.dp.noise import Randomness
from fim_private.errors import ParameterError, parameter, shown
from fim_private.reading.columns import ReadAs
from fim_private.reading.databases import check_query
from fim_private.reading.options import Options
from fim_private.reading.purchases import read_parts
from fim_private.release.release import Release
from fim_private.request.budget import BudgetAllocation
from fim_private.request.itemsets import GivenItemsets, supports_of
from fim_private.request.request import MiningOptions, Scope
from fim_private.spark.dataframes import is_dataframe, opened_table
from fim_private.spark.purchases import stored_purchases
from fim_private.spark.source import SparkSource

LOCAL, SPARK = "local", "spark"


@dataclass(frozen=True)
class Opened:
    """Purchases that were read, as far as they count.

    read_as: what the source was read as; None where that is not known. scope: with the columns that name an item, where
    several do. where: which rows were read, as a condition; None for all.
    """

    source: SupportSource
    read_as: ReadAs | None
    scope: Scope
    where: str | None


@dataclass(frozen=True)
class Engine:
    """Which of them works on some data, and how.

    settings: of a session of Spark that has to be started.
    """

    name: str
    settings: Mapping[str, str]

    @classmethod
    def of(cls, data: Any, engine: Any = None, settings: Any = None) -> Engine:
        """Return the engine of a name; of None that for the data: Spark for its DataFrames, otherwise this machine.

        Raises ParameterError for another name, and for settings that are none, or not of use.
        """
        found = engine if engine is not None else SPARK if is_dataframe(data) else LOCAL
        if found not in (LOCAL, SPARK):
            raise ParameterError(f"{parameter('engine')} must be one of {LOCAL}, {SPARK}, not {shown(engine)}")
        if found == LOCAL and is_dataframe(data):
            raise ParameterError(
                f"leave out {parameter('engine')}, for a DataFrame of Spark is counted by Spark; or give its toArrow()"
            )
        if settings is not None and (found == LOCAL or is_dataframe(data) or not isinstance(settings, Mapping)):
            raise ParameterError(
                f"{parameter('spark_conf')} takes settings of a session of Spark that is to be started, such as "
                f"'spark.master', and goes with {parameter('engine')} {SPARK}"
            )
        return cls(found, dict(settings or {}))

    def check(self, data: Any, query: str | None) -> None:
        """Raise ParameterError for a query that does not go with the data."""
        if self.name == LOCAL:
            check_query(data, query)

    @contextmanager
    def opened(self, data: Any, reading: Options, scope: Scope, effort: Effort) -> Iterator[list[Opened]]:
        """Read purchases, and yield those of each segment, or, without segments, all, for as long as this lasts.

        Raises DataError for what cannot be read.
        """
        parts = reading.by
        scopes = [scope] if parts is None else [scope.of_segment(parts, name) for name in parts.names]
        if self.name == LOCAL:
            yield [
                Opened(LocalSource(own.applied(one), effort), one.read_as, own.read_from(one.read_as), one.where)
                for own, one in zip(scopes, read_parts(data, reading), strict=True)
            ]
            return
        where = None if reading.where is None else str(reading.where)
        with (
            opened_table(data, reading, self.settings) as table,
            stored_purchases(table, replace(scope, exclude=(), catalogue=None).applied, scope.excluded) as kept,
        ):
            yield [
                Opened(
                    SparkSource.of(kept, place, reading.missing_user, effort, together=own.unites),
                    table.read_as,
                    own.read_from(table.read_as),
                    where,
                )
                for place, own in enumerate(scopes)
            ]


@dataclass(frozen=True)
class ReleaseRun:
    """What is done with purchases that have been read: counting, selection, names and noise, in that order.

    All of it was decided before they were read.
    """

    options: MiningOptions
    allocation: BudgetAllocation
    randomness: Randomness

    def release(self, opened: Opened) -> Release:
        """Return what comes out. Raises WorkLimitError where counting is out of reach."""
        options, randomness = self.options, self.randomness
        source, scope = opened.source, opened.scope
        if options.max_basket is not None:
            source = source.capped(options.max_basket, options.max_baskets or 1)
        taken, least = self.allocation, options.min_support
        units = taken.units(source, randomness, public=options.units_are_public)
        threshold = None if least is None else least.threshold(units)
        found = taken.find(source, randomness, threshold)
        count_parts = (
            (lambda parts: supports_of(GivenItemsets.of(parts, exactly=True), source)) if options.rules else None
        )
        published = taken.published(found, randomness, units, count_parts, true_units=source.units)
        units = published.units
        if least is not None:
            threshold = least.threshold(units)
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
            min_support=None if least is None else least.asked,
            threshold=threshold,
            capped=threshold is not None and taken.most is not None and len(found) >= taken.most,
        )


def cost_of(options: MiningOptions, run: ReleaseRun, most: int) -> tuple[PrivacyCost, ZcdpCost]:
    """Return what all releases spend together, of one for each segment, in (ε, δ) and in zCDP.

    options: of the whole. run: which makes each of them. most: in how many a unit counts at most.
    """
    cost, each = run.allocation.cost, run.allocation.concentrated
    concentrated = ZcdpCost(most * each.rho, most * each.delta)
    if most == 1:
        return cost, concentrated
    added = PrivacyCost(most * cost.epsilon, most * cost.delta)
    if options.rho is None:
        return added, concentrated
    # Both hold; of a ρ that is divided often the ε of the whole is the smaller one.
    converted = options.budget.cost(Fraction(concentrated.delta), normal=False)
    return min(added, converted, key=lambda cost: (cost.epsilon, cost.delta)), concentrated
