"""Mining: from the options of a caller and purchases to a release.

mine   `mine`: the most frequent itemsets; `count`: the supports of itemsets that a caller gives.
given  The itemsets, and the public list of items, that a caller gives.
"""
