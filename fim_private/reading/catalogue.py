"""The public list of items: text, a table or any iterable, to a Vocabulary; and the labels that a table has of them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError, parameter
from fim_private.reading.columns import Roles, listing
from fim_private.reading.files import DELIMITER_OF_SUFFIX, File, empty
from fim_private.reading.labels import Codes, Item, Labels, Vocabulary, as_texts, mixed_vocabulary
from fim_private.reading.memory import read_whole
from fim_private.reading.options import InputForm
from fim_private.reading.record_batches import ArrowSource, plain
from fim_private.reading.sources import file_table
from fim_private.reading.values import arrow_strings, present

_HEADERS = {
    *("item", "items", "item_id", "itemid", "product", "products", "product_id", "productid", "product_name"),
    *("name", "label", "labels", "sku", "article", "stockcode", "stock_code"),
}


@dataclass(frozen=True)
class ListColumns:
    """Which columns of a table are the items, None for the only one or one of such a name, and their labels."""

    item: str | None = None
    label: str | None = None

    @property
    def names(self) -> list[str]:
        """Those that are named."""
        return [name for name in (self.item, self.label) if name is not None]


@dataclass(frozen=True, repr=False)
class ItemList:
    """A public list of items. labels: the label of each that has one, where the list has labels."""

    items: Vocabulary
    labels: Mapping[Item, str] = field(default_factory=dict)


def _name_it(columns: ListColumns | None) -> str:
    alone = "give a list with the column of items alone"
    return alone if columns is None else f"say with {parameter('catalogue_item')} which one is of items, or {alone}"


def catalogue_of_file(file: File, columns: ListColumns | None = None, *, fold_case: bool = False) -> Vocabulary:
    """Read the items of a text file (one a line, or a column whose name tells), or of the one item column of a table.

    columns: names none here; None where none can be named. Raises DataError for no items, and for no such column.
    """
    if file.form != "text":
        return catalogue_of_table(file_table(file, head=True), columns, fold_case=fold_case).items
    labels = Labels(file.name, text=True, fold_case=fold_case)
    rows = _rows(file)
    first = next(rows, [])
    named = [place for place, name in enumerate(first) if name.strip().casefold() in _HEADERS]
    if len(first) > 1 and len(named) != 1:
        # The columns are not listed: without a line of names they would be somebody's purchases.
        raise DataError(
            f"the catalogue {file.name} has several columns, and none or several named like an item; "
            f"{_name_it(columns)}"
        )
    place = named[0] if named else 0
    fields = [row[place] for row in (rows if named else chain([first], rows)) if len(row) > place]
    return _finished(labels, [labels.encode(arrow_strings(fields))], file.name)[0]


def catalogue_of_table(source: ArrowSource, columns: ListColumns | None = None, *, fold_case: bool = False) -> ItemList:
    """Read the columns of a table that are a list of items; of several labels of an item the first counts.

    Raises DataError if one is not there, or there are several, if it holds no labels, or nothing.
    """
    item, label = (None, None) if columns is None else (columns.item, columns.label)
    names = source.schema.names
    if item is None:
        candidates = names if len(names) == 1 else [name for name in names if name.casefold() in _HEADERS]
        if len(candidates) != 1:
            raise DataError(
                f"the catalogue {source.name} must have one column, or one named item: {_name_it(columns)}; "
                f"it has {listing(source.columns())}"
            )
        item = candidates[0]
    for option, name in (("catalogue_item", item), ("catalogue_label", label)):
        if name is not None and names.count(name) != 1:
            # Those of a text are not listed: they may be a line of somebody's purchases.
            there = "" if source.is_text else f"; it has {listing(source.columns())}"
            many = "more than one" if name in names else "no"
            raise DataError(
                f"the catalogue {source.name} has {many} column {name!r}: name another with {parameter(option)}{there}"
            )
    roles = Roles(InputForm.LONG, (item,) if label is None else (item, label))
    labels = Labels(f"column {item!r} of {source.name}", text=item in source.tokens, fold_case=fold_case)
    codes: list[Codes] = []
    texts: list[str | None] = []
    for batch in source.batches(roles.wanted):
        codes.append(labels.encode(plain(batch.column(item))))
        if label is not None:
            texts += present(as_texts(plain(batch.column(label)))).to_pylist()
    vocabulary, final = _finished(labels, codes, source.name)
    first: dict[Item, str] = {}
    for code, text in zip(np.concatenate(codes).tolist(), texts, strict=False):
        if code >= 0 and text is not None:
            first.setdefault(vocabulary.label(int(final[code])), text)
    return ItemList(vocabulary, first)


def united(lists: Sequence[Vocabulary]) -> Vocabulary:
    """Return the items of several lists as one."""
    labels = dict.fromkeys(one.label(code) for one in lists for code in range(len(one)))
    return lists[0] if len(lists) == 1 else mixed_vocabulary([*labels])[0]


def catalogue_of_values(values: Any, *, fold_case: bool = False) -> Vocabulary:
    """Read an Arrow array of labels, or any iterable of int and str. Raises DataError for others, and for no items."""
    labels = Labels("the catalogue", fold_case=fold_case)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    else:
        wrong = DataError(f"a list of items must be a path or a collection of items, not {type(values).__name__}")
        if isinstance(values, bytes) or not isinstance(values, Iterable):
            raise wrong
        try:
            iterator = iter(values)
        except TypeError:  # an array of no dimensions claims to be iterable
            raise wrong from None
        chunks = [list(iterator)]
    return _finished(labels, [labels.encode(chunk) for chunk in chunks], "the catalogue")[0]


def _finished(labels: Labels, codes: list[Codes], name: str) -> tuple[Vocabulary, Codes]:
    vocabulary, final = labels.finish(codes)
    if not len(vocabulary):
        raise DataError(f"{name} lists no items; it needs at least one")
    return vocabulary, final


def _rows(file: File) -> Iterator[list[str]]:
    with file.open() as stream:
        text = read_whole(stream).decode("utf-8-sig")
    if not text:
        raise empty(file.name)
    lines = text.split("\n")
    delimiter = DELIMITER_OF_SUFFIX.get(file.suffix)
    if delimiter is None:
        yield from ([line] for line in lines)
        return
    if delimiter == "," and ";" in lines[0] and "," not in lines[0]:
        delimiter = ";"
    rows = csv.reader((line + "\n" for line in lines), delimiter=delimiter, skipinitialspace=True, strict=True)
    yield from (row for row in rows if row)
