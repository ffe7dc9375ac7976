"""Many itemsets without a list of items: clipped levels. Find items, then sets of them, then count what is left twice.

A unit's contribution is scaled to a fixed L2 norm, not cut, and all noise is normal, so Gaussian differential privacy
adds up what the steps cost (docs/privacy.md, Theorem 13).

recipe           The parts of the budget and the numbers of candidates, from public numbers alone.
gaussian_budget  The noise of a step that has a part of the budget, and noisy weights.
item_threshold   The noisy weight from which on an item that nobody listed may be named.
closed_sets      Candidates: itemsets all of whose parts were found.
shrinkage        Noisy weights drawn towards what the others predict: free, as post-processing.
discovery        The items, and the candidates of each size.
candidate_pool   Candidates of several sizes, their estimates, and the best of them.
scaled_count     A count with weights that bound what a unit adds, and what suits them.
two_counts       The candidates counted twice, the second time with the weights that suit them.
doubt            Which of the itemsets found may not be among the most frequent.
needs            What the steps take: an estimate, by the items of a typical unit.
reaching         Candidates for itemsets that reach a threshold; threshold_recipe has the parts of its budget.
levelwise        The whole run, and what it may be asked for.
"""
