"""Releases as tables of Arrow and of pandas: a row for each itemset, under the names that mlxtend has for columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fim_private.mining.itemset import Itemset
from fim_private.reading.vocabulary import Item

# The columns beside the itemsets: whole numbers of units, or shares of them. None where nothing was released.
Columns = Mapping[str, Sequence[int | float | None]]
# Columns of these names are shares in a table of counts.
SHARES = frozenset({"share"})


def arrow_table(itemsets: Sequence[tuple[Item, ...] | None], columns: Columns) -> Any:
    """Return a pyarrow.Table: support, itemsets (null for the outcome without a name), then the other columns.

    columns: each as long as itemsets; int64, or float64 where they are SHARES. Items of both kinds come out as strings,
    for an Arrow list has one type.
    """
    import pyarrow as pa

    kind = pa.int64() if _are_numbers(itemsets) else pa.string()
    made = {name: pa.array(values, pa.float64() if name in SHARES else pa.int64()) for name, values in columns.items()}
    return pa.table({"support": made.pop("support"), "itemsets": pa.array(_lists(itemsets), pa.list_(kind)), **made})


def pandas_frame(
    itemsets: Sequence[tuple[Item, ...]], columns: Columns, dtypes: Mapping[str, str], *, lists: bool
) -> Any:
    """Return a pandas.DataFrame: support, itemsets, then the other columns.

    columns: each as long as itemsets. dtypes: of those that are not Int64. lists: whether itemsets are lists, whose
    items are of one type as in arrow_table, not frozensets.
    """
    import pandas as pd

    made = {name: pd.array(list(values), dtype=dtypes.get(name, "Int64")) for name, values in columns.items()}
    sets = _lists(itemsets) if lists else [frozenset(items) for items in itemsets]
    return pd.DataFrame({"support": made.pop("support"), "itemsets": pd.Series(sets, dtype=object), **made})


def downward_closed(itemsets: Sequence[Itemset]) -> list[Itemset]:
    """Return, in order, the itemsets of which all parts with one item less, and so all parts, are returned as well."""
    kept: set[frozenset[Item]] = set()
    for itemset in sorted(itemsets, key=lambda each: len(each.items or ())):
        items = frozenset(itemset.items or ())
        if len(items) == 1 or all(items - {item} in kept for item in items):
            kept.add(items)
    return [itemset for itemset in itemsets if frozenset(itemset.items or ()) in kept]


def counts(itemsets: Sequence[Itemset], has_supports: bool) -> dict[str, list[int | None]]:
    """Return what is known of itemsets in units: their supports and, where these were asked for, lower and upper."""
    columns = {"support": [itemset.support for itemset in itemsets]}
    if has_supports:
        for place, name in enumerate(("lower", "upper")):
            columns[name] = [itemset.interval and itemset.interval[place] for itemset in itemsets]
    return columns


def of_one_type(tables: Sequence[Any]) -> list[Any]:
    """Return tables as arrow_table makes them with items of one type: of numbers where all that have rows are."""
    import pyarrow as pa

    types = {table.schema.field("itemsets").type for table in tables if len(table)}
    kind = types.pop() if len(types) == 1 else pa.list_(pa.string())
    return [table.set_column(1, "itemsets", table.column("itemsets").cast(kind)) for table in tables]


def _are_numbers(itemsets: Sequence[tuple[Item, ...] | None]) -> bool:
    """Tell whether there are items, all of them integers."""
    items = [item for itemset in itemsets if itemset is not None for item in itemset]
    return bool(items) and all(isinstance(item, int) for item in items)


def _lists(itemsets: Sequence[tuple[Item, ...] | None]) -> list[list[Item] | None]:
    """Return each itemset as a list, all items being integers or all being strings."""
    numbers = _are_numbers(itemsets)
    return [None if itemset is None else [i if numbers else str(i) for i in itemset] for itemset in itemsets]
