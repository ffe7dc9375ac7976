"""Arrow to numpy, and what stands for no value."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

# -------------------- arrow numpy
# Arrow to numpy and back, without a copy and without pandas.
#
# pyarrow's own `to_numpy`, `pa.array` and `pa.scalar` import pandas whenever it is installed, whatever they are
# given: 0.3 s and 45 MB at start-up, for nothing.


def numpy_of(values: pa.Array) -> NDArray[Any]:
    """Return numbers or booleans as numpy: (n,) of the same type, read-only. In the place of a null is any value."""
    data = values.buffers()[1]
    if data is None or not len(values):
        return np.empty(0, dtype=bool if pa.types.is_boolean(values.type) else values.type.to_pandas_dtype())
    if pa.types.is_boolean(values.type):
        end = values.offset + len(values)
        bits = np.frombuffer(data, dtype=np.uint8, count=(end + 7) // 8)
        return np.unpackbits(bits, count=end, bitorder="little")[values.offset :].view(bool)
    dtype = np.dtype(values.type.to_pandas_dtype())
    return np.frombuffer(data, dtype=dtype, count=len(values), offset=values.offset * dtype.itemsize)


def null_mask(values: pa.Array) -> NDArray[np.bool_]:
    """Return which values are null: (n,) bool."""
    return numpy_of(values.is_null())


def arrow_of(values: NDArray[Any]) -> pa.Array:
    """Return numbers or booleans, (n,), as an Arrow array of the same type without nulls."""
    if values.dtype == bool:
        bits = np.packbits(values, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, data])


def arrow_strings(values: Sequence[str]) -> pa.Array:
    """Return Python strings as an Arrow array of strings: (n,). Raises UnicodeEncodeError for a lone surrogate."""
    encoded = [value.encode() for value in values]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)), out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers).cast(pa.string())


# -------------------- missing values
# What stands for no value: one rule for items, baskets and users, in every form of source.
#
# White space around a text means nothing, and a text that is then empty, or one of MISSING_TEXTS, stands for none, as a
# null or NaN does. The rule looks at one value at a time. (An export that writes NULL for customers it does not know
# must
# not make one customer of them; nor may the same purchases mean something else as CSV and as Parquet.)

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
