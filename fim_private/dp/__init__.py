"""Differential privacy itself: parameters, costs, composition, and exact randomness. Nothing here
knows itemsets.

parameters   Privacy parameters, checked and exact; what promises little; lists that a caller gives.
cost         What a mechanism costs, as exact numbers, and how they are written.
charge       What a release is charged with before it is made, and the account that it is charged
             to.
accountant   What the steps of a plan spend together, and the sums of a ledger.
composition  What many private steps cost together: zCDP, Gaussian privacy, and the budget of a
             release.
bounds       Certified bounds of the few transcendental numbers that decide a release.
noise        Exact random numbers: uniform, Laplace, Gaussian, rounded normal, and choices by
             weight.
"""
