"""What learners are given, checked: whole numbers of a public domain, and labels. No error tells one of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import Any

import numpy as np

from fim_private.dp.given_lists import as_list, as_rows
from fim_private.dp.parameters import Neighbors, exact_neighbors, is_whole, whole_number
from fim_private.errors import ParameterError, parameter

# Far above what anybody measures in. A choice among the depths of such a domain is quick; one among its points takes
# some ten seconds, and in wider ones soon for ever.
MOST_BITS = 1 << 16


def checked_bits(bits: int) -> int:
    """Return the number of bits of a domain of 2**bits points, 1 to 65,536. Raises ParameterError for anything else."""
    return whole_number("bits", bits, least=1, most=MOST_BITS)


def points(name: str, values: Iterable[int], bits: int, neighbors: str) -> list[int]:
    """Return the values as Python integers, in their order.

    name: of the parameter, for the ParameterError that is raised for what is no list or array of whole numbers in
    [0, 2**bits), and for an empty one where the relation makes it public how many there are.
    """
    listed = as_list(name, values)
    check_some(name, listed, neighbors)
    return _points(name, listed, bits)


def check_some(name: str, values: Sized, neighbors: str) -> None:
    """Raise ParameterError for no values at all under replace-one; else how many there are is for nobody to know."""
    if not len(values) and exact_neighbors(neighbors) is Neighbors.REPLACE_ONE:
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


def table(name: str, rows: Iterable[Iterable[int]], bits: int, neighbors: str) -> tuple[list[list[int]], int]:
    """Return rows of equally many whole numbers, and how many: of a list, an array or a data frame.

    name: of the parameter, for the ParameterError that is raised for anything else, and for no rows under replace-one
    or in a list, which does not say then how many numbers each would have.
    """
    listed = [_points(name, as_list(name, row), bits) for row in as_rows(name, rows)]
    check_some(name, listed, neighbors)
    shape: Any = getattr(rows, "shape", ())
    columns = len(listed[0]) if listed else shape[1] if len(shape) == 2 else 0
    if not columns:
        raise ParameterError(
            f"{parameter(name)} must have at least one number each; where there may be none of them, give an array of "
            "the shape (rows, columns)"
        )
    if any(len(row) != columns for row in listed):
        raise ParameterError(f"{parameter(name)} must have equally many numbers each")
    return listed, columns
