"""What `benchmarks/validation.py` is made of.

labelled_rows  Magic, or rows that are made up, in two scalings; folds.
ways           Ways to choose a regularisation, each private but one, and what they are judged by.
"""
