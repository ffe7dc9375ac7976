"""Who finds the most frequent itemsets, and who does not: every mechanism and peer, on every data set.

compare               The study, as it is run.
tasks                 Releases of a mechanism or peer with supports, and how good they are.
simulation            A hundred releases of a mechanism at a time, in floating point: fast, not private.
levelwise_simulation  The same of the levelwise mechanism.
measures              False-negative rates, regret, errors of supports, with intervals; who is among the best.
sections              What is said of the answers.
figures               Its figures.
"""
