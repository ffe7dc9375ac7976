"""What is asked for and what it costs, decided before data is read.

request   The request: every public choice, checked before any data is read.
budget    How the budget of a run is split, and how the steps are carried out and charged.
supports  Noise on supports, the number of units, and a least support.
itemsets  Itemsets that leave, and itemsets that are public before they are counted.
"""
