"""Carrying out a plan: purchases are read, the ledger is charged, and then the steps are taken.

Everything that looks at purchases under a guarantee goes through `Run`: `mine`, `count` and `vote`.

run      One call: what is checked, read and charged, in this order, and what a ledger records.
engines  What opens and counts purchases.
outcome  Selecting itemsets, adding noise, and publishing the outcome.
"""
