"""How many rows do private learners and sanitizers take: measured, and as their theorems ask for
it?

Points, thresholds and boxes of fim_private.learning; SanPoints and SanThresholds (Beimel, Nissim
and Stemmer 2013) beside what the package has for their questions; and the width of a private
histogram (Chaudhuri and Vinterbo 2013).

python -m benchmarks.learning.learners [--quick]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.bisection import least_lasting
from benchmarks.frame.study import Options, Results, Section, Study, Task, answers_of, main
from benchmarks.frame.tables import Cell, Table
from benchmarks.learning import sanitizers
from fim_private.dp.neighbors import Neighbors
from fim_private.learning.concepts import learn_box
from fim_private.mechanisms import Distance
from fim_private.spectrum import SupportSpectrum

# How many rows concepts need.

# The relation of the paper, whose sizes they are held against.
SUCCESS, NEIGHBORS = 0.95, Neighbors.REPLACE_ONE


def least(succeeds: Callable[[int], bool]) -> int:
    """Return the least n >= 2 from which on a success, whose probability grows with n but for
    rounding, is sure.
    """
    return least_lasting(succeeds, 1, 2, 50)


def positives(epsilon: float) -> Any:
    """Return how many rows labelled True the point takes, all others being labelled False, in any
    domain.
    """
    mechanism = Distance(epsilon, DELTA, NEIGHBORS)

    def succeeds(n: int) -> bool:
        found = mechanism.distribution(SupportSpectrum.from_supports([n], 1 << 64))
        return bool(found.probabilities[0] >= SUCCESS)

    return {"measured": least(succeeds)}


def _enough(
    mistakes: Sequence[float], number: Sequence[float], wrong: float, epsilon: float
) -> bool:
    """Whether thresholds with fewer than `wrong` mistakes have 95 % of the weight. number:
    logarithms of how many.
    """
    exponents = np.array(number) - epsilon / 2 * np.array(mistakes)
    weights = np.exp(exponents - exponents.max())
    return bool(weights[np.array(mistakes) < wrong].sum() >= SUCCESS * weights.sum())


def threshold(bits: int, error: float, epsilon: float, private: str) -> Any:
    """Return the rows that a threshold takes to be wrong about fewer than error n of them:
    measured, and as promised.

    hardest: all values at the end of the domain, so that nearly all thresholds are wrong about just
    error n rows; with private labels the harder of the next and all rows labelled True. uniform:
    values evenly spaced, half labelled True.
    """
    odds = math.log(SUCCESS / (1 - SUCCESS))

    def hardest(n: int) -> bool:
        wrong = math.ceil(error * n)
        below, above = bits * math.log(2) + math.log1p(-(2.0**-bits)), 0.0
        return _enough([wrong, 0, n - wrong], [below, 0.0, above], error * n, epsilon)

    def uniform(n: int) -> bool:
        each = 0.0 if private == "labels" else bits * math.log(2) - math.log(n)
        return _enough(
            [abs(place - n // 2) for place in range(n + 1)], [each] * (n + 1), error * n, epsilon
        )

    def apart(n: int) -> bool:
        # all rows labelled True
        return _enough([*range(n + 1)], [0.0] * (n + 1), error * n, epsilon)

    def promised(n: int) -> bool:
        number = math.log(n) if private == "labels" else bits * math.log(2)
        return n >= 2 / (error * epsilon) * (number + odds)

    found = {"uniform": least(uniform), "promised": least(promised)}
    return {
        "hardest": max(least(apart if private == "labels" else hardest), found["uniform"]),
        **found,
    }


def box(
    columns: int, rows: int, bits: int, error: float, epsilon: float, runs: int, seed: int
) -> Any:
    """Return the share of runs in which the box errs by `error` or less, and the mean error, on
    half of the rows True.

    Rows are uniform, and the true box has half of the volume, in the middle. Its error is that of
    new rows.
    """
    generator = np.random.default_rng(seed)
    size, side = 1 << bits, 0.5 ** (1 / columns)
    low, high = round((1 - side) / 2 * size), round((1 + side) / 2 * size) - 1
    errors = []
    for run in range(runs):
        sample = generator.integers(0, size, (rows, columns))
        labels = ((sample >= low) & (sample <= high)).all(axis=1)
        options: Any = {"bits": bits, "error": error, "epsilon": epsilon, "neighbors": NEIGHBORS}
        found = learn_box(sample, labels, **options, seed=seed + run)
        volumes = [
            math.prod(
                max(0, min(b, d) - max(a, c) + 1) / size
                for (a, b), (c, d) in zip(one, two, strict=True)
            )
            for one, two in (
                (found, found),
                (found, [(low, high)] * columns),
                ([(low, high)] * columns,) * 2,
            )
        ]
        errors.append(volumes[0] + volumes[2] - 2 * volumes[1])
    return {
        "share": float(np.mean(np.array(errors) <= error)),
        "mean": float(np.mean(errors)),
        "runs": runs,
    }


def box_promised(columns: int, bits: int, error: float, epsilon: float) -> int:
    """Return the n for which Theorem 26 promises 95 % for the box, on the rows at hand."""
    rest = bits * math.log(2) + math.log(2 * columns / (1 - SUCCESS))
    return math.ceil(16 * columns**2 / (error * epsilon) * rest + 4 * columns / error)


# Densities.

BINS = (4, 8, 16, 32, 64, 128)  # each halves the bins of the one before
CONTROL, STABILITY, SPLIT, RANDOM = "Control", "Stability", "alphaSplit", "Random"
WAYS = (CONTROL, STABILITY, SPLIT, RANDOM)
Cells = NDArray[np.float64]


def true_cells() -> Cells:
    """Return the probability of each of the finest bins: a wide hill and a narrow one on [0, 1)."""
    middle = (np.arange(BINS[-1]) + 0.5) / BINS[-1]
    hills = (
        0.7 * np.exp(-(((middle - 0.35) / 0.15) ** 2) / 2) / 0.15
        + 0.3 * np.exp(-(((middle - 0.75) / 0.02) ** 2) / 2) / 0.02
    )
    return np.asarray(hills / hills.sum())


def trained(cells: Cells, bins: int, alpha: float, generator: np.random.Generator) -> Cells:
    """Return the density of a private histogram at each of the finest bins. cells: how many values
    each has.
    """
    n = cells.sum()
    counts = cells.reshape(bins, -1).sum(axis=1)
    one, two = generator.geometric(-math.expm1(-alpha / 2), (2, bins))
    density = np.clip(counts + one - two, 0, n) * bins / n
    return np.repeat(density, BINS[-1] // bins)


def score(density: Cells, cells: Cells) -> float:
    """Return twice the mean density on values less ∫ density². cells: of the values, or the
    truth.
    """
    return float(2 * (density * cells).sum() / cells.sum() - (density**2).mean())


def stability(n: float, m: float, bins: int = BINS[-1]) -> float:
    """Return β: by how much one of n training or m validation values moves a histogram's score.

    bins: the most of any histogram.
    """
    return max(4 * bins / n, 2 * bins / m)


def compared(n: int, alpha: float, runs: int, seed: int) -> Any:
    """Return, of n training and n validation values, each way's mean integrated squared error at α
    in all.

    Half of α trains and half chooses. Stability is Algorithm 1 and trains the winner again
    (Algorithm 2). alphaSplit trains all with a part of the half each, so that they may be
    published, and pays for the validation values alone. Control chooses by the score as it is,
    which is not private. Also the 95 % quantile of what Stability's choice loses in score, and of
    what Theorem 3 bounds it with.
    """
    generator, truth, half = np.random.default_rng(seed), true_cells(), alpha / 2
    constant = float((truth**2).sum() * BINS[-1])
    errors: dict[str, list[float]] = {way: [] for way in WAYS}
    lost = []
    for _ in range(runs):
        training, validation = (generator.multinomial(n, truth).astype(float) for _ in range(2))
        full = [trained(training, bins, half, generator) for bins in BINS]
        split = [trained(training, bins, half / len(BINS), generator) for bins in BINS]
        scores, of_split = (
            np.array([score(d, validation) for d in each]) for each in (full, split)
        )
        noise = generator.exponential(1 / half, (2, len(BINS)))
        stable = int(np.argmax(scores + 2 * stability(n, n) * noise[0]))
        chosen = {
            CONTROL: full[int(np.argmax(scores))],
            STABILITY: trained(training, BINS[stable], half, generator),
            SPLIT: split[int(np.argmax(of_split + 2 * (2 * BINS[-1] / n) * noise[1]))],
            RANDOM: trained(training, BINS[int(generator.integers(len(BINS)))], alpha, generator),
        }
        for way, density in chosen.items():
            errors[way].append(constant - score(density, truth))
        lost.append(float(scores.max() - scores[stable]))
    bound = 2 * stability(n, n) * math.log(len(BINS) / 0.05) / half
    means = {way: float(np.mean(values)) for way, values in errors.items()}
    deviations = {way: float(np.std(values) / math.sqrt(runs)) for way, values in errors.items()}
    return {
        "error": means,
        "deviation": deviations,
        "lost": float(np.quantile(lost, 0.95)),
        "bound": bound,
        "runs": runs,
    }


ERROR, EPSILON, DELTA, ALPHA = 0.05, 1.0, 1e-6, 0.1
# Rows, and runs, by columns: the middle one is what the box is expected to need for an error of
# 0.1.
BOXES = {
    1: ((700, 1000, 1400), 400),
    2: ((2800, 4000, 5600), 200),
    4: ((11_000, 16_000, 20_000), 100),
}
# Way: the n to begin with, the n to end with, and how often.
POINTS = {"SanPoints": (10_000, 100_000, 100), "mine": (1500, 20_000, 60)}
THRESHOLDS = {"SanThresholds": (100_000, 100_000_000, 20), "quantiles": (100, 20_000, 100)}
DENSITIES = (300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


def promised() -> Any:
    """Return what the theorems of the sanitizers and of the box ask for."""
    return {
        "SanPoints": sanitizers.san_points_promised(ALPHA, EPSILON, DELTA, 0.05),
        "SanThresholds": sanitizers.san_thresholds_promised(ALPHA, EPSILON, DELTA, 0.05),
        "box": {str(d): box_promised(d, 16, ALPHA, EPSILON) for d in BOXES},
    }


def tasks(options: Options) -> tuple[list[Task], list[str]]:
    """Return the tasks; no data is needed."""
    quick, seed = options.quick, options.seed
    found = [Task("promised", promised)]
    for epsilon in (0.5, 1.0, 2.0):
        found.append(Task(f"point|{epsilon}", positives, {"epsilon": epsilon}))
    for bits in (16, 64):
        for private in ("rows", "labels"):
            arguments = {"bits": bits, "error": ERROR, "epsilon": EPSILON, "private": private}
            found.append(Task(f"threshold|{bits}|{private}", threshold, arguments))
    for n in DENSITIES[1:4:2] if quick else DENSITIES:
        arguments = {"n": n, "alpha": EPSILON, "runs": 5 if quick else 200, "seed": seed}
        found.append(Task(f"density|{n}", compared, arguments))
    for question, ways, shapes in (
        ("points", POINTS, sanitizers.POINTS),
        ("thresholds", THRESHOLDS, sanitizers.THRESHOLDS),
    ):
        for way, (start, most, runs) in ways.items():
            small = {
                "SanPoints": 40_000,
                "mine": 2000,
                "SanThresholds": 20_000_000,
                "quantiles": 2000,
            }[way]
            for shape in list(shapes)[: 1 if quick else None]:
                arguments = {
                    "question": question,
                    "way": way,
                    "shape": shape,
                    "alpha": ALPHA,
                    "seed": seed,
                }
                arguments |= {"start": small if quick else start, "most": small if quick else most}
                found.append(
                    Task(
                        f"{question}|{way}|{shape}",
                        sanitizers.enough,
                        {**arguments, "runs": 2 if quick else runs},
                    )
                )
    for columns, (numbers, runs) in {1: ((1000,), 3)}.items() if quick else BOXES.items():
        for rows in numbers:
            arguments = {
                "columns": columns,
                "rows": rows,
                "bits": 16,
                "error": ALPHA,
                "epsilon": EPSILON,
            }
            arguments |= {"runs": runs, "seed": seed}
            found.append(Task(f"box|{columns}|{rows}", box, arguments))
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
        f"For 95 % of runs, at ε = {EPSILON:g}, δ = {DELTA:g} for points, {NEIGHBORS}, from exact "
        "distributions. A point needs this number of rows that have it, in any domain. A threshold "
        f"is to be wrong about fewer than {100 * ERROR:g} % of the rows. On the data that are "
        "hardest for it, where nearly all thresholds are wrong about just that share, it takes "
        "what Theorem 26 promises. On evenly spaced values the number of bits does not matter. "
        "With private labels the harder of two kinds of data is shown."
    )
    columns = ("concept", "hardest data", "evenly spaced values", "promised")
    return Section("Points and thresholds", reading, tables=(Table(columns, tuple(rows)),))


def _boxes(results: Results) -> Section:
    asked = results["answers"].get("promised", {}).get("box", {})
    rows: list[tuple[Cell, ...]] = []
    enough: dict[str, int] = {}
    for (columns, number), found in answers_of(results, "box").items():
        rows.append(
            (
                int(columns),
                int(number),
                found["share"],
                found["mean"],
                found["runs"],
                asked.get(columns),
            )
        )
        if found["share"] >= 0.95:
            enough.setdefault(columns, int(number))
    told = ", ".join(f"{number:,} rows (columns: {columns})" for columns, number in enough.items())
    reading = (
        f"At ε = {EPSILON:g}, {NEIGHBORS}, 16 bits, half of the uniform rows are in the box. An "
        f"error of {ALPHA:g} or less on new rows, in 95 % of the runs, takes "
        f"{told or 'more rows than any number tried'}. Promised is what Theorem 26 asks for, for "
        "an error of as much on the rows at hand, whatever they are."
    )
    header = (
        "columns",
        "rows",
        f"share of runs with error ≤ {ALPHA:g}",
        "mean error",
        "runs",
        "promised",
    )
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
        f"The table has the number of values it takes until no answer errs by more than {ALPHA:g} "
        "n in 95 % of the runs. These numbers are on a grid with steps of a quarter, at ε = "
        f"{EPSILON:g}, δ = {DELTA:g}, {sanitizers.NEIGHBORS}. SanPoints makes 2/α choices and "
        "counts, by advanced composition; `mine` answers the same question with size 1, the top "
        "2/α and their supports. SanThresholds makes up to 77/α calls of four steps each, here on "
        "16 bits; `quantiles` answers with 15 cuts."
    )
    columns = ("for all", "way", "data", "values needed", "runs", "asked for by the theorem")
    return Section(
        "Sanitizers of points and thresholds", reading, tables=(Table(columns, tuple(rows)),)
    )


def _densities(results: Results) -> Section:
    rows: list[tuple[Cell, ...]] = []
    better: dict[str, list[int]] = {SPLIT: [], RANDOM: []}
    for (n,), found in answers_of(results, "density").items():
        error = found["error"]
        rows.append(
            (int(n), *(error[way] for way in WAYS), found["lost"], found["bound"], found["runs"])
        )
        for way, where in better.items():
            if error[way] < error[STABILITY]:
                where.append(int(n))
    told = "; ".join(
        (
            f"{way} has less error than Stability at nα = "
            f"{', '.join(f'{n:,}' for n in where) or 'none of these'}"
        )
        for way, where in better.items()
    )
    within = [row for row in rows if float(row[5] or 0) <= float(row[6] or 0)]
    reading = (
        f"{len(BINS)} widths, α = {EPSILON:g} in all, half of it to choose by; integrated squared "
        f"error. {told}. The score that Stability's choice loses in 5 % of the runs is within the "
        f"bound of the paper's Theorem 3 in {len(within)} of {len(rows)} cases."
    )
    columns = ("n", *WAYS, "score lost, 95 % quantile", "bound", "runs")
    return Section("The width of a private histogram", reading, (Table(columns, tuple(rows)),))


QUESTION = "Private learners and sanitizers: how many rows do they take?"
STUDY = Study(
    "learners",
    "benchmarks.learning.learners",
    QUESTION,
    tasks,
    sections,
)

if __name__ == "__main__":
    main(STUDY)
