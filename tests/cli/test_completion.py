"""Completion in shells: what a shell asks and is answered, and what it has to run for that."""

import shutil
import sys
from pathlib import Path

import pytest
from commands import Done, run
from patience import program

HERE = Path()


def answered(**variables: str) -> Done:
    done = run(HERE, **variables)
    assert (done.stderr, done.returncode) == ("", 0)
    return done


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fim-private m", ["mine"]),
        ("fim-private budget ", ["create", "show", "export", "import"]),
        ("fim-private mine --min-s", ["--min-support"]),
        ("fim-private mine a.csv --mechanism large", ["large-margin"]),
        (
            "fim-private mine --format ",
            ["table", "json", "csv", "xlsx", "markdown", "parquet", "svg"],
        ),
        ("fim-private plan --format j", ["json"]),
        ("fim-private plan --j", ["--json"]),
        ("fim-private budget create --unit ", ["basket", "user"]),
        ("fim-private mine ", []),  # the shell goes on with names of files
        # no file is opened for that
        ("fim-private mine --config nothing.toml --unio", ["--union"]),
    ],
)
def test_what_may_follow_a_line(line: str, expected: list[str]) -> None:
    """The last word of the line has only begun, if there is no space behind it."""
    words = line.split(" ")
    asked = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    assert answered(_FIM_PRIVATE_COMPLETE="complete_bash", **asked).stdout.split() == expected


@pytest.mark.full
def test_bash_itself_completes(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    script = Path(sys.executable).with_name("fim-private")
    lines = (
        f'export HOME={tmp_path}; PATH="{script.parent}:$PATH"; '
        "fim-private --install-completion >/dev/null; . ~/.bashrc; "
        "COMP_WORDS=(fim-private audit --neighbors add); COMP_CWORD=3; "
        '_fim_private_completion fim-private; printf "%s\\n" "${COMPREPLY[@]}"; complete -p '
        "fim-private"
    )
    done = program(bash, "--norc", "-c", lines)
    assert done.stdout.splitlines()[0] == "add-remove"
    assert "-F _fim_private_completion fim-private" in done.stdout
