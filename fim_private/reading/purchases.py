"""`read_transactions`: purchases in every form, to `Transactions`; `read_catalogue`: the public
list of items.

The same baskets from Parquet, from a frame and from text (if their labels have the same types) give
equal arrays. Errors name files, columns, types and options, never a value, an item, a row or a
number that depends on the data.
"""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError, ParameterError, parameter
from fim_private.options import ReadingOptions, filled, takes
from fim_private.reading import frames
from fim_private.reading.columns import Roles, listing
from fim_private.reading.databases import check_query
from fim_private.reading.files import DELIMITER_OF_SUFFIX, File, empty, file_errors
from fim_private.reading.labels import Codes, Item, Labels, Vocabulary, as_texts, mixed_vocabulary
from fim_private.reading.locations import InMemory, Source, source_of
from fim_private.reading.memory import held_to, read_whole
from fim_private.reading.options import DIALECT, InputForm, Options, reading_of
from fim_private.reading.record_batches import ArrowSource, plain, read_arrow
from fim_private.reading.sources import file_table, named_files, named_source
from fim_private.reading.text import read_text, text_table
from fim_private.reading.transactions import Transactions, members
from fim_private.reading.values import arrow_strings, present

_LOGGER = logging.getLogger(__name__)  # tells form and columns, nothing of the rows
_HEADERS = {
    *(
        "item",
        "items",
        "item_id",
        "itemid",
        "product",
        "products",
        "product_id",
        "productid",
        "product_name",
    ),
    *("name", "label", "labels", "sku", "article", "stockcode", "stock_code"),
}


@takes(ReadingOptions)
def read_transactions(source: Any, **options: Unpack[ReadingOptions]) -> Transactions:
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


def is_query(source: Source, options: Options) -> bool:
    """Tell whether a query, or what may be one, chose the rows of a source (docs/reading.md, "What
    is a query").
    """
    match source:
        case InMemory(Transactions() as transactions):
            return transactions.query
        case InMemory():
            return frames.may_be_query(source)
    return options.query is not None


def read_parts(source: Source, options: Options) -> list[Transactions]:
    """Read purchases as `read_transactions` does: those of each segment in turn, or, without
    segments, all.
    """
    check_query(source, options.query)
    if isinstance(source, InMemory) and isinstance(source.data, Transactions):
        options.dialect.refuse_for("what has been read already", DIALECT)
        others = {"split": options.split is not None, "fold_case": options.fold_case}
        if given := [
            *dict(options.named()),
            *(name for name, is_said in others.items() if is_said),
        ]:
            names = " and ".join(map(parameter, given))
            raise ParameterError(f"leave out {names}: these purchases have been read already")
        return [source.data]
    with held_to(options.memory):
        found = _read(source, options)
    if found.read_as is not None:
        _LOGGER.info("Read as %s.", found.read_as)
    found = replace(
        found,
        missing_user=options.missing_user,
        where=None if options.where is None else str(options.where),
        query=options.from_query,
        fold_case=options.fold_case,
        time_format=None if options.time_format is None else str(options.time_format),
    )
    parts = [found] if options.parts is None else members(found, options.parts)
    if options.user is not None and not found.by_user:
        # A table without rows has no users to tell apart; the guarantee is for users all the same.
        return [replace(part, unit_offsets=np.zeros(1, dtype=np.int64)) for part in parts]
    # Among segments a basket was a unit of its own, with its rows of each; in a segment it is a
    # basket.
    return (
        [replace(part, unit_offsets=None) for part in parts]
        if options.parts and options.user is None
        else parts
    )


def reads_users(
    source: Source, user: str | None, input_format: str | None, basket: Any = None
) -> bool:
    """Tell whether units will be users, from what is public: a column of users is named, or each
    line is a user.
    """
    if user is not None or input_format == InputForm.SPMF:
        return True
    if input_format is not None or basket is not None or isinstance(source, InMemory):
        return False
    return re.search(r"\.spmf(\.gz|\.bz2)?$", source.shown, re.IGNORECASE) is not None


def _read(source: Source, options: Options) -> Transactions:
    if not isinstance(source, InMemory):
        with file_errors(source.place):
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


def read_every_item(source: Source, options: Options) -> Vocabulary:
    """Return all items of a source, whoever's they are and whatever the condition. They are no
    public list by that.
    """
    check_query(source, options.query)
    was = None
    if isinstance(source, InMemory) and isinstance(source.data, Transactions):
        was = "were read already"
    elif not source.can_be_read_again:
        was = "can be read only once"
    if was is not None:
        raise ParameterError(
            f"{parameter('items_are_public')} reads all items first, and these purchases {was}: "
            f"give a file or a "
            f"table, or list the items with {parameter('catalogue')}"
        )
    found = _read(source, replace(options, every_item=True)).vocabulary
    if not len(found):
        raise DataError(
            f"{parameter('items_are_public')} finds no items in the purchases; check "
            f"what is read of them"
        )
    return found


_ALONE = "give a list with the column of items alone"


@dataclass(frozen=True)
class ListColumns:
    """Which columns of a table are the items, None for the only one or one of such a name, and
    their labels.
    """

    item: str | None = None
    label: str | None = None
    advice: str = f"say with {parameter('catalogue_item')} which one is of items, or {_ALONE}"


@dataclass(frozen=True, repr=False)
class ItemList:
    """A public list of items. labels: the label of each that has one, where the list has labels."""

    items: Vocabulary
    labels: Mapping[Item, str] = field(default_factory=dict)


def read_catalogue(source: Any, *, fold_case: bool = False) -> Vocabulary:
    """Read the public list of items, from a file or from memory.

    source: a path, folder, pattern or address (``s3://...``) of text, Parquet or Arrow. Or an Arrow
        table or array, a pandas or polars Series, or an iterable of int and str. Text has one item
        a line, and may have a header such as ``item``. Of several columns, the one named like
        ``item`` counts. Nulls and repetitions are dropped.
    fold_case: as in `read_transactions`, as are the labels' types; 39 and "39" in catalogue and
    data are one item. Raises DataError if it cannot be read, or lists nothing.
    """
    return read_item_list(source_of(source), ListColumns(advice=_ALONE), fold_case=fold_case).items


def read_item_list(
    source: Source, columns: ListColumns, *, query: str | None = None, fold_case: bool = False
) -> ItemList:
    """Read the public list of items as read_catalogue does, with their labels if it has some.

    Where columns or a query are given, source is any table that read_transactions reads.
    """
    if not isinstance(source, InMemory):
        with file_errors(source.place):
            if columns.item is not None or query is not None:
                check_query(source, query, "catalogue_query")
                # By its name a column tells at which delimiter a first line is cut.
                options = Options(items=columns.item, query=query, head=True)
                table = named_source(source, options)
                if not isinstance(table, ArrowSource):
                    table = text_table(table, options, InputForm.LONG, head=True)
                return _list_of_table(table, columns, fold_case=fold_case)
            lists = [
                _list_of_file(file, columns, fold_case=fold_case) for file in named_files(source)
            ]
            labels = dict.fromkeys(one.label(code) for one in lists for code in range(len(one)))
            return ItemList(lists[0] if len(lists) == 1 else mixed_vocabulary([*labels])[0])
    if query is not None:
        check_query(source, query, "catalogue_query")
    try:
        wanted = [column for column in (columns.item, columns.label) if column is not None]
        if (listed := frames.list_table(source, wanted)) is not None:
            return _list_of_table(listed, columns, fold_case=fold_case)
        if columns.item is not None:
            name = parameter("catalogue_item")
            raise ParameterError(
                f"leave out {name}: {parameter('catalogue')} is a list, which has no columns"
            )
        return ItemList(_list_of_values(source, fold_case=fold_case))
    except pa.ArrowException:
        raise DataError(
            f"the {source.shown} cannot be read as a catalogue; make it a list of strings"
        ) from None


def _list_of_file(file: File, columns: ListColumns, *, fold_case: bool) -> Vocabulary:
    if file.form != "text":
        table = file_table(file, Options(head=True))
        return _list_of_table(table, columns, fold_case=fold_case).items
    labels = Labels(file.name, fold_case=fold_case)
    rows = _rows(file)
    first = next(rows, [])
    named = [place for place, name in enumerate(first) if name.strip().casefold() in _HEADERS]
    if len(first) > 1 and len(named) != 1:
        # The columns are not listed: without a line of names they would be somebody's purchases.
        found = f"the catalogue {file.name} has several columns"
        raise DataError(f"{found}, and none or several named like an item; {columns.advice}")
    place = named[0] if named else 0
    fields = [row[place] for row in (rows if named else chain([first], rows)) if len(row) > place]
    return _finished(labels, [labels.encode(arrow_strings(fields))], file.name)[0]


def _list_of_table(source: ArrowSource, columns: ListColumns, *, fold_case: bool) -> ItemList:
    item, label, names = columns.item, columns.label, source.schema.names
    if item is None:
        candidates = (
            names if len(names) == 1 else [name for name in names if name.casefold() in _HEADERS]
        )
        if len(candidates) != 1:
            needed = f"the catalogue {source.name} must have one column, or one named item"
            raise DataError(f"{needed}: {columns.advice}; it has {listing(source.columns())}")
        item = candidates[0]
    for option, name in (("catalogue_item", item), ("catalogue_label", label)):
        if name is not None and names.count(name) != 1:
            # Those of a text are not listed: they may be a line of somebody's purchases.
            there = "" if source.is_text else f"; it has {listing(source.columns())}"
            many = "more than one" if name in names else "no"
            raise DataError(
                f"the catalogue {source.name} has {many} column {name!r}: name another with "
                f"{parameter(option)}{there}"
            )
    roles = Roles(InputForm.LONG, (item,) if label is None else (item, label))
    labels = Labels(f"column {item!r} of {source.name}", fold_case=fold_case)
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


def _list_of_values(source: InMemory, *, fold_case: bool) -> Vocabulary:
    """Read an Arrow array of labels, a series, or any iterable of int and str."""
    labels = Labels("the catalogue", fold_case=fold_case)
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
        return ([line] for line in lines)
    if delimiter == "," and ";" in lines[0] and "," not in lines[0]:
        delimiter = ";"
    rows = csv.reader(
        (line + "\n" for line in lines), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    return (row for row in rows if row)
