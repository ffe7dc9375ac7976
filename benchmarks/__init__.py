"""What the mechanisms find, what the paper claims, and how fast itemsets are counted; none of it is
installed.

Each part is run from the root of the project as `python -m MODULE`; `make benchmarks`, `make
benchmark-speed` and `make benchmark-counting` run them all. Folders import those above them in this
list:

frame     What all share: a study's tasks, cache and tables, its command line, the figures, and
          the data.
peers     The mechanisms of others: PrivBasis, and OpenDP's stability histogram.
utility   Studies: every mechanism and peer on every data set; what is missed as baskets are more,
          and longer.
learning  Studies: how many values and rows private learning takes, as measured and as theorems ask
          for.
paper     Studies of what the paper claims, and the table of what was found.
counting  Speed: counting against every other tool, reading, whole commands. Needs the frame only.
spark     Studies: what counting on Spark, and in a database, costs.
tuning    What the study of validation is made of.
validation  A study: parameters chosen privately, in the ways of Chaudhuri and Vinterbo (2013) and
            since.
page      Writes docs/data from the JSON of the studies; docs/benchmarks.md and the figures from
          docs/data.
findings  The text of docs/benchmarks.md and docs/counting.md, with marks for what the tables say.
"""
