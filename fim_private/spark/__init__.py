"""Counting on Apache Spark: where the purchases are too many for one machine, they are counted where they are.

Nothing home-made is distributed: Spark reads, shuffles, schedules and tries again; what runs in its tasks is the
reading and the counting of one machine, on a part of the units each. To the driver come sums and histograms of whole
numbers, of items by number only, and the names of what was chosen. Noise is drawn there, once.

session        A session of Spark: the caller's, or a new one.
dataframes     A path, a table or a query as a DataFrame, and the roles of its columns.
spark_errors   What Spark raises, as one line.
check_cells    What tells the purchases that were kept from others.
tasks          A function of one partition, run by Spark: its errors come back as errors.
item_digests   Items as numbers of 64 bits, by which tasks agree on codes without a list of names.
row_reader     Rows, read as on one machine.
item_names     The items, numbered, and their names.
purchases      Rows to purchases: items are numbered, then baskets of a unit brought together, and kept.
pieces         Purchases as rows of Spark, and back.
views          Which purchases a source counts: cut, capped, restricted, unit by unit.
block_sums     Long vectors, added up over all tasks.
spark_items    Weighted sums of items, pairs and candidates.
projection     The baskets that each shard of ranks needs.
shard_tasks    What is done with one shard.
spark_counter  The counter of itemsets, on shards.
source         `SparkSource`, a `counting.source.SupportSource`.
"""
