"""The application: its commands, and what becomes of their errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Annotated, Any

import typer

from fim_private import __version__
from fim_private import options as declared
from fim_private.cli import commands
from fim_private.cli.parsing import CONTEXT, USAGE_ERROR, Group, add_command, origin
from fim_private.cli.writing import discard_stdout, forget_written, left, show_warnings_as_lines, silence, tell_written
from fim_private.errors import FimPrivateError, LedgerError
from fim_private.options import BudgetOptions, OtherUnitOption, ReadingOptions, ReleaseOutput, RuleLimits, TextOutput

INTERRUPTED = 130
LEDGER_REFUSES = 3

app = typer.Typer(
    cls=Group,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
budget = typer.Typer(cls=Group, rich_markup_mode="rich")
_ABOUT = "Print the version and which counter is active, and exit."


def _print_version(wanted: bool) -> None:
    if wanted:
        from fim_private.counting import active_counter

        typer.echo(f"fim-private {__version__} ({active_counter()} counter)")
        raise typer.Exit


@app.callback(epilog="Example: fim-private mine baskets.parquet --size 2")
def fim_private(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help=_ABOUT)] = False,
) -> None:
    """Find which items are bought together without revealing what is in any one basket.

    With --user, the column of customers, nothing that any one customer ever bought is revealed either.
    """


# The commands, in the order in which help lists them, and what they may be given.
add_command(app, "inspect", commands.inspect, ReadingOptions, TextOutput, epilog=commands.INSPECT_EPILOG)
add_command(
    app,
    "mine",
    commands.mine,
    *(declared.AskedOptions, declared.RulesOption, RuleLimits, BudgetOptions, declared.RhoOptions),
    *(declared.CapOptions, declared.MechanismOptions),
    *(ReadingOptions, declared.ExcludeOptions, declared.BasketOptions, declared.SegmentOptions, declared.EngineOptions),
    *(ReleaseOutput, declared.PageOption, declared.LedgerOptions, OtherUnitOption),
    epilog=commands.MINE_EPILOG,
)
counting = declared.GivenOptions, declared.CountOptions, ReleaseOutput, OtherUnitOption
add_command(app, "count", commands.count, *counting, epilog=commands.COUNT_EPILOG)
voting = declared.QuestionOptions, declared.VoteOptions, TextOutput, OtherUnitOption
add_command(app, "vote", commands.vote, *voting, epilog=commands.VOTE_EPILOG)
showing = declared.RulesOption, RuleLimits, ReleaseOutput
add_command(app, "show", commands.show, *showing, epilog=commands.SHOW_EPILOG)
add_command(app, "report", commands.report, RuleLimits, declared.PageOutput, epilog=commands.REPORT_EPILOG)
create, statement = commands.create, commands.budget_show
add_command(budget, "budget create", create, declared.LedgerLimit, epilog=commands.CREATE_EPILOG)
add_command(budget, "budget show", statement, declared.VerifyOption, TextOutput, epilog=commands.STATEMENT_EPILOG)
app.add_typer(budget, name="budget", help=commands.HELP, epilog=commands.CREATE_EPILOG)
planning = declared.PlannedUsers, declared.PlanOptions, declared.PlanFigure, TextOutput
add_command(app, "plan", commands.plan, *planning, epilog=commands.PLAN_EPILOG)
auditing = declared.AuditOptions, BudgetOptions, TextOutput
add_command(app, "audit", commands.audit, *auditing, epilog=commands.AUDIT_EPILOG)


def run() -> int:
    """Run the command line and return its exit code; what was wrong is one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    state: dict[str, Any] = {}
    silence(False)
    forget_written()
    show_warnings_as_lines(_spell(state))
    try:
        code = typer.main.get_command(app).main(prog_name="fim-private", standalone_mode=False, obj=state)
    except FimPrivateError as error:
        by_ledger = isinstance(error, LedgerError) and not error.no_ledger
        stands = "; ".join(["", *(f"the charge stands: {each}" for each in left())])
        return _refused(error.spelled(_spell(state)) + stands, LEDGER_REFUSES if by_ledger else USAGE_ERROR)
    except BrokenPipeError:
        discard_stdout()  # nobody reads on
        return 1
    except Exception as error:
        return _code_of(error, state)
    tell_written()
    return code if isinstance(code, int) else 0


def _code_of(error: Any, state: dict[str, Any]) -> int:
    # The parser's own exceptions, whose classes differ between typer's versions.
    if type(error).__name__ == "Abort":
        return INTERRUPTED
    if hasattr(error, "format_message"):
        where = _origin(state, getattr(getattr(error, "param", None), "name", None))
        return _refused(" ".join(error.format_message().split()) + where)
    raise error


def _spell(state: dict[str, Any]) -> Callable[[str], str]:
    """Return what spells parameters as they are typed and, where they were not, says where they are from."""
    return lambda name: as_typed(name) + _origin(state, name)


def _origin(state: dict[str, Any], name: str | None) -> str:
    context = state.get(CONTEXT)
    where = None if context is None or name is None else origin(context, name)
    return "" if where is None else f" ({where})"


def as_typed(name: str) -> str:
    """Return a parameter as the command line spells it; what no command takes stays as Python names it."""
    return _spellings().get(name, name)


@cache
def _spellings() -> dict[str, str]:
    return {
        given.name: given.opts[0] if given.param_type_name == "option" else given.human_readable_name
        for each in _commands(typer.main.get_command(app))
        for given in each.params
    }


def _commands(group: Any) -> Iterator[Any]:
    for each in group.commands.values():
        yield from _commands(each) if hasattr(each, "commands") else (each,)


def _refused(message: str, code: int = USAGE_ERROR) -> int:
    typer.echo(f"Error: {message}", err=True)
    return code
