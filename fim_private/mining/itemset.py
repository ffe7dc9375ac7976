"""Itemsets that leave, and how to get at them in a release."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, overload

from fim_private.errors import ParameterError, parameter, shown
from fim_private.reading.vocabulary import Item


@dataclass(frozen=True)
class Itemset:
    """A released itemset.

    items: ascending, whole numbers first, also those that are texts; None for the one outcome that has no name: an
        itemset of a universe of which only the size is public, in no basket or in too few to be named privately.
    support: a noisy support in units, >= 0; None where supports were not released.
    interval: (lowest, highest), a 95 % interval of the true support in units; None where supports were not released.
    doubtful: whether it may not be one of those that were asked for: something that is not in the release may, by the
        noise alone, have as much support. False where that is unlikely; None where nothing tells.
    share_interval: the same of its share of all units, where their number was released with noise; None elsewhere.
    """

    items: tuple[Item, ...] | None
    support: int | None = None
    interval: tuple[int, int] | None = None
    doubtful: bool | None = None
    share_interval: tuple[float, float] | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: items and support, and where there is one the interval, and whether it is doubtful."""
        bounds = {} if self.interval is None else {"interval": list(self.interval)}
        doubt = {} if self.doubtful is None else {"doubtful": self.doubtful}
        return {"items": None if self.items is None else list(self.items), "support": self.support, **bounds, **doubt}


class Itemsets:
    """A sequence of itemsets, which can be asked for by what they hold as well: what a release is to Python.

    len() counts them, so a sequence of none is false. Iteration and numbers go by their order; a collection of items
    (a set, frozenset, list or tuple, in any order) or an Itemset stands for the itemset of exactly these items.
    """

    itemsets: tuple[Itemset, ...]

    def __len__(self) -> int:
        return len(self.itemsets)

    def __iter__(self) -> Iterator[Itemset]:
        return iter(self.itemsets)

    def __contains__(self, itemset: object) -> bool:
        return self._with_items(itemset) is not None

    @overload
    def __getitem__(self, place: slice) -> tuple[Itemset, ...]: ...

    @overload
    def __getitem__(self, place: int | Itemset | Collection[Item]) -> Itemset: ...

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice) or hasattr(place, "__index__"):
            return self.itemsets[place]
        if (found := self._with_items(place)) is None:
            raise KeyError(place)
        return found

    def _with_items(self, itemset: object) -> Itemset | None:
        """Return the itemset of exactly these items, None where it is not there.

        Raises ParameterError for what is no collection of items, a text above all: "tea" in a release would look as if
        it asked whether any itemset holds tea.
        """
        if isinstance(itemset, Itemset):
            wanted = itemset.items
        elif isinstance(itemset, str | bytes) or not isinstance(itemset, Collection):
            example = "{'milk', 'tea'}"
            raise ParameterError(
                f"{parameter('itemset')} must be a collection of items such as {example}, not {shown(itemset)}"
            )
        else:
            wanted = tuple(itemset)
        for one in self.itemsets:
            if one.items is wanted or (wanted is not None and one.items is not None and {*one.items} == {*wanted}):
                return one
        return None
