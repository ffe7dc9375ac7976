"""`fim-private plan` and `fim-private audit`, and several itemsets from `fim-private mine`, as
processes.
"""

from __future__ import annotations

import json
import re
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
    assert (
        found["exponential"],
        found["permute-and-flip"],
        found["choosing"],
        found["distance"],
    ) == (22, 21, 25, 17)


@pytest.mark.full
def test_plan_says_what_to_take() -> None:
    done = run("plan", "--units", 100_000)
    assert (done.stderr, done.returncode) == ("", 0)
    assert "* limited-domain: it needs no list of items" in done.stdout
    assert "% of" in done.stdout
    assert re.search(r"│ +margin │ margin if │.*\n.*│ +needed │ +10 tie │", done.stdout)
    small = run("plan", "--units", 10)
    assert "10 units are too few" in small.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "--epsilon", 1],
        ["audit", "--mechanism", "exponential", "--trials", 0],
        ["budget", "show", "sales.ledger"],
        ["inspect", "baskets.dat"],
    ],
    ids=lambda words: words[0],
)
@pytest.mark.one_in(4)
def test_a_table_or_json_is_written_as_the_output_is_named(
    words: list[object], tmp_path: Path
) -> None:
    (tmp_path / "baskets.dat").write_text("1 2\n1 3\n")
    fim.Ledger.create(tmp_path / "sales.ledger", epsilon=1, delta=1e-6)
    assert run(*words, "--output", "found.JSON", folder=tmp_path).returncode == 0
    assert json.loads((tmp_path / "found.JSON").read_text(encoding="utf-8"))
    refused = run(*words, "--output", "found.csv", folder=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(
        "Error: cannot write 'found.csv': this command writes files that end in .txt or .json"
    )
    assert refused.stderr.count("\n") == 1
    assert (
        run(*words, "--output", "found.csv", "--format", "table", folder=tmp_path).returncode == 0
    )
    assert (tmp_path / "found.csv").read_text(encoding="utf-8")[0] not in "[{"


@pytest.mark.full
def test_plan_for_many(tmp_path: Path) -> None:
    plan = as_json("plan", "--typical-basket", 10, "--units", 100_000, "--supports")
    assert plan["top"] == [10, 50, 100]
    assert plan["recommended"] == ["limited-domain", "levelwise", "levelwise"]
    other = as_json(
        "plan",
        "--typical-basket",
        10,
        "--units",
        100_000,
        "--supports",
        "--neighbors",
        "replace-one",
    )
    assert other["recommended"] == ["levelwise"] * 3
    assert {one["name"] for one in plan["mechanisms"]} == {
        "exponential",
        "limited-domain",
        "choosing",
        "levelwise",
    }
    done = run(
        "plan",
        "--typical-basket",
        10,
        "--top",
        "5,20",
        "--size",
        "2-3",
        "--figure",
        "top.svg",
        folder=tmp_path,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    assert "itemsets asked for, of each size" in (tmp_path / "top.svg").read_text(encoding="utf-8")
    done = run(
        "plan", "--units", 10_000, "--epsilons", "1,2", "--figure", "plan.svg", folder=tmp_path
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    assert "limited-domain" in (tmp_path / "plan.svg").read_text(encoding="utf-8")
    table = run("plan", "--top", 5)
    assert "levelwise (items of a typical basket)" in table.stdout


def test_plan_for_customers() -> None:
    asked = ["plan", "--units", 10_000, "--user-items", 30, "--top", 50]
    plan = as_json(*asked)
    assert plan["expected_found"] == fim.plan(units=10_000, user_items=30, top=50).expected_found
    table = run(*asked)
    assert (table.stderr, table.returncode) == ("", 0)
    assert f"{100 * plan['expected_found']['replace-one']['list']:.0f} %" in table.stdout


@pytest.mark.full
def test_audit_is_kept_and_says_how_much_is_used() -> None:
    audit = as_json(
        "audit", "--mechanism", "limited-domain", "--neighbors", "add-remove", "--trials", 20
    )
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
        (
            ["plan", "--epsilons", "1,one", "--figure", "x.png"],
            "Error: --epsilons must be a number such as 0.5 or 1e-6, not 'one'",
        ),
        (["plan", "--mechanism", "x"], "Error: No such option: --mechanism"),
        (
            ["audit", "--mechanism", "levelwise"],
            "Error: levelwise has many steps, which the tests audit one by one",
        ),
        (
            ["audit", "--mechanism", "laplace"],
            ("Error: --mechanism must be one of all, large-margin"),
        ),
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


@pytest.mark.full
def test_a_range_of_sizes_as_table_and_csv(tmp_path: Path) -> None:
    (tmp_path / "shop.dat").write_text(
        "1 2 3\n" * 900 + "1 2\n" * 300 + "4\n" * 9, encoding="utf-8"
    )
    options = [
        "shop.dat",
        "--size",
        "2-3",
        "--top",
        2,
        "--mechanism",
        "limited-domain",
        "--supports",
        "--seed",
        2,
    ]
    table = run("mine", *options, folder=tmp_path)
    assert (table.stderr, table.returncode) == ("", 0)
    assert "{1, 2, 3}" in table.stdout
    assert "The budget was split: " in table.stdout
    assert "NOT PRIVATE" in table.stdout
    csv = run("mine", *options, "--format", "csv", folder=tmp_path).stdout.splitlines()
    assert csv[0] == "item_1,item_2,item_3,support,lower,upper,share,doubtful"
    assert csv[1].startswith("1,2,,1")
    together = run(
        "mine", *options, "--union", "--format", "csv", folder=tmp_path
    ).stdout.splitlines()
    assert len(together) == 3
