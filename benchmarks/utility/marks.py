"""Marks: whether itemsets whose rank is said to be sure are among the most frequent.

python -m benchmarks.utility.marks [--quick]
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from scipy.stats import binom

import fim_private as fim
from benchmarks.frame.datasets import Source, corner_shop, shops, sources
from benchmarks.frame.study import NOTHING, Options, Results, Section, Study, Task, main
from benchmarks.frame.support_spectra import top_supports, transactions
from benchmarks.frame.tables import Table
from fim_private.counting.source import LocalSource
from fim_private.dp.neighbors import Neighbors
from fim_private.reading.transactions import Transactions
from fim_private.request.itemsets import GivenItemsets, supports_of

DELTA, RUNS = 1e-6, 6
SIZES: tuple[tuple[int, ...], ...] = ((2,), (3,), (1, 2, 3))
COUNTS: tuple[int, ...] = (10, 200)
EPSILONS = (1.0, 5.0)
# So many of the itemsets that are said to be sure shall be right. A setting with at least so many
# of them is low if chance explains its share no more often than this.
RIGHT, FEWEST, BY_CHANCE = 0.95, 30, 0.01


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each data set, sizes and number of itemsets."""
    by_basket, missing = sources(options.data)
    by_customer, lacking = shops(options.data)
    found = [corner_shop(), *by_basket.values(), *by_customer.values()]
    taken = [source for source in found if options.takes(source.name)]
    sizes, counts, runs = SIZES, COUNTS, RUNS
    if options.quick:
        taken, sizes, counts, runs = [corner_shop()], SIZES[:1], COUNTS[:1], 1
    tasks = [
        Task(
            f"{source.name}|{'-'.join(map(str, asked))}|{top}",
            measured,
            {"source": source, "sizes": asked, "top": top, "runs": runs, "seed": options.seed},
        )
        for source, asked, top in product(taken, sizes, counts)
    ]
    return tasks, sorted({*missing, *lacking})


def measured(
    source: Source, sizes: tuple[int, ...], top: int, runs: int, seed: int
) -> list[list[int]]:
    """Return how many itemsets are released, sure and right: of each ε and relation, a list."""
    data = transactions(source)
    least = _least_support(data, sizes, top)
    told = []
    for epsilon, neighbors in product(EPSILONS, (Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE)):
        released, sure = 0, []
        for run in range(runs):
            release = fim.mine(
                data,
                size=f"{sizes[0]}-{sizes[-1]}",
                union=len(sizes) > 1,
                top=top,
                epsilon=epsilon,
                delta=DELTA,
                neighbors=neighbors,
                mechanism="levelwise",
                seed=seed + run,
            )
            released += len(release)
            sure += [itemset.items or () for itemset in release if itemset.doubtful is False]
        supports = supports_of(GivenItemsets.of(sure), LocalSource(data)) if sure else []
        told.append([released, len(sure), sum(support >= least for support in supports)])
    return told


def _least_support(data: Transactions, sizes: tuple[int, ...], top: int) -> int:
    """Return the support of the last of the `top` most frequent itemsets of these sizes."""
    supports = top_supports(LocalSource(data).spectrum(sizes).levels(), top)
    return supports[-1] if len(supports) == top else 1


def sections(results: Results) -> Iterator[Section]:
    """Say how many itemsets are said to be sure, and how many of these are right."""
    settings: dict[str, list[list[int]]] = {}
    for key, told in results["answers"].items():
        settings.setdefault(key.split("|")[0], []).extend(told)
    if not settings:
        yield NOTHING
        return
    yield Section(
        "Itemsets whose rank is said to be sure",
        f"Itemsets of 2 and of 3 items, and of 1 to 3 items ranked together; k = 10 and 200; "
        f"ε = 1 and 5, δ = {DELTA:g}; both relations; {RUNS} seeds of each setting. Sure: the "
        f"share of released itemsets without a mark of doubt. Right: how many of these are among "
        f"the k most frequent. Least right is the setting with the smallest share, of those with "
        f"{FEWEST} sure itemsets or more. Low: how many of these settings have fewer than "
        f"{RIGHT:.0%} by a one-sided binomial test at {BY_CHANCE:.0%}.",
        (
            Table(
                ("data set", "released", "sure", "right", "settings", "least right", "low"),
                tuple((name, *_row(told)) for name, told in settings.items()),
            ),
        ),
    )


def _row(told: list[list[int]]) -> tuple[int | float | None, ...]:
    """Return the numbers of one data set."""
    released, sure, right = (sum(column) for column in zip(*told, strict=True))
    tested = [(marked, true) for _, marked, true in told if marked >= FEWEST]
    low = sum(binom.cdf(true, marked, RIGHT) < BY_CHANCE for marked, true in tested)
    least = min((true / marked for marked, true in tested), default=None)
    return released, sure / released, right / sure if sure else None, len(tested), least, int(low)


STUDY = Study(
    "marks",
    "benchmarks.utility.marks",
    "Marks: is what is said to be sure among the most frequent?",
    build,
    sections,
)

if __name__ == "__main__":
    main(STUDY)
