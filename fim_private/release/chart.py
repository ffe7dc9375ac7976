"""Itemsets as dots with their intervals, or as a list; rules by confidence and lift: SVG, and axes
of matplotlib.
"""

from __future__ import annotations

import importlib
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from fim_private.display import MARK, in_braces, item_name, printable
from fim_private.errors import MissingExtraError, ParameterError, parameter, shown

# Colours of charts and pages, on light and dark grounds; text has a contrast of 4.5.
# The ground, text, text beside it, bars, the intervals on them, and warnings.
_NAMES = ("paper", "ink", "soft", "bar", "line", "warn")
LIGHT = dict(
    zip(_NAMES, ("#ffffff", "#1c2430", "#55606e", "#86b1ea", "#12335f", "#8a3b00"), strict=True)
)
DARK = dict(
    zip(_NAMES, ("#14181e", "#e8ecf2", "#a6b1bf", "#2f5f9f", "#dbe8ff", "#ffbf85"), strict=True)
)


def variables(colours: Mapping[str, str]) -> str:
    """Return colours as variables of CSS."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


_STYLE = f"""
.fim-chart {{ {variables(LIGHT)} --rule: #e3e7ed;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }}
@media (prefers-color-scheme: dark) {{ .fim-chart {{ {variables(DARK)} --rule: #2b333e; }} }}
.fim-chart .paper {{ fill: var(--paper); }} .fim-chart text {{ fill: var(--ink); }}
.fim-chart .soft {{ fill: var(--soft); }}
.fim-chart .warn {{ fill: var(--warn); font-weight: 600; }}
.fim-chart .title {{ font-weight: 600; }}
.fim-chart .number {{ font-variant-numeric: tabular-nums; }}
.fim-chart .mark {{ fill: var(--line); stroke: var(--line); stroke-width: 1.5; }}
.fim-chart .maybe {{ fill: var(--paper); }}
.fim-chart .interval {{ stroke: var(--line); stroke-width: 2; fill: none; }}
.fim-chart .faint {{ opacity: .3; }}
.fim-chart .rule {{ stroke: var(--rule); }}
.fim-chart .even {{ stroke: var(--soft); stroke-dasharray: 4 4; }}
"""

_CUT = "…"


def width(text: str) -> float:
    """Return about how wide a text is, in units of the size of its letters: rather too much than
    too little.
    """
    return sum(
        1.05 if x > "\u0fff" and unicodedata.east_asian_width(x) in "WFA" else 0.66 for x in text
    )


def cut(text: str, widest: float) -> str:
    """Return a text that is no wider, with an ellipsis in the place of what is missing."""
    if width(text) <= widest:
        return text
    begin = text[: int(widest / 0.66) + 1]
    while begin and width(begin + _CUT) > widest:
        begin = begin[:-1]
    return begin.rstrip() + _CUT


def _cut_name(name: str, widest: float) -> str:
    """Return the name of an item that is no wider. One in quotes still ends with one."""
    if width(name) <= widest or not name.startswith('"'):
        return cut(name, widest)
    return cut(name[:-1], widest - width('"')) + '"'


def short_name(items: Sequence[object], widest: float) -> str:
    """Return items in braces, no wider if there is room for a few letters of each: short ones stay
    whole.
    """
    room = widest - width("{" + ", " * (len(items) - 1) + "}")
    return cut("{" + ", ".join(_shortened(items, room)) + "}", widest)


def named(items: Sequence[object], widest: float) -> str:
    """Return items as a sentence has them, "a, b and c", about so wide at most."""
    *first, last = _shortened(
        items, widest - width(", " * (len(items) - 2) + " and " * (len(items) > 1))
    )
    return f"{', '.join(first)} and {last}" if first else last


def _shortened(items: Sequence[object], room: float) -> list[str]:
    names = list(map(item_name, items))
    shares: dict[int, float] = {}
    for place in sorted(range(len(names)), key=lambda place: width(names[place])):
        shares[place] = min(width(names[place]), room / (len(names) - len(shares)))
        room -= shares[place]
    return [_cut_name(name, shares[place] + 1e-9) for place, name in enumerate(names)]


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
    """One row: an itemset, or a rule. items: None for one without a name. then: of a rule, its
    consequent.

    length, low, high: the number released and the ends of its interval, in units of the scale; None
    where none was released. number, interval: the same as texts. lift: of a rule, the estimate and
    the ends of its interval.
    """

    items: tuple[object, ...] | None
    length: float | None = None
    low: float | None = None
    high: float | None = None
    number: str = ""
    interval: str = ""
    doubtful: bool = False
    then: tuple[object, ...] | None = None
    lift: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def label(self, widest: float) -> str:
        """Return what stands beside it, about so wide at most, in units of the letters' size."""
        name = (
            UNNAMED
            if self.items is None
            else short_name(self.items, widest if self.then is None else widest / 2)
        )
        then = "" if self.then is None else f" → {short_name(self.then, widest / 2)}"
        return f"{name}{then} {MARK}" if self.doubtful else name + then

    @property
    def described(self) -> str:
        """All of it in words, for who points at it or hears it."""
        name = UNNAMED if self.items is None else in_braces(self.items)
        name += "" if self.then is None else f" → {in_braces(self.then)}"
        numbers = f": {self.number} ({self.interval})" if self.number else ""
        doubt = "; may not be one of those asked for" if self.then is None else "; may be chance"
        return name + numbers + (doubt if self.doubtful else "")


@dataclass(frozen=True)
class BarChart:
    """Rows from the top down, in the order of the release, and the texts around them.

    title: its message, on one line. about: what was released, below that. scale: what lengths are;
    "" where there are none. per_cent: whether they are percentages, so that no scale goes beyond
    100. more: how many itemsets have no row. warning: stands on top. reach: how far the scale goes
    at least. lifts: rows are rules, drawn by their lift.
    """

    title: str
    bars: tuple[Bar, ...]
    scale: str = ""
    per_cent: bool = False
    more: int = 0
    warning: str = ""
    notes: tuple[str, ...] = ()
    reach: float = 0.0
    about: str = ""
    lifts: bool = False

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
        """Where the scale has ticks: round numbers from 0 to the first that no interval goes
        beyond.
        """
        rough = self.longest / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(each * power for each in _STEPS if each * power >= rough * (1 - 1e-9))
        if not self.per_cent:
            step = max(math.ceil(step), 1)  # units are whole
        count = math.ceil(self.longest / step - 1e-9)
        ticks = tuple(round(place * step, 12) for place in range(count + 1))
        return (
            (*(tick for tick in ticks if tick < 100), 100.0)
            if self.per_cent and ticks[-1] > 100
            else ticks
        )

    def tick_text(self, tick: float) -> str:
        """Return what stands at a tick."""
        return f"{tick:g} %" if self.per_cent else f"{tick:,.0f}"

    @property
    def lift_ticks(self) -> tuple[float, ...]:
        """Where the logarithmic scale of lifts has ticks: from the least to the most that is drawn,
        1 among them.
        """
        lifts = [1.0, *(bar.lift[0] for bar in self.bars)]
        steps = [each * 10.0**power for power in range(-6, 10) for each in (1, 2, 5)]
        first = max((place for place, step in enumerate(steps) if step <= min(lifts)), default=0)
        last = min(
            (place for place, step in enumerate(steps) if step >= 1.05 * max(lifts)),
            default=len(steps) - 1,
        )
        apart = 1 if last - first <= 2 * _TICKS else 3  # powers of ten, and 1 is one
        first, last = (first - first % apart, last + -last % apart) if apart > 1 else (first, last)
        return tuple(float(f"{step:g}") for step in steps[first : last + 1 : apart])

    @property
    def below(self) -> tuple[str, ...]:
        """What stands below the bars: what is not drawn, and the notes."""
        more = f"{self.more:,} more {'is' if self.more == 1 else 'are'} not drawn."
        return (more, *self.notes) if self.more else self.notes


def on_one_scale(charts: Sequence[BarChart]) -> list[BarChart]:
    """Return charts whose scales end alike, those of shares and those of units each among
    themselves.
    """
    ends = {
        per_cent: max(
            (one.longest for one in charts if one.has_lengths and one.per_cent is per_cent),
            default=0.0,
        )
        for per_cent in (True, False)
    }
    return [replace(chart, reach=ends[chart.per_cent]) for chart in charts]


# Rules on a plane. Labels are placed where they hide nothing, the surest first, so only some have
# one.
Box = tuple[float, float, float, float]
_DOT = 4.5


def placed(
    names: Sequence[str], points: Sequence[tuple[float, float]], room: Box, letter: float
) -> list[Box | None]:
    """Return the box of each point's label: left, top, right, bottom; None where one would hide
    another or a point.

    points: where they are, the origin on top. room: what labels stay inside. letter: the size of
    letters.
    """
    dots = [(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in points]
    boxes: list[Box | None] = []
    for name, (x, y), own in zip(names, points, dots, strict=True):
        long, half, apart = letter * width(name), 0.65 * letter, 2 * _DOT
        others = [*(dot for dot in dots if dot != own), *(box for box in boxes if box is not None)]
        middles = (
            (x + apart + long / 2, y),
            (x - apart - long / 2, y),
            (x, y - apart - half),
            (x, y + apart + half),
        )
        tried = [(at - long / 2, line - half, at + long / 2, line + half) for at, line in middles]
        fits = (
            box
            for box in tried
            if _inside(box, room) and not any(overlap(box, other) for other in others)
        )
        boxes.append(next(fits, None))
    return boxes


def anchored(box: Box, x: float) -> tuple[float, str]:
    """Return where the text of a label is held, and by which of its ends: the one that is next to
    its point.
    """
    if box[0] > x:
        return box[0], "start"
    return (box[2], "end") if box[2] < x else (x, "middle")


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes have some place in common."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _inside(box: Box, room: Box) -> bool:
    return room[0] <= box[0] and room[1] <= box[1] and box[2] <= room[2] and box[3] <= room[3]


def unlabelled(boxes: Sequence[Box | None]) -> tuple[str, ...]:
    """Return how many points have no label, in a sentence; nothing where all have one."""
    if not (count := boxes.count(None)):
        return ()
    return (
        (
            f"{count:,} of {len(boxes):,} rules have no label, because there is no room. The "
            f"table of rules has all."
        ),
    )


# SVG without script, which loads nothing. Names come from somebody's file: all text is escaped. In
# pixels: of the whole, around it, a row, the plane of rules, and the sizes of letters: 12 px are 9
# pt.
_WHOLE, _MARGIN, _ROW, _PLANE, _BESIDE = 860, 20, 26, 420, 58
_LARGE, _LETTER, _SMALL = 14, 13, 12
# How wide a title and the label of a rule are at most, in units of the letters' size.
TITLE, _RULE_WIDE = 0.95 * (_WHOLE - 2 * _MARGIN) / _LARGE, 24.0


def svg(*charts: BarChart) -> str:
    """Return charts, one below the other, as one element of SVG, which is a whole file as it is."""
    drawn: list[str] = []
    y = 0
    for chart in charts:
        y = _svg_chart(drawn, chart, y + _MARGIN)
    height = y + _MARGIN
    label = _safe("; ".join(chart.title for chart in charts))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="fim-chart" viewBox="0 0 {_WHOLE} '
        f'{height}" width="{_WHOLE}" '
        f'height="{height}" role="img" aria-label="{label}" style="max-width:100%;height:auto">'
    )
    paper = f'<rect class="paper" width="{_WHOLE}" height="{height}"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>{paper}", *drawn, "</svg>\n"])


def _svg_chart(drawn: list[str], chart: BarChart, y: int) -> int:
    y = _svg_lines(drawn, lines(chart.warning, _room(_LETTER)), y, "warn", _LETTER)
    y = _svg_lines(drawn, [cut(chart.title, TITLE)], y, "title", _LARGE)
    y = _svg_lines(drawn, lines(chart.about, _room(_SMALL)), y, "soft", _SMALL)
    notes: tuple[str, ...] = ()
    if chart.lifts:
        y, notes = _svg_plane(drawn, chart, y + 14)
    else:
        y = (
            _svg_rows(drawn, chart, y + 10)
            if chart.has_lengths
            else _svg_list(drawn, chart, y + 10)
        )
    for note in (*notes, *chart.below):
        y = _svg_lines(drawn, lines(note, _room(_SMALL)), y + 6, "soft", _SMALL)
    return y


def _room(size: int) -> float:
    return 1.1 * (_WHOLE - 2 * _MARGIN) / size  # sentences are narrower than names can be


def _svg_lines(drawn: list[str], texts: Sequence[str], y: int, kind: str, size: int) -> int:
    for line in texts:
        y += round(size * 1.45)
        drawn.append(_text(line, _MARGIN, y - round(size * 0.35), kind, size))
    return y


def _svg_rows(drawn: list[str], chart: BarChart, top: int) -> int:
    left = _MARGIN + 16 + round(_LETTER * max(width(bar.label(WIDE)) for bar in chart.bars))
    right = _WHOLE - _MARGIN - 20 - round(_LETTER * max(width(bar.number) for bar in chart.bars))
    bottom, end = top + _ROW * len(chart.bars), chart.ticks[-1]

    def x(length: float) -> float:
        return left + (right - left) * min(max(length / end, 0), 1)

    for tick in chart.ticks:
        drawn.append(_path("rule", f"M{x(tick):.1f} {top}V{bottom + 4}"))
        drawn.append(
            _text(
                chart.tick_text(tick), x(tick), bottom + 18, "soft number", _SMALL, anchor="middle"
            )
        )
    drawn.append(
        _text(chart.scale, (left + right) / 2, bottom + 38, "soft", _SMALL, anchor="middle")
    )
    for place, bar in enumerate(chart.bars):
        middle = top + _ROW * place + _ROW / 2
        drawn.append(f"<g><title>{_safe(bar.described)}</title>")
        drawn.append(_text(bar.label(WIDE), left - 14, middle + 4.5, "name", _LETTER, anchor="end"))
        if bar.length is None or bar.low is None or bar.high is None:
            drawn.append(_text("not released", left + 6, middle + 4.5, "soft", _SMALL))
        else:
            drawn.append(_path("interval", f"M{x(bar.low):.1f} {middle:g}H{x(bar.high):.1f}"))
            drawn.append(_dot(x(bar.length), middle, doubtful=bar.doubtful))
            drawn.append(
                _text(bar.number, _WHOLE - _MARGIN, middle + 4.5, "number", _LETTER, anchor="end")
            )
        drawn.append("</g>")
    return bottom + 46


def _svg_list(drawn: list[str], chart: BarChart, top: int) -> int:
    for place, bar in enumerate(chart.bars, 1):
        y = top + _ROW * place
        drawn.append(_path("rule", f"M{_MARGIN} {y}H{_WHOLE - _MARGIN}"))
        drawn.append(_text(f"{place}", _MARGIN + 28, y - 8, "soft number", _SMALL, anchor="end"))
        name = _text(bar.label(2 * WIDE), _MARGIN + 42, y - 8, "name", _LETTER)
        drawn.append(f"<g><title>{_safe(bar.described)}</title>{name}</g>")
    return top + _ROW * len(chart.bars) + 8


def _svg_plane(drawn: list[str], chart: BarChart, top: int) -> tuple[int, tuple[str, ...]]:
    top += _SMALL + 4
    left, right, bottom = _MARGIN + _BESIDE, _WHOLE - _MARGIN - 10, top + _PLANE
    drawn.append(_text("confidence", _MARGIN, top - 14, "soft", _SMALL))
    lifts = chart.lift_ticks

    def x(lift: float) -> float:
        along = math.log(max(lift, lifts[0]) / lifts[0]) / math.log(lifts[-1] / lifts[0])
        return left + (right - left) * min(along, 1)

    def y(confidence: float) -> float:
        return bottom - _PLANE * confidence / 100

    for tick in range(0, 101, 20):
        drawn.append(_path("rule", f"M{left} {y(tick):g}H{right}"))
        drawn.append(_text(f"{tick} %", left - 8, y(tick) + 4, "soft number", _SMALL, anchor="end"))
    for lift in lifts:
        drawn.append(_path("even" if lift == 1 else "rule", f"M{x(lift):.1f} {top}V{bottom + 4}"))
        drawn.append(
            _text(f"{lift:g}", x(lift), bottom + 18, "soft number", _SMALL, anchor="middle")
        )
    drawn.append(
        _text(chart.scale, (left + right) / 2, bottom + 38, "soft", _SMALL, anchor="middle")
    )
    points = [(x(bar.lift[0]), y(bar.length or 0)) for bar in chart.bars]
    names = [bar.label(_RULE_WIDE) for bar in chart.bars]
    boxes = placed(names, points, (left, top, right, bottom), _SMALL)
    for bar, (at, line), box, name in zip(chart.bars, points, boxes, names, strict=True):
        across = f"M{x(bar.lift[1]):.1f} {line:.1f}H{x(bar.lift[2]):.1f}"
        ends = f"{across}M{at:.1f} {y(bar.low or 0):.1f}V{y(bar.high or 0):.1f}"
        drawn.append(f"<g><title>{_safe(bar.described)}</title>{_path('interval faint', ends)}")
        drawn.append(_dot(at, line, doubtful=bar.doubtful))
        if box is not None:
            place, anchor = anchored(box, at)
            drawn.append(
                _text(name, place, (box[1] + box[3]) / 2 + 4, "name", _SMALL, anchor=anchor)
            )
        drawn.append("</g>")
    return bottom + 46, unlabelled(boxes)


def _path(kind: str, way: str) -> str:
    return f'<path class="{kind}" d="{way}"/>'


def _dot(x: float, y: float, *, doubtful: bool) -> str:
    return (
        f'<circle class="mark{" maybe" if doubtful else ""}" cx="{x:.1f}" cy="{y:.1f}" r="{_DOT}"/>'
    )


def _text(text: str, x: float, y: float, kind: str, size: int, *, anchor: str = "start") -> str:
    place = f'x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{_safe(text)}</text>'


def _safe(text: str) -> str:
    return escape(printable(text), quote=True)


# Of figures that are made here, in inches: how wide, how high a row is, and the scale with what is
# around the rows.
_INCHES, _ROW_INCHES, _AROUND, _POINTS = 9.0, 0.27, 0.9, 72
# Of letters, in points, and how high a line is.
_LETTER_POINTS, _SMALL_POINTS, _LEADING = 9.5, 9.0, 1.3


def of_matplotlib(module: str) -> Any:
    """Return a module of matplotlib, of an extra. Raises MissingExtraError, which says what to
    install, without it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError(
            'figures need matplotlib: pip install "fim-private[figures]"'
        ) from None


def _height(chart: BarChart) -> float:
    return _PLANE / _WHOLE * _INCHES if chart.lifts else _ROW_INCHES * max(len(chart.bars), 1)


def draw(chart: BarChart, ax: Any = None) -> Any:
    """Draw a chart on axes, or in a new figure of pyplot that is as high as it takes, and return
    the axes.
    """
    if ax is not None and not isinstance(ax, of_matplotlib("matplotlib.axes").Axes):
        raise ParameterError(f"{parameter('ax')} must be axes of matplotlib, not {shown(ax)}")
    pyplot, alone = of_matplotlib("matplotlib.pyplot"), ax is None
    room = _POINTS * (
        _INCHES if ax is None else 0.6 * ax.get_position().width * ax.figure.get_figwidth()
    )
    above = [*lines(chart.warning, room / _LETTER_POINTS), cut(chart.title, TITLE)]
    if not alone:
        above = [line for each in above for line in lines(each, room / _LETTER_POINTS)]
    below = [
        line for each in (chart.about, *chart.below) for line in lines(each, room / _SMALL_POINTS)
    ]
    if alone:
        around = _LETTER_POINTS * len(above) + _SMALL_POINTS * (len(below) + 1)
        height = _AROUND + _height(chart) + _LEADING * around / _POINTS
        _, ax = pyplot.subplots(figsize=(_INCHES, height), layout="constrained")
    (_draw_plane if chart.lifts else _draw_rows)(chart, ax, ax.xaxis.label.get_color(), below)
    ax.spines[:].set_visible(False)
    texts = [
        *ax.texts,
        *(label for tick in ax.yaxis.get_major_ticks() for label in (tick.label1, tick.label2)),
    ]
    if alone:
        beside = {"x": 0.01, "ha": "left"}
        texts.append(
            ax.figure.suptitle("\n".join(above), weight="bold", fontsize=_LETTER_POINTS, **beside)
        )
        texts.append(ax.figure.supxlabel("\n".join(below), fontsize=_SMALL_POINTS, **beside))
        ax.set_xlabel(chart.scale, fontsize=_SMALL_POINTS)
    else:
        texts.append(ax.set_title("\n".join(above), fontsize=_LETTER_POINTS))
        texts.append(
            ax.set_xlabel(
                "\n".join([chart.scale, *below] if chart.scale else below), fontsize=_SMALL_POINTS
            )
        )
    for text in texts:
        text.set_parse_math(False)  # a $ in a name is one
        text.set_usetex(False)
    return ax


def _mark(bar: Bar, ax: Any, ink: Any) -> dict[str, Any]:
    paper = ax.get_facecolor() if bar.doubtful else ink
    return {"color": ink, "marker": "o", "markersize": 6, "markerfacecolor": paper, "linestyle": ""}


def _draw_rows(chart: BarChart, ax: Any, ink: Any, _: list[str]) -> None:
    names = [each.label(WIDE) for each in chart.bars]
    ax.set_xticks([])
    if chart.has_lengths:
        for place, each in enumerate(chart.bars):
            names[place] += f"   {each.number or 'not released'}"
            if each.length is not None:
                ax.plot([each.low, each.high], [place, place], color=ink)
                ax.plot([each.length], [place], **_mark(each, ax, ink))
        ax.set_xlim(0, chart.ticks[-1])
        ax.set_xticks(
            chart.ticks, [chart.tick_text(tick) for tick in chart.ticks], fontsize=_SMALL_POINTS
        )
        ax.grid(True, axis="x", alpha=0.35)
        ax.set_axisbelow(True)
    ax.set_yticks(range(len(names)), names, fontsize=_LETTER_POINTS)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)  # the first on top
    ax.tick_params(axis="y", length=0)


def _draw_plane(chart: BarChart, ax: Any, ink: Any, below: list[str]) -> None:
    lifts = chart.lift_ticks
    ax.set(xscale="log", xlim=(lifts[0], lifts[-1]), ylim=(0, 100))
    ax.set_xticks(lifts, [f"{lift:g}" for lift in lifts], fontsize=_SMALL_POINTS)
    ax.set_xticks([], minor=True)
    ax.set_yticks(
        range(0, 101, 20), [f"{tick} %" for tick in range(0, 101, 20)], fontsize=_SMALL_POINTS
    )
    ax.set_ylabel("confidence", fontsize=_SMALL_POINTS)
    ax.grid(True, alpha=0.35)
    ax.axvline(1, color=ink, linestyle="--", linewidth=1)
    box = ax.get_position()
    inches = zip((box.width, box.height), ax.figure.get_size_inches(), strict=True)
    wide, high = (_POINTS * share * whole for share, whole in inches)
    along = math.log(lifts[-1] / lifts[0])
    points = [
        (wide * math.log(bar.lift[0] / lifts[0]) / along, high * (1 - (bar.length or 0) / 100))
        for bar in chart.bars
    ]
    names = [bar.label(_RULE_WIDE) for bar in chart.bars]
    boxes = placed(names, points, (0, 0, wide, high), _SMALL_POINTS)
    below += unlabelled(boxes)
    ends = {"start": "left", "end": "right", "middle": "center"}
    for bar, point, box, name in zip(chart.bars, points, boxes, names, strict=True):
        ax.plot(bar.lift[1:], [bar.length, bar.length], color=ink, alpha=0.3)
        ax.plot([bar.lift[0]] * 2, [bar.low, bar.high], color=ink, alpha=0.3)
        ax.plot([bar.lift[0]], [bar.length], **_mark(bar, ax, ink))
        if box is not None:
            x, anchor = anchored(box, point[0])
            how = {
                "ha": ends[anchor],
                "va": "center",
                "transform": ax.transAxes,
                "fontsize": _SMALL_POINTS,
            }
            ax.text(x / wide, 1 - (box[1] + box[3]) / 2 / high, name, **how)


def draw_all(charts: Sequence[BarChart]) -> list[Any]:
    """Draw charts one below the other in a new figure of pyplot, and return their axes."""
    heights = [2 * _AROUND + _height(chart) for chart in charts]
    figure = of_matplotlib("matplotlib.pyplot").figure(
        figsize=(_INCHES, sum(heights)), layout="constrained"
    )
    axes = figure.subplots(len(charts), squeeze=False, height_ratios=heights)[:, 0]
    return [draw(chart, ax) for chart, ax in zip(charts, axes, strict=True)]
