"""From the options of a caller to the plan of a release.

choice      Which mechanism "auto" stands for.
groups      What a request is made of: what is sought, what is public, and what is promised.
scope       The rows that count, and what an item is.
request     The request, checked before any data is read.
plan        The plan: its steps and selections, and what it costs.
allocation  How the budget of a request is split into the steps of a plan.
supports    Noise on supports, the number of units, and a least support.
pooling     Supports that draw on each other, and intervals of which 95 % hold.
itemsets    Itemsets that are released, and itemsets that are public before they are counted.
"""
