"""`fim-private plan` and `fim-private audit`, and several itemsets from `fim-private mine`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import Done
from commands import run as run_command

import fim_private as fim
from fim_private.mechanisms import registry

NAMES = [*registry.single()]


def run(*arguments: object, folder: Path | None = None) -> Done:
    return run_command(folder or Path(), *arguments)


def as_json(*arguments: object) -> Any:
    done = run(*arguments, "--format", "json")
    assert (done.stderr, done.returncode) == ("", 0)
    return json.loads(done.stdout)


def test_plan_is_the_contract() -> None:
    plan = as_json("plan", "--units", 100_000, "--size", 2, "--epsilon", 1, "--delta", 1e-6)
    assert [mechanism["name"] for mechanism in plan["mechanisms"]] == NAMES
    assert all(
        {"required_support", "required_margin", "needs"} <= set(m) for m in plan["mechanisms"]
    )
    assert plan["recommended"] == "limited-domain"
    found = {m["name"]: m["required_support"] for m in plan["mechanisms"]}
    assert found["large-margin"] == 438
    assert found["exponential"] is None
    known = as_json("plan", "--universe-size", 16_470, "--max-basket", 50, "--confidence", 0.95)
    found = {m["name"]: m["required_support"] for m in known["mechanisms"]}
    figures = {"exponential": 22, "permute-and-flip": 21, "choosing": 25, "distance": 17}
    assert figures.items() <= found.items()


def test_plan_for_customers() -> None:
    asked = ["plan", "--units", 10_000, "--user-items", 30, "--top", 50]
    plan = as_json(*asked)
    assert plan["expected_found"] == fim.plan(units=10_000, user_items=30, top=50).expected_found
    table = run(*asked)
    assert (table.stderr, table.returncode) == ("", 0)
    assert f"{100 * plan['expected_found']['replace-one']['list']:.0f} %" in table.stdout


@pytest.mark.full
def test_audit_is_kept_and_says_how_much_is_used() -> None:
    asked = ["--mechanism", "limited-domain", "--neighbors", "add-remove", "--trials", 20]
    audit = as_json("audit", *asked)
    assert audit["holds"] is True
    assert audit["mechanism"] == "limited-domain"
    assert audit["numerical_error"] <= 1e-12
    assert 0.99 < audit["whole"]["share"] <= 1
    assert len(audit["whole"]["one"]) == len(audit["whole"]["two"])
    table = run("audit", "--mechanism", "distance", "--trials", 0)
    assert (table.stderr, table.returncode) == ("", 0)
    assert "every guarantee holds" in table.stdout
    assert "pairs of neighbours" in table.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan", "--units", "0"], "Error: --units must be a whole number of at least 1, not 0"),
        (["plan", "--epsilons", "1,2"], "Error: --epsilons and --figure go together"),
        (
            ["plan", "--epsilons", "1,2", "--figure", "x.png", "--format", "json"],
            "Error: --figure is written instead of a table",
        ),
        (
            ["plan", "--epsilons", "1,2", "--figure", "x.png", "--epsilon", "1"],
            "Error: --epsilons are what the figure compares",
        ),
        (
            ["plan", "--epsilons", "1,2", "--top", "10", "--figure", "x.png"],
            "Error: --epsilons are for one itemset: a figure for many is drawn against --top",
        ),
        (
            ["plan", "--units", "9", "--user-items", "30", "--typical-basket", "5"],
            "Error: --typical-basket has no use with --user-items: leave it out",
        ),
        (["plan", "--top", "5,x"], "Error: --top must be a whole number, not 'x'"),
        (["plan", "--epsilons", "1,one", "--figure", "x.png"], "Error: --epsilons"),
        (["plan", "--mechanism", "x"], "Error: No such option: --mechanism"),
        (["audit", "--mechanism", "levelwise"], "Error: levelwise has many steps, which the tests"),
        (["audit", "--mechanism", "laplace"], "Error: --mechanism must be one of all"),
    ],
    ids=str,
)
@pytest.mark.one_in(3)
def test_errors_are_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = run(*arguments, folder=tmp_path)
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
