"""The counting kernel of sums, compiled from sums.pyx: counts without the interpreter, in arrays
that the caller makes.

Shapes, types and ranges are the caller's to keep: nothing is checked. Arrays are contiguous; int32
and int64 mean numpy arrays of these. A range first..last or low..high ends before its second
number.
ranks, starts: rows in rank order, as in `compiled._RankedRows`: row r holds
``ranks[starts[r]:starts[r + 1]]``, (entries,) int32 ascending in a row, and (rows + 1,) int64. A
prefix is what stands before a rank in a row.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

STOPPED: int
OVER_LIMIT: int
NO_MEMORY: int
"""With 0 for running or done, the states of a scan."""

def ranked_lengths(
    items: Int32, offsets: Int64, rank_of: Int32, first: int, last: int, lengths: Int64
) -> None:
    """Write to lengths, (rows,), how many entries of each row first..last have a rank.

    items, offsets: as in `Transactions`. rank_of: (vocabulary,) the rank of each item, -1 for none.
    """

def rank_rows(
    items: Int32, offsets: Int64, rank_of: Int32, first: int, last: int, starts: Int64, ranks: Int32
) -> None:
    """Write to ranks those of the rows first..last, ascending, from starts[row] on.

    items, offsets, rank_of: as in ranked_lengths; entries without a rank are left out, as in
    starts.
    """

def measure_columns(
    ranks: Int32,
    starts: Int64,
    first: int,
    last: int,
    low: int,
    high: int,
    skip: int,
    counts: Int64,
    lengths: Int64 | None,
) -> None:
    """Add to counts, (high - low,), how many of the rows first..last have each rank low..high.

    A row counts only where at least skip >= 0 other entries stand before the rank.
    lengths: (high - low,), what the lengths of these prefixes, the rank included, are added to;
    None for nothing.
    """

def fill_columns(
    ranks: Int32,
    starts: Int64,
    units: Int32 | None,
    first: int,
    last: int,
    low: int,
    high: int,
    skip: int,
    copied: bool,
    cursor: Int64,
    out: Int32,
) -> None:
    """Write to out the rows that measure_columns counts, ascending, at their rank's cursor; or,
    copied, their prefixes.

    A copied prefix has the rank at its end, and before it the unit of its row: units, (rows,); None
    for none.
    cursor: (high - low,), where the next row or prefix of each rank goes; it is moved on.
    """

def fill_bitmaps(
    items: Int32,
    offsets: Int64,
    rank_of: Int32,
    first: int,
    last: int,
    words: int,
    bits: NDArray[np.uint64],
) -> None:
    """Set the bits of the rows first..last in the bitmap of each rank. first: a multiple of 64.

    items, offsets, rank_of: as in ranked_lengths. bits: (ranks * words,), a row to a bit, words to
    a rank.
    """

def prefixes(
    ranks: Int32, starts: Int64, rows: Int32, bound: int, out_starts: Int64, out: Int32 | None
) -> None:
    """Write the prefixes below the rank bound of the rows that are listed, all of which have it.

    out_starts: (listed rows + 1,), where each begins in out, and the end. out: their entries; None
    to write out_starts alone, and to learn how many entries there are.
    """

def add_items(
    items: Int32,
    offsets: Int64,
    unit_offsets: Int64 | None,
    first: int,
    last: int,
    weights: Int64 | None,
    sums: Int64,
) -> None:
    """Add weights[distinct items of the unit] to the sums of its items, for each of the units
    first..last.

    items, offsets, unit_offsets: as in `Transactions`; without unit_offsets a basket is a unit.
    weights: for as many items as a unit has; None for 1. sums: (vocabulary,).
    """

def add_purchases(
    items: Int32,
    offsets: Int64,
    unit_offsets: Int64 | None,
    first: int,
    last: int,
    scale: int,
    most: int,
    sums: Int64,
) -> None:
    """Add ⌊√(scale² c / C)⌋ to the sums of the items of each of the units first..last; see
    `ItemSource.level_sums`.

    items, offsets, unit_offsets, sums: as in `add_items`. scale: 1 to 2^16. most: >= 1. A unit has
    fewer than 2^31 baskets.
    """

class Pass:
    """Work that any number of threads do that call `run`."""

    def run(self, tick: Callable[[], object] | None = None) -> None:
        """Work until nothing is left, or the pass is stopped. Any number of threads may be in here.

        tick: called every few milliseconds; given by one thread only. What it raises ends the pass,
        and is raised.
        """

    def stop(self) -> None:
        """Make every thread return soon."""

    @property
    def state(self) -> int:
        """STOPPED, OVER_LIMIT or NO_MEMORY where the pass ended early; 0 where it did not."""

class UnitScan(Pass):
    """One pass over all units, by any number of threads that call `run`.

    A unit hits a cell 0 to cells - 1 if any one of its rows does. cells: >= 0, below 2^31.
    weights, sums: (cells + 1,) and (cells,), added to in place: each unit adds weights[cells that
    it hits] to the sum of each of them. having: (cells + 1,), added to in place: how many units hit
    so many cells. Sums with their weights, or having may be None; they are complete once all
    threads are through.
    max_work: steps after which the pass gives up, 1 to 2^63 - 1.
    scale: 0, or 1 to 2^16 to weigh a cell that a unit hits in c of its rows by ⌊√(scale² c / C)⌋, C
    all cells together.
    repeats: (entries,) where a unit is one row, how often it repeats each of its ranks: c of a cell
    is then the least of its ranks; None where units have rows of their own. Units of one row
    without repeats are weighed by weights, which have to say the same. With scale sums are given.
    """

    def __init__(
        self,
        ranks: Int32,
        starts: Int64,
        unit_starts: Int64 | None,
        cells: int,
        weights: Int64 | None,
        sums: Int64 | None,
        having: Int64 | None,
        max_work: int,
        scale: int,
        repeats: Int32 | None,
    ) -> None: ...
    @property
    def fraction(self) -> float:
        """How much of the units is done or being done, 0 to 1."""

class PairScan(UnitScan):
    """A pass where the pair a < b of ranks is the cell b(b - 1)/2 + a: weights and sums are given,
    having is None.
    """

class CandidateScan(UnitScan):
    """A pass where a cell is a candidate of a trie."""

    def set_trie(
        self,
        number_of: Int32,
        width: int,
        items: Int32,
        children: Int64,
        accepts: Int32,
        members: Int32 | None,
    ) -> None:
        """Set what to look for, before the first `run`. Raises MemoryError where there is too
        little memory.

        number_of: (ranks,) the item number, below width, of each rank, falling as ranks ascend; -1
        where no candidate has it. items, children, accepts: as in `CandidateTrie`. members: (cells,
        r) the ranks of each candidate; needed where there are repeats.
        """
