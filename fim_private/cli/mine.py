"""`fim-private mine`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from enum import Enum
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fim_private import options
from fim_private.cli.given import kept, mechanism_names, path_of, source_of
from fim_private.cli.options import (
    ASKED,
    PUBLIC,
    WRITTEN,
    BasketColumn,
    CatalogueFile,
    CatalogueItem,
    CatalogueLabel,
    CatalogueQuery,
    Count,
    DataSet,
    Delimiter,
    Delta,
    Encoding,
    EngineName,
    Epsilon,
    ExcludeFile,
    FoldCase,
    HasHeader,
    InputFormat,
    ItemColumn,
    ItemsArePublic,
    ItemsColumn,
    LedgerFile,
    MaxMemory,
    MaxSegments,
    MaxWork,
    MinBasket,
    MinConfidence,
    MinLift,
    MissingUserRule,
    Neighbors,
    OtherUnit,
    Purchases,
    Query,
    Rho,
    Seed,
    SegmentColumn,
    SegmentNames,
    SkipRows,
    SparkConf,
    Split,
    Together,
    UserColumn,
    Where,
    WithRules,
    mechanisms_by_need,
    reading_is_told,
    rule_limits,
    spark_settings,
    unless,
    what_max_rank_caps,
    whom_max_basket_serves,
)
from fim_private.cli.writing import (
    ReleaseFile,
    ReleaseFormat,
    ReleaseFormatOption,
    destination,
    form_of,
    ledger_at,
    output_path,
    page_at,
    write_release,
)
from fim_private.errors import OutputError, parameter

# -------------------- retyped
# The command that was typed, with some options changed: for whoever copies it.


def retyped(context: typer.Context, changes: Mapping[str, Any]) -> str:
    """Return the command of a context as it was given, but for what changes: parameters and their values.

    False or None leaves an option out. What nobody gave, and is not changed, stays away. What the environment gave is
    typed. A file of options is named again; where it says what is to be left out, its other options are typed instead.
    A variable that says so is emptied in front of the command.
    """
    emptied, words = _retyped(context, changes)
    start = [str(context.find_root().info_name or "fim-private"), *path_of(context)]
    return " ".join([*(f"{name}=" for name in emptied), *start, *map(shlex.quote, words)])


def _retyped(context: Any, changes: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the environment's variables that must be empty, and the arguments and options as they are typed."""
    file = kept(context, "config")
    typed, emptied = {}, []
    for given in context.command.params:
        name, source = given.name, source_of(context, given.name)
        if name in changes or source not in ("DEFAULT", "DEFAULT_MAP"):
            value = changes[name] if name in changes else _value(context, given)
            typed[name] = [*_words(given, value, is_changed=name in changes)]
            if name in changes and source == "ENVIRONMENT" and not typed[name]:
                emptied.append(str(given.envvar))
    if file is not None:
        # Nothing that is typed can take away what the file says.
        if all(typed.get(name, True) for name in file.values):
            typed["config"] = ["--config", file.name]
        else:
            typed["config"] = []
            for given in context.command.params:
                if given.name == "config" and source_of(context, "config") == "ENVIRONMENT":
                    emptied.append(str(given.envvar))
                elif given.name in file.values and given.name not in typed:
                    typed[given.name] = [*_words(given, _value(context, given))]
    return emptied, [word for given in context.command.params for word in typed.get(given.name, [])]


def _value(context: Any, given: Any) -> Any:
    """Return the value of a parameter."""
    return context.params.get(given.name, kept(context, given.name))


def _words(given: Any, value: Any, *, is_changed: bool = False) -> Iterator[str]:
    """Yield a parameter as it is typed: nothing where it is to be left out."""
    if value is False and given.secondary_opts and not is_changed:
        yield given.secondary_opts[0]
    if value is None or value is False:
        return
    for part in value if isinstance(value, list | tuple) else [value]:
        if given.param_type_name == "option":
            yield given.opts[0]
        if part is not True:
            yield _typed(part)


def _typed(value: Any) -> str:
    """Return a value as text; an address without its password."""
    if isinstance(value, Fraction):
        return f"{float(value):g}"
    from fim_private.reading.files import shown_source

    return shown_source(str(value.value if isinstance(value, Enum) else value))


# -------------------- mine
# `fim-private mine`.

EPILOG = (
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


def mine(
    context: typer.Context,
    data: Purchases,
    size: Annotated[
        str,
        typer.Option(
            metavar="N or N-M",
            help="Items per itemset, or a range of sizes.",
            rich_help_panel=ASKED,
        ),
    ] = str(options.SIZE),
    top: Annotated[
        int,
        typer.Option(
            help="How many itemsets (of each size); with --min-support at most how many (of all sizes): "
            f"{options.TOP_REACHING:,}, or {options.TOP_PICKED_REACHING} where they are picked.",
            rich_help_panel=ASKED,
        ),
    ] = options.TOP,
    min_support: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE or N",
            help="Not the most frequent, but those that so many have: 0.02 or 2% of all baskets (or users), or 500 of "
            "them. With noisy supports; what may have less by the noise alone is marked.",
            show_default=False,
            rich_help_panel=ASKED,
        ),
    ] = None,
    union: Annotated[
        bool,
        typer.Option(
            "--union", help="With a range of sizes: rank the itemsets of all together.", rich_help_panel=ASKED
        ),
    ] = False,
    supports: Annotated[
        bool, typer.Option("--supports", help="Release noisy supports too, with 95 % intervals.", rich_help_panel=ASKED)
    ] = False,
    supports_share: Annotated[
        float | None,
        typer.Option(
            help="The share of the budget that --supports spends: 0.1 with levelwise, and where auto picks a few "
            "itemsets of users (0.15 with --neighbors replace-one, 0.4 with --min-support); 1/3 with others and for "
            "--rules.",
            show_default=False,
            rich_help_panel=ASKED,
        ),
    ] = None,
    keep_all: Annotated[
        bool,
        typer.Option(
            "--keep-all",
            help="Release itemsets, too, whose noisy support does not stand out from zero.",
            rich_help_panel=ASKED,
        ),
    ] = False,
    count: Count = False,
    rules: WithRules = False,
    min_confidence: MinConfidence = None,
    min_lift: MinLift = None,
    epsilon: Epsilon = options.EPSILON,
    delta: Delta = options.DELTA,
    rho: Rho = None,
    mechanism: Annotated[
        str,
        typer.Option(
            help=f"{mechanisms_by_need()} `fim-private plan` compares them.",
            autocompletion=mechanism_names,
            rich_help_panel=PUBLIC,
        ),
    ] = options.MECHANISM,
    neighbors: Neighbors = options.NEIGHBORS,
    max_rank: Annotated[
        int | None,
        typer.Option(
            help=what_max_rank_caps(),
            show_default=False,
            rich_help_panel=PUBLIC,
        ),
    ] = None,
    max_basket: Annotated[
        int | None,
        typer.Option(
            help=f"Public cap on a basket's items, for {whom_max_basket_serves()}: the first in label order count.",
            show_default=False,
            rich_help_panel=PUBLIC,
        ),
    ] = None,
    max_baskets: Annotated[
        int | None,
        typer.Option(
            help="With --max-basket and --user: how many different baskets of a user count, drawn by what is in them.",
            show_default=False,
            rich_help_panel=PUBLIC,
        ),
    ] = None,
    user: UserColumn = None,
    missing_user: MissingUserRule = None,
    basket: BasketColumn = None,
    item: ItemColumn = None,
    items: ItemsColumn = None,
    split: Split = None,
    fold_case: FoldCase = False,
    input_format: InputFormat = None,
    delimiter: Delimiter = None,
    header: HasHeader = None,
    encoding: Encoding = None,
    skip_rows: SkipRows = None,
    query: Query = None,
    where: Where = None,
    exclude: ExcludeFile = None,
    min_basket: MinBasket = None,
    together: Together = None,
    by: SegmentColumn = None,
    segments: SegmentNames = None,
    max_segments: MaxSegments = None,
    catalogue: CatalogueFile = None,
    catalogue_item: CatalogueItem = None,
    catalogue_label: CatalogueLabel = None,
    catalogue_query: CatalogueQuery = None,
    items_are_public: ItemsArePublic = False,
    universe_size: Annotated[
        int | None,
        typer.Option(help="Public number of items, for exponential without a catalogue.", rich_help_panel=PUBLIC),
    ] = None,
    max_work: MaxWork = options.MAX_WORK,
    max_memory: MaxMemory = None,
    engine: EngineName = None,
    spark_conf: SparkConf = None,
    output_format: ReleaseFormatOption = ReleaseFormat.TABLE,
    output: ReleaseFile = None,
    ledger: LedgerFile = None,
    dataset: DataSet = None,
    allow_other_unit: OtherUnit = False,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a page of HTML to show, too.",
            show_default=False,
            parser=output_path,
            rich_help_panel=WRITTEN,
        ),
    ] = None,
    seed: Seed = None,
) -> None:
    """Release the most frequent itemsets of a size, differentially private per basket or, with --user, per user."""
    from fim_private.cli.options import progress_bar
    from fim_private.mining.mine import mine as typed_mine
    from fim_private.reading.purchases import reads_users
    from fim_private.release.segmented import rules_by_segment

    mine_release: Any = typed_mine  # whether there are segments shows when it runs
    lifts = together != "basket" or not reads_users(data, user, input_format, basket)
    limits = rule_limits(rules, min_confidence, min_lift, lifts=lifts)
    form = form_of(context, output_format, output)
    inputs = [data, catalogue, exclude, ledger]  # no output may be one; both are tried before any privacy is spent
    if report is not None and output is not None and report.resolve() == output.resolve():
        raise OutputError(f"cannot write {str(report)!r}: it is {parameter('output')}; name another file for the page")
    with destination(output, inputs=inputs) as write, page_at(report, inputs=inputs) as write_page:
        with reading_is_told(), progress_bar("Counting itemsets") as progress:
            release = mine_release(
                data,
                size=size,
                epsilon=unless(context, "epsilon", epsilon, rho),
                delta=delta,
                rho=rho,
                mechanism=mechanism,
                neighbors=neighbors,
                top=unless(context, "top", top, min_support),
                min_support=min_support,
                union=union,
                supports=supports,
                supports_share=supports_share,
                keep_all=keep_all,
                max_rank=max_rank,
                max_basket=max_basket,
                max_baskets=max_baskets,
                catalogue=catalogue,
                catalogue_item=catalogue_item,
                catalogue_label=catalogue_label,
                catalogue_query=catalogue_query,
                items_are_public=items_are_public,
                universe_size=universe_size,
                user=user,
                missing_user=missing_user,
                basket=basket,
                item=item,
                items=items,
                split=split,
                fold_case=fold_case,
                count=count,
                rules=rules,
                delimiter=delimiter,
                header=header,
                encoding=encoding,
                input_format=input_format,
                skip_rows=skip_rows,
                query=query,
                where=where,
                exclude=exclude,
                min_basket=min_basket,
                together=together,
                by=by,
                segments=segments,
                max_segments=max_segments,
                max_work=max_work,
                max_memory=max_memory,
                engine=engine,
                spark_conf=spark_settings(spark_conf),
                progress=progress,
                ledger=ledger_at(ledger, allow_other_unit=allow_other_unit),
                dataset=dataset,
                seed=seed,
            )

        made = None if limits is None else rules_by_segment(release, *limits)
        write_release(write, release, form, output, rules=made, spelled=partial(retyped, context))
        write_page(release, made)
