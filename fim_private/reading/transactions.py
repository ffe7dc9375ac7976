"""Transactions: the one in-memory form of purchase data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fim_private.reading.canonical_baskets import canonical_baskets
from fim_private.reading.contribution_bounds import LabelDigests, drawn_baskets, first_of_basket, first_of_unit
from fim_private.reading.read_as import ReadAs
from fim_private.reading.vocabulary import Vocabulary


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
