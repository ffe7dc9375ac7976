"""Reading: purchases in every form in which they are kept, to `Transactions`; and the public list of items.

The baskets alone decide what comes out, not the form they came in: the same baskets from Parquet, from a
frame and from text (if their labels have the same types) give equal arrays. Errors name files, columns,
types and options, never a value, an item, a row or a number that depends on the data.

transactions         The one in-memory form of purchases: compressed sparse rows, by basket or by user.
vocabulary           Which label each item code stands for, and when a text is a number.
contribution_bounds  Where long baskets, users of many baskets and units of many items are cut.
catalogue            The public list of all items.
files                Paths and standard input: which form a file has.
text                 FIMI and CSV files.
record_batches       Parquet, Arrow, long CSV: what arrives as Arrow record batches.
frames               Frames of pandas and polars.
matrices             One-hot arrays and sparse matrices.
basket_lists         Lists of baskets in memory.
column_roles         Which column plays which part.
identifiers          Ids of baskets and users: which are missing, and when two are one.
missing_users        What becomes of rows without a user.
missing_values       What stands for no value, of an item, a basket or a user.
labels               Item labels to codes, which arrow_labels does for typed columns and python_labels for objects.
assembly             Chunks of rows of any source to transactions, over canonical_baskets, its arrays.
arrow_numpy          Arrow to numpy and back without pandas.
chunk_sizes          How much is read at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fim_private.errors import DataError, FimPrivateError, ParameterError, parameter
from fim_private.reading import basket_lists, frames, matrices
from fim_private.reading.catalogue import catalogue_of_file, catalogue_of_table, catalogue_of_values
from fim_private.reading.column_roles import Options
from fim_private.reading.files import READABLE, arrow_source, file_errors, open_file
from fim_private.reading.record_batches import read_arrow, table_source
from fim_private.reading.text import is_text, read_text
from fim_private.reading.transactions import Transactions
from fim_private.reading.vocabulary import Vocabulary


def read_transactions(
    source: Any,
    *,
    user: str | None = None,
    basket: str | None = None,
    item: str | None = None,
    items: str | None = None,
    missing_user: str | None = None,
) -> Transactions:
    """Read purchases from a file or from memory.

    source: one of
        a path: Parquet; Arrow IPC or Feather; ``.csv``/``.tsv`` with a header and one row per item (with
        basket and item), or without header and one basket per line; ``.dat``/``.txt``/``.fimi`` with one
        basket per line, items separated by white space; text also with ``.gz``; ``-`` for standard input
        in that last form;
        a pyarrow Table, RecordBatch or RecordBatchReader, a pandas or polars frame, or anything with the
        Arrow stream interface: a column of lists, one row per item, or only boolean columns, one per item;
        a scipy sparse matrix or a two-dimensional boolean array: rows are baskets, column numbers items;
        an iterable of baskets, each a collection of int and str;
        Transactions, which are returned as they are: what was read once need not be read again.
    user: column of the privacy unit; all baskets of a user become one unit. Without it each basket is one.
    missing_user: what becomes of rows without a user (null, NaN, empty or white space only): "drop" leaves them
        out; "own-unit" makes each basket without a user a unit of its own. Without it they are refused.
    basket: column of the basket's id; rows with equal ids (of one user, or without a user) are one basket,
        wherever they are. Rows without an id cannot be placed and are left out.
    item: column of one item per row; needs basket.
    items: column of lists of items; guessed when there is only one such column.

    Integer columns give int labels, string columns str labels. In text, and for columns of other types by
    the text of each value, a token that prints like an integer is one (``39``, not ``007``). Null items are
    dropped, an item repeated in a basket counts once, an empty basket (an empty line, a null list, an id
    with null items only) counts as a basket.

    In text with one basket per line each line is read by itself: a quoted item may hold commas, no line break. In text
    with one row per item a quoted field may hold line breaks, so an open quote swallows the rows behind it, whosever
    they are: it has to be written by a program that can be trusted with quotes.

    Sources with one basket a row, or a line, keep their order; with basket or user the order of baskets may be
    any, and nothing that is released depends on it.
    Raises DataError for what cannot be read and for rows without a user that missing_user says nothing about,
    ParameterError for options that contradict each other or that the source has no columns for.

    >>> shop = read_transactions([["beer", "chips"], ["beer"], []])
    >>> shop.baskets, shop.vocabulary.label(int(shop.items[0]))
    (3, 'beer')
    """
    options = Options(user, basket, item, items, missing_user)
    if isinstance(source, Transactions):
        if given := options.given():
            raise ParameterError(
                f"leave out {' and '.join(map(parameter, given))}: these purchases have been read already"
            )
        return source
    found = _read(source, options)
    # A table without rows has no users to tell apart; the guarantee is for users all the same.
    units = np.zeros(1, dtype=np.int64) if user is not None and not found.by_user else found.unit_offsets
    return replace(found, unit_offsets=units, missing_user=missing_user)


def _read(source: Any, options: Options) -> Transactions:
    """Read a path or an object. Errors of Arrow become DataErrors that quote nothing."""
    if isinstance(source, str | os.PathLike):
        if not os.fspath(source):
            raise DataError("the path is empty; name a file")
        return _read_path(Path(source), options)
    try:
        return _read_object(source, options)
    except FimPrivateError:
        raise
    except pa.ArrowException:
        # What Arrow says may quote a value.
        raise DataError(f"the {type(source).__name__} cannot be read as baskets; convert it to strings first") from None


def read_catalogue(source: Any) -> Vocabulary:
    """Read the public list of items, from a file or from memory.

    source: a path to text (the first field of each line; a first line such as ``item`` is a header), to
        Parquet or to Arrow (its only column, or the one named like ``item``); an Arrow table or array, a
        pandas or polars Series; or an iterable of int and str.
    The labels' types follow the same rules as in `read_transactions`; the number 39 and the text "39" in
    catalogue and data mean the same item.
    Nulls and repetitions are dropped. Raises DataError if it cannot be read, or lists nothing.

    >>> len(read_catalogue(["beer", "chips", "beer"]))
    2
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        with file_errors(path):
            return catalogue_of_file(open_file(path))
    try:
        if isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
            return catalogue_of_table(table_source(source))
        if _is_frame(source):
            return catalogue_of_table(table_source(pa.table(source)))
        if _is_series(source):
            values = frames.as_arrow(source)
            return catalogue_of_values(source if values is None else values)
        return catalogue_of_values(source)
    except pa.ArrowException:
        raise DataError(
            f"the {type(source).__name__} cannot be read as a catalogue; make it a list of strings"
        ) from None


def _read_path(path: Path, options: Options) -> Transactions:
    """Read a file, by its form."""
    with file_errors(path):
        file = open_file(path)
        return read_text(file, options) if is_text(file) else read_arrow(arrow_source(file), options)


def _read_object(source: Any, options: Options) -> Transactions:
    """Read purchases in memory, by their type. Raises DataError for a type that cannot be read."""
    if isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return read_arrow(table_source(source), options)
    if frames.is_instance(source, "pandas", "DataFrame"):
        return frames.read_pandas(source, options)
    if frames.is_instance(source, "polars", "LazyFrame"):
        source = source.collect()
    if frames.is_instance(source, "polars", "DataFrame"):
        return frames.read_polars(source, options)
    if frames.is_instance(source, "scipy.sparse", "spmatrix", "sparray"):
        return matrices.read_sparse(source, options)
    if isinstance(source, np.ndarray) and (source.ndim != 1 or source.dtype != object):
        return matrices.read_array(source, options)
    array = frames.as_arrow(source) if _is_series(source) else source
    if isinstance(array, pa.Array | pa.ChunkedArray):
        return basket_lists.read_list_array(array, options)
    if hasattr(source, "__arrow_c_stream__") and not _is_series(source):
        return read_arrow(table_source(pa.RecordBatchReader.from_stream(source)), options)
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return basket_lists.read_iterable(source, options)
    raise DataError(
        f"cannot read baskets from {type(source).__name__}; give a table, a frame, an iterable of baskets, "
        f"or the path of one of: {READABLE}"
    )


def _is_frame(source: object) -> bool:
    return frames.is_instance(source, "pandas", "DataFrame") or frames.is_instance(source, "polars", "DataFrame")


def _is_series(source: object) -> bool:
    return frames.is_instance(source, "pandas", "Series") or frames.is_instance(source, "polars", "Series")
