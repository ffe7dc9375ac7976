"""What `plan --units ... --user-items ...` forecasts, against what `mine` then finds.

Units are drawn from each data set, customers where it knows them and baskets where not. A forecast
reads none of them: it is told how many they are, how many different items one has on average, and
perhaps how many different items there are.

python -m benchmarks.utility.forecasts [--quick]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.frame.datasets import (
    COMPLETE_JOURNEY,
    REAL,
    Source,
    corner_shop,
    sales,
    shops,
    sources,
)
from benchmarks.frame.study import NOTHING, Options, Results, Section, Study, Task, main
from benchmarks.frame.support_spectra import transactions
from benchmarks.frame.tables import Cell, Table
from benchmarks.utility.measures import ADD_REMOVE, REPLACE_ONE, share_found
from benchmarks.utility.resampled import drawn_units, items_of
from fim_private.mining.mine import mine
from fim_private.planning.forecast import expected_found, with_list
from fim_private.reading.transactions import Transactions
from fim_private.request.request import request_of

DELTA = 1e-6
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
BY_USER = (COMPLETE_JOURNEY, "online_retail")  # they are drawn by customer
LISTED = (False, True)  # whether a list of all items is given


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each data set and number of units."""
    if options.quick:
        return [*_tasks([corner_shop()], [1000], {"samples": 1, "seed": options.seed})], []
    found, missing = shops(options.data)
    of_baskets, lacking = sources(options.data)
    of_baskets = {name: of_baskets[name] for name, *_ in REAL if name in of_baskets}
    everywhere = [*found.values(), *of_baskets.values(), corner_shop(), sales()]
    taken = [
        source for source in everywhere if options.takes(source.name) and source.name not in BY_USER
    ]
    missing = list(dict.fromkeys([*missing, *lacking]))
    return [*_tasks(taken, UNITS, {"samples": SAMPLES, "seed": options.seed})], missing


def _tasks(data: Iterable[Source], units: list[int], how: dict[str, int]) -> Iterator[Task]:
    for source, number in product(data, units):
        yield Task(f"{source.name}|{number}", compared, {"source": source, "units": number, **how})


def compared(source: Source, units: int, samples: int, seed: int) -> list[dict[str, Any]]:
    """Return forecasts and what was found, for each question. Empty if there are too few units."""
    whole = transactions(source)
    if units > MOST_COPIES * (whole.units if whole.by_user else whole.baskets):
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
        question = {"size": size, "k": count, "ε": epsilon}
        rows.append(question | {"listed": listed, "neighbours": neighbors} | answer)
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
        yield size, count, epsilon, listed, ADD_REMOVE
    for count, listed in product(COUNTS, LISTED):
        yield "2", count, 1.0, listed, REPLACE_ONE


def _different_items(data: Transactions) -> float:
    """Return how many different items a unit has, in the mean."""
    assert data.unit_offsets is not None
    baskets_of = np.diff(data.unit_offsets)
    unit_of_basket = np.repeat(np.arange(data.units), baskets_of)
    unit_of_entry = np.repeat(unit_of_basket, np.diff(data.offsets))
    return len(np.unique(unit_of_entry * len(data.vocabulary) + data.items)) / data.units


def sections(results: Results) -> Iterator[Section]:
    """Say how far forecasts are from what was found: by question, number of units and data set."""
    rows = [
        {**row, "data": key.split("|")[0], "units": int(key.split("|")[1])}
        for key, answers in results["answers"].items()
        for row in answers
    ]
    if not rows:
        yield NOTHING
        return
    known = [row for row in rows if row["data"] in KNOWN]
    others = [row for row in rows if row["data"] not in KNOWN]
    by_question = (*_by_question("known", known), *_by_question("other", others))
    yield Section(
        "How good forecasts are",
        f"The share of the true top k that is found, in the mean of {RUNS * SAMPLES} runs, against "
        f"the forecast: k = {', '.join(map(str, COUNTS))}, {min(UNITS):,} to {max(UNITS):,} "
        f"units, ε = {', '.join(f'{e:g}' for e in EPSILONS)} (replace-one: 1). Near: at most "
        f"{NEAR:g} apart. Too high: the mean of forecast minus found. The forecast interpolates "
        f"between data sets: the known ones are among them. With a list, it is told how many "
        f"different items there are.",
        (Table(("data sets", *_QUESTION, *_FAR), by_question),),
    )
    yield Section(
        "Forecasts by the number of units",
        "Known data sets, neighbours by add-remove.",
        (Table(("units", "list", *_FAR), tuple(_by_units(known))),),
    )
    yield Section(
        "Forecasts by data set",
        "Without a list of items, neighbours by add-remove. The last columns: where the forecast "
        "is also told how many different items there are.",
        (Table(("data set", "known", *_FAR, *_FAR_TOLD), tuple(_by_data(rows))),),
    )


_QUESTION = ("itemsets", "list", "neighbours")
_FAR = ("settings", "near", "apart", "too high")
_FAR_TOLD = ("near, told more", "apart, told more", "too high, told more")
Answers = Iterable[Mapping[str, Any]]


def _far(rows: Answers, forecast: str = "forecast") -> tuple[Cell, ...]:
    """Return the cells of _FAR."""
    errors = np.array([row[forecast] - row["found"] for row in rows])
    near = np.abs(errors) <= NEAR + 1e-9
    return len(errors), *map(float, (near.mean(), np.abs(errors).mean(), errors.mean()))


def _grouped(rows: Answers, *fields: str) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[field] for field in fields), []).append(row)
    return groups


def _has_list(listed: bool) -> str:
    return "yes" if listed else "no"


def _by_question(name: str, rows: Answers) -> Iterator[tuple[Cell, ...]]:
    for (neighbors, listed, size), asked in _grouped(rows, "neighbours", "listed", "size").items():
        yield name, size, _has_list(listed), neighbors, *_far(asked)


def _by_units(rows: Answers) -> Iterator[tuple[Cell, ...]]:
    asked = [row for row in rows if row["neighbours"] == ADD_REMOVE]
    for (listed, units), of_units in sorted(_grouped(asked, "listed", "units").items()):
        yield units, _has_list(listed), *_far(of_units)


def _by_data(rows: Answers) -> Iterator[tuple[Cell, ...]]:
    asked = [row for row in rows if row["neighbours"] == ADD_REMOVE and not row["listed"]]
    for (data,), of_data in _grouped(asked, "data").items():
        known = "yes" if data in KNOWN else "no"
        yield data, known, *_far(of_data), *_far(of_data, "told more")[1:]


STUDY = Study(
    "forecasts",
    "benchmarks.utility.forecasts",
    "Forecasts: how much is expected to be found, and how much is",
    build,
    sections,
)

if __name__ == "__main__":
    main(STUDY)
