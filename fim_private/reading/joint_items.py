"""What several columns name together: an item by a department and a brand, a basket by a customer and a date, say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fim_private.reading.arrow_labels import as_texts
from fim_private.reading.arrow_numpy import arrow_of, null_mask, numpy_of
from fim_private.reading.missing_values import present

_BETWEEN = " | "
# So that "a | b" beside "c" is not "a" beside "b | c".
_ESCAPES = (("\\", "\\\\"), ("|", "\\|"))
# What is left where all parts are missing; a value's own bar has a backslash before it.
_NOTHING = r"^[| ]*$"


def joint_items(columns: Sequence[pa.Array]) -> pa.Array:
    """Return the texts of several columns' values, row by row, with a bar between them: (rows,) Arrow dictionary.

    columns: (rows,) Arrow arrays of any type that can be labels. A missing value is an empty part; where all are
    missing there is no item. Bars and backslashes inside of values have a backslash before them, so that different
    values make different items. Raises DataError for a column that cannot be labels.

    >>> joint_items([pa.array(["DAIRY", "DAIRY", None]), pa.array([1, None, None])]).to_pylist()
    ['DAIRY | 1', 'DAIRY |', None]
    """
    texts, code = _parts(columns[0])
    for column in columns[1:]:
        more, other = _parts(column)
        # Only what occurs together is joined.
        pairs = arrow_of(code.astype(np.int64) * len(more) + other).dictionary_encode()
        first, second = np.divmod(numpy_of(pairs.dictionary), len(more))
        joined = [texts.take(arrow_of(first)), more.take(arrow_of(second))]
        texts, code = pc.binary_join_element_wise(*joined, _BETWEEN), numpy_of(pairs.indices)
    bare = pc.utf8_trim_whitespace(texts)
    named = pc.if_else(pc.match_substring_regex(bare, _NOTHING), pa.nulls(1, pa.string())[0], bare)
    return pa.DictionaryArray.from_arrays(arrow_of(code), named)


def joint_ids(columns: Sequence[pa.Array]) -> pa.Array:
    """Return identifiers that several columns make together, row by row, equal where all their parts are: (rows,).

    columns: (rows,) Arrow arrays of identifiers, one at least. Where a part is missing there is none, for what is left
    is no name of a basket. Raises DataError for a column that cannot be a text.
    """
    if len(columns) == 1:
        return columns[0]
    missing = np.logical_or.reduce([null_mask(column) for column in columns])
    joined = joint_items(columns)
    return pc.if_else(arrow_of(missing), pa.nulls(1, pa.string())[0], joined.dictionary_decode())


def _parts(column: pa.Array) -> tuple[pa.Array, NDArray[np.integer]]:
    """Return the texts of a column's values, escaped, and "" as the last; and which of them each row has: (rows,)."""
    encoded = column if pa.types.is_dictionary(column.type) else _encoded(column)
    texts = present(as_texts(encoded.dictionary)).fill_null("")
    for plain, escaped in _ESCAPES:
        texts = pc.replace_substring(texts, plain, escaped)
    missing = null_mask(encoded.indices)
    code = np.where(missing, len(texts), numpy_of(encoded.indices))
    return pa.concat_arrays([texts, pa.array([""], texts.type)]), code


def _encoded(column: pa.Array) -> pa.Array:
    """Return a column as one of a dictionary; what Arrow has no dictionary of, as texts."""
    try:
        return column.dictionary_encode()
    except pa.ArrowNotImplementedError:
        return as_texts(column).dictionary_encode()
