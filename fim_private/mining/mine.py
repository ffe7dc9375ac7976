"""`mine`: from a request and purchases to a release."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack, overload

from fim_private.dp.arguments import flag
from fim_private.errors import ParameterError, PrivacyWarning, parameter
from fim_private.mining.given import (
    earlier_release,
    file_name,
    given_itemsets,
    itemsets_of,
    public_items,
    warn_of_seed,
)
from fim_private.options.declaration import filled, takes
from fim_private.options.purchases import PeriodsOption, SegmentOptions
from fim_private.options.requests import MineOptions
from fim_private.reading.memory import limit_memory
from fim_private.reading.options import Segments, segments_of
from fim_private.release.release import Release
from fim_private.release.segments import SegmentedRelease
from fim_private.request.allocation import checked_plan
from fim_private.request.itemsets import GivenItemsets, Items, KnownFrom, supports_of
from fim_private.request.plan import ReleasePlan
from fim_private.request.request import Request, recorded_request, request_from
from fim_private.run import outcome
from fim_private.run.engines import SQL, DryRun, Opened
from fim_private.run.run import Run, Spending


@overload
def mine(
    data: object,
    *,
    by: None = None,
    segments: None = None,
    max_segments: None = None,
    periods: None = None,
    **options: Unpack[MineOptions],
) -> Release: ...


@overload
def mine(data: object, *, periods: object, **options: Unpack[MineOptions]) -> SegmentedRelease: ...


@overload
def mine(
    data: object,
    *,
    by: str,
    segments: object,
    max_segments: int | None = None,
    **options: Unpack[MineOptions],
) -> SegmentedRelease: ...


@takes(MineOptions, SegmentOptions, PeriodsOption)
def mine(
    data: object,
    *,
    by: str | None = None,
    segments: object = None,
    max_segments: int | None = None,
    periods: object = None,
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
        says how it was split, by public parameters alone. A share as min_support takes 5 % of it,
        unless the number of baskets (or users) is public.
    catalogue, exclude: an iterable, or anything that data may be; catalogue also an earlier
    Release.
    by: makes one release for each of segments (names, or one text with commas). They share the
        budget if a unit may count in several.
    time, period: only baskets of that period count. periods: makes one release for each of them.
    ledger: a fim.Ledger. It is charged on the disk before supports are counted.
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
    prepared = _prepared(data, segments_of(by, segments, max_segments), periods, options)
    run, request, spending = prepared.run, prepared.request, prepared.spending
    with run.charged(spending, request.scope) as (opened, charged):
        releases = [_release(run, request, spending.plan, segment) for segment in opened]
    cost, zcdp = spending.total
    run.warn_of_noisy_units(cost, releases)
    if run.reading.parts is None:
        return replace(releases[0], charged=charged)
    stated_zcdp = None if spending.promise.budget.rho is None else zcdp
    return SegmentedRelease(tuple(releases), cost, stated_zcdp, charged)


@dataclass(frozen=True)
class Prepared:
    """All that is decided beforehand; with items_are_public, after all items were read.

    Attributes:
        run: The call.
        request: What is asked for of each segment.
        spending: The plan of each segment, what all of them spend together, and what the ledger
            records.
    """

    run: Run
    request: Request
    spending: Spending

    @property
    def sends_queries(self) -> bool:
        """Whether the purchases are counted in a database."""
        return self.run.engine.name == SQL


def _prepared(
    data: object, segments: Segments | None, periods: object, options: MineOptions
) -> Prepared:
    """Check all options of `mine`, and plan.

    Lists of items are read. Purchases are not, unless items_are_public makes their items the list.
    """
    values = filled("mine", MineOptions, options) | {"periods": periods}
    run = Run(data, values, segments)
    with limit_memory(run.reading.memory):
        scope = run.scope(rules=flag("rules", values["rules"]))
        public = public_items(run)
        if public is not None:
            values["catalogue"], listed = public
            scope = replace(scope, catalogue=listed)
        if values["known"] is not None:
            values["known"], known_from = _known(run)
            scope = replace(scope, known_from=known_from)
        whole = request_from(values, run.promise(scope), scope)
    segments_of_unit = 1 if run.reading.parts is None else run.reading.parts.most
    request = whole.divided_among(segments_of_unit)
    plan = checked_plan(request)
    spending = Spending("mine", whole.promise, plan, recorded_request(whole), segments_of_unit)
    return Prepared(run, request, spending)


def planned(
    data: object,
    *,
    by: str | None = None,
    segments: object = None,
    max_segments: int | None = None,
    periods: object = None,
    **options: Unpack[MineOptions],
) -> Prepared:
    """Return what `mine` would do: the plan, with its steps, their noise and their cost.

    It takes what `mine` takes. Nothing is read but lists of items, nothing is charged, and nothing
    is released. With segments or periods the plan is that of each of them.
    """
    options |= {"ledger": None, "dataset": None}
    if options.get("items_are_public"):
        raise ParameterError(
            f"leave out {parameter('items_are_public')}: it reads the purchases, and a plan does "
            f"not"
        )
    return _prepared(data, segments_of(by, segments, max_segments), periods, options)


def queries(data: object, *, dialect: str | None = None, **options: Any) -> list[str]:
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
    itemsets = run.values["known"]
    release, source = earlier_release(itemsets), file_name(itemsets)
    if release is not None:
        warn_of_seed(run, release, "known", stacklevel=5)
        itemsets = list(dict.fromkeys(itemsets_of(release)))
        if not itemsets:
            return None, KnownFrom(0, source)
    known = given_itemsets(itemsets, name="known", fold_case=run.all_rows.fold_case)
    return known, KnownFrom(len(known.itemsets), source)


def _release(run: Run, request: Request, plan: ReleasePlan, opened: Opened) -> Release:
    """Carry out the plan, which decided all of it before purchases were read.

    The number of units comes first, if it has noise of its own; then the selection, which counts
    and draws by turns; then the noisy supports of the selected itemsets.
    """
    target, public, least = request.target, request.public, request.target.min_support
    source, scope, randomness = opened.source, opened.scope, run.randomness
    if public.max_basket is not None:
        source = source.capped(public.max_basket, public.max_baskets or 1)
    units = outcome.unit_count(plan, source, randomness, public=request.promise.units_are_public)
    threshold = None if least is None else least.threshold(units)
    selected = outcome.select(plan, source, randomness, threshold)

    def count_supports(itemsets: Sequence[Items]) -> Sequence[int]:
        return supports_of(GivenItemsets.of(itemsets), source)

    published = outcome.publish(
        plan,
        selected,
        randomness,
        units,
        count_supports,
        with_subsets=target.rules,
        known=request.known_itemsets,
        true_units=source.units,
    )
    if least is not None:
        threshold = least.threshold(published.units)
    names = scope.catalogue
    if names is not None:
        everything = (*published.itemsets, *published.subsets, *published.known)
        scope = replace(scope, catalogue=names.of_release(everything))
        published = replace(
            published,
            itemsets=names.shown(published.itemsets),
            subsets=names.shown(published.subsets),
            known=names.shown(published.known),
        )
    release = run.release(
        replace(opened, scope=scope),
        plan,
        published,
        mechanism=request.mechanism.name,
        sizes=target.sizes,
        neighbors=request.promise.neighbors,
    )
    return replace(
        release,
        top=target.top,
        union=target.union,
        reason=request.reason,
        keep_all=target.keep_all,
        max_basket=public.max_basket,
        max_baskets=public.max_baskets,
        shortfall=plan.shortfall,
        # Advice on one of several segments would speak of its part of the budget.
        request=request if scope.max_segments == 1 else None,
        with_parts=target.rules,
        min_support=None if least is None else least.as_given,
        threshold=threshold,
        capped=least is not None and len(selected) >= target.top,
    )
