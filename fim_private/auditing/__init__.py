"""The audit: how much of its guarantee a mechanism uses, from exact output distributions on hard neighbours.

audit       The audit of one mechanism, and its report.
pairs       Neighbouring data on which mechanisms break.
exact       Output distributions to thirty digits.
divergence  Their hockey-stick divergence, one neighbour from the other.
outcomes    These distributions by the names of itemsets, and those of a mechanism's stages.
guarantees  What the whole and each stage are held to.
"""
