"""Values in Arrow: to numpy and back; texts that stand for no value, for true or for false; types.

pyarrow's own `to_numpy`, `pa.array`, `pa.scalar` and `fill_null` import pandas, which takes 0.3 s
and 45 MB. So this module has its own.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import Array, DataType, types

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Integers = NDArray[np.integer]
Mask = NDArray[np.bool_]

_TYPE_WIDTH = 40
# numpy calls all other numbers, and booleans, as Arrow does.
_FLOATS = {"halffloat": "float16", "float": "float32"}


def numpy_of(values: Array) -> NDArray[Any]:
    """Return numbers or booleans as numpy: (n,) of the same type, read-only.

    A null may become any value.
    """
    data, dtype, start = values.buffers()[1], numpy_type(values.type), values.offset
    if data is None or not len(values):
        return np.empty(0, dtype=dtype)
    if types.is_boolean(values.type):
        bits = np.frombuffer(data, dtype=np.uint8)
        return np.unpackbits(bits, count=start + len(values), bitorder="little")[start:].view(bool)
    return np.frombuffer(data, dtype=dtype, count=len(values), offset=start * dtype.itemsize)


def numpy_type(kind: DataType) -> np.dtype[Any]:
    """Return numpy's type for a type of numbers or booleans of Arrow.

    pyarrow's own function imports pandas before version 26.
    """
    name = str(kind)
    return np.dtype(_FLOATS.get(name, name))


def null_mask(values: Array) -> Mask:
    """Return which values are null: (n,) bool."""
    return numpy_of(values.is_null())


def arrow_of(values: NDArray[Any]) -> Array:
    """Return numbers or booleans, (n,), as an Arrow array of the same type without nulls."""
    data = np.ascontiguousarray(values)
    if values.dtype == bool:
        data = np.packbits(values, bitorder="little")
    buffers = [None, pa.py_buffer(data)]
    return Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def arrow_strings(values: Sequence[str]) -> Array:
    """Return Python strings as an Arrow array of strings: (n,).

    Raises UnicodeEncodeError for a lone surrogate.
    """
    encoded = [value.encode() for value in values]
    offsets = offsets_of(np.fromiter(map(len, encoded), dtype=np.int64))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return Array.from_buffers(pa.large_string(), len(encoded), buffers).cast(pa.string())


def offsets_of(lengths: NDArray[Any]) -> Int64:
    """Return where each of some runs begins, and the last ends: (runs + 1,)."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, dtype=np.int64, out=offsets[1:])
    return offsets


def null_where(stand_for_none: Array, values: Array) -> Array:
    """Return values, (n,), with null where the others, (n,) Arrow bool, are true."""
    if not stand_for_none.true_count:
        return values
    return pc.if_else(stand_for_none, pa.nulls(1, values.type)[0], values)


def is_string_type(kind: DataType) -> bool:
    """Tell whether Arrow stores values of a type as strings."""
    return kind in (pa.string(), pa.large_string())


def value_type(kind: DataType) -> DataType:
    """Return the type of the values, which may be stored in a dictionary."""
    return kind.value_type if types.is_dictionary(kind) else kind


def decoded(values: Array) -> Array:
    """Return values, which may be stored in a dictionary, without one."""
    return values.dictionary_decode() if types.is_dictionary(values.type) else values


def number_text(value: float | np.floating[Any]) -> str:
    """Return a number as text: a whole one without a point, others as Python and numpy print them.

    A number of 32 bits has fewer digits than the same number of 64 bits.
    """
    return str(int(value)) if value.is_integer() else str(value)


def shown_type(kind: object) -> str:
    """Return the name of a type for an error message: short, and escaped.

    The name of a struct has those of its fields in it.
    """
    name = str(kind)
    if len(name) > _TYPE_WIDTH:
        name = name[: _TYPE_WIDTH - 1] + "…"
    return repr(name)[1:-1]


# What stands for no value: one rule for items, baskets and users, in every form of source, for one
# value at a time. White space around a text means nothing. A text that is then empty, or one of
# these, stands for none, as a null or NaN does: an export that writes NULL for customers it does
# not know must not make one customer of them. They are what pandas.read_csv takes for missing (its
# parameter na_values), and \N, which databases write.
_NUMPY_NAN = ("-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "NaN", "nan")
_NOT_AVAILABLE = ("#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "n/a")
MISSING_TEXTS = frozenset(("", "NULL", "None", "null", "\\N", *_NUMPY_NAN, *_NOT_AVAILABLE))
_LISTED = arrow_strings(sorted(MISSING_TEXTS))
# bytes may be no text; ASCII's white space they can hold all the same
_BLANK_ENDS = r"\A[\s\v]+|[\s\v]+\z"

# Texts, in small letters, that say that a basket has an item, and that it does not. (Nothing also
# says that it does not.)
_YES = "1 1.0 true t yes y x wahr ja j vrai oui verdadero si sí vero sì verdadeiro sim waar sand"
_NO = "0 0.0 false f no n falsch nein faux non falso não nao onwaar nee falsk falskt nej nei nie"
TRUE_TEXTS = (*_YES.split(), "sant", "tak", "prawda", "on")
FALSE_TEXTS = (*_NO.split(), "fałsz", "off")
# In a table of such texts ? says that nobody knows. Elsewhere it may be an item.
TRUTHS = dict.fromkeys(TRUE_TEXTS, True) | dict.fromkeys((*FALSE_TEXTS, "?"), False)
# A quantity in a text: a number with no sign before it but a plus. It is above 0 where a digit
# before its exponent is.
QUANTITY = r"^\+?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?$"
ABOVE_ZERO = r"^[^1-9eE]*[1-9]"


# One rule for integers: for users, baskets, items and segments, in every source, for one value at a
# time. A value that is an integer in print is that integer: 7, 7.0, "7", " 7 " and "7.0". A text
# that would lose something is none, such as 007, +7, 1e3 and -0. With 19 digits or more it is a
# text, since 64 bits do not hold all such numbers.
PRINTED_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
WITH_ZEROS = r"^(0|-?[1-9][0-9]{0,17})\.0+$"
LEAST_TEXT = 10**18
_INTEGER = re.compile(r"(0|-?[1-9][0-9]{0,17})(\.0+)?")


def integer_or_text(value: object) -> object:
    """Return a Python value as it prints: an integer as int, other numbers and texts as bare text.

    Integers of 19 digits or more become texts. A bool, and a value of another type, stays.
    """
    number = value.item() if isinstance(value, np.number) else value
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal | str):
        return number
    text = str(number).strip()
    if isinstance(value, float | np.floating):
        text = number_text(value)
    elif isinstance(number, Decimal):
        text = format(number, "f")
    match = _INTEGER.fullmatch(text)
    if match is None:
        return text
    return int(match[1])


def integers_as_printed(texts: Array) -> Array:
    """Return bare texts or bytes, (n,) Arrow, with integers written without a point: 7 for 7.0."""
    if not pc.match_substring(texts, ".0").true_count:
        return texts
    encoded = texts.dictionary_encode()
    return pc.replace_substring_regex(encoded.dictionary, WITH_ZEROS, r"\1").take(encoded.indices)


def is_missing(value: object) -> bool:
    """Tell whether a Python object stands for no value: None, any NaN, pandas.NA, NaT, a text."""
    if isinstance(value, str):
        return value.strip() in MISSING_TEXTS
    if isinstance(value, bytes):
        return value.strip().decode("latin-1") in MISSING_TEXTS
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float | complex | np.inexact | np.datetime64 | np.timedelta64):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def present(values: Array) -> Array:
    """Return values with null for each that stands for none, and without white space around texts.

    The result has the same type, or that of a dictionary's values. But bytes of one length become
    bytes of any, and floats of 16 bits become floats of 32. Raises ArrowException for text that is
    not UTF-8. values: (n,) Arrow array of any type that is no view.
    """
    kind = values.type
    if types.is_dictionary(kind):
        distinct = present(values.dictionary)
        if distinct.equals(values.dictionary) and not distinct.null_count:
            return values
        return distinct.take(values.indices)
    if types.is_float16(kind):  # pyarrow before 19 does not compute with these
        return present(values.cast(pa.float32()))
    if types.is_floating(kind):
        return null_where(pc.is_nan(values), values)
    if types.is_fixed_size_binary(kind):
        return present(values.cast(pa.binary()))
    if kind in (pa.binary(), pa.large_binary()):
        bare = pc.replace_substring_regex(values, _BLANK_ENDS, "")
    elif is_string_type(kind):
        bare = pc.utf8_trim_whitespace(values)
    else:
        return values
    return null_where(pc.is_in(bare, value_set=_LISTED.cast(kind)), bare)
