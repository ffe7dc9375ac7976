"""Counting: how many itemsets of a size have each support, highest first, and what they are called.

`source.SupportSource` is the door for whoever selects; `itemset_spectrum` and `catalogue_spectrum` count transactions
that are in memory, with one of the counters of `counter_registry`.
"""

from fim_private.counting.counter import Counter, MakeCounter
from fim_private.counting.counter_registry import COUNTERS, active_counter
from fim_private.counting.itemset_spectra import catalogue_spectrum, itemset_spectrum, list_itemsets
from fim_private.counting.source import LocalSource, SupportSource
from fim_private.counting.work_limit import Effort, Progress

__all__ = [
    "COUNTERS",
    "Counter",
    "Effort",
    "LocalSource",
    "MakeCounter",
    "Progress",
    "SupportSource",
    "active_counter",
    "catalogue_spectrum",
    "itemset_spectrum",
    "list_itemsets",
]
