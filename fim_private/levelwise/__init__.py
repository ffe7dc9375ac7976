"""Many itemsets without a list of items: clipped levels. Find items, then sets of them, then count
what is left.

recipe     The recipe: steps of the budget and numbers of candidates, from public numbers alone; the
           noise of a step.
discovery  Discovery of items and of candidates of each size, under noise.
levelwise  Levelwise: the whole run, for the most frequent or for a least support; its counts,
           doubts and needs.
"""
