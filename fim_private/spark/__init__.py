"""Counting on Apache Spark: where the purchases are too many for one machine, they are counted
where they are.

tasks       Tasks of Spark: functions of one partition, errors without rows, and what happens when a
            task is retried, or runs twice: check cells, and sums that they verify.
dataframes  Sessions of Spark, and what a caller names as a DataFrame.
purchases   Rows to purchases: items numbered, the baskets of each unit brought together.
source      The source on Spark: which purchases count, weighted sums, and itemsets by shards.
"""
