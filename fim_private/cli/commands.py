"""The commands, and what becomes of their errors."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from fim_private import __version__
from fim_private.cli import audit, budget, count, inspect, mine, plan, report, show
from fim_private.cli.destination import discard_stdout
from fim_private.cli.narrow_help import WIDE_ENOUGH, narrow_help
from fim_private.cli.typed_numbers import read_plainly
from fim_private.errors import FimPrivateError, PrivacyWarning

USAGE_ERROR = 2
INTERRUPTED = 130


class _Command(TyperCommand):
    """A command whose numbers are plain, and whose help fits any screen."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        for option in self.params:
            read_plainly(option)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        if (width := shutil.get_terminal_size().columns) < WIDE_ENOUGH:
            formatter.write(narrow_help(self, ctx, width))
        else:
            super().format_help(ctx, formatter)


class _Group(TyperGroup):
    """All commands, with help that fits any screen."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        if (width := shutil.get_terminal_size().columns) < WIDE_ENOUGH:
            formatter.write(narrow_help(self, ctx, width))
        else:
            super().format_help(ctx, formatter)


app = typer.Typer(
    cls=_Group,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    """Print the version and exit, where that is wanted."""
    if wanted:
        from fim_private.counting import active_counter

        typer.echo(f"fim-private {__version__} ({active_counter()} counter)")
        raise typer.Exit


@app.callback(epilog="Example: fim-private mine baskets.parquet --size 2")
def fim_private(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and which counter is active, and exit.",
        ),
    ] = False,
) -> None:
    """Find which items are bought together without revealing what is in any one basket.

    With --user, the column of customers, nothing that any one customer ever bought is revealed either.
    """


app.command(cls=_Command, epilog=inspect.EPILOG)(inspect.inspect)
app.command(cls=_Command, epilog=mine.EPILOG)(mine.mine)
app.command(cls=_Command, epilog=count.EPILOG)(count.count)
app.command(cls=_Command, epilog=show.EPILOG)(show.show)
app.command(cls=_Command, epilog=report.EPILOG)(report.report)
group = typer.Typer(cls=_Group, no_args_is_help=True, rich_markup_mode="rich")
group.command(cls=_Command, epilog=budget.CREATE_EPILOG)(budget.create)
group.command(cls=_Command, epilog=budget.SHOW_EPILOG)(budget.show)
app.add_typer(group, name="budget", help=budget.HELP, epilog=budget.CREATE_EPILOG)
app.command(cls=_Command, epilog=plan.EPILOG)(plan.plan)
app.command(cls=_Command, epilog=audit.EPILOG)(audit.audit)


def run() -> int:
    """Run the command line and return its exit code; what was wrong is told in one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    _show_warnings_as_lines()
    try:
        code = typer.main.get_command(app).main(standalone_mode=False)
    except FimPrivateError as error:
        return _refused(error.spelled(as_typed))
    except BrokenPipeError:
        discard_stdout()  # nobody reads on
        return 1
    except Exception as error:
        return _code_of(error)
    return code if isinstance(code, int) else 0


def _code_of(error: Any) -> int:
    """Handle the command-line parser's own exceptions (their classes differ between typer's versions)."""
    name = type(error).__name__
    if name == "Abort":
        return INTERRUPTED
    if name == "NoArgsIsHelpError":
        error.show()
        return USAGE_ERROR
    if hasattr(error, "format_message"):
        return _refused(" ".join(error.format_message().split()))
    raise error


def as_typed(name: str) -> str:
    """Return a parameter as the command line spells it; what no command takes stays as Python names it."""
    return _spellings().get(name, name)


@cache
def _spellings() -> dict[str, str]:
    """Return the option of each parameter of each command, or what stands for it in the command's usage."""
    return {
        given.name: given.opts[0] if given.param_type_name == "option" else given.human_readable_name
        for command in _commands(typer.main.get_command(app))
        for given in command.params
    }


def _commands(group: Any) -> Iterator[Any]:
    """Yield the commands of a group of the command-line parser, and those of the groups in it."""
    for command in group.commands.values():
        yield from _commands(command) if hasattr(command, "commands") else (command,)


def _show_warnings_as_lines() -> None:
    """From now on, print warnings of privacy as lines on standard error, with options as they are typed."""
    shown_otherwise = warnings.showwarning

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        if isinstance(message, PrivacyWarning):
            typer.echo(f"Warning: {message.spelled(as_typed)}", err=True)
        else:
            shown_otherwise(message, *where, **more)

    warnings.filterwarnings("always", category=PrivacyWarning)
    warnings.showwarning = show


def _refused(message: str) -> int:
    """Print an error on standard error, and return its exit code."""
    typer.echo(f"Error: {message}", err=True)
    return USAGE_ERROR
