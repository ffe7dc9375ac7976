"""What commands have in common: --config, --quiet, options from the environment, plain numbers, help for any screen."""

from __future__ import annotations

import shutil
from copy import copy
from pathlib import Path
from typing import Any

from typer import Exit, echo
from typer.core import TyperCommand, TyperGroup, TyperOption

from fim_private.cli.completion import answer_shells
from fim_private.cli.destination import is_same_file
from fim_private.cli.given import check_variables, keep, kept, path_of, variable_of
from fim_private.cli.narrow_help import WIDE_ENOUGH, narrow_help
from fim_private.cli.notes import silence
from fim_private.cli.typed_numbers import read_plainly
from fim_private.errors import OutputError, parameter

USAGE_ERROR = 2
# Where the object that all contexts share holds the one whose parameters are read: who shows an error asks it.
CONTEXT = "fim_private.context"
# What help texts gather their options under.
_EVERY = "Every command"


class Command(TyperCommand):
    """A command whose options may also stand in a file or in the environment, and whose numbers are plain."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params += [_config(), _quiet()]
        for given in self.params:
            given.show_envvar = False  # type: ignore[attr-defined]  # a line for each would double every help
            read_plainly(given)
            if given.name == "basket":  # the variable named one column before, with spaces in its name: now one a line
                given.type = copy(given.type)
                given.type.envvar_list_splitter = "\n"  # type: ignore[misc]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed, and take what was not from the environment and the file."""
        if isinstance(ctx.obj, dict):
            ctx.obj[CONTEXT] = ctx
        path = path_of(ctx)
        for given in self.params:
            given.envvar = variable_of(given, path)
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            check_variables(ctx)
            _check_outputs(ctx)
        return rest

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        _format_help(self, super(), ctx, formatter)


class Group(TyperGroup):
    """A group of commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed. Where that is nothing, the help is shown, and it is an error."""
        if not args and not ctx.resilient_parsing:
            if text := ctx.get_help():  # on a wide screen it is shown already
                echo(text)
            raise Exit(USAGE_ERROR)
        return list(super().parse_args(ctx, args))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        _format_help(self, super(), ctx, formatter)

    def _main_shell_completion(self, *arguments: Any, **settings: Any) -> None:
        answer_shells()
        super()._main_shell_completion(*arguments, **settings)


def _format_help(command: Any, wide: Any, ctx: Any, formatter: Any) -> None:
    """Write the help of a command, as its class does where the screen is wide enough."""
    if (width := shutil.get_terminal_size().columns) < WIDE_ENOUGH:
        formatter.write(narrow_help(command, ctx, width))
    else:
        wide.format_help(ctx, formatter)


def _config() -> Any:
    """Return the option --config."""
    return TyperOption(
        param_decls=["--config"],
        type=str,
        metavar="FILE",
        help='A file of options (TOML): min-support = "2%" in the table of this command, or above all tables for every '
        "command. What is typed wins, then the environment (FIM_PRIVATE_COMMAND_OPTION).",
        show_default=False,
        expose_value=False,
        rich_help_panel=_EVERY,
        is_eager=True,  # before all that may be in it
        callback=_read_config,
    )


def _quiet() -> Any:
    """Return the option --quiet."""
    return TyperOption(
        param_decls=["--quiet"],
        type=bool,
        is_flag=True,
        default=False,
        help="Say nothing on standard error but errors: no progress, no warnings, not as what a file was read.",
        show_default=False,
        rich_help_panel=_EVERY,
        expose_value=False,
        callback=_be_quiet,
    )


def _check_outputs(ctx: Any) -> None:
    """Raise OutputError where an output would overwrite the file of options."""
    file = kept(ctx, "config")
    for name, value in ctx.params.items() if file is not None else ():
        if isinstance(value, Path) and is_same_file(value, file.name):
            raise OutputError(
                f"cannot write {str(value)!r}: it is {parameter('config')}; choose another {parameter(name)}"
            )


def _read_config(ctx: Any, given: Any, value: str | None) -> str | None:
    """Take a file's values as defaults of a context."""
    if value is not None and not ctx.resilient_parsing:
        from fim_private.cli.options_file import read_options

        options = read_options(value, ctx)
        keep(ctx, given, options)
        ctx.default_map = dict(options.values)
    return value


def _be_quiet(ctx: Any, given: Any, value: bool) -> bool:
    """Say nothing but errors, if that is wanted."""
    if not ctx.resilient_parsing:
        keep(ctx, given, value)
        silence(value)
    return value
