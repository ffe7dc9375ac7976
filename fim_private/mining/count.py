"""`count`: the supports of itemsets that the caller gives."""

from __future__ import annotations

import os
from typing import Any, Unpack

from fim_private.dp.arguments import flag
from fim_private.dp.composition import PrivacyBudget
from fim_private.dp.cost import at_least
from fim_private.dp.neighbors import Neighbors, exact_neighbors
from fim_private.errors import ParameterError, parameter
from fim_private.mining.engines import Run
from fim_private.mining.given import given_itemsets
from fim_private.options import EPSILON, CountOptions, filled, takes
from fim_private.periods import KINDS
from fim_private.reading.memory import held_to
from fim_private.release.release import GIVEN, Release
from fim_private.request.budget import Published, allocate_given, estimated, released
from fim_private.request.itemsets import supports_of


@takes(CountOptions)
def count(data: Any, itemsets: Any, **options: Unpack[CountOptions]) -> Release:
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
    asked = filled("count", CountOptions, options)
    if all(
        isinstance(source, str | os.PathLike) and str(source) == "-" for source in (data, itemsets)
    ):
        raise ParameterError(
            f"only one of the purchases and {parameter('itemsets')} can be standard input"
        )
    if asked["period"] in KINDS:
        raise ParameterError(
            f"{parameter('period')} must be one period here, such as 2026-W46, "
            f"not {asked['period']}"
        )
    run = Run(data, asked)
    scope = run.scope()
    with held_to(run.reading.memory):
        given = given_itemsets(itemsets, fold_case=run.fold_case)
    number, with_units = len(given.itemsets), flag("count", asked["count"])
    budget = PrivacyBudget.of(asked["epsilon"], asked["delta"], asked["rho"], otherwise=EPSILON)
    relation = exact_neighbors(asked["neighbors"])
    two = relation == Neighbors.ADD_REMOVE
    public = not two and not scope.chooses_units(run.where)
    allocated = allocate_given(
        budget, given.sizes, number, count=with_units and not public, two=two
    )
    noise = allocated.noise(number)
    assert noise is not None
    # How many itemsets, and not which.
    parameters: dict[str, object] = {"itemsets": number}
    if not with_units:
        parameters["count"] = False
    if budget.rho:
        parameters["rho"] = at_least(budget.rho)
    recorded: Any = {"zcdp": allocated.concentrated, "parameters": parameters}
    with run.charged("count", scope, allocated.cost, relation, rho=budget.rho, **recorded) as (
        (opened,),
        charged,
    ):
        source = opened.source
        units = allocated.units(source, run.randomness, public=public)
        values, units = released(
            supports_of(given, source), noise, run.randomness, units, source.units
        )
    published = Published(tuple(estimated(given.itemsets, values, noise, units)), noise, units)
    own: Any = {"mechanism": GIVEN, "sizes": given.sizes, "neighbors": relation, "charged": charged}
    release = run.release(
        opened, allocated, published, **own, abstained=False, top=number, union=True
    )
    run.warn_of_units(allocated.cost, [release])
    return release
