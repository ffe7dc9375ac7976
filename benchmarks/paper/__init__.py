"""What Chaudhuri, Hsu and Song (NIPS 2014) claim, held against exact distributions and exact draws.

worked_examples       The examples of sections 2.2 and 3.1, as exact numbers. A study.
corollary1            Does large margin's error not grow with the universe? A study, with
corollary1_tasks      what it computes, also of items that nobody knows in advance.
pac_learning          Private learning: is it the class that costs? A study, with
hypothesis_classes    conjunctions and thresholds on labelled rows, and the bound.
claim_verdicts        Each claim, and what all studies found about it.
"""
