from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

FEW_ROWS: int
STOPPED: int
OVER_LIMIT: int
NO_MEMORY: int

def count_items(
    items: Int32, offsets: Int64, unit_offsets: Int64 | None, first: int, last: int, supports: Int64
) -> None: ...
def kept_lengths(items: Int32, offsets: Int64, rank_of: Int32, first: int, last: int, lengths: Int64) -> None: ...
def rank_rows(
    items: Int32, offsets: Int64, rank_of: Int32, first: int, last: int, starts: Int64, ranks: Int32
) -> None: ...
def count_columns(
    ranks: Int32, starts: Int64, first: int, last: int, low: int, high: int, skip: int, counts: Int64
) -> None: ...
def fill_columns(
    ranks: Int32, starts: Int64, first: int, last: int, low: int, high: int, skip: int, cursor: Int64, rows: Int32
) -> None: ...
def measure_streams(
    ranks: Int32,
    starts: Int64,
    first: int,
    last: int,
    low: int,
    high: int,
    skip: int,
    counts: Int64,
    lengths: Int64,
) -> None: ...
def fill_streams(
    ranks: Int32,
    starts: Int64,
    units: Int32 | None,
    first: int,
    last: int,
    low: int,
    high: int,
    skip: int,
    cursor: Int64,
    stream: Int32,
) -> None: ...
def fill_bitmaps(
    items: Int32,
    offsets: Int64,
    rank_of: Int32 | None,
    high: int,
    first: int,
    last: int,
    words: int,
    bits: NDArray[np.uint64],
) -> None: ...
def prefixes(ranks: Int32, starts: Int64, rows: Int32, bound: int, out_starts: Int64, out: Int32 | None) -> None: ...

class Scan:
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
        self, ranks: Int32, starts: Int64, units: Int32 | None, columns: Int64, rows: Int32, low: int, high: int
    ) -> None: ...
    def set_streams(
        self, streams: Int32, starts: Int64, counts: Int64, of_units: bool, low: int, high: int
    ) -> None: ...
    def set_bitmaps(self, bits: NDArray[np.uint64], words: int, high: int) -> None: ...
    def set_pairs(
        self, ranks: Int32, starts: Int64, unit_starts: Int64 | None, ranks_in_table: int, cells: NDArray[np.uint32]
    ) -> None: ...
    def add_pairs(self, cells: NDArray[np.uint32]) -> None: ...
    def settle(self) -> None: ...
    def run(self, tick: Callable[[], object] | None = None) -> None: ...
    def stop(self) -> None: ...
    @property
    def state(self) -> int: ...
    @property
    def histogram(self) -> memoryview[int]: ...
    @property
    def floor(self) -> int: ...
    @property
    def work(self) -> int: ...
    @property
    def next_rank(self) -> int: ...
    @property
    def closed_forms(self) -> Mapping[tuple[int, int, int], int]: ...
    @property
    def itemsets(self) -> bytes: ...
