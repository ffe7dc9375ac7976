"""The source of supports: whoever selects itemsets asks it, and need not know where the baskets are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from fim_private.counting.registry import ItemSource, LocalItems
from fim_private.counting.spectra import catalogue_spectrum, itemset_spectrum
from fim_private.counting.work import Effort
from fim_private.errors import ParameterError, parameter
from fim_private.reading.labels import Item, Vocabulary
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import SupportSpectrum, candidate_itemsets, union

# -------------------- universe
# What is publicly known about the item universe.
#
# The universe is never derived from the data: which items occur at all is somebody's purchase.


@dataclass(frozen=True)
class UnknownUniverse:
    """Nothing is known: any item may occur. Itemsets that nobody has are no candidates."""


@dataclass(frozen=True)
class Catalogue:
    """Every item is listed publicly; what the list lacks is dropped from the baskets before counting.

    items: the list. Candidates are all itemsets of it, those that nobody has being level 0.
    """

    items: Vocabulary

    def candidates(self, size: int) -> int:
        """Return C(N, size) for itemsets of size >= 1 items.

        Raises ParameterError when the catalogue has fewer than size items, or there are too many to write down.
        """
        return candidate_itemsets(len(self.items), size, "catalogue")


@dataclass(frozen=True)
class SizedUniverse:
    """Only the number of items is public.

    count: items, >= 1. A privacy unit (a basket, or all baskets of a user) with more distinct items would contradict
    it, so the unit is cut to its first ``count`` items in label order: a rule for one unit at a time that needs no
    other data, so nobody learns that it was needed. One unit then supports at most candidates(size) itemsets, however
    many baskets it has, which is what Theorem 5 asks for.
    """

    count: int

    def candidates(self, size: int) -> int:
        """Return C(N, size) for itemsets of size >= 1 items.

        Raises ParameterError when there are fewer than size items, or too many candidates to write down.
        """
        return candidate_itemsets(self.count, size, "universe_size")


Universe = UnknownUniverse | Catalogue | SizedUniverse
UNKNOWN = UnknownUniverse()


# -------------------- found
# An itemset that a selection found.


class Found(NamedTuple):
    """An itemset that a selection found. Its support is the true one: it must not leave.

    items: in the order of labels; None for the outcome without a name. support: in units.
    doubtful: whether, by noise alone, it may not be among those that were sought; None where nothing tells.
    """

    items: tuple[Item, ...] | None
    support: int
    doubtful: bool | None = None


# -------------------- source
# The door from data to supports: whoever selects itemsets asks a source, and need not know where the baskets are.


class SupportSource(Protocol):
    """Purchases whose itemsets can be counted.

    A support is a number of privacy units: of baskets, or of users with a basket that contains the itemset.
    """

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user with all their baskets, not a basket."""

    @property
    def missing_user(self) -> str | None:
        """What became of rows without a user, as in read_transactions; None where nothing was said of them."""

    @property
    def units(self) -> int:
        """How many units there are, those without an item included: the same whatever a unit has, or is cut to."""

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        """Return the lazy spectrum of the itemsets of that size, or of several sizes ranked together.

        size: items per itemset, >= 1; several are all different.
        universe: unknown: the itemsets that occur. A catalogue: all candidates, the items that it lacks being dropped
            first and the unsupported ones being level 0. A number of items: the itemsets that occur once each unit is
            cut to so many items.
        Which units have an itemset does not depend on other units, so one unit moves each support by at most 1.
        Raises ParameterError for a size out of range, or none; reading the spectrum raises WorkLimitError where
        levels are out of reach.
        """

    def items(self, universe: Universe = UNKNOWN) -> ItemSource:
        """Return the items, and what units have of them.

        universe: unknown, or a number of items: the items that occur. A catalogue: all its items, those that nobody has
            too, and those that it lacks are dropped.
        """

    def capped(self, max_basket: int, max_baskets: int) -> SupportSource:
        """Return a source where each basket counts with its first max_basket items, in label order, only.

        max_basket, max_baskets: >= 1. Of a user at most max_baskets baskets count, drawn by what is in that user's
        baskets alone. A unit then supports at most max_baskets * C(max_basket, size) itemsets.
        """


@dataclass(frozen=True)
class LocalSource:
    """The source on one machine: transactions in memory, counted with some effort."""

    transactions: Transactions
    effort: Effort = field(default_factory=Effort)

    @property
    def by_user(self) -> bool:
        """Whether a unit is a user with all their baskets, not a basket."""
        return self.transactions.by_user

    @property
    def missing_user(self) -> str | None:
        """What became of rows without a user, as in read_transactions; None where nothing was said of them."""
        return self.transactions.missing_user

    @property
    def units(self) -> int:
        """How many units there are, those without an item included."""
        return self.transactions.units

    def spectrum(self, size: int | Sequence[int], universe: Universe = UNKNOWN) -> SupportSpectrum:
        """Return the lazy spectrum of the itemsets of that size, or of several; see `SupportSource.spectrum`."""
        sizes = size if isinstance(size, Sequence) else [size]
        if not sizes:
            raise ParameterError(f"{parameter('size')} must be at least one number")
        united = self.transactions.united()
        if isinstance(universe, Catalogue):
            listed = united.restricted_to(universe.items)
            return union([catalogue_spectrum(listed, one, effort=self.effort) for one in sizes])
        counted = united.cut_to(universe.count) if isinstance(universe, SizedUniverse) else united
        return union([itemset_spectrum(counted, one, effort=self.effort) for one in sizes])

    def items(self, universe: Universe = UNKNOWN) -> LocalItems:
        """Return the items, and what units have of them; see `SupportSource.items`."""
        if isinstance(universe, Catalogue):
            return LocalItems(self.transactions.restricted_to(universe.items), self.effort)
        return LocalItems(self.transactions, self.effort)

    def capped(self, max_basket: int, max_baskets: int) -> LocalSource:
        """Return a source of fewer items and baskets; see `SupportSource.capped`."""
        return replace(self, transactions=self.transactions.capped(max_basket, max_baskets))
