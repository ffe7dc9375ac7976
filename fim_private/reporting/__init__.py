"""A page to show: one release as HTML that needs nothing beside it, for people who read no tables on a terminal.

page            The page, from the title to how to read it; `fim.report`.
itemset_bars    Itemsets as bars, with the intervals of their supports.
rule_matrix     Rules as a matrix of circles, and as a table.
plain_words     What is promised, and how to read it, in words for everybody.
html            Text and tags, escaped.
style           How the page looks: light and dark, on phones and on paper.
"""
