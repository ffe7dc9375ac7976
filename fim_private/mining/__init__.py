"""Mining: from the options of a caller and purchases to a release.

mine   `mine`: the most frequent itemsets.
count  `count`: the supports of itemsets that the caller gives.
given  The itemsets, and the public list of items, that a caller gives.
"""
