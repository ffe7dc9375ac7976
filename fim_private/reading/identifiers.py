"""Identifiers of baskets and users: when two are one.

Two are one if their values are equal, whatever their column's type, and whatever order its rows are in: a rule that
another unit's rows cannot change. Which stand for none `missing_values` says.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fim_private.reading.arrow_numpy import arrow_of


def by_value(ids: pa.Array) -> pa.Array:
    """Return the identifiers in a type that Arrow compares and hashes, where equal values have equal bits.

    ids: (rows,) Arrow array of any type; nulls stay.
    """
    kind = ids.type
    if pa.types.is_dictionary(kind):
        return by_value(ids.dictionary_decode()) if _has_other_form(kind.value_type) else ids
    if pa.types.is_float16(kind):
        return by_value(ids.cast(pa.float32()))
    if pa.types.is_floating(kind):
        # -0.0 equals 0.0 but hashes otherwise; -0.0 + 0.0 is 0.0.
        return pc.add(ids, arrow_of(np.zeros(1, dtype=kind.to_pandas_dtype()))[0])
    return ids.cast(pa.decimal128(kind.precision, kind.scale)) if _is_short_decimal(kind) else ids


def _has_other_form(kind: pa.DataType) -> bool:
    """Tell whether by_value changes identifiers of this type."""
    return bool(pa.types.is_floating(kind) or _is_short_decimal(kind))


def _is_short_decimal(kind: pa.DataType) -> bool:
    """Tell whether a type is a decimal of less than 128 bits."""
    return bool(pa.types.is_decimal(kind) and kind.bit_width < 128)
