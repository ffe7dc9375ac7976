"""Counting on Apache Spark: where the purchases are too many for one machine, they are counted where they are.

tasks       Tasks of Spark: one partition each; retried tasks are held against check cells; errors without rows.
dataframes  Sessions of Spark, and what a caller names as a DataFrame.
purchases   Rows to purchases: items numbered, the baskets of each unit brought together.
sums        Weighted sums on Spark, and which purchases count.
spectra     What the tasks of a shard do to count its itemsets.
source      The source and the counter on Spark.
"""
