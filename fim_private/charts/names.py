"""Texts that fit: names of itemsets on one line, each item cut rather than the last ones lost, and lines of paragraphs.

Widths are those of the widest of the common sans-serif letters, in units of their size: what draws them is not asked.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from fim_private.glance import printable

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
