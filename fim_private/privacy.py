"""Privacy parameters: what they may be, what a mechanism costs, and which data sets are neighbours.

Parameters become exact rationals once, here, and stay exact in every sampler: an epsilon typed as
``0.1`` means 1/10, not the binary fraction nearest to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from fim_private.errors import ParameterError


class Neighbors(StrEnum):
    """Which pairs of data sets must be hard to tell apart (docs/privacy.md, "Neighbours").

    ADD_REMOVE: one has one privacy unit more; every support moves by 0 or 1, all the same way.
    REPLACE_ONE: one unit's data is changed, the number of units is public; every support moves by
    at most 1, in any direction.
    """

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"


@dataclass(frozen=True)
class PrivacyCost:
    """The (epsilon, delta) a mechanism spends; known before any data is seen."""

    epsilon: float
    delta: float


def exact_epsilon(epsilon: float | Fraction) -> Fraction:
    """Return epsilon as the rational its decimal digits say. Raises ParameterError unless 0 < epsilon < inf.

    >>> exact_epsilon(0.1)
    Fraction(1, 10)
    """
    return _exact("epsilon", epsilon, upper=None)


def exact_delta(delta: float | Fraction) -> Fraction:
    """Return delta as the rational its decimal digits say. Raises ParameterError unless 0 < delta < 1."""
    return _exact("delta", delta, upper=1)


def _exact(name: str, value: float | Fraction, upper: int | None) -> Fraction:
    wanted = "a number above 0" if upper is None else f"a number above 0 and below {upper}"
    try:
        finite = math.isfinite(value)
    except (TypeError, OverflowError):
        finite = False
    if not finite or value <= 0 or (upper is not None and value >= upper):
        raise ParameterError(f"{name} must be {wanted}, not {value!r}")
    # repr gives the shortest decimal that means this float, which is what the user wrote.
    return value if isinstance(value, Fraction) else Fraction(repr(float(value)))


def exact_neighbors(neighbors: str) -> Neighbors:
    """Return the neighbour relation of that name, or raise ParameterError naming the choices."""
    try:
        return Neighbors(neighbors)
    except ValueError:
        raise ParameterError(f"neighbors must be one of {', '.join(Neighbors)}, not {neighbors!r}") from None


def positive_integer(name: str, value: int) -> int:
    """Return the value as a Python int >= 1, or raise ParameterError naming the parameter."""
    try:
        integer = value.__index__()
    except AttributeError:
        integer = 0
    if integer < 1 or isinstance(value, bool):
        raise ParameterError(f"{name} must be a whole number of at least 1, not {value!r}")
    return integer
