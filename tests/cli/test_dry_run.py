"""`mine --dry-run`: the plan, before anything is read or charged."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import fim_private as fim
from fim_private.cli.commands import app

SHOP = str(Path(__file__).resolve().parents[2] / "datasets" / "corner_shop.parquet")


def dry_run(*arguments: str, data: str = SHOP) -> str:
    result = CliRunner().invoke(app, ["mine", data, "--dry-run", *arguments])
    if result.exception is not None:
        raise result.exception
    return result.stdout


REQUESTS = [
    [],
    ["--top", "10"],
    ["--top", "10", "--size", "1-3", "--rules"],
    ["--min-support", "2%", "--size", "1-2"],
    ["--rho", "0.05", "--top", "3", "--mechanism", "limited-domain"],
    ["--mechanism", "exponential", "--catalogue", "datasets/catalogue.csv", "--delta", "0"],
]


@pytest.mark.parametrize("arguments", REQUESTS, ids=" ".join)
def test_the_plan_is_what_a_release_then_states(arguments: list[str]) -> None:
    plan = json.loads(dry_run(*arguments, "--format", "json"))
    made = CliRunner().invoke(app, ["mine", SHOP, *arguments, "--seed", "1", "--format", "json"])
    release = json.loads(made.stdout)
    half_widths = [step.pop("half_width") for step in plan["steps"]]
    if len(plan["steps"]) > 1:  # one step has the whole budget, which is stated anyway
        assert plan["steps"] == release["shares"]
    assert (plan["epsilon"], plan["delta"]) == (release["epsilon"], release["delta"])
    if "noise" in release:  # as many supports as there can be have the widest noise
        assert max(width or 0 for width in half_widths) >= release["noise"]["half_width"]


def test_it_reads_no_purchases_and_charges_nothing(tmp_path: Path) -> None:
    ledger = tmp_path / "sales.ledger"
    fim.Ledger.create(ledger, epsilon=1, delta=1e-5).close()
    text = dry_run("--ledger", str(ledger), "--dataset", "sales", data=str(tmp_path / "none.csv"))
    assert "No purchases were read, and nothing was charged" in text
    assert "At most 10 pairs come out, with noisy supports" in text
    assert "The ledger allows it as it stands now" in text
    assert not fim.Ledger(ledger).entries


def test_what_the_ledger_would_refuse_fails(tmp_path: Path) -> None:
    ledger = tmp_path / "sales.ledger"
    fim.Ledger.create(ledger, epsilon=1, delta=1e-5).close()
    charged = ("--ledger", str(ledger), "--dataset", "sales")
    with pytest.raises(fim.LedgerError, match="this would overspend"):
        dry_run(*charged, "--epsilon", "2")
    with pytest.warns(fim.PrivacyWarning, match="looks like customers"):
        fim.mine(SHOP, ledger=fim.Ledger(ledger), dataset="sales", epsilon=0.1)
    assert "The ledger allows it" in dry_run(*charged, "--epsilon", "0.2")
    with pytest.raises(fim.LedgerError, match="user"):
        dry_run(*charged, "--epsilon", "0.1", "--user", "customer")
    assert len(fim.Ledger(ledger).entries) == 1


def test_segments_share_the_budget() -> None:
    shop = ["--by", "store", "--segments", "a,b", "--max-segments", "2", "--top", "2"]
    text = dry_run(*shop, "--basket", "basket", "--item", "item", data="none.csv")
    assert "the plan of each of 2 releases" in text
    assert "The release costs ε = 1, δ = 1e-06" in text


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--output", "plan.json"], "a dry run prints a plan"),
        (["--format", "csv"], "must be table or json for a dry run"),
        (["--items-are-public"], "it reads the purchases, and a plan does not"),
        (["--epsilon", "-1"], "epsilon"),
    ],
)
def test_what_a_plan_cannot_do_is_refused(arguments: list[Any], problem: str) -> None:
    with pytest.raises(fim.ParameterError, match=problem):
        dry_run(*arguments)


def test_a_plan_that_promises_little_is_warned_of() -> None:
    with pytest.warns(fim.PrivacyWarning, match="epsilon 20 promises next to nothing"):
        dry_run("--epsilon", "20")
    with pytest.warns(fim.PrivacyWarning, match=r"delta 0.001 is not below 1 / \(number of units"):
        dry_run("--delta", "0.001", "--units", "1000")
