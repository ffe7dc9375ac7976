"""Rows of whole numbers whose length is at most 1: what a linear classifier is trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fim_private.dp.given_lists import as_array
from fim_private.errors import ParameterError, parameter

# A length of 1 in steps of the whole numbers.
ONE = 1 << 20
# With more columns the squares of a row of 64-bit integers, 2^40 each, could have a sum beyond them.
MOST_COLUMNS = 1 << 22
Rows = NDArray[np.int64]


def unit_rows(rows: ArrayLike, *, center: ArrayLike, scale: ArrayLike) -> Rows:
    """Return rows for train_linear: (rows - center) / scale in steps of 2^-20, shortened where longer than 1.

    rows: (n, d) finite numbers, d at most 2^22. center: a number or (d,). scale: a number or (d,), above 0.
    Both must be **public**, not computed from these rows: minima, means or deviations of the data would let one row
    change all others. With lowest and highest values that are publicly known, center=low and scale=(high - low) * √d
    map each row into the unit ball; with a public mean and deviation, scale=4 * deviation does for most.

    Returns (n, d) int64 with Σ x² <= 2^40 in each row. A coordinate beyond -1 or 1 is cut to it, then a row longer
    than 1 is shortened to it. A constant column of center 0 is a way to have an intercept. What becomes of a row
    depends on that row, center and scale alone: so it is still one unit, and nothing is spent.
    Raises ParameterError for what is no table of finite numbers, or for a center or scale of another width.

    >>> unit_rows([[30, 1], [90, 0], [60, 1]], center=[60, 0], scale=[60, 2]).tolist()
    [[-524288, 524288], [524288, 0], [0, 524288]]
    """
    table = _numbers("rows", rows)
    if table.ndim != 2 or not table.shape[1]:
        raise ParameterError(f"{parameter('rows')} must be a table with one column at least")
    _check_width(table)
    middle, unit = _per_column("center", center, table.shape[1]), _per_column("scale", scale, table.shape[1])
    if not (unit > 0).all():
        raise ParameterError(f"{parameter('scale')} must be above 0")
    # Each operation on floats is rounded by itself, element by element: no row touches another.
    with np.errstate(over="ignore"):
        steps: Rows = np.rint(np.clip((table - middle) / unit, -1, 1) * ONE).astype(np.int64)
    squares = (steps * steps).sum(axis=1)
    long = squares > ONE * ONE
    lengths = np.sqrt(squares[long].astype(np.float64)).astype(np.int64) + 1  # above the root, whatever its rounding
    steps[long] = np.sign(steps[long]) * (np.abs(steps[long]) * ONE // lengths[:, None])
    return steps


def _check_width(table: NDArray[Any]) -> None:
    """Raise ParameterError for a table of more columns than the sum of a row's squares can have."""
    if table.shape[1] > MOST_COLUMNS:
        raise ParameterError(f"{parameter('rows')} must have at most {MOST_COLUMNS:,} columns")


def _per_column(name: str, given: ArrayLike, columns: int) -> NDArray[np.float64]:
    """Return a number for each column: (d,) float64. Raises ParameterError for anything else."""
    numbers = _numbers(name, given)
    if numbers.shape not in ((), (columns,)):
        raise ParameterError(f"{parameter(name)} must be one number, or one for each column of {parameter('rows')}")
    return np.broadcast_to(numbers, columns)


def _numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return finite numbers as float64. Raises ParameterError for anything else."""
    numbers = as_array(name, values)
    if numbers.dtype.kind not in "iufb":
        raise ParameterError(f"{parameter(name)} must be numbers, not of the type {numbers.dtype.name!r}")
    numbers = numbers.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ParameterError(f"{parameter(name)} must be finite numbers: none may be missing or infinite")
    return numbers


def check_rows(rows: ArrayLike) -> Rows:
    """Return rows of train_linear as int64: (n, d), d >= 1.

    Raises ParameterError for what is no table of whole numbers, has no or more than 2^22 columns, or a row longer
    than 1.
    """
    table = as_array("rows", rows)
    if table.ndim != 2 or not table.shape[1]:
        raise ParameterError(f"{parameter('rows')} must be a table with one column at least")
    _check_width(table)
    if table.dtype.kind not in "iu":
        raise ParameterError(
            f"{parameter('rows')} must be whole numbers, in steps of 2^-20, not of the type {table.dtype.name!r}: "
            "unit_rows makes them of other numbers"
        )
    # Compared before it is squared, which could overflow; and before it is cast, which could wrap.
    fits = bool(((table >= -ONE) & (table <= ONE)).all())
    steps: Rows = np.ascontiguousarray(table, dtype=np.int64)
    if not fits or bool(((steps * steps).sum(axis=1) > ONE * ONE).any()):
        raise ParameterError(
            f"{parameter('rows')} must have a length of at most 1, which is 2^20 steps: unit_rows shortens those that "
            "are longer"
        )
    return steps


def check_labels(labels: ArrayLike, rows: int) -> NDArray[np.int64]:
    """Return labels as int64: (n,). Raises ParameterError unless they are -1 and 1, one for each row."""
    given = as_array("labels", labels)
    if given.shape != (rows,):
        raise ParameterError(f"{parameter('labels')} must be as many as {parameter('rows')}: one for each")
    if (rows and given.dtype.kind not in "iu") or not ((given == 1) | (given == -1)).all():
        raise ParameterError(f"{parameter('labels')} must be -1 or 1, whole numbers")
    return given.astype(np.int64)
