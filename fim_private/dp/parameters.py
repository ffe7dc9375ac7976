"""The privacy parameters epsilon, delta and rho, checked and exact."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

from fim_private.dp.arguments import exact_fraction, exact_number, short
from fim_private.errors import ParameterError, parameter, shown

# Outside these ranges a guarantee says nothing, or so much that nothing could be released.
# Arithmetic is exact within.
EPSILON_RANGE = (1e-9, 1e9)
DELTA_RANGE = (1e-300, 1.0)
RHO_RANGE = (1e-18, 1e8)


class OutOfRangeError(ParameterError):
    """Epsilon, delta, rho, or a part of one of them, is out of its range.

    Attributes:
        name: Which one it is.
        least: The least that it may be.
    """

    name = ""
    least = 0.0


@contextmanager
def of_parts() -> Iterator[None]:
    """Raise ParameterError for a part that is out of range, of an amount that is within.

    A part is never too large.
    """
    try:
        yield
    except OutOfRangeError as error:
        name = parameter(error.name)
        raise ParameterError(
            f"{name} leaves a step of the release less than the least {name}, {error.least:g}; "
            f"raise {name}"
        ) from None


def exact_epsilon(epsilon: float | Fraction | None) -> Fraction:
    """Return epsilon as the rational number that its decimal digits say.

    Raises ParameterError unless 1e-9 <= epsilon <= 1e9.
    """
    return exact_positive("epsilon", epsilon, EPSILON_RANGE)


def exact_delta(delta: float | Fraction) -> Fraction:
    """Return delta as the rational number that its decimal digits say.

    Raises ParameterError unless 1e-300 <= delta < 1.
    """
    return _within("delta", exact_fraction("delta", delta), delta, DELTA_RANGE)


def exact_rho(rho: float | Fraction) -> Fraction:
    """Return rho, of zCDP, as the rational number that its decimal digits say.

    Raises ParameterError unless 1e-18 <= rho <= 1e8.
    """
    return exact_positive("rho", rho, RHO_RANGE)


def exact_delta_or_zero(delta: float | Fraction) -> Fraction:
    """Return delta as `exact_delta` does, or 0, which stands for pure privacy.

    Raises ParameterError for any other value.
    """
    number = exact_number(delta)
    if number is None or not 0 <= number < 1:
        raise ParameterError(
            f"{parameter('delta')} must be 0 or a number above 0 and below 1, not {shown(delta)}"
        )
    if number == 0:
        return number
    return exact_delta(delta)


def exact_positive(name: str, number: object, limits: tuple[float, float]) -> Fraction:
    """Return a number above 0 as the rational number that its decimal digits say.

    Raises ParameterError unless it lies between the limits, both included.
    """
    exact = exact_number(number)
    if exact is None or exact <= 0:
        raise ParameterError(f"{parameter(name)} must be a number above 0, not {shown(number)}")
    return _within(name, exact, number, limits)


def _within(name: str, exact: Fraction, number: object, limits: tuple[float, float]) -> Fraction:
    low, high = (Fraction(repr(limit)) for limit in limits)
    if low <= exact <= high:
        return exact
    as_typed = repr(number) if isinstance(number, float) else short(exact)
    error = OutOfRangeError(
        f"{parameter(name)} must lie between {limits[0]:g} and {limits[1]:g}, not {as_typed}"
    )
    error.name, error.least = name, limits[0]
    raise error
