"""What `plan --units ... --user-items ...` forecasts, against what `mine` then finds.

Units are drawn from each data set, customers where it knows them and baskets where not. A forecast
reads none of them: it is told how many they are, how many different items one has on average, and
perhaps how many different items there are.

python -m benchmarks.utility.forecasts [--quick]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.frame.datasets import (
    COMPLETE_JOURNEY,
    Source,
    corner_shop,
    sales,
    shops,
    sources,
)
from benchmarks.frame.study import NOTHING, Options, Results, Section, Study, Task, main
from benchmarks.frame.support_spectra import items_of, transactions
from benchmarks.frame.tables import Cell, Table
from benchmarks.utility.measures import share_found
from benchmarks.utility.resampled import drawn_units
from fim_private.dp.neighbors import Neighbors
from fim_private.mining.mine import mine
from fim_private.planning.forecast import expected_found, with_list
from fim_private.reading.transactions import Transactions
from fim_private.request.request import request_of

DELTA = 1e-6
# The constants of the forecast were fitted to samples of 500, 1,000, 3,000, 10,000, 30,000 and
# 100,000 units: those between the first and the last of these are others.
UNITS = [500, 2000, 5000, 20_000, 50_000, 100_000]
MOST_COPIES = 12  # of a unit, on average
SIZES, COUNTS, EPSILONS = ["1", "1-2", "2"], [10, 50, 100], [0.5, 1.0, 2.0]
SAMPLES, RUNS = 3, 2  # of the units, and of each sample
NEAR = 0.1
# The forecast interpolates between these data sets, among others.
KNOWN = (
    "bms_webview_1",
    "groceries",
    "valued_shoppers_customers",
    "online_retail_customers",
    "complete_journey_households",
)
KNOWN_GROUP = "known"
ALSO_BY_CUSTOMER = (COMPLETE_JOURNEY, "online_retail")
LISTED = (False, True)  # whether a list of all items is given


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each data set and number of units."""
    if options.quick:
        return [*_tasks([corner_shop()], [1000], {"samples": 1, "seed": options.seed})], []
    by_customer, missing = shops(options.data)
    by_basket, lacking = sources(options.data)
    everywhere = [*by_customer.values(), *by_basket.values(), corner_shop(), sales()]
    taken = [
        source
        for source in everywhere
        if options.takes(source.name) and source.name not in ALSO_BY_CUSTOMER
    ]
    missing = list(dict.fromkeys([*missing, *lacking]))
    return [*_tasks(taken, UNITS, {"samples": SAMPLES, "seed": options.seed})], missing


def _tasks(data: Iterable[Source], units: list[int], how: dict[str, int]) -> Iterator[Task]:
    for source, number in product(data, units):
        yield Task(f"{source.name}|{number}", compared, {"source": source, "units": number, **how})


def compared(source: Source, units: int, samples: int, seed: int) -> list[dict[str, Any]]:
    """Return forecasts and what was found, for each question.

    Nothing if the data set has too few units to draw so many from.
    """
    whole = transactions(source)
    if units > MOST_COPIES * whole.units:
        return []
    drawn = [drawn_units(whole, units, [seed, sample]) for sample in range(samples)]
    items = fmean(_different_items(data) for data in drawn)
    among = round(fmean(len(data.vocabulary) for data in drawn))
    rows = []
    for size, count, epsilon, listed, neighbors in _questions():
        asked: dict[str, Any] = {"size": size, "union": "-" in size, "top": count}
        asked |= {"epsilon": epsilon, "delta": DELTA, "neighbors": neighbors, "supports": True}
        request = request_of(by_user=True, **asked)
        if listed:
            request = with_list(request, among)
        answer = {
            "found": fmean(_found(drawn, asked, seed, listed=listed)),
            # Who has a list knows how many items are on it.
            "forecast": expected_found(request, units, items, among if listed else None),
            "told more": expected_found(request, units, items, among),
        }
        question = {"itemsets": size, "k": count, "ε": epsilon, "neighbours": neighbors}
        rows.append({**question, "list": "yes" if listed else "no", **answer})
    return rows


def _found(
    drawn: Iterable[Transactions], asked: dict[str, Any], seed: int, *, listed: bool
) -> Iterator[float]:
    """Yield the share of the true top that a run finds, for each sample and run."""
    for sample, data in enumerate(drawn):
        given = asked | ({"catalogue": items_of(data)} if listed else {})
        for run in range(RUNS):
            release = mine(data, seed=seed + RUNS * sample + run, **given)
            yield share_found(release, data, asked["top"])


def _questions() -> Iterator[tuple[str, int, float, bool, str]]:
    """Yield sizes, k, ε, whether there is a list and the neighbours of each question."""
    for size, count, epsilon, listed in product(SIZES, COUNTS, EPSILONS, LISTED):
        yield size, count, epsilon, listed, Neighbors.ADD_REMOVE
    for count, listed in product(COUNTS, LISTED):
        yield "2", count, 1.0, listed, Neighbors.REPLACE_ONE


def _different_items(data: Transactions) -> float:
    """Return how many different items a unit has, in the mean."""
    assert data.unit_offsets is not None
    baskets_of = np.diff(data.unit_offsets)
    unit_of_basket = np.repeat(np.arange(data.units), baskets_of)
    unit_of_entry = np.repeat(unit_of_basket, np.diff(data.offsets))
    return len(np.unique(unit_of_entry * len(data.vocabulary) + data.items)) / data.units


def sections(results: Results) -> Iterator[Section]:
    """Say how far forecasts are from what was found: by question, number of units and data set."""
    rows = []
    for key, answers in results["answers"].items():
        data, units = key.split("|")
        of_data = {"data set": data, "data sets": KNOWN_GROUP if data in KNOWN else "others"}
        rows += [{**row, **of_data, "units": int(units)} for row in answers]
    if not rows:
        yield NOTHING
        return
    usual = [row for row in rows if row["neighbours"] == Neighbors.ADD_REMOVE]
    known = [row for row in usual if row["data sets"] == KNOWN_GROUP]
    without_list = [row for row in usual if row["list"] == "no"]
    yield Section(
        "How good they are",
        f"The share of the true top k that is found, in the mean of {RUNS * SAMPLES} runs, against "
        f"the forecast: k = {', '.join(map(str, COUNTS))}, {min(UNITS):,} to {max(UNITS):,} "
        f"units, ε = {', '.join(f'{e:g}' for e in EPSILONS)} (replace-one: 1). Near: at most "
        f"{NEAR:g} apart. Too high: the mean of forecast minus found. The forecast interpolates "
        f"between data sets: the known ones are among them. With a list, it is told how many "
        f"different items there are. Told more: it is told so without a list, too.",
        (
            _table(usual, ("data sets", "list"), ("forecast", "told more")),
            _table(rows, ("data sets", "itemsets", "list", "neighbours"), ("forecast",)),
        ),
    )
    yield Section(
        "By the number of units",
        "Known data sets, under add-remove.",
        (_table(known, ("units", "list"), ("forecast",)),),
    )
    yield Section(
        "By data set",
        "Without a list of items, under add-remove.",
        (_table(without_list, ("data set", "data sets"), ("forecast", "told more")),),
    )


_COLUMNS = {
    "forecast": ("near", "apart", "too high"),
    "told more": ("near, told more", "apart, told more", "too high, told more"),
}


def _table(
    rows: Iterable[Mapping[str, Any]], fields: tuple[str, ...], forecasts: tuple[str, ...]
) -> Table:
    """Return how far forecasts are from what was found, for each value of the fields."""
    groups: dict[tuple[Cell, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[field] for field in fields), []).append(row)
    lines: list[tuple[Cell, ...]] = []
    for group, alike in groups.items():
        errors = [[row[name] - row["found"] for row in alike] for name in forecasts]
        lines.append((*group, len(alike), *chain.from_iterable(map(_distances, errors))))
    columns = chain.from_iterable(_COLUMNS[name] for name in forecasts)
    return Table((*fields, "settings", *columns), tuple(lines))


def _distances(errors: Sequence[float]) -> tuple[float, ...]:
    """Return the cells of _COLUMNS."""
    apart = np.abs(errors)
    return float((apart <= NEAR + 1e-9).mean()), float(apart.mean()), float(np.mean(errors))


STUDY = Study(
    "forecasts",
    "benchmarks.utility.forecasts",
    "Forecasts: how much is expected to be found, and how much is",
    build,
    sections,
)

if __name__ == "__main__":
    main(STUDY)
