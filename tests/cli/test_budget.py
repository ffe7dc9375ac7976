"""`fim-private budget`, and --ledger, through real processes: what is printed, refused, and left after a kill."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import PATIENCE

import fim_private as fim

SCRIPT = [sys.executable, "-c", "from fim_private.cli import main; main()"]
BASKETS = "".join(["39 48\n"] * 600 + ["39 41\n"] * 60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Baskets, and a list of itemsets."""
    (tmp_path / "baskets.dat").write_text(BASKETS)
    (tmp_path / "pairs.csv").write_text("39,48\n41\n")
    return tmp_path


def environment(**changes: str) -> dict[str, str]:
    unwanted = {"FORCE_COLOR", "NO_COLOR", "GITHUB_ACTIONS", "PYTHONIOENCODING", "COLUMNS", "TERM"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    paths = os.pathsep.join(sys.path)
    return {**kept, "PYTHONPATH": paths, "PYTHONUTF8": "1", "PYTHONWARNINGS": "error", **changes}


def run(folder: Path, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SCRIPT, *arguments],
        cwd=folder,
        env=environment(**changes),
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
    )


def told(done: subprocess.CompletedProcess[str]) -> str:
    """What a command that went well printed."""
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of a command that was refused."""
    assert (done.stdout, done.returncode) == ("", 2)
    assert re.fullmatch(r"Error: .+\n", done.stderr)
    return done.stderr


CHARGED = ["--ledger", "sales.ledger", "--dataset", "sales"]


def test_from_create_to_refusal(folder: Path) -> None:
    created = told(run(folder, "budget", "create", "sales.ledger", "--epsilon", "3", "--delta", "1e-5"))
    assert created.startswith("Created sales.ledger. The budget: all releases together are at most ε = 3, δ = 1e-05")
    first = told(run(folder, "mine", "baskets.dat", *CHARGED))
    assert "Charged to the budget of sales (entry 1); left: ε = 2, δ = 9e-06.\n" in first
    second = told(run(folder, "count", "baskets.dat", "--itemsets", "pairs.csv", *CHARGED, "--format", "json"))
    assert json.loads(second)["ledger"] == {
        "dataset": "sales",
        "entry": 2,
        "left": {"epsilon": 1.0, "delta": 9e-6},
    }
    error = refused(run(folder, "mine", "baskets.dat", *CHARGED, "--epsilon", "1.5", "--output", "release.json"))
    assert "epsilon 1 and delta 9e-06 are left, and it takes epsilon 1.5 and delta 1e-06" in error
    assert error.endswith("ask with a smaller --epsilon\n")
    assert not (folder / "release.json").exists()
    shown = told(run(folder, "budget", "show", "sales.ledger"))
    assert "mine mechanism=limited-domain size=2 top=1" in shown
    assert "count itemsets=2" in shown
    assert "* basic, ε" in shown
    statement = json.loads(told(run(folder, "budget", "show", "sales.ledger", "--format", "json")))
    assert statement["left"]["basic"] == {"epsilon": 1.0, "delta": 9e-6}
    assert [entry["command"] for entry in statement["entries"]] == ["mine", "count"]


@pytest.mark.full
def test_terms_are_as_typed(folder: Path) -> None:
    options = ["--composition", "zcdp", "--neighbors", "add-remove", "--unit", "user", "--dataset", "shop"]
    told(run(folder, "budget", "create", "z.ledger", "--epsilon", "0.1", "--delta", "1e-6", *options))
    terms = fim.Ledger(folder / "z.ledger").statement().terms
    assert (terms.composition, terms.neighbors, terms.privacy_unit) == ("zcdp", "add-remove", "user")
    assert (str(terms.epsilon), terms.dataset) == ("1/10", "shop")
    error = refused(run(folder, "mine", "baskets.dat", "--ledger", "z.ledger", "--dataset", "shop"))
    assert "protects users, and this release protects baskets; ask with --user" in error
    error = refused(run(folder, "mine", "baskets.dat", "--ledger", "z.ledger", "--dataset", "shops"))
    assert "give --dataset 'shop', else another ledger" in error


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["mine", "baskets.dat", "--ledger", "no.ledger", "--dataset", "sales"], "there is none; create it with"),
        (["mine", "baskets.dat", "--ledger", "sales.ledger"], "--ledger needs --dataset"),
        (["mine", "baskets.dat", "--dataset", "sales"], "--dataset goes with --ledger"),
        (["mine", "baskets.dat", *CHARGED, "--seed", "1"], "--seed and --ledger contradict each other"),
        (["mine", "missing.dat", *CHARGED], "missing.dat"),
        (["mine", "baskets.dat", *CHARGED, "--output", "nowhere/release.json"], "does not exist"),
        (["mine", "baskets.dat", *CHARGED, "--output", "sales.ledger"], "it is an input"),
        (["mine", "baskets.dat", *CHARGED, "--top", "0"], "--top must be"),
        (["count", "baskets.dat", "--itemsets", "no.csv", *CHARGED], "no.csv"),
        (["budget", "create", "sales.ledger", "--epsilon", "1", "--delta", "0"], "there is such a file already"),
        (["budget", "create", "new.ledger", "--epsilon", "0", "--delta", "0"], "--epsilon must be"),
        (["budget", "create", "new.ledger", "--epsilon", "1", "--delta", "0", "--unit", "x"], "--unit must be"),
        (["budget", "create", "new.ledger", "--epsilon", "1"], "--delta"),
        (["budget", "show", "baskets.dat"], "is damaged, or no ledger"),
        (["budget", "show", "sales.ledger", "--output", "sales.ledger"], "it is an input"),
        (["budget", "sho"], "No such command"),
    ],
)
@pytest.mark.one_in(4)
def test_what_is_wrong_is_one_line_and_costs_nothing(folder: Path, arguments: list[str], says: str) -> None:
    fim.Ledger.create(folder / "sales.ledger", epsilon=3, delta=1e-5)
    assert says in refused(run(folder, *arguments))
    assert fim.Ledger(folder / "sales.ledger").entries == ()
    assert {file.name for file in folder.iterdir()} == {"baskets.dat", "pairs.csv", "sales.ledger"}


@pytest.mark.parametrize("columns", ["40", "100"])
def test_each_help_has_an_example(folder: Path, columns: str) -> None:
    for command in (["budget"], ["budget", "create"], ["budget", "show"]):
        text = told(run(folder, *command, "--help", COLUMNS=columns))
        assert "Example: fim-private budget" in " ".join(text.split())
    assert "budget" in told(run(folder, "--help", COLUMNS=columns))


def test_a_table_for_a_screen_without_greek(folder: Path) -> None:
    fim.Ledger.create(folder / "sales.ledger", epsilon=3, delta=1e-5)
    shown = told(run(folder, "budget", "show", "sales.ledger", PYTHONUTF8="0", PYTHONIOENCODING="ascii", LC_ALL="C"))
    assert "* basic, epsilon" in shown
    assert shown.isascii()


def test_a_state_directory_that_cannot_be_written_is_said_and_stops_nothing(folder: Path) -> None:
    fim.Ledger.create(folder / "sales.ledger", epsilon=3, delta=1e-5)
    done = run(folder, "mine", "baskets.dat", *CHARGED, XDG_STATE_HOME="/dev/null", PYTHONWARNINGS="default")
    assert "Charged to the budget of sales (entry 1)" in done.stdout
    assert re.fullmatch(r"Warning: .* will not be noticed, since '/dev/null/.*' cannot be written\n", done.stderr)


@pytest.mark.full
def test_commands_that_are_killed_have_charged_what_they_released(folder: Path) -> None:
    """Fifty at a time are started, and eighty killed at random moments of their lives."""
    path = folder / "sales.ledger"
    fim.Ledger.create(path, epsilon=20, delta=0.1, dataset="sales")
    rng, killed, number = random.Random(16), 0, 0
    while killed < 80:
        running = []
        for _ in range(50):
            number += 1
            arguments = ["mine", "baskets.dat", *CHARGED, "--epsilon", "0.1", "--delta", "1e-7"]
            arguments += ["--format", "json", "--output", f"release{number}.json"]
            running.append(subprocess.Popen([*SCRIPT, *arguments], cwd=folder, env=environment(), stderr=-3))
        time.sleep(2)
        while any(process.poll() is None for process in running):
            time.sleep(rng.uniform(0, 0.3))
            if alive := [process for process in running if process.poll() is None]:
                rng.choice(alive).kill()
                killed += 1
        released = len(list(folder.glob("release*.json")))
        ledger = fim.Ledger(path)
        assert released <= len(ledger.entries) <= 200
        assert ledger.left.epsilon >= 0
    assert list(folder.glob("release*.json"))
