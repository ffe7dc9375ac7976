"""Mining: reads, selects, names and counts itemsets, in that order, within the budget.

mine       `mine`: from a request and purchases to a release.
count      `count`: the supports of itemsets that the caller gives.
given      The itemsets that a caller gives.
engines    Engines: what reads and counts, this machine or Spark; and one release of purchases that
           were read.
catalogue  The public list of items that a caller gives.
"""
