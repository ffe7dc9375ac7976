"""`mine`: from a request and purchases to a release."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack, overload

from fim_private.dp.charge import account_of
from fim_private.dp.noise import Randomness
from fim_private.dp.parameters import Neighbors, cautions, cautions_of_units, chosen_units_show, flag
from fim_private.errors import warn
from fim_private.mining.catalogue import public_items
from fim_private.mining.engines import Engine, ReleaseRun, cost_of
from fim_private.options import MineOptions, SegmentOptions, filled, takes
from fim_private.reading.memory import held_to
from fim_private.reading.options import reading_of, segments_of
from fim_private.release.release import Release, SegmentedRelease
from fim_private.request.budget import allocation_of, pending_charge, rows_asked, unit_columns
from fim_private.request.budget import asked as asked_of
from fim_private.request.request import Scope, checked_options, counts_users, effort_of, read_by


@overload
def mine(
    data: Any, *, by: None = None, segments: None = None, max_segments: None = None, **options: Unpack[MineOptions]
) -> Release: ...


@overload
def mine(
    data: Any, *, by: str, segments: Any, max_segments: int | None = None, **options: Unpack[MineOptions]
) -> SegmentedRelease: ...


@overload
def mine(
    data: Any, *, by: str | None, segments: Any, max_segments: int | None = None, **options: Unpack[MineOptions]
) -> Release | SegmentedRelease: ...


@takes(MineOptions, SegmentOptions)
def mine(
    data: Any,
    *,
    by: str | None = None,
    segments: Any = None,
    max_segments: int | None = None,
    **options: Unpack[MineOptions],
) -> Release | SegmentedRelease:
    """Release the most frequent itemsets of a size, (epsilon, delta)-differentially private per basket or per user.

    data: a path, an address, an Arrow table, a pandas or polars frame, a scipy sparse or one-hot boolean frame, an
        iterable of iterables of items, or what read_transactions returned; see there, also for how it is read.
    Without user each basket is protected by itself; with it all baskets of a user together, and the support of an
    itemset is the number of users with a basket that contains it. Under "add-remove" neighbors any one basket (with
    user: any one user) could have been there or not, and how many there are is private; under "replace-one", the
    relation of the large margin paper, any one could have been any other, and how many there are is public (with where,
    query or by any other that these treat alike, and the number is released only with count).
    size may be 2, "2-4" or range(2, 5): levelwise counts all sizes in one run, others take one selection for each, with
    equal shares of the budget. epsilon: 1e-9 to 1e9; delta: 1e-300 up to below 1, 0 with a catalogue; rho: 1e-18 to
    1e8; floats are taken by their digits. They are the budget of the whole release, split by public parameters
    (Release.shares). top: 1 to 100,000. With min_support spurious itemsets are marked (docs/privacy.md, "A least
    support"); under "add-remove" a share of it takes 5 % of the budget for a noisy number of units.
    catalogue, exclude: an iterable, any table, file, folder, pattern or address that data may be, and for catalogue an
    earlier Release. by: then there is one release for each of segments (names, or one text with commas), which share
    the budget where a unit counts in several. ledger: a fim.Ledger, which is charged on the disk before anything is
    computed of the data; what was charged stays charged, also where nothing comes out.
    Returns a Release, with by a SegmentedRelease, a mapping. A Release is a sequence of itemsets with the guarantee
    (Release.guarantee), how certain they are (Release.certainty), and where too little came out what to ask instead
    (Release.advice). With a seed it says private=False.
    Raises ParameterError, DataError, LedgerError, WorkLimitError or MemoryLimitError; all are FimPrivateError. An error
    is for whoever holds the data, not for publication: it can tell what form the data has.
    Warns (PrivacyWarning) of an epsilon above 10, and of a delta above 1/1000 or, under "replace-one", of at least 1 /
    (number of units); not where a seed was given, for then the release itself says that it protects nobody.

    >>> baskets = [["bread", "butter"]] * 600 + [["bread", "jam"]] * 50
    >>> mine(baskets, size=2, seed=1)[0].items
    ('bread', 'butter')

    With customers: 600 who come twice count once each.

    >>> import pyarrow as pa
    >>> visits = pa.table({"customer": [*range(600)] * 2, "items": [["bread", "butter"]] * 1200})
    >>> release = mine(visits, user="customer")
    >>> release.privacy_unit, release.itemsets[0].items
    ('user', ('bread', 'butter'))
    """
    asked = filled("mine", MineOptions, options)
    engine = Engine.of(data, asked["engine"], asked["spark_conf"])
    effort = effort_of(asked)
    randomness = Randomness.of_seed(asked["seed"])
    account = account_of(asked["ledger"], asked["dataset"], private=randomness.private)
    parts = segments_of(by, segments, max_segments)
    reading = reading_of(asked, parts)
    by_user = counts_users(data, asked)
    condition, queried, folds = read_by(data, reading)
    with held_to(reading.memory):
        scope = Scope.of(
            **{name: asked[name] for name in ("exclude", "min_basket", "together")},
            by_user=by_user,
            rules=flag("rules", asked["rules"]),
            query=queried,
            fold_case=folds,
            by=by,
        )
        listed = public_items(
            data,
            reading,
            engine,
            catalogue=asked["catalogue"],
            item=asked["catalogue_item"],
            label=asked["catalogue_label"],
            query=asked["catalogue_query"],
            items_are_public=asked["items_are_public"],
            universe_size=asked["universe_size"],
            fold_case=folds,
            private=randomness.private,
        )
        if listed is not None:
            scope = replace(scope, catalogue=listed[1])
        asked |= {"catalogue": None if listed is None else listed[0], "where": condition}
        request = checked_options(by_user=by_user, scope=scope, **asked)
    engine.check(data, asked["query"])
    most = 1 if parts is None else parts.most
    part = request.part(most)
    run = ReleaseRun(part, allocation_of(part), randomness)
    cost, concentrated = cost_of(request, run, most)
    due = pending_charge(
        account,
        command="mine",
        dataset=asked["dataset"],
        by_user=by_user,
        neighbors=request.neighbors,
        cost=cost,
        zcdp=concentrated,
        parameters=asked_of(request) | rows_asked(data, reading, scope),
        unit_columns=unit_columns(data, reading),
    )
    if randomness.private:
        warn(cautions(cost, rho=request.rho), stacklevel=2)
        if request.chosen and request.neighbors == Neighbors.REPLACE_ONE:
            warn([chosen_units_show("user" if by_user else "basket")], stacklevel=2)

    with engine.opened(data, reading, scope, effort) as read:
        unit = "user" if read[0].source.by_user else "basket"
        charged = None if due is None else due.complete(unit)
        if randomness.private and read[0].read_as is not None:
            warn(read[0].read_as.cautions(), stacklevel=2)
        if randomness.private and request.units_are_public:
            units = [one.source.units for one in read]
            warn(dict.fromkeys(said for each in units for said in cautions_of_units(cost, each, unit)), stacklevel=2)
        releases = [run.release(one) for one in read]
    if parts is None:
        return replace(releases[0], charged=charged)
    return SegmentedRelease(tuple(releases), cost, concentrated if request.rho is not None else None, charged)
