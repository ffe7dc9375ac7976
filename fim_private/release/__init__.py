"""A release: what came out, and every form in which it is shown, written and read again.

outcome      What came out, and under which guarantee: all that leaves.
release      A release, and the forms in which it is handed on.
segmented    Releases of several segments under one budget.
rules        The association rules of a release.
rules_frame  Rules as a frame of pandas.
words        What a release says of itself, in words.
chart        Itemsets as bars: SVG, and axes of matplotlib.
forms        JSON, CSV and frames of a release, and files of them.
saved        A release, loaded from the file it was saved to.
page         The report: one release as an HTML page.
"""
