"""Items that several columns name together: a department and a brand, say."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from fim_private.reading.arrow_labels import as_texts
from fim_private.reading.missing_values import present

_BETWEEN = " | "
# So that "a | b" beside "c" is not "a" beside "b | c".
_ESCAPES = (("\\", "\\\\"), ("|", "\\|"))


def joint_items(columns: Sequence[pa.Array]) -> pa.Array:
    """Return the texts of several columns' values, row by row, with a bar between them: (rows,) Arrow string.

    columns: (rows,) Arrow arrays of any type that can be labels. A missing value is an empty part; where all are
    missing there is no item. Bars and backslashes inside of values have a backslash before them, so that different
    values make different items. Raises DataError for a column that cannot be labels.

    >>> joint_items([pa.array(["DAIRY", "DAIRY", None]), pa.array([1, None, None])]).to_pylist()
    ['DAIRY | 1', 'DAIRY |', None]
    """
    parts = [present(as_texts(column)) for column in columns]
    nothing = parts[0].is_null()
    for part in parts[1:]:
        nothing = pc.and_(nothing, part.is_null())
    for plain, escaped in _ESCAPES:
        parts = [pc.replace_substring(part, plain, escaped) for part in parts]
    joined = pc.binary_join_element_wise(*parts, _BETWEEN, null_handling="replace", null_replacement="")
    return pc.if_else(nothing, pa.nulls(1, pa.string())[0], pc.utf8_trim_whitespace(joined))
