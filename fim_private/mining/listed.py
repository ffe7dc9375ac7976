"""That items were listed, and from where: what a release says of it, and under which names it shows them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from fim_private.errors import DataError, parameter
from fim_private.glance import printable
from fim_private.mining.itemset import Itemset
from fim_private.reading.catalogue import ItemList
from fim_private.reading.vocabulary import INTEGER_TOKEN, Item

_KEYS = ("source", "item", "label", "release", "items_are_public")


@dataclass(frozen=True)
class Listed:
    """A public list of items, as a release tells of it.

    items: how many it has. source: the name of its file, without folders; None where it came from memory. item, label:
    its columns of items and of their labels, where they were named. release: whether it is the items of an earlier
    release. items_are_public: whether it is all items of the data, which the caller said are public.
    codes: each label that the release shows, with the item of the data that it stands for. names: the same of the whole
    list, by item; of a request alone.
    """

    items: int
    source: str | None = None
    item: str | None = None
    label: str | None = None
    release: bool = False
    items_are_public: bool = False
    codes: tuple[tuple[str, Item], ...] = ()
    names: Mapping[Item, str] = field(default_factory=dict, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; what does not hold has no key."""
        said = {name: value for name in _KEYS if (value := getattr(self, name))}
        return said | {"items": self.items} | ({"codes": dict(self.codes)} if self.codes else {})

    @classmethod
    def of_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the list of plain values."""
        said = {name: values[name] for name in _KEYS if values.get(name) is not None}
        return cls(int(values["items"]), **said, codes=tuple((values.get("codes") or {}).items()))

    def told(self) -> str:
        """Return that items were listed, and from where, in a sentence."""
        number = "1 item" if self.items == 1 else f"{self.items:,} items"
        if self.items_are_public:
            return f"The names of all items in the file were taken to be public, and are not protected: {number}."
        if self.source is None and self.item is None:
            return f"Items were listed publicly: {'an earlier release' if self.release else 'a list'} of {number}."
        source = "a table" if self.source is None else printable(self.source)
        columns = "" if self.item is None else f", column {printable(self.item)!r}"
        names = "" if self.label is None else f", named by column {printable(self.label)!r}"
        earlier = "the earlier release " if self.release else ""
        return f"Items were listed publicly, in {earlier}{source}{columns}{names}: {number}."

    def shown(self, itemsets: Sequence[Itemset]) -> tuple[Itemset, ...]:
        """Return itemsets of the data's items under the names of the list."""
        if not self.names:
            return (*itemsets,)
        return tuple(
            one if one.items is None else replace(one, items=_ordered(self.names.get(item, item) for item in one.items))
            for one in itemsets
        )

    def of_release(self, itemsets: Iterable[Itemset]) -> Listed:
        """Return this with the codes of no other items than these itemsets of the data's items have."""
        held = _ordered({item for one in itemsets for item in one.items or ()} & {*self.names})
        return replace(self, names={}, codes=tuple((self.names[item], item) for item in held))

    def coded(self, items: Collection[Item]) -> tuple[Item, ...]:
        """Return the items of the data for which the names of a release stand."""
        code_of: dict[Item, Item] = dict(self.codes)
        return tuple(code_of.get(item, item) for item in items)


def _ordered(items: Iterable[Item]) -> tuple[Item, ...]:
    """Return items in the order of itemsets: whole numbers first, also those that are texts."""
    return tuple(sorted(items, key=_place))


def _place(item: Item) -> tuple[int, int, str]:
    """Return by what items are sorted."""
    if isinstance(item, str):
        return (1, int(item), "") if re.fullmatch(INTEGER_TOKEN, item) else (2, 0, item)
    return 0, item, ""


def names_of(listed: ItemList) -> dict[Item, str]:
    """Return under which name each item is shown that has a label: all names differ.

    An item without a label is shown as it is. A label that several items have, or that is another item, is followed by
    the item in brackets. Raises DataError where names are alike all the same.
    """
    if not listed.labels:
        return {}
    every = [listed.items.label(code) for code in range(len(listed.items))]
    codes = {*map(str, every)}
    times = Counter(listed.labels.values())
    names: dict[Item, str] = {}
    for item, label in listed.labels.items():
        is_clear = times[label] == 1 and (label == str(item) or label not in codes)
        names[item] = label if is_clear else f"{label} ({item})"
    shown = [str(names.get(item, item)) for item in every]
    if len({*shown}) < len(shown):
        raise DataError(
            f"{parameter('catalogue_label')} has labels that stay alike even with the items behind them; rename some"
        )
    return names
