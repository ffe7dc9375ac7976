"""Transactions: the one in-memory form of purchase data, and the vocabulary that names its items.

Codes are canonical: integers ascending, then strings ascending. Two sources that hold the same
baskets give the same codes, hence, under one seed, the same release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fim_private.reading.arrow_numpy import arrow_of, arrow_strings, null_mask, numpy_of
from fim_private.reading.contribution_bounds import drawn, text_digest

Item = int | str

# A token that is exactly how an int64 prints (18 digits always fit). The rule looks at one token at a
# time: whether 39 is released as a number must not depend on what anybody else bought.
INTEGER_TOKEN = r"^(0|-?[1-9][0-9]{0,17})$"


@dataclass(frozen=True, repr=False)
class Vocabulary:
    """The distinct item labels: code c is ``integers[c]``, or ``strings[c - len(integers)]``.

    integers: (a,) int64, strictly ascending. strings: (b,) arrow string, strictly ascending.
    """

    integers: NDArray[np.int64]
    strings: pa.Array

    def __repr__(self) -> str:
        # The labels of data are somebody's purchases: they must not get into logs, notebooks and tracebacks.
        return "<Vocabulary: labels, not shown>"

    def __len__(self) -> int:
        """How many labels there are."""
        return len(self.integers) + len(self.strings)

    def label(self, code: int) -> Item:
        """Return the label of a code: a Python int or str."""
        if code < len(self.integers):
            return int(self.integers[code])
        return str(self.strings[code - len(self.integers)].as_py())

    def codes_in(self, other: Vocabulary) -> NDArray[np.int32]:
        """Return for each code the code of the same label in other, or -1: (len(self),) int32.

        A label that other lacks is looked for in the other form, 39 for "39": a catalogue read from text and
        a column of strings mean the same items. The rule looks at one label at a time.
        """
        theirs = arrow_of(other.integers)
        count = len(other.integers)
        integers = arrow_of(self.integers)
        exact = np.concatenate([_positions(integers, theirs, 0), _positions(self.strings, other.strings, count)])
        is_token = pc.match_substring_regex(self.strings, INTEGER_TOKEN)
        tokens = pc.if_else(is_token, self.strings, pa.nulls(1, pa.string())[0]).cast(pa.int64())
        alike = np.concatenate(
            [_positions(integers.cast(pa.string()), other.strings, count), _positions(tokens, theirs, 0)]
        )
        return np.where(exact >= 0, exact, alike)


class _Digests(dict[int, bytes]):
    """The digest of each code's label, by its text: 39 and "39" have the same."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def __missing__(self, code: int) -> bytes:
        self[code] = text_digest(str(self._vocabulary.label(code)))
        return self[code]


def _positions(labels: pa.Array, among: pa.Array, start: int) -> NDArray[np.int32]:
    found = pc.index_in(labels, value_set=among)
    return np.where(null_mask(found), np.int32(-1), numpy_of(found) + np.int32(start)).astype(np.int32)


def canonical_vocabulary(labels: pa.Array, *, tokens: bool) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Sort distinct labels into a vocabulary; also return the new code of each label, (n,) int32.

    labels: (n,) arrow int64 or string, distinct, no nulls.
    tokens: True for text sources, where a token that prints like an integer is one.
    """
    position = np.arange(len(labels), dtype=np.int32)
    if pa.types.is_integer(labels.type):
        integers, is_integer = numpy_of(labels), np.ones(len(labels), dtype=bool)
        strings = pa.nulls(0, pa.string())
    elif tokens:
        is_integer = numpy_of(pc.match_substring_regex(labels, INTEGER_TOKEN))
        integers = numpy_of(labels.filter(arrow_of(is_integer)).cast(pa.int64()))
        strings = labels.filter(arrow_of(~is_integer))
    else:
        integers, is_integer = np.empty(0, dtype=np.int64), np.zeros(len(labels), dtype=bool)
        strings = labels
    integer_order = np.argsort(integers, kind="stable")
    string_order = numpy_of(pc.sort_indices(strings))
    order = np.concatenate([position[is_integer][integer_order], position[~is_integer][string_order]])
    code = np.empty(len(labels), dtype=np.int32)
    code[order] = position
    return Vocabulary(integers[integer_order].astype(np.int64), strings.take(arrow_of(string_order))), code


def mixed_vocabulary(labels: Sequence[Item]) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Like canonical_vocabulary, for distinct Python labels that may mix int and str."""
    is_integer = np.fromiter((isinstance(label, int) for label in labels), dtype=bool, count=len(labels))
    position = np.arange(len(labels))
    integers, integer_code = canonical_vocabulary(
        arrow_of(np.array([label for label in labels if isinstance(label, int)], dtype=np.int64)),
        tokens=False,
    )
    strings, string_code = canonical_vocabulary(
        arrow_strings([label for label in labels if isinstance(label, str)]), tokens=False
    )
    code = np.empty(len(labels), dtype=np.int32)
    code[position[is_integer]] = integer_code
    code[position[~is_integer]] = string_code + np.int32(len(integers))
    return Vocabulary(integers.integers, strings.strings), code


@dataclass(frozen=True, repr=False)
class Transactions:
    """Privacy units, their baskets, and the items in them, as compressed sparse rows.

    offsets: (baskets + 1,) int64; basket b holds ``items[offsets[b]:offsets[b + 1]]``.
    items: (entries,) int32 codes into the vocabulary, strictly ascending inside a basket.
    unit_offsets: (units + 1,) int64; unit u has baskets ``unit_offsets[u]`` up to ``unit_offsets[u + 1]``;
        None when every basket is a unit of its own.
    missing_user: what became of rows without a user, as in read_transactions; None where nothing was said of them.
    Empty baskets count as units.
    """

    offsets: NDArray[np.int64]
    items: NDArray[np.int32]
    vocabulary: Vocabulary
    unit_offsets: NDArray[np.int64] | None = None
    missing_user: str | None = None

    def __repr__(self) -> str:
        return f"<Transactions: purchases by {'user' if self.by_user else 'basket'}, not shown>"

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user with all their baskets, not a basket."""
        return self.unit_offsets is not None

    @property
    def baskets(self) -> int:
        """How many baskets there are, empty ones included."""
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays (not the vocabulary)."""
        units = 0 if self.unit_offsets is None else self.unit_offsets.nbytes
        return self.offsets.nbytes + self.items.nbytes + units

    def restricted_to(self, catalogue: Vocabulary) -> Transactions:
        """Return the same baskets with only the items that the catalogue lists, coded by the catalogue."""
        codes = self.vocabulary.codes_in(catalogue)[self.items]
        listed = np.arange(len(catalogue), dtype=np.int32)
        assembled = assemble([(np.diff(self.offsets), codes)], listed, catalogue, self.unit_offsets)
        return replace(assembled, missing_user=self.missing_user)

    def capped(self, max_basket: int, max_baskets: int) -> Transactions:
        """Return the first max_basket items of each basket, in label order, and at most max_baskets baskets of a unit.

        Which baskets of a unit count follows from what is in them alone, not from their ids or their order, which can
        change with who else is in the file (`contribution.drawn`); equal ones count once, and empty ones take no place.
        A unit then supports at most max_baskets * C(max_basket, size) itemsets.
        """
        place = np.arange(len(self.items)) - np.repeat(self.offsets[:-1], np.diff(self.offsets))
        cut = self._with(place < max_basket)
        if self.unit_offsets is None or not (np.diff(self.unit_offsets) > max_baskets).any():
            return cut
        digests = _Digests(self.vocabulary)
        stay = drawn(cut.items, cut.offsets, self.unit_offsets, digests, max_baskets)
        return cut._with(np.repeat(stay, np.diff(cut.offsets)))

    def _with(self, kept: NDArray[np.bool_]) -> Transactions:
        """Return the same baskets with only the items that are kept, (entries,) bool."""
        if kept.all():
            return self
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])
        return replace(self, offsets=ends[self.offsets], items=self.items[kept])

    def cut_to(self, count: int) -> Transactions:
        """Return the same baskets with only the first count distinct items of each unit, in label order.

        The items of a unit are those of all its baskets together: then all of them have at most count items, and
        the unit supports at most C(count, size) itemsets. What a unit keeps depends on that unit alone.
        """
        bounds = self.offsets if self.unit_offsets is None else self.offsets[self.unit_offsets]
        lengths = np.diff(bounds)
        is_long = lengths > count
        if not is_long.any():
            return self
        unit = np.repeat(np.flatnonzero(is_long), lengths[is_long])
        # The codes ascend with the labels.
        distinct = np.unique((unit << 32) | self.items[np.repeat(is_long, lengths)])
        ends = np.append(np.flatnonzero(np.diff(distinct >> 32)) + 1, len(distinct))
        starts = np.concatenate([[0], ends[:-1]])
        last = np.full(len(lengths), np.iinfo(np.int32).max, dtype=np.int32)
        last[is_long] = distinct[np.minimum(starts + count, ends) - 1] & 0xFFFFFFFF
        kept = self.items <= np.repeat(last, lengths)
        return self._with(kept)


Chunk = tuple[NDArray[np.integer], NDArray[np.int32]]


def assemble(
    chunks: Iterable[Chunk],
    code: NDArray[np.int32],
    vocabulary: Vocabulary,
    unit_offsets: NDArray[np.int64] | None = None,
    *,
    out: NDArray[np.int32] | None = None,
) -> Transactions:
    """Build transactions from chunks of baskets, one chunk in flight at a time.

    chunks: pairs (lengths, provisional codes): lengths (baskets in chunk,) and their items one after
        another, -1 for a null. A list is emptied while it is read, so that its memory can be reused.
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
    return Transactions(offsets, items, vocabulary, unit_offsets)


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
    chunks.reverse()
    while chunks:
        yield chunks.pop()
