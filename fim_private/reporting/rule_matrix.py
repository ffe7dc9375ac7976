"""Rules as a matrix, what is bought down the side and what goes with it along the top; and as a table."""

from __future__ import annotations

import math

from fim_private.mining.release import Release
from fim_private.mining.release_rules import rules_cells, rules_note
from fim_private.mining.wording import MARK
from fim_private.reading.vocabulary import Item
from fim_private.reporting.html import chips, tag, text
from fim_private.rules.association import Rules

# More rows or columns do not fit a page, and more rules nobody reads; the other forms of a release have all.
_WIDEST, _MOST_ROWS = 24, 200
_CELL, _LONGEST = 30, 22
# From which lift on a circle is darker.
_STEPS = (1.0, 1.5, 2.5, 5.0)
# How dark all are where there are no lifts.
_UNSHADED = 2


def rules_section(release: Release, rules: Rules) -> str:
    """Return the rules as HTML: a matrix where they fit one, the table, and how to read it."""
    title, _, rows = rules_cells(rules, release)
    if not len(rules):
        return tag("p", text("No rule of these itemsets has as much confidence and lift as was asked for."))
    heads = ("If a basket has" if release.privacy_unit == "basket" else "Who buys", "", "also", "Share", "Confidence")
    shown, doubted = min(len(rules), _MOST_ROWS), _doubted(rules)
    body = []
    for place in range(shown):
        doubt = tag("abbr", MARK, title=doubted) if rules.doubtful[place] else ""
        cells = [
            tag("td", chips(rules.antecedents[place], release.privacy_unit), role="cell"),
            tag("td", tag("span", "→", aria_label="goes with"), class_="arrow", role="cell"),
            tag("td", chips(rules.consequents[place], release.privacy_unit) + doubt, role="cell"),
            *_numbers(rows[place]),
        ]
        body.append(tag("tr", *cells, role="row", class_="doubtful" if rules.doubtful[place] else "sure"))
    lift = ("Lift",) if rules.has_lifts else ()
    head = [tag("th", text(each), scope="col", role="columnheader") for each in (*heads, *lift)]
    table = tag(
        "table",
        tag("caption", text(title)),
        tag("thead", tag("tr", *head, role="row"), role="rowgroup"),
        tag("tbody", *body, role="rowgroup"),
        class_="rules",
        role="table",
    )
    rest = "" if shown == len(rules) else tag("p", text(f"The other {len(rules) - shown:,} are in the release's file."))
    return _matrix(rules) + table + rest + tag("p", text(rules_note(rules)), class_="note")


def _numbers(row: list[str]) -> list[str]:
    """Return the cells of share, confidence and perhaps lift, each of the last two with its interval."""
    _, share, confidence, of_confidence, *lift = row
    pairs = [(share, "", "share"), (confidence, of_confidence, "confidence")]
    if lift:
        pairs.append((lift[0], lift[1], "lift"))
    return [
        tag(
            "td",
            tag("span", text(value), class_="value"),
            tag("span", text(interval), class_="interval") if interval else "",
            class_=f"number {kind}",
            role="cell",
        )
        for value, interval, kind in pairs
    ]


def _matrix(rules: Rules) -> str:
    """Return the rules as circles: larger with more confidence, darker with more lift (if any); hollow if doubtful."""
    sides = [*dict.fromkeys(rules.antecedents)], [*dict.fromkeys(rules.consequents)]
    if not all(2 <= len(each) <= _WIDEST for each in sides):
        return ""
    labels = [[_label(items) for items in each] for each in sides]
    left = 16 + math.ceil(8.5 * max(map(len, labels[0])))
    slope = 16 + math.ceil(6.5 * max(map(len, labels[1])))
    width, height = left + _CELL * len(sides[1]) + slope, slope + _CELL * len(sides[0]) + 8
    drawn = []
    for place, name in enumerate(labels[0]):
        y = slope + _CELL * place + _CELL / 2
        drawn.append(tag("text", text(name), x=left - 8, y=f"{y + 4:g}", class_="row"))
        drawn.append(f'<line x1="{left}" x2="{left + _CELL * len(sides[1])}" y1="{y:g}" y2="{y:g}"/>')
    for place, name in enumerate(labels[1]):
        x = left + _CELL * place + _CELL / 2
        drawn.append(tag("text", text(name), transform=f"translate({x + 4:g} {slope - 6}) rotate(-45)"))
        drawn.append(f'<line x1="{x:g}" x2="{x:g}" y1="{slope}" y2="{slope + _CELL * len(sides[0])}"/>')
    for place in range(len(rules)):
        row, column = sides[0].index(rules.antecedents[place]), sides[1].index(rules.consequents[place])
        confidence = float(rules.metrics["confidence"][place])
        words, shade = f"{labels[0][row]} → {labels[1][column]}: confidence {100 * confidence:.0f} %", _UNSHADED
        if rules.has_lifts:
            lift = float(rules.metrics["lift"][place])
            words, shade = f"{words}, lift {lift:.2f}", sum(lift >= step for step in _STEPS)
        x, y = left + _CELL * column + _CELL / 2, slope + _CELL * row + _CELL / 2
        kind = "hollow" if rules.doubtful[place] else f"lift{shade}"
        radius = 3 + (_CELL / 2 - 4) * math.sqrt(confidence)
        drawn.append(tag("circle", tag("title", text(words)), cx=f"{x:g}", cy=f"{y:g}", r=f"{radius:.1f}", class_=kind))
    picture = tag(
        "svg",
        *drawn,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label="Rules as a matrix of circles; the table below has the same in words and numbers.",
    )
    scrolled = tag("div", picture, class_="matrix", tabindex="0", role="region", aria_label="Matrix of rules")
    darker = "; the darker (on a dark screen the lighter), the more lift" if rules.has_lifts else ""
    hollow = f" Hollow ones {_doubted(rules)}." if rules.doubtful.any() else ""
    legend = f"The larger a circle, the more confidence{darker}.{hollow}"
    return scrolled + tag("p", text(legend), class_="note")


def _doubted(rules: Rules) -> str:
    """Return what is uncertain of doubtful rules."""
    return "may be chance" if rules.has_lifts else "may miss what was asked for"


def _label(items: tuple[Item, ...]) -> str:
    """Return the items of a side on one line, cut where they are long; the table has them whole."""
    name = ", ".join(map(str, items))
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
