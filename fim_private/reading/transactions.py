"""Transactions: the one in-memory form of purchases; how rows are put together to it; and the units
of each segment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fim_private.reading import memory
from fim_private.reading.columns import ReadAs
from fim_private.reading.contribution_bounds import (
    LabelDigests,
    drawn_baskets,
    first_of_basket,
    first_of_unit,
)
from fim_private.reading.labels import Codes, Labels, Vocabulary
from fim_private.reading.options import Segments, Times
from fim_private.reading.values import arrow_of, null_mask, numpy_of

# so many stay in their place; a file of a few megabytes may hold thousands of times as many
_BLANK_ROWS = 1 << 20
_KEYS = ("baskets", "users", "segments", "days")


def canonical_baskets(
    lengths: NDArray[np.integer], codes: Codes
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return offsets and items as in `Transactions`: without nulls, an item repeated inside a
    basket counts once.

    lengths: (baskets,), how many entries each basket has. codes: of all of them, -1 for a null.
    """
    key = np.repeat(np.arange(len(lengths), dtype=np.int64) << 32, lengths)
    is_item = codes >= 0
    if not is_item.all():
        key, codes = key[is_item], codes[is_item]
    key |= codes
    if not (key[1:] > key[:-1]).all():
        key.sort()
        key = key[np.concatenate([key[:1] >= 0, key[1:] != key[:-1]])]
    items = (key & 0xFFFFFFFF).astype(np.int32)
    key >>= 32
    key += 1
    return np.cumsum(np.bincount(key, minlength=len(lengths) + 1)), items


@dataclass(frozen=True, repr=False)
class Transactions:
    """Privacy units, their baskets, and the items in them, as compressed sparse rows.

    offsets: (baskets + 1,) int64; basket b holds ``items[offsets[b]:offsets[b + 1]]``. items:
    (entries,) int32 codes into the vocabulary, strictly ascending inside a basket. unit_offsets:
    (units + 1,) int64, the first basket of each unit; None when every basket is a unit of its own.
    An empty basket, or a user who has no other, counts as a unit.
    missing_user, where, query, fold_case, time_format: with which it was read. read_as: as what;
    rows: how many its table has.
    blank: how many more baskets there are, without an item: a file may have any number of blank
    lines. 0 for users.
    segments: (baskets,) int32, in which segment of a public list each basket is (`members`); None
    without such.
    together: whether a user has an itemset if all of their baskets together do, not only if one of
    them does.
    days: the first and the last day of a basket, since 1970-01-01; None where times are not read.
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
    time_format: str | None = field(default=None, compare=False)
    together: bool = False
    days: tuple[int, int] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return f"<Transactions: purchases by {'user' if self.by_user else 'basket'}, not shown>"

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user with all their baskets, not a basket."""
        return self.unit_offsets is not None

    @property
    def baskets(self) -> int:
        """How many baskets there are, empty ones included."""
        return self.stored + self.blank

    @property
    def stored(self) -> int:
        """How many baskets have a place in offsets: all but the blank ones."""
        return len(self.offsets) - 1

    @property
    def units(self) -> int:
        """How many privacy units there are: users, those without a basket included, or baskets."""
        return self.baskets if self.unit_offsets is None else len(self.unit_offsets) - 1

    def restricted_to(self, catalogue: Vocabulary) -> Transactions:
        """Return the same baskets with only the items that the catalogue lists, in either form,
        coded by it.
        """
        return self.recoded(self.vocabulary.codes_in(catalogue), catalogue)

    def recoded(self, codes: Codes, vocabulary: Vocabulary) -> Transactions:
        """Return the same baskets with the codes of another vocabulary: (items,) of each item, -1
        to leave it out.
        """
        offsets, items = canonical_baskets(np.diff(self.offsets), codes[self.items])
        return replace(self, offsets=offsets, items=items, vocabulary=vocabulary)

    def without(self, excluded: Vocabulary) -> Transactions:
        """Return the same baskets without the items that are listed, in either form, coded by the
        labels left.
        """
        return self._with((self.vocabulary.codes_in(excluded) < 0)[self.items]).of_occurring_items()

    def of_length(self, min_basket: int) -> Transactions:
        """Return the same baskets, but those with fewer than min_basket items, >= 1, are empty."""
        lengths = np.diff(self.offsets)
        return self._with(np.repeat(lengths >= min_basket, lengths)).of_occurring_items()

    def united(self) -> Transactions:
        """Return users whose baskets count together with one basket each, of all that a user ever
        had; others as is.
        """
        if not self.together:
            return self
        if self.unit_offsets is None or not self.units:
            return replace(self, together=False)
        offsets, items = canonical_baskets(np.diff(self.offsets[self.unit_offsets]), self.items)
        return replace(
            self,
            offsets=offsets,
            items=items,
            unit_offsets=np.arange(self.units + 1),
            together=False,
        )

    def of_occurring_items(self) -> Transactions:
        """Return the same baskets with a vocabulary that has no label but theirs: what is left out
        is forgotten.
        """
        occurs = np.bincount(self.items, minlength=len(self.vocabulary)) > 0
        if occurs.all():
            return self
        code = np.cumsum(occurs, dtype=np.int32) - np.int32(1)
        return replace(self, items=code[self.items], vocabulary=self.vocabulary.only(occurs))

    def capped(
        self, most_items: int, most_baskets: int, digests: Mapping[int, bytes] | None = None
    ) -> Transactions:
        """Return the first most_items items of each basket, in label order, and at most
        most_baskets baskets of a user.

        Baskets that do not count are empty then. digests: of each code's label, where the
        vocabulary has it not. Each unit alone decides what of it counts: it supports at most
        most_baskets * C(most_items, size) itemsets.
        """
        if self.together:
            return self.united().capped(most_items, most_baskets, digests)
        cut = self._with(first_of_basket(self.offsets, most_items))
        if self.unit_offsets is None or not (np.diff(self.unit_offsets) > most_baskets).any():
            return cut
        digests = LabelDigests(self.vocabulary.label) if digests is None else digests
        stay = drawn_baskets(cut.items, cut.offsets, self.unit_offsets, digests, most_baskets)
        return cut._with(np.repeat(stay, np.diff(cut.offsets)))

    def cut_to(self, count: int) -> Transactions:
        """Return the same baskets with only the first count >= 1 distinct items of each unit, in
        label order.

        Each unit alone decides what of it counts: it supports at most C(count, size) itemsets.
        """
        bounds = self.offsets if self.unit_offsets is None else self.offsets[self.unit_offsets]
        is_short = (np.diff(bounds) <= count).all()
        return self if is_short else self._with(first_of_unit(self.items, bounds, count))

    def _with(self, stay: NDArray[np.bool_]) -> Transactions:
        if stay.all():
            return self
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(stay)])
        return replace(self, offsets=ends[self.offsets], items=self.items[stay])


def members(data: Transactions, segments: Segments) -> list[Transactions]:
    """Return the purchases of each segment: the units that count in it, with their baskets of it.

    A unit counts in the `segments.most` segments with most of its baskets; of equals the first in
    the public list counts. The unit alone decides in which it counts, and with what.
    """
    assert data.segments is not None
    unit = np.arange(data.units, dtype=np.int64)
    if data.unit_offsets is not None:
        unit = np.repeat(unit, np.diff(data.unit_offsets))
    pair = unit * len(segments.names) + data.segments
    pairs, place, baskets = np.unique(pair, return_inverse=True, return_counts=True)
    counts = _ranks(*np.divmod(pairs, len(segments.names)), baskets) < segments.most
    counted = np.flatnonzero(counts[place])
    counted = counted[np.argsort(data.segments[counted], kind="stable")]
    ends = np.searchsorted(data.segments[counted], np.arange(len(segments.names) + 1))
    return [_only(data, counted[start:end], unit) for start, end in pairwise(ends)]


def _ranks(
    units: NDArray[np.int64], numbers: NDArray[np.int64], baskets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return which segment is a unit's first, 0, second, …: (pairs,), of pairs of a unit,
    ascending, and a segment.
    """
    order = np.lexsort((numbers, -baskets, units))
    ranks = np.empty(len(units), dtype=np.int64)
    ranks[order] = np.arange(len(units)) - np.searchsorted(units, units)
    return ranks


def _only(data: Transactions, baskets: NDArray[np.int64], unit: NDArray[np.int64]) -> Transactions:
    """Return some baskets, ascending, of all units that have one of them, and no other units. unit:
    of each basket.
    """
    lengths = np.diff(data.offsets)[baskets]
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    entries = np.repeat(data.offsets[baskets] - offsets[:-1], lengths) + np.arange(offsets[-1])
    # also of no baskets a last bound
    starts = np.flatnonzero(np.diff(unit[baskets], prepend=-1, append=-2))
    bounds = None if data.unit_offsets is None else starts
    found = replace(
        data,
        offsets=offsets,
        items=data.items[entries],
        unit_offsets=bounds,
        segments=None,
        rows=None,
    )
    return found.of_occurring_items()


@dataclass(frozen=True)
class KeyedRows:
    """A chunk of rows: runs of items, each with the keys it belongs to, as long formats and columns
    of lists give them.

    lengths: (rows,) integer, how many items each row has. codes: (sum of lengths,) int32
    provisional, -1 for a null.
    baskets, users, segments: (rows,) Arrow arrays; None when each row is a basket, or there are no
    such. A user may be
    null: the row is nobody's, and its basket a unit of its own. segments: int32, no nulls, >= 0, or
    with days -1 for a row that only has a day: of each row int32, no nulls, since 1970-01-01.
    """

    lengths: NDArray[np.integer]
    codes: Codes
    baskets: pa.Array | None = None
    users: pa.Array | None = None
    segments: pa.Array | None = None
    days: pa.Array | None = None

    @property
    def keys(self) -> dict[str, pa.Array]:
        """The keys that there are, by name."""
        return {name: key for name in _KEYS if (key := getattr(self, name)) is not None}

    def merged(self) -> KeyedRows:
        """Return rows in which neighbours with equal keys are one; without keys as they are."""
        if not self.keys:
            return self
        starts = np.flatnonzero(_changes(self.keys.values()))
        lengths = np.diff(starts, append=len(self.codes)).astype(np.int32)
        return replace(
            self,
            lengths=lengths,
            **{name: key.take(arrow_of(starts)) for name, key in self.keys.items()},
        )

    def without_nulls(self) -> KeyedRows:
        """Return the rows without the nulls among their items."""
        is_item = self.codes >= 0
        if is_item.all():
            return self
        row = np.repeat(np.arange(len(self.lengths)), self.lengths)
        return replace(
            self,
            codes=self.codes[is_item],
            lengths=np.bincount(row[is_item], minlength=len(self.lengths)),
        )


def assemble(
    chunks: Iterable[KeyedRows],
    labels: Labels,
    times: Times | None = None,
    *,
    segmented: bool = True,
) -> Transactions:
    """Read all chunks, all with the same kinds of keys, then build the transactions in the memory
    that holds the codes.

    labels encodes their items while they are read. Of rows that are units, blank ones above a
    million are just counted.
    times: which baskets stay, where rows have days. segmented: whether there is a release of each
    segment, or period.
    """
    limit = memory.current()
    buffer, lengths = _Growing(), _Growing()
    parts: dict[str, list[pa.Array]] = {name: [] for name in _KEYS}
    empty = blank = keys = 0
    for chunk in chunks:
        rows = chunk.without_nulls()
        buffer.append(rows.codes)
        sizes: NDArray[np.integer] = rows.lengths
        empty += len(sizes) - int(np.count_nonzero(sizes))
        if empty > _BLANK_ROWS and not rows.keys:
            sizes = sizes[sizes > 0]
            blank += len(rows.lengths) - len(sizes)
        lengths.append(sizes)
        for name, key in rows.keys.items():
            parts[name].append(key)
            # dictionaries are shared
            own = (key.indices if pa.types.is_dictionary(key.type) else key).nbytes
            keys += memory.KEYED_ROW * len(key) + memory.COPIES * own
        limit.check(
            memory.ENTRY * buffer.size
            + memory.ROW * lengths.size
            + keys
            + memory.COPIES * labels.nbytes
        )
        # what a batch needed to be decoded would stay, scattered
        pa.default_memory_pool().release_unused()
    codes, sizes = buffer.array(), lengths.array()
    segment = np.concatenate([*map(numpy_of, parts["segments"])]) if parts["segments"] else None
    basket, user, days = None, None, None
    if parts["baskets"] or parts["users"] or parts["days"]:
        ids = parts["baskets"]
        basket = _numbers(ids) if ids else np.arange(len(sizes), dtype=np.int32)
        user = _units(parts["users"], basket) if parts["users"] else None
    if times is not None and basket is not None and segment is not None:
        day = np.concatenate([*map(numpy_of, parts.pop("days"))])
        stay, user, segment, day = _of_periods(times, basket, user, segment, day)
        days = (int(day.min()), int(day.max())) if len(day) else None
        codes, sizes, basket = codes[np.repeat(stay, sizes)], sizes[stay], _occurring(basket[stay])
        segment = segment if segmented else None
    vocabulary, final = labels.finish(
        codes[at : at + memory.ENTRIES] for at in range(0, len(codes), memory.ENTRIES)
    )
    unit_offsets = None
    if basket is not None:
        group, unit_offsets = _groups(basket, user, segment)
        if segment is not None:  # of whose rows all have the same
            of_row, segment = segment, np.empty(int(group.max(initial=-1)) + 1, dtype=np.int32)
            segment[group] = of_row
        sizes, final = _merge(codes, sizes, group, final)
    found = Transactions(
        *_in_place(codes, sizes, final), vocabulary, unit_offsets, blank=blank, segments=segment
    )
    return replace(found, days=days)


def _in_place(
    codes: Codes, sizes: NDArray[np.integer], final: Codes
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return what `canonical_baskets` does, of some baskets at a time, where the codes were: they
    are read before.
    """
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    first = start = end = 0
    while first < len(sizes):
        last = max(
            first + 1, int(np.searchsorted(offsets, start + memory.ENTRIES, side="right")) - 1
        )
        stop = int(offsets[last])
        ends, items = canonical_baskets(sizes[first:last], final[codes[start:stop]])
        offsets[first + 1 : last + 1] = end + ends[1:]
        codes[end : end + len(items)] = items
        first, start, end = last, stop, end + len(items)
    # A view has all of the codes in memory: worth it only if most of them are left.
    return offsets, codes[:end] if end > len(codes) * 3 // 4 else codes[:end].copy()


class _Growing:
    """An int32 array that grows at its end; large ones grow where they are, without a copy. size:
    so much is filled.
    """

    def __init__(self) -> None:
        # Not yet memory, only addresses; and so large an allocation of its own grows by remapping.
        self._data = np.empty(1 << 24, dtype=np.int32)
        self.size = 0

    def append(self, values: NDArray[np.integer]) -> None:
        start, self.size = self.size, self.size + len(values)
        if self.size > len(self._data):
            self._data.resize(max(self.size, len(self._data) * 5 // 4), refcheck=False)
        self._data[start : self.size] = values

    def array(self) -> NDArray[np.int32]:
        """Return what was appended: the last use."""
        self._data.resize(self.size, refcheck=False)
        return self._data


def _changes(keys: Collection[pa.Array]) -> NDArray[np.bool_]:
    """Return which entries differ from the one before in any key; the first does: (entries,) bool.
    Nulls are equal.
    """
    changed: NDArray[np.bool_] = np.arange(len(next(iter(keys)))) == 0
    for key in keys:
        if not pa.types.is_null(key.type):
            values = key.indices if pa.types.is_dictionary(key.type) else key
            differs = numpy_of(pc.not_equal(values[1:], values[:-1]))
            if values.null_count:  # whether a null differs from anything is null
                null = null_mask(values)
                differs = np.where(null[1:] | null[:-1], null[1:] != null[:-1], differs)
            changed[1:] |= differs
    return changed


def _of_periods(
    times: Times,
    basket: NDArray[np.integer],
    user: NDArray[np.int32] | None,
    segment: NDArray[np.int32],
    day: NDArray[np.int32],
) -> tuple[NDArray[np.bool_], NDArray[np.int32] | None, NDArray[np.int32], NDArray[np.int32]]:
    """Return which rows are read, and of those the user, the segment and the day. segment: -1 for
    what is left out.

    All rows of a basket have the day of the earliest: which that is follows from this basket's rows
    alone, before any of them is left out. With `Times.per` a user is one of each stretch of time.
    """
    number = basket if user is None else _numbers_of_pairs(user, basket)
    earliest = np.full(int(number.max(initial=-1)) + 1, np.iinfo(np.int32).max, dtype=np.int32)
    np.minimum.at(earliest, number, day)
    day = earliest[number]
    place = times.places(day)
    stay = (segment >= 0) & (place >= 0)
    if user is not None and times.per is not None:
        user = _numbers_of_pairs(user, times.stretches(day) + (1 << 31))
    of_what = place if times.parts is not None else segment
    return stay, None if user is None else _occurring(user[stay]), of_what[stay], day[stay]


def _occurring(number: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return the same numbers without gaps, in their order: who is left out is no unit."""
    occurs = np.bincount(number) > 0
    return np.asarray((np.cumsum(occurs, dtype=np.int32) - np.int32(1))[number])


def _groups(
    basket: NDArray[np.integer], user: NDArray[np.int32] | None, segment: NDArray[np.int32] | None
) -> tuple[NDArray[np.integer], NDArray[np.int64] | None]:
    """Return the basket number of each row, and the first basket of each unit: of each user, then
    of nobody.

    Numbers ascend where rows of a basket are together already: most files need no sort.
    """
    if user is None and segment is None:
        return basket, None
    user = basket.astype(np.int32) if user is None else user
    if segment is not None:  # a basket is one in each segment
        basket = _numbers_of_pairs(basket, segment)
    # A basket id is only good inside its user: one of another user's rows must not change this
    # one's baskets. Numbered by appearance, a user's baskets are in the order of that user's own
    # rows, whoever else is in the file.
    number = _numbers_of_pairs(user, basket)
    owner = np.empty(number.max(initial=-1) + 1, dtype=np.int32)
    owner[number] = user
    order = np.argsort(owner, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[number], np.concatenate(
        [np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(owner))]
    )


def _numbers_of_pairs(first: NDArray[np.integer], second: NDArray[np.integer]) -> NDArray[np.int32]:
    return _numbers_by_appearance(
        pa.chunked_array([arrow_of((first.astype(np.int64) << 32) | second)])
    )


def _units(users: list[pa.Array], basket: NDArray[np.integer]) -> NDArray[np.int32]:
    """Number the unit of each row: users first, then the baskets of rows without one."""
    nobody = np.concatenate([null_mask(part) for part in users])
    if not nobody.any():
        return _numbers(users)
    unit = np.empty(len(nobody), dtype=np.int32)
    unit[~nobody] = named = _numbers([part.drop_null() for part in users])
    users.clear()
    unit[nobody] = named.max(initial=-1) + 1 + _numbers([arrow_of(basket[nobody])])
    return unit


def _numbers(parts: list[pa.Array]) -> NDArray[np.int32]:
    """Number distinct keys, no nulls: whole numbers that lie close by value, others by appearance.
    Empties the list.

    Which numbers are equal follows from the keys' values alone, their order does not, and nothing
    may depend on it.
    """
    keys = pa.chunked_array(
        [part.dictionary_decode() if pa.types.is_dictionary(part.type) else part for part in parts]
    )
    parts.clear()
    if pa.types.is_signed_integer(keys.type) and len(keys) and not _ascend(keys):
        low, high = pc.min_max(keys).as_py().values()
        if high - low < 4 * len(keys):
            # In 64 bits: int8 holds no 200, the distance from -100 to 100, and would wrap.
            place = (
                np.concatenate([numpy_of(chunk) for chunk in keys.chunks]).astype(np.int64) - low
            )
            occurs = np.zeros(high - low + 1, dtype=bool)
            occurs[place] = True
            return np.asarray((np.cumsum(occurs, dtype=np.int32) - np.int32(1))[place])
    return _numbers_by_appearance(keys)


def _ascend(keys: pa.ChunkedArray) -> bool:
    return pc.all(pc.greater_equal(keys[1:], keys[:-1])).as_py() is not False


def _numbers_by_appearance(keys: pa.ChunkedArray) -> NDArray[np.int32]:
    """Number distinct keys, no nulls, in the order in which they first appear."""
    if not len(keys):
        return np.empty(0, dtype=np.int32)
    if _ascend(keys):
        # Not combine_chunks: of no chunks it makes an array by importing pandas.
        changed = [numpy_of(chunk) for chunk in pc.not_equal(keys[1:], keys[:-1]).chunks]
        return np.cumsum(np.concatenate([np.zeros(1, dtype=bool), *changed]), dtype=np.int32)
    return np.concatenate([numpy_of(chunk.indices) for chunk in keys.dictionary_encode().chunks])


def _merge(
    codes: Codes, sizes: NDArray[np.integer], group: NDArray[np.integer], final: Codes
) -> tuple[NDArray[np.int64], Codes]:
    """Bring the rows of each basket together, in place. Return basket sizes, and what makes codes
    final then.
    """
    if (group[1:] >= group[:-1]).all():
        first = np.flatnonzero(np.diff(group, prepend=-1))
        return np.add.reduceat(sizes, first, dtype=np.int64) if len(first) else sizes.astype(
            np.int64
        ), final
    # Final codes before the sort: then one sort is enough for the order of baskets and inside them.
    key = np.empty(len(codes), dtype=np.int64)
    end = 0
    for start in range(0, len(sizes), memory.ENTRIES):
        rows = slice(start, start + memory.ENTRIES)
        begin, end = end, end + int(sizes[rows].sum())
        key[begin:end] = np.repeat(group[rows], sizes[rows])
        key[begin:end] <<= 32
        key[begin:end] |= final[codes[begin:end]]
    key.sort()
    np.copyto(codes.view(np.uint32), key, casting="unsafe")  # of which the low half stays, the code
    bounds = np.arange(int(group.max()) + 2, dtype=np.int64) << 32
    return np.diff(np.searchsorted(key, bounds)), np.arange(len(final), dtype=np.int32)
