"""Privacy parameters, checked and made exact: epsilon, delta, rho, and which data sets are neighbours."""

from __future__ import annotations

import math
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from fim_private.dp.cost import by_digits
from fim_private.errors import ParameterError, parameter


class Neighbors(StrEnum):
    """Which pairs of data sets are neighbours, and so must be hard to tell apart (docs/privacy.md, "Neighbours").

    REPLACE_ONE: one privacy unit's data is exchanged for any other; the number of units is public. Every support
        moves by at most 1, in any direction.
    ADD_REMOVE: one of the two has one unit more. Every support moves by 0 or 1, all in the same direction.
    """

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"


# Outside these ranges a guarantee says nothing, or so much that nothing could be released. Arithmetic is exact within.
EPSILON_RANGE = (1e-9, 1e9)
DELTA_RANGE = (1e-300, 1.0)
RHO_RANGE = (1e-18, 1e8)


def exact_epsilon(epsilon: float | Fraction) -> Fraction:
    """Return epsilon as the rational its decimal digits say. Raises ParameterError unless 1e-9 <= epsilon <= 1e9.

    >>> exact_epsilon(0.1)
    Fraction(1, 10)
    """
    if not _is_finite(epsilon) or epsilon <= 0:
        raise ParameterError(f"{parameter('epsilon')} must be a number above 0, not {epsilon!r}")
    return _exact("epsilon", epsilon, EPSILON_RANGE)


def exact_delta(delta: float | Fraction) -> Fraction:
    """Return delta as the rational its decimal digits say. Raises ParameterError unless 1e-300 <= delta < 1."""
    if not _is_finite(delta) or not 0 < delta < 1:
        raise ParameterError(f"{parameter('delta')} must be a number above 0 and below 1, not {delta!r}")
    return _exact("delta", delta, DELTA_RANGE)


def exact_rho(rho: float | Fraction) -> Fraction:
    """Return rho as the rational its decimal digits say. Raises ParameterError unless 1e-18 <= rho <= 1e8."""
    if isinstance(rho, bool) or not _is_finite(rho) or rho <= 0:
        raise ParameterError(f"{parameter('rho')} must be a number above 0, not {rho!r}")
    return _exact("rho", rho, RHO_RANGE)


def exact_delta_or_zero(delta: float | Fraction) -> Fraction:
    """Return delta as exact_delta does, or 0, for a guarantee without exception. Raises ParameterError otherwise."""
    if isinstance(delta, bool) or not _is_finite(delta) or not 0 <= delta < 1:
        raise ParameterError(f"{parameter('delta')} must be 0 or a number above 0 and below 1, not {delta!r}")
    return exact_delta(delta) if delta else Fraction(0)


def _is_finite(value: float | Fraction) -> bool:
    """Tell whether a value is a number, and finite."""
    try:
        return math.isfinite(value)
    except (TypeError, OverflowError):
        return False


def _exact(name: str, value: float | Fraction, limits: tuple[float, float]) -> Fraction:
    """Return a number as the rational its digits say. Raises ParameterError outside the limits."""
    exact = value if isinstance(value, Fraction) else Fraction(by_digits(float(value)))
    low, high = (Fraction(repr(limit)) for limit in limits)
    if not low <= exact <= high:
        shown = short(value) if isinstance(value, Fraction) else repr(value)  # what was typed, as it was
        raise ParameterError(f"{parameter(name)} must lie between {limits[0]:g} and {limits[1]:g}, not {shown}")
    return exact


def short(value: Fraction) -> str:
    """Write a number in four digits, for an error message: also one that is too small or too large for a float."""
    return f"{Decimal(value.numerator) / Decimal(value.denominator):.4g}"


def exact_neighbors(neighbors: str) -> Neighbors:
    """Return the neighbour relation of that name. Raises ParameterError, which lists the choices, for any other."""
    try:
        return Neighbors(neighbors)
    except ValueError:
        raise ParameterError(
            f"{parameter('neighbors')} must be one of {', '.join(Neighbors)}, not {neighbors!r}"
        ) from None


def positive_integer(name: str, value: int) -> int:
    """Return the value, a Python or numpy integer, as a Python int >= 1.

    Raises ParameterError, which names the parameter `name`, for anything else, booleans among it.
    """
    try:
        integer = value.__index__()
    except AttributeError:
        integer = 0
    if integer < 1 or isinstance(value, bool):
        raise ParameterError(f"{parameter(name)} must be a whole number of at least 1, not {value!r}")
    return integer
