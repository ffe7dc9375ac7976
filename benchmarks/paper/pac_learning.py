"""Private PAC learning by large margin: section 4.2 and Corollary 2 of Chaudhuri, Hsu and Song
(NIPS 2014).

What large margin pays for is the number of hypotheses near the best, not the number of all, which
here grows by useless ones: conjunctions with a feature that no row has, thresholds beyond every
value. The bound is that of hypothesis_classes.py. All probabilities of mechanisms are
exact; samples of rows are drawn with a seed.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

import fim_private as fim
from benchmarks.frame.datasets import sources
from benchmarks.frame.study import Options, Results, Section, Study, Task, answers_of, main
from benchmarks.frame.tables import Cell, Table, floored
from benchmarks.paper import hypothesis_classes as h
from fim_private.dp.neighbors import Neighbors
from fim_private.mechanisms import Exponential, LargeMargin, LimitedDomain, Mechanism, TightMargin

EPSILONS, DELTA, ETA = (1.0, 0.5), 1e-6, 0.05
REAL = {
    "mushroom": "conjunctions of up to 3 attributes",
    "retail": "thresholds on the basket's length",
}
ABOUT = {h.GENERATED: "conjunctions of up to 3 features", **REAL}
MARGIN, EXPONENTIAL = "large-margin", "exponential"
NAMES = (MARGIN, EXPONENTIAL, "tight-margin", "limited-domain")
FLOOR = 1e-6  # of logarithmic axes
CLASSES: dict[str, type[LargeMargin | TightMargin | LimitedDomain]] = {
    MARGIN: LargeMargin,
    "tight-margin": TightMargin,
    "limited-domain": LimitedDomain,
}
LARGE = 60  # |H| = 10^60 where the bound is checked
PAIRED = ("large-margin less exponential", "its standard error")


def mechanism(name: str, epsilon: float) -> Mechanism:
    """Return a mechanism for replace-one: a row is exchanged for another."""
    if name == EXPONENTIAL:
        return Exponential(epsilon, Neighbors.REPLACE_ONE)
    return CLASSES[name](epsilon, DELTA, Neighbors.REPLACE_ONE)


def growth(
    name: str, folder: str | None, epsilon: float, exponents: list[int], number: int, seed: int
) -> Any:
    """Return the expected excess error of each mechanism, and `paired`, for |H| of the listed and
    of 10^exponent.
    """
    problem = h.learnable(name, folder)
    population = h.scored(problem)
    rows = h.enough_rows(
        population, problem.rows, LargeMargin(epsilon, DELTA, Neighbors.REPLACE_ONE), ETA
    )
    drawn, excess = (
        list(h.samples(problem, rows, number, seed)),
        h.excess_errors(population, problem.rows),
    )
    listed = len(excess[0])
    sizes = [listed, *(10**exponent for exponent in exponents if 10**exponent > listed)]

    def errors(chooser: Mechanism, useless: int) -> list[float]:
        return [h.expected(h.choice(sample, useless, chooser), excess) for sample in drawn]

    found = {
        each: [errors(mechanism(each, epsilon), size - listed) for size in sizes] for each in NAMES
    }
    means = {each: [float(np.mean(of)) for of in values] for each, values in found.items()}
    differences = [h.paired(less) for less in np.subtract(found[MARGIN], found[EXPONENTIAL])]
    answer = {"rows": rows, "samples": number, "sizes": [math.log10(size) for size in sizes]}
    return {**answer, "errors": means, "difference": differences}


def shape(name: str, folder: str | None, grid: list[int]) -> Any:
    """Return the class, its shells (|H| = 10^60 in all), and t*(n) and the bound for each n of the
    grid, at ε = 1.
    """
    problem = h.learnable(name, folder)
    population = h.scored(problem)
    useless = 10**LARGE - len(population.listed)
    mistakes, sizes = h.shells(population, useless)
    promised = h.promised(
        problem,
        population,
        useless,
        LargeMargin(EPSILONS[0], DELTA, Neighbors.REPLACE_ONE),
        grid,
        ETA,
    )
    shown = sorted(
        {*range(min(100, len(sizes))), *np.linspace(0, len(sizes) - 1, 300).astype(int).tolist()}
    )
    about = {
        "rows": problem.rows,
        "listed": len(population.listed),
        "functions": promised[0]["functions"],
    }
    errors = {
        "best error": 1 - population.best / problem.rows,
        "useless": h.excess_errors(population, problem.rows)[1],
    }
    drawn = [[mistakes[k] / problem.rows for k in shown], [math.log10(sizes[k]) for k in shown]]
    return {**about, **errors, "shells": drawn, "promised": promised}


def learning(name: str, folder: str | None, rows: int, number: int, seed: int) -> Any:
    """Return the excess error on samples of so many rows, at ε = 1 and |H| = 10^60, and how often
    the bound holds.
    """
    problem = h.learnable(name, folder)
    population = h.scored(problem)
    excess = h.excess_errors(population, problem.rows)
    useless = 10**LARGE - len(population.listed)
    margin = LargeMargin(EPSILONS[0], DELTA, Neighbors.REPLACE_ONE)
    bound = h.promised(problem, population, useless, margin, [rows], ETA)[0]["bound"]
    chance = np.zeros(len(population.listed) + 1)
    means: dict[str, list[float]] = {MARGIN: [], EXPONENTIAL: []}
    for sample, each in product(h.samples(problem, rows, number, seed), (MARGIN, EXPONENTIAL)):
        chosen = h.choice(sample, useless, mechanism(each, EPSILONS[0]))
        means[each].append(h.expected(chosen, excess))
        if each == MARGIN:
            chance += np.append(chosen.listed, chosen.useless + chosen.abstain) / number
    errors = np.append(excess[0], excess[1])
    covered = None if bound is None else float(chance[errors <= bound].sum())
    answer: dict[str, Any] = {
        "quantile": h.quantile(errors, chance, 1 - 2 * ETA),
        "bound": bound,
        "covered": covered,
    }
    answer |= {
        "samples": number,
        "difference": h.paired(np.subtract(means[MARGIN], means[EXPONENTIAL])),
    }
    return {**answer, "mean": {each: float(np.mean(values)) for each, values in means.items()}}


def sampled(name: str, folder: str | None, size: int | None, draws: int, seed: int) -> Any:
    """Return the mean excess error of `draws` runs of fim.select, with the same seeds for each
    mechanism, and exactly.

    size: |H|, None for the listed hypotheses alone. One sample of rows; a label is the hypothesis's
    excess error.
    """
    problem = h.learnable(name, folder)
    population = h.scored(problem)
    rows = h.enough_rows(
        population, problem.rows, LargeMargin(EPSILONS[0], DELTA, Neighbors.REPLACE_ONE), ETA
    )
    sample = next(h.samples(problem, rows, 1, seed))
    listed, of_useless = h.excess_errors(population, problem.rows)
    useless = 0 if size is None else size - len(listed)
    scores = [*sample.listed.tolist(), *[sample.useless] * useless]
    labels = [*listed.tolist(), *[of_useless] * useless]
    found = {}
    for each in (MARGIN, EXPONENTIAL):
        chooser = mechanism(each, EPSILONS[0])
        runs = [
            fim.select(scores, chooser, labels=labels, seed=seed + draw) for draw in range(draws)
        ]
        drawn = [label for label in runs if label is not None]
        assert len(drawn) == draws, "neither abstains over a public list"
        chosen = h.choice(sample, useless, chooser)
        exact = h.expected(chosen, (listed, of_useless))
        square = h.expected(chosen, (listed**2, of_useless**2))
        found[each] = {
            "mean": float(np.mean(drawn)),
            "exact": exact,
            "deviation": math.sqrt(max(square - exact**2, 0)),
        }
    return {"size": len(scores), "draws": draws, "found": found}


def tasks(options: Options) -> tuple[list[Task], list[str]]:
    """Return the tasks and the real data sets that are missing; the generated one is always
    there.
    """
    found, missing = sources(options.data)
    kept = [name for name in ("retail", "mushroom") if name in found and options.takes(name)]
    names = [h.GENERATED, *kept][: 2 if options.quick else None]
    drawn, averaged = (2, 2) if options.quick else (20, 10)
    exponents = (
        [20, 150, 300] if options.quick else [20, 60, 100, 140, 160, 180, 200, 220, 240, 300]
    )
    grid = (
        [3000, 30_000, 300_000] if options.quick else [1000, 3000, 10_000, 30_000, 100_000, 300_000]
    )
    done = []
    for name in reversed(names):  # the slowest first
        given: dict[str, Any] = {
            "name": name,
            "folder": None if options.data is None else str(options.data),
        }
        seeded = {**given, "seed": options.seed}
        done.append(Task(f"shape|{name}", shape, {**given, "grid": grid}))
        for epsilon in EPSILONS[: 1 if options.quick else 2]:
            arguments = {**seeded, "epsilon": epsilon, "exponents": exponents, "number": averaged}
            done.append(Task(f"growth|{name}|{epsilon}", growth, arguments))
        several = {**seeded, "number": drawn}
        done += [
            Task(f"learning|{name}|{rows}", learning, {**several, "rows": rows}) for rows in grid
        ]
        draws: dict[int | None, int] = {None: 50} if options.quick else {None: 300, 10_000: 100}
        if name == "mushroom":  # half a million scores take seconds a draw
            draws = {10**6: 5}
        done += [
            Task(f"select|{name}|{k}", sampled, {**seeded, "size": k, "draws": v})
            for k, v in draws.items()
        ]
    return done, [entry for entry in missing if entry.split()[0] in REAL]


def sections(results: Results) -> tuple[Section, ...]:
    """Return the excess error as |H| grows, the shells, and the bound as n grows."""
    return _growth(results), _shells(results), _bounds(results), _sampler(results)


def _lower(difference: list[float], other: float) -> bool:
    """Say whether large margin's error is lower: by more than two standard errors, and by 1 % at
    least.
    """
    return other > FLOOR and difference[0] < min(-2 * difference[1], -0.01 * other)


def _growth(results: Results) -> Section:
    tables, flat, won, samples = [], [], [], 0
    for name in data_names(results):
        for epsilon, found in answers_on(results, "growth", name).items():
            errors, sizes, samples = found["errors"], found["sizes"], found["samples"]
            ahead = [
                s
                for s, *e in zip(sizes, found["difference"], errors[EXPONENTIAL], strict=True)
                if _lower(*e)
            ]
            where = _where_ahead(ahead, sizes[0])
            won.append(f"On {name} at ε = {epsilon} (n = {found['rows']:,}): {where}")
            flat.append(max(errors[MARGIN]) - min(errors[MARGIN]))
            columns = (
                f"{name}, ε = {epsilon}, n = {found['rows']:,}",
                *(f"|H| = 10^{size:.3g}" for size in sizes),
            )
            less = zip(PAIRED, np.transpose(found["difference"]).tolist(), strict=True)
            lines = (
                *((each, *errors[each]) for each in NAMES),
                *((kind, *values) for kind, values in less),
            )
            tables.append(Table(columns, lines))
    reading = (
        "n is such that large margin just finds its margin. Its excess error does not depend on "
        f"|H| then (it moves by {max(flat):.1e} at most). The exponential mechanism's rises to a "
        "useless hypothesis's when ln |H| passes nε/2 times the gap. Where is large margin's lower "
        f"by more than two standard errors, over {samples} samples, the same for both? "
        f"{'. '.join(won)}. Elsewhere the exponential mechanism is as good or better, or the "
        "samples do not tell. Limited-domain and tight-margin, whose abstentions count as useless, "
        "do not feel |H|."
    )
    return Section("Excess error as the class grows", reading, tuple(tables))


def _where_ahead(sizes: list[float], smallest: float) -> str:
    """Say at which of the sizes that were tried, as powers of ten, large margin is ahead."""
    if not sizes:
        return "nowhere here"
    return f"from 10^{sizes[0]:.0f} on" if sizes[0] > smallest else "always"


def _shells(results: Results) -> Section:
    parts, rows = [], []
    for name in data_names(results):
        found = results["answers"][f"shape|{name}"]
        rows.append(
            (
                name,
                ABOUT[name],
                found["rows"],
                found["listed"],
                found["functions"],
                found["best error"],
            )
        )
        last = found["promised"][-1]
        at = (
            "no t has margin enough"
            if last["t*"] is None
            else f"t* = {last['t*']:.3f} with {last['size']:,} in H(t*)"
        )
        parts.append(f"{name}, n = {last['rows']:,}: {at}")
    reading = (
        f"H(t) holds the hypotheses with error at most err* + t, out of 10^{LARGE}. Only the shell "
        f"up to t*(n) costs anything, and it shrinks as n grows. {'; '.join(parts)}."
    )
    table = Table(
        ("data", "hypotheses", "rows", "listed", "prediction functions F", "err*"), tuple(rows)
    )
    return Section("Shells of nearly best hypotheses", reading, (table,))


def _bounds(results: Results) -> Section:
    rows: list[tuple[Cell, ...]] = []
    better, samples = [], 0
    for name in data_names(results):
        promised = {
            entry["rows"]: entry for entry in results["answers"][f"shape|{name}"]["promised"]
        }
        for n, found in answers_on(results, "learning", name).items():
            entry, mean = promised[int(n)], found["mean"]
            measured = (
                mean[MARGIN],
                found["quantile"],
                entry["bound"],
                found["covered"],
                mean[EXPONENTIAL],
            )
            rows.append(
                (
                    name,
                    int(n),
                    entry["u"],
                    entry["t*"],
                    entry["size"],
                    *measured,
                    *found["difference"],
                )
            )
            samples = found["samples"]
            if _lower(found["difference"], mean[EXPONENTIAL]):
                better.append(f"{name} n = {int(n):,}")
    least = floored(
        min((float(row[8]) for row in rows if isinstance(row[8], float)), default=math.nan)
    )
    silent = "; ".join(
        f"{row[0]} n = {row[1]:,} (mean {row[5]:.4f})" for row in rows if row[7] is None
    )
    reading = (
        f"All this is at ε = 1, δ = {DELTA}, |H| = 10^{LARGE}, η = {ETA}, from exact distributions "
        f"on {samples} samples. In every case where t* exists the error is within the bound with "
        f"probability at least {least} (promised: {1 - 2 * ETA}), and far below it. It says "
        f"nothing for: {silent or 'none of these'}. Large margin's mean error is lower by more "
        f"than two standard errors at {', '.join(better) or 'none of these'}. Elsewhere the "
        "exponential mechanism is as good or better, or the samples do not tell. |H| is small for "
        "it, most of all where n is too small for a margin. A mean over few samples jumps where a "
        "sample's best hypothesis is not the population's best, and for both alike. Quantile: the "
        "90 % quantile of large margin's error."
    )
    columns = (
        "data",
        "n",
        "u",
        "t*",
        "|H(t*)|",
        "mean",
        "quantile",
        "bound",
        "within",
        "mean of exponential",
        *PAIRED,
    )
    return Section("The bound as the sample grows", reading, (Table(columns, tuple(rows)),))


def _sampler(results: Results) -> Section:
    rows = []
    for name in data_names(results):
        for found in answers_on(results, "select", name).values():
            for each, one in found["found"].items():
                # rounding
                off = (one["mean"] - one["exact"]) / max(
                    one["deviation"] / math.sqrt(found["draws"]), 1e-9
                )
                rows.append(
                    (name, found["size"], found["draws"], each, one["mean"], one["exact"], off)
                )
    reading = (
        "Everything above is measured on exact distributions. Here fim.select itself draws from "
        f"lists of all scores, of up to {max(row[1] for row in rows):,} hypotheses. The seeds are "
        f"the same for each mechanism. Its mean error is {max(abs(row[-1]) for row in rows):.1f} "
        "standard errors at most from the exact expectation."
    )
    columns = (
        "data",
        "|H|",
        "draws",
        "mechanism",
        "mean excess error",
        "exact",
        "difference in standard errors",
    )
    return Section(
        "The sampler against the exact distribution", reading, tables=(Table(columns, tuple(rows)),)
    )


# What the tables are made of.


def data_names(results: Results) -> list[str]:
    """Return the names of the data sets that there are answers for."""
    return [name for name in ABOUT if f"shape|{name}" in results["answers"]]


def answers_on(results: Results, kind: str, name: str) -> dict[str, Any]:
    """Return the answers of one kind on a data set, by what else is in the key."""
    return {
        last: answer for (data, last), answer in answers_of(results, kind).items() if data == name
    }


QUESTION = (
    "Private PAC learning by large margin: is it the class that costs, or only its nearly "
    "best hypotheses?"
)
STUDY = Study("pac_learning", "benchmarks.paper.pac_learning", QUESTION, tasks, sections)

if __name__ == "__main__":
    main(STUDY)
