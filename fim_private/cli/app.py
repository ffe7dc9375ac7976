"""The application: its commands, and what becomes of their errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Annotated, Any

import typer

from fim_private import __version__
from fim_private.cli import count, mine, plan, small_commands, vote
from fim_private.cli.command import CONTEXT, USAGE_ERROR, Command, Group
from fim_private.cli.given import Shell, install_completion, origin, show_completion
from fim_private.cli.options import show_warnings_as_lines, silence
from fim_private.cli.writing import discard_stdout, forget_written, left, tell_written
from fim_private.errors import FimPrivateError, LedgerError, NoLedgerError

# -------------------- commands
# The commands, and what becomes of their errors.

INTERRUPTED = 130
LEDGER_REFUSES = 3


app = typer.Typer(
    cls=Group,
    add_completion=False,
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
    install_completion: Annotated[
        Shell | None,
        typer.Option(
            metavar="bash|zsh|fish",
            callback=install_completion,
            is_eager=True,
            help="Make this shell complete commands, options and values, and exit.",
            show_default=False,
        ),
    ] = None,
    show_completion: Annotated[
        Shell | None,
        typer.Option(
            metavar="bash|zsh|fish",
            callback=show_completion,
            is_eager=True,
            help="Print what makes this shell complete them, and exit.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Find which items are bought together without revealing what is in any one basket.

    With --user, the column of customers, nothing that any one customer ever bought is revealed either.
    """


app.command(cls=Command, epilog=small_commands.INSPECT_EPILOG)(small_commands.inspect)
app.command(cls=Command, epilog=mine.EPILOG)(mine.mine)
app.command(cls=Command, epilog=count.EPILOG)(count.count)
app.command(cls=Command, epilog=vote.EPILOG)(vote.vote)
app.command(cls=Command, epilog=small_commands.SHOW_EPILOG)(small_commands.show_show)
app.command(cls=Command, epilog=small_commands.REPORT_EPILOG)(small_commands.report)
group = typer.Typer(cls=Group, rich_markup_mode="rich")
group.command(cls=Command, epilog=small_commands.CREATE_EPILOG)(small_commands.create)
group.command(cls=Command, epilog=small_commands.SHOW_EPILOG)(small_commands.budget_show)
app.add_typer(group, name="budget", help=small_commands.HELP, epilog=small_commands.CREATE_EPILOG)
app.command(cls=Command, epilog=plan.EPILOG)(plan.plan)
app.command(cls=Command, epilog=small_commands.AUDIT_EPILOG)(small_commands.audit)


def run() -> int:
    """Run the command line and return its exit code; what was wrong is told in one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    told: dict[str, Any] = {}
    silence(False)
    forget_written()
    show_warnings_as_lines(_spell(told))
    try:
        code = typer.main.get_command(app).main(standalone_mode=False, obj=told)
    except FimPrivateError as error:
        by_ledger = isinstance(error, LedgerError) and not isinstance(error, NoLedgerError)
        stands = "; ".join(["", *(f"the charge stands: {each}" for each in left())])
        return _refused(error.spelled(_spell(told)) + stands, LEDGER_REFUSES if by_ledger else USAGE_ERROR)
    except BrokenPipeError:
        discard_stdout()  # nobody reads on
        return 1
    except Exception as error:
        return _code_of(error, told)
    tell_written()
    return code if isinstance(code, int) else 0


def _code_of(error: Any, told: dict[str, Any]) -> int:
    """Handle the command-line parser's own exceptions (their classes differ between typer's versions)."""
    if type(error).__name__ == "Abort":
        return INTERRUPTED
    if hasattr(error, "format_message"):
        where = _origin(told, getattr(getattr(error, "param", None), "name", None))
        return _refused(" ".join(error.format_message().split()) + where)
    raise error


def _spell(told: dict[str, Any]) -> Callable[[str], str]:
    """Return what spells parameters as they are typed and, where they were not, says where they are from.

    told: holds the context of the command, once there is one.
    """
    return lambda name: as_typed(name) + _origin(told, name)


def _origin(told: dict[str, Any], name: str | None) -> str:
    """Return, in brackets, where a parameter that was not typed is from; nothing for others."""
    context = told.get(CONTEXT)
    where = None if context is None or name is None else origin(context, name)
    return "" if where is None else f" ({where})"


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


def _refused(message: str, code: int = USAGE_ERROR) -> int:
    """Print an error on standard error, and return its exit code."""
    typer.echo(f"Error: {message}", err=True)
    return code
