"""Every mechanism and the serious alternatives, on every data set: what they miss, and how exact their supports are.

python -m benchmarks.utility.compare [--quick]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from benchmarks.frame.datasets import Source, corner_shop, quest, sources, user_sources
from benchmarks.frame.output_files import DEFAULT_OUTPUT
from benchmarks.frame.study import Figure, Options, Study, Task, main
from benchmarks.utility import figures, tasks
from benchmarks.utility.measures import ADD_REMOVE, BASKET, REPLACE_ONE, USER, key
from benchmarks.utility.sections import sections
from benchmarks.utility.tasks import ENTRIES

Budget = tuple[str, float, float]  # the relation of neighbours, ε and δ
SIZES = [(1,), (2,), (3,), (1, 2, 3)]
COUNTS = [1, 10, 50, 100]
EPSILONS = [0.1, 0.25, 0.5, 1.0, 2.0]
DELTAS = [1e-6, 1e-8]
TRIALS = 100
# Of neighbours with one unit replaced, and of users, only this much is measured.
REPLACED = ([1.0], DELTAS[:1])
BY_USER = (EPSILONS, DELTAS[:1])


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each data set, size, mechanism, relation of neighbours, ε and δ."""
    if options.quick:
        how = {"counts": [1, 10], "trials": 30, "seed": options.seed}
        small = replace(quest(DEFAULT_OUTPUT, 2_000), name="quest")
        added, replaced = [(ADD_REMOVE, 1.0, DELTAS[0])], [(REPLACE_ONE, 1.0, DELTAS[0])]
        parts = (small, (1,), added + replaced), (small, (2,), added), (corner_shop(), (1,), added)
        return [task for part in parts for task in _tasks(*part, how)], []
    found, missing = sources(options.data)
    found |= user_sources(found)
    how = {"counts": COUNTS, "trials": TRIALS, "seed": options.seed}
    return [
        task
        for name, source in found.items()
        if options.takes(name)
        for sizes in SIZES
        for task in _tasks(source, sizes, _budgets(source), how)
    ], missing


def _budgets(source: Source) -> list[Budget]:
    grid = BY_USER if source.by_user else (EPSILONS, DELTAS)
    return [
        (relation, epsilon, delta)
        for relation, part in ((ADD_REMOVE, grid), (REPLACE_ONE, REPLACED))
        for epsilon, delta in product(*part)
    ]


def _tasks(source: Source, sizes: tuple[int, ...], budgets: list[Budget], how: dict[str, Any]) -> Iterator[Task]:
    unit = USER if source.by_user else BASKET
    for entry, (neighbors, epsilon, delta) in product(ENTRIES, budgets):
        if entry == tasks.PURE and delta != DELTAS[0]:
            continue  # it spends none
        if entry in tasks.BY_BASKET_ONLY and source.by_user:
            continue
        name = key(source.name, sizes, entry, unit, neighbors, epsilon, delta)
        budget = {"source": source, "sizes": sizes, "epsilon": epsilon, "delta": delta, "neighbors": neighbors, **how}
        if entry in tasks.OURS:
            yield Task(name, tasks.ours, {**budget, "mechanism": entry})
        elif entry.startswith("PrivBasis"):
            yield Task(name, tasks.privbasis, {**budget, "delta": None if entry == tasks.PURE else delta})
        else:
            yield Task(name, tasks.weighted if entry == tasks.WEIGHTED else tasks.histogram, budget)


STUDY = Study(
    "utility",
    "benchmarks.utility.compare",
    "Utility: who finds the most frequent itemsets, and who does not",
    build,
    sections,
    {
        "epsilon": Figure(figures.epsilon, (13, 7)),
        "supports": Figure(figures.supports, (8, 4.5)),
        "data": Figure(figures.data, (12, 5)),
    },
)

if __name__ == "__main__":
    main(STUDY)
