"""`fim-private inspect`."""

from __future__ import annotations

import json

from fim_private.cli.destination import Format, OutputFile, TableOrJson, destination, screen_for, table_or_json
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
)

EPILOG = (
    "Example: fim-private inspect sales.csv\n\n"
    "With what you know of it: fim-private inspect sales.csv --user customer_id --delimiter ';'"
)


def inspect(
    data: Purchases,
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
    max_memory: MaxMemory = None,
    output_format: TableOrJson = None,
    output: OutputFile = None,
) -> None:
    """Show how a file would be read, what is in it, and the mine command that fits. For whoever holds the data only.

    It shows some of the data and counts exactly: nothing of it is private, and it spends no budget.
    """
    from fim_private.output.inspection_table import command_for, render_inspection
    from fim_private.reading.inspection import inspect as inspect_source

    form = table_or_json(output_format, output)
    with destination(output, inputs=[data]) as write:
        seen = inspect_source(
            data,
            user=user,
            missing_user=missing_user,
            basket=basket,
            item=item,
            items=items,
            split=split,
            fold_case=fold_case,
            input_format=input_format,
            skip_rows=skip_rows,
            delimiter=delimiter,
            header=header,
            encoding=encoding,
            query=query,
            where=where,
            max_memory=max_memory,
        )
        if form is Format.JSON:
            write.json(json.dumps(seen.to_dict() | {"command": command_for(seen)}))
        else:
            write(render_inspection(seen, screen_for(output)))
