"""Private learning, validation and aggregation, of the same exact mechanisms as the mining of
itemsets.

voting    Sample and aggregate: blocks of units answer a question, and their votes choose one
          answer.
points    Quantiles of whole numbers, and a point inside them; what learners are given.
tuning    Which of several parameters to train with, chosen privately.
linear    A linear classifier, trained privately, and the rows it is trained on.
concepts  Concepts learned of labelled rows: a point, a threshold, a box.
"""
