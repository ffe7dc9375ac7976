"""Itemsets as bars: what is drawn, decided once, and the ways to draw it. It knows no release, only numbers and texts.

bar_chart        What is drawn: the bars, their names, the scale with its ticks, the texts around them.
names            Names of itemsets that fit: cut where they are long.
as_svg           A chart as SVG, with nothing but text.
style            Its colours, which pages share, and the style of the SVG.
on_axes          The same on axes of matplotlib.
needs_matplotlib matplotlib itself, or an error that says how to install it.
"""
