"""Counting where the tables are: sums of units, in SQL by Ibis. Only sums and names leave the
database, never rows.

session: connections, temporary tables, errors. conditions: which rows count. purchases: numbers for
what they name.
source: weighted sums, candidates, and itemsets by their supports. Ibis is an extra: import these
where it is wanted.
"""
