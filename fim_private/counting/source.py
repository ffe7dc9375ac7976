"""One door from data to supports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from fim_private.counting import Effort, catalogue_spectrum, itemset_spectrum
from fim_private.counting.universe import Catalogue, SizedUniverse, Universe, UnknownUniverse
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import SupportSpectrum, union


class SupportSource(Protocol):
    @property
    def by_user(self) -> bool: ...
    @property
    def missing_user(self) -> str | None: ...
    def spectrum(self, size: int | Sequence[int], universe: Universe = UnknownUniverse()) -> SupportSpectrum: ...
    def capped(self, max_basket: int, max_baskets: int) -> SupportSource: ...


@dataclass(frozen=True)
class LocalSource:
    transactions: Transactions
    effort: Effort

    @property
    def by_user(self) -> bool:
        return self.transactions.by_user

    @property
    def missing_user(self) -> str | None:
        return self.transactions.missing_user

    def spectrum(self, size: int | Sequence[int], universe: Universe = UnknownUniverse()) -> SupportSpectrum:
        sizes = [size] if isinstance(size, int) else size
        t = self.transactions
        if isinstance(universe, Catalogue):
            t = t.restricted_to(universe.items)
            return union([catalogue_spectrum(t, s, effort=self.effort) for s in sizes])
        if isinstance(universe, SizedUniverse):
            t = t.cut_to(universe.count)
        return union([itemset_spectrum(t, s, effort=self.effort) for s in sizes])

    def capped(self, max_basket: int, max_baskets: int) -> LocalSource:
        return replace(self, transactions=self.transactions.capped(max_basket, max_baskets))
