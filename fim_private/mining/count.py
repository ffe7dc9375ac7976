"""`count`: the supports of itemsets that the caller gives."""

import os
from dataclasses import replace
from typing import Unpack

from fim_private.dp.arguments import flag
from fim_private.dp.cost import at_least
from fim_private.dp.neighbors import Neighbors
from fim_private.errors import ParameterError, parameter
from fim_private.mining.given import given_itemsets
from fim_private.options.declaration import filled, takes
from fim_private.options.requests import CountOptions
from fim_private.periods import KINDS
from fim_private.reading.memory import limit_memory
from fim_private.release.release import Release
from fim_private.release.words import GIVEN
from fim_private.request.allocation import plan_of_given
from fim_private.request.groups import Target
from fim_private.request.itemsets import supports_of
from fim_private.run.outcome import Execution, Outcome
from fim_private.run.run import Run, Spending


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
    if all(
        isinstance(source, str | os.PathLike) and str(source) == "-" for source in (data, itemsets)
    ):
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
    with limit_memory(run.reading.memory):
        known_itemsets = given_itemsets(itemsets, fold_case=run.all_rows.fold_case)
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
    spending = Spending("count", promise, plan, recorded)
    with run.charged(spending, scope) as ((opened,), charged):
        execution = Execution(plan, opened.source, run.randomness)
        units = execution.unit_count(public=promise.units_are_public)
        supports = supports_of(known_itemsets, opened.source)
        measurement = execution.measure(known_itemsets.itemsets, supports, units)
    published = Outcome(tuple(measurement.estimates()), measurement.noise, measurement.units)
    target = Target(known_itemsets.sizes, number, union=True)
    release = run.release(opened, spending, published, target, GIVEN)
    release = replace(release, charged=charged)
    run.warn_of_noisy_units(plan.cost, [release])
    return release
