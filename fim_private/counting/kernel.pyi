"""The counting kernel of itemsets, compiled from kernel.pyx; arrays are as sums.pyi has them."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.sums import Pass

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

FEW_ROWS: int
"""Up to so many rows itemsets are counted by the sizes of their intersections, and not met one by
one.
"""

class Scan(Pass):
    """One count of all itemsets of a size, by any number of threads that call `run`.

    size: items per itemset, 2 to `compiled.LARGEST_SIZE`. histogram: (ceiling,) int64 zeros, added
    to in place: itemsets of supports floor..ceiling are counted, floor >= 1. longest: entries of
    the longest row.
    wanted: itemsets from the top; once there are so many, the floor rises to where the last of them
    is. 0 for all.
    max_work: steps after which the scan gives up, 1 to 2^63 - 1. list_items: list the itemsets too,
    by one thread.
    """

    def __init__(
        self,
        size: int,
        histogram: Int64,
        longest: int,
        *,
        floor: int,
        wanted: int,
        max_work: int,
        list_items: bool,
    ) -> None: ...
    def set_rows(
        self,
        ranks: Int32,
        starts: Int64,
        units: Int32 | None,
        columns: Int64,
        rows: Int32,
        low: int,
        high: int,
    ) -> None:
        """Let the next `run` count the itemsets whose least frequent item has a rank in low..high,
        by rows.

        units: (rows,) the unit of each row, ascending; None where a row is a unit.
        columns, rows: the rows of rank low + k are ``rows[columns[k]:columns[k + 1]]``, as
        fill_columns writes them.
        """

    def set_streams(
        self, streams: Int32, starts: Int64, counts: Int64, of_units: bool, low: int, high: int
    ) -> None:
        """Let the next `run` count the same by copies of prefixes, as fill_columns copies them.

        Rank low + k has counts[k] of them, from streams[starts[k]] on. of_units: whether a unit
        stands before each.
        """

    def set_bitmaps(self, bits: NDArray[np.uint64], words: int, high: int) -> None:
        """Let the next `run` count the itemsets of ranks below high, by bitmaps as fill_bitmaps
        writes them.
        """

    def set_pairs(
        self,
        ranks: Int32,
        starts: Int64,
        unit_starts: Int64 | None,
        ranks_in_table: int,
        cells: NDArray[np.uint32],
    ) -> None:
        """Let the next `run` add the units of each pair of ranks a < b < ranks_in_table to
        cells[b(b - 1)/2 + a].

        unit_starts: (units + 1,) the first row of each unit; None where each row is one.
        `next_rank` is then the next unit.
        """

    def add_pairs(self, cells: NDArray[np.uint32]) -> None:
        """Count the supports of a table of pairs, and let the floor rise. Call it while no thread
        runs.
        """

    def settle(self) -> None:
        """Bring the floor up to date. Call it while no thread runs."""

    histogram: Int64
    """How many itemsets have each support below the ceiling, closed forms left out: (ceiling,)."""
    closed_forms: Mapping[tuple[int, int, int], int]
    """{(support, more, length): coefficient}: add coefficient * C(length, more) to the histogram at
    support.
    """
    itemsets: list[bytes]
    """The listed itemsets: int32, size ranks and the support of each, in scan order."""

    @property
    def floor(self) -> int:
        """The least support that is wholly counted."""

    @property
    def work(self) -> int:
        """Steps done, roughly."""

    @property
    def next_rank(self) -> int:
        """The rank at which the scan is, at most high."""
