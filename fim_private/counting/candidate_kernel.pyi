"""The kernel of weighted counting, compiled from candidate_kernel.pyx: it counts without the interpreter.

Shapes, types and ranges are the caller's to keep: nothing is checked. Arrays are contiguous; int32 and int64 mean numpy
arrays of these. A range first..last ends before its second number.
ranks, starts, unit_starts: rows in rank order, as in `compiled._RankedRows`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

STOPPED: int
OVER_LIMIT: int
NO_MEMORY: int
"""With 0 for running or done, the states of a pass."""

def add_items(
    items: Int32, offsets: Int64, unit_offsets: Int64 | None, first: int, last: int, weights: Int64 | None, sums: Int64
) -> None:
    """Add weights[distinct items of the unit] to the sums of its items, for each of the units first..last.

    items, offsets, unit_offsets: as in `Transactions`; without unit_offsets a basket is a unit. weights: for as many
    items as a unit has; None for 1. sums: (vocabulary,).
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
    """Add ⌊√(scale² c / C)⌋ to the sums of the items of each of the units first..last; see `ItemSource.level_sums`.

    items, offsets, unit_offsets, sums: as in `add_items`. scale: 1 to 2^16. most: >= 1. A unit has fewer than 2^31
    baskets.
    """

class UnitScan:
    """One pass over all units, by any number of threads that call `run`.

    A unit hits a cell 0 to cells - 1 if any one of its rows does. cells: >= 0, below 2^31.
    weights, sums: (cells + 1,) and (cells,), added to in place: each unit adds weights[cells that it hits] to the sum
    of each of them. held: (cells + 1,), added to in place: how many units hit so many cells. Sums, with their weights,
    or held may be None; they are complete once all threads are through.
    max_work: steps after which the pass gives up, 1 to 2^63 - 1.
    """

    def __init__(
        self,
        ranks: Int32,
        starts: Int64,
        unit_starts: Int64 | None,
        cells: int,
        weights: Int64 | None,
        sums: Int64 | None,
        held: Int64 | None,
        max_work: int,
    ) -> None: ...
    def weigh_purchases(self, scale: int, repeats: Int32 | None) -> None:
        """Weigh a cell that a unit hits in c of its rows by ⌊√(scale² c / C)⌋, C all cells together; before `run`.

        scale: 1 to 2^16. repeats: (entries,) where a unit is one row, how often it repeats each of its ranks: c of a
        cell is then the least of its ranks; None where units have rows of their own. Units of one row without repeats
        are weighed by weights, which have to say the same. sums are given.
        """

    def run(self, tick: Callable[[], object] | None = None) -> None:
        """Work until no unit is left, or the pass is stopped. Any number of threads may be in here.

        tick: called every few milliseconds; given by one thread only. What it raises ends the pass, and is raised.
        """

    def stop(self) -> None:
        """Make every thread return soon."""

    @property
    def state(self) -> int:
        """STOPPED, OVER_LIMIT or NO_MEMORY where the pass ended early; 0 where it did not."""

    @property
    def fraction(self) -> float:
        """How much of the units is done or being done, 0 to 1."""

class PairScan(UnitScan):
    """A pass where the pair a < b of ranks is the cell b(b - 1)/2 + a: weights and sums are given, held is None."""

class CandidateScan(UnitScan):
    """A pass where a cell is a candidate of a trie."""

    def set_trie(self, number_of: Int32, width: int, items: Int32, children: Int64, accepts: Int32) -> None:
        """Set what to look for, before the first `run`. Raises MemoryError where there is too little memory.

        number_of: (ranks,) the item number, below width, of each rank, falling as ranks ascend; -1 where no candidate
        has it. items, children, accepts: as in `CandidateTrie`.
        """

    def set_members(self, members: Int32) -> None:
        """Set the ranks of each candidate, (cells, r), before the first `run`: needed where there are repeats."""
