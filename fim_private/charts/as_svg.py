"""A chart as SVG: one piece of text without script, which loads nothing, for light and dark grounds.

Names come from somebody's file: all text is escaped, and what cannot be shown is an escape.
"""

from __future__ import annotations

from html import escape

from fim_private.charts.bar_chart import WIDE, Bar, BarChart
from fim_private.charts.names import lines, width
from fim_private.charts.style import SVG_STYLE
from fim_private.glance import printable

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
    for text, kind, size in ((chart.warning, "warn", _LETTER), (chart.title, "title", _LARGE)):
        for line in _lines(text, size):
            y += round(size * 1.4)
            drawn.append(_text(line, _MARGIN, y - round(size * 0.35), kind, size))
    rows, y = _bars(chart, y + 10) if chart.has_lengths else _list(chart, y + 10)
    drawn += rows
    for note in chart.below:
        y += 6
        for line in _lines(note, _SMALL):
            y += round(_SMALL * 1.45)
            drawn.append(_text(line, _MARGIN, y - 4, "soft", _SMALL))
    return drawn, y


def _bars(chart: BarChart, top: int) -> tuple[list[str], int]:
    """Return the bars with their scale, and where they end."""
    left = _MARGIN + 10 + round(_LETTER * max(width(bar.label(WIDE)) for bar in chart.bars))
    right = _WHOLE - _MARGIN - 14 - round(_LETTER * max(width(bar.told) for bar in chart.bars))
    bottom = top + _ROW * len(chart.bars)

    def x(length: float) -> float:
        return left + (right - left) * length / chart.end

    drawn = []
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
            drawn.append(_text(bar.told, _WHOLE - _MARGIN, middle + 4.5, "number", _LETTER, anchor="end"))
        drawn.append("</g>")
    return drawn, bottom + 46


def _list(chart: BarChart, top: int) -> tuple[list[str], int]:
    """Return the names, numbered in their order, and where they end."""
    drawn = []
    for place, bar in enumerate(chart.bars, 1):
        y = top + _ROW * place
        drawn.append(f'<path class="rule" d="M{_MARGIN} {y}H{_WHOLE - _MARGIN}"/>')
        drawn.append(_text(f"{place}", _MARGIN + 28, y - 8, "soft number", _SMALL, anchor="end"))
        drawn.append(f"<g><title>{_safe(bar.described)}</title>{_listed(bar, y - 8)}</g>")
    return drawn, top + _ROW * len(chart.bars) + 8


def _listed(bar: Bar, y: int) -> str:
    return _text(bar.label(2 * WIDE), _MARGIN + 42, y, "name", _LETTER)


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
