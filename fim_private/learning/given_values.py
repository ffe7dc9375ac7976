"""What learners are given, checked: whole numbers of a public domain, and labels. No error tells one of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import Any

import numpy as np

from fim_private.dp.given_lists import as_list, as_rows
from fim_private.dp.parameters import is_whole, whole_number
from fim_private.errors import ParameterError, parameter

# Far above what anybody measures in. A choice among the depths of such a domain is quick; one among its points takes
# some ten seconds, and in wider ones soon for ever.
MOST_BITS = 1 << 16


def checked_bits(bits: int) -> int:
    """Return the number of bits of a domain of 2**bits points, 1 to 65,536. Raises ParameterError for anything else."""
    return whole_number("bits", bits, least=1, most=MOST_BITS)


def points(name: str, values: Iterable[int], bits: int) -> list[int]:
    """Return the values, at least one, as Python integers, in their order.

    name: of the parameter, for the ParameterError that is raised for what is no list or array of whole numbers in
    [0, 2**bits), and for an empty one: how many there are must be public.
    """
    listed = as_list(name, values)
    check_some(name, listed)
    return _points(name, listed, bits)


def check_some(name: str, values: Sized) -> None:
    """Raise ParameterError for no values at all. Only for what has a public number of them: an error tells it."""
    if not len(values):
        raise ParameterError(f"{parameter(name)} must hold at least one number")


def _points(name: str, listed: Sequence[Any], bits: int) -> list[int]:
    """Return values that were listed as `points` does, also where there are none."""
    domain = f"{parameter(name)} must be whole numbers from 0 to below 2**{parameter('bits')}"
    for kind in dict.fromkeys(map(type, listed)):
        if not is_whole(kind):
            raise ParameterError(f"{domain}, not {kind.__name__}")
    numbers = [*map(int, listed)]
    if numbers and not (min(numbers) >= 0 and max(numbers) < 1 << bits):
        raise ParameterError(f"{domain}: one is not")
    return numbers


def truths(name: str, labels: Iterable[bool], rows: int) -> list[bool]:
    """Return one label for each of so many rows.

    name: of the parameter, for the ParameterError that is raised for another number of them, and for what is neither
    True nor False, nor 1 or 0.
    """
    listed = as_list(name, labels)
    for kind in dict.fromkeys(map(type, listed)):
        if not (is_whole(kind) or issubclass(kind, bool | np.bool_)):
            raise ParameterError(f"{parameter(name)} must be True or False, not {kind.__name__}")
    if any(label not in (0, 1) for label in listed):
        raise ParameterError(f"{parameter(name)} must be True or False, or 1 or 0: one is not")
    if len(listed) != rows:
        raise ParameterError(f"{parameter(name)} must be one for each row: there are more or fewer of them")
    return [bool(label) for label in listed]


def table(name: str, rows: Iterable[Iterable[int]], bits: int) -> list[list[int]]:
    """Return rows of equally many whole numbers, at least one row and one column, of a list, an array or a data frame.

    name: of the parameter, for the ParameterError that is raised for anything else.
    """
    listed = [_points(name, as_list(name, row), bits) for row in as_rows(name, rows)]
    if not listed or not listed[0]:
        raise ParameterError(f"{parameter(name)} must be at least one, of at least one number each")
    if any(len(row) != len(listed[0]) for row in listed):
        raise ParameterError(f"{parameter(name)} must have equally many numbers each")
    return listed
