"""What tests of counting share: the names of all itemsets, purchases of users, and the kernel."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fim_private.counting import COUNTERS
from fim_private.dp.noise import Randomness
from fim_private.reading.labels import Item
from fim_private.reading.purchases import read_transactions
from fim_private.reading.transactions import Transactions
from fim_private.spectrum import SupportSpectrum

needs_kernel = pytest.mark.skipif("compiled" not in COUNTERS, reason="built without a compiler")


class Chooses(Randomness):
    """Randomness that shows every face in turn: `below` gives the number that it was made with."""

    def __init__(self, number: int) -> None:
        super().__init__(lambda size: pytest.fail("a level is resolved by `below` alone"))
        self._number = number

    def below(self, bound: int) -> int:
        assert self._number < bound
        return self._number


def named(spectrum: SupportSpectrum) -> Counter[tuple[Item, ...]]:
    """The support of every itemset of a spectrum, each named through sample_itemsets."""
    supports: Counter[tuple[Item, ...]] = Counter()
    for support, multiplicity in spectrum.levels():
        tied = {spectrum.sample_itemsets([support], Chooses(n))[0] for n in range(multiplicity)}
        assert len(tied) == multiplicity, "each itemset of a level is named by exactly one number"
        supports.update(dict.fromkeys(tied, support))
    return supports


def of_users(users: Sequence[Sequence[Sequence[Item]]]) -> Transactions:
    baskets = [basket for user in users for basket in user]
    unit_offsets = np.cumsum([0, *map(len, users)]).astype(np.int64)
    return replace(read_transactions(baskets), unit_offsets=unit_offsets)
