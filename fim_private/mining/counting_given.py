"""The supports of itemsets that the caller names: no selection, all of the budget for noise on the counts.

(The module's name is a phrase because `fim.count` is a function, which would hide a module of that name.)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fim_private import defaults
from fim_private.counting import Effort, Progress
from fim_private.dp.cautions import cautions, cautions_of_units, chosen_units_show
from fim_private.dp.charge import account_of
from fim_private.dp.cost import Exact, PrivacyCost, ZcdpCost, at_least
from fim_private.dp.parameters import Neighbors, exact_neighbors, flag
from fim_private.dp.privacy_budget import PrivacyBudget
from fim_private.dp.randomness import Randomness
from fim_private.errors import ParameterError, parameter, warn
from fim_private.mining.allocation import SupportsBudget, counted_units, released, told
from fim_private.mining.budget_share import Share
from fim_private.mining.charging import bill, rows_asked, unit_columns
from fim_private.mining.engines import Engine
from fim_private.mining.given_itemsets import given_itemsets
from fim_private.mining.known_itemsets import GivenItemsets, supports_of
from fim_private.mining.noisy_supports import SupportNoise
from fim_private.mining.options import COUNT_SHARE
from fim_private.mining.release import GIVEN, Release
from fim_private.mining.scope import Scope, read_by
from fim_private.reading import reads_users
from fim_private.reading.dialect import Dialect
from fim_private.reading.memory import MemoryLimit, held_to
from fim_private.reading.options import Options
from fim_private.reading.transactions import Transactions
from fim_private.reading.where import where_of


def count(
    data: Any,
    itemsets: Any,
    *,
    epsilon: float | Fraction | None = None,
    delta: float | Fraction = defaults.DELTA,
    rho: float | Fraction | None = None,
    neighbors: str = defaults.NEIGHBORS,
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
    min_basket: int | None = None,
    together: str | None = None,
    count: bool = False,
    max_work: int = defaults.MAX_WORK,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
    engine: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    ledger: Any = None,
    dataset: str | None = None,
    seed: int | None = None,
) -> Release:
    """Release noisy supports of itemsets that you name, (epsilon, delta)-differentially private per basket or per user.

    data: the purchases, and user, missing_user, basket, item, items, split, fold_case, delimiter, header, encoding,
        input_format, skip_rows, query, where, min_basket, together: how to read them, and what of them counts, as in
        mine.
    itemsets: which itemsets; they are taken to be public, so do not take them from the data. A list of collections of
        items (int and str), a Release, a frame or an Arrow table with a column itemsets or items, or the path of a
        file: text with one itemset a line, Parquet or Arrow with such a column, or a release as JSON. 1 to 100,000 of
        them, all different. An item that nobody has is counted like any other. The number 39 and the text "39" mean
        the same item, where the data has one of them only.
    epsilon, delta: of the whole release, as in mine; delta may be 0. Few itemsets are counted with discrete Laplace
        noise, which leaves delta unspent, more of them, where there is a delta, with normal noise: whichever has the
        narrower 95 % intervals.
    rho: in place of epsilon, as in mine: the supports are then rho-zCDP, and Gaussian private with μ² = 2 rho.
    neighbors: "replace-one" or "add-remove". Under "add-remove" normal noise is little more than half as wide, and the
        number of units comes with it.
    count: whether the number of units is released, too, as in mine.
    max_work, max_memory, progress, engine, spark_conf, ledger, dataset, seed: as in mine.
    Returns a release whose mechanism is "count", the itemsets in the order given, each with its noisy support and a
    95 % interval. Raises ParameterError, DataError, WorkLimitError or MemoryLimitError, and warns, as mine does.

    >>> baskets = [["bread", "butter"]] * 600 + [["bread", "jam"]] * 50
    >>> release = count(baskets, [["bread", "butter"], ["jam"], ["tea"]], seed=1)
    >>> [(one.items, one.support, one.interval) for one in release.itemsets]
    [(('bread', 'butter'), 605, (596, 614)), (('jam',), 51, (42, 60)), (('tea',), 0, (0, 1))]
    """
    effort = Effort(max_work=max_work) if progress is None else Effort(max_work=max_work, progress=progress)
    limit = MemoryLimit.of(max_memory)
    randomness = Randomness.of_seed(seed)
    if all(isinstance(source, str | os.PathLike) and str(source) == "-" for source in (data, itemsets)):
        raise ParameterError(f"only one of the purchases and {parameter('itemsets')} can be standard input")
    account = account_of(ledger, dataset, private=randomness.private)
    engine_of = Engine.of(data, engine, spark_conf)
    engine_of.check(data, query)
    by_user = data.by_user if isinstance(data, Transactions) else reads_users(data, user, input_format, basket)
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
        memory=limit,
        split=split,
        fold_case=fold_case,
    )
    condition, queried, folds = read_by(data, reading)
    scope = Scope.of(min_basket=min_basket, together=together, by_user=by_user, query=queried, fold_case=folds)
    with held_to(limit):
        given = given_itemsets(itemsets, fold_case=folds)
    budget = PrivacyBudget.of(epsilon, delta, rho, otherwise=defaults.EPSILON)
    relation, chosen = exact_neighbors(neighbors), scope.chooses_units(condition)
    public = relation == Neighbors.REPLACE_ONE and not chosen
    allocated = _allocated(
        budget, given, count=flag("count", count) and not public, two=relation == Neighbors.ADD_REMOVE
    )
    due = bill(
        account,
        command="count",
        dataset=dataset,
        by_user=by_user,
        neighbors=relation,
        cost=allocated.cost,
        zcdp=allocated.concentrated,
        parameters=_asked(given, budget, count) | rows_asked(data, reading, scope),
        unit_columns=unit_columns(data, reading),
    )
    if randomness.private:
        warn(cautions(allocated.cost, rho=budget.rho), stacklevel=2)
        if chosen and relation == Neighbors.REPLACE_ONE:
            warn([chosen_units_show("user" if by_user else "basket")], stacklevel=2)

    with engine_of.opened(data, reading, scope, effort) as (opened,):
        source = opened.source
        unit = "user" if source.by_user else "basket"
        charged = None if due is None else due.pay(unit)
        if randomness.private and opened.read_as is not None:
            warn(opened.read_as.cautions(), stacklevel=2)
        if randomness.private and public:
            warn(cautions_of_units(allocated.cost, source.units, unit), stacklevel=2)
        units = counted_units(source, allocated.count, randomness, public=public)
        values, units = released(supports_of(given, source), allocated.noise, randomness, units, source.units)
    return Release(
        mechanism=GIVEN,
        sizes=given.sizes,
        cost=allocated.cost,
        zcdp=budget.zcdp(Fraction(0)),
        neighbors=relation,
        privacy_unit=unit,
        private=randomness.private,
        abstained=False,
        itemsets=tuple(told(given.itemsets, values, allocated.noise, units)),
        missing_user=source.missing_user,
        where=opened.where,
        scope=opened.scope,
        top=len(given.itemsets),
        union=True,
        shares=allocated.shares,
        noise=allocated.noise,
        units=None if units is None else units.number,
        units_interval=None if units is None else units.interval,
        units_noise=None if units is None else units.noise,
        charged=charged,
    )


def _asked(given: GivenItemsets, budget: PrivacyBudget, count: bool) -> dict[str, Any]:
    """Return what a ledger keeps of a request: how many itemsets, and not which."""
    asked = {"itemsets": len(given.itemsets), **({"count": True} if count else {})}
    return asked if budget.rho is None else {**asked, "rho": at_least(budget.rho)}


@dataclass(frozen=True)
class _Allocated:
    """What all supports have: their noise, and the budget of a noisy number of units, None where none is bought."""

    noise: SupportNoise
    count: SupportsBudget | None
    cost: PrivacyCost
    shares: tuple[Share, ...]

    @property
    def concentrated(self) -> ZcdpCost:
        """What all of it spends in zCDP (docs/privacy.md, Theorem 18)."""
        counted = sum((share.in_zcdp for share in self.shares if share.purpose == "count"), Fraction(0))
        return ZcdpCost(self.noise.rho + counted, 0)


def _allocated(budget: PrivacyBudget, given: GivenItemsets, *, count: bool, two: bool) -> _Allocated:
    """Split the budget between the supports and, with count, the number of units: the way with the narrower noise.

    two: whether normal noise is that of two normals, which has the number of units.
    """
    part = COUNT_SHARE if count else Fraction(0)
    ways = [] if budget.epsilon is None else [_added_up(budget, given, part, laplace=two)]
    if budget.epsilon is None or (budget.delta and (part or two)):
        ways.append(_gaussian(budget, given, Fraction(0) if two else part, two=two))
    return min(ways, key=lambda way: way.noise.half_width)


def _added_up(budget: PrivacyBudget, given: GivenItemsets, part: Fraction, *, laplace: bool) -> _Allocated:
    """Split (ε, δ) by basic composition; the number of units spends no δ, nor does discrete Laplace noise."""
    assert budget.epsilon is not None
    counted = part * budget.epsilon
    delta = None if laplace else budget.delta or None
    noise = SupportNoise.for_budget(budget.epsilon - counted, delta, len(given.itemsets))
    assert noise.cost is not None
    shares = [Share("supports", given.sizes, 1 - part, noise.cost.epsilon, noise.cost.delta)]
    shares += [Share("count", (), part, Exact(counted), Exact(0))] if part else []
    cost = PrivacyCost(budget.epsilon, noise.cost.delta)
    return _Allocated(noise, SupportsBudget(counted) if part else None, cost, tuple(shares))


def _gaussian(budget: PrivacyBudget, given: GivenItemsets, part: Fraction, *, two: bool) -> _Allocated:
    """Split μ²: normal noise on all. (It is ρ-zCDP with μ² = 2ρ, and the ε that follows from μ is the smaller one.)"""
    nothing = Fraction(0)
    mu_squared = budget.normal(nothing)
    spent = {"supports": (1 - part) * mu_squared, **({"count": part * mu_squared} if part else {})}
    shares = [
        Share(name, given.sizes if name == "supports" else (), own / mu_squared, mu_squared=Exact(own))
        for name, own in spent.items()
    ]
    noise = SupportsBudget(mu_squared=spent["supports"], with_units=two).noise(len(given.itemsets))
    count = SupportsBudget(mu_squared=spent["count"]) if part else None
    return _Allocated(noise, count, budget.cost(nothing, normal=True), tuple(shares))
