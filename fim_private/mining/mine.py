"""`mine`: from a request and purchases to a release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Unpack, overload

from fim_private import options as defaults
from fim_private.counting import Effort, Progress
from fim_private.dp.charge import account_of
from fim_private.dp.noise import Randomness
from fim_private.dp.parameters import Neighbors, cautions, cautions_of_units, chosen_units_show, flag
from fim_private.errors import warn
from fim_private.mining.catalogue import public_items
from fim_private.mining.engines import Engine, Job, cost_of
from fim_private.reading.memory import MemoryLimit, held_to
from fim_private.reading.options import Dialect, Options, segments_of
from fim_private.reading.purchases import reads_users
from fim_private.reading.transactions import Transactions
from fim_private.reading.where import where_of
from fim_private.release.release import Release
from fim_private.release.segmented import SegmentedRelease
from fim_private.request.budget import allocation_of, asked, bill, rows_asked, unit_columns
from fim_private.request.request import (
    MineOptions,
    Scope,
    checked_options,
    read_by,
)


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


def mine(
    data: Any,
    *,
    size: int | str | Iterable[int] = defaults.SIZE,
    epsilon: float | Fraction | None = None,
    delta: float | Fraction = defaults.DELTA,
    rho: float | Fraction | None = None,
    mechanism: str = defaults.MECHANISM,
    neighbors: str = defaults.NEIGHBORS,
    top: int | None = None,
    min_support: float | int | Fraction | str | None = None,
    union: bool = False,
    supports: bool = False,
    supports_share: float | Fraction | None = None,
    keep_all: bool = False,
    count: bool = False,
    rules: bool = False,
    max_rank: int | None = None,
    max_basket: int | None = None,
    max_baskets: int | None = None,
    catalogue: Any = None,
    catalogue_item: str | None = None,
    catalogue_label: str | None = None,
    catalogue_query: str | None = None,
    items_are_public: bool = False,
    universe_size: int | None = None,
    user: str | None = None,
    missing_user: str | None = None,
    basket: str | Sequence[str] | None = None,
    item: str | Sequence[str] | None = None,
    items: str | None = None,
    split: str | None = None,
    fold_case: bool = False,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    input_format: str | None = None,
    skip_rows: int | None = None,
    query: str | None = None,
    where: str | None = None,
    exclude: Any = None,
    min_basket: int | None = None,
    together: str | None = None,
    by: str | None = None,
    segments: Any = None,
    max_segments: int | None = None,
    max_work: int = defaults.MAX_WORK,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
    engine: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    ledger: Any = None,
    dataset: str | None = None,
    seed: int | None = None,
) -> Release | SegmentedRelease:
    """Release the most frequent itemsets of a size, (epsilon, delta)-differentially private per basket or per user.

    data: a path, an address, an Arrow table, a pandas or polars frame, a scipy sparse or one-hot boolean frame, an
        iterable of iterables of items, or what read_transactions returned; see there, also for basket, item and items,
        for split and fold_case, which say what is one item, for delimiter, header, encoding, input_format and
        skip_rows, which say how to read a text, and for query, of a database.
    user: column of the customer. The guarantee is then for all baskets of a user together, and the support of an
        itemset is the number of users with a basket that contains it. Without it each basket is protected by itself.
    missing_user: what becomes of rows without a user (null, NaN, empty or white space only): "drop" leaves them
        out, "own-unit" makes each basket without a user a unit of its own. Without it they are refused.
    where: which rows are read, as in read_transactions: "country = 'France' and date >= '2011-01-01'". It is a public
        choice, which the release states: do not take it from the data.
    exclude: a public list of items to leave out: a path or an iterable, as a catalogue is. min_basket: baskets of fewer
        different items, of those that are left, count as empty; >= 1. together: "basket" where one basket has to
        contain an itemset, "user" (with user) where it is enough that a user ever had all of it. Unless given it is
        "user" for rules of users, and "basket" elsewhere. The release tells.
    by: column of segments, such as stores. segments: which, a public list of names, or one text with commas between
        them. There is one release for each then, of its rows, and what is returned is a SegmentedRelease, a mapping.
        max_segments: in how many of them a unit counts at most, 1 unless given: where it has the most baskets. Each
        release has 1/max_segments of the budget. Under "replace-one" it is not hidden in which segments a unit counts.
    size: items per itemset, >= 1; or a range, "2-4" or range(2, 5). Levelwise counts all of its sizes in one run,
        others take one selection for each size, with equal shares of the budget.
    epsilon: 1e-9 to 1e9, 1 unless given. delta: 1e-300 up to below 1. The budget of the whole release, floats taken by
        their digits; split by public parameters where there are several itemsets or sizes: Release.shares tells how.
        With a catalogue delta may be 0: "auto" then takes the best mechanism that spends none, and supports have
        discrete Laplace noise.
    rho: 1e-18 to 1e8, in place of epsilon: the budget in zero-concentrated differential privacy (zCDP). All of the
        release is rho-zCDP or, where items have to be found or a mechanism may abstain, delta/2-approximately so
        (Release.zcdp); Release.cost is the (epsilon, delta) that follows.
    mechanism: a name of the registry (`fim_private.mechanisms.registry`), which says what each has to know. The
        default, "auto", takes "limited-domain" for one itemset and "levelwise" for several, or what suits a catalogue
        or a cap better: Release.mechanism and Release.reason tell. "large-margin" is Algorithm 1 of the paper;
        "exponential" is one of those over a public universe; "choosing" needs max_basket.
    neighbors: what the guarantee hides. Under "add-remove", the default, any one basket (with user: any one user) could
        have been there or not, and how many there are is private. Under "replace-one", the relation of the large margin
        paper, any one could have been any other, and how many there are is public. With where, query or by it could
        have been any other that these treat alike; how many there are is then released only with count.
    top: how many itemsets of each size are wanted, 1 to 100,000, 1 unless given; fewer come out where the mechanism
        abstains. With min_support: at most so many, of all sizes together, 1,000 unless given (100 where they are
        picked one by one).
    min_support: instead of the most frequent itemsets those which at least so many units have: a share of them above 0
        and below 1 (0.02, "2%"), or a whole number (500). Released is what is found and has a noisy support of as
        much, with intervals; doubtful is what may have less by the noise alone (docs/privacy.md, "A least support").
        Levelwise spends most of the budget near the threshold then. Under "add-remove" a share buys a noisy number of
        units, for 5 % of the budget.
    union: with several sizes, the itemsets of all of them are ranked together in one selection, `top` of them in all.
    supports: whether noisy supports are released too, with 95 % intervals. supports_share: their part of the budget,
        above 0 and below 1, unless given 10 % with levelwise, and where "auto" picks a few itemsets of users (15 %
        under "replace-one", 40 % with min_support), a third with others and for rules; of no use without them.
    keep_all: whether itemsets are released, too, whose noisy support does not stand out from 0. (Without supports only
        levelwise can tell, and only where it counts: not where, with user, it picks.)
    rules: whether association rules are to be made of the release (Release.rules): the supports of all parts of its
        itemsets are then released, too (Release.parts), and the number of units, under the same budget. Turns on
        supports and count.
    count: whether the number of units is released, so that supports have shares. Under "add-remove" it comes with
        supports that have normal noise, for nothing; otherwise 5 % of the budget buys it, with noise.
        Under "replace-one" without where, query and by it is public: always released, exactly and for nothing.
    max_rank: public cap, >= 1, for mechanisms that the registry gives one: how far down the ranking they look. Unless
        given it is the mechanism's own: 10,000, or more where a large top needs it. Others refuse it.
    max_basket: public cap on a basket's items, >= 1, for mechanisms that the registry gives one: of a longer
        basket the first items in label order count. Others refuse it. max_baskets: needed with it and with user: how
        many different baskets of a user count, drawn by what is in that user's baskets alone.
    catalogue: the public list of all items; others are dropped. An iterable; any table, file, folder, pattern or
        address that `data` may be; or an earlier Release, or the path of a saved one, for its items. Without
        catalogue_item a file has one item a line, or the one column of items, and a folder has such files.
        catalogue_item: the column of the items, as they are in the data. catalogue_label: that of their labels, which
        the release shows in their place; an item without a label is shown as it is, and a label that several items have
        with the item in brackets. catalogue_query: what to read of a database.
    items_are_public: whether all items of the data, before any condition, are taken to be public, as if a catalogue
        listed them. The release states it. Never say so where which items there are may tell of anybody.
    universe_size: the public number of items, for mechanisms that can do with it in place of a catalogue. The others
        have no use for it: without names, an unsupported itemset is an abstention anyway.
    max_work: steps after which counting gives up, or does not begin: about one for each time that an itemset is met
        in a basket. Only sizes and universes that are out of reach come near it.
    max_memory: how much memory the data may take, with what counting them takes: "4GB", "500MB", or bytes; four fifths
        of what the machine has unless given. What would take more is refused while it is read.
    progress: called now and then while counting lasts, with the fraction done of the present pass, 0 to 1.
    engine: "local", or "spark": Apache Spark reads and counts (docs/spark.md), as it does a DataFrame of its own.
        spark_conf: settings of a session that is started, such as {"spark.master": "local[4]"}.
    ledger: a fim.Ledger, which keeps a budget in a file: the release is charged to it, and that is on the disk, before
        anything is computed of the data; if it would overspend it is refused. What was charged stays charged, also
        where nothing comes out. dataset: needed with it, the name of the data, for all files of the same people.
    seed: for tests and benchmarks only; the release then says private=False.
    Returns a Release, with by a SegmentedRelease. A Release is a sequence of itemsets with the guarantee
    (Release.guarantee), how certain they are (Release.certainty), and where too little came out what to ask instead
    (Release.advice).
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
    engine_of = Engine.of(data, engine, spark_conf)
    effort = Effort(max_work=max_work) if progress is None else Effort(max_work=max_work, progress=progress)
    limit = MemoryLimit.of(max_memory)
    randomness = Randomness.of_seed(seed)
    account = account_of(ledger, dataset, private=randomness.private)
    by_user = data.by_user if isinstance(data, Transactions) else reads_users(data, user, input_format, basket)
    rules = flag("rules", rules)
    parts = segments_of(by, segments, max_segments)
    dialect = Dialect(delimiter, header, encoding, input_format, skip_rows)
    reading = Options(
        user,
        basket,
        item,
        items,
        missing_user,
        dialect,
        query,
        where_of(where),
        parts,
        limit,
        split=split,
        fold_case=fold_case,
    )
    condition, queried, folds = read_by(data, reading)
    with held_to(limit):
        scope = Scope.of(
            exclude=exclude,
            min_basket=min_basket,
            together=together,
            by_user=by_user,
            rules=rules,
            query=queried,
            fold_case=folds,
            by=by,
        )
        listed = public_items(
            data,
            reading,
            engine_of,
            catalogue=catalogue,
            item=catalogue_item,
            label=catalogue_label,
            query=catalogue_query,
            items_are_public=items_are_public,
            universe_size=universe_size,
            fold_case=folds,
            private=randomness.private,
        )
        if listed is not None:
            scope = replace(scope, catalogue=listed[1])
        options = checked_options(
            size=size,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            mechanism=mechanism,
            neighbors=neighbors,
            top=top,
            min_support=min_support,
            union=union,
            supports=supports,
            supports_share=supports_share,
            keep_all=keep_all,
            count=count,
            max_rank=max_rank,
            max_basket=max_basket,
            max_baskets=max_baskets,
            catalogue=None if listed is None else listed[0],
            universe_size=universe_size,
            rules=rules,
            by_user=by_user,
            scope=scope,
            where=condition,
        )
    engine_of.check(data, query)
    most = 1 if parts is None else parts.most
    part = options.part(most)
    job = Job(part, allocation_of(part), randomness)
    cost, concentrated = cost_of(options, job, most)
    due = bill(
        account,
        command="mine",
        dataset=dataset,
        by_user=by_user,
        neighbors=options.neighbors,
        cost=cost,
        zcdp=concentrated,
        parameters=asked(options) | rows_asked(data, reading, scope),
        unit_columns=unit_columns(data, reading),
    )
    if randomness.private:
        warn(cautions(cost, rho=options.rho), stacklevel=2)
        if options.chosen and options.neighbors == Neighbors.REPLACE_ONE:
            warn([chosen_units_show("user" if by_user else "basket")], stacklevel=2)

    with engine_of.opened(data, reading, scope, effort) as read:
        unit = "user" if read[0].source.by_user else "basket"
        charged = None if due is None else due.pay(unit)
        if randomness.private and read[0].read_as is not None:
            warn(read[0].read_as.cautions(), stacklevel=2)
        if randomness.private and options.units_are_public:
            told = [told for one in read for told in cautions_of_units(cost, one.source.units, unit)]
            warn(dict.fromkeys(told), stacklevel=2)
        releases = [job.release(one) for one in read]
    if parts is None:
        return replace(releases[0], charged=charged)
    return SegmentedRelease(tuple(releases), cost, concentrated if options.rho is not None else None, charged)
