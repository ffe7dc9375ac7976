"""Transactions: the one in-memory form of purchases; and the units of each segment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fim_private.errors import DataError
from fim_private.reading.columns import ReadAs, shown_type
from fim_private.reading.contribution_bounds import LabelDigests, drawn_baskets, first_of_basket, first_of_unit
from fim_private.reading.labels import Vocabulary, as_texts
from fim_private.reading.options import Segments
from fim_private.reading.values import arrow_strings, present

# -------------------- canonical baskets
# Chunks of baskets as they were read, to the two arrays of `Transactions`: items ascending, each once a basket.

# How many entries each basket of a chunk has, (baskets,), and the provisional codes of all of them, -1 for a null.
Chunk = tuple[NDArray[np.integer], NDArray[np.int32]]


def canonical_baskets(
    chunks: Iterable[Chunk], code: NDArray[np.int32], *, out: NDArray[np.int32] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return offsets and items as in `Transactions`, (baskets + 1,) int64 and (entries,) int32.

    chunks: one at a time is worked on. A list is emptied while it is read, so that its memory can be reused.
    code: (n,) the canonical code of each provisional code.
    out: where to put the items, of any length that is enough. It may be the array that the chunks are
        slices of, one after another: an item is never written before those at its place were read.
    Nulls are dropped, an item repeated inside a basket counts once.
    """
    source = iter(chunks) if not isinstance(chunks, list) else _emptying(chunks)
    counts: list[NDArray[np.int32]] = []
    parts: list[NDArray[np.int32]] = []
    size = 0
    for lengths, provisional in source:
        count, items = _canonical_chunk(lengths, provisional, code)
        counts.append(count)
        if out is None:
            parts.append(items)
        else:
            out[size : size + len(items)] = items
        size += len(items)
    offsets = np.zeros(sum(map(len, counts)) + 1, dtype=np.int64)
    if counts:
        np.cumsum(np.concatenate(counts), out=offsets[1:])
    if out is None:
        items = np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)
    else:
        # A view holds all of out: worth it only if most of out is used.
        items = out[:size] if size > len(out) * 3 // 4 else out[:size].copy()
    return offsets, items


def _canonical_chunk(
    lengths: NDArray[np.integer], provisional: NDArray[np.int32], code: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return how many distinct items each basket has, and their codes, ascending inside each basket."""
    key = np.repeat(np.arange(len(lengths), dtype=np.int64) << 32, lengths)
    present = provisional >= 0
    if not present.all():
        key, provisional = key[present], provisional[present]
    key |= code[provisional]
    ascending = key[1:] > key[:-1]
    if not ascending.all():
        key.sort()
        key = key[np.concatenate([key[:1] >= 0, key[1:] != key[:-1]])]
    items = (key & 0xFFFFFFFF).astype(np.int32)
    key >>= 32
    return np.bincount(key, minlength=len(lengths)).astype(np.int32), items


def _emptying(chunks: list[Chunk]) -> Iterable[Chunk]:
    """Yield the chunks of a list in order, and take each out of it, so that its memory can be reused."""
    chunks.reverse()
    while chunks:
        yield chunks.pop()


# -------------------- transactions
# Transactions: the one in-memory form of purchase data.


@dataclass(frozen=True, repr=False)
class Transactions:
    """Privacy units, their baskets, and the items in them, as compressed sparse rows.

    offsets: (baskets + 1,) int64; basket b holds ``items[offsets[b]:offsets[b + 1]]``.
    items: (entries,) int32 codes into the vocabulary, strictly ascending inside a basket.
    unit_offsets: (units + 1,) int64; unit u has baskets ``unit_offsets[u]`` up to ``unit_offsets[u + 1]``;
        None when every basket is a unit of its own.
    missing_user: what became of rows without a user, as in read_transactions; None where nothing was said of them.
    blank: how many more baskets there are, without an item and so of no use but to be counted: a file may have any
        number of blank lines. 0 where units are users.
    segments: (baskets,) int32, in which part of a public list each basket is (`segment_members`); None without such.
    read_as: what the source was read as; None where that is not known. rows: how many rows its table has; None where it
        is none. where: which of them were read, as a condition; None for all. query: whether a query chose them.
    fold_case: whether items that differ by capital letters alone are one.
    together: whether a user has an itemset if all of their baskets together do, not only if one of them does.
    An empty basket, or a user who has nothing else, counts as a unit.
    """

    offsets: NDArray[np.int64]
    items: NDArray[np.int32]
    vocabulary: Vocabulary
    unit_offsets: NDArray[np.int64] | None = None
    missing_user: str | None = None
    blank: int = 0
    segments: NDArray[np.int32] | None = None
    read_as: ReadAs | None = field(default=None, compare=False)
    rows: int | None = field(default=None, compare=False)
    where: str | None = field(default=None, compare=False)
    query: bool = field(default=False, compare=False)
    fold_case: bool = field(default=False, compare=False)
    together: bool = False

    def __repr__(self) -> str:
        return f"<Transactions: purchases by {'user' if self.by_user else 'basket'}, not shown>"

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user with all their baskets, not a basket."""
        return self.unit_offsets is not None

    @property
    def baskets(self) -> int:
        """How many baskets there are, empty ones included."""
        return self.kept + self.blank

    @property
    def kept(self) -> int:
        """How many baskets have a place in offsets: all but the blank ones."""
        return len(self.offsets) - 1

    @property
    def units(self) -> int:
        """How many privacy units there are: users, those without a basket included, or baskets."""
        return self.baskets if self.unit_offsets is None else len(self.unit_offsets) - 1

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays (not the vocabulary)."""
        units = 0 if self.unit_offsets is None else self.unit_offsets.nbytes
        return self.offsets.nbytes + self.items.nbytes + units

    def restricted_to(self, catalogue: Vocabulary) -> Transactions:
        """Return the same baskets with only the items that the catalogue lists, coded by the catalogue.

        An item is also one that the catalogue lists in its other form, 39 for "39" (`Vocabulary.codes_in`).
        """
        codes = self.vocabulary.codes_in(catalogue)[self.items]
        listed = np.arange(len(catalogue), dtype=np.int32)
        offsets, items = canonical_baskets([(np.diff(self.offsets), codes)], listed)
        return replace(self, offsets=offsets, items=items, vocabulary=catalogue)

    def without(self, excluded: Vocabulary) -> Transactions:
        """Return the same baskets without the items that are listed, coded by the labels that are left.

        An item is also one that is listed in its other form, 39 for "39", as in restricted_to.
        """
        left = self.vocabulary.codes_in(excluded) < 0
        return self._with(left[self.items]).of_occurring_items()

    def of_length(self, min_basket: int) -> Transactions:
        """Return the same baskets, of which those with fewer than min_basket items, >= 1, are empty."""
        lengths = np.diff(self.offsets)
        return self._with(np.repeat(lengths >= min_basket, lengths)).of_occurring_items()

    def united(self) -> Transactions:
        """Return users whose baskets count together with one basket each, of all that a user ever had; others as is."""
        if not self.together or self.unit_offsets is None or not self.units:
            return self
        bounds = self.offsets[self.unit_offsets]
        everything = np.arange(len(self.vocabulary), dtype=np.int32)
        offsets, items = canonical_baskets([(np.diff(bounds), self.items)], everything)
        return replace(self, offsets=offsets, items=items, unit_offsets=np.arange(self.units + 1), together=False)

    def of_occurring_items(self) -> Transactions:
        """Return the same baskets with a vocabulary that has no label but theirs: what is left out is forgotten."""
        occurs = np.bincount(self.items, minlength=len(self.vocabulary)) > 0
        if occurs.all():
            return self
        code = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
        return replace(self, items=code[self.items], vocabulary=self.vocabulary.only(occurs))

    def capped(self, max_basket: int, max_baskets: int, digests: Mapping[int, bytes] | None = None) -> Transactions:
        """Return the first max_basket items of each basket, in label order, and at most max_baskets baskets of a unit.

        max_basket, max_baskets: >= 1; the latter has no effect where a basket is a unit. The baskets of a unit that
        do not count are empty then. digests: of the text of each code's label, where the vocabulary has it not. What a
        unit keeps follows from what is in it alone (`contribution_bounds`): it
        supports at most max_baskets * C(max_basket, size) itemsets.
        """
        if self.together:
            return self.united().capped(max_basket, max_baskets, digests)
        cut = self._with(first_of_basket(self.offsets, max_basket))
        if self.unit_offsets is None or not (np.diff(self.unit_offsets) > max_baskets).any():
            return cut
        of_labels = LabelDigests(self.vocabulary.label) if digests is None else digests
        stay = drawn_baskets(cut.items, cut.offsets, self.unit_offsets, of_labels, max_baskets)
        return cut._with(np.repeat(stay, np.diff(cut.offsets)))

    def cut_to(self, count: int) -> Transactions:
        """Return the same baskets with only the first count distinct items of each unit, in label order.

        count: >= 1. The items of a unit are those of all its baskets together: then all of them have at most count
        items, and the unit supports at most C(count, size) itemsets. What a unit keeps depends on that unit alone.
        """
        bounds = self.offsets if self.unit_offsets is None else self.offsets[self.unit_offsets]
        if (np.diff(bounds) <= count).all():
            return self
        return self._with(first_of_unit(self.items, bounds, count))

    def _with(self, kept: NDArray[np.bool_]) -> Transactions:
        """Return the same baskets with only the items that are kept, (entries,) bool."""
        if kept.all():
            return self
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])
        return replace(self, offsets=ends[self.offsets], items=self.items[kept])


# -------------------- segment members
# Which units count in which segment, and with what: of each unit by its own rows alone.
#
# A unit counts in the segments in which it has the most baskets, in one unless more are allowed; of those with equally
# many the one that stands first in the public list. In a segment it counts with its rows of that segment only.


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
