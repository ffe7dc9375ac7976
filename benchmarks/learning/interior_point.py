"""A point inside the data: how many values does it take, in domains of 2^16 to 2^1024 points?

MajorityPath, the exponential mechanism and RecConcave (Beimel, Nissim and Stemmer 2013) on the same data, of several
shapes. All probabilities are exact.

python -m benchmarks.learning.interior_point [--quick]
"""

from __future__ import annotations

from typing import Any

from benchmarks.frame.figure_style import COLOURS, MARKS
from benchmarks.frame.study import Figure, Options, Results, Section, Study, Task, answers_of, main
from benchmarks.frame.tables import Cell, Table
from benchmarks.learning import inside, rec_concave
from benchmarks.learning.inside import RECURSIVE, SHAPES, WAYS

BITS, EPSILONS = (16, 64, 256, 1024), (0.5, 1.0, 2.0)


def needs(way: str, bits: int) -> Any:
    """Return the n for 95 % success by shape and place, as "shape|place"."""
    return {
        f"{shape}|{centre}": inside.needed(way, bits, shape, centre)
        for shape in SHAPES
        for centre in inside.centres(bits)
    }


def exists(way: str, bits: int) -> bool:
    """Whether a way has that many recursions in such a domain."""
    return way not in RECURSIVE or RECURSIVE[way][0] == 1 or bits > 32


def tasks(options: Options) -> tuple[list[Task], list[str]]:
    """Return the tasks; no data is needed."""
    kept = BITS[:1] if options.quick else BITS
    found = [
        Task(f"needs|{bits}|{way}", needs, {"way": way, "bits": bits})
        for bits in reversed(kept)  # the slowest first
        for way in WAYS
        if exists(way, bits)
    ]
    found += [Task(f"asked|{bits}", inside.asked, {"bits": bits}) for bits in kept]
    found += [
        Task(f"a_dist|{epsilon}", rec_concave.exposed, {"epsilon": epsilon, "delta": 1e-6}) for epsilon in EPSILONS
    ]
    return found, []


def worst(results: Results) -> dict[tuple[int, str], int]:
    """Return the largest n of all shapes, by bits and way, smallest domains first."""
    found = {(int(bits), way): max(n.values()) for (bits, way), n in answers_of(results, "needs").items()}
    return dict(sorted(found.items(), key=lambda item: (item[0][0], WAYS.index(item[0][1]))))


def sections(results: Results) -> list[Section]:
    """Return what there is to say."""
    return [_needs(results), _shapes(results), _a_dist(results)]


def _asked(results: Results, bits: int, way: str) -> int | None:
    found: dict[str, int] = answers_of(results, "asked").get((str(bits),), {})
    return found.get(way)


def _needs(results: Results) -> Section:
    measured = worst(results)
    kinds = list(dict.fromkeys(bits for bits, _ in measured))
    rows = [(bits, *(measured.get((bits, way)) for way in WAYS)) for bits in kinds]
    asked = [(bits, *(_asked(results, bits, way) if exists(way, bits) else None for way in WAYS)) for bits in kinds]
    least = {bits: min((n, way) for (b, way), n in measured.items() if b == bits) for bits in kinds}
    best = "; ".join(f"{bits} bits: {way} ({n:,} values)" for bits, (n, way) in least.items())
    recursive = [n for (_, way), n in measured.items() if way in RECURSIVE]
    ahead = [f"{bits} bits" for bits, (_, way) in least.items() if way in RECURSIVE]
    by_depth = {
        (bits, depth): min(
            n for way, (each, _) in RECURSIVE.items() if each == depth and (n := measured.get((bits, way)))
        )
        for bits in kinds
        for depth in (1, 2)
        if any(each == depth and (bits, way) in measured for way, (each, _) in RECURSIVE.items())
    }
    paid = [f"{bits} bits" for bits, depth in by_depth if depth == 2 and by_depth[bits, 2] < by_depth[bits, 1]]
    promised = [n for bits in kinds for way in RECURSIVE if exists(way, bits) and (n := _asked(results, bits, way))]
    reading = (
        f"At ε = {inside.EPSILON:g}, δ = {inside.DELTA}, {inside.NEIGHBORS}, "
        f"on the worst of {len(SHAPES)} shapes of data in two places, "
        f"the fewest values are needed by: {best}. RecConcave finds a point from {min(recursive):,} values on, where "
        f"its theorem asks for {min(promised):,} or more (with natural logarithms; half as many again with those of "
        f"base 2). It is the best {', '.join(ahead) or 'nowhere'}, and a second recursion pays "
        f"{', '.join(paid) or 'nowhere'} here. What MajorityPath's theorem asks for is enough for any data at all."
    )
    columns = ("bits", *WAYS)
    return Section(
        "Values needed to find a point inside in 95 % of runs",
        reading,
        "needs",
        (
            Table(columns, tuple(rows)),
            Table(("bits, what theorems ask for", *WAYS), tuple(asked)),
        ),
    )


def _shapes(results: Results) -> Section:
    answers = answers_of(results, "needs")
    bits = max((int(each) for each, _ in answers if int(each) <= 64), default=BITS[0])
    rows: list[tuple[Cell, ...]] = []
    for way in WAYS:
        if by_shape := answers.get((str(bits), way)):
            rows += [(way, *(" / ".join(f"{by_shape[f'{s}|{c}']:,}" for c in inside.centres(bits)) for s in SHAPES))]
    reading = (
        f"With {bits} bits, around the middle of the domain, where it is cut first, and around a third of it. The "
        "exponential mechanism has the most to do where all values are at two points; what works on the domain's "
        "tree, where values thin out on all scales."
    )
    return Section("By the shape of the data", reading, tables=(Table(("way", *SHAPES), tuple(rows)),))


def _a_dist(results: Results) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for (epsilon,), found in answers_of(results, "a_dist").items():
        rows += [(float(epsilon), form, *used.values()) for form, used in found.items()]
    overlooked = [row for row in rows if row[1] == "overlooked"]
    corrected = [row for row in rows if row[1] == "corrected"]
    most = max(float(cell or 0) for row in corrected for cell in row[2:])
    least = min(float(row[2] or 0) for row in overlooked)
    reading = (
        "RecConcave chooses intervals by A_dist, the best if its margin is large. The quality has sensitivity 1; the "
        "margin is a difference of two of them, and under replace-one has sensitivity 2. If that is overlooked (noise "
        f"of scale 1/ε, threshold ln(1/δ)/ε), neighbours with the same leader need {least:,.0f} times the δ of "
        f"10⁻⁶ or more. With the constants of Theorem 7, which are used here, {most:.2f} of it is the most."
    )
    columns = ("ε", "sensitivity of the margin", "δ used, same leader", "δ used, another leader")
    return Section("A_dist, if the margin's sensitivity is overlooked", reading, tables=(Table(columns, tuple(rows)),))


def paint(figure: Any, results: Results) -> None:
    """Values needed against bits, measured and asked for."""
    panel = figure.subplots()
    measured = worst(results)
    for way, colour, mark in zip(WAYS, COLOURS, MARKS, strict=False):
        known = [(bits, n) for (bits, each), n in measured.items() if each == way]
        panel.plot(*zip(*known, strict=True), marker=mark, color=colour, label=way) if known else None
        asked = [(bits, n) for bits, _ in known if (n := _asked(results, bits, way))]
        panel.plot(*zip(*asked, strict=True), ":", color=colour) if asked else None
    panel.set(xscale="log", yscale="log", xlabel="bits of the domain", ylabel="values (dotted: what theorems ask for)")
    panel.set_xticks(sorted({bits for bits, _ in measured}), [str(bits) for bits in sorted({b for b, _ in measured})])
    panel.minorticks_off()
    panel.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))


QUESTION = "A point inside the data: how many values does it take, however large the domain?"
STUDY = Study(
    "interior_point",
    "benchmarks.learning.interior_point",
    QUESTION,
    tasks,
    sections,
    {"needs": Figure(paint, (9.0, 4.2))},
)

if __name__ == "__main__":
    main(STUDY)
