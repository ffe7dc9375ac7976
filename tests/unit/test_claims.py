"""The table of claims: every verdict is counted from the numbers, so a wrong number turns its row,
and only that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.paper import claim_verdicts as claims

ONE, TWO = "D = (1, …, 1)", "D = (2, …, 2)"
RATES = {"replace-one": 0.5, "add-remove": 1.0}
EXPONENTS = [2, 10, 60]
Answers = dict[str, Any]


def worked() -> Answers:
    found: Answers = {}
    for data, leaders in ((ONE, 1), (TWO, 2)):
        for relation, rate in RATES.items():
            units = [
                math.ceil((math.log(10**e / leaders - 1) + math.log(19)) / rate) for e in EXPONENTS
            ]
            found[f"{data}|0.95|{relation}|exponential"] = {"exponents": EXPONENTS, "units": units}
            alone = {"units": [34] * 3, "success with most units": 1.0}
            tied = {"units": [None] * 3, "success with most units": 3e-7}
            found[f"{data}|0.95|{relation}|distance"] = tied if leaders == 2 else alone
            for name in ("exponential", "permute-and-flip", "max-of-laplaces"):
                even = [math.ceil(math.log(10**e) / rate) for e in EXPONENTS]
                found[f"{ONE}|0.5|{relation}|{name}"] = {"exponents": EXPONENTS, "units": even}
        found[f"{data}|0.95|replace-one|large-margin"] = {
            "units": [438 if leaders == 1 else 451] * 3
        }
    found[f"{ONE}|0.5|replace-one|large-margin"] = {"units": [414] * 3}
    for name in ("large-margin", "exponential"):
        found[f"margin|100|{name}"] = {"half": 20, "units": [1, 10], "success": [0.01, 0.4]}
    return found


def itemsets() -> Answers:
    found: Answers = {}
    for size in (1, 2):
        for_size: Answers = {"exponents": EXPONENTS}
        for relation, rate in RATES.items():
            units = [round(size * math.log(10) * e / rate) + 6 for e in EXPONENTS]
            for_size[relation] = {"exponential": units, "crossing": {"measured": 216.0}}
        found[f"needs/{size}"] = for_size
    told = [{"exponent": e, "large-margin": error} for e, error in ((6, 1.0), (20, 2.0), (60, 3.0))]
    found["errors/retail/1"] = {"maximum": 500, "large-margin": 3.0, "rows": told}
    rows = [
        {"eta": eta, "rank": 1, "kept": 10_000, "draws": 10_000, "exact": 1.0}
        for eta in (0.5, 0.01)
    ]
    found["coverage/retail/1/1.0/1.0/1e-06"] = {"constant": 3.4, "abstain": 1e-9, "rows": rows}
    found["coverage/retail/3/1.0/1.0/1e-06"] = {
        "constant": None,
        "abstain": 0.5,
        "rows": [{"eta": 0.5, "rank": None}],
    }
    ratios = ((10.0, 0.3), (30.7, 0.99), (35.0, 1.0), (60.0, 1.0))
    found["condition/retail/1"] = [
        {"ratio": ratio, "released": released} for ratio, released in ratios
    ]
    kinds = {"large-margin": 438, "named-exponential": 745, "limited-domain": 55}
    found["vocabulary/strings/2"] = dict.fromkeys(RATES, kinds)
    found["command/strings"] = [
        {
            "mechanism": "large-margin",
            "options": "--mechanism large-margin",
            "exit": 0,
            "answer": "the planted pair",
        },
        {
            "mechanism": "exponential",
            "options": "--mechanism exponential",
            "exit": 2,
            "answer": "Error: a universe",
        },
        {
            "options": "--mechanism exponential --universe-size 9",
            "exit": 0,
            "answer": "no named itemset",
        },
    ]
    for command in found["command/strings"]:
        command["planted"] = 700
    return found


def learned() -> Answers:
    return {
        "growth|retail|1.0": {"errors": {"large-margin": [0.1, 0.1], "exponential": [0.0, 0.3]}},
        "growth|retail|0.5": {"errors": {"large-margin": [0.2, 0.2], "exponential": [0.0, 0.3]}},
        "learning|retail|1000": {"bound": None, "covered": None},
        "learning|retail|3000": {"bound": 0.1, "covered": 0.99987},
    }


def made() -> Answers:
    """Results in which every claim holds."""
    found = {"k": 1, "fnr": 0.0}
    real = {
        f"retail/1/{entry}/basket/add-remove/1.0/1e-06": [found]
        for entry in ("large-margin", "limited-domain")
    }
    return {
        name: {"answers": answers}
        for name, answers in (
            ("examples", worked()),
            ("corollary1", itemsets()),
            ("pac_learning", learned()),
            ("utility", real),
        )
    }


def found_by(results: Answers) -> dict[str, str]:
    return {str(row[1]): str(row[2]) for row in claims.claims(results).rows}


def drop(answers: Answers, *starts: str) -> None:
    for key in [key for key in answers if key.startswith(starts)]:
        del answers[key]


def each(answers: Answers, start: str) -> list[Any]:
    return [answer for key, answer in answers.items() if key.startswith(start)]


def change(
    start: str, value: Any, *path: Any, study: str = "corollary1"
) -> Callable[[Answers], None]:
    """Return what sets a value in every answer of a study whose key starts so."""

    def changed(results: Answers) -> None:
        for answer in each(results[study]["answers"], start):
            *inner, last = path
            for step in inner:
                answer = answer[step]
            answer[last] = value

    return changed


def without(study: str, start: str) -> Callable[[Answers], None]:
    return lambda results: drop(results[study]["answers"], start)


NOT = "NOT confirmed in"
MUTATIONS = [
    (
        "Equation (1)",
        f"{NOT} 1 of 4",
        change(f"{TWO}|0.95|add-remove|exp", None, "units", 1, study="examples"),
    ),
    (
        "The distance",
        f"{NOT} 2 of 4",
        change(f"{TWO}|0.95|", 0.5, "success with most units", study="examples"),
    ),
    (
        "Large margin fails",
        f"{NOT} 1 of 2",
        change(f"{TWO}|0.95|replace-one|l", 9, "units", 1, study="examples"),
    ),
    (
        "Proposition 1",
        f"{NOT} 1 of 19",
        change(f"{ONE}|0.5|add-remove|p", 20, "units", 2, study="examples"),
    ),
    ("Theorem 1", f"{NOT} 1 of 6", change("margin|100|exp", 0.9, "success", 0, study="examples")),
    ("Theorem 1", "Not tested", without("examples", "margin|")),
    ("Theorem 3", f"{NOT} 1 of 2", change("coverage/retail/1", 9_900, "rows", 1, "kept")),
    ("Corollary 1: for", f"{NOT} 1 of 1", change("coverage/retail/1", None, "constant")),
    ("Corollary 1: that", f"{NOT} 1 of 1", change("errors/", 300.0, "rows", 2, "large-margin")),
    ("It takes", f"{NOT} 1 of 1", change("condition/", 0.99, 3, "released")),
    (
        "The exponential mech",
        f"{NOT} 1 of 4",
        change("needs/2", [6, 6, 6], "add-remove", "exponential"),
    ),
    ("You need", f"{NOT} 1 of 3", change("command/", "another pair", 2, "answer")),
    ("(not claimed)", "In 0 of 1", change("retail/1/l", 0.8, 0, "fnr", study="utility")),
    ("Useless", "Not tested", without("pac_learning", "growth|")),
    (
        "Corollary 2",
        f"{NOT} 1 of 1",
        change("learning|retail|3000", 0.5, "covered", study="pac_learning"),
    ),
]


def test_all_is_confirmed() -> None:
    found = found_by(made())
    assert len(found) == 15
    words = [said.split()[0].rstrip(":") for said in found.values()]
    assert sorted(set(words)) == ["Confirmed", "In", "Proved"]
    assert words.count("Confirmed") == 13


@pytest.mark.parametrize(("claim", "said", "mutate"), MUTATIONS)
def test_a_wrong_number_turns_its_row(
    claim: str, said: str, mutate: Callable[[Answers], None]
) -> None:
    before = found_by(made())
    results = made()
    mutate(results)
    after = found_by(results)
    assert list(after) == list(before)
    turned = {name for name in after if after[name].split()[:5] != before[name].split()[:5]}
    (row,) = (name for name in after if name.startswith(claim))
    assert after[row].startswith(said)
    assert {name for name in after if verdict(after[name]) != verdict(before[name])} <= {row}
    assert row in turned


def verdict(said: str) -> str:
    return next(
        (
            word
            for word in ("Confirmed", "NOT confirmed", "Not tested", "Proved")
            if said.startswith(word)
        ),
        "",
    )


def test_the_constant_of_the_proof() -> None:
    constants = [claims.proofs_constant(itemsets) for itemsets in (1, 10, 10**3, 10**6)]
    assert constants == pytest.approx([52.7, 49.0, 44.7, 41.1], abs=0.06)
    said = found_by(made())["It takes f_max ≥ C log(L/δ)/(nε)"]
    assert "The least sufficient C measured is 30.7 (4 cases), smaller" in said
