"""Privacy parameters, checked and exact; what promises little; lists that a caller gives."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Collection, Iterator, Mapping, Set
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fim_private.dp.cost import PrivacyCost, by_digits, least_in_words
from fim_private.errors import ParameterError, parameter, shown

# Far above what anybody counts; Python writes no integer of more than 4,300 digits.
_LARGEST_WRITTEN = 10**1000
# Outside these ranges a guarantee says nothing, or so much that nothing could be released.
# Arithmetic is exact within.
EPSILON_RANGE = (1e-9, 1e9)
DELTA_RANGE = (1e-300, 1.0)
RHO_RANGE = (1e-18, 1e8)
# Above these a warning says that little is promised.
_LARGE_EPSILON, _LARGE_DELTA = 10, Fraction(1, 1000)


# Lists and arrays that a caller gives. Data frames are tables: to iterate over one would give its
# columns' names.
def as_list(name: str, values: Any) -> list[Any]:
    """Return a list or an array of one dimension as a list; ParameterError for texts, tables,
    masks, sets and so on.
    """
    _check_unmasked(name, values)
    if not isinstance(values, Collection) or isinstance(
        values, str | bytes | bytearray | memoryview | Mapping | Set
    ):
        raise ParameterError(
            f"{parameter(name)} must be a list or an array, not {type(values).__name__}"
        )
    if (dimensions := _dimensions(values)) != 1:
        raise ParameterError(
            f"{parameter(name)} must be a list or an array of one dimension, not of {dimensions}"
        )
    return list(values)


def as_rows(name: str, values: Any) -> list[Any]:
    """Return the rows, unchecked, of a list of rows, an array of two dimensions, or a data frame;
    or ParameterError.
    """
    return as_list(name, values) if _dimensions(values) != 2 else [*as_array(name, values)]


def as_array(name: str, values: Any) -> NDArray[Any]:
    """Return a list, an array or a data frame, of any dimensions, as an array of numpy, whose type
    is unchecked.

    Raises ParameterError for a mask, since what it hides would be there again, and for rows of
    different lengths.
    """
    for one in (values, *(values if isinstance(values, list | tuple) else ())):
        _check_unmasked(name, one)
    try:
        return np.asarray(values)
    except ValueError:
        raise ParameterError(
            f"{parameter(name)} must have equally many numbers in each row"
        ) from None


def _check_unmasked(name: str, values: Any) -> None:
    if isinstance(values, np.ma.MaskedArray):
        raise ParameterError(
            f"{parameter(name)} must be an array without a mask: none may be missing"
        )


def _dimensions(values: Any) -> int:
    shape = getattr(values, "shape", None)
    return len(shape) if isinstance(shape, tuple) else 1


def cautions(cost: PrivacyCost, *, rho: Fraction | None = None) -> Iterator[str]:
    """Yield the warnings of what a release spends, with parameters marked as in errors. rho: if it
    was given.
    """
    if cost.epsilon > _LARGE_EPSILON:
        name, epsilon = parameter("epsilon"), least_in_words(cost.epsilon)
        given = (
            f"{name} {epsilon}"
            if rho is None
            else (f"{parameter('rho')} {least_in_words(rho)}, an {name} of {epsilon},")
        )
        yield (
            f"{given} promises next to nothing: it lets the probability of a result change by a "
            f"factor of e^{epsilon}; "
            "1 or less is a strong promise"
        )
    if cost.delta > _LARGE_DELTA:
        yield (
            f"{parameter('delta')} {least_in_words(cost.delta)} promises little: with this "
            f"probability somebody's data "
            "may simply be published; choose it far below 1 / (number of baskets or users)"
        )


def chosen_units_show(unit: str) -> str:
    """Return the warning under replace-one where a condition, a query or segments choose units."""
    return (
        f"{parameter('neighbors')} replace-one does not hide which {unit}s are chosen by a "
        f"condition, a query or "
        f"segments; {parameter('neighbors')} add-remove hides that, too"
    )


def cautions_of_units(
    cost: PrivacyCost, units: int, unit: str, *, noisy: bool = False
) -> Iterator[str]:
    """Yield the warnings where the number of units, >= 0, is known. unit: "basket" or "user".

    noisy: it was released with noise, or there may be more; else it is public.
    """
    if _LARGE_DELTA >= cost.delta > 0 and cost.delta * units >= 1:
        about = f", about {units:,} or more" if noisy else ""
        yield (
            f"{parameter('delta')} {least_in_words(cost.delta)} is not below 1 / (number of "
            f"{unit}s{about}): to "
            f"publish one {unit} that is drawn by lot would be allowed; choose it far below"
        )


def units_in_all(each: Collection[int], most: int) -> int:
    """Return the least number of units in segments.

    each: how many units a segment has. most: how many segments a unit may be in.
    """
    return max(*each, sum(each) // most, 0)


class Neighbors(StrEnum):
    """Which pairs of data sets are neighbours, and so must be hard to tell apart (docs/privacy.md,
    "Neighbours").

    REPLACE_ONE: one privacy unit's data is exchanged for any other; the number of units is public.
        Every support moves by at most 1, in any direction.
    ADD_REMOVE: one of the two has one unit more. Every support moves by 0 or 1, all in the same
    direction.
    """

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"


def exact_epsilon(epsilon: float | Fraction) -> Fraction:
    """Return epsilon as the rational its decimal digits say. Raises ParameterError unless 1e-9 <=
    epsilon <= 1e9.
    """
    return _positive("epsilon", epsilon, EPSILON_RANGE)


def exact_delta(delta: float | Fraction) -> Fraction:
    """Return delta as the rational its decimal digits say. Raises ParameterError unless 1e-300 <=
    delta < 1.
    """
    return _within("delta", exact_fraction("delta", delta), delta, DELTA_RANGE)


def exact_rho(rho: float | Fraction) -> Fraction:
    """Return rho as the rational its decimal digits say. Raises ParameterError unless 1e-18 <= rho
    <= 1e8.
    """
    return _positive("rho", rho, RHO_RANGE)


def _positive(name: str, given: float | Fraction, limits: tuple[float, float]) -> Fraction:
    number = exact_number(given)
    if number is None or number <= 0:
        raise ParameterError(f"{parameter(name)} must be a number above 0, not {shown(given)}")
    return _within(name, number, given, limits)


def exact_delta_or_zero(delta: float | Fraction) -> Fraction:
    """Return delta as exact_delta does, or 0, for a guarantee without exception. Raises
    ParameterError otherwise.
    """
    number = exact_number(delta)
    if number is None or not 0 <= number < 1:
        raise ParameterError(
            f"{parameter('delta')} must be 0 or a number above 0 and below 1, not {shown(delta)}"
        )
    return exact_delta(delta) if number else number


def exact_fraction(name: str, value: float | Fraction) -> Fraction:
    """Return a number above 0 and below 1 as the rational its digits say. Raises ParameterError for
    anything else.
    """
    number = exact_number(value)
    if number is None or not 0 < number < 1:
        raise ParameterError(
            f"{parameter(name)} must be a number above 0 and below 1, not {shown(value)}"
        )
    return number


def is_whole(kind: type) -> bool:
    """Tell whether a type is one of whole numbers, of Python or numpy: a boolean is none, nor is a
    span of time.
    """
    return issubclass(kind, int | np.integer) and not issubclass(kind, bool | np.timedelta64)


def exact_number(value: Any) -> Fraction | None:
    """Return a finite number as the rational its digits say; None for anything else, booleans and
    spans of time too.
    """
    if isinstance(value, bool | np.timedelta64):
        return None
    if isinstance(value, Fraction):
        return value
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Decimal):
        return Fraction(value) if value.is_finite() else None
    if not isinstance(value, numbers.Real) or not math.isfinite(value):
        return None
    return Fraction(by_digits(value))


def _within(name: str, exact: Fraction, given: object, limits: tuple[float, float]) -> Fraction:
    low, high = (Fraction(repr(limit)) for limit in limits)
    if not low <= exact <= high:
        as_typed = repr(given) if isinstance(given, float) else short(exact)
        raise ParameterError(
            f"{parameter(name)} must lie between {limits[0]:g} and {limits[1]:g}, not {as_typed}"
        )
    return exact


def short(value: Fraction) -> str:
    """Write a number in four digits, for an error message: also one that is too small or too large
    for a float.
    """
    return f"{Decimal(value.numerator) / Decimal(value.denominator):.4g}"


def exact_neighbors(neighbors: str) -> Neighbors:
    """Return the neighbour relation of that name. Raises ParameterError, which lists the choices,
    for any other.
    """
    if isinstance(neighbors, str) and neighbors in [*Neighbors]:
        return Neighbors(neighbors)
    raise ParameterError(
        f"{parameter('neighbors')} must be one of {', '.join(Neighbors)}, not {shown(neighbors)}"
    )


def positive_integer(name: str, value: int) -> int:
    """Return the value, a Python or numpy integer, as a Python int >= 1; ParameterError for
    anything else.
    """
    return whole_number(name, value, least=1)


def public_integer(name: str, value: int) -> int:
    """As positive_integer, and at most 10^1000: a number that is written again, in results and
    errors.
    """
    return whole_number(name, value, least=1, most=_LARGEST_WRITTEN)


def whole_number(name: str, value: int, *, least: int, most: int | None = None) -> int:
    """Return a Python or numpy integer from `least` to `most` (None: no end) as an int;
    ParameterError otherwise.
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


def check_function(name: str, value: object) -> None:
    """Raise ParameterError for what cannot be called."""
    if not callable(value):
        raise ParameterError(f"{parameter(name)} must be a function, not {shown(value)}")


def flag(name: str, value: bool) -> bool:
    """Return the value, True or False of Python or numpy. Raises ParameterError for anything
    else.
    """
    if isinstance(value, bool):
        return value
    if getattr(value, "dtype", None) == "bool" and getattr(value, "ndim", None) == 0:
        return bool(value)
    raise ParameterError(f"{parameter(name)} must be True or False, not {shown(value)}")
