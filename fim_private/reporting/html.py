"""Tags and escaped text: item names come from outside, and must stay text wherever they stand."""

from __future__ import annotations

from html import escape

from fim_private.glance import printable
from fim_private.reading.vocabulary import Item


def text(content: object) -> str:
    """Return content as HTML that shows it as it is; what cannot be shown, such as a line break, as an escape.

    >>> text("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return escape(printable(str(content)), quote=True)


def tag(name: str, *inside: str, **attributes: object) -> str:
    """Return an element. inside: HTML, not text. attributes: text; class_ is class, aria_label aria-label.

    >>> tag("p", text("1 < 2"), class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' for key, value in attributes.items())
    return f"<{name}{given}>{''.join(inside)}</{name}>"


def chips(items: tuple[Item, ...] | None, unit: str) -> str:
    """Return an itemset as a row of its items, each in a frame, whatever way its letters run."""
    if items is None:
        return tag("em", text(f"an itemset without a name: in no {unit}, or in too few to be named"))
    shown = (tag("bdi", text(item)) if str(item).strip() else tag("em", "an empty name") for item in items)
    return tag("span", *(tag("span", each, class_="chip") for each in shown), class_="chips")
