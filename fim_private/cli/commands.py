"""The application: its commands, what each asks the library and writes, and what becomes of their
errors.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

import fim_private as fim
from fim_private.cli import parsing, writing
from fim_private.cli.parsing import Group, command
from fim_private.display import printable
from fim_private.errors import (
    FimPrivateError,
    LedgerError,
    NoLedgerError,
    ParameterError,
    parameter,
    warn,
)
from fim_private.options import EPSILON
from fim_private.options.declaration import OptionValues
from fim_private.options.outputs import (
    ChangeOptions,
    FigureKind,
    Intervals,
    IntervalsOption,
    PageOption,
    PageOutput,
    PlanFigure,
    ReleaseFigure,
    ReleaseOutput,
    RunOptions,
    StatementFormat,
    StatementOutput,
    TextOutput,
)
from fim_private.options.privacy import (
    AuditOptions,
    BudgetOptions,
    LedgerLimit,
    OtherUnitOption,
    VerifyOption,
)
from fim_private.options.purchases import InspectOptions
from fim_private.options.requests import (
    AllMineOptions,
    CountOptions,
    GivenOptions,
    PlannedUsers,
    PlanOptions,
    QuestionOptions,
    RecommendOption,
    RuleLimits,
    ShowRulesOption,
    VoteOptions,
)

if TYPE_CHECKING:
    from fim_private.planning.plan import Plan
    from fim_private.release.forms import AnyRelease
    from fim_private.release.rules import RuleChoice

INTERRUPTED = 130
LEDGER_REFUSES = 3
NOTHING_CAME_OUT = 4

app = typer.Typer(
    cls=Group,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
budget = typer.Typer(cls=Group, rich_markup_mode="rich")
_CREATE = "Example: fim-private budget create sales.ledger --epsilon 3 --delta 1e-5"
_BUDGET = "Keep the budget of a data set in a ledger: create one, and show what is spent and left."
app.add_typer(budget, name="budget", help=_BUDGET, epilog=_CREATE)


def run() -> int:
    """Run the command line and return its exit code; what was wrong is one line on standard
    error.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    state: dict[str, object] = {}

    def spell(name: str) -> str:
        return as_typed(name) + parsing.origin(state, name)

    writing.begin(spell)
    code = parsing.USAGE_ERROR
    try:
        code = typer.main.get_command(app).main(
            prog_name="fim-private", standalone_mode=False, obj=state
        )
    except FimPrivateError as error:
        message = "; ".join([error.spelled(spell), *writing.charges_that_stand()])
        if isinstance(error, LedgerError) and not isinstance(error, NoLedgerError):
            code = LEDGER_REFUSES
    except BrokenPipeError:
        writing.discard_stdout()  # nobody reads on
        return 1
    except typer.Abort:
        writing.tell_interrupted()
        return INTERRUPTED
    except SystemExit:  # of a signal, such as SIGTERM
        writing.tell_interrupted()
        raise
    except Exception as error:
        # The parser's own exceptions, whose classes differ between typer's versions.
        format_message = getattr(error, "format_message", None)
        if format_message is None:
            raise
        message = " ".join(format_message().split())
        option = getattr(error, "param", None)
        if option is not None:
            message += parsing.origin(state, option.name)
    else:
        writing.tell_written()
        if code == INTERRUPTED:
            writing.tell_interrupted()
        return code if isinstance(code, int) else 0
    typer.echo(f"Error: {message}", err=True)
    return code


@cache
def _spellings() -> dict[str, str]:
    spellings = {}
    for _, typed in parsing.commands_of(typer.main.get_command(app)):
        for option in typed.params:
            spelling = option.human_readable_name
            if option.param_type_name == "option":
                spelling = option.opts[0]
            spellings[option.name] = spelling
    return spellings


def as_typed(name: str) -> str:
    """Return a parameter as the command line spells it; what no command takes stays as Python names
    it.
    """
    return _spellings().get(name, name)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from fim_private.counting import active_counter

        typer.echo(f"fim-private {fim.__version__} ({active_counter()} counter)")
        raise typer.Exit


_ABOUT = "Print the version and which counter is active, and exit."


_WHAT_IT_DOES = parsing.unwrapped(
    """Find which items are bought together without revealing what is in any one basket.

    With --user, the column of customers, nothing that any one customer ever bought is revealed
    either.
    """
)


@app.callback(help=_WHAT_IT_DOES, epilog="Example: fim-private mine baskets.parquet --size 2")
def fim_private(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help=_ABOUT)
    ] = False,
) -> None:
    """Say what all commands are for."""


def _argument(metavar: str, about: str) -> Any:
    """Return what typer reads of an argument."""
    return typer.Argument(metavar=metavar, help=about, show_default=False, show_envvar=False)


Purchases = Annotated[
    str,
    _argument(
        "FILE",
        "Purchases: Parquet, Arrow, CSV, JSON Lines, .dat, Excel; a folder or pattern of these, "
        "also at s3://...; with --query a database (postgresql://..., sqlite:///shop.db); - is "
        "standard input.",
    ),
]


@contextmanager
def _spending(options: OptionValues, label: str) -> Iterator[OptionValues]:
    """Yield what the library is asked for, with the ledger and the progress bar open.

    options: as they were typed.
    """
    request = _given(options)
    writing.hold_process(request.get("max_memory"))
    ledger = writing.ledger_of(options)
    with writing.reading_shown(), writing.progress_bar(label) as progress:
        yield request | {"ledger": ledger, "progress": progress}


# Options that say how a command runs and what it writes: the library is not asked for them.
_OF_THE_COMMAND = {
    *("ledger", "allow_other_unit", "again", "dry_run", "fail_if_empty"),
    *("output", "format", "report", "title", "intervals", *RuleLimits.__annotations__),
    *("epsilons", "figure", "config", "json", "quiet"),
}


def _given(typed: OptionValues) -> OptionValues:
    """Return what the library is asked for, without a ledger."""
    request = {
        name: value
        for name, value in typed.items()
        if value not in (None, []) and name not in _OF_THE_COMMAND
    }
    if "spark_conf" in request:
        from fim_private.spark.dataframes import settings_of

        request["spark_conf"] = settings_of(request["spark_conf"])
    return request


def rules_chosen(typed: OptionValues, *, lifts: bool = True) -> Optional["RuleChoice"]:
    """Return which rules are shown; None for no rules. lifts: whether rules have a lift."""
    basket = typed.get("recommend") or None
    if typed["rules"] or basket:
        from fim_private.release.rules import RuleChoice

        choice = RuleChoice.of(typed, basket)
        choice.check_lifts(lifts=lifts)
        return choice
    for name in RuleLimits.__annotations__:
        if typed[name] not in (None, [], False):
            raise ParameterError(f"{parameter(name)} goes with {parameter('rules')}")
    return None


@command(
    app,
    InspectOptions,
    TextOutput,
    epilog="Example: fim-private inspect sales.csv --user customer_id --delimiter ';'",
)
def inspect(data: Purchases, **typed: Any) -> None:
    """Show how a file would be read, what is in it, and the mine command that fits. For your eyes
    only.

    It shows some of the data, and exact counts, so keep its output to yourself. It spends no
    budget.
    """
    from fim_private.output.inspections import command_for, render_inspection

    writing.hold_process(typed["max_memory"])
    with writing.output_of(typed, data) as output:
        seen = fim.inspect(data, **_given(typed))
        output.show(
            seen.to_dict() | {"command": command_for(seen)}, partial(render_inspection, seen)
        )


@command(
    app,
    AllMineOptions,
    RuleLimits,
    ReleaseOutput,
    IntervalsOption,
    PageOption,
    OtherUnitOption,
    RunOptions,
    epilog="Example: fim-private mine sales.csv --basket order_id --item product --size 2 "
    "--format json\n\n"
    "To protect customers: fim-private mine sales.csv --basket order_id --item product --user "
    "customer_id\n\n"
    "All itemsets that 2 % of baskets have: fim-private mine baskets.parquet --size 1-3 "
    "--min-support 2%\n\n"
    "Association rules: fim-private mine baskets.parquet --top 20 --rules\n\n"
    "With your product list, to find more: fim-private mine sales.csv --basket order_id --item sku "
    "--user customer_id --catalogue products.csv --catalogue-item sku --catalogue-label name\n\n"
    "Charged to a budget: fim-private mine baskets.parquet --ledger sales.ledger --dataset "
    "sales\n\n"
    "For each store: fim-private mine sales.csv --basket order_id --item product --by store "
    "--segments A,B,C\n\n"
    "For one week: fim-private mine sales.csv --basket order_id --item product --time sold_at "
    "--period 2026-W46\n\n"
    "Where the tables are: fim-private mine postgresql://host/shop --engine sql --table sales "
    "--basket order_id "
    "--item product --user customer_id --top 50",
)
def mine(context: typer.Context, data: Purchases, **typed: Any) -> None:
    """Release the most frequent itemsets, with differential privacy for each basket or, with
    --user, for each user.
    """
    from fim_private.reading.locations import source_of
    from fim_private.reading.purchases import reads_users

    by_user = reads_users(source_of(data), typed["user"], typed["input_format"], typed["basket"])
    rules = rules_chosen(typed, lifts=typed["together"] != "basket" or not by_user)
    if typed["dry_run"]:
        if typed["output"] is not None or typed["report"] is not None:
            raise ParameterError(
                f"leave out {parameter('output')} and {parameter('report')}: a dry run prints a "
                f"plan, and releases nothing"
            )
        _show_plan(data, typed)
        return
    spelled = partial(parsing.retyped, context)
    # The outputs are tried before any privacy is spent.
    with writing.output_of(typed, data, endings=writing.FORMS) as output:
        with _spending(typed, "Counting itemsets") as request:
            release = fim.mine(data, **request)
        output.show_release(release, rules, spelled)
    if release.abstained:
        if not writing.is_screen(typed["output"]):  # which shows it already
            from fim_private.output.releases import nothing_came_out

            writing.note(nothing_came_out(release, spelled))
        if typed["fail_if_empty"]:
            raise typer.Exit(NOTHING_CAME_OUT)


def _show_plan(data: str, typed: OptionValues) -> None:
    """Print what `mine` would do: the plan, and the queries that a database would get."""
    from fim_private.mining.mine import planned, queries
    from fim_private.output.releases import render_release_plan
    from fim_private.output.screen import Screen
    from fim_private.planning.plan import cautions_of_plan

    if typed["format"] not in (None, "table", "json"):
        raise ParameterError(
            f"{parameter('format')} must be table or json for a dry run, not {typed['format']}"
        )
    request = _given(typed)
    prepared = planned(data, ledger=writing.ledger_of(typed), **request)
    cost, _ = prepared.spending.total
    warn(cautions_of_plan(cost, typed["units"]), stacklevel=1)
    statements = queries(data, **request) if prepared.sends_queries else []
    plan = prepared.plans[0].to_dict()
    if statements:
        plan["queries"] = statements

    def render(screen: Screen) -> str:
        if not statements:
            return render_release_plan(prepared, screen)
        # A script that a database can run: the plan is a comment.
        comment = render_release_plan(prepared, Screen()).rstrip().splitlines()
        lines = "\n".join(f"-- {line}".rstrip() for line in comment)
        return "\n\n".join([lines, *statements]) + "\n"

    with writing.output_of(typed) as output:
        output.show(plan, render)


@command(
    app,
    GivenOptions,
    CountOptions,
    ReleaseOutput,
    OtherUnitOption,
    epilog="Example: fim-private count baskets.parquet --itemsets pairs.csv\n\n"
    "where pairs.csv has one itemset a line, its items separated by commas: bread,butter",
)
def count(data: Purchases, **typed: Any) -> None:
    """Release noisy supports of itemsets that you name, with differential privacy for each basket
    or (--user) user.

    The itemsets must be public. Do not take them from the data: `fim-private mine` does that with a
    guarantee.
    """
    # The output fails before any privacy is spent.
    with writing.output_of(typed, data, endings=writing.FORMS) as output:
        with _spending(typed, "Counting itemsets") as request:
            release = fim.count(data, **request)
        output.show_release(release)


@command(
    app,
    QuestionOptions,
    VoteOptions,
    TextOutput,
    OtherUnitOption,
    epilog="Example: fim-private vote baskets.parquet --question highest-lift --min-share 0.04 "
    "--blocks 50\n\n"
    "In Python any function of purchases can be asked (fim.vote).",
)
def vote(data: Purchases, **typed: Any) -> None:
    """Answer a question that no support answers, such as which pair has the highest lift, with
    differential privacy.

    Baskets (or users) go to random blocks, and each block answers by itself. An answer that enough
    blocks share is released.
    """
    from fim_private.learning.voting import named_question, voted
    from fim_private.output.releases import render_vote

    question = named_question(
        typed.pop("question"), min_share=typed.pop("min_share"), size=typed.pop("size")
    )
    # The output fails before any privacy is spent.
    with writing.output_of(typed, data) as output:
        with _spending(typed, "Asking blocks") as request:
            outcome = voted(data, question, **request)
        output.show(outcome.to_dict(), partial(render_vote, outcome))


# The heading of options of rules where a release is only shown.
_SHOWN = {"What to release": "What to show"}
_ReleaseFile = Annotated[str, _argument("FILE", "A release that was saved as .json or .parquet.")]


@command(
    app,
    ShowRulesOption,
    RecommendOption,
    RuleLimits,
    ReleaseOutput,
    ReleaseFigure,
    IntervalsOption,
    panels=_SHOWN,
    epilog="Example: fim-private mine sales.parquet --top 20 --rules --output release.parquet\n\n"
    "then: fim-private show release.parquet --rules --min-lift 1.5\n\n"
    "What goes with an item: fim-private show release.parquet --recommend 'tea bags'\n\n"
    "As a picture: fim-private show release.parquet --figure rules.svg --figure-kind network",
)
def show(release_file: _ReleaseFile, **typed: Any) -> None:
    """Show a release again, in any form. It spends nothing: no data is read.

    With --rules or --recommend it shows association rules, if the release was mined with --rules.
    """
    rules = rules_chosen(typed)
    with writing.output_of(typed, release_file, endings=writing.FORMS) as output:
        release = fim.load(release_file)
        _draw_release(release, rules, typed, release_file)
        output.show_release(release, rules)


def _draw_release(
    release: "AnyRelease", rules: Optional["RuleChoice"], typed: OptionValues, release_file: str
) -> None:
    """Write the picture of a release, if options name one. rules: those shown; None for none."""
    figure, kind = typed["figure"], typed["figure_kind"]
    if figure is None:
        if kind is not None:
            raise ParameterError(f"{parameter('figure_kind')} goes with {parameter('figure')}")
        return
    from fim_private.output.figures import release_figure
    from fim_private.release.rules import ALL_RULES

    if typed["intervals"] == Intervals.EXACT:
        release = release.with_exact_intervals()
    with writing.destination(figure, [release_file], option=parameter("figure")) as write:
        picture = release_figure(release, kind or FigureKind.SUPPORTS, rules or ALL_RULES, figure)
        write.document(picture)


@command(
    app,
    RuleLimits,
    PageOutput,
    panels=_SHOWN,
    epilog="Example: fim-private report release.parquet --output page.html\n\n"
    "How shares moved: fim-private report week45.json week46.json week47.json --output trend.html",
)
def report(
    release_files: Annotated[
        list[str], _argument("FILE...", "A release, saved as .json or .parquet; or several.")
    ],
    **typed: Any,
) -> None:
    """Make a page of a release, to look at in a browser or to send: one file, which loads nothing
    from anywhere.

    Of several releases, in order of time, it shows how shares moved. It shows what is released and
    nothing else, and spends nothing.
    """
    from fim_private.release.page import report_page
    from fim_private.release.rules import RuleChoice
    from fim_private.release.templates import check_page_name

    choice = RuleChoice.of(typed)
    if typed["output"] is not None:
        check_page_name(typed["output"], option=parameter("output"))
    first, *later = map(fim.load, release_files)
    release = [first, *later] if later else first
    made = report_page(release, choice, title=typed["title"])
    where = typed["output"] or Path(release_files[0]).expanduser().with_suffix(".html")
    with writing.destination(where, release_files) as write:
        write.document(made)


@command(
    app,
    StatementOutput,
    epilog="Example: fim-private statement release.json --ledger sales.ledger --output "
    "statement.md\n\n"
    "For the registry of deployments: fim-private statement release.json --format yaml",
)
def statement(release_file: _ReleaseFile, **typed: Any) -> None:
    """Print what a privacy officer needs to know about a release: who is protected, what was spent,
    and what is not protected.

    It spends nothing: no data is read.
    """
    from fim_private.release.officer import as_yaml, facts_of, registry_entry

    ledger = typed["ledger"]
    with writing.destination(typed["output"], [release_file, ledger]) as write:
        release = fim.load(release_file)
        facts = facts_of(release, writing.budget_of(ledger, release, verify=True))
        if typed["format"] == StatementFormat.YAML:
            write.document(as_yaml(registry_entry(release, facts)))
        else:
            write.document(facts.to_markdown())


@command(
    app,
    ChangeOptions,
    TextOutput,
    PageOption,
    epilog="Example: fim-private changes week45.parquet week46.parquet\n\n"
    "Between two segments of one release: fim-private changes stores.parquet --between north,south",
)
def changes(
    before: Annotated[str, _argument("BEFORE", "A release, saved as .json or .parquet.")],
    after: Annotated[str | None, _argument("AFTER", "A later one.")] = None,
    **typed: Any,
) -> None:
    """Show what changed from one release to another: what rose, fell, is new or gone.

    It spends nothing: no data is read.
    """
    from fim_private.output.releases import render_changes
    from fim_private.release.changes import between
    from fim_private.release.page import changes_page

    pair = typed["between"]
    if (after is None) == (pair is None):
        raise ParameterError(
            f"name two releases, or one of several segments and {parameter('between')}"
        )
    with writing.output_of(typed, before, after) as output:
        releases = (before, after) if pair is None else between(before, pair)
        differences = fim.changes(*releases, keep_all=typed["keep_all"])
        output.show(differences.to_dict(), partial(render_changes, differences))
        output.show_page(partial(changes_page, differences))


_LedgerName = Annotated[str, _argument("LEDGER", "A file, or postgresql://host/database#name.")]
_ExportFile = Annotated[str, _argument("FILE", "An export, or a ledger to be moved.")]


@command(budget, LedgerLimit, epilog=_CREATE)
def budget_create(path: _LedgerName, **typed: Any) -> None:
    """Create a ledger: the budget of all releases of one data set together.

    `fim-private mine` and `fim-private count` charge it with --ledger, before they count
    supports, and refuse what would overspend it.
    """
    with writing.destination(None) as write:
        made = fim.Ledger.create(path, **_given(typed)).statement()
        lines = f"Created {printable(made.name)}. {made.title}", made.protected
        write.send(writing.screen_for(None).render(lines))


@command(
    budget,
    VerifyOption,
    TextOutput,
    epilog="Example: fim-private budget show sales.ledger --format json",
)
def budget_show(path: _LedgerName, **typed: Any) -> None:
    """Show what a ledger allows, what its releases have spent, and what is left. It says nothing
    about the data.
    """
    from fim_private.output.ledgers import render_statement

    verify = typed["verify"]
    with writing.output_of(typed, path) as output:
        statement = fim.Ledger(path).statement(verify=verify)
        values = statement.to_dict()
        if verify:
            values["verified"] = True
        output.show(values, partial(render_statement, statement, verified=verify))


@command(budget, epilog="Example: fim-private budget export sales.ledger sales.export")
def budget_export(
    path: _LedgerName, file: Annotated[str, _argument("FILE", "A new file.")], **_: object
) -> None:
    """Copy a ledger, as it is now, to a file that can be shown and takes no charges."""
    with writing.destination(None) as write:
        ledger = fim.Ledger(path)
        ledger.export(file)
        # An address may hold a password: a ledger's name does not.
        copy = printable(fim.Ledger(file).name)
        line = f"Exported {printable(ledger.name)} to {copy}, which takes no charges."
        write.send(writing.screen_for(None).render([line]))


@command(
    budget,
    epilog="Example: fim-private budget import sales.export postgresql://db.example/shop#sales",
)
def budget_import(file: _ExportFile, path: _LedgerName, **_: object) -> None:
    """Create a ledger from an export, or move one: what is moved takes no more charges."""
    with writing.destination(None) as write:
        made = fim.Ledger.import_from(file, path).statement()
        lines = f"Imported {printable(made.name)}. {made.title}", made.protected
        write.send(writing.screen_for(None).render(lines))


@command(
    app,
    PlannedUsers,
    PlanOptions,
    PlanFigure,
    TextOutput,
    epilog="Example: fim-private plan --units 100000 --size 2 --epsilon 1 --delta 1e-6\n\n"
    "For many itemsets: fim-private plan --units 100000 --typical-basket 10 --top 10,50,100"
    "\n\n"
    "For customers, who bought 30 different items each: fim-private plan --units 10000 "
    "--user-items 30 --top 50\n\n"
    "As a figure over many budgets: fim-private plan --units 100000 --epsilons 0.1,0.2,0.5,1,2 "
    "--figure plan.png",
)
def plan(**typed: Any) -> None:
    """Show what each mechanism needs to find an itemset, or many, and which to take. It reads no
    data.
    """
    from fim_private.output.mechanisms import render_plan
    from fim_private.planning import plan as planning

    _check_figure(typed)
    epsilons, figure, request = typed["epsilons"], typed["figure"], _given(typed)
    if "top" in request:
        tops = _numbers("top", parsing.whole, request["top"])
        request["top"] = tops[0] if len(tops) == 1 else tops
    if epsilons is not None:
        plans = planning.plan_grid(_numbers("epsilons", parsing.number, epsilons), **request)
        if len(plans[0].tops) > 1:
            raise ParameterError(
                f"{parameter('epsilons')} are for one {parameter('top')}: a figure for several is "
                f"drawn against these"
            )
        _draw_plans(plans, figure)
        return
    planned = planning.plan(**request)
    warn(planning.cautions_of_plan(planned, planned.units), stacklevel=1)
    if figure is not None:
        _draw_plans(planned, figure)
        return
    with writing.output_of(typed) as output:
        output.show(planned.to_dict(), partial(render_plan, planned))


def _draw_plans(plans: "Plan | Sequence[Plan]", figure: Path) -> None:
    """Write the picture of a plan, or of several, to a file."""
    from fim_private.output.figures import plan_figure

    with writing.destination(figure, option=parameter("figure")) as write:
        write.document(plan_figure(plans, figure))


# Options of `plan` that leave another without use: who asks for users gets no figure.
_USELESS = {"figure": "user_items", "output": "figure", "format": "figure", "epsilon": "epsilons"}


def _check_figure(typed: OptionValues) -> None:
    """Raise ParameterError for options of a figure that do not go together."""
    if typed["figure"] is None and typed["epsilons"] is not None:
        raise ParameterError(
            f"{parameter('epsilons')} and {parameter('figure')} go together: the privacy "
            f"losses to compare, and where to draw them"
        )
    for name, option in _USELESS.items():
        if typed[name] is not None and typed[option] is not None:
            raise ParameterError(
                f"{parameter(name)} is not used with {parameter(option)}: leave it out"
            )


def _numbers(name: str, read: Callable[[str], float], texts: str) -> list[float]:
    try:
        return [read(text) for text in texts.split(",")]
    except typer.BadParameter as error:
        raise ParameterError(f"{parameter(name)} {error.message}") from None


@command(
    app,
    AuditOptions,
    BudgetOptions,
    TextOutput,
    epilog="Example: fim-private audit --mechanism large-margin --epsilon 1 --delta 1e-6",
)
def audit(**typed: Any) -> None:
    """Compute exactly how much of its guarantee a mechanism uses on pairs of neighbours that are
    hard for it.

    It reads no data: it makes up the pairs. The exit code is 1 if a guarantee is broken.
    """
    from fim_private.auditing import audit as auditing
    from fim_private.output.mechanisms import render_audit

    with writing.output_of(typed) as output:
        epsilon = EPSILON if typed["epsilon"] is None else typed["epsilon"]
        subjects = auditing.auditable(
            typed["mechanism"], epsilon, typed["delta"], typed["neighbors"]
        )
        with writing.progress_bar("Auditing") as progress:
            reports = [
                auditing.audit(
                    subject, trials=typed["trials"], seed=typed["seed"], progress=progress
                )
                for subject in subjects
            ]
        values = [report.to_dict() for report in reports]
        shown_values = values if typed["mechanism"] == "all" else values[0]
        output.show(shown_values, partial(render_audit, reports))
    if not all(report.holds for report in reports):
        raise typer.Exit(1)
