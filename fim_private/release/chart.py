"""Itemsets as bars: SVG, and axes of matplotlib."""

from __future__ import annotations

import importlib
import math
import unicodedata
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from fim_private.display import MARK, printable
from fim_private.dp.cost import at_least
from fim_private.errors import MissingExtraError, ParameterError, parameter, shown
from fim_private.release import words
from fim_private.release.outcome import Outcome
from fim_private.request.itemsets import Itemset

# -------------------- style
# Colours of charts and pages, on light and dark grounds, and how a chart in SVG looks. Text has a contrast of 4.5.

# By what they are for: the ground, text, text beside it, bars, the intervals on them, and warnings.
LIGHT = {
    **{"paper": "#ffffff", "ink": "#1c2430", "soft": "#55606e"},
    **{"bar": "#86b1ea", "line": "#12335f", "warn": "#8a3b00"},
}
DARK = {
    **{"paper": "#14181e", "ink": "#e8ecf2", "soft": "#a6b1bf"},
    **{"bar": "#2f5f9f", "line": "#dbe8ff", "warn": "#ffbf85"},
}


def variables(colours: Mapping[str, str]) -> str:
    """Return colours as variables of CSS."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


SVG_STYLE = f"""
.fim-chart {{ {variables(LIGHT)} --rule: #e3e7ed;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }}
@media (prefers-color-scheme: dark) {{ .fim-chart {{ {variables(DARK)} --rule: #2b333e; }} }}
.fim-chart .paper {{ fill: var(--paper); }} .fim-chart text {{ fill: var(--ink); }}
.fim-chart .soft {{ fill: var(--soft); }} .fim-chart .warn {{ fill: var(--warn); font-weight: 600; }}
.fim-chart .title {{ font-weight: 600; }} .fim-chart .number {{ font-variant-numeric: tabular-nums; }}
.fim-chart .bar {{ fill: var(--bar); }} .fim-chart .maybe {{ fill: url(#fim-chart-maybe); stroke: var(--bar); }}
.fim-chart .interval {{ stroke: var(--line); stroke-width: 2; fill: none; }} .fim-chart .rule {{ stroke: var(--rule); }}
"""


# -------------------- names
# Texts that fit: names of itemsets on one line, each item cut rather than the last ones lost, and lines of paragraphs.
#
# Widths are those of the widest of the common sans-serif letters, in units of their size: what draws them is not asked.

_NARROW, _BROAD = frozenset("iljftrI.,:;'|!()[]`/\\ "), frozenset("mwMW@%")
# Of narrow, of broad, of upper-case, of East Asian and of all other letters.
_WIDTHS = 0.4, 1.0, 0.74, 1.05, 0.63
_CUT = "…"


def width(text: str) -> float:
    """Return about how wide a text is, in units of the size of its letters: rather too much than too little."""
    return sum(map(_width_of, text))


def _width_of(letter: str) -> float:
    narrow, broad, upper, full, other = _WIDTHS
    if letter in _NARROW:
        return narrow
    if letter in _BROAD:
        return broad
    if letter > "\u0fff" and unicodedata.east_asian_width(letter) in "WFA":
        return full
    return upper if letter.isupper() else other


def cut(text: str, widest: float) -> str:
    """Return a text that is no wider, with an ellipsis in the place of what is missing.

    >>> cut("semi-skimmed milk", 6.3), cut("milk", 6.0)
    ('semi-ski…', 'milk')
    """
    if width(text) <= widest:
        return text
    kept, room = "", widest - width(_CUT)
    for letter in text:
        room -= _width_of(letter)
        if room < 0:
            break
        kept += letter
    return kept.rstrip() + _CUT


def whole_name(items: Sequence[object]) -> str:
    """Return items in braces, on one line.

    >>> whole_name(("milk", "tea"))
    '{milk, tea}'
    """
    return "{" + ", ".join(map(_item, items)) + "}"


def short_name(items: Sequence[object], widest: float) -> str:
    """Return items in braces, no wider than that if there is room for a few letters of each.

    The room is shared: what short items leave goes to the long ones.

    >>> short_name(("tea", "a very long name indeed"), 11.0)
    '{tea, a very long…}'
    """
    names = list(map(_item, items))
    room = widest - width("{" + ", " * (len(names) - 1) + "}")
    shares: dict[int, float] = {}
    for place in sorted(range(len(names)), key=lambda place: width(names[place])):
        shares[place] = min(width(names[place]), room / (len(names) - len(shares)))
        room -= shares[place]
    return cut("{" + ", ".join(cut(name, shares[place] + 1e-9) for place, name in enumerate(names)) + "}", widest)


def lines(text: str, widest: float) -> list[str]:
    """Return a paragraph in lines that are no wider, if no word is.

    >>> lines("where one line ends", 7.5)
    ['where one', 'line ends']
    """
    made: list[str] = []
    for word in printable(text).split():
        if made and width(f"{made[-1]} {word}") <= widest:
            made[-1] += f" {word}"
        else:
            made.append(word)
    return made


def _item(item: object) -> str:
    return printable(str(item)) if str(item).strip() else "an empty name"


# -------------------- bar chart
# What is drawn of itemsets, whatever draws it: bars with their intervals on one scale, or, without numbers, a list.

# About so many ticks stand on the scale.
_TICKS = 5
_STEPS = (1, 2, 2.5, 5, 10)
# In the place of a name.
UNNAMED = "an itemset without a name"
# Where there is room, names are so wide, in units of the letters' size.
WIDE = 30.0


@dataclass(frozen=True)
class Bar:
    """One itemset.

    items: of which it consists; None for one without a name. length, low, high: its support and the ends of
    the interval, in units of the scale; None where no number was released. told, interval: the same as texts.
    doubtful: whether it may not belong here.
    """

    items: tuple[object, ...] | None
    length: float | None = None
    low: float | None = None
    high: float | None = None
    told: str = ""
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
        numbers = f": {self.told} ({self.interval})" if self.told else ""
        return name + numbers + ("; may not be one of those asked for" if self.doubtful else "")


@dataclass(frozen=True)
class BarChart:
    """Bars from the top down, in the order of the release, and the texts around them.

    title: what it shows. warning: what must be seen before all else, "" for nothing. scale: what lengths are, and in
    which unit; "" where there are none. per_cent: whether lengths are percentages, so that no scale goes beyond 100.
    more: of how many further itemsets there is no bar. notes: how to read it, what is promised, a paragraph each.
    short_title, short_note: what is said in place of title and notes where there is little room. reach: how far the
    scale goes at least, for charts that are to be compared.
    """

    title: str
    bars: tuple[Bar, ...]
    scale: str = ""
    per_cent: bool = False
    more: int = 0
    warning: str = ""
    notes: tuple[str, ...] = ()
    short_title: str = ""
    short_note: str = ""
    reach: float = 0.0

    @property
    def has_lengths(self) -> bool:
        """Whether there is a scale: numbers were released of something."""
        return any(bar.length is not None for bar in self.bars)

    @property
    def longest(self) -> float:
        """The highest end of an interval, > 0."""
        return max([self.reach, *(bar.high for bar in self.bars if bar.high is not None)]) or 1.0

    def part(self, length: float) -> float:
        """Return a length as a part of the longest, 0 to 1: for bars without a scale."""
        return length / self.longest

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
        if self.per_cent and ticks[-1] > 100:
            return (*(tick for tick in ticks if tick < 100), 100.0)
        return ticks

    @property
    def end(self) -> float:
        """Where the scale ends."""
        return self.ticks[-1]

    def tick_text(self, tick: float) -> str:
        """Return what stands at a tick."""
        return f"{tick:g} %" if self.per_cent else f"{tick:,.0f}"

    @property
    def below(self) -> Iterator[str]:
        """Yield what stands below the bars: what is not drawn, and the notes."""
        if self.more:
            yield f"{self.more:,} more {'is' if self.more == 1 else 'are'} not drawn."
        yield from self.notes


def on_one_scale(charts: Sequence[BarChart]) -> list[BarChart]:
    """Return charts whose scales end alike, those that tell shares and those that tell units each among themselves."""
    ends = {
        kind: max((chart.longest for chart in charts if chart.has_lengths and chart.per_cent == kind), default=0.0)
        for kind in (True, False)
    }
    return [replace(chart, reach=ends[chart.per_cent]) for chart in charts]


# -------------------- as svg
# A chart as SVG: one piece of text without script, which loads nothing, for light and dark grounds.
#
# Names come from somebody's file: all text is escaped, and what cannot be shown is an escape.

# In pixels: of the whole, around it, a row and its bar, and the sizes of letters.
_WHOLE, _MARGIN, _AS_SVG_ROW, _BAR, _CAP = 820, 20, 26, 15, 4
_LARGE, _AS_SVG_LETTER, _AS_SVG_SMALL = 16, 13, 12
_STRIPES = (
    '<defs><pattern id="fim-chart-maybe" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect class="bar" width="4" height="7"/></pattern></defs>'
)


def svg(*charts: BarChart) -> str:
    """Return charts, one below the other, as one element of SVG, which is a whole file as it is."""
    drawn: list[str] = []
    y = 0
    for chart in charts:
        more, y = _chart(chart, y + _MARGIN)
        drawn += more
    height = y + _MARGIN
    label = _safe("; ".join(chart.title for chart in charts))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="fim-chart" viewBox="0 0 {_WHOLE} {height}" width="{_WHOLE}" '
        f'height="{height}" role="img" aria-label="{label}" style="max-width:100%;height:auto">'
    )
    paper = f'<rect class="paper" width="{_WHOLE}" height="{height}"/>'
    return "\n".join([head, f"<style>{SVG_STYLE}</style>{_STRIPES}{paper}", *drawn, "</svg>\n"])


def _chart(chart: BarChart, y: int) -> tuple[list[str], int]:
    """Return a chart from y on, and where it ends."""
    drawn: list[str] = []
    for text, kind, size in ((chart.warning, "warn", _AS_SVG_LETTER), (chart.title, "title", _LARGE)):
        for line in _lines(text, size):
            y += round(size * 1.4)
            drawn.append(_text(line, _MARGIN, y - round(size * 0.35), kind, size))
    rows, y = _as_svg_bars(chart, y + 10) if chart.has_lengths else _as_svg_list(chart, y + 10)
    drawn += rows
    for note in chart.below:
        y += 6
        for line in _lines(note, _AS_SVG_SMALL):
            y += round(_AS_SVG_SMALL * 1.45)
            drawn.append(_text(line, _MARGIN, y - 4, "soft", _AS_SVG_SMALL))
    return drawn, y


def _as_svg_bars(chart: BarChart, top: int) -> tuple[list[str], int]:
    """Return the bars with their scale, and where they end."""
    left = _MARGIN + 10 + round(_AS_SVG_LETTER * max(width(bar.label(WIDE)) for bar in chart.bars))
    right = _WHOLE - _MARGIN - 14 - round(_AS_SVG_LETTER * max(width(bar.told) for bar in chart.bars))
    bottom = top + _AS_SVG_ROW * len(chart.bars)

    def x(length: float) -> float:
        return left + (right - left) * length / chart.end

    drawn = []
    for tick in chart.ticks:
        drawn.append(f'<path class="rule" d="M{x(tick):.1f} {top}V{bottom + 4}"/>')
        drawn.append(_text(chart.tick_text(tick), x(tick), bottom + 18, "soft number", _AS_SVG_SMALL, anchor="middle"))
    drawn.append(_text(chart.scale, (left + right) / 2, bottom + 38, "soft", _AS_SVG_SMALL, anchor="middle"))
    for place, bar in enumerate(chart.bars):
        middle = top + _AS_SVG_ROW * place + _AS_SVG_ROW / 2
        drawn.append(f"<g><title>{_safe(bar.described)}</title>")
        drawn.append(_text(bar.label(WIDE), left - 10, middle + 4.5, "name", _AS_SVG_LETTER, anchor="end"))
        if bar.length is None or bar.low is None or bar.high is None:
            drawn.append(_text("not released", left + 6, middle + 4.5, "soft", _AS_SVG_SMALL))
        else:
            kind = "maybe" if bar.doubtful else "bar"
            low, high = x(bar.low), x(bar.high)
            drawn.append(
                f'<rect class="{kind}" x="{left}" y="{middle - _BAR / 2:g}" width="{x(bar.length) - left:.1f}" '
                f'height="{_BAR}"/>'
            )
            drawn.append(
                f'<path class="interval" d="M{low:.1f} {middle:g}H{high:.1f}M{low:.1f} {middle - _CAP:g}v{2 * _CAP}'
                f'M{high:.1f} {middle - _CAP:g}v{2 * _CAP}"/>'
            )
            drawn.append(_text(bar.told, _WHOLE - _MARGIN, middle + 4.5, "number", _AS_SVG_LETTER, anchor="end"))
        drawn.append("</g>")
    return drawn, bottom + 46


def _as_svg_list(chart: BarChart, top: int) -> tuple[list[str], int]:
    """Return the names, numbered in their order, and where they end."""
    drawn = []
    for place, bar in enumerate(chart.bars, 1):
        y = top + _AS_SVG_ROW * place
        drawn.append(f'<path class="rule" d="M{_MARGIN} {y}H{_WHOLE - _MARGIN}"/>')
        drawn.append(_text(f"{place}", _MARGIN + 28, y - 8, "soft number", _AS_SVG_SMALL, anchor="end"))
        drawn.append(f"<g><title>{_safe(bar.described)}</title>{_listed(bar, y - 8)}</g>")
    return drawn, top + _AS_SVG_ROW * len(chart.bars) + 8


def _listed(bar: Bar, y: int) -> str:
    return _text(bar.label(2 * WIDE), _MARGIN + 42, y, "name", _AS_SVG_LETTER)


def _text(text: str, x: float, y: float, kind: str, size: int, *, anchor: str = "start") -> str:
    """Return a line of text. kind: its classes."""
    place = f'x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{_safe(text)}</text>'


def _safe(text: str) -> str:
    """Return text that is text in XML, in an attribute too."""
    return escape(printable(text), quote=True)


def _lines(text: str, size: int) -> list[str]:
    """Return the lines of a paragraph in letters of that size, which may be bold."""
    return lines(text, 0.95 * (_WHOLE - 2 * _MARGIN) / size)


# -------------------- needs matplotlib
# matplotlib, which is of an extra: imported by name, where a figure is drawn, so that nothing else waits.


def of_matplotlib(module: str) -> Any:
    """Return a module of matplotlib. Raises MissingExtraError, which says what to install, where there is none."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError('figures need matplotlib: pip install "fim-private[figures]"') from None


# -------------------- on axes
# A chart on axes of matplotlib, in the colours of its style, light or dark.
#
# Names come from somebody's file: neither mathtext nor TeX reads them.

# Of figures that are made here, in inches: how wide, how high a row is, and the scale with what is around the rows.
_WIDE, _ON_AXES_ROW, _AROUND = 9.0, 0.27, 0.9
_POINTS = 72
# Of letters, in points. On axes that somebody gives those of the rows shrink with them, down to the least.
_TITLE, _ON_AXES_LETTER, _ON_AXES_SMALL, _LEAST = 11.0, 9.5, 8.5, 4.0
# How high a line is, in units of the letters' size; bold letters are so much wider.
_LEADING, _BOLD = 1.3, 1.1


def draw(chart: BarChart, ax: Any = None) -> Any:
    """Draw a chart on axes, or in a new figure of pyplot that is as high as it takes, and return the axes.

    Raises MissingExtraError without matplotlib, and ParameterError where ax is no axes.
    """
    pyplot = of_matplotlib("matplotlib.pyplot")
    if ax is None:
        return _in_new_figure(chart, pyplot)
    if not isinstance(ax, of_matplotlib("matplotlib.axes").Axes):
        raise ParameterError(f"{parameter('ax')} must be axes of matplotlib, not {shown(ax)}")
    place = ax.get_position()
    row = _POINTS * place.height * ax.figure.get_figheight() / max(len(chart.bars), 1)
    size = min(_ON_AXES_LETTER, max(_LEAST, 0.75 * row))
    room = _POINTS * place.width * ax.figure.get_figwidth()
    warn = _rows(ax, chart, size, min(WIDE, 0.4 * room / size))
    if ax.figure.get_layout_engine() is not None:  # which will take room for names and numbers
        room *= 0.6
    title = ax.set_title(
        _paragraphs([chart.warning, chart.short_title], room / _ON_AXES_LETTER / _BOLD), fontsize=_ON_AXES_LETTER
    )
    if chart.warning:
        title.set_color(warn)
    more = [f"{chart.more:,} more not drawn"] if chart.more else []
    label = ax.set_xlabel(
        _paragraphs([chart.scale, *more, chart.short_note], room / _ON_AXES_SMALL), fontsize=_ON_AXES_SMALL
    )
    title.set_fontweight("bold")
    _plain(title)
    _plain(label)
    return ax


def draw_all(charts: Sequence[BarChart]) -> list[Any]:
    """Draw charts one below the other in a new figure of pyplot, with their short titles, and return their axes.

    Raises MissingExtraError without matplotlib.
    """
    pyplot = of_matplotlib("matplotlib.pyplot")
    heights = [_AROUND + 0.6 + _ON_AXES_ROW * max(len(chart.bars), 1) for chart in charts]
    ratios = {"height_ratios": heights}
    size = (_WIDE, sum(heights))
    _, found = pyplot.subplots(len(charts), figsize=size, squeeze=False, layout="constrained", gridspec_kw=ratios)
    return [draw(chart, ax) for chart, ax in zip(charts, found[:, 0], strict=True)]


def _in_new_figure(chart: BarChart, pyplot: Any) -> Any:
    """Draw a chart in a figure of its own: its texts are as wide as that."""
    room = _POINTS * _WIDE * 0.97
    title = _paragraphs([chart.title], room / _TITLE / _BOLD)
    warning = _paragraphs([chart.warning], room / _TITLE / _BOLD)
    notes = _paragraphs([*chart.below], room / _ON_AXES_SMALL)
    above = sum(text.count("\n") + 1 for text in (title, warning) if text)
    texts = _LEADING * (_TITLE * above + _ON_AXES_SMALL * (notes.count("\n") + 1)) / _POINTS
    figure, ax = pyplot.subplots(
        figsize=(_WIDE, _AROUND + _ON_AXES_ROW * max(len(chart.bars), 1) + texts), layout="constrained"
    )
    warn = _rows(ax, chart, _ON_AXES_LETTER, WIDE)
    ax.set_xlabel(chart.scale, fontsize=_ON_AXES_SMALL)
    beginning = {"x": 0.015, "horizontalalignment": "left"}
    above_all = figure.suptitle("\n".join(filter(None, (warning, title))), fontsize=_TITLE, weight="bold", **beginning)
    _plain(above_all)
    if chart.warning:
        above_all.set_color(warn)
    _plain(figure.supxlabel(notes, fontsize=_ON_AXES_SMALL, **beginning))
    return ax


def _rows(ax: Any, chart: BarChart, size: float, widest: float) -> str:
    """Draw the rows, bars or a list, and return the colour of warnings.

    size: of their letters, in points. widest: of names beside bars, in units of that.
    """
    colours = LIGHT if _brightness(ax.get_facecolor()) > 0.5 else DARK
    if chart.has_lengths:
        _on_axes_bars(ax, chart, size, widest, colours["bar"], colours["line"])
    else:
        _on_axes_list(ax, chart, size)
    ax.set_ylim(max(len(chart.bars), 1) - 0.5, -0.5)  # the first on top
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=_ON_AXES_SMALL)
    for side in ("top", "right", "left", "bottom"):
        ax.spines[side].set_visible(False)
    return colours["warn"]


def _on_axes_bars(ax: Any, chart: BarChart, size: float, widest: float, bar: str, line: str) -> None:
    """Draw the names, the bars with their intervals, the scale, and the numbers on the right."""
    beyond = size * max((width(each.told or "not released") for each in chart.bars), default=0) + 8
    for place, each in enumerate(chart.bars):
        if each.length is not None and each.low is not None and each.high is not None:
            kind = {"facecolor": "none", "edgecolor": bar, "hatch": "//////"} if each.doubtful else {"facecolor": bar}
            ax.barh(place, each.length, height=0.6, linewidth=0.8, **kind)
            ends = {"marker": "|", "markersize": 7, "markeredgewidth": 1.6}
            ax.plot([each.low, each.high], [place, place], color=line, linewidth=1.6, **ends)
        ax.annotate(
            each.told or "not released",
            (1, place),
            xycoords=("axes fraction", "data"),
            xytext=(beyond, 0),
            textcoords="offset points",
            horizontalalignment="right",
            verticalalignment="center",
            fontsize=size,
            annotation_clip=False,
        )
    ax.set_xlim(0, chart.end)
    ax.set_xticks(chart.ticks, [chart.tick_text(tick) for tick in chart.ticks])
    ax.grid(True, axis="x", alpha=0.35, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set_yticks(range(len(chart.bars)), [each.label(widest) for each in chart.bars], fontsize=size)
    for tick in ax.yaxis.get_major_ticks():
        _plain(tick.label1)
        _plain(tick.label2)  # on the right, if somebody turns it on


def _on_axes_list(ax: Any, chart: BarChart, size: float) -> None:
    """Write the names one below the other, numbered in their order."""
    ax.set_xticks([])
    ax.set_yticks(range(len(chart.bars)), [f"{place}" for place in range(1, len(chart.bars) + 1)], fontsize=size)
    for place, each in enumerate(chart.bars):
        ax.axhline(place + 0.5, color="#888888", alpha=0.35, linewidth=0.8, clip_on=False)
        where = {"xycoords": ("axes fraction", "data"), "xytext": (4, 0), "textcoords": "offset points"}
        _plain(ax.annotate(each.label(2 * WIDE), (0, place), verticalalignment="center", fontsize=size, **where))


def _plain(text: Any) -> None:
    """Have a text shown as it is: a $ in it is one."""
    text.set_parse_math(False)
    text.set_usetex(False)


def _paragraphs(texts: list[str], widest: float) -> str:
    """Return paragraphs as lines that are no wider, in units of the letters' size."""
    return "\n".join(line for text in texts for line in lines(text, widest))


def _brightness(colour: Any) -> float:
    """Return how bright a colour is, 0 to 1, of a ground that is white where it is transparent."""
    red, green, blue, alpha = of_matplotlib("matplotlib.colors").to_rgba(colour)
    return float(alpha * (0.299 * red + 0.587 * green + 0.114 * blue) + 1 - alpha)


# -------------------- pictured
# What comes out as a picture: which bars and texts stand for it. `charts` draws them.

# More bars nobody reads; the other forms of a release have all.
_MOST = 200


class Pictured(Outcome):
    """What comes out, with what it looks like."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What was released, in words."""

    @property
    @abstractmethod
    def guarantee(self) -> str:
        """The guarantee, in one sentence."""

    @property
    @abstractmethod
    def certainty(self) -> tuple[str, ...]:
        """How certain it is that these itemsets are what was asked for."""

    def chart(self, *, relative: bool = True, most: int | None = _MOST) -> BarChart:
        """Return what is drawn of it: bars and texts.

        relative: whether supports are shares, where these are known. most: of how many itemsets there are bars.
        """
        per_cent = relative and self.has_shares and bool(self.units)
        who = "customers" if self.privacy_unit == "user" else "baskets"
        among = "all" if self.units_interval is None else "about"
        scale = f"share of {among} {self.units:,} {who}" if per_cent else who
        bars = tuple(self._bar(itemset, per_cent=per_cent) for itemset in self.itemsets[:most])
        return BarChart(
            title=self.title,
            bars=bars,
            scale=scale if self.has_supports and bars else "",
            per_cent=per_cent,
            more=len(self.itemsets) - len(bars),
            warning="" if self.private else self.guarantee,
            notes=tuple(self._notes()),
            short_title=self._short_title,
            short_note=self._short_note,
        )

    @property
    def _short_title(self) -> str:
        found = len(self.itemsets)
        if not found:
            return self.title
        return f"{'1 itemset' if found == 1 else f'{found:,} itemsets'} of {words.of_items(self.sizes)}"

    @property
    def _short_note(self) -> str:
        promised = f"ε = {at_least(self.cost.epsilon)}, δ = {at_least(self.cost.delta)} for any one {self.privacy_unit}"
        said = ["95 % intervals"] if self.has_supports and self.itemsets else []
        return "; ".join([*said, promised] if self.private else said)

    def _notes(self) -> Iterator[str]:
        """Yield what stands below the bars: how to read them, and what is promised."""
        if self.itemsets and self.has_supports:
            maybe = "; striped, what is marked ?" if any(one.doubtful for one in self.itemsets) else ""
            who = "customers" if self.privacy_unit == "user" else "baskets"
            yield f"Bars: {who} with all of the items, as noisy numbers{maybe}. Lines: 95 % intervals, each by itself."
        elif self.itemsets:
            yield "Supports were not asked for: this is a list, and says nothing of how frequent each is."
        else:
            yield "The budget of this release is spent all the same."
        yield from self.certainty
        yield from self.rows_read
        if self.private:
            yield self.guarantee

    def _bar(self, itemset: Itemset, *, per_cent: bool) -> Bar:
        """Return what is drawn of an itemset."""
        doubtful = bool(itemset.doubtful)
        if itemset.support is None or itemset.interval is None:
            return Bar(itemset.items, doubtful=doubtful)
        low, high = itemset.interval
        told, interval = f"{itemset.support:,}", f"{low:,} to {high:,}"
        if not per_cent:
            return Bar(itemset.items, itemset.support, low, high, told, interval, doubtful)
        share, ends = self.share_of(itemset) or 0.0, self.share_interval_of(itemset) or (0.0, 0.0)
        decimals = words.decimals_of_shares(0 if self.noise is None else self.noise.half_width, self.units or 0)
        told = words.percent(share, decimals)
        interval = " to ".join(words.percent(end, decimals) for end in ends)
        return Bar(itemset.items, 100 * share, 100 * ends[0], 100 * ends[1], told, interval, doubtful)

    def plot(self, ax: Any = None, *, relative: bool = True) -> Any:
        """Draw the itemsets as bars with their 95 % intervals, and return the axes of matplotlib (extra figures).

        ax: axes to draw on; None for a new figure, which is as high as it takes. relative: whether supports are told as
        shares of all units where their number was released; False for units.
        Without supports it is a list of names. It has the guarantee below, and tells of an abstention.
        Raises MissingExtraError without matplotlib, and ParameterError where ax is no axes.
        """

        return draw(self.chart(relative=relative), ax)

    def to_svg(self, *, relative: bool = True) -> str:
        """Return the picture that plot() draws as SVG, for which nothing has to be installed.

        It has no script, and loads nothing. relative: as in plot().
        """

        return svg(self.chart(relative=relative))
