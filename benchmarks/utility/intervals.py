"""How near supports and rules are to the truth: pooled supports against exact ones, and whether
intervals hold.

Itemsets are found a few times for each data set, and the noise on their supports is drawn many
times for each of them: what a release shows, by the tool's own functions.

python -m benchmarks.utility.intervals [--quick]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.datasets import Source, corner_shop, shops, sources
from benchmarks.frame.study import NOTHING, Options, Results, Section, Study, Task, main
from benchmarks.frame.tables import Table
from fim_private.dp.neighbors import Neighbors
from fim_private.dp.noise import Randomness
from fim_private.mining.mine import Prepared, planned
from fim_private.reading.labels import Item
from fim_private.release.metrics import METRICS, RuleCounts
from fim_private.release.release import Release
from fim_private.release.rules import rules_of
from fim_private.request.itemsets import GivenItemsets, supports_of
from fim_private.run.engines import Opened
from fim_private.run.outcome import Execution

EPSILON, DELTA = 1.0, 1e-6
COUNTS, OF_RULES = [20, 50, 100, 500], [10, 50, 100]
# How often itemsets are found, and how often the noise on their supports is drawn each time.
SEARCHES, DRAWINGS = 3, 25
SUPPORTS, RULES = "supports", "rules"
_TOLD = ("squared_error", "half_width", "coverage", "exact_coverage")
Items = tuple[Item, ...]
# The true supports of itemsets, by their items.
Truth = Mapping[frozenset[Item], int]


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each data set, number of itemsets, relation, and what is looked at."""
    if options.quick:
        how = {"searches": 1, "drawings": 3, "seed": options.seed}
        return [*_tasks([corner_shop()], [20], [20], how)], []
    by_basket, missing = sources(options.data)
    by_customer, lacking = shops(options.data)
    found = [*by_basket.values(), *by_customer.values()]
    taken = [source for source in found if options.takes(source.name)]
    how = {"searches": SEARCHES, "drawings": DRAWINGS, "seed": options.seed}
    return [*_tasks(taken, COUNTS, OF_RULES, how)], sorted({*missing, *lacking})


def _tasks(
    data: Sequence[Source], counts: Sequence[int], of_rules: Sequence[int], how: dict[str, int]
) -> Iterator[Task]:
    for looked_at, numbers, measured in (
        (SUPPORTS, counts, measured_supports),
        (RULES, of_rules, measured_rules),
    ):
        for source, neighbors, top in product(
            data, (Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE), numbers
        ):
            asked = {"source": source, "neighbors": neighbors, "top": top}
            key = f"{looked_at}|{source.name}|{neighbors}|{top}"
            yield Task(key, measured, {**asked, **how})


def measured_supports(
    source: Source, neighbors: str, top: int, searches: int, drawings: int, seed: int
) -> dict[str, float] | None:
    """Return means over all drawings: squared errors and half widths of pooled supports, as parts
    of those of exact ones, and how many intervals of each hold. None if too few come out.
    """
    told = []
    for release, truth in _releases(source, neighbors, top, False, searches, drawings, seed):
        if not release.is_pooled:
            continue
        true = np.array([truth[frozenset(itemset.items or ())] for itemset in release])
        pooled = _numbers(release)
        exact = np.array([_of_itemset(itemset.by_itself) for itemset in release])
        told.append(
            (
                np.mean((pooled[:, 0] - true) ** 2) / np.mean((exact[:, 0] - true) ** 2),
                np.mean(pooled[:, 2] - pooled[:, 1]) / np.mean(exact[:, 2] - exact[:, 1]),
                np.mean((pooled[:, 1] <= true) & (true <= pooled[:, 2])),
                np.mean((exact[:, 1] <= true) & (true <= exact[:, 2])),
            )
        )
    if not told:
        return None
    return dict(zip(_TOLD, map(float, np.mean(told, axis=0)), strict=True))


def _numbers(release: Release) -> NDArray[np.float64]:
    return np.array([_of_itemset(itemset) for itemset in release])


def _of_itemset(itemset: Any) -> tuple[float, float, float]:
    return itemset.support, *itemset.interval


def measured_rules(
    source: Source, neighbors: str, top: int, searches: int, drawings: int, seed: int
) -> dict[str, float] | None:
    """Return how many intervals of each metric hold, and how many rules are not doubtful."""
    told: list[dict[str, float]] = []
    for release, truth in _releases(source, neighbors, top, True, searches, drawings, seed):
        rules = rules_of(release)
        if not len(rules):
            continue
        counts = _true_counts(rules.sides, truth)
        held = {"clear": float(np.mean(~rules.doubtful))}
        for name, metric in METRICS.items():
            if name in rules.columns:
                true = metric(counts)
                lower, upper = rules.columns[f"{name}_lower"], rules.columns[f"{name}_upper"]
                held[name] = float(np.mean((lower - 1e-9 <= true) & (true <= upper + 1e-9)))
        told.append(held)
    if not told:
        return None
    return {name: fmean(held[name] for held in told) for name in told[0]}


def _true_counts(sides: Sequence[tuple[Items, Items]], truth: Truth) -> RuleCounts:
    """Return the true counts of rules. The truth of no items is the number of units."""
    both, left, right = (
        np.array([truth[frozenset(items)] for items in several], dtype=np.float64)
        for several in (
            [left + right for left, right in sides],
            [left for left, _ in sides],
            [right for _, right in sides],
        )
    )
    return RuleCounts(both, left, right, np.full(len(both), float(truth[frozenset()])))


def _releases(
    source: Source,
    neighbors: str,
    top: int,
    rules: bool,
    searches: int,
    drawings: int,
    seed: int,
) -> Iterator[tuple[Release, Truth]]:
    """Yield releases of levelwise, with the true supports of all that they name."""
    options: dict[str, Any] = dict(source.columns)
    for search in range(searches):
        prepared = planned(
            source.path,
            size=2,
            top=top,
            epsilon=EPSILON,
            delta=DELTA,
            neighbors=neighbors,
            mechanism="levelwise",
            rules=rules,
            supports=True,
            seed=seed + search,
            **options,
        )
        with prepared.run.charged(prepared.spending, prepared.request.scope) as (opened, _):
            yield from _drawn(prepared, opened[0], drawings, seed + search)


def _drawn(
    prepared: Prepared, opened: Opened, drawings: int, seed: int
) -> Iterator[tuple[Release, Truth]]:
    """Find itemsets once, and yield a release for each drawing of the noise on their supports."""
    plan, request, source = prepared.plans[0], prepared.request, opened.source
    finding = Execution(plan, source, prepared.run.randomness)
    selected = finding.select(finding.find_items())
    truth: dict[frozenset[Item], int] = {frozenset(): source.units}
    truth |= {frozenset(itemset.items or ()): itemset.support for itemset in selected}

    for drawing in range(drawings):
        randomness = Randomness.of_seed(1_000 * seed + drawing)
        execution = Execution(plan, source, randomness)
        units = execution.unit_count(public=request.promise.units_are_public)
        published = execution.publish(selected, units)
        subsets = [subset.items or () for subset in published.subsets]
        missing = [items for items in subsets if frozenset(items) not in truth]
        if missing:
            supports = supports_of(GivenItemsets.of(missing), source)
            truth.update(zip(map(frozenset, missing), supports, strict=True))
        release = prepared.run.release(
            opened, plan, request.promise, published, request.mechanism.name
        )
        yield release, truth


def sections(results: Results) -> Iterator[Section]:
    """Say how much nearer pooled supports are, and whether what is said of intervals is so."""
    answers = {
        tuple(key.split("|")): answer
        for key, answer in results["answers"].items()
        if answer is not None
    }
    if not answers:
        yield NOTHING
        return
    how = f"Pairs found by levelwise at ε = {EPSILON:g}, δ = {DELTA:g}."
    columns = ("neighbours", "k", "data sets", "squared error", "half width")
    yield Section(
        "Supports that draw on each other",
        f"{how} Mean squared error and half width are parts of those of the exact supports, which "
        f"use no other itemset. Coverage is how many intervals hold the true support, in the mean "
        f"of all data sets, and of the data set where the fewest do.",
        (
            Table(
                (*columns, "coverage", "least", "exact coverage"),
                tuple(
                    (
                        neighbors,
                        int(top),
                        len(told),
                        *(fmean(answer[name] for answer in told) for name in _TOLD[:3]),
                        min(answer["coverage"] for answer in told),
                        fmean(answer["exact_coverage"] for answer in told),
                    )
                    for (neighbors, top), told in _by_setting(answers, SUPPORTS).items()
                ),
            ),
        ),
    )
    yield Section(
        "Intervals of rules",
        f"{how} How many intervals of each metric hold the true value, in the mean of all data "
        f"sets; least: how many of lift do where the fewest do. Clear: how many rules are not "
        f"doubtful, where there is lift.",
        (
            Table(
                ("neighbours", "k", "data sets", *METRICS, "least", "clear"),
                tuple(
                    (
                        neighbors,
                        int(top),
                        len(told),
                        *(
                            fmean(answer[name] for answer in told if name in answer)
                            for name in METRICS
                        ),
                        min(answer["lift"] for answer in told if "lift" in answer),
                        fmean(answer["clear"] for answer in told if "lift" in answer),
                    )
                    for (neighbors, top), told in _by_setting(answers, RULES).items()
                ),
            ),
        ),
    )
    yield Section(
        "Rules that are clear of the noise, by data set",
        f"{how} The share of rules that are not doubtful, under add-remove.",
        (_clear_rules(answers),),
    )


def _by_setting(
    answers: Mapping[tuple[str, ...], Any], looked_at: str
) -> dict[tuple[str, str], list[dict[str, float]]]:
    """Return the answers of all data sets, by relation and number of itemsets."""
    told: dict[tuple[str, str], list[dict[str, float]]] = {}
    for (kind, _, neighbors, top), answer in answers.items():
        if kind == looked_at:
            told.setdefault((neighbors, top), []).append(answer)
    return told


def _clear_rules(answers: Mapping[tuple[str, ...], Any]) -> Table:
    tops = sorted({int(top) for kind, _, _, top in answers if kind == RULES})
    names = dict.fromkeys(name for kind, name, _, _ in answers if kind == RULES)
    rows = []
    for name in names:
        of_name = [answers.get((RULES, name, Neighbors.ADD_REMOVE, str(top))) for top in tops]
        rows.append((name, *(answer and answer["clear"] for answer in of_name)))
    return Table(("data set", *(f"k = {top}" for top in tops)), tuple(rows))


STUDY = Study(
    "intervals",
    "benchmarks.utility.intervals",
    "Intervals: how near supports and rules are, and whether their intervals hold",
    build,
    sections,
)

if __name__ == "__main__":
    main(STUDY)
