"""The counter of single items: their supports are all there is to know, nothing is scanned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fim_private.counting.counter import Counter, Top, levels_of


class ItemCounter:
    """Counts itemsets of size 1; see `counter.Counter`.

    counter: of the same transactions, for the supports of items. min_support: units, >= 1.
    """

    def __init__(self, counter: Counter, min_support: int) -> None:
        self._counter = counter
        self._min_support = min_support

    @property
    def item_supports(self) -> NDArray[np.int64]:
        """How many units have each item: (vocabulary,)."""
        return self._counter.item_supports

    @property
    def most_work(self) -> int:
        """No step: the supports are counted anyway."""
        return 0

    def top(self, ceiling: int | None, wanted: int | None) -> Top:
        """Return all levels from the minimum support on: there are not many."""
        return Top(levels_of(np.bincount(self.item_supports), self._min_support), self._min_support)

    def locate(self, support: int, index: int) -> list[int]:
        """Return the code of the index-th item of that support, by code."""
        return [int(np.flatnonzero(self.item_supports == support)[index])]

    def itemsets(self, lowest: int, highest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the items of supports lowest..highest: (m, 1) codes, ascending, and (m,) supports."""
        codes = np.flatnonzero((self.item_supports >= lowest) & (self.item_supports <= highest))
        return codes[:, None], self.item_supports[codes]
