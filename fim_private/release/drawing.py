"""Drawings made of lines, squares, dots and texts: for SVG and for axes of matplotlib alike.

What is drawn has a lift, which its colour shows. Colours are those of ranges of lifts, so that two
pictures can be compared.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fim_private.release.labels import SMALL, Box, Point, of_matplotlib, width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where the ranges of lifts begin, but for the first, which is below 1: less often than by chance.
_LIFTS = (1.0, 1.5, 2.0, 4.0, 8.0, 16.0)
_RANGES = ("below 1", "1 to 1.5", "1.5 to 2", "2 to 4", "4 to 8", "8 to 16", "16 or more")
# Their colours on white, and on a dark page.
COLOURS = ("#c8641b", "#4f9cc0", "#2f80c2", "#2b5ba8", "#3b3a9c", "#741f8c", "#33032f")
DARK_COLOURS = ("#e39052", "#366b88", "#3d8ac2", "#6fa8ec", "#a9b6ff", "#dca8f6", "#ffe6fb")
# What a mark is drawn in: the colour of its lift, that of all else, that of a grid, or a
# faint one.
PLAIN, GRID, FAINT = "plain", "grid", "faint"
# Where texts of matplotlib are held.
_ALIGNED = {"start": "left", "end": "right", "middle": "center"}
_GREY = "#c9d0d8"
# A line of a legend, in pixels.
_LINE = 24
_ARROW, _BOX = 7.0, 8.0


def shade_of(lift: float) -> str:
    """Return the name of the colour of a lift."""
    return _shade(bisect_right(_LIFTS, lift))


def _shade(place: int) -> str:
    return f"lift-{place}"


@dataclass(frozen=True)
class Line:
    """A line from one point to another.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        width: How wide it is, in pixels.
        shade: The name of its colour.
        doubtful: Whether it is dashed.
        gap: How far before its end it has its arrow; 0 for no arrow.
        described: What it says, in words.
    """

    start: Point
    end: Point
    width: float = 1.0
    shade: str = PLAIN
    doubtful: bool = False
    gap: float = 0.0
    described: str = ""

    @property
    def boxes(self) -> list[Box]:
        """What it covers, as small boxes one after the other."""
        (x, y), (end_x, end_y) = self.start, self.end
        count = max(int(math.dist(self.start, self.end) / _BOX), 1)
        middles = [
            (x + (end_x - x) * step / count, y + (end_y - y) * step / count)
            for step in range(1, count)
        ]
        half = self.width / 2 + 1
        return [(x - half, y - half, x + half, y + half) for x, y in middles]

    @property
    def arrow(self) -> list[Point]:
        """The corners of its arrow."""
        (x, y), (end_x, end_y) = self.start, self.end
        length = math.dist(self.start, self.end) or 1.0
        along_x, along_y = (end_x - x) / length, (end_y - y) / length
        size = _ARROW + self.width
        tip_x, tip_y = end_x - self.gap * along_x, end_y - self.gap * along_y
        back_x, back_y = tip_x - size * along_x, tip_y - size * along_y
        side_x, side_y = -along_y * size / 2, along_x * size / 2
        return [
            (tip_x, tip_y),
            (back_x + side_x, back_y + side_y),
            (back_x - side_x, back_y - side_y),
        ]


@dataclass(frozen=True)
class Square:
    """A square.

    Attributes:
        centre: Where its middle is.
        side: How long its sides are, in pixels.
        shade: The name of its colour.
        doubtful: Whether it is hatched.
        described: What it says, in words.
    """

    centre: Point
    side: float
    shade: str = PLAIN
    doubtful: bool = False
    described: str = ""

    @property
    def corner(self) -> Point:
        """The upper left one."""
        return self.centre[0] - self.side / 2, self.centre[1] - self.side / 2


class Dot(NamedTuple):
    """A dot.

    Attributes:
        centre: Where its middle is.
        doubtful: Whether it is hollow.
        described: What it says, in words.
    """

    centre: Point
    doubtful: bool = False
    described: str = ""


@dataclass(frozen=True)
class Text:
    """A text of small letters.

    Attributes:
        content: What it says.
        x: Where it is held.
        y: Where its middle is.
        anchor: By which end it is held: "start", "middle" or "end".
    """

    content: str
    x: float
    y: float
    anchor: str = "start"


@dataclass(frozen=True)
class Drawing:
    """What is drawn, in pixels from the upper left corner; later ones lie on earlier ones.

    Attributes:
        width: The width of the whole.
        height: The height of the whole.
        lines: Lines, which lie below all else.
        squares: Squares, which lie on the lines.
        dots: Dots, which lie on the squares.
        texts: Texts, which lie on all else.
    """

    width: float
    height: float
    lines: Sequence[Line]
    squares: Sequence[Square]
    dots: Sequence[Dot]
    texts: Sequence[Text]

    @property
    def described(self) -> list[str]:
        """What its marks say, in words."""
        marks: list[Line | Square | Dot] = [*self.lines, *self.squares, *self.dots]
        return [mark.described for mark in marks if mark.described]

    def paint(self, ax: Axes, points: float) -> None:
        """Draw on axes of matplotlib, in pixels. points: the size of letters."""
        ink, paper = ax.xaxis.label.get_color(), ax.get_facecolor()
        shades = {PLAIN: ink, GRID: _GREY, FAINT: (ink, 0.3)}
        shades |= {_shade(place): colour for place, colour in enumerate(COLOURS)}
        ax.set_xlim(0, self.width)
        ax.set_ylim(self.height, 0)
        ax.set_aspect("equal")
        ax.set_yticks([])
        scale = points / SMALL
        for line in self.lines:
            _paint_line(ax, line, shades[line.shade], scale)
        for square in self.squares:
            _paint_square(ax, square, shades[square.shade], scale)
        fill = {True: paper, False: ink}
        for (x, y), doubtful, _ in self.dots:
            ax.scatter(x, y, s=36, color=fill[doubtful], edgecolors=ink, zorder=3)
        for text in self.texts:
            aligned = _ALIGNED[text.anchor]
            ax.text(text.x, text.y, text.content, ha=aligned, va="center", size=points, zorder=4)


def _paint_line(ax: Axes, line: Line, colour: Any, scale: float) -> None:
    """Draw a line, and its arrow if it has one. scale: how many points a pixel is."""
    style = "solid"
    if line.doubtful:
        style = "dashed"
    xs, ys = zip(line.start, line.end, strict=True)
    ax.plot(xs, ys, linestyle=style, color=colour, linewidth=scale * line.width)
    if line.gap:
        ax.fill(*zip(*line.arrow, strict=True), color=colour, linewidth=0)


def _paint_square(ax: Axes, square: Square, colour: Any, scale: float) -> None:
    """Draw a square, hatched if it is doubtful. scale: how many points a pixel is."""
    inside, edge, hatch = colour, ax.xaxis.label.get_color(), ""
    if square.doubtful:
        inside, edge, hatch = ax.get_facecolor(), colour, "/////"
    patch = of_matplotlib("matplotlib.patches").Rectangle(
        square.corner, square.side, square.side, lw=scale, zorder=2.5, hatch=hatch
    )
    patch.set(facecolor=inside, edgecolor=edge)
    ax.add_patch(patch)


@dataclass(frozen=True)
class Key:
    """An entry of a legend: a line or a square, and what it means.

    Attributes:
        meaning: The text beside it.
        line: How wide the line is, in pixels; 0 for a square.
        side: How long the sides of the square are, in pixels.
        shade: The name of its colour.
        doubtful: Whether it is dashed or hatched.
    """

    meaning: str
    line: float = 0.0
    side: float = 13.0
    shade: str = PLAIN
    doubtful: bool = False


def keys_of_lifts(marks: Sequence[Line | Square], line: float = 0.0) -> list[Key]:
    """Return the entries of a legend for the lifts of marks, the lowest first. line: as in Key."""
    present = {mark.shade for mark in marks}
    keys = [Key(f"lift {name}", line, shade=_shade(place)) for place, name in enumerate(_RANGES)]
    return [key for key in keys if key.shade in present]


def with_legend(drawing: Drawing, keys: Sequence[Key]) -> Drawing:
    """Return a drawing with a legend below it. Its entries stand in lines."""
    lines, squares, texts = [*drawing.lines], [*drawing.squares], [*drawing.texts]
    x, y = 0.0, drawing.height + _LINE
    for key in keys:
        wide = 40 + SMALL * width(key.meaning)
        if x and x + wide > drawing.width:
            x, y = 0.0, y + _LINE
        if key.line:
            start, end = (x, y), (x + 22, y)
            lines.append(Line(start, end, key.line, key.shade, key.doubtful))
        else:
            squares.append(Square((x + 11, y), key.side, key.shade, key.doubtful))
        texts.append(Text(key.meaning, x + 28, y))
        x += wide
    return Drawing(drawing.width, y + _LINE / 2, lines, squares, drawing.dots, texts)
