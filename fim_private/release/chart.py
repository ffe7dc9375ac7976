"""Itemsets as dots with their intervals, or as a list; rules by confidence and lift: SVG, and axes
of matplotlib.
"""

from __future__ import annotations

import importlib
import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from fim_private.display import MARK, in_braces, item_name, printable
from fim_private.errors import MissingExtraError, ParameterError, parameter, shown
from fim_private.release.templates import render

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fim_private.release.drawing import Drawing

_CUT = "…"
_BETWEEN = " · "
# How wide a letter is at most, in units of the size of letters: Chinese ones, and others.
_FULL_WIDTH, _LETTER_WIDTH = 1.05, 0.66


def width(text: str) -> float:
    """Return about how wide a text is, in units of the size of its letters: rather too much than
    too little.
    """
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if letter > "\u0fff" and unicodedata.east_asian_width(letter) in "WFA":
        return _FULL_WIDTH
    return _LETTER_WIDTH


def cut(text: str, widest: float, end: str = _CUT) -> str:
    """Return a text that is no wider, with an ellipsis in the place of what is missing."""
    if width(text) <= widest:
        return text
    begin = text[: int(widest / _LETTER_WIDTH) + 1]
    while begin and width(begin + end) > widest:
        begin = begin[:-1]
    return begin.rstrip() + end


def short_name(items: Sequence[object], widest: float) -> str:
    """Return items in braces, no wider if there is room for a few letters of each: short ones stay
    whole.
    """
    separators = "{" + ", " * (len(items) - 1) + "}"
    names = ", ".join(_shortened(items, widest - width(separators)))
    return cut("{" + names + "}", widest)


def named(items: Sequence[object], widest: float) -> str:
    """Return items as a sentence has them, "a, b and c", about so wide at most."""
    if len(items) == 1:
        return _shortened(items, widest)[0]
    separators = ", " * (len(items) - 2) + " and "
    *first, last = _shortened(items, widest - width(separators))
    return f"{', '.join(first)} and {last}"


def _shortened(items: Sequence[object], room: float) -> list[str]:
    """Return the names of items, cut to share this room. Short ones leave room to long ones."""
    names = [item_name(item) for item in items]
    share = 0.0
    for done, wide in enumerate(sorted(map(width, names))):
        share = min(wide, room / (len(names) - done))
        room -= share
    # That of the longest name: those that leave room to it are shorter.
    # One in quotes still ends with one.
    ends = {True: f'{_CUT}"', False: _CUT}
    return [cut(name, share + 1e-9, ends[name.startswith('"')]) for name in names]


def lines(text: str, widest: float) -> list[str]:
    """Return a paragraph in lines that are no wider, if no word is."""
    wrapped: list[str] = []
    for word in printable(text).split():
        if wrapped and width(f"{wrapped[-1]} {word}") <= widest:
            wrapped[-1] += f" {word}"
        else:
            wrapped.append(word)
    return wrapped


def packed(entries: Sequence[str], widest: float) -> list[str]:
    """Return entries in lines that are no wider, if no entry is."""
    filled: list[str] = []
    for entry in entries:
        if filled and width(f"{filled[-1]}{_BETWEEN}{entry}") <= widest:
            filled[-1] += f"{_BETWEEN}{entry}"
        else:
            filled.append(entry)
    return filled


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


# A box is its left, top, right and bottom.
Box = tuple[float, float, float, float]
Point = tuple[float, float]
_DOT = 4.5

# Drawings, in pixels: the whole, around it, a row, and the sizes of letters: 12 px are 9 pt.
_WHOLE, _MARGIN, _ROW = 860, 20, 26
_LARGE, _LETTER, SMALL = 14, 13, 12
# How wide what is drawn is; and how wide a title is at most, in units of the letters' size.
ROOM = _WHOLE - 2 * _MARGIN
TITLE = 0.95 * ROOM / _LARGE
# Where the label of a dot can be, the best place first: by which end it is held, how much of it is
# to the left of that end, and whether this end is right of the dot (1), above it (-1), and so on.
_PLACES = (
    *(("start", 0.0, 1, 0), ("end", 1.0, -1, 0), ("middle", 0.5, 0, -1), ("middle", 0.5, 0, 1)),
    *(("start", 0.0, 0.7, -0.6), ("start", 0.0, 0.7, 0.6)),
    *(("end", 1.0, -0.7, -0.6), ("end", 1.0, -0.7, 0.6)),
    *(("middle", 0.5, 0, -2), ("middle", 0.5, 0, 2)),
)


class Label(NamedTuple):
    """A text beside a point.

    Attributes:
        name: The text.
        anchor: By which end it is held: the one next to its point.
        x: Where it is held.
        y: Where its middle is.
        box: What it covers.
    """

    name: str
    anchor: str
    x: float
    y: float
    box: Box


def placed_labels(
    names: Sequence[str], points: Sequence[Point], bounds: Box, avoided: Sequence[Box] = ()
) -> list[Label | None]:
    """Return the label of each point; None where it would hide another, or a point.

    Args:
        names: What stands beside each point.
        points: The points. The first ones choose their places first.
        bounds: What labels must be within.
        avoided: What labels do not lie on where there is another place.
    """
    dots = [(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in points]
    taken = [*dots]
    labels = []
    for name, dot, point in zip(names, dots, points, strict=True):
        obstacles = [box for box in taken if box != dot]
        free = [place for place in _places(name, *point) if _is_free(place.box, bounds, obstacles)]
        clear = [place for place in free if _is_free(place.box, bounds, avoided)]
        label = next(iter([*clear, *free]), None)
        if label is not None:
            taken.append(label.box)
        labels.append(label)
    return labels


def _places(name: str, x: float, y: float) -> Iterator[Label]:
    """Yield the label of a point where it can be, the best place first."""
    length, half = SMALL * width(name), 0.65 * SMALL
    for anchor, before, to_the_right, below in _PLACES:
        held_x, middle = x + to_the_right * 2 * _DOT, y + below * (2 * _DOT + half)
        left = held_x - length * before
        box = left, middle - half, left + length, middle + half
        yield Label(name, anchor, held_x, middle, box)


def _is_free(box: Box, bounds: Box, obstacles: Sequence[Box]) -> bool:
    """Return whether a box is within bounds, and has no place in common with an obstacle."""
    left, top, right, bottom = box
    fits_across = bounds[0] <= left and right <= bounds[2]
    fits = fits_across and bounds[1] <= top and bottom <= bounds[3]
    return fits and not any(
        left < its_right and its_left < right and top < its_bottom and its_top < bottom
        for its_left, its_top, its_right, its_bottom in obstacles
    )


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
    from fim_private.release.drawing import COLOURS, DARK_COLOURS

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
        colours=COLOURS,
        dark_colours=DARK_COLOURS,
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
# Where texts of matplotlib are held.
ALIGNED = {"start": "left", "end": "right", "middle": "center"}


def of_matplotlib(module: str) -> ModuleType:
    """Return a module of matplotlib, of an extra. Raises MissingExtraError, which says what to
    install, without it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError(
            'figures need matplotlib: pip install "fim-private[figures]"'
        ) from None


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
