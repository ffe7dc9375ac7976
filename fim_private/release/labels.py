"""How wide texts are, how names are cut, and where labels of points find room."""

import importlib
import unicodedata
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import NamedTuple

from fim_private.display import item_name, printable
from fim_private.errors import MissingExtraError

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
    # `share` is now that of the longest name: those that leave room to it are shorter.
    # A name in quotes keeps its closing quote.
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


# The size of small letters, and how wide what is drawn is, in pixels: 12 px are 9 pt.
SMALL, ROOM = 12, 820
# A box is its left, top, right and bottom.
Box = tuple[float, float, float, float]
Point = tuple[float, float]
DOT = 4.5

# Where the label of a dot can be, the best place first: by which end it is held, how much of it is
# to the left of that end, and whether this end is right of the dot (1), above it (-1), and so on.
_PLACES = (
    *(("start", 0.0, 1, 0), ("end", 1.0, -1, 0), ("middle", 0.5, 0, -1), ("middle", 0.5, 0, 1)),
    *(("start", 0.0, 0.7, -0.6), ("start", 0.0, 0.7, 0.6)),
    *(("end", 1.0, -0.7, -0.6), ("end", 1.0, -0.7, 0.6)),
    *(("middle", 0.5, 0, -2), ("middle", 0.5, 0, 2)),
    *(("start", 0.0, 1.2, -1.4), ("start", 0.0, 1.2, 1.4)),
    *(("end", 1.0, -1.2, -1.4), ("end", 1.0, -1.2, 1.4)),
    *(("start", 0.0, 2.5, 0), ("end", 1.0, -2.5, 0)),
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
        avoided: What labels lie on as little of as there is room for.
    """
    dots = [(x - DOT, y - DOT, x + DOT, y + DOT) for x, y in points]
    taken = [*dots]
    labels = []
    for name, dot, point in zip(names, dots, points, strict=True):
        obstacles = [box for box in taken if box != dot]
        free = [
            place
            for place in _places(name, *point)
            if _is_within(place.box, bounds) and not _overlaps(place.box, obstacles)
        ]
        # Of places that are equally clear, the first.
        label = min(free, key=lambda place: _overlaps(place.box, avoided), default=None)
        if label is not None:
            taken.append(label.box)
        labels.append(label)
    return labels


def _places(name: str, x: float, y: float) -> Iterator[Label]:
    """Yield the label of a point where it can be, the best place first."""
    length, half = SMALL * width(name), 0.65 * SMALL
    for anchor, before, to_the_right, below in _PLACES:
        held_x, middle = x + to_the_right * 2 * DOT, y + below * (2 * DOT + half)
        left = held_x - length * before
        box = left, middle - half, left + length, middle + half
        yield Label(name, anchor, held_x, middle, box)


def _is_within(box: Box, bounds: Box) -> bool:
    left, top, right, bottom = box
    fits_across = bounds[0] <= left and right <= bounds[2]
    return fits_across and bounds[1] <= top and bottom <= bounds[3]


def _overlaps(box: Box, others: Sequence[Box]) -> int:
    """Return with how many other boxes a box has a place in common."""
    left, top, right, bottom = box
    return sum(
        left < its_right and its_left < right and top < its_bottom and its_top < bottom
        for its_left, its_top, its_right, its_bottom in others
    )


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
