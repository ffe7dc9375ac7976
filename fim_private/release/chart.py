"""Itemsets as bars with their intervals, or as a list: SVG, and axes of matplotlib."""

from __future__ import annotations

import importlib
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from fim_private.display import MARK, printable
from fim_private.errors import MissingExtraError, ParameterError, parameter, shown

# Colours of charts and pages, on light and dark grounds; text has a contrast of 4.5.
# The ground, text, text beside it, bars, the intervals on them, and warnings.
_NAMES = ("paper", "ink", "soft", "bar", "line", "warn")
LIGHT = dict(zip(_NAMES, ("#ffffff", "#1c2430", "#55606e", "#86b1ea", "#12335f", "#8a3b00"), strict=True))
DARK = dict(zip(_NAMES, ("#14181e", "#e8ecf2", "#a6b1bf", "#2f5f9f", "#dbe8ff", "#ffbf85"), strict=True))


def variables(colours: Mapping[str, str]) -> str:
    """Return colours as variables of CSS."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


_STYLE = f"""
.fim-chart {{ {variables(LIGHT)} --rule: #e3e7ed;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }}
@media (prefers-color-scheme: dark) {{ .fim-chart {{ {variables(DARK)} --rule: #2b333e; }} }}
.fim-chart .paper {{ fill: var(--paper); }} .fim-chart text {{ fill: var(--ink); }}
.fim-chart .soft {{ fill: var(--soft); }} .fim-chart .warn {{ fill: var(--warn); font-weight: 600; }}
.fim-chart .title {{ font-weight: 600; }} .fim-chart .number {{ font-variant-numeric: tabular-nums; }}
.fim-chart .bar {{ fill: var(--bar); }} .fim-chart .maybe {{ fill: url(#fim-chart-maybe); stroke: var(--bar); }}
.fim-chart .interval {{ stroke: var(--line); stroke-width: 2; fill: none; }} .fim-chart .rule {{ stroke: var(--rule); }}
"""

_CUT = "…"


def width(text: str) -> float:
    """Return about how wide a text is, in units of the size of its letters: rather too much than too little."""
    return sum(1.05 if x > "\u0fff" and unicodedata.east_asian_width(x) in "WFA" else 0.66 for x in text)


def cut(text: str, widest: float) -> str:
    """Return a text that is no wider, with an ellipsis in the place of what is missing."""
    if width(text) <= widest:
        return text
    begin = text[: int(widest / 0.66) + 1]
    while begin and width(begin + _CUT) > widest:
        begin = begin[:-1]
    return begin.rstrip() + _CUT


def _item(item: object) -> str:
    return printable(str(item)) if str(item).strip() else "an empty name"


def whole_name(items: Sequence[object]) -> str:
    """Return items in braces, on one line."""
    return "{" + ", ".join(map(_item, items)) + "}"


def short_name(items: Sequence[object], widest: float) -> str:
    """Return items in braces, no wider if there is room for a few letters of each: short ones stay whole."""
    names = list(map(_item, items))
    room = widest - width("{" + ", " * (len(names) - 1) + "}")
    shares: dict[int, float] = {}
    for place in sorted(range(len(names)), key=lambda place: width(names[place])):
        shares[place] = min(width(names[place]), room / (len(names) - len(shares)))
        room -= shares[place]
    return cut("{" + ", ".join(cut(name, shares[place] + 1e-9) for place, name in enumerate(names)) + "}", widest)


def lines(text: str, widest: float) -> list[str]:
    """Return a paragraph in lines that are no wider, if no word is."""
    made: list[str] = []
    for word in printable(text).split():
        if made and width(f"{made[-1]} {word}") <= widest:
            made[-1] += f" {word}"
        else:
            made.append(word)
    return made


# About so many ticks stand on the scale, one of these apart, or a power of ten times that.
_TICKS, _STEPS = 5, (1, 2, 2.5, 5, 10)
# What stands for a name, and how wide names are where there is room, in units of the letters' size.
UNNAMED, WIDE = "an itemset without a name", 30.0


@dataclass(frozen=True)
class Bar:
    """One itemset. items: None for one without a name. length, low, high: its support, and the ends of the interval.

    These are in units of the scale, None where no number was released; number, interval: the same as texts.
    """

    items: tuple[object, ...] | None
    length: float | None = None
    low: float | None = None
    high: float | None = None
    number: str = ""
    interval: str = ""
    doubtful: bool = False

    def label(self, widest: float) -> str:
        """Return what stands beside it, about so wide at most, in units of the letters' size."""
        name = UNNAMED if self.items is None else short_name(self.items, widest)
        return f"{name} {MARK}" if self.doubtful else name

    @property
    def described(self) -> str:
        """All of it in words, for who points at it or hears it."""
        name = UNNAMED if self.items is None else whole_name(self.items)
        numbers = f": {self.number} ({self.interval})" if self.number else ""
        return name + numbers + ("; may not be one of those asked for" if self.doubtful else "")


@dataclass(frozen=True)
class BarChart:
    """Bars from the top down, in the order of the release, and the texts around them.

    scale: what lengths are; "" where there are none. per_cent: whether they are percentages, so that no scale goes
    beyond 100. more: how many itemsets have no bar. warning: stands on top. reach: how far the scale goes at least.
    """

    title: str
    bars: tuple[Bar, ...]
    scale: str = ""
    per_cent: bool = False
    more: int = 0
    warning: str = ""
    notes: tuple[str, ...] = ()
    reach: float = 0.0

    @property
    def has_lengths(self) -> bool:
        """Whether there is a scale."""
        return any(bar.length is not None for bar in self.bars)

    @property
    def longest(self) -> float:
        """The highest end of an interval, > 0."""
        return max([self.reach, *(bar.high for bar in self.bars if bar.high is not None)]) or 1.0

    @property
    def ticks(self) -> tuple[float, ...]:
        """Where the scale has ticks: round numbers from 0 to the first that no interval goes beyond."""
        rough = self.longest / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(each * power for each in _STEPS if each * power >= rough * (1 - 1e-9))
        if not self.per_cent:
            step = max(math.ceil(step), 1)  # units are whole
        count = math.ceil(self.longest / step - 1e-9)
        ticks = tuple(round(place * step, 12) for place in range(count + 1))
        return (*(tick for tick in ticks if tick < 100), 100.0) if self.per_cent and ticks[-1] > 100 else ticks

    def tick_text(self, tick: float) -> str:
        """Return what stands at a tick."""
        return f"{tick:g} %" if self.per_cent else f"{tick:,.0f}"

    @property
    def below(self) -> tuple[str, ...]:
        """What stands below the bars: what is not drawn, and the notes."""
        more = f"{self.more:,} more {'is' if self.more == 1 else 'are'} not drawn."
        return (more, *self.notes) if self.more else self.notes


def on_one_scale(charts: Sequence[BarChart]) -> list[BarChart]:
    """Return charts whose scales end alike, those of shares and those of units each among themselves."""
    ends = {
        per_cent: max((one.longest for one in charts if one.has_lengths and one.per_cent is per_cent), default=0.0)
        for per_cent in (True, False)
    }
    return [replace(chart, reach=ends[chart.per_cent]) for chart in charts]


# SVG without script, which loads nothing. Names come from somebody's file: all text is escaped.
# In pixels: of the whole, around it, a row and its bar, and the sizes of letters.
_WHOLE, _MARGIN, _ROW, _BAR, _CAP = 820, 20, 26, 15, 4
_LARGE, _LETTER, _SMALL = 16, 13, 12
_STRIPES = (
    '<defs><pattern id="fim-chart-maybe" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect class="bar" width="4" height="7"/></pattern></defs>'
)


def svg(*charts: BarChart) -> str:
    """Return charts, one below the other, as one element of SVG, which is a whole file as it is."""
    drawn: list[str] = []
    y = 0
    for chart in charts:
        y = _svg_chart(drawn, chart, y + _MARGIN)
    height = y + _MARGIN
    label = _safe("; ".join(chart.title for chart in charts))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="fim-chart" viewBox="0 0 {_WHOLE} {height}" width="{_WHOLE}" '
        f'height="{height}" role="img" aria-label="{label}" style="max-width:100%;height:auto">'
    )
    paper = f'<rect class="paper" width="{_WHOLE}" height="{height}"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>{_STRIPES}{paper}", *drawn, "</svg>\n"])


def _svg_chart(drawn: list[str], chart: BarChart, y: int) -> int:
    room = 0.95 * (_WHOLE - 2 * _MARGIN)  # letters may be bold
    for text, kind, size in ((chart.warning, "warn", _LETTER), (chart.title, "title", _LARGE)):
        for line in lines(text, room / size):
            y += round(size * 1.4)
            drawn.append(_text(line, _MARGIN, y - round(size * 0.35), kind, size))
    y = _svg_bars(drawn, chart, y + 10) if chart.has_lengths else _svg_list(drawn, chart, y + 10)
    for note in chart.below:
        y += 6
        for line in lines(note, room / _SMALL):
            y += round(_SMALL * 1.45)
            drawn.append(_text(line, _MARGIN, y - 4, "soft", _SMALL))
    return y


def _svg_bars(drawn: list[str], chart: BarChart, top: int) -> int:
    left = _MARGIN + 10 + round(_LETTER * max(width(bar.label(WIDE)) for bar in chart.bars))
    right = _WHOLE - _MARGIN - 14 - round(_LETTER * max(width(bar.number) for bar in chart.bars))
    bottom, end = top + _ROW * len(chart.bars), chart.ticks[-1]

    def x(length: float) -> float:
        return left + (right - left) * length / end

    for tick in chart.ticks:
        drawn.append(f'<path class="rule" d="M{x(tick):.1f} {top}V{bottom + 4}"/>')
        drawn.append(_text(chart.tick_text(tick), x(tick), bottom + 18, "soft number", _SMALL, anchor="middle"))
    drawn.append(_text(chart.scale, (left + right) / 2, bottom + 38, "soft", _SMALL, anchor="middle"))
    for place, bar in enumerate(chart.bars):
        middle = top + _ROW * place + _ROW / 2
        drawn.append(f"<g><title>{_safe(bar.described)}</title>")
        drawn.append(_text(bar.label(WIDE), left - 10, middle + 4.5, "name", _LETTER, anchor="end"))
        if bar.length is None or bar.low is None or bar.high is None:
            drawn.append(_text("not released", left + 6, middle + 4.5, "soft", _SMALL))
        else:
            low, high = x(bar.low), x(bar.high)
            kind, caps = "maybe" if bar.doubtful else "bar", f"{middle - _CAP:g}v{2 * _CAP}"
            area = f'y="{middle - _BAR / 2:g}" width="{x(bar.length) - left:.1f}" height="{_BAR}"'
            drawn.append(f'<rect class="{kind}" x="{left}" {area}/>')
            line = f"M{low:.1f} {middle:g}H{high:.1f}M{low:.1f} {caps}M{high:.1f} {caps}"
            drawn.append(f'<path class="interval" d="{line}"/>')
            drawn.append(_text(bar.number, _WHOLE - _MARGIN, middle + 4.5, "number", _LETTER, anchor="end"))
        drawn.append("</g>")
    return bottom + 46


def _svg_list(drawn: list[str], chart: BarChart, top: int) -> int:
    for place, bar in enumerate(chart.bars, 1):
        y = top + _ROW * place
        drawn.append(f'<path class="rule" d="M{_MARGIN} {y}H{_WHOLE - _MARGIN}"/>')
        drawn.append(_text(f"{place}", _MARGIN + 28, y - 8, "soft number", _SMALL, anchor="end"))
        name = _text(bar.label(2 * WIDE), _MARGIN + 42, y - 8, "name", _LETTER)
        drawn.append(f"<g><title>{_safe(bar.described)}</title>{name}</g>")
    return top + _ROW * len(chart.bars) + 8


def _text(text: str, x: float, y: float, kind: str, size: int, *, anchor: str = "start") -> str:
    place = f'x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{_safe(text)}</text>'


def _safe(text: str) -> str:
    return escape(printable(text), quote=True)


# Of figures that are made here, in inches: how wide, how high a row is, and the scale with what is around the rows.
_INCHES, _ROW_INCHES, _AROUND, _POINTS = 9.0, 0.27, 0.9, 72
# Of letters, in points, and how high a line is.
_LETTER_POINTS, _SMALL_POINTS, _LEADING = 9.5, 8.5, 1.3


def of_matplotlib(module: str) -> Any:
    """Return a module of matplotlib, of an extra. Raises MissingExtraError, which says what to install, without it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError('figures need matplotlib: pip install "fim-private[figures]"') from None


def draw(chart: BarChart, ax: Any = None) -> Any:
    """Draw a chart on axes, or in a new figure of pyplot that is as high as it takes, and return the axes."""
    if ax is not None and not isinstance(ax, of_matplotlib("matplotlib.axes").Axes):
        raise ParameterError(f"{parameter('ax')} must be axes of matplotlib, not {shown(ax)}")
    pyplot, rows = of_matplotlib("matplotlib.pyplot"), max(len(chart.bars), 1)
    room = 0.6 * _POINTS * (_INCHES if ax is None else ax.get_position().width * ax.figure.get_figwidth())
    above = [line for each in (chart.warning, chart.title) for line in lines(each, room / _LETTER_POINTS)]
    below = [line for each in (chart.scale, *chart.below) for line in lines(each, room / _SMALL_POINTS)]
    if ax is None:
        texts = _LETTER_POINTS * max(len(above), 1) + _SMALL_POINTS * max(len(below), 1)
        height = _AROUND + _ROW_INCHES * rows + _LEADING * texts / _POINTS
        _, ax = pyplot.subplots(figsize=(_INCHES, height), layout="constrained")
    ink, names = ax.xaxis.label.get_color(), [each.label(WIDE) for each in chart.bars]
    ax.set_xticks([])
    if chart.has_lengths:
        for place, each in enumerate(chart.bars):
            names[place] += f"   {each.number or 'not released'}"
            if each.length is not None:
                look = {"color": LIGHT["bar"], "fill": not each.doubtful, "hatch": "//////" if each.doubtful else None}
                ax.barh(place, each.length, height=0.6, **look)
                ax.plot([each.low, each.high], [place, place], color=ink, marker="|", markersize=7)
        ax.set_xlim(0, chart.ticks[-1])
        ax.set_xticks(chart.ticks, [chart.tick_text(tick) for tick in chart.ticks], fontsize=_SMALL_POINTS)
        ax.grid(True, axis="x", alpha=0.35)
        ax.set_axisbelow(True)
    ax.set_yticks(range(len(names)), names, fontsize=_LETTER_POINTS)
    ax.set_ylim(rows - 0.5, -0.5)  # the first on top
    ax.tick_params(axis="y", length=0)
    ax.spines[:].set_visible(False)
    title = ax.set_title("\n".join(above), fontsize=_LETTER_POINTS)
    around = title, ax.set_xlabel("\n".join(below), fontsize=_SMALL_POINTS)
    for text in (*around, *(label for tick in ax.yaxis.get_major_ticks() for label in (tick.label1, tick.label2))):
        text.set_parse_math(False)  # a $ in a name is one
        text.set_usetex(False)
    return ax


def draw_all(charts: Sequence[BarChart]) -> list[Any]:
    """Draw charts one below the other in a new figure of pyplot, and return their axes."""
    heights = [2 * _AROUND + _ROW_INCHES * max(len(chart.bars), 1) for chart in charts]
    figure = of_matplotlib("matplotlib.pyplot").figure(figsize=(_INCHES, sum(heights)), layout="constrained")
    axes = figure.subplots(len(charts), squeeze=False, height_ratios=heights)[:, 0]
    return [draw(chart, ax) for chart, ax in zip(charts, axes, strict=True)]
