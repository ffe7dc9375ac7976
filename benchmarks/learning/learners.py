"""How many rows do private learners and sanitizers take: measured, and as their theorems ask for it?

Points, thresholds and boxes of fim_private.learning; SanPoints and SanThresholds (Beimel, Nissim and Stemmer 2013)
beside what the package has for their questions; and the width of a private histogram (Chaudhuri and Vinterbo 2013).

python -m benchmarks.learning.learners [--quick]
"""

from __future__ import annotations

from typing import Any

from benchmarks.frame.figure_style import COLOURS, MARKS
from benchmarks.frame.study import Figure, Options, Results, Section, Study, Task, answers_of, main
from benchmarks.frame.tables import Cell, Table
from benchmarks.learning import concept_sizes, densities, sanitizers

ERROR, EPSILON, DELTA, ALPHA = 0.05, 1.0, 1e-6, 0.1
# Rows, and runs, by columns: the middle one is what the box is expected to need for an error of 0.1.
BOXES = {1: ((700, 1000, 1400), 400), 2: ((2800, 4000, 5600), 200), 4: ((11_000, 16_000, 20_000), 100)}
# Way: the n to begin with, the n to end with, and how often.
POINTS = {"SanPoints": (10_000, 100_000, 100), "mine": (1500, 20_000, 60)}
THRESHOLDS = {"SanThresholds": (100_000, 100_000_000, 20), "quantiles": (100, 20_000, 100)}
DENSITIES = (300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


def promised() -> Any:
    """Return what the theorems of the sanitizers and of the box ask for."""
    return {
        "SanPoints": sanitizers.san_points_promised(ALPHA, EPSILON, DELTA, 0.05),
        "SanThresholds": sanitizers.san_thresholds_promised(ALPHA, EPSILON, DELTA, 0.05),
        "box": {str(d): concept_sizes.box_promised(d, 16, ALPHA, EPSILON) for d in BOXES},
    }


def tasks(options: Options) -> tuple[list[Task], list[str]]:
    """Return the tasks; no data is needed."""
    quick, seed = options.quick, options.seed
    found = [Task("promised", promised)]
    for epsilon in (0.5, 1.0, 2.0):
        found.append(Task(f"point|{epsilon}", concept_sizes.positives, {"epsilon": epsilon}))
    for bits in (16, 64):
        for private in ("rows", "labels"):
            arguments = {"bits": bits, "error": ERROR, "epsilon": EPSILON, "private": private}
            found.append(Task(f"threshold|{bits}|{private}", concept_sizes.threshold, arguments))
    for n in DENSITIES[1:4:2] if quick else DENSITIES:
        arguments = {"n": n, "alpha": EPSILON, "runs": 5 if quick else 200, "seed": seed}
        found.append(Task(f"density|{n}", densities.compared, arguments))
    for question, ways, shapes in (
        ("points", POINTS, sanitizers.POINTS),
        ("thresholds", THRESHOLDS, sanitizers.THRESHOLDS),
    ):
        for way, (start, most, runs) in ways.items():
            small = {"SanPoints": 40_000, "mine": 2000, "SanThresholds": 20_000_000, "quantiles": 2000}[way]
            for shape in list(shapes)[: 1 if quick else None]:
                arguments = {"question": question, "way": way, "shape": shape, "alpha": ALPHA, "seed": seed}
                arguments |= {"start": small if quick else start, "most": small if quick else most}
                found.append(
                    Task(f"{question}|{way}|{shape}", sanitizers.enough, {**arguments, "runs": 2 if quick else runs})
                )
    for columns, (numbers, runs) in {1: ((1000,), 3)}.items() if quick else BOXES.items():
        for rows in numbers:
            arguments = {"columns": columns, "rows": rows, "bits": 16, "error": ALPHA, "epsilon": EPSILON}
            arguments |= {"runs": runs, "seed": seed}
            found.append(Task(f"box|{columns}|{rows}", concept_sizes.box, arguments))
    return found, []


def sections(results: Results) -> list[Section]:
    """Return what there is to say."""
    return [_concepts(results), _boxes(results), _sanitizers(results), _densities(results)]


def _concepts(results: Results) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for (epsilon,), found in answers_of(results, "point").items():
        rows.append((f"point, ε = {epsilon}: rows labelled True", found["measured"], None, None))
    for (bits, private), found in answers_of(results, "threshold").items():
        name = f"threshold, {bits} bits, {private} private"
        rows.append((name, found["hardest"], found["uniform"], found["promised"]))
    reading = (
        f"For 95 % of runs, at ε = {EPSILON:g}, δ = {DELTA:g} for points, {concept_sizes.NEIGHBORS}, from exact "
        "distributions. A point needs so many rows that have it, in any domain. A threshold is to be wrong about fewer "
        f"than {100 * ERROR:g} % of the rows. On the data that are hardest for it, where nearly all thresholds are "
        "wrong about just that share, it takes what Theorem 26 promises; on evenly spaced values the number of bits "
        "does not matter. With private labels the harder of two kinds of data is shown."
    )
    columns = ("concept", "hardest data", "evenly spaced values", "promised")
    return Section("Points and thresholds", reading, tables=(Table(columns, tuple(rows)),))


def _boxes(results: Results) -> Section:
    asked = results["answers"].get("promised", {}).get("box", {})
    rows: list[tuple[Cell, ...]] = []
    enough: dict[str, int] = {}
    for (columns, number), found in answers_of(results, "box").items():
        rows.append((int(columns), int(number), found["share"], found["mean"], found["runs"], asked.get(columns)))
        if found["share"] >= 0.95:
            enough.setdefault(columns, int(number))
    told = ", ".join(f"{number:,} rows (columns: {columns})" for columns, number in enough.items())
    reading = (
        f"At ε = {EPSILON:g}, {concept_sizes.NEIGHBORS}, "
        f"16 bits, uniform rows of which half are in the box: the error on new rows is {ALPHA:g} "
        f"or less in 95 % of the runs from {told or 'no number tried'} on. Promised is what Theorem 26 asks "
        "for, for an error of as much on the rows at hand, whatever they are."
    )
    header = ("columns", "rows", f"share of runs with error ≤ {ALPHA:g}", "mean error", "runs", "promised")
    return Section("Boxes", reading, tables=(Table(header, tuple(rows)),))


def _sanitizers(results: Results) -> Section:
    asked = results["answers"].get("promised", {})
    rows: list[tuple[Cell, ...]] = []
    for question in ("points", "thresholds"):
        for (way, shape), found in answers_of(results, question).items():
            most = max(map(int, found["shares"]))
            n = f"{found['n']:,}" if found["n"] else f"more than {most:,}"
            rows.append((question, way, shape, n, found["runs"], asked.get(way)))
    reading = (
        f"How many values, on a grid with steps of a quarter, until no answer errs by more than {ALPHA:g} n in 95 % of "
        f"the runs, at ε = {EPSILON:g}, δ = {DELTA:g}, {sanitizers.NEIGHBORS}. SanPoints makes 2/α choices and counts, "
        "by advanced composition; `mine` answers the same question with size 1, the top 2/α and their supports. "
        "SanThresholds makes up to 77/α calls of four steps each, here on 16 bits; `quantiles` answers with 15 cuts."
    )
    columns = ("for all", "way", "data", "values needed", "runs", "asked for by the theorem")
    return Section("Sanitizers of points and thresholds", reading, tables=(Table(columns, tuple(rows)),))


def _densities(results: Results) -> Section:
    rows: list[tuple[Cell, ...]] = []
    better: dict[str, list[int]] = {densities.SPLIT: [], densities.RANDOM: []}
    for (n,), found in answers_of(results, "density").items():
        error = found["error"]
        rows.append((int(n), *(error[way] for way in densities.WAYS), found["lost"], found["bound"], found["runs"]))
        for way, where in better.items():
            if error[way] < error[densities.STABILITY]:
                where.append(int(n))
    told = "; ".join(
        f"{way} has less error than Stability at nα = {', '.join(f'{n:,}' for n in where) or 'none of these'}"
        for way, where in better.items()
    )
    within = [row for row in rows if float(row[5] or 0) <= float(row[6] or 0)]
    reading = (
        f"{len(densities.BINS)} widths, α = {EPSILON:g} in all, half of it to choose by; integrated squared error. "
        f"{told}. What Stability's choice loses in score in 5 % of the runs is within the bound of the paper's "
        f"Theorem 3 in {len(within)} of {len(rows)} cases."
    )
    columns = ("n", *densities.WAYS, "score lost, 95 % quantile", "bound", "runs")
    return Section("The width of a private histogram", reading, "densities", (Table(columns, tuple(rows)),))


def paint(figure: Any, results: Results) -> None:
    """Integrated squared error of the chosen histogram against n."""
    panel = figure.subplots()
    found = answers_of(results, "density")
    for way, colour, mark in zip(densities.WAYS, COLOURS, MARKS, strict=False):
        points = [(int(n), answer["error"][way]) for (n,), answer in found.items()]
        panel.plot([n for n, _ in points], [e for _, e in points], marker=mark, color=colour, label=way)
    panel.set(xscale="log", yscale="log", xlabel="training values n", ylabel="mean integrated squared error")
    panel.legend()


QUESTION = "Private learners and sanitizers: how many rows do they take?"
STUDY = Study(
    "learners",
    "benchmarks.learning.learners",
    QUESTION,
    tasks,
    sections,
    {"densities": Figure(paint, (7.0, 4.0))},
)

if __name__ == "__main__":
    main(STUDY)
