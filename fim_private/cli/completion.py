"""Completion of what is typed, in shells: how it gets there, and which values some options have."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Any

from fim_private.errors import OutputError

PROGRAM = "fim-private"
# Set by what the shell runs, when it asks what may follow.
_ASKED = "_FIM_PRIVATE_COMPLETE"


class Shell(StrEnum):
    """The shells that complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def script_for(shell: Shell) -> str:
    """Return what a shell has to run to complete this program."""
    from typer._completion_shared import get_completion_script

    return str(get_completion_script(prog_name=PROGRAM, complete_var=_ASKED, shell=shell.value))


def install_for(shell: Shell) -> str:
    """Make a shell complete this program from its next start on, and return the path of what was written."""
    from typer._completion_shared import install

    try:
        return str(install(shell=shell.value, prog_name=PROGRAM, complete_var=_ASKED)[1])
    except OSError as error:
        reason = error.strerror or "the system refused"
        raise OutputError(
            f"cannot write what {shell.value} reads when it starts: {reason}; put there yourself what "
            f"{PROGRAM} --show-completion {shell.value} prints"
        ) from None


def answer_shells() -> None:
    """Get ready to say what may follow, where a shell asks."""
    if os.environ.get(_ASKED):
        from typer._completion_classes import completion_init

        completion_init()


def mechanism_names() -> list[str]:
    """Return what --mechanism takes."""
    from fim_private import defaults
    from fim_private.mechanisms.registry import MECHANISMS

    return [defaults.MECHANISM, *MECHANISMS]


def audited_names() -> list[str]:
    """Return what --mechanism of an audit takes."""
    from fim_private.mechanisms.registry import single

    return [*single(), "all"]


def relations() -> list[str]:
    """Return what --neighbors takes."""
    return ["replace-one", "add-remove"]


def forms() -> list[str]:
    """Return what --input-format takes."""
    return ["long", "wide", "one-hot", "lines", "fimi", "spmf", "jsonl"]  # to import the room of reading takes a while


def rules_of_missing_users() -> list[str]:
    """Return what --missing-user takes."""
    return ["drop", "own-unit"]


def units() -> list[str]:
    """Return what --unit of a ledger takes, and --together."""
    return ["basket", "user"]


def questions() -> list[str]:
    """Return what --question of a vote takes."""
    return ["highest-lift", "highest-confidence", "most-frequent"]  # to import the room of learning takes a while


def compositions() -> list[str]:
    """Return what --composition of a ledger takes."""
    return ["basic", "zcdp"]


def show_completion(shell: Any) -> None:
    """Print what makes a shell complete, and exit."""
    import typer

    if shell is not None:
        typer.echo(script_for(shell))
        raise typer.Exit


def install_completion(shell: Any) -> None:
    """Make a shell complete, say where that was written, and exit."""
    import typer

    if shell is not None:
        typer.echo(f"{shell.value} completes from its next start on: wrote {install_for(shell)}")
        raise typer.Exit
