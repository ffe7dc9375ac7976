"""Completion in shells: what a shell asks and is answered, as processes; and what it has to run for that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

from fim_private.cli import given as completion
from fim_private.dp.charge import UNITS
from fim_private.dp.parameters import Neighbors
from fim_private.ledger.chain import Composition
from fim_private.mechanisms.registry import MECHANISMS, single
from fim_private.reading.options import InputForm, MissingUser

SCRIPT = Path(sys.executable).with_name("fim-private")


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *words],
        env={**os.environ, "PYTHONUTF8": "1", **variables},
        capture_output=True,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )


def asked_by_bash(line: str) -> list[str]:
    """What bash is told may follow a line; its last word, if there is no space behind it, has only begun."""
    words = line.split(" ")
    done = run(_FIM_PRIVATE_COMPLETE="complete_bash", COMP_WORDS="\n".join(words), COMP_CWORD=str(len(words) - 1))
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout.split()


def test_values_that_are_completed_are_those_that_are_taken() -> None:
    assert completion.relations() == [each.value for each in Neighbors]
    assert completion.forms() == [each.value for each in InputForm]
    assert completion.rules_of_missing_users() == [each.value for each in MissingUser]
    assert completion.compositions() == [each.value for each in Composition]
    assert completion.units() == [*UNITS]
    assert completion.mechanism_names() == ["auto", *MECHANISMS]
    assert completion.audited_names() == [*single(), "all"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fim-private m", ["mine"]),
        ("fim-private budget ", ["create", "show"]),
        ("fim-private mine --min-s", ["--min-support"]),
        ("fim-private mine a.csv --mechanism large", ["large-margin"]),
        ("fim-private audit --mechanism a", ["all"]),
        ("fim-private mine --neighbors ", ["replace-one", "add-remove"]),
        ("fim-private count --input-format f", ["fimi"]),
        ("fim-private mine --missing-user ", ["drop", "own-unit"]),
        ("fim-private mine --together ", ["basket", "user"]),
        ("fim-private mine --format ", ["table", "json", "csv", "markdown", "parquet", "svg"]),
        ("fim-private plan --format j", ["json"]),
        ("fim-private budget create --composition ", ["basic", "zcdp"]),
        ("fim-private budget create --unit ", ["basket", "user"]),
        ("fim-private --show-completion ", ["bash", "zsh", "fish"]),
        ("fim-private mine ", []),  # the shell goes on with names of files
        ("fim-private mine --config nothing.toml --unio", ["--union"]),  # no file is opened for that
    ],
)
@pytest.mark.one_in(3)
@pytest.mark.one_in(3)
def test_bash_is_told_what_may_follow(line: str, expected: list[str]) -> None:
    assert asked_by_bash(line) == expected


@pytest.mark.full
def test_zsh_and_fish_are_told_what_it_is() -> None:
    done = run(_FIM_PRIVATE_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="fim-private mine --neigh")
    assert done.returncode == 0
    assert '"--neighbors":"Hides whether one basket' in done.stdout
    fish = {"_FIM_PRIVATE_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": "fim-private mine --neighbors a"}
    done = run(**fish, _TYPER_COMPLETE_FISH_ACTION="get-args")
    assert (done.stdout, done.returncode) == ("add-remove\n", 0)
    assert run(**fish, _TYPER_COMPLETE_FISH_ACTION="is-args").returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_it_is_installed_where_the_shell_looks(shell: str, tmp_path: Path) -> None:
    shown = run("--show-completion", shell)
    assert (shown.stderr, shown.returncode) == ("", 0)
    assert f"_FIM_PRIVATE_COMPLETE=complete_{shell}" in shown.stdout
    done = run("--install-completion", shell, HOME=str(tmp_path))
    assert (done.stderr, done.returncode) == ("", 0)
    written = Path(done.stdout.rstrip("\n").rpartition("wrote ")[2])
    assert written.is_relative_to(tmp_path)
    assert written.read_text().strip() == shown.stdout.strip()
    refused = run("--install-completion", shell, HOME="/dev/null")
    assert (refused.stdout, refused.returncode) == ("", 2)
    assert refused.stderr.startswith(f"Error: cannot write what {shell} reads when it starts: ")
    assert refused.stderr.count("\n") == 1


def test_another_shell_is_refused() -> None:
    done = run("--show-completion", "csh")
    assert (done.stdout, done.returncode) == ("", 2)
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in done.stderr


def test_bash_itself_completes() -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    lines = (
        f'PATH="{SCRIPT.parent}:$PATH"; eval "$(fim-private --show-completion bash)"; '
        "COMP_WORDS=(fim-private audit --neighbors add); COMP_CWORD=3; "
        '_fim_private_completion fim-private; printf "%s\\n" "${COMPREPLY[@]}"; complete -p fim-private'
    )
    done = subprocess.run([bash, "--norc", "-c", lines], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout.splitlines()[0] == "add-remove"
    assert "-F _fim_private_completion fim-private" in done.stdout
