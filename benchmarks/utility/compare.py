"""Every mechanism and the serious alternatives, on every data set: what they miss, and how exact their supports are.

python -m benchmarks.utility.compare [--quick]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from benchmarks.frame.datasets import Source, quest, sources
from benchmarks.frame.output_files import DEFAULT_OUTPUT
from benchmarks.frame.study import Figure, Options, Study, Task, main
from benchmarks.utility import figures, tasks
from benchmarks.utility.measures import label
from benchmarks.utility.sections import sections
from benchmarks.utility.tasks import ENTRIES

SIZES = [(1,), (2,), (3,), (1, 2, 3)]
COUNTS = [1, 10, 50, 100]
EPSILONS = [0.1, 0.25, 0.5, 1.0, 2.0]
DELTAS = [1e-6, 1e-8]
TRIALS = 100


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each data set, size, mechanism, ε and δ."""
    if options.quick:
        small = {"quest": replace(quest(DEFAULT_OUTPUT, 2_000), name="quest")}
        return list(_all(small, [(1,), (2,)], [1, 10], [1.0], DELTAS[:1], 30, options.seed)), []
    found, missing = sources(options.data)
    taken = {name: source for name, source in found.items() if options.takes(name)}
    return list(_all(taken, SIZES, COUNTS, EPSILONS, DELTAS, TRIALS, options.seed)), missing


def _all(
    data: dict[str, Source],
    all_sizes: list[tuple[int, ...]],
    counts: list[int],
    epsilons: list[float],
    deltas: list[float],
    trials: int,
    seed: int,
) -> Iterator[Task]:
    how = {"trials": trials, "seed": seed}
    for (name, source), sizes, entry in product(data.items(), all_sizes, ENTRIES):
        for epsilon, delta in product(epsilons, deltas):
            if entry == tasks.PURE and delta != deltas[0]:
                continue  # it spends none
            key = f"{name}/{label(sizes)}/{entry}/{epsilon}/{delta}"
            budget = {"source": source, "sizes": sizes, "counts": counts, "epsilon": epsilon, "delta": delta, **how}
            if entry in tasks.OURS:
                yield Task(key, tasks.ours, {**budget, "mechanism": entry})
            elif entry.startswith("PrivBasis"):
                if entry == tasks.PURE:
                    budget["delta"] = None
                yield Task(key, tasks.privbasis, budget)
            else:
                yield Task(key, tasks.histogram, budget)


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
