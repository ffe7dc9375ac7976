"""`fim-private mine`, `count` and `vote`: the commands that release something of purchases."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import Annotated, Any

import typer

from fim_private.cli.command import CONFIG, QUIET, path_of, source_of, variable_of
from fim_private.cli.writing import (
    destination,
    form_of,
    hold_process,
    ledger_at,
    progress_bar,
    reading_shown,
    table_or_json,
    write_release,
)
from fim_private.errors import OutputError, ParameterError, parameter

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
    "Twenty pairs with supports: fim-private mine baskets.parquet --top 20 --supports\n\n"
    "All that 2 % of baskets have: fim-private mine baskets.parquet --size 1-3 --min-support 2%\n\n"
    "Rules, those of high lift first: fim-private mine baskets.parquet --top 20 --rules\n\n"
    "With your product list, which finds more: fim-private mine sales.csv --basket order_id --item sku "
    "--user customer_id --catalogue products.csv --catalogue-item sku --catalogue-label name\n\n"
    "Charged to a budget: fim-private mine baskets.parquet --ledger sales.ledger --dataset sales\n\n"
    "For each store: fim-private mine sales.csv --basket order_id --item product --by store --segments A,B,C\n\n"
    "From a database: fim-private mine postgresql:///shop --query 'select order_id, product from sales' "
    "--basket order_id --item product"
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
    "By customers: fim-private vote sales.csv --basket order_id --item product --user customer_id "
    "--question highest-confidence --min-share 0.1\n\n"
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
    """Yield a parameter as it is typed: nothing where it is to be left out."""
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
