"""What is publicly known about the item universe.

The universe is never derived from the data: which items occur at all is somebody's purchase.
"""

from __future__ import annotations

from dataclasses import dataclass

from fim_private.reading.vocabulary import Vocabulary
from fim_private.spectrum import candidate_itemsets


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
