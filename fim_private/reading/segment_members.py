"""Which units count in which segment, and with what: of each unit by its own rows alone.

A unit counts in the segments in which it has the most baskets, in one unless more are allowed; of those with equally
many the one that stands first in the public list. In a segment it counts with its rows of that segment only.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fim_private.errors import DataError
from fim_private.reading.arrow_labels import as_texts
from fim_private.reading.arrow_numpy import arrow_strings
from fim_private.reading.column_roles import shown_type
from fim_private.reading.missing_values import present
from fim_private.reading.segments import Segments
from fim_private.reading.transactions import Transactions


def segment_numbers(segments: Segments, values: pa.Array) -> pa.Array:
    """Return the place of each row's segment in the list: (rows,) Arrow int32, null for none of them.

    values: (rows,) Arrow array of any type that can be labels. Values are compared as texts: 39 and "39" are the same.
    True and False have their names in any case. Raises DataError for a type that has no texts, and for times.
    """
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        raise DataError(
            f"column {segments.column!r} has type {shown_type(kind)}, which names no segments; make it texts, dates or "
            "whole numbers"
        )
    is_boolean = pa.types.is_boolean(kind)
    names = [name.lower() if is_boolean else name for name in segments.names]
    return pc.index_in(present(as_texts(values)), value_set=arrow_strings(names))


def members(data: Transactions, segments: Segments) -> list[Transactions]:
    """Return the purchases of each segment: the units that count in it, with their baskets of it.

    data: purchases in which each basket is of one segment (Transactions.segments). A unit is in `segments.most` of
    the returned at most, and in which, and with what, follows from what it has alone.
    """
    assert data.segments is not None
    unit = _unit_of_basket(data)
    # One number for a unit and a segment.
    pair = unit * len(segments.names) + data.segments
    pairs, place, baskets = np.unique(pair, return_inverse=True, return_counts=True)
    counts = _ranks(pairs // len(segments.names), pairs % len(segments.names), baskets) < segments.most
    counted = np.flatnonzero(counts[place])
    counted = counted[np.argsort(data.segments[counted], kind="stable")]
    ends = np.searchsorted(data.segments[counted], np.arange(len(segments.names) + 1))
    parts = [counted[ends[number] : ends[number + 1]] for number in range(len(segments.names))]
    return [_only(data, part, unit) for part in parts]


def _unit_of_basket(data: Transactions) -> NDArray[np.int64]:
    """Return the unit of each basket, (baskets,)."""
    if data.unit_offsets is None:
        return np.arange(data.baskets, dtype=np.int64)
    return np.repeat(np.arange(data.units, dtype=np.int64), np.diff(data.unit_offsets))


def _ranks(units: NDArray[np.int64], numbers: NDArray[np.int64], baskets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return which segment is a unit's first, 0, second, …: (pairs,), of pairs of a unit and a segment.

    units: (pairs,), ascending. numbers: of the segments, in the list. baskets: how many the unit has in it.
    """
    order = np.lexsort((numbers, -baskets, units))
    first = np.searchsorted(units, units)
    ranks = np.empty(len(units), dtype=np.int64)
    ranks[order] = np.arange(len(units)) - first
    return ranks


def _only(data: Transactions, baskets: NDArray[np.int64], unit: NDArray[np.int64]) -> Transactions:
    """Return some baskets, ascending, of all units that have one of them, and no other units."""
    lengths = np.diff(data.offsets)[baskets]
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    entries = np.repeat(data.offsets[baskets] - offsets[:-1], lengths) + np.arange(offsets[-1])
    unit_offsets = None
    if data.unit_offsets is not None:
        starts = np.flatnonzero(np.diff(unit[baskets], prepend=-1))
        unit_offsets = np.append(starts, len(baskets)).astype(np.int64)
    found = replace(
        data, offsets=offsets, items=data.items[entries], unit_offsets=unit_offsets, segments=None, rows=None
    )
    return found.of_occurring_items()
