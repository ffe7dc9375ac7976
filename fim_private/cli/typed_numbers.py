"""Numbers as they are typed: plain digits, a point and an exponent. Python itself would take more: 1_0, ١, nan."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from fim_private.errors import ParameterError, parameter, shown

_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def typed_whole(text: str, name: str) -> int:
    """Return the whole number that was typed for a parameter. Raises ParameterError for other text."""
    if _WHOLE.fullmatch(text):
        try:
            return int(text)
        except ValueError:  # of thousands of digits
            pass
    raise ParameterError(f"{parameter(name)} must be a whole number, not {shown(text)}")


def typed_number(text: str, name: str) -> float:
    """Return the number that was typed for a parameter. Raises ParameterError for other text, and beyond floats."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ParameterError(f"{parameter(name)} must be a number such as 0.5 or 1e-6, not {shown(text)}")
    return value


# By the name of Python's type, which the command-line parser has for an option.
_READERS: dict[str, Callable[[str, str], float]] = {"Int": typed_whole, "Float": typed_number}


def read_plainly(option: Any) -> None:
    """Make an option of the command-line parser that takes numbers take these alone, by the class of its type."""
    kind = type(option.type)
    reader = _READERS.get(kind.__name__.removesuffix("ParamType"))
    if reader is not None:

        def convert(self: Any, value: Any, param: Any, ctx: Any) -> Any:
            """Return a typed number; a default is one already."""
            return reader(value, option.name) if isinstance(value, str) else value

        option.type = type(f"Plain{kind.__name__}", (kind,), {"convert": convert, "takes_numbers": True})()


def takes_numbers(option: Any) -> bool:
    """Tell whether an option of the command-line parser, made to read plainly, takes numbers."""
    return getattr(option.type, "takes_numbers", False)
