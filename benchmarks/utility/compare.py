"""Every mechanism and the serious alternatives, on every data set: what they miss, and how exact their supports are.

python -m benchmarks.utility.compare [--quick]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from benchmarks.frame.datasets import Source, quest, sources
from benchmarks.frame.output_files import DEFAULT_OUTPUT
from benchmarks.frame.study import Figure, Options, Study, Task, main
from benchmarks.utility import peer_tasks, sections, tasks
from benchmarks.utility.measures import ADD_REMOVE, BASKET, REPLACE_ONE, Asked, key
from benchmarks.utility.runs import RUNS, WITHOUT_SUPPORTS, shipped

Budget = tuple[str, float, float]  # the relation of neighbours, ε and δ
SIZES = [(1,), (2,), (3,), (1, 2, 3)]
COUNTS = [1, 10, 50, 100]
EPSILONS = [0.1, 0.25, 0.5, 1.0, 2.0]
DELTAS = [1e-6, 1e-8]
TRIALS, OF_SLOW = 100, 40
# What the study is about first: if it stops, the rest is missing. Of neighbours with one unit replaced, of another
# δ, and of tight-margin, which takes long and does no better than limited-domain, nothing but ε = 1 is measured.
FIRST: list[Budget] = [(ADD_REMOVE, 1.0, DELTAS[0])]
THEN: list[Budget] = [(REPLACE_ONE, 1.0, DELTAS[0])]
LAST: list[Budget] = [(ADD_REMOVE, epsilon, DELTAS[0]) for epsilon in EPSILONS if epsilon != 1]
SMALL_DELTA: list[Budget] = [(ADD_REMOVE, 1.0, DELTAS[1])]
# Of these there are fewer trials.
SLOW = ("tight-margin", *tasks.PEERS)
QUICK = ("levelwise", *(entry for entry in tasks.ENTRIES if entry not in (*SLOW, "levelwise")))


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each data set, size, mechanism, relation of neighbours, ε and δ."""
    if options.quick:
        how = (24, 4), {"counts": [1, 10], "seed": options.seed}
        small = [replace(quest(DEFAULT_OUTPUT, 2_000), name="quest")]
        entries = (*tasks.ENTRIES, WITHOUT_SUPPORTS)
        return [*_tasks(small, [(1,)], entries, FIRST + THEN, *how), *_tasks(small, [(2,)], entries, FIRST, *how)], []
    found, missing = sources(options.data)
    data = [source for name, source in found.items() if options.takes(name)]
    how = (TRIALS, OF_SLOW), {"counts": COUNTS, "seed": options.seed}
    plan: list[tuple[tuple[str, ...], list[Budget]]] = [
        (QUICK, FIRST),
        (tasks.PEERS, FIRST),
        (QUICK[:1], THEN),
        ((WITHOUT_SUPPORTS,), FIRST),
        (QUICK[1:], THEN),
        (("tight-margin",), FIRST),
        ((WITHOUT_SUPPORTS,), THEN),
        (SLOW, THEN),
        (QUICK, LAST),
        (tasks.PEERS, LAST),
        (QUICK + tasks.PEERS, SMALL_DELTA),
    ]
    return [task for entries, budgets in plan for task in _tasks(data, SIZES, entries, budgets, *how)], missing


def _tasks(
    data: Iterable[Source],
    sizes: Iterable[tuple[int, ...]],
    entries: Iterable[str],
    budgets: Iterable[Budget],
    trials: tuple[int, int],
    common: dict[str, Any],
) -> Iterator[Task]:
    for source, size, entry, (neighbors, epsilon, delta) in product(data, sizes, entries, budgets):
        # The one spends no δ; OpenDP's map does not resolve so small a probability for each of a unit's many itemsets.
        if entry in (tasks.PURE, tasks.WEIGHTED) and delta != DELTAS[0]:
            continue
        name = key(source.name, size, entry, BASKET, neighbors, epsilon, delta)
        how = {"asked": Asked(source, size, epsilon, delta, neighbors), "trials": trials[entry in SLOW]}
        if entry in RUNS:
            yield Task(name, shipped, {**how, **common, "entry": entry})
        elif entry in tasks.OURS:
            yield Task(name, tasks.ours, {**how, **common, "mechanism": entry})
        elif entry.startswith("PrivBasis"):
            yield Task(name, peer_tasks.privbasis, {**how, **common, "pure": entry == tasks.PURE})
        else:
            peer = peer_tasks.weighted if entry == tasks.WEIGHTED else peer_tasks.histogram
            yield Task(name, peer, {**how, **common})


STUDY = Study(
    "utility",
    "benchmarks.utility.compare",
    "Utility: who finds the most frequent itemsets, and who does not",
    build,
    sections.sections,
    {
        "epsilon": Figure(sections.epsilon, (13, 7)),
        "supports": Figure(sections.supports, (8, 4.5)),
        "data": Figure(sections.data, (12, 5)),
    },
)

if __name__ == "__main__":
    main(STUDY)
