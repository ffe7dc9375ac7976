"""Transactions: the one in-memory form of purchases, how it is assembled from rows, and the units
of each segment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import Array, types

from fim_private import periods
from fim_private.reading import memory
from fim_private.reading.columns import ReadAs
from fim_private.reading.contribution_bounds import (
    drawn_baskets,
    first_of_basket,
    first_of_unit,
    label_digests,
)
from fim_private.reading.labels import Codes, Labels, Vocabulary
from fim_private.reading.options import Reading, Segments, Times
from fim_private.reading.values import (
    Int32,
    Int64,
    Integers,
    Mask,
    arrow_of,
    decoded,
    null_mask,
    numpy_of,
    offsets_of,
)

try:
    from fim_private.reading import grouping
except ImportError:  # built without a compiler
    from fim_private.reading import portable_grouping as grouping  # type: ignore[no-redef]

# So many blank rows keep a place. A file of a few megabytes may hold thousands of times as many.
_BLANK_ROWS = 1 << 20


@dataclass(frozen=True, repr=False)
class Transactions:
    """Privacy units, their baskets, and the items in them, as compressed sparse rows.

    An empty basket, or a user who has no other, counts as a unit.

    Attributes:
        offsets: (baskets + 1,); basket b holds ``items[offsets[b]:offsets[b + 1]]``.
        items: (entries,) codes into the vocabulary, strictly ascending inside a basket.
        vocabulary: The labels of the items.
        unit_offsets: (units + 1,), the first basket of each unit; None if every basket is a unit.
        blank: How many baskets without an item there are besides, such as blank lines. 0 for users.
        segments: (baskets,), the place of each basket's segment in a public list, or None.
        read_as: The form, dialect and columns that were read.
        rows: How many rows the table has.
        reading: How the purchases were read, such as the rule for rows without a user.
        together: Whether a user has an itemset if all of their baskets together hold it, and not
            only if one of them does.
        days: The first and the last day of a basket, since 1970-01-01; None without times.
    """

    offsets: Int64
    items: Int32
    vocabulary: Vocabulary
    unit_offsets: Int64 | None = None
    blank: int = 0
    segments: Int32 | None = None
    read_as: ReadAs | None = field(default=None, compare=False)
    rows: int | None = field(default=None, compare=False)
    reading: Reading = field(default_factory=Reading, compare=False)
    together: bool = False
    days: tuple[int, int] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        unit = "user" if self.by_user else "basket"
        return f"<Transactions: purchases by {unit}, not shown>"

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
        if self.unit_offsets is None:
            return self.baskets
        return len(self.unit_offsets) - 1

    def recoded(self, codes: Codes, vocabulary: Vocabulary) -> Transactions:
        """Return the same baskets with the codes of another vocabulary.

        codes: the new code of each item, (items,); -1 leaves it out.
        """
        offsets, items = grouping.canonical_baskets(self.offsets.copy(), self.items.copy(), codes)
        return replace(self, offsets=offsets, items=items, vocabulary=vocabulary)

    def without(self, excluded: Vocabulary) -> Transactions:
        """Return the same baskets, and a vocabulary, without the items that another lists."""
        stays = self.vocabulary.codes_in(excluded) < 0
        return self._with(stays[self.items]).of_occurring_items()

    def of_length(self, min_basket: int) -> Transactions:
        """Return the same baskets, but those with fewer than min_basket items, >= 1, are empty."""
        lengths = np.diff(self.offsets)
        return self._with(np.repeat(lengths >= min_basket, lengths)).of_occurring_items()

    def united(self) -> Transactions:
        """Return one basket for each user, of all their items, if a user's baskets count together.

        Other purchases are returned as they are.
        """
        if not self.together or self.unit_offsets is None:
            return self
        baskets = self.offsets[self.unit_offsets], self.items.copy()
        same_codes = np.arange(len(self.vocabulary), dtype=np.int32)
        offsets, items = grouping.canonical_baskets(*baskets, same_codes)
        return replace(
            self,
            offsets=offsets,
            items=items,
            unit_offsets=np.arange(self.units + 1),
            together=False,
        )

    def of_occurring_items(self) -> Transactions:
        """Return the same baskets with a vocabulary of no other labels than theirs."""
        occurs = np.bincount(self.items, minlength=len(self.vocabulary)) > 0
        if occurs.all():
            return self
        items = grouping.without_gaps(self.items.copy())
        return replace(self, items=items, vocabulary=self.vocabulary.only(occurs))

    def capped(
        self, most_items: int, most_baskets: int, digest_of: Callable[[int], bytes] | None = None
    ) -> Transactions:
        """Return the first items of each basket, in label order, and not all baskets of a user.

        Baskets that do not count are empty then. Each unit alone decides which of its baskets and
        items count: it supports at most most_baskets * C(most_items, size) itemsets.

        Args:
            most_items: How many items of a basket count.
            most_baskets: How many baskets of a user count.
            digest_of: Returns the digest of a code's label; None for that in the vocabulary.
        """
        data = self.united()
        cut = data._with(first_of_basket(data.offsets, most_items))
        if data.unit_offsets is None:
            return cut
        digest_of = digest_of or label_digests(self.vocabulary.label)
        stay = drawn_baskets(cut.items, cut.offsets, data.unit_offsets, digest_of, most_baskets)
        return cut._with(np.repeat(stay, np.diff(cut.offsets)))

    def cut_to(self, count: int) -> Transactions:
        """Return the same baskets with the first count >= 1 items of each unit, in label order.

        Each unit alone decides which of its items count: it supports at most C(count, size)
        itemsets.
        """
        bounds = self.offsets
        if self.unit_offsets is not None:
            bounds = bounds[self.unit_offsets]
        return self._with(first_of_unit(self.items, bounds, count))

    def _with(self, stay: Mask) -> Transactions:
        """Return the same baskets with some of their items: (entries,) bool."""
        if stay.all():
            return self
        return replace(self, offsets=offsets_of(stay)[self.offsets], items=self.items[stay])


def members(data: Transactions, segments: Segments | None, *, by_user: bool) -> list[Transactions]:
    """Return the purchases of each segment: the units that count in it, with their baskets of it.

    A unit counts in the `segments.most` segments with most of its baskets; of equals the first in
    the public list counts. The unit alone decides in which it counts, and with which baskets.

    Args:
        data: The purchases, with segments. If units are baskets, one is what it has in all of them.
        segments: The public list; None for all purchases in one.
        by_user: Whether units are users.
    """
    if segments is None:
        return [data]
    assert data.segments is not None
    assert data.unit_offsets is not None
    unit = np.repeat(np.arange(data.units, dtype=np.int64), np.diff(data.unit_offsets))
    count = len(segments.names)
    pairs, place, baskets = np.unique(
        unit * count + data.segments, return_inverse=True, return_counts=True
    )
    rank = _ranks(*np.divmod(pairs, count), baskets)
    counted = np.flatnonzero(rank[place] < segments.most)
    counted = counted[np.argsort(data.segments[counted], kind="stable")]
    ends = np.searchsorted(data.segments[counted], np.arange(count + 1))
    owner = unit if by_user else None
    return [_only(data, counted[start:end], owner) for start, end in pairwise(ends)]


def _ranks(units: Int64, numbers: Int64, baskets: Int64) -> Int64:
    """Return which segment is a unit's first, 0, second, 1, and so on: (pairs,).

    Args:
        units: The unit of each pair of a unit and a segment, ascending.
        numbers: The segment of each pair.
        baskets: How many baskets the unit has in the segment.
    """
    order = np.lexsort((numbers, -baskets, units))
    return np.argsort(order) - np.searchsorted(units, units)


def _only(data: Transactions, baskets: Int64, owner: Int64 | None) -> Transactions:
    """Return some baskets, ascending, and the units that have one of them.

    owner: the user of each basket of the data; None if each of these baskets is a unit.
    """
    lengths = np.diff(data.offsets)[baskets]
    offsets = offsets_of(lengths)
    entries = np.repeat(data.offsets[baskets] - offsets[:-1], lengths) + np.arange(offsets[-1])
    unit_offsets = None
    if owner is not None:  # the last bound is there even without baskets
        unit_offsets = np.flatnonzero(np.diff(owner[baskets], prepend=-1, append=-2))
    return replace(
        data,
        offsets=offsets,
        items=data.items[entries],
        unit_offsets=unit_offsets,
        segments=None,
        rows=None,
    ).of_occurring_items()


@dataclass(frozen=True)
class KeyedRows:
    """A chunk of rows: runs of items, and the keys of each run: its basket, user, segment and day.

    Long formats and columns of lists both give rows of this form.

    Attributes:
        lengths: How many items each row has, (rows,).
        codes: The provisional codes of the items, (sum of lengths,), -1 for a null.
        keys: The keys that rows have, (rows,) each. "baskets": the id of the basket; without it
            each row is a basket of its own. "users": the user; with null the row is nobody's, and
            its basket is a unit. "segments": the place of the segment, int32 without nulls, >= 0;
            with days it is -1 for a row that only has a day. "days": the day since 1970-01-01,
            int32 without nulls.
    """

    lengths: Integers
    codes: Codes
    keys: Mapping[str, Array] = field(default_factory=dict)

    def merged(self) -> KeyedRows:
        """Return rows of one item each in which neighbours with equal keys are one.

        Where that would not make half as many rows of them, they stay as they are.
        """
        if not self.keys:
            return self
        changed = np.arange(len(self.codes)) == 0
        for key in self.keys.values():
            values = key.indices if types.is_dictionary(key.type) else key
            ends = numpy_of(pc.run_end_encode(values).run_ends)  # nulls are equal
            changed[ends[:-1]] = True
        starts = np.flatnonzero(changed)
        if 2 * len(starts) > len(changed):
            return self
        lengths = np.diff(starts, append=len(self.codes)).astype(np.int32)
        places = arrow_of(starts)
        keys = {name: key.take(places) for name, key in self.keys.items()}
        return KeyedRows(lengths, self.codes, keys)


def assemble(
    chunks: Iterable[KeyedRows],
    labels: Labels,
    times: Times | None = None,
    *,
    segmented: bool = True,
) -> Transactions:
    """Read all chunks, then build the transactions in the memory that holds the codes.

    If rows are units, those without an item above a million are only counted.

    Args:
        chunks: The rows, all with the same kinds of keys.
        labels: Encodes their items while they are read.
        times: Which baskets stay, if rows have days.
        segmented: Whether there is a release of each segment, or period.
    """
    codes, sizes, keys, blank = _collected(chunks, labels)
    basket = np.arange(len(sizes), dtype=np.int32)
    if "baskets" in keys:
        basket = _numbered(keys["baskets"])
    user = _units(keys["users"], basket) if "users" in keys else None
    segment = _joined(keys["segments"]) if "segments" in keys else None
    days = None
    if times is not None and segment is not None:
        day = _earliest(_joined(keys["days"]), basket, user)
        place = times.places(day)
        stay = (segment >= 0) & (place >= 0)
        if user is not None:
            user = grouping.without_gaps(_in_stretches(user, day, times.per)[stay])
        codes, sizes = codes[np.repeat(stay, sizes)], sizes[stay]
        basket = grouping.without_gaps(basket[stay])
        day = day[stay]
        if len(day):
            days = int(day.min()), int(day.max())
        if times.parts is not None:
            segment = place
        segment = segment[stay] if segmented else None
    vocabulary, final = labels.finish([codes])
    group, unit_offsets = _groups(basket, user, segment)
    del basket, user  # some hundred megabytes of large files
    codes, offsets = grouping.brought_together(codes, sizes, group)
    if segment is not None:  # all rows of a basket have the same
        segment_of = np.empty(len(offsets) - 1, dtype=np.int32)
        segment_of[group] = segment
        segment = segment_of
    offsets, items = grouping.canonical_baskets(offsets, codes, final)
    # A view keeps all of the codes in memory: that is worth it only if most of them are items.
    if len(items) <= len(codes) * 3 // 4:
        items = items.copy()
    return Transactions(
        offsets, items, vocabulary, unit_offsets, blank=blank, segments=segment, days=days
    )


def _collected(
    chunks: Iterable[KeyedRows], labels: Labels
) -> tuple[Codes, Int32, dict[str, list[Array]], int]:
    """Return the rows of all chunks, in order. Raises MemoryLimitError.

    These are the codes of all items, without nulls; how many items each row has; its keys, chunk by
    chunk; and how many rows were left out, which have neither items nor keys.
    """
    all_codes, all_lengths = bytearray(), bytearray()
    all_keys = defaultdict[str, list[Array]](list)
    blank = empty = needed = 0
    limit = memory.current()
    for number, rows in enumerate(chunks):
        codes, lengths = rows.codes, rows.lengths.astype(np.int32)
        is_item = codes >= 0
        if not is_item.all():
            codes = codes[is_item]
            lengths = np.diff(offsets_of(is_item)[offsets_of(lengths)]).astype(np.int32)
        without_items = int(np.count_nonzero(lengths == 0))
        empty += without_items
        if empty > _BLANK_ROWS and not rows.keys:
            lengths = lengths[lengths > 0]
            blank += without_items
        all_codes += codes.data
        all_lengths += lengths.data
        for name, key in rows.keys.items():
            if types.is_int64(key.type):
                with suppress(pa.ArrowInvalid):  # some need more
                    key = key.cast(pa.int32())
            all_keys[name].append(key)
            # Dictionaries are shared.
            stored = key.indices if types.is_dictionary(key.type) else key
            needed += memory.KEYED_ROW * len(key) + memory.COPIES * stored.nbytes
        needed += memory.ENTRY * len(codes) + memory.ROW * len(lengths)
        limit.check(needed + memory.COPIES * labels.nbytes)
        # Otherwise the memory that decoding a batch took would stay, in scattered pieces.
        if number % 8 == 0:
            pa.default_memory_pool().release_unused()
    codes, lengths = (np.frombuffer(numbers, np.int32) for numbers in (all_codes, all_lengths))
    return codes, lengths, all_keys, blank


def _joined(arrays: Sequence[Array]) -> Int32:
    return np.concatenate([numpy_of(array) for array in arrays])


def _earliest(day: Int32, basket: Int32, user: Int32 | None) -> Int32:
    """Return the day of each row: the earliest of all rows of its basket, read or not.

    Which that is follows from this basket's rows alone.
    """
    number = basket if user is None else _numbers_of_pairs(user, basket)
    earliest = np.full(int(number.max(initial=-1)) + 1, np.iinfo(np.int32).max, dtype=np.int32)
    np.minimum.at(earliest, number, day)
    return np.asarray(earliest[number])


def _in_stretches(user: Int32, day: Int32, per: str | None) -> Int32:
    """Return the number of each row's user, one of their own in each stretch of time of a kind."""
    if per is None:
        return user
    stretch = periods.numbers(per, day)
    stretch -= stretch.min(initial=0)
    return _numbers_of_pairs(user, stretch.astype(np.int32))


def _groups(basket: Int32, user: Int32 | None, segment: Int32 | None) -> tuple[Int32, Int64 | None]:
    """Return the basket number of each row, and the first basket of each unit: users, then nobody.

    Numbers ascend if rows of a basket are together already: most files need no sort.
    """
    if user is None and segment is None:
        return basket, None
    if user is None:
        user = basket
    if segment is not None:  # a basket is one in each segment
        basket = _numbers_of_pairs(segment, basket)
    # A basket id only holds for its user: another user's rows must not change this one's baskets.
    # Numbered by appearance, a user's baskets are in the order of that user's own rows, whoever
    # else is in the file.
    return grouping.in_order_of_units(_numbers_of_pairs(user, basket), user)


def _numbers_of_pairs(first: Int32, second: Int32) -> Int32:
    """Number distinct pairs of numbers >= 0, in the order in which they first appear."""
    numbers = grouping.numbers_of_pairs(first, second)
    if numbers is not None:
        return numbers
    pairs = (first.astype(np.int64) << 32) | second
    return _numbers_by_appearance(pa.chunked_array([arrow_of(pairs)]))


def _units(users: list[Array], basket: Int32) -> Int32:
    """Number the unit of each row: users first, then the baskets of rows without one."""
    nobody = np.concatenate([null_mask(chunk) for chunk in users])
    if not nobody.any():
        return _numbered(users)
    unit = np.empty(len(nobody), dtype=np.int32)
    named = _numbered([chunk.drop_null() for chunk in users])
    users.clear()
    unit[~nobody] = named
    unit[nobody] = named.max(initial=-1) + 1 + grouping.without_gaps(basket[nobody])
    return unit


def _numbered(chunks: list[Array]) -> Int32:
    """Number distinct keys, no nulls: whole numbers that lie close by value, others by appearance.

    Which numbers are equal follows from the values of the keys alone. Their order does not, and
    nothing may depend on it. The list is emptied.
    """
    decoded_chunks = [decoded(chunk) for chunk in chunks]
    chunks.clear()
    if any(chunk.type == pa.int64() for chunk in decoded_chunks):  # others were narrowed
        decoded_chunks = [chunk.cast(pa.int64()) for chunk in decoded_chunks]
    keys = pa.chunked_array(decoded_chunks)
    del decoded_chunks
    if not len(keys):  # whose type may be one that Arrow does not compare
        return np.empty(0, dtype=np.int32)
    if types.is_signed_integer(keys.type) and not _ascend(keys):
        low, high = pc.min_max(keys).as_py().values()
        if high - low < min(4 * len(keys), 1 << 31):
            # In 64 bits: int8 holds no 200, the distance from -100 to 100, and would wrap.
            distances = bytearray()
            for chunk in keys.chunks:
                distances += (numpy_of(chunk).astype(np.int64) - low).astype(np.int32).data
            del keys, chunk
            return grouping.without_gaps(np.frombuffer(distances, np.int32))
    return _numbers_by_appearance(keys)


def _ascend(keys: pa.ChunkedArray) -> bool:
    return pc.all(pc.greater_equal(keys[1:], keys[:-1])).as_py() is not False


def _numbers_by_appearance(keys: pa.ChunkedArray) -> Int32:
    """Number distinct keys, no nulls, in the order in which they first appear."""
    if _ascend(keys):
        # Not combine_chunks: of no chunks it makes an array by importing pandas.
        changed = [numpy_of(chunk) for chunk in pc.not_equal(keys[1:], keys[:-1]).chunks]
        return np.cumsum(np.concatenate([[False], *changed])[: len(keys)], dtype=np.int32)
    return _joined([chunk.indices for chunk in keys.dictionary_encode().chunks])
