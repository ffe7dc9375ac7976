"""Differential privacy itself: parameters, costs, composition, and exact randomness. Nothing here
knows itemsets.

neighbors    The neighbour relations: which pairs of data sets must be hard to tell apart.
parameters   The privacy parameters epsilon, delta and rho, checked and exact.
arguments    Checks of arguments that a caller gives: numbers, flags, functions, lists and tables.
cautions     Warnings about guarantees that promise little.
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
