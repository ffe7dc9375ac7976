"""Each claim of the paper, and what was found about it, with the number."""

from __future__ import annotations

import math

import corollary1_figures
import examples
import utility_figures
from study import Results, Table

REPLACE, REMOVE = "replace-one", "add-remove"


def claims(results: dict[str, Results]) -> Table:
    """Return a row a claim: where it stands in the paper, what it says, the verdict, and the part of the page."""
    rows = (
        *_shortcomings(results["examples"]),
        *_bounds(results["examples"]),
        *_mechanism(results["corollary1"]),
        *_itemsets(results["corollary1"], results["utility"]),
        *_learning(results["pac_learning"]),
    )
    return Table(("section", "claim", "found", "part of this page"), rows)


def _least_units(found: Results, data: str, name: str) -> list[int | None]:
    key = f"{data}|{examples.SURE}|{REPLACE}|{name}"
    return list(found["answers"][key]["units"])


def _shortcomings(found: Results) -> tuple[tuple[str, str, str, str], ...]:
    one, two = examples.LEADERS
    exponents = found["answers"][f"{one}|{examples.SURE}|{REPLACE}|exponential"]["exponents"]
    exponential = _least_units(found, one, "exponential")
    margin = [_least_units(found, data, "large-margin")[0] for data in (one, two)]
    distance = found["answers"][f"{two}|{examples.SURE}|{REPLACE}|distance"]["success with most units"]
    part = "Units needed for 95 % success"
    return (
        (
            "2.2",
            "Equation (1): the exponential mechanism needs n = Ω(log K / ε) though one item leads by all of n",
            f"Confirmed: {exponential[0]} units at K = 10^{exponents[0]}, {exponential[-1]} at 10^{exponents[-1]}, "
            "linear in ln K with slope 2/ε (replace-one).",
            part,
        ),
        (
            "2.2",
            "The distance mechanism fails on D = (2, …, 2), where two items lead together",
            f"Confirmed: it names an item with probability {distance:.1e} for every n; on D = (1, …, 1) it needs the "
            f"fewest of all ({_least_units(found, one, 'distance')[0]} units).",
            part,
        ),
        (
            "2.2",
            "Large margin fails on neither",
            f"Confirmed: {margin[0]} and {margin[1]} units, whatever K is. These constants are larger than the "
            "exponential mechanism's need for all K that anybody lists.",
            part,
        ),
        (
            "2.2",
            "Proposition 1: without δ the universe has to be paid for",
            "Confirmed in the form proved here (n ≥ ln(K − 1)/ε for success 1/2): no purely private mechanism is above "
            "the bound, and the exponential mechanism is within a factor of two of it.",
            "Pure privacy pays for the universe",
        ),
    )


def _bounds(found: Results) -> tuple[tuple[str, str, str, str], ...]:
    ells = sorted({int(key.split("|")[1]) for key in found["answers"] if key.startswith("margin|")})
    half = found["answers"][f"margin|{ells[-1]}|large-margin"]["half"]
    bound = math.log((ells[-1] - 1) / 2) / examples.EPSILON
    return (
        (
            "3.1",
            "Theorem 1: even with a margin below rank ℓ an error of order log(ℓ)/(nε) cannot be avoided",
            f"Confirmed in the form proved here: at ℓ = {ells[-1]:,} a lead of {bound:.1f} units is necessary; large "
            f"margin needs {half}. No mechanism is above the bound at any point.",
            "A margin below rank ℓ leaves ln ℓ to pay",
        ),
    )


def _mechanism(found: Results) -> tuple[tuple[str, str, str, str], ...]:
    points = corollary1_figures.covered(found)
    below = [p for p in points if p.upper < 1 - p.eta]
    share = min((p.share for p in points), default=math.nan)
    verdict = "Confirmed" if points and not below else f"NOT confirmed in {len(below)} cases"
    return (
        (
            "3.3",
            "Theorem 2: Algorithm 1 is (ε, δ)-private",
            "Proved again for integer noise and unknown universes in privacy.md (Theorems 1 to 3), and audited exactly "
            "(`fim-private audit --mechanism large-margin`); not a matter of this page.",
            "–",
        ),
        (
            "3.3",
            "Theorem 3: under its margin condition f(I) ≥ f_max − (6/(nε)) ln(2ℓ*/η) with probability 1 − η",
            f"{verdict}: {len(points)} checks, the least share of releases within the bound is {share:.4f} (at any η).",
            "The bound of Theorem 3",
        ),
    )


def _itemsets(found: Results, utility: Results) -> tuple[tuple[str, str, str, str], ...]:
    needs = next(iter(corollary1_figures.parts(found, "needs").values()))
    constants = [case["constant"] for case in corollary1_figures.parts(found, "coverage").values()]
    largest = max((c for c in constants if c is not None), default=math.nan)
    crossing = {n: needs[n]["crossing"]["measured"] for n in (REPLACE, REMOVE)}
    cases = [case for case in corollary1_figures.parts(found, "condition").values() for case in case]
    failed = max((case["ratio"] for case in cases if case["released"] < 0.95), default=math.nan)
    rows = [row for row in utility_figures.rows_of(utility) if row.epsilon == 1 and row.delta == 1e-6]
    tops = {entry: [r.found["fnr"] for r in rows if r.entry == entry and r.k == 1] for entry in ("large-margin",)}
    lost = sum(rate > 0.5 for rate in tops["large-margin"])
    return (
        (
            "4.1",
            "Corollary 1: for itemsets the error does not depend on |I|: O(log(L/δ)/(nε))",
            f"Confirmed with C = {largest:.2f} on this data; the error is the same at 10^6 and at 10^60 items.",
            "Error as the universe grows; The constant of Corollary 1",
        ),
        (
            "4.1",
            "It takes f_max ≥ C log(L/δ)/(nε)",
            f"Confirmed with C about {failed:.0f}, a large constant: no failure above it in {len(cases):,} cases.",
            "When does it succeed?",
        ),
        (
            "4.1",
            "The exponential mechanism's error grows as r log |I|",
            f"Confirmed. But large margin is ahead only beyond ln K = {crossing[REPLACE]:.0f} (replace-one) or "
            f"{crossing[REMOVE]:.0f} (add-remove): hundreds, where a shop's pairs are some 20.",
            "Support needed as the universe grows; Where the two cross",
        ),
        (
            "4.1",
            "Nothing about the universe has to be known",
            "Confirmed with the command on open vocabularies, where the exponential mechanism is refused or pays.",
            "Items that nobody knows in advance",
        ),
        (
            "4.1",
            "(not claimed) It finds the top itemset of real data",
            f"In {len(tops['large-margin']) - lost} of {len(tops['large-margin'])} data sets and sizes at ε = 1; "
            "limited-domain, later work that knows as little, finds more.",
            "Which wins where",
        ),
    )


def _learning(found: Results) -> tuple[tuple[str, str, str, str], ...]:
    growth = {key: answer for key, answer in found["answers"].items() if key.startswith("growth|")}
    moved = max(max(g["errors"]["large-margin"]) - min(g["errors"]["large-margin"]) for g in growth.values())
    covered = [a["covered"] for key, a in found["answers"].items() if key.startswith("learning|")]
    within = min((c for c in covered if c is not None), default=math.nan)
    return (
        (
            "4.2",
            "Useless hypotheses cost nothing: what counts are the nearly best",
            f"Confirmed where n is large enough for a margin: the excess error moves by {moved:.1e} at most up to "
            "|H| = 10^300; the exponential mechanism is better until |H| is astronomical.",
            "Excess error as the class grows",
        ),
        (
            "4.2",
            "Corollary 2: error O(log |H(t*)| / (nε)) beyond what sampling costs",
            f"Confirmed in the form proved here: within the bound with probability {within:.4f} or more wherever t* "
            "exists (promised: 0.9). The bound is far above what is measured.",
            "The bound as the sample grows",
        ),
    )
