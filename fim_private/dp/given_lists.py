"""Lists and arrays that a caller gives, one element or row for each unit or candidate: what is taken for one.

Data frames are tables: to iterate over one would give the names of its columns, and in the place of the data.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private.errors import ParameterError, parameter


def as_list(name: str, values: Any) -> list[Any]:
    """Return a list or an array of one dimension as a list, in its order; elements keep their types.

    name: of the parameter, for the ParameterError that is raised for anything else: what has no order, what can be read
    but once, texts, tables, and an array with a mask.
    """
    _check_unmasked(name, values)
    is_collection = isinstance(values, Collection)
    if not is_collection or isinstance(values, str | bytes | bytearray | memoryview | Mapping | Set):
        raise ParameterError(f"{parameter(name)} must be a list or an array, not {type(values).__name__}")
    if (dimensions := _dimensions(values)) != 1:
        raise ParameterError(f"{parameter(name)} must be a list or an array of one dimension, not of {dimensions}")
    return list(values)


def as_rows(name: str, values: Any) -> list[Any]:
    """Return the rows of a table: a list of rows, an array of two dimensions, or a data frame. The rows are unchecked.

    name: of the parameter, for the ParameterError that is raised for anything else.
    """
    return as_list(name, values) if _dimensions(values) != 2 else [*as_array(name, values)]


def as_array(name: str, values: Any) -> NDArray[Any]:
    """Return a list, an array or a data frame, of any dimensions, as an array of numpy, whose type is unchecked.

    name: of the parameter, for the ParameterError that is raised for an array with a mask, and a list of such; what it
    hides would be there again; and for rows of different lengths.
    """
    _check_unmasked(name, values)
    for row in values if isinstance(values, list | tuple) else ():
        _check_unmasked(name, row)
    try:
        return np.asarray(values)
    except ValueError:
        raise ParameterError(f"{parameter(name)} must have as many numbers in each row") from None


def _check_unmasked(name: str, values: Any) -> None:
    """Raise ParameterError for an array with a mask, whatever is hidden by it."""
    if isinstance(values, np.ma.MaskedArray):
        raise ParameterError(f"{parameter(name)} must be an array without a mask: none may be missing")


def _dimensions(values: Any) -> int:
    """Return how many dimensions there are: 1 for what does not say."""
    shape = getattr(values, "shape", None)
    return len(shape) if isinstance(shape, tuple) else 1
