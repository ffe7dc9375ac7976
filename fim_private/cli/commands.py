"""The commands: what each takes, what it asks the library, and what it writes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from enum import Enum
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fim_private.cli.parsing import CONFIG, QUIET, number, path_of, source_of, variable_of, whole
from fim_private.cli.writing import (
    destination,
    form_of,
    hold_process,
    ledger_at,
    parts_of,
    progress_bar,
    reading_shown,
    screen_for,
    table_or_json,
    write_release,
)
from fim_private.display import printable
from fim_private.errors import OutputError, ParameterError, parameter
from fim_private.options import EPSILON, TextFormat

Purchases = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Purchases: Parquet, Arrow/Feather, CSV, JSON Lines or .dat (text also as .gz or .bz2), Excel (.xlsx), or "
        "a folder or a pattern of such ('sales/*.parquet'), also in an object store (s3://...); - reads text from "
        "standard input; a database is postgresql://... or sqlite:///shop.db, with --query. `fim-private inspect FILE` "
        "tells how it would be read.",
        show_default=False,
        show_envvar=False,
    ),
]


@contextmanager
def _spending(asked: dict[str, Any], label: str) -> Iterator[dict[str, Any]]:
    """Yield what the library is asked for, of options as they were typed, with the ledger and the progress bar open."""
    given = {name: value for name, value in asked.items() if value not in (None, [])}
    hold_process(given.get("max_memory"))
    if "spark_conf" in given:
        from fim_private.spark.dataframes import settings_of

        given["spark_conf"] = settings_of(given["spark_conf"])
    ledger = ledger_at(given.pop("ledger", None), allow_other_unit=given.pop("allow_other_unit"))
    with reading_shown(), progress_bar(label) as progress:
        yield given | {"ledger": ledger, "progress": progress}


def rule_limits(asked: dict[str, Any], *, lifts: bool = True) -> tuple[float, float] | None:
    """Take the least confidence and lift out of what is asked; None for no rules. lifts: whether rules have any."""
    limits = {name: asked.pop(name) for name in ("min_confidence", "min_lift")}
    if not asked["rules"]:
        for name, limit in limits.items():
            if limit is not None:
                raise ParameterError(f"{parameter(name)} goes with {parameter('rules')}")
        return None
    from fim_private.release.rules import least

    first, second = (least(name, limit or 0.0) for name, limit in limits.items())
    if second and not lifts:
        from fim_private.release.words import no_min_lift

        raise ParameterError(no_min_lift())
    return first, second


MINE_EPILOG = (
    "Example: fim-private mine sales.csv --basket order_id --item product --size 2 --format json\n\n"
    "To protect customers: fim-private mine sales.csv --basket order_id --item product --user customer_id\n\n"
    "All that 2 % of baskets have: fim-private mine baskets.parquet --size 1-3 --min-support 2%\n\n"
    "Rules, those of high lift first: fim-private mine baskets.parquet --top 20 --rules\n\n"
    "With your product list, which finds more: fim-private mine sales.csv --basket order_id --item sku "
    "--user customer_id --catalogue products.csv --catalogue-item sku --catalogue-label name\n\n"
    "Charged to a budget: fim-private mine baskets.parquet --ledger sales.ledger --dataset sales\n\n"
    "For each store: fim-private mine sales.csv --basket order_id --item product --by store --segments A,B,C"
)


def mine(context: typer.Context, data: Purchases, **asked: Any) -> None:
    """Release the most frequent itemsets of a size, differentially private per basket or, with --user, per user."""
    from fim_private.mining.mine import mine as mine_release
    from fim_private.reading.purchases import reads_users
    from fim_private.release.rules import rules_by_segment

    output, report = asked.pop("output"), asked.pop("report")
    by_user = reads_users(data, asked["user"], asked["input_format"], asked["basket"])
    limits = rule_limits(asked, lifts=asked["together"] != "basket" or not by_user)
    form = form_of(asked.pop("format"), output)
    # No output may be one; both are tried before any privacy is spent.
    inputs = [data, asked["catalogue"], asked["exclude"], asked["ledger"]]
    if report is not None and output is not None and report.resolve() == output.resolve():
        raise OutputError(f"cannot write {str(report)!r}: it is {parameter('output')}; name another file for the page")
    page = nullcontext() if report is None else destination(report, inputs=inputs, given=parameter("report"))
    with destination(output, inputs=inputs) as write, page as write_page:
        with _spending(asked, "Counting itemsets") as given:
            release = mine_release(data, **given)
        made = None if limits is None else rules_by_segment(release, *limits)
        write_release(write, release, form, output, rules=made, spelled=partial(retyped, context))
        if write_page is not None:
            from fim_private.release.page import page as page_of

            write_page.send(page_of(release, made).encode(errors="backslashreplace"))


COUNT_EPILOG = (
    "Example: fim-private count baskets.parquet --itemsets pairs.csv\n\n"
    "where pairs.csv has one itemset a line, its items separated by commas: bread,butter"
)


def count(data: Purchases, **asked: Any) -> None:
    """Release noisy supports of itemsets that you name, differentially private per basket or, with --user, per user.

    The itemsets must be public: do not take them from the data (`fim-private mine` does that with a guarantee).
    """
    from fim_private.mining.count import count as count_release

    itemsets, output = asked.pop("itemsets"), asked.pop("output")
    form = form_of(asked.pop("format"), output)
    with destination(output, inputs=[data, itemsets, asked["ledger"]]) as write:  # fails before any privacy is spent
        with _spending(asked, "Counting itemsets") as given:
            release = count_release(data, itemsets, **given)
        write_release(write, release, form, output)


VOTE_EPILOG = (
    "Example: fim-private vote baskets.parquet --question highest-lift --min-share 0.04 --blocks 50\n\n"
    "In Python any function of purchases can be asked (fim.vote)."
)


def vote(data: Purchases, **asked: Any) -> None:
    """Answer a question that no support answers, such as which pair has the highest lift, differentially private.

    Each of some random blocks of baskets (or users) answers by itself. An answer is released if enough blocks agree.
    """
    from fim_private.learning.voting import named_question, voted
    from fim_private.output import render_vote

    question = named_question(asked.pop("question"), min_share=asked.pop("min_share"), size=asked.pop("size"))
    # The output fails before any privacy is spent.
    with table_or_json(asked, inputs=[data, asked["exclude"], asked["ledger"]]) as show:
        with _spending(asked, "Asking blocks") as given:
            found = voted(data, question, **given)
        show(found.to_dict(), partial(render_vote, found))


def retyped(context: Any, changes: Mapping[str, Any]) -> str:
    """Return the command of a context as it was given, from wherever, with the changes: to be copied.

    changes: parameters and their values; False or None leaves an option out. A variable that gives what is to be left
    out is emptied in front of the command.
    """
    prefix, emptied, words = context.auto_envvar_prefix, [], []
    hidden = {"quiet": context.meta.get(QUIET), "config": None}
    for given in context.command.params:
        name, source = given.name, source_of(context, given.name)
        if name in changes or (source != "DEFAULT" and name != "config"):
            value = changes[name] if name in changes else context.params.get(name, hidden.get(name))
            typed = [*_words(given, value, is_changed=name in changes)]
            words += typed
            if name in changes and not typed and source == "ENVIRONMENT":
                emptied.append(f"{variable_of(prefix, given)}=")
        if name == "config" and source == "ENVIRONMENT" and CONFIG in context.meta:
            emptied.append(f"{variable_of(prefix, given)}=")  # nothing that is typed can take away what it says
    start = [str(context.find_root().info_name or "fim-private"), *path_of(context)]
    return " ".join([*emptied, *start, *map(shlex.quote, words)])


def _words(given: Any, value: Any, *, is_changed: bool = False) -> Iterator[str]:
    if value is False and given.secondary_opts and not is_changed:
        yield given.secondary_opts[0]
    if value is None or value is False:
        return
    for each in value if isinstance(value, list | tuple) else [value]:
        if given.param_type_name == "option":
            yield given.opts[0]
        if isinstance(each, Fraction):
            yield f"{float(each):g}"
        elif each is not True:
            from fim_private.reading.files import shown_source

            yield shown_source(str(each.value if isinstance(each, Enum) else each))  # an address without its password


# Commands that spend no budget.
INSPECT_EPILOG = "Example: fim-private inspect sales.csv --user customer_id --delimiter ';'"


def inspect(data: Purchases, **asked: Any) -> None:
    """Show how a file would be read, what is in it, and the mine command that fits. For whoever holds the data only.

    It shows some of the data and counts exactly: nothing of it is private, and it spends no budget.
    """
    from fim_private.output import command_for, render_inspection
    from fim_private.reading.inspection import inspect as inspect_source

    hold_process(asked["max_memory"])
    with table_or_json(asked, inputs=[data]) as show_it:
        seen = inspect_source(data, **{name: value for name, value in asked.items() if value not in (None, [])})
        show_it(seen.to_dict() | {"command": command_for(seen)}, partial(render_inspection, seen))


SHOW_EPILOG = (
    "Example: fim-private mine sales.parquet --top 20 --rules --output release.parquet\n\n"
    "then: fim-private show release.parquet --rules --min-lift 1.5"
)
_ReleaseFile = Annotated[
    str, typer.Argument(metavar="FILE", show_default=False, help="A release that was written as .json or .parquet.")
]


def show(release_file: _ReleaseFile, **asked: Any) -> None:
    """Show a release again, in any form. It spends nothing: no data is read.

    With --rules, the association rules of a release that was mined with --rules.
    """
    from fim_private.release.release import load
    from fim_private.release.rules import rules_by_segment

    limits, output = rule_limits(asked), asked["output"]
    form = form_of(asked["format"], output)
    release = load(release_file)
    made = None if limits is None else rules_by_segment(release, *limits)
    with destination(output, inputs=[release_file]) as write:
        write_release(write, release, form, output, rules=made)


REPORT_EPILOG = "Example: fim-private report release.parquet --output page.html"


def report(release_file: _ReleaseFile, **asked: Any) -> None:
    """Make a page of a release, to look at in a browser or to send: one file, which loads nothing from anywhere.

    It shows what is released and nothing else, and spends nothing.
    """
    from fim_private.release.page import page
    from fim_private.release.release import load
    from fim_private.release.rules import least, rules_by_segment

    limits = [least(name, asked[name] or 0.0) for name in ("min_confidence", "min_lift")]
    release = load(release_file)
    rules = rules_by_segment(release, *limits) if release.with_parts else None
    where = asked["output"] or Path(release_file).expanduser().with_suffix(".html")
    with destination(where, inputs=[release_file]) as write:
        write.send(page(release, rules).encode(errors="backslashreplace"))


HELP = "Keep the budget of a data set in a ledger: create one, and show what is spent and left."
CREATE_EPILOG = "Example: fim-private budget create sales.ledger --epsilon 3 --delta 1e-5"
STATEMENT_EPILOG = "Example: fim-private budget show sales.ledger --format json"

_LedgerFile = Annotated[str, typer.Argument(metavar="LEDGER", help="File of the ledger.", show_default=False)]


def create(path: _LedgerFile, **asked: Any) -> None:
    """Create a ledger: the budget of all releases of one data set together, in a file.

    `fim-private mine` and `fim-private count` charge it with --ledger, before they look at the data, and refuse what
    would overspend it.
    """
    from rich.text import Text

    from fim_private.ledger.ledger import Ledger

    with destination(None) as write:
        made = Ledger.create(path, **asked).statement()
        lines = f"Created {printable(made.name)}. {made.title}", made.protected
        write.send(screen_for(None).render(map(Text, lines)))


def budget_show(path: _LedgerFile, **asked: Any) -> None:
    """Show what a ledger allows, what its releases have spent, and what is left. It tells nothing of the data."""
    from fim_private.ledger.ledger import Ledger
    from fim_private.output import render_statement

    verify = asked["verify"]
    with table_or_json(asked, inputs=[path]) as show_it:
        statement = Ledger(path).statement(verify=verify)
        values = statement.to_dict() | ({"verified": True} if verify else {})
        show_it(values, lambda screen: render_statement(statement, screen, verified=verify))


PLAN_EPILOG = (
    "Example: fim-private plan --units 100000 --size 2 --epsilon 1 --delta 1e-6\n\n"
    "For many itemsets: fim-private plan --units 100000 --typical-basket 10 --top 10,50,100 --supports\n\n"
    "For customers, who bought 30 different items each: fim-private plan --units 10000 --user-items 30 --top 50\n\n"
    "As a figure over many budgets: fim-private plan --units 100000 --epsilons 0.1,0.2,0.5,1,2 --figure plan.png"
)


def plan(**asked: Any) -> None:
    """Tell what each mechanism needs to find an itemset, or many, and which to take. No data is read."""
    from fim_private.planning import plan as planning

    outputs = {name: asked.pop(name) for name in ("output", "format")}
    epsilons, figure, epsilon = asked.pop("epsilons"), asked.pop("figure"), asked.pop("epsilon")
    several = asked["top"] not in (None, "1") or "-" in asked["size"].lstrip("-")
    several = several or asked["typical_basket"] is not None or asked["union"] or asked["supports"]
    many = several and asked["user_items"] is None
    if asked["user_items"] is not None and figure is not None:
        raise ParameterError(f"{parameter('figure')} has no use with {parameter('user_items')}: leave it out")
    if many and epsilons is not None:
        raise ParameterError(
            f"{parameter('epsilons')} are for one itemset: a figure for many is drawn against {parameter('top')}"
        )
    if not many and (epsilons is None) != (figure is None):
        raise ParameterError(
            f"{parameter('epsilons')} and {parameter('figure')} go together: the privacy losses to compare, and where "
            "to draw them"
        )
    if figure is not None and (outputs["output"] is not None or outputs["format"] is TextFormat.JSON):
        raise ParameterError(
            f"{parameter('figure')} is written instead of a table or JSON: leave out {parameter('output')} and "
            f"{parameter('format')}"
        )
    if epsilons is not None and epsilon is not None:
        raise ParameterError(f"{parameter('epsilons')} are what the figure compares: leave out {parameter('epsilon')}")
    if asked["top"] is not None:
        tops = [_number("top", whole, each) for each in asked["top"].split(",")]
        asked["top"] = tops[0] if len(tops) == 1 else tops
    spent = EPSILON if epsilon is None else epsilon
    if figure is not None:
        from fim_private.output import draw_plan_figure, draw_top_plan_figure

        if epsilons is None:
            draw_top_plan_figure(planning.plan(epsilon=spent, **asked), figure)
        else:
            losses = [_number("epsilons", number, each) for each in epsilons.split(",")]
            draw_plan_figure(planning.plan_grid(losses, **asked), figure)
        return
    with table_or_json(outputs) as show:
        from fim_private.output import render_plan

        found = planning.plan(epsilon=spent, **asked)
        show(found.to_dict(), partial(render_plan, found))


def _number(name: str, read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except typer.BadParameter as error:
        raise ParameterError(f"{parameter(name)} {error.message}") from None


AUDIT_EPILOG = "Example: fim-private audit --mechanism large-margin --epsilon 1 --delta 1e-6"


def audit(**asked: Any) -> None:
    """Compute, exactly, how much of its guarantee a mechanism uses on neighbouring data that is hard for it.

    No data is read: the audit makes up pairs of neighbours. Exit code 1 if a guarantee is broken.
    """
    from fim_private.auditing.audit import audit as audited
    from fim_private.auditing.audit import auditable
    from fim_private.output import render_audit

    with table_or_json(asked) as show_it:
        epsilon = EPSILON if asked["epsilon"] is None else asked["epsilon"]
        subjects = auditable(asked["mechanism"], epsilon, asked["delta"], asked["neighbors"])
        with progress_bar("Auditing") as progress:
            reports = [
                audited(subject, trials=asked["trials"], seed=asked["seed"], progress=part)
                for subject, part in zip(subjects, parts_of(progress, len(subjects)), strict=True)
            ]
        found = [report.to_dict() for report in reports]
        show_it(found if asked["mechanism"] == "all" else found[0], partial(render_audit, reports))
    if not all(report.holds for report in reports):
        raise typer.Exit(1)
