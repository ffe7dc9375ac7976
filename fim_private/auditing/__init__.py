"""The audit: how much of its guarantee a mechanism uses, from exact output distributions on hard
neighbours.

exact  Exact output distributions of mechanisms and of their stages, to sixty digits, on hard
       neighbouring data.
audit  The audit: the guarantees of a mechanism, and how much of them hard neighbours use.
replay  The audit of any mechanism: its noisy values told again to a neighbour.
"""
