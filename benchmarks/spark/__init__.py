"""Counting on Spark, measured here and planned for more: what it costs beside one machine, and
beside Spark's own ways.

scale              The study: who counts how many baskets, and the tables and sentences made of it.
generated_baskets  What is counted: generated baskets in a Parquet file, written part by part, and
                   kept.
ways               Who counts: the local kernel, Spark in two forms, and two peers on Spark.
counting_process   One count in a process of its own: this process says what was found, and
watched_process    its other end watches it: peaks of memory, a limit of time, how it ended, what
                   Spark wrote down.
cost_model         What a count costs, by baskets and cluster: the model beside what was measured,
                   and what it says of up to 10^10 baskets.
warehouse          A study of its own: a release in DuckDB, beside the local kernel and Spark.
"""
