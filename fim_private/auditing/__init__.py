"""The audit: how much of its guarantee a mechanism uses, from exact output distributions on hard neighbours.

audit             The audit of one mechanism, and its report.
pairs             Neighbouring data on which mechanisms break.
exact             Output distributions to thirty digits.
stopping_ranks    At which rank a search stops, to sixty.
highest_noisy     Who has the highest noisy support, to sixty.
exponential_sums  Sums over all values of noise, in closed form.
digits            Decimals of sixty digits.
divergence        The hockey-stick divergence of two distributions, one neighbour from the other.
outcomes          Distributions by the names of itemsets, and those of a mechanism's stages.
guarantees        What the whole and each stage are held to.
"""
