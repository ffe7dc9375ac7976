"""Itemsets as dots with their intervals, or as a list, and drawings, with the texts around them: as
SVG, and on axes of matplotlib.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fim_private.display import MARK, in_braces
from fim_private.errors import ParameterError, parameter, shown
from fim_private.release.drawing import Drawing
from fim_private.release.labels import ROOM, cut, lines, of_matplotlib, short_name, width
from fim_private.release.templates import render

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# About so many ticks stand on the scale, one of these apart, or a power of ten times that.
_TICKS, _STEPS = 5, (1, 2, 2.5, 5, 10)
# What stands for a name, and how wide names are where there is room, in units of the letters' size.
UNNAMED, WIDE = "an itemset without a name", 30.0


@dataclass(frozen=True)
class Bar:
    """One row: an itemset, or a rule.

    Attributes:
        sides: The items, or those on each side of a rule; none for an itemset without a name.
        length: The number that was released, in units of the scale; None if none was.
        low: The lower end of its interval.
        high: The upper end of its interval.
        number: The number as a text.
        interval: Its interval as a text.
        doubtful: Whether it may not be one of those asked for.
        lift: The lift of a rule, and the ends of its interval.
    """

    sides: Sequence[Sequence[object]]
    length: float | None = None
    low: float = 0.0
    high: float = 0.0
    number: str = ""
    interval: str = ""
    doubtful: bool = False
    lift: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def label(self, widest: float) -> str:
        """Return what stands beside it, about so wide at most, in units of the letters' size."""
        names = [short_name(side, widest / len(self.sides)) for side in self.sides]
        label = " → ".join(names) or UNNAMED
        return f"{label} {MARK}" if self.doubtful else label

    @property
    def described(self) -> str:
        """All of it in words, for who points at it or hears it."""
        described = " → ".join(map(in_braces, self.sides)) or UNNAMED
        doubt = "; may not be one of those asked for"
        if len(self.sides) > 1:
            doubt = "; may be chance"
        if self.number:
            described += f": {self.number} ({self.interval})"
        if self.doubtful:
            described += doubt
        return described


@dataclass(frozen=True)
class BarChart:
    """Rows from the top down, in the order of the release, and the texts around them.

    Attributes:
        title: Its message, on one line.
        bars: The rows.
        scale: What lengths are; empty if there are none.
        per_cent: Whether lengths are percentages, so that no scale goes beyond 100.
        more: How many itemsets have no row.
        warning: What stands on top.
        notes: What stands below.
        reach: How far the scale goes at least.
        about: What was released, below the title.
        drawing: What is drawn in the place of rows; None for rows.
    """

    title: str
    bars: Sequence[Bar]
    scale: str = ""
    per_cent: bool = False
    more: int = 0
    warning: str = ""
    notes: Sequence[str] = ()
    reach: float = 0.0
    about: str = ""
    drawing: Drawing | None = None

    @property
    def described(self) -> str:
        """All that is drawn, in words."""
        texts = [bar.described for bar in self.bars]
        if self.drawing is not None:
            texts = self.drawing.described
        return ". ".join((self.title, *texts))

    @property
    def has_lengths(self) -> bool:
        """Whether there is a scale."""
        return any(bar.length is not None for bar in self.bars)

    @property
    def longest(self) -> float:
        """The highest end of an interval, > 0."""
        ends = [bar.high for bar in self.bars]
        return max([self.reach, *ends]) or 1.0

    @cached_property
    def ticks(self) -> tuple[float, ...]:
        """Where the scale has ticks: round numbers from 0 to the first that no interval goes
        beyond.
        """
        rough = self.longest / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(step * power for step in _STEPS if step * power >= rough * (1 - 1e-9))
        if not self.per_cent:
            step = max(math.ceil(step), 1)  # units are whole
        count = math.ceil(self.longest / step - 1e-9)
        most = 100.0 if self.per_cent else math.inf
        return tuple(min(round(place * step, 12), most) for place in range(count + 1))

    def tick_text(self, tick: float) -> str:
        """Return what stands at a tick."""
        return f"{tick:g} %" if self.per_cent else f"{tick:,.0f}"

    @property
    def below(self) -> Sequence[str]:
        """What stands below the bars: what is not drawn, and the notes."""
        if not self.more:
            return self.notes
        verb = "is" if self.more == 1 else "are"
        return (f"{self.more:,} more {verb} not drawn.", *self.notes)


def on_one_scale(charts: Sequence[BarChart]) -> list[BarChart]:
    """Return charts whose scales end alike, those of shares and those of units each among
    themselves.
    """
    ends = {True: 0.0, False: 0.0}
    for chart in charts:
        if chart.has_lengths:
            ends[chart.per_cent] = max(ends[chart.per_cent], chart.longest)
    return [replace(chart, reach=ends[chart.per_cent]) for chart in charts]


def legend_of(dots: str, bars: Sequence[Bar], held: str = "") -> str:
    """Return what the marks of a chart mean, in sentences."""
    hollow = ""
    if any(bar.doubtful for bar in bars):
        hollow = "; hollow, what is marked ?"
    return f"Dots: {dots}{hollow}. Lines: 95 % intervals{held}."


# Drawings, in pixels: the whole, around it, a row, and the sizes of letters.
_MARGIN, _ROW = 20, 26
_WHOLE = ROOM + 2 * _MARGIN
_LARGE, _LETTER = 14, 13
# How wide a title is at most, in units of the letters' size.
TITLE = 0.95 * ROOM / _LARGE


@dataclass(frozen=True)
class _Frame:
    """Where the rows of a chart are drawn.

    Attributes:
        left: The place of the first tick.
        top: Where the first row begins.
        right: The place of the last tick.
        bottom: Where the last row ends.
        chart: The chart.
    """

    left: float
    top: float
    right: float
    bottom: float
    chart: BarChart

    def x(self, number: float) -> float:
        """Return where a length is. The scale ends at its ticks."""
        along = min(max(number, 0) / self.chart.ticks[-1], 1)
        return self.left + (self.right - self.left) * along


def svg(*charts: BarChart) -> str:
    """Return charts, one below the other, as one element of SVG, which is a whole file as it is."""
    return render(
        "chart.svg.jinja",
        charts=charts,
        title_of=lambda chart: cut(chart.title, TITLE),
        # Sentences are narrower than names can be.
        wrapped=lambda text, size: lines(text, 1.1 * ROOM / size),
        frame_of=_frame,
        width=_WHOLE,
        margin=_MARGIN,
        row=_ROW,
        wide=WIDE,
        large=_LARGE,
        letter=_LETTER,
    )


def _frame(chart: BarChart, top: int) -> _Frame:
    """Return where a chart is drawn, with room for the texts at its sides."""
    labels = _LETTER * max(width(bar.label(WIDE)) for bar in chart.bars)
    numbers = _LETTER * max(width(bar.number) for bar in chart.bars)
    left, right = _MARGIN + 16 + round(labels), _WHOLE - _MARGIN - 20 - round(numbers)
    return _Frame(left, top, right, top + _ROW * len(chart.bars), chart)


# Figures of matplotlib, in inches: how wide, how high a row is, and the scale with what is around
# the rows.
_INCHES, _ROW_INCHES, _AROUND, _POINTS = 9.0, 0.27, 0.9, 72
# Sizes of letters, in points, and how high a line is.
_LETTER_POINTS, _SMALL_POINTS, _LEADING = 9.5, 9.0, 1.3


def draw(chart: BarChart, ax: object = None) -> Axes:
    """Draw a chart on axes, or in a new figure of pyplot that is as high as it takes, and return
    the axes.
    """
    if ax is not None:
        if not isinstance(ax, of_matplotlib("matplotlib.axes").Axes):
            raise ParameterError(f"{parameter('ax')} must be axes of matplotlib, not {shown(ax)}")
        return _draw_on(chart, ax)
    above, below = _texts(chart, _POINTS * _INCHES)
    texts = _LETTER_POINTS * len(above) + _SMALL_POINTS * (len(below) + 1)
    height = _AROUND + _height(chart) + _LEADING * texts / _POINTS
    new_ax: Axes
    figure, new_ax = of_matplotlib("matplotlib.pyplot").subplots(
        figsize=(_INCHES, height), layout="constrained"
    )
    _draw_dots_of(chart, new_ax)
    figure.suptitle("\n".join(above), x=0.01, ha="left", weight="bold", fontsize=_LETTER_POINTS)
    figure.supxlabel("\n".join(below), x=0.01, ha="left", fontsize=_SMALL_POINTS)
    new_ax.set_xlabel(chart.scale, fontsize=_SMALL_POINTS)
    _take_texts_literally(figure)
    return new_ax


def _texts(chart: BarChart, room: float) -> tuple[list[str], list[str]]:
    """Return the lines above and below what is drawn. room: how wide they are at most, in
    points.
    """
    above, below = (chart.warning, cut(chart.title, TITLE)), (chart.about, *chart.below)
    return (
        [line for text in above for line in lines(text, room / _LETTER_POINTS)],
        [line for text in below for line in lines(text, room / _SMALL_POINTS)],
    )


def _draw_on(chart: BarChart, ax: Axes) -> Axes:
    """Draw a chart on axes of somebody's figure, with its texts above and below them."""
    above, below = _texts(chart, 0.6 * _POINTS * ax.bbox.width / ax.figure.dpi)
    _draw_dots_of(chart, ax)
    if chart.scale:
        below.insert(0, chart.scale)
    ax.set_title("\n".join(above), fontsize=_LETTER_POINTS)
    ax.set_xlabel("\n".join(below), fontsize=_SMALL_POINTS)
    _take_texts_literally(ax)
    return ax


def draw_all(charts: Sequence[BarChart]) -> list[Axes]:
    """Draw charts one below the other in a new figure of pyplot, and return their axes."""
    heights = [2 * _AROUND + _height(chart) for chart in charts]
    _, axes = of_matplotlib("matplotlib.pyplot").subplots(
        len(charts),
        squeeze=False,
        height_ratios=heights,
        figsize=(_INCHES, sum(heights)),
        layout="constrained",
    )
    return [_draw_on(chart, ax) for chart, ax in zip(charts, axes[:, 0], strict=True)]


def _height(chart: BarChart) -> float:
    if chart.drawing is not None:
        return chart.drawing.height / _WHOLE * _INCHES
    return _ROW_INCHES * max(len(chart.bars), 1)


def _take_texts_literally(drawn: Any) -> None:
    """Make a $ in a name a $, in all texts of a figure or of axes."""
    for text in drawn.findobj(of_matplotlib("matplotlib.text").Text):
        text.set_parse_math(False)
        text.set_usetex(False)


def _draw_dots_of(chart: BarChart, ax: Axes) -> None:
    """Draw what a chart has."""
    ax.spines[:].set_visible(False)
    ax.set_xticks([])
    if chart.drawing is not None:
        chart.drawing.paint(ax, _SMALL_POINTS)
        return
    if chart.has_lengths:
        ax.set_xlim(chart.ticks[0], chart.ticks[-1])
        texts = [chart.tick_text(tick) for tick in chart.ticks]
        ax.set_xticks(chart.ticks, texts, fontsize=_SMALL_POINTS)
        ax.grid(True, axis="x", alpha=0.35)
        ax.set_axisbelow(True)
    _draw_itemsets(chart, ax)


def _draw_itemsets(chart: BarChart, ax: Axes) -> None:
    """Draw a row for each itemset, the first on top."""
    names = [bar.label(WIDE) for bar in chart.bars]
    if chart.has_lengths:
        names = [f"{bar.label(WIDE)}   {bar.number or 'not released'}" for bar in chart.bars]
        rows = [place for place, bar in enumerate(chart.bars) if bar.length is not None]
        bars = [chart.bars[place] for place in rows]
        lows, highs = [bar.low for bar in bars], [bar.high for bar in bars]
        ink = ax.xaxis.label.get_color()
        ax.hlines(rows, lows, highs, color=ink)
        # What is doubtful is hollow.
        fill = {True: ax.get_facecolor(), False: ink}
        lengths, fills = [bar.length or 0 for bar in bars], [fill[bar.doubtful] for bar in bars]
        ax.scatter(lengths, rows, s=36, c=fills, edgecolors=ink, linewidths=1, zorder=3)
    ax.set_yticks(range(len(names)), names, fontsize=_LETTER_POINTS)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
