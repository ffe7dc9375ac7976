"""`fim-private mine`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fim_private import defaults
from fim_private.cli.catalogue_options import (
    CatalogueFile,
    CatalogueItem,
    CatalogueLabel,
    CatalogueQuery,
    ItemsArePublic,
)
from fim_private.cli.completion import mechanism_names
from fim_private.cli.destination import destination, ledger_at, output_path
from fim_private.cli.engine_options import EngineName, SparkConf, spark_settings
from fim_private.cli.mechanism_help import mechanisms_by_need, what_max_rank_caps, whom_max_basket_serves
from fim_private.cli.release_options import (
    ASKED,
    PUBLIC,
    WRITTEN,
    Count,
    DataSet,
    Delta,
    Epsilon,
    LedgerFile,
    MaxWork,
    MinBasket,
    Neighbors,
    OtherUnit,
    Rho,
    Seed,
    Together,
    unless,
)
from fim_private.cli.release_output import Format, ReleaseFile, ReleaseFormat, form_of, page_at, write_release
from fim_private.cli.rule_options import MinConfidence, MinLift, WithRules, rule_limits
from fim_private.cli.segment_options import ExcludeFile, MaxSegments, SegmentColumn, SegmentNames
from fim_private.cli.source_options import (
    BasketColumn,
    Delimiter,
    Encoding,
    FoldCase,
    HasHeader,
    InputFormat,
    ItemColumn,
    ItemsColumn,
    MaxMemory,
    MissingUserRule,
    Purchases,
    Query,
    SkipRows,
    Split,
    UserColumn,
    Where,
    reading_is_told,
)
from fim_private.errors import OutputError, parameter

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
            metavar="N, N-M or auto:N-M",
            help="Items per itemset, or a range of sizes; with auto: one of them, chosen for a tenth of the budget.",
            rich_help_panel=ASKED,
        ),
    ] = str(defaults.SIZE),
    top: Annotated[
        int,
        typer.Option(
            help="How many itemsets (of each size); with --min-support at most how many (of all sizes): "
            f"{defaults.TOP_REACHING:,}, or {defaults.TOP_PICKED_REACHING} where they are picked.",
            rich_help_panel=ASKED,
        ),
    ] = defaults.TOP,
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
    epsilon: Epsilon = defaults.EPSILON,
    delta: Delta = defaults.DELTA,
    rho: Rho = None,
    mechanism: Annotated[
        str,
        typer.Option(
            help=f"{mechanisms_by_need()} `fim-private plan` compares them.",
            autocompletion=mechanism_names,
            rich_help_panel=PUBLIC,
        ),
    ] = defaults.MECHANISM,
    neighbors: Neighbors = defaults.NEIGHBORS,
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
    max_work: MaxWork = defaults.MAX_WORK,
    max_memory: MaxMemory = None,
    engine: EngineName = None,
    spark_conf: SparkConf = None,
    output_format: Format = ReleaseFormat.TABLE,
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
    from fim_private.cli.progress import progress_bar
    from fim_private.mining import mine as typed_mine
    from fim_private.mining.segmented import rules_by_segment
    from fim_private.reading import reads_users

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
        from fim_private.cli.retyped import retyped

        made = None if limits is None else rules_by_segment(release, *limits)
        write_release(write, release, form, output, rules=made, spelled=partial(retyped, context))
        write_page(release, made)
