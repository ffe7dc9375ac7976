"""`mine` and `count`: from options and purchases to a release."""

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Unpack, overload

from fim_private.counting.source import Universe
from fim_private.dp.arguments import flag
from fim_private.dp.cost import at_least
from fim_private.dp.neighbors import Neighbors
from fim_private.errors import ParameterError, PrivacyWarning, parameter
from fim_private.mining.given import (
    earlier_release,
    file_name,
    given_itemsets,
    itemsets_of,
    public_items,
    warn_of_seed,
)
from fim_private.options.declaration import OptionValues, filled, takes
from fim_private.options.requests import AllMineOptions, CountOptions, MineOptions
from fim_private.periods import KINDS
from fim_private.reading.labels import Item, Vocabulary, in_label_order
from fim_private.reading.memory import limit_memory
from fim_private.release.release import Release
from fim_private.release.segments import SegmentedRelease
from fim_private.release.words import GIVEN
from fim_private.request.allocation import checked_plan, plan_of_given
from fim_private.request.itemsets import (
    GivenItemsets,
    Items,
    KnownFrom,
    folded_items,
    items_asked,
    supports_of,
)
from fim_private.request.plan import ReleasePlan
from fim_private.request.request import Request, listed, recorded_request, request_from
from fim_private.request.scope import Scope, listed_items
from fim_private.run.engines import LOCAL, SQL, DryRun, Opened
from fim_private.run.outcome import Execution, Outcome
from fim_private.run.run import Run, Spending

# -------------------- finding the most frequent itemsets


@overload
def mine(
    data: object,
    *,
    by: None = None,
    segments: None = None,
    max_segments: None = None,
    periods: None = None,
    with_each: None = None,
    group: str | None = None,
    **options: Unpack[MineOptions],
) -> Release: ...


@overload
def mine(data: object, *, periods: object, **options: Unpack[MineOptions]) -> SegmentedRelease: ...


@overload
def mine(
    data: object, *, with_each: object, **options: Unpack[MineOptions]
) -> SegmentedRelease: ...


@overload
def mine(
    data: object, *, group: Sequence[str], **options: Unpack[MineOptions]
) -> Release | SegmentedRelease: ...


@overload
def mine(
    data: object,
    *,
    by: str,
    segments: object,
    max_segments: int | None = None,
    **options: Unpack[MineOptions],
) -> SegmentedRelease: ...


@takes(AllMineOptions)
def mine(data: object, **options: Unpack[AllMineOptions]) -> Release | SegmentedRelease:
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
        says how it was split, by public parameters and, where there is one, by a noisy look at the
        data. A share as min_support takes 5 % of it, unless the number of baskets (or users) is
        public.
    catalogue, exclude: an iterable, or anything that data may be; catalogue also an earlier
    Release.
    by: makes one release for each of segments (names, or one text with commas). They share the
        budget if a unit may count in several.
    time, period: only baskets of that period count. periods: makes one release for each of them.
    with_items: public items that every itemset has; size counts them. with_each: makes one release
        for each of up to 50 such items.
    group: columns of catalogue, whose groups take the place of items. Several make a release each.
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
    prepared = _prepared(data, options)
    run, spending = prepared.run, prepared.spending
    with run.charged(spending, prepared.request.scope) as (opened, charged):
        releases = [release for segment in opened for release in _releases(prepared, segment)]
    cost, zcdp = spending.total
    run.warn_of_noisy_units(cost, releases)
    scope = prepared.request.scope
    if run.reading.parts is None and not scope.with_each and not scope.groups:
        return replace(releases[0], charged=charged)
    stated_zcdp = None if spending.promise.budget.rho is None else zcdp
    return SegmentedRelease(tuple(releases), cost, stated_zcdp, charged)


@dataclass(frozen=True)
class Prepared:
    """All that is decided beforehand; with items_are_public, after all items were read.

    Attributes:
        run: The call.
        requests: What is asked for of each segment: one request, or one for each item that is
            asked about.
        plans: The plan of each request. They differ in the items that itemsets must have, or in
            the groups of items.
        spending: What all segments spend together, and what the ledger records.
    """

    run: Run
    requests: tuple[Request, ...]
    plans: tuple[ReleasePlan, ...]
    spending: Spending

    @property
    def request(self) -> Request:
        """What is asked for first."""
        return self.requests[0]

    @property
    def sends_queries(self) -> bool:
        """Whether the purchases are counted in a database."""
        return self.run.engine.name == SQL


def _prepared(data: object, options: AllMineOptions) -> Prepared:
    """Check all options of `mine`, and plan.

    Lists of items are read. Purchases are not, unless items_are_public makes their items the list.
    """
    values = filled("mine", AllMineOptions, options)
    run = Run(data, values)
    with limit_memory(run.reading.memory):
        scope = run.scope(rules=flag("rules", values["rules"]))
        if values["known"] is not None:
            values["known"], known_from = _known(run)
            scope = replace(scope, known_from=known_from)
        promise = run.promise(scope)
        if values["group"] is None:
            scope, values["catalogue"] = _with_list(run, scope)
            levels: list[tuple[Scope, Universe | None]] = [(scope, None)]
        else:
            levels = _levels(run, scope)
        wholes = [
            request_from(values, promise, question, universe, may_look=run.engine.name == LOCAL)
            for level, universe in levels
            for question in _scopes_of_questions(run, level)
        ]
    segments = 1 if run.reading.parts is None else run.reading.parts.most
    # Composed, levels of groups share μ², as the steps of one plan do: each plan has the cost of
    # all of them. Otherwise each level has a plan of its own, and their costs add up.
    are_composed = all(request.mechanism.composed for request in wholes)
    levels_with_budget = 1 if are_composed else wholes[0].target.levels
    requests = tuple(request.divided_among(segments * levels_with_budget) for request in wholes)
    plans = tuple(map(checked_plan, requests))
    recorded = recorded_request(wholes[0], has_look=plans[0].look is not None)
    spending = Spending("mine", promise, plans[:levels_with_budget], recorded, segments)
    return Prepared(run, requests, plans, spending)


def planned(data: object, **options: Unpack[AllMineOptions]) -> Prepared:
    """Return what `mine` would do: the plan, with its steps, their noise and their cost.

    It takes what `mine` takes. Nothing is read but lists of items, nothing is charged, and nothing
    is released. With segments or periods the plan is that of each of them. Raises LedgerError if
    the ledger would refuse the release now.
    """
    if options.get("items_are_public"):
        raise ParameterError(
            f"leave out {parameter('items_are_public')}: it reads the purchases, and a plan does "
            f"not"
        )
    prepared = _prepared(data, options)
    # It checks the charge, and returns what would make it.
    prepared.run.pending_charge(prepared.spending, prepared.request.scope)
    return prepared


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
        mine(dry, **options | {"engine": SQL, "ledger": None, "dataset": None, "seed": 0})
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


# -------------------- several requests under one budget

_MOST_LEVELS, _MOST_QUESTIONS = 10, 50


def _with_list(run: Run, scope: Scope) -> tuple[Scope, Vocabulary | None]:
    """Return the scope with the public list of items, and the list; None if there is none."""
    public = public_items(run)
    if public is None:
        return scope, None
    universe, stated = public
    return replace(scope, catalogue=stated), universe.items


def _levels(run: Run, scope: Scope) -> list[tuple[Scope, Universe | None]]:
    """Return the scope and the groups of each level of groups.

    Raises ParameterError for options that do not go together.
    """
    values = run.values
    group = values["group"]
    columns = (group,) if isinstance(group, str) else (*listed(group),)
    are_names = all(isinstance(column, str) for column in columns)
    if not are_names or not 0 < len({*columns}) == len(columns) <= _MOST_LEVELS:
        raise ParameterError(
            f"{parameter('group')} must name one to {_MOST_LEVELS} different columns, as texts"
        )
    _refuse_both(values, "group", "catalogue_label", "universe_size", "items_are_public")
    if len(columns) > 1:
        _refuse_both(values, "group", "by", "periods", "with_each")
        scope = replace(scope, groups=columns)
    levels: list[tuple[Scope, Universe | None]] = []
    coarser = None
    for column in reversed(columns):
        public = public_items(run, column)
        assert public is not None, "groups are of a catalogue"
        universe, stated = public
        if coarser is not None:
            stated = replace(stated, within=universe.groups_within(coarser))
        levels.insert(0, (replace(scope, catalogue=stated), universe))
        coarser = universe
    return levels


def _refuse_both(values: OptionValues, name: str, *rivals: str) -> None:
    """Raise ParameterError if an option was given that does not go with another one."""
    for rival in rivals:
        if values[rival] is not None and values[rival] is not False:
            raise ParameterError(f"give {parameter(name)} or {parameter(rival)}, not both")


def _scopes_of_questions(run: Run, scope: Scope) -> list[Scope]:
    """Return the scope of each question, with the items that its itemsets must have.

    There is one question, or one for each item that is asked about. Items may be given by their
    labels in the catalogue. Raises ParameterError for questions that do not go together.
    """

    def of_data(items: Iterable[Item]) -> Items:
        if scope.catalogue is not None:
            items = scope.catalogue.coded(items)
        if scope.fold_case:
            items = folded_items(items)
        return in_label_order({*items})

    values = run.values
    if values["with_each"] is None:
        items = of_data(items_asked("with_items", values["with_items"]))
        return [replace(scope, with_items=items)]
    _refuse_both(values, "with_each", "with_items", "known", "by", "periods")
    items = of_data(listed_items(values["with_each"], fold_case=scope.fold_case))
    if len(items) > _MOST_QUESTIONS:
        raise ParameterError(
            f"{parameter('with_each')} must list at most {_MOST_QUESTIONS} items: each has its "
            f"part of the budget"
        )
    scope = replace(scope, with_each=items)
    return [replace(scope, with_items=(item,)) for item in items]


def _releases(prepared: Prepared, opened: Opened) -> Iterator[Release]:
    """Carry out the plan. It was settled before purchases were read, except for what a noisy look
    decides.

    The number of units comes first, if it has noise of its own. The items that levelwise finds
    serve all questions. Then comes each selection, which counts and draws by turns, and after it
    the noisy supports of its itemsets.
    """
    run, public = prepared.run, prepared.request.public
    source = opened.source
    if public.max_basket is not None:
        source = source.capped(public.max_basket, public.max_baskets or 1)
    first = Execution(prepared.plans[0], source, run.randomness)
    units = first.unit_count(public=prepared.request.promise.units_are_public)
    items = None
    for request, plan in zip(prepared.requests, prepared.plans, strict=True):
        execution = replace(first, plan=plan)
        request, execution = execution.settled(request)
        if items is None or not request.scope.with_each:
            items = execution.find_items()
        selected = execution.select(items, units)
        published = execution.publish(selected, units)
        # A segment has its own scope; a question adds its items, and a level its groups.
        scope = replace(
            opened.scope,
            with_items=request.scope.with_items,
            catalogue=request.scope.catalogue,
        )
        opened = replace(opened, scope=scope)
        release = _release(run, execution.plan, request, opened, published)
        capped = request.target.min_support is not None and len(selected) >= request.target.top
        yield replace(release, capped=capped)


def _release(
    run: Run, plan: ReleasePlan, request: Request, opened: Opened, published: Outcome
) -> Release:
    """Return the release of what a request published, under the names of its catalogue."""
    scope = opened.scope
    public, names = request.public, scope.catalogue
    if names is not None:
        groups = (published.itemsets, published.subsets, published.known)
        itemsets, subsets, known = map(names.shown, groups)
        scope = replace(
            scope,
            catalogue=names.of_release(chain(*groups)),
            with_items=names.renamed(scope.with_items),
            with_each=names.renamed(scope.with_each),
        )
        published = replace(published, itemsets=itemsets, subsets=subsets, known=known)
    opened = replace(opened, scope=scope)
    release = run.release(opened, plan, request.promise, published, request.mechanism.name)
    # Advice on one of several releases would speak of its part of the budget.
    shares_budget = scope.max_segments > 1 or bool(scope.with_each or scope.groups)
    return replace(
        release,
        reason=request.reason,
        max_basket=public.max_basket,
        max_baskets=public.max_baskets,
        request=None if shares_budget else request,
    )


# -------------------- counting itemsets that are given


@takes(CountOptions)
def count(data: object, itemsets: object, **options: Unpack[CountOptions]) -> Release:
    """Release noisy supports of given itemsets, (epsilon, delta)-differentially private for each
    basket or user.

    data: the purchases, how to read them and what counts, as in mine.
    itemsets: 1 to 100,000 different itemsets. They must be public, so do not take them from the
        data. Give a list of collections of items (int and str), a Release, a frame or an Arrow
        table. A table has a column itemsets or items; or antecedents and consequents, or lhs and
        rhs, whose unions are counted. A file is text with one itemset a line (.csv, .tsv, .dat,
        .txt, .fimi), a saved release, or such a table. Those that mlxtend and arules write are
        read, too. An item that nobody has counts like any other.
    count: whether to release the number of units, so that supports are shares. It takes 5 % of the
        budget where it is neither public nor comes with the noise. The noise is discrete Laplace,
        which leaves delta unspent (it may be 0), or normal, whichever has the narrower 95 %
        intervals. With rho supports are rho-zCDP, and Gaussian private with μ² = 2 rho. Under
        "add-remove" normal noise is little more than half as wide as under "replace-one", and the
        number of units comes with it. Returns a release with mechanism "count": the itemsets in the
        order given, each with a noisy support and a 95 % interval. Raises ParameterError,
        DataError, WorkLimitError or MemoryLimitError, and warns, as mine does.
    """
    values = filled("count", CountOptions, options)
    if _is_standard_input(data) and _is_standard_input(itemsets):
        raise ParameterError(
            f"only one of the purchases and {parameter('itemsets')} can be standard input"
        )
    if values["period"] in KINDS:
        raise ParameterError(
            f"{parameter('period')} must be one period here, such as 2026-W46, "
            f"not {values['period']}"
        )
    run = Run(data, values)
    scope = run.scope()
    run.refuse_purchases("itemsets", itemsets)
    with limit_memory(run.reading.memory):
        known_itemsets = given_itemsets(itemsets, fold_case=run.all_rows.fold_case)
        release = earlier_release(itemsets)
    if release is not None:
        warn_of_seed(run, release, "itemsets", stacklevel=3)
    promise = run.promise(scope)
    with_count = flag("count", values["count"])
    number = len(known_itemsets.itemsets)
    plan = plan_of_given(
        promise.budget,
        known_itemsets.sizes,
        number,
        with_count=with_count and not promise.units_are_public,
        joint_noise=promise.neighbors == Neighbors.ADD_REMOVE,
    )
    recorded: dict[str, object] = {"itemsets": number}  # how many they are, and not which
    if not with_count:
        recorded["count"] = False
    if promise.budget.rho:
        recorded["rho"] = at_least(promise.budget.rho)
    spending = Spending("count", promise, (plan,), recorded)
    with run.charged(spending, scope) as ((opened,), charged):
        execution = Execution(plan, opened.source, run.randomness)
        units = execution.unit_count(public=promise.units_are_public)
        supports = supports_of(known_itemsets, opened.source)
        measurement = execution.measure(known_itemsets.itemsets, supports, units)
    published = Outcome(tuple(measurement.estimates()), measurement.noise, measurement.units)
    release = run.release(opened, plan, promise, published, GIVEN)
    release = replace(release, charged=charged)
    run.warn_of_noisy_units(plan.cost, [release])
    return release


def _is_standard_input(source: object) -> bool:
    return isinstance(source, str | os.PathLike) and str(source) == "-"
