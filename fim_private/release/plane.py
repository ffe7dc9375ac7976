"""Rules as dots by their lift, from left to right, and their confidence, from the bottom up.

The first rules are named in full, in a column beside the dots, and have their intervals. The others
have numbers, which a legend explains.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from fim_private.display import MARK
from fim_private.release.chart import WIDE, Bar
from fim_private.release.drawing import FAINT, GRID, Dot, Drawing, Line, Text
from fim_private.release.labels import ROOM, Point, packed, placed_labels, short_name

# How many rules are named in full.
NAMED = 12
# In pixels: the ends of the scale of lifts, the height of that of confidences, how far below it the
# numbers and the title of the scale of lifts are, and where the legend begins.
_LEFT, _RIGHT, _HIGH, _TICKS_BELOW, _TITLE_BELOW, _LEGEND_BELOW = 50.0, 575.0, 440.0, 14, 34, 62
# How far apart names are, and lines of text; and where the column of names begins.
_APART, _LINE, _COLUMN = 35.0, 17.0, 590.0
# How wide the side of a rule and a line of the legend are, in units of the letters' size.
_SIDE_WIDE, _LEGEND_WIDE = 22.0, 68.0
# Confidences end at a multiple of this, in per cent; lifts have so many ticks at most.
_STEP, _MOST_TICKS = 20, 11


@dataclass(frozen=True)
class _Plane:
    """Where lifts and confidences are.

    Attributes:
        lifts: The ticks of lifts, on a logarithmic scale.
        most: Where confidences end, in per cent.
    """

    lifts: Sequence[float]
    most: int

    def place(self, lift: float, confidence: float) -> Point:
        """Return where a lift and a confidence (in per cent) are, or the nearest within."""
        lowest, highest = self.lifts[0], self.lifts[-1]
        lift = min(max(lift, lowest), highest)
        along = math.log(lift / lowest) / math.log(highest / lowest)
        return _LEFT + (_RIGHT - _LEFT) * along, _HIGH * (1 - min(confidence / self.most, 1))


def plane_of(bars: Sequence[Bar]) -> Drawing:
    """Return a drawing of rules that have lift, of which the surest is the first."""
    named = bars[:NAMED]
    ends = [*(bar.length or 0 for bar in bars), *(bar.high for bar in named)]
    steps = math.ceil(max(ends, default=0) / _STEP)
    plane = _Plane(_lift_ticks([bar.lift[0] for bar in bars]), min(_STEP * max(steps, 1), 100))
    points = [plane.place(bar.lift[0], bar.length or 0) for bar in bars]
    dots = [
        Dot(point, bar.doubtful, bar.described) for point, bar in zip(points, bars, strict=True)
    ]
    grid, scales = _scales(plane)
    pointers, names = _names(points, named)
    numbers, bottom = _numbers(points, bars)
    lines = [*grid, *_intervals(plane, named), *pointers]
    return Drawing(ROOM, bottom, lines, [], dots, [*scales, *names, *numbers])


def _intervals(plane: _Plane, named: Sequence[Bar]) -> list[Line]:
    """Return the intervals of rules: two lines of each."""
    lines = []
    for bar in named:
        lift, least, most = bar.lift
        left, right = (plane.place(end, bar.length or 0) for end in (least, most))
        below, above = (plane.place(lift, end) for end in (bar.low, bar.high))
        lines += [Line(left, right, 2, FAINT), Line(below, above, 2, FAINT)]
    return lines


def _names(points: Sequence[Point], named: Sequence[Bar]) -> tuple[list[Line], list[Text]]:
    """Return lines that lead to the names of rules, and these names in a column."""
    lines, texts = [], []
    rows = sorted(zip(points, named, strict=False), key=lambda row: row[0][1])
    heights = _spread([point[1] for point, _ in rows])
    for (point, bar), height in zip(rows, heights, strict=True):
        lines.append(Line(point, (_COLUMN - 5, height), 1, FAINT))
        name, end = (short_name(side, _SIDE_WIDE) for side in bar.sides)
        if bar.doubtful:
            end += f" {MARK}"
        texts.append(Text(f"{name} →", _COLUMN, height - _LINE / 2))
        texts.append(Text(end, _COLUMN, height + _LINE / 2))
    return lines, texts


def _numbers(points: Sequence[Point], bars: Sequence[Bar]) -> tuple[list[Text], float]:
    """Return the numbers of the rules without names, with the legend, and where that ends."""
    texts, legend = [], []
    names = [str(number) for number in range(NAMED + 1, len(bars) + 1)]
    labels = placed_labels(names, points[NAMED:], (_LEFT, 0, _RIGHT, _HIGH))
    for bar, label in zip(bars[NAMED:], labels, strict=True):
        if label is not None:
            texts.append(Text(label.name, label.x, label.y, label.anchor))
            legend.append(f"{label.name} {bar.label(WIDE)}")
    missing = labels.count(None)
    if missing:
        legend.append(f"{missing:,} dots have no number: there is no room for it")
    bottom = _HIGH + _LEGEND_BELOW
    for line in packed(legend, _LEGEND_WIDE):
        texts.append(Text(line, 0, bottom))
        bottom += _LINE
    return texts, bottom


def _scales(plane: _Plane) -> tuple[list[Line], list[Text]]:
    """Return the grid, and what stands beside it."""
    lines: list[Line] = []
    middle = (_LEFT + _RIGHT) / 2
    title = "lift: how many times as often as by chance"
    texts = [
        Text("confidence", 0, -_TICKS_BELOW),
        Text(title, middle, _HIGH + _TITLE_BELOW, "middle"),
    ]
    lowest, highest = plane.lifts[0], plane.lifts[-1]
    for confidence in range(0, plane.most + 1, min(max(plane.most // 4, 5), _STEP)):
        start = plane.place(lowest, confidence)
        lines.append(Line(start, plane.place(highest, confidence), shade=GRID))
        texts.append(Text(f"{confidence} %", _LEFT - 8, start[1], "end"))
    for lift in plane.lifts:
        start = plane.place(lift, 0)
        lines.append(Line(start, plane.place(lift, plane.most), shade=GRID))
        texts.append(Text(f"{lift:g}", start[0], _HIGH + _TICKS_BELOW, "middle"))
    lines.append(Line(plane.place(1, 0), plane.place(1, plane.most), doubtful=True))
    return lines, texts


def _lift_ticks(lifts: Sequence[float]) -> list[float]:
    """Return ticks from the least lift to the most, 1 among them."""
    lifts = [1.0, *lifts]
    ticks: list[float] = []
    for digits in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,)):
        steps = [float(f"{digit}e{power}") for power in range(-6, 10) for digit in digits]
        first = max(bisect_right(steps, min(lifts)) - 1, 0)
        ticks = steps[first : bisect_left(steps, 1.05 * max(lifts)) + 1]
        if len(ticks) <= _MOST_TICKS:
            break
    return ticks


def _spread(heights: Sequence[float]) -> list[float]:
    """Return heights in order, moved so that they are `_APART` and within the plane."""
    spread: list[float] = []
    last = -_APART / 2
    for height in heights:
        last = max(height, last + _APART)
        spread.append(last)
    last = _HIGH + _APART / 2
    for place in reversed(range(len(spread))):
        last = min(spread[place], last - _APART)
        spread[place] = last
    return spread
