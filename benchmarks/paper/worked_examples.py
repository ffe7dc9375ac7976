"""The worked examples of Chaudhuri, Hsu and Song, "The large margin mechanism for differentially
private maximization" (NIPS 2014), sections 2.2 and 3.1, as exact numbers at ε = 1, δ = 1e-6. Bounds
are in the form proved here.

Lower bound with a margin (their Theorem 1). D_i, i = 1..ℓ: n - m units support items 1..ℓ, and m
units item i alone. So c(i) = n, the other ℓ - 1 have n - m, all else has 0: a gap of n - m below
rank ℓ. D_i and D_j differ in m units. Let A be (ε, δ)-private under replace-one and p the least of
P(A(D_i) = i), reached at i = 1, say. By group privacy p <= P(A(D_j) = j) <= e^{mε} P(A(D_1) = j) +
δ (e^{mε} - 1)/(e^ε - 1). The ℓ - 1 events A(D_1) = j, j > 1, exclude each other and A(D_1) = 1, so
1 - p >= (ℓ - 1) e^{-mε} (p - δ (e^{mε} - 1)/(e^ε - 1)), that is

    p <= (1 + (ℓ - 1) δ (1 - e^{-mε})/(e^ε - 1)) / (1 + (ℓ - 1) e^{-mε}).                                     (a)

If δ <= (1 - e^{-ε})/(2(ℓ - 1)), then 2(ℓ - 1) δ/(e^ε - 1) <= e^{-ε} < 1, so p >= 1/2 needs (ℓ - 1)
e^{-mε} < 2, or m > ln((ℓ - 1)/2)/ε, whatever the margin; and any answer but i is at least m units
worse.

Pure privacy pays for the universe (their Proposition 1). D_i: n units, all of which support item i
of K alone. With s the number of changes from D_i to D_j (n under replace-one, 2n under add-remove),
the same steps with δ = 0 give

    p <= 1 / (1 + (K - 1) e^{-sε}),     so p >= 1/2 needs s >= ln(K - 1)/ε.                                   (b)
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

import fim_private.mechanisms as fm
from benchmarks.frame.bisection import least_between
from benchmarks.frame.study import Options, Results, Section, Study, Task, main
from benchmarks.frame.tables import Cell, Table
from fim_private.dp.neighbors import Neighbors
from fim_private.spectrum import Level, SupportSpectrum

EPSILON, DELTA = 1.0, 1e-6
LEADERS = {"D = (1, …, 1)": 1, "D = (2, …, 2)": 2}  # how many items have support n
MOST_UNITS = 1 << 10
SURE, EVEN = 0.95, 0.5
MARGIN, KNOWN = "large-margin", "large-margin, known K"
PURE = ("exponential", "permute-and-flip", "max-of-laplaces")
BLIND = (MARGIN, "tight-margin", "limited-domain", "distance")  # they know nothing of the universe
NAMES = (PURE[0], KNOWN, *BLIND)
CONTEST = (MARGIN, "tight-margin", "limited-domain", "exponential")
PURE_KINDS = (fm.Exponential, fm.PermuteAndFlip, fm.MaxOfLaplaces)
# the last is with K known
KINDS = (fm.LargeMargin, fm.TightMargin, fm.LimitedDomain, fm.Distance, fm.LargeMargin)
# in the contest: the universe, and the cap on ranks of all who know nothing of it, which is public
LARGEST = 10**6


def mechanism(name: str, relation: str, **cap: Any) -> fm.Mechanism:
    """Return a mechanism by its name in the figures. cap: max_rank, of those that rank."""
    if name in PURE:
        return PURE_KINDS[PURE.index(name)](EPSILON, relation)
    return KINDS[(*BLIND, KNOWN).index(name)](EPSILON, DELTA, relation, **cap)


def success(chooser: fm.Mechanism, levels: list[Level], universe: int | None) -> float:
    """Return the exact probability that a mechanism names an item of the first level."""
    outcome = chooser.distribution(SupportSpectrum(levels, universe_size=universe))
    chosen = dict(zip(outcome.levels.tolist(), outcome.probabilities.tolist(), strict=True))
    return float(chosen.get(levels[0][0], 0.0))


def least(is_enough: Callable[[int], bool], most: int, guess: int = 0) -> int | None:
    """Return the least whole number in [1, most] that is enough, by bisection, a guess first; None
    if there is none.
    """
    found = least_between(is_enough, 0, most + 1, guess)
    return found if found <= most else None


def with_margin(ell: int, units: float) -> float:
    """Return the bound (a) on the success of every (ε, δ)-private mechanism, m being units."""
    gained = (ell - 1) * DELTA * -math.expm1(-units * EPSILON) / math.expm1(EPSILON)
    return (1 + gained) / (1 + (ell - 1) * math.exp(-units * EPSILON))


def of_range(universe: int, changes: int) -> float:
    """Return the bound (b) on the success of every ε-private mechanism."""
    return 1 / (1 + math.exp(min(math.log(universe - 1) - changes * EPSILON, 700.0)))


def within(probability: float, bound: float) -> float:
    """Return a probability that a theorem bounds; raises ValueError where it is above, beyond
    rounding.
    """
    if probability > bound * (1 + 1e-9):
        raise ValueError(
            f"success {probability!r} is above the bound {bound!r}: the mechanism "
            f"or the proof is wrong"
        )
    return probability


def changes(relation: str) -> int:
    """Return how many changes it takes to exchange one unit."""
    return 1 if relation == Neighbors.REPLACE_ONE else 2


def pure_need(universe: int, relation: str) -> float:
    """Return what n must reach for success 1/2 by the bound (b)."""
    return math.log(universe - 1) / EPSILON / changes(relation)


def needs(
    name: str, relation: str, leaders: int, target: float, exponents: list[int]
) -> dict[str, Any]:
    """Return the least n with which a best item comes out with the target probability, for
    universes of 10^exponent.

    With a single leader, pure mechanisms are held to the bound (b) at every n that is looked at.
    """

    def at(n: int, name: str, universe: int | None) -> float:
        named = success(mechanism(name, relation), [(n, leaders)], universe)
        bounded = universe is not None and name in PURE and leaders == 1
        return within(named, of_range(universe or 0, changes(relation) * n)) if bounded else named

    def found(name: str, universe: int | None, guess: int | None = None) -> int | None:
        return least(lambda n: at(n, name, universe) >= target, MOST_UNITS, guess or 0)

    guess = found(MARGIN, None) if name == KNOWN else None
    # The universe is no input of the blind.
    alike = [found(name, None)] * len(exponents) if name in BLIND else None
    units = alike or [found(name, 10**exponent, guess) for exponent in exponents]
    most = at(MOST_UNITS, name, None if name in BLIND else 10 ** exponents[0])
    return {"exponents": exponents, "units": units, "success with most units": most}


def contest(name: str, ell: int) -> dict[str, Any]:
    """Return the success among ℓ items of which one leads by m, held against the bound (a), and the
    least m for 1/2.
    """
    lead = math.ceil(8 * math.log(4 * ell) / EPSILON) + 60
    # all but the ℓ are out of reach
    n = 10 * math.ceil(fm.LargeMargin.thresholds(EPSILON, DELTA, ell)) + lead
    chooser = (
        mechanism(name, Neighbors.REPLACE_ONE, max_rank=LARGEST)
        if name in BLIND
        else mechanism(name, Neighbors.REPLACE_ONE)
    )

    def at(m: int) -> float:
        named = success(chooser, [(n, 1), (n - m, ell - 1)], None if name in BLIND else LARGEST)
        return within(named, with_margin(ell, m))

    units = sorted({*range(1, 12), *np.linspace(12, lead, 24).astype(int).tolist()})
    return {
        "units": units,
        "success": [at(m) for m in units],
        "half": least(lambda m: at(m) >= EVEN, lead),
    }


def tasks(options: Options) -> tuple[list[Task], list[str]]:
    """Return the tasks, the shortest first: what is interrupted has kept much. No data set is
    needed.
    """
    exponents = [2, 40] if options.quick else [2, 5, 10, 20, 30, 40, 50, 60, 80, 100, 120]
    ells = [2, 100, 1000] if options.quick else [2, 10, 100, 1000, 10_000, 100_000]
    cases = [(name, data, SURE) for name in NAMES for data in LEADERS]
    cases += [(name, next(iter(LEADERS)), EVEN) for name in (*PURE, MARGIN)]
    done = []
    for name, data, target in cases:
        for relation in _relations(name):
            given = {
                "relation": relation,
                "leaders": LEADERS[data],
                "target": target,
                "exponents": exponents,
            }
            done.append(Task(f"{data}|{target}|{relation}|{name}", needs, {"name": name, **given}))
    done += [
        Task(f"margin|{ell}|{name}", contest, {"name": name, "ell": ell})
        for ell in ells
        for name in CONTEST
    ]
    return sorted(done, key=lambda task: bool(task.arguments["name"] == KNOWN)), []


def _relations(name: str) -> tuple[Neighbors, ...]:
    # large margin's constants are the same for both
    return (Neighbors.REPLACE_ONE,) if name in (MARGIN, KNOWN) else tuple(Neighbors)


def _needed(
    results: Results, data: str, relation: str, name: str, target: float = SURE
) -> list[int | None]:
    of = relation if relation in _relations(name) else Neighbors.REPLACE_ONE
    return list(results["answers"][f"{data}|{target}|{of}|{name}"]["units"])


def _exponents(results: Results) -> list[int]:
    return list(
        results["answers"][f"{next(iter(LEADERS))}|{SURE}|{Neighbors.REPLACE_ONE}|exponential"][
            "exponents"
        ]
    )


def _ells(results: Results) -> list[int]:
    return sorted(
        {int(key.split("|")[1]) for key in results["answers"] if key.startswith("margin|")}
    )


def sections(results: Results) -> tuple[Section, ...]:
    """Return what confirms section 2.2 (equation 1 and Proposition 1) and section 3.1 (Theorem
    1).
    """
    return _equation_one(results), _pure(results), _margin(results)


def _equation_one(results: Results) -> Section:
    exponents, (one, two) = _exponents(results), LEADERS
    rows: list[tuple[Cell, ...]] = []
    fits: list[tuple[str, str, float, float]] = []
    for data, name in product(LEADERS, NAMES):
        for relation in _relations(name):
            units = _needed(results, data, relation, name)
            shown = "both" if len(_relations(name)) == 1 else relation
            rows.append((data, name, shown, *("never" if n is None else n for n in units)))
            if name == PURE[0]:
                slope = np.polyfit(
                    np.array(exponents) * math.log(10), np.array(units, dtype=float), 1
                )[0]
                fits.append((data, relation, float(slope), 2 / changes(relation) / EPSILON))
    columns = ("data", "mechanism", "neighbours", *(f"K = 10^{e}" for e in exponents))
    slopes = Table(
        ("data", "neighbours", "slope of exponential's n against ln K", "predicted: 1/rate"),
        tuple(fits),
    )
    margins = [_needed(results, data, Neighbors.REPLACE_ONE, MARGIN)[0] for data in (one, two)]
    known, exponential = (
        _needed(results, one, Neighbors.REPLACE_ONE, name) for name in (KNOWN, PURE[0])
    )
    dearer = [e for e, n in zip(exponents, exponential, strict=True) if n and n > (margins[0] or 0)]
    off = max(abs(slope / predicted - 1) for *_, slope, predicted in fits)
    at = results["answers"][f"{two}|{SURE}|{Neighbors.REPLACE_ONE}|distance"][
        "success with most units"
    ]
    tight, limited = (_needed(results, one, Neighbors.REPLACE_ONE, name)[0] for name in BLIND[1:3])
    reading = (
        f"Section 2.2, equation (1). Of an unknown universe large margin needs {margins[0]} units "
        f"with one leader and {margins[1]} with two. With K known it is {known[0]} at K = "
        f"10^{exponents[0]}, where its last stage is enough, and {known[-1]} at "
        f"10^{exponents[-1]}. The exponential mechanism's n grows with ln K by 1/rate ({off:.1%} "
        "off, second table). The distance mechanism cannot answer D = (2, …, 2): with n = "
        f"{MOST_UNITS:,} it names an item with probability {at:.1e}. But large margin's constants "
        "are large. Under replace-one the exponential needs fewer units "
        f"{f'below K = 10^{dearer[0]}' if dearer else 'everywhere'}. Tight-margin ({tight}) and "
        f"limited-domain ({limited}) do at any K, without knowing it."
    )
    return Section("Units needed for 95 % success", reading, (Table(columns, tuple(rows)), slopes))


def _pure(results: Results) -> Section:
    exponents, one = _exponents(results), next(iter(LEADERS))
    rows: list[tuple[Cell, ...]] = []
    for relation in Neighbors:
        rows.append(
            ("bound (b)", relation, *(math.ceil(pure_need(10**e, relation)) for e in exponents))
        )
        rows += [
            (name, relation, *_needed(results, one, relation, name, EVEN))
            for name in (*PURE, MARGIN)
        ]
    bound, exponential, flip, _, margin = rows[: 2 + len(PURE)]
    reading = (
        "Section 2.2, Proposition 1, in the form proved here. With δ = 0 no mechanism names the "
        "only item that occurs with probability 1/2 unless n >= ln(K - 1)/ε (half of that under "
        f"add-remove). Under replace-one it is {bound[-1]} units at K = 10^{exponents[-1]}; the "
        f"exponential mechanism needs {exponential[-1]}, permute-and-flip {flip[-1]}. Large "
        f"margin, with δ = {DELTA}, needs {margin[-1]} for every K, but at K = 10^{exponents[0]} "
        f"the exponential mechanism needs {exponential[2]}. No success was above the bound."
    )
    table = Table(("n for 1/2", "neighbours", *(f"K = 10^{e}" for e in exponents)), tuple(rows))
    return Section("Pure privacy pays for the universe", reading, (table,))


def _margin(results: Results) -> Section:
    rows = []
    for ell in _ells(results):
        halves = [results["answers"][f"margin|{ell}|{name}"]["half"] for name in CONTEST]
        rows.append(
            (
                ell,
                max(math.log((ell - 1) / 2) / EPSILON, 0.0),
                *halves,
                6 / EPSILON * math.log(4 * ell),
            )
        )
    ell, bound, margin, tight, limited, exponential, enough = rows[-1]
    won = [f"{row[0]:,}" for row in rows if row[2] < min(row[3:6])]
    fewest_at = f"ℓ = {', '.join(won)}" if won else "no ℓ here"
    reading = (
        "Section 3.1, Theorem 1, in the form proved here. Among ℓ items nearly tied no (ε, "
        "δ)-private mechanism names the best with probability 1/2 unless it leads by ln((ℓ - "
        f"1)/2)/ε. That holds however large the margin below them. At ℓ = {ell:,} that lead is "
        f"{bound:.1f} units. Large margin needs {margin}, {margin / bound:.1f} times as many, as "
        f"its last stage weighs with ε/6 (Theorem 3 promises {enough:.0f}); tight-margin {tight}, "
        f"limited-domain {limited}, and exponential, K = {LARGEST:,}, {exponential}. The first "
        f"three look at the top {LARGEST:,} at most: that cap, the same for all, is public and "
        f"costs no privacy. Large margin needs fewest at {fewest_at}. "
        "No success was above the bound at any point."
    )
    table = Table(("ℓ", "bound: ln((ℓ-1)/2)/ε", *CONTEST, "Theorem 3: (6/ε) ln 4ℓ"), tuple(rows))
    return Section("A margin below rank ℓ leaves ln ℓ to pay", reading, (table,))


QUESTION = "The worked examples of the large margin paper, as exact numbers"
STUDY = Study("examples", "benchmarks.paper.worked_examples", QUESTION, tasks, sections)

if __name__ == "__main__":
    main(STUDY)
