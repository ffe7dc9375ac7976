"""Differential privacy itself: parameters, costs, composition, and exact randomness. Nothing here knows itemsets."""
