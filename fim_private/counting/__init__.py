"""Counting: how many itemsets of a size have each support, highest first, and what they are called.

work              The work of counting: its limit, its threads, its progress.
counter           What every counter does: itemsets by rank, shards of them, and candidates with
                  weights.
portable          Counting in numpy: it runs everywhere, and is the oracle for the compiled kernel.
compiled          Counting by the compiled kernel: supports, items, pairs and candidates.
source            The source of supports, which counter counts, and lazy spectra of itemsets.
kernel            The compiled loops of counting itemsets.
sums              The compiled loops over rows: their ranks, weighted sums, candidates.
"""

from fim_private.counting.counter import Counter
from fim_private.counting.source import (
    COUNTERS,
    LocalSource,
    SupportSource,
    active_counter,
    itemset_spectrum,
    list_itemsets,
)
from fim_private.counting.work import Effort, Progress

__all__ = [
    "COUNTERS",
    "Counter",
    "Effort",
    "LocalSource",
    "Progress",
    "SupportSource",
    "active_counter",
    "itemset_spectrum",
    "list_itemsets",
]
