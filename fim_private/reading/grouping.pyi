"""Bringing rows together to baskets and units, compiled from grouping.pyx.

Ranges are the caller's to keep: nothing is checked. Arrays are contiguous; int32 and int64 mean
numpy arrays of these. All numbers of baskets and units are >= 0. What is returned is new, unless it
says otherwise.
"""

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

def mark(numbers: Int32, marked: NDArray[np.uint8]) -> None:
    """Write 1 at the place of each number, and -1 at the last place.

    numbers: (n,), -1 or below the number of places. marked: (places,).
    """

def without_gaps(numbers: Int32) -> Int32:
    """Return the same numbers, (rows,) >= 0, in their order and without gaps; overwritten."""

def numbers_of_pairs(first: Int32, second: Int32) -> Int32 | None:
    """Return the number of each pair, in the order in which they first appear: (rows,) int32.

    None if a pair does not follow from its second number, or if the largest of these is at least
    four times the number of rows. first, second: (rows,) >= 0.
    """

def in_order_of_units(baskets: Int32, units: Int32) -> tuple[Int32, Int64]:
    """Number the baskets in the order of their units, and in each of these in their own order.

    Returns the new number of each row's basket, and the first basket of each unit, and the end,
    (units + 1,) int64.

    baskets: the basket of each row, (rows,), without gaps; overwritten, in place. units: the unit
    of each row, (rows,), which is the same for all rows of a basket.
    """

def brought_together(codes: Int32, sizes: Int32, baskets: Int32) -> tuple[Int32, Int64]:
    """Return the codes basket by basket, in any order in each, and where each basket begins, and
    the last ends.

    They are (entries,) int32, the same array if the baskets of the rows ascend, and (baskets + 1,)
    int64.

    codes: those of all rows, (entries,). sizes: how many each row has, (rows,). baskets: the basket
    of each row, (rows,).
    """

def canonical_baskets(offsets: Int64, codes: Int32, final: Int32) -> tuple[Int64, Int32]:
    """Return offsets and items as in `Transactions`: each item once in a basket.

    They are (baskets + 1,) int64 and (items,) int32, a view of codes. Both are overwritten.

    offsets: where the codes of each basket begin, and the last ends, (baskets + 1,). codes:
    (entries,), >= 0. final: the item that each code stands for, -1 for none.
    """
