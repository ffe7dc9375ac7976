"""Who finds the most frequent itemsets, and who does not: every mechanism and peer, on every data set.

compare      The study, as it is run.
tasks        Mechanisms and peers; releases of ours with supports, and how good they are.
simulation   A hundred of these at a time, in floating point: fast, not private.
runs         The same of a mechanism that is run as it is shipped.
peer_tasks   The same of the peers.
measures     False-negative rates, regret, errors of supports, with intervals; who is among the best.
sections     What there is to read in the answers, also of users and of neighbours that have one replaced.
customers    A study: what is missed where a shop protects its customers, by the tool and its peers.
growth       A study: what is missed as baskets are more, and longer.
resampled    Data sets of it and of customers: parts of others, more of them, halved and pasted baskets.
privbasis_grid  A study: PrivBasis on the data, ε, numbers of itemsets and measures of its authors.
"""
