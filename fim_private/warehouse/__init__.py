"""Counting where the tables are: sums of units, in SQL by Ibis. Only sums and names leave the
database, never rows.

Ibis is an extra: import these modules only where it is needed.

session     A connection, its temporary tables, and the queries of a dry run.
conditions  Missing values, days of times, and the rows that a condition selects, as expressions.
purchases   Rows to purchases: units, baskets and items with numbers, in temporary tables.
source      Weighted sums, candidates, and itemsets by their supports.
"""
