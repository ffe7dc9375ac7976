"""A release: what came out, and every form in which it is shown, written and read again.

release    A release: what came out, and the guarantee.
segments   Releases of several segments or periods, made together under one budget.
forms      The schema of a release, which its JSON has; its frames, its CSV, and sheets of Excel.
files      What every release can do: be shown, and be written to a file in each form.
saved      Loading a release: the check of a file against the schema, field by field.
rules      The association rules of a release: which there are, which are shown, and how.
metrics    The metrics of rules, and intervals of them from noisy counts.
changes    What changed between two releases by more than the noise of both.
words      What a release says of itself, in words.
picture    The itemsets of a release as a chart: which leads, and what the marks mean.
labels     How wide texts are, how names are cut, and where labels of points find room.
drawing    Lines, squares, dots and texts, as SVG and on axes of matplotlib.
plane      Rules as dots by lift and confidence.
structure  Rules as a network of items, and a matrix of items by items.
figures    The figure of a release that a kind names.
chart      Itemsets as dots, and drawings with the texts around them: SVG, and axes of matplotlib.
officer    What a privacy officer has to know of a release, for its page and for a statement.
templates  Pages of HTML and drawings from Jinja's templates, which stand beside it (*.jinja).
page       Pages that show one release, what changed between two, or how shares moved over several.
"""
