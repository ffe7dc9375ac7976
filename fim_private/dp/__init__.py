"""Differential privacy itself: parameters, costs, composition, and exact randomness. Nothing here knows itemsets.

parameters         ε, δ, ρ and the neighbour relation, checked and made exact.
given_lists        Lists and arrays that a caller gives, and what is taken for one.
cost               What a mechanism spends, as exact numbers; how a guarantee is written: exactly, or rounded up.
charge             What a release is charged with before it is made, and what an account says of it.
cautions           What is allowed but promises little.
accounting         Composition in zero-concentrated differential privacy (zCDP), by certified rationals.
gaussian_dp        Composition in Gaussian differential privacy (GDP), by certified rationals.
privacy_budget     What a release may spend, as (ε, δ) or ρ, and what each composition makes of it.
intervals          Certified bounds of e^-x, its powers, and Laplace tails: no float decides a release.
directed_rounding  Decimal arithmetic rounded to one side, for certified bounds of many digits.
normal_tail        Certified bounds of the tail of the normal distribution, however small.
randomness         Exact samplers from the operating system's bytes: the only place where randomness enters.
rounded_normal     Exact normal noise, rounded to whole numbers; certified bounds of its tail.
weighted_choice    An exact choice among levels, by exponential weight.
bisection          The least integer of which a condition holds.
"""
