"""Who finds the most frequent itemsets, and who does not: every mechanism and peer, on every data
set.

compare      The study, as it is run, and what there is to read in its answers.
tasks        Releases of mechanisms, simulated or run as shipped, and of peers, and how good they
             are.
simulation   A hundred of these at a time, in floating point: fast, not private.
measures     False-negative rates, regret, errors of supports, with intervals; who is among the
             best.
customers    A study: what is missed where a shop protects its customers, by the tool and its peers.
periods      A study: what the last release adds, and whether claimed changes are right.
partners     A study: what is missed of the partners of one item.
marks        A study: whether itemsets whose rank is said to be sure are among the most frequent.
growth       A study: what is missed as baskets are more, and longer.
small_shops  A study: which mechanism misses least, by the number of customers.
forecasts    A study: how near forecasts are to what is then found.
intervals    A study: whether intervals of supports and of rules hold.
resampled    Data sets of it and of customers: parts of others, more of them, halved and pasted
             baskets.
privbasis_grid  A study: PrivBasis on the data, ε, numbers of itemsets and measures of its authors.
"""
