"""`fim-private vote`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from fim_private import options
from fim_private.cli.given import questions
from fim_private.cli.options import (
    ASKED,
    PUBLIC,
    BasketColumn,
    DataSet,
    Delimiter,
    Delta,
    Encoding,
    Epsilon,
    ExcludeFile,
    FoldCase,
    HasHeader,
    InputFormat,
    ItemColumn,
    ItemsColumn,
    LedgerFile,
    MaxMemory,
    MinBasket,
    MissingUserRule,
    Neighbors,
    OtherUnit,
    Purchases,
    Query,
    Seed,
    SkipRows,
    Split,
    Together,
    UserColumn,
    Where,
    reading_is_told,
)
from fim_private.cli.writing import (
    OutputFile,
    TableOrJson,
    TextFormat,
    destination,
    ledger_at,
    screen_for,
    table_or_json,
)

EPILOG = (
    "Example: fim-private vote baskets.parquet --question highest-lift --min-share 0.04 --blocks 50\n\n"
    "By customers: fim-private vote sales.csv --basket order_id --item product --user customer_id "
    "--question highest-confidence --min-share 0.1\n\n"
    "In Python any function of purchases can be asked (fim.vote)."
)


def vote(
    data: Purchases,
    question: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="highest-lift (the pair of items), highest-confidence (the rule of two items) or most-frequent (the "
            "itemset of --size).",
            autocompletion=questions,
            show_default=False,
            rich_help_panel=ASKED,
        ),
    ],
    min_share: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="For highest-lift and highest-confidence: only pairs that such a share of a block has: 0.04 or 4%.",
            show_default=False,
            rich_help_panel=ASKED,
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            help=f"For most-frequent: items per itemset, {options.SIZE} unless given.",
            show_default=False,
            rich_help_panel=ASKED,
        ),
    ] = None,
    blocks: Annotated[
        int, typer.Option(help="How many blocks baskets (or users) are dealt to.", rich_help_panel=PUBLIC)
    ] = options.BLOCKS,
    votes: Annotated[
        int, typer.Option(help="How many of its best answers each block names.", rich_help_panel=PUBLIC)
    ] = options.VOTES,
    epsilon: Epsilon = options.EPSILON,
    delta: Delta = options.DELTA,
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
    exclude: ExcludeFile = None,
    min_basket: MinBasket = None,
    together: Together = None,
    max_memory: MaxMemory = None,
    output_format: TableOrJson = None,
    output: OutputFile = None,
    ledger: LedgerFile = None,
    dataset: DataSet = None,
    allow_other_unit: OtherUnit = False,
    seed: Seed = None,
) -> None:
    """Answer a question that no support answers, such as which pair has the highest lift, differentially private.

    Each of some random blocks of baskets (or users) answers by itself. An answer is released if enough blocks agree.
    """
    from fim_private.cli.options import progress_bar
    from fim_private.learning.voting import named_question, voted

    asked = named_question(question, min_share=min_share, size=size)
    form = table_or_json(output_format, output)
    with destination(output, inputs=[data, exclude, ledger]) as write:  # fails before any privacy is spent
        with reading_is_told(), progress_bar("Asking blocks") as progress:
            found = voted(
                data,
                asked,
                blocks=blocks,
                votes=votes,
                epsilon=epsilon,
                delta=delta,
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
                input_format=input_format,
                skip_rows=skip_rows,
                query=query,
                where=where,
                exclude=exclude,
                min_basket=min_basket,
                together=together,
                max_memory=max_memory,
                progress=progress,
                ledger=ledger_at(ledger, allow_other_unit=allow_other_unit),
                dataset=dataset,
                seed=seed,
            )
        if form is TextFormat.JSON:
            write.json(json.dumps(found.to_dict(), ensure_ascii=False))
        else:
            from fim_private.output import render_vote

            write(render_vote(found, screen_for(output)))
