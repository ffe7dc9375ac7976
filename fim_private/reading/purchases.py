"""`read_transactions`: purchases in every form, to `Transactions`; `read_catalogue`: the public
list of items.

The same baskets from Parquet, from a frame and from text (if their labels have the same types) give
equal arrays. Errors name files, columns, types and options, never a value, an item, a row or a
number that depends on the data.
"""

import csv
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import chain
from typing import Unpack

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError, ParameterError, parameter
from fim_private.options.declaration import filled, takes
from fim_private.options.purchases import ReadingOptions
from fim_private.reading import frames
from fim_private.reading.columns import listing
from fim_private.reading.databases import check_query
from fim_private.reading.files import (
    DELIMITER_OF_SUFFIX,
    File,
    empty,
    file_errors,
    files_of,
    open_file,
)
from fim_private.reading.labels import Codes, Item, Labels, Vocabulary, as_texts, mixed_vocabulary
from fim_private.reading.locations import InMemory, Source, source_of
from fim_private.reading.memory import limit_memory
from fim_private.reading.options import DIALECT, InputForm, Reading, reading_of
from fim_private.reading.record_batches import ArrowSource, read_arrow
from fim_private.reading.sources import file_table, named_source
from fim_private.reading.text import read_text, text_table
from fim_private.reading.transactions import Transactions, members
from fim_private.reading.values import arrow_strings

_LOGGER = logging.getLogger(__name__)  # tells form and columns, nothing of the rows
_NAMES = "item items item_id itemid product products product_id productid product_name name label"
_HEADERS = {*_NAMES.split(), "labels", "sku", "article", "stockcode", "stock_code"}


@takes(ReadingOptions)
def read_transactions(source: object, **options: Unpack[ReadingOptions]) -> Transactions:
    """Read purchases from a file or from memory.

    source: one of these. A path, a folder or a pattern of files that are one table
        (``sales/*.parquet``), or an address of such (``s3://bucket/sales``). Folders named
        ``year=2024`` are a column. Parquet, Arrow IPC or Feather. ``.csv`` or ``.tsv`` with one row
        per item (with basket and item), or without a header and one basket per line. ``.dat``,
        ``.txt`` or ``.fimi`` with one basket per line, items between white space. ``.jsonl``. Text
        may be packed: ``.gz``, ``.bz2``. ``.xlsx``, with a table on its only sheet (extra
        ``excel``). ``-`` for standard input, pipes. The address of a database, with a query:
        ``postgresql://...``, or ``sqlite:///shop.db`` (extra ``sql``). A pyarrow table, reader,
        dataset or scanner, a DuckDB relation, a pandas or polars frame, any Arrow stream. It has a
        column of lists, or one row per item, or a column of booleans or of 0 and 1 for each item. A
        scipy sparse matrix or a two-dimensional array of booleans, or of 0 and 1: column numbers
        are items. An iterable of baskets, each a collection of int and str. Transactions, which are
        returned as they are. The options, below, are explained in docs/reading.md. Without user
        each basket is a unit. Rows without a basket's id are left out, those without a user are
        refused unless missing_user says what becomes of them. Items that several columns name have
        " | " between their values: "DAIRY | Private".

    A value that is an integer in print is an int label: 39, 39.0 and ``39.0``, but not ``007``. All
    others are str labels, by the text of each value. White space around a text means nothing, and a
    text that is empty then, or stands for none (NULL, NA, nan, ...), is a null. Null items are
    dropped, an item repeated in a basket counts once, an empty basket (an empty line, a null list)
    counts as a basket.

    Raises DataError for what cannot be read, or in several ways. MemoryLimitError: it takes more
    than max_memory.
    ParameterError: options contradict each other, or the source has no columns for them.
    """
    reading = reading_of(filled("read_transactions", ReadingOptions, options))
    location = source_of(source)
    reading = replace(reading, from_query=is_query(location, reading))
    [transactions] = read_parts(location, reading)
    return transactions


def is_query(source: Source, options: Reading) -> bool:
    """Tell whether a query, or what may be one, chose the rows of a source (docs/reading.md, "What
    is a query").
    """
    match source:
        case InMemory(Transactions() as transactions):
            return transactions.reading.from_query
        case InMemory():
            return frames.may_be_query(source)
    return options.query is not None


def read_parts(source: Source, options: Reading) -> list[Transactions]:
    """Read purchases as `read_transactions` does: those of each segment in turn, or, without
    segments, all.
    """
    check_query(source, options.query)
    if isinstance(source, InMemory) and isinstance(source.data, Transactions):
        options.dialect.refuse_for("what has been read already", DIALECT)
        names = options.choices()
        if options.fold_case:
            names.append("fold_case")
        if names:
            listed = " and ".join(map(parameter, names))
            raise ParameterError(f"leave out {listed}: these purchases have been read already")
        return [source.data]
    with limit_memory(options.memory):
        purchases = _read(source, options)
    if purchases.read_as is not None:
        _LOGGER.info("Read as %s.", purchases.read_as)
    purchases = replace(purchases, reading=options)
    return members(purchases, options.parts, by_user=options.user is not None)


def reads_users(
    source: Source, user: str | None, input_format: str | None, basket: object = None
) -> bool:
    """Tell whether units will be users: a column of users is named, or each line is a user.

    Only public things decide it.
    """
    if user is not None or input_format == InputForm.SPMF:
        return True
    if input_format is not None or basket is not None or isinstance(source, InMemory):
        return False
    return re.search(r"\.spmf(\.gz|\.bz2)?$", source.shown, re.IGNORECASE) is not None


def _read(source: Source, options: Reading) -> Transactions:
    if not isinstance(source, InMemory):
        with file_errors(source.name):
            stored = named_source(source, options)
            if isinstance(stored, File):
                return read_text(stored, options)
            return read_arrow(stored, options)
    try:
        return frames.read_object(source, options)
    except pa.ArrowException:  # its own text may quote a value
        raise DataError(
            f"the {source.shown} cannot be read as baskets; convert it to strings first"
        ) from None


def read_every_item(source: Source, options: Reading) -> Vocabulary:
    """Return all items of a source, of all its rows. That alone makes them no public list."""
    check_query(source, options.query)
    name, problem = parameter("items_are_public"), None
    if isinstance(source, InMemory) and isinstance(source.data, Transactions):
        problem = "were read already"
    elif not source.can_be_read_again:
        problem = "can be read only once"
    if problem is not None:
        raise ParameterError(
            f"{name} reads all items first, and these purchases {problem}: "
            f"give a file or a table, or list the items with {parameter('catalogue')}"
        )
    items = _read(source, replace(options, every_item=True)).vocabulary
    if not len(items):
        raise DataError(f"{name} finds no items in the purchases; check what is read of them")
    return items


_ALONE = "give a list with the column of items alone"


@dataclass(frozen=True, repr=False)
class ItemList:
    """A public list of items. labels: the label of each that has one, where the list has labels."""

    items: Vocabulary
    labels: Mapping[Item, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ListColumns:
    """The columns of a table that are a list of items, and how it is read.

    Attributes:
        item: The column of items; None for the only column, or the one of such a name.
        label: The column of their labels or groups, if there is one.
        fold_case: As in `read_transactions`.
        advice: What an error advises if the column of items is not clear.
        label_option: The option that names the column of labels.
    """

    item: str | None = None
    label: str | None = None
    fold_case: bool = False
    advice: str = f"say with {parameter('catalogue_item')} which one is of items, or {_ALONE}"
    label_option: str = "catalogue_label"

    def of_file(self, file: File) -> Vocabulary:
        """Return the items in a file."""
        if file.form != "text":
            return self.of_table(file_table(file, Reading(head=True))).items
        rows = _rows(file)
        first = next(iter(rows), [])
        headers = [place for place, name in enumerate(first) if name.strip().casefold() in _HEADERS]
        if len(first) > 1 and len(headers) != 1:
            # Columns are not listed: without a line of names they would be somebody's purchases.
            raise DataError(
                f"{file.name} has several columns, and none or several named like an item; "
                f"{self.advice}"
            )
        place = headers[0] if headers else 0
        fields = [row[place] for row in rows[len(headers) :] if len(row) > place]
        return self._items([arrow_strings(fields)], file.name)[0]

    def of_table(self, source: ArrowSource) -> ItemList:
        """Return the list in a table, with the labels of its items."""
        item, label = self.item or self._item_column(source), self.label
        _check_column(source, "catalogue_item", item)
        names = [item]
        if label is not None:
            _check_column(source, self.label_option, label)
            names.append(label)
        arrays = [*source.values(names)]
        items = (columns[0] for columns in arrays)
        vocabulary, codes = self._items(items, f"column {item!r} of {source.name}")
        if label is None:
            return ItemList(vocabulary)
        texts = chain.from_iterable(as_texts(columns[1]).to_pylist() for columns in arrays)
        labels: dict[Item, str] = {}
        for code, text in zip(codes.tolist(), texts, strict=True):
            if code >= 0 and text is not None:
                labels.setdefault(vocabulary.label(code), text)
        return ItemList(vocabulary, labels)

    def of_values(self, source: InMemory) -> Vocabulary:
        """Return the items in an Arrow array, a series, or any iterable of int and str."""
        array = frames.array_of(source)
        if array is not None:
            chunks = array.chunks
        else:
            try:
                if isinstance(source.data, bytes):
                    raise TypeError
                chunks = [list(source.data)]
            except TypeError:  # also of an array of no dimensions, which claims to be iterable
                raise DataError(
                    f"a list of items must be a path or a collection of items, not {source.shown}"
                ) from None
        return self._items(chunks, "the list of items")[0]

    def _item_column(self, source: ArrowSource) -> str:
        """Return the only column, or the only one named like an item. Raises DataError."""
        names: list[str] = source.schema.names
        if len(names) > 1:
            names = [name for name in names if name.casefold() in _HEADERS]
        if len(names) != 1:
            raise DataError(
                f"{source.name} must have one column, or one named item: "
                f"{self.advice}; it has {listing(source.columns())}"
            )
        return names[0]

    def _items(self, chunks: Iterable[Collection[object]], where: str) -> tuple[Vocabulary, Codes]:
        """Return the items among some values, and the code of each value, -1 for none.

        where: what errors call the values. Raises DataError if there are no items.
        """
        labels = Labels(where, fold_case=self.fold_case)
        codes = [labels.encode(chunk) for chunk in chunks]
        vocabulary, final = labels.finish(codes)
        if not len(vocabulary):
            raise DataError(f"{where} has no items; it needs at least one")
        return vocabulary, final[np.concatenate(codes)]


def read_catalogue(source: object, *, fold_case: bool = False) -> Vocabulary:
    """Read the public list of items, from a file or from memory.

    source: a path, folder, pattern or address (``s3://...``) of text, Parquet or Arrow. Or an Arrow
        table or array, a pandas or polars Series, or an iterable of int and str. Text has one item
        a line, and may have a header such as ``item``. Of several columns, the one named like
        ``item`` counts. Nulls and repetitions are dropped.
    fold_case: as in `read_transactions`, as are the labels' types; 39 and "39" in catalogue and
    data are one item. Raises DataError if it cannot be read, or lists nothing.
    """
    return read_item_list(source_of(source), ListColumns(fold_case=fold_case, advice=_ALONE)).items


def read_item_list(source: Source, columns: ListColumns, query: str | None = None) -> ItemList:
    """Read the public list of items as read_catalogue does, with their labels if it has some.

    If columns or a query are given, source is any table that read_transactions reads.
    """
    check_query(source, query, "catalogue_query")
    if isinstance(source, InMemory):
        return _list_in_memory(source, columns)
    with _list_errors(), file_errors(source.name):
        if columns.item is not None or query is not None:
            # By its name a column tells at which delimiter a first line is cut.
            options = Reading(items=columns.item, query=query, head=True)
            table = named_source(source, options)
            if not isinstance(table, ArrowSource):
                table = text_table(table, options, InputForm.LONG)
            return columns.of_table(table)
        lists = [columns.of_file(_opened_list(file)) for file in files_of(source)]
        labels = (items.label(code) for items in lists for code in range(len(items)))
        return ItemList(mixed_vocabulary([*dict.fromkeys(labels)])[0])


@contextmanager
def _list_errors() -> Iterator[None]:
    """Say in errors that the options for the text of purchases are not for that of a list."""
    try:
        yield
    except DataError as error:
        if all(parameter(name) not in error.marked for name in DIALECT):
            raise
        raise DataError(
            f"{error.marked}. That is for purchases: save a list of items as CSV in UTF-8, with "
            f"the names of its columns in the first line"
        ) from None


def _opened_list(file: File) -> File:
    """Return the file of a list with its form. Raises DataError for JSON, such as a vote."""
    if file.path.suffix.lower() == ".json":
        raise DataError(
            f"{file.name} is JSON, and no list of items: give a text with one item a line, or CSV"
        )
    return open_file(file)


def _list_in_memory(source: InMemory, columns: ListColumns) -> ItemList:
    try:
        listed = frames.table_of(source)
        if listed is not None:
            return columns.of_table(listed)
        if columns.item is not None:
            name = parameter("catalogue_item")
            raise ParameterError(
                f"leave out {name}: {parameter('catalogue')} is a list, which has no columns"
            )
        return ItemList(columns.of_values(source))
    except pa.ArrowException:
        raise DataError(
            f"the {source.shown} cannot be read as a list of items; make it a list of strings"
        ) from None


def _check_column(source: ArrowSource, option: str, name: str) -> None:
    """Raise DataError if a table does not have a column of this name, or has several."""
    count = source.schema.names.count(name)
    if count == 1:
        return
    number = "more than one" if count else "no"
    problem = f"{source.name} has {number} column {name!r}: name another with {parameter(option)}"
    if not source.is_text:  # the columns of a text may be a line of somebody's purchases
        problem += f"; it has {listing(source.columns())}"
    raise DataError(problem)


def _rows(file: File) -> list[list[str]]:
    text = file.public_text()
    if not text:
        raise empty(file.name)
    delimiter = DELIMITER_OF_SUFFIX.get(file.suffix)
    if delimiter is None:
        return [[line] for line in text.split("\n")]
    first = text.partition("\n")[0]
    if delimiter == "," and ";" in first and "," not in first:
        delimiter = ";"
    rows = csv.reader(StringIO(text), delimiter=delimiter, skipinitialspace=True, strict=True)
    return [*filter(None, rows)]
