"""`mine`: from a request and purchases to a release."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Unpack, overload

from fim_private.dp.arguments import flag
from fim_private.dp.cost import PrivacyCost, ZcdpCost
from fim_private.errors import ParameterError, PrivacyWarning, parameter
from fim_private.mining.catalogue import (
    earlier_release,
    file_name,
    itemsets_of,
    public_items,
    warn_of_seed,
)
from fim_private.mining.engines import SQL, DryRun, Opened, Run
from fim_private.mining.given import given_itemsets
from fim_private.options import (
    MineOptions,
    PeriodsOption,
    RequestOptions,
    SegmentOptions,
    filled,
    options_of,
    takes,
)
from fim_private.reading.labels import Item
from fim_private.reading.memory import held_to
from fim_private.reading.options import segments_of
from fim_private.release.release import Release, SegmentedRelease
from fim_private.request.budget import BudgetAllocation, allocation_of
from fim_private.request.budget import asked as asked_of
from fim_private.request.itemsets import GivenItemsets, KnownFrom, supports_of
from fim_private.request.request import MiningOptions, checked_options


@overload
def mine(
    data: Any,
    *,
    by: None = None,
    segments: None = None,
    max_segments: None = None,
    periods: None = None,
    **options: Unpack[MineOptions],
) -> Release: ...


@overload
def mine(data: Any, *, periods: Any, **options: Unpack[MineOptions]) -> SegmentedRelease: ...


@overload
def mine(
    data: Any,
    *,
    by: str,
    segments: Any,
    max_segments: int | None = None,
    **options: Unpack[MineOptions],
) -> SegmentedRelease: ...


@takes(MineOptions, SegmentOptions, PeriodsOption)
def mine(
    data: Any,
    *,
    by: str | None = None,
    segments: Any = None,
    max_segments: int | None = None,
    periods: Any = None,
    **options: Unpack[MineOptions],
) -> Release | SegmentedRelease:
    """Release the most frequent itemsets, (epsilon, delta)-differentially private for each basket
    or each user.

    data: a path, an address, a table or frame, an iterable of baskets, or what read_transactions
        returned. That function says how each of these is read. Without user each basket is
        protected by itself. With user all baskets of a user are protected together. The support of
        an itemset is then the number of users with a basket that contains it.
    neighbors: "add-remove" hides whether any one basket (with user: any one user) is in the data,
        and how many there are. "replace-one" hides what it holds; the number of baskets (or users)
        is then public. With where, query or by it replaces one only by another that these treat
        alike, and the number is released only with count.
    size: 2, "2-4" or range(2, 5). top: 1 to 100,000.
    epsilon: 1e-9 to 1e9. delta: 1e-300 up to below 1, or 0 with a catalogue. rho: 1e-18 to 1e8.
        Floats are taken by their digits. This is the budget of the whole release. Release.shares
        says how it was split, by public parameters alone. A share as min_support takes 5 % of it
        under "add-remove".
    catalogue, exclude: an iterable, or anything that data may be; catalogue also an earlier
    Release.
    by: makes one release for each of segments (names, or one text with commas). They share the
        budget if a unit may count in several.
    time, period: only baskets of that period count. periods: makes one release for each of them.
    ledger: a fim.Ledger. It is charged on the disk before anything is computed from the data.
    Returns a Release, a sequence of itemsets with its guarantee and certainty, and with advice if
    too little came out. With by it returns a SegmentedRelease, a mapping. With a seed a release
    says private=False. Raises ParameterError, DataError, LedgerError, WorkLimitError or
    MemoryLimitError, which are all FimPrivateError. Do not publish errors: they can show the form
    of the data. Warns (PrivacyWarning) if epsilon is above 10, or delta above 1/1000, or at least 1
    / (number of units); not with a seed. Under "add-remove" that number is the noisy one of the
    release, or the largest noisy support, if it has one.

    >>> baskets = [["bread", "butter"]] * 600 + [["bread", "jam"]] * 50
    >>> mine(baskets, size=2, seed=1)[0].items
    ('bread', 'butter')
    """
    asked = filled("mine", MineOptions, options) | {"periods": periods}
    run = Run(data, asked, segments_of(by, segments, max_segments))
    parts = run.reading.parts
    with held_to(run.reading.memory):
        scope = run.scope(exclude=asked["exclude"], rules=flag("rules", asked["rules"]), by=by)
        if (public := public_items(run)) is not None:
            asked["catalogue"], listed = public
            scope = replace(scope, catalogue=listed)
        if asked["known"] is not None:
            asked["known"], known_from = _known(run)
            scope = replace(scope, known_from=known_from)
        own: Any = {name: asked[name] for name in options_of(RequestOptions)}
        request = checked_options(by_user=run.by_user, scope=scope, where=run.where, **own)
    most = 1 if parts is None else parts.most
    part = request.part(most)
    allocation = allocation_of(part)
    cost, zcdp = _cost_of(request, allocation, most)
    recorded: dict[str, Any] = {"zcdp": zcdp, "parameters": asked_of(request, scope)}
    # each period is an entry of its own
    if run.reading.times is not None and run.reading.times.each:
        recorded |= {"each": allocation.cost, "zcdp": allocation.concentrated}
    with run.charged("mine", scope, cost, request.neighbors, rho=request.rho, **recorded) as (
        read,
        charged,
    ):
        releases = [_release(run, part, allocation, one) for one in read]
    run.warn_of_units(cost, releases)
    if parts is None:
        return replace(releases[0], charged=charged)
    return SegmentedRelease(
        tuple(releases), cost, zcdp if request.rho is not None else None, charged
    )


def queries(data: Any, *, dialect: str | None = None, **options: Any) -> list[str]:
    """Return the queries that `mine` with engine="sql" would send, in their order. Nothing is
    charged or released.

    data, options: as of `mine`. A database is asked for the columns of its table only. Answers are
    made up, so that all steps come: there are ten items, and all units have all of them. True runs
    send as many queries, or fewer.
    dialect: where data is a table of Ibis that is in no database (ibis.table): "snowflake",
    "bigquery", "trino" ... Raises ParameterError, DataError.
    """
    if options.get("engine") not in (None, SQL):
        raise ParameterError(
            f"only {parameter('engine')} {SQL} sends queries: name it, or leave out the dry run"
        )
    dry = DryRun(data, dialect)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # nothing is released
        mine(dry, **{**options, "engine": SQL, "ledger": None, "dataset": None, "seed": 0})
    return dry.queries


def _known(run: Run) -> tuple[GivenItemsets | None, KnownFrom]:
    """Return the itemsets that are known, None where an earlier release has none, and where they
    come from.
    """
    given = run.asked["known"]
    if (release := earlier_release(given)) is not None:
        warn_of_seed(run, release, "known")
        each = [release] if isinstance(release, Release) else release.releases
        given = [*dict.fromkeys(itemset for one in each for itemset in itemsets_of(one))]
    source = file_name(run.asked["known"])
    if release is not None and not given:
        return None, KnownFrom(0, source)
    known = given_itemsets(given, name="known", fold_case=run.fold_case)
    return known, KnownFrom(len(known.itemsets), source)


def _release(
    run: Run, options: MiningOptions, allocation: BudgetAllocation, opened: Opened
) -> Release:
    """Count, select, name, and add noise, in that order; all of it was decided before purchases
    were read.
    """
    source, scope, least, randomness = (
        opened.source,
        opened.scope,
        options.min_support,
        run.randomness,
    )
    if options.max_basket is not None:
        source = source.capped(options.max_basket, options.max_baskets or 1)
    units = allocation.units(source, randomness, public=options.units_are_public)
    found = allocation.find(source, randomness, None if least is None else least.threshold(units))
    known = options.known_itemsets

    def true_supports(others: Sequence[tuple[Item, ...]]) -> Sequence[int]:
        return supports_of(GivenItemsets.of(others), source)

    published = allocation.published(
        found,
        randomness,
        units,
        true_supports,
        with_parts=options.rules,
        known=known,
        true_units=source.units,
    )
    threshold = None if least is None else least.threshold(published.units)
    each = {name: getattr(published, name) for name in ("itemsets", "parts", "known")}
    if (names := scope.catalogue) is not None:
        scope = replace(
            scope, catalogue=names.of_release([one for own in each.values() for one in own])
        )
        each = {name: names.shown(own) for name, own in each.items()}
    asked = (
        "sizes",
        "neighbors",
        "top",
        "union",
        "reason",
        "keep_all",
        "max_basket",
        "max_baskets",
    )
    return run.release(
        opened,
        allocation,
        published,
        **{name: getattr(options, name) for name in asked},
        mechanism=options.mechanism.name,
        abstained=not published.itemsets,
        **each,
        scope=scope,
        shortfall=allocation.shortfall,
        # advice would speak of a part of the budget
        request=options if scope.max_segments == 1 else None,
        with_parts=options.rules,
        min_support=None if least is None else least.asked,
        threshold=threshold,
        capped=threshold is not None
        and allocation.most is not None
        and len(found) >= allocation.most,
    )


def _cost_of(
    options: MiningOptions, allocation: BudgetAllocation, most: int
) -> tuple[PrivacyCost, ZcdpCost]:
    """Return what all releases spend together, in (ε, δ) and in zCDP, where a unit counts in so
    many at most.
    """
    cost, each = allocation.cost, allocation.concentrated
    concentrated = ZcdpCost(most * each.rho, most * each.delta)
    if most == 1:
        return cost, concentrated
    added = PrivacyCost(most * cost.epsilon, most * cost.delta)
    if options.rho is None:
        return added, concentrated
    # Both hold; of a ρ that is divided often the ε of the whole is the smaller one.
    converted = options.budget.cost(Fraction(concentrated.delta), normal=False)
    return min(added, converted, key=lambda cost: (cost.epsilon, cost.delta)), concentrated
