"""Itemsets that are released, and itemsets that are public before they are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, groupby
from typing import Any

import numpy as np

from fim_private.counting.source import UNKNOWN, Catalogue, SupportSource, Universe
from fim_private.display import JsonObject, printable
from fim_private.errors import DataError, ParameterError, parameter, shown
from fim_private.reading.labels import (
    Item,
    Vocabulary,
    folded,
    in_label_order,
    mixed_vocabulary,
)
from fim_private.reading.purchases import ItemList
from fim_private.reading.values import integer_or_text, is_missing

Items = tuple[Item, ...]


@dataclass(frozen=True)
class Itemset:
    """A released itemset.

    items: ascending, whole numbers first, even those that are texts. None if no basket has it, or
        too few to name it privately, where only the size of the universe is public.
    support: noisy, in units, >= 0. interval: (lowest, highest), a 95 % interval of the true
        support. Both are None if supports were not released.
    doubtful: whether, because of the noise, something that was left out may have as much support;
        with a least support, whether it may have less itself. None where unknown.
    share_interval: of its share of a noisy number of units; None elsewhere.
    exact_support, exact_interval, exact_share_interval: the same without what other itemsets say,
        where support and interval draw on these (`request.pooling`); None elsewhere.
    """

    items: Items | None
    support: int | None = None
    interval: tuple[int, int] | None = None
    doubtful: bool | None = None
    share_interval: tuple[float, float] | None = field(default=None, repr=False)
    exact_support: int | None = None
    exact_interval: tuple[int, int] | None = None
    exact_share_interval: tuple[float, float] | None = field(default=None, repr=False)

    @property
    def by_itself(self) -> Itemset:
        """The itemset with the support and the intervals that hold for it alone."""
        if self.exact_interval is None:
            return self
        return Itemset(
            self.items,
            self.exact_support,
            self.exact_interval,
            self.doubtful,
            self.exact_share_interval,
        )

    def to_dict(self) -> JsonObject:
        """Return plain values; of what is not known, only items and support have keys."""
        items = None if self.items is None else list(self.items)
        known = {
            "interval": self.interval and list(self.interval),
            "exact_support": self.exact_support,
            "exact_interval": self.exact_interval and list(self.exact_interval),
            "doubtful": self.doubtful,
        }
        known = {name: value for name, value in known.items() if value is not None}
        return {"items": items, "support": self.support} | known


def folded_items(items: Iterable[Item]) -> frozenset[Item]:
    """Return items as they are read where capital and small letters are the same."""
    return frozenset(item if isinstance(item, int) else folded(item) or item for item in items)


def items_asked(name: str, asked: Any) -> frozenset[Item]:
    """Return the items that an option lists, or the only one; none for None.

    Raises ParameterError for what is no item, and for a text that stands for none.
    """
    if asked is None:
        return frozenset()
    is_list = isinstance(asked, list | tuple | set | frozenset)
    items = []
    for label in asked if is_list else [asked]:
        if is_missing(label):
            raise ParameterError(
                f"{parameter(name)} must name an item: no purchase has {shown(label)} as an item"
            )
        item = integer_or_text(label)
        if isinstance(item, bool) or not isinstance(item, int | str):
            raise ParameterError(
                f"{parameter(name)} must be an item or a list of items, not {shown(asked)}"
            )
        items.append(item)
    return frozenset(items)


# -------------------- itemsets that are public before they are counted: given, or released already

_ITEMS_AT_ONCE = 8_192  # are looked for in one pass: tables grow with the square of that number


@dataclass(frozen=True)
class GivenItemsets:
    """Itemsets in the order given, all different, with the ascending codes of their items in a
    vocabulary of them.
    """

    itemsets: tuple[Items, ...]
    vocabulary: Vocabulary
    codes: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many items they have, ascending, each number once."""
        return tuple(sorted({len(itemset) for itemset in self.itemsets}))

    @classmethod
    def of(cls, itemsets: Collection[Collection[Item]]) -> GivenItemsets:
        """Return them with codes of their own. itemsets: at least one, none of them empty or given
        twice.
        """
        labels = dict.fromkeys(item for itemset in itemsets for item in itemset)
        vocabulary, code = mixed_vocabulary([*labels])
        code_of = dict(zip(labels, code.tolist(), strict=True))
        codes = tuple(tuple(sorted(code_of[item] for item in itemset)) for itemset in itemsets)
        labels_of = tuple(tuple(map(vocabulary.label, itemset)) for itemset in codes)
        return cls(labels_of, vocabulary, codes)


def subsets_of(itemsets: Collection[Items]) -> list[Items]:
    """Return every subset of these itemsets that is not among them: not empty, each once, the small
    ones first.
    """
    subsets: dict[frozenset[Item], Items] = {}
    for itemset in itemsets:
        for size in range(1, len(itemset)):
            for subset in combinations(itemset, size):
                subsets[frozenset(subset)] = subset
    for itemset in itemsets:
        subsets.pop(frozenset(itemset), None)
    return sorted(subsets.values(), key=len)


def supports_of(
    itemsets: GivenItemsets, source: SupportSource, universe: Universe = UNKNOWN
) -> list[int]:
    """Return how many units have each of the itemsets: (k,). These must not be released.

    universe: a catalogue whose groups the itemsets are made of, if it has groups.
    """
    catalogue = Catalogue(itemsets.vocabulary)
    if isinstance(universe, Catalogue):
        catalogue = universe.only(itemsets.vocabulary)
    items = source.items(catalogue)
    supports: dict[tuple[int, ...], int] = {}
    singles = [codes for codes in itemsets.codes if len(codes) == 1]
    if singles:
        sums = items.sums(np.append(0, np.ones(len(itemsets.vocabulary), dtype=np.int64)))
        supports |= {codes: int(sums[codes[0]]) for codes in singles}
    for run in _passes(sorted(codes for codes in itemsets.codes if len(codes) > 1)):
        used = np.unique(np.concatenate(run))
        ordered = sorted(run, key=len)
        sets = [
            np.searchsorted(used, [*same_size]).astype(np.int32)
            for _, same_size in groupby(ordered, key=len)
        ]
        sums = items.among(used).sums(sets, np.append(0, np.ones(len(run), dtype=np.int64)))
        supports |= dict(zip(ordered, map(int, sums.tolist()), strict=True))
    return [supports[codes] for codes in itemsets.codes]


def _passes(ordered: Sequence[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    run: list[tuple[int, ...]] = []
    used: set[int] = set()
    for codes in ordered:
        if run and len(used) + len({*codes} - used) > _ITEMS_AT_ONCE:
            yield run
            run, used = [], set()
        run.append(codes)
        used.update(codes)
    if run:
        yield run


@dataclass(frozen=True)
class KnownFrom:
    """Where known itemsets come from, as a release states it: how many they are, and the name of
    their file, if any.
    """

    itemsets: int
    source: str | None = None

    def to_dict(self) -> JsonObject:
        """Return plain values."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def sentences(self) -> str:
        """Return that itemsets were known, and from where."""
        number = "1 itemset was" if self.itemsets == 1 else f"{self.itemsets:,} itemsets were"
        source = "" if self.source is None else f" from {printable(self.source)}"
        return f"{number} known{source}, and counted in any case."


@dataclass(frozen=True)
class Listed:
    """A public list of items, as a release states it.

    items: how many it has; None with items_are_public, for how many the data has is not released.
    source: the name of its file, without folders; None where it came from memory. item, label: its
    columns of items and of their labels.
    group: the column of their groups, which take the place of items; then items says how many there
    are.
    release: whether it is the items of an earlier release. items_are_public: whether it is all
    items of the data, by the caller's choice. codes: each label that the release shows, with the
    item of the data that it stands for. within: each group that the release shows, with its group
    of the next level. names: those of the whole list, by item; of a request.
    """

    source: str | None = None
    item: str | None = None
    label: str | None = None
    group: str | None = None
    release: bool = False
    items_are_public: bool = False
    codes: tuple[tuple[str, Item], ...] = ()
    within: tuple[tuple[Item, Item], ...] = ()
    items: int | None = None
    names: Mapping[Item, str] = field(default_factory=dict, compare=False, repr=False)

    def to_dict(self) -> JsonObject:
        """Return plain values; what does not hold has no key."""
        values = vars(self) | {"codes": dict(self.codes), "within": dict(self.within)}
        values["names"] = None
        return {name: value for name, value in values.items() if value}

    def sentences(self) -> str:
        """Return that items were listed, and from where."""
        if self.items_are_public:
            return (
                "The names of all items in the file were taken to be public, and are not protected."
            )
        number = "1 item" if self.items == 1 else f"{self.items or 0:,} items"
        if self.source is None and self.item is None:
            listing = "an earlier release" if self.release else "a list"
            return f"Items were listed publicly: {listing} of {number}."
        source = "a table" if self.source is None else printable(self.source)
        if self.group is not None:
            return (
                f"Items count as their groups, by a public list ({source}, column "
                f"{printable(self.group)!r}): {number.replace('item', 'group')}. Items without one "
                f"are left out."
            )
        columns = "" if self.item is None else f", column {printable(self.item)!r}"
        names = "" if self.label is None else f", named by column {printable(self.label)!r}"
        earlier = "the earlier release " if self.release else ""
        return f"Items were listed publicly, in {earlier}{source}{columns}{names}: {number}."

    def shown(self, itemsets: Sequence[Itemset]) -> tuple[Itemset, ...]:
        """Return itemsets of the data's items under the names of the list."""
        shown = []
        for itemset in itemsets:
            if itemset.items is not None:
                itemset = replace(itemset, items=self.renamed(itemset.items))
            shown.append(itemset)
        return tuple(shown)

    def renamed(self, items: Iterable[Item]) -> Items:
        """Return items of the data under the names of the list."""
        return in_label_order(self.names.get(item, item) for item in items)

    def of_release(self, itemsets: Iterable[Itemset]) -> Listed:
        """Return this with the codes of no other items than these itemsets of the data's items
        have.
        """
        items = {item for itemset in itemsets for item in itemset.items or ()}
        named = in_label_order(items & {*self.names})
        codes = tuple((self.names[item], item) for item in named)
        within = tuple((group, parent) for group, parent in self.within if group in items)
        return replace(self, names={}, codes=codes, within=within)

    def coded(self, items: Iterable[Item]) -> Items:
        """Return the items of the data for which the names of a list, or of a release, stand."""
        code_of: dict[Item, Item] = {name: item for item, name in self.names.items()}
        code_of |= dict(self.codes)
        return tuple(code_of.get(item, item) for item in items)


def names_of(listed: ItemList) -> dict[Item, str]:
    """Return under which name each item is shown that has a label: all names differ, or DataError
    is raised.
    """
    if not listed.labels:
        return {}
    every = [listed.items.label(code) for code in range(len(listed.items))]
    codes, times = {*map(str, every)}, Counter(listed.labels.values())
    names: dict[Item, str] = {}
    # one that several have, or that is another item, is followed by its own
    for item, label in listed.labels.items():
        is_clear = times[label] == 1 and (label == str(item) or label not in codes)
        names[item] = label if is_clear else f"{label} ({item})"
    shown = [str(names.get(item, item)) for item in every]
    if len({*shown}) < len(shown):
        raise DataError(
            f"{parameter('catalogue_label')} has labels that stay alike even with the items "
            f"behind them; rename some"
        )
    return names
