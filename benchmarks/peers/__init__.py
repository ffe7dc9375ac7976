"""Mechanisms of others, to compare with: generous to them, drawn with seeds, not private.

privbasis            PrivBasis, from its paper, in pure and zCDP form.
stability_histogram  Cut, count, add noise, release what clears a threshold: with OpenDP's own noise
                     and thresholds.
weighted_gaussian    Set union: a unit's weights of norm 1, with OpenDP's noise and threshold.
best_cut             How the histogram cuts units: as suits the very data best.
cut_baskets          Baskets and users with a limited number of items, and the itemsets in them.
item_matrix          Which baskets hold which item: exact supports of any itemset.
question             What a peer is asked, and what one trial of it releases.
"""
