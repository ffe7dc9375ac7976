"""Elements of a page of HTML, and a whole page of them, for which a browser may fetch nothing.

markup.css has the looks of a page. markup.js adds a search box and sorting. A page reads as well
without them.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from fim_private import __version__
from fim_private.display import MARK, item_name, printable
from fim_private.errors import ParameterError, parameter, shown
from fim_private.reading.labels import Item
from fim_private.release.chart import DARK, LIGHT, variables


# Names come from outside, and must stay text wherever they stand.
def text(content: object) -> str:
    """Return content as HTML that shows it as it is; what cannot be shown, such as a line break, as
    an escape.
    """
    return escape(printable(str(content)), quote=True)


def tag(name: str, *inside: str, **attributes: object) -> str:
    """Return an element. inside: HTML. attributes: text, None for none; class_ is class, aria_label
    aria-label.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{''.join(inside)}</{name}>"


def paragraph(content: str, **attributes: object) -> str:
    """Return a paragraph of text."""
    return tag("p", text(content), **attributes)


def name_of(item: Item, **attributes: object) -> str:
    """Return the name of an item, whose letters may run the other way."""
    name = tag("bdi", text(item_name(item))) if str(item).strip() else tag("em", "an empty name")
    return tag("span", name, **attributes)


def chips(items: tuple[Item, ...] | None, unit: str, mark: str = "") -> str:
    """Return items as chips. mark: what is doubtful about them, if they are."""
    doubt = tag("abbr", MARK, title=mark) if mark else ""
    if items is None:
        return (
            tag("em", text(f"an itemset without a name: in no {unit}, or in too few to be named"))
            + doubt
        )
    return tag("span", *(name_of(item, class_="chip") for item in items), class_="chips") + doubt


def in_sentence(items: Sequence[Item]) -> str:
    """Return items within a sentence: bread, butter and jam."""
    *first, last = (name_of(item, class_="name") for item in items)
    return f"{', '.join(first)} and {last}" if first else last


# How the page looks and what it does. Colours have a contrast of 4.5 or more; nothing is loaded
# from anywhere.
_HERE = Path(__file__)
_LIGHT = f"{variables(LIGHT)} --rule: #d5dbe3; --card: #f4f6f9; --warnpaper: #fff1e3;"
_DARK = f"{variables(DARK)} --rule: #333c48; --card: #1d232c; --warnpaper: #33230f;"
STYLE = (
    f"\n:root {{ color-scheme: light dark; {_LIGHT} }}\n"
    f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}\n"
    f"{_HERE.with_suffix('.css').read_text(encoding='utf-8')}"
)
SCRIPT = _HERE.with_suffix(".js").read_text(encoding="utf-8")
_HASH = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_HASH}'; img-src data:"
)


def checked_title(title: str | None) -> None:
    """Raise ParameterError for a title that is none."""
    if title is not None and not (isinstance(title, str) and title.strip()):
        raise ParameterError(
            f"{parameter('title')} must be a text that is not empty, not {shown(title)}"
        )


def document(
    title: str,
    facts: Mapping[str, str],
    lead: str,
    main: Sequence[str],
    end: Sequence[str],
    warning: str,
) -> str:
    """Return a whole page. facts: what it is of, as texts; lead: HTML of the paragraph to read out.
    warning: a text.
    """
    head = (
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{text(POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        tag("title", text(title)),
        f"<style>{STYLE}</style>",
    )
    warned = paragraph(warning, class_="warning", role="alert") if warning else ""
    known = (
        tag("div", tag("dt", text(key)), tag("dd", tag("bdi", text(value))))
        for key, value in facts.items()
    )
    header = tag(
        "header",
        warned,
        tag("h1", tag("bdi", text(title))),
        tag("dl", *known, class_="facts"),
        tag("p", lead, class_="lead"),
    )
    made = paragraph(
        f"Made by fim-private {__version__} from a differentially private release.", class_="note"
    )
    body = tag(
        "body", header, tag("main", *main), tag("footer", *end, made), f"<script>{SCRIPT}</script>"
    )
    return f'<!DOCTYPE html>\n<html lang="en">{tag("head", *head)}{body}</html>\n'


def section(title: str, *inside: str, level: str = "h2", place: str = "") -> str:
    """Return a section with its title. place: what makes its names its own."""
    name = title.lower().replace(" ", "-") + place
    return tag("section", tag(level, text(title), id=name), *inside, aria_labelledby=name)


def grid(kind: str, heads: list[tuple[str, str]], rows: list[str]) -> str:
    """Return a table that can be sorted. kind: its class. heads: each with its classes."""
    cells = (
        tag("th", text(name), scope="col", role="columnheader", class_=where)
        for name, where in heads
    )
    head = tag("thead", tag("tr", *cells, role="row"), role="rowgroup")
    return tag("table", head, tag("tbody", *rows, role="rowgroup"), class_=kind, role="table")


def number_cell(kind: str, label: str, value: float, content: str, interval: str = "") -> str:
    """Return a cell with a number. label: what stands before it on a phone. value: by which it is
    sorted.
    """
    inside = text(content) + (tag("span", text(interval), class_="interval") if interval else "")
    plain = f"{value:.6g}" if math.isfinite(value) else "1e300"
    return tag(
        "td", inside, class_=f"number {kind}", role="cell", data_label=label, data_value=plain
    )
