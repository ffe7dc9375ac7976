"""A release: what came out, and every form in which it is shown, written and read again.

release  A release, those of segments under one budget, and how one is loaded.
forms    The schema of a release, which writes and reads JSON and Parquet; its frames, its CSV, and files of all.
rules    The association rules of a release, with their metrics and intervals.
changes  What changed between two releases, clear of the noise of both.
words    What a release says of itself, in words.
chart    Itemsets as dots, rules by confidence and lift: SVG, and axes of matplotlib.
page     The report: one release as an HTML page.
"""
