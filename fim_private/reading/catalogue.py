"""The public list of items: text, Parquet, Arrow, or any iterable, to a Vocabulary."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from fim_private.errors import DataError
from fim_private.reading.arrow_labels import ArrowLabels
from fim_private.reading.arrow_numpy import arrow_strings
from fim_private.reading.column_roles import Roles, listing
from fim_private.reading.dialect import InputForm
from fim_private.reading.file_tables import file_table
from fim_private.reading.files import DELIMITER_OF_SUFFIX, File, empty
from fim_private.reading.labels import Codes, Labels
from fim_private.reading.memory import read_whole
from fim_private.reading.python_labels import PythonLabels
from fim_private.reading.record_batches import ArrowSource, describe
from fim_private.reading.vocabulary import Vocabulary

_HEADERS = frozenset(
    [
        "item",
        "items",
        "item_id",
        "itemid",
        "product",
        "products",
        "product_id",
        "productid",
        "product_name",
        "name",
        "label",
        "labels",
        "sku",
        "article",
        "stockcode",
        "stock_code",
    ]
)


def catalogue_of_file(file: File, *, fold_case: bool = False) -> Vocabulary:
    """Read the items of a text file (first field of each line), or of the one item column of a table.

    fold_case: here and below, as in `arrow_labels.ArrowLabels`.

    Raises DataError for a file without items, and for a table without such a column, or with several.
    """
    if file.form != "text":
        return catalogue_of_table(file_table(file, head=True), fold_case=fold_case)
    labels = ArrowLabels(file.name, text=True, fold_case=fold_case)
    fields = list(_fields(file))
    if fields and fields[0].strip().casefold() in _HEADERS:
        del fields[0]
    return _finished([labels.encode(arrow_strings(fields))], labels, file.name)


def catalogue_of_table(source: ArrowSource, *, fold_case: bool = False) -> Vocabulary:
    """Read the only column of a table, or the only one with the name of an item column.

    Raises DataError if there is none or there are several, if it holds no labels, or nothing.
    """
    names = source.schema.names
    candidates = names if len(names) == 1 else [name for name in names if name.casefold() in _HEADERS]
    if len(candidates) != 1:
        raise DataError(
            f"the catalogue {source.name} must have one column, or one named item; "
            f"it has {listing(describe(source.schema))}"
        )
    labels = ArrowLabels(f"column {candidates[0]!r} of {source.name}", fold_case=fold_case)
    roles = Roles(InputForm.LONG, (candidates[0],))
    codes = [labels.encode(batch.column(candidates[0])) for batch in source.batches(roles.wanted)]
    return _finished(codes, labels, source.name)


def catalogue_of_values(values: Any, *, fold_case: bool = False) -> Vocabulary:
    """Read an Arrow array of labels, or any iterable of int and str. Raises DataError for others, and for no items."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        labels: Labels = ArrowLabels("the catalogue", fold_case=fold_case)
        chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    else:
        labels, chunks = PythonLabels(fold_case=fold_case), [_listed(values)]
    return _finished([labels.encode(chunk) for chunk in chunks], labels, "the catalogue")


def _listed(values: object) -> list[object]:
    """Return a collection as a list. Raises DataError for what is none."""
    wrong = DataError(f"a list of items must be a path or a collection of items, not {type(values).__name__}")
    if isinstance(values, bytes) or not isinstance(values, Iterable):
        raise wrong
    try:
        iterator = iter(values)
    except TypeError:  # an array of no dimensions claims to be iterable
        raise wrong from None
    return list(iterator)


def _finished(codes: list[Codes], labels: Labels, name: str) -> Vocabulary:
    """Return the vocabulary of all labels. Raises DataError if there are none."""
    vocabulary, _ = labels.finish(codes)
    if not len(vocabulary):
        raise DataError(f"{name} lists no items; it needs at least one")
    return vocabulary


def _fields(file: File) -> Iterator[str]:
    """Yield the first field of each line of a text file. Raises DataError for an empty file."""
    with file.open() as stream:
        text = read_whole(stream).decode("utf-8-sig")
    if not text:
        raise empty(file.name)
    lines = text.split("\n")
    delimiter = DELIMITER_OF_SUFFIX.get(file.suffix)
    if delimiter is None:
        yield from lines
        return
    if delimiter == "," and ";" in lines[0] and "," not in lines[0]:
        delimiter = ";"
    rows = csv.reader((line + "\n" for line in lines), delimiter=delimiter, skipinitialspace=True, strict=True)
    yield from (row[0] for row in rows if row)
