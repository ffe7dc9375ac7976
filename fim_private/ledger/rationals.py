"""Exact numbers and records as text: what is hashed must be written in one way only."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from fim_private.errors import ParameterError, parameter

# Python itself writes no integer of more than 4,300 digits.
_MOST_DIGITS = 1_000
_TOO_LARGE = 10**_MOST_DIGITS
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_RATIONAL = re.compile(r"[0-9]+(/[1-9][0-9]*)?")


def written(value: Fraction, name: str = "epsilon") -> str:
    """Return a number >= 0 as "p" or "p/q", in lowest terms.

    Raises ParameterError, which names the parameter, where p or q has more than 1,000 digits.
    """
    if max(value.numerator, value.denominator) >= _TOO_LARGE:
        raise ParameterError(
            f"{parameter(name)} has more than {_MOST_DIGITS:,} digits as a fraction, which a ledger does not hold; "
            "give a shorter number"
        )
    return str(Fraction(value.numerator, value.denominator))


def read(text: Any) -> Fraction:
    """Return the number that `written` wrote. Raises ValueError for anything else."""
    if not isinstance(text, str) or len(text) > 2 * _MOST_DIGITS + 1 or not _RATIONAL.fullmatch(text):
        raise ValueError("no rational number")
    value = Fraction(text)
    if str(value) != text:
        raise ValueError("no rational number in lowest terms")
    return value


def canonical(record: Mapping[str, Any]) -> str:
    """Return a record as one line of JSON: the same text for the same record, in ASCII, with sorted keys."""
    return _CANONICAL.encode(record)
