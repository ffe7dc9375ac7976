"""Association rules from noisy supports: post-processing, which sees nothing but what is released.

metrics         Confidence, lift and the others, of counts; and between which bounds they lie, of intervals of counts.
association     The rules of itemsets whose parts all have supports.
"""
