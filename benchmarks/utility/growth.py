"""How much is missed as there are more baskets, and as baskets are longer.

Parts of the data, and more of it drawn with replacement; and as many baskets as there are, of
halved ones or of several pasted together. What a mechanism needs of n, and what it pays for long
baskets, is seen apart from one another.

python -m benchmarks.utility.growth [--quick]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.datasets import COMPLETE_JOURNEY, Source, quest, sources
from benchmarks.frame.output_files import DEFAULT_OUTPUT
from benchmarks.frame.study import NOTHING, Options, Results, Section, Study, Task, main
from benchmarks.frame.support_spectra import transactions
from benchmarks.frame.tables import Cell, Table
from benchmarks.peers.question import Question
from benchmarks.utility import tasks
from benchmarks.utility.measures import below, least
from benchmarks.utility.resampled import resampled
from benchmarks.utility.tasks import RUNS, shipped
from fim_private.dp.neighbors import Neighbors

DATA = ("retail", COMPLETE_JOURNEY)
ENTRIES = ("levelwise", "exponential", tasks.HISTOGRAM)
SIZES, COUNTS, EPSILON, DELTA, TRIALS = (2,), [10, 100], 1.0, 1e-6, 100
# What is varied, and by which factors of what there is.
BASKETS, LENGTH = "baskets", "length"
FACTORS = {
    BASKETS: [*(Fraction(1, 1 << power) for power in (4, 3, 2, 1)), *map(Fraction, (1, 2, 4))],
    LENGTH: [Fraction(1, 2), *map(Fraction, (1, 2, 4))],
}
ENOUGH = 0.1  # a rate of false negatives that is called little


def build(options: Options) -> tuple[list[Task], list[str]]:
    """Return one task for each data set, factor and mechanism. Makes the data sets that are
    missing.
    """
    if options.quick:
        small = {"quest": replace(quest(DEFAULT_OUTPUT, 2_000), name="quest")}
        factors = {what: [Fraction(1, 2), Fraction(1), Fraction(2)] for what in FACTORS}
        return list(_all(small, factors, {"trials": 6, "seed": options.seed})), []
    found, _ = sources(options.data)
    missing = [name for name in DATA if name not in found]
    taken = {name: found[name] for name in DATA if name in found and options.takes(name)}
    return list(_all(taken, FACTORS, {"trials": TRIALS, "seed": options.seed})), missing


def _all(
    data: dict[str, Source], factors: dict[str, list[Fraction]], how: dict[str, int]
) -> Iterator[Task]:
    for (name, source), (what, grid) in product(data.items(), factors.items()):
        for factor in grid:
            made = _made(source, what, factor, how["seed"])
            for entry in ENTRIES:
                yield Task(
                    f"{name}/{what}/{float(factor)}/{entry}",
                    measured,
                    {"source": made, "entry": entry, **how},
                )


def _made(source: Source, what: str, factor: Fraction, seed: int) -> Source:
    """Return the source with that many times its baskets, or with baskets so many times as long."""
    if factor == 1:
        return source
    name = f"{source.name}_{what}_{factor.numerator}_{factor.denominator}"
    path = DEFAULT_OUTPUT / f"growth_{name}_{seed}.parquet"
    share, times = (factor, Fraction(1)) if what == BASKETS else (Fraction(1), factor)
    made_of = (source.path, Path(resampled.__code__.co_filename))
    if not path.is_file() or path.stat().st_mtime < max(file.stat().st_mtime for file in made_of):
        resampled(source, path, share, times, seed)
    return Source(name, f"{source.about}, resampled", path)


def measured(source: Source, entry: str, trials: int, seed: int) -> dict[str, Any]:
    """Return how many baskets there are, their mean length, and the measures of each k."""
    question = Question(source, SIZES, EPSILON, DELTA, Neighbors.ADD_REMOVE)
    if entry == tasks.HISTOGRAM:
        rows = tasks.histogram(question, COUNTS, trials, seed)
    else:
        rows = (shipped if entry in RUNS else tasks.ours)(question, entry, COUNTS, trials, seed)
    data = transactions(source)
    return {"baskets": data.baskets, "length": float(np.diff(data.offsets).mean()), "rows": rows}


# By data set, what is varied, k and mechanism: the answer's number of baskets or length, and the
# rate, by factor.
Curves = dict[tuple[str, str, int, str], dict[float, tuple[float, float]]]


def _curves(results: Results) -> Curves:
    curves: Curves = {}
    for key, answer in results["answers"].items():
        data, what, factor, entry = key.split("/")
        for row in answer["rows"]:
            curves.setdefault((data, what, row["k"], entry), {})[float(factor)] = (
                answer[what],
                row["fnr"],
            )
    return curves


def sections(results: Results) -> Iterator[Section]:
    """Say who needs how much, and who pays for length."""
    curves = _curves(results)
    if not curves:
        yield NOTHING
        return
    how = "FNR of itemsets of 2 at ε = 1, δ = 1e-6, add-remove; a unit is a basket."
    needs = "".join(
        (
            f"- {data}, k = {k}: "
            f"{', '.join(f'{e} {_enough(curves[data, what, k, e])}' for e in ENTRIES)}\n"
        )
        for data, what, k, entry in curves
        if what == BASKETS and entry == ENTRIES[0]
    )
    yield Section(
        "More baskets",
        f"{how} Parts of the baskets, and more of them drawn with replacement. The list says from "
        f"how many baskets on FNR is {ENOUGH:g} or less.\n\n{needs}\n{_won(curves, BASKETS)}",
        (_table(curves, BASKETS),),
    )
    yield Section(
        "Longer baskets",
        f"{how} There are as many baskets as in the data. Each has a random half of a basket's "
        "items, or is made of 2 or 4 baskets, drawn with replacement and pasted together. Pasting "
        "adds pairs that nobody bought together, so that the top k itself changes: what counts is "
        f"the difference between mechanisms. {_won(curves, LENGTH)}",
        (_table(curves, LENGTH),),
    )


def _enough(curve: dict[float, tuple[float, float]]) -> str:
    """Return the least number from which on the rate is ENOUGH, at all larger ones too."""
    points = sorted(curve.values(), reverse=True)
    last = next((place for place, (_, rate) in enumerate(points) if rate > ENOUGH), len(points))
    return f"{points[last - 1][0]:,.0f}" if last else "more than these"


def _won(curves: Curves, what: str) -> str:
    """Say at how many points levelwise misses less, as much and more than each of the others."""
    parts = []
    for other in ENTRIES[1:]:
        pairs = [
            (rate, curves[data, one, k, other][factor][1])
            for (data, one, k, entry), curve in curves.items()
            if (one, entry) == (what, ENTRIES[0])
            for factor, (_, rate) in curve.items()
        ]
        less, more = sum(below(*pair) for pair in pairs), sum(below(*pair[::-1]) for pair in pairs)
        parts.append(
            f"Of {len(pairs)} points {ENTRIES[0]} misses less than {other} at {less}, as much at "
            f"{len(pairs) - less - more} and more at {more}."
        )
    return " ".join(parts)


def _table(curves: Curves, what: str) -> Table:
    grid = sorted(
        {factor for (_, one, _, _), curve in curves.items() if one == what for factor in curve}
    )
    lines: list[tuple[Cell, ...]] = []
    for data, k in dict.fromkeys((data, k) for data, one, k, _ in curves if one == what):
        for entry in ENTRIES:
            curve = curves[data, what, k, entry]
            best = [least({e: curves[data, what, k, e][f][1] for e in ENTRIES}) for f in curve]
            won = f"{sum(entry in tied for tied in best)} of {len(curve)}"
            lines.append(
                (data, k, entry, *(curve[f][1] if f in curve else None for f in grid), won)
            )
    return Table(
        ("data set", "k", "mechanism", *(f"× {factor:g}" for factor in grid), "least"), tuple(lines)
    )


STUDY = Study(
    "growth",
    "benchmarks.utility.growth",
    "Growth: what is missed as baskets are more, and longer",
    build,
    sections,
)

if __name__ == "__main__":
    main(STUDY)
