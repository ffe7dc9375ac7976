"""Periods: what is found of each when a shop mines one after the other, and whether what is said to
have changed has.

Two releases of neighbouring periods are compared as `fim-private changes` does; true supports say
who is right.

python -m benchmarks.utility.periods [--quick]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

import fim_private as fim
from benchmarks.frame.datasets import (
    COMPLETE_JOURNEY,
    VALUED_SHOPPERS,
    corner_shop,
    real_sources,
    sources,
)
from benchmarks.frame.study import (
    NOTHING,
    Options,
    Results,
    Section,
    Study,
    Task,
    answers_of,
    main,
)
from benchmarks.frame.support_spectra import items_of, top_supports
from benchmarks.frame.tables import Cell, Table
from fim_private.counting.source import LocalSource, itemset_spectrum, list_itemsets
from fim_private.dp.neighbors import Neighbors
from fim_private.request.itemsets import GivenItemsets, supports_of

Itemset = frozenset[str]
SIZE, K, RUNS, PLANTS = 2, 50, 5, 20
PLAIN, KNOWN, LISTED = "nothing", "the last release", "a product list"
BUDGET: dict[str, Any] = {"size": SIZE, "epsilon": 1.0, "delta": 1e-6, "mechanism": "levelwise"}
RELATIONS = (Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE)
PLANTED = (0.1, 0.25, 0.5)


def online_retail(path: Path, by_user: bool) -> list[pd.DataFrame]:
    """Return the purchases of each of 13 months, or by customer of each of 4 quarters."""
    rows = pd.read_parquet(
        path, columns=["InvoiceNo", "StockCode", "InvoiceDate", "CustomerID"]
    ).astype(str)
    rows.columns = pd.Index(["basket", "item", "time", "user"])
    rows = rows[rows["user"].str.len() > 0] if by_user else rows
    months = pd.to_datetime(rows["time"]).dt.to_period("Q" if by_user else "M")
    parts = [part for _, part in rows.groupby(months)]
    return parts[1:] if by_user else parts  # December 2010 is no quarter


def valued_shoppers(path: Path, by_user: bool) -> list[pd.DataFrame]:
    """Return the first, second and last third of every customer's orders."""
    rows = pd.read_parquet(path).astype(str)
    rows.columns = pd.Index(["user", "basket", "item"])
    orders = rows["basket"].astype(int).groupby(rows["user"])
    third = ((orders.rank("dense") - 1) * 3 / orders.transform("nunique")).astype(int).clip(upper=2)
    return [part for _, part in rows.groupby(third)]


def complete_journey(path: Path, by_user: bool) -> list[pd.DataFrame]:
    """Return the purchases of every 4 weeks, or by household of every 13."""
    rows = pd.read_parquet(path, columns=["household_id", "basket_id", "product_id", "week"])
    weeks = (rows["week"] - 1) // (13 if by_user else 4)
    rows = rows[weeks < (4 if by_user else 13)].astype(str)
    rows.columns = pd.Index(["user", "basket", "item", "week"])
    return [part for _, part in rows.groupby(weeks)]


SHOPS: dict[str, Callable[[Path, bool], list[pd.DataFrame]]] = {
    "online_retail": online_retail,
    "valued_shoppers": valued_shoppers,
    COMPLETE_JOURNEY: complete_journey,
}


def read(rows: pd.DataFrame, by_user: bool) -> Any:
    """Return purchases as they are counted, by customer or by basket."""
    rows = rows[["user", "basket", "item"]] if by_user else rows[["basket", "item"]]
    return fim.read_transactions(
        rows, basket="basket", item="item", user="user" if by_user else None
    )


def true_top(data: Any, k: int) -> set[Itemset]:
    """Return the itemsets with at least the support of the k-th."""
    supports = top_supports(itemset_spectrum(data, SIZE).levels(), k)
    if len(supports) < k:
        return set()
    itemsets = list_itemsets(data, SIZE, supports[-1], data.units)
    return {frozenset(map(str, items)) for items, _ in itemsets}


def missed(release: Any, top: set[Itemset], k: int) -> float:
    """Return the share of k that a release lacks."""
    return max(k - sum(frozenset(map(str, one.items or ())) in top for one in release), 0) / k


def judged(before: Any, after: Any, data: tuple[Any, Any]) -> dict[str, float]:
    """Return how many changes are claimed, how many the wrong way, and how many intervals hold the
    true difference.
    """
    found = fim.changes(before, after, keep_all=True)
    if not len(found):
        return {"compared": 0, "claimed": 0, "wrong": 0, "held": 0}
    given = GivenItemsets.of([one.items for one in found])
    shares = [np.array(supports_of(given, LocalSource(each))) / each.units for each in data]
    true = shares[1] - shares[0]
    wrong = sum(
        one.clear and (one.change in ("rise", "new")) != (own > 0)
        for one, own in zip(found, true, strict=True)
    )
    held = [
        one.interval is not None and one.interval[0] <= own <= one.interval[1]
        for one, own in zip(found, true, strict=True)
    ]
    claimed = sum(one.clear for one in found)
    return {"compared": len(found), "claimed": claimed, "wrong": int(wrong), "held": int(sum(held))}


def chain(
    shop: str, path: Path, by_user: bool, neighbors: str, k: int, runs: int, seed: int
) -> list[dict[str, Any]]:
    """Return of each period but the first what is missed by what is known, and of the changes what
    is right.
    """
    data = [read(rows, by_user) for rows in SHOPS[shop](path, by_user)]
    return followed(data, neighbors, k, runs, seed)


def followed(data: list[Any], neighbors: str, k: int, runs: int, seed: int) -> list[dict[str, Any]]:
    """Mine periods one after the other."""
    tops = [true_top(each, k) for each in data]
    asked = {**BUDGET, "top": k, "neighbors": neighbors}
    found: list[dict[str, Any]] = []
    for run in range(runs):
        seeds = iter(range(seed + 1_000 * run, seed + 1_000 * run + 999))
        last = fim.mine(data[0], seed=next(seeds), **asked)
        for place, (one, other) in enumerate(pairwise(data), 1):
            ours = fim.mine(other, known=last, seed=next(seeds), **asked)
            each = {
                PLAIN: fim.mine(other, seed=next(seeds), **asked),
                KNOWN: ours,
                LISTED: fim.mine(other, catalogue=items_of(other), seed=next(seeds), **asked),
            }
            row: dict[str, Any] = {
                name: missed(release, tops[place], k) for name, release in each.items()
            }
            found.append({"period": place, **row, **judged(last, ours, (one, other))})
            last = ours
    return found


def planted(path: Path, size: float, k: int, runs: int, seed: int) -> list[dict[str, Any]]:
    """Return what is claimed of two halves of a shop's baskets, in one of which some pairs lost a
    part of theirs.

    size: the part, 0 for two releases of the same half. Half of the pairs fall, the other half
    rise.
    """
    baskets = [tuple(basket) for basket in pd.read_parquet(path)["items"]]
    found = []
    for run in range(runs):
        draw = np.random.default_rng([seed, run])
        order = draw.permutation(len(baskets))
        halves = [[baskets[place] for place in part] for part in np.array_split(order, 2)]
        moved: dict[Itemset, int] = {}
        if size:
            top = sorted(true_top(fim.read_transactions(baskets), k), key=sorted)
            chosen = [top[place] for place in draw.permutation(len(top))[:10]]
            moved = {pair: 1 if place % 2 else -1 for place, pair in enumerate(chosen)}
            for half, sign in enumerate((1, -1)):
                lost = [pair for pair, own in moved.items() if own == sign]
                halves[half] = [_without(basket, lost, size, draw) for basket in halves[half]]
        data = [fim.read_transactions(half) for half in (halves if size else [halves[0]] * 2)]
        asked = {**BUDGET, "top": k}
        first = fim.mine(data[0], seed=seed + 2 * run, **asked)
        second = fim.mine(data[1], known=first, seed=seed + 2 * run + 1, **asked)
        claimed = {frozenset(map(str, one.items)): one.change for one in fim.changes(first, second)}
        right = sum(
            claimed.get(pair) in (("rise", "new") if sign > 0 else ("fall", "gone"))
            for pair, sign in moved.items()
        )
        found.append(
            {"planted": len(moved), "found": right, **judged(first, second, (data[0], data[1]))}
        )
    return found


def _without(
    basket: tuple[str, ...], pairs: list[Itemset], size: float, draw: np.random.Generator
) -> tuple[str, ...]:
    """Return a basket that lost, of each of these pairs that it has, an item with some
    probability.
    """
    for pair in pairs:
        if pair <= {*basket} and draw.random() < size:
            gone = sorted(pair)[int(draw.integers(2))]
            basket = tuple(item for item in basket if item != gone)
    return basket


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return a task for each shop, unit and relation, and for each size of what is planted."""
    shop = corner_shop().path
    how = {"k": 10, "runs": 1} if options.quick else {"k": K, "runs": RUNS}
    tasks = []
    if not options.quick:
        found, missing = sources(options.data)
        more, _ = real_sources(options.data, (VALUED_SHOPPERS,))
        for name in SHOPS:
            if (source := {**found, **more}.get(name)) is not None and options.takes(name):
                for unit, relation in (
                    (unit, relation) for unit in ("basket", "user") for relation in RELATIONS
                ):
                    given = {
                        "shop": name,
                        "path": source.path,
                        "by_user": unit == "user",
                        "neighbors": relation,
                    }
                    tasks.append(
                        Task(
                            f"chain|{name}|{unit}|{relation}",
                            chain,
                            {**given, **how, "seed": options.seed},
                        )
                    )
        missing = [line for line in missing if line.split()[0] in SHOPS]
    else:
        missing = []
    if options.takes("corner_shop"):
        for size in (0.0, *PLANTED):
            given = {
                "path": shop,
                "size": size,
                "k": how["k"],
                "runs": how["runs"] if options.quick else PLANTS,
            }
            tasks.append(Task(f"planted|{size:g}", planted, {**given, "seed": options.seed}))
    return tasks, missing


_METHOD = f"""\
Each period is mined for its {K} most frequent pairs at ε = 1, δ = 1e-6, {RUNS} times with seeds. FNR is the share of
the true top {K} that is missing. The release of a period knows nothing; or the release before it (`--known`), which
itself knew the one before; or a list of all products. Then `fim-private changes` compares each release with the one
before. A claim is wrong if the true difference has the other sign, or is 0.

- online_retail: 13 months by basket, 4 quarters by customer. complete_journey: 13 times 4 weeks by basket, 4 times 13
  weeks by household. valued_shoppers: the first, second and last third of each customer's orders.
- Planted: two random halves of the corner shop's baskets. In the one, five pairs lose a part of their baskets, in
  the other five others do. Size 0: two releases of the same half, where each claim is wrong. {PLANTS} runs each."""  # noqa: E501


def sections(results: Results) -> Iterator[Section]:
    """Say what known itemsets add, and how many claims are right."""
    chains, plants = answers_of(results, "chain"), answers_of(results, "planted")
    if not chains and not plants:
        yield NOTHING
        return
    names = (PLAIN, KNOWN, LISTED)
    lines: list[tuple[Cell, ...]] = []
    for (shop, unit, relation), rows in chains.items():
        lines.append(
            (shop, unit, relation, *(round(fmean(row[name] for row in rows), 3) for name in names))
        )
    table = Table(
        ("shop", "unit", "neighbours", *(f"FNR, knows {name}" for name in names)), tuple(lines)
    )
    yield Section(
        "What the last release adds",
        _METHOD,
        (table,) if lines else (),
    )
    claims = [(" ".join(key), rows) for key, rows in chains.items()]
    claims += [
        (f"corner_shop, planted {100 * float(size):g} %", rows) for (size,), rows in plants.items()
    ]
    told: list[tuple[Cell, ...]] = []
    for name, rows in claims:
        total = {
            what: sum(row[what] for row in rows)
            for what in ("compared", "claimed", "wrong", "held")
        }
        share = None if not total["claimed"] else round(total["wrong"] / total["claimed"], 4)
        covers = None if not total["compared"] else round(total["held"] / total["compared"], 4)
        planted_ = sum(row.get("planted", 0) for row in rows)
        recall = round(sum(row["found"] for row in rows) / planted_, 3) if planted_ else None
        told.append(
            (name, total["compared"], total["claimed"], total["wrong"], share, covers, recall)
        )
    heads = (
        "releases",
        "compared",
        "claimed",
        "wrong",
        "share wrong",
        "intervals that hold",
        "planted found",
    )
    reading = (
        "At most 5 % of the claims are to be wrong, and 95 % of the intervals are to hold "
        "the true difference."
    )
    yield Section("Whether what is said to have changed has", reading, (Table(heads, tuple(told)),))


STUDY = Study(
    "periods",
    "benchmarks.utility.periods",
    "Periods: what the last release adds, and whether what is said to have changed has",
    build,
    sections,
)

if __name__ == "__main__":
    main(STUDY)
