"""`fim-private plan` and `fim-private audit`, and several itemsets from `fim-private mine`."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import refused, run, told

import fim_private as fim


def as_json(*arguments: object) -> Any:
    return json.loads(told(run(Path(), *arguments, "--format", "json")))


def test_plan_for_customers() -> None:
    asked = ["plan", "--units", 10_000, "--user-items", 30, "--top", 50]
    plan = as_json(*asked)
    assert plan["expected_found"] == fim.plan(units=10_000, user_items=30, top=50).expected_found
    table = told(run(Path(), *asked))
    assert f"{100 * plan['expected_found']['replace-one']['list']:.0f} %" in table


@pytest.mark.full
def test_audit_is_kept_and_says_how_much_is_used() -> None:
    asked = ["--mechanism", "limited-domain", "--neighbors", "add-remove", "--trials", 20]
    audit = as_json("audit", *asked)
    assert audit["holds"] is True
    assert audit["mechanism"] == "limited-domain"
    assert audit["numerical_error"] <= 1e-12
    assert 0.99 < audit["whole"]["share"] <= 1
    assert len(audit["whole"]["one"]) == len(audit["whole"]["two"])
    table = told(run(Path(), "audit", "--mechanism", "distance", "--trials", 0))
    assert "every guarantee holds" in table
    assert "pairs of neighbours" in table


PLAN, AUDIT = ["plan"], ["audit", "--mechanism"]
COMPARED = [*PLAN, "--epsilons", "1,2"]
DRAWN = [*COMPARED, "--figure", "x.png"]
CUSTOMERS = [*PLAN, "--units", "9", "--user-items", "30"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*PLAN, "--units", "0"], "--units must be a whole number of at least 1, not 0"),
        (COMPARED, "--epsilons and --figure go together"),
        ([*DRAWN, "--format", "json"], "--format is not used with --figure"),
        ([*DRAWN, "--epsilon", "1"], "--epsilon is not used with --epsilons"),
        ([*DRAWN, "--top", "10,50"], "--epsilons are for one --top: a figure for several is drawn"),
        ([*CUSTOMERS, "--typical-basket", "5"], "--typical-basket is not used with --user-items"),
        ([*PLAN, "--top", "5,x"], "--top must be a whole number, not 'x'"),
        ([*PLAN, "--epsilons", "1,one", "--figure", "x.png"], "--epsilons"),
        ([*PLAN, "--figure", "x.gif"], "--figure must be a name that ends in .png, .svg, .pdf"),
        ([*PLAN, "--figure", "."], "cannot write '.': it is a folder; give --figure a file name"),
        ([*PLAN, "--mechanism", "x"], "No such option: --mechanism"),
        ([*AUDIT, "levelwise"], "levelwise has many steps, which the tests"),
        ([*AUDIT, "laplace"], "--mechanism must be one of all"),
    ],
    ids=str,
)
@pytest.mark.one_in(3)
def test_errors_are_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    assert refused(run(tmp_path, *arguments)).startswith(f"Error: {message}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("compared", [[], ["--epsilons", "1,2"]])
def test_a_figure_is_said_to_be_written(compared: list[str], tmp_path: Path) -> None:
    done = run(tmp_path, *PLAN, "--units", "1000", *compared, "--figure", "plan.svg")
    assert (done.stdout, done.stderr, done.returncode) == ("", "wrote plan.svg\n", 0)
    assert (tmp_path / "plan.svg").read_bytes().startswith(b"<?xml")


def test_a_plan_warns_of_a_promise_that_is_next_to_none(tmp_path: Path) -> None:
    done = run(tmp_path, "plan", "--units", "1000", "--delta", "0.001", "--epsilon", "12")
    assert "Warning: --epsilon 12 promises next to nothing" in done.stderr
    assert "Warning: --delta 0.001 is not below 1 / (number of units)" in done.stderr
    users = run(tmp_path, "plan", "--units", "1000", "--user-items", "30", "--delta", "0.001")
    assert "Warning: --delta 0.001 is not below 1 / (number of units)" in users.stderr
    assert not run(tmp_path, "plan", "--units", "1000").stderr
