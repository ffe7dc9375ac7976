"""Checks of arguments that a caller gives: numbers, flags, functions, lists and tables."""

import math
import numbers
import operator
from collections.abc import Collection, Mapping, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.cost import by_digits
from fim_private.errors import ParameterError, parameter, shown

# Far above what anybody counts; Python writes no integer of more than 4,300 digits.
_LARGEST_WRITTEN = 10**1000


def exact_number(value: object) -> Fraction | None:
    """Return a finite number as the rational that its decimal digits say, or None.

    None stands for anything that is no finite number. Booleans and spans of time are none.
    """
    if isinstance(value, bool | np.timedelta64):
        return None
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Decimal):
        return Fraction(value) if value.is_finite() else None
    if not isinstance(value, numbers.Real) or not math.isfinite(value):
        return None
    return Fraction(by_digits(value))


def exact_fraction(name: str, value: float | Fraction) -> Fraction:
    """Return a number above 0 and below 1 as the rational that its decimal digits say.

    Raises ParameterError for anything else.
    """
    number = exact_number(value)
    if number is None or not 0 < number < 1:
        raise ParameterError(
            f"{parameter(name)} must be a number above 0 and below 1, not {shown(value)}"
        )
    return number


def short(value: Fraction) -> str:
    """Return a number of any magnitude in four significant digits, for an error message."""
    return f"{Decimal(value.numerator) / Decimal(value.denominator):.4g}"


def is_whole(kind: type) -> bool:
    """Tell whether a type, of Python or numpy, is one of whole numbers.

    Booleans and spans of time are not whole numbers here.
    """
    return issubclass(kind, int | np.integer) and not issubclass(kind, bool | np.timedelta64)


def positive_integer(name: str, value: int) -> int:
    """Return a Python or numpy integer >= 1 as an int. Raises ParameterError otherwise."""
    return whole_number(name, value, least=1)


def public_integer(name: str, value: int) -> int:
    """Return an integer from 1 to 10^1000, which results and errors can write, as an int.

    Raises ParameterError otherwise.
    """
    return whole_number(name, value, least=1, most=_LARGEST_WRITTEN)


def whole_number(name: str, value: int, *, least: int, most: int | None = None) -> int:
    """Return a Python or numpy integer from `least` to `most` (None: no limit) as an int.

    Raises ParameterError otherwise.
    """
    try:
        integer = least - 1 if isinstance(value, bool) else operator.index(value)
    except (TypeError, ValueError, OverflowError):  # an array of several has no index
        integer = least - 1
    if integer < least:
        raise ParameterError(
            f"{parameter(name)} must be a whole number of at least {least}, not {shown(value)}"
        )
    if most is not None and integer > most:
        limit = f"{most:,}" if most < 10**15 else f"1e{len(str(most)) - 1}"
        raise ParameterError(f"{parameter(name)} must be at most {limit}, not {shown(value)}")
    return integer


def flag(name: str, value: bool) -> bool:
    """Return True or False, of Python or numpy, as a bool. Raises ParameterError otherwise."""
    if isinstance(value, bool | np.bool_ | np.ndarray):
        array = np.asarray(value)
        if array.dtype == bool and array.ndim == 0:
            return bool(array)
    raise ParameterError(f"{parameter(name)} must be True or False, not {shown(value)}")


def check_function(name: str, value: object) -> None:
    """Raise ParameterError if the value cannot be called."""
    if not callable(value):
        raise ParameterError(f"{parameter(name)} must be a function, not {shown(value)}")


def as_list(name: str, values: object) -> list[Any]:
    """Return a list or a one-dimensional array as a list of unchecked values.

    Raises ParameterError for anything else, such as a text, a mapping, a set or a masked array. A
    data frame has two dimensions: to iterate over one would give the names of its columns.
    """
    _check_unmasked(name, values)
    if not isinstance(values, Collection) or isinstance(
        values, str | bytes | bytearray | memoryview | Mapping | Set
    ):
        raise ParameterError(
            f"{parameter(name)} must be a list or an array, not {type(values).__name__}"
        )
    dimensions = _dimensions(values)
    if dimensions != 1:
        raise ParameterError(
            f"{parameter(name)} must be a list or an array of one dimension, not of {dimensions}"
        )
    return list(values)


def as_rows(name: str, values: object) -> list[Any]:
    """Return the rows, unchecked, of a list of rows, a two-dimensional array or a data frame.

    Raises ParameterError for anything else.
    """
    if _dimensions(values) == 2:
        return list(as_array(name, values))
    return as_list(name, values)


def as_array(name: str, values: object) -> NDArray[Any]:
    """Return a list, an array or a data frame as a numpy array of unchecked type and shape.

    Raises ParameterError for rows of different lengths, and for a masked array, alone or in a list:
    as a plain array it would show the values that the mask hides.
    """
    _check_unmasked(name, values)
    if isinstance(values, list | tuple):
        for row in values:
            _check_unmasked(name, row)
    try:
        return np.asarray(values)
    except ValueError:
        raise ParameterError(
            f"{parameter(name)} must have equally many numbers in each row"
        ) from None


def _check_unmasked(name: str, values: object) -> None:
    if isinstance(values, np.ma.MaskedArray):
        raise ParameterError(
            f"{parameter(name)} must be an array without a mask: none may be missing"
        )


def _dimensions(values: object) -> int:
    shape = getattr(values, "shape", None)
    return len(shape) if isinstance(shape, tuple) else 1
