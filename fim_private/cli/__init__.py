"""The command line: the only place that prints, exits and offers a seed.

inspect         `fim-private inspect`.
mine            `fim-private mine`.
count           `fim-private count`.
plan            `fim-private plan`.
audit           `fim-private audit`.
release_options The options that mine and count share.
source_options  How a file is read, for all commands that read one.
destination     Where output goes, the screen or a file, and what --format takes.
mechanism_help  What help texts say of mechanisms.
progress        A progress bar, on terminals only.
"""

from __future__ import annotations

import signal
import sys
import warnings
from functools import cache
from typing import Annotated, Any

import typer

from fim_private import __version__
from fim_private.cli import audit, count, inspect, mine, plan
from fim_private.cli.destination import discard_stdout
from fim_private.errors import FimPrivateError, PrivacyWarning

# Exit codes; the last two are 128 and the number of the signal.
USAGE_ERROR = 2
INTERRUPTED = 130
TERMINATED = 143

app = typer.Typer(
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
    """Find which items are bought together without revealing any one customer's purchases."""


app.command(epilog=inspect.EPILOG)(inspect.inspect)
app.command(epilog=mine.EPILOG)(mine.mine)
app.command(epilog=count.EPILOG)(count.count)
app.command(epilog=plan.EPILOG)(plan.plan)
app.command(epilog=audit.EPILOG)(audit.audit)


def main() -> None:
    """Run the command line and exit; every expected failure is one line on standard error and exit code 2."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # so that nothing half-written stays
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    _show_warnings_as_lines()
    try:
        code = typer.main.get_command(app).main(standalone_mode=False)
    except FimPrivateError as error:
        _fail(error.spelled(as_typed))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        discard_stdout()  # nobody reads on
        sys.exit(1)
    except Exception as error:
        _exit_for(error)
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _exit_for(error: Any) -> None:
    """Handle the command-line parser's own exceptions (their classes differ between typer's versions)."""
    name = type(error).__name__
    if name == "Abort":
        sys.exit(INTERRUPTED)
    if name == "NoArgsIsHelpError":
        error.show()
        sys.exit(USAGE_ERROR)
    if hasattr(error, "format_message"):
        _fail(" ".join(error.format_message().split()))
    raise error


def as_typed(name: str) -> str:
    """Return a parameter as the command line spells it; what no command takes stays as Python names it."""
    return _spellings().get(name, name)


@cache
def _spellings() -> dict[str, str]:
    """Return the option of each parameter of each command, or what stands for it in the command's usage."""
    group: Any = typer.main.get_command(app)
    return {
        given.name: given.opts[0] if given.param_type_name == "option" else given.human_readable_name
        for command in group.commands.values()
        for given in command.params
    }


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


def _fail(message: str) -> None:
    """Print an error on standard error, and exit with code 2."""
    typer.echo(f"Error: {message}", err=True)
    sys.exit(USAGE_ERROR)
