"""Arrow to numpy and back, without a copy and without pandas.

pyarrow's own `to_numpy`, `pa.array` and `pa.scalar` import pandas whenever it is installed, whatever they are
given: 0.3 s and 45 MB at start-up, for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


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
