"""What stands for no value: one rule for items, baskets and users, in every form of source.

White space around a text means nothing, and a text that is then empty, or one of MISSING_TEXTS, stands for none, as a
null or NaN does. The rule looks at one value at a time. (An export that writes NULL for customers it does not know must
not make one customer of them; nor may the same purchases mean something else as CSV and as Parquet.)
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fim_private.reading.arrow_numpy import arrow_strings, null_mask, numpy_of

# What pandas.read_csv takes for missing (its parameter na_values), and \N, which databases write.
MISSING_TEXTS = frozenset(
    (
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A"),
        *("NA", "NULL", "NaN", "None", "n/a", "nan", "null", "\\N"),
    )
)
_LISTED = arrow_strings(sorted(MISSING_TEXTS))
_LONGEST = max(map(len, MISSING_TEXTS))
# Of a text that is shorter than those, what may be last in it; of any text, what may be white space at an end of it.
_LAST = np.isin(np.arange(256), [ord(text[-1]) for text in MISSING_TEXTS if text])
_SPACE = np.isin(np.arange(256), [*range(0x21), 0x7F, *range(0x80, 0x100)])
# Bytes may be no text; ASCII's white space they can hold all the same.
_BLANK_ENDS = r"\A[\s\v]+|[\s\v]+\z"


def is_missing(value: object) -> bool:
    """Tell whether a Python object stands for no value: None, NaN of any kind, pandas.NA, NaT, or such a text."""
    if isinstance(value, str):
        return value.strip() in MISSING_TEXTS
    if isinstance(value, bytes):
        return value.strip().decode("latin-1") in MISSING_TEXTS
    if isinstance(value, float | complex | np.inexact):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def present(values: pa.Array) -> pa.Array:
    """Return values with null for each that stands for none, and texts without white space around them.

    values: (n,) Arrow array of any type, but no view. What is returned has the same type, or that of a dictionary's
    values; bytes of one length become bytes of any. Raises ArrowException for text that is not UTF-8.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        distinct = present(values.dictionary)
        return values if distinct is values.dictionary and not distinct.null_count else distinct.take(values.indices)
    if pa.types.is_floating(kind):
        return _without(values, pc.is_nan(values)) if len(values) else values
    if pa.types.is_fixed_size_binary(kind):
        return present(values.cast(pa.binary()))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        bare = pc.replace_substring_regex(values, _BLANK_ENDS, "")
        return _without(bare, pc.is_in(bare, value_set=_LISTED.cast(kind)))
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)) or not _may_change(values):
        return values
    bare = pc.utf8_trim_whitespace(values)
    return _without(bare, pc.is_in(bare, value_set=_LISTED.cast(kind)))


def _without(values: pa.Array, stand_for_none: pa.Array) -> pa.Array:
    """Return the values with null for those that stand for none, (n,) Arrow bool."""
    return pc.if_else(stand_for_none, pa.nulls(1, values.type)[0], values) if stand_for_none.true_count else values


def _may_change(texts: pa.Array) -> bool:
    """Tell whether any text may have white space around it, or stand for none: a glance at its ends, not a proof."""
    offsets, content = _content(texts)
    lengths = np.diff(offsets)
    if texts.null_count:
        held = ~null_mask(texts)
        lengths, starts, ends = lengths[held], offsets[:-1][held], offsets[1:][held]
    else:
        starts, ends = offsets[:-1], offsets[1:]
    if not len(lengths):
        return False
    if not lengths.all():
        return True
    last = content[ends - 1]
    return bool((_SPACE[content[starts]] | _SPACE[last] | (_LAST[last] & (lengths <= _LONGEST))).any())


def _content(texts: pa.Array) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Return where each text begins and the last ends, (n + 1,), in all bytes, which are the other."""
    _, offsets, content = texts.buffers()
    width = pa.int64() if pa.types.is_large_string(texts.type) else pa.int32()
    if offsets is None or not len(texts):
        return np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint8)
    places = pa.Array.from_buffers(width, len(texts) + 1, [None, offsets], offset=texts.offset)
    return numpy_of(places), np.frombuffer(content or b"", dtype=np.uint8)
