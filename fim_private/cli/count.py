"""`fim-private count`."""

from __future__ import annotations

from typing import Annotated

import typer

from fim_private import options
from fim_private.cli.options import (
    ASKED,
    BasketColumn,
    Count,
    DataSet,
    Delimiter,
    Delta,
    Encoding,
    EngineName,
    Epsilon,
    FoldCase,
    HasHeader,
    InputFormat,
    ItemColumn,
    ItemsColumn,
    LedgerFile,
    MaxMemory,
    MaxWork,
    MinBasket,
    MissingUserRule,
    Neighbors,
    OtherUnit,
    Purchases,
    Query,
    Rho,
    Seed,
    SkipRows,
    SparkConf,
    Split,
    Together,
    UserColumn,
    Where,
    reading_is_told,
    spark_settings,
    unless,
)
from fim_private.cli.writing import (
    ReleaseFile,
    ReleaseFormat,
    ReleaseFormatOption,
    destination,
    form_of,
    ledger_at,
    write_release,
)

EPILOG = (
    "Example: fim-private count baskets.parquet --itemsets pairs.csv\n\n"
    "where pairs.csv has one itemset a line, its items separated by commas: bread,butter"
)


def count(
    context: typer.Context,
    data: Purchases,
    itemsets: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Which itemsets, a public list: text with one a line, items separated by commas (.csv) or white space "
            "(.dat, .txt); Parquet or Arrow with a list column itemsets; or a release as .json.",
            show_default=False,
            rich_help_panel=ASKED,
        ),
    ],
    epsilon: Epsilon = options.EPSILON,
    delta: Delta = options.DELTA,
    rho: Rho = None,
    neighbors: Neighbors = options.NEIGHBORS,
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
    min_basket: MinBasket = None,
    together: Together = None,
    count: Count = False,
    max_work: MaxWork = options.MAX_WORK,
    max_memory: MaxMemory = None,
    engine: EngineName = None,
    spark_conf: SparkConf = None,
    output_format: ReleaseFormatOption = ReleaseFormat.TABLE,
    output: ReleaseFile = None,
    ledger: LedgerFile = None,
    dataset: DataSet = None,
    allow_other_unit: OtherUnit = False,
    seed: Seed = None,
) -> None:
    """Release noisy supports of itemsets that you name, differentially private per basket or, with --user, per user.

    The itemsets must be public: do not take them from the data (`fim-private mine` does that with a guarantee).
    """
    from fim_private.cli.options import progress_bar
    from fim_private.mining.count import count as count_release

    form = form_of(context, output_format, output)
    with destination(output, inputs=[data, itemsets, ledger]) as write:  # fails before any privacy is spent
        with reading_is_told(), progress_bar("Counting itemsets") as progress:
            release = count_release(
                data,
                itemsets,
                epsilon=unless(context, "epsilon", epsilon, rho),
                delta=delta,
                rho=rho,
                neighbors=neighbors,
                user=user,
                missing_user=missing_user,
                basket=basket,
                item=item,
                items=items,
                split=split,
                fold_case=fold_case,
                delimiter=delimiter,
                header=header,
                encoding=encoding,
                count=count,
                input_format=input_format,
                skip_rows=skip_rows,
                query=query,
                where=where,
                min_basket=min_basket,
                together=together,
                max_work=max_work,
                max_memory=max_memory,
                engine=engine,
                spark_conf=spark_settings(spark_conf),
                progress=progress,
                ledger=ledger_at(ledger, allow_other_unit=allow_other_unit),
                dataset=dataset,
                seed=seed,
            )
        write_release(write, release, form, output)
