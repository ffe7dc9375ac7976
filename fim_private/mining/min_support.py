"""The least support that is asked for, in units or as a share of them, and which itemsets have it for certain."""

from __future__ import annotations

import math
import numbers
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fim_private.dp.parameters import exact_number
from fim_private.errors import ParameterError, parameter, shown
from fim_private.mining.noisy_supports import CONFIDENCE
from fim_private.mining.unit_count import SUPPORT_CONFIDENCE, UNITS_CONFIDENCE, UnitCount

_NUMBER = re.compile(r"([0-9]+|[0-9]*\.[0-9]+(?:[eE]-?[0-9]+)?|[0-9]+\.?[eE]-[0-9]+) ?(%?)")
# More digits than any number of units has; int() refuses still more of them.
_MOST_DIGITS = 18


@dataclass(frozen=True)
class MinSupport:
    """A support: either a share of all units, above 0 and below 1, or a number of units, >= 1."""

    share: Fraction | None = None
    count: int | None = None

    @classmethod
    def of(cls, value: Any) -> MinSupport:
        """Return what a caller asks for: a share (0.02, "0.02", "2%", a Fraction) or a number of units (500, "500").

        Raises ParameterError for anything else.
        """
        exact = _exact(value)
        if exact is not None and not isinstance(exact, int) and 0 < exact < 1:
            return cls(share=exact)
        if isinstance(exact, int) and 1 <= exact < 10**_MOST_DIGITS:
            return cls(count=exact)
        raise ParameterError(
            f"{parameter('min_support')} must be a share above 0 and below 1, such as 0.02 or '2%', or a whole number "
            f"of baskets (or users) of at least 1, not {shown(value)}"
        )

    @property
    def asked(self) -> float | int:
        """It as a plain number: a share as a float, a number of units as an int."""
        return float(self.share) if self.share is not None else self.count or 0

    def confidence(self, units: UnitCount | None) -> Fraction:
        """Return with which probability the interval of a support must hold it that tells whether it is certain."""
        noisy = self.share is not None and units is not None and units.noise is not None
        return SUPPORT_CONFIDENCE if noisy else CONFIDENCE

    def threshold(self, units: UnitCount | None) -> int:
        """Return the least whole number of units that is as much, >= 1. units: how many there are, about or exactly."""
        if self.share is None:
            return self.count or 1
        assert units is not None, "a share is of a number of units that is known"
        return max(math.ceil(self.share * units.number), 1)

    def is_certain(self, lowest: int, units: UnitCount | None) -> bool:
        """Tell whether a support has at least as much that is no less than `lowest` with that `confidence`.

        Of a noisy number of units, it has to be enough for the most there may be.
        """
        if self.share is None:
            return lowest >= (self.count or 1)
        assert units is not None
        return lowest >= self.share * units.within(UNITS_CONFIDENCE)[1]


def exact_share(name: str, value: Any) -> Fraction:
    """Return a share above 0 and below 1 as the rational its digits say: of 0.02, "0.02", "2%" or a Fraction.

    Raises ParameterError, which names the parameter, for anything else.
    """
    share = _exact(value)
    if share is None or not 0 < share < 1:
        raise ParameterError(
            f"{parameter(name)} must be a share above 0 and below 1, such as 0.04 or '4%', not {shown(value)}"
        )
    return Fraction(share)


def _exact(value: Any) -> int | Fraction | None:
    """Return what was given as a number: a whole one, or a rational that need not be; None for what is none."""
    if not isinstance(value, str):
        exact = exact_number(value)
        return int(exact) if exact is not None and isinstance(value, numbers.Integral) else exact
    if (match := _NUMBER.fullmatch(value.strip())) is None or len(value) > 2 * _MOST_DIGITS:
        return None
    digits, percent = match.groups()
    if percent:
        return Fraction(digits) / 100
    return int(digits) if digits.isdigit() else Fraction(digits)
