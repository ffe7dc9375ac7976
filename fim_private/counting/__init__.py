"""Counting: how many itemsets of a size have each support, highest first, and what they are called.

work              The work of counting: its limit, its threads, its progress.
counter           What every counter of itemsets does, and shards of itemsets.
candidates        Candidates that are counted with weights: a trie of them, and clipped weights.
portable          Counting in numpy: it runs everywhere, and is the oracle for the compiled kernel.
compiled          Counting by the compiled kernel: supports, items, pairs and candidates.
registry          Which counter counts: compiled, or numpy; and weighted sums of items.
spectra           Spectra of itemsets: how many of a size have each support, and what they are called.
source            The source of supports: whoever selects itemsets asks it, and need not know where the baskets are.
kernel            The compiled loops of counting.
candidate_kernel  The compiled loops of weighted counting.
"""

from fim_private.counting.counter import Counter, MakeCounter
from fim_private.counting.registry import COUNTERS, active_counter
from fim_private.counting.source import LocalSource, SupportSource
from fim_private.counting.spectra import catalogue_spectrum, itemset_spectrum, list_itemsets
from fim_private.counting.work import Effort, Progress

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
