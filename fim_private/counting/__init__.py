"""Counting: how many itemsets of a size have each support, highest first, and what they are called.

`source.SupportSource` is the door for whoever selects; `itemset_spectrum` and `catalogue_spectrum` count transactions
that are in memory, with one of the counters of `counter_registry`.

found             An itemset that a selection found, with its true support.
source            `SupportSource`, the door from data to supports; `LocalSource`, for transactions in memory.
universe          What is public about the items: nothing, their number, or a catalogue.
itemset_spectra   The spectrum of itemsets of one size, and the names of what was selected; unsupported_itemsets has
                  those of a catalogue that no basket contains.
lazy_levels       Levels from the top, no further than they are read.
work_limit        How much work a count may be, and its progress; with threads beside the one that counts.
counter           What every counter does; counter_registry has those there are.
compiled_counter  The fast one: kernel (Cython) on kernel_arrays.
portable_counter  The one in numpy, which runs everywhere; item_counter is for single items.
prefix_join       How that one finds itemsets.
shards            Itemsets by the rank of their rarest item, for engines that count on several machines; compiled_shard
                  counts one.
clipped_weights   Weights that bound what a unit adds to all its candidates together, the same for each of them.
weighted_items    Items and their weighted sums: with such weights, and level sums, weighted by a unit's own repetition;
                  candidate_counts is for pairs and candidates among some of them, candidate_trie what these are looked
                  up in.
compiled_candidates  Both with candidate_kernel (Cython); portable_candidates in numpy.
item_ranks        Items by descending support, the order of all counters.
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
