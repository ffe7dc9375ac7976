"""What is publicly known about the item universe, and the spectrum that follows from it.

The universe is never derived from the data: which items occur at all is somebody's purchase.
"""

from __future__ import annotations

from dataclasses import dataclass

from fim_private.counting import Effort, catalogue_spectrum, itemset_spectrum
from fim_private.reading.transactions import Transactions
from fim_private.reading.vocabulary import Vocabulary
from fim_private.spectrum import SupportSpectrum, candidate_itemsets


@dataclass(frozen=True)
class UnknownUniverse:
    """Nothing is known: any item may occur."""

    def spectrum(self, transactions: Transactions, size: int, effort: Effort | None = None) -> SupportSpectrum:
        """Return the spectrum of the itemsets that occur."""
        return itemset_spectrum(transactions, size, effort=effort)


@dataclass(frozen=True)
class Catalogue:
    """Every item is listed publicly; what the list lacks is dropped from the baskets before counting."""

    items: Vocabulary

    def candidates(self, size: int) -> int:
        """Return C(N, size). Raises ParameterError when the catalogue has fewer than size items."""
        return candidate_itemsets(len(self.items), size, "catalogue")

    def spectrum(self, transactions: Transactions, size: int, effort: Effort | None = None) -> SupportSpectrum:
        """Return the spectrum over all candidates, the unsupported ones being level 0."""
        return catalogue_spectrum(transactions.restricted_to(self.items), size, effort=effort)


@dataclass(frozen=True)
class SizedUniverse:
    """Only the number of items is public.

    A privacy unit (a basket, or all baskets of a user) with more distinct items would break that promise, so it
    is cut to its first ``count`` items in label order: a rule for one unit at a time that needs no other data, so
    nobody learns that it was needed. One unit then supports at most candidates(size) itemsets, however many
    baskets it has, which is what Theorem 5 asks for.
    """

    count: int

    def candidates(self, size: int) -> int:
        """Return C(N, size). Raises ParameterError when there are fewer than size items."""
        return candidate_itemsets(self.count, size, "universe_size")

    def spectrum(self, transactions: Transactions, size: int, effort: Effort | None = None) -> SupportSpectrum:
        """Return the spectrum of the itemsets that occur in the cut units."""
        return itemset_spectrum(transactions.cut_to(self.count), size, effort=effort)


Universe = UnknownUniverse | Catalogue | SizedUniverse
