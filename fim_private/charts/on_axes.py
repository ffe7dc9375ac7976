"""A chart on axes of matplotlib, in the colours of its style, light or dark.

Names come from somebody's file: neither mathtext nor TeX reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fim_private.charts.bar_chart import WIDE, BarChart
from fim_private.charts.names import lines, width
from fim_private.charts.needs_matplotlib import of_matplotlib
from fim_private.charts.style import DARK, LIGHT
from fim_private.errors import ParameterError, parameter, shown

# Of figures that are made here, in inches: how wide, how high a row is, and the scale with what is around the rows.
_WIDE, _ROW, _AROUND = 9.0, 0.27, 0.9
_POINTS = 72
# Of letters, in points. On axes that somebody gives those of the rows shrink with them, down to the least.
_TITLE, _LETTER, _SMALL, _LEAST = 11.0, 9.5, 8.5, 4.0
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
    size = min(_LETTER, max(_LEAST, 0.75 * row))
    room = _POINTS * place.width * ax.figure.get_figwidth()
    warn = _rows(ax, chart, size, min(WIDE, 0.4 * room / size))
    if ax.figure.get_layout_engine() is not None:  # which will take room for names and numbers
        room *= 0.6
    title = ax.set_title(_paragraphs([chart.warning, chart.short_title], room / _LETTER / _BOLD), fontsize=_LETTER)
    if chart.warning:
        title.set_color(warn)
    more = [f"{chart.more:,} more not drawn"] if chart.more else []
    label = ax.set_xlabel(_paragraphs([chart.scale, *more, chart.short_note], room / _SMALL), fontsize=_SMALL)
    title.set_fontweight("bold")
    _plain(title)
    _plain(label)
    return ax


def draw_all(charts: Sequence[BarChart]) -> list[Any]:
    """Draw charts one below the other in a new figure of pyplot, with their short titles, and return their axes.

    Raises MissingExtraError without matplotlib.
    """
    pyplot = of_matplotlib("matplotlib.pyplot")
    heights = [_AROUND + 0.6 + _ROW * max(len(chart.bars), 1) for chart in charts]
    ratios = {"height_ratios": heights}
    size = (_WIDE, sum(heights))
    _, found = pyplot.subplots(len(charts), figsize=size, squeeze=False, layout="constrained", gridspec_kw=ratios)
    return [draw(chart, ax) for chart, ax in zip(charts, found[:, 0], strict=True)]


def _in_new_figure(chart: BarChart, pyplot: Any) -> Any:
    """Draw a chart in a figure of its own: its texts are as wide as that."""
    room = _POINTS * _WIDE * 0.97
    title = _paragraphs([chart.title], room / _TITLE / _BOLD)
    warning = _paragraphs([chart.warning], room / _TITLE / _BOLD)
    notes = _paragraphs([*chart.below], room / _SMALL)
    above = sum(text.count("\n") + 1 for text in (title, warning) if text)
    texts = _LEADING * (_TITLE * above + _SMALL * (notes.count("\n") + 1)) / _POINTS
    figure, ax = pyplot.subplots(
        figsize=(_WIDE, _AROUND + _ROW * max(len(chart.bars), 1) + texts), layout="constrained"
    )
    warn = _rows(ax, chart, _LETTER, WIDE)
    ax.set_xlabel(chart.scale, fontsize=_SMALL)
    beginning = {"x": 0.015, "horizontalalignment": "left"}
    above_all = figure.suptitle("\n".join(filter(None, (warning, title))), fontsize=_TITLE, weight="bold", **beginning)
    _plain(above_all)
    if chart.warning:
        above_all.set_color(warn)
    _plain(figure.supxlabel(notes, fontsize=_SMALL, **beginning))
    return ax


def _rows(ax: Any, chart: BarChart, size: float, widest: float) -> str:
    """Draw the rows, bars or a list, and return the colour of warnings.

    size: of their letters, in points. widest: of names beside bars, in units of that.
    """
    colours = LIGHT if _brightness(ax.get_facecolor()) > 0.5 else DARK
    if chart.has_lengths:
        _bars(ax, chart, size, widest, colours["bar"], colours["line"])
    else:
        _list(ax, chart, size)
    ax.set_ylim(max(len(chart.bars), 1) - 0.5, -0.5)  # the first on top
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=_SMALL)
    for side in ("top", "right", "left", "bottom"):
        ax.spines[side].set_visible(False)
    return colours["warn"]


def _bars(ax: Any, chart: BarChart, size: float, widest: float, bar: str, line: str) -> None:
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


def _list(ax: Any, chart: BarChart, size: float) -> None:
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
