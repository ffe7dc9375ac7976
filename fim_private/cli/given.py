"""How a parameter got its value, numbers as they are typed, and completion in shells."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from fim_private.errors import OutputError, ParameterError, parameter, shown

# -------------------- typed numbers
# Numbers as they are typed: plain digits, a point and an exponent. Python itself would take more: 1_0, ١, nan.

_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def typed_whole(text: str, name: str) -> int:
    """Return the whole number that was typed for a parameter. Raises ParameterError for other text."""
    if _WHOLE.fullmatch(text):
        try:
            return int(text)
        except ValueError:  # of thousands of digits
            pass
    raise ParameterError(f"{parameter(name)} must be a whole number, not {shown(text)}")


def typed_number(text: str, name: str) -> float:
    """Return the number that was typed for a parameter. Raises ParameterError for other text, and beyond floats."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ParameterError(f"{parameter(name)} must be a number such as 0.5 or 1e-6, not {shown(text)}")
    return value


# By the name of Python's type, which the command-line parser has for an option.
_READERS: dict[str, Callable[[str, str], float]] = {"Int": typed_whole, "Float": typed_number}


def read_plainly(option: Any) -> None:
    """Make an option of the command-line parser that takes numbers take these alone, by the class of its type."""
    kind = type(option.type)
    reader = _READERS.get(kind.__name__.removesuffix("ParamType"))
    if reader is not None:

        def convert(self: Any, value: Any, param: Any, ctx: Any) -> Any:
            """Return a typed number; a default is one already."""
            return reader(value, option.name) if isinstance(value, str) else value

        option.type = type(f"Plain{kind.__name__}", (kind,), {"convert": convert, "takes_numbers": True})()


def takes_numbers(option: Any) -> bool:
    """Tell whether an option of the command-line parser, made to read plainly, takes numbers."""
    return getattr(option.type, "takes_numbers", False)


# -------------------- given
# How a parameter got its value: typed, from the environment, from a file of options, or by default.

PREFIX = "FIM_PRIVATE"
# Where a context keeps what no command takes as an argument: --config and --quiet.
_KEPT = "fim_private."
# Never from a file or the environment.
_TYPED_ONLY = ("help",)


def key_of(given: Any) -> str | None:
    """Return what a parameter is called in a file of options: an option without its dashes, FILE as file.

    None for what must be typed: help, and an option made with allow_from_autoenv=False (a seed, which makes a release
    predictable: nobody is to get that from a file or a variable that they forgot).
    """
    return None if given.name in _TYPED_ONLY or is_typed_only(given) else spelled_key(given)


def spelled_key(given: Any) -> str:
    """Return the key of a parameter, whether or not it may be used."""
    if given.param_type_name == "argument":
        return str(given.human_readable_name).lower().replace("-", "_")
    return str(given.opts[0]).lstrip("-").replace("-", "_")


def is_typed_only(given: Any) -> bool:
    """Tell whether an option is taken from the command line alone."""
    return given.param_type_name == "option" and not given.allow_from_autoenv


def path_of(context: Any) -> list[str]:
    """Return the names that lead to the command of a context: of `fim-private budget show` these two."""
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return names


def variable_of(given: Any, path: list[str]) -> str | None:
    """Return the environment variable of a parameter of the command with a path; None where there is none."""
    key = key_of(given)
    return None if key is None else "_".join([PREFIX, *path, key]).upper().replace("-", "_")


def check_variables(context: Any) -> None:
    """Raise ParameterError for a variable that is set, by its name for the command of a context, and is none of its."""
    path = path_of(context)
    prefix = "_".join([PREFIX, *path, ""]).upper()
    known = {variable_of(given, path): given for given in context.command.params}
    typed = {f"{prefix}{spelled_key(given).upper()}": given for given in context.command.params if is_typed_only(given)}
    for name in sorted(os.environ):
        if not name.startswith(prefix) or not os.environ[name] or name in known:
            continue
        if name in typed:
            raise ParameterError(
                f"{name!r} is not taken from the environment: type {typed[name].opts[0]} where you mean it"
            )
        raise ParameterError(
            f"the environment variable {name!r} is no option of fim-private {' '.join(path)}; unset it"
        )


def keep(context: Any, given: Any, value: Any) -> None:
    """Keep the value of a parameter that no command takes as an argument."""
    context.meta[_KEPT + given.name] = value


def kept(context: Any, name: str) -> Any:
    """Return what was kept; None for nothing."""
    return context.meta.get(_KEPT + name)


def source_of(context: Any, name: str) -> str:
    """Return COMMANDLINE, ENVIRONMENT, DEFAULT_MAP (a file of options) or DEFAULT."""
    return str(getattr(context.get_parameter_source(name), "name", "DEFAULT"))


def is_given(context: Any, name: str) -> bool:
    """Tell whether somebody said a parameter's value, wherever."""
    return source_of(context, name) != "DEFAULT"


def origin(context: Any, name: str) -> str | None:
    """Return where the value of a parameter of a context was said, if it was not typed: a variable or a file's key."""
    source = source_of(context, name)
    if source == "ENVIRONMENT":
        return next((str(given.envvar) for given in context.command.params if given.name == name), None)
    file = kept(context, "config")
    return file.places.get(name) if source == "DEFAULT_MAP" and file is not None else None


# -------------------- completion
# Completion of what is typed, in shells: how it gets there, and which values some options have.

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
    from fim_private import options
    from fim_private.mechanisms.registry import MECHANISMS

    return [options.MECHANISM, *MECHANISMS]


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
