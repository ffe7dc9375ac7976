"""The sizes of itemsets that a caller asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

from fim_private.dp.parameters import public_integer
from fim_private.errors import ParameterError, parameter, shown

# The longest range of sizes: each size gets a part of the budget.
_MOST_SIZES = 64
# Before a range of which one size is chosen privately.
AUTO_SIZE = "auto:"
_CHOICE = re.compile(rf"{AUTO_SIZE}([0-9]{{1,9}})-([0-9]{{1,9}})")
_SIZES = f"{parameter('size')} must be a whole number of at least 1, or a range such as 2-4, not {{}}"


def parse_sizes(size: int | str | Iterable[int]) -> tuple[int, ...]:
    """Return the sizes of itemsets, ascending and consecutive, from 2, "2", "2-4" or range(2, 5).

    Raises ParameterError for anything else, for a size below 1, and for more than 64 sizes.
    """
    if isinstance(size, str):
        if size.startswith(AUTO_SIZE):
            raise ParameterError(
                f"{parameter('size')} {shown(size)} is chosen on the data, which only mine reads; give a size, or a "
                "range such as 2-4"
            )
        if re.fullmatch(r"[0-9]{10,}", size):
            raise ParameterError(f"{parameter('size')} must be at most 999999999, not {shown(size)}")
        if (match := re.fullmatch(r"(-?[0-9]{1,9})(?:-([0-9]{1,9}))?", size)) is None:
            raise ParameterError(_SIZES.format(shown(size)))
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise ParameterError(_SIZES.format(shown(size)))
        size = first if match[2] is None else range(first, last + 1)
    sizes = tuple(public_integer("size", each) for each in islice(listed(size), _MOST_SIZES + 1))
    if len(sizes) > _MOST_SIZES:
        raise ParameterError(f"{parameter('size')} must be a range of at most {_MOST_SIZES} sizes")
    if not sizes or sizes != tuple(range(sizes[0], sizes[0] + len(sizes))):
        raise ParameterError(_SIZES.format(list(sizes) if max(sizes, default=0) < 10**9 else "so large"))
    return sizes


def sizes_to_choose_from(size: Any) -> tuple[int, ...] | None:
    """Return the sizes of which one is to be chosen, ascending, of "auto:2-4"; None where sizes are named.

    Raises ParameterError for what begins so and is none.
    """
    if not (isinstance(size, str) and size.startswith(AUTO_SIZE.rstrip(":"))):
        return None
    match = _CHOICE.fullmatch(size)
    first, last = (1, 0) if match is None else map(int, match.groups())
    if not (1 <= first < last < first + _MOST_SIZES):
        raise ParameterError(
            f"{parameter('size')} must have several sizes to choose from, at most {_MOST_SIZES} and each at least 1, "
            f"such as auto:2-4, not {shown(size)}"
        )
    return tuple(range(first, last + 1))


def listed(values: Any) -> Iterable[Any]:
    """Return several values, or one as if it were several; an array of no dimension is one."""
    return values if isinstance(values, Iterable) and getattr(values, "ndim", None) != 0 else (values,)
