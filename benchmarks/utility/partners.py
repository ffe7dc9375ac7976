"""Partners: what is missed of the 20 most frequent partners of one item that a person names.

For comparison, the general release of the 100 most frequent pairs is asked for the same. Items are
those of some ranks among the customers of a shop.

python -m benchmarks.utility.partners [--quick]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.frame.datasets import Source, corner_shop, shops
from benchmarks.frame.study import NOTHING, Options, Results, Section, Study, Task, main
from benchmarks.frame.support_spectra import items_of, transactions
from benchmarks.frame.tables import Cell, Table
from fim_private.counting import LocalSource
from fim_private.dp.neighbors import Neighbors
from fim_private.mining.mine import mine
from fim_private.reading.labels import Item
from fim_private.reading.transactions import Transactions
from fim_private.request.itemsets import GivenItemsets, supports_of

DELTA, TOP, GENERAL = 1e-6, 20, 100
RANKS, RUNS = [5, 20, 60, 120], 10
# An item is passed over if its last partner sought has fewer units than this.
_ENOUGH = 10
# Budgets and relations, the most important first.
SETTINGS = [
    (1.0, Neighbors.ADD_REMOVE),
    (0.5, Neighbors.ADD_REMOVE),
    (2.0, Neighbors.ADD_REMOVE),
    (1.0, Neighbors.REPLACE_ONE),
]
WITH, WITH_LIST, GENERAL_PAIRS = "with the item", "with the item, list", "top 100 pairs"


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each shop, budget, relation and rank of an item."""
    if options.quick:
        return [*_tasks([corner_shop()], SETTINGS[:1], [5], 1, options.seed)], []
    found, missing = shops(options.data)
    taken = [source for source in (*found.values(), corner_shop()) if options.takes(source.name)]
    return [*_tasks(taken, SETTINGS, RANKS, RUNS, options.seed)], missing


def _tasks(
    data: Sequence[Source],
    settings: Sequence[tuple[float, str]],
    ranks: Sequence[int],
    runs: int,
    seed: int,
) -> Iterator[Task]:
    for (epsilon, neighbors), source, rank in product(settings, data, ranks):
        asked = {"source": source, "rank": rank, "epsilon": epsilon, "neighbors": neighbors}
        name = f"{source.name}|{rank}|{epsilon:g}|{neighbors}"
        yield Task(name, missed, {**asked, "runs": runs, "seed": seed})


@dataclass(frozen=True)
class Partners:
    """An item, and how many units have it with each of its partners, descending."""

    item: Item
    supports: tuple[int, ...]

    @classmethod
    def of(cls, data: Transactions, rank: int) -> Partners:
        """Return the partners of the item of a rank, 1 for the most frequent one.

        Or of the next item that has enough of them: people buy petrol with next to nothing.
        """
        items = LocalSource(data).items()
        supports = items.sums(np.append(0, np.ones(len(data.vocabulary), dtype=np.int64)))
        for item in np.argsort(-supports, kind="stable")[rank - 1 :].tolist():
            others = np.delete(np.arange(len(supports)), item)
            pairs = np.column_stack([np.full(len(others), item), others]).astype(np.int32)
            pairs.sort(axis=1)
            with_item = items.among(np.arange(len(supports))).sums(
                [pairs], np.append(0, np.ones(len(pairs), dtype=np.int64))
            )
            descending = sorted(with_item.tolist(), reverse=True)
            if descending[TOP - 1] >= _ENOUGH:
                return cls(data.vocabulary.label(item), tuple(descending))
        raise ValueError(f"no item of rank {rank} or more has {TOP} partners")


def missed(
    source: Source, rank: int, epsilon: float, neighbors: str, runs: int, seed: int
) -> dict[str, Any]:
    """Return what share of the true partners each way misses, and how many of its marks hold."""
    data = transactions(source)
    partners = Partners.of(data, rank)
    least = max(partners.supports[TOP - 1], 1)
    units = LocalSource(data)
    asked: dict[str, Any] = {"size": 2, "epsilon": epsilon, "delta": DELTA, "supports": True}
    asked["neighbors"] = neighbors
    of_item: dict[str, Any] = {"top": TOP, "with_items": [partners.item]}
    ways: dict[str, dict[str, Any]] = {
        WITH: of_item,
        WITH_LIST: of_item | {"catalogue": items_of(data)},
        GENERAL_PAIRS: {"top": GENERAL},
    }
    answer: dict[str, Any] = {"support": partners.supports[TOP - 1]}
    for way, options in ways.items():
        shares, sure, right = [], 0, 0
        for run in range(runs):
            release = mine(data, seed=seed + run, **asked, **options)
            pairs = [pair for pair in release if pair.items and partners.item in pair.items]
            named = [pair.items for pair in pairs if pair.items is not None]
            supports = supports_of(GivenItemsets.of(named), units) if named else []
            hits = sum(support >= least for support in supports)
            shares.append(1 - min(hits, TOP) / TOP)
            for pair, support in zip(pairs, supports, strict=True):
                if pair.doubtful is False and way != GENERAL_PAIRS:
                    sure += 1
                    right += support >= least
        answer[way] = {"missed": fmean(shares), "sure": sure, "right": right}
    return answer


def sections(results: Results) -> Iterator[Section]:
    """Say what is missed by shop, rank of the item, budget and relation."""
    answers = results["answers"]
    if not answers:
        yield NOTHING
        return
    yield Section(
        "What goes with one item",
        f"The share of the true {TOP} most frequent partners of an item that is missing, in the "
        f"mean of {RUNS} releases with supports (δ = {DELTA:g}). The item has rank "
        f"{', '.join(map(str, RANKS))} among the customers of its shop. {WITH}: `--with`, without "
        f"and with a list of all items; {GENERAL_PAIRS}: those of the general release that have "
        f"the item. Sure: how many partners were marked as sure to be among the {TOP}, and which "
        f"share of them is.",
        (_table(answers),),
    )


def _table(answers: Mapping[str, Mapping[str, Any]]) -> Table:
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for name, answer in answers.items():
        shop, _, epsilon, neighbors = name.split("|")
        groups.setdefault((shop, epsilon, neighbors), []).append(answer)
    rows: list[tuple[Cell, ...]] = []
    for (shop, epsilon, neighbors), of_ranks in groups.items():
        by_rank = " ".join(f"{answer[WITH]['missed']:.2f}" for answer in of_ranks)
        means = [
            fmean(answer[way]["missed"] for answer in of_ranks)
            for way in (WITH, WITH_LIST, GENERAL_PAIRS)
        ]
        sure = sum(answer[WITH]["sure"] for answer in of_ranks)
        right = sum(answer[WITH]["right"] for answer in of_ranks)
        share = f"{right / sure:.1%} of {sure}" if sure else "none"
        rows.append((shop, float(epsilon), neighbors, by_rank, *means, share))
    columns = ("shop", "ε", "relation", "by rank", WITH, WITH_LIST, GENERAL_PAIRS, "sure")
    return Table(columns, tuple(rows))


STUDY = Study(
    "partners",
    "benchmarks.utility.partners",
    "Partners: what goes with one item",
    build,
    sections,
)

if __name__ == "__main__":
    main(STUDY)
