"""Each claim of the paper, and what was found about it: every verdict is counted from the studies'
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.frame.study import Results
from benchmarks.frame.tables import Table, floored
from benchmarks.paper import corollary1
from benchmarks.paper import worked_examples as examples
from benchmarks.utility.measures import BASKET, rows_of
from fim_private.dp.neighbors import Neighbors
from fim_private.mechanisms import LargeMargin

RATES = {
    Neighbors.REPLACE_ONE: 0.5,
    Neighbors.ADD_REMOVE: 1.0,
}  # of the exponential mechanism at ε = 1
DELTA = 1e-6
PROMISED, CLOSE = 0.9, 0.05  # by Corollary 2, with the η of pac_learning; relative, of a slope
Row = tuple[str, str, str, str]


def verdict(tested: int, failed: int) -> str:
    """Return the first words of what was found."""
    if not tested:
        return "Not tested"
    return f"NOT confirmed in {failed} of {tested}" if failed else "Confirmed"


def judged(checks: Iterable[bool]) -> str:
    """Return the verdict on checks, with their number."""
    held = list(checks)
    return f"{verdict(len(held), held.count(False))} ({len(held):,} checks)"


def claims(results: dict[str, Results]) -> Table:
    """Return a row a claim: where it stands in the paper, what it says, the verdict, and the
    section of the tables that shows it.
    """
    rows = (
        *_shortcomings(results["examples"]["answers"]),
        _margin(results["examples"]["answers"]),
        *(row for made in (_mechanism, _itemsets) for row in made(results["corollary1"])),
        _growth(results["corollary1"]),
        _vocabulary(results["corollary1"]),
        _real(results["utility"]),
        *_learning(results["pac_learning"]["answers"]),
    )
    return Table(("section", "claim", "found", "section of the tables"), rows)


def _of(
    found: dict[str, Any],
    data: str,
    name: str,
    relation: Neighbors = Neighbors.REPLACE_ONE,
    target: float = examples.SURE,
) -> Any:
    return found[f"{data}|{target}|{relation}|{name}"]


def _close(slope: float, predicted: float) -> bool:
    return abs(slope / predicted - 1) <= CLOSE


def _slope(exponents: list[int], units: list[int | None]) -> float:
    """Return the slope against log10 of the size; not a number where a size has none."""
    known = [n for n in units if n is not None]
    return corollary1.slope(exponents, known) if len(known) == len(units) else math.nan


def _constant(units: list[int | None]) -> bool:
    return len(set(units)) == 1 and units[0] is not None


def _shortcomings(found: dict[str, Any]) -> Iterator[Row]:
    one, two = examples.LEADERS
    part = "Units needed for 95 % success"
    cases = [
        (_of(found, data, "exponential", relation), relation)
        for data in (one, two)
        for relation in Neighbors
    ]
    slopes = [
        _close(_slope(c["exponents"], c["units"]), math.log(10) / RATES[relation])
        for c, relation in cases
    ]
    exponents, units = cases[0][0]["exponents"], cases[0][0]["units"]
    yield (
        "2.2",
        (
            "Equation (1): the exponential mechanism needs n = Ω(log K / ε) though one item leads "
            "by all of n"
        ),
        f"{judged(slopes)}: {units[0]} units at K = 10^{exponents[0]}, {units[-1]} at "
        f"10^{exponents[-1]}. A check is a slope against ln K within 5 % of 2/ε (replace-one) or "
        "1/ε (add-remove), with one leader and with two.",
        part,
    )
    tied, alone = (
        [_of(found, data, "distance", relation) for relation in Neighbors] for data in (two, one)
    )
    highest = max(case["success with most units"] for case in tied)
    fails = [
        case["success with most units"] <= examples.DELTA and not any(case["units"])
        for case in tied
    ]
    yield (
        "2.2",
        "The distance mechanism fails on D = (2, …, 2), where two items lead together",
        f"{judged([*fails, *(None not in case['units'] for case in alone)])}: with up to "
        f"{examples.MOST_UNITS:,} units it names an item with probability {highest:.1e} at most; "
        f"on D = (1, …, 1) it needs {alone[0]['units'][0]} units whatever K.",
        part,
    )
    margin = [_of(found, data, "large-margin")["units"] for data in (one, two)]
    yield (
        "2.2",
        "Large margin fails on neither",
        f"{judged(_constant(units) for units in margin)}: {margin[0][0]} and {margin[1][0]} "
        f"units, whatever K is. Both "
        "are more than the exponential mechanism needs at any K that anybody lists.",
        part,
    )
    pure = [
        n is not None and n >= examples.pure_need(10**exponent, relation)
        for name in examples.PURE
        for relation in Neighbors
        for case in [_of(found, one, name, relation, examples.EVEN)]
        for exponent, n in zip(case["exponents"], case["units"], strict=True)
    ]
    even = _of(found, one, "large-margin", Neighbors.REPLACE_ONE, examples.EVEN)["units"]
    yield (
        "2.2",
        "Proposition 1: without δ you pay for the universe",
        f"{judged([*pure, _constant(even)])} in the form proved here: n ≥ ln(K − 1)/ε for success "
        "1/2, half of that under add-remove. A check is a pure mechanism at a K, which needs that "
        "at least. The exponential mechanism needs about twice that. One more check is that large "
        f"margin needs {even[0]} units for every K.",
        "Pure privacy pays for the universe",
    )


def _margin(found: dict[str, Any]) -> Row:
    curves = {
        tuple(key.split("|")[1:]): curve
        for key, curve in found.items()
        if key.startswith("margin|")
    }
    needed = {
        ell: math.log((int(ell) - 1) / 2) / examples.EPSILON for ell, _ in curves if int(ell) > 1
    }
    checks = [
        curve["half"] is not None and curve["half"] >= needed[ell]
        for (ell, _), curve in curves.items()
    ]
    for (ell, _), curve in curves.items():
        points = zip(curve["units"], curve["success"], strict=True)
        checks += [
            success <= examples.with_margin(int(ell), m) * (1 + 1e-9) for m, success in points
        ]
    most = max(needed, key=lambda ell: int(ell), default="0")
    half = curves.get((most, "large-margin"), {}).get("half")
    return (
        "3.1",
        (
            "Theorem 1: even with a margin below rank ℓ an error of order log(ℓ)/(nε) cannot be "
            "avoided"
        ),
        f"{judged(checks)} in the form proved here: no success is above the bound, no mechanism "
        f"needs less. At ℓ = {int(most):,} a lead of {needed.get(most, math.nan):.1f} units is "
        f"needed, large margin needs {half}.",
        "A margin below rank ℓ leaves ln ℓ to pay",
    )


def _mechanism(found: Results) -> Iterator[Row]:
    points = corollary1.covered(found)
    cases = corollary1.parts(found, "coverage").values()
    holds = sum(any(row["rank"] is not None for row in case["rows"]) for case in cases)
    share = min((p.share for p in points), default=math.nan)
    yield (
        "3.3",
        "Theorem 2: Algorithm 1 is (ε, δ)-private",
        "Proved again for integer noise and unknown universes in privacy.md (Theorems 1 to 3), "
        "and audited exactly "
        "(`fim-private audit --mechanism large-margin`); not a matter of these studies.",
        "–",
    )
    yield (
        "3.3",
        (
            "Theorem 3: under its margin condition f(I) ≥ f_max − (6/(nε)) ln(2ℓ*/η) with "
            "probability 1 − η"
        ),
        f"{judged(p.lower >= 1 - p.eta for p in points)}: its condition holds for some η in "
        f"{holds} of {len(cases)} cases. A check is a case and an η. It asks that the lower "
        "Clopper–Pearson limit of the share within the bound is 1 − η at least. The least share is "
        f"{floored(share)} (at any η).",
        "The bound of Theorem 3",
    )


def _itemsets(found: Results) -> Iterator[Row]:
    cases = corollary1.parts(found, "coverage")
    released = [
        case["constant"] for (*_, delta), case in cases.items() if case["abstain"] <= float(delta)
    ]
    largest = max((c for c in released if c is not None), default=math.nan)
    yield (
        "4.1",
        "Corollary 1: for itemsets the error is O(log(L/δ)/(nε))",
        f"{judged(c is not None and math.isfinite(c) for c in released)}: the largest C with which "
        f"it holds with probability 1 − δ is {largest:.2f}. {len(cases) - len(released)} of "
        f"{len(cases)} cases are left out, as abstaining alone is above δ there.",
        "The constant of Corollary 1",
    )
    told = [case for case in corollary1.parts(found, "errors").values() if _told(case)]
    yield (
        "4.1",
        "Corollary 1: that error does not depend on |I|",
        f"{judged(_plateau(case) for case in told)}. Without the universe, large margin cannot "
        "depend on |I|: no |I| goes in. With it, it is better for small |I| and reaches the same "
        "plateau. A check is a data set and a size. There the universe costs nothing at any |I|, "
        "and at the largest changes the error by at most 1 % of f_max.",
        "Error as the universe grows",
    )
    rows = [row for case in corollary1.parts(found, "condition").values() for row in case]
    sure = [_released(row) for row in rows if row["ratio"] >= row["enough"]]
    measured = max((row["ratio"] for row in rows if not _released(row)), default=math.nan)
    constants = " / ".join(f"{proofs_constant(itemsets):.1f}" for itemsets in (1, 10, 10**3, 10**6))
    compared = "smaller" if measured < proofs_constant(10**6) else "not smaller"
    yield (
        "4.1",
        "It takes f_max ≥ C log(L/δ)/(nε)",
        f"{judged(sure)}. A check is a case with f_max·nε/ln(L/δ) above the constant that the "
        "proof gives: it releases with probability 1 − δ. The constant is (T(L) + 21 "
        f"ln(3/δ))/ln(L/δ) at ε = 1. That is {constants} at L = 1 / 10 / 10³ / 10⁶ (δ = 1e-6). The "
        f"least sufficient C measured is {measured:.1f} ({len(rows):,} cases), {compared}.",
        "When does it succeed?",
    )


def proofs_constant(itemsets: int) -> float:
    """Return the C that the proof of Corollary 1 gives for so many itemsets, at ε = 1 and δ =
    1e-6.
    """
    margin = float(LargeMargin.thresholds(1.0, DELTA, itemsets)) + 21 * math.log(3 / DELTA)
    return margin / math.log(itemsets / DELTA)


def _released(row: dict[str, float]) -> bool:
    return row["abstain"] <= row["delta"]


def _told(case: dict[str, Any]) -> list[float]:
    return [row["large-margin"] for row in case["rows"] if "large-margin" in row]


def _plateau(case: dict[str, Any]) -> bool:
    most, off = case["maximum"], [error - case["large-margin"] for error in _told(case)]
    return bool(max(off) <= 1e-9 * most and abs(off[-1]) <= 0.01 * most)


def _growth(found: Results) -> Row:
    cases = corollary1.parts(found, "needs")
    checks = [
        _close(
            _slope(case["exponents"], case[name]["exponential"]),
            int(size) * math.log(10) / RATES[name],
        )
        for (size,), case in cases.items()
        for name in Neighbors
    ]
    crossing = [
        next((case[n]["crossing"]["measured"] for case in cases.values()), math.nan)
        for n in Neighbors
    ]
    return (
        "4.1",
        "The exponential mechanism's error grows as r log |I|",
        f"{judged(checks)}, of the support needed: it grows by r ln 10 / rate units for each "
        "factor of ten in |I|. A check is an r and a notion of neighbours, within 5 %. The error "
        "itself steps from about 0 to f_max where the support is below that. Large margin is ahead "
        f"only beyond ln K = {crossing[0]:.0f} (replace-one) or {crossing[1]:.0f} (add-remove): "
        "hundreds, where a shop's pairs are some 20.",
        "Support needed as the universe grows; Where the two cross",
    )


def _vocabulary(found: Results) -> Row:
    needed = corollary1.parts(found, "vocabulary")
    commands = corollary1.parts(found, "command").items()
    checks = [
        _expected(asked, needed.get((name, "2"), {}))
        for (name, *_), answers in commands
        for asked in answers
    ]
    return (
        "4.1",
        "You need to know nothing about the universe",
        f"{judged(checks)}: a check is a run of the command on an open vocabulary. Large margin "
        "and limited-domain find the planted pair where its support is what they need. Without the "
        "vocabulary's size the exponential mechanism is refused. With it, it names the pair where "
        "its support pays for that. Nobody names another.",
        "Items that nobody knows in advance",
    )


def _expected(command: dict[str, Any], needed: dict[str, dict[str, int]]) -> bool:
    """Say whether the command did what it has to: refuse, or name the planted pair if its support
    is enough.
    """
    mechanism = command["mechanism"]
    if mechanism == "exponential" and "--universe-size" not in command["options"]:
        return bool(command["exit"] == 2 and command["answer"].startswith("Error"))
    kind = "named-exponential" if mechanism == "exponential" else mechanism
    enough = command["planted"] >= needed.get(Neighbors.REPLACE_ONE, {}).get(kind, math.inf)
    wrong = ("another pair", "no named itemset") if enough else ("another pair",)
    return command["exit"] == 0 and command["answer"] not in wrong


def _real(utility: Results) -> Row:
    setting = BASKET, Neighbors.ADD_REMOVE, 1, DELTA, 1
    rows = [
        row
        for row in rows_of(utility)
        if (row.unit, row.neighbors, row.epsilon, row.delta, row.k) == setting
    ]
    entries = "large-margin", "limited-domain"
    ours, theirs = (
        [row.found["fnr"] <= 0.5 for row in rows if row.entry == entry] for entry in entries
    )
    counts = (
        f"In {sum(ours)} of {len(ours)} data sets and sizes more often than not; "
        f"limited-domain, later work that "
    )
    return (
        "4.1",
        "(not claimed) It finds the top itemset of real data",
        (
            f"{counts}knows as little, in {sum(theirs)} of {len(theirs)}. ε = 1 in all; selecting "
            f"gets two thirds of it."
        )
        if ours
        else f"{verdict(0, 0)}.",
        "Which wins where",
    )


def _learning(found: dict[str, Any]) -> Iterator[Row]:
    errors = [
        answer["errors"]["large-margin"]
        for key, answer in found.items()
        if key.startswith("growth|")
    ]
    moved = [max(case) - min(case) for case in errors]
    yield (
        "4.2",
        "Useless hypotheses cost nothing: what counts are the nearly best",
        f"{judged(most < 1e-6 for most in moved)} where n is large enough for a margin. Large "
        f"margin's excess error moves by {max(moved, default=math.nan):.1e} at most up to |H| = "
        "10^300. The exponential mechanism is better until |H| is astronomical.",
        "Excess error as the class grows",
    )
    learned = [
        answer
        for key, answer in found.items()
        if key.startswith("learning|") and answer["bound"] is not None
    ]
    covered = [answer["covered"] for answer in learned]
    least = min((share for share in covered if share is not None), default=math.nan)
    yield (
        "4.2",
        "Corollary 2: error O(log |H(t*)| / (nε)) beyond what sampling costs",
        f"{judged(share is not None and share >= PROMISED for share in covered)} in the form "
        "proved here. In each case where t* exists the error is within the bound with probability "
        f"{floored(least)} at least (promised: {PROMISED}). The bound is far above what is "
        "measured.",
        "The bound as the sample grows",
    )
