"""A point inside the data: how many values does it take, in domains of 2^16 to 2^1024 points?

MajorityPath, the exponential mechanism and RecConcave (Beimel, Nissim and Stemmer 2013) on the same
data, of several shapes. All probabilities are exact.

python -m benchmarks.learning.interior_point [--quick]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

from benchmarks.frame.bisection import least_lasting
from benchmarks.frame.study import Options, Results, Section, Study, Task, answers_of, main
from benchmarks.frame.tables import Cell, Table
from benchmarks.learning import rec_concave
from fim_private.dp.neighbors import Neighbors
from fim_private.learning.points import ExponentialInterior, MajorityPath

# Ways to a point inside.

EPSILON, DELTA, SUCCESS = 1.0, 1e-6, 0.95
# The relation of RecConcave, which the others are held against.
NEIGHBORS = Neighbors.REPLACE_ONE
# So many n after one another must succeed, for odd and even numbers of values are not alike.
RUN = 6
EXPONENTIAL, MAJORITY = "exponential", "MajorityPath"
# By recursions above the base, and α. One recursion has an uneven split, which is better; more have
# an even one.
RECURSIVE = {
    "RecConcave, D = 1, α = 1": (1, 1.0),
    "RecConcave, D = 1, α = 1/2": (1, 0.5),
    "RecConcave, D = 2, α = 1": (2, 1.0),
    "RecConcave, D = 2, α = 1/2": (2, 0.5),
}
WAYS = (EXPONENTIAL, *RECURSIVE, MAJORITY)


def budget(levels: int) -> rec_concave.Budget:
    """Return how ε and δ are shared among 3D + 1 steps, of which 2D spend δ."""
    if levels == 1:
        return rec_concave.Budget(0.25 * EPSILON, 0.3 * EPSILON, 0.15 * EPSILON, DELTA / 2)
    each = EPSILON / (3 * levels + 1)
    return rec_concave.Budget(each, each, each, DELTA / (2 * levels))


def _pair(n: int, bits: int, centre: int) -> Iterator[int]:
    return (centre + number % 2 for number in range(n))


def _both_sides(n: int, bits: int, centre: int) -> Iterator[int]:
    return (centre + (-1) ** number * (1 << number // 2 % (bits - 2)) for number in range(n))


def _one_side(n: int, bits: int, centre: int) -> Iterator[int]:
    return (centre + (1 << number % (bits - 1)) for number in range(n))


def _uniform(n: int, bits: int, centre: int) -> Iterator[int]:
    return (((2 * number + 1) << bits) // (2 * n) for number in range(n))


SHAPES: dict[str, Callable[[int, int, int], Iterator[int]]] = {
    "an adjacent pair": _pair,
    "log-spaced on both sides": _both_sides,
    "log-spaced on one side": _one_side,
    "uniform": _uniform,
}


def centres(bits: int) -> dict[str, int]:
    """Return where the shapes lie: at the middle of the domain, which is cut there, and at a third
    of it.
    """
    return {"the middle": (1 << bits - 1) - 1, "a third": (1 << bits) // 3}


def success(way: str, values: list[int], bits: int) -> float:
    """Return the probability that a point with values on both sides, or on it, is found. values:
    ascending.
    """
    low, high = values[0], values[-1]
    if way == EXPONENTIAL:
        # Outside there are two runs at most, of score 0; of those inside the score is above.
        found = ExponentialInterior(EPSILON, bits, NEIGHBORS).distribution(values)
        return math.fsum(chance for start, _, chance in found if low <= start <= high)
    if way == MAJORITY:
        mechanism = _majority(bits)
        stops = mechanism.path(values)
        chances = zip(mechanism.depths(stops), stops, strict=False)
        return math.fsum(
            chance * _released(stop.excess) for chance, stop in chances if low <= stop.point <= high
        )
    levels, share = RECURSIVE[way]
    quality = rec_concave.Peaked.of_values(values, (1 << bits) - 1)
    law = rec_concave.law(
        quality, len(values) // 2, share, levels, budget(levels), within=(low, high)
    )
    return math.fsum(law.values())


@cache
def _majority(bits: int) -> MajorityPath:
    return MajorityPath(EPSILON, DELTA, bits, NEIGHBORS)


@lru_cache(maxsize=1 << 14)
def _released(excess: int) -> float:
    return _majority(1).released(excess)  # the second step knows no bits


def needed(way: str, bits: int, shape: str, centre: str) -> Any:
    """Return the n from which on the success is 95 % or more: of it and the RUN - 1 after it."""

    @cache
    def succeeds(n: int) -> bool:
        return success(way, sorted(SHAPES[shape](n, bits, centres(bits)[centre])), bits) >= SUCCESS

    return least_lasting(succeeds, 0, 64, RUN)


def enough_for_any_data(bits: int) -> int:
    """Return the n for which MajorityPath succeeds with 95 % on any data, by Theorem 25: some depth
    scores n/6 or more.

    The worst that this allows is one depth with that score, and all others with some one lower
    score.
    """
    mechanism = _majority(bits)

    def fails(n: int) -> float:
        best, worst = -(-n // 6), 0.0
        top = 1 - _released(best)
        for score in range(best + 1):
            others = bits * math.exp(float(mechanism.rate) * (score - best))
            missed = 1 - _released(score) if score else 1.0
            worst = max(worst, (top + others * missed) / (1 + others))
        return worst

    n = 6
    while fails(n) > 1 - SUCCESS:
        n += 6
    return n - 5  # of six numbers with the same n/6 rounded up it is the least


def asked(bits: int) -> Any:
    """Return what the theorems ask for, by way; nothing where a recursion is none, because so few
    points are left.
    """
    found: dict[str, int] = {
        EXPONENTIAL: math.ceil(
            4 / EPSILON * (bits * math.log(2) + math.log(SUCCESS / (1 - SUCCESS)))
        ),
        MAJORITY: enough_for_any_data(bits),
    }
    for way, (levels, share) in RECURSIVE.items():
        found[way] = rec_concave.promised(bits, levels, share, budget(levels), 1 - SUCCESS)
    return found


BITS, EPSILONS = (16, 64, 256, 1024), (0.5, 1.0, 2.0)


def needs(way: str, bits: int) -> Any:
    """Return the n for 95 % success by shape and place, as "shape|place"."""
    return {
        f"{shape}|{centre}": needed(way, bits, shape, centre)
        for shape in SHAPES
        for centre in centres(bits)
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
    found += [Task(f"asked|{bits}", asked, {"bits": bits}) for bits in kept]
    found += [
        Task(f"a_dist|{epsilon}", rec_concave.exposed, {"epsilon": epsilon, "delta": 1e-6})
        for epsilon in EPSILONS
    ]
    return found, []


def worst(results: Results) -> dict[tuple[int, str], int]:
    """Return the largest n of all shapes, by bits and way, smallest domains first."""
    found = {
        (int(bits), way): max(n.values()) for (bits, way), n in answers_of(results, "needs").items()
    }
    return dict(sorted(found.items(), key=lambda item: (item[0][0], WAYS.index(item[0][1]))))


def sections(results: Results) -> list[Section]:
    """Return what there is to say."""
    return [_needs(results), _shapes(results), _a_dist(results)]


def _promised(results: Results, bits: int, way: str) -> int | None:
    """Return what a way's theorem asks for; None where there is no such recursion."""
    if not exists(way, bits):
        return None
    of_ways: dict[str, int] = answers_of(results, "asked").get((str(bits),), {})
    return of_ways.get(way)


def _needs(results: Results) -> Section:
    measured = worst(results)
    kinds = list(dict.fromkeys(bits for bits, _ in measured))
    rows = [(bits, *(measured.get((bits, way)) for way in WAYS)) for bits in kinds]
    promised = [(bits, *(_promised(results, bits, way) for way in WAYS)) for bits in kinds]
    best = {bits: min((n, way) for (b, way), n in measured.items() if b == bits) for bits in kinds}
    fewest = "; ".join(f"{bits} bits: {way} ({n:,} values)" for bits, (n, way) in best.items())
    of_recursions = [n for (_, way), n in measured.items() if way in RECURSIVE]
    of_theorem = [n for bits in kinds for way in RECURSIVE if (n := _promised(results, bits, way))]
    ahead = [f"{bits} bits" for bits, (_, way) in best.items() if way in RECURSIVE]
    pays = [f"{bits} bits" for bits in kinds if _second_recursion_pays(measured, bits)]
    reading = (
        f"At ε = {EPSILON:g}, δ = {DELTA}, {NEIGHBORS}, on the worst of {len(SHAPES)} shapes of "
        f"data in two places, which way needs the fewest values? {fewest}. RecConcave finds a "
        f"point from {min(of_recursions):,} values on, where its theorem asks for "
        f"{min(of_theorem):,} or more. That is with natural logarithms; with those of base 2 it is "
        f"half as many again. It is the best {', '.join(ahead) or 'nowhere'}, and a second "
        f"recursion pays {', '.join(pays) or 'nowhere'} here. The number that MajorityPath's "
        "theorem asks for is enough for any data at all."
    )
    return Section(
        "Values needed to find a point inside in 95 % of runs",
        reading,
        (
            Table(("bits", *WAYS), tuple(rows)),
            Table(("bits, what theorems ask for", *WAYS), tuple(promised)),
        ),
    )


def _second_recursion_pays(measured: dict[tuple[int, str], int], bits: int) -> bool:
    """Whether RecConcave needs fewer values with two recursions than with one."""
    fewest = {}
    for depth in (1, 2):
        of_depth = [way for way, (levels, _) in RECURSIVE.items() if levels == depth]
        needed = [n for way in of_depth if (n := measured.get((bits, way)))]
        fewest[depth] = min(needed, default=math.inf)
    return fewest[2] < fewest[1] < math.inf


def _shapes(results: Results) -> Section:
    answers = answers_of(results, "needs")
    bits = max((int(each) for each, _ in answers if int(each) <= 64), default=BITS[0])
    rows: list[tuple[Cell, ...]] = []
    for way in WAYS:
        if by_shape := answers.get((str(bits), way)):
            rows += [
                (
                    way,
                    *(
                        " / ".join(f"{by_shape[f'{s}|{c}']:,}" for c in centres(bits))
                        for s in SHAPES
                    ),
                )
            ]
    reading = (
        f"With {bits} bits, around the middle of the domain, where it is cut first, and around a "
        "third of it. The exponential mechanism has the most to do where all values are at two "
        "points. Ways that work on the domain's tree have the most to do where values thin out on "
        "all scales."
    )
    return Section(
        "By the shape of the data", reading, tables=(Table(("way", *SHAPES), tuple(rows)),)
    )


def _a_dist(results: Results) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for (epsilon,), found in answers_of(results, "a_dist").items():
        rows += [(float(epsilon), form, *used.values()) for form, used in found.items()]
    overlooked = [row for row in rows if row[1] == "overlooked"]
    corrected = [row for row in rows if row[1] == "corrected"]
    most = max(float(cell or 0) for row in corrected for cell in row[2:])
    least = min(float(row[2] or 0) for row in overlooked)
    reading = (
        "RecConcave chooses intervals by A_dist, the best if its margin is large. The quality has "
        "sensitivity 1; the margin is a difference of two of them, and under replace-one has "
        "sensitivity 2. If that is overlooked (noise of scale 1/ε, threshold ln(1/δ)/ε), "
        f"neighbours with the same leader need {least:,.0f} times the δ of 10⁻⁶ or more. With the "
        f"constants of Theorem 7, which are used here, {most:.2f} of it is the most."
    )
    columns = ("ε", "sensitivity of the margin", "δ used, same leader", "δ used, another leader")
    return Section(
        "A_dist, if the margin's sensitivity is overlooked",
        reading,
        tables=(Table(columns, tuple(rows)),),
    )


QUESTION = "A point inside the data: how many values does it take, however large the domain?"
STUDY = Study(
    "interior_point",
    "benchmarks.learning.interior_point",
    QUESTION,
    tasks,
    sections,
)

if __name__ == "__main__":
    main(STUDY)
