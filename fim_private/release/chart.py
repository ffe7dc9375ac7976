"""Itemsets as dots with their intervals, or as a list; rules by confidence and lift: SVG, and axes
of matplotlib.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fim_private.display import MARK, in_braces
from fim_private.errors import ParameterError, parameter, shown
from fim_private.release.drawing import COLOURS, DARK_COLOURS, Drawing
from fim_private.release.labels import (
    SMALL,
    Label,
    Point,
    cut,
    lines,
    of_matplotlib,
    packed,
    placed_labels,
    short_name,
    width,
)
from fim_private.release.templates import render

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# About so many ticks stand on the scale, one of these apart, or a power of ten times that.
_TICKS, _STEPS = 5, (1, 2, 2.5, 5, 10)
# What stands for a name, and how wide names are where there is room, in units of the letters' size.
_CONFIDENCES = 20
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
        lifts: Whether rows are rules, drawn by their lift.
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
    lifts: bool = False
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
        beyond; of rules, lifts.
        """
        if self.lifts:
            return self._lift_ticks
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
        if self.lifts:
            return f"{tick:g}"
        return f"{tick:g} %" if self.per_cent else f"{tick:,.0f}"

    @property
    def _lift_ticks(self) -> tuple[float, ...]:
        """Where the logarithmic scale of lifts has ticks: from the least to the most that is drawn,
        1 among them.
        """
        lifts = [1.0, *(bar.lift[0] for bar in self.bars)]
        ticks = []
        for digits in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,)):
            steps = [float(f"{digit}e{power}") for power in range(-6, 10) for digit in digits]
            first = max(bisect_right(steps, min(lifts)) - 1, 0)
            ticks = steps[first : bisect_left(steps, 1.05 * max(lifts)) + 1]
            if len(ticks) <= 2 * _TICKS + 1:
                break
        return tuple(ticks)

    @property
    def most_confident(self) -> int:
        """Where the scale of confidences ends, in per cent."""
        ends = [bar.length or 0 for bar in self.bars] + [bar.high for bar in self.bars[:LABELLED]]
        steps = math.ceil(max(ends, default=0) / _CONFIDENCES)
        return min(_CONFIDENCES * max(steps, 1), 100)

    @property
    def confidences(self) -> range:
        """Where the scale of confidences has ticks, in per cent."""
        step = max(self.most_confident // 4, 5)
        return range(0, self.most_confident + 1, min(step, _CONFIDENCES))

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


# Drawings, in pixels: the whole, around it, a row, the plane of rules, the numbers beside it and
# the column of labels, and the sizes of letters.
_WHOLE, _MARGIN, _ROW, _PLANE, _BESIDE, _COLUMN = 860, 20, 26, 440, 58, 240
_LARGE, _LETTER = 14, 13
# How wide a title and a side of a labelled rule are at most, in units of the letters' size.
TITLE, CALLOUT_WIDE = 0.95 * (_WHOLE - 2 * _MARGIN) / _LARGE, 22.0
# How wide the line of the rules that have numbers is, in the same units.
_NUMBERED_WIDE = 68.0
# How many rules are labelled in full, and have their intervals.
LABELLED = 12


class Callout(NamedTuple):
    """The label of a rule in a column beside the plane.

    Attributes:
        bar: The rule.
        point: Where its dot is.
        y: Where the middle of its label is.
    """

    bar: Bar
    point: Point
    y: float

    @property
    def lines(self) -> list[str]:
        """The left side of the rule, and the right side below it."""
        left, right = (short_name(side, CALLOUT_WIDE) for side in self.bar.sides)
        if self.bar.doubtful:
            right += f" {MARK}"
        return [f"{left} →", right]


@dataclass(frozen=True)
class _Frame:
    """Where a chart is drawn: a row for each itemset, or rules as dots by lift and confidence.

    Attributes:
        left: The place of the first tick.
        top: Where the first row begins, or the place of confidence 100 %.
        right: The place of the last tick.
        bottom: Where the last row ends, or the place of confidence 0 %.
        chart: The chart.
        letter: The size of the letters of labels of rules.
    """

    left: float
    top: float
    right: float
    bottom: float
    chart: BarChart
    letter: float = SMALL

    def x(self, number: float) -> float:
        """Return where a length is, or a lift on a logarithmic scale. The scale ends at its
        ticks.
        """
        lowest, *_, highest = self.chart.ticks
        number = max(number, lowest)
        along = number / highest
        if self.chart.lifts:
            along = math.log(number / lowest) / math.log(highest / lowest)
        return self.left + (self.right - self.left) * min(along, 1)

    def y(self, confidence: float) -> float:
        """Return where a confidence is, in per cent."""
        share = min(confidence / self.chart.most_confident, 1)
        return self.bottom - (self.bottom - self.top) * share

    @cached_property
    def points(self) -> list[Point]:
        """Where the dots of rules are."""
        return [(self.x(bar.lift[0]), self.y(bar.length or 0)) for bar in self.chart.bars]

    @cached_property
    def callouts(self) -> list[Callout]:
        """The labels in full of the first rules, in a column at the right, from the top down."""
        apart = _LEADING * (2 * self.letter) + 4
        room = int((self.bottom - self.top) / apart)
        first = zip(self.points, self.chart.bars[: min(LABELLED, room)], strict=False)
        callouts, top = [], self.top - apart / 2
        for point, bar in sorted(first, key=lambda pair: pair[0][1]):
            top = max(point[1], top + apart)
            callouts.append(Callout(bar, point, top))
        bottom = self.bottom + apart / 2
        for place, callout in reversed([*enumerate(callouts)]):
            bottom = min(callout.y, bottom - apart)
            callouts[place] = callout._replace(y=bottom)
        return callouts

    @cached_property
    def numbers(self) -> list[Label | None]:
        """The number of each other rule; None where there is no room."""
        named = len(self.callouts)
        names = [str(number) for number in range(named + 1, len(self.points) + 1)]
        bounds = self.left, self.top, self.right, self.bottom
        return [None] * named + placed_labels(names, self.points[named:], bounds, self.letter)

    @property
    def numbered(self) -> list[str]:
        """What the numbers stand for, and how many rules have no label, in lines."""
        entries = [
            f"{label.name} {bar.label(WIDE)}"
            for bar, label in zip(self.chart.bars, self.numbers, strict=True)
            if label is not None
        ]
        count = len(self.points) - len(entries) - len(self.callouts)
        if count:
            entries.append(
                f"{count:,} of {len(self.points):,} have no label: there is no room for it"
            )
        return packed(entries, _NUMBERED_WIDE)


def svg(*charts: BarChart) -> str:
    """Return charts, one below the other, as one element of SVG, which is a whole file as it is."""
    return render(
        "chart.svg.jinja",
        charts=charts,
        title_of=lambda chart: cut(chart.title, TITLE),
        # Sentences are narrower than names can be.
        wrapped=lambda text, size: lines(text, 1.1 * (_WHOLE - 2 * _MARGIN) / size),
        frame_of=_frame,
        width=_WHOLE,
        margin=_MARGIN,
        row=_ROW,
        wide=WIDE,
        large=_LARGE,
        letter=_LETTER,
        small=SMALL,
        labelled=LABELLED,
        colours=COLOURS,
        dark_colours=DARK_COLOURS,
    )


def _frame(chart: BarChart, top: int) -> _Frame:
    """Return where a chart is drawn, with room for the texts at its sides."""
    if chart.lifts:
        right = _WHOLE - _MARGIN - _COLUMN
        return _Frame(_MARGIN + _BESIDE, top, right, top + _PLANE, chart)
    labels = _LETTER * max(width(bar.label(WIDE)) for bar in chart.bars)
    numbers = _LETTER * max(width(bar.number) for bar in chart.bars)
    left, right = _MARGIN + 16 + round(labels), _WHOLE - _MARGIN - 20 - round(numbers)
    return _Frame(left, top, right, top + _ROW * len(chart.bars), chart)


# Figures of matplotlib, in inches: how wide, how high a row is, and the scale with what is around
# the rows.
_INCHES, _ROW_INCHES, _AROUND, _POINTS = 9.0, 0.27, 0.9, 72
# Sizes of letters, in points, and how high a line is.
_LETTER_POINTS, _SMALL_POINTS, _LEADING = 9.5, 9.0, 1.3
# Where texts of matplotlib are held.
_ALIGNED = {"start": "left", "end": "right", "middle": "center"}


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
    notes = _draw_dots_of(chart, new_ax)
    below += notes
    figure.set_figheight(height + _LEADING * _SMALL_POINTS * len(notes) / _POINTS)
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
    below += _draw_dots_of(chart, ax)
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
    if chart.lifts:
        return _PLANE / _WHOLE * _INCHES
    if chart.drawing is not None:
        return chart.drawing.height / _WHOLE * _INCHES
    return _ROW_INCHES * max(len(chart.bars), 1)


def _take_texts_literally(drawn: Any) -> None:
    """Make a $ in a name a $, in all texts of a figure or of axes."""
    for text in drawn.findobj(of_matplotlib("matplotlib.text").Text):
        text.set_parse_math(False)
        text.set_usetex(False)


def _draw_dots_of(chart: BarChart, ax: Axes) -> list[str]:
    """Draw what a chart has, and return notes on it that depend on the room."""
    ax.spines[:].set_visible(False)
    ax.set_xticks([])
    if chart.drawing is not None:
        chart.drawing.paint(ax, _SMALL_POINTS)
        return []
    if chart.lifts or chart.has_lengths:
        if chart.lifts:
            ax.set_xscale("log")
        ax.set_xlim(chart.ticks[0], chart.ticks[-1])
        texts = [chart.tick_text(tick) for tick in chart.ticks]
        ax.set_xticks(chart.ticks, texts, fontsize=_SMALL_POINTS)
        ax.set_xticks([], minor=True)
        ax.grid(True, axis="x", alpha=0.35)
        ax.set_axisbelow(True)
    if chart.lifts:
        return _draw_rules(chart, ax)
    _draw_itemsets(chart, ax)
    return []


def _draw_itemsets(chart: BarChart, ax: Axes) -> None:
    """Draw a row for each itemset, the first on top."""
    names = [bar.label(WIDE) for bar in chart.bars]
    if chart.has_lengths:
        names = [f"{bar.label(WIDE)}   {bar.number or 'not released'}" for bar in chart.bars]
        rows = [place for place, bar in enumerate(chart.bars) if bar.length is not None]
        bars = [chart.bars[place] for place in rows]
        lows, highs = [bar.low for bar in bars], [bar.high for bar in bars]
        ax.hlines(rows, lows, highs, color=ax.xaxis.label.get_color())
        _draw_dots(bars, [bar.length or 0 for bar in bars], rows, ax)
    ax.set_yticks(range(len(names)), names, fontsize=_LETTER_POINTS)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def _draw_dots(bars: Sequence[Bar], x: ArrayLike, y: ArrayLike, ax: Axes) -> None:
    """Draw a dot for each itemset or rule, hollow if it is doubtful."""
    ink = ax.xaxis.label.get_color()
    fill = {True: ax.get_facecolor(), False: ink}
    fills = [fill[bar.doubtful] for bar in bars]
    ax.scatter(x, y, s=36, c=fills, edgecolors=ink, linewidths=1, zorder=3)


def _draw_rules(chart: BarChart, ax: Axes) -> list[str]:
    """Draw rules by lift and confidence, and return what their numbers stand for."""
    ink = ax.xaxis.label.get_color()
    percentages = chart.confidences
    ax.set_yticks(percentages, [f"{tick} %" for tick in percentages], fontsize=_SMALL_POINTS)
    ax.set_ylim(0, chart.most_confident)
    ax.grid(True, axis="y", alpha=0.35)
    ax.set_ylabel("confidence", fontsize=_SMALL_POINTS)
    ax.axvline(1, color=ink, linestyle="--", linewidth=1)
    numbers = [(bar.length or 0, bar.low, bar.high, *bar.lift) for bar in chart.bars]
    confidences, lowest, highest, lifts, left, right = np.array(numbers).reshape(-1, 6).T
    left, right = np.clip((left, right), *ax.get_xlim())
    sure = slice(LABELLED)
    ax.vlines(lifts[sure], lowest[sure], highest[sure], color=ink, alpha=0.3)
    ax.hlines(confidences[sure], left[sure], right[sure], color=ink, alpha=0.3)
    _draw_dots(chart.bars, lifts, confidences, ax)
    wide, high = (_POINTS * side / ax.figure.dpi for side in (ax.bbox.width, ax.bbox.height))
    frame = _Frame(0, 0, wide, high, chart, _SMALL_POINTS)
    for label in filter(None, frame.numbers):
        ax.text(
            label.x / wide,
            1 - label.y / high,
            label.name,
            ha=_ALIGNED[label.anchor],
            va="center",
            transform=ax.transAxes,
            fontsize=_SMALL_POINTS,
        )
    for callout in frame.callouts:
        ax.annotate(
            "\n".join(callout.lines),
            (callout.bar.lift[0], callout.bar.length or 0),
            (1.03, 1 - callout.y / high),
            textcoords="axes fraction",
            va="center",
            fontsize=_SMALL_POINTS,
            arrowprops={"arrowstyle": "-", "color": ink, "alpha": 0.3},
        )
    return frame.numbered
